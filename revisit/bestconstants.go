package revisit

import "math/rand/v2"

// tuning holds the constants of Best; see bestTuning.
type tuning struct {
	fade       float64 // of weights and exposure, a cycle
	memory     int32   // cycles after which a pattern is dropped
	grow       float64 // urgency: u ← min(most, grow·u + 1)
	most       float64 // urgency that nothing exceeds
	left       float64 // factor that a fetch leaves of the urgency of what it shows
	handed     float64 // credit that stays with a document whose role showed the pattern
	size       float64 // weight of a pattern page: n_d^−size
	idle       float64 // exposure of a cycle without new pages
	duplicate  float64 // factor for documents that showed just what one fetched in this cycle did
	audit      int     // every audit-th fetch goes to the document fetched longest ago
	roles      int     // ranks that inherit
	saturation int32   // fetches of a template in a cycle from which on the rest is expected to show less
	fateFade   float64 // of what became of documents fetched, a cycle
}

// bestTuning holds for all sites. Measured as the mean over both settings and budgets on the
// 26 development sites, in percentage points: a prior of three levels instead of classes
// −1.2; a clock that stands still while nothing is found −0.7; a factor for documents that
// changed before −0.3 to −0.5; no exposure in idle cycles −0.4; fade .95 instead of .9 −0.7;
// exposure by the cycle's size, n_d^0.1, −0.6.
// Without duplicate, setting A loses 2.2 points at k = 10 (2.4 of them one site's, whose pages all
// share their navigation) and 0.6 at k = 30; it wins 0.1 at k = 100. .001 to .01 are alike.
// One run is worth ±1.5 points: judge by the means of runs with perturbed constants.
var bestTuning = tuning{
	fade: .85, memory: 60, grow: .8, most: 8, left: .2, handed: .4, size: .9, idle: .1,
	duplicate: .01, audit: 20, roles: 4, saturation: 10, fateFade: .7,
}

// perturbed returns c with every number that is no count off by up to a tenth, as the seed
// says; 0: c. Fades are moved in what they take away.
func (c tuning) perturbed(seed uint64) tuning {
	if seed == 0 {
		return c
	}
	r := rand.New(rand.NewPCG(seed, 0))
	for _, x := range []*float64{&c.most, &c.left, &c.handed, &c.size, &c.idle, &c.duplicate} {
		*x *= .9 + .2*r.Float64()
	}
	for _, x := range []*float64{&c.fade, &c.grow, &c.fateFade} {
		*x = 1 - (1-*x)*(.9+.2*r.Float64())
	}
	return c
}
