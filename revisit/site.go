package revisit

import (
	"cmp"
	"fmt"
	"slices"

	"forage/graph"
)

// A Key is the caller's own number of a document.
type Key uint32

// A Document is a page, feed or sitemap at its first fetch.
type Document struct {
	Key       Key
	Path      string // of its URL; decides its number within a batch, and its template
	Kind      Kind
	Home      bool
	WellKnown bool // at a well-known place or named in robots.txt
	NumLinks  int  // documents of the site that it links to; 0 means len(Links)
	Seen      Time // when this fetch was; 0: not known, in a cycle: as the cycle
	Published Time // when the page, or a list that names it, says it was published or changed; 0: not told
	// Links are the documents of the site that it links to, distinct. Start needs only those
	// of home and of sitemaps, unless Site.WantsLinks. Site may sort them.
	Links []Key
}

// An Answer is what the server's answer showed when an old document was fetched, in the caller's
// own keys. Observe turns it into the Refetch that the policy is told of.
type Answer struct {
	NotModified bool    // 304
	Gone        bool    // 404 or 410
	Failed      bool    // no answer worth the name
	Cost        float64 // in fetches; 0 means 1
	Modified    bool    // its body is not that of its last good fetch; Changed implies it
	Changed     bool    // its links are not those of its last good fetch
	Links       int     // documents of the site that it links to now
	// Gained are the links that it has now and had not at its last good fetch; all, if a fetch
	// since found it gone.
	Gained []Key
	// Found are the documents that were not known and that this fetch led to, through links
	// of documents that were not known, all fetched. Links to what could not be fetched may
	// stay in Gained and Links; they are ignored.
	Found []Document
	// Same are the documents of which this list told that they have not changed since their
	// last good fetch.
	Same []Key
}

// A Site drives a Policy over one site. The caller fetches and says what it saw, in its own
// keys; Site numbers documents in an order that depends on what was seen only (batch after
// batch, within a batch by path), works out what each fetch led to, and tells the policy.
//
// A first crawl is Start. A cycle is Begin, then Next, a fetch and Observe, again and again,
// then End. A full recrawl is BeginFull, Observe for every known document in any order, End.
// After Start and after End, Record returns what happened in bytes; Replay of all of a site's
// records, in order, brings a new Site with any policy to the same point. So does Restore of what
// AppendState returned at any time in between, and Replay of the records after it, where the policy
// is the same one and a Saver.
//
// Memory: about 50 bytes a document, and the links among documents found in one cycle.
type Site struct {
	// Believe says that what lists tell of changes is true. Else their word counts once
	// fetches have borne it out. Set it before anything else.
	Believe bool

	policy Policy

	cycle  int
	now    Time
	budget int
	full   bool
	open   bool // between Begin and End
	begun  bool // Start was called

	// By document, as are the slices below: node numbers are given in learn, are dense, and never
	// change, so that key is the inverse of node.
	node      keyTable
	key       []Key
	docs      Profiles
	last      []int32                     // cycle of the last good fetch
	gone      []bool                      // the last fetch found it gone
	kids      map[graph.Node][]graph.Node // links of documents found since the first crawl to others of their cycle
	sitemaps  map[graph.Node][]graph.Node // a sitemap's links to sitemaps and feeds
	templates Templates
	lists     Lists
	home      graph.Node

	news    int          // pages found in this cycle
	visited []seen       // this cycle's fetches
	fresh   []Document   // full recrawl: found so far
	signals signals      // of lists, about changes
	record  []byte       // of the cycle, or of Start
	gained  []graph.Node // scratch
	linked  []graph.Node // scratch of observeLinks
	reached []bool       // scratch of led, by document: all false in between
}

// seen is a fetch of the open cycle.
type seen struct {
	v      graph.Node
	answer Answer       // full recrawls only; Found is moved to fresh
	gained []graph.Node // what it links to of this cycle's documents
}

// NewSite returns a Site that drives p and knows no document.
func NewSite(p Policy) *Site {
	return &Site{policy: p, kids: make(map[graph.Node][]graph.Node), sitemaps: make(map[graph.Node][]graph.Node), home: graph.None}
}

// NumDocuments returns how many documents are known. Nodes are below it.
func (s *Site) NumDocuments() int { return s.docs.Len() }

// Cycle returns the number of the current or last cycle of this site; 0: the first crawl.
func (s *Site) Cycle() int { return s.cycle }

// Key returns the caller's number of a document.
func (s *Site) Key(v graph.Node) Key { return s.key[v] }

// Node returns the number of a document.
func (s *Site) Node(k Key) (v graph.Node, ok bool) {
	return s.node.find(s.key, k)
}

// Last returns the cycle in which a document was fetched last and answered.
func (s *Site) Last(v graph.Node) int { return int(s.last[v]) }

// WantsLinks reports whether the policy is a LinkObserver: Start then needs the links of all
// documents.
func (s *Site) WantsLinks() bool { return s.observer() != nil }

// observer returns the policy, if it is a LinkObserver.
func (s *Site) observer() LinkObserver {
	p, _ := s.policy.(LinkObserver)
	return p
}

// observeLinks tells a LinkObserver of links of v.
func (s *Site) observeLinks(v graph.Node, links []Key) {
	p := s.observer()
	if p == nil {
		return
	}
	s.linked = s.linked[:0]
	for _, k := range links {
		if u, ok := s.node.find(s.key, k); ok && u != v {
			s.linked = append(s.linked, u)
		}
	}
	slices.Sort(s.linked)
	p.ObserveLinks(v, s.linked)
}

// Profile returns what is known of a document.
func (s *Site) Profile(v graph.Node) Profile { return s.docs.At(v) }

// Start adds the documents of the first crawl, all at once. It sorts them. It panics if called
// again.
func (s *Site) Start(docs []Document) {
	if s.begun {
		panic("revisit: Start again")
	}
	s.begun = true
	slices.SortFunc(docs, func(a, b Document) int { return naturally(a.Path, b.Path) }) // in the record, too: Replay is quicker
	s.learn(docs)
	s.record = s.appendDocuments(append(s.record, recordStart), docs)
}

// Started reports whether Start was called, or done by Replay or Restore.
func (s *Site) Started() bool { return s.begun }

// Begin starts a cycle.
func (s *Site) Begin(now Time, budget int) { s.begin(now, budget, false) }

// BeginFull starts a cycle in which the caller fetches every known document. The policy
// hears of the outcome at End.
func (s *Site) BeginFull(now Time) { s.begin(now, 0, true) }

func (s *Site) begin(now Time, budget int, full bool) {
	if s.open || !s.begun {
		panic("revisit: Begin before Start or End")
	}
	s.cycle++
	s.now, s.budget, s.full, s.open = now, budget, full, true
	s.news, s.visited, s.fresh = 0, s.visited[:0], nil
	s.record = s.record[:0]
	s.policy.Begin(now, budget)
}

// Next returns the next document that the policy wants.
func (s *Site) Next() (v graph.Node, ok bool) {
	v, ok = s.policy.Next()
	if ok && (int(v) >= s.docs.Len() || int(s.docs.born(v)) == s.cycle) {
		panic(fmt.Sprintf("revisit: %T chose %d, which is not an old document", s.policy, v))
	}
	return v, ok
}

// Expected returns what the policy expects of the document that Next would name; ok=false: it does not
// say. See Forecaster.
func (s *Site) Expected() (pages float64, ok bool) {
	f, ok := s.policy.(Forecaster)
	if !ok {
		return 0, false
	}
	return f.Expected(), true
}

// Observe tells what the fetch of v showed and returns what the policy was told; in a full
// recrawl, where order does not matter, only v is set.
func (s *Site) Observe(v graph.Node, a Answer) Refetch {
	if !s.open {
		panic("revisit: Observe outside a cycle")
	}
	if a.Cost == 0 {
		a.Cost = 1
	}
	if s.full {
		s.fresh = append(s.fresh, a.Found...)
		a.Found = nil
		s.visited = append(s.visited, seen{v: v, answer: a})
		return Refetch{Page: v}
	}
	told := Refetch{Page: v, Modified: a.Modified || a.Changed, Changed: a.Changed, NotModified: a.NotModified, Gone: a.Gone, Failed: a.Failed, Cost: a.Cost}
	told.Found = s.learn(a.Found)
	s.record = s.appendFetch(s.record, v, &a)
	gained := s.gain(v, &a)
	if len(gained) > 0 {
		s.observeLinks(v, a.Gained)
	}
	told.Led = s.led(gained, s.last[v])
	for _, u := range gained {
		if s.gone[u] {
			told.Relinked = append(told.Relinked, u)
		}
	}
	s.visited = append(s.visited, seen{v: v, gained: s.current(gained)})
	if !a.Failed {
		s.went(v, a.Gone)
	}
	if !a.Gone && !a.Failed {
		s.last[v] = int32(s.cycle)
	}
	s.check(v, &a)
	s.policy.Observe(told)
	s.tell(a.Same)
	return told
}

// went notes whether a fetch found v gone. What a sitemap listed counts no more then.
func (s *Site) went(v graph.Node, gone bool) {
	s.gone[v] = gone
	if gone {
		delete(s.sitemaps, v)
	}
}

// End closes the cycle and returns what the policy was told.
func (s *Site) End() Cycle {
	c := Cycle{Full: s.full}
	if s.full {
		s.recrawled(&c)
	}
	c.New = s.news
	c.H = s.coverGraph()
	s.policy.End(c)
	s.open = false
	s.record = s.appendCycle(s.record)
	return c
}

// recrawled takes in a full recrawl, of which nothing but the fetches was noted so far. Their order
// must not matter, since a crawl that fetches everything at once has none: so documents are
// numbered all together, and fetches taken in by node.
func (s *Site) recrawled(c *Cycle) {
	slices.SortFunc(s.visited, func(a, b seen) int { return int(a.v) - int(b.v) })
	s.learn(s.fresh)
	for i := range s.visited {
		s.record = s.appendFetch(s.record, s.visited[i].v, &s.visited[i].answer)
	}
	var last []graph.Node
	for i := range s.visited {
		e := &s.visited[i]
		if e.answer.Failed {
			continue
		}
		if e.answer.Gone != s.gone[e.v] {
			s.went(e.v, e.answer.Gone)
			if e.answer.Gone {
				c.Gone = append(c.Gone, e.v)
			} else {
				c.Back = append(c.Back, e.v)
			}
		}
		if !e.answer.Gone {
			gained := s.gain(e.v, &e.answer)
			if len(gained) > 0 {
				s.observeLinks(e.v, e.answer.Gained)
			}
			e.gained = s.current(gained)
			if slices.Equal(e.gained, last) { // as where every page shows the newest
				e.gained = last
			}
			last = e.gained
			s.last[e.v] = int32(s.cycle)
		}
		e.answer = Answer{}
	}
}

// learn numbers documents seen for the first time and returns the pages among them.
func (s *Site) learn(docs []Document) []graph.Node {
	if len(docs) == 0 {
		return nil
	}
	order := make([]*Document, 0, len(docs))
	for i := range docs {
		order = append(order, &docs[i])
	}
	slices.SortFunc(order, func(a, b *Document) int { return naturally(a.Path, b.Path) })
	first := s.docs.Len()
	fresh := order[:0]
	for _, d := range order {
		if s.WantsLinks() {
			slices.Sort(d.Links) // as in the record
		}
		if _, ok := s.node.find(s.key, d.Key); ok {
			continue // the caller found it twice
		}
		v := graph.Node(s.docs.Len())
		s.key = append(s.key, d.Key)
		s.node.add(s.key, v)
		list, number := s.lists.Of(d.Kind, d.Path)
		s.docs.add(&Profile{Kind: d.Kind, Home: d.Home, Main: d.WellKnown && d.Kind != HTML, Index: d.Kind == HTML && IsIndex(d.Path),
			Template: s.templates.Of(d.Kind, d.Path), List: list, Number: number, Depth: Depth(d.Path), Links: max(d.NumLinks, len(d.Links)), Born: s.cycle,
			Seen: cmp.Or(d.Seen, s.now), Published: d.Published})
		s.last = append(s.last, int32(s.cycle))
		s.gone = append(s.gone, false)
		if d.Home {
			s.home = v
		}
		fresh = append(fresh, d)
	}
	for i, d := range fresh {
		v := graph.Node(first + i)
		for _, k := range d.Links {
			u, ok := s.node.find(s.key, k)
			if !ok {
				continue
			}
			if s.cycle > 0 && int(s.docs.born(u)) == s.cycle {
				s.kids[v] = append(s.kids[v], u)
			}
			if d.Kind == Sitemap && s.docs.kind(u) != HTML {
				s.sitemaps[v] = append(s.sitemaps[v], u)
			}
		}
	}
	// A list that home or a main sitemap links to is a main one.
	var changed []graph.Node
	for i, d := range fresh {
		v := graph.Node(first + i)
		switch {
		case v == s.home:
			for _, k := range d.Links {
				if u, ok := s.node.find(s.key, k); ok {
					changed = s.main(changed, u)
				}
			}
		case s.docs.At(v).Main:
			for _, u := range s.sitemaps[v] {
				changed = s.main(changed, u)
			}
		}
	}
	for _, v := range changed {
		if int(v) < first {
			s.policy.Learn(v, s.docs.At(v))
		}
	}
	var pages []graph.Node
	for i := range fresh {
		v := graph.Node(first + i)
		s.policy.Learn(v, s.docs.At(v))
		if s.docs.kind(v) == HTML {
			pages = append(pages, v)
		}
	}
	for i, d := range fresh {
		s.observeLinks(graph.Node(first+i), d.Links)
	}
	if s.cycle > 0 {
		s.news += len(pages)
	}
	return pages
}

// main marks v, if it is a list, and what it lists as main, and appends what it marked. A main
// list is one that the site itself leads to, and so likely to be kept up to date.
func (s *Site) main(marked []graph.Node, v graph.Node) []graph.Node {
	d := s.docs.At(v)
	if d.Kind == HTML || d.Main {
		return marked
	}
	d.Main = true
	s.docs.set(v, &d)
	marked = append(marked, v)
	for _, u := range s.sitemaps[v] {
		marked = s.main(marked, u)
	}
	return marked
}

// gain translates the links that v gained, and keeps v's page up to date. The result holds
// until the next call.
func (s *Site) gain(v graph.Node, a *Answer) []graph.Node {
	s.gained = s.gained[:0]
	for _, k := range a.Gained {
		if u, ok := s.node.find(s.key, k); ok && u != v {
			s.gained = append(s.gained, u)
		}
	}
	if a.Gone || a.Failed || a.NotModified {
		return s.gained
	}
	var changed []graph.Node
	if s.docs.kind(v) == Sitemap {
		for _, u := range s.gained {
			if s.docs.kind(u) != HTML {
				s.sitemaps[v] = append(s.sitemaps[v], u)
			}
		}
	}
	d := s.docs.At(v)
	if v == s.home || d.Kind == Sitemap && d.Main {
		for _, u := range s.gained {
			changed = s.main(changed, u)
		}
	}
	if d := s.docs.At(v); d.Links != a.Links { // main may have changed it
		d.Links = a.Links
		s.docs.set(v, &d)
		changed = append(changed, v)
	}
	for _, u := range changed {
		s.policy.Learn(u, s.docs.At(u))
	}
	return s.gained
}

// led returns the pages found after cycle since that links lead to, chains included.
func (s *Site) led(links []graph.Node, since int32) []graph.Node {
	if n := s.docs.Len(); len(s.reached) < n {
		s.reached = slices.Grow(s.reached, n-len(s.reached))[:n]
	}
	var all []graph.Node // documents; pages are kept at the end
	visit := func(u graph.Node) {
		if !s.reached[u] {
			s.reached[u] = true
			all = append(all, u)
		}
	}
	for _, u := range links {
		if s.docs.born(u) > since {
			visit(u)
		}
	}
	for i := 0; i < len(all); i++ {
		for _, u := range s.kids[all[i]] {
			visit(u)
		}
	}
	pages := all[:0]
	for _, u := range all {
		s.reached[u] = false
		if s.docs.kind(u) == HTML {
			pages = append(pages, u)
		}
	}
	slices.Sort(pages)
	return pages
}

// current returns the links that lead to documents found in this cycle.
func (s *Site) current(links []graph.Node) []graph.Node {
	var out []graph.Node
	for _, u := range links {
		if int(s.docs.born(u)) == s.cycle {
			out = append(out, u)
		}
	}
	return out
}

// coverGraph returns H_t of the open cycle.
func (s *Site) coverGraph() *CoverGraph {
	var pages, lists, old []graph.Node
	for n := s.docs.Len(); n > 0 && int(s.docs.born(graph.Node(n-1))) == s.cycle; n-- {
		if v := graph.Node(n - 1); s.docs.kind(v) == HTML {
			pages = append(pages, v)
		} else {
			lists = append(lists, v)
		}
	}
	links := make(map[graph.Node][]graph.Node)
	for _, e := range s.visited {
		if len(e.gained) > 0 && links[e.v] == nil {
			old = append(old, e.v)
			links[e.v] = e.gained
		}
	}
	return NewCoverGraph(pages, lists, old, func(v graph.Node) []graph.Node {
		if int(s.docs.born(v)) == s.cycle {
			return s.kids[v]
		}
		return links[v]
	})
}
