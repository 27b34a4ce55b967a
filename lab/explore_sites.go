package lab

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"forage/explore"
	"forage/explore/yield"
	"forage/graph"
	"forage/snap"
)

// siteShares are the budgets of exploreSites, as shares of a site's pages.
var siteShares = []float64{0.01, 0.03, 0.1}

// siteFolds are the parts that sites fall into, by their place in the order of names: best-folds has weights that were fitted to
// the sites of other parts.
const siteFolds = 8

// exploreSites hides the first snapshot of each site history as a directed graph and lets every
// explorer crawl it from `/`. Pages are those that `/` leads to, but for those that only redirect.
func exploreSites(ctx context.Context, env *Env) (*Result, error) {
	sites, err := env.webSites()
	if err != nil {
		return nil, err
	}
	runs := env.Runs
	if runs == 0 {
		runs = 10
	}
	priors, err := sitePriors(ctx, env, sites)
	if err != nil {
		return nil, err
	}
	policies := append(explore.Names(), "best", "best-folds")
	seen := make([][][]float64, len(sites)) // by site, policy and share: pages found, mean
	home := make([][]homeward, len(sites))  // by site and policy
	err = each(ctx, len(sites), func(i int) error {
		s := &sites[i]
		seen[i], home[i] = make([][]float64, len(policies)), make([]homeward, len(policies))
		for j, name := range policies {
			seen[i][j] = make([]float64, len(siteShares))
			name, folds := strings.CutSuffix(name, "-folds")
			for run := 1; run <= runs; run++ {
				if err := ctx.Err(); err != nil {
					return err
				}
				t := siteTrial{site: s, policy: name, seed: env.Seed, run: run, budget: queriesOf(siteShares[len(siteShares)-1], s.pages)}
				if folds {
					t.prior = priors[i%siteFolds]
				}
				err := t.explore(func(queries, found int) {
					for k, share := range siteShares {
						if queries == queriesOf(share, s.pages) {
							seen[i][j][k] += float64(found) / float64(s.pages) / float64(runs)
						}
					}
				})
				if err != nil {
					return fmt.Errorf("%s: %w", s.name, err)
				}
				home[i][j].add(&t.home)
			}
		}
		env.progress("%s: %d runs", s.name, runs)
		return nil
	})
	if err != nil {
		return nil, err
	}
	r := &Result{Columns: []string{"site", "pages", "policy", "runs", "found_at_1pct", "found_at_3pct", "found_at_10pct", "near_home"}}
	panel := Panel{Title: fmt.Sprintf("mean of %d sites", len(sites)), X: "queries / pages", Y: "found / pages", LogX: true}
	pages := 0
	for i := range sites {
		pages += sites[i].pages
	}
	for j, name := range policies {
		mean := make([]float64, len(siteShares))
		for i := range sites {
			for k := range siteShares {
				mean[k] += seen[i][j][k] / float64(len(sites))
			}
		}
		var near homeward
		for i := range sites {
			near.add(&home[i][j])
		}
		r.Add("all", pages, name, runs, mean[0], mean[1], mean[2], near.share())
		panel.Series = append(panel.Series, Series{Name: name, X: siteShares, Y: mean})
	}
	r.Figure = &Figure{Panels: []Panel{panel}}
	for i := range sites {
		for j, name := range policies {
			r.Add(sites[i].name, sites[i].pages, name, runs, seen[i][j][0], seen[i][j][1], seen[i][j][2], home[i][j].share())
		}
	}
	firstNotes(r, panel.Series)
	withinNote(r, policies, seen)
	homeNote(r, policies, panel.Series, home)
	r.Notef("The rows of all sites are means over %d sites, each weighing the same. Queries are rounded up. First snapshot, links of HTML pages only, start at /; pages that only redirect are not counted.", len(sites))
	return r, nil
}

// A webSite is the first snapshot of a site.
type webSite struct {
	name  string
	g     *graph.CSR
	start graph.Node
	urls  []string // by node
	stub  []bool   // by node: it only redirects
	pages int      // that start leads to, but for stubs
}

// webSites reads the sites of siteFiles.
func (e *Env) webSites() ([]webSite, error) {
	files, err := e.siteFiles()
	if err != nil {
		return nil, err
	}
	sites := make([]webSite, len(files))
	for i, path := range files {
		h, err := snap.Open(path)
		if err != nil {
			return nil, err
		}
		if sites[i], err = newWebSite(h); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return sites, nil
}

func newWebSite(h *snap.History) (webSite, error) {
	g, start, err := firstSnapshot(h)
	if err != nil {
		return webSite{}, err
	}
	s := webSite{name: h.Site, g: g, start: start, urls: h.URLs, stub: make([]bool, len(h.URLs))}
	for v, flag := range h.At(0).Flag {
		s.stub[v] = flag == snap.Redirect
	}
	for _, layer := range g.Layers([]graph.Node{start}, -1) {
		for _, v := range layer {
			if !s.stub[v] {
				s.pages++
			}
		}
	}
	return s, nil
}

// A homeward counts queries but the first, and the pages that they found: of pages that / links to, and of others.
type homeward struct{ queries, found [2]int }

// near and far are the places in a homeward.
const (
	far = iota
	near
)

func (h *homeward) add(o *homeward) {
	for k := range h.queries {
		h.queries[k] += o.queries[k]
		h.found[k] += o.found[k]
	}
}

// share is that of the queries of pages that / links to; nil: there were none.
func (h *homeward) share() any {
	if all := h.queries[near] + h.queries[far]; all > 0 {
		return float64(h.queries[near]) / float64(all)
	}
	return nil
}

// homeNote says why bfs and de differ: how much of their queries goes to pages that / links to, and what such a query finds.
func homeNote(r *Result, policies []string, lines []Series, home [][]homeward) {
	sum := func(policy string) (all homeward) {
		for _, of := range home {
			all.add(&of[slices.Index(policies, policy)])
		}
		return all
	}
	last := len(siteShares) - 1
	line := func(policy string) float64 { return lines[slices.Index(policies, policy)].Y[last] }
	bfs, de := sum("bfs"), sum("de")
	both := bfs
	both.add(&de)
	if both.queries[near] == 0 || both.queries[far] == 0 || bfs.share() == nil || de.share() == nil {
		return
	}
	shares := [2]float64{bfs.share().(float64), de.share().(float64)}
	per := [2]float64{far: float64(both.found[far]) / float64(both.queries[far]), near: float64(both.found[near]) / float64(both.queries[near])}
	text := fmt.Sprintf("bfs finds %.3f with %g%% of queries, de %.3f. Of the queries after the first %.0f%% of bfs go to pages that / links to, of de %.0f%%; such a query of these two finds %.1f pages, another %.1f",
		line("bfs"), 100*siteShares[last], line("de"), 100*shares[0], 100*shares[1], per[near], per[far])
	switch {
	case (line("bfs") > line("de")) != (shares[0] > shares[1]) || per[near] == per[far]:
		text += ": that does not tell why."
	case per[near] > per[far]:
		text += ": the order of discovery takes what the home page names first, and de leaves it for where pages are linked most, or least."
	default:
		text += ": who stays near / does so though it finds less there."
	}
	r.Notef("%s", text)
}

// A siteTrial is one crawl of a site.
type siteTrial struct {
	site      *webSite
	policy    string
	seed      uint64
	run       int
	budget    int
	prior     *explore.Prior
	lessons   *explore.Lessons
	elsewhere float64 // share of queries that go to any open page, whatever the policy chose
	home      homeward
}

// explore makes the crawl and tells visit, if it is not nil, how many pages are found after each query. What is doubtful is told to
// the policy as a live crawl tells it, by the groups of package yield.
func (t *siteTrial) explore(visit func(queries, found int)) error {
	s := t.site
	h := explore.NewHidden(s.g, t.seed^uint64(t.run)<<32)
	start, err := h.Start(s.start)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(t.seed, 1<<32+uint64(t.run)))
	c := explore.Config{Rand: r, Budget: t.budget, Directed: true, NoSteps: true, Prior: t.prior, Lessons: t.lessons}
	if t.policy == "med" {
		c.Degree = h.Degree
	}
	p, err := explore.New(t.policy, c)
	if err != nil {
		return err
	}
	var groups yield.Site
	var open []graph.Node
	known, found := 0, 0
	observe := func(v graph.Node, out []graph.Node) {
		links := make([]explore.Link, len(out))
		for i, u := range out {
			url := s.urls[h.Name(u)]
			if int(u) >= known {
				groups.See(url)
			}
			links[i] = explore.Link{To: u, URL: url}
		}
		for i := range links { // when all of the answer are counted
			links[i].Doubt = groups.Doubt(links[i].URL, groups.Rank(links[i].URL, false))
		}
		for ; known < h.Observed(); known++ {
			open = append(open, graph.Node(known))
			if !s.stub[h.Name(graph.Node(known))] {
				found++
			}
		}
		if told, ok := p.(explore.LinkObserver); ok {
			told.ObserveLinks(v, links)
		} else {
			p.Observe(v, out)
		}
	}
	observe(graph.None, []graph.Node{start})
	for queries := 1; queries <= t.budget; queries++ {
		v, ok := graph.None, false
		if t.elsewhere > 0 && r.Float64() < t.elsewhere && len(open) > 0 {
			v, ok = open[r.IntN(len(open))], true
		} else {
			v, ok = p.Next()
		}
		if !ok {
			break
		}
		if i := slices.Index(open, v); i >= 0 {
			open = slices.Delete(open, i, i+1)
		}
		out, err := h.Query(v)
		if err != nil {
			return err
		}
		name := h.Name(v)
		if s.stub[name] {
			groups.Fetched(s.urls[name], yield.Moved)
		} else {
			groups.Fetched(s.urls[name], yield.Content)
		}
		before := found
		observe(v, out)
		if queries > 1 {
			place := far
			if s.g.HasArc(s.start, name) {
				place = near
			}
			t.home.queries[place]++
			t.home.found[place] += found - before
		}
		if visit != nil {
			visit(queries, found)
		}
	}
	return nil
}

// The crawls of a site that teach best: by 12% of its pages, a fifth of them any open ones, so that what best would not choose is seen.
const (
	siteLessonRuns  = 3
	siteLessonShare = 0.12
	siteElsewhere   = 0.2
)

// sitePriors returns the weights of best for each part of the sites, from crawls of the others; the last ones are of all sites. There are
// two rounds: crawls without weights, and crawls with those that were fitted to the first.
func sitePriors(ctx context.Context, env *Env, sites []webSite) ([]*explore.Prior, error) {
	lessons := func(prior *explore.Prior, skip, round int) ([]*explore.Lessons, error) {
		out := make([]*explore.Lessons, len(sites))
		return out, each(ctx, len(sites), func(i int) error {
			out[i] = &explore.Lessons{}
			if i%siteFolds == skip {
				return nil
			}
			for run := 1; run <= siteLessonRuns; run++ {
				t := siteTrial{site: &sites[i], policy: "best", seed: env.Seed + lessonSeed + uint64(round), run: run, budget: queriesOf(siteLessonShare, sites[i].pages), prior: prior, lessons: out[i], elsewhere: siteElsewhere}
				if err := t.explore(nil); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	first, err := lessons(explore.NoPrior(), -1, 0)
	if err != nil {
		return nil, err
	}
	priors := make([]*explore.Prior, siteFolds+1)
	for fold := range priors {
		var of []*explore.Lessons
		for i, l := range first {
			if i%siteFolds != fold {
				of = append(of, l)
			}
		}
		second, err := lessons(explore.FitPrior(of), fold, 1)
		if err != nil {
			return nil, err
		}
		priors[fold] = explore.FitPrior(append(of, second...))
	}
	return priors, nil
}

// firstNotes says which policy finds most of a site, on average, at each share of queries; the oracle is no policy, and of best that counts
// which was not fitted to the site.
func firstNotes(r *Result, lines []Series) {
	for k, share := range lines[0].X {
		var named []Series
		for _, s := range lines {
			if s.Name != "med" && s.Name != "best" {
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

// withinPoints is how far behind the first a policy may be to count as first too.
const withinPoints = 0.02

// withinNote says on how many sites best, fitted to others, is first or next to it, beside bfs, the order of discovery.
func withinNote(r *Result, policies []string, seen [][][]float64) {
	within := func(policy string, k int) (n int) {
		for _, of := range seen {
			top := 0.0
			for j, name := range policies {
				if name != "med" && name != "best" {
					top = max(top, of[j][k])
				}
			}
			if of[slices.Index(policies, policy)][k] >= top-withinPoints {
				n++
			}
		}
		return n
	}
	for k, share := range siteShares {
		r.Notef("With %g%% of queries best-folds finds the most of all, or at most %g points less, on %d of %d sites (%.0f%%), bfs on %d.",
			100*share, 100*withinPoints, within("best-folds", k), len(seen), 100*float64(within("best-folds", k))/float64(len(seen)), within("bfs", k))
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
