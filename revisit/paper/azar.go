package paper

import (
	"math"

	"forage/revisit"
)

// Azar is the policy of "Tractable Near-Optimal Policies for Crawling" by Y. Azar, E. Horvitz, E. Lubetzky,
// Y. Peres and D. Shahaf [AHLPS18].
//
// It keeps as many copies fresh as it can where fetches are the events of a Poisson process. A document is then
// fresh for fetches/(fetches + changes) of the time, so that at the price p of a fetch
//
//	fetches = max(0, √(changes/p) − changes)
//
// The paper finds p in closed form, in O(n log n). Here bisection does, as for the other policies;
// TestAzarClosedForm compares. From the rates the paper makes a deterministic schedule, earliest
// deadline first, with a random offset for each document; here the offset is that of the last fetch.
//
// The paper takes rates of change as known; here they are those of maximumLikelihood. For what else was
// adapted see refresher.
type Azar struct{ refresher }

var (
	_ revisit.Replayer = (*Azar)(nil)
	_ revisit.Saver    = (*Azar)(nil)
)

// NewAzar returns the policy of Azar et al.
func NewAzar() *Azar { return &Azar{newRefresher(azar{})} }

type azar struct{}

func (azar) changes(d *watched) float64 { return maximumLikelihood(d.looks) }

func (azar) place(p *refresher, queue []scored) { p.inTime(queue, p.allot(queue, binaryRate)) }

func (azar) explores(int) bool { return false }

// binaryRate is the rate of random fetches, per day, at which one more adds price to the freshness of a
// document.
func binaryRate(changes, price float64) float64 { return max(0, math.Sqrt(changes/price)-changes) }
