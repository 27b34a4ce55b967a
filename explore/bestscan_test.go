package explore

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"forage/graph"
)

// scanning is best as it is defined: each query looks at all arms.
type scanning struct{ *best }

func (p scanning) Next() (graph.Node, bool) {
	choice, top := -1, math.Inf(-1)
	for i := range p.arms {
		a := &p.arms[i]
		for len(a.queue) > 0 && p.sample.seen[a.queue[0]] != open {
			a.queue = a.queue[1:]
		}
		if len(a.queue) == 0 {
			continue
		}
		if s := p.worth(a); s > top {
			choice, top = i, s
		}
	}
	if choice < 0 {
		return p.learned.Next()
	}
	a := &p.arms[choice]
	v := a.queue[0]
	a.queue = a.queue[1:]
	a.out++
	p.pulls++
	p.take(v)
	return v, true
}

// TestBestAgainstScan: the arms that are looked at are enough. Sites, places and answers are random, several
// queries are under way at once, some pages have no place, and some are queried that the policy did not name.
func TestBestAgainstScan(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 8))
			n, sites, places := 50+r.IntN(2000), 1+r.IntN(40), 1+r.IntN(200)
			fast, slow := newBest(Config{Rand: rand.New(rand.NewPCG(seed, 9))}), scanning{newBest(Config{Rand: rand.New(rand.NewPCG(seed, 9))})}
			links := make([][]Link, n)
			site := make([]uint32, n)
			for v := range site {
				site[v] = uint32(r.IntN(sites))
			}
			for v := range links {
				for range r.IntN(12) {
					to := graph.Node(r.IntN(n))
					l := Link{To: to, Site: site[to], Place: uint32(1 + r.IntN(places))}
					switch r.IntN(20) {
					case 0:
						l.Place = 0
					case 1:
						l.Place, l.Path = 0, fmt.Sprintf("html body div.c%d a", r.IntN(places))
					}
					links[v] = append(links[v], l)
				}
			}
			answered := make([]bool, n)
			answer := func(v graph.Node) {
				answered[v] = true
				fast.ObserveLinks(v, links[v])
				slow.ObserveLinks(v, links[v])
			}
			answer(0)
			var out []graph.Node
			for range n {
				if r.IntN(30) == 0 { // a page that was not named
					if v := graph.Node(r.IntN(n)); !answered[v] && int(v) < len(fast.sample.seen) && fast.sample.seen[v] == open {
						answer(v)
					}
				}
				v, ok := fast.Next()
				w, okSlow := slow.Next()
				if v != w || ok != okSlow {
					t.Fatalf("Next() = %d, %v; looking at all arms %d, %v", v, ok, w, okSlow)
				}
				if ok {
					out = append(out, v)
				} else if len(out) == 0 {
					break
				}
				for len(out) > 0 && (!ok || len(out) > 3 || r.IntN(2) == 0) {
					i := r.IntN(len(out))
					v, out[i] = out[i], out[len(out)-1]
					out = out[:len(out)-1]
					if !answered[v] {
						answer(v)
					}
				}
			}
		})
	}
}
