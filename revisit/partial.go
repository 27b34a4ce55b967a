package revisit

import "math"

// A Partial tells when the fetches of a cycle are expected to have shown a share of what is new: the
// ρ-partial cover of [DGKOPT07, §2.1] for a crawler that does not know H_t. It goes by what a Forecaster
// expects, so that a cycle in which nothing happens to be new ends as well. Call Enough before each fetch,
// and Fetched once it was decided to make it.
//
// What the documents that were not fetched would show is extrapolated from the one that is next. Gains fall as in
// shape, k^−(b+1), so that after k fetches
//
//	Left = next · k/b · (1 − (k/documents)^b) · factor · min(1, (knee/k)^fade)
//
// The last two terms correct what Best expects of documents that it ranks low, which is several times what these come to: from
// the 16th fetch on they found 17 to 56% of it. See Tail for the numbers, and the table discoverability-partial of the lab for
// what comes of them.
type Partial struct {
	Share    float64 // ρ, in (0, 1)
	Tail     Tail    // the zero value: ShippedTail
	Fetches  int     // k
	Expected float64 // pages that these were expected to show
	Left     float64 // pages that all others were, when Enough was called last
}

// A Tail corrects what is expected of documents that are ranked low.
type Tail struct{ Factor, Knee, Fade float64 }

// ShippedTail was fitted to the histories that Best was not developed on (data/sites-more), by what was left after
// 16 to 255 of 1000 fetches a cycle; DevelopmentTail to those that it was (data/sites). Each is judged by the sites of
// the other set. The factor, at few fetches, is the same for both: what bursts there are is expected too low.
var (
	ShippedTail     = Tail{Factor: 1.2, Knee: 10, Fade: .6}
	DevelopmentTail = Tail{Factor: 1.2, Knee: 3, Fade: .5}
)

// decline is b of the usual shape.
const decline = .71

// Enough reports whether the share is expected to be found, when the next document is expected to show so many
// pages, of a site that has so many documents.
func (p *Partial) Enough(next float64, documents int) bool {
	t, k := p.Tail, float64(max(1, p.Fetches))
	if t == (Tail{}) {
		t = ShippedTail
	}
	unseen := 1 - math.Pow(k/math.Max(k, float64(documents)), decline)
	p.Left = next * k / decline * unseen * t.Factor * math.Min(1, math.Pow(t.Knee/k, t.Fade))
	if p.Fetches == 0 {
		return false // a look at every site
	}
	return p.Expected >= p.Share*(p.Expected+p.Left)
}

// Fetched notes a fetch of a document that was expected to show so many pages.
func (p *Partial) Fetched(pages float64) {
	p.Fetches++
	p.Expected += pages
}
