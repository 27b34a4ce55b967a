package crawl

import (
	"context"
	"io"
	"net/netip"
	"sync"
	"time"

	"forage/archive"
	"forage/crawl/document"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/graph"
	"forage/store"
	"forage/text"
)

// A job is one request on its way through the pool, and what came of it. The loop fills it in,
// a worker makes the request, and the loop has it back: never both at once.
type job struct {
	item
	ctx  context.Context // of the run that asks
	host *host
	sent time.Time // to the pool

	request fetch.Request
	read    document.Options
	first   bool       // of the host, as far as anybody knows: see firstWait
	lookup  bool       // look the host's address up, make no request
	addr    netip.Addr // what that found

	capture *Capture // to be read instead of a request; nil: it is made
	unread  bool     // it is not even read: something younger is known

	out     *fetch.Outcome
	err     error // the run was cancelled, or what was to be read cannot be
	rules   *fetch.Robots
	content *document.Content

	at        time.Time // of the answer, as it is recorded
	recording recording

	asked   bool // the site was asked what it says of what is not there, see cycle.asks
	missing bool // and this is what it says
}

// A pool makes requests, so many at once.
type pool struct {
	jobs, answers chan *job
	out           int // jobs under way; the loop's
	workers       sync.WaitGroup
}

// start starts n workers. They end when stop is called.
func (p *pool) start(n int, client *fetch.Client) {
	p.jobs, p.answers = make(chan *job, n), make(chan *job, n)
	for range n {
		p.workers.Go(func() {
			w := newWorker(client)
			for j := range p.jobs {
				w.do(j)
				p.answers <- j
			}
		})
	}
}

// stop ends the workers and returns when they have ended. No job may be under way.
func (p *pool) stop() {
	close(p.jobs)
	p.workers.Wait()
}

// A worker is one goroutine of the pool with its buffers.
type worker struct {
	client *fetch.Client
	reader document.Reader
	buf    []byte
	job    *job // that is being done

	exchange fetch.Exchange
	spool    *archive.Spool // of exchange; nil: none
	texts    text.Reader
	steps    map[graph.Node]string // to documents of a store, see hops
	stepsIn  *store.View

	streams func(*fetch.Outcome, []byte) (func(io.Reader), bool) // stream, made once for all jobs
	room    func(int64) bool                                     // holds, the same
}

func newWorker(client *fetch.Client) *worker {
	w := &worker{client: client}
	w.streams, w.room = w.stream, w.holds
	return w
}

// do makes the request of j and reads the answer.
func (w *worker) do(j *job) {
	if j.lookup {
		if as, err := w.client.Resolve(j.ctx, scope.Hostname(j.host.name)); err == nil && len(as) > 0 {
			j.addr = as[0]
		}
		return
	}
	j.request.Exchange = w.exchanges(j)
	if j.work == fetchRobots {
		j.rules, j.out, j.err = w.client.Robots(j.ctx, j.origin.name, &j.request, func(o *fetch.Outcome, err error) {
			j.at, j.err = j.cycle.crawl().wall(), err
			w.capture(j, o)
		})
		return
	}
	if j.work == fetchNeed {
		w.need(j)
		return
	}
	w.begin(j)
	out, err := w.client.Fetch(j.ctx, &j.request)
	if j.out = out; err != nil {
		j.err = err
	}
	j.at = j.cycle.crawl().wall()
	w.read(j)
	w.capture(j, j.out)
	w.text(j)
	if w.keepBuffer(j) && j.out.Large() { // what is left of it is held until the loop has taken over its links
		j.hold(j.content.Size())
	}
}

// take reads an answer that was given before, as do reads one that comes. What is made of it is not held by the budget for answers: who
// takes it in, in an order, must not wait for others.
func (w *worker) take(j *job) {
	if j.unread || j.err != nil {
		return
	}
	a, done, err := j.capture.Open()
	if err != nil {
		j.err = err
		return
	}
	if a == nil {
		return
	}
	defer done()
	if j.work == fetchRobots {
		if j.out, j.err = w.client.Take(j.ctx, &j.request, a); j.err == nil {
			j.rules = w.client.RobotsOf(j.out, j.at)
		}
		return
	}
	w.begin(j)
	out, err := w.client.Take(j.ctx, &j.request, a)
	if j.out = out; err != nil {
		j.err = err
	}
	w.read(j)
	w.keepBuffer(j)
	j.out.Release()
}

// begin prepares the request of a document.
func (w *worker) begin(j *job) {
	w.job, j.content, j.read.Room = j, nil, w.room
	j.request.Buffer, j.request.Stream = w.buf[:0], w.streams
}

// read reads the answer to it.
func (w *worker) read(j *job) {
	if j.err == nil && j.out.Class == fetch.OK && j.content == nil {
		j.content = w.reader.Read(j.out, j.read)
	}
}

// keepBuffer takes the storage of the body back. It reports whether the answer had one that was read.
func (w *worker) keepBuffer(j *job) bool {
	if j.err != nil || j.out.Class != fetch.OK {
		return false
	}
	if n := cap(j.out.Body); n <= keptBuffer && n > cap(w.buf) {
		w.buf = j.out.Body[:0]
	}
	j.out.Body, j.out.Header = nil, ""
	return true
}

// keptBuffer is how large a body may be for its storage to be kept for the next one: one large page
// must not hold memory for the rest of the run.
const keptBuffer = 256 << 10

// stream says how a body is read that begins with head, see fetch.Request.Stream.
func (w *worker) stream(o *fetch.Outcome, head []byte) (read func(io.Reader), long bool) {
	ok, list := document.Streams(o, head, w.job.read.URL)
	if !ok {
		return nil, false
	}
	return func(body io.Reader) {
		j := w.job
		j.out = o
		j.content = w.reader.List(o, body, j.read)
	}, list
}

// holds has room made for n bytes beyond the body, see document.Options.Room.
func (w *worker) holds(n int64) bool { return w.job.hold(int64(cap(w.job.out.Body)) + n) }

// hold has the answer hold n bytes, unless the run is cancelled meanwhile, or the time for it is over.
func (j *job) hold(n int64) bool {
	err := j.out.Hold(j.ctx, n)
	if err != nil && err != fetch.ErrNoRoom {
		j.err = err
	}
	return err == nil
}
