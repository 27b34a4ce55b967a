package crawl

import (
	"strings"
	"time"

	"forage/fetch"
	"forage/frontier"
	"forage/graph"
	"forage/store"
)

// A work says what an item of the frontier is for.
type work uint8

const (
	fetchNew    work = iota // a document that waits in the queue
	fetchOld                // an old document, again
	fetchRobots             // the robots.txt of an origin
	fetchProbe              // a path that should not exist
)

// An item is one request to be made.
type item struct {
	work work
	id   graph.Node // of the document
	site store.SiteID
	url  string // of fetchRobots (the origin) and fetchProbe
}

// A host is a name and port that answers requests: what shares a politeness delay.
type host struct {
	id      frontier.Host
	name    string
	front   []item // to be given out before what the store has
	cursors map[store.SiteID]*cursor
	origins map[string]*origin // http and https
	waiting bool               // for a robots.txt or probe: nothing else is given out
	failed  int                // requests in a row without an answer
	givenUp string             // why nothing more is asked in this run
	fresh   *site              // whose door it came through, and of which it has answered nothing yet
	outside bool               // it waits at that door
	// addressed: the frontier knows the address, or could not be told.
	addressed bool
	lastOut   time.Time
	kept      int64 // NotBefore as stored
	failures  int   // Failures as stored
}

// A cursor tells how far a queue of the store has been handed out.
type cursor struct {
	last graph.Node
	late graph.Node // the first one put off, see listed.go; graph.None: none is
}

func newCursor(last graph.Node) *cursor { return &cursor{last, graph.None} }

// An origin is a scheme and host: what has one robots.txt.
type origin struct {
	name  string
	rules *fetch.Robots // nil: not known yet
	tries int
}

// host returns the host of a URL, making it when it is new.
func (e *engine) host(name string) *host {
	h := e.hosts[name]
	if h == nil {
		name = strings.Clone(name) // it may be part of a page's text
		h = &host{id: frontier.Host(len(e.byID)), name: name, cursors: map[store.SiteID]*cursor{}, origins: map[string]*origin{}}
		e.hosts[name] = h
		e.byID = append(e.byID, h)
	}
	return h
}

// Fill gives out items of a host for the frontier: what was put in front, then what waits in
// the store. Documents that the rules or robots.txt leave out are settled here, because they
// cost no request.
func (e *engine) Fill(id frontier.Host, max int, into []item) (given []item) {
	h := e.byID[id]
	if h.waiting || h.givenUp != "" || e.stopping || h.outside {
		return into
	}
	n := len(into) + max
	defer func() {
		if len(given) == 0 && !h.waiting {
			e.met(h) // nothing there is to be asked for
		}
	}()
	for len(h.front) > 0 && len(into) < n {
		it := h.front[0]
		h.front = h.front[1:]
		var ok bool
		if into, ok = e.offer(h, it, into); !ok {
			return into
		}
	}
	for site, c := range h.cursors {
		s := e.sites[site]
		if s == nil || s.stopped() || s.order != nil {
			continue
		}
		for round := 0; len(into) < n; round++ {
			if round == 16 { // so much is left out that it is committed first
				e.wake(h)
				return into
			}
			batch := e.batch[:0]
			if err := e.db.Queue(site, h.name, c.last, func(id graph.Node) bool {
				batch = append(batch, id)
				return len(batch) < n-len(into)
			}); err != nil {
				e.fail(err)
				return into
			}
			e.batch = batch
			for _, id := range batch {
				c.last = id
				var ok bool
				if into, ok = e.offer(h, item{work: fetchNew, id: id, site: site}, into); !ok {
					return into
				}
			}
			if len(batch) == 0 {
				break
			}
		}
	}
	return into
}

// offer appends it to into if it may be fetched, or the request for the robots.txt that must
// be known first; then ok is false, and nothing more is to be given out.
func (e *engine) offer(h *host, it item, into []item) (_ []item, ok bool) {
	if it.work == fetchRobots {
		return append(into, it), true
	}
	if it.work == fetchProbe { // what it shows is needed to read all others
		h.waiting = true
		return append(into, it), false
	}
	d, err := e.db.Doc(it.id)
	if err != nil {
		e.fail(err)
		return into, false
	}
	s := e.sites[d.Site]
	if s == nil || it.work == fetchNew && (d.State != store.Queued || s.stopped()) {
		return into, true
	}
	if why := s.scope.skip(d); why != "" {
		e.skip(s, d, why)
		return into, true
	}
	if c := h.cursors[d.Site]; it.work == fetchNew && c != nil && e.putOff(s, c, d) {
		return into, true
	}
	if s.Rules.Robots == "ignore" {
		return append(into, it), true
	}
	o := h.origins[originOf(d.URL)]
	if o == nil {
		o = &origin{name: originOf(d.URL)}
		h.origins[o.name] = o
	}
	if o.rules == nil || o.rules.Expired(time.Now()) {
		h.front = append([]item{it}, h.front...)
		h.waiting = true
		return append(into, item{work: fetchRobots, site: d.Site, url: o.name}), false
	}
	if !o.rules.Allowed(d.URL) || d.Given != "" && !o.rules.Allowed(d.Given) {
		e.skip(s, d, "robots")
		return into, true
	}
	return append(into, it), true
}

// Spill takes items back.
func (e *engine) Spill(id frontier.Host, items []item) {
	h := e.byID[id]
	h.front = append(append(make([]item, 0, len(items)+len(h.front)), items...), h.front...)
}

// wake makes the frontier ask for a host's items after the next commit, when they can be read.
func (e *engine) wake(h *host) {
	if !h.outside {
		e.woken[h] = true
	}
}

// maxFresh is how many hosts of a domain are made acquaintance with at once on a first visit.
// Hosts share what may be asked, each in its turn: if all that become known had a turn, a
// domain that makes up names without end would leave none for its real hosts.
const maxFresh = 16

// meet has a host of s, which is new in this run, take part, or wait at the door. Hosts that
// an earlier run asked, and may have to leave alone for long, do not count.
func (e *engine) meet(s *site, h *host) {
	switch {
	case s.Rules.Scope != "domain" || s.rv != nil || s.order != nil || h.kept != 0 || h.fresh != nil || h.outside:
	case s.fresh < maxFresh:
		s.fresh++
		h.fresh = s
	default:
		h.outside = true
		s.door = append(s.door, h)
	}
}

// met notes that a host has answered, or will not be asked: the next one at the door takes part.
func (e *engine) met(h *host) {
	s := h.fresh
	if s == nil {
		return
	}
	h.fresh = nil
	if s.fresh--; len(s.door) > 0 {
		next := s.door[0]
		s.door = s.door[1:]
		next.outside = false
		e.meet(s, next)
		e.wake(next)
	}
}
