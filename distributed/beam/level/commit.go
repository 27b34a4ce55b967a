package level

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"forage/distributed/beam/files"
	"forage/distributed/beam/shard"
)

// Committed is what the reducer made of a level.
type Committed struct {
	Level     int            `json:"level"`
	Threshold uint64         `json:"threshold"`
	Taken     uint64         `json:"taken"`           // sets
	Gained    uint64         `json:"gained"`          // elements
	Picks     *shard.File    `json:"picks,omitempty"` // nil: no set was taken
	Cover     *shard.File    `json:"bits,omitempty"`  // what is covered now
	Residuals [][]shard.File `json:"residuals"`       // by shard, of mappers and reducer
	Counts    Counts         `json:"counts"`          // of mappers and reducer
	Fault     string         `json:"fault,omitempty"` // what is wrong with the input; nothing else counts then
}

// Commit takes sets from what the mappers left, records being the names of what Map returned, one
// a shard of the plan, and returns the name of its own record, a Committed. First the sets that
// mappers took, shard by shard, then the candidates in ascending order, each if it still reaches
// the threshold: lines 6 to 10 of [ST15, Alg. 5]. Two records of a shard come of attempts that
// both ended, and say the same: the first by name counts. Time is linear in what the mappers
// wrote, memory a bit an element.
func Commit(ctx context.Context, p *Place, in *Input, records []string) (name string, err error) {
	plan, _ := in.State.Plan(in.Manifest.Largest)
	mapped, fault, err := readMapped(ctx, p, len(in.Manifest.Shards), plan.Shards, records)
	if err != nil {
		return "", err
	}
	if fault != "" {
		return p.writeRecord(ctx, "commit", &Committed{Level: p.Level, Fault: fault})
	}
	x := &reducer{place: p, plan: plan, bits: slices.Clone(in.Bits), out: newOutputs(p, plan.Buckets)}
	x.made = Committed{Level: p.Level, Threshold: plan.Threshold, Cover: in.State.Cover, Residuals: make([][]shard.File, len(mapped))}
	var damaged *shard.Error
	switch err := x.reduce(ctx, mapped); {
	case errors.As(err, &damaged):
		return p.writeRecord(ctx, "commit", &Committed{Level: p.Level, Fault: damaged.Error()})
	case err != nil:
		return "", err
	}
	if x.made.Taken > 0 {
		picks, err := p.writeFile(ctx, p.name("picks"), x.picks)
		if err != nil {
			return "", err
		}
		bits, err := p.writeFile(ctx, p.name("bits"), x.bits.encode())
		if err != nil {
			return "", err
		}
		x.made.Picks, x.made.Cover = &picks, &bits
	}
	return p.writeRecord(ctx, "commit", &x.made)
}

// readMapped returns what the mappers of a level recorded, by shard of n, nil for those that have nothing
// to say; fault is what one of them found wrong.
func readMapped(ctx context.Context, p *Place, n int, want []int, records []string) (mapped []*Mapped, fault string, err error) {
	mapped = make([]*Mapped, n)
	slices.Sort(records)
	for _, record := range records {
		m := &Mapped{}
		if _, err := shard.ReadRecord(ctx, files.Join(p.Dir, record), m); err != nil {
			return nil, "", err
		}
		if m.Fault != "" {
			return nil, m.Fault, nil
		}
		if mapped[m.Shard] == nil {
			mapped[m.Shard] = m
		}
	}
	for _, i := range want {
		if mapped[i] == nil {
			return nil, "", fmt.Errorf("level %d: nothing came of shard %d", p.Level, i)
		}
	}
	return mapped, "", nil
}

// FindCommitted returns what the reducer of a level recorded in a folder, in an attempt whose name
// begins with run; nil: there is nothing. Attempts that both ended say the same.
func FindCommitted(ctx context.Context, dir string, number int, run string) (*Committed, error) {
	p := Place{Level: number, Attempt: run}
	names, err := begun(ctx, dir, p.name("commit"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		c := &Committed{}
		_, err := shard.ReadRecord(ctx, name, c)
		var damaged *shard.Error
		switch {
		case errors.As(err, &damaged):
			continue // of an attempt that did not come to its end
		case err != nil:
			return nil, err
		}
		return c, nil
	}
	return nil, nil
}

type reducer struct {
	place *Place
	plan  Plan
	bits  Bits
	picks []byte // set and gain of each, as varints
	out   outputs
	made  Committed
	left  []uint64
}

func (x *reducer) reduce(ctx context.Context, mapped []*Mapped) error {
	for _, m := range mapped {
		if m == nil {
			continue
		}
		x.made.Counts.add(m.Counts)
		x.made.Residuals[m.Shard] = m.Residuals
		if m.Taken == nil {
			continue
		}
		before := x.made.Taken
		if err := x.read(ctx, []shard.File{*m.Taken}, x.take); err != nil {
			return err
		}
		x.made.Counts.Local += x.made.Taken - before
	}
	for _, m := range mapped {
		if m == nil || m.Candidates == nil {
			continue
		}
		asExpected, err := x.expected(ctx, m)
		if err != nil {
			return err
		}
		if asExpected {
			x.made.Residuals[m.Shard] = append(x.made.Residuals[m.Shard], m.Fell...)
			continue
		}
		if err := x.candidates(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// expected takes the candidates that a mapper expects to be taken. false: one of them has lost too much to
// sets of other shards; what came after it is not as the mapper expected, and must be looked at anew.
func (x *reducer) expected(ctx context.Context, m *Mapped) (bool, error) {
	err := x.read(ctx, []shard.File{*m.Candidates}, func(set uint64, elements []uint64) error {
		x.left = x.bits.rest(x.left[:0], elements)
		if uint64(len(x.left)) < x.plan.Threshold {
			return errUnexpected
		}
		return x.take(set, x.left)
	})
	if errors.Is(err, errUnexpected) {
		return false, nil
	}
	return true, err
}

var errUnexpected = errors.New("a candidate has lost too much")

// candidates takes what reaches the threshold of all candidates of a shard, whatever its mapper expected. Of
// those that expected has taken nothing is left.
func (x *reducer) candidates(ctx context.Context, m *Mapped) error {
	in := append([]shard.File{*m.Candidates}, m.Fell...)
	if m.Rest != nil {
		in = append(in, *m.Rest)
	}
	var set uint64
	var whole []uint64
	decide := func() error {
		slices.Sort(whole)
		x.left = x.bits.rest(x.left[:0], whole)
		whole = whole[:0]
		switch {
		case uint64(len(x.left)) >= x.plan.Threshold:
			return x.take(set, x.left)
		case len(x.left) == 0:
			return nil
		}
		return x.out.residual(set, x.left)
	}
	err := x.read(ctx, in, func(next uint64, elements []uint64) error { // the parts of a set come one after another
		if next != set {
			if err := decide(); err != nil {
				return err
			}
			set = next
		}
		whole = append(whole, elements...)
		return nil
	})
	if err == nil {
		err = decide()
	}
	if err != nil {
		return err
	}
	return x.out.write(ctx, fmt.Sprintf("shard-%05d-fell", m.Shard), func(_ int, f shard.File) {
		x.made.Counts.Written += f.Bytes
		x.made.Residuals[m.Shard] = append(x.made.Residuals[m.Shard], f)
	})
}

// read calls visit for the sets of files.
func (x *reducer) read(ctx context.Context, in []shard.File, visit func(set uint64, elements []uint64) error) error {
	var located []shard.Located
	for _, f := range in {
		x.made.Counts.Read += f.Bytes
		located = append(located, x.place.locate(f))
	}
	return shard.Merge(ctx, located, func(set uint64, elements []uint64) error {
		x.made.Counts.Reads += uint64(len(elements))
		x.made.Counts.Reduced += uint64(len(elements))
		return visit(set, elements)
	})
}

// take chooses a set, unless sets that other mappers took have covered all that it adds.
func (x *reducer) take(set uint64, elements []uint64) error {
	x.left = x.bits.rest(x.left[:0], elements)
	if len(x.left) == 0 {
		return nil
	}
	x.bits.cover(x.left)
	x.picks = binary.AppendUvarint(x.picks, set)
	x.picks = binary.AppendUvarint(x.picks, uint64(len(x.left)))
	x.made.Taken++
	x.made.Gained += uint64(len(x.left))
	return nil
}
