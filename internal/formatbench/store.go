package main

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"forage/graph"
	"forage/store"
)

const (
	linksOf  = 20  // of a page
	newcomer = 100 // every so many pages are of the second cycle
	start    = 1_700_000_000
)

// makeStore makes a store of a site of so many pages with linksOf links each, which was visited once, and of which every tenth
// page was fetched again since. The numbers of pages, links, digests and titles are as various as those of a site are.
func makeStore(dir string, pages int) (err error) {
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	site := &store.Site{Name: "bench.test", Rules: store.Rules{Scope: "host", Within: "bench.test"}, Seeds: []string{"https://bench.test/"}, State: store.SiteDone, FirstCycle: 1, LastCycle: 2}
	if err := db.AddSite(site); err != nil {
		return err
	}
	cycles := []*store.CycleRecord{{Site: site.ID, Kind: store.FirstVisit}, {Site: site.ID, Kind: store.Revisit, Limit: pages / 10, Policy: "best", Budget: "10%"}}
	for i, c := range cycles {
		c.At, c.Ended, c.Done = start+int64(i)*1_000_000, start+int64(i)*1_000_000+900_000, true
		if err := db.OpenCycle(c); err != nil {
			return err
		}
	}
	r := rand.New(rand.NewPCG(uint64(pages), 16))
	for i := range pages {
		d := store.NewDoc(address(i), site.ID)
		d.State, d.Kind, d.Status, d.Class = store.Fetched, store.Page, 200, store.ContentPage
		d.Title, d.ContentType = fmt.Sprintf("Page %d of many, with a title of some words %x", i, r.Uint32()), "text/html; charset=utf-8"
		d.Depth, d.Via, d.Cycle = 5, store.ViaAnchor, 1
		if i > 0 {
			d.FoundOn = graph.Node(r.IntN(i))
		}
		if i%newcomer == newcomer-1 {
			d.Cycle, d.New = 2, store.IsNew
		}
		d.Discovered = cycles[d.Cycle-1].At + int64(i)/2
		d.FirstSeen = d.Discovered + 1000
		d.UseKnown = true
		if _, err := db.Add(d); err != nil {
			return err
		}
		if i%1024 == 1023 {
			if err := db.Commit(); err != nil {
				return err
			}
		}
	}
	links := make([]store.Link, linksOf)
	for i := range pages {
		d, err := db.Doc(graph.Node(i))
		if err != nil {
			return err
		}
		for k := range links { // a menu, pages near by, and pages anywhere
			switch {
			case k < 4:
				links[k] = store.Link{To: graph.Node(k), Kind: store.ViaAnchor, Place: 0x5eed}
			case k < 12:
				links[k] = store.Link{To: graph.Node((i + r.IntN(1000)) % pages), Kind: store.ViaAnchor, Place: 0xbeef0000 + uint32(k/4)}
			default:
				links[k] = store.Link{To: graph.Node(r.IntN(pages)), Kind: store.ViaAnchor, Place: r.Uint32N(1000), NoFollow: k == 19}
			}
		}
		if _, err := db.PutLinks(d, d.Cycle, links); err != nil {
			return err
		}
		for c := d.Cycle; c <= 2; c++ {
			if c > d.Cycle && i%10 != 0 {
				break
			}
			d.LastFetched, d.FetchedIn, d.Digest, d.Bytes = d.FirstSeen+int64(c-d.Cycle)*1_000_000, c, r.Uint64(), 5000+r.Int64N(20_000)
			d.Visits++
			d.Simhash = r.Uint64()
			if err := db.PutVisit(d, store.Visit{Cycle: c, At: d.LastFetched, Status: 200, Digest: d.Digest, Bytes: d.Bytes}); err != nil {
				return err
			}
			if c > d.Cycle {
				if err := db.PutRefetch(site.ID, c, &store.Refetch{Order: i / 10, Page: d.ID, At: d.LastFetched, Status: 200, Bytes: d.Bytes, Changed: true}); err != nil {
					return err
				}
			}
		}
		if i%1024 == 1023 {
			if err := db.Commit(); err != nil {
				return err
			}
		}
	}
	return nil
}

// address is the URL of a page.
func address(i int) string {
	if i == 0 {
		return "https://bench.test/"
	}
	return fmt.Sprintf("https://bench.test/section-%d/%d/an-article-about-%d", i%37, i/1000, i)
}
