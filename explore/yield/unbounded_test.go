package yield

import (
	"fmt"
	"testing"
)

// TestNames believes a path so many names of parameters, in any number of URLs.
func TestNames(t *testing.T) {
	var n Names
	for i := range 1000 {
		n.See(fmt.Sprintf("/list?sort=%d&filter[%d]=x&page=%d", i%7, i, i))
	}
	if n.Beyond("/list?page=1001") || n.Beyond("/list?filter[2000]=y") {
		t.Error("three names, numbers in one of them, are taken for too many")
	}
	name := func(i int) string { return fmt.Sprintf("/?%c%c=1", 'a'+i/26, 'a'+i%26) }
	for i := range 100 {
		n.See(name(i))
		if got := n.Beyond(name(i)); got != (i >= mostNames) {
			t.Errorf("name %d is beyond the bound: %v", i, got)
		}
	}
	if n.Beyond(name(0)) || n.Beyond("/other?zz=1") || !n.Beyond("/?aa=1&zz=1") {
		t.Error("names that are known, or of another path, are beyond the bound")
	}
}

// TestSegments learns a segment that does not change the page, and no other.
func TestSegments(t *testing.T) {
	session := func(i int) string { return fmt.Sprintf("%08x", uint32(i+1)*2654435761) }
	for _, test := range []struct {
		name  string
		text  func(i, page int) uint64
		pages int
		want  bool
	}{
		{"sessions", func(i, page int) uint64 { return uint64(page) }, 4, true},
		{"products", func(i, page int) uint64 { return uint64(i*10 + page) }, 4, false},
		{"products that all say the same, on one page each", func(i, page int) uint64 { return 7 }, 1, false},
		{"some that say the same", func(i, page int) uint64 { return uint64(i%4*10 + page) }, 4, false},
		{"pages that say nothing", func(i, page int) uint64 { return 0 }, 4, false},
	} {
		var s Segments
		at := func(i, page int) string { return fmt.Sprintf("/s/%s/page%c", session(i), 'a'+page) }
		for i := range 20 {
			for page := range test.pages {
				s.Fetched(at(i, page), test.text(i, page+1))
			}
		}
		before, got := s.Repeats(at(1000, 0))
		if got != test.want || got && before != "/s/" {
			t.Errorf("%s: %v, %q", test.name, got, before)
		}
		if _, new := s.Repeats(at(1000, 20)); new {
			t.Errorf("%s: a page of which there is no other is one that repeats", test.name)
		}
		if _, first := s.Repeats(at(0, 0)); first {
			t.Errorf("%s: the first page repeats itself", test.name)
		}
	}
}
