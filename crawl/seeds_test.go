package crawl

import (
	"context"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"log/slog"
	"strings"
	"testing"

	"forage/graph"
	"forage/store"
)

// TestStrays crawls a site that another one had linked to before: what was known of it by those
// links, its home too, is its own now, and what only such links led to later is found new once
// a page of its own links to it.
func TestStrays(t *testing.T) {
	for _, kind := range scope.Kinds {
		t.Run(kind, func(t *testing.T) {
			w := newWeb(t)
			other := strings.Replace(w.URL, "127.0.0.1", "localhost", 1)
			w.pages["/"] = page("home", other+"/b/", other+"/b/deep", other+"/b/not")
			w.pages["/b/"] = page("b", "/b/x")
			for _, p := range []string{"/b/x", "/b/deep", "/b/not", "/b/late"} {
				w.pages[p] = page(p)
			}
			c := open(t, nil)
			if r := w.crawl(t, c, store.Rules{}); r.Pages != 1 {
				t.Fatalf("the first site: %+v", r)
			}
			rules := store.Rules{Scope: kind, Exclude: []string{"/not$"}}
			r, err := c.Run(context.Background(), []scope.Seed{{URL: other + "/b/", Rules: rules}}, Options{})
			if err != nil || r.Pages != 3 || r.NewPages != 0 {
				t.Fatalf("the second site: %+v, %v; want 3 pages, none new", r, err)
			}
			sites, err := c.View().Sites()
			if err != nil {
				t.Fatal(err)
			}
			doc := func(path string) *store.Doc {
				t.Helper()
				id, err := c.View().Find(other + path)
				if err != nil {
					t.Fatal(err)
				}
				d, err := c.View().Doc(id)
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			for path, state := range map[string]store.State{"/b/": store.Fetched, "/b/deep": store.Fetched, "/b/x": store.Fetched, "/b/not": store.Skipped} {
				if d := doc(path); d.Site != sites[1].ID || d.State != state || d.Visits > 1 || path == "/b/" && d.Depth != 0 {
					t.Errorf("%s: site %d, %v %q, %d visits, depth %d", path, d.Site, d.State, d.Reason, d.Visits, d.Depth)
				}
			}

			w.set("/", page("home", other+"/b/late"))
			w.revisit(t, c, plan.Plan{Sites: []string{sites[0].Name}, Full: true})
			if d := doc("/b/late"); d.State != store.Skipped {
				t.Fatalf("/b/late is %v while its site is not visited", d.State)
			}
			w.set("/b/", page("b", "/b/x", "/b/late"))
			if r := w.revisit(t, c, plan.Plan{Full: true}); r.NewPages != 1 {
				t.Errorf("its own page links to /b/late: %+v, want 1 new page", r)
			}
			found := false
			if err := c.View().SiteDocs(sites[1].ID, func(d *store.Doc) bool { found = found || d.URL == other+"/b/late"; return true }); err != nil {
				t.Fatal(err)
			}
			if d := doc("/b/late"); d.New != store.IsNew || d.State != store.Fetched || !found || d.FoundOn == graph.None {
				t.Errorf("/b/late: %+v, among the documents of its site: %v", d, found)
			}
		})
	}
}

// TestAdoptDomains gives each of several new domains what was known of its hosts, and of no
// others.
func TestAdoptDomains(t *testing.T) {
	c := open(t, nil)
	from := &store.Site{Name: "from.test", Rules: store.Rules{Scope: "host", Within: "from.test"}}
	if err := c.db.AddSite(from); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"http://a.test/x": "a.test", "https://www.a.test/": "a.test", "http://w.w.b.test/": "b.test",
		"http://nota.test/": "from.test", "http://a.test.other.test/": "from.test", "http://b.test:81/": "from.test",
	}
	for url := range want {
		d := store.NewDoc(url, from.ID)
		d.State, d.Reason = store.Skipped, scope.Outside
		if _, err := c.db.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	rules := store.Rules{Scope: "domain"}
	seeds, err := c.checkSeeds(t.Context(), []scope.Seed{{URL: "http://a.test/", Rules: rules}, {URL: "http://b.test/", Rules: rules}, {URL: "http://www.a.test/", Rules: rules}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.db.Commit(); err != nil {
		t.Fatal(err)
	}
	strays, err := c.straysFor(seeds)
	if err != nil {
		t.Fatal(err)
	}
	sites, err := c.addSeeds(seeds, strays, slog.New(slog.DiscardHandler))
	if err != nil || len(sites) != 2 {
		t.Fatalf("addSeeds = %d sites, %v; want 2", len(sites), err)
	}
	names := map[store.SiteID]string{from.ID: from.Name, sites[0].ID: sites[0].Name, sites[1].ID: sites[1].Name}
	for url, site := range want {
		id, err := c.db.Find(url)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := c.db.Doc(id); err != nil || names[d.Site] != site || (d.State == store.Queued) != (site != from.Name) {
			t.Errorf("%s: a %v document of %s, %v; want one of %s", url, d.State, names[d.Site], err, site)
		}
	}
}
