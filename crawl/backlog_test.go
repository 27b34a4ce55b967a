package crawl

import (
	"testing"

	"forage/graph"
)

// TestPutFirst: the first in line is put back into its place, and whatever else is before all others.
func TestPutFirst(t *testing.T) {
	const n = 10_000
	b := &backlog{}
	for i := range n {
		b.front = append(b.front, item{id: graph.Node(i)})
	}
	if per := testing.AllocsPerRun(10, func() {
		it := b.front[0]
		b.head, b.front = b.front, b.front[1:]
		b.putFirst(it)
	}); per != 0 {
		t.Errorf("%v allocations to put an item back", per)
	}
	it := b.front[0]
	b.head, b.front = b.front, b.front[1:]
	b.front = append([]item{{id: n}}, b.front...) // a probe has come between
	b.putFirst(it)
	if len(b.front) != n+1 || b.front[0].id != 0 || b.front[1].id != n || b.front[2].id != 1 {
		t.Errorf("in line are %d, first %d, %d, %d", len(b.front), b.front[0].id, b.front[1].id, b.front[2].id)
	}
	b.front = []item{{id: 7}}
	b.head, b.front = b.front, b.front[1:]
	b.putFirst(item{id: 7})
	if len(b.front) != 1 || b.front[0].id != 7 {
		t.Errorf("in line is %v", b.front)
	}
}
