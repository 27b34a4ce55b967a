package fetch

import (
	"sync"
	"time"
)

// Connections that idled longer are closed; those that idled less than freshFor are used
// again without a look at what the server did meanwhile.
const (
	idleFor  = 30 * time.Second
	freshFor = 100 * time.Millisecond
)

// idle holds the connections that no request uses, by host and port, newest last.
type idle struct {
	perHost, most int

	mu    sync.Mutex
	conns map[string][]*conn
	n     int
	sweep *time.Timer // runs while there are connections
}

func newIdle(parallel int) *idle {
	return &idle{perHost: parallel, most: 4 * parallel, conns: map[string][]*conn{}}
}

// get returns a connection to key that is still good, or nil.
func (p *idle) get(key string, now time.Time) *conn {
	for {
		p.mu.Lock()
		cs := p.conns[key]
		if len(cs) == 0 {
			p.mu.Unlock()
			return nil
		}
		cn := cs[len(cs)-1]
		cs[len(cs)-1] = nil
		p.conns[key] = cs[:len(cs)-1]
		p.n--
		p.mu.Unlock()
		age := now.Sub(cn.since)
		if age < freshFor || age < idleFor && isIdle(cn.Conn) {
			return cn
		}
		cn.Close()
	}
}

// put keeps cn for the next request, or closes it if there is no room.
func (p *idle) put(cn *conn, now time.Time) {
	p.mu.Lock()
	cs := p.conns[cn.key]
	if p.n >= p.most || len(cs) >= p.perHost {
		p.mu.Unlock()
		cn.Close()
		return
	}
	cn.since = now
	if cap(cn.head) > 64<<10 {
		cn.head = nil
	}
	p.conns[cn.key] = append(cs, cn)
	p.n++
	if p.sweep == nil {
		p.sweep = time.AfterFunc(idleFor, p.expire)
	}
	p.mu.Unlock()
}

// expire closes what idled for too long, and runs again while anything is left.
func (p *idle) expire() {
	old := time.Now().Add(-idleFor)
	var shut []*conn
	p.mu.Lock()
	for key, cs := range p.conns {
		i := 0
		for i < len(cs) && cs[i].since.Before(old) {
			i++
		}
		shut = append(shut, cs[:i]...)
		if i == len(cs) {
			delete(p.conns, key)
		} else if i > 0 {
			p.conns[key] = append([]*conn(nil), cs[i:]...)
		}
	}
	p.n -= len(shut)
	if p.n > 0 {
		p.sweep.Reset(idleFor / 2)
	} else {
		p.sweep = nil
	}
	p.mu.Unlock()
	for _, cn := range shut {
		cn.Close()
	}
}

// close closes all.
func (p *idle) close() {
	p.mu.Lock()
	all := p.conns
	p.conns, p.n = map[string][]*conn{}, 0
	if p.sweep != nil {
		p.sweep.Stop()
		p.sweep = nil
	}
	p.mu.Unlock()
	for _, cs := range all {
		for _, cn := range cs {
			cn.Close()
		}
	}
}
