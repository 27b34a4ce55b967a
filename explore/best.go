package explore

import (
	"math"

	"forage/graph"
	"forage/internal/heap"
)

// best is for the pages of a site, whose addresses tell much before they are fetched. It predicts how many new pages worth a fetch
// each open page leads to, by a linear prediction of log(1 + new pages) from the
// page's address, the pages that link to it, and its kind: what addresses in the same directory, and in
// directories of the same shape, brought beside the prediction, shrunken towards nothing. Of kinds it also learns which share is
// content (ContentObserver). Without a budget it queries the page that promises most new ones; with a budget the one that is worth most, by what
// it leads to and what it is itself, at prices that follow what is open for the queries that are left (see prices).
//
// The weights were fitted to other sites (pagePrior), as in the tens of queries of a small budget nothing
// can be learned from nothing; what is learned of the site is its kinds. Chance has no part: draws
// from around the prediction found less at 1 and 3% of a site's pages, and as much at 10% (explore-sites).
//
// All pages of a kind are in a heap, by what differs within it, so that a query costs O(kinds), of which there
// are at most maxKinds, to choose, and O(links · log open pages) to keep: 10 µs in all with 1000 pages of 1000 kinds and 20 links each,
// 25 with 100,000 (BenchmarkBest). Memory: some 60 bytes a page, and no links.
//
// Where no addresses are told it is learned.
type best struct {
	*learned
	budget int
	pages  *pages // nil: no answer with addresses has come yet
}

func newBest(c Config) *best { return &best{learned: newLearned(c), budget: c.Budget} }

func (p *best) Next() (graph.Node, bool) {
	if p.pages != nil {
		return p.pages.next()
	}
	return p.learned.Next()
}

// Observe takes in an answer without addresses. Once there were some it is one that has nothing to teach,
// as that of a page which rules leave out.
func (p *best) Observe(v graph.Node, out []graph.Node) {
	if p.pages == nil {
		p.learned.Observe(v, out)
		return
	}
	links := make([]Link, len(out))
	for i, u := range out {
		links[i] = Link{To: u}
	}
	p.pages.answer(v, links, false)
}

// ObserveLinks takes in an answer with the addresses of what it links to.
func (p *best) ObserveLinks(v graph.Node, links []Link) {
	if p.pages == nil {
		p.pages = newPages(p.learned, p.budget)
	}
	p.pages.answer(v, links, true)
}

// pages is what best knows of a site.
type pages struct {
	w         *pageVector
	lessons   *Lessons
	seen      states
	page      []page // by node
	kinds     []kind
	kind      map[string]int32 // by pageURL.kind
	templates []template
	template  map[string]int32
	asked     map[graph.Node]pageVector
	answers   uint32
	classed   bool // answers are told to be content or not
	bounded   bool // there is a budget,
	left      int  // of which so many queries are left
}

// A page is a page that was seen.
type page struct {
	kind   int32
	place  int32  // in the heap of its kind, while it is open
	answer uint32 // the answer that linked it last, so that each counts once
	url    pageFeatures
	score  float64 // of its own, while it is open
	k      float64 // parents: pages that link to it, as long as it is open
	// sums over these
	inverse   float64 // of degrees
	logDegree float64
	newShare  float64 // of the answers
}

// pageFeatures is what is kept of a pageURL.
type pageFeatures struct {
	depth  uint8
	flags  pageFlags
	length uint16
}

// A kind is a set of pages whose addresses look alike.
type kind struct {
	effect
	share
	prior    float64 // share of content where nothing is known, see contentPrior
	template int32
	open     heap.Heap[graph.Node] // the one that promises most first
}

// A template is a set of kinds.
type template struct {
	effect
	share
}

// An effect is what a group of pages brought beside what was predicted without it. Older pages count for less, as a
// group of which most is known brings less than it did.
type effect struct {
	seen   float64 // pages
	n, sum float64 // pages queried, and over these the log yields less predictions, discounted
	score  float64 // what the features of it add to the prediction of its pages
	stale  bool    // score is of before the last change
}

func (e *effect) add(beside float64) {
	e.n, e.sum, e.stale = effectKept*e.n+1, effectKept*e.sum+beside, true
}

// mean is shrunken towards prior.
func (e *effect) mean(prior float64) float64 {
	return (e.sum + effectPrior*prior) / (e.n + effectPrior)
}

// features fills in what there is of it, from the feature first on.
func (e *effect) features(x *pageVector, first int) {
	x[first], x[first+1] = math.Log(e.seen), 1/math.Sqrt(1+e.n)
}

func (e *effect) rate(w *pageVector, first int) {
	var x pageVector
	e.features(&x, first)
	e.score, e.stale = w.dot(&x), false
}

// A mean counts effectPrior pages that brought what was predicted, and a page is worth effectKept of what the one after it is. Means of
// 2 and 4 such pages, and without discount, find as much (explore-sites, out of fold, within 0.01).
const (
	effectPrior = 1
	effectKept  = 0.9
)

// maxKinds bounds the kinds; pages of further ones are one kind, whatever they are. The first snapshots of the sites in
// explore-sites have at most 433, one of 3107 pages.
const maxKinds = 1024

// sitemaps is the kind, and the template, of all sitemaps, whatever their addresses.
const sitemaps = "sitemaps"

func newPages(l *learned, budget int) *pages {
	w := &l.prior.pages
	return &pages{w: w, lessons: l.lessons, kind: map[string]int32{}, template: map[string]int32{}, asked: map[graph.Node]pageVector{}, bounded: budget > 0, left: budget}
}

func (p *pages) next() (graph.Node, bool) {
	choice, top := -1, math.Inf(-1)
	find, content := p.prices()
	for i := range p.kinds {
		k := &p.kinds[i]
		if k.open.Len() == 0 {
			continue
		}
		t := &p.templates[k.template]
		if k.stale {
			k.rate(p.w, kindSeen)
		}
		if t.stale {
			t.rate(p.w, templateSeen)
		}
		s := k.score + t.score + k.effect.mean(t.effect.mean(0)) + p.page[k.open.Items[0]].score
		if value := float64(find*math.Expm1(s)) + float64(content*p.content(k)); value > top {
			choice, top = i, value
		}
	}
	if choice < 0 {
		return graph.None, false
	}
	v := p.kinds[choice].open.Items[0]
	p.asked[v] = p.vector(v)
	p.remove(v)
	p.seen[v] = pending
	return v, true
}

// vector returns the features of an open page.
func (p *pages) vector(v graph.Node) (x pageVector) {
	p.ofPage(&x, v)
	p.ofKind(&x, p.page[v].kind)
	return x
}

// remove takes an open page out of its heap.
func (p *pages) remove(v graph.Node) {
	p.kinds[p.page[v].kind].open.Remove(int(p.page[v].place))
}

// answer takes in an answer. teaches: it says what a page like v brings.
func (p *pages) answer(v graph.Node, links []Link, teaches bool) {
	p.answers++
	degree, fresh, worth := 0, 0, 0.0
	for i := range links {
		l := &links[i]
		p.grow(l.To)
		a := &p.page[l.To]
		if a.answer == p.answers || l.To == v {
			continue
		}
		a.answer = p.answers
		degree++
		if p.seen.see(l.To) {
			p.enter(l)
			fresh++
			worth += p.worth(l)
		}
	}
	if v == graph.None {
		return
	}
	p.grow(v)
	x, ok := p.asked[v]
	if p.seen[v] == open {
		x, ok = p.vector(v), true
		p.remove(v)
	}
	delete(p.asked, v)
	p.seen[v] = queried
	if teaches {
		p.left--
	}
	if ok && teaches {
		p.learn(v, &x, math.Log1p(worth))
	}
	if degree == 0 {
		return
	}
	share, logDegree := float64(fresh)/float64(degree), math.Log(float64(degree))
	for i := range links {
		a := &p.page[links[i].To]
		if a.answer != p.answers || p.seen[links[i].To] != open {
			continue
		}
		a.answer = 0
		a.k++
		a.inverse += 1 / float64(degree)
		a.logDegree += logDegree
		a.newShare += share
		p.rate(links[i].To)
	}
}

func (p *pages) grow(v graph.Node) {
	p.seen.grow(v)
	for int(v) >= len(p.page) {
		p.page = append(p.page, page{kind: -1})
	}
}

// enter makes the target of a link one of its kind.
func (p *pages) enter(l *Link) {
	v, u := l.To, readURL(l.URL)
	if l.Sitemap {
		u = pageURL{kind: sitemaps, template: sitemaps, depth: u.depth, length: u.length, flags: u.flags | isSitemap}
	}
	a := &p.page[v]
	a.url = pageFeatures{u.depth, u.flags, u.length}
	i, ok := p.kind[u.kind]
	if !ok {
		if len(p.kinds) >= maxKinds {
			u.kind, u.template = "", ""
			i, ok = p.kind[""]
		}
		if !ok {
			i = p.add(u.kind, u.template, contentPrior(u.flags))
		}
	}
	a.kind = i
	k := &p.kinds[i]
	t := &p.templates[k.template]
	k.seen++
	t.seen++
	k.stale, t.stale = true, true
	p.ofPageScore(v)
	k.open.Push(v)
}

// add makes a kind.
func (p *pages) add(name, ofTemplate string, content float64) int32 {
	t, ok := p.template[ofTemplate]
	if !ok {
		t = int32(len(p.templates))
		p.template[ofTemplate] = t
		p.templates = append(p.templates, template{})
	}
	i := int32(len(p.kinds))
	p.kind[name] = i
	p.kinds = append(p.kinds, kind{prior: content, template: t, open: heap.Heap[graph.Node]{
		Before: func(u, v graph.Node) bool {
			a, b := p.page[u].score, p.page[v].score
			return a > b || a == b && u < v
		},
		Moved: func(v graph.Node, place int) { p.page[v].place = int32(place) },
	}})
	return i
}

// rate brings an open page to its place after a change.
func (p *pages) rate(v graph.Node) {
	p.ofPageScore(v)
	p.kinds[p.page[v].kind].open.Fix(int(p.page[v].place))
}

func (p *pages) ofPageScore(v graph.Node) {
	var x pageVector
	p.ofPage(&x, v)
	p.page[v].score = p.w.dot(&x)
}

// learn takes in that a page of features x brought y.
func (p *pages) learn(v graph.Node, x *pageVector, y float64) {
	if p.lessons != nil {
		p.lessons.pages.add(x[:], y)
	}
	beside := y - p.w.dot(x)
	k := &p.kinds[p.page[v].kind]
	k.effect.add(beside)
	p.templates[k.template].effect.add(beside)
}

// pageVector holds the features of an open page, or their weights.
type pageVector [pageDims]float64

func (w *pageVector) dot(x *pageVector) float64 {
	s := 0.0
	for i := range w {
		s += w[i] * x[i]
	}
	return s
}

// The features of an open page with k parents.
const (
	pageOne      = iota
	pageInverse  // √Σ 1/degree of a parent
	pageDegree   // mean of the parents' log degrees
	pageNewShare // mean share of the parents' answers that was new
	pageDepth    // log of the segments of its path
	pageLength   // log of the bytes of its address
	pageSlash    // see pageFlags, these five
	pageNumber   //
	pagePaged    //
	pageList     //
	pageSitemap  //
	kindSeen     // log of the pages of its kind that were seen
	kindRare     // 1/√(1 + pages of its kind that were queried)
	templateSeen // and these two for its template
	templateRare //
	pageDims
)

// ofPage fills in what differs within a kind.
func (p *pages) ofPage(x *pageVector, v graph.Node) {
	a := &p.page[v]
	x[pageOne] = 1
	if a.k > 0 { // a start has none
		x[pageInverse] = math.Sqrt(a.inverse)
		x[pageDegree], x[pageNewShare] = a.logDegree/a.k, a.newShare/a.k
	}
	x[pageDepth] = math.Log(float64(max(1, a.url.depth)))
	x[pageLength] = math.Log(float64(max(1, a.url.length)))
	for i, f := range []pageFlags{endsInSlash, isNumber, isPaged, seemsList, isSitemap} {
		if a.url.flags&f != 0 {
			x[pageSlash+i] = 1
		}
	}
}

// ofKind fills in what all pages of a kind have in common.
func (p *pages) ofKind(x *pageVector, i int32) {
	k := &p.kinds[i]
	k.features(x, kindSeen)
	p.templates[k.template].features(x, templateSeen)
}
