package retain

import (
	"errors"
	"slices"
	"testing"

	"forage/graph"
)

// of are the links of a page in g, without those to itself.
func of(g *graph.CSR) Links {
	return func(v graph.Node, to []graph.Node) ([]graph.Node, error) {
		for _, u := range g.Successors(v) {
			if u != v {
				to = append(to, u)
			}
		}
		return to, nil
	}
}

// In a crawl that fetches all pages each round, a Stepper keeps what Dynamics stores on the whole
// graph from the same start, step by step.
func TestStepperIsTheDynamics(t *testing.T) {
	for seed := range uint64(20) {
		for _, rule := range []KeepRule{KeepInDegree, KeepPageRank} {
			r := random(seed)
			n := 20 + r.IntN(200)
			b := 1 + r.IntN(n/2)
			g := randomGraph(r, n, 5*n, 2)
			s, err := NewStepper(rule, b)
			if err != nil {
				t.Fatal(err)
			}
			c := Config{Buffer: b, Ties: ID}
			if rule == KeepPageRank {
				c.Rule = PageRank
			}
			order := r.Perm(n)
			start := make([]graph.Node, b)
			for i := range start {
				start[i] = graph.Node(order[i])
			}
			d, err := New(g, c, start, nil)
			if err != nil {
				t.Fatal(err)
			}
			for v := range d.priority {
				d.priority[v] = priority(graph.Node(v))
			}
			for round := range 8 {
				moved := 0
				if round > 0 { // the first round is the start
					moved = len(d.Step())
				}
				evicted := 0
				for _, v := range order {
					if _, ok := s.Fetched(graph.Node(v)); ok {
						evicted++
					}
				}
				stats, err := s.EndRound(of(g))
				if err != nil {
					t.Fatal(err)
				}
				if got, want := s.Pages(nil), d.Buffer(nil); !slices.Equal(got, want) {
					t.Fatalf("seed %d, %s, round %d: kept %v, the dynamics store %v", seed, rule, round, got, want)
				}
				if stats.Swapped*2 != moved || evicted < n-b || stats.Kept != b {
					t.Errorf("seed %d, %s, round %d: %+v, %d evictions; want %d pages swapped, %d kept", seed, rule, round, stats, evicted, moved/2, b)
				}
				// What goes on in another process decides as this one.
				state, err := s.AppendBinary(nil)
				if err != nil {
					t.Fatal(err)
				}
				other, err := Restore(state)
				if err != nil {
					t.Fatal(err)
				}
				s = other.(*Stepper)
			}
		}
	}
}

// A few fetches make no step, and what is gone makes room.
func TestStepperWaitsForAsManyFetchesAsItKeeps(t *testing.T) {
	s, err := NewStepper(KeepInDegree, 3)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	links := func(v graph.Node, to []graph.Node) ([]graph.Node, error) { asked++; return append(to, 7, 8, 9), nil }
	for v := range graph.Node(3) {
		s.Fetched(v)
	}
	s.EndRound(links)
	if asked != 3 {
		t.Fatalf("the links of %d pages were asked for, want 3", asked)
	}
	for v := range graph.Node(2) {
		s.Fetched(v)
	}
	if s.EndRound(links); asked != 3 {
		t.Errorf("a round of 2 fetches asked for links")
	}
	s.Forget(1)
	if v, ok := s.Fetched(4); ok {
		t.Errorf("%d is given up where there is room", v)
	}
	for _, v := range []graph.Node{7, 8, 9} {
		if out, ok := s.Fetched(v); !ok || out == v || out > 4 {
			t.Errorf("Fetched(%d) gives up %d, %v; want one of those that no link leads to", v, out, ok)
		}
	}
	if got := s.Pages(nil); !slices.Equal(got, []graph.Node{7, 8, 9}) {
		t.Errorf("kept %v, want 7, 8, 9", got)
	}
	if v, ok := s.Fetched(1); !ok || v != 1 {
		t.Errorf("Fetched(1) gives up %d, %v; want 1", v, ok)
	}
}

// What cannot be read stops a step and changes nothing.
func TestStepperLinksFail(t *testing.T) {
	s, _ := NewStepper(KeepPageRank, 2)
	s.Fetched(1)
	s.Fetched(2)
	broken := errors.New("broken")
	stats, err := s.EndRound(func(graph.Node, []graph.Node) ([]graph.Node, error) { return nil, broken })
	if !errors.Is(err, broken) || stats.Rounds != 1 || s.wanted != nil {
		t.Errorf("EndRound = %+v, %v; want round 1 and the error", stats, err)
	}
}

func TestBuffersOfRules(t *testing.T) {
	for _, rule := range KeepRules() {
		b, err := NewBuffer(rule, 5)
		if err != nil {
			t.Fatal(err)
		}
		state, err := b.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Restore(state)
		if err != nil {
			t.Fatal(err)
		}
		if again.Rule() != rule || again.Limit() != 5 {
			t.Errorf("restored %s of %d, want %s of 5", again.Rule(), again.Limit(), rule)
		}
		for cut := range state {
			if _, err := Restore(state[:cut]); err == nil {
				t.Errorf("%s: the first %d of %d bytes are taken for a state", rule, cut, len(state))
			}
		}
		if _, err := NewBuffer(rule, 0); err == nil {
			t.Errorf("%s: a buffer of 0 pages", rule)
		}
	}
	if _, err := NewBuffer("best", 5); err == nil {
		t.Error("a rule that there is not")
	}
	if _, err := ParseKeepRule("best"); err == nil {
		t.Error("ParseKeepRule takes a rule that there is not")
	}
}
