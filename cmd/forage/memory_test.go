package main

import (
	"math"
	"runtime/debug"
	"testing"
)

// TestMemoryLimit: the limit is the same while it is answers that take memory, and grows with what a large
// crawl keeps.
func TestMemoryLimit(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct{ live, held, want int64 }{
		{40 * mib, 0, leanHeap}, {160 * mib, 0, leanHeap}, {240 * mib, 90 * mib, leanHeap}, {162 * mib, 0, leanHeap}, {300 * mib, 0, 450 * mib}, {2000 * mib, 100 * mib, 2950 * mib},
	} {
		if got := memoryLimit(c.live, c.held); got != c.want {
			t.Errorf("%d MiB live, %d of them held: a limit of %d, want %d", c.live/mib, c.held/mib, got, c.want)
		}
	}
}

// TestKeepLean sets the limit, and takes it back; one of the user's it leaves alone.
func TestKeepLean(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	none := func() int64 { return 0 }
	debug.SetMemoryLimit(math.MaxInt64)
	stop := keepLean(none)
	if got := debug.SetMemoryLimit(-1); got != leanHeap {
		t.Errorf("the limit is %d, want %d", got, leanHeap)
	}
	if stop(); debug.SetMemoryLimit(-1) != math.MaxInt64 {
		t.Errorf("the limit is %d after the end", debug.SetMemoryLimit(-1))
	}
	debug.SetMemoryLimit(1 << 40)
	keepLean(none)()
	if got := debug.SetMemoryLimit(-1); got != 1<<40 {
		t.Errorf("the user's limit is %d", got)
	}
}
