package revisit

import "forage/graph"

// scored is a node with its value, in a heap: the largest value first, ties to the lower node.
type scored struct {
	value float64
	v     graph.Node
}

func before(x, y scored) bool { return x.value > y.value || x.value == y.value && x.v < y.v }

// heapify makes a heap of h.
func heapify(h []scored) {
	for i := len(h)/2 - 1; i >= 0; i-- {
		down(h, i)
	}
}

// down moves h[i], which may be too high, to its place.
func down(h []scored, i int) {
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && before(h[c+1], h[c]) {
			c++
		}
		if !before(h[c], h[i]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

// pushed returns h with x.
func pushed(h []scored, x scored) []scored {
	h = append(h, x)
	for i := len(h) - 1; i > 0 && before(h[i], h[(i-1)/2]); i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
	return h
}

// popped returns h without its top.
func popped(h []scored) []scored {
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	if last > 0 {
		down(h, 0)
	}
	return h
}
