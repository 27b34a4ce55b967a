package lab

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forage/crawl"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/graph"
	"forage/internal/race"
	"forage/internal/shared"
	"forage/replay"
	"forage/revisit"
	"forage/revisit/paper"
	"forage/snap"
	"forage/store"
)

// TestLiveCrawlAgrees runs policies twice over histories with a budget of 10: in the
// simulation of setting B, and as a live crawl over HTTP of a server of the history. Both must
// fetch the same documents again in the same order, and find the same pages in each week. Both
// read robots.txt in each week. The default policy visits every site, others one each in turn; with
// FORAGE_SITES=all all policies every site.
func TestLiveCrawlAgrees(t *testing.T) {
	weeks, names := 8, []string{"rustblog", "wulc", "flink"} // wulc's robots.txt names another sitemap in week 1
	if race.Enabled {
		weeks, names = 6, names[:1]
	}
	var files []string
	whole := os.Getenv("FORAGE_SITES") == "all"
	if whole {
		weeks = 1000
		var err error
		if files, err = filepath.Glob(filepath.Join(shared.Path(t, "data", "sites"), "*.snap.gz")); err != nil {
			t.Fatal(err)
		}
	} else {
		for _, n := range names {
			files = append(files, shared.Path(t, "data", "sites", n+".snap.gz"))
		}
	}
	all := []*snap.History{snap.Blog(rand.New(rand.NewPCG(5, 6)), 10)}
	for _, f := range files {
		h, err := snap.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
	}
	for i, h := range all {
		several, err := allSeeds(shared.Path(t, "data", "sites", "sites.tsv"), h.Site)
		if err != nil {
			t.Fatal(err)
		}
		for n, d := range paper.Policies() {
			switch d.Name {
			case "uniform", "bandit-greedy":
				continue // chance
			}
			if !whole && d.Name != revisit.Default && n%len(all) != i {
				continue
			}
			t.Run(h.Site+"/"+d.Name, func(t *testing.T) {
				t.Parallel()
				liveAgrees(t, h, several, d.Name, min(weeks, len(h.Snapshots)), false)
			})
		}
		t.Run(h.Site+"/lastmod", func(t *testing.T) {
			t.Parallel()
			liveAgrees(t, h, several, revisit.Default, min(weeks, len(h.Snapshots)), true)
		})
	}
}

func liveAgrees(t *testing.T, h *snap.History, several bool, name string, weeks int, lastmod bool) {
	const k = 10
	s := newSite(h, several)
	// With dates the comparison ends earlier: a time at midnight anywhere the live crawl takes for
	// a date, which may be any hour of the day; and a newly named sitemap may have none.
	for at := range weeks {
		if lastmod && (s.weeks[at].time%900 == 0 || !slices.Equal(s.weeks[at].well, s.weeks[0].well)) {
			weeks = at
			break
		}
	}
	s.weeks = s.weeks[:weeks]
	p, err := paper.New(name, revisit.Config{})
	if err != nil {
		t.Fatal(err)
	}
	simulated := &transcript{Policy: p, undated: lastmod}
	told := &witness{Policy: simulated}
	signals := "none"
	if lastmod {
		signals = "lastmod"
	}
	run := s.budgeted(told, true, signals)
	run.site.Believe = false                        // the live crawl does not
	run.robots, run.http, run.price = true, true, 1 // the server of the history answers 304
	served, same := make([][]string, weeks), make([][][]string, weeks)
	var fetched map[revisit.Key]bool
	run.served = func(at int, v graph.Node, f *revisit.Answer) {
		if len(served[at]) == 0 {
			fetched = map[revisit.Key]bool{}
		}
		fetched[revisit.Key(v)] = true
		served[at] = append(served[at], decoded(s.urls[v]))
		var paths []string
		for _, k := range f.Same {
			if !fetched[k] && run.foundAt[k] != int32(at) {
				paths = append(paths, decoded(s.urls[k]))
			}
		}
		slices.Sort(paths)
		same[at] = append(same[at], paths)
	}
	run.run(k, s.truth(nil))
	found := make([][]string, weeks)
	for v, at := range run.foundAt {
		if at > 0 && v < s.pages {
			found[at] = append(found[at], decoded(s.urls[v]))
		}
	}

	server, err := replay.New(h, 0, lastmod)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	defer web.Close()
	dir := t.TempDir()
	for at := range weeks {
		if err := server.Switch(at); err != nil {
			t.Fatal(err)
		}
		c, err := crawl.Open(crawl.Config{Dir: dir, Parallel: 8, Delay: -1, At: time.Unix(s.weeks[at].time, 0),
			Fetch: fetch.Config{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
		if err != nil {
			t.Fatal(err)
		}
		var r *crawl.Result
		if at == 0 {
			seeds := []scope.Seed{{URL: web.URL + "/"}}
			for v := range s.pages {
				if several && s.weeks[0].alive[v] {
					seeds = append(seeds, scope.Seed{URL: web.URL + s.urls[v]})
				}
			}
			r, err = c.Run(context.Background(), seeds, crawl.Options{})
		} else {
			r, err = c.Revisit(context.Background(), plan.Plan{Policy: name, Budget: func(int) int { return k }}, crawl.Options{})
		}
		if err != nil {
			t.Fatal(err)
		}
		path := func(id graph.Node) string {
			d, err := c.View().Doc(id)
			if err != nil {
				t.Fatal(err)
			}
			return decoded(strings.TrimPrefix(d.URL, web.URL))
		}
		if at > 0 {
			var rows []*store.Refetch
			if err := c.View().Refetches(1, r.Cycle, func(f *store.Refetch) bool { rows = append(rows, f); return true }); err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(rows, func(a, b *store.Refetch) int { return a.Order - b.Order })
			var got []string
			for _, f := range rows {
				got = append(got, path(f.Page))
			}
			if !slices.Equal(got, served[at]) {
				t.Fatalf("week %d: the live crawl fetched\n%q, the simulation\n%q", at, got, served[at])
			}
			looks := told.refetches[at-1]
			for i, f := range rows {
				paths := func(ids []graph.Node) (all []string) {
					for _, id := range ids {
						all = append(all, path(id))
					}
					slices.Sort(all)
					return all
				}
				inTheory := func(nodes []graph.Node) (all []string) {
					for _, v := range nodes {
						all = append(all, decoded(s.urls[run.site.Key(v)]))
					}
					slices.Sort(all)
					return all
				}
				if got := paths(f.Same); !slices.Equal(got, same[at][i]) {
					t.Fatalf("week %d: %s told that %d documents are the same, in the simulation %d:\n%q\n%q", at, path(f.Page), len(got), len(same[at][i]), got, same[at][i])
				}
				if f.Gap != looks[i].Gap || !slices.Equal(paths(f.Led), inTheory(looks[i].Led)) {
					t.Fatalf("week %d: fetch %d of %s, gap %d, led to %q; in the simulation %d, %q", at, i, got[i],
						f.Gap, paths(f.Led), looks[i].Gap, inTheory(looks[i].Led))
				}
			}
			var pages []string
			if err := c.View().Newcomers(1, r.Cycle, func(id graph.Node, kind store.Kind) bool {
				if kind == store.Page {
					pages = append(pages, path(id))
				}
				return true
			}); err != nil {
				t.Fatal(err)
			}
			slices.Sort(pages)
			slices.Sort(found[at])
			if !slices.Equal(pages, found[at]) {
				t.Fatalf("week %d: the live crawl found\n%q, the simulation\n%q", at, pages, found[at])
			}
		}
		if at > 0 && at == weeks-1 {
			if p, err = paper.New(name, revisit.Config{}); err != nil {
				t.Fatal(err)
			}
			live := &transcript{Policy: p, undated: lastmod}
			replayed := revisit.NewSite(live)
			if err := c.View().Records(1, 0, func(_ store.Cycle, b []byte) bool { err = replayed.Replay(b); return err == nil }); err != nil {
				t.Fatal(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			for i := range simulated.told {
				if i >= len(live.told) || live.told[i] != simulated.told[i] {
					t.Fatalf("the policy of the live crawl was told %q, in the simulation %q", live.told[i:min(i+1, len(live.told))], simulated.told[i])
				}
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A transcript writes down what a policy is told of documents and fetches. undated: but for dates.
type transcript struct {
	revisit.Policy
	told    []string
	undated bool
}

func (s *transcript) Learn(v graph.Node, p revisit.Profile) {
	s.Policy.Learn(v, p)
	if s.undated { // the simulation knows of dates in what lists call the same only
		p.Published = 0
	}
	s.told = append(s.told, fmt.Sprintf("learn %d %+v", v, p))
}

func (s *transcript) Observe(r revisit.Refetch) {
	s.Policy.Observe(r)
	s.told = append(s.told, fmt.Sprintf("observe %+v", r))
}

// ObserveLinks keeps the policy a revisit.LinkObserver. Each policy is told of links, used or not.
func (s *transcript) ObserveLinks(v graph.Node, to []graph.Node) {
	if p, ok := s.Policy.(revisit.LinkObserver); ok {
		p.ObserveLinks(v, to)
	}
}

// ObserveSignal keeps the policy a revisit.SignalObserver.
func (s *transcript) ObserveSignal(same []graph.Node) {
	if p, ok := s.Policy.(revisit.SignalObserver); ok {
		p.ObserveSignal(same)
	}
}

// decoded is a URL path without escapes, as both sides write it in their own way.
func decoded(path string) string {
	if p, err := url.PathUnescape(path); err == nil {
		return p
	}
	return path
}
