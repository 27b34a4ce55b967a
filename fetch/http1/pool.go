package http1

import (
	"sync"
	"time"
)

// Connections that idled longer are closed: servers keep them for 5 s to some minutes, mostly 60 to
// 90 s. Where nobody can tell what a server did meanwhile, see conn.quiet, they are used again within
// freshFor only. Those that servers closed are looked for every sweepEvery.
const (
	idleFor    = 90 * time.Second
	sweepEvery = 15 * time.Second
	freshFor   = 100 * time.Millisecond
)

// What idle connections may take together.
const (
	idleMemory = 32 << 20
	plainSize  = 4 << 10  // bytes of one, about, in the process and in the kernel
	tlsSize    = 40 << 10 // with TLS: 7 kB as measured after small records; after large ones package tls keeps a buffer of up to 34 kB
)

// IdleFor is how long a connection is kept that no request uses.
const IdleFor = idleFor

// MaxIdle returns how many idle connections with TLS a client keeps: as many as 32 MiB hold, no more
// than a quarter of the descriptors of the process, and at least as many as to one host.
func MaxIdle(perHost int) int {
	return max(perHost, min(idleMemory/tlsSize, descriptors()/4))
}

// A pool holds the connections that no request uses.
type pool struct {
	perHost, most int
	memory        int64 // bytes of what may be kept

	mu             sync.Mutex
	conns          map[origin][]*conn // newest last
	n              int
	taken          int64 // of memory
	oldest, newest *conn // by the time of their last use, linked
	sweep          *time.Timer
}

// newPool returns a pool that keeps so many connections to a host.
func newPool(perHost int) *pool {
	return &pool{
		perHost: perHost, most: max(perHost, descriptors()/4), memory: max(int64(perHost)*tlsSize, idleMemory),
		conns: map[origin][]*conn{},
	}
}

// size is what a connection counts for.
func (cn *conn) size() int64 {
	if cn.wire != nil {
		return tlsSize
	}
	return plainSize
}

// get returns a connection to key that is still good, with this deadline, or nil.
func (p *pool) get(key origin, now, deadline time.Time) *conn {
	for {
		p.mu.Lock()
		cs := p.conns[key]
		if len(cs) == 0 {
			p.mu.Unlock()
			return nil
		}
		cn := cs[len(cs)-1]
		p.remove(cn, len(cs)-1)
		p.mu.Unlock()
		age := now.Sub(cn.since)
		if age < idleFor && cn.SetDeadline(deadline) == nil && cn.quiet(age) {
			return cn
		}
		cn.close()
	}
}

// remove takes out a connection, the i-th of its origin. The caller has mu.
func (p *pool) remove(cn *conn, i int) {
	cs := p.conns[cn.key]
	copy(cs[i:], cs[i+1:])
	cs[len(cs)-1] = nil
	if len(cs) == 1 {
		delete(p.conns, cn.key)
	} else {
		p.conns[cn.key] = cs[:len(cs)-1]
	}
	if cn.older != nil {
		cn.older.newer = cn.newer
	} else {
		p.oldest = cn.newer
	}
	if cn.newer != nil {
		cn.newer.older = cn.older
	} else {
		p.newest = cn.older
	}
	cn.older, cn.newer = nil, nil
	p.n--
	p.taken -= cn.size()
}

// put keeps cn for the next request, in the place of the one that idles longest if there is no other.
// To a host that has as many as it may it is closed.
func (p *pool) put(cn *conn, now time.Time) {
	cn.end()
	cn.since = now
	var shut []*conn
	p.mu.Lock()
	cs := p.conns[cn.key]
	if len(cs) >= p.perHost {
		p.mu.Unlock()
		cn.close()
		return
	}
	p.conns[cn.key] = append(cs, cn)
	if cn.older = p.newest; cn.older != nil {
		cn.older.newer = cn
	} else {
		p.oldest = cn
	}
	p.newest = cn
	p.n++
	p.taken += cn.size()
	for p.n > 1 && (p.n > p.most || p.taken > p.memory) {
		old := p.oldest
		p.remove(old, 0) // the oldest of its origin too
		shut = append(shut, old)
	}
	if p.sweep == nil {
		p.sweep = time.AfterFunc(sweepEvery, p.expire)
	}
	p.mu.Unlock()
	for _, old := range shut {
		old.close()
	}
}

// expire closes what idled for too long or was closed by its server, and runs again while anything
// is left.
func (p *pool) expire() {
	old := time.Now().Add(-idleFor)
	var shut []*conn
	p.mu.Lock()
	for _, cs := range p.conns {
		for i := len(cs) - 1; i >= 0; i-- {
			if cn := cs[i]; !cn.since.After(old) || cn.sys != nil && !nothingCame(cn.sys) {
				p.remove(cn, i)
				shut = append(shut, cn)
			}
		}
	}
	if p.n > 0 {
		p.sweep.Reset(sweepEvery)
	} else {
		p.sweep = nil
	}
	p.mu.Unlock()
	for _, cn := range shut {
		cn.close()
	}
}

// close closes all.
func (p *pool) close() {
	var shut []*conn
	p.mu.Lock()
	for cn := p.oldest; cn != nil; cn = cn.newer {
		shut = append(shut, cn)
	}
	clear(p.conns)
	p.n, p.taken, p.oldest, p.newest = 0, 0, nil, nil
	if p.sweep != nil {
		p.sweep.Stop()
		p.sweep = nil
	}
	p.mu.Unlock()
	for _, cn := range shut {
		cn.close()
	}
}
