package checkpoint

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// TestTally has several take from one tally at once, and give some of it back: what they have is what the tally says, and never above its limit.
func TestTally(t *testing.T) {
	eachBucket(t, func(t *testing.T, b Bucket) {
		const limit = 200
		var have atomic.Int64
		var takers sync.WaitGroup
		for range 4 {
			takers.Go(func() {
				tally := NewTally(b)
				for i := 1; ; i++ {
					var got int64
					taken, err := tally.Change(t.Context(), func(taken int64) int64 {
						got = min(7, limit-taken)
						return got
					})
					if err != nil {
						t.Error(err)
						return
					}
					have.Add(got)
					if taken > limit {
						t.Errorf("%d are taken of %d", taken, limit)
					}
					if got == 0 {
						return
					}
					if i%3 == 0 {
						if _, err := tally.Change(t.Context(), func(int64) int64 { return -2 }); err != nil {
							t.Error(err)
						}
						have.Add(-2)
					}
				}
			})
		}
		takers.Wait()
		taken, err := NewTally(b).Change(t.Context(), func(int64) int64 { return 0 })
		if err != nil || taken != have.Load() || taken > limit || taken < limit-2*4 {
			t.Errorf("%d are taken of %d, %v; want the %d that they have", taken, limit, err, have.Load())
		}
		if files := listed(t.Context(), t, b, "tally/"); len(files) == 0 || len(files) > talliesKept+1 {
			t.Errorf("%d files are left, want %d at most", len(files), talliesKept+1)
		}
	})
}

// A tardy bucket does something before it makes a file, or fails after it has made one.
type tardy struct {
	Bucket
	before func()
	after  error
}

func (b *tardy) Create(ctx context.Context, name string, content []byte) error {
	if b.before != nil {
		b.before()
	}
	return errors.Join(b.Bucket.Create(ctx, name, content), b.after)
}

// TestTallyOvertaken: one who changes the tally from what it was long ago has an error, and changes nothing, also where the file that he makes was
// removed; after a lost answer what he took counts as taken.
func TestTallyOvertaken(t *testing.T) {
	b := Folder(scratch(t))
	one := func(int64) int64 { return 1 }
	takes := func(n int) func() {
		return func() {
			for range n {
				if _, err := NewTally(b).Change(t.Context(), one); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	want := int64(0)
	for _, n := range []int{1, talliesKept - 1, talliesKept, talliesKept + 1, 2*talliesKept + 1} {
		late := &tardy{Bucket: b}
		late.before = func() { late.before = nil; takes(n)() }
		taken, err := NewTally(late).Change(t.Context(), one)
		want += int64(n)
		if err == nil {
			if want++; taken != want {
				t.Errorf("%d behind: the tally is %d, want %d", n, taken, want)
			}
		} else if !errors.Is(err, errOvertaken) || n <= talliesKept {
			t.Errorf("%d behind: %v", n, err)
		}
		if taken, err := NewTally(b).Change(t.Context(), func(int64) int64 { return 0 }); err != nil || taken != want {
			t.Errorf("%d behind: the tally is %d, %v; want %d", n, taken, err, want)
		}
	}
	lost := errors.New("the answer is lost")
	if _, err := NewTally(&tardy{Bucket: b, after: lost}).Change(t.Context(), one); !errors.Is(err, lost) {
		t.Errorf("a lost answer: %v", err)
	}
	if taken, err := NewTally(b).Change(t.Context(), one); err != nil || taken != want+2 {
		t.Errorf("the tally is %d, %v; want %d", taken, err, want+2)
	}
}
