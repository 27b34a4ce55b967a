package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"forage/cover"
	"forage/cover/sets"
	"forage/graph"
	"forage/graph/arcs"
	"forage/internal/machine"
	"forage/internal/units"
)

type coverFlags struct {
	format      string
	algorithm   string
	o           cover.Options
	weights     string
	unitWeights bool
	memory      size
	temp        string
	verify      bool
	improve     time.Duration
	seed        uint64
	plan        bool
	out         string
	json        bool
}

func coverCmd() *cobra.Command {
	var f coverFlags
	cmd := &cobra.Command{
		Use:   "cover FILE",
		Short: "Cover a set system, or a graph's pages by their links, with few sets",
		Long: `Cover chooses few sets that together hold every element that any set holds: of a set
system, or of a graph, where the set of a page is what it links to. The list (-o) has a set
number a line, in the order chosen, so any beginning of it is a good partial cover.

FILE is a graph in BV format (NAME.graph), a text file with a set a line (elements as numbers;
an empty line is an empty set), a line an arc (--format arcs), an OR-Library file (NAME.scp,
NAME.rail or --format; its costs are the weights unless --unit-weights), or a binary set
system; .gz and .zst are seen from the first bytes.

Algorithms, after "Set Cover at Web Scale": greedy is the textbook; fgreedy, rfgreedy, pgreedy
and spgreedy do with less memory and time. auto takes pgreedy with q = 1, whose cover is that
of greedy, where the family fits in memory, and spgreedy otherwise. Where pgreedy has read the
family 32 times over, greedy goes on from there, if its memory allows: the cover is the same, and
greedy_from of --json tells when. The guarantee is how many times the best cover the one found
can be at most.

The problem is a full cover; --k, --partial, --multi and --weights make it another, and go
together but for --k and --weights. --multi K covers K times what K sets or more hold, and asks
nothing for the rest; --partial counts each time.

Where the family does not fit in --memory (default: what the system has free), or its numbers
take more than 32 bits, it is covered out of core, by spgreedy: level files in --temp, two bits
an element in memory. The cover is the same. --plan tells what it would take.`,
		Example: `  forage cover web.graph -o cover.txt
  forage cover sets.txt.gz --algorithm spgreedy --p 1.2 --memory 2GiB --json
  forage cover rail507.rail --improve 60s --verify`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			set := cmd.Flags().Changed
			numbers := map[string]float64{"k": float64(f.o.Budget), "multi": float64(f.o.Multi), "max-degree": float64(f.o.MaxDegree), "q": f.o.Q, "p": f.o.P, "partial": f.o.Partial, "threads": float64(f.o.Threads)}
			for _, flag := range sortedKeys(numbers) {
				if set(flag) && numbers[flag] == 0 {
					return usagef("--%s: want more than 0", flag)
				}
			}
			if set("improve") && f.improve <= 0 {
				return usagef("--improve: want a duration above 0, such as 60s")
			}
			if err := named(f.out); err != nil {
				return err
			}
			call := callOf(cmd.Context())
			for _, p := range []*string{&args[0], &f.weights, &f.out} {
				if *p != "" {
					*p = call.path(*p)
				}
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0])
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.format, "format", "auto", "auto, sets (a line a set), arcs (a line an arc), scp, rail or binary")
	fs.StringVar(&f.algorithm, "algorithm", "auto", "auto, greedy, fgreedy, fgreedy-bucket, rfgreedy, pgreedy or spgreedy")
	fs.Float64Var(&f.o.Q, "q", 0, "rfgreedy, pgreedy: take a set if q times its gain reaches its last count; at least 1 (default 1)")
	fs.Float64Var(&f.o.P, "p", 0, "pgreedy, spgreedy: levels are the powers of p, above 1 (default 2 and 1.2)")
	fs.Float64SliceVar(&f.o.Points, "points", nil, "pgreedy, spgreedy: levels, ascending, instead of --p")
	fs.IntVar(&f.o.Budget, "k", 0, "take at most this many sets")
	fs.Float64Var(&f.o.Partial, "partial", 0, "cover this share of the elements (with --multi: of all that they ask for), above 0, up to 1")
	fs.IntVar(&f.o.Multi, "multi", 0, "elements in at least K sets must be covered K times")
	fs.StringVar(&f.weights, "weights", "", "file with the cost of each set, one a line")
	fs.BoolVar(&f.unitWeights, "unit-weights", false, "ignore the costs of an OR-Library file")
	fs.IntVar(&f.o.MaxDegree, "max-degree", 0, "only the first (lowest) N elements of each set count")
	fs.Var(&f.memory, "memory", "cover out of core what takes more (default: what is free)")
	fs.StringVar(&f.temp, "temp", "", "folder for level files (default: the system's)")
	fs.IntVar(&f.o.Threads, "threads", 0, "processors to use (default: all); the cover does not depend on it")
	fs.BoolVar(&f.verify, "verify", false, "check the cover with independent code")
	fs.DurationVar(&f.improve, "improve", 0, "then make the cover smaller by local search, for so long")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of --improve")
	fs.BoolVar(&f.plan, "plan", false, "tell sets, elements, memory, disk and time, and stop")
	fs.StringVarP(&f.out, "output", "o", "", "file for the list of sets")
	fs.BoolVar(&f.json, "json", false, "one JSON object about the run")
	return cmd
}

func (f *coverFlags) run(ctx context.Context, stdout, stderr io.Writer, path string) (err error) {
	baseRSS := machine.PeakRSS()
	check := cover.Algorithm(f.algorithm)
	if f.algorithm == "auto" {
		check = cover.NamePGreedy
	}
	given := f.o
	if f.weights != "" {
		given.Weights = []float64{} // read later
	}
	if err := given.Check(check); err != nil {
		return coverError(err)
	}
	if f.improve > 0 && (f.o.Budget > 0 || f.o.Multi > 1 || f.o.Partial > 0 && f.o.Partial < 1) {
		return usagef("--improve is for full covers, not with --k, --partial or --multi")
	}
	if f.weights != "" && f.unitWeights {
		return usagef("--weights or --unit-weights, not both")
	}
	loaded := endOnInterrupt(ctx, stderr)
	defer loaded()
	began := time.Now()
	s, err := f.source(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if f.weights != "" {
		if f.o.Weights, err = sets.ReadCosts(f.weights); err != nil {
			return graphError(err)
		}
	}
	job := &sets.Job{Source: s, Algorithm: check, Options: f.o, Temp: f.temp, UnitWeights: f.unitWeights}
	if err := f.choose(job); err != nil {
		return err
	}
	if f.plan {
		return f.tellPlan(stdout, job)
	}
	err = job.Load(f.improve > 0)
	if wide := (*sets.Error)(nil); errors.As(err, &wide) && wide.Wide {
		m, n, _, err := s.Sizes(true)
		if err != nil {
			return coverError(err)
		}
		if err := f.external(m, n, wide.Error()); err != nil {
			return err
		}
		job.OutOfCore = true
		if err := job.Load(false); err != nil {
			return coverError(err)
		}
	} else if err != nil {
		return coverError(err)
	}
	empty := usagef("%s: every set is empty: there is nothing to cover", path)
	if job.NumSets() == 0 {
		return usagef("%s: no sets: there is nothing to cover", path)
	}
	if costs := uint64(len(job.Options.Weights)); job.Options.Weights != nil && costs != job.NumSets() {
		return usagef("%s: %d costs, and %s has %d sets: want one a line", f.weights, costs, path, job.NumSets())
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	loaded()
	loadSeconds := time.Since(began).Seconds()
	began = time.Now()
	progress := newCoverProgress(stderr)
	job.Options.Progress = progress.tell

	var r *cover.Result
	var before *uint64 // sets, before the improvement
	if collect := f.verify || f.improve > 0 || f.out == ""; collect {
		take := func(set, gain uint64) error { return nil }
		if f.verify || f.improve > 0 {
			take = nil
		}
		if r, err = job.Solve(ctx, take); err != nil {
			return coverError(err)
		}
		if r.Largest == 0 {
			return empty
		}
		if f.improve > 0 {
			n, end := r.Taken, time.Now().Add(f.improve)
			before = &n
			stop := func() bool { return time.Now().After(end) || ctx.Err() != nil }
			if r, err = cover.Improve(job.Lists(), r, job.Options.Weights, f.o.MaxDegree, rand.New(rand.NewPCG(f.seed, 0)), stop); err != nil {
				return coverError(err)
			}
		}
		if f.verify {
			verified := endOnInterrupt(ctx, stderr) // nothing is written yet
			defer verified()
			if err := job.Verify(r); err != nil {
				return err
			}
			verified()
		}
		if f.out != "" {
			err = f.write(sets.Each(r.Sets))
		}
	} else {
		err = f.write(func(take func(set, gain uint64) error) (err error) {
			if r, err = job.Solve(ctx, take); err == nil && r.Largest == 0 {
				err = empty
			}
			return err
		})
	}
	if err != nil {
		return coverError(err)
	}
	progress.end()
	res := job.Report(r)
	res.Improved, res.Verified, res.LoadSeconds, res.BaseRSS = before, f.verify, loadSeconds, baseRSS
	res.Seconds, res.PeakRSS = time.Since(began).Seconds(), machine.PeakRSS()
	for _, w := range r.Warnings {
		fmt.Fprintf(stderr, "forage: warning: %s\n", w)
	}
	if f.json {
		return printJSON(stdout, res)
	}
	tellCover(stdout, res, &job.Options)
	return nil
}

// write writes the list of sets to -o.
func (f *coverFlags) write(list func(take func(set, gain uint64) error) error) error {
	return arcs.Create(f.out, func(w io.Writer) error { return sets.WriteList(w, list) })
}

// tellCover prints the result for people.
func tellCover(w io.Writer, res *sets.Report, o *cover.Options) {
	where := ""
	switch {
	case res.OutOfCore:
		where = " out of core"
	case res.GreedyFrom != nil:
		where = fmt.Sprintf(", greedy from set %d on", *res.GreedyFrom)
	}
	fmt.Fprintf(w, "%d of %d sets cover %d of %d elements (%s%s, %.2f s, %s at most)\n", res.Cover, res.Sets, res.Covered, res.Coverable, res.Algorithm, where, res.Seconds, units.Binary(uint64(res.PeakRSS)))
	if o.Multi > 1 {
		fmt.Fprintf(w, "demand met: %d of %d\n", res.Met, res.Demand)
	}
	if o.Weights != nil {
		fmt.Fprintf(w, "weight: %g\n", res.Weight)
	}
	if res.Improved != nil {
		fmt.Fprintf(w, "before the improvement: %d sets\n", *res.Improved)
	}
	if res.Guarantee != nil {
		fmt.Fprintf(w, "guarantee: at most %.2f times the best cover\n", *res.Guarantee)
	}
	if left := res.Elements - res.Coverable; left > 0 {
		what := "in no set"
		if o.Multi > 1 {
			what = fmt.Sprintf("in fewer than %d sets", o.Multi)
		}
		fmt.Fprintf(w, "%s: %d elements of %d\n", what, left, res.Elements)
	}
	if res.Unsorted+res.Repeated > 0 {
		fmt.Fprintf(w, "put in order: %d sets; dropped: %d repeated elements\n", res.Unsorted, res.Repeated)
	}
	if res.Verified {
		fmt.Fprintln(w, "verified")
	}
}

func (f *coverFlags) tellPlan(w io.Writer, job *sets.Job) error {
	m, n, size, err := job.Source.Sizes(true)
	if err != nil {
		return coverError(err)
	}
	if wide := max(m, n) > graph.MaxNodes; wide && !job.OutOfCore {
		if err := f.external(m, n, fmt.Sprintf("%s: %d sets of elements below %d do not fit in memory as 32-bit numbers", job.Source.Path, m, n)); err != nil {
			return err
		}
		job.Algorithm, job.OutOfCore = cover.NameSPGreedy, true
	}
	plan := cover.NewPlan(job.Algorithm, job.OutOfCore, m, n, size, &f.o, f.improve.Seconds())
	temp := cmp.Or(f.temp, os.TempDir())
	plan.Limit, plan.Free = machine.FreeMemory(), uint64(machine.FreeDisk(temp))
	var why []string
	memory, disk := plan.Lacks()
	if memory {
		why = append(why, fmt.Sprintf("it needs %s of memory and %s are free", units.Binary(plan.Memory), units.Binary(plan.Limit)))
	}
	if disk {
		why = append(why, fmt.Sprintf("it needs %s of disk and %s has %s free: --temp names another folder", units.Binary(plan.Disk), temp, units.Binary(plan.Free)))
	}
	if f.json {
		if err := printJSON(w, plan); err != nil {
			return err
		}
	} else {
		where := "in memory"
		if job.OutOfCore {
			where = "out of core, " + units.Binary(plan.Disk) + " of disk"
		}
		fmt.Fprintf(w, "%d sets of %d elements, %d in all: %s, %s, %s of memory, about %s\n", m, n, size, job.Algorithm, where, units.Binary(plan.Memory), time.Duration(plan.Seconds*float64(time.Second)).Round(time.Millisecond*100))
	}
	if !plan.Fits {
		return usagef("this cannot fit: %s", strings.Join(why, "; "))
	}
	return nil
}

// source opens what is to be covered, in the format of --format.
func (f *coverFlags) source(path string) (*sets.Source, error) {
	switch sets.Format(f.format) {
	case sets.Auto, sets.Arcs, sets.Text, sets.SCP, sets.Rail, sets.Binary:
	default:
		if _, err := os.Stat(path); err != nil {
			return nil, badInput(err)
		}
		return nil, usagef("--format %q: want auto, sets, arcs, scp, rail or binary", f.format)
	}
	s, err := sets.OpenSource(path, sets.Format(f.format), arcs.Options{Memory: int64(f.memory), Threads: f.o.Threads})
	if bad := (*arcs.Error)(nil); errors.As(err, &bad) && bad.NotArc {
		bad.Want = "two node numbers, 'u v' (without --format arcs a line is a set)"
	}
	return s, coverError(err)
}

// coverError makes what is wrong with a file of sets, or with options, bad input.
func coverError(err error) error {
	var syntax *sets.Error
	var option *cover.OptionError
	switch {
	case errors.Is(err, sets.ErrWeights):
		return usagef("the costs of the file do not go with --k or --points; --unit-weights ignores them")
	case errors.As(err, &syntax), errors.Is(err, fs.ErrNotExist):
		return badInput(err)
	case errors.As(err, &option):
		return badInput(fmt.Errorf("--%w", option))
	}
	return graphError(err)
}

// choose decides whether the job goes out of core: where memory does not allow the engine.
func (f *coverFlags) choose(job *sets.Job) error {
	limit := uint64(f.memory)
	if limit == 0 {
		limit = machine.FreeMemory() / 10 * 9
	}
	need, ok, err := job.Fit(limit, f.improve > 0)
	if ok && f.algorithm == "auto" && need.Greedy <= limit {
		job.Options.GiveUp = cover.Patience
	}
	if err != nil || ok {
		return coverError(err)
	}
	why := fmt.Sprintf("%s takes %s in memory, more than the %s of --memory", job.Algorithm, units.Binary(need.Memory), units.Binary(limit))
	if f.memory == 0 {
		why = fmt.Sprintf("%s takes %s in memory, and %s are free", job.Algorithm, units.Binary(need.Memory), units.Binary(limit))
	}
	job.Algorithm, job.OutOfCore = cover.NameSPGreedy, true
	return f.external(need.Sets, need.Elements, why)
}

// external refuses what does not work out of core; why tells what keeps it from memory.
func (f *coverFlags) external(m, n uint64, why string) error {
	switch {
	case f.improve > 0:
		return usagef("--improve: %s; it works in memory only", why)
	case f.algorithm != "auto" && f.algorithm != string(cover.NameSPGreedy):
		return usagef("%s; only spgreedy works out of core: leave --algorithm out, or name it", why)
	case f.o.Q != 0:
		return usagef("--q: %s; only spgreedy works out of core, and has no q", why)
	}
	if bits := cover.Bits(m, n, &f.o); bits > uint64(f.memory) && bits > machine.FreeMemory() {
		return usagef("out of core two bits of memory an element are needed, %s for %d elements, and %s are free", units.Binary(bits), n, units.Binary(machine.FreeMemory()))
	}
	return nil
}
