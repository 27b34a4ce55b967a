package crawl

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"forage/crawl/document"
	"forage/crawl/scope"
	"forage/explore/yield"
	"forage/fetch"
	"forage/store"
)

// An import takes in answers that were given before, to us or to others. They go the way of those that come (answer.go), at the times
// at which they were given, so that documents, links, visits, what is new, and what policies learn are as if they had come then. Nothing
// is asked for: what they lead to, and none of them answers, waits in the queue.
//
// The first captures of a site are its first visit. Later ones are cycles of discovery, a round each, see intake.newRound. What was
// there before the site was fetched last, as where an older archive comes after a younger one, is taken in where nothing is known
// that is younger, and is not new.
//
// There is no record of how far an import is but the documents themselves, and a date in the record of each site: both are of one
// commit. So one that is killed goes on where it was when it is begun again, and the same captures, imported again, change nothing.

// A Capture is an answer that was given before.
type Capture struct {
	Rules *store.Rules // of its site, for where the store has none: Within is its name. Captures of a site have the same
	Seeds []string     // that a new site is to have, normalised; none: it gets the URL of its first capture
	URL   string       // normalised
	At    time.Time    // when it was there

	Cycle string          // names the cycle of an archive of ours that it is of; "": nothing is known of its cycle
	Visit store.CycleKind // what that was, "": not known
	Role  string          // what an archive of ours says of it: seed, probe, or robots and the origin; "": it is a document, or nobody knows
	Via   string          // the URL that led there, normalised; "": not known
	Link  store.LinkKind  // how

	// OK tells that it was an answer of 2xx with a type of which a crawl reads documents, without reading it.
	OK bool
	// Open returns the answer, with what is to be called when it was read; nil: there is none to be read, but that nothing had changed.
	// It is called by several goroutines at once, those of several captures, and may be called again.
	Open func() (*fetch.Answer, func(), error)
}

// Captures are what is to be imported: site by site, and of each site in the order of their dates.
type Captures interface {
	// Next returns the next one, or io.EOF.
	Next() (*Capture, error)
}

// An Imported tells what came of an import.
type Imported struct {
	*Result
	Taken int64            // captures, or sightings, that were taken in
	Added int64            // of these, sightings of URLs that the store did not have
	Same  int64            // captures of which the store knew
	Left  map[string]int64 // captures that were left out, by why, for people
}

// ErrNotAlone is returned by Import where runs are under way, and by what steers where an import is.
var ErrNotAlone = errors.New("an import has the store to itself: nothing else goes on beside it, and it can be stopped only")

// Import takes in captures. No other run may be under way until it returns. Of opt count Progress, Log and Skipped. Interrupted by ctx, or
// Stop, it may be begun again, and goes on. Errors: those of from, of Capture.Open and of the store, ErrNotAlone, ErrHandedBack.
func (c *Crawl) Import(ctx context.Context, from Captures, opt Options) (*Imported, error) {
	im := &intake{crawl: c, from: from}
	return im.carryOut(ctx, opt, im.feed)
}

// carryOut has the loop carry out an import: feed gives it what there is.
func (im *intake) carryOut(ctx context.Context, opt Options, feed func(ctx context.Context) error) (*Imported, error) {
	c := im.crawl
	im.left, im.ended, im.feeds = map[string]int64{}, make(chan struct{}), feed
	r, err := c.execute(ctx, opt, im.begin)
	if im.run == nil { // it was not begun
		return nil, err
	}
	<-im.ended
	over := make(chan struct{})
	c.loop.do(func() {
		if im.cycle != nil && im.cycle.closed {
			im.cycle = nil // it is in the sum of the run
		}
		im.leave()
		c.dated, c.intake = time.Time{}, nil
		close(over)
	})
	<-over
	if err = errors.Join(err, im.err); err != nil {
		return nil, err
	}
	r.Sites = im.sites
	return &Imported{Result: r, Taken: im.taken, Added: im.added, Same: im.same, Left: im.left}, nil
}

// begin starts the import, in the loop.
func (im *intake) begin(r *run) error {
	c := im.crawl
	if len(c.runs) > 1 {
		return ErrNotAlone
	}
	n, err := c.db.NumURLs()
	if err != nil {
		return err
	}
	im.run, c.intake, im.known = r, im, n > 0
	im.worker = newWorker(c.loop.client)
	r.pending++ // until all is taken in
	go func() {
		defer close(im.ended)
		im.err = im.feeds(r.ctx)
		c.loop.do(func() { im.finish() })
	}()
	return nil
}

// ahead is how many captures for each processor are read before it is their turn.
const ahead = 32

// mostAtOnce is how many captures are taken in between two commits: what others ask of the loop waits for some milliseconds.
const mostAtOnce = 256

// largeContent is how many bytes of what was made of an answer may wait for the turn of that answer. What has more waits with its worker, so
// that no more of that is held than there are workers.
const largeContent = 256 << 10

// A hint is what is likely to be needed of documents: what is needed, and was not worked out, is read again.
type hint struct{ shapes, texts, says atomic.Bool }

// A reading is a capture on its way through the workers.
type reading struct {
	*job
	seq  uint64
	done chan struct{} // closed when it was read
}

// A line has those wait whose turn has not come.
type line struct {
	mu   sync.Mutex
	cond sync.Cond
	next uint64
	over bool
}

func newLine() *line {
	l := new(line)
	l.cond.L = &l.mu
	return l
}

// wait returns when it is the turn of seq, or when the line has ended.
func (l *line) wait(seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.next < seq && !l.over {
		l.cond.Wait()
	}
}

// call makes it the turn of seq.
func (l *line) call(seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = seq
	l.cond.Broadcast()
}

// end has nobody wait any more.
func (l *line) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.cond.Broadcast()
}

// feed reads captures, several at a time, and has them taken in, in their order. It returns when all are, or the run is to end.
func (im *intake) feed(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	turn := newLine()
	var working sync.WaitGroup
	defer working.Wait()
	defer turn.end()
	defer cancel()

	n := runtime.GOMAXPROCS(0)
	work, order, ready := make(chan *reading, n*ahead), make(chan *reading, n*ahead), make(chan *reading, mostAtOnce)
	var failed error // of im.from; it is set before order is closed, and so before ready is
	working.Go(func() {
		defer close(order)
		defer close(work)
		for seq := uint64(0); ctx.Err() == nil; seq++ {
			next, err := im.from.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				failed = err
				return
			}
			r := &reading{job: im.jobOf(ctx, next), seq: seq, done: make(chan struct{})}
			for _, to := range [...]chan *reading{order, work} {
				select {
				case to <- r:
				case <-ctx.Done():
					return
				}
			}
		}
	})
	for range n {
		working.Go(func() {
			w := newWorker(im.crawl.loop.client)
			for r := range work {
				if w.take(r.job); r.content != nil && r.content.Size() > largeContent {
					turn.wait(r.seq)
				}
				close(r.done)
			}
		})
	}
	working.Go(func() {
		defer close(ready)
		for r := range order {
			select {
			case <-r.done:
			case <-ctx.Done():
				return
			}
			select {
			case ready <- r:
			case <-ctx.Done():
				return
			}
		}
	})
	var some []*job
	for r := range ready {
		some = append(some[:0], r.job)
		for len(some) < mostAtOnce && len(ready) > 0 {
			r = <-ready
			some = append(some, r.job)
		}
		if more, err := im.give(ctx, len(some), func(from int) (int, progress, error) { return im.take(some[from:]) }); err != nil || !more {
			return err
		}
		turn.call(r.seq + 1)
	}
	im.all = failed == nil && ctx.Err() == nil
	return failed
}

// give has the loop take in what was read, n captures or sightings: take takes in those from a number on, and returns how many. It reports whether
// there may be more.
func (im *intake) give(ctx context.Context, n int, take func(from int) (int, progress, error)) (more bool, err error) {
	type taken struct {
		n    int
		then progress
		err  error
	}
	for from := 0; from < n; {
		t := make(chan taken, 1)
		im.crawl.loop.do(func() {
			n, then, err := take(from)
			t <- taken{n, then, err}
		})
		got := <-t
		if got.err != nil {
			return false, got.err
		}
		from += got.n
		switch got.then {
		case stops:
			return false, nil
		case waits: // for room on the disk
			select {
			case <-time.After(fullInterval):
			case <-ctx.Done():
				return false, nil
			}
		}
	}
	return true, nil
}

// jobOf makes a job of a capture: what it asks for, and how it is read, as far as anybody knows before its turn has come.
func (im *intake) jobOf(ctx context.Context, from *Capture) *job {
	j := &job{ctx: ctx, capture: from, at: from.At, asked: true}
	j.request = fetch.Request{URL: from.URL}
	j.read = document.Options{URL: from.URL, IgnoreParams: from.Rules.IgnoreParams, Shapes: im.hint.shapes.Load() || from.Role == roleProbe}
	switch kind, _, _ := strings.Cut(from.Role, " "); {
	case kind == roleRobots || kind == "" && isRobots(from.URL):
		j.work = fetchRobots
		j.request.Any, j.request.MaxBody = true, fetch.MaxRobots
		return j
	case kind == roleProbe:
		j.work = fetchProbe
		return j
	}
	j.work = fetchNew
	j.unread = im.known && im.isOld(from)
	j.read.Texts = im.hint.texts.Load() || yield.Doubts(scope.Path(from.URL))
	if im.hint.says.Load() {
		j.read.Says = []string{from.URL}
	}
	return j
}
