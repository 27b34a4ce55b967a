package revisit

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"forage/graph"
)

// TestDuplicates tells best of eight cycles. Documents 0 and 1 show each one's new page, 2 showed
// one of its own once, 3 nothing. After a full recrawl one of the duplicates is worth a fetch;
// after a budgeted cycle, or for the least difference between them, the other comes second.
func TestDuplicates(t *testing.T) {
	for _, c := range []struct {
		name  string
		full  bool
		apart bool // document 1 once showed a page of its own
		want  []graph.Node
	}{
		{"recrawled", true, false, []graph.Node{0, 2}},
		{"one difference", true, true, []graph.Node{1, 0}},
		{"budgeted", false, false, []graph.Node{0, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := NewBest(0)
			for v := range graph.Node(4) {
				b.Learn(v, Profile{Template: int32(v), Links: 30})
			}
			next := graph.Node(4)
			for week := range 8 {
				b.Begin(Time(week), 4)
				shows := map[graph.Node][]graph.Node{0: {next}, 1: {next}}
				fresh := []graph.Node{next}
				if week == 2 {
					fresh = append(fresh, next+1)
					shows[2] = []graph.Node{next + 1}
				}
				if week == 3 && c.apart {
					fresh = append(fresh, next+1)
					shows[1] = append(shows[1], next+1)
				}
				next += graph.Node(len(fresh))
				for _, y := range fresh {
					b.Learn(y, Profile{Template: 4, Depth: 3})
				}
				for v := range graph.Node(4) {
					b.Observe(Refetch{Page: v, Cost: 1, Led: shows[v]})
				}
				h := NewCoverGraph(fresh, nil, []graph.Node{0, 1, 2, 3}, func(v graph.Node) []graph.Node { return shows[v] })
				b.End(Cycle{Full: c.full || week < 7, New: len(fresh), H: h})
			}
			b.Begin(8, 2)
			var got []graph.Node
			for range 2 {
				v, ok := b.Next()
				if !ok {
					t.Fatal("nothing to fetch")
				}
				got = append(got, v)
				b.Observe(Refetch{Page: v, Cost: 1})
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("fetches %v, want %v", got, c.want)
			}
		})
	}
}

// TestLastPage has a site of 40 articles and two lists over numbered pages. Of these the last
// pages come first: page 5 of one, and once 6 is known page 6. Years are no list.
func TestLastPage(t *testing.T) {
	var lists Lists
	b := NewBest(0)
	learn := func(v graph.Node, path string, template int32) {
		list, number := lists.Of(HTML, path)
		b.Learn(v, Profile{Template: template, Links: 10, Depth: 2, List: list, Number: number})
	}
	paths := []string{"/n/2/", "/n/3/", "/n/4/", "/n/5/", "/m/page/2/", "/2019/", "/2020/", "/2021/"}
	for v, path := range paths {
		learn(graph.Node(v), path, int32(min(v/4, 2)))
	}
	for v := graph.Node(8); v < 48; v++ {
		learn(v, "/a.html", 3)
	}
	b.Begin(1, 2)
	var got []graph.Node
	for range 2 {
		v, _ := b.Next()
		got = append(got, v)
		refetch := Refetch{Page: v, Cost: 1}
		if v == 3 {
			learn(48, "/n/6/", 0)
			refetch.Led, refetch.Found = []graph.Node{48}, []graph.Node{48}
		}
		b.Observe(refetch)
	}
	b.End(Cycle{New: 1, H: NewCoverGraph([]graph.Node{48}, nil, []graph.Node{3}, func(v graph.Node) []graph.Node {
		if v == 3 {
			return []graph.Node{48}
		}
		return nil
	})})
	slices.Sort(got)
	if want := []graph.Node{3, 4}; !slices.Equal(got, want) {
		t.Errorf("fetches %v first, want the last pages %v", got, want)
	}
	if b.docs[48].role != lastPage || b.docs[3].role == lastPage {
		t.Errorf("pages 6 and 5 have the roles %d and %d, want page 6 alone to be the last", b.docs[48].role, b.docs[3].role)
	}
}

// TestRoles has a template of 600 documents: its newest four hold the ranks, and no others;
// after one more the ranks move on.
func TestRoles(t *testing.T) {
	b := NewBest(0)
	roles := func() map[graph.Node]int8 {
		held := make(map[graph.Node]int8)
		for v := range b.docs {
			if r := b.docs[v].role; r != -1 {
				held[graph.Node(v)] = r
			}
		}
		return held
	}
	for v := range graph.Node(600) {
		b.Learn(v, Profile{})
		if n := len(b.newest[0]); n > b.cfg.roles {
			t.Fatalf("%d documents are kept as the newest of %d before roles are given", n, v+1)
		}
	}
	b.Begin(1, 1)
	if got, want := roles(), (map[graph.Node]int8{599: 0, 598: 1, 597: 2, 596: 3}); !maps.Equal(got, want) {
		t.Errorf("roles %v, want %v", got, want)
	}
	b.Learn(600, Profile{})
	b.Observe(Refetch{Page: 0, Cost: 1, Led: []graph.Node{600}, Found: []graph.Node{600}})
	b.End(Cycle{New: 1, H: NewCoverGraph([]graph.Node{600}, nil, []graph.Node{0}, func(v graph.Node) []graph.Node {
		if v == 0 {
			return []graph.Node{600}
		}
		return nil
	})})
	if got, want := roles(), (map[graph.Node]int8{600: 0, 599: 1, 598: 2, 597: 3}); !maps.Equal(got, want) {
		t.Errorf("after one more, roles %v, want %v", got, want)
	}
}

// TestGone has two templates, of which one was dropped: once three fetches have shown that, the
// other, which promised less, comes first. A document found gone in two cycles is fetched no
// more, until another one newly links to it: then at once, in the same cycle.
func TestGone(t *testing.T) {
	b := newBest(bestTuning, 0)
	b.cfg.audit = 0
	for v := range graph.Node(12) {
		p := Profile{Template: int32(v) / 6, Links: 10}
		if p.Template == 0 {
			p.Links = 30 // prior three times as high
		}
		b.Learn(v, p)
	}
	empty := Cycle{H: NewCoverGraph(nil, nil, nil, nil)}
	cycle := func(now Time, fetches int, relinks graph.Node) (got []graph.Node) {
		b.Begin(now, fetches)
		for range fetches {
			v, ok := b.Next()
			if !ok {
				break
			}
			got = append(got, v)
			refetch := Refetch{Page: v, Cost: 1, Gone: v < 6}
			if relinks != graph.None && v == 6 {
				refetch.Relinked = []graph.Node{relinks}
			}
			b.Observe(refetch)
		}
		b.End(empty)
		return got
	}
	first := cycle(1, 6, graph.None)
	dropped := 0
	for _, v := range first {
		if v < 6 {
			dropped++
		}
	}
	if dropped < 2 || dropped > 4 || first[0] >= 6 {
		t.Errorf("fetches %v: %d of the dropped template, which promises more at first; want 2 to 4", first, dropped)
	}
	for now := Time(2); now < 5; now++ {
		cycle(now, 12, graph.None)
	}
	if got := cycle(5, 12, graph.None); slices.Min(got) < 6 || len(got) != 6 {
		t.Errorf("fetches %v, want the documents that are there, and no others", got)
	}
	got := cycle(6, 12, 3)
	if i, j := slices.Index(got, 6), slices.Index(got, 3); j < i || i < 0 || len(got) != 7 {
		t.Errorf("fetches %v, want 3 after 6, which links to it anew", got)
	}
}

// TestPeers brings best through cycles in which documents of three templates show new pages at
// random. Then each document that it returns is worth most of all that are left, as valued one
// by one, and all are returned once. Documents that nobody fetched are one lot of peers.
func TestPeers(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := NewBest(0)
		b.cfg.audit = 0
		next := graph.Node(0)
		learn := func(n int) (fresh []graph.Node) {
			for range n {
				b.Learn(next, Profile{Template: r.Int32N(3), Links: 10 * r.IntN(8), Depth: r.IntN(4)})
				fresh = append(fresh, next)
				next++
			}
			return fresh
		}
		learn(60)
		for week := range 1 + r.IntN(12) {
			b.Begin(Time(week), 40)
			fresh := learn(r.IntN(4))
			full := r.IntN(4) == 0
			var visited []graph.Node
			shows := make(map[graph.Node][]graph.Node)
			for range 40 {
				v, ok := b.Next()
				if !ok {
					break
				}
				refetch := Refetch{Page: v, Cost: 1, Gone: r.IntN(20) == 0}
				for _, y := range fresh {
					if !refetch.Gone && r.IntN(10) == 0 {
						refetch.Led = append(refetch.Led, y)
					}
				}
				for range r.IntN(3) {
					if y := graph.Node(r.IntN(int(next))); !refetch.Gone && !slices.Contains(refetch.Led, y) {
						refetch.Led = append(refetch.Led, y)
					}
				}
				shows[v] = refetch.Led
				visited = append(visited, v)
				b.Observe(refetch)
			}
			b.End(Cycle{Full: full, New: len(fresh), H: NewCoverGraph(fresh, nil, visited, func(v graph.Node) []graph.Node { return shows[v] })})
		}
		b.Begin(100, int(next))
		left := make(map[graph.Node]bool)
		for v := range b.docs {
			if b.docs[v].misses < 2 {
				left[graph.Node(v)] = true
			}
		}
		for len(left) > 0 {
			most := math.Inf(-1)
			for v := range left {
				most = max(most, b.value(v))
			}
			v, ok := b.Next()
			if !ok || !left[v] {
				t.Fatalf("seed %d: returns %d (%v) with %d documents left", seed, v, ok, len(left))
			}
			if got := b.value(v); got < most*(1-1e-12) {
				t.Fatalf("seed %d: returns document %d, worth %g, with %d left; another is worth %g", seed, v, got, len(left), most)
			}
			delete(left, v)
			b.Observe(Refetch{Page: v, Cost: 1, Failed: true}) // it takes of what others are worth, and adds nothing
		}
		if v, ok := b.Next(); ok {
			t.Fatalf("seed %d: returns %d again", seed, v)
		}
	}

	b := NewBest(0)
	for v := range graph.Node(1000) {
		b.Learn(v, Profile{Links: 30, Depth: 2})
	}
	b.Begin(1, 1)
	if n := b.heap.Len(); n != 1+b.cfg.roles {
		t.Errorf("1000 documents of one template are %d lots of peers, want one and %d with roles", n, b.cfg.roles)
	}
}
