package explore

import (
	"math"
	"math/rand/v2"
	"testing"

	"forage/graph"
)

func TestCosts(t *testing.T) {
	var c costs
	for _, n := range []int{0, 10, 20, 50} { // a profile and pages of 10
		c.observe(n, 1+n/10)
	}
	for _, q := range []struct{ degree, most, want float64 }{{100, 0, 11}, {0, 0, 1}, {-1, 0, 3}, {100, 4, 4}} {
		c.most = q.most
		if got := math.Exp(c.log(q.degree)); math.Abs(got-q.want) > 1e-9 {
			t.Errorf("degree %v, at most %v: %v requests, want %v", q.degree, q.most, got, q.want)
		}
	}
}

// TestLearnedMindsTheCost: accounts declare their degrees, and lists come in pages of 5. A hub
// lists 100, most of whom all hubs know: a few new ones for 20 requests. The others list 5, all
// new, for one. Who counts requests leaves the hubs alone.
func TestLearnedMindsTheCost(t *testing.T) {
	const hubDegree, shared, small, page = 100, 80, 5, 5
	observed := func(mind bool) int {
		p := newLearned(Config{Rand: rand.New(rand.NewPCG(1, 1)), Directed: true})
		next := graph.Node(1)
		hub := map[graph.Node]bool{}
		var common []graph.Node
		make := func(n int) (out []graph.Node) {
			for range n {
				hub[next] = next%4 == 0
				out = append(out, next)
				next++
			}
			return out
		}
		p.Observe(graph.None, []graph.Node{0})
		for requests := 0; requests < 300; {
			v, ok := p.Next()
			if !ok {
				t.Fatal("nothing left")
			}
			out := make(small)
			if hub[v] {
				if common == nil {
					common = make(shared)
				}
				out = append(append(out, make(hubDegree-shared-small)...), common...)
			}
			p.Observe(v, out)
			for _, u := range out {
				d := small
				if hub[u] {
					d = hubDegree
				}
				p.ObserveDegree(u, d)
			}
			cost := (len(out) + page - 1) / page
			if mind {
				p.ObserveCost(v, len(out), cost)
			}
			requests += cost
		}
		return int(next)
	}
	with, without := observed(true), observed(false)
	if t.Logf("with %d, without %d", with, without); with < 2*without {
		t.Errorf("300 requests show %d nodes when they count, %d when not; want at least twice as many", with, without)
	}
}
