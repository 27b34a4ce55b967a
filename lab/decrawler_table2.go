package lab

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"forage/explore"
)

// tableTwo are the policies of deTable2: the paper's, ours, and those it ran and does not show. learned-folds is learned with a prior that
// was fitted to other networks, where learned has none.
var tableTwo = []string{"de", "rw", "mod", "opic", "bfs", "learned", "learned-folds", "random", "snowball", "dfs"}

// numPrinted is how many of tableTwo, from the first, the paper prints.
const numPrinted = 5

// An exploration is what the policies of tableTwo did on one network, by policy and run. A policy that could not be run there has no runs.
type exploration struct {
	network
	regret, observed [][]float64
}

// runsOf returns the regrets of a policy.
func (x *exploration) runsOf(policy string) []float64 {
	return x.regret[slices.Index(tableTwo, policy)]
}

// mean returns the mean regret of a policy; NaN: it was not run.
func (x *exploration) mean(policy string) float64 {
	all := x.runsOf(policy)
	if len(all) == 0 {
		return math.NaN()
	}
	m, _ := meanInterval(all)
	return m
}

// rival returns the best of the paper's policies but de.
func (x *exploration) rival() string {
	return slices.MinFunc(tableTwo[1:numPrinted], func(a, b string) int {
		if x.mean(a) < x.mean(b) {
			return -1
		}
		return 1
	})
}

// lessonRuns are the crawls of a network from which a prior of learned is fitted, and lessonSeed is what they draw from, so that they are
// none of those that are judged.
const (
	lessonRuns = 10
	lessonSeed = 1 << 40
)

// lessonsOf crawls each network with learned, without a prior, by 10% of its nodes.
func lessonsOf(ctx context.Context, env *Env, nets []network) ([]*explore.Lessons, error) {
	all := make([]*explore.Lessons, len(nets))
	return all, each(ctx, len(nets), func(i int) error {
		g := nets[i].graph
		all[i] = &explore.Lessons{}
		for run := 1; run <= lessonRuns; run++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			t := explore.Trial{Graph: g, Seed: env.Seed + lessonSeed, Run: run, Budget: g.NumNodes() / 10, Start: explore.RandomStart(g.NumNodes(), env.Seed+lessonSeed, run),
				Prior: explore.NoPrior(), Lessons: all[i]}
			if _, _, err := t.Explore("learned", nil); err != nil {
				return err
			}
		}
		env.progress("%s: %d lessons", nets[i].name, lessonRuns)
		return nil
	})
}

// explorations runs tableTwo on networks: 10% of the nodes as budget, all policies of a run from the same start node. The prior of
// learned-folds is fitted to crawls of the paper's networks but the one that is scored.
func explorations(ctx context.Context, env *Env, nets []network, teachers []network, runs int) ([]exploration, error) {
	lessons, err := lessonsOf(ctx, env, teachers)
	if err != nil {
		return nil, err
	}
	out := make([]exploration, len(nets))
	return out, each(ctx, len(nets), func(i int) error {
		g := nets[i].graph
		x := exploration{nets[i], make([][]float64, len(tableTwo)), make([][]float64, len(tableTwo))}
		var others []*explore.Lessons
		for j, l := range lessons {
			if teachers[j].name != nets[i].name {
				others = append(others, l)
			}
		}
		for run := 1; run <= runs; run++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			t := explore.Trial{Graph: g, Seed: env.Seed, Run: run, Budget: g.NumNodes() / 10, Start: explore.RandomStart(g.NumNodes(), env.Seed, run)}
			_, oracle, err := t.Explore("med", nil)
			if err != nil {
				return err
			}
			for j, name := range tableTwo {
				t.Prior = nil
				policy, _, _ := strings.Cut(name, "-")
				switch {
				case name == "learned-folds" && len(others) == 0:
					continue
				case name == "learned-folds":
					t.Prior = explore.FitPrior(others)
				}
				_, observed, err := t.Explore(policy, nil)
				if err != nil {
					return fmt.Errorf("%s: %s: %w", nets[i].name, name, err)
				}
				x.regret[j] = append(x.regret[j], explore.Regret(observed, oracle))
				x.observed[j] = append(x.observed[j], float64(observed))
			}
		}
		out[i] = x
		env.progress("%s: %d runs", nets[i].name, runs)
		return nil
	})
}

// inPaper returns the networks of the paper.
func inPaper(nets []network) (of []network) {
	for _, n := range nets {
		if n.paper != nil {
			of = append(of, n)
		}
	}
	return of
}

// deTable2 is [DE, Table 2]: regret per run, then the mean.
func deTable2(ctx context.Context, env *Env) (*Result, error) {
	nets, missing, err := networks(env)
	if err != nil {
		return nil, err
	}
	runs := env.Runs
	if runs == 0 {
		runs = 30
	}
	all, err := explorations(ctx, env, nets, inPaper(nets), runs)
	if err != nil {
		return nil, err
	}
	r := &Result{Columns: []string{"network", "policy", "runs", "regret", "ci95", "paper"}}
	for i := range all {
		x := &all[i]
		for _, name := range tableTwo {
			if len(x.runsOf(name)) == 0 {
				continue
			}
			mean, ci := meanInterval(x.runsOf(name))
			var printed, half any
			if x.paper != nil {
				if v, ok := x.paper.regret[name]; ok {
					printed = v
				}
			}
			if runs > 1 {
				half = ci
			}
			r.Add(x.name, name, runs, mean, half, printed)
		}
	}
	var theirs, others []exploration
	for _, x := range all {
		if x.paper != nil {
			theirs = append(theirs, x)
		} else {
			others = append(others, x)
		}
	}
	if len(theirs) > 0 {
		table2PaperNotes(r, theirs)
		priorNote(r, theirs)
		learnedNotes(r, theirs)
	}
	othersNote(r, others)
	negativeNote(r, all)
	noteMissing(r, missing)
	noteAnybeat(r, nets)
	r.Notef("de-crawler-others has more networks that are not in the paper's list.")
	return r, nil
}

// averages returns the mean over networks of the mean regret of each policy of tableTwo; NaN where one was not run on each of them.
func averageRegret(all []exploration) []float64 {
	out := make([]float64, len(tableTwo))
	for j, name := range tableTwo {
		for i := range all {
			out[j] += all[i].mean(name) / float64(len(all))
		}
	}
	return out
}

// table2PaperNotes stands the paper's networks beside what it prints and says of them.
func table2PaperNotes(r *Result, all []exploration) {
	var parts []string
	off := map[string]float64{}
	for j, avg := range averageRegret(all) {
		name := tableTwo[j]
		if math.IsNaN(avg) {
			continue
		}
		text := fmt.Sprintf("%s %.3f", name, avg)
		if j < numPrinted {
			for i := range all {
				off[name] += math.Abs(all[i].mean(name)-all[i].paper.regret[name]) / float64(len(all))
			}
			text += fmt.Sprintf(" (mean distance from the paper's %.3f)", off[name])
		}
		parts = append(parts, text)
	}
	r.Notef("Average regret over the %d networks of the paper at hand: %s.", len(all), strings.Join(parts, ", "))
	furthest := "de"
	for _, name := range tableTwo[:numPrinted] {
		if off[name] > off[furthest] {
			furthest = name
		}
	}
	bfs := "is not the furthest from it"
	if furthest == "bfs" {
		bfs = "is the furthest from it"
	}
	r.Notef("Our bfs is a queue, and the paper's took from an unordered set: of the five it %s.", bfs)
	wins, notDE := winners(all)
	r.Notef("The paper says that DE-Crawler is the best of its five on all but Anybeat: here on %d of %d%s.", wins, len(all), notDE)
	best, bestAt := math.Inf(-1), ""
	for i := range all {
		x := &all[i]
		de, _ := meanInterval(x.observed[0])
		other, _ := meanInterval(x.observed[slices.Index(tableTwo, x.rival())])
		if gain := de/other - 1; gain > best {
			best, bestAt = gain, x.name
		}
	}
	r.Notef("The paper says that it improves by up to 28%% on the best of the others: here at most %+.0f%% nodes (%s).", 100*best, bestAt)
}

// winners counts the networks on which de has the least regret of the paper's five, and names the best of the others.
func winners(all []exploration) (wins int, others string) {
	var list []string
	for i := range all {
		x := &all[i]
		if rival := x.rival(); x.mean("de") <= x.mean(rival) {
			wins++
		} else {
			list = append(list, fmt.Sprintf("%s (%s %.3f, de %.3f)", x.name, rival, x.mean(rival), x.mean("de")))
		}
	}
	if len(list) > 0 {
		others = ". The others: " + strings.Join(list, "; ")
	}
	return wins, others
}

// othersNote says how de does on networks that the paper does not have.
func othersNote(r *Result, all []exploration) {
	if len(all) == 0 {
		return
	}
	wins, others := winners(all)
	r.Notef("On networks that the paper does not have, ties counted, de is the best of its five on %d of %d%s.", wins, len(all), others)
}

// priorNote says what a prior of learned would be worth where it is not fitted to what it is scored on: a difference paired by run, the
// mean over networks.
func priorNote(r *Result, all []exploration) {
	avg := averageRegret(all)
	at := func(name string) float64 { return avg[slices.Index(tableTwo, name)] }
	const folds = "learned-folds"
	if math.IsNaN(at(folds)) {
		return
	}
	mean, half := paired(all, folds, "learned")
	text := fmt.Sprintf("learned starts without a prior: %.3f. With one that is fitted to the other networks (%s) it is %.3f, %+.3f", at("learned"), folds, at(folds), mean)
	if !math.IsNaN(half) {
		text += fmt.Sprintf(" ± %.3f", half)
	}
	switch {
	case math.IsNaN(half):
		text += ", of one run."
	case math.Abs(mean) <= half:
		text += ", a difference that may be chance."
	case mean > 0:
		text += ": worse."
	default:
		text += ": better."
	}
	r.Notef("%s", text)
}

// paired returns by how much the regret of a policy is above another's, with half of the 95% interval: of each run the mean over networks.
func paired(all []exploration, policy, other string) (mean, half float64) {
	diffs := make([]float64, len(all[0].runsOf(policy)))
	for i := range all {
		a, b := all[i].runsOf(policy), all[i].runsOf(other)
		for k := range diffs {
			diffs[k] += (a[k] - b[k]) / float64(len(all))
		}
	}
	return meanInterval(diffs)
}

// learnedNotes stands learned beside de.
func learnedNotes(r *Result, all []exploration) {
	const policy = "learned"
	var above []string
	for i := range all {
		if all[i].mean(policy) > all[i].mean("de") {
			mean, half := paired(all[i:i+1], policy, "de")
			text := fmt.Sprintf("%s by %.3f", all[i].name, mean)
			if !math.IsNaN(half) {
				text += fmt.Sprintf(" ± %.3f", half)
			}
			above = append(above, text)
		}
	}
	text := fmt.Sprintf("%s is not above de on %d of %d networks", policy, len(all)-len(above), len(all))
	if len(above) > 0 {
		text += "; paired by run it is on " + strings.Join(above, ", ")
	}
	r.Notef("%s.", text)
}

// negativeNote says in how many rows regret is below 0.
func negativeNote(r *Result, all []exploration) {
	below, rows := 0, 0
	for i := range all {
		for _, name := range tableTwo {
			if m := all[i].mean(name); !math.IsNaN(m) {
				rows++
				if m < 0 {
					below++
				}
			}
		}
	}
	r.Notef("The oracle takes the largest true excess degree; it is greedy and no upper bound: regret is below 0 in %d of %d rows.", below, rows)
}
