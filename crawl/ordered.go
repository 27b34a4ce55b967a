package crawl

import (
	"fmt"
	"math/rand/v2"

	"forage/explore"
	"forage/explore/yield"
	"forage/graph"
	"forage/store"
)

// An ordered visit is a first visit whose order an explorer decides. It keeps documents of the site in memory, maxTold at most at a
// time, some 40 bytes each and what the explorer keeps, with best some 60. Only documents that the
// explorer has named are in line, so that cycle.open counts those named and not answered.
type ordered struct {
	firstVisit
	policy explore.Policy
	node   map[graph.Node]graph.Node // explorer's number by document
	doc    []graph.Node              // document by explorer's number
	most   int                       // named at once
	seeds  []graph.Node              // given by hand, and not in line yet: they come first
	waits  []graph.Node              // named before their turn, see cycle.due
	told   int                       // documents that the explorer may be told of
	passed bool                      // there were more
	fresh  map[graph.Node]*store.Doc // documents that the one being read led to first
}

var _ visit = (*ordered)(nil)

const (
	// maxOrdered is the largest limit of fetches or pages with which a first visit is ordered by itself: what is fetched of a site is a
	// choice as long as it is a small part of it, and documents are kept in memory.
	maxOrdered = 10_000
	// maxTold bounds the documents that an explorer is told of until it has none left: a site that names millions in its sitemaps does
	// not need all of them for a good choice.
	maxTold = 1 << 20
)

// orderOf is the explorer that orders a first visit, "" for the order of discovery: the one that was asked for, or, where the
// rules of the site leave room for a part of it, best. It is not for sites of several hosts, which are asked at the same time, and
// made acquaintance with a few at a time.
func orderOf(asked string, r *store.Rules) string {
	switch n := mostFetches(r); {
	case asked == "bfs" || asked == "" && (n == 0 || n > maxOrdered || r.All || r.Scope == "domain"):
		return ""
	case asked == "":
		return "best"
	}
	return asked
}

// mostFetches is how many documents the rules of a site allow a first visit, as far as is known beforehand; 0: no limit.
func mostFetches(r *store.Rules) int {
	if r.Budget > 0 && r.MaxPages > 0 {
		return min(r.Budget, r.MaxPages)
	}
	return max(r.Budget, r.MaxPages)
}

func newOrdered(first firstVisit, name string) (*ordered, error) {
	c := first.cycle
	p, err := explore.New(name, explore.Config{Rand: rand.New(rand.NewPCG(1, uint64(c.site.ID))), Directed: true, Budget: mostFetches(&c.site.Rules)})
	if err != nil {
		return nil, err
	}
	v := &ordered{firstVisit: first, policy: p, node: map[graph.Node]graph.Node{}, most: 1, told: c.loop().maxTold, fresh: map[graph.Node]*store.Doc{}}
	if c.delay() == 0 {
		v.most = c.loop().cfg.Parallel
	}
	return v, nil
}

func (v *ordered) manner() manner {
	return manner{first: true, patient: true, tries: fetches, probes: true, doubts: true}
}

// begin tells the explorer what was fetched before an interruption, and what waits.
func (v *ordered) begin() error {
	v.spent()
	db := v.crawl().db
	each := func(yield func(*store.Doc) bool) error { return db.SiteDocs(v.site.ID, yield) }
	if docs := v.docs; docs != nil {
		v.docs = nil
		each = func(yield func(*store.Doc) bool) error {
			for _, d := range docs {
				if !yield(d) {
					break
				}
			}
			return nil
		}
	}
	var seen []*store.Doc
	if err := each(func(d *store.Doc) bool {
		v.learn(d)
		if d.FoundOn == graph.None {
			v.tellSource(d)
		}
		if d.State != store.Queued {
			seen = append(seen, &store.Doc{ID: d.ID, State: d.State, Visits: d.Visits, LinksOf: d.LinksOf, Kind: d.Kind, Class: d.Class, DuplicateOf: d.DuplicateOf, Yield: d.Yield})
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
		v.tell(d, links, d.State != store.Skipped || d.Visits > 0)
	}
	return each(v.tellWaiting) // what other sites led to
}

// tellWaiting tells the explorer of a document that waits, and that it was not told of. It reports whether there is room for another.
func (v *ordered) tellWaiting(d *store.Doc) (room bool) {
	if _, ok := v.node[d.ID]; !ok && d.State == store.Queued {
		v.tellSource(d)
	}
	return !v.passed
}

// more tells the explorer, which has none left, of documents that it was not told of as there were too many.
func (v *ordered) more() error {
	v.told, v.passed = len(v.doc)+v.loop().maxTold, false
	return v.crawl().db.SiteDocs(v.site.ID, v.tellWaiting)
}

// passes reports whether the explorer may not be told of a document, as it is not known and there are enough.
func (v *ordered) passes(id graph.Node) bool {
	if _, ok := v.node[id]; ok || len(v.doc) < v.told {
		return false
	}
	v.passed = true
	return true
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
			if !l.Off && !v.passes(l.To) {
				out = append(out, v.number(l.To))
			}
		}
		v.policy.Observe(n, out)
		return
	}
	var links []explore.Link
	for _, l := range found {
		if l.Off || v.passes(l.To) {
			continue
		}
		known := len(v.doc)
		link := explore.Link{To: v.number(l.To)}
		if len(v.doc) > known {
			d := v.fresh[l.To] // nothing is read of thousands that a page leads to
			if d == nil {
				var err error
				if d, err = v.crawl().doc(l.To); err != nil {
					v.crawl().fail(err)
					return
				}
			}
			link.URL, link.Doubt, link.Sitemap = v.place(d.URL), v.doubt(d), d.Main
		}
		links = append(links, link)
	}
	told.ObserveLinks(n, links)
}

// tellSource tells of a document that no other of the site led to.
func (v *ordered) tellSource(d *store.Doc) {
	if d.Seed && d.State == store.Queued {
		v.seeds = append(v.seeds, d.ID)
	}
	v.observe(graph.None, []store.Link{{To: d.ID, Kind: d.Via}})
}

func (v *ordered) discovered(d *store.Doc, linked bool) {
	if linked {
		v.fresh[d.ID] = d
		return
	}
	v.tellSource(d)
	v.name()
}

func (v *ordered) answered(a *answer) {
	v.tell(a.doc, a.links, a.job != nil)
	clear(v.fresh)
	v.name()
}

// tell tells the explorer what came of a document; asked: it was asked for, and not left out.
func (v *ordered) tell(d *store.Doc, links []store.Link, asked bool) {
	n := v.number(d.ID)
	if !asked {
		v.policy.Observe(n, nil)
		return
	}
	if p, ok := v.policy.(explore.ContentObserver); ok {
		p.ObserveContent(n, isContent(d))
	}
	v.observe(n, links)
}

// isContent reports whether a document that was answered is a page with something of its own to be read.
func isContent(d *store.Doc) bool {
	return d.IsPage() && d.Class == store.ContentPage && d.DuplicateOf == graph.None && (d.Yield == 0 || yield.Outcome(d.Yield) == yield.Content)
}

func (v *ordered) idle() (over bool, err error) {
	for v.name(); v.open == 0 && len(v.waits) == 0 && v.passed && !v.stopped(); v.name() {
		if err := v.more(); err != nil {
			return false, err
		}
	}
	if v.open > 0 {
		return false, nil
	}
	if len(v.waits) == 0 {
		return true, nil
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
		v.turn = min(v.turn, v.turnOf(d))
	}
	v.lists.Over = v.turn >= dueDoubtful
	for _, d := range docs {
		v.put(d)
	}
	return false, nil
}

// put puts a document in line that the explorer has named, or has it wait for its turn.
func (v *ordered) put(d *store.Doc) {
	if v.turnOf(d) > v.turn {
		v.waits = append(v.waits, d.ID)
		return
	}
	v.backlogOf(d).enqueue(fetchNew, d.ID)
}

// name puts as many documents in line as may be at once: seeds, and what the explorer names.
func (v *ordered) name() {
	crawl := v.crawl()
	for v.open < v.most && !v.stopped() {
		if len(v.seeds) > 0 {
			d, err := crawl.doc(v.seeds[0])
			if err != nil {
				crawl.fail(err)
				return
			}
			if v.seeds = v.seeds[1:]; d.State == store.Queued && d.Site == v.site.ID {
				v.put(d)
			}
			continue
		}
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
