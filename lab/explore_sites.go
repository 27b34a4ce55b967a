package lab

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"forage/explore"
	"forage/graph"
	"forage/snap"
)

// exploreSites hides the first snapshot of each site history as a directed graph and lets every
// explorer crawl it from `/`. Pages are those that `/` leads to.
func exploreSites(ctx context.Context, env *Env) (*Result, error) {
	files, err := env.siteFiles()
	if err != nil {
		return nil, err
	}
	runs := env.Runs
	if runs == 0 {
		runs = 10
	}
	shares := []float64{0.01, 0.03, 0.1}
	policies := explore.Names()
	type crawled struct {
		name  string
		pages int
		seen  [][]float64 // by policy and share: pages observed, mean
	}
	sites := make([]crawled, len(files))
	err = each(ctx, len(files), func(i int) error {
		h, err := snap.Open(files[i])
		if err != nil {
			return err
		}
		g, start, err := firstSnapshot(h)
		if err != nil {
			return fmt.Errorf("%s: %w", files[i], err)
		}
		pages := 0
		for _, layer := range g.Layers([]graph.Node{start}, -1) {
			pages += len(layer)
		}
		s := crawled{h.Site, pages, make([][]float64, len(policies))}
		for j, name := range policies {
			s.seen[j] = make([]float64, len(shares))
			for run := 1; run <= runs; run++ {
				if err := ctx.Err(); err != nil {
					return err
				}
				t := explore.Trial{Graph: g, Directed: true, Seed: env.Seed, Run: run, Start: start, Budget: queriesOf(shares[len(shares)-1], pages)}
				_, _, err := t.Explore(name, func(queries, observed int) {
					for k, share := range shares {
						if queries == queriesOf(share, pages) {
							s.seen[j][k] += float64(observed) / float64(pages) / float64(runs)
						}
					}
				})
				if err != nil {
					return err
				}
			}
		}
		sites[i] = s
		return nil
	})
	if err != nil {
		return nil, err
	}
	r := &Result{Columns: []string{"site", "pages", "policy", "runs", "observed_at_1pct", "observed_at_3pct", "observed_at_10pct"}}
	panel := Panel{Title: fmt.Sprintf("mean of %d sites", len(sites)), X: "queries / pages", Y: "observed / pages", LogX: true}
	for j, name := range policies {
		mean, pages := make([]float64, len(shares)), 0
		for _, s := range sites {
			for k := range shares {
				mean[k] += s.seen[j][k] / float64(len(sites))
			}
			pages += s.pages
		}
		r.Add("all", pages, name, runs, mean[0], mean[1], mean[2])
		panel.Series = append(panel.Series, Series{Name: name, X: shares, Y: mean})
	}
	r.Figure = &Figure{Panels: []Panel{panel}}
	for _, s := range sites {
		for j, name := range policies {
			r.Add(s.name, s.pages, name, runs, s.seen[j][0], s.seen[j][1], s.seen[j][2])
		}
	}
	firstNotes(r, panel.Series)
	r.Notef("The rows of all sites are means over %d sites, each weighing the same. Queries are rounded up. First snapshot, links of HTML pages only, start at /.", len(sites))
	return r, nil
}

// firstNotes says which policy observes most of a site, on average, at each share of queries; the oracle is no policy.
func firstNotes(r *Result, lines []Series) {
	for k, share := range lines[0].X {
		var named []Series
		for _, s := range lines {
			if s.Name != "med" {
				named = append(named, s)
			}
		}
		slices.SortStableFunc(named, func(a, b Series) int { return -cmp.Compare(a.Y[k], b.Y[k]) })
		var parts []string
		for _, s := range named[:min(3, len(named))] {
			parts = append(parts, fmt.Sprintf("%s %.3f", s.Name, s.Y[k]))
		}
		text := strings.Join(parts, ", ")
		for place, s := range named {
			if s.Name == "de" && place >= 3 {
				text += fmt.Sprintf("; de is number %d with %.3f", place+1, s.Y[k])
			}
		}
		r.Notef("With %g%% of queries the first three are %s.", 100*share, text)
	}
}

func queriesOf(share float64, pages int) int { return int(math.Ceil(share * float64(pages))) }

// firstSnapshot returns the pages of the first snapshot with their links to pages, and `/`.
func firstSnapshot(h *snap.History) (g *graph.CSR, start graph.Node, err error) {
	at := h.At(0)
	for id, alive := range at.Alive {
		if alive && at.Flag[id].IsPage() && h.URLs[id] == "/" {
			return firstPages(h), graph.Node(id), nil
		}
	}
	return nil, graph.None, fmt.Errorf("the first snapshot has no /")
}

// firstPages returns the links among the pages of the first snapshot of a site.
func firstPages(h *snap.History) *graph.CSR {
	at := h.At(0)
	lists := make([][]graph.Node, len(h.URLs))
	for id, alive := range at.Alive {
		if !alive || !at.Flag[id].IsPage() {
			continue
		}
		for _, u := range at.Links[id] {
			if at.Alive[u] && at.Flag[u].IsPage() {
				lists[id] = append(lists[id], graph.Node(u))
			}
		}
	}
	return graph.FromLists(lists)
}

// siteFiles returns one history of each site below the folder of env, sorted by path: of recrawls where there is one, else of commits.
func (e *Env) siteFiles() ([]string, error) {
	all, err := e.Files(".snap.gz")
	if err != nil {
		return nil, err
	}
	best := map[string]string{} // by the name of the file
	for _, dated := range []bool{false, true} {
		for _, path := range all {
			d, err := snap.Dated(path)
			if err != nil {
				return nil, err
			}
			if name := filepath.Base(path); d == dated && best[name] == "" {
				best[name] = path
			}
		}
	}
	files := slices.Collect(maps.Values(best))
	slices.Sort(files)
	return files, nil
}
