package node

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"forage/crawl"
	"forage/distributed/shards/checkpoint"
)

// Fetches of all partitions together, for the life of the crawl, are bounded by MaxTotal. How many are taken is a tally beside the checkpoints: each
// process takes some at a time, spends them, and gives back what it has no use for. So no more than there are can be spent, whatever dies: what a process
// had that was killed counts as spent.

// An allotment is what the process has of that.
type allotment struct {
	tally *checkpoint.Tally
	max   int64
	log   *slog.Logger
	now   func() time.Time

	mu    sync.Mutex
	has   int64         // that it may spend
	low   int64         // more is taken when it has that many
	taken int64         // by all processes, as it saw last
	last  time.Time     // that one was spent, or asked for
	none  time.Time     // until then none is to be had; zero: some may be
	want  chan struct{} // holds a token while more is to be taken
}

const (
	mostTaken   = 10_000                // at a time
	takenIn     = 20 * time.Millisecond // or later: when somebody asks again who found none
	unspentFor  = 10 * time.Second      // before they are given back
	noneFor     = 10 * time.Second      // before it is asked again whether others have given some back
	takeAgainIn = time.Second           // after an error
)

func newAllotment(b checkpoint.Bucket, most int64, log *slog.Logger, now func() time.Time) *allotment {
	return &allotment{tally: checkpoint.NewTally(b), max: most, log: log, now: now, want: make(chan struct{}, 1)}
}

// spend is crawl.Config.Spend.
func (a *allotment) spend() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if a.has > 0 {
		a.has--
		a.last = now
		if a.has == a.low {
			a.more()
		}
		return 0
	}
	if wait := a.none.Sub(now); wait > 0 {
		return wait
	}
	a.last = now
	a.more()
	return takenIn
}

// more has some be taken.
func (a *allotment) more() {
	select {
	case a.want <- struct{}{}:
	default:
	}
}

// run takes what is wanted and gives back what is not spent, until ctx ends; then all of it.
func (a *allotment) run(ctx context.Context) {
	tick := time.NewTicker(unspentFor / 2)
	defer tick.Stop()
	troubled, told := false, false
	for {
		var err error
		select {
		case <-a.want:
			err = a.take(ctx)
		case <-tick.C:
			if a.idle() {
				err = a.giveBack(ctx)
			}
		case <-ctx.Done():
			return
		}
		a.mu.Lock()
		over := err == nil && a.taken >= a.max && a.has == 0
		if err != nil {
			a.none = a.now().Add(takeAgainIn)
		}
		a.mu.Unlock()
		if err != nil && !troubled && ctx.Err() == nil {
			a.log.Warn("nothing can be taken of --max-total; it is tried again", "error", err)
		}
		troubled = err != nil
		if over && !told {
			a.log.Warn("all of --max-total is taken: nothing more is fetched", "max-total", a.max)
		}
		told = over || told && err != nil
	}
}

// take takes some: not so much that others would find none while this process has it.
func (a *allotment) take(ctx context.Context) error {
	a.mu.Lock()
	enough := a.has > a.low
	a.mu.Unlock()
	if enough {
		return nil
	}
	var got int64
	taken, err := a.tally.Change(ctx, func(taken int64) int64 {
		left := max(0, a.max-taken)
		got = min(mostTaken, left, 1+left/64)
		return got
	})
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.taken, a.none = taken, time.Time{}
	a.has, a.low = a.has+got, got/2
	if got == 0 {
		a.none = a.now().Add(noneFor)
	}
	return nil
}

// idle reports whether nothing was spent for a time.
func (a *allotment) idle() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.has > 0 && a.now().Sub(a.last) >= unspentFor
}

// giveBack gives back all that is left. After an error it counts as spent, as it may be given back.
func (a *allotment) giveBack(ctx context.Context) error {
	a.mu.Lock()
	left := a.has
	a.has = 0
	a.mu.Unlock()
	if left == 0 {
		return nil
	}
	taken, err := a.tally.Change(ctx, func(int64) int64 { return -left })
	if err != nil {
		return errors.Join(errors.New("what was not spent may not be given back"), err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.taken = taken
	return nil
}

// seen is how many are taken by all processes, as this one saw last.
func (a *allotment) seen() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.taken
}

// share has the fetches of a loop count towards MaxTotal. end is called when the loop fetches nothing any more.
func (n *Node) share(fetching *crawl.Config) (end func()) {
	if n.MaxTotal == 0 {
		return func() {}
	}
	n.total = newAllotment(checkpoint.In(n.bucket, n.Group), n.MaxTotal, n.Log, time.Now)
	fetching.Spend = n.total.spend
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { n.total.run(ctx); close(ended) }()
	return func() {
		cancel()
		<-ended
		last, cancel := context.WithTimeout(context.Background(), n.Session)
		defer cancel()
		if err := n.total.giveBack(last); err != nil {
			n.Log.Warn("fetches that were not made count towards --max-total", "error", err)
		}
	}
}
