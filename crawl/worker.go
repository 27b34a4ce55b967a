package crawl

import (
	"context"
	"net/netip"
	"sync"

	"forage/crawl/document"
	"forage/crawl/scope"
	"forage/fetch"
)

// A job is one request on its way through the pool, and what came of it. The loop fills it in,
// a worker makes the request, and the loop has it back: never both at once.
type job struct {
	item
	ctx  context.Context // of the run that asks
	host *host

	request fetch.Request
	read    document.Options
	lookup  bool       // look the host's address up, make no request
	addr    netip.Addr // what that found

	out     *fetch.Outcome
	err     error // the run was cancelled
	rules   *fetch.Robots
	content *document.Content

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
			w := worker{client: client}
			room := w.room // made once for all jobs
			for j := range p.jobs {
				j.read.Room = room
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
}

// do makes the request of j and reads the answer.
func (w *worker) do(j *job) {
	if j.lookup {
		if as, err := w.client.Resolve(j.ctx, scope.Hostname(j.host.name)); err == nil && len(as) > 0 {
			j.addr = as[0]
		}
		return
	}
	if j.work == fetchRobots {
		j.rules, j.out, j.err = w.client.Robots(j.ctx, j.origin.name)
		return
	}
	j.request.Buffer = w.buf[:0]
	j.out, j.err = w.client.Fetch(j.ctx, &j.request)
	if j.err != nil || j.out.Class != fetch.OK {
		return
	}
	w.job = j
	j.content = w.reader.Read(j.out, j.read)
	w.job = nil
	if n := cap(j.out.Body); n <= keptBuffer && n > cap(w.buf) {
		w.buf = j.out.Body[:0]
	}
	j.out.Body, j.out.Header = nil, ""
	if j.out.Large() { // what is left of it is held until the loop has taken over its links
		j.hold(j.content.Size())
	}
}

// keptBuffer is how large a body may be for its storage to be kept for the next one: one large page
// must not hold memory for the rest of the run.
const keptBuffer = 256 << 10

// room has room made for n bytes beyond the body, see document.Options.Room.
func (w *worker) room(n int64) bool { return w.job.hold(int64(cap(w.job.out.Body)) + n) }

// hold has the answer hold n bytes, unless the run is cancelled meanwhile.
func (j *job) hold(n int64) bool {
	if err := j.out.Hold(j.ctx, n); err != nil {
		j.err = err
		return false
	}
	return true
}
