package store_test

import (
	"fmt"
	"log"
	"os"

	"forage/graph"
	"forage/store"
)

// A page is found, fetched in a cycle of its site, and read by a view.
func Example() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	must := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}

	site := &store.Site{Name: "example.org", Rules: store.Rules{Scope: "host", Within: "example.org"}}
	must(db.AddSite(site))
	cycle := &store.CycleRecord{Site: site.ID, Kind: store.FirstVisit, At: 1_700_000_000}
	must(db.OpenCycle(cycle))
	home := &store.Doc{URL: "https://example.org/", Site: site.ID, FoundOn: graph.None, DuplicateOf: graph.None, StandIn: graph.None, MovedFrom: graph.None}
	_, err = db.Add(home) // it waits in the queue now
	must(err)
	news := &store.Doc{URL: "https://example.org/news", Site: site.ID, FoundOn: home.ID, DuplicateOf: graph.None, StandIn: graph.None, MovedFrom: graph.None}
	_, err = db.Add(news)
	must(err)
	home.State, home.Kind, home.Status, home.Title = store.Fetched, store.Page, 200, "Example"
	_, err = db.PutLinks(home, cycle.Cycle, []store.Link{{To: news.ID, Kind: store.ViaAnchor}})
	must(err)
	cycle.Fetched, cycle.Pages = 1, 1
	must(db.PutCycle(cycle))
	must(db.Commit()) // all of it, or nothing

	view := db.Snapshot() // what is written from here on does not show in it
	defer view.Close()
	must(view.QueueHosts(site.ID, func(host string) bool {
		must(view.Queue(site.ID, host, graph.None, func(id graph.Node) bool {
			d, err := view.Doc(id)
			must(err)
			found, err := view.Doc(d.FoundOn)
			must(err)
			fmt.Printf("%s waits, found on %q\n", d.URL, found.Title)
			return true
		}))
		return true
	}))
	must(view.CyclesBack(func(c *store.CycleRecord) bool {
		fmt.Printf("cycle %d of site %d: %d page\n", c.Cycle, c.Site, c.Pages)
		return true
	}))
	// Output:
	// https://example.org/news waits, found on "Example"
	// cycle 1 of site 1: 1 page
}
