// Package heap has one binary heap for all priority queues of the project.
//
// A Heap is a slice in heap order and the function that orders it. Items that change their
// worth while they wait are found again through Moved, which tells where each one is; without
// it only the first item can change.
//
// It differs from container/heap in three ways: items are not boxed in an interface, sifting
// moves a hole instead of swapping, and the caller writes one function instead of five methods.
// Both arrange the same items in the same way after the same calls.
//
// Each comparison is a call through Before, which a heap written for one type saves. In what is
// planned or waited for that does not matter: compared with such heaps a step of the frontier takes
// 0.21 µs instead of 0.19, index takes in a fetch in 0.48 µs instead of 0.42, a cycle of best on a
// million pages takes 2% more, and a keeper's vote 5% less. Where the heap is the algorithm it
// does: see keyHeap in package cover, which keeps its own.
package heap

// A Heap is a binary heap: Items[0] comes before all others. Before must be a strict order that
// does not change between calls, unless Fix follows for the item that changed. Where two items
// can be equal, which of them is first depends on the calls made so far: make the order total,
// by a number that each item has, wherever results must be the same in each run.
//
// A caller may write Items itself, to fill the heap at once or to empty it; Init must follow
// before any other call. The zero value lacks Before.
type Heap[T any] struct {
	Items  []T
	Before func(a, b T) bool
	// Moved, if set, is told the place of every item that gets another one, and of each new one.
	// An item that leaves is not told of. It must not call the heap.
	Moved func(x T, place int)
}

// Len returns the number of items.
func (h *Heap[T]) Len() int { return len(h.Items) }

// Init puts Items in order, whatever they are. O(n).
func (h *Heap[T]) Init() {
	if h.Moved != nil {
		for i, x := range h.Items {
			h.Moved(x, i)
		}
	}
	for i := len(h.Items)/2 - 1; i >= 0; i-- {
		h.down(i, h.Items[i])
	}
}

// Push adds x. O(log n).
func (h *Heap[T]) Push(x T) {
	h.Items = append(h.Items, x)
	h.up(len(h.Items)-1, x)
}

// Pop takes away the first item and returns it. It panics if there is none. O(log n).
func (h *Heap[T]) Pop() T { return h.Remove(0) }

// Remove takes away the item at a place and returns it. O(log n).
func (h *Heap[T]) Remove(i int) T {
	x, last := h.Items[i], len(h.Items)-1
	moved := h.Items[last]
	clear(h.Items[last:])
	h.Items = h.Items[:last]
	if i < last && h.down(i, moved) == i {
		h.up(i, moved)
	}
	return x
}

// Fix moves the item at a place to where it belongs now. O(log n).
func (h *Heap[T]) Fix(i int) {
	if x := h.Items[i]; h.down(i, x) == i {
		h.up(i, x)
	}
}

// Raise is Fix for an item that comes earlier than before or as early: half the comparisons.
func (h *Heap[T]) Raise(i int) { h.up(i, h.Items[i]) }

// Lower is Fix for an item that comes later than before or as late.
func (h *Heap[T]) Lower(i int) { h.down(i, h.Items[i]) }

// Replace puts x in the place of the first item.
func (h *Heap[T]) Replace(x T) { h.down(0, x) }

// up moves x from place i towards the root: items that it comes before step down in its way.
func (h *Heap[T]) up(i int, x T) {
	items, before, moved := h.Items, h.Before, h.Moved
	for i > 0 {
		parent := (i - 1) / 2
		p := items[parent]
		if !before(x, p) {
			break
		}
		items[i] = p
		if moved != nil {
			moved(p, i)
		}
		i = parent
	}
	items[i] = x
	if moved != nil {
		moved(x, i)
	}
}

// down moves x from place i away from the root and returns where it ends.
func (h *Heap[T]) down(i int, x T) int {
	items, before, moved := h.Items, h.Before, h.Moved
	for {
		child := 2*i + 1
		if child >= len(items) {
			break
		}
		c := items[child]
		if right := child + 1; right < len(items) {
			if r := items[right]; before(r, c) {
				child, c = right, r
			}
		}
		if !before(c, x) {
			break
		}
		items[i] = c
		if moved != nil {
			moved(c, i)
		}
		i = child
	}
	items[i] = x
	if moved != nil {
		moved(x, i)
	}
	return i
}
