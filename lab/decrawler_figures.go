package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"forage/explore"
)

// curvePoints are the budgets of a curve: so many equal steps up to 10% of the nodes.
const curvePoints = 20

// A curveSet is what policies observe of one network, by policy and budget: means of runs.
type curveSet struct {
	network  string
	budgets  []float64 // shares of the nodes
	policies []string
	observed [][]float64 // shares of the nodes
}

// of returns the curve of a policy.
func (c *curveSet) of(policy string) []float64 { return c.observed[slices.Index(c.policies, policy)] }

// curves runs policies on a network, all of a run from the same start.
func curves(ctx context.Context, env *Env, net network, policies []string, runs int) (*curveSet, error) {
	g := net.graph
	n := g.NumNodes()
	budget := n / 10
	c := &curveSet{network: net.name, policies: policies, observed: make([][]float64, len(policies))}
	for k := range curvePoints {
		c.budgets = append(c.budgets, float64((k+1)*budget/curvePoints)/float64(n))
	}
	return c, each(ctx, len(policies), func(j int) error {
		curve := make([]float64, curvePoints)
		for run := 1; run <= runs; run++ {
			t := explore.Trial{Graph: g, Seed: env.Seed, Run: run, Budget: budget, Start: explore.RandomStart(n, env.Seed, run)}
			at, last := 0, 1
			_, _, err := t.Explore(policies[j], func(queries, observed int) {
				for ; at < curvePoints && queries >= (at+1)*budget/curvePoints; at++ {
					curve[at] += float64(observed) / float64(n) / float64(runs)
				}
				last = observed
			})
			if err != nil {
				return err
			}
			for ; at < curvePoints; at++ { // all that can be reached was queried before
				curve[at] += float64(last) / float64(n) / float64(runs)
			}
		}
		c.observed[j] = curve
		return ctx.Err()
	})
}

// add writes the curves as rows and as a panel.
func (c *curveSet) add(r *Result) {
	panel := Panel{Title: c.network, X: "queries / nodes", Y: "observed / nodes"}
	for j, policy := range c.policies {
		s := Series{Name: policy}
		for k, y := range c.observed[j] {
			r.Add(c.network, policy, c.budgets[k], y)
			s.X, s.Y = append(s.X, c.budgets[k]), append(s.Y, y)
		}
		panel.Series = append(panel.Series, s)
	}
	r.Figure.Panels = append(r.Figure.Panels, panel)
}

// likeDBLP are the networks that take the place of DBLP-2012 in Fig. 1, which is not at hand: of authors who wrote together, that with the
// mean degree nearest to its 6.6 first.
var likeDBLP = []string{"ca-citeseer", "ca-CondMat", "ca-HepPh", "ca-AstroPh"}

// deFigure1 is [DE, Fig. 1].
func deFigure1(ctx context.Context, env *Env) (*Result, error) {
	nets, _, err := networks(env)
	if err != nil {
		return nil, err
	}
	at := -1
	for _, name := range likeDBLP {
		if at < 0 {
			at = slices.IndexFunc(nets, func(n network) bool { return n.name == name })
		}
	}
	if at < 0 {
		return nil, &DataError{fmt.Sprintf("%s has no network of authors who wrote together; want one of %s, as NAME.tsv.gz", env.Data, strings.Join(likeDBLP, ", "))}
	}
	runs := env.Runs
	if runs == 0 {
		runs = 10
	}
	r := &Result{Columns: []string{"network", "policy", "budget", "coverage"}, Figure: &Figure{}}
	c, err := curves(ctx, env, nets[at], []string{"de", "rw", "mod", "opic", "bfs"}, runs)
	if err != nil {
		return nil, err
	}
	c.add(r)
	leadNote(r, c)
	r.Notef("Means of %d runs. The paper shows DBLP-2012, of 317,080 authors and 1,049,866 edges, which is not at hand: %s stands in, of %d and %d.",
		runs, c.network, nets[at].graph.NumNodes(), int(nets[at].graph.NumArcs()/2))
	return r, nil
}

// leadNote says at which budgets de observes more than all others.
func leadNote(r *Result, c *curveSet) {
	leads, from := 0, -1 // budgets; the first of those from which on it leads at all
	last := len(c.budgets) - 1
	for k := range c.budgets {
		best := 0.
		for _, policy := range c.policies {
			if policy != "de" {
				best = max(best, c.of(policy)[k])
			}
		}
		if c.of("de")[k] > best {
			leads++
			if from < 0 {
				from = k
			}
		} else {
			from = -1
		}
	}
	rival := ""
	for _, policy := range c.policies {
		if policy != "de" && (rival == "" || c.of(policy)[last] > c.of(rival)[last]) {
			rival = policy
		}
	}
	text := fmt.Sprintf("The paper says that DE-Crawler outperforms all baselines on DBLP-2012. On %s it is ahead of all at %d of %d budgets", c.network, leads, len(c.budgets))
	if from > 0 {
		text += fmt.Sprintf(", at all from %.1f%% of the nodes on", 100*c.budgets[from])
	}
	r.Notef("%s; at %.0f%% it observes %+.1f%% nodes beside the best of them, %s.", text, 100*c.budgets[last], 100*(c.of("de")[last]/c.of(rival)[last]-1), rival)
}

// deFigures is [DE, Figs. 3 and 4]: two networks on which the paper's Table 2 has rw ahead of mod, two on which it has mod ahead of rw.
func deFigures(ctx context.Context, env *Env) (*Result, error) {
	nets, _, err := networks(env)
	if err != nil {
		return nil, err
	}
	runs := env.Runs
	if runs == 0 {
		runs = 10
	}
	policies := []string{"de", "rw", "mod", "opic", "bfs", "learned", "med"}
	r := &Result{Columns: []string{"network", "policy", "budget", "coverage"}, Figure: &Figure{}}
	for _, want := range []struct {
		name string
		rw   bool // ahead of mod in the paper
	}{{"ca-CondMat", true}, {"ca-HepPh", true}, {"soc-anybeat", false}, {"web-google", false}} {
		i := slices.IndexFunc(nets, func(n network) bool { return n.name == want.name })
		if i < 0 {
			r.Notef("Not at hand: %s.", want.name)
			continue
		}
		c, err := curves(ctx, env, nets[i], policies, runs)
		if err != nil {
			return nil, err
		}
		c.add(r)
		walkNote(r, c, want.rw)
	}
	r.Notef("Means of %d runs. med is the oracle.", runs)
	return r, nil
}

// walkNote says which of rw and mod is ahead with the whole budget, and whether de is ahead of both.
func walkNote(r *Result, c *curveSet, rw bool) {
	last := len(c.budgets) - 1
	at := func(policy string) float64 { return 100 * c.of(policy)[last] }
	figure, ahead := "4, mod ahead of rw", at("mod") > at("rw")
	if rw {
		figure, ahead = "3, rw ahead of mod", at("rw") > at("mod")
	}
	so := "so it is here"
	if !ahead {
		so = "not so here"
	}
	best := "ahead of both"
	if at("de") <= max(at("rw"), at("mod")) {
		best = "not ahead of both"
	}
	r.Notef("%s stands for the paper's Fig. %s: %s (rw %.1f%%, mod %.1f%% of nodes with the whole budget), and de is %s (%.1f%%).", c.network, figure, so, at("rw"), at("mod"), best, at("de"))
}
