package main

import (
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forage/crawl"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/export"
	"forage/fetch"
	"forage/fetch/link"
	"forage/internal/shared"
	"forage/replay"
	"forage/snap"
)

// TestCrawlAndExportGiveBackTheHistory serves a history, crawls its first snapshot, recrawls
// the next ones fully, exports what the store has learned as a history, and compares: every
// document that can be reached, with its links, as it was.
func TestCrawlAndExportGiveBackTheHistory(t *testing.T) {
	h := snap.Blog(rand.New(rand.NewPCG(5, 0)), 4)
	t.Run("blog", func(t *testing.T) { roundTrip(t, h, 5) })
	for _, site := range []string{"julialang", "wz2100"} {
		t.Run(site, func(t *testing.T) {
			h, err := snap.Open(shared.Path(t, "data", "sites", site+".snap.gz"))
			if err != nil {
				t.Fatal(err)
			}
			roundTrip(t, h, 5)
		})
	}
}

func roundTrip(t *testing.T, h *snap.History, versions int) {
	site, err := replay.New(h, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(site)
	defer srv.Close()
	dir := t.TempDir()
	cfg := crawl.Config{Dir: dir, Delay: -1, Fetch: fetch.Config{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}}
	for k := range versions {
		if err := site.Switch(k); err != nil {
			t.Fatal(err)
		}
		cfg.At = time.Unix(h.Snapshots[k].Time, 0)
		c, err := crawl.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if k == 0 {
			_, err = c.Run(t.Context(), []scope.Seed{{URL: srv.URL + "/"}}, crawl.Options{})
		} else {
			_, err = c.Revisit(t.Context(), plan.Plan{Full: true}, crawl.Options{})
		}
		if err != nil {
			t.Fatal(err)
		}
		if k == versions-1 {
			s, err := c.View().Site(1)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "out.snap.gz")
			if _, err := export.Snap(c.View(), s, export.File(path), nil); err != nil {
				t.Fatal(err)
			}
			got, err := snap.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			compareHistories(t, got, h, versions)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// compareHistories compares the first n snapshots of got with what could be seen of want: the
// documents reached so far that are still there, with all their links among these.
func compareHistories(t *testing.T, got, want *snap.History, n int) {
	t.Helper()
	if len(got.Snapshots) != n {
		t.Fatalf("%d snapshots exported, want %d", len(got.Snapshots), n)
	}
	name := func(h *snap.History, id snap.ID) string {
		u, err := crawlPath(h.URLs[id])
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	describe := func(h *snap.History, s *snap.State, in func(snap.ID) bool) map[string]string {
		all := map[string]string{}
		for id, alive := range s.Alive {
			if !alive || !in(snap.ID(id)) {
				continue
			}
			var links []string
			for _, u := range s.Links[id] {
				if in(u) {
					links = append(links, name(h, u))
				}
			}
			slices.Sort(links)
			all[name(h, snap.ID(id))] = fmt.Sprintf("%q %v", s.Flag[id], links)
		}
		return all
	}
	known := map[snap.ID]bool{}
	for k := range n {
		w, g := want.At(k), got.At(k)
		todo := []snap.ID{}
		visit := func(id snap.ID) {
			if w.Alive[id] && !slices.Contains(todo, id) {
				todo = append(todo, id)
			}
		}
		for id, u := range want.URLs {
			if u == "/" || known[snap.ID(id)] {
				visit(snap.ID(id))
			}
		}
		for _, id := range w.WellKnown {
			visit(id)
		}
		for i := 0; i < len(todo); i++ {
			known[todo[i]] = true
			for _, u := range w.Links[todo[i]] {
				visit(u)
			}
		}
		reached := func(id snap.ID) bool { return slices.Contains(todo, id) }
		gotDocs := describe(got, g, func(id snap.ID) bool { return g.Alive[id] })
		wantDocs := describe(want, w, reached)
		for u, d := range wantDocs {
			if gotDocs[u] != d {
				t.Errorf("snapshot %d: %s is %s, want %s", k, u, gotDocs[u], d)
			}
			delete(gotDocs, u)
		}
		for u := range gotDocs {
			t.Errorf("snapshot %d: %s was not there", k, u)
		}
	}
}

// crawlPath returns a path of a history as the crawl knows it.
func crawlPath(path string) (string, error) {
	const origin = "http://x.test"
	u, err := link.Parse(origin + path)
	return strings.TrimPrefix(u, origin), err
}
