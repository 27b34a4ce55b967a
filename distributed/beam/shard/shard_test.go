package shard_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forage/cover"
	"forage/cover/covertest"
	"forage/distributed/beam/shard"
	"forage/graph"
)

// read returns all sets of a family.
func read(t *testing.T, f cover.Family) [][]uint64 {
	t.Helper()
	var all [][]uint64
	err := f.Scan(func(set uint64, elements []uint64) error {
		if set != uint64(len(all)) {
			t.Errorf("set %d came as number %d", set, len(all))
		}
		all = append(all, slices.Clone(elements))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRoundTrip: whatever the shards and classes, the family that comes back is the one that was
// written, and the manifest says of it what is so.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 30 {
		l := covertest.Random(r)
		if i%10 == 0 {
			l = covertest.Large(r, 3000, 2000)
		}
		n, p := 1+r.IntN(9), []float64{1.1, 1.2, 2, 50}[r.IntN(4)]
		dir := filepath.Join(t.TempDir(), "shards")
		written, err := shard.Write(t.Context(), dir, l, n, p)
		if err != nil {
			t.Fatal(err)
		}
		m, err := shard.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if m.Sets != l.NumSets() || m.Elements != l.NumElements() || m.Size != l.Size() || m.Size != written.Size || len(m.Shards) > n {
			t.Fatalf("%d shards: %d sets, %d elements, %d in all; want at most %d: %d, %d, %d", len(m.Shards), m.Sets, m.Elements, m.Size, n, l.NumSets(), l.NumElements(), l.Size())
		}
		got, want := read(t, shard.Family(t.Context(), dir, m)), read(t, l)
		if !slices.EqualFunc(got, want, slices.Equal[[]uint64]) {
			t.Fatalf("%d shards, p = %v: another family came back", n, p)
		}
		next, own := uint64(0), uint64(0)
		for i, s := range m.Shards {
			first, end := m.Own(i)
			if s.First != next || first != own {
				t.Errorf("shard %d begins at set %d and element %d, want %d and %d", i, s.First, first, next, own)
			}
			next, own = s.End, end
			for _, f := range s.Files {
				if f.Largest > s.Largest || f.Largest == 0 {
					t.Errorf("%s: largest %d of %d", f.Name, f.Largest, s.Largest)
				}
			}
		}
		if next != m.Sets || own != m.Elements {
			t.Errorf("the shards end at set %d and element %d of %d and %d", next, own, m.Sets, m.Elements)
		}
	}
}

// TestBalance: no shard is larger than its share and a set.
func TestBalance(t *testing.T) {
	l := covertest.Large(rand.New(rand.NewPCG(3, 4)), 20000, 5000)
	m, err := shard.Write(t.Context(), filepath.Join(t.TempDir(), "s"), l, 7, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Shards) != 7 {
		t.Fatalf("%d shards", len(m.Shards))
	}
	for _, s := range m.Shards {
		if s.Elements > m.Size/7+2*m.Largest {
			t.Errorf("%s has %d of %d elements", s.Name, s.Elements, m.Size)
		}
	}
}

// TestDamage: each file cut short anywhere, or with any byte changed, is found out, and named.
func TestDamage(t *testing.T) {
	l := cover.NewLists([][]graph.Node{{1, 2, 3, 9}, {0}, {4, 5}, {}, {3, 4, 5, 6, 7}})
	dir := filepath.Join(t.TempDir(), "shards")
	if _, err := shard.Write(t.Context(), dir, l, 2, 2); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	look := func() error {
		m, err := shard.Open(t.Context(), dir)
		if err != nil {
			return err
		}
		return shard.Family(t.Context(), dir, m).Scan(func(uint64, []uint64) error { return nil })
	}
	for _, file := range append(files, filepath.Join(dir, shard.ManifestName)) {
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		try := func(what string, b []byte) {
			t.Helper()
			if err := os.WriteFile(file, b, 0o644); err != nil {
				t.Fatal(err)
			}
			var damaged *shard.Error
			if err := look(); !errors.As(err, &damaged) || !strings.HasPrefix(damaged.File, file) && !strings.HasPrefix(file, damaged.File) {
				t.Errorf("%s %s: %v", file, what, err)
			}
		}
		for n := range whole[:len(whole)-1] {
			try("cut short", whole[:n])
			b := slices.Clone(whole)
			b[n] ^= 0x11
			try("changed", b)
		}
		try("longer", append(slices.Clone(whole), 'x'))
		if err := os.WriteFile(file, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := look(); err != nil {
		t.Error(err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if err := look(); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Error(err)
	}
}

// TestSwapped: a whole file that belongs elsewhere is not taken.
func TestSwapped(t *testing.T) {
	dir := t.TempDir()
	for i, sets := range [][][]graph.Node{{{1, 2}, {3, 4}}, {{1, 3}, {2, 4}}} {
		if _, err := shard.Write(t.Context(), filepath.Join(dir, string(rune('a'+i))), cover.NewLists(sets), 1, 2); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join("shard-00000", "size-2.sets")
	if err := os.Rename(filepath.Join(dir, "b", name), filepath.Join(dir, "a", name)); err != nil {
		t.Fatal(err)
	}
	m, err := shard.Open(t.Context(), filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	err = shard.Family(t.Context(), filepath.Join(dir, "a"), m).Scan(func(uint64, []uint64) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "not the file that was written") {
		t.Error(err)
	}
}

// TestWholeOrNothing: a folder that is there is not touched, and a family that fails leaves none.
func TestWholeOrNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	l := cover.NewLists([][]graph.Node{{1, 2}})
	if _, err := shard.Write(t.Context(), dir, l, 1, 2); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	l.N = 2 // a lie: element 2 is beyond it
	out := filepath.Join(dir, "out")
	if _, err := shard.Write(t.Context(), out, l, 1, 2); err == nil || !strings.Contains(err.Error(), "element 2 of a family of 2") {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Error(left)
	}
}
