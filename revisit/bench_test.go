package revisit

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
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
	if p, ok := p.(LinkObserver); ok { // a menu by template, and what lies beside
		var to []graph.Node
		for v := range n {
			to = to[:0]
			for i := range 40 {
				to = append(to, graph.Node((i*12+v%templates)%mostProbes*n/mostProbes))
			}
			to = append(to, graph.Node((v+1)%n), graph.Node((v+n-1)%n))
			slices.Sort(to)
			p.ObserveLinks(graph.Node(v), to)
		}
	}
	next = graph.Node(n)
	for t := range cycles {
		p.Begin(Time(1+t)*secondsADay, k)
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
				p.Begin(Time(1+cycles+t)*secondsADay, k)
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

// BenchmarkRestore brings a policy up to date at a site of 100,000 documents after 200 cycles of 500
// fetches, from its state and from all records, and writes the state.
func BenchmarkRestore(b *testing.B) {
	for _, policy := range []func() Policy{func() Policy { return &RoundRobin{} }, func() Policy { return NewIndex() }} {
		const n = 100_000
		s := NewSite(policy())
		docs := make([]Document, n)
		for i := range docs {
			docs[i] = Document{Key: Key(i), Path: fmt.Sprintf("/%d/%d/page-%d.html", 2000+i%20, i%12, i), NumLinks: i % 90, Home: i == 0, Seen: 1_600_000_000 + Time(i)/10}
		}
		s.Start(docs)
		records := [][]byte{s.Record()}
		next := Key(n)
		for c := range 200 {
			s.Begin(Time(1_700_000_000+c*86400), 500)
			for i := range 500 {
				v, ok := s.Next()
				if !ok {
					break
				}
				f := Answer{}
				if i%10 == 0 {
					f = Answer{Changed: true, Links: 5, Gained: []Key{next}, Found: []Document{{Key: next, Path: fmt.Sprintf("/%d/%d/new-%d.html", 2020+c/100, c%12, next), NumLinks: 30}}}
					next++
				}
				s.Observe(v, f)
			}
			s.End()
			records = append(records, s.Record())
		}
		state, _ := s.AppendState(nil, "")
		size := 0
		for _, r := range records[1:] {
			size += len(r)
		}
		name := fmt.Sprintf("%T/", s.policy)
		b.Run(name+"Replay", func(b *testing.B) {
			for b.Loop() {
				s := NewSite(policy())
				for _, r := range records {
					if err := s.Replay(r); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(len(records[0])), "start-bytes")
			b.ReportMetric(float64(size), "cycles-bytes")
		})
		b.Run(name+"Restore", func(b *testing.B) {
			for b.Loop() {
				if err := NewSite(policy()).Restore(state, ""); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(state)), "state-bytes")
		})
		b.Run(name+"Append", func(b *testing.B) {
			for b.Loop() {
				state, _ = s.AppendState(state[:0], "")
			}
		})
	}
}
