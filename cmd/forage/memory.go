package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// The garbage collector lets the heap double between two of its cycles. What is held of answers comes
// and goes, so that in a crawl of hostile sites half of the process would be answers of the past.
const (
	leanHeap   = 288 << 20 // what the Go runtime takes at most while what stays is small
	smallState = 160 << 20 // of what stays: beyond it that would cost more collections than it is worth
)

// memoryLimit is the soft limit of the Go runtime after a cycle of the collector that found so many live
// bytes, of which so many are held of answers.
func memoryLimit(live, held int64) int64 {
	if state := live - held; state > smallState {
		return max(leanHeap, live+state/2) // half as much again as what stays
	}
	return leanHeap
}

// keepLean has the runtime keep to memoryLimit from here on, until stop is called. Where the user has
// set a limit (GOMEMLIMIT), that one holds.
func keepLean(held func() int64) (stop func()) {
	if debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return func() {}
	}
	l := &lean{held: held}
	l.limit(0)
	l.afterNext()
	return func() {
		l.ended.Store(true)
		debug.SetMemoryLimit(math.MaxInt64)
	}
}

type lean struct {
	held  func() int64
	set   int64
	ended atomic.Bool
}

// limit sets the limit for so many live bytes.
func (l *lean) limit(live int64) {
	if n := memoryLimit(live, l.held()); n != l.set {
		l.set = n
		debug.SetMemoryLimit(n)
	}
}

// afterNext has the limit set anew after the next cycle of the collector: it finds an object that
// nothing refers to.
func (l *lean) afterNext() {
	runtime.AddCleanup(new([64]byte), func(l *lean) {
		if l.ended.Load() {
			return
		}
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		l.limit(int64(live[0].Value.Uint64()))
		l.afterNext()
	}, l)
}
