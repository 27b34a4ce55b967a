package crawl

import (
	"fmt"
	"math/rand/v2"

	"forage/explore"
	"forage/graph"
	"forage/store"
)

// An ordered visit is a first visit whose order an explorer decides. It keeps all documents of
// the site in memory, some 40 bytes each and what the explorer keeps. Only documents that the
// explorer has named are in line, so that cycle.open counts those named and not answered.
type ordered struct {
	firstVisit
	policy explore.Policy
	node   map[graph.Node]graph.Node // explorer's number by document
	doc    []graph.Node              // document by explorer's number
	most   int                       // named at once
	waits  []graph.Node              // named before their turn, see cycle.due
}

var _ visit = (*ordered)(nil)

func newOrdered(c *cycle, name string) (*ordered, error) {
	p, err := explore.New(name, explore.Config{Rand: rand.New(rand.NewPCG(1, uint64(c.site.ID))), Directed: true, Budget: c.site.Rules.Budget})
	if err != nil {
		return nil, err
	}
	v := &ordered{firstVisit: firstVisit{cycle: c}, policy: p, node: map[graph.Node]graph.Node{}, most: 1}
	if c.delay() == 0 {
		v.most = c.loop().cfg.Parallel
	}
	return v, nil
}

func (v *ordered) manner() manner {
	return manner{first: true, patient: true, tries: fetches, probes: true}
}

// begin tells the explorer what was fetched before an interruption.
func (v *ordered) begin() error {
	db := v.crawl().db
	var seen []*store.Doc
	if err := db.SiteDocs(v.site.ID, func(d *store.Doc) bool {
		v.learn(d)
		if d.FoundOn == graph.None {
			v.tellSource(d)
		}
		if d.State != store.Queued {
			seen = append(seen, &store.Doc{ID: d.ID, LinksOf: d.LinksOf})
		}
		return true
	}); err != nil {
		return err
	}
	v.learned()
	for _, d := range seen {
		links, err := db.Links(d)
		if err != nil {
			return err
		}
		v.observe(v.number(d.ID), links)
	}
	return nil
}

func (v *ordered) number(id graph.Node) graph.Node {
	n, ok := v.node[id]
	if !ok {
		n = graph.Node(len(v.doc))
		v.node[id] = n
		v.doc = append(v.doc, id)
	}
	return n
}

// observe tells the explorer what a document links to, and the addresses of that if it asks.
func (v *ordered) observe(n graph.Node, found []store.Link) {
	told, ok := v.policy.(explore.LinkObserver)
	if !ok {
		var out []graph.Node
		for _, l := range found {
			if !l.Off {
				out = append(out, v.number(l.To))
			}
		}
		v.policy.Observe(n, out)
		return
	}
	var links []explore.Link
	for _, l := range found {
		if l.Off {
			continue
		}
		known := len(v.doc)
		link := explore.Link{To: v.number(l.To)}
		if len(v.doc) > known {
			d, err := v.crawl().doc(l.To)
			if err != nil {
				v.crawl().fail(err)
				return
			}
			link.URL, link.Doubt = v.place(d.URL), v.doubt(d)
		}
		links = append(links, link)
	}
	told.ObserveLinks(n, links)
}

// tellSource tells of a document that no other of the site led to.
func (v *ordered) tellSource(d *store.Doc) {
	v.observe(graph.None, []store.Link{{To: d.ID, Kind: d.Via}})
}

func (v *ordered) discovered(d *store.Doc, linked bool) {
	if !linked {
		v.tellSource(d)
		v.name()
	}
}

func (v *ordered) answered(a *answer) {
	v.observe(v.number(a.doc.ID), a.links)
	v.name()
}

func (v *ordered) idle() (over bool, err error) {
	v.name()
	if v.open > 0 || len(v.waits) == 0 {
		return v.open == 0, nil
	}
	all := v.waits
	v.waits, v.turn = nil, dueNever
	docs := make([]*store.Doc, len(all))
	for i, id := range all {
		d, err := v.crawl().doc(id)
		if err != nil {
			return false, err
		}
		docs[i] = d
		v.turn = min(v.turn, v.due(d))
	}
	for _, d := range docs {
		v.put(d)
	}
	return false, nil
}

// put puts a document in line that the explorer has named, or has it wait for its turn.
func (v *ordered) put(d *store.Doc) {
	if v.due(d) > v.turn {
		v.waits = append(v.waits, d.ID)
		return
	}
	v.backlogOf(d).enqueue(fetchNew, d.ID)
}

// name has the explorer name as many documents as may be in line at once.
func (v *ordered) name() {
	crawl := v.crawl()
	for v.open < v.most && !v.stopped() {
		n, ok := v.policy.Next()
		if !ok {
			return
		}
		if int(n) >= len(v.doc) {
			crawl.fail(fmt.Errorf("explorer %T named %d of %d documents", v.policy, n, len(v.doc)))
			return
		}
		d, err := crawl.doc(v.doc[n])
		if err != nil {
			crawl.fail(err)
			return
		}
		if d.State != store.Queued || d.Site != v.site.ID {
			v.policy.Observe(n, nil) // left out by the rules
			continue
		}
		v.put(d)
	}
}
