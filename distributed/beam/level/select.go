package level

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"forage/cover"
	"forage/distributed/beam/files"
	"forage/distributed/beam/shard"
)

// A Selection is the part of a family that is looked at: some of its sets, and of these some elements.
// What comes of it is a State without levels: either the sets, cut down to these elements, are what
// is live; or, with Union, the elements that any of them holds are what is covered.
type Selection struct {
	Shards uint32     `json:"shards"` // checksum of the manifest of the shards
	P      float64    `json:"p"`
	Union  bool       `json:"union"`
	Sets   shard.File `json:"sets"`     // bits
	Of     shard.File `json:"elements"` // bits
}

// A Part is a selection as its mappers and its reducer have it.
type Part struct {
	Manifest *shard.Manifest
	Select   *Selection
	Sets, Of Bits
}

// NewSelection writes a selection of sets and elements and returns the name of its record.
func NewSelection(ctx context.Context, p *Place, m *shard.Manifest, ratio float64, union bool, sets, of Bits) (name string, err error) {
	s := &Selection{Shards: m.Sum, P: ratio, Union: union}
	if s.Sets, err = p.writeFile(ctx, p.name("sets"), sets.encode()); err != nil {
		return "", err
	}
	if s.Of, err = p.writeFile(ctx, p.name("elements"), of.encode()); err != nil {
		return "", err
	}
	return p.writeRecord(ctx, "selection", s)
}

// ReadPart reads the selection of a record in a folder.
func ReadPart(ctx context.Context, dir, name string, m *shard.Manifest) (*Part, error) {
	in := &Part{Manifest: m, Select: &Selection{}}
	if _, err := shard.ReadRecord(ctx, files.Join(dir, name), in.Select); err != nil {
		return nil, err
	}
	var err error
	if in.Sets, err = readBits(ctx, dir, in.Select.Sets, m.Sets); err == nil {
		in.Of, err = readBits(ctx, dir, in.Select.Of, m.Elements)
	}
	return in, err
}

// Touched returns the shards that hold some of these sets.
func Touched(m *shard.Manifest, sets Bits) []int {
	var touched []int
	for i, s := range m.Shards {
		for set := s.First; set < s.End; set++ {
			if set%64 == 0 && sets[set/64] == 0 {
				set += 63
			} else if sets.Has(set) {
				touched = append(touched, i)
				break
			}
		}
	}
	return touched
}

// Pick looks at the sets of a shard that are selected and returns the name of the record of what it
// made of them, a Mapped: what is left of them, by buckets, or, of a union, its elements in pieces. It
// reads the whole shard. Memory: a block a file and what it writes; of a union a bit an element more.
func Pick(ctx context.Context, p *Place, in *Part, i int) (name string, err error) {
	m := in.Manifest
	made := &Mapped{Shard: i}
	out := newOutputs(p, cover.Thresholds(in.Select.P, m.Largest))
	var union Bits
	if in.Select.Union {
		union = NewBits(m.Elements)
	}
	var inputs []shard.Located
	for _, f := range m.Shards[i].Files {
		made.Counts.Read += f.Bytes
		inputs = append(inputs, p.locate(f))
	}
	var left []uint64
	err = shard.Merge(ctx, inputs, func(set uint64, elements []uint64) error {
		if err := p.fits(m, i, set, elements); err != nil {
			return err
		}
		made.Counts.Reads += uint64(len(elements))
		if !in.Sets.Has(set) {
			return nil
		}
		left = left[:0]
		for _, e := range elements {
			if in.Of.Has(e) {
				left = append(left, e)
			}
		}
		switch {
		case len(left) == 0:
			return nil
		case union != nil:
			union.cover(left)
			return nil
		}
		return out.residual(set, left)
	})
	var damaged *shard.Error
	switch {
	case errors.As(err, &damaged):
		return p.writeRecord(ctx, fmt.Sprintf("shard-%05d-mapped", i), &Mapped{Shard: i, Fault: damaged.Error()})
	case err != nil:
		return "", err
	}
	const piece = 1 << 16 // elements of a union that are a set of the file
	number := uint64(0)
	left = left[:0]
	union.Each(func(e uint64) {
		if left = append(left, e); len(left) == piece && err == nil {
			err = out.put(candidates, number, left)
			number++
			left = left[:0]
		}
	})
	if err == nil && union != nil && len(left) > 0 {
		err = out.put(candidates, number, left)
	}
	if err != nil {
		return "", err
	}
	err = out.write(ctx, fmt.Sprintf("shard-%05d-left", i), func(kind int, f shard.File) {
		made.Counts.Written += f.Bytes
		if kind == candidates {
			made.Candidates = &f
		} else {
			made.Residuals = append(made.Residuals, f)
		}
	})
	if err != nil {
		return "", err
	}
	return p.writeRecord(ctx, fmt.Sprintf("shard-%05d-mapped", i), made)
}

// Gather puts together what Pick left of the shards that are touched, and returns the name of its record,
// a Committed. Memory of a union: a bit an element.
func Gather(ctx context.Context, p *Place, in *Part, records []string) (name string, err error) {
	mapped, fault, err := readMapped(ctx, p, len(in.Manifest.Shards), Touched(in.Manifest, in.Sets), records)
	if err != nil {
		return "", err
	}
	if fault != "" {
		return p.writeRecord(ctx, "commit", &Committed{Fault: fault})
	}
	made := &Committed{Residuals: make([][]shard.File, len(mapped))}
	union := NewBits(in.Manifest.Elements)
	for i, m := range mapped {
		if m == nil {
			continue
		}
		made.Counts.add(m.Counts)
		made.Residuals[i] = m.Residuals
		if m.Candidates == nil {
			continue
		}
		err := shard.Merge(ctx, []shard.Located{p.locate(*m.Candidates)}, func(_ uint64, elements []uint64) error {
			if last := elements[len(elements)-1]; last >= in.Manifest.Elements {
				return &shard.Error{File: m.Candidates.Name, What: fmt.Sprintf("it holds element %d, want them below %d", last, in.Manifest.Elements)}
			}
			union.cover(elements)
			return nil
		})
		var damaged *shard.Error
		switch {
		case errors.As(err, &damaged):
			return p.writeRecord(ctx, "commit", &Committed{Fault: damaged.Error()})
		case err != nil:
			return "", err
		}
	}
	if in.Select.Union {
		f, err := p.writeFile(ctx, p.name("bits"), union.encode())
		if err != nil {
			return "", err
		}
		made.Cover = &f
	}
	return p.writeRecord(ctx, "commit", made)
}

// Selected returns the state that follows a selection.
func Selected(m *shard.Manifest, p float64, c *Committed) *State {
	s := Begin(m, p, Reducer)
	s.Live, s.Cover, s.Counts = c.Residuals, c.Cover, c.Counts
	return s
}

// NewBits returns n bits, none of them set.
func NewBits(n uint64) Bits { return make(Bits, (n+63)/64) }

// Has reports whether element e is one of b.
func (b Bits) Has(e uint64) bool { return b[e/64]>>(e%64)&1 == 1 }

// Add makes e one of b.
func (b Bits) Add(e uint64) { b[e/64] |= 1 << (e % 64) }

// Count returns how many there are.
func (b Bits) Count() (n uint64) {
	for _, w := range b {
		n += uint64(bits.OnesCount64(w))
	}
	return n
}

// Each calls visit for each of b, ascending.
func (b Bits) Each(visit func(e uint64)) {
	for i, w := range b {
		for ; w != 0; w &= w - 1 {
			visit(64*uint64(i) + uint64(bits.TrailingZeros64(w)))
		}
	}
}

// And keeps those that are in c as well.
func (b Bits) And(c Bits) Bits {
	both := slices.Clone(b)
	for i := range both {
		both[i] &= c[i]
	}
	return both
}

// Without keeps those that are not in c.
func (b Bits) Without(c Bits) Bits {
	rest := slices.Clone(b)
	for i := range rest {
		rest[i] &^= c[i]
	}
	return rest
}

// Or returns those that are in b or c.
func (b Bits) Or(c Bits) Bits {
	either := slices.Clone(b)
	for i := range either {
		either[i] |= c[i]
	}
	return either
}
