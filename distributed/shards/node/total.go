package node

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"forage/crawl"
	"forage/distributed/shards/checkpoint"
)

// Fetches of all partitions together, for the life of the crawl, are bounded by MaxTotal. How many are taken is a tally beside the checkpoints: each
// process takes some at a time, spends them, and gives back what it has no use for. So no more than there are can be spent, whatever dies: what a process
// had that was killed counts as spent.

// A quota is what the process has of that.
type quota struct {
	tally *checkpoint.Tally
	max   int64
	log   *slog.Logger

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

func newQuota(b checkpoint.Bucket, most int64, log *slog.Logger) *quota {
	return &quota{tally: checkpoint.NewTally(b), max: most, log: log, want: make(chan struct{}, 1)}
}

// spend is crawl.Config.Spend.
func (q *quota) spend() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	if q.has > 0 {
		q.has--
		q.last = now
		if q.has == q.low {
			q.more()
		}
		return 0
	}
	if wait := q.none.Sub(now); wait > 0 {
		return wait
	}
	q.last = now
	q.more()
	return takenIn
}

// more has some be taken.
func (q *quota) more() {
	select {
	case q.want <- struct{}{}:
	default:
	}
}

// run takes what is wanted, and gives back what is not spent for a time, until ctx ends.
func (q *quota) run(ctx context.Context) {
	tick := time.NewTicker(unspentFor / 2)
	defer tick.Stop()
	troubled, told := false, false
	for {
		var err error
		select {
		case <-q.want:
			err = q.take(ctx)
		case <-tick.C:
			if q.idle() {
				err = q.giveBack(ctx)
			}
		case <-ctx.Done():
			return
		}
		q.mu.Lock()
		over := err == nil && q.taken >= q.max && q.has == 0
		if err != nil {
			q.none = time.Now().Add(takeAgainIn)
		}
		q.mu.Unlock()
		if err != nil && !troubled && ctx.Err() == nil {
			q.log.Warn("what is taken of --max-total cannot be changed; it is tried again", "error", err)
		}
		troubled = err != nil
		if over && !told {
			q.log.Warn("all of --max-total is taken: nothing more is fetched", "max-total", q.max)
		}
		told = over || told && err != nil
	}
}

// take takes some: not so much that others would find none while this process has it.
func (q *quota) take(ctx context.Context) error {
	q.mu.Lock()
	enough := q.has > q.low
	q.mu.Unlock()
	if enough {
		return nil
	}
	var got int64
	taken, err := q.tally.Change(ctx, func(taken int64) int64 {
		left := max(0, q.max-taken)
		got = min(mostTaken, left, 1+left/64)
		return got
	})
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken, q.none = taken, time.Time{}
	q.has, q.low = q.has+got, got/2
	if got == 0 {
		q.none = time.Now().Add(noneFor)
	}
	return nil
}

// idle reports whether nothing was spent for a time.
func (q *quota) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.has > 0 && time.Since(q.last) >= unspentFor
}

// giveBack gives back all that is left. After an error it counts as spent, as it may be given back.
func (q *quota) giveBack(ctx context.Context) error {
	q.mu.Lock()
	left := q.has
	q.has = 0
	q.mu.Unlock()
	if left == 0 {
		return nil
	}
	taken, err := q.tally.Change(ctx, func(int64) int64 { return -left })
	if err != nil {
		return fmt.Errorf("fetches that were not made may count as spent: %w", err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken = taken
	return nil
}

// seen is how many are taken by all processes, as this one saw last.
func (q *quota) seen() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.taken
}

// share has the fetches of a loop count towards MaxTotal. end is called when the loop fetches nothing any more.
func (n *Node) share(fetching *crawl.Config) (end func()) {
	if n.MaxTotal == 0 {
		return func() {}
	}
	n.total = newQuota(checkpoint.In(n.bucket, n.Group), n.MaxTotal, n.Log)
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
			n.Log.Warn("not all that was taken of --max-total is given back", "error", err)
		}
	}
}
