package revisit

import (
	"math"

	"forage/graph"
	"forage/internal/heap"
)

// Best is what a user gets who names no policy. It expects that what comes next is shown as what
// there is: the pages of the first crawl, of which some hundred are followed (probes), and each
// publication that was found since are *patterns*, each with the documents that show it. A pattern
// has a weight, in publications, and a time pending, which grows while no document that shows it
// is fetched and falls when one is. A document is worth the weight × pending time of its patterns,
// divided by what it was watched for: a rate with its uncertainty, as of a Gamma–Poisson model,
// times what waits. So the documents that are fetched complete each other, as in a greedy cover,
// and what nobody looked at for long becomes urgent again.
//
//	worth(d) = (S·links(d) + S·kind(d)·pending(d) + Σ found patterns weight·pending) / (S + watched(d))
//
// links(d) is the same sum over the probes that d links to, each of weight one over their number:
// the share of the site's pages that a document links to is what it shows of later ones (so it is
// on the sites at hand, from a thousandth to all). kind(d) is the share that a document shows beyond
// that for what it is: home and main lists show the newest, which are few of all pages. S is the
// Prior's Strength. What a document shows is watched in publications found anywhere on the site, and
// in days, of which each counts as some part of one, so that it makes no difference in how many
// cycles a day's fetches are made. A fetch that finds it changed and nothing new adds to that (Fruitless).
//
// Two of the sums are guesses: they are scaled by how far they came true on this site (trust).
// And what was watched for a short time is worth a little more than that, as an upper
// confidence bound has it (Optimism).
//
// Time of a cycle O(documents + (k + documents not alike) log documents + patterns shown), memory
// some 30 bytes a document and 12 for each pattern found that a document shows. Each of its parts
// has a file: bestclock.go (time), bestpatterns.go (what shows what), bestranking.go (which is worth
// most), beststate.go (the state to be kept), prior.go (the numbers). This file has the events in the
// order in which a cycle brings them.
type Best struct {
	prior *Prior
	stop  float64 // no fetch that is worth less, as a share of what is published meanwhile

	clock
	patterns
	ranking
	lists listEnds
	links trust // how far it came true what was guessed from links
	kinds trust // and from what documents are

	docs      []doc
	answered  []answered // of this cycle
	spent     int        // fetches of this cycle
	perShare  float64    // publications that a share stands for in this cycle, see rate
	size      float64    // pages of a publication, see pagesEach
	outage    int        // of these: found the document gone
	replaying bool       // see Replaying
}

var (
	_ Replayer       = (*Best)(nil)
	_ SignalObserver = (*Best)(nil)
	_ LinkObserver   = (*Best)(nil)
	_ Saver          = (*Best)(nil)
)

// doc is what Best knows of one document.
type doc struct {
	kind    float32 // share shown beyond links, by Prior.of; < 0: not known yet
	watched float32 // faded, as of cycle last
	last    int32   // cycle of the last fetch, of Learn before that
	class   int32   // of patterns.classes
	shows   int32   // the first of its entries; −1: it shows no pattern found
	misses  uint8   // fetches in a row that found it gone, at most 2: then it is fetched no more
	isEnd   bool    // the last page of a list
	isPage  bool
}

// answered is a fetch of this cycle. What it adds to the time that the document was watched is
// known when the cycle ends.
type answered struct {
	v     graph.Node
	since int32 // cycle of the fetch before
}

// trust compares what was expected of fetches with what they found, in publications. What a cycle tells
// counts from the next one on, so that within a cycle nothing comes to be worth more.
type trust struct {
	found, expected float64
	factor          float64 // of guesses in this cycle
}

// NewBest returns Best with the prior that comes with it. It stops a cycle when a fetch is expected
// to find less than the share stop of what was published since the last cycle; 0: never.
func NewBest(stop float64) *Best { return newBest(&shipped.Prior, stop) }

func newBest(p *Prior, stop float64) *Best {
	return &Best{prior: p, stop: stop, clock: newClock(), patterns: newPatterns(),
		ranking: ranking{heap: heap.Heap[scored]{Before: before}, first: make(map[alike]int32)}}
}

// Learn takes in a document.
func (b *Best) Learn(v graph.Node, p Profile) {
	for int(v) >= len(b.docs) {
		b.docs = append(b.docs, doc{kind: -1, shows: -1})
		b.next = append(b.next, graph.None)
	}
	d := &b.docs[v]
	isNew := d.kind < 0
	d.kind = float32(b.prior.of(&p))
	if !isNew {
		return
	}
	d.last, d.isPage = int32(b.cycle), p.Kind == HTML
	if b.cycle == 0 {
		b.began(p.Seen)
	}
	b.extend(v, &p)
}

// extend notes the last page of a list: it shows the next one, which no other page does.
func (b *Best) extend(v graph.Node, p *Profile) {
	before, after := b.lists.extend(v, p)
	if before != graph.None {
		b.docs[before].isEnd = false
	}
	if after != graph.None {
		b.docs[after].isEnd = true
	}
}

// ObserveLinks takes in which probes v links to. The first call chooses them: by then all documents of
// the first crawl are known.
func (b *Best) ObserveLinks(v graph.Node, to []graph.Node) {
	if b.cycle == 0 && !b.chosen() {
		b.choose(b.docs)
	}
	b.docs[v].class = b.classWith(b.docs[v].class, to)
}

// Begin values all documents.
func (b *Best) Begin(now Time, _ int) {
	if !b.replaying {
		b.perShare, b.size = b.rate(), b.pagesEach()
	}
	days := b.begin(now)
	b.answered, b.spent, b.outage = b.answered[:0], 0, 0
	left := b.faded()
	b.links.begin(left, b.prior)
	b.kinds.begin(left, b.prior)
	b.forget(b.docs)
	b.wait(days, left, b.prior.Delay)
	b.heap.Items = b.heap.Items[:0]
	if !b.replaying {
		b.rank()
	}
}

// Replaying says whether cycles are over already, and need no ranking.
func (b *Best) Replaying(on bool) { b.replaying = on }

// Next returns the document that is worth most.
func (b *Best) Next() (graph.Node, bool) {
	value, v, ok := b.top()
	if !ok || value < b.stop*pending(b.days(), b.prior.Delay) {
		return 0, false
	}
	b.drop(v)
	return v, true
}

// Observe takes in what a fetch showed of earlier cycles' pages. Those of this cycle are part of
// no pattern before End.
func (b *Best) Observe(r Refetch) {
	b.spent++
	d := &b.docs[r.Page]
	b.revive(r.Relinked)
	expected := b.expect(r.Page)
	guess := b.prior.Strength / (b.prior.Strength + b.watched(d)) // the part of a guess in what is expected
	sure, since := b.reliability(d), d.last
	d.last = int32(b.cycle)
	if r.Failed {
		d.watched *= float32(b.fade(since, d.last)) // nothing was seen: the time does not count
		return
	}
	b.relieve(d, sure, b.prior)
	b.answered = append(b.answered, answered{r.Page, since})
	if r.Gone {
		b.outage++
		d.misses = min(2, d.misses+1)
		return
	}
	d.misses = 0
	b.learnTrust(&expected, len(r.Found) > 0, guess)
	if r.Modified && len(r.Led) == 0 {
		// As of the fetch before: it is not known when it changed. 304s say less, the site may have
		// published nothing.
		d.watched += float32(b.prior.Fruitless)
	}
	b.showed(d, r.Led)
}

// learnTrust shares what a fetch found among the reasons for it. What was watched for long tells of
// itself and not of guesses, of which little is left in what is expected of it.
func (b *Best) learnTrust(w *prospect, found bool, guess float64) {
	all := 0.0
	if found {
		all = w.links + w.kind + w.shown
	}
	b.links.add(w.links*guess, all)
	b.kinds.add(w.kind*guess, all)
}

// add takes in that a fetch was expected to find a part of what made it worth a fetch; all is 0 where
// it found nothing.
func (t *trust) add(part, all float64) {
	t.expected += part
	if all > 0 {
		t.found += part / all
	}
}

func (t *trust) begin(left float64, p *Prior) {
	t.found *= left
	t.expected *= left
	t.factor = (p.Trust + t.found) / (p.Trust + t.expected)
}

// revive has documents that were gone fetched like any other, in this cycle already: another
// document newly links to them.
func (b *Best) revive(docs []graph.Node) {
	for _, v := range docs {
		if d := &b.docs[v]; int(d.last) < b.cycle {
			unranked := d.misses > 1
			d.misses = 0
			if unranked && !b.replaying {
				b.heap.Push(scored{b.value(v), v})
			}
		}
	}
}

// ObserveSignal leaves documents out of the cycle as if their servers had answered 304 at no
// cost: the time since their last fetch showed nothing. What they usually show remains pending
// all the same: others show it too, and these may have changed.
func (b *Best) ObserveSignal(same []graph.Node) {
	for _, v := range same {
		if d := &b.docs[v]; int(d.last) < b.cycle && d.misses == 0 {
			b.answered = append(b.answered, answered{v, d.last})
			d.last = int32(b.cycle)
		}
	}
}

// End turns what the cycle found into patterns. The clock ticks first, since the time watched
// counts the cycle that ends.
func (b *Best) End(c Cycle) {
	b.excuse()
	b.tick(c.H.NumNew() > 0, b.prior)
	if c.Full {
		b.recrawled(c)
	}
	for _, a := range b.answered {
		d := &b.docs[a.v]
		d.watched = d.watched*float32(b.fade(a.since, d.last)) + float32(b.between(a.since, d.last))
	}
	b.found(c.H, b.docs, b.prior.Burst)
}

// excuse takes the misses of a cycle back in which all fetches found their documents gone: the
// site is away, which is not the documents' fault.
func (b *Best) excuse() {
	if b.outage < 2 || b.outage != b.spent {
		return
	}
	for _, a := range b.answered {
		if d := &b.docs[a.v]; d.misses > 0 {
			d.misses--
		}
	}
}

// recrawled takes in that every document was fetched: which are gone, and that nothing of what
// the others showed before is left to find.
func (b *Best) recrawled(c Cycle) {
	for _, v := range c.Gone {
		b.docs[v].misses = 2
	}
	for _, v := range c.Back {
		b.docs[v].misses = 0
	}
	b.allSeen()
	for v := range b.docs {
		if d := &b.docs[v]; d.kind >= 0 && d.misses < 2 && int(d.last) < b.cycle {
			b.answered = append(b.answered, answered{graph.Node(v), d.last})
			d.last = int32(b.cycle)
		}
	}
}

// watched is what d was watched for until its last fetch, faded.
func (b *Best) watched(d *doc) float64 {
	return float64(d.watched) * b.sinceThen(d.last, b.prior).fade
}

// reliability is how far a fetch of d is sure to have shown what d shows: less for one that was
// watched for long and showed little, as a sitemap that nobody keeps up to date.
func (b *Best) reliability(d *doc) float64 {
	shown := 0.0
	for i := d.shows; i >= 0; i = b.entries[i].next {
		shown += b.publication(b.entries[i].pattern).weight * float64(b.entries[i].share)
	}
	s := b.prior.Strength
	return math.Min(1, (s+b.prior.Reliable*shown)/(s+b.watched(d)))
}
