package paper

import (
	"math"

	"forage/revisit"
)

// Lefortier recrawls the content sources of "Timely Crawling of High-Quality Ephemeral New Content" by
// D. Lefortier, L. Ostroumova, E. Samosvat and P. Serdyukov [LOSS13]: documents that link to new
// pages, in which interest decays as e^(−t/interest) from their publication on.
//
// Of the interest in the pages of a source fetched at distances I, (1 − e^(−I/interest))/(I/interest) is
// left. So at the price p of a fetch, gain(I/interest) = p/(pages·interest), where pages are those that
// the source brings a day; a source whose pages·interest is not more than p is not recrawled. This
// is derived here from the paper's model.
//
// The paper divides fetches between sources and the new pages that they lead to; here the latter are not
// counted. It chooses few sources of many; here each document may be one. It learns from clicks how interest
// decays at each source, within days; here interest is one week everywhere, the middle one of the delays that the lab
// judges by. Pages a day are those of pagesADay. To learn them every tenth fetch explores: it takes the document
// fetched longest ago. For what else was adapted see refresher.
type Lefortier struct{ refresher }

var (
	_ revisit.Replayer = (*Lefortier)(nil)
	_ revisit.Saver    = (*Lefortier)(nil)
)

// interest is the time in which interest in a new page falls to 1/e, in days.
const interest = 7

// NewLefortier returns the policy of Lefortier et al.
func NewLefortier() *Lefortier { return &Lefortier{newRefresher(lefortier{})} }

type lefortier struct{}

func (lefortier) changes(d *watched) float64 { return pagesADay(d) }

func (lefortier) place(p *refresher, queue []scored) { p.inTime(queue, p.allot(queue, sourceRate)) }

func (lefortier) explores(n int) bool { return n%10 == 0 }

// pagesADay is how many new pages a document leads to a day: those seen and one more, in the time of
// looks and that in which documents of its kind usually have one more.
func pagesADay(d *watched) float64 {
	days := d.looks[0].days / math.Ln2
	for _, l := range d.looks[2:] {
		days += l.days
	}
	return (1 + d.pages) / days
}

// sourceRate is the rate of fetches, per day, at which one more saves price pages a day from being
// forgotten.
func sourceRate(pages, price float64) float64 {
	if price >= pages*interest {
		return 0
	}
	return 1 / (interest * gainInverse(price/(pages*interest)))
}
