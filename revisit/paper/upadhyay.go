package paper

import (
	"math"

	"forage/revisit"
)

// Upadhyay is the plug-in policy of "Learning to Crawl" by U. Upadhyay, R. Busa-Fekete, W. Kotłowski, D. Pál
// and B. Szörényi [UBKPS20]: explore, all documents evenly, then use what was learned as the rates of the optimal
// random policy (see Azar). With an exploration of about √T in the time T it loses O(√T) to a policy
// that knows the rates.
//
// The paper knows T and explores first. Here nobody knows which cycle is the last, so fetches 1, 4, 9, …
// of a site explore, which are √T of T at any time: each takes the document fetched longest ago. What is learned from
// other fetches counts as well. Rates are those of moments, after the paper's idea of an estimator that
// allows for looks at any distance; its formula was not at hand. For what else was adapted see
// refresher.
type Upadhyay struct{ refresher }

var (
	_ revisit.Replayer = (*Upadhyay)(nil)
	_ revisit.Saver    = (*Upadhyay)(nil)
)

// NewUpadhyay returns the policy of Upadhyay et al.; seed is of its random fetches.
func NewUpadhyay(seed uint64) *Upadhyay { return &Upadhyay{newRefresher(upadhyay{seed})} }

type upadhyay struct{ seed uint64 }

func (upadhyay) changes(d *watched) float64 { return moments(d.looks) }

func (m upadhyay) place(p *refresher, queue []scored) {
	p.atRandom(queue, p.allot(queue, binaryRate), m.seed)
}

func (upadhyay) explores(n int) bool {
	root := int(math.Sqrt(float64(n)))
	return root*root == n
}
