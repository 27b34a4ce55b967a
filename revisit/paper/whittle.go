package paper

import "forage/revisit"

// Whittle is the index policy of "Whittle Index Policy for Crawling Ephemeral Content" by K. Avrachenkov and
// V. S. Borkar [AB18], for the problem of Lefortier: it fetches the documents whose index is largest. The index is
// the price of a fetch at which it makes no difference whether the document is fetched now or one step
// later.
//
// With u arriving in each step, of which α is left after another, x(k) = u·(1 − α^k)/(1 − α) waits after
// k steps, and that price is x(k) − k·u·α^k. In the limit of short steps it is
//
//	pages · interest · gain(t/interest)
//
// t days after the last fetch: the worth of a fetch in Lefortier. So the two fetch alike where
// nothing is learned and the budget is the same in each cycle. The index is derived here, from the
// deterministic model that the paper describes.
//
// Pages a day and interest are those of Lefortier, without its exploration. For what else was adapted see
// refresher.
type Whittle struct{ refresher }

var (
	_ revisit.Replayer = (*Whittle)(nil)
	_ revisit.Saver    = (*Whittle)(nil)
)

// NewWhittle returns the Whittle index policy for ephemeral content.
func NewWhittle() *Whittle { return &Whittle{newRefresher(whittle{})} }

type whittle struct{}

func (whittle) changes(d *watched) float64 { return pagesADay(d) }

func (whittle) place(p *refresher, queue []scored) {
	for i := range queue {
		d := &p.docs[queue[i].v]
		queue[i].value = -whittleIndex(d.changes, p.age(d))
	}
}

func (whittle) explores(int) bool { return false }

// whittleIndex is the index of a document that was fetched so many days ago.
func whittleIndex(pages, days float64) float64 { return pages * interest * gain(days/interest) }
