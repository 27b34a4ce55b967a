package cover_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"forage/cover"
	"forage/cover/covertest"
	"forage/internal/race"
)

func TestExternal(t *testing.T) {
	covertest.Run(t, 60, false, func(ctx context.Context, f cover.Family, o cover.Options) (*cover.Result, error) {
		s := &covertest.Scratch{}
		got, err := cover.External(ctx, f, s, o)
		if s.Open != 0 {
			t.Fatalf("%d scratch files were left open", s.Open)
		}
		return got, err
	})
}

// TestExternalIsSPGreedy: the same sets in the same order as in memory, whatever the problem
// and the number of threads.
func TestExternalIsSPGreedy(t *testing.T) {
	race.Skip(t)
	type named struct {
		name string
		l    *cover.Lists
	}
	families := []named{{"large", covertest.Large(rand.New(rand.NewPCG(1, 1)), 12000, 8000)}}
	for seed := range uint64(race.Fewer(60)) {
		families = append(families, named{"random", covertest.Random(rand.New(rand.NewPCG(seed, 9)))})
	}
	for i, f := range families {
		problems := covertest.Problems(rand.New(rand.NewPCG(uint64(i), 2)), int(f.l.NumSets()))
		problems["p=2"] = cover.Options{P: 2}
		problems["p=1.01"] = cover.Options{P: 1.01}
		problems["points"] = cover.Options{Points: []float64{1.5, 3, 3.2, 20}}
		for name, o := range problems {
			want, err := cover.SPGreedy(t.Context(), f.l, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, threads := range []int{1, 2, 5} {
				o.Threads = threads
				got, err := cover.External(t.Context(), f.l, &covertest.Scratch{}, o)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got.Sets, want.Sets) || !slices.Equal(got.Gains, want.Gains) || got.Coverable != want.Coverable || got.Covered != want.Covered || got.Size != want.Size {
					t.Fatalf("%s %d, %s, %d threads: %d sets, %d of %d covered, in memory %d sets, %d of %d", f.name, i, name, threads, got.Taken, got.Covered, got.Coverable, want.Taken, want.Covered, want.Coverable)
				}
				if stops := o.Budget > 0 || o.Partial > 0; got.Reads != want.Reads && !stops { // it stops within a level
					t.Fatalf("%s %d, %s, %d threads: %d reads, in memory %d", f.name, i, name, threads, got.Reads, want.Reads)
				}
			}
		}
	}
}

// wide spreads a family's sets and elements beyond 32 bits.
type wide struct{ *cover.Lists }

const spread = 1<<32/40 + 3 // there is a bit for each element: no more than it takes

func (w wide) NumSets() uint64     { return w.Lists.NumSets() * spread }
func (w wide) NumElements() uint64 { return w.Lists.NumElements() * spread }

func (w wide) Scan(visit func(set uint64, elements []uint64) error) error {
	return w.Lists.Scan(func(set uint64, elements []uint64) error {
		far := make([]uint64, len(elements))
		for i, e := range elements {
			far[i] = e * spread
		}
		return visit(set*spread, far)
	})
}

func TestExternalBeyond32Bits(t *testing.T) {
	if race.Enabled {
		t.Skip("takes 8 GB under the race detector")
	}
	l := covertest.Large(rand.New(rand.NewPCG(4, 4)), 60, 50)
	f := wide{l}
	var largest uint64
	if err := f.Scan(func(_ uint64, elements []uint64) error {
		for _, e := range elements {
			largest = max(largest, e)
		}
		return nil
	}); err != nil || largest < 1<<32 || f.NumSets() <= 1<<32 {
		t.Fatal("the family is not wide", err)
	}
	// Few levels: each copies half a gigabyte of bits.
	for name, o := range map[string]cover.Options{"full": {Points: []float64{1, 5}}} {
		want, err := cover.SPGreedy(t.Context(), l, o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want.Sets {
			want.Sets[i] *= spread
		}
		got, err := cover.External(t.Context(), f, &covertest.Scratch{}, o)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Sets, want.Sets) || !slices.Equal(got.Gains, want.Gains) {
			t.Errorf("%s: External = %v, want %v", name, got.Sets, want.Sets)
		}
	}
	if _, err := cover.SPGreedy(t.Context(), f, cover.Options{}); err == nil {
		t.Error("SPGreedy takes numbers beyond 32 bits")
	}
}

func TestExternalFaults(t *testing.T) {
	l := covertest.Large(rand.New(rand.NewPCG(1, 1)), 3000, 2000)
	all := &covertest.Scratch{}
	if _, err := cover.External(t.Context(), l, all, cover.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, threads := range []int{1, 3} {
		for limit := 100; limit < all.Written; limit += all.Written / 7 {
			s := &covertest.Scratch{Limit: limit}
			if _, err := cover.External(t.Context(), l, s, cover.Options{Threads: threads}); !errors.Is(err, covertest.ErrFull) || s.Open != 0 {
				t.Errorf("limit %d of %d: %v, %d files open", limit, all.Written, err, s.Open)
			}
		}
		for flip := 1; flip < all.Written; flip += all.Written / 50 {
			s := &covertest.Scratch{Flip: flip}
			if _, err := cover.External(t.Context(), l, s, cover.Options{Threads: threads}); err == nil || s.Open != 0 {
				t.Errorf("byte %d turned: %v, %d files open", flip, err, s.Open)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		taken := 0
		_, err := cover.External(ctx, l, &covertest.Scratch{}, cover.Options{Threads: threads, Take: func(set, gain uint64) error {
			if taken++; taken == 20 {
				cancel()
			}
			return nil
		}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
}

func TestBlocks(t *testing.T) {
	var buf bytes.Buffer
	w := cover.NewBlockWriter(&buf)
	if err := w.Put(3, []uint64{5, 6, 9}); err != nil {
		t.Fatal(err)
	}
	if err := w.Put(4, []uint64{0}); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if want := []byte{3, 3, 5, 0, 2, 0, 1, 0}; !bytes.Equal(buf.Bytes()[12:], want) {
		t.Errorf("body % x, want % x as documented", buf.Bytes()[12:], want)
	}
	sets := map[uint64][]uint64{
		0: nil, 7: {1, 127, 128, 129, 1 << 20}, 8: {1<<63 + 1, math.MaxUint64 - 1}, 1 << 60: {0, math.MaxUint64 - 1},
	}
	for i := range uint64(20000) {
		sets[100+i*i] = []uint64{i, i + 1 + i%200, i + 100000}
	}
	order := make([]uint64, 0, len(sets))
	for s := range sets {
		order = append(order, s)
	}
	slices.Sort(order)
	buf.Reset()
	w = cover.NewBlockWriter(&buf)
	for _, s := range order {
		if err := w.Put(s, sets[s]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	data := buf.Bytes()
	r := cover.NewBlockReader(bytes.NewReader(data), 0)
	var got []uint64
	var err error
	for err == nil {
		err = r.Next(func(set uint64, elements []uint64) error {
			if !slices.Equal(elements, sets[set]) {
				t.Errorf("set %d = %v, want %v", set, elements, sets[set])
			}
			got = append(got, set)
			return nil
		})
	}
	if err != io.EOF || !slices.Equal(got, order) {
		t.Errorf("%v after %d sets of %d", err, len(got), len(order))
	}
}

func FuzzBlocks(f *testing.F) {
	var buf bytes.Buffer
	w := cover.NewBlockWriter(&buf)
	w.Put(3, []uint64{5, 6, 9})
	w.Put(4, []uint64{0, 1 << 40})
	w.Flush()
	f.Add(buf.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		r := cover.NewBlockReader(bytes.NewReader(data), 0)
		last, any := uint64(0), false
		for {
			var out bytes.Buffer
			w := cover.NewBlockWriter(&out)
			first := true
			err := r.Next(func(set uint64, elements []uint64) error {
				if !first && any && set <= last {
					t.Fatalf("set %d after %d", set, last)
				}
				last, any, first = set, true, false
				for i := 1; i < len(elements); i++ {
					if elements[i] <= elements[i-1] {
						t.Fatalf("element %d after %d", elements[i], elements[i-1])
					}
				}
				return w.Put(set, elements)
			})
			if err != nil {
				return
			}
		}
	})
}
