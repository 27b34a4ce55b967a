package snap

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestBlog(t *testing.T) {
	write := func(seed uint64) string {
		var b bytes.Buffer
		if err := Write(&b, Blog(rand.New(rand.NewPCG(seed, 0)), 12)); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	text := write(1)
	if text != write(1) {
		t.Error("the same seed gives another history")
	}
	if text == write(2) {
		t.Error("another seed gives the same history")
	}
	h, err := Read(bytes.NewReader([]byte(text)), "blog")
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Snapshots) != 13 || h.Snapshots[0].Pages < 180 || h.Snapshots[0].Docs != 1 {
		t.Fatalf("%d snapshots, the first of %d pages", len(h.Snapshots), h.Snapshots[0].Pages)
	}
	gone := 0
	h.Walk(func(s *State) bool {
		added := 0
		for _, c := range h.Snapshots[s.K].Changes {
			switch c.Op {
			case Added:
				added++
			case Gone:
				gone++
			}
		}
		if added < 2 {
			t.Errorf("week %d adds %d pages", s.K, added)
		}
		// Every page is reachable from home.
		seen := map[ID]bool{0: true}
		for todo := []ID{0}; len(todo) > 0; todo = todo[1:] {
			for _, u := range s.Links[todo[0]] {
				if !seen[u] {
					seen[u] = true
					todo = append(todo, u)
				}
			}
		}
		for id, alive := range s.Alive {
			if alive && !seen[ID(id)] {
				t.Errorf("week %d: %s cannot be reached", s.K, h.URLs[id])
			}
		}
		return true
	})
	if gone == 0 {
		t.Error("no page ever goes")
	}
}
