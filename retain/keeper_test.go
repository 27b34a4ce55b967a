package retain

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"forage/graph"
)

func keeper(t *testing.T, c KeeperConfig) *Keeper {
	t.Helper()
	k, err := NewKeeper(c)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// ended ends a round of a keeper, which asks for no links.
func ended(k Buffer) KeeperStats {
	s, err := k.EndRound(nil)
	if err != nil {
		panic(err)
	}
	return s
}

// With a counter for every page, the keeper is what a sort of exact counts says.
func TestKeeperAgainstNaive(t *testing.T) {
	for seed := range uint64(60) {
		r := random(seed)
		n, b := 5+r.IntN(40), 1+r.IntN(8)
		free := seed%2 == 0
		c := KeeperConfig{Pages: b, Counters: n + b, Rounds: 1000, Decay: 0.5, Seed: seed}
		k := keeper(t, c)
		k.stats.Annealed = !free
		votes, all := make([]float64, n), make([]float64, n) // that count, and with those of this round
		first := true
		given := map[vote]bool{}
		held := map[graph.Node]bool{}
		for step := range 600 {
			switch x := r.IntN(10); {
			case x < 7:
				s, v := uint64(r.IntN(6)), graph.Node(r.IntN(n))
				k.Vote(s, v)
				if !given[vote{s, v}] {
					given[vote{s, v}] = true
					if all[v]++; first {
						votes[v] = all[v]
					}
				}
			case x < 9:
				v := graph.Node(r.IntN(n))
				evicted, ok := k.Fetched(v)
				switch {
				case held[v]:
					if ok {
						t.Fatalf("seed %d: Fetched(%d), kept already, gives up %d", seed, v, evicted)
					}
				case len(held) < b:
					held[v] = true
				default:
					weakest := graph.None
					for p := range held {
						if weakest == graph.None || votes[p] < votes[weakest] || votes[p] == votes[weakest] && k.priority(p) > k.priority(weakest) {
							weakest = p
						}
					}
					wins := votes[v] >= votes[weakest]+1
					if free && !k.stats.Annealed {
						wins = votes[v] > votes[weakest] || votes[v] == votes[weakest] && k.priority(v) < k.priority(weakest)
					}
					want := v
					if wins {
						want = weakest
						delete(held, weakest)
						held[v] = true
					}
					if !ok || evicted != want {
						t.Fatalf("seed %d, step %d: Fetched(%d) gives up %d, %v; want %d", seed, step, v, evicted, ok, want)
					}
				}
			default:
				ended(k)
				clear(given)
				for v := range votes {
					all[v] *= 0.5
					votes[v] = all[v]
				}
				first = false
			}
			for v := range graph.Node(n) {
				if k.Votes(v) != votes[v] || k.Kept(v) != held[v] {
					t.Fatalf("seed %d: page %d has %v votes, kept %v; want %v, %v", seed, v, k.Votes(v), k.Kept(v), votes[v], held[v])
				}
			}
		}
	}
}

// [MAE05]: no page has more votes than counted, and none counted less than it may miss.
func TestKeeperCountsAreBounds(t *testing.T) {
	r := random(8)
	k := keeper(t, KeeperConfig{Pages: 10, Counters: 40})
	truth := map[graph.Node]float64{}
	for i := range 20000 {
		v := graph.Node(400 * math.Pow(r.Float64(), 3))
		k.Vote(uint64(i), v)
		truth[v]++
	}
	least := k.counters.Items[0].votes
	for v, votes := range truth {
		if k.Votes(v) > votes {
			t.Errorf("page %d: %v votes for certain, has %v", v, k.Votes(v), votes)
		}
		if i, ok := k.at[v]; ok && k.counters.Items[i].votes < votes || !ok && votes > least {
			t.Errorf("page %d with %v votes: counted %v, or not although the least has %v", v, votes, ok, least)
		}
	}
	if k.counters.Len() != 40 || least < 10 {
		t.Errorf("%d counters, the least %v: the test overflows nothing", k.counters.Len(), least)
	}
}

func TestKeeperAnneals(t *testing.T) {
	k := keeper(t, KeeperConfig{Pages: 1, Rounds: 4, Decay: 1})
	k.Fetched(1)
	k.Vote(1, 2)
	if v, ok := k.Fetched(2); !ok || v != 1 {
		t.Errorf("a free challenger with one vote more: gives up %d, %v; want 1", v, ok)
	}
	if ended(k).Annealed {
		t.Error("annealed after one round")
	}
	if !ended(k).Annealed {
		t.Error("not annealed although the state repeats")
	}
	k.Vote(1, 3)
	ended(k)
	if v, ok := k.Fetched(3); !ok || v != 3 {
		t.Errorf("a challenger without a lead: gives up %d, %v; want 3", v, ok)
	}
	k.Vote(2, 3)
	if v, ok := k.Fetched(3); !ok || v != 3 {
		t.Errorf("a challenger whose lead is of this round: gives up %d, %v; want 3", v, ok)
	}
	ended(k)
	if v, ok := k.Fetched(3); !ok || v != 2 {
		t.Errorf("a challenger with a lead of 1: gives up %d, %v; want 2", v, ok)
	}
	k.Forget(3)
	if s := k.Stats(); s.Kept != 0 || s.Evicted != 4 || s.Swapped != 0 || s.Rounds != 4 {
		t.Errorf("%+v; want none kept, 4 evicted, none swapped in round 4 of 4", s)
	}
	if s := ended(k); s.Swapped != 1 {
		t.Errorf("%+v; want 1 swapped in round 5", s)
	}
	// States that never repeat: free rounds end by their number.
	k = keeper(t, KeeperConfig{Pages: 1, Rounds: 3, Decay: 1})
	k.Fetched(1)
	for round := 1; round <= 3; round++ {
		if v, ok := k.Fetched(graph.Node(round)); round > 1 && (!ok || v != graph.Node(round-1)) {
			t.Fatalf("round %d: gives up %d, %v", round, v, ok)
		}
		for s := range 10 * round {
			k.Vote(uint64(s), graph.Node(round+1))
		}
		if s := ended(k); s.Annealed != (round == 3) {
			t.Errorf("round %d: annealed %v", round, s.Annealed)
		}
	}
}

func TestKeeperOneVoteASource(t *testing.T) {
	k := keeper(t, KeeperConfig{Pages: 2})
	for range 1000 {
		k.Vote(7, 1)
	}
	k.Vote(7, 2)
	k.Vote(8, 2)
	if k.Votes(1) != 1 || k.Votes(2) != 2 {
		t.Errorf("%v and %v votes, want 1 and 2", k.Votes(1), k.Votes(2))
	}
}

// A keeper on a still graph finds the same pages as the dynamics that counts everything.
func TestKeeperFindsTheTop(t *testing.T) {
	const n, b = 3000, 300
	g := randomGraph(random(2), n, 30000, 2)
	in := make([]int, n)
	for _, v := range g.Succ {
		in[v]++
	}
	k := keeper(t, KeeperConfig{Pages: b})
	for round := range 12 {
		for u := range graph.Node(n) {
			for _, v := range g.Successors(u) {
				k.Vote(uint64(u), v)
			}
			k.Fetched(u)
		}
		if s := ended(k); round+1 < CoreRounds && s.Core != 0 {
			t.Errorf("%d pages are the core after %d rounds", s.Core, round+1)
		}
	}
	if got := Overlap(k.Pages(nil), graph.Top(in, b, nil)); got < b*9/10 {
		t.Errorf("%d of %d kept are among the true top; want 90%%", got, b)
	}
	if s := k.Stats(); s.Kept != b || s.Core < b*8/10 {
		t.Errorf("%+v; want %d kept, most of them core", s, b)
	}
}

func TestKeeperRestores(t *testing.T) {
	r := random(3)
	k := keeper(t, KeeperConfig{Pages: 20, Counters: 50})
	play := func(k Buffer, seed uint64) (evicted []graph.Node) {
		r := random(seed)
		for range 2000 {
			k.Vote(uint64(r.IntN(30)), graph.Node(r.IntN(200)))
			if v, ok := k.Fetched(graph.Node(r.IntN(200))); ok {
				evicted = append(evicted, v)
			}
		}
		return evicted
	}
	play(k, r.Uint64())
	ended(k)
	b, err := k.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := Restore(b)
	if err != nil {
		t.Fatal(err)
	}
	if x, y := play(k, 1), play(other, 1); !slices.Equal(x, y) || k.Stats() != other.Stats() {
		t.Errorf("a restored keeper decides otherwise: %d and %d evictions, %+v and %+v", len(x), len(y), k.Stats(), other.Stats())
	}
	// A state in the middle of a round tells which votes count already.
	if b, err = k.AppendBinary(b[:0]); err != nil {
		t.Fatal(err)
	}
	if other, err = Restore(b); err != nil {
		t.Fatal(err)
	}
	differ := 0
	for v := range graph.Node(200) {
		if k.Votes(v) != other.(*Keeper).Votes(v) {
			t.Errorf("page %d has %v votes, restored %v", v, k.Votes(v), other.(*Keeper).Votes(v))
		}
		if i, ok := k.at[v]; ok && k.Votes(v) != k.counters.Items[i].votes-k.counters.Items[i].over {
			differ++
		}
	}
	if differ == 0 {
		t.Error("no vote of this round waits for its end: the test shows nothing")
	}
	// What the release before this one wrote has no such votes.
	counters := 1 + 8*11 + 8 + 8*len(k.states) // where their number stands
	old := append([]byte{unsettledVersion}, b[1:counters+8]...)
	for i := range k.counters.Len() {
		at := counters + 8 + 32*i
		old = append(old, b[at:at+24]...)
	}
	old = append(old, b[counters+8+32*k.counters.Len():]...)
	if other, err = Restore(old); err != nil {
		t.Fatal(err)
	}
	for v := range graph.Node(200) {
		if i, ok := k.at[v]; ok && other.(*Keeper).Votes(v) != k.counters.Items[i].votes-k.counters.Items[i].over {
			t.Errorf("page %d has %v votes, restored from an old state", v, other.(*Keeper).Votes(v))
		}
	}
	for cut := range len(b) {
		if _, err := Restore(b[:cut]); err == nil {
			t.Fatalf("the first %d of %d bytes are taken for a state", cut, len(b))
		}
	}
}

func FuzzRestore(f *testing.F) {
	k, _ := NewKeeper(KeeperConfig{Pages: 2, Counters: 4})
	for i := range 9 {
		k.Vote(uint64(i), graph.Node(i%5))
		k.Fetched(graph.Node(i))
	}
	ended(k)
	b, _ := k.AppendBinary(nil)
	f.Add(b)
	f.Add([]byte{keeperVersion})
	for _, rule := range []KeepRule{KeepInDegree, KeepPageRank} {
		s, _ := NewStepper(rule, 2)
		for i := range graph.Node(9) {
			s.Fetched(i)
		}
		s.EndRound(func(v graph.Node, to []graph.Node) ([]graph.Node, error) { return append(to, 5, 6), nil })
		b, _ := s.AppendBinary(nil)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := Restore(b)
		if err != nil {
			return
		}
		again, err := k.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		k2, err := Restore(again)
		if err != nil {
			t.Fatalf("what was restored is not a state: %v", err)
		}
		if twice, _ := k2.AppendBinary(nil); !bytes.Equal(again, twice) && (k.Rule() != KeepVotes || k.Stats().Kept < 2) {
			t.Fatal("two writings differ")
		}
		k.Vote(1, 2)
		k.Fetched(3)
		k.EndRound(func(v graph.Node, to []graph.Node) ([]graph.Node, error) { return append(to, v+1), nil })
	})
}

func TestKeeperRefuses(t *testing.T) {
	for _, c := range []KeeperConfig{{}, {Pages: -1}, {Pages: 10, Counters: 5}, {Pages: 1, Lead: -1}, {Pages: 1, Decay: 2}, {Pages: 1, Rounds: -1}, {Pages: 1, Decay: math.NaN()}} {
		if _, err := NewKeeper(c); err == nil {
			t.Errorf("NewKeeper(%+v): no error", c)
		}
	}
}

func BenchmarkKeeper(b *testing.B) {
	r := random(1)
	k, err := NewKeeper(KeeperConfig{Pages: 1e5})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		k.Vote(r.Uint64(), graph.Node(5e6*math.Pow(r.Float64(), 3)))
	}
}
