package heap

import (
	"cmp"
	stdheap "container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// item has a key that may change while it waits.
type item struct{ key, id, place int }

func earlier(a, b *item) bool { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id)) < 0 }

// standard is the heap of the standard library over the same items.
type standard []*item

func (s standard) Len() int           { return len(s) }
func (s standard) Less(i, j int) bool { return earlier(s[i], s[j]) }
func (s standard) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *standard) Push(x any)        { *s = append(*s, x.(*item)) }
func (s *standard) Pop() any {
	x := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return x
}

// TestAgainstStandard does the same to both heaps: they hold the same items in the same places,
// and each item knows its own.
func TestAgainstStandard(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		h := Heap[*item]{Before: earlier, Moved: func(x *item, at int) { x.place = at }}
		var s standard
		for id := range r.IntN(20) {
			x := &item{key: r.IntN(9), id: id}
			h.Items, s = append(h.Items, x), append(s, x)
		}
		h.Init()
		stdheap.Init(&s)
		for step := range 100 {
			what := r.IntN(8)
			if h.Len() == 0 {
				what = 0
			}
			at := 0
			if h.Len() > 0 {
				at = r.IntN(h.Len())
			}
			switch what {
			case 0, 1:
				x := &item{key: r.IntN(9), id: 100 + step}
				h.Push(x)
				stdheap.Push(&s, x)
			case 2:
				if got, want := h.Pop(), stdheap.Pop(&s); got != want {
					t.Fatalf("seed %d, step %d: Pop() = %v, want %v", seed, step, got, want)
				}
			case 3:
				if got, want := h.Remove(at), stdheap.Remove(&s, at); got != want {
					t.Fatalf("seed %d, step %d: Remove(%d) = %v, want %v", seed, step, at, got, want)
				}
			case 4:
				h.Items[at].key = r.IntN(9)
				h.Fix(at)
				stdheap.Fix(&s, at)
			case 5:
				h.Items[at].key -= r.IntN(3)
				h.Raise(at)
				stdheap.Fix(&s, at)
			case 6:
				h.Items[at].key += r.IntN(3)
				h.Lower(at)
				stdheap.Fix(&s, at)
			case 7:
				x := &item{key: r.IntN(9), id: 100 + step}
				h.Replace(x)
				s[0] = x
				stdheap.Fix(&s, 0)
			}
			if !slices.Equal(h.Items, s) {
				t.Fatalf("seed %d, step %d: the two heaps differ", seed, step)
			}
			for i, x := range h.Items {
				if x.place != i {
					t.Fatalf("seed %d, step %d: item %d was told %d", seed, step, i, x.place)
				}
			}
		}
	}
}

// ExampleHeap takes the cheapest first, after one of them became cheaper.
func ExampleHeap() {
	type offer struct {
		name  string
		price int
		place int
	}
	h := Heap[*offer]{
		Before: func(a, b *offer) bool { return a.price < b.price },
		Moved:  func(o *offer, place int) { o.place = place },
	}
	pear := &offer{name: "pear", price: 5}
	h.Push(pear)
	h.Push(&offer{name: "plum", price: 3})
	h.Push(&offer{name: "fig", price: 4})
	pear.price = 2
	h.Fix(pear.place)
	for h.Len() > 0 {
		o := h.Pop()
		fmt.Println(o.name, o.price)
	}
	// Output:
	// pear 2
	// plum 3
	// fig 4
}
