package graph

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// workers returns the number of goroutines for threads; 0 and less mean one a processor.
func workers(threads int) int {
	if threads <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return threads
}

// parallel calls do(w, i) for every i in [0, n), each once, from the given number of
// goroutines, of which w is one, and returns when all have ended. Indices are handed out in
// ascending order.
func parallel(threads, n int, do func(w, i int)) {
	if threads = min(threads, n); threads <= 1 {
		for i := range n {
			do(0, i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range threads {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(w, i)
			}
		})
	}
	wg.Wait()
}
