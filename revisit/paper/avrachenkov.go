package paper

import "forage/revisit"

// Avrachenkov is the optimal random policy (see Azar) with one of the online estimators of "Change Rate Estimation
// and Optimal Freshness in Web Page Crawling" by K. Avrachenkov, K. Patil and G. Thoppe [APT20]:
// largeNumbers, by the law of large numbers, or stochasticApproximation. Both need fetches that are the
// events of a Poisson process and take no memory of past looks.
//
// The paper fetches a document at one known rate. Here rates change with what is known of all
// documents, so that the estimators go by how often the document was looked at so far. And no document is
// fetched twice in a cycle, so that one that is fetched in nearly every cycle is looked at in equal distances,
// and its rate overestimated. For what else was adapted see refresher.
type Avrachenkov struct{ refresher }

var (
	_ revisit.Replayer = (*Avrachenkov)(nil)
	_ revisit.Saver    = (*Avrachenkov)(nil)
)

// NewAvrachenkov returns the policy with an estimator; seed is of its random fetches.
func NewAvrachenkov(estimate rateEstimator, seed uint64) *Avrachenkov {
	return &Avrachenkov{newRefresher(avrachenkov{estimate, seed})}
}

type avrachenkov struct {
	estimate rateEstimator
	seed     uint64
}

func (m avrachenkov) changes(d *watched) float64 { return m.estimate(d.looks) }

func (m avrachenkov) place(p *refresher, queue []scored) {
	p.atRandom(queue, p.allot(queue, binaryRate), m.seed)
}

func (avrachenkov) explores(int) bool { return false }
