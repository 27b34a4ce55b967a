// Package ledger keeps the account of a site's cycles of discovery: it tells a revisit policy
// what happened, from what the store holds, and writes into the store what a cycle came to.
//
// Open a Ledger when a cycle begins, or goes on. It knows a policy that has heard of everything
// before. In a budgeted cycle call Begin, then, in turn, Next, Refetched (with Found for each
// document that answered first meanwhile) and Follow; in a full recrawl Resume, then Refetched
// and Found as answers come, and Recrawled at the end. End closes either. The package fetches
// nothing; all calls for one store come from the goroutine that writes to it.
package ledger

import (
	"cmp"
	"errors"
	"slices"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/graph"
	"forage/revisit"
	"forage/store"
)

// A Book is what the ledgers of one store have in common.
type Book struct {
	DB  *store.DB
	Doc func(graph.Node) (*store.Doc, error) // what is known of a document, as the caller has it
	Now func() store.Time                    // the crawl's clock

	policies policies // of cycles past
}

// A Ledger is the account of one cycle at one site.
type Ledger struct {
	book   *Book
	plan   *plan.Plan
	site   *store.Site
	rec    *store.CycleRecord
	home   graph.Node // the page that the site's first seed leads to; graph.None: it is not known
	policy *kept
	fresh  []graph.Node   // documents that answered for the first time since the policy was told last
	last   *store.Refetch // the latest refetch, of which the policy has not been told
	order  int            // refetches so far
	missed int            // of them, of documents that could not be fetched
}

// Open returns the ledger of a cycle of the plan at a site, with a policy that has heard of
// everything before it. Cycles that were interrupted and are not gone on with end here. O(1)
// where this book has ended the site's cycle before; else O(what the store has of the state of
// this policy), or, where it has none, O(what the records of all its cycles hold).
func Open(book *Book, p *plan.Plan, site *store.Site, rec *store.CycleRecord) (*Ledger, error) {
	l := &Ledger{book: book, plan: p, site: site, rec: rec}
	var err error
	if l.home, err = book.home(site); err != nil {
		return nil, err
	}
	if l.policy = book.policies.take(site.ID, p); l.policy != nil {
		return l, l.endStale()
	}
	if l.policy, err = book.recall(site, p); err != nil {
		return nil, err
	}
	if !l.policy.Started() {
		if err := l.introduce(); err != nil {
			return nil, err
		}
	}
	return l, l.endStale()
}

// maxHops is how many redirects may lead from a seed to the home page.
const maxHops = 10

// home is the document at the site's first seed, or where redirects lead from there, as the home
// pages of many sites are at another path than "/"; graph.None: there is none.
func (b *Book) home(site *store.Site) (graph.Node, error) {
	if len(site.Seeds) == 0 {
		return graph.None, nil
	}
	id, err := b.DB.Find(site.Seeds[0])
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		return graph.None, err
	}
	for range maxHops {
		d, err := b.Doc(id)
		if err != nil || d.Kind != store.Redirect {
			return id, err
		}
		links, err := b.DB.Links(d)
		if err != nil || len(links) == 0 || links[0].Off {
			return id, err
		}
		id = links[0].To
	}
	return graph.None, nil
}

// Missed is how many old documents of the cycle could not be fetched.
func (l *Ledger) Missed() int { return l.missed }

// Begin begins a budgeted cycle. What an interrupted run of it fetched is told again.
func (l *Ledger) Begin() error {
	counts, err := l.book.DB.Counters(l.site.ID)
	if err != nil {
		return err
	}
	// It may name what is left out by rules of later, for nothing: that is not of the budget.
	l.policy.Begin(revisit.Time(l.rec.At), l.rec.Limit+int(counts.LeftOut))
	return l.resume()
}

// Resume takes up a full recrawl where an interrupted run of it stopped.
func (l *Ledger) Resume() error {
	rows, err := l.refetches()
	l.order = len(rows)
	for _, r := range rows {
		if r.Failed() {
			l.missed++
		}
	}
	return err
}

// Spent is how much of the budget is spent: old documents, and those that waited from an earlier
// cycle.
func (l *Ledger) Spent() int { return l.order + int(l.rec.Waited) }

// Cycle numbers the site's cycles of discovery from 1.
func (l *Ledger) Cycle() int { return l.policy.Cycle() }

// Expected returns how many new pages the policy expects of its next document; ok=false: it does not say.
func (l *Ledger) Expected() (pages float64, ok bool) { return l.policy.Expected() }

// Documents is how many documents the policy knows.
func (l *Ledger) Documents() int { return l.policy.NumDocuments() }

// Next returns the old document that the policy wants next. ok=false: the budget is spent, or
// nothing is left that is worth a fetch.
func (l *Ledger) Next() (d *store.Doc, ok bool, err error) {
	for l.Spent() < l.rec.Limit {
		n, ok := l.policy.Next()
		if !ok {
			break
		}
		d, err := l.book.Doc(graph.Node(l.policy.Key(n)))
		if err != nil {
			return nil, false, err
		}
		if IsOld(d, l.rec.Cycle) && d.FetchedIn != l.rec.Cycle { // else named twice, after an interruption, or no document any more
			return d, true, nil
		}
		l.LeftOut(d)
	}
	return nil, false, nil
}

// LeftOut tells the policy that a document which it may have named is not asked for, under the
// rules or as it is no document any more: else it would name it for ever. Of a full recrawl it hears
// at the end only.
func (l *Ledger) LeftOut(d *store.Doc) {
	if n, ok := l.policy.Node(revisit.Key(d.ID)); ok && d.Cycle < l.rec.Cycle && l.rec.Kind != store.FullRecrawl {
		old := IsOld(d, l.rec.Cycle)
		l.policy.Observe(n, revisit.Answer{Failed: old, Gone: !old})
	}
}

// Found notes a document that answered for the first time as a page or list.
func (l *Ledger) Found(id graph.Node) { l.fresh = append(l.fresh, id) }

// HasFound reports whether documents answered for the first time of which the policy has not been told.
func (l *Ledger) HasFound() bool { return len(l.fresh) > 0 }

// Refetched notes the answer to a request for an old document, and puts its row. Order, and what
// it led to, are filled in.
func (l *Ledger) Refetched(r *store.Refetch) error {
	r.Order = l.order
	l.order++
	if r.Failed() {
		l.missed++
		r.Gained, r.Lost = nil, 0
	}
	if l.rec.Kind != store.FullRecrawl {
		l.last = r
	}
	return l.book.DB.PutRefetch(l.site.ID, l.rec.Cycle, r)
}

// Recrawled tells the policy of a full recrawl, when all has been fetched.
func (l *Ledger) Recrawled() error {
	// Which fetch found what first has no meaning where all are fetched at once: one that the
	// policy knows stands for all.
	var found []graph.Node
	db := l.book.DB
	if err := db.Newcomers(l.site.ID, l.rec.Cycle, func(id graph.Node, _ store.Kind) bool {
		found = append(found, id)
		return true
	}); err != nil {
		return err
	}
	l.policy.BeginFull(revisit.Time(l.rec.At))
	var failed error
	err := db.Refetches(l.site.ID, l.rec.Cycle, func(r *store.Refetch) bool {
		r.Found = nil
		if _, ok := l.policy.Node(revisit.Key(r.Page)); ok {
			r.Found, found = found, nil
		}
		failed = l.observe(r)
		return failed == nil
	})
	return errors.Join(err, failed)
}

// keptCycles is how many budgeted cycles of a site are kept one by one; older ones are condensed.
const keptCycles = 1000

// End ends the cycle for good, and keeps the policy for the next one of the site.
func (l *Ledger) End() error {
	if err := l.close(); err != nil {
		return err
	}
	l.book.policies.keep(l.site.ID, l.plan, l.policy)
	return l.book.DB.Condense(l.site.ID, keptCycles)
}

// IsOld reports whether d can be fetched again in cycle c: it answered in an earlier one.
func IsOld(d *store.Doc, c store.Cycle) bool {
	return (d.IsPage() || d.IsList()) && d.Cycle < c && d.FirstSeen != 0
}

// introduce tells the policy of the documents that the first visit found.
func (l *Ledger) introduce() error {
	var docs []revisit.Document
	var failed error
	if err := l.book.DB.SiteDocs(l.site.ID, func(d *store.Doc) bool {
		if IsOld(d, l.rec.Cycle) {
			var doc revisit.Document
			if doc, failed = l.described(d, l.policy.WantsLinks()); failed == nil {
				docs = append(docs, doc)
			}
		}
		return failed == nil
	}); errors.Join(err, failed) != nil {
		return errors.Join(err, failed)
	}
	l.policy.Start(docs)
	return l.book.DB.PutRecord(l.site.ID, 0, l.policy.record())
}

// endStale ends the cycles of the site that were interrupted and are not gone on with.
func (l *Ledger) endStale() error {
	var stale []*store.CycleRecord
	if err := l.book.DB.SiteCyclesBack(l.site.ID, func(c *store.CycleRecord) bool {
		if c.Cycle == l.rec.Cycle || c.Kind == store.Import {
			return true
		}
		if !c.Done {
			stale = append(stale, c)
		}
		return !c.Done || c.Kind == store.FirstVisit // at most one cycle is open at a time
	}); err != nil {
		return err
	}
	slices.Reverse(stale)
	for _, c := range stale {
		if c.Ended == 0 {
			c.Ended = max(1, l.book.Now())
		}
		if c.Kind == store.FirstVisit {
			if err := l.book.DB.PutCycle(c); err != nil {
				return err
			}
			continue
		}
		// Of a full recrawl not every document was fetched: a policy must not take it for one.
		c.Kind = store.Revisit
		past := Ledger{book: l.book, plan: l.plan, site: l.site, rec: c, home: l.home, policy: l.policy}
		past.policy.Begin(revisit.Time(c.At), int(c.Refetched))
		if err := errors.Join(past.resume(), past.Follow(), past.close()); err != nil {
			return err
		}
	}
	return nil
}

// described is a document as policies see it.
func (l *Ledger) described(d *store.Doc, links bool) (revisit.Document, error) {
	doc := revisit.Document{Key: revisit.Key(d.ID), Path: revisit.Readable(scope.Path(d.URL)), NumLinks: d.NumLinks, WellKnown: d.Main && d.Via == store.ViaNone,
		Seen: revisit.Time(d.FirstSeen), Published: revisit.Time(cmp.Or(d.Published, d.LastMod))}
	doc.Home = d.ID == l.home
	switch d.Kind {
	case store.Feed:
		doc.Kind = revisit.Feed
	case store.Sitemap:
		doc.Kind = revisit.Sitemap
	}
	if links || doc.Home || d.Kind == store.Sitemap {
		all, err := l.book.DB.Links(d)
		if err != nil {
			return doc, err
		}
		for _, l := range all {
			if !l.Off {
				doc.Links = append(doc.Links, revisit.Key(l.To))
			}
		}
	}
	return doc, nil
}

// refetches returns the rows of the cycle in their order.
func (l *Ledger) refetches() ([]*store.Refetch, error) {
	var rows []*store.Refetch
	err := l.book.DB.Refetches(l.site.ID, l.rec.Cycle, func(r *store.Refetch) bool {
		rows = append(rows, r)
		return true
	})
	slices.SortFunc(rows, func(a, b *store.Refetch) int { return a.Order - b.Order })
	return rows, err
}

// resume tells the policy of the fetches that the cycle made before it was interrupted, but for
// the last one: what that led to may not all have been followed, so it is told by Follow.
func (l *Ledger) resume() error {
	rows, err := l.refetches()
	if err != nil {
		return err
	}
	told := map[graph.Node]bool{}
	if last := len(rows) - 1; last >= 0 {
		l.last, rows = rows[last], rows[:last]
		l.order = l.last.Order + 1
	}
	for _, r := range rows {
		for _, id := range r.Found {
			told[id] = true
		}
		if err := l.observe(r); err != nil {
			return err
		}
	}
	l.fresh = nil
	return l.book.DB.Newcomers(l.site.ID, l.rec.Cycle, func(id graph.Node, _ store.Kind) bool {
		if !told[id] {
			l.fresh = append(l.fresh, id)
		}
		return true
	})
}

// Follow tells the policy of the last fetch, when all that it led to has been fetched.
func (l *Ledger) Follow() error {
	r := l.last
	if r == nil {
		return nil
	}
	var err error
	if r.Found, err = l.breadthFirst(r); err != nil {
		return err
	}
	l.last, l.fresh = nil, nil
	if n, ok := l.policy.Node(revisit.Key(r.Page)); ok {
		r.Gap = l.policy.Cycle() - l.policy.Last(n)
	}
	return errors.Join(l.observe(r), l.book.DB.PutRefetch(l.site.ID, l.rec.Cycle, r))
}

// ids translates a policy's numbers to the store's, ascending.
func (l *Ledger) ids(nodes []graph.Node) []graph.Node {
	out := make([]graph.Node, len(nodes))
	for i, n := range nodes {
		out[i] = graph.Node(l.policy.Key(n))
	}
	slices.Sort(out)
	return out
}

// observe tells the policy of a fetch.
func (l *Ledger) observe(r *store.Refetch) error {
	n, ok := l.policy.Node(revisit.Key(r.Page))
	if !ok {
		return nil // answered for the first time outside of a cycle of discovery
	}
	d, err := l.book.Doc(r.Page)
	if err != nil {
		return err
	}
	f := revisit.Answer{NotModified: r.NotModified, Gone: r.Gone, Failed: r.Failed(), Modified: r.Changed && !r.Gone, Changed: len(r.Gained) > 0 || r.Lost > 0, Links: d.NumLinks}
	f.Gained = make([]revisit.Key, len(r.Gained))
	for i, id := range r.Gained {
		f.Gained[i] = revisit.Key(id)
	}
	for _, id := range r.Same {
		f.Same = append(f.Same, revisit.Key(id))
	}
	for _, id := range r.Found {
		found, err := l.book.Doc(id)
		if err != nil {
			return err
		}
		doc, err := l.described(found, true)
		if err != nil {
			return err
		}
		f.Found = append(f.Found, doc)
	}
	l.policy.Observe(n, f)
	return nil
}

// close ends the cycle: N(page) is stored for every old page fetched, and what the policy was told.
func (l *Ledger) close() error {
	db, site := l.book.DB, l.site.ID
	c := l.policy.End()
	if c.H != nil {
		pages := map[graph.Node][]graph.Node{}
		for g, group := range c.H.Old {
			led := l.ids(c.H.Covers(nil, g))
			for _, n := range group {
				pages[graph.Node(l.policy.Key(n))] = led
			}
		}
		if err := db.Commit(); err != nil { // so that the last fetch is read with what it found
			return err
		}
		var failed error
		err := db.Refetches(site, l.rec.Cycle, func(r *store.Refetch) bool {
			if r.Led = pages[r.Page]; len(r.Led) > 0 {
				failed = db.PutRefetch(site, l.rec.Cycle, r)
			}
			return failed == nil
		})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
	}
	l.rec.Done = true
	if l.rec.Ended == 0 { // in the same commit: who finds it done does not go on with it
		l.rec.Ended = max(1, l.book.Now())
	}
	err := errors.Join(db.PutCycle(l.rec), db.PutRecord(site, l.rec.Cycle, l.policy.record()))
	if state := l.policy.save(l.plan, l.rec.Cycle); state != nil {
		err = errors.Join(err, db.PutState(site, l.rec.Cycle, state))
	}
	return errors.Join(err, db.Commit())
}

// breadthFirst returns the documents that answered first since the last fetch of an old one,
// in the order in which they are reached from it: by links, each page's in their order.
// Those that it does not lead to come last.
func (l *Ledger) breadthFirst(r *store.Refetch) ([]graph.Node, error) {
	fresh := map[graph.Node]bool{}
	for _, id := range l.fresh {
		fresh[id] = true
	}
	through := map[graph.Node]bool{r.Page: true}
	queue := []graph.Node{r.Page}
	var found []graph.Node
	for len(queue) > 0 && len(found) < len(fresh) {
		id := queue[0]
		queue = queue[1:]
		d, err := l.book.Doc(id)
		if err != nil {
			return nil, err
		}
		links, err := l.book.DB.Links(d)
		if err != nil {
			return nil, err
		}
		for _, k := range links {
			if through[k.To] {
				continue
			}
			through[k.To] = true
			if fresh[k.To] {
				fresh[k.To] = false
				found = append(found, k.To)
				queue = append(queue, k.To)
			} else if k.Kind == store.ViaRedirect {
				queue = append(queue, k.To)
			} else if to, err := l.book.Doc(k.To); err == nil && to.Kind == store.Redirect && to.Cycle == l.rec.Cycle {
				queue = append(queue, k.To)
			}
		}
	}
	slices.Sort(l.fresh)
	for _, id := range l.fresh {
		if fresh[id] {
			fresh[id] = false
			found = append(found, id)
		}
	}
	return found, nil
}
