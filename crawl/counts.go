package crawl

import (
	"sync"
	"time"

	"forage/fetch"
	"forage/frontier"
)

// Counts are what a loop has counted since it was made, and how its hosts are.
type Counts struct {
	Documents  [64]int64 // answers to requests for documents, by fetch.Class
	Requisites [64]int64 // the same for what pages need
	Others     [64]int64 // the same for robots.txt and what a site is asked to get to know it
	Bytes      int64     // received with all of them
	Header     Times     // of a request: from its beginning to the end of the header block
	Body       Times     // from there to its end
	Loop       Times     // what else it took from being handed out to being taken in: waiting for a worker, reading the document, waiting for the loop

	Hosts   int // with something to fetch, or lately so
	Ready   int // of these, with a request that may go out now or when their delay is over
	Crowded int // that wait for others at their address
	Out     int // requests under way
}

// timeBounds are upper bounds of the classes of Times.
var timeBounds = [...]time.Duration{
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
	250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute,
}

// Times is a histogram of durations.
type Times struct {
	N   [len(timeBounds) + 1]int64 // the last one is above all bounds
	Sum time.Duration
}

func (t *Times) add(d time.Duration) {
	d = max(d, 0)
	i := 0
	for i < len(timeBounds) && d > timeBounds[i] {
		i++
	}
	t.N[i]++
	t.Sum += d
}

// Each calls yield with how many durations were at most a bound, for each bound, and returns how many there are.
func (t *Times) Each(yield func(bound time.Duration, n int64)) (all int64) {
	for i, n := range t.N {
		all += n
		if i < len(timeBounds) {
			yield(timeBounds[i], all)
		}
	}
	return all
}

// A counter is Counts that the loop writes and others read.
type counter struct {
	mu sync.Mutex
	n  Counts
}

// answer counts what came of a job that took so long.
func (c *counter) answer(j *job, took time.Duration) {
	o := j.out
	c.mu.Lock()
	defer c.mu.Unlock()
	if by := &c.n.Others; int(o.Class) < len(by) {
		switch {
		case j.isDocument():
			by = &c.n.Documents
		case j.work == fetchNeed:
			by = &c.n.Requisites
		}
		by[o.Class]++
	}
	c.n.Bytes += o.Wire
	if o.Class == fetch.Disallowed { // there was no request
		return
	}
	if o.Took > 0 {
		c.n.Header.add(o.Took)
		c.n.Body.add(o.Elapsed - o.Took)
	}
	c.n.Loop.add(took - o.Elapsed)
}

func (c *counter) hosts(s frontier.Stats) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n.Hosts, c.n.Ready, c.n.Crowded, c.n.Out = s.Hosts, s.Active, s.Lined, s.Out
}

// Counts returns what the loop of the crawl has counted: that of all stores which share it.
func (c *Crawl) Counts() Counts { return c.loop.Counts() }

// Counts returns what the loop has counted.
func (l *Loop) Counts() Counts {
	l.counter.mu.Lock()
	defer l.counter.mu.Unlock()
	return l.counter.n
}
