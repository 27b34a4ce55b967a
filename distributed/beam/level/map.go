package level

import (
	"context"
	"errors"
	"fmt"

	"forage/distributed/beam/files"
	"forage/distributed/beam/shard"
)

// Mapped is what a mapper made of a shard.
type Mapped struct {
	Shard     int          `json:"shard"`
	Taken     *shard.File  `json:"taken,omitempty"`     // sets that the mapper took, what they added; form Local only
	Residuals []shard.File `json:"residuals,omitempty"` // those of the sets that do not reach the threshold

	// The candidates are the sets that reach the threshold. As long as no set of another shard takes a
	// candidate from the reducer, it takes those of a shard as the mapper would: so the mapper says
	// which these are, and of the others what is left then. Nobody reads the rest, if that holds.
	Candidates *shard.File  `json:"candidates,omitempty"` // those that would be taken: what they would add
	Fell       []shard.File `json:"fell,omitempty"`       // residuals of the others
	Rest       *shard.File  `json:"rest,omitempty"`       // what any of them has beside that
	Counts     Counts       `json:"counts"`
	Fault      string       `json:"fault,omitempty"` // what is wrong with the input; nothing else is set then
}

// Input is what a level reads: the family, the state before it and what is covered then. Map and
// Commit change none of it.
type Input struct {
	Manifest *shard.Manifest
	State    *State
	Bits     Bits
}

// Map looks at the sets of a shard that may reach the threshold and returns the name of the
// record of what it made of them, a Mapped. Time is linear in what it reads; memory a block a
// file, what it writes, a bit an element, and in form Local a bit for each of the mapper's own part.
func Map(ctx context.Context, p *Place, in *Input, i int) (name string, err error) {
	plan, _ := in.State.Plan(in.Manifest.Largest)
	x := &mapper{place: p, plan: plan, in: in, out: newOutputs(p, plan.Buckets), made: Mapped{Shard: i}}
	if in.State.Form == Local {
		first, end := in.Manifest.Own(i)
		x.own = &part{first, end, make(Bits, (end-first+63)/64)}
	}
	var inputs []shard.Located
	for _, f := range in.State.inputs(i, plan.Threshold) {
		x.made.Counts.Read += f.Bytes
		inputs = append(inputs, p.locate(f))
	}
	var damaged *shard.Error
	switch err := shard.Merge(ctx, inputs, x.visit); {
	case errors.As(err, &damaged):
		// To try again would find the same: the fault is a result, which the driver is told.
		return p.writeRecord(ctx, fmt.Sprintf("shard-%05d-mapped", i), &Mapped{Shard: i, Fault: damaged.Error()})
	case err != nil:
		return "", err
	}
	err = x.out.write(ctx, fmt.Sprintf("shard-%05d-left", i), func(kind int, f shard.File) {
		x.made.Counts.Written += f.Bytes
		switch kind {
		case taken:
			x.made.Taken = &f
		case candidates:
			x.made.Candidates = &f
		case rest:
			x.made.Rest = &f
		default:
			if kind < len(plan.Buckets) {
				x.made.Residuals = append(x.made.Residuals, f)
			} else {
				x.made.Fell = append(x.made.Fell, f)
			}
		}
	})
	if err != nil {
		return "", err
	}
	return p.writeRecord(ctx, fmt.Sprintf("shard-%05d-mapped", i), &x.made)
}

// part are the elements that belong to a mapper, and those of them that its picks covered.
type part struct {
	first, end uint64
	covered    Bits
}

// gain returns how many of the elements belong to the part and are not covered.
func (o *part) gain(elements []uint64) (gain uint64) {
	for _, e := range elements {
		if e >= o.first && e < o.end && o.covered[(e-o.first)/64]>>((e-o.first)%64)&1 == 0 {
			gain++
		}
	}
	return gain
}

func (o *part) cover(elements []uint64) {
	for _, e := range elements {
		if e >= o.first && e < o.end {
			o.covered[(e-o.first)/64] |= 1 << ((e - o.first) % 64)
		}
	}
}

// rest drops the elements of the part that its picks covered.
func (o *part) rest(elements []uint64) []uint64 {
	left := elements[:0]
	for _, e := range elements {
		if e < o.first || e >= o.end || o.covered[(e-o.first)/64]>>((e-o.first)%64)&1 == 0 {
			left = append(left, e)
		}
	}
	return left
}

// fits returns an error if a shard cannot hold such a set.
func (p *Place) fits(m *shard.Manifest, i int, set uint64, elements []uint64) error {
	sh := &m.Shards[i]
	if last := elements[len(elements)-1]; set < sh.First || set >= sh.End || last >= m.Elements {
		return &shard.Error{File: files.Join(p.Shards, sh.Name), What: fmt.Sprintf("it holds set %d with element %d, want sets from %d to %d and elements below %d", set, last, sh.First, sh.End-1, m.Elements)}
	}
	return nil
}

type mapper struct {
	place *Place
	plan  Plan
	in    *Input
	own   *part // form Local only
	out   outputs
	made  Mapped
	taken Bits // what candidates would cover that would be taken; nil: there are none yet
	left  []uint64
	rest  []uint64
}

func (x *mapper) visit(set uint64, elements []uint64) error {
	if err := x.place.fits(x.in.Manifest, x.made.Shard, set, elements); err != nil {
		return err
	}
	x.made.Counts.Reads += uint64(len(elements))
	x.left = x.in.Bits.rest(x.left[:0], elements)
	reaches := func() bool { return uint64(len(x.left)) >= x.plan.Threshold }
	if x.own != nil && reaches() {
		if x.own.gain(x.left) >= x.plan.Threshold {
			err := x.out.put(taken, set, x.left)
			x.own.cover(x.left)
			return err
		}
		x.left = x.own.rest(x.left)
	}
	switch {
	case len(x.left) == 0:
		return nil
	case reaches():
		return x.candidate(set)
	}
	return x.out.residual(set, x.left)
}

// candidate divides what is left of a set that reaches the threshold into what it would add after the
// candidates before it, and the rest.
func (x *mapper) candidate(set uint64) error {
	if x.taken == nil {
		x.taken = NewBits(x.in.Manifest.Elements)
	}
	x.rest = x.rest[:0]
	adds := x.left[:0]
	for _, e := range x.left {
		if x.taken.Has(e) {
			x.rest = append(x.rest, e)
		} else {
			adds = append(adds, e)
		}
	}
	if len(x.rest) > 0 {
		if err := x.out.put(rest, set, x.rest); err != nil {
			return err
		}
	}
	switch {
	case uint64(len(adds)) >= x.plan.Threshold:
		x.taken.cover(adds)
		return x.out.put(candidates, set, adds)
	case len(adds) > 0:
		return x.out.fell(set, adds)
	}
	return nil
}
