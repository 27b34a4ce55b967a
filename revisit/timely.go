package revisit

import (
	"cmp"
	"math"
	"slices"

	"forage/graph"
	"forage/internal/heap"
)

// Timely tells which share of a site's new pages is expected to be found within some time of their publication, by how
// many old documents are fetched in that time. NewTimely estimates it.
type Timely struct {
	shown     []float64 // by k: share of the new pages that the k best documents show, shown[0] is 0
	documents float64
}

// timelyFolds is into how many parts NewTimely takes the past apart.
const timelyFolds = 5

// timelyHubs is how many documents it ranks at most.
const timelyHubs = 200

// NewTimely estimates from what fetches led to, in rounds, oldest first: a round is a cycle, or several that follow
// each other closely. share is that of the new pages that fetches have found (Coverage.Share; NaN counts as 1), documents the
// number of old documents that there are.
//
// Who wants pages within a time D fetches some documents once in each D, the best ones: the greedy cover of the pages
// that documents led to. They are chosen by four fifths of the rounds and judged by the pages of the other fifth, five
// times, so that a document which led to one page by chance counts for what such a one comes to later. What these
// documents do not show is found by further fetches as it usually is (shape).
//
// It says what a policy would find that knows the hubs, and spends all that is fetched within D on different
// documents. From 30 weeks of Best with 10 fetches each, compared with what Best finds in the next 30 with k fetches a week
// (TestTimely; in points, the mean over some 26 windows: expected less found, and the deviation without its sign):
//
//	                            within a week, k = 1, 3, 10, 30           within seven weeks
//	26 development sites      +3 −3 −2 −1        17 15 10  6        −3 −1 −1 −1       10  7  4  1
//	26 other sites           +10 +12 +6 +6       24 24 15 11       +17 +20 +9 +4      23 23 10  5
//
// shape was fitted to the first set; in the second, sites change hubs, and few fetches find less than such a policy
// would. Spread evenly over the documents that are not ranked, the rest is found too late: on the second set the
// deviation was 20 points in the mean, with shape it is 17. Pulling the ranks towards shape by 5 or 20 pages
// changed it by less than a point. O(pages that fetches led to · log).
func NewTimely(rounds [][]PastRefetch, share float64, documents int) *Timely {
	if math.IsNaN(share) {
		share = 1
	}
	t := &Timely{shown: []float64{0}, documents: float64(documents)}
	found := make([]map[graph.Node]bool, len(rounds)) // by round
	pages := 0
	for i, round := range rounds {
		found[i] = map[graph.Node]bool{}
		for j := range round {
			for _, y := range round[j].Found {
				found[i][y] = true
			}
		}
		pages += len(found[i])
	}
	if pages == 0 {
		return t
	}
	gains := []float64{} // by rank: pages of rounds that had no part in the ranking
	for fold := range timelyFolds {
		var learn, judge [][]PastRefetch
		var there map[graph.Node]bool
		for i := range rounds {
			if i%timelyFolds == fold {
				judge = append(judge, rounds[i])
			} else {
				learn = append(learn, rounds[i])
			}
		}
		there = map[graph.Node]bool{}
		for i := fold; i < len(rounds); i += timelyFolds {
			for y := range found[i] {
				there[y] = true
			}
		}
		led := map[graph.Node][]graph.Node{}
		for _, round := range judge {
			for j := range round {
				led[round[j].Page] = append(led[round[j].Page], round[j].Led...)
			}
		}
		for rank, x := range ranked(learn, timelyHubs) {
			if rank == len(gains) {
				gains = append(gains, 0)
			}
			for _, y := range led[x] {
				if there[y] {
					delete(there, y)
					gains[rank]++
				}
			}
		}
	}
	sum := 0.
	for _, g := range gains {
		sum += g
		t.shown = append(t.shown, share*sum/float64(pages))
	}
	return t
}

// ranked returns up to n documents, in the order of a greedy cover of what they led to; ties go to the one that was
// fetched more often for as much, then to the lower number.
func ranked(rounds [][]PastRefetch, n int) []graph.Node {
	type document struct {
		page    graph.Node
		led     []graph.Node
		fetches int
		adds    int // when it was last counted
		at      int // how many were chosen then
	}
	all := map[graph.Node]*document{}
	for _, round := range rounds {
		for j := range round {
			r := &round[j]
			d := all[r.Page]
			if d == nil {
				d = &document{page: r.Page}
				all[r.Page] = d
			}
			d.fetches++
			d.led = append(d.led, r.Led...)
		}
	}
	q := heap.Heap[*document]{Before: func(a, b *document) bool {
		return cmp.Or(cmp.Compare(b.adds, a.adds), cmp.Compare(a.fetches, b.fetches), cmp.Compare(a.page, b.page)) < 0
	}}
	for _, d := range all {
		if len(d.led) > 0 {
			slices.Sort(d.led)
			d.led = slices.Compact(d.led)
			d.adds = len(d.led)
			q.Items = append(q.Items, d)
		}
	}
	slices.SortFunc(q.Items, func(a, b *document) int { return cmp.Compare(a.page, b.page) })
	q.Init()
	covered := map[graph.Node]bool{}
	var order []graph.Node
	for q.Len() > 0 && len(order) < n {
		d := q.Items[0]
		if d.at < len(order) { // a gain only shrinks: what is still the most is the most
			d.at, d.adds = len(order), 0
			for _, y := range d.led {
				if !covered[y] {
					d.adds++
				}
			}
			if d.adds == 0 {
				q.Pop()
			} else {
				q.Replace(d)
			}
			continue
		}
		q.Pop()
		order = append(order, d.page)
		for _, y := range d.led {
			covered[y] = true
		}
	}
	return order
}

// Share is the share of the new pages expected to be found within a time in which k old documents are fetched. It
// does not fall with k.
func (t *Timely) Share(k float64) float64 {
	last := float64(len(t.shown) - 1)
	switch {
	case k <= 0:
		return 0
	case k >= t.documents:
		return 1
	case k < last:
		i, part := math.Modf(k)
		return t.shown[int(i)] + part*(t.shown[int(i)+1]-t.shown[int(i)])
	}
	base, tail := t.shown[len(t.shown)-1], shapeOf(last)
	return base + (1-base)*max((k-last)/max(1, t.documents-last), (shapeOf(k)-tail)/(1-tail))
}

// shapeOf is shape between whole numbers.
func shapeOf(k float64) float64 {
	i, part := math.Modf(k)
	return shape(int(i)) + part*(shape(int(i)+1)-shape(int(i)))
}
