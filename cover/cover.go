// Package cover finds small covers: few sets of a family that together hold every element
// that any set of the family holds.
//
// A newcomer meets Family first, what a problem is, then Lists, the family in memory, and
// OutLinks, the family of a graph (the set of a node is what it links to). Options name the
// problem (whole, by budget, partial, multicover, weighted) and the knobs. Each algorithm of
// [ST15] is one file: Greedy, FGreedy, RFGreedy, PGreedy, SPGreedy; Solve takes their name.
// External is SPGreedy for a family larger than memory. Verify checks any cover without
// sharing a line with the engines, Improve makes a cover smaller by local search.
//
// Every engine is deterministic: the same family and options give the same sets in the same
// order for any number of threads, in memory or not; ties go to the lowest set number, and
// where a variant breaks them otherwise its name says so. Greedy, FGreedy and PGreedy with
// q = 1 give the same sequence.
//
// The package opens no file, reads no clock and draws no random number of its own.
package cover

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"forage/graph"
)

// A Family is what is to be covered: sets 0 … NumSets−1 of elements below NumElements.
type Family interface {
	NumSets() uint64
	NumElements() uint64 // one more than the largest element that can occur
	// Scan calls visit for every set in ascending order, the empty ones too, and returns its
	// first error. The elements are ascending and distinct; visit must neither change nor
	// keep them.
	Scan(visit func(set uint64, elements []uint64) error) error
}

// A Sized family knows M, the total size of its sets.
type Sized interface{ Size() uint64 }

// An Encoded family can hand over its sets as a BlockWriter encodes them, which saves External
// to do so.
type Encoded interface {
	// ScanEncoded is Scan without the empty sets: for each other set it tells how many elements
	// it has, and their count and gaps as varints. Where it cannot it returns
	// errors.ErrUnsupported before any call of visit.
	ScanEncoded(visit func(set uint64, count int, encoded []byte) error) error
}

// An Algorithm is the name of an engine.
type Algorithm string

// The engines of [ST15], and FGreedyBucket, which breaks ties differently.
const (
	NameGreedy        Algorithm = "greedy"
	NameFGreedy       Algorithm = "fgreedy"
	NameFGreedyBucket Algorithm = "fgreedy-bucket"
	NameRFGreedy      Algorithm = "rfgreedy"
	NamePGreedy       Algorithm = "pgreedy"
	NameSPGreedy      Algorithm = "spgreedy"
)

// Algorithms lists the engines, the textbook first.
func Algorithms() []Algorithm {
	return []Algorithm{NameGreedy, NameFGreedy, NameFGreedyBucket, NameRFGreedy, NamePGreedy, NameSPGreedy}
}

// Options say which problem is to be solved and how. The zero value asks for a full cover.
type Options struct {
	Q       float64   // rfgreedy, pgreedy: a set is taken if q times its gain reaches its last count; at least 1; 0 means 1
	P       float64   // pgreedy, spgreedy: levels are powers of p, above 1; 0 means 2 for pgreedy, 1.2 for spgreedy
	Points  []float64 // instead of P: the levels, ascending; 1 is added where it is missing
	Budget  int       // at most that many sets are taken; 0 means no limit
	Partial float64   // stop when this share of the coverable elements is covered, with Multi of their demand, in (0, 1]; 0 means 1
	Multi   int       // elements in at least that many sets must be covered that often, which is their demand; 0 means 1
	Weights []float64 // cost of each set, finite, not negative; nil means 1 each

	MaxDegree int  // only the first (lowest) elements of each set count; 0 means no limit
	Threads   int  // 0 means GOMAXPROCS; the result does not depend on it
	InPlace   bool // a *Lists may be used up as working memory instead of being copied

	// GiveUp, if above 0, has rfgreedy and pgreedy with q = 1 hand over to greedy when they have read that many
	// times M, which takes its memory: the sequence stays the same. 0: never
	GiveUp int

	// Take, if set, is told each set as it is chosen, with its gain; Result.Sets and
	// Result.Gains stay empty then. An error ends the run and is returned.
	Take func(set, gain uint64) error
	// Progress, if set, is called now and then from the caller's goroutine.
	Progress func(Progress)
}

// Progress is how far a run has come.
type Progress struct {
	Threshold float64 // of the level that is worked on; 0 where the engine has no levels
	Taken     uint64  // sets chosen
	Covered   uint64  // elements covered
	Reads     uint64  // elements read
}

// A Result is a cover and what it cost.
type Result struct {
	Algorithm Algorithm
	Sets      []uint64 // in the order chosen; empty if Options.Take is set
	Gains     []uint64 // what each of Sets added; for multicover: elements that were still below K
	Taken     uint64   // how many sets were chosen
	Coverable uint64   // elements in at least one set, for multicover in at least K
	Covered   uint64   // coverable elements that are covered, for multicover K times
	Met       uint64   // of the demand, K·Coverable: the sum of all gains; Covered unless it is a multicover
	Weight    float64  // total weight of the chosen sets
	Size      uint64   // M, after MaxDegree
	Largest   uint64   // Δ, after MaxDegree
	Passes    int      // levels that were run; 1 for engines without levels
	// Reads counts elements read from the lists of sets, repeated looks included; for greedy,
	// fgreedy and rfgreedy also the first pass that finds the sizes [ST15, Lemma 3.2].
	Reads uint64
	// Guarantee bounds |cover| (or its weight) by so many times the best; NaN where there is none.
	Guarantee float64
	Warnings  []string
	// GreedyFrom is how many sets had been taken when greedy went on; nil: it did not. See Options.GiveUp.
	GreedyFrom *uint64
}

// An OptionError tells which option is wrong, or does not go with another.
type OptionError struct{ Option, Problem string }

func (e *OptionError) Error() string { return e.Option + ": " + e.Problem }

// Check reports whether the options make sense for the algorithm: an *OptionError if not.
func (o *Options) Check(a Algorithm) error {
	bad := func(option, format string, args ...any) error {
		return &OptionError{option, fmt.Sprintf(format, args...)}
	}
	known := slices.Contains(Algorithms(), a)
	switch {
	case !known:
		var names []string
		for _, n := range Algorithms() {
			names = append(names, string(n))
		}
		return bad("algorithm", "there is no %q; known: %s", a, strings.Join(names, " "))
	case o.Q != 0 && !(o.Q >= 1 && o.Q < math.Inf(1)):
		return bad("q", "want a number of at least 1, got %v", o.Q)
	case o.P != 0 && !(o.P > 1 && o.P < math.Inf(1)):
		return bad("p", "want a number above 1, got %v", o.P)
	case o.Q != 0 && a != NameRFGreedy && a != NamePGreedy:
		return bad("q", "%s has no q; rfgreedy and pgreedy have", a)
	case (o.P != 0 || o.Points != nil) && a != NamePGreedy && a != NameSPGreedy:
		return bad("p", "%s has no levels; pgreedy and spgreedy have", a)
	case o.P != 0 && o.Points != nil:
		return bad("points", "give either p or points")
	case o.Points != nil && o.Weights != nil:
		return bad("points", "levels of gain by cost are powers of p; points do not go with weights")
	case o.Budget < 0:
		return bad("k", "want at least 1 set, got %d", o.Budget)
	case o.Partial != 0 && !(o.Partial > 0 && o.Partial <= 1):
		return bad("partial", "want a share above 0 and up to 1, got %v", o.Partial)
	case o.Multi < 0 || o.Multi > math.MaxInt32:
		return bad("multi", "want a number from 1 to %d, got %d", math.MaxInt32, o.Multi)
	case o.MaxDegree < 0:
		return bad("max-degree", "want at least 1, got %d", o.MaxDegree)
	case o.Threads < 0:
		return bad("threads", "want at least 1, got %d", o.Threads)
	case o.Budget > 0 && o.Weights != nil:
		return bad("k", "a number of sets does not go with weights: by gain for cost the cheapest sets would use it up, whatever they cover; leave the weights out, or stop at a share (partial)")
	}
	for i, p := range o.Points {
		if !(p >= 1 && p < math.Inf(1)) || i > 0 && p <= o.Points[i-1] {
			return bad("points", "want ascending numbers of at least 1, got %v", o.Points)
		}
	}
	for i, w := range o.Weights {
		if !(w >= 0 && w < math.Inf(1)) {
			return bad("weights", "set %d: want a finite number of at least 0, got %v", i, w)
		}
	}
	return nil
}

// checkFor adds to Check what needs the family.
func (o *Options) checkFor(a Algorithm, f Family) error {
	if err := o.Check(a); err != nil {
		return err
	}
	if o.Weights != nil && uint64(len(o.Weights)) != f.NumSets() {
		return &OptionError{"weights", fmt.Sprintf("%d weights for %d sets", len(o.Weights), f.NumSets())}
	}
	return nil
}

// target returns how much of the demand of so many coverable elements is to be met.
func (o *Options) target(coverable uint64) uint64 {
	if o.Partial == 0 || o.Partial == 1 {
		return math.MaxUint64
	}
	return share(o.Partial, coverable*uint64(max(1, o.Multi)))
}

func (o *Options) q() float64 { return max(1, o.Q) }

func (o *Options) p(a Algorithm) float64 {
	switch {
	case o.P != 0:
		return o.P
	case a == NamePGreedy:
		return 2
	}
	return 1.2
}

func (o *Options) threads() int {
	if o.Threads == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return o.Threads
}

// Solve runs the named engine. Its errors: *OptionError, those of f, of o.Take and of ctx.
func Solve(ctx context.Context, f Family, a Algorithm, o Options) (*Result, error) {
	switch a {
	case NameGreedy:
		return Greedy(ctx, f, o)
	case NameFGreedy:
		return FGreedy(ctx, f, o)
	case NameFGreedyBucket:
		return FGreedyBucket(ctx, f, o)
	case NameRFGreedy:
		return RFGreedy(ctx, f, o)
	case NamePGreedy:
		return PGreedy(ctx, f, o)
	case NameSPGreedy:
		return SPGreedy(ctx, f, o)
	}
	return nil, o.Check(a)
}

// guarantee returns how many times the best a cover can be at most, NaN if nothing is known,
// and why. Lemmas 3.1, 3.4, 3.5 and 3.6 of [ST15]: q·ln Δ + 1 and p·ln Δ + 1, with weights
// ln m in place of ln Δ [ST15, §3.8]. The proofs carry over to partial covers (what remains
// is counted up to the share wanted) and to multicovers (what remains is the demand).
func (o *Options) guarantee(a Algorithm, largest, sets uint64) (float64, []string) {
	if o.Budget > 0 {
		return math.NaN(), nil // a budget bounds the size; the guarantee would be on what is covered
	}
	factor := 1.0
	switch a {
	case NameRFGreedy:
		factor = o.q()
	case NamePGreedy:
		factor = o.q()
		least, _ := o.ratios(a, largest)
		if factor > least {
			return math.NaN(), []string{fmt.Sprintf("no guarantee: q = %v is above the least ratio of two neighbouring levels, %v", factor, least)}
		}
	case NameSPGreedy:
		_, factor = o.ratios(a, largest)
	}
	span := largest
	if o.Weights != nil {
		span = sets
	}
	if span == 0 {
		return math.NaN(), nil
	}
	return factor*math.Log(float64(span)) + 1, nil
}

// ratios returns the least ratio of two neighbouring points (+Inf if there is one point), and
// the largest with the top range Δ/p_k included.
func (o *Options) ratios(a Algorithm, largest uint64) (least, most float64) {
	if o.Points == nil {
		return o.p(a), o.p(a)
	}
	points := withOne(o.Points)
	least = math.Inf(1)
	for i := 1; i < len(points); i++ {
		r := points[i] / points[i-1]
		least, most = min(least, r), max(most, r)
	}
	return least, max(most, float64(largest)/points[len(points)-1], 1)
}

// withOne puts p_1 = 1 before the points if it is not there.
func withOne(points []float64) []float64 {
	if len(points) > 0 && points[0] == 1 {
		return points
	}
	return append([]float64{1}, points...)
}

// errStop ends a scan early without being an error.
var errStop = errors.New("stop")

// OutLinks returns the family of a graph: set v is what node v links to. A *graph.CSR is
// shared, not copied; any other graph is read anew at each Scan.
func OutLinks(g graph.Scanner) Family {
	if c, ok := g.(*graph.CSR); ok {
		if len(c.Offset) == 0 {
			return &Lists{Offset: []uint64{0}}
		}
		return &Lists{Offset: c.Offset, Elem: c.Succ, N: uint64(c.NumNodes())}
	}
	return scanned{g}
}

// scanned is the family of a graph that is not in memory.
type scanned struct{ g graph.Scanner }

func (s scanned) NumSets() uint64     { return uint64(s.g.NumNodes()) }
func (s scanned) NumElements() uint64 { return uint64(s.g.NumNodes()) }
func (s scanned) Size() uint64        { return s.g.NumArcs() }

func (s scanned) Scan(visit func(set uint64, elements []uint64) error) error {
	var buf []uint64
	return s.g.Scan(0, graph.Node(s.g.NumNodes()), func(v graph.Node, succ []graph.Node) error {
		buf = buf[:0]
		for _, u := range succ {
			buf = append(buf, uint64(u))
		}
		return visit(uint64(v), buf)
	})
}
