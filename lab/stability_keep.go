package lab

import (
	"context"
	"fmt"
	"math"
	"slices"

	"forage/graph"
	"forage/retain"
)

// keepShares are the sizes of the store in stability-keep, as shares of the pages of a site's first week.
var keepShares = []float64{.05, .1, .3}

// A keeping is what a bounded store did on one history of recrawls, means over all weeks but the first.
type keeping struct {
	held      float64 // of the links that there are, at the end of a week
	lost      float64 // links of kept pages that were given up in a week, of those held
	back      float64 // pages a week that came back after they had been given up, of those that fit
	validated float64 // of the pages fetched: a validator was kept
	core      float64 // at the end, of those that fit; NaN: fewer weeks than that takes
	shared    float64 // at the end, of the pages kept: those that the rule indegree keeps as well
	pages     []graph.Node
}

// keepings runs bounded stores by each rule on the histories: what live crawls of each week keep, by
// the same code, and what is lost by it.
func keepings(ctx context.Context, env *Env) (*Result, error) {
	files, _, err := env.recrawled()
	if err != nil {
		return nil, err
	}
	rules := retain.KeepRules()
	all := make([][][]keeping, len(files)) // by site, share, rule
	n, err := eachSite(ctx, env, func(i int, s *site) error {
		order := s.discovered()
		for _, size := range keepShares {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			b := max(1, int(size*float64(s.weeks[0].count)))
			var row []keeping
			for _, rule := range rules {
				k, err := s.keeping(rule, b, order)
				if err != nil {
					return err
				}
				row = append(row, *k)
			}
			paper := row[slices.Index(rules, retain.KeepInDegree)].pages
			for j := range row {
				row[j].shared = share(retain.Overlap(row[j].pages, paper), max(1, len(row[j].pages)))
			}
			all[i] = append(all[i], row)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r := &Result{Columns: []string{"store", "rule", "links_held", "links_lost_a_week", "rediscoveries_a_week", "validated", "core", "shared_with_indegree"}}
	panel := Panel{Title: "links that a bounded store loses", X: "pages that fit / pages of the site", Y: "links lost a week / links held"}
	for j, rule := range rules {
		line := Series{Name: string(rule)}
		for i, size := range keepShares {
			m := meanKeeping(all, i, j)
			r.Add(fmt.Sprintf("%g%%", 100*size), string(rule), m.held, m.lost, m.back, m.validated, m.core, m.shared)
			line.X, line.Y = append(line.X, size), append(line.Y, m.lost)
		}
		panel.Series = append(panel.Series, line)
	}
	r.Figure = &Figure{Panels: []Panel{panel}}
	r.Notef("%d sites, means over sites; each week is a full recrawl. A rediscovery is a page that is kept again after its links, their history and its validator were given up; rates are of links held and of pages that fit.", n.sites)
	keepNotes(r, all, rules)
	return r, nil
}

// keepNotes says which rule loses least, and what it loses where the choice was made on other sites.
func keepNotes(r *Result, all [][][]keeping, rules []retain.KeepRule) {
	for i, size := range keepShares {
		best := make([]int, len(rules)) // sites that each rule is chosen for by all others
		fewest := make([]int, len(rules))
		chosen := 0.
		for out, s := range all {
			others := slices.Concat(all[:out], all[out+1:])
			j := leastLost(others, i, len(rules))
			best[j]++
			fewest[leastLost([][][]keeping{s}, i, len(rules))]++
			chosen += s[i][j].lost / float64(len(all))
		}
		text := fmt.Sprintf("A store of %g%%: links lost a week", 100*size)
		for j, rule := range rules {
			text += fmt.Sprintf(", %s %.2f%% (fewest on %d of %d sites, chosen for %d by the others)", rule, 100*meanKeeping(all, i, j).lost, fewest[j], len(all), best[j])
		}
		r.Notef("%s; chosen so, out of fold, %.2f%%.", text, 100*chosen)
	}
}

// leastLost returns the rule that loses fewest links in the mean over sites; at equal loss the first.
func leastLost(all [][][]keeping, size, rules int) (best int) {
	least := math.Inf(1)
	for j := range rules {
		if lost := meanKeeping(all, size, j).lost; lost < least {
			best, least = j, lost
		}
	}
	return best
}

// meanKeeping is the mean over sites; a mean of core is over those that last long enough.
func meanKeeping(all [][][]keeping, size, rule int) (m keeping) {
	n, cores := float64(len(all)), 0.
	for _, s := range all {
		k := s[size][rule]
		m.held, m.lost, m.back, m.validated, m.shared = m.held+k.held/n, m.lost+k.lost/n, m.back+k.back/n, m.validated+k.validated/n, m.shared+k.shared/n
		if !math.IsNaN(k.core) {
			m.core, cores = m.core+k.core, cores+1
		}
	}
	m.core /= cores
	return m
}

// discovered returns the pages in the order in which crawls find them: those of each week breadth
// first from the home page, then those that no path leads to.
func (s *site) discovered() []graph.Node {
	seen := make([]bool, s.pages)
	var order []graph.Node
	for _, w := range s.weeks {
		visited := make([]bool, s.pages)
		var queue []graph.Node
		visit := func(v graph.Node) {
			if int(v) < s.pages && w.alive[v] && !visited[v] {
				visited[v] = true
				queue = append(queue, v)
			}
		}
		if s.home != graph.None {
			visit(s.home)
		}
		for i := 0; i < len(queue); i++ {
			for _, v := range w.links[queue[i]] {
				visit(v)
			}
		}
		for v := range graph.Node(s.pages) {
			visit(v)
		}
		for _, v := range queue {
			if !seen[v] {
				seen[v] = true
				order = append(order, v)
			}
		}
	}
	return order
}

// keeping runs a store of b pages: each week all pages there are are fetched, in that order.
func (s *site) keeping(rule retain.KeepRule, b int, order []graph.Node) (*keeping, error) {
	store, err := retain.NewBuffer(rule, b)
	if err != nil {
		return nil, err
	}
	held := map[graph.Node][]graph.Node{} // the links that the store has
	given := map[graph.Node]bool{}        // was kept once, and given up
	m := &keeping{core: math.NaN()}
	var stats retain.KeeperStats
	for i, w := range s.weeks {
		lost, back, fetched, validated := 0, 0, 0, 0
		before := count(held)
		for v := range held {
			if !w.alive[v] {
				store.Forget(v)
				delete(held, v)
			}
		}
		for _, v := range order {
			if !w.alive[v] {
				continue
			}
			fetched++
			had := store.Kept(v)
			if had {
				validated++
			}
			var links []graph.Node
			for _, to := range w.links[v] {
				if int(to) < s.pages && to != v && w.alive[to] {
					links = append(links, to)
					store.Vote(uint64(v), to)
				}
			}
			out, evicts := store.Fetched(v)
			if evicts && out != v {
				lost += len(held[out])
				given[out] = true
				delete(held, out)
			}
			if store.Kept(v) {
				held[v] = links
				if !had && given[v] {
					back++
				}
			}
		}
		if stats, err = store.EndRound(func(v graph.Node, to []graph.Node) ([]graph.Node, error) { return append(to, held[v]...), nil }); err != nil {
			return nil, err
		}
		there := 0
		for v := range graph.Node(s.pages) {
			if w.alive[v] {
				for _, to := range w.links[v] {
					if int(to) < s.pages && to != v && w.alive[to] {
						there++
					}
				}
			}
		}
		if i == 0 {
			continue
		}
		weeks := float64(len(s.weeks) - 1)
		m.held += share(count(held), max(1, there)) / weeks
		m.lost += share(lost, max(1, before)) / weeks
		m.back += share(back, b) / weeks
		m.validated += share(validated, max(1, fetched)) / weeks
	}
	if stats.Rounds >= retain.CoreRounds {
		m.core = share(stats.Core, b)
	}
	m.pages = store.Pages(nil)
	return m, nil
}

// count returns how many links are held.
func count(held map[graph.Node][]graph.Node) (n int) {
	for _, links := range held {
		n += len(links)
	}
	return n
}
