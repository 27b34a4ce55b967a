package main

import (
	"bytes"
	"fmt"
	"testing"
)

// Every page of the site can be reached, and has the links and about the size that were asked for.
func TestSite(t *testing.T) {
	for _, pages := range []uint64{1, 2, 5, 1000, 50_000} {
		s := newSite(pages, 10_240, 20)
		seen := make([]bool, pages)
		seen[0] = true
		todo := []uint64{0}
		n := uint64(1)
		for len(todo) > 0 {
			i := todo[0]
			todo = todo[1:]
			for k := range s.links {
				if v := s.target(i, k); !seen[v] {
					seen[v] = true
					todo = append(todo, v)
					n++
				}
			}
		}
		if n != pages {
			t.Errorf("%d pages: %d can be reached", pages, n)
		}
		b := s.page(nil, pages-1)
		if links := bytes.Count(b, []byte("<a href=")); links != 20 || len(b) < 9_000 || len(b) > 11_500 {
			t.Errorf("page %d: %d links, %d bytes", pages-1, links, len(b))
		}
	}
	for line, want := range map[string]int{
		"GET / HTTP/1.1": 0, "GET /p/7 HTTP/1.1": 7, "GET /p/0 HTTP/1.1": 0, "GET /p/10 HTTP/1.1": -1, "GET /robots.txt HTTP/1.1": -1, "": -1, "GET /p/x HTTP/1.1": -1,
	} {
		got, ok := pageNumber([]byte(line), 10)
		if ok != (want >= 0) || ok && fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("pageNumber(%q) = %d, %v, want %d", line, got, ok, want)
		}
	}
}
