package paper

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"forage/graph"
	"forage/revisit"
)

// TestRules follows one document through some fetches, with values worked out by hand from the
// code of Nutch and StormCrawler.
func TestRules(t *testing.T) {
	const minute, hour = 60, 3600
	type fetch struct {
		at            float64
		what          outcome
		interval, due float64
	}
	for _, test := range []struct {
		name    string
		rule    rule
		fetches []fetch
	}{
		{"nutch", nutch{}, []fetch{
			{1 * day, modified, 24 * day, 25 * day},
			{11 * day, unmodified, 33.6 * day, (11 - 3 + 33.6) * day},
			{101 * day, unmodified, 100 * day, (101 - 30 + 100) * day}, // no less than since the last change
			{102 * day, gone, 81 * day, (102 + 81) * day},              // 150 days are more than 90
			{103 * day, failed, 81 * day, 104 * day},
			{104 * day, modified, 64.8 * day, (104 + 64.8) * day},
			{105 * day, gone, 81 * day, (105 + 81) * day}, // 97 days are more than 90
		}},
		{"nutch, gone early", nutch{}, []fetch{{2 * day, gone, 45 * day, 47 * day}}},
		{"nutch, far future", nutch{}, []fetch{{1000 * day, unmodified, 365 * day, (1000 - 300 + 365) * day}}},
		{"storm", storm{}, []fetch{
			{1 * day, modified, 750 * minute, day + 750*minute},   // (24 h + 1 h) / 2
			{2 * day, modified, 405 * minute, 2*day + 405*minute}, // (750 + 60) / 2
			{3 * day, modified, 232 * minute, 3*day + 232*minute}, // 232.5 minutes
			{4 * day, unmodified, 348 * minute, 4*day + 348*minute},
			{5 * day, failed, day, 5*day + 2*hour},
			{6 * day, unmodified, 1.5 * day, 7.5 * day},
			{7 * day, gone, 1.5 * day, math.Inf(1)},
		}},
		{"storm, longest", storm{}, []fetch{
			{1 * day, unmodified, 1.5 * day, 2.5 * day}, {2 * day, unmodified, 2.25 * day, 4.25 * day}, {3 * day, unmodified, 3.375 * day, 6.375 * day},
			{4 * day, unmodified, 7290 * minute, 4*day + 7290*minute}, {5 * day, unmodified, 10935 * minute, 5*day + 10935*minute},
			{6 * day, unmodified, 16402 * minute, 6*day + 16402*minute}, {7 * day, unmodified, 14 * day, 21 * day},
		}},
	} {
		e := entry{interval: test.rule.initial(), modified: 0}
		for _, f := range test.fetches {
			test.rule.after(&e, f.at, f.what)
			if math.Abs(e.interval-f.interval) > 1e-3 || e.due != f.due && math.Abs(e.due-f.due) > 1e-3 {
				t.Errorf("%s, day %g: interval %g days, due on day %g, want %g, %g", test.name, f.at/day, e.interval/day, e.due/day, f.interval/day, f.due/day)
			}
		}
	}
}

// plain is a rule whose due times are easy to follow.
type plain struct{ told []string }

func (*plain) initial() float64 { return 10 }
func (p *plain) after(e *entry, now float64, what outcome) {
	p.told = append(p.told, fmt.Sprint(now, what))
	e.due = now + 10
	if what == modified {
		e.due = now + 1
	}
}

// TestFirstFetch: a document is due from its first fetch on; one of the first crawl of which it is
// not known when that was, from the first cycle on.
func TestFirstFetch(t *testing.T) {
	rule := &plain{}
	p := newTimetable(rule)
	for v := range graph.Node(3) {
		p.Learn(v, revisit.Profile{Seen: []revisit.Time{997, 996, 0}[v]})
	}
	p.Begin(1000, 1)
	if v, ok := p.Next(); v != 1 || !ok {
		t.Fatalf("Next() = %d, %v in the first cycle, want 1, which was fetched first", v, ok)
	}
	p.Observe(revisit.Refetch{Page: 1, Modified: true})
	p.Learn(3, revisit.Profile{Seen: 1002})
	p.Learn(0, revisit.Profile{Seen: 997, Main: true})
	p.End(revisit.Cycle{})
	p.Begin(1004, 9)
	var got []graph.Node
	for {
		v, ok := p.Next()
		if !ok {
			break
		}
		got = append(got, v)
	}
	var due []float64
	for i := range p.docs {
		due = append(due, p.docs[i].due)
	}
	if want, at := []graph.Node{1, 0, 2, 3}, []float64{1007, 1001, 1010, 1012}; !slices.Equal(got, want) || !slices.Equal(due, at) {
		t.Errorf("second cycle: %v, due %g, want %v, %g", got, due, want, at)
	}
}

// TestModified: a change is one of the body, whether links changed or not.
func TestModified(t *testing.T) {
	rule := &plain{}
	p := newTimetable(rule)
	p.Learn(0, revisit.Profile{})
	for i, r := range []revisit.Refetch{{}, {Modified: true, Changed: true}, {NotModified: true}, {Modified: true}, {Gone: true}, {Failed: true}} {
		p.Begin(revisit.Time(i+1), 1)
		p.Observe(r)
		p.End(revisit.Cycle{})
	}
	want := []outcome{unmodified, modified, unmodified, modified, gone, failed}
	for i, w := range want {
		if rule.told[i] != fmt.Sprint(float64(i+1), w) {
			t.Errorf("cycle %d: %s, want %d", i+1, rule.told[i], w)
		}
	}
}

// TestTimetable compares the order of a timetable with a sort of everything that is due.
func TestTimetable(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 12))
		for _, rule := range []rule{nutch{}, storm{}} {
			p := newTimetable(rule)
			for v := range graph.Node(8) {
				p.Learn(v, revisit.Profile{})
			}
			known, now := graph.Node(8), revisit.Time(1e9)
			for range 30 {
				now += revisit.Time(1 + r.IntN(3*day))
				p.Begin(now, 5)
				var want []graph.Node
				for v, e := range p.docs {
					if !math.IsInf(e.due, 1) {
						want = append(want, graph.Node(v))
					}
				}
				slices.SortStableFunc(want, func(a, b graph.Node) int { return cmp.Compare(p.docs[a].due, p.docs[b].due) })
				for i := range 5 {
					v, ok := p.Next()
					if !ok != (i >= len(want)) || ok && v != want[i] {
						t.Fatalf("seed %d, %T: Next() = %d, %v, want %d of %v", seed, rule, v, ok, i, want)
					}
					if !ok {
						break
					}
					x := r.IntN(20)
					p.Observe(revisit.Refetch{Page: v, Gone: x == 0, Failed: x == 1, NotModified: x > 8, Modified: x == 2})
					if r.IntN(4) == 0 {
						p.Learn(known, revisit.Profile{})
						known++
					}
				}
				p.End(revisit.Cycle{})
			}
		}
	}
}

// TestReplayedTimetable: told of its own cycles afterwards, a policy goes on as it did.
func TestReplayedTimetable(t *testing.T) {
	for _, name := range []string{"nutch", "storm", "lists"} {
		var sites [2]*revisit.Site
		for i := range sites {
			p, err := New(name, revisit.Config{})
			if err != nil {
				t.Fatal(err)
			}
			sites[i] = revisit.NewSite(p)
		}
		a, b := sites[0], sites[1]
		r := rand.New(rand.NewPCG(3, 4))
		a.Start(firstCrawl())
		for cycle := 1; cycle < 20; cycle++ {
			if err := b.Replay(a.Record()); err != nil {
				t.Fatal(err)
			}
			now := revisit.Time(cycle * day)
			a.Begin(now, 2)
			for range 2 {
				if v, ok := a.Next(); ok {
					a.Observe(v, revisit.Answer{Modified: r.IntN(2) == 0, Gone: r.IntN(9) == 0})
				}
			}
			a.End()
		}
		if err := b.Replay(a.Record()); err != nil {
			t.Fatal(err)
		}
		var next [2][]graph.Node
		for i, s := range sites {
			s.Begin(20*day, 9)
			for {
				v, ok := s.Next()
				if !ok {
					break
				}
				next[i] = append(next[i], v)
			}
		}
		if len(next[0]) == 0 || !slices.Equal(next[0], next[1]) {
			t.Errorf("%s: goes on with %v, replayed with %v", name, next[0], next[1])
		}
	}
}
