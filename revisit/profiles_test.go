package revisit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"forage/graph"
)

// TestProfiles compares packed profiles with a slice of profiles, of numbers that fit and of those that do not.
func TestProfiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	number := func(all ...int) int { return all[r.IntN(len(all))] }
	random := func() Profile {
		return Profile{Kind: Kind(r.IntN(3)), Home: r.IntN(2) == 0, Main: r.IntN(2) == 0, Index: r.IntN(2) == 0, Template: r.Int32(), List: r.Int32(),
			Number: number(0, 7, math.MaxInt32, math.MaxInt32+1, 20_240_101_120_000), Depth: number(0, 3, math.MaxUint16, math.MaxUint16+1), Links: number(0, 9, 1<<40),
			Born: r.IntN(1000), Seen: Time(number(0, 1_700_000_000, 5_000_000_000)), Published: Time(number(0, -5, 1_700_000_000, 1<<40))}
	}
	var p Profiles
	var want []Profile
	for range 2000 {
		x := random()
		if v := r.IntN(len(want) + 1); v < len(want) && r.IntN(2) == 0 {
			want[v] = x
			p.set(graph.Node(v), &x)
		} else {
			want = append(want, x)
			p.add(&x)
		}
	}
	if !slices.Equal(p.All(), want) || p.Len() != len(want) {
		t.Error("the profiles are not those that were set")
	}
	for v, x := range want {
		if got := p.At(graph.Node(v)); got != x || p.kind(graph.Node(v)) != x.Kind || int(p.born(graph.Node(v))) != x.Born {
			t.Fatalf("%+v, want %+v", got, x)
		}
	}
}

// TestKeyTable compares the table of keys with a map.
func TestKeyTable(t *testing.T) {
	for _, most := range []int{10, 5000, math.MaxUint32} {
		r := rand.New(rand.NewPCG(3, uint64(most)))
		var table keyTable
		var keys []Key
		want := map[Key]graph.Node{}
		for range 3000 {
			k := Key(r.Uint64N(uint64(most)))
			v, ok := table.find(keys, k)
			if w, known := want[k]; ok != known || ok && v != w {
				t.Fatalf("key %d is node %d, %t, want %d, %t", k, v, ok, w, known)
			}
			if !ok {
				keys = append(keys, k)
				want[k] = graph.Node(len(keys) - 1)
				table.add(keys, graph.Node(len(keys)-1))
			}
		}
	}
}
