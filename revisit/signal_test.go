package revisit

import (
	"fmt"
	"slices"
	"testing"
)

// TestBelieved runs a site whose sitemap speaks of 30 pages, a third of which change every
// second cycle. In each cycle the sitemap is fetched, then a tenth of the pages in turn.
func TestBelieved(t *testing.T) {
	const pages, cycles = 30, 60
	changes := func(page, cycle int) bool { return page%3 == 0 && (cycle+page)%2 == 0 }
	for _, test := range []struct {
		name string
		same func(page, cycle, last int) bool // what the sitemap says, of a page fetched at last
		// Whether it is believed at the end, and by when at the latest.
		want bool
		by   int
	}{
		{name: "true", want: true, by: 40, same: func(page, cycle, last int) bool {
			for c := last + 1; c <= cycle; c++ {
				if changes(page, c) {
					return false
				}
			}
			return true
		}},
		{name: "never updated", same: func(int, int, int) bool { return true }},
		{name: "always now", same: func(int, int, int) bool { return false }},
		{name: "at random", same: func(page, cycle, _ int) bool { return mixed(uint64(page*1000+cycle))%2 == 0 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &scribe{}
			s := NewSite(p)
			docs := []Document{{Key: 0, Path: "/sitemap.xml", Kind: Sitemap, WellKnown: true}}
			for i := range pages {
				docs = append(docs, Document{Key: Key(1 + i), Path: fmt.Sprintf("/%d", i)})
			}
			s.Start(docs)
			last := make([]int, pages)
			first := 0
			for c := 1; c <= cycles; c++ {
				s.Begin(Time(c), 4)
				var same []Key
				for i := range pages {
					if test.same(i, c, last[i]) {
						same = append(same, Key(1+i))
					}
				}
				list, _ := s.Node(0)
				s.Observe(list, Answer{Same: same})
				if first == 0 && s.signals.believed() {
					first = c
				}
				for i := c % 10; i < pages; i += 10 {
					changed := false
					for at := last[i] + 1; at <= c; at++ {
						changed = changed || changes(i, at)
					}
					last[i] = c
					v, _ := s.Node(Key(1 + i))
					s.Observe(v, Answer{Changed: changed})
				}
				s.End()
			}
			if got := s.signals.believed(); got != test.want || got && first > test.by {
				t.Errorf("believed %v, first in cycle %d; expected %.1f changes, missed %.1f", got, first, s.signals.expected, s.signals.missed)
			}
			told := slices.ContainsFunc(p.told, func(s string) bool { return len(s) > 4 && s[:5] == "same " })
			if told != test.want {
				t.Errorf("the policy was told: %v", told)
			}
		})
	}
}

// TestObserveSignal has best leave out for one cycle what a list says to be the same.
func TestObserveSignal(t *testing.T) {
	s := NewSite(NewBest(0))
	s.Believe = true
	s.Start(firstCrawl())
	choose := func(same ...Key) (chosen []Key) {
		t.Helper()
		s.Begin(Time(s.Cycle()), 9)
		for {
			v, ok := s.Next()
			if !ok {
				break
			}
			chosen = append(chosen, s.Key(v))
			f := Answer{}
			if s.Profile(v).Kind == Sitemap {
				f.Same = same
			}
			s.Observe(v, f)
		}
		s.End()
		slices.Sort(chosen)
		return chosen
	}
	if got, want := choose(1, 2), []Key{0, 3, 4, 5}; !slices.Equal(got, want) {
		t.Errorf("with 1 and 2 as they were, fetched %v, want %v", got, want)
	}
	if got, want := choose(), []Key{0, 1, 2, 3, 4, 5}; !slices.Equal(got, want) {
		t.Errorf("then fetched %v, want %v", got, want)
	}
}

// TestReplayOld reads records of a version that knew neither signals nor times, and of changes those
// of links only.
func TestReplayOld(t *testing.T) {
	start := "\x01\x02" + "\x00\x04\x01/\x01\x00" + "\x01\x02\x0c/sitemap.xml\x01\x00"
	cycle := "\x02\x00\xc8\x01\x03" + "\x01\x08\x00\x00\x00\x00\x00\x00\xf0\x3f\x02\x01\x02\x01" + "\x02\x00\x06/a.htm\x00\x00" + "\x00\x00"
	p := &scribe{}
	s := NewSite(p)
	for _, b := range []string{start, cycle} {
		if err := s.Replay([]byte(b)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"learn 0 {Kind:0 Home:true Main:false Index:false Template:0 List:0 Number:0 Depth:0 Links:1 Born:0 Seen:0 Published:0}",
		"learn 2 {Kind:0 Home:false Main:false Index:false Template:2 List:0 Number:0 Depth:0 Links:0 Born:1 Seen:100 Published:0}",
		"observe {Page:0 Modified:true Changed:true NotModified:false Gone:false Failed:false Cost:1 Led:[2] Found:[2] Relinked:[]}",
	} {
		if !slices.Contains(p.told, want) {
			t.Errorf("told %q, want %q", p.told, want)
		}
	}
}

// TestToldNothing: a list that calls the same only what was fetched in this cycle, or itself,
// tells nothing, and what it may know is not counted from then on.
func TestToldNothing(t *testing.T) {
	s := NewSite(&scribe{})
	s.Start(firstCrawl())
	s.Begin(1, 2)
	s.Observe(0, Answer{})
	s.Observe(5, Answer{Same: []Key{0, 4}})
	s.End()
	if n := len(s.signals.docs); n != 0 {
		t.Errorf("%d documents are counted, want 0", n)
	}
	s.Begin(2, 1)
	s.Observe(5, Answer{Same: []Key{0}})
	s.End()
	if n := len(s.signals.docs); n != s.NumDocuments() {
		t.Errorf("once told of one, %d documents are counted, want %d", n, s.NumDocuments())
	}
}
