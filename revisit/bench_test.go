package revisit

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"forage/graph"
)

// bigSite brings a policy through cycles over a site of n pages of some templates, k fetches a
// cycle, of which a few hundred hubs show what is new.
func bigSite(p Policy, n, templates, cycles, k int) (next graph.Node) {
	r := rand.New(rand.NewPCG(1, 9))
	for v := range graph.Node(n) {
		p.Learn(v, Profile{Home: v == 0, Template: int32(int(v) % templates), Depth: int(v % 4), Links: int(v % 100)})
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
			refetch := Refetch{Page: v, Cost: 1, Changed: i < 300}
			if i < 300 {
				for range 5 {
					refetch.Led = append(refetch.Led, fresh[r.IntN(len(fresh))])
				}
				links[v] = refetch.Led
				visited = append(visited, v)
			}
			if i == 0 {
				refetch.Found = fresh
				for _, y := range fresh {
					p.Learn(y, Profile{Template: int32(int(y) % templates), Links: 20, Born: t + 1})
				}
			}
			p.Observe(refetch)
		}
		p.End(Cycle{New: len(fresh), H: NewCoverGraph(fresh, nil, visited, func(v graph.Node) []graph.Node { return links[v] })})
	}
	return next
}

// BenchmarkPlan plans a cycle of 10,000 fetches on a site of a million pages with a hundred
// cycles of history, the outcome of each fetch taken in.
func BenchmarkPlan(b *testing.B) {
	const n, cycles, k = 1_000_000, 100, 10_000
	for _, c := range []struct {
		name      string
		templates int
	}{{"best", 1000}, {"best", 1}, {"index", 1000}, {"history", 1000}, {"od-win-audit", 1000}} {
		b.Run(fmt.Sprintf("policy=%s/pages=%d/templates=%d/cycles=%d/k=%d", c.name, n, c.templates, cycles, k), func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			p, err := New(c.name, Config{})
			if err != nil {
				b.Fatal(err)
			}
			bigSite(p, n, c.templates, cycles, k)
			runtime.GC()
			runtime.ReadMemStats(&after)
			for t := 0; b.Loop(); t++ {
				p.Begin(Time(cycles+t), k)
				for range k {
					v, ok := p.Next()
					if !ok {
						break
					}
					p.Observe(Refetch{Page: v, Cost: 1})
				}
				p.End(Cycle{H: &CoverGraph{}})
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/cycle")
		})
	}
}

// BenchmarkCalendar brings index through cycles over a million pages, 10,000 fetches each, of
// which every tenth leads to a page. An event is a fetch taken in and the page's new place in
// the calendar; what Begin and End cost is in it.
func BenchmarkCalendar(b *testing.B) {
	const n, k = 1_000_000, 10_000
	for _, cycles := range []int{1, 100} { // before
		b.Run(fmt.Sprintf("pages=%d/k=%d/cycles=%d", n, k, cycles), func(b *testing.B) {
			p := NewIndex()
			for v := range graph.Node(n) {
				p.Learn(v, Profile{Home: v == 0, Template: int32(v % 1000), Depth: int(v % 4), Links: int(v % 100)})
			}
			events := 0
			led := []graph.Node{0}
			cycle := func() {
				p.Begin(0, k)
				for range k {
					v, ok := p.Next()
					if !ok {
						break
					}
					refetch := Refetch{Page: v, Cost: 1}
					if events%10 == 0 {
						refetch.Led = led
					}
					p.Observe(refetch)
					events++
				}
				p.End(Cycle{H: &CoverGraph{}})
			}
			for range cycles {
				cycle()
			}
			runtime.GC()
			events = 0
			for b.Loop() {
				cycle()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
		})
	}
}
