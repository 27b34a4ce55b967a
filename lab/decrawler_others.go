package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"forage/graph"
	"forage/graph/bv"
	"forage/graph/gen"
	"forage/snap"
)

// The networks of deOthers: othersNodes are the nodes of generated ones, and of given ones those of at least leastNodes are taken, and of at
// most mostNodes where not all were asked for. With 10% of fewer than leastNodes as budget, chance is most of what is seen; on one of more than
// mostNodes the explorers take hours of CPU.
var (
	othersNodes = 10_000
	leastNodes  = 500
	mostNodes   = 100_000
)

// An other is a network that the paper does not have.
type other struct {
	kind string // given, site, generated
	network
}

// deOthers is [DE, Table 2] on networks that the paper does not have: of the data folder networks, web graphs and the first snapshots of
// sites, each without the directions of its links and cut down to its largest component; and generated ones. learned-folds has the prior
// that is fitted to the paper's networks at hand.
func deOthers(ctx context.Context, env *Env) (*Result, error) {
	found, left, err := otherNetworks(env)
	if err != nil {
		return nil, err
	}
	theirs, _, err := networks(env)
	var none *DataError
	if err != nil && !errors.As(err, &none) {
		return nil, err
	}
	runs := env.Runs
	if runs == 0 {
		runs = 10
	}
	nets := make([]network, len(found))
	for i, o := range found {
		nets[i] = o.network
	}
	all, err := explorations(ctx, env, nets, inPaper(theirs), runs)
	if err != nil {
		return nil, err
	}
	r := &Result{Columns: []string{"kind", "network", "nodes", "edges", "policy", "runs", "regret", "ci95"}}
	for i := range all {
		x := &all[i]
		for _, name := range tableTwo {
			if len(x.runsOf(name)) == 0 {
				continue
			}
			mean, ci := meanInterval(x.runsOf(name))
			var half any
			if runs > 1 {
				half = ci
			}
			r.Add(found[i].kind, x.name, x.graph.NumNodes(), int(x.graph.NumArcs()/2), name, runs, mean, half)
		}
	}
	othersNote(r, all)
	for _, kind := range []string{"given", "site", "generated"} {
		var of []exploration
		for i, o := range found {
			if o.kind == kind {
				of = append(of, all[i])
			}
		}
		if len(of) > 0 {
			wins, _ := winners(of)
			r.Notef("%s: de is the best of the paper's five on %d of %d. Average regret: %s.", kind, wins, len(of), regretList(of))
		}
	}
	learnedNotes(r, all)
	negativeNote(r, all)
	if len(left) > 0 {
		r.Notef("Left out for their size, more than %d nodes (--full takes them in): %s.", mostNodes, strings.Join(left, ", "))
	}
	return r, nil
}

// regretList lists the average regret of each policy, best first.
func regretList(all []exploration) string {
	type item struct {
		name   string
		regret float64
	}
	var list []item
	for j, avg := range averageRegret(all) {
		if avg == avg {
			list = append(list, item{tableTwo[j], avg})
		}
	}
	slices.SortStableFunc(list, func(a, b item) int { return cmp.Compare(a.regret, b.regret) })
	var parts []string
	for _, x := range list {
		parts = append(parts, fmt.Sprintf("%s %.3f", x.name, x.regret))
	}
	return strings.Join(parts, ", ")
}

// otherNetworks reads and makes the networks of deOthers, and names those that are left out for their size.
func otherNetworks(env *Env) (all []other, left []string, err error) {
	var none *DataError
	add := func(kind, name string, g *graph.CSR) {
		g = largestComponent(g.Undirected())
		switch n := g.NumNodes(); {
		case kind != "generated" && n < leastNodes:
		case kind != "generated" && n > mostNodes && !env.Full:
			left = append(left, fmt.Sprintf("%s (%d)", name, n))
		default:
			all = append(all, other{kind, network{name, nil, g}})
		}
	}
	nets, _, err := networks(env)
	if err != nil && !errors.As(err, &none) {
		return nil, nil, err
	}
	for _, n := range nets {
		if n.paper == nil {
			add("given", n.name, n.graph)
		}
	}
	files, err := env.Files(".graph")
	if err != nil && !errors.As(err, &none) {
		return nil, nil, err
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".graph")
		g, err := bv.Open(path)
		if err != nil {
			return nil, nil, err
		}
		if g.NumNodes() > mostNodes && !env.Full { // most of a web graph is one component
			left = append(left, fmt.Sprintf("%s (%d)", name, g.NumNodes()))
			if err := g.Close(); err != nil {
				return nil, nil, err
			}
			continue
		}
		c, err := graph.Load(g)
		if err := errors.Join(err, g.Close()); err != nil {
			return nil, nil, err
		}
		add("given", name, c)
	}
	sites, err := env.siteFiles()
	if err != nil && !errors.As(err, &none) {
		return nil, nil, err
	}
	for _, path := range sites {
		h, err := snap.Open(path)
		if err != nil {
			return nil, nil, err
		}
		add("site", h.Site, firstPages(h))
	}
	for _, m := range othersMade() {
		g, err := m.make(env.Seed)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", m.name, err)
		}
		add("generated", m.name, g)
	}
	return all, left, nil
}

// othersMade are the graphs that deOthers makes.
func othersMade() []web {
	n := othersNodes
	out := []web{
		{"weblike", func(seed uint64) (*graph.CSR, error) { return gen.Weblike(n, 7, seed) }},
		{"copying, 3 links", func(seed uint64) (*graph.CSR, error) { return gen.Copying(n, 3, 0.3, gen.Options{Seed: seed}) }},
		{"rmat, 8 arcs a node", func(seed uint64) (*graph.CSR, error) {
			return gen.RMAT(n, uint64(8*n), gen.RMATConfig{}, gen.Options{Seed: seed})
		}},
	}
	for _, m := range gen.Stability() {
		if m.Name == "bppl" || m.Name == "chung-lu" || m.Name == "growth" || m.Name == "three-arcs" || m.Name == "scale-free" {
			out = append(out, web{m.Name, func(seed uint64) (*graph.CSR, error) {
				return m.Make(gen.Params{Nodes: n, Alpha: 2.5, Options: gen.Options{Seed: seed}})
			}})
		}
	}
	return out
}

// largestComponent returns the largest part of an undirected graph that hangs together, its nodes numbered in their order; of equal ones
// that with the lowest node.
func largestComponent(g *graph.CSR) *graph.CSR {
	least, _, err := graph.WeakComponents(g)
	if err != nil {
		panic(err) // of a graph in memory
	}
	size := make([]int, g.NumNodes())
	best := graph.Node(0)
	for _, c := range least {
		if size[c]++; size[c] > size[best] || size[c] == size[best] && c < best {
			best = c
		}
	}
	number := make([]graph.Node, g.NumNodes())
	next := graph.Node(0)
	for v, c := range least {
		if c == best {
			number[v] = next
			next++
		}
	}
	lists := make([][]graph.Node, next)
	for v, c := range least {
		if c == best {
			for _, u := range g.Successors(graph.Node(v)) {
				lists[number[v]] = append(lists[number[v]], number[u])
			}
		}
	}
	return graph.FromLists(lists)
}
