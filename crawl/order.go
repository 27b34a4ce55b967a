package crawl

import (
	"fmt"
	"math/rand/v2"

	"forage/explore"
	"forage/graph"
	"forage/store"
)

// An ordered is a first visit whose order an explorer decides. It keeps all documents of the
// site in memory, some 40 bytes each and what the explorer keeps.
type ordered struct {
	policy explore.Policy
	node   map[graph.Node]graph.Node // explorer's number by document
	doc    []graph.Node              // document by explorer's number
	out    int                       // named by the explorer, not answered
	most   int                       // of these at once
}

// newOrder makes an explorer for a site and tells it what was fetched before an interruption.
func (e *engine) newOrder(s *site, name string) (*ordered, error) {
	p, err := explore.New(name, explore.Config{Rand: rand.New(rand.NewPCG(1, uint64(s.ID))), Directed: true, Budget: s.Rules.Budget})
	if err != nil {
		return nil, err
	}
	o := &ordered{policy: p, node: map[graph.Node]graph.Node{}, most: 1}
	if e.cfg.Delay == 0 {
		o.most = e.cfg.Parallel
	}
	var seen []*store.Doc
	if err := e.db.SiteDocs(s.ID, func(d *store.Doc) bool {
		if d.FoundOn == graph.None {
			o.begin(s, d)
		}
		if d.State != store.Queued {
			seen = append(seen, &store.Doc{ID: d.ID, LinksOf: d.LinksOf})
		}
		return true
	}); err != nil {
		return nil, err
	}
	for _, d := range seen {
		links, err := e.db.Links(d)
		if err != nil {
			return nil, err
		}
		o.observe(s, o.number(d.ID), links)
	}
	return o, nil
}

func (o *ordered) number(id graph.Node) graph.Node {
	v, ok := o.node[id]
	if !ok {
		v = graph.Node(len(o.doc))
		o.node[id] = v
		o.doc = append(o.doc, id)
	}
	return v
}

// observe tells the explorer what a document links to, and where the links stand if it asks.
func (o *ordered) observe(s *site, v graph.Node, found []store.Link) {
	placed, ok := o.policy.(explore.LinkObserver)
	if !ok {
		var out []graph.Node
		for _, l := range found {
			if !l.Off {
				out = append(out, o.number(l.To))
			}
		}
		o.policy.Observe(v, out)
		return
	}
	var links []explore.Link
	for _, l := range found {
		if l.Off {
			continue
		}
		place := l.Place
		if place == 0 {
			place = ^uint32(l.Kind) // feeds, sitemaps, redirects: one place for each kind
		}
		links = append(links, explore.Link{To: o.number(l.To), Site: uint32(s.ID), Place: place})
	}
	placed.ObserveLinks(v, links)
}

// begin tells of a document that no other led to.
func (o *ordered) begin(s *site, d *store.Doc) {
	o.observe(s, graph.None, []store.Link{{To: d.ID, Kind: d.Via}})
}

// found tells of such a document and has the explorer name others.
func (o *ordered) found(e *engine, s *site, d *store.Doc) {
	o.begin(s, d)
	o.next(e, s)
}

// answered tells the explorer of a document that needs nothing more, and has it name others.
func (o *ordered) answered(e *engine, s *site, d *store.Doc, links []store.Link) {
	o.out--
	o.observe(s, o.number(d.ID), links)
	o.next(e, s)
}

// next puts as many documents in line as may be under way.
func (o *ordered) next(e *engine, s *site) {
	for o.out < o.most && !s.stopped() {
		v, ok := o.policy.Next()
		if !ok {
			return
		}
		if int(v) >= len(o.doc) {
			e.fail(fmt.Errorf("explorer %T named %d of %d documents", o.policy, v, len(o.doc)))
			return
		}
		d, err := e.db.Doc(o.doc[v])
		if err != nil {
			e.fail(err)
			return
		}
		if d.State != store.Queued || d.Site != s.ID {
			o.policy.Observe(v, nil) // left out by the rules
			continue
		}
		o.out++
		h := e.queued(s, d)
		h.front = append(h.front, item{work: fetchNew, id: d.ID, site: s.ID})
		e.wake(h)
	}
}
