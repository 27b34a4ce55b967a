package level_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forage/cover"
	"forage/cover/covertest"
	"forage/distributed/beam/level"
	"forage/distributed/beam/shard"
	"forage/graph"
)

// A folder is a family in shards, and what covers of it leave.
type folder struct {
	shards string
	m      *shard.Manifest
}

func write(t *testing.T, f cover.Family, n int, p float64) *folder {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shards")
	if _, err := shard.Write(t.Context(), dir, f, n, p); err != nil {
		t.Fatal(err)
	}
	m, err := shard.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return &folder{dir, m}
}

// step runs one level as a runner might that tries each bundle as often as tries says, and returns
// the state after it; nil: all is covered.
func (f *folder) step(t *testing.T, dir string, s *level.State, tries int) *level.State {
	t.Helper()
	plan, ok := s.Plan(f.m.Largest)
	if !ok {
		return nil
	}
	bits, err := s.ReadBits(t.Context(), dir, f.m.Elements)
	if err != nil {
		t.Fatal(err)
	}
	in := &level.Input{Manifest: f.m, State: s, Bits: bits}
	attempt := 0
	place := func() *level.Place {
		attempt++
		return &level.Place{Shards: f.shards, Dir: dir, Level: s.Levels + 1, Attempt: fmt.Sprintf("run-%d", attempt)}
	}
	var records []string
	for range tries {
		for _, i := range plan.Shards {
			record, err := level.Map(t.Context(), place(), in, i)
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, record)
		}
	}
	for range tries {
		if _, err := level.Commit(t.Context(), place(), in, records); err != nil {
			t.Fatal(err)
		}
	}
	c, err := level.FindCommitted(t.Context(), dir, s.Levels+1, "run")
	if err != nil || c == nil || c.Fault != "" {
		t.Fatal(c, err)
	}
	s = s.After(c)
	if err := s.Save(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return s
}

// cover runs all levels and returns the last state, and what it says as a result.
func (f *folder) cover(t *testing.T, p float64, form level.Form, tries int) (*level.State, *cover.Result) {
	t.Helper()
	dir := t.TempDir()
	s := level.Begin(f.m, p, form)
	for next := s; next != nil; next = f.step(t, dir, s, tries) {
		s = next
	}
	r, err := s.Result(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if uint64(len(r.Sets)) != s.Taken {
		t.Errorf("%d sets in the files of picks, %d taken", len(r.Sets), s.Taken)
	}
	return s, r
}

// TestReducerIsSPGreedy: the same sets in the same order with the same gains as the engine for one
// machine, whatever the shards, the classes of size, and how often bundles run.
func TestReducerIsSPGreedy(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 40 {
		l := covertest.Random(r)
		if i%10 == 0 {
			l = covertest.Large(r, 2000, 1500)
		}
		p := []float64{1.05, 1.2, 1.5, 2, 3, 10}[r.IntN(6)]
		f := write(t, l, 1+r.IntN(6), []float64{1.2, p, 2}[r.IntN(3)])
		s, got := f.cover(t, p, level.Reducer, 1+r.IntN(2))
		want, err := cover.SPGreedy(t.Context(), l, cover.Options{P: p})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Sets, want.Sets) || !slices.Equal(got.Gains, want.Gains) || s.Covered != want.Covered {
			t.Fatalf("p = %v, %d shards: %d sets %v, want %d %v", p, len(f.m.Shards), len(got.Sets), got.Sets, len(want.Sets), want.Sets)
		}
		if s.Levels > len(cover.Thresholds(p, max(1, f.m.Largest))) {
			t.Errorf("%d levels", s.Levels)
		}
	}
}

// TestLocal: the cover holds, its size keeps to the guarantee, and mappers take what is theirs.
func TestLocal(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	local := uint64(0)
	for i := range 40 {
		l := covertest.Random(r)
		if i%10 == 0 {
			l = covertest.Large(r, 2000, 1500)
		}
		p := []float64{1.2, 2, 3}[r.IntN(3)]
		f := write(t, l, 1+r.IntN(6), p)
		s, got := f.cover(t, p, level.Local, 1+r.IntN(2))
		if err := cover.Verify(l, got, cover.Options{}); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			local += s.Counts.Local
			one, err := cover.SPGreedy(t.Context(), l, cover.Options{P: p})
			if err != nil {
				t.Fatal(err)
			}
			if a, b := len(got.Sets), len(one.Sets); a > b+b/10 {
				t.Errorf("%d sets, and one reducer takes %d", a, b)
			}
		}
	}
	if local == 0 {
		t.Error("no mapper ever took a set")
	}
}

// TestLocalPays: a mapper takes a set that its own part pays for, as 0 and 5 here, and leaves one
// that does not, as 4, to the reducer, which finds that it has lost 5, 6 and 7.
func TestLocalPays(t *testing.T) {
	l := cover.NewLists([][]graph.Node{{0, 1, 2, 3}, {}, {}, {}, {4, 5, 6, 7}, {5, 6, 7, 8}, {}, {}, {}, {9}})
	f := write(t, l, 2, 2)
	if first, end := f.m.Own(0); first != 0 || end != 5 {
		t.Fatalf("shard 0 has elements %d to %d", first, end)
	}
	dir := t.TempDir()
	s := f.step(t, dir, level.Begin(f.m, 2, level.Local), 1) // gains from 4
	var picks []uint64
	if err := s.EachPick(t.Context(), dir, func(set, _ uint64) error { picks = append(picks, set); return nil }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(picks, []uint64{0, 5}) || s.Counts.Local != 2 {
		t.Errorf("picks %v, %d of mappers; want 0 and 5, both of mappers", picks, s.Counts.Local)
	}
	_, r := f.cover(t, 2, level.Local, 1)
	if !slices.Equal(r.Sets, []uint64{0, 5, 4, 9}) {
		t.Errorf("the whole cover is %v", r.Sets)
	}
}

// TestLocalRedundant: a set that one mapper took and others have covered meanwhile is left out.
func TestLocalRedundant(t *testing.T) {
	l := cover.NewLists([][]graph.Node{{}, {}, {}, {0, 1, 2, 3, 4, 5, 6, 7}, {}, {}, {}, {4, 5, 6, 7}})
	f := write(t, l, 2, 3)
	if first, end := f.m.Own(1); first != 4 || end != 8 {
		t.Fatalf("shard 1 has elements %d to %d", first, end)
	}
	_, r := f.cover(t, 3, level.Local, 1) // gains from 3: each of the two is its mapper's
	if err := cover.Verify(l, r, cover.Options{}); err != nil || len(r.Sets) != 1 {
		t.Error(r.Sets, err)
	}
}

// TestExpected: a mapper expects 2 to be taken and 3 to fall. But 0, of another shard, takes half of 2, which
// falls, and 3 is taken.
func TestExpected(t *testing.T) {
	l := cover.NewLists([][]graph.Node{{0, 1, 2, 3}, {8, 9, 10, 11}, {2, 3, 4, 5}, {4, 5, 6, 7}})
	f := write(t, l, 2, 2)
	if len(f.m.Shards) != 2 || f.m.Shards[1].First != 2 {
		t.Fatal(f.m.Shards)
	}
	s, r := f.cover(t, 2, level.Reducer, 1)
	if !slices.Equal(r.Sets, []uint64{0, 1, 3}) || !slices.Equal(r.Gains, []uint64{4, 4, 4}) {
		t.Errorf("the cover is %v with gains %v", r.Sets, r.Gains)
	}
	if want := uint64(4 + 4 + 4 + 4 + 2 + 2); s.Counts.Reduced != want { // 2 as expected, then all of shard 1
		t.Errorf("the reducer looked at %d elements, want %d", s.Counts.Reduced, want)
	}
}

// TestReads: a level reads its bucket, not the family. With classes of size that are those of the
// cover, what is read is what the engine out of core reads, but that from one shard the reducer reads no more than
// is taken, and from several some sets once more, which fell further than their mapper expected.
func TestReads(t *testing.T) {
	l := covertest.Large(rand.New(rand.NewPCG(9, 10)), 20000, 8000)
	one, _ := write(t, l, 1, 1.2).cover(t, 1.2, level.Reducer, 1)
	f := write(t, l, 5, 1.2)
	s, _ := f.cover(t, 1.2, level.Reducer, 1)
	want, err := cover.External(t.Context(), l, &covertest.Scratch{}, cover.Options{P: 1.2})
	if err != nil {
		t.Fatal(err)
	}
	if s.Counts.Reads > want.Reads+want.Reads/50 {
		t.Errorf("%d elements were looked at, out of core %d, of %d in the family", s.Counts.Reads, want.Reads, f.m.Size)
	}
	if one.Counts.Reduced != one.Covered || one.Counts.Reads > want.Reads {
		t.Errorf("of one shard the reducer looked at %d elements to cover %d; %d were looked at in all, out of core %d", one.Counts.Reduced, one.Covered, one.Counts.Reads, want.Reads)
	}
	if s.Counts.Reads > uint64(len(cover.Thresholds(1.2, f.m.Largest)))*f.m.Size/4 {
		t.Errorf("%d reads of %d elements: buckets save nothing", s.Counts.Reads, f.m.Size)
	}
}

// TestTornState: a state that was cut short does not count, the one before it does.
func TestTornState(t *testing.T) {
	l := covertest.Large(rand.New(rand.NewPCG(11, 12)), 500, 300)
	f := write(t, l, 3, 2)
	dir := t.TempDir()
	s := f.step(t, dir, level.Begin(f.m, 2, level.Reducer), 1)
	whole, err := os.ReadFile(level.StatePath(dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, len(whole) / 2, len(whole) - 2} {
		if err := os.WriteFile(level.StatePath(dir, 2), whole[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		latest, err := level.Latest(t.Context(), dir)
		if err != nil || latest == nil || latest.Levels != 1 || latest.Taken != s.Taken {
			t.Errorf("cut to %d bytes: %v, %v", n, latest, err)
		}
	}
	next := f.step(t, dir, s, 1)
	if latest, err := level.Latest(t.Context(), dir); err != nil || latest.Levels != 2 || latest.Taken != next.Taken {
		t.Error(latest, err)
	}
}

// TestClean: when a level is done, there is in the folder what the state names, and states, and nothing else.
func TestClean(t *testing.T) {
	l := covertest.Large(rand.New(rand.NewPCG(13, 14)), 2000, 900)
	f := write(t, l, 3, 2)
	dir := t.TempDir()
	s := level.Begin(f.m, 2, level.Local)
	for range 4 {
		s = f.step(t, dir, s, 2)
		text, err := os.ReadFile(level.StatePath(dir, s.Levels))
		if err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), "state-") && !bytes.Contains(text, []byte(`"`+e.Name()+`"`)) {
				t.Errorf("level %d: %s is left over", s.Levels, e.Name())
			}
		}
	}
}

// TestFault: damage that a mapper or the reducer finds becomes a record of the level that says so.
func TestFault(t *testing.T) {
	l := covertest.Large(rand.New(rand.NewPCG(15, 16)), 500, 300)
	for _, kind := range []string{"size-", "-left-"} {
		f := write(t, l, 2, 2)
		dir := t.TempDir()
		s := level.Begin(f.m, 2, level.Reducer)
		s = f.step(t, dir, s, 1)
		plan, _ := s.Plan(f.m.Largest)
		bits, err := s.ReadBits(t.Context(), dir, f.m.Elements)
		if err != nil {
			t.Fatal(err)
		}
		in := &level.Input{Manifest: f.m, State: s, Bits: bits}
		place := func(attempt string) *level.Place {
			return &level.Place{Shards: f.shards, Dir: dir, Level: s.Levels + 1, Attempt: attempt}
		}
		damage := func(pattern string) (damaged string) {
			names, err := filepath.Glob(pattern)
			if err != nil || len(names) == 0 {
				t.Fatal(pattern, names, err)
			}
			for _, name := range names {
				b, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				b[12] ^= 1 // in the body of the first block
				if err := os.WriteFile(name, b, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			return names[0]
		}
		if kind == "size-" {
			damage(filepath.Join(f.shards, "*", "size-*"))
		}
		var records []string
		for _, i := range plan.Shards {
			record, err := level.Map(t.Context(), place(fmt.Sprint("m", i)), in, i)
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, record)
		}
		if kind == "-left-" {
			damage(filepath.Join(dir, "*-left-*"))
		}
		if _, err := level.Commit(t.Context(), place("c"), in, records); err != nil {
			t.Fatal(err)
		}
		c, err := level.FindCommitted(t.Context(), dir, s.Levels+1, "c")
		if err != nil || c == nil || !strings.Contains(c.Fault, kind) || !strings.Contains(c.Fault, "corrupt") {
			t.Errorf("%s: %+v, %v", kind, c, err)
		}
	}
}
