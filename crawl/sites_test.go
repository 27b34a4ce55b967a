package crawl

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/internal/shared"
	"forage/replay"
	"forage/snap"
	"forage/store"
)

// local is a configuration for servers on lan.
func local(dir string) Config {
	cfg := loopback(dir)
	cfg.Fetch.Dial, cfg.Fetch.Lookup = lan.Dial, lan.Lookup
	return cfg
}

// loopback is a configuration for servers of this machine, which other processes can ask too.
func loopback(dir string) Config {
	return Config{Dir: dir, Parallel: 16, Delay: -1, Fetch: fetch.Config{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}}
}

// served serves a history, at its first snapshot, until the test is over.
func served(t *testing.T, h *snap.History) (server *replay.Server, base string) {
	t.Helper()
	server, err := replay.New(h, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	web := lan.Server("127.0.0.1:0", server)
	t.Cleanup(web.Close)
	return server, web.URL
}

// reach returns what can be reached in a state from ids through documents that are alive.
func reach(st *snap.State, from []snap.ID) map[snap.ID]bool {
	seen := map[snap.ID]bool{}
	var todo []snap.ID
	visit := func(v snap.ID) {
		if st.Alive[v] && !seen[v] {
			seen[v] = true
			todo = append(todo, v)
		}
	}
	for _, v := range from {
		visit(v)
	}
	for _, v := range st.WellKnown {
		visit(v)
	}
	for len(todo) > 0 {
		v := todo[0]
		todo = todo[1:]
		for _, u := range st.Links[v] {
			visit(u)
		}
	}
	return seen
}

// pagesOf returns the paths of the pages of a store that pass keep.
func pagesOf(t *testing.T, v *store.View, keep func(*store.Doc) bool) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	if err := v.Docs(func(d *store.Doc) bool {
		if d.IsPage() && keep(d) {
			u, err := url.Parse(d.URL)
			if err != nil {
				t.Fatal(err)
			}
			out[u.Path] = true
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func differ(got, want map[string]bool) string {
	var missing, extra []string
	for p := range want {
		if !got[p] {
			missing = append(missing, p)
		}
	}
	for p := range got {
		if !want[p] {
			extra = append(extra, p)
		}
	}
	slices.Sort(missing)
	slices.Sort(extra)
	if len(missing)+len(extra) == 0 {
		return ""
	}
	return fmt.Sprintf("%d missing %q, %d extra %q, of %d", len(missing), missing[:min(3, len(missing))], len(extra), extra[:min(3, len(extra))], len(want))
}

// unescaped is a URL of a history as a path: %XX is an escape in both.
func unescaped(t *testing.T, path string) string {
	t.Helper()
	p, err := url.PathUnescape(path)
	if err != nil {
		return path
	}
	return p
}

// TestFullRecrawls crawls a history at its first snapshot and recrawls it at later ones: each
// time exactly the new pages that can be reached are reported.
func TestFullRecrawls(t *testing.T) {
	for _, h := range histories(t) {
		t.Run(h.Site, func(t *testing.T) {
			t.Parallel()
			server, base := served(t, h)
			c := open(t, nil)
			ctx := context.Background()
			home := snap.ID(slices.Index(h.URLs, "/"))
			seeds := []scope.Seed{{URL: base + "/"}}
			from := []snap.ID{home}
			if allSeeds[h.Site] {
				for v, alive := range h.At(0).Alive {
					if alive && v < h.NumPages() {
						from = append(from, snap.ID(v))
						seeds = append(seeds, scope.Seed{URL: base + h.URLs[v]})
					}
				}
			}
			known := map[snap.ID]bool{}
			last := min(len(h.Snapshots)-1, snapshots())
			h.Walk(func(st *snap.State) bool {
				if st.K > last {
					return false
				}
				if err := server.Switch(st.K); err != nil {
					t.Fatal(err)
				}
				var r *Result
				var err error
				if st.K == 0 {
					r, err = c.Run(ctx, seeds, Options{})
				} else {
					r, err = c.Revisit(ctx, plan.Plan{Full: true}, Options{})
				}
				if err != nil {
					t.Fatal(err)
				}
				seen := reach(st, append(slices.Collect(maps.Keys(known)), from...))
				want := map[string]bool{}
				for v := range seen {
					if !known[v] && int(v) < h.NumPages() {
						want[unescaped(t, h.URLs[v])] = true
					}
					known[v] = true
				}
				got := pagesOf(t, c.View(), func(d *store.Doc) bool {
					return d.Cycle == r.Cycle && (st.K == 0 || d.New == store.IsNew)
				})
				if diff := differ(got, want); diff != "" {
					t.Fatalf("snapshot %d: %s", st.K, diff)
				}
				if int(r.Pages) != len(want) || st.K > 0 && int(r.NewPages) != len(want) {
					t.Errorf("snapshot %d: the result tells of %d pages, %d new, want %d", st.K, r.Pages, r.NewPages, len(want))
				}
				return true
			})
		})
	}
}

// histories returns the site that is made up, and with the data beside the project four real
// ones, or all with FORAGE_SITES=all.
func histories(t *testing.T) []*snap.History {
	t.Helper()
	all := []*snap.History{snap.Blog(rand.New(rand.NewPCG(1, 2)), 6)}
	names := []string{"rustblog", "julialang", "sherlockes"}
	dir := shared.Path(t, "data", "sites")
	if os.Getenv("FORAGE_SITES") == "all" {
		files, err := filepath.Glob(filepath.Join(dir, "*.snap.gz"))
		if err != nil {
			t.Fatal(err)
		}
		names = nil
		for _, f := range files {
			names = append(names, strings.TrimSuffix(filepath.Base(f), ".snap.gz"))
		}
	}
	for _, n := range names {
		h, err := snap.Open(filepath.Join(dir, n+".snap.gz"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
	}
	return all
}

// snapshots is how many later snapshots are recrawled.
func snapshots() int {
	if os.Getenv("FORAGE_SITES") == "all" {
		return 12
	}
	return 4
}

// allSeeds are the histories whose pages do not hang together: sites.tsv says all_seeds.
var allSeeds = map[string]bool{"storm": true, "kubaik": true, "111qqz": true, "adron": true, "crysol": true}
