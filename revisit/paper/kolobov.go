package paper

import (
	"math"

	"forage/revisit"
)

// Kolobov is LambdaLearnAndCrawl of "Staying up to Date with Online Content Changes Using Reinforcement
// Learning for Scheduling" by A. Kolobov, Y. Peres, C. Lu and E. Horvitz [KPLH19], for documents of which
// only a fetch tells whether they changed.
//
// Each change that waits has a cost, the n-th 1/n of that of the first: a harmonic penalty. Where fetches are the
// events of a Poisson process, it comes to log(1 + changes/fetches) (Proposition 1), so that at the price
// p of a fetch (Proposition 2, equation 5; p by bisection, as in Algorithm 1)
//
//	fetches = (√(changes² + 4·changes/p) − changes) / 2
//
// which is never 0: no document is given up. That none gets more than one fetch a cycle is the constraint of
// "Optimal Freshness Crawl under Politeness Constraints" [KPLH19b], which fixes the rates that exceed their
// bound and solves the rest again; bisection over bounded rates has the same optimum.
//
// Rates are those of maximumLikelihood (equation 10), estimated after each look, where the paper does it
// after each epoch (Algorithm 4). Fetches are made in time, as in Azar, where the paper makes them at
// random. These equations were taken from the code that the authors published. For what else was
// adapted see refresher.
type Kolobov struct{ refresher }

var (
	_ revisit.Replayer = (*Kolobov)(nil)
	_ revisit.Saver    = (*Kolobov)(nil)
)

// NewKolobov returns the policy of Kolobov et al.
func NewKolobov() *Kolobov { return &Kolobov{newRefresher(kolobov{})} }

type kolobov struct{}

func (kolobov) changes(d *watched) float64 { return maximumLikelihood(d.looks) }

func (kolobov) place(p *refresher, queue []scored) { p.inTime(queue, p.allot(queue, harmonicRate)) }

func (kolobov) explores(int) bool { return false }

// harmonicRate is the rate of random fetches, per day, at which one more takes price off the harmonic
// penalty of a document.
func harmonicRate(changes, price float64) float64 {
	return 2 * changes / price / (math.Sqrt(changes*changes+4*changes/price) + changes)
}
