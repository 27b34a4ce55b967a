package crawl

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"forage/crawl/ledger"
	"forage/crawl/novelty"
	"forage/explore/yield"
	"forage/graph"
	"forage/revisit"
	"forage/store"
)

// A budgetedCycle fetches some old documents again, one after another. The policy names one, it
// is fetched, everything new that it leads to is followed to the end, and the policy hears of it
// before it names the next.
//
// Part of the budget is for pages that lists have dropped, as long as there are any, and what the
// policy leaves of it for documents that wait from an earlier cycle. What is followed without
// counting against the budget is bounded: see holds.
type budgetedCycle struct {
	rediscovery
	done bool // the policy names no more documents

	partial *revisit.Partial // says when the coverage asked for is reached; nil: none was
	reached int              // old documents that may be fetched since then; 0: it is not reached

	suspects  []graph.Node        // pages that lists have dropped, and that were not looked at yet
	suspected map[graph.Node]bool // those that are or were among them
	looked    int                 // at such pages, in this cycle
	looking   graph.Node          // the one that is in line; graph.None: none is
	survey    *survey             // what lists are expected to show; nil: not made yet
	compared  bool                // it was made after what comes before the last part of the budget
	judged    int                 // rows that had been read when they were searched for what is missing
	ranked    [3]int64            // suspects there had been, pages found, and looks, when they were sorted

	unlisted unlisted // pages that asked not to be listed, and may by now

	followed int                 // documents handed out that do not count against the budget
	behind   int                 // of them, since the policy named a document
	counted  map[graph.Node]bool // of them, those in line or under way
	held     []graph.Node        // documents found in this cycle that are not handed out

	spared []graph.Node // documents that are certainly new and left out, or wait, with their group
	vain   int          // of them, those that were tried and brought nothing

	waiting []graph.Node        // documents of earlier cycles that the budget may have room for, in turn
	waits   map[graph.Node]bool // of held and waiting, those in line
}

var _ visit = (*budgetedCycle)(nil)

func (v *budgetedCycle) manner() manner {
	return manner{fromQueue: true, tries: 1, backsOff: true, leavesPoor: true} // each request is of the budget
}

func (v *budgetedCycle) begin() error {
	known, err := v.know()
	if err != nil {
		return err
	}
	if err := known.each(v.crawl().doc, func() bool { return len(v.waiting) < v.mostWaiting() }, v.look); err != nil {
		return err
	}
	if err := v.queue(); err != nil {
		return err
	}
	if v.plan.Coverage > 0 {
		v.partial = &revisit.Partial{Share: v.plan.Coverage, Fetches: int(v.rec.Refetched), Expected: float64(v.rec.Foreseen) / 1000}
	}
	return v.ledger.Begin()
}

// know brings up to date what is known of the site.
func (v *budgetedCycle) know() (*summary, error) {
	v.waits, v.suspected, v.counted, v.looking = map[graph.Node]bool{}, map[graph.Node]bool{}, map[graph.Node]bool{}, graph.None
	v.followed = int(v.rec.Fetched - v.rec.Refetched - v.rec.Waited) // before it was interrupted
	if err := v.open(); err != nil {
		return nil, err
	}
	known, err := v.recall(v.where.since)
	if err != nil {
		return nil, err
	}
	v.worth.site.Renew() // the chances of the first visit went to what was in line
	v.unlisted.listed, v.unlisted.vain = known.listed, known.vain
	v.where.found = make(map[graph.Node]bool, len(known.moved))
	for id := range known.moved {
		v.where.found[id] = true
	}
	return known, nil
}

// look takes in one of the documents that each cycle looks at.
func (v *budgetedCycle) look(d *store.Doc) {
	v.where.know(d)
	switch {
	case d.State == store.Queued:
		v.waited(d)
	case ledger.IsOld(d, v.rec.Cycle):
		if d.Dropped > 0 && d.FetchedIn != v.rec.Cycle {
			v.suspect(d.ID)
		}
		v.unlisted.know(d, v.crawl().now())
	}
}

// waited takes up a document that waits from an earlier cycle: what an earlier cycle of discovery
// found to be new is followed now, what may have been there all along waits on.
func (v *budgetedCycle) waited(d *store.Doc) {
	switch {
	case d.Cycle > v.site.FirstCycle && !v.old(d) && !hearsay(d):
		if !v.holds(d) {
			v.backlogOf(d).enqueue(fetchNew, d.ID)
		}
	case len(v.waiting) < v.mostWaiting():
		v.waiting = append(v.waiting, d.ID)
	}
}

// maxWaiting is how many documents that wait are compared, those that are known for longest.
const maxWaiting = 10_000

func (v *budgetedCycle) mostWaiting() int { return max(maxWaiting, v.budget()) }

// queue sorts the documents that wait by what is to be expected of them, those alike by how long they are
// known, and leaves as many as the budget may have room for.
func (v *budgetedCycle) queue() error {
	docs, err := v.crawl().docs(v.waiting)
	if err != nil {
		return err
	}
	yields := make(map[graph.Node]float64, len(docs))
	for _, d := range docs {
		yields[d.ID] = v.worth.site.Expect(v.place(d.URL))
	}
	slices.SortStableFunc(v.waiting, func(a, b graph.Node) int { return cmp.Compare(yields[b], yields[a]) })
	v.waiting = slices.Clone(v.waiting[:min(len(v.waiting), v.budget())])
	return nil
}

// old reports whether a document that waits may have been there all along, as the first visit did not
// see all of the site, or left others out that look like it.
func (v *budgetedCycle) old(d *store.Doc) bool {
	return (d.New == store.MaybeNew || v.site.Partial && d.New == store.NotNew) && d.Moved == 0 && !d.Main
}

// holds reports whether d, which is known to nobody before this cycle, is not to be followed now:
// because it may have been there all along, and nothing but what was fetched for the first time
// leads to it, as where a site has no end; or because enough is followed. Of what may be followed
// one document that the policy named has at most half, so that others have their turn.
func (v *budgetedCycle) holds(d *store.Doc) bool {
	most := v.plan.MaxNew
	if !v.old(d) && (most == 0 || v.followed < most && v.behind < max(1, (most-v.followed+v.behind)/2)) {
		v.followed++
		v.behind++
		v.counted[d.ID] = true
		return false
	}
	v.held = append(v.held, d.ID)
	return true
}

func (v *budgetedCycle) answered(a *answer) {
	crawl := v.crawl()
	switch {
	case v.waits[a.doc.ID]:
		if delete(v.waits, a.doc.ID); a.job != nil {
			v.rec.Waited++
		}
	case v.counted[a.doc.ID]:
		if delete(v.counted, a.doc.ID); a.job == nil { // left out, and not asked for
			v.followed--
		}
	}
	departed := a.doc.Gone != 0 || a.doc.GoneCycles > 0 || a.doc.Status >= 300 || !a.doc.IsListed()
	if a.doc.ID == v.looking {
		if v.looking = graph.None; a.job != nil && !a.failed {
			v.site.Looked++
			if departed {
				v.site.Departed++
			}
		}
	}
	if a.doubted && a.job != nil && !a.failed {
		novelty.Verdict(&v.site.Suspicions, a.accuser, departed)
	}
	if v.worth.tries[a.doc.ID] {
		if delete(v.worth.tries, a.doc.ID); !yield.Outcome(a.doc.Yield).Good() {
			v.vain++
		}
	}
	for _, id := range a.dropped {
		v.suspect(id)
	}
	crawl.fail(v.account(a, true))
}

// idle is called when what the last fetch led to has been followed to the end: it tells the policy
// and puts in line what is next, or ends the cycle.
func (v *budgetedCycle) idle() (over bool, err error) {
	if err := v.ledger.Follow(); err != nil {
		return false, err
	}
	v.behind = 0
	for _, next := range []func() (more bool, err error){v.lookAgain, v.revisit, v.checkGone, v.lookAgain, v.try, v.follow, v.goOn} {
		if more, err := next(); more || err != nil {
			return false, err
		}
	}
	if v.needing() { // what is told at the end is told once
		return false, nil
	}
	suspects, err := v.crawl().docs(v.suspects)
	if err != nil {
		return false, err
	}
	if err := v.tellMoved(suspects); err != nil {
		return false, err
	}
	err = v.ledger.End()
	v.ended = err == nil
	return true, err
}

// budget is how many documents may be fetched that are not known to be new. The limit of the cycle
// is no more than there are old ones; where that leaves something of what was asked for, it is for
// what waits.
func (v *budgetedCycle) budget() int {
	if v.plan.Budget == nil || v.plan.Total > 0 || v.partial != nil {
		return v.limit()
	}
	return max(v.rec.Limit, v.plan.Budget(v.rec.Limit))
}

// limit is how many old documents the cycle may fetch. When the coverage asked for is reached, that is what the
// policy took, with what is looked at beside it in a budget of that size.
func (v *budgetedCycle) limit() int {
	if v.reached > 0 {
		return v.reached
	}
	return v.rec.Limit
}

// size is the budget of which parts are for looks at pages that may be gone, or listed by now. Where a coverage was
// asked for, the limit may be the whole site, and it is what has been spent so far.
func (v *budgetedCycle) size() int {
	if v.partial == nil || v.reached > 0 {
		return v.limit()
	}
	return min(v.limit(), v.ledger.Spent()+1)
}

// left is how many more documents the limit has room for. More than that is spent where the budget went on to what waits.
func (v *budgetedCycle) left() int { return max(0, v.limit()-v.ledger.Spent()) }

// covered reports whether the coverage asked for is reached, and notes what is expected of the document that the
// policy names next if it is not.
func (v *budgetedCycle) covered() bool {
	if v.partial == nil {
		return false
	}
	pages, ok := v.ledger.Expected()
	if !ok {
		return false
	}
	enough := v.partial.Enough(pages, v.ledger.Documents())
	v.rec.Unseen = int64(1000 * v.partial.Left)
	if enough {
		spent := v.ledger.Spent()
		v.reached = min(v.rec.Limit, spent+int(math.Round(float64(spent)*v.plan.CheckGone)))
		return true
	}
	v.partial.Fetched(pages)
	v.rec.Foreseen = int64(1000 * v.partial.Expected)
	return false
}

// revisit puts the document in line that the policy names next, unless all that is left of the
// budget is for pages that may be gone.
func (v *budgetedCycle) revisit() (more bool, err error) {
	if err := v.compare(); err != nil {
		return false, err
	}
	due, err := v.due()
	if err != nil || v.done || v.left() <= due {
		return false, err
	}
	if v.covered() {
		v.done = true
		return false, nil
	}
	d, ok, err := v.ledger.Next()
	if err != nil {
		return false, err
	}
	if v.done = !ok; v.done {
		return false, nil
	}
	v.backlogOf(d).enqueue(fetchOld, d.ID)
	return true, nil
}

// follow puts in line what was held, though it is new, as far as more may be followed: first what is
// the fewest links away from the start of the site.
func (v *budgetedCycle) follow() (more bool, err error) {
	docs, err := v.crawl().docs(v.held)
	if err != nil {
		return false, err
	}
	slices.SortStableFunc(docs, func(a, b *store.Doc) int { return a.Depth - b.Depth })
	v.held = v.held[:0]
	for _, d := range docs {
		switch {
		case d.State != store.Queued:
		case v.old(d) || v.followed >= v.plan.MaxNew && v.plan.MaxNew > 0:
			v.held = append(v.held, d.ID)
		default:
			v.followed++
			v.counted[d.ID] = true
			v.backlogOf(d).enqueue(fetchNew, d.ID)
			more = true
		}
	}
	return more, nil
}

// goOn puts in line what waits, as far as the budget has room: first what was found in this cycle,
// then what most is expected of.
func (v *budgetedCycle) goOn() (more bool, err error) {
	r := &v.site.Rules
	if r.MaxPages > 0 && v.pages >= r.MaxPages {
		return false, nil
	}
	for left := v.budget() - v.ledger.Spent(); left > 0 && len(v.held)+len(v.waiting) > 0; {
		from := &v.held
		if len(v.held) == 0 {
			from = &v.waiting
		}
		d, err := v.crawl().doc((*from)[0])
		if err != nil {
			return false, err
		}
		_, inLine := v.crawl().inHand[d.ID]
		if *from = (*from)[1:]; d.State == store.Queued && !inLine {
			v.waits[d.ID] = true
			v.backlogOf(d).enqueue(fetchNew, d.ID)
			more = true
			left--
		}
	}
	return more, nil
}

// conclude says how much of what is new was left for the next cycle.
func (v *budgetedCycle) conclude(counts *store.Counters, whole bool) {
	v.rediscovery.conclude(counts, whole)
	over := 0
	if docs, err := v.crawl().docs(v.held); err == nil && v.plan.MaxNew > 0 && v.followed >= v.plan.MaxNew {
		for _, d := range docs {
			if d.State == store.Queued && !v.old(d) {
				over++
			}
		}
	}
	if over > 0 {
		v.run.res.Over += int64(over)
		v.run.opt.Log.Warn("more is new than was to be followed in one cycle; the next one goes on with it", "site", v.site.Name, "followed", fmt.Sprint(v.followed), "left", fmt.Sprint(over))
	}
}
