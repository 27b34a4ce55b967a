package frontier

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"
)

// A log is what a server sees of its visitors.
type visits struct {
	mu     sync.Mutex
	at     []time.Time // arrivals
	now    int         // requests in progress
	most   int
	answer func(n int, w http.ResponseWriter)
}

func (v *visits) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	v.at = append(v.at, time.Now())
	n := len(v.at)
	v.now++
	v.most = max(v.most, v.now)
	v.mu.Unlock()
	if v.answer != nil {
		v.answer(n, w)
	}
	v.mu.Lock()
	v.now--
	v.mu.Unlock()
}

// gap returns the least time between two arrivals.
func (v *visits) gap() time.Duration {
	least := time.Hour
	for i := 1; i < len(v.at); i++ {
		least = min(least, v.at[i].Sub(v.at[i-1]))
	}
	return least
}

// crawl fetches all items of q's hosts from servers, as the crawl loop does, and stops after
// limit requests (0: none). Where nothing more may be asked before an answer comes, and none is
// about to, it calls full with the number of requests out. It returns the states to begin with
// again.
func crawl(t *testing.T, q *Queue[int], servers []*httptest.Server, ip func(h Host) netip.Addr, limit int, full func(out int)) []State {
	t.Helper()
	type end struct {
		h Host
		a Answer
	}
	ends := make(chan end)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	out, sent, coming := 0, 0, 0 // coming: out, and full has been called since they went out
	for {
		h, item, next, ok := q.Acquire(time.Now())
		if ok && !q.SetAddr(h, ip(h)) {
			q.Undo(h, item)
			continue
		}
		if ok {
			out++
			sent++
			go func() {
				from := time.Now()
				resp, err := client.Get(fmt.Sprintf("%s/%d", servers[h].URL, item))
				a := Answer{Kind: Failed}
				if err == nil {
					resp.Body.Close()
					a = Answer{Took: time.Since(from)}
					if full != nil {
						a.Took = 0 // it was held: not the time of a server that is slow
					}
					if resp.StatusCode == 429 {
						a.Kind, a.RetryAfter = Overloaded, 200*time.Millisecond
					}
				}
				ends <- end{h, a}
			}()
			if limit == 0 || sent < limit {
				continue
			}
		}
		if out == 0 && next.IsZero() || limit > 0 && sent >= limit && out == 0 {
			break
		}
		var due <-chan time.Time
		if full != nil && next.IsZero() && coming == 0 {
			coming = out
			full(out)
		}
		if !next.IsZero() {
			due = time.After(time.Until(next))
		}
		select {
		case e := <-ends:
			out--
			coming--
			q.Release(e.h, time.Now(), e.a)
		case <-due:
		}
		if limit > 0 && sent >= limit {
			for ; out > 0; out-- {
				e := <-ends
				q.Release(e.h, time.Now(), e.a)
			}
			break
		}
	}
	var states []State
	for h := range servers {
		states = append(states, q.State(Host(h)))
	}
	return states
}

// start starts n servers whose visits are recorded.
func start(t *testing.T, n int, answer func(n int, w http.ResponseWriter)) ([]*visits, []*httptest.Server) {
	var vs []*visits
	var ss []*httptest.Server
	for range n {
		v := &visits{answer: answer}
		s := httptest.NewServer(v)
		t.Cleanup(s.Close)
		vs, ss = append(vs, v), append(ss, s)
	}
	return vs, ss
}

func numbered(hosts, items int) lists {
	l := lists{}
	for h := range hosts {
		for i := range items {
			l[Host(h)] = append(l[Host(h)], i)
		}
	}
	return l
}

func own(h Host) netip.Addr { return netip.AddrFrom4([4]byte{198, 41, 0, byte(h)}) }

// The delay as servers measure it, also across a restart.
func TestPolitenessMeasured(t *testing.T) {
	const delay = 60 * time.Millisecond
	vs, ss := start(t, 4, func(n int, w http.ResponseWriter) {
		if n == 3 {
			w.WriteHeader(429)
		}
	})
	backlog := numbered(4, 6)
	q := New(Config{Delay: delay}, backlog)
	for h := range ss {
		q.Wake(Host(h))
	}
	states := crawl(t, q, ss, own, 11, nil)
	for h := range ss {
		q.Spill(Host(h))
	}
	q = New(Config{Delay: delay}, backlog) // as after a restart
	for h, s := range states {
		q.Restore(Host(h), s)
		q.Wake(Host(h))
	}
	crawl(t, q, ss, own, 0, nil)
	for h, v := range vs {
		if len(v.at) != 6 || v.most != 1 || v.gap() < delay {
			t.Errorf("host %d: %d requests, %d at once, least gap %v; want 6, 1, %v", h, len(v.at), v.most, v.gap(), delay)
		}
		if len(v.at) > 3 && v.at[3].Sub(v.at[2]) < 200*time.Millisecond {
			t.Errorf("host %d: asked again %v after 429 with a wait of 200 ms", h, v.at[3].Sub(v.at[2]))
		}
	}
}

// Many hosts at one address: no more than PerAddr at once, whatever their number, and as many
// where they are there. Requests are held until all that may be out have arrived.
func TestAddressMeasured(t *testing.T) {
	here, leave := make(chan bool), make(chan bool)
	vs, ss := start(t, 1, func(int, http.ResponseWriter) {
		here <- true
		<-leave
	})
	const hosts = 40
	shared := make([]*httptest.Server, hosts)
	for i := range shared {
		shared[i] = ss[0]
	}
	one := netip.MustParseAddr("198.41.0.4")
	for _, test := range []struct {
		delay time.Duration
		most  int
	}{{time.Millisecond, 5}, {0, 64}} {
		v := vs[0]
		v.at, v.most = nil, 0
		q := New(Config{Delay: test.delay, PerAddr: 5, Parallel: 64}, numbered(hosts, 3))
		for h := range hosts {
			q.Wake(Host(h))
		}
		crawl(t, q, shared, func(Host) netip.Addr { return one }, 0, func(out int) {
			for range out {
				<-here
			}
			for range out {
				leave <- true
			}
		})
		if len(v.at) != 3*hosts {
			t.Errorf("delay %v: %d requests, want %d", test.delay, len(v.at), 3*hosts)
		}
		if v.most != test.most {
			t.Errorf("delay %v: %d requests at once, want %d", test.delay, v.most, test.most)
		}
	}
}

// One step costs a logarithm of the hosts.
func BenchmarkStep(b *testing.B) {
	for _, hosts := range []int{1, 1000, 100_000} {
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) {
			q := New(Config{Delay: time.Second}, endless{})
			for h := range hosts {
				q.Wake(Host(h))
			}
			now := t0
			b.ReportAllocs()
			for b.Loop() {
				h, _, next, ok := q.Acquire(now)
				if !ok {
					now = next
					continue
				}
				q.Release(h, now, Answer{Took: time.Millisecond})
			}
		})
	}
}

// endless is a backlog that never runs dry.
type endless struct{}

func (endless) Fill(_ Host, max int, into []int) []int { return append(into, make([]int, max)...) }
func (endless) Spill(Host, []int)                      {}
