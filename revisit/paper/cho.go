package paper

import "forage/revisit"

// Cho keeps as many copies fresh as it can, as "Effective Page Refresh Policies for Web Crawlers" by
// J. Cho and H. Garcia-Molina [CG03a] does, with the estimator of their "Estimating Frequency of
// Change" [CG03b].
//
// A document that changes r times between two fetches at equal distances is fresh for (1 − e^(−r))/r of
// the time. At the optimum one more fetch adds the same to each document: at the price p of a fetch,
// gain(r) = p·changes. A document whose changes·p is 1 or more gets none, since it changes too often to be kept
// fresh. This is derived here; it reproduces the example of the paper (TestChoExample).
//
// Rates are those of biasReduced. Fetches are made at equal distances as far as cycles allow, earliest
// deadline first. For what else was adapted see refresher.
type Cho struct{ refresher }

var (
	_ revisit.Replayer = (*Cho)(nil)
	_ revisit.Saver    = (*Cho)(nil)
)

// NewCho returns the freshness policy of Cho and Garcia-Molina.
func NewCho() *Cho { return &Cho{newRefresher(cho{})} }

type cho struct{}

func (cho) changes(d *watched) float64 { return biasReduced(d.looks) }

func (cho) place(p *refresher, queue []scored) { p.inTime(queue, p.allot(queue, freshRate)) }

func (cho) explores(int) bool { return false }

// freshRate is the rate of fetches, per day, at which one more adds price to the freshness of a document.
func freshRate(changes, price float64) float64 {
	if price*changes >= 1 {
		return 0
	}
	return changes / gainInverse(price*changes)
}
