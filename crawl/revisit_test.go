package crawl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/graph"
	"forage/revisit/paper"
	"forage/snap"
	"forage/store"
)

// TestBudget revisits histories with a budget: the server counts at most that many answers
// for documents that were known, in every cycle, and the store tells the same numbers.
func TestBudget(t *testing.T) {
	for _, h := range histories(t) {
		t.Run(h.Site, func(t *testing.T) {
			t.Parallel()
			server, base := served(t, h)
			c := open(t, nil)
			ctx := context.Background()
			if _, err := c.Run(ctx, []scope.Seed{{URL: base + "/"}}, Options{}); err != nil {
				t.Fatal(err)
			}
			for k := 1; k <= min(len(h.Snapshots)-1, 8); k++ {
				if err := server.Switch(k); err != nil {
					t.Fatal(err)
				}
				full := k%4 == 1 // od-win learns from full recrawls only
				budget := 1 + k
				before := server.Counts().Requests
				p := plan.Plan{Policy: "od-win", Full: full, Budget: func(int) int { return budget }}
				r, err := c.Revisit(ctx, p, Options{})
				if err != nil {
					t.Fatal(err)
				}
				newcomers := 0
				if err := c.View().Newcomers(1, r.Cycle, func(_ graph.Node, _ store.Kind) bool { newcomers++; return true }); err != nil {
					t.Fatal(err)
				}
				asked := int(server.Counts().Requests - before)
				if full {
					asked-- // robots.txt: budgeted cycles go by the one that is kept
				}
				if int(r.Fetched) != asked {
					t.Errorf("cycle %d: %d fetched, the server was asked %d times", r.Cycle, r.Fetched, asked)
				}
				// A sitemap that was not there is asked for now and then. It is no document.
				if id, err := c.View().Find(base + "/sitemap.xml"); err == nil {
					if d, err := c.View().Doc(id); err == nil && d.Kind == store.Unseen && d.FetchedIn == r.Cycle {
						asked--
					}
				}
				if old := asked - newcomers; !full && old > budget {
					t.Errorf("cycle %d: %d requests beside those for %d new documents, budget %d", r.Cycle, old, newcomers, budget)
				}
				if int(r.Refetched) != asked-newcomers {
					t.Errorf("cycle %d: %d refetched, want %d", r.Cycle, r.Refetched, asked-newcomers)
				}
				sc, err := c.View().Cycle(1, r.Cycle)
				if err != nil || sc.Refetched != r.Refetched || !sc.Done {
					t.Errorf("cycle %d: the store has %+v, %v", r.Cycle, sc, err)
				}
			}
		})
	}
}

// TestCredit compares N(page) of the store with the naive reading of its definition: for each
// old document fetched, everything new that can be reached from it through new documents.
func TestCredit(t *testing.T) {
	h := snap.Blog(rand.New(rand.NewPCG(3, 4)), 6)
	server, base := served(t, h)
	c := open(t, nil)
	ctx := context.Background()
	if _, err := c.Run(ctx, []scope.Seed{{URL: base + "/"}}, Options{}); err != nil {
		t.Fatal(err)
	}
	credited := 0
	for k := 1; k < len(h.Snapshots); k++ {
		if err := server.Switch(k); err != nil {
			t.Fatal(err)
		}
		r, err := c.Revisit(ctx, plan.Plan{Full: true}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		v := c.View()
		fresh := map[graph.Node]store.Kind{}
		if err := v.Newcomers(1, r.Cycle, func(id graph.Node, kind store.Kind) bool { fresh[id] = kind; return true }); err != nil {
			t.Fatal(err)
		}
		if err := v.Refetches(1, r.Cycle, func(f *store.Refetch) bool {
			reached := map[graph.Node]bool{}
			todo := []graph.Node{f.Page}
			pages := 0
			for len(todo) > 0 {
				d, err := v.Doc(todo[0])
				if err != nil {
					t.Fatal(err)
				}
				todo = todo[1:]
				links, err := v.Links(d)
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range links {
					if kind, ok := fresh[l.To]; ok && !reached[l.To] && f.Status == 200 {
						reached[l.To] = true
						todo = append(todo, l.To)
						if kind == store.Page {
							pages++
						}
					}
				}
			}
			for _, id := range f.Led {
				if !reached[id] || fresh[id] != store.Page {
					t.Errorf("cycle %d: document %d is said to lead to %d", r.Cycle, f.Page, id)
				}
			}
			if len(f.Led) != pages {
				t.Errorf("cycle %d: document %d leads to %d new pages, want %d", r.Cycle, f.Page, len(f.Led), pages)
			}
			credited += len(f.Led)
			return true
		}); err != nil {
			t.Fatal(err)
		}
	}
	if credited == 0 {
		t.Error("no page led to a new one in any cycle: the test tests nothing")
	}
}

// TestGainedAfterGone: a page that was gone for a cycle and is there again gained all its links,
// a page that was there gained those that are new.
func TestGainedAfterGone(t *testing.T) {
	t.Parallel()
	w := newWeb(t)
	w.pages["/"] = page("home", "/a", "/b")
	w.pages["/a"] = page("a", "/", "/b")
	w.pages["/b"] = page("b", "/")
	c := open(t, nil)
	w.crawl(t, c, store.Rules{})
	gained := func() map[string][]string {
		t.Helper()
		r := w.revisit(t, c, plan.Plan{Full: true})
		got := map[string][]string{}
		v := c.View()
		path := func(id graph.Node) string {
			d, err := v.Doc(id)
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimPrefix(d.URL, w.URL)
		}
		if err := v.Refetches(1, r.Cycle, func(f *store.Refetch) bool {
			for _, id := range f.Gained {
				got[path(f.Page)] = append(got[path(f.Page)], path(id))
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		return got
	}
	w.set("/a", status(404))
	w.set("/b", page("b", "/", "/a"))
	if got, want := gained(), (map[string][]string{"/b": {"/a"}}); !reflect.DeepEqual(got, want) {
		t.Errorf("gained %v, want %v", got, want)
	}
	w.set("/a", page("a", "/", "/b"))
	if got, want := gained(), (map[string][]string{"/a": {"/", "/b"}}); !reflect.DeepEqual(got, want) {
		t.Errorf("back, gained %v, want %v", got, want)
	}
	if got := gained(); len(got) > 0 {
		t.Errorf("unchanged, gained %v", got)
	}
}

// TestPartialFirstVisit crawls a tenth of a site and comes back: no page that was there from
// the start is called new.
func TestPartialFirstVisit(t *testing.T) {
	for _, h := range histories(t) {
		t.Run(h.Site, func(t *testing.T) {
			t.Parallel()
			server, base := served(t, h)
			c := open(t, nil)
			st := h.At(0)
			first := map[string]bool{}
			for v, alive := range st.Alive {
				if alive && v < h.NumPages() {
					first[unescaped(t, h.URLs[v])] = true
				}
			}
			pages := 0
			for v := range reach(st, []snap.ID{snap.ID(slices.Index(h.URLs, "/"))}) {
				if int(v) < h.NumPages() {
					pages++
				}
			}
			limit := max(1, pages/10)
			ctx := context.Background()
			r, err := c.Run(ctx, []scope.Seed{{URL: base + "/", Rules: store.Rules{MaxPages: limit}}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if int(r.Pages) != limit {
				t.Errorf("%d pages with --max-pages %d", r.Pages, limit)
			}
			for k := 1; k <= min(3, len(h.Snapshots)-1); k++ {
				if err := server.Switch(k); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Revisit(ctx, plan.Plan{Full: true}, Options{}); err != nil {
					t.Fatal(err)
				}
				for p := range pagesOf(t, c.View(), func(d *store.Doc) bool { return d.New == store.IsNew }) {
					if first[p] {
						t.Errorf("snapshot %d: %s was there from the start and is called new", k, p)
					}
				}
			}
			if r, err = c.Run(ctx, []scope.Seed{{URL: base + "/", Rules: store.Rules{MaxPages: limit}}}, Options{}); err != nil || r.Fetched != 0 || len(r.Finished) != 1 {
				t.Errorf("the same crawl again fetched %d, finished %v, %v", r.Fetched, r.Finished, err)
			}
		})
	}
}

// TestAbandonedCycle interrupts a cycle while a chain of new pages is followed, and begins
// another kind of cycle: the first one is closed with what it led to, and its pages stay new.
func TestAbandonedCycle(t *testing.T) {
	all := func(int) int { return 10 }
	t.Run("full", func(t *testing.T) { abandon(t, plan.Plan{Full: true, Text: "all"}) })
	t.Run("budget", func(t *testing.T) { abandon(t, plan.Plan{Policy: "od-win", Budget: all, Text: "10"}) })
}

func abandon(t *testing.T, next plan.Plan) {
	w := newWeb(t)
	w.pages["/"] = page("home", "/a", "/b")
	w.pages["/a"] = page("a")
	w.pages["/b"] = page("b")
	c := open(t, nil)
	w.crawl(t, c, store.Rules{})
	w.set("/", page("home", "/a", "/b", "/new1"))
	w.set("/new1", page("new1", "/new2"))
	ctx, cancel := context.WithCancel(context.Background())
	w.set("/new2", func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	all := func(int) int { return 10 }
	r, err := c.Revisit(ctx, plan.Plan{Policy: "round-robin", Budget: all, Text: "10"}, Options{})
	if err != nil || !r.Interrupted || r.NewPages != 1 {
		t.Fatalf("the cycle was not interrupted at its second new page: %+v, %v", r, err)
	}
	w.set("/new2", page("new2", "/new3"))
	w.set("/new3", page("new3"))
	then := w.revisit(t, c, next)
	if then.Cycle != r.Cycle+1 || then.NewPages != 2 {
		t.Errorf("the next cycle: %+v, want cycle %d and 2 new pages", then, r.Cycle+1)
	}
	sc, err := c.View().Cycle(1, r.Cycle)
	if err != nil || !sc.Done {
		t.Errorf("the cycle that was left: %+v, %v", sc, err)
	}
	home, first := w.doc(t, c, "/"), w.doc(t, c, "/new1")
	led := false
	if err := c.View().Refetches(1, r.Cycle, func(f *store.Refetch) bool {
		led = led || f.Page == home.ID && slices.Equal(f.Led, []graph.Node{first.ID})
		return true
	}); err != nil || !led {
		t.Errorf("the home page is not said to have led to /new1: %v", err)
	}
	for _, path := range []string{"/new1", "/new2", "/new3"} {
		if d := w.doc(t, c, path); d.New != store.IsNew || d.Visits != 1 && path != "/new1" {
			t.Errorf("%s: new %v, %d visits", path, d.New, d.Visits)
		}
	}
}

// TestFailedFirst: a full recrawl tells the policy of what it found, though the first document
// that it fetched is one that could never be fetched before, and that the policy does not know.
func TestFailedFirst(t *testing.T) {
	w := newWeb(t)
	w.pages["/"], w.pages["/1"], w.pages["/broken"] = page("home", "/1"), page("1"), status(404)
	c := open(t, nil)
	if _, err := c.Run(context.Background(), []scope.Seed{{URL: w.URL + "/broken"}, {URL: w.URL + "/"}}, Options{}); err != nil {
		t.Fatal(err)
	}
	d := w.doc(t, c, "/broken")
	d.State = store.Failed // as after three answers of 500, which take seconds
	if err := errors.Join(c.db.Put(d), c.db.Commit()); err != nil {
		t.Fatal(err)
	}
	w.set("/broken", page("broken"))
	w.set("/", page("home", "/1", "/new"))
	w.set("/new", page("new"))
	w.revisit(t, c, plan.Plan{Full: true})
	if r := w.revisit(t, c, plan.Plan{Policy: "round-robin"}); r.Refetched != 4 {
		t.Errorf("%d documents are known to the policy after the full recrawl, want home, /1, /broken and /new", r.Refetched)
	}
}

// TestFirstFinders compares who found what with what was found: each document that answered
// first in a cycle is credited to one fetch, the cycle's last one included.
func TestFirstFinders(t *testing.T) {
	h := snap.Blog(rand.New(rand.NewPCG(3, 4)), 8)
	server, base := served(t, h)
	c := open(t, nil)
	ctx := context.Background()
	if _, err := c.Run(ctx, []scope.Seed{{URL: base + "/"}}, Options{}); err != nil {
		t.Fatal(err)
	}
	last := 0
	for k := 1; k < len(h.Snapshots); k++ {
		if err := server.Switch(k); err != nil {
			t.Fatal(err)
		}
		budget := k%3 + 1
		r, err := c.Revisit(ctx, plan.Plan{Budget: func(int) int { return budget }}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var want, got []graph.Node
		v := c.View()
		if err := v.Newcomers(1, r.Cycle, func(id graph.Node, _ store.Kind) bool { want = append(want, id); return true }); err != nil {
			t.Fatal(err)
		}
		if err := v.Refetches(1, r.Cycle, func(f *store.Refetch) bool {
			got = append(got, f.Found...)
			if f.Order == budget-1 {
				last += len(f.Found)
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("cycle %d: its fetches found %v first, want %v", r.Cycle, got, want)
		}
	}
	if last == 0 {
		t.Error("no cycle's last fetch found anything: the test tests nothing")
	}
}

// TestLeftOut: a policy that names a document which robots.txt forbids by now, or which is a page
// that says so of what is not there, goes on with the others.
func TestLeftOut(t *testing.T) {
	for _, d := range paper.Policies() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			w := newWeb(t)
			w.other = func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/sitemap.xml" {
					http.NotFound(rw, r)
					return
				}
				page("There is no "+r.URL.Path+" here")(rw, r)
			}
			w.pages["/"] = page("home", "/a", "/b", "/c", "/lost")
			for _, p := range []string{"/a", "/b", "/c", "/lost"} {
				w.pages[p] = page("page "+p, "/")
			}
			w.pages["/robots.txt"] = func(rw http.ResponseWriter, _ *http.Request) { rw.Header().Set("Cache-Control", "max-age=1") }
			cfg := local(t.TempDir())
			now := time.Date(2024, 5, 3, 12, 0, 0, 0, time.UTC)
			at := func(what func(c *Crawl)) {
				cfg.At, now = now, now.Add(48*time.Hour)
				c, err := Open(cfg)
				if err != nil {
					t.Fatal(err)
				}
				what(c)
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
			}
			at(func(c *Crawl) { w.crawl(t, c, store.Rules{}) })
			w.set("/robots.txt", func(rw http.ResponseWriter, _ *http.Request) {
				io.WriteString(rw, "User-agent: *\nDisallow: /a\n")
			})
			w.set("/lost", w.other)
			for range 4 {
				at(func(c *Crawl) {
					ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
					defer cancel()
					r, err := c.Revisit(ctx, plan.Plan{Policy: d.Name, Budget: func(int) int { return 5 }}, Options{})
					if err != nil || r.Interrupted {
						t.Fatalf("%+v, %v: the cycle does not end", r, err)
					}
				})
			}
			at(func(c *Crawl) {
				// Some policies choose only what has shown something.
				if a, d := w.doc(t, c, "/a"), w.doc(t, c, "/lost"); a.Visits != 1 || d.Gone == 0 && d.Visits > 2 {
					t.Errorf("/a was fetched %d times; /lost, fetched %d times, is not gone", a.Visits, d.Visits)
				}
			})
		})
	}
}

// TestHomeElsewhere: of a site whose seed redirects, the page at the end is home, and the feed that
// it names a main list, as on a site whose home page is at the seed.
func TestHomeElsewhere(t *testing.T) {
	for _, test := range []struct {
		name string
		hops []string // from the seed to the home page
	}{
		{"at the seed", nil},
		{"one redirect", []string{"/wiki/Main_Page"}},
		{"two redirects", []string{"/wiki/", "/wiki/Main_Page"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWeb(t)
			at := "/"
			for _, to := range test.hops {
				w.pages[at] = func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, to, http.StatusMovedPermanently) }
				at = to
			}
			links := []string{"/changes?format=atom"}
			for i := range 20 {
				p := fmt.Sprint("/about/", i)
				links = append(links, p)
				w.pages[p] = page("page "+p, "/about/0")
			}
			w.pages[at] = page("home", links...)
			feed := func(path string) http.HandlerFunc {
				return func(rw http.ResponseWriter, _ *http.Request) {
					rw.Header().Set("Content-Type", "application/atom+xml")
					fmt.Fprintf(rw, `<feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="%s"/></entry></feed>`, w.URL+path)
				}
			}
			w.pages["/changes?format=atom"] = feed("/about/1")
			c := open(t, nil)
			w.crawl(t, c, store.Rules{})
			w.set("/new", page("a new page"))
			w.set("/changes?format=atom", feed("/new"))
			r, err := c.Revisit(context.Background(), plan.Plan{Policy: "lists", Budget: func(int) int { return 2 }}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if n := w.count("/changes?format=atom"); n != 2 || r.NewPages != 1 {
				t.Errorf("the feed was fetched %d times, want 2; %d pages are new, want 1", n, r.NewPages)
			}
			if n := w.count(at); n != 2 {
				t.Errorf("the home page was fetched %d times, want 2", n)
			}
		})
	}
}
