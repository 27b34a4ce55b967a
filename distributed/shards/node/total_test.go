package node

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"forage/distributed/shards/checkpoint"
)

// TestMaxTotal has processes spend fetches as fast as they may: never more than there are, all of them if nobody is killed, and but for what he had
// if somebody is.
func TestMaxTotal(t *testing.T) {
	const most = 1000
	place := checkpoint.Folder(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		process := func() (a *quota, end func()) {
			a = newQuota(place, most, slog.New(slog.NewTextHandler(&log, nil)))
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { a.run(ctx); close(ended) }()
			return a, func() { cancel(); <-ended }
		}
		// spend spends n, or what there is, and tells how many that was.
		spend := func(a *quota, n int) (spent int) {
			refused := 0
			for spent < n && refused < 100 {
				wait := a.spend()
				if wait == 0 {
					spent, refused = spent+1, 0
					continue
				}
				if wait > noneFor {
					t.Errorf("a wait of %v", wait)
				}
				refused++
				time.Sleep(wait)
				synctest.Wait()
			}
			return spent
		}
		a, endA := process()
		b, endB := process()
		c, endC := process()
		defer endC()
		total := spend(a, 100) + spend(b, 50) + spend(c, 3)
		if total != 153 {
			t.Errorf("%d are spent, want 153", total)
		}
		endB() // it is killed: what it has is nobody's
		had := int(b.has)
		if had == 0 {
			t.Error("who was killed had none")
		}
		time.Sleep(2 * unspentFor) // what c does not use any more is given back
		synctest.Wait()
		if a.has > 0 || c.has > 0 {
			t.Errorf("idle ones have %d and %d", a.has, c.has)
		}
		total += spend(a, most)
		if total != most-had {
			t.Errorf("%d are spent, want all of %d but for the %d of who was killed", total, most, had)
		}
		if n := spend(c, 1); n != 0 {
			t.Error("one more is spent than there are")
		}
		if n := strings.Count(log.String(), "nothing more is fetched"); n != 2 {
			t.Errorf("it is told %d times, want once by each of the two: %s", n, log.String())
		}
		endA()
		if err := a.giveBack(t.Context()); err != nil {
			t.Error(err)
		}
		if taken, err := checkpoint.NewTally(place).Change(t.Context(), func(int64) int64 { return 0 }); err != nil || taken != most {
			t.Errorf("%d are taken, %v; want %d", taken, err, most)
		}

		// Who is given more by a higher limit goes on.
		d := newQuota(place, most+5, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { d.run(ctx); close(ended) }()
		if n := spend(d, 10); n != 5 {
			t.Errorf("%d are spent of 5 more", n)
		}
		cancel()
		<-ended
	})
}
