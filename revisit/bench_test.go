package revisit

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"forage/graph"
)

// bigSite brings a policy through cycles over a site of n pages, k fetches a cycle, of which
// a few hundred hubs show what is new.
func bigSite(p Policy, n, cycles, k int) (next graph.Node) {
	r := rand.New(rand.NewPCG(1, 9))
	for v := range graph.Node(n) {
		p.Learn(v, Page{Home: v == 0, Template: int32(v % 1000), Depth: int(v % 4), Links: int(v % 100)})
	}
	next = graph.Node(n)
	for t := range cycles {
		p.Begin(Time(t), k)
		var fresh, visited []graph.Node
		links := map[graph.Node][]graph.Node{}
		for range 200 {
			fresh = append(fresh, next)
			next++
		}
		for i := range k {
			v, ok := p.Next()
			if !ok {
				break
			}
			visit := Visit{Page: v, Cost: 1, Changed: i < 300}
			if i < 300 {
				for range 5 {
					visit.Led = append(visit.Led, fresh[r.IntN(len(fresh))])
				}
				links[v] = visit.Led
				visited = append(visited, v)
			}
			if i == 0 {
				visit.Found = fresh
				for _, y := range fresh {
					p.Learn(y, Page{Template: int32(y % 1000), Links: 20, Born: t + 1})
				}
			}
			p.Observe(visit)
		}
		p.End(Cycle{New: len(fresh), H: NewH(fresh, nil, visited, func(v graph.Node) []graph.Node { return links[v] })})
	}
	return next
}

// BenchmarkPlan plans a cycle of 10,000 fetches on a site of a million pages with a hundred
// cycles of history, the outcome of each fetch taken in.
func BenchmarkPlan(b *testing.B) {
	const n, cycles, k = 1_000_000, 100, 10_000
	for _, name := range []string{"best", "index", "od-win-audit"} {
		b.Run(fmt.Sprintf("policy=%s/pages=%d/cycles=%d/k=%d", name, n, cycles, k), func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			p, err := New(name, Config{})
			if err != nil {
				b.Fatal(err)
			}
			bigSite(p, n, cycles, k)
			runtime.GC()
			runtime.ReadMemStats(&after)
			for t := 0; b.Loop(); t++ {
				p.Begin(Time(cycles+t), k)
				for range k {
					v, ok := p.Next()
					if !ok {
						break
					}
					p.Observe(Visit{Page: v, Cost: 1})
				}
				p.End(Cycle{H: &H{}})
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/cycle")
		})
	}
}

// BenchmarkCalendar takes a page event of index: an outcome and a new place in the calendar.
func BenchmarkCalendar(b *testing.B) {
	const n = 1_000_000
	p := NewIndex()
	for v := range graph.Node(n) {
		p.Learn(v, Page{Template: int32(v % 1000), Links: int(v % 100)})
	}
	p.Begin(0, n)
	events := 0
	for b.Loop() {
		v, ok := p.Next()
		if !ok || events%10_000 == 9_999 {
			p.End(Cycle{H: &H{}})
			p.Begin(0, n)
		}
		if ok {
			p.Observe(Visit{Page: v, Cost: 1})
		}
		events++
	}
}
