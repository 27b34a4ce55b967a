package paper

import "forage/revisit"

// Olston is the threshold policy of "Recrawl Scheduling Based on Information Longevity" by C. Olston and S. Pandey
// [OP08] for copies that are fresh or not: fetch a document when what a fetch is worth reaches a threshold. With
// D(t) lost at a time t after a fetch, that worth is t·D(t) − ∫D (§2.2, equation 4), here
//
//	1/changes − (t + 1/changes)·e^(−changes·t)
//
// (appendix, "Optimal Recrawling for Holistic Staleness"). With rates that are known and do not change, it
// fetches when Cho does. Here a cycle takes the documents of the largest worth, which needs no
// threshold and no schedule, so that a new rate counts at once.
//
// The paper's own measure of divergence, by fragments of a page, is left out. Rates are those of
// maximumLikelihood. For what else was adapted see refresher.
type Olston struct{ refresher }

var (
	_ revisit.Replayer = (*Olston)(nil)
	_ revisit.Saver    = (*Olston)(nil)
)

// NewOlston returns the threshold policy of Olston and Pandey.
func NewOlston() *Olston { return &Olston{newRefresher(olston{})} }

type olston struct{}

func (olston) changes(d *watched) float64 { return maximumLikelihood(d.looks) }

func (olston) place(p *refresher, queue []scored) {
	for i := range queue {
		d := &p.docs[queue[i].v]
		queue[i].value = -gain(d.changes*p.age(d)) / d.changes
	}
}

func (olston) explores(int) bool { return false }
