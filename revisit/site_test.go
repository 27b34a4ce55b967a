package revisit

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"forage/graph"
)

// scribe writes down all that a policy is told, and chooses the documents of its script.
type scribe struct {
	told   []string
	script []graph.Node
	begun  int
}

func (p *scribe) Learn(v graph.Node, d Profile)   { p.say("learn %d %+v", v, d) }
func (p *scribe) Begin(now Time, k int)           { p.begun++; p.say("begin %d %d", now, k) }
func (p *scribe) Observe(v Refetch)               { p.say("observe %+v", v) }
func (p *scribe) End(c Cycle)                     { h := c.H; c.H = nil; p.say("end %+v %+v", c, *h) }
func (p *scribe) ObserveSignal(same []graph.Node) { p.say("same %v", same) }
func (p *scribe) say(f string, a ...any)          { p.told = append(p.told, fmt.Sprintf(f, a...)) }
func (p *scribe) Next() (graph.Node, bool) {
	if len(p.script) == 0 {
		return 0, false
	}
	v := p.script[0]
	p.script = p.script[1:]
	return v, true
}

// A linkScribe is a scribe that is told of links, too.
type linkScribe struct{ scribe }

func (p *linkScribe) ObserveLinks(v graph.Node, to []graph.Node) { p.say("links %d %v", v, to) }

// The first crawl finds / (key 0), two posts, a feed that / links to, a sitemap index at a
// well-known place and its part.
func firstCrawl() []Document {
	return []Document{
		{Key: 0, Path: "/", Home: true, Links: []Key{1, 2, 3}},
		{Key: 1, Path: "/2019/10/b.html", Links: []Key{0}},
		{Key: 2, Path: "/2019/9/a.html", Links: []Key{0}},
		{Key: 3, Path: "/feed.xml", Kind: Feed, Links: []Key{0, 1, 2}},
		{Key: 4, Path: "/sitemap.xml", Kind: Sitemap, WellKnown: true, Links: []Key{5}},
		{Key: 5, Path: "/part.xml", Kind: Sitemap, Links: []Key{0, 1}},
	}
}

func TestSite(t *testing.T) {
	p := &scribe{}
	s := NewSite(p)
	docs := firstCrawl()
	for i := range docs {
		docs[i].Seen = 900
	}
	docs[1].Published = 800 // the b of October
	s.Start(docs)
	// By path: / /2019/9/a /2019/10/b /feed.xml /part.xml /sitemap.xml.
	want := []string{
		"learn 0 {Kind:0 Home:true Main:false Index:false Template:0 List:0 Number:0 Depth:0 Links:3 Born:0 Seen:900 Published:0}",
		"learn 1 {Kind:0 Home:false Main:false Index:false Template:1 List:0 Number:0 Depth:2 Links:1 Born:0 Seen:900 Published:0}",
		"learn 2 {Kind:0 Home:false Main:false Index:false Template:1 List:0 Number:0 Depth:2 Links:1 Born:0 Seen:900 Published:800}",
		"learn 3 {Kind:1 Home:false Main:true Index:false Template:2 List:0 Number:0 Depth:0 Links:3 Born:0 Seen:900 Published:0}",
		"learn 4 {Kind:2 Home:false Main:true Index:false Template:3 List:0 Number:0 Depth:0 Links:2 Born:0 Seen:900 Published:0}",
		"learn 5 {Kind:2 Home:false Main:true Index:false Template:3 List:0 Number:0 Depth:0 Links:1 Born:0 Seen:900 Published:0}",
	}
	if !slices.Equal(p.told, want) {
		t.Fatalf("Start told %q, want %q", p.told, want)
	}

	// Cycle 1: home shows post 6, which shows 7, which links back to 6.
	s.Begin(1000, 3)
	v := s.Observe(0, Answer{Changed: true, Links: 4, Gained: []Key{6}, Found: []Document{
		{Key: 6, Path: "/2019/11/c.html", Links: []Key{0, 7}}, {Key: 7, Path: "/2019/12/d.html", Links: []Key{6}, Seen: 1003, Published: 999}}})
	if got, want := fmt.Sprintf("%+v", v), "{Page:0 Modified:true Changed:true NotModified:false Gone:false Failed:false Cost:1 Led:[6 7] Found:[6 7] Relinked:[]}"; got != want {
		t.Errorf("Observe = %s, want %s", got, want)
	}
	if c, d := s.Profile(6), s.Profile(7); c.Seen != 1000 || c.Published != 0 || d.Seen != 1003 || d.Published != 999 {
		t.Errorf("6 was seen at %d, published at %d, 7 at %d, %d; want 1000, 0, 1003, 999", c.Seen, c.Published, d.Seen, d.Published)
	}
	// The feed lists 7 only, but 7 leads to 6.
	if v = s.Observe(3, Answer{Changed: true, Links: 4, Gained: []Key{7}}); !slices.Equal(v.Led, []graph.Node{6, 7}) || v.Found != nil {
		t.Errorf("feed: %+v, want that it led to 6 and 7 and found none", v)
	}
	c := s.End()
	if c.New != 2 || fmt.Sprintf("%v", *c.H) != "{[[0 3]] [[6 7]] [[0]]}" {
		t.Errorf("End = %+v, H %v, want both documents in one group, both pages in one column", c, *c.H)
	}

	// Cycle 2: the part of the sitemap, last fetched in the first crawl, shows 6 and the old 2.
	s.Begin(2000, 1)
	if v = s.Observe(4, Answer{Changed: true, Links: 4, Gained: []Key{2, 6}}); !slices.Equal(v.Led, []graph.Node{6, 7}) {
		t.Errorf("sitemap led to %v, want 6 and 7", v.Led)
	}
	// Home has shown 6 before; a link that it gains to 7 is not later than its last fetch.
	if v = s.Observe(0, Answer{Changed: true, Links: 5, Gained: []Key{7}}); v.Led != nil {
		t.Errorf("home led to %v again", v.Led)
	}
	if c = s.End(); c.New != 0 || c.H.NumNew() != 0 {
		t.Errorf("End = %+v, want nothing new", c)
	}
}

// TestFullRecrawl has the site vanish and return: nothing is new again.
func TestFullRecrawl(t *testing.T) {
	p := &scribe{}
	s := NewSite(p)
	s.Start(firstCrawl())
	s.BeginFull(1)
	for v := range 6 {
		s.Observe(graph.Node(v), Answer{Gone: true})
	}
	if c := s.End(); len(c.Gone) != 6 || c.New != 0 {
		t.Fatalf("End = %+v, want six gone", c)
	}
	s.BeginFull(2)
	for v := 5; v > 0; v-- {
		s.Observe(graph.Node(v), Answer{})
	}
	s.Observe(0, Answer{Changed: true, Links: 4, Gained: []Key{9}, Found: []Document{{Key: 9, Path: "/z"}}})
	if c := s.End(); len(c.Back) != 6 || c.New != 1 || fmt.Sprint(c.H.Old) != "[[0]]" {
		t.Fatalf("End = %+v, want six back and one new", c)
	}
}

// TestSharedGains: of documents that all gained the same, as where every page shows the newest,
// a full recrawl keeps the links once.
func TestSharedGains(t *testing.T) {
	s := NewSite(&scribe{})
	s.Start(firstCrawl())
	s.BeginFull(1)
	found := []Document{{Key: 9, Path: "/z"}}
	for v := range graph.Node(6) {
		s.Observe(v, Answer{Changed: true, Links: 4, Gained: []Key{9}, Found: found})
		found = nil
	}
	s.End()
	for _, e := range s.visited {
		if len(e.gained) != 1 || &e.gained[0] != &s.visited[0].gained[0] {
			t.Errorf("document %d gained %v, a list of its own", e.v, e.gained)
		}
	}
}

// TestLinks: a LinkObserver is told of all links among known documents, after these and before the
// fetch that showed them.
func TestLinks(t *testing.T) {
	p := &linkScribe{}
	s := NewSite(p)
	if !s.WantsLinks() || NewSite(&p.scribe).WantsLinks() {
		t.Error("links are wanted by the wrong one")
	}
	check := func(want ...string) {
		t.Helper()
		for i, told := range p.told {
			if i >= len(want) || !strings.HasPrefix(told, want[i]) {
				t.Fatalf("told %q, want %q", p.told, want)
			}
		}
		if len(p.told) != len(want) {
			t.Fatalf("told %q, want %q", p.told, want)
		}
		p.told = nil
	}
	s.Start(firstCrawl()) // by path: / /2019/9/a /2019/10/b /feed.xml /part.xml /sitemap.xml
	check("learn 0", "learn 1", "learn 2", "learn 3", "learn 4", "learn 5",
		"links 0 [1 2 3]", "links 1 [0]", "links 2 [0]", "links 3 [0 1 2]", "links 4 [0 2]", "links 5 [4]")
	s.Begin(1, 2)
	s.Observe(0, Answer{Changed: true, Links: 5, Gained: []Key{7, 99, 0, 4}, Found: []Document{{Key: 7, Path: "/z", Links: []Key{98, 7, 2, 0}}}})
	s.Observe(1, Answer{Modified: true, Links: 1})
	s.End()
	check("begin", "learn 6", "links 6 [0 1]", "learn 0", "links 0 [5 6]", "observe {Page:0", "observe {Page:1", "end")
	s.BeginFull(2)
	s.Observe(3, Answer{Gone: true})
	s.Observe(2, Answer{Changed: true, Links: 1, Gained: []Key{8, 7}, Found: []Document{{Key: 8, Path: "/zz"}}})
	s.End()
	check("begin", "learn 7", "links 7 []", "links 2 [6 7]", "end")
}

// randomSite drives a Site through cycles of made-up fetches and returns its records.
func randomSite(r *rand.Rand, p Policy) [][]byte {
	s := NewSite(p)
	s.Believe = true
	docs := firstCrawl()
	for i := range docs {
		docs[i].Seen, docs[i].Published = Time(r.IntN(3)*r.IntN(2000)), Time(r.IntN(3)*(r.IntN(2000)-1000))
	}
	s.Start(docs)
	records := [][]byte{s.Record()}
	next := Key(10)
	for range 6 {
		if full := r.IntN(4) == 0; full {
			s.BeginFull(Time(r.IntN(1000)))
		} else {
			s.Begin(Time(r.IntN(1000)), 5)
		}
		for _, v := range r.Perm(s.NumDocuments()) {
			if s.Profile(graph.Node(v)).Born == s.cycle || !s.full && r.IntN(3) > 0 {
				continue
			}
			f := Answer{Gone: r.IntN(9) == 0, Failed: r.IntN(9) == 0, Cost: []float64{0, 1, .1}[r.IntN(3)]}
			if !f.Gone && !f.Failed {
				f.Links, f.Changed, f.Modified = r.IntN(9), r.IntN(2) == 0, r.IntN(2) == 0
				for range max(0, r.IntN(8)-4) {
					f.Same = append(f.Same, Key(r.IntN(int(next)+2)))
				}
				for range r.IntN(4) {
					f.Gained = append(f.Gained, Key(r.IntN(int(next)+2)))
				}
				for range r.IntN(3) {
					kind := Kind(max(0, r.IntN(6)-3))
					f.Gained = append(f.Gained, next)
					f.Found = append(f.Found, Document{Key: next, Path: fmt.Sprintf("/%d/%d", r.IntN(20), next), Kind: kind,
						Links: []Key{Key(r.IntN(int(next))), next + 1}, Seen: Time(r.IntN(3) * r.IntN(2000)), Published: Time(r.IntN(3) * (r.IntN(2000) - 1000))})
					next++
				}
			}
			s.Observe(graph.Node(v), f)
		}
		s.End()
		records = append(records, s.Record())
	}
	return records
}

// TestReplay brings a second policy to the point of the first from the records.
func TestReplay(t *testing.T) {
	for seed := range uint64(200) {
		first, second := &scribe{}, &scribe{}
		var from, to Policy = first, second
		if seed%2 == 0 {
			a, b := &linkScribe{}, &linkScribe{}
			from, to, first, second = a, b, &a.scribe, &b.scribe
		}
		records := randomSite(rand.New(rand.NewPCG(seed, 0)), from)
		s := NewSite(to)
		s.Believe = true
		for i, b := range records {
			if err := s.Replay(b); err != nil {
				t.Fatalf("seed %d, record %d: %v", seed, i, err)
			}
		}
		for i := range first.told {
			if i >= len(second.told) || first.told[i] != second.told[i] {
				t.Fatalf("seed %d: told %d:\n%s\nwant\n%s", seed, i, second.told[i], first.told[i])
			}
		}
		if len(first.told) != len(second.told) {
			t.Fatalf("seed %d: told %d things, want %d", seed, len(second.told), len(first.told))
		}
	}
}

func FuzzReplay(f *testing.F) {
	for seed := range uint64(5) {
		f.Add(bytes.Join(randomSite(rand.New(rand.NewPCG(seed, 1)), &scribe{}), nil))
		for _, b := range randomSite(rand.New(rand.NewPCG(seed, 1)), &linkScribe{})[1:] {
			f.Add(b)
		}
	}
	start := randomSite(rand.New(rand.NewPCG(0, 1)), &scribe{})[0]
	f.Fuzz(func(t *testing.T, b []byte) {
		s := NewSite(&linkScribe{})
		if err := s.Replay(start); err != nil {
			t.Fatal(err)
		}
		if err := s.Replay(b); err != nil && !errors.Is(err, ErrRecord) {
			t.Fatalf("Replay: %v", err)
		}
	})
}

// TestNewH compares the grouped H_t with reachability page by page.
func TestNewH(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		n, m := 2+r.IntN(20), r.IntN(60)
		links := make([][]graph.Node, n)
		for range m {
			u := r.IntN(n)
			links[u] = append(links[u], graph.Node(r.IntN(n)))
		}
		var fresh, lists, old []graph.Node
		kind := make([]int, n)
		for v := range n {
			kind[v] = r.IntN(5)
			switch {
			case kind[v] < 2:
				fresh = append(fresh, graph.Node(v))
			case kind[v] == 2:
				lists = append(lists, graph.Node(v))
			case kind[v] == 3:
				old = append(old, graph.Node(v))
			}
		}
		h := NewCoverGraph(fresh, lists, old, func(v graph.Node) []graph.Node { return links[v] })
		of := h.Groups(n)
		for _, x := range old {
			want := map[graph.Node]bool{}
			seen := map[graph.Node]bool{}
			var walk func(v graph.Node)
			walk = func(v graph.Node) {
				for _, u := range links[v] {
					if kind[u] <= 2 && !seen[u] {
						seen[u] = true
						if kind[u] < 2 {
							want[u] = true
						}
						walk(u)
					}
				}
			}
			walk(x)
			var got []graph.Node
			if of[x] >= 0 {
				got = h.Covers(nil, int(of[x]))
				if h.Size(int(of[x])) != len(got) {
					t.Fatalf("seed %d: Size = %d, want %d", seed, h.Size(int(of[x])), len(got))
				}
			}
			if len(got) != len(want) {
				t.Fatalf("seed %d: N(%d) = %v, want %v", seed, x, got, want)
			}
			for _, y := range got {
				if !want[y] {
					t.Fatalf("seed %d: N(%d) = %v, want %v", seed, x, got, want)
				}
			}
		}
		// No two groups cover the same, no two columns are covered by the same groups.
		for g := range h.Cols {
			for f := range g {
				if slices.Equal(h.Cols[f], h.Cols[g]) {
					t.Fatalf("seed %d: groups %d and %d are the same", seed, f, g)
				}
			}
		}
		by := map[string]int{}
		for c := range h.New {
			key := ""
			for g := range h.Cols {
				if slices.Contains(h.Cols[g], int32(c)) {
					key += fmt.Sprint(g, " ")
				}
			}
			if d, ok := by[key]; ok || key == "" {
				t.Fatalf("seed %d: columns %d and %d are covered by the same groups", seed, c, d)
			}
			by[key] = c
		}
	}
}

// TestRelinked: home newly links to a post that was found gone; the policy is told until the
// post has answered. A failed fetch says nothing of whether it is there.
func TestRelinked(t *testing.T) {
	s := NewSite(&scribe{})
	s.Start(firstCrawl())
	now := Time(0)
	for _, c := range []struct {
		name  string
		of    graph.Node
		fetch Answer
		want  []graph.Node
	}{
		{"there", 0, Answer{Changed: true, Gained: []Key{1}}, nil},
		{"gone", 2, Answer{Gone: true}, nil},
		{"linked", 0, Answer{Changed: true, Gained: []Key{1, 2}}, []graph.Node{2}},
		{"failed", 2, Answer{Failed: true}, nil},
		{"linked again", 3, Answer{Changed: true, Gained: []Key{1}}, []graph.Node{2}},
		{"back", 2, Answer{Changed: true, Gained: []Key{0}}, nil},
		{"linked once more", 0, Answer{Changed: true, Gained: []Key{1}}, nil},
	} {
		now++
		s.Begin(now, 1)
		if v := s.Observe(c.of, c.fetch); !slices.Equal(v.Relinked, c.want) {
			t.Errorf("%s: relinked %v, want %v", c.name, v.Relinked, c.want)
		}
		s.End()
	}
}
