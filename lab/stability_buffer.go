package lab

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"forage/graph"
	"forage/graph/gen"
	"forage/retain"
)

// A web is a graph that the tables of buffers use.
type web struct {
	name string
	make func(seed uint64) (*graph.CSR, error)
}

// webNodes is the size of the graphs of buffers, variants and models; ten times as many where larger ones are asked for.
var webNodes = 100_000

// webNodes returns the size of the graphs of buffers, variants and models.
func (e *Env) webNodes() int {
	if e.Full {
		return 10 * webNodes
	}
	return webNodes
}

// webs are a graph of the paper's kind, one with more links, a copying web and a web with hosts,
// all of so many pages; all but the paper's have about ten links each.
func webs(n int) []web {
	return []web{
		{"in/out, α=2.5, 10 links", func(seed uint64) (*graph.CSR, error) {
			d, err := gen.ParetoDegrees(2.5, n, seed)
			if err != nil {
				return nil, err
			}
			in := slices.Clone(d)
			r := rand.New(rand.NewPCG(seed, 5))
			r.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
			r.Shuffle(len(d), func(i, j int) { d[i], d[j] = d[j], d[i] })
			return gen.InOut(d, in, uint64(10*n), gen.Options{Seed: seed})
		}},
		{"BPPL, α=2.75", func(seed uint64) (*graph.CSR, error) {
			return gen.BPPL(typicalAlpha, n, gen.DrawnEnds, gen.Options{Seed: seed})
		}},
		{"copying, 10 links", func(seed uint64) (*graph.CSR, error) {
			return gen.Copying(n, 10, 0.3, gen.Options{Seed: seed})
		}},
		{"weblike", func(seed uint64) (*graph.CSR, error) { return gen.Weblike(n, 7, seed) }},
	}
}

// A trial is a buffer that was watched.
type trial struct {
	core     []graph.Node
	presence func(v graph.Node) float64 // share of the steps watched at which v was held
	final    []graph.Node
	moving   int
	zero     int
	turnover float64
	period   any
}

// try runs a buffer to its limit cycle, or watches a stochastic one.
func try(g *graph.CSR, c retain.Config, r *rand.Rand, change func(d *retain.Dynamics)) (*trial, error) {
	d, err := retain.New(g, c, retain.RandomStart(g.NumNodes(), c.Buffer, r), r)
	if err != nil {
		return nil, err
	}
	if !d.Deterministic() || change != nil {
		const window = 40
		s := retain.Watch(d, window, window, 0.05, func(int) {
			if change != nil {
				change(d)
			}
		})
		t := &trial{core: s.Core, turnover: s.Turnover, final: d.Buffer(nil), zero: int(s.Zero * float64(c.Buffer))}
		for _, k := range s.Presence {
			if k > 0 {
				t.moving++
			}
		}
		t.moving -= len(t.core)
		t.presence = func(v graph.Node) float64 { return float64(s.Presence[v]) / float64(s.Steps) }
		return t, nil
	}
	steps := 1000
	if c.Rule == retain.PageRank {
		steps = 100 // each is a hundred sweeps
	}
	l := retain.Run(d, steps)
	t := &trial{core: l.Core, turnover: l.Turnover, final: l.Final, moving: l.Moving, zero: d.ZeroVotes()}
	if l.Cyclic {
		t.period = l.Period
	}
	// Once more through the cycle, for who is there when.
	steps = max(1, min(l.Period, 200))
	held := make([]uint16, g.NumNodes())
	for range steps {
		for _, v := range d.Buffer(nil) {
			held[v]++
		}
		d.Step()
	}
	t.presence = func(v graph.Node) float64 { return float64(held[v]) / float64(steps) }
	return t, nil
}

// presenceOf is the mean presence of a set.
func (t *trial) presenceOf(set []graph.Node) float64 {
	sum := 0.0
	for _, v := range set {
		sum += t.presence(v)
	}
	return sum / float64(len(set))
}

func share(part, whole int) float64 { return float64(part) / float64(whole) }

// buffers answers the questions of [ABCHMT08, §1] over b/n: is what matters always held, what is
// stable, what moves, what is random.
func buffers(ctx context.Context, env *Env) (*Result, error) {
	r := &Result{Columns: []string{"graph", "b/n", "runs", "period", "always held of top 0.1% by links", "always held of top 0.1% by PageRank",
		"core/b", "moving/b", "no vote/b", "turnover", "agreement of starts", "overlap with top b by links", "overlap with top b by PageRank",
		"presence of top 1%", "presence of the next 9%", "presence of the other 90%"}}
	runs := 3
	if env.Runs > 0 {
		runs = env.Runs
	}
	panel := Panel{Title: "what a buffer holds", X: "b/n", Y: "share", LogX: true}
	for _, w := range webs(env.webNodes()) {
		g, err := w.make(env.Seed)
		if err != nil {
			return nil, err
		}
		n := g.NumNodes()
		in := indegrees(g)
		rank, err := retain.FullRank(g, retain.Config{})
		if err != nil {
			return nil, err
		}
		topLinks, topRank := topOf(in, 0.001), topOf(rank, 0.001)
		one, ten := topOf(rank, 0.01), topOf(rank, 0.1)
		next := minus(ten, one, n)
		others := minus(allNodes(n), ten, n)
		always, coreShare := Series{Name: "top 0.1% always held, " + w.name}, Series{Name: "core/b, " + w.name}
		for _, x := range []float64{0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.9} {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			b := int(x * float64(n))
			bestLinks, bestRank := graph.Top(in, b, nil), graph.Top(rank, b, nil)
			var sum [12]float64
			var cores [][]graph.Node
			periods := map[any]bool{}
			for run := range runs {
				t, err := try(g, retain.Config{Buffer: b}, rand.New(rand.NewPCG(env.Seed, uint64(run))), nil)
				if err != nil {
					return nil, err
				}
				cores = append(cores, t.core)
				periods[t.period] = true
				for i, y := range []float64{
					share(retain.Overlap(t.core, topLinks), len(topLinks)), share(retain.Overlap(t.core, topRank), len(topRank)),
					share(len(t.core), b), share(t.moving, b), share(t.zero, b), t.turnover,
					share(retain.Overlap(t.final, bestLinks), b), share(retain.Overlap(t.final, bestRank), b),
					t.presenceOf(one), t.presenceOf(next), t.presenceOf(others),
				} {
					sum[i] += y / float64(runs)
				}
			}
			agreement, pairs := 0.0, 0
			for i := range cores {
				for j := range i {
					agreement += retain.Agreement(cores[i], cores[j])
					pairs++
				}
			}
			var agree any
			if pairs > 0 {
				agree = agreement / float64(pairs)
			}
			r.Add(w.name, x, runs, list(periods), sum[0], sum[1], sum[2], sum[3], sum[4], sum[5], agree, sum[6], sum[7], sum[8], sum[9], sum[10])
			always.X, always.Y = append(always.X, x), append(always.Y, sum[0])
			coreShare.X, coreShare.Y = append(coreShare.X, x), append(coreShare.Y, sum[2])
		}
		panel.Series = append(panel.Series, always, coreShare)
		env.progress("%s: done", w.name)
	}
	r.Notef("Rule indegree, random priorities; pages of importance by PageRank of the whole graph where nothing else is said. Graphs of %d pages.", env.webNodes())
	buffersNotes(r)
	r.Figure = &Figure{Panels: []Panel{panel}}
	return r, nil
}

// buffersNotes answers the first question of [ABCHMT08, §1] for each graph: whether a buffer of 5% of the pages always holds the top 0.1%.
func buffersNotes(r *Result) {
	type seen struct {
		at5, at5Rank float64
		always       any // the least b/n from which on all of them are held, by links; nil: none
	}
	of := map[string]*seen{}
	var graphs []string
	for _, row := range r.Rows {
		name, x, byLinks, byRank := row[0].(string), row[1].(float64), row[4].(float64), row[5].(float64)
		s := of[name]
		if s == nil {
			s = &seen{at5: math.NaN()}
			of[name], graphs = s, append(graphs, name)
		}
		if x == .05 {
			s.at5, s.at5Rank = byLinks, byRank
		}
		switch {
		case byLinks < 1-1e-9:
			s.always = nil
		case s.always == nil:
			s.always = x
		}
	}
	yes := 0
	var parts []string
	for _, name := range graphs {
		s := of[name]
		if s.at5 > 1-1e-9 {
			yes++
		}
		text := fmt.Sprintf("%s %.1f%% of them by links, %.1f%% by PageRank", name, 100*s.at5, 100*s.at5Rank)
		if s.always != nil {
			text += fmt.Sprintf(", all by links from b/n = %v on", s.always)
		}
		parts = append(parts, text)
	}
	r.Notef("The paper asks whether a buffer of 5%% of the web always holds the most important 0.1%%: by links on %d of %d graphs here. It always holds: %s.", yes, len(graphs), strings.Join(parts, "; "))
}

func allNodes(n int) []graph.Node {
	out := make([]graph.Node, n)
	for v := range out {
		out[v] = graph.Node(v)
	}
	return out
}

// minus returns the nodes of a that are not in b.
func minus(a, b []graph.Node, n int) []graph.Node {
	in := make([]bool, n)
	for _, v := range b {
		in[v] = true
	}
	var out []graph.Node
	for _, v := range a {
		if !in[v] {
			out = append(out, v)
		}
	}
	return out
}

// list formats a set, sorted.
func list(set map[any]bool) string {
	var all []string
	for x := range set {
		if x == nil {
			x = "none"
		}
		all = append(all, fmt.Sprint(x))
	}
	slices.Sort(all)
	out := all[0]
	for _, s := range all[1:] {
		out += " " + s
	}
	return out
}

// variants compares rules, ties, partial exploration, the accuracy of PageRank, and inertia.
func variants(ctx context.Context, env *Env) (*Result, error) {
	r := &Result{Columns: []string{"graph", "variant", "b/n", "runs", "core/b", "turnover", "no vote/b", "overlap with top b by links", "overlap with top b by PageRank", "always held of top 0.1% by PageRank"}}
	runs := 2
	if env.Runs > 0 {
		runs = env.Runs
	}
	type variant struct {
		name    string
		c       retain.Config
		rewire  float64
		anneal  bool // the lead holds only after the free steps
		buffers float64
	}
	vs := []variant{
		{name: "indegree", c: retain.Config{}},
		{name: "indegree, lowest id", c: retain.Config{Ties: retain.ID}},
		{name: "indegree, incumbent", c: retain.Config{Ties: retain.Incumbent}},
		{name: "everything", c: retain.Config{Rule: retain.Everything}},
		{name: "pagerank 1e-9", c: retain.Config{Rule: retain.PageRank}},
		{name: "pagerank 1e-6", c: retain.Config{Rule: retain.PageRank, Tolerance: 1e-6}},
		{name: "pagerank 1e-3", c: retain.Config{Rule: retain.PageRank, Tolerance: 1e-3}},
		{name: "pagerank 0.1", c: retain.Config{Rule: retain.PageRank, Tolerance: 0.1}},
		{name: "half of the links", c: retain.Config{Links: 0.5}},
		{name: "half of the links of twice the pages", c: retain.Config{Links: 0.5}, buffers: 2},
		{name: "a tenth of the links", c: retain.Config{Links: 0.1}},
		{name: "lead 1", c: retain.Config{Lead: 1}},
		{name: "lead 2", c: retain.Config{Lead: 2}},
		{name: "lead 3", c: retain.Config{Lead: 3}},
		{name: "lead 1 after 30 free steps", c: retain.Config{Lead: 1}, anneal: true},
		{name: "lead 3 after 30 free steps", c: retain.Config{Lead: 3}, anneal: true},
		{name: "0.1% of links change a step", c: retain.Config{}, rewire: 0.001},
		{name: "1% of links change a step", c: retain.Config{}, rewire: 0.01},
		{name: "10% of links change a step", c: retain.Config{}, rewire: 0.1},
		{name: "50% of links change a step", c: retain.Config{}, rewire: 0.5},
		{name: "1% of links change, everything", c: retain.Config{Rule: retain.Everything}, rewire: 0.01},
	}
	const x = 0.05
	for _, w := range webs(env.webNodes()) {
		g, err := w.make(env.Seed)
		if err != nil {
			return nil, err
		}
		n := g.NumNodes()
		in := indegrees(g)
		rank, err := retain.FullRank(g, retain.Config{})
		if err != nil {
			return nil, err
		}
		topRank := topOf(rank, 0.001)
		overlap, turnover, ranked := map[string]float64{}, map[string]float64{}, map[string]float64{}
		for _, v := range vs {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			c := v.c
			c.Buffer = int(x * max(1, v.buffers) * float64(n))
			bestLinks, bestRank := graph.Top(in, c.Buffer, nil), graph.Top(rank, c.Buffer, nil)
			var sum [6]float64
			for run := range runs {
				random := rand.New(rand.NewPCG(env.Seed, uint64(run)))
				var change func(d *retain.Dynamics)
				if v.rewire > 0 {
					change = func(d *retain.Dynamics) { d.SetGraph(retain.Rewire(d.Graph(), v.rewire, random)) }
				}
				if v.anneal {
					step := 0
					change = func(d *retain.Dynamics) {
						if step++; step == 30 {
							d.SetLead(v.c.Lead)
						}
					}
					c.Lead = 0
				}
				t, err := try(g, c, random, change)
				if err != nil {
					return nil, err
				}
				for i, y := range []float64{share(len(t.core), c.Buffer), t.turnover, share(t.zero, c.Buffer), share(retain.Overlap(t.final, bestLinks), c.Buffer),
					share(retain.Overlap(t.final, bestRank), c.Buffer), share(retain.Overlap(t.core, topRank), len(topRank))} {
					sum[i] += y / float64(runs)
				}
			}
			r.Add(w.name, v.name, share(c.Buffer, n), runs, sum[0], sum[1], sum[2], sum[3], sum[4], sum[5])
			overlap[v.name], turnover[v.name], ranked[v.name] = sum[3], sum[1], sum[4]
		}
		r.Notef("%s", inertia(w.name, overlap, turnover))
		r.Notef("%s", accuracy(w.name, ranked))
		env.progress("%s: done", w.name)
	}
	r.Notef("A lead is how many links more than a page of the buffer another needs to take its place. A live crawl swaps freely first and then asks for a lead of 1.")
	r.Notef("The rule everything counts a page's links when it is in the buffer for the first time, and does not see them change.")
	r.Notef("Stochastic rows (partial exploration, changing links, free steps first) are watched for 40 steps after 40; their core is what misses at most 5%% of these. Where links change, degrees stand still, so that the true top by links does, but not that by PageRank.")
	return r, nil
}

// accuracy words what the accuracy of PageRank and its replacement by links do on one graph, from its rows by the name of the variant.
func accuracy(web string, ranked map[string]float64) string {
	exact := ranked["pagerank 1e-9"]
	s := fmt.Sprintf("%s: of the true top b by PageRank the buffer holds %.3f by PageRank", web, exact)
	for _, v := range []struct{ name, words string }{{"pagerank 1e-3", "if it stops at changes of 1e-3"}, {"pagerank 0.1", "of 0.1"}, {"indegree", "by links in its place"}} {
		s += fmt.Sprintf(", %.3f (%+.3f) %s", ranked[v.name], ranked[v.name]-exact, v.words)
	}
	return s + "."
}

// inertia words what leads did on one graph, from its rows by the name of the variant.
func inertia(web string, overlap, turnover map[string]float64) string {
	free := overlap["indegree"]
	s := fmt.Sprintf("%s: of the true top b by links the buffer holds %.3f without a lead", web, free)
	for _, v := range []string{"lead 1", "lead 2", "lead 3", "lead 1 after 30 free steps", "lead 3 after 30 free steps"} {
		s += fmt.Sprintf(", %.3f (%+.3f) with %s", overlap[v], overlap[v]-free, v)
	}
	return s + fmt.Sprintf(". A step replaces %.2f%% of it without a lead, %.2f%% with lead 1.", 100*turnover["indegree"], 100*turnover["lead 1"])
}

// models measures cores on all the random graphs of [ABCHMT08, §4.4] and [ABCHMT08, §5].
func models(ctx context.Context, env *Env) (*Result, error) {
	r := &Result{Columns: []string{"model", "n", "arcs", "b/n", "core/b", "core/n", "period", "transient", "no vote/b", "turnover", "overlap with top b by links"}}
	n := env.webNodes()
	least, where := math.Inf(1), ""
	for _, m := range gen.Stability() {
		g, err := m.Make(gen.Params{Nodes: n, Alpha: typicalAlpha, Options: gen.Options{Seed: env.Seed}})
		if err != nil {
			return nil, err
		}
		in := indegrees(g)
		for _, x := range []float64{0.02, 0.1, 0.3} {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			b := int(x * float64(n))
			random := rand.New(rand.NewPCG(env.Seed, 1))
			d, err := retain.New(g, retain.Config{Buffer: b}, retain.RandomStart(n, b, random), random)
			if err != nil {
				return nil, err
			}
			l := retain.Run(d, 1000)
			if c := share(len(l.Core), b); c < least {
				least, where = c, fmt.Sprintf("%s, b/n = %v", m.Name, x)
			}
			var period, transient any
			if l.Cyclic {
				period, transient = l.Period, l.Transient
			}
			r.Add(m.Name, n, int(g.NumArcs()), x, share(len(l.Core), b), share(len(l.Core), n), period, transient, share(d.ZeroVotes(), b), l.Turnover, share(retain.Overlap(l.Final, graph.Top(in, b, nil)), b))
		}
		env.progress("%s: done", m.Name)
	}
	r.Notef("α = 11/4 where a model has one. Growth models have their own exponents.")
	coresNote(r, least, where)
	return r, nil
}

// coresNote says whether there is a model without a core to speak of.
func coresNote(r *Result, least float64, where string) {
	so := "so they are in all models here"
	if least < .01 {
		so = "not so in all models here"
	}
	r.Notef("The paper reports non-trivial cores from limited experiments with some of these models; %s: the smallest is %.3g of its buffer (%s).", so, least, where)
}
