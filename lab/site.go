package lab

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"forage/graph"
	"forage/revisit"
	"forage/snap"
)

// A site is the history of one site with what evaluations ask of it, as "What counts" in
// FORMAT.md says. Documents have the numbers of the history, which ascend with the time of
// their first appearance: only the lab sees them.
type site struct {
	name  string
	urls  []string
	pages int        // documents below are pages
	home  graph.Node // graph.None: there is no /
	kind  []revisit.Kind
	weeks []week

	reached []int32 // by page: the week in which it is first in R; -1 never
	listed  []int32 // by feed or sitemap: the week in which a crawler first knows it; -1 never
	main    []int32 // by feed or sitemap: the week in which it is first a main one; -1 never

	allSeeds bool // R starts from all pages of week 0
}

// A week is one snapshot.
type week struct {
	time  int64
	alive []bool
	links [][]graph.Node // where nothing changed, the same slice as the week before
	ver   []int32        // by document: week of its last change
	fresh []graph.Node   // Y_t, orphans included, ascending
	well  []graph.Node   // the W line
	dated *dated         // what documents state; nil: nothing
	reach []bool         // R_t
	count int
}

// dated is what the documents of a dated history state at one time.
type dated struct {
	pages []int64             // by document: the date that the page states of itself; 0: none
	lists []map[snap.ID]int64 // by document: the dates that the list states of those it links to
}

// readSite reads one history. Whether all pages of the first week are seeds is told by
// sites.tsv beside it; a site of which it does not tell that starts from /.
func readSite(path string) (*site, error) {
	h, err := snap.Open(path)
	if err != nil {
		return nil, err
	}
	if h.Dated { // a week for every commit: thousands, in which little is new
		return nil, &DataError{fmt.Sprintf("%s is a history of commits (SNAP3), not of recrawls (SNAP2); of the lab's tables those of delay read it", path)}
	}
	all, err := allSeeds(filepath.Join(filepath.Dir(path), "sites.tsv"), h.Site)
	if err != nil {
		return nil, err
	}
	return newSite(h, all), nil
}

// allSeeds looks up the column all_seeds of a site; without that column sites start from /.
func allSeeds(path, site string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes = '\t', true
	rows, err := r.ReadAll()
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	if len(rows) == 0 {
		return false, nil
	}
	column := slices.Index(rows[0], "all_seeds")
	if column < 0 {
		return false, nil
	}
	name := slices.Index(rows[0], "site")
	if name < 0 {
		return false, fmt.Errorf("%s: want a column site beside all_seeds, have %q", path, rows[0])
	}
	for _, row := range rows[1:] {
		if row[name] == site {
			return row[column] == "1", nil
		}
	}
	return false, nil
}

// newSite works out what evaluations need, in one walk.
func newSite(h *snap.History, all bool) *site {
	n := len(h.URLs)
	s := &site{name: h.Site, urls: make([]string, n), pages: h.NumPages(), home: graph.None, allSeeds: all,
		kind: make([]revisit.Kind, n), reached: never(n), listed: never(n), main: never(n)}
	for v, u := range h.URLs {
		s.urls[v] = revisit.Readable(u)
	}
	if i := slices.Index(h.URLs, "/"); i >= 0 {
		s.home = graph.Node(i)
	}
	var seeds []graph.Node
	h.Walk(func(at *snap.State) bool {
		t := int32(at.K)
		w := week{time: at.Time, alive: slices.Clone(at.Alive), links: make([][]graph.Node, n), ver: make([]int32, n)}
		for _, u := range at.WellKnown {
			w.well = append(w.well, graph.Node(u))
		}
		for v := range n {
			w.ver[v] = int32(at.Version[v])
			if !at.Alive[v] {
				continue
			}
			switch at.Flag[v] {
			case snap.Feed:
				s.kind[v] = revisit.Feed
			case snap.Sitemap:
				s.kind[v] = revisit.Sitemap
			}
			if t > 0 && sameLinks(s.weeks[t-1].links[v], at.Links[v]) {
				w.links[v] = s.weeks[t-1].links[v]
				continue
			}
			w.links[v] = make([]graph.Node, len(at.Links[v]))
			for i, u := range at.Links[v] {
				w.links[v][i] = graph.Node(u)
			}
		}
		if t == 0 {
			if s.home != graph.None {
				seeds = append(seeds, s.home)
			}
			for v := range s.pages {
				if all && w.alive[v] {
					seeds = append(seeds, graph.Node(v))
				}
			}
		}
		s.week(&w, t, seeds)
		s.weeks = append(s.weeks, w)
		return true
	})
	return s
}

func never(n int) []int32 {
	t := make([]int32, n)
	for i := range t {
		t[i] = -1
	}
	return t
}

func sameLinks(a []graph.Node, b []snap.ID) bool {
	if a == nil || len(a) != len(b) {
		return false
	}
	for i, u := range b {
		if a[i] != graph.Node(u) {
			return false
		}
	}
	return true
}

// week finds R_t, Y_t and the lists known at t.
func (s *site) week(w *week, t int32, seeds []graph.Node) {
	seen := make([]bool, len(s.urls))
	var todo []graph.Node
	page := func(v graph.Node) {
		if !seen[v] && w.alive[v] {
			seen[v] = true
			todo = append(todo, v)
		}
	}
	known := func(v graph.Node, main bool) {
		if s.listed[v] < 0 {
			s.listed[v] = t
		}
		if main && s.main[v] < 0 {
			s.main[v] = t
		}
	}
	for _, v := range seeds {
		page(v)
	}
	for i := 0; i < len(todo); i++ {
		for _, u := range w.links[todo[i]] {
			if int(u) < s.pages {
				page(u)
			} else {
				known(u, todo[i] == s.home)
			}
		}
	}
	w.reach, w.count = seen, len(todo)
	for _, v := range todo {
		if s.reached[v] < 0 {
			s.reached[v] = t
			if t > 0 {
				w.fresh = append(w.fresh, v)
			}
		}
	}
	slices.Sort(w.fresh)
	for _, v := range w.well {
		if w.alive[v] {
			known(v, true)
		}
	}
	// Sitemap indexes list further lists, in any order.
	for again := true; again; {
		again = false
		for v := s.pages; v < len(s.urls); v++ {
			if !w.alive[v] || s.listed[v] < 0 {
				continue
			}
			for _, u := range w.links[v] {
				if int(u) < s.pages {
					continue
				}
				if main := s.main[v] >= 0 && s.kind[v] == revisit.Sitemap; s.listed[u] < 0 || main && s.main[u] < 0 {
					known(u, main)
					again = true
				}
			}
		}
	}
}

// old reports whether v was known before week t.
func (s *site) old(v graph.Node, t int) bool {
	first := s.reached[v]
	if int(v) >= s.pages {
		first = s.listed[v]
	}
	return first >= 0 && int(first) < t
}

// hasLists reports whether the site ever has a feed or sitemap.
func (s *site) hasLists() bool { return s.pages < len(s.urls) }

// there reports whether a crawler that fetched everything at week t has v to fetch again: a
// page of R_t, a list that answers.
func (s *site) there(v graph.Node, t int) bool {
	w := &s.weeks[t]
	return w.reach[v] || int(v) >= s.pages && w.alive[v]
}

// recrawled returns the histories of recrawls below the folder of env, sorted by path, and how many there are of commits.
func (e *Env) recrawled() (files []string, dated int, err error) {
	all, err := e.Files(".snap.gz")
	if err != nil {
		return nil, 0, err
	}
	for _, path := range all {
		switch d, err := snap.Dated(path); {
		case err != nil:
			return nil, 0, err
		case d: // a week for every commit: thousands, in which little is new
			dated++
		default:
			files = append(files, path)
		}
	}
	if len(files) == 0 {
		return nil, 0, &DataError{fmt.Sprintf("%s holds histories of commits only (SNAP3), none of recrawls (SNAP2); of the lab's tables those of delay read them", e.Data)}
	}
	return files, dated, nil
}

// histories is what a table is made from: site histories of recrawls.
type histories struct {
	sites, pages int // pages of the first snapshots
	least, most  int // snapshots of a site
	lists        int // sites with a feed or sitemap
	dated        int // histories of commits that were left out
}

// add counts a site of so many snapshots, and of so many pages at first.
func (h *histories) add(snapshots, pages int, lists bool) {
	if h.sites == 0 {
		h.least = snapshots
	}
	h.sites, h.pages, h.least, h.most = h.sites+1, h.pages+pages, min(h.least, snapshots), max(h.most, snapshots)
	if lists {
		h.lists++
	}
}

// What [DGKOPT07, §3] crawled.
const (
	paperSites = 42
	paperPages = 640_489
	paperWeeks = 23
)

// differ says how the data differ from the paper's.
func (h *histories) differ() string {
	snapshots := fmt.Sprintf("%d to %d snapshots", h.least, h.most)
	if h.least == h.most {
		snapshots = fmt.Sprintf("%d snapshots", h.most)
	}
	here, there := float64(h.pages)/float64(h.sites), float64(paperPages)/paperSites
	out := fmt.Sprintf("Data: %d sites of %.0f pages on average at first, in %s; %d have a feed or sitemap. The paper: %d sites of 2004 and 2005 of %.0f pages, %.2g times as many, in %d weekly ones.",
		h.sites, here, snapshots, h.lists, paperSites, there, there/here, paperWeeks)
	if h.dated > 0 {
		out += fmt.Sprintf(" %d histories of commits below the folder are not for this table.", h.dated)
	}
	return out
}

// eachSite reads every history of recrawls below the folder of env and calls do with it and its number among them, on all
// processors, at most one history a processor in memory.
func eachSite(ctx context.Context, env *Env, do func(i int, s *site) error) (*histories, error) {
	files, dated, err := env.recrawled()
	if err != nil {
		return nil, err
	}
	all := &histories{dated: dated}
	var mu sync.Mutex
	return all, each(ctx, len(files), func(i int) error {
		s, err := readSite(files[i])
		if err != nil {
			return err
		}
		if err := do(i, s); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		all.add(len(s.weeks), s.weeks[0].count, s.hasLists())
		if env.Progress != nil {
			fmt.Fprintf(env.Progress, "%s: %d weeks\n", s.name, len(s.weeks))
		}
		return nil
	})
}

// each calls do(0) … do(n−1) on all processors and returns the error of the lowest number
// that failed.
func each(ctx context.Context, n int, do func(i int) error) error {
	errs := make([]error, n)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range next {
				errs[i] = do(i)
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			errs[i] = ctx.Err()
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// isMain reports whether v is a main feed or sitemap at week t.
func (s *site) isMain(v, t int) bool {
	return v >= s.pages && s.main[v] >= 0 && int(s.main[v]) <= t
}
