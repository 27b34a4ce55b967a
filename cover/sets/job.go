package sets

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math"
	"strconv"

	"forage/cover"
	"forage/graph"
)

// A Job covers a source: in memory, or out of core. A caller may ask Fit which of them the memory
// allows; Load reads the family, Solve covers it, Verify checks the cover. A Job is not safe for
// concurrent use.
type Job struct {
	Source    *Source
	Algorithm cover.Algorithm // in memory; out of core it is SPGreedy
	OutOfCore bool
	Options   cover.Options // the problem; Load adds the weights of the file
	Temp      string        // folder for level files; "": os.TempDir

	// UnitWeights ignores the weights of the file.
	UnitWeights bool

	family  cover.Family
	lists   *cover.Lists
	scratch *Scratch
}

// A Need is what a family of m sets and n elements takes in memory.
type Need struct {
	Sets, Elements uint64
	Memory         uint64 // bytes
	Greedy         uint64 // bytes, for Options.GiveUp
}

// Fit reports whether j.Algorithm, and Improve after it if improve is set, can work with limit
// bytes of memory. It measures the source, which may read it, only where the size of the file
// leaves room for doubt; need is then exact.
func (j *Job) Fit(limit uint64, improve bool) (need Need, ok bool, err error) {
	for _, measure := range []bool{false, true} {
		m, n, size, err := j.Source.Sizes(measure)
		if err != nil {
			return Need{}, false, err
		}
		need = Need{m, n, cover.Memory(j.Algorithm, m, n, size, &j.Options, improve), cover.Memory(cover.NameGreedy, m, n, size, &j.Options, improve)}
		if need.Memory <= limit && (!measure || max(m, n) < graph.MaxNodes) {
			return need, true, nil
		}
	}
	return need, false, nil
}

// ErrWeights says that the weights of a file do not go with the problem.
var ErrWeights = errors.New("the costs of the file do not go with a budget or points")

// Load reads the family: into memory or, if OutOfCore is set, its extent only. keep says that the
// lists are needed after Solve, which otherwise may use them up. An *Error whose Wide is set says
// that the family can be covered out of core only; ErrWeights that its weights do not fit.
func (j *Job) Load(keep bool) (err error) {
	s := j.Source
	if j.OutOfCore {
		j.Algorithm = cover.NameSPGreedy
		if j.scratch, err = NewScratch(j.Temp); err != nil {
			return err
		}
		j.family, err = s.Family()
	} else {
		j.lists, err = s.Load(j.Options.MaxDegree)
		j.family = j.lists
		j.Options.InPlace = !keep && !s.InMemory()
	}
	if err != nil || s.Info == nil || s.Info.Weights == nil || j.UnitWeights || j.Options.Weights != nil {
		return err
	}
	j.Options.Weights = s.Info.Weights
	if j.Options.Budget > 0 || j.Options.Points != nil {
		return ErrWeights
	}
	return nil
}

// NumSets returns the number of sets of the family that was loaded.
func (j *Job) NumSets() uint64 { return j.family.NumSets() }

// Solve covers the family. take is that of cover.Options.
func (j *Job) Solve(ctx context.Context, take func(set, gain uint64) error) (*cover.Result, error) {
	o := j.Options
	o.Take = take
	if j.OutOfCore {
		return cover.External(ctx, j.family, j.scratch, o)
	}
	return cover.Solve(ctx, j.family, j.Algorithm, o)
}

// Lists returns the family in memory, nil out of core.
func (j *Job) Lists() *cover.Lists { return j.lists }

// Verify checks a result against the source, which it reads anew.
func (j *Job) Verify(r *cover.Result) error {
	again, err := j.Source.Family()
	if err != nil {
		return err
	}
	return cover.Verify(again, r, j.Options)
}

// A Report is a cover and what it took, as a record.
type Report struct {
	Algorithm   cover.Algorithm `json:"algorithm"`
	Sets        uint64          `json:"sets"`
	Elements    uint64          `json:"elements"`
	Size        uint64          `json:"size"`
	Largest     uint64          `json:"largest"`
	Coverable   uint64          `json:"coverable"`
	Cover       uint64          `json:"cover"`
	Covered     uint64          `json:"covered"`
	Weight      float64         `json:"weight"`
	Passes      int             `json:"passes"`
	Reads       uint64          `json:"reads"`
	GreedyFrom  *uint64         `json:"greedy_from,omitempty"` // sets that had been taken when greedy went on, see cover.Patience
	Guarantee   *float64        `json:"guarantee"`             // nil: there is none
	OutOfCore   bool            `json:"out_of_core"`
	Unsorted    uint64          `json:"unsorted"`
	Repeated    uint64          `json:"repeated"`
	Demand      uint64          `json:"demand"` // coverable elements, each as often as Options.Multi asks
	Met         uint64          `json:"met"`    // of the demand
	Improved    *uint64         `json:"cover_before_improvement,omitempty"`
	Verified    bool            `json:"verified"`
	Warnings    []string        `json:"warnings,omitempty"`
	LoadSeconds float64         `json:"load_seconds"`
	Seconds     float64         `json:"seconds"` // without loading
	BaseRSS     int64           `json:"base_rss"`
	PeakRSS     int64           `json:"peak_rss"`
}

// Report returns what a result says of the job. What the caller alone knows is left out: Improved,
// Verified, seconds and memory.
func (j *Job) Report(r *cover.Result) *Report {
	p := &Report{
		Algorithm: r.Algorithm, Sets: j.family.NumSets(), Elements: j.family.NumElements(), OutOfCore: j.OutOfCore,
		Size: r.Size, Largest: r.Largest, Coverable: r.Coverable, Cover: r.Taken, Covered: r.Covered, Weight: r.Weight,
		Demand: r.Coverable * uint64(max(1, j.Options.Multi)), Met: r.Met,
		Passes: r.Passes, Reads: r.Reads, GreedyFrom: r.GreedyFrom, Warnings: r.Warnings,
	}
	if info := j.Source.Info; info != nil {
		p.Unsorted, p.Repeated = info.Unsorted, info.Repeated
	}
	if !math.IsNaN(r.Guarantee) {
		p.Guarantee = &r.Guarantee
	}
	return p
}

// WriteList calls list with a function that writes the number of a set to w, a line each. It fits
// cover.Options.Take.
func WriteList(w io.Writer, list func(take func(set, gain uint64) error) error) error {
	b := bufio.NewWriterSize(w, 1<<16)
	var line []byte
	err := list(func(set, _ uint64) error {
		line = append(strconv.AppendUint(line[:0], set, 10), '\n')
		_, err := b.Write(line)
		return err
	})
	if err != nil {
		return err
	}
	return b.Flush()
}

// Each gives the sets of a finished result to WriteList.
func Each(ids []uint64) func(take func(set, gain uint64) error) error {
	return func(take func(set, gain uint64) error) error {
		for _, set := range ids {
			if err := take(set, 0); err != nil {
				return err
			}
		}
		return nil
	}
}
