package revisit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"forage/graph"
)

const aDay = Time(secondsADay)

// A madeUp site has documents of some profiles and links, of which some show new pages at random. It
// brings Best through cycles.
type madeUp struct {
	r    *rand.Rand
	b    *Best
	next graph.Node
}

func (m *madeUp) learn(n int, linked bool) (fresh []graph.Node) {
	for range n {
		m.b.Learn(m.next, Profile{Template: m.r.Int32N(3), Depth: m.r.IntN(3), Index: m.r.IntN(9) == 0, Home: m.next == 0, List: m.r.Int32N(3), Number: m.r.IntN(30)})
		fresh = append(fresh, m.next)
		m.next++
	}
	if linked {
		m.link(fresh)
	}
	return fresh
}

// link gives each document one of three navigations, and links of its own to some.
func (m *madeUp) link(docs []graph.Node) {
	for _, v := range docs {
		to := []graph.Node{}
		for u := graph.Node(m.r.IntN(3)); u < 12; u += 3 {
			to = append(to, u)
		}
		if m.r.IntN(2) == 0 {
			to = append(to, graph.Node(12+m.r.IntN(40)))
		}
		m.b.ObserveLinks(v, to)
	}
}

func (m *madeUp) cycle(day float64, k int) {
	m.b.Begin(Time(day*secondsADay), k)
	fresh := m.learn(m.r.IntN(4), true)
	full := m.r.IntN(6) == 0
	var visited []graph.Node
	shows := make(map[graph.Node][]graph.Node)
	for range k {
		v, ok := m.b.Next()
		if !ok {
			break
		}
		f := Refetch{Page: v, Cost: 1, Gone: m.r.IntN(20) == 0, Failed: m.r.IntN(30) == 0}
		if !f.Gone && !f.Failed {
			for y := range m.next {
				if m.r.IntN(15) == 0 || slices.Contains(fresh, y) && m.r.IntN(4) == 0 {
					f.Led = append(f.Led, y)
				}
			}
			f.Found = f.Led[:min(len(f.Led), m.r.IntN(2))]
		}
		shows[v] = f.Led
		visited = append(visited, v)
		m.b.Observe(f)
	}
	m.b.End(Cycle{Full: full, New: len(fresh), H: NewCoverGraph(fresh, nil, visited, func(v graph.Node) []graph.Node { return shows[v] })})
}

func newMadeUp(seed uint64) *madeUp {
	m := &madeUp{r: rand.New(rand.NewPCG(seed, 1)), b: NewBest(0)}
	m.link(m.learn(60, false))
	return m
}

// naiveWorth is what the comment of Best says that a fetch of v is worth, from all that is known:
// every probe and publication is looked at, and the classes and the order of entries do not matter. Guesses
// are trusted as they were when the cycle began.
func naiveWorth(b *Best, v graph.Node, inLinks, inKinds trust) float64 {
	d, p := &b.docs[v], b.prior
	wait := func(days float64) float64 { return p.Delay * math.Log(1+days/p.Delay) * min(1, days) }
	links, shown := 0.0, 0.0
	for i := range b.probes {
		if slices.Contains(b.classes[d.class], int32(i)) {
			links += wait(b.waiting[i].days) / float64(len(b.probes))
		}
	}
	for i := range b.live {
		for e := d.shows; e >= 0; e = b.entries[e].next {
			if int(b.entries[e].pattern-b.base) == i {
				shown += b.live[i].weight * wait(b.live[i].days) * float64(b.entries[e].share)
			}
		}
	}
	kind := float64(d.kind)
	if d.isEnd {
		kind += p.End
	}
	alone := wait(b.at[b.cycle].day - b.at[d.last].day)
	watched := p.Strength + float64(d.watched)*math.Exp(b.at[b.cycle].left-b.at[d.last].left)
	x := p.Strength*links*(p.Trust+inLinks.found)/(p.Trust+inLinks.expected) +
		p.Strength*kind*alone*(p.Trust+inKinds.found)/(p.Trust+inKinds.expected) + shown
	x /= watched
	x += p.Optimism * math.Sqrt(x*alone/watched)
	if d.misses > 0 {
		x *= missedOnce
	}
	return x
}

// TestBestNaive: each document that Best names is worth most of all that are left, as valued one by
// one, and all are named once.
func TestBestNaive(t *testing.T) {
	for seed := range uint64(30) {
		m := newMadeUp(seed)
		day := 100.0
		for range 1 + m.r.IntN(40) {
			day += m.r.Float64() * 3
			m.cycle(day, 30)
		}
		b := m.b
		b.Begin(Time((day+1)*secondsADay), int(m.next))
		links, kinds := b.links, b.kinds
		left := make(map[graph.Node]bool)
		for v := range b.docs {
			if b.docs[v].misses < 2 {
				left[graph.Node(v)] = true
			}
		}
		for len(left) > 0 {
			most := math.Inf(-1)
			for v := range left {
				most = max(most, naiveWorth(b, v, links, kinds))
			}
			v, ok := b.Next()
			if !ok || !left[v] {
				t.Fatalf("seed %d: names %d (%v) with %d documents left", seed, v, ok, len(left))
			}
			if got := naiveWorth(b, v, links, kinds); got < most*(1-1e-9) {
				t.Fatalf("seed %d: names document %d, worth %g, with %d left; another is worth %g", seed, v, got, len(left), most)
			}
			delete(left, v)
			f := Refetch{Page: v, Cost: 1}
			switch m.r.IntN(6) {
			case 0: // one that is not fetched is not named again
				continue
			case 1:
				f.Failed = true
			case 2:
				f.Gone = true
			case 3:
				f.NotModified = true
			default: // old pages that it did not show before
				f.Modified = m.r.IntN(2) == 0
				for y := range m.next {
					if m.r.IntN(30) == 0 {
						f.Led = append(f.Led, y)
					}
				}
			}
			b.Observe(f)
		}
		if v, ok := b.Next(); ok {
			t.Fatalf("seed %d: names %d again", seed, v)
		}
	}
}

// TestForget: what has faded is dropped, and nothing else changes: a Best that never drops anything
// names the same documents.
func TestForget(t *testing.T) {
	dropped := 0
	for seed := range uint64(8) {
		m := newMadeUp(seed)
		day := 0.0
		for range 400 {
			day++
			m.cycle(day, 6)
			dropped = max(dropped, int(m.b.base))
			for v := range m.b.docs {
				for e := m.b.docs[v].shows; e >= 0; e = m.b.entries[e].next {
					if p := m.b.entries[e].pattern; p < m.b.base || int(p-m.b.base) >= len(m.b.live) {
						t.Fatalf("seed %d, day %g: document %d shows publication %d of %d from %d", seed, day, v, p, len(m.b.live), m.b.base)
					}
				}
			}
		}
		if n := len(m.b.live); n > 4*leastLive {
			t.Errorf("seed %d: %d publications are kept", seed, n)
		}
	}
	if dropped == 0 {
		t.Error("nothing was dropped")
	}
}

// TestAlike: a thousand pages of which nothing tells one from another have one place in the heap.
func TestAlike(t *testing.T) {
	b := NewBest(0)
	for v := range graph.Node(1000) {
		b.Learn(v, Profile{Links: 30, Depth: 2})
	}
	b.Begin(aDay, 1)
	if n := b.heap.Len(); n != 1 {
		t.Errorf("1000 pages alike are %d places of the heap, want 1", n)
	}
}

// TestLastPage has a site of 40 articles and two lists over numbered pages. Of these the last
// pages come first: page 5 of one, and once 6 is known page 6. Years are no list.
func TestLastPage(t *testing.T) {
	var lists Lists
	b := NewBest(0)
	learn := func(v graph.Node, path string) {
		list, number := lists.Of(HTML, path)
		b.Learn(v, Profile{Links: 10, Depth: 2, List: list, Number: number})
	}
	for v, path := range []string{"/n/2/", "/n/3/", "/n/4/", "/n/5/", "/m/page/2/", "/2019/", "/2020/", "/2021/"} {
		learn(graph.Node(v), path)
	}
	for v := graph.Node(8); v < 48; v++ {
		learn(v, "/a.html")
	}
	choose := func(day Time) []graph.Node {
		b.Begin(day*aDay, 2)
		var got []graph.Node
		for range 2 {
			v, _ := b.Next()
			got = append(got, v)
			if v == 3 {
				learn(48, "/n/6/")
			}
			b.Observe(Refetch{Page: v, Cost: 1})
		}
		b.End(Cycle{H: NewCoverGraph(nil, nil, nil, nil)})
		slices.Sort(got)
		return got
	}
	if got, want := choose(1), []graph.Node{3, 4}; !slices.Equal(got, want) {
		t.Errorf("fetches %v first, want the last pages %v", got, want)
	}
	if !b.docs[48].isEnd || b.docs[3].isEnd || !b.docs[4].isEnd || b.docs[7].isEnd {
		t.Error("want pages /n/6/ and /m/page/2/ to be the last ones, and no others")
	}
}

// TestGone: a document found gone in two cycles is fetched no more, until another one newly links to
// it: then at once, in the same cycle. One outage of the whole site counts for nothing.
func TestGone(t *testing.T) {
	b := NewBest(0)
	for v := range graph.Node(12) {
		b.Learn(v, Profile{Links: 10})
	}
	day := Time(0)
	cycle := func(gone func(graph.Node) bool, relinks graph.Node) (got []graph.Node) {
		day++
		b.Begin(day*aDay, 12)
		for range 12 {
			v, ok := b.Next()
			if !ok {
				break
			}
			got = append(got, v)
			refetch := Refetch{Page: v, Cost: 1, Gone: gone(v)}
			if relinks != graph.None && v == 6 {
				refetch.Relinked = []graph.Node{relinks}
			}
			b.Observe(refetch)
		}
		b.End(Cycle{H: NewCoverGraph(nil, nil, nil, nil)})
		return got
	}
	for range 3 {
		cycle(func(graph.Node) bool { return true }, graph.None)
	}
	half := func(v graph.Node) bool { return v < 6 }
	for range 2 {
		if got := cycle(half, graph.None); len(got) != 12 {
			t.Errorf("fetches %v, want all: no document has been gone in two cycles but in outages", got)
		}
	}
	if got := cycle(half, graph.None); len(got) != 6 || slices.Min(got) < 6 {
		t.Errorf("fetches %v, want the documents that are there, and no others", got)
	}
	got := cycle(half, 3)
	if i, j := slices.Index(got, 6), slices.Index(got, 3); j < i || i < 0 || len(got) != 7 {
		t.Errorf("fetches %v, want 3 after 6, which links to it anew", got)
	}
}

// TestBestLinks: where nothing else tells documents apart, the one that links to most pages comes
// first, then not one that links to the same, but the one that adds most.
func TestBestLinks(t *testing.T) {
	b := NewBest(0)
	for v := range graph.Node(40) {
		b.Learn(v, Profile{Depth: 1})
	}
	span := func(from, to graph.Node) (out []graph.Node) {
		for v := from; v < to; v++ {
			out = append(out, v)
		}
		return out
	}
	links := map[graph.Node][]graph.Node{7: span(8, 28), 8: span(8, 28), 9: span(25, 40), 10: span(30, 33)}
	for v := range graph.Node(40) {
		b.ObserveLinks(v, links[v])
	}
	b.Begin(aDay, 3)
	var got []graph.Node
	for range 3 {
		v, _ := b.Next()
		got = append(got, v)
		b.Observe(Refetch{Page: v, Cost: 1})
	}
	if want := []graph.Node{7, 9, 8}; !slices.Equal(got, want) {
		t.Errorf("fetches %v, want %v", got, want)
	}
}

// TestPortions: a day's fetches in three portions go to the same documents as in one, at a site
// where nothing is found. One that is fetched in every cycle of a day may be fetched more often in
// portions.
func TestPortions(t *testing.T) {
	fetched := func(portions int) map[graph.Node]int {
		m := &madeUp{r: rand.New(rand.NewPCG(3, 1)), b: NewBest(0)}
		m.link(m.learn(30, false))
		n := make(map[graph.Node]int)
		for i := range 200 * portions {
			m.b.Begin(Time(i+1)*aDay/Time(portions), 6/portions)
			for range 6 / portions {
				v, _ := m.b.Next()
				n[v]++
				m.b.Observe(Refetch{Page: v, Cost: 1})
			}
			m.b.End(Cycle{H: NewCoverGraph(nil, nil, nil, nil)})
		}
		return n
	}
	one, three := fetched(1), fetched(3)
	for v, n := range one {
		if d := three[v] - n; d < -8-n/5 || d > 8+n/5 && n < 190 {
			t.Errorf("document %d is fetched %d times by day and %d times in portions", v, n, three[v])
		}
	}
}

// TestDue: what a fetch is worth grows with time, at a site that publishes often sooner than at one
// that does not, and Due is the first hour in which it is enough. Asking changes nothing.
func TestDue(t *testing.T) {
	blog := func(every int) *Best { // a site whose home page shows one page every so many days
		b := NewBest(0)
		for v := range graph.Node(20) {
			b.Learn(v, Profile{Home: v == 0, Depth: 2})
		}
		next := graph.Node(20)
		for day := 1; day <= 60; day++ {
			b.Begin(Time(day)*aDay, 1)
			var fresh []graph.Node
			if v, _ := b.Next(); v == 0 && day%every == 0 {
				fresh = []graph.Node{next}
				b.Learn(next, Profile{Depth: 2})
				next++
			}
			b.Observe(Refetch{Page: 0, Cost: 1, Led: fresh, Found: fresh})
			b.End(Cycle{New: len(fresh), H: NewCoverGraph(fresh, nil, []graph.Node{0}, func(v graph.Node) []graph.Node { return fresh })})
		}
		return b
	}
	often, seldom := blog(1), blog(10)
	before := string(often.AppendState(nil))
	last := 0.0
	for h := Time(1); h < 24*20; h += 7 {
		at := 60*aDay + h*aDay/24
		w := often.Worth(at)
		if w < last {
			t.Fatalf("%d hours later a fetch is worth %g, and was worth %g before", h, w, last)
		}
		if s := seldom.Worth(at); s >= w {
			t.Errorf("%d hours later a fetch is worth %g at a site that publishes each day, %g at one that does every tenth", h, w, s)
		}
		last = w
	}
	if day := often.Worth(61 * aDay); day < .3 || day > 1.2 {
		t.Errorf("a day later a fetch is expected to find %g publications of the one that there is", day)
	}
	for _, worth := range []float64{.2, .4, .8} {
		at, ok := often.Due(worth)
		if !ok || often.Worth(at) < worth || often.Worth(at-aDay/24) >= worth {
			t.Errorf("due at %d (%v), worth %g then and %g an hour before, want the first hour with %g", at, ok, often.Worth(at), often.Worth(at-aDay/24), worth)
		}
	}
	if at, ok := seldom.Due(100); ok {
		t.Errorf("a hundred publications are due at %d", at)
	}
	if string(often.AppendState(nil)) != before {
		t.Error("asking has changed the state")
	}
	// Within a cycle the same is expected of the first document, and less of the others.
	want := often.Worth(61 * aDay)
	often.Begin(61*aDay, len(often.docs))
	for n := 0; ; n++ {
		expected := often.Expected()
		if n == 0 && expected != want || n > 0 && expected > want {
			t.Errorf("of fetch %d %g publications are expected, and of the one before %g", n, expected, want)
		}
		v, ok := often.Next()
		if !ok {
			if n != len(often.docs) || expected != 0 {
				t.Errorf("after %d fetches %g publications are expected, want %d fetches and none", n, expected, len(often.docs))
			}
			break
		}
		often.Observe(Refetch{Page: v, Cost: 1})
		want = expected
	}
}

// TestFailedLooksAtNothing: what a document shows waits on when its fetch failed, and not when it was
// answered.
func TestFailedLooksAtNothing(t *testing.T) {
	for _, failed := range []bool{true, false} {
		b := NewBest(0)
		for v := range graph.Node(10) {
			b.Learn(v, Profile{})
		}
		for v := range graph.Node(10) {
			b.ObserveLinks(v, []graph.Node{5})
		}
		b.Begin(10*aDay, 1)
		before := b.sumOf(b.docs[0].class)
		b.Observe(Refetch{Page: 0, Cost: 1, Failed: failed})
		if after := b.sumOf(b.docs[0].class); (after < before) == failed {
			t.Errorf("failed %v: what waits is worth %g, and was worth %g", failed, after, before)
		}
	}
}

// TestBestTooManyCycles: a state that ends before the last of its cycles is refused there, and not when
// there is memory for all that it promises.
func TestBestTooManyCycles(t *testing.T) {
	b, r := NewBest(0), &StateReader{reader{b: make([]byte, 100)}} // four moments
	if b.SetState(r, new(Profiles), 1<<20); !r.bad || len(b.at) > 5 {
		t.Errorf("%d moments are read of 100 bytes, refused: %v", len(b.at), r.bad)
	}
}

// TestBestClockAhead: a cycle with a clock that is thirty years ahead, or a first crawl with one, does
// not stop what comes later: documents that nothing tells apart are still fetched in turn.
func TestBestClockAhead(t *testing.T) {
	for ahead := range 3 { // at no time, at the first crawl, at the fifth cycle
		b := NewBest(0)
		now := 20_000 * aDay
		for v := range graph.Node(12) {
			p := Profile{Seen: now}
			if ahead == 1 {
				p.Seen += 30 * 365 * aDay
			}
			b.Learn(v, p)
		}
		fetched := make([]int, 12)
		for cycle := 1; cycle <= 40; cycle++ {
			now += aDay
			if at := now; ahead == 2 && cycle == 5 {
				b.Begin(at+30*365*aDay, 3)
			} else {
				b.Begin(at, 3)
			}
			for range 3 {
				v, _ := b.Next()
				fetched[v]++
				b.Observe(Refetch{Page: v, Cost: 1, NotModified: true})
			}
			b.End(Cycle{H: &CoverGraph{}})
		}
		if slices.Min(fetched) < 9 || slices.Max(fetched) > 11 {
			t.Errorf("clock %d: fetched %v times, want all ten times", ahead, fetched)
		}
		if at, ok := b.Due(1e-9); !ok || at <= now || at > now+aDay {
			t.Errorf("clock %d: due %d seconds after the last cycle (%v)", ahead, at-now, ok)
		}
	}
}

// TestFruitless: a document that changes and shows nothing new by it is worth less than one that did not
// change, and than one that changed and showed something.
func TestFruitless(t *testing.T) {
	b := NewBest(0)
	for v := range graph.Node(5) {
		b.Learn(v, Profile{Seen: aDay})
	}
	b.ObserveLinks(0, nil)
	const fruitless, same, fruitful, known = 1, 2, 3, 4
	b.Begin(2*aDay, 3)
	for range 5 {
		if _, ok := b.Next(); !ok {
			t.Fatal("too few documents")
		}
	}
	b.Learn(5, Profile{Seen: 2 * aDay, Born: 1})
	b.Observe(Refetch{Page: fruitful, Cost: 1, Modified: true, Changed: true, Led: []graph.Node{5}, Found: []graph.Node{5}})
	b.Observe(Refetch{Page: fruitless, Cost: 1, Modified: true})
	b.Observe(Refetch{Page: same, Cost: 1, NotModified: true})
	b.Observe(Refetch{Page: known, Cost: 1, Modified: true, Changed: true, Led: []graph.Node{5}})
	b.End(Cycle{New: 1, H: NewCoverGraph([]graph.Node{5}, nil, []graph.Node{fruitful}, func(graph.Node) []graph.Node { return []graph.Node{5} })})
	left := b.fade(0, 1)
	more := func(v graph.Node) float64 { return float64(b.docs[v].watched - b.docs[same].watched) }
	if got, want := more(fruitless), b.prior.Fruitless*left; math.Abs(got-want) > 1e-6 {
		t.Errorf("watched for %g more, want %g", got, want)
	}
	if more(fruitful) != 0 || more(known) != 0 {
		t.Errorf("documents that showed something were watched for %g and %g more", more(fruitful), more(known))
	}
	b.Begin(3*aDay, 5)
	if w, s := b.value(fruitless), b.value(same); !(w < s) {
		t.Errorf("a change that showed nothing leaves %g, no change %g", w, s)
	}
}
