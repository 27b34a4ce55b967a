package paper

import (
	"encoding/binary"
	"math"

	"forage/graph"
	"forage/revisit"
)

// BusaFekete is the greedy policy of "A Scalable Crawling Algorithm Utilizing Noisy Change-Indicating Signals" by
// R. Busa-Fekete, J. Zimmert, A. György, L. Qiu, T.-W. Sung, H. Shen, H. Choi, S. Subramaniam and L. Xiao
// [BZGQ25]: it fetches the documents whose crawl value is largest, and lets signals raise it that are often
// false and often missing.
//
// A part of the changes of a document give a signal, and false signals come besides. At a time t after a
// fetch, and n signals, the copy is fresh with the probability e^(−α·t)·(1 − precision)^n, where α is the rate of
// changes without a signal and precision the share of signals that are true. So a signal counts as
// a time β = −log(1 − precision)/α, and s = t + β·n as the time since the fetch. The value is
//
//	value(s) = w(s) − e^(−α·s)·ψ(s)
//	ψ(s) = Σ over i ≤ s/β of P(i+1, γ·(s − i·β)) / γ
//	w(s) = Σ over i ≤ s/β of e^(−α·β·i)·γ^i/(α+γ)^(i+1) · P(i+1, (α+γ)·(s − i·β))
//
// where γ is the rate of signals and P(i, x) the chance that a Poisson variable of mean x is i or
// more: ψ is the mean time between fetches of a document that is always fetched at s, and w the part of it in which
// the copy is fresh. Without signals the value is gain(changes·t)/changes, as in Olston.
// How signals enter was taken from an account of the paper; the sums are derived here, and TestCrawlValue
// compares them with a simulation.
//
// The paper's signals are those of sitemaps and of servers that notify. Here a signal is a link to the
// document that was not there before, on a new page or on one fetched again, at most one a cycle: new pages
// link to the lists, tags and archives that list them. The dates in lists do not serve: a policy is told of
// documents that did not change, and only if the list is believed. The precision of each document is the
// likeliest one (see worthOfSignal), from .2 on; the paper found less in sitemaps. Rates are those of
// maximumLikelihood. For what else was adapted see refresher.
type BusaFekete struct {
	refresher
	signals []signalled
}

// signalled is what is known of the signals of a document.
type signalled struct {
	all   int32 // since it is known
	since int32 // since its last look
	cycle int32 // the last one's
	looks []signalledLook
	worth float64 // of a signal: −log(1 − precision), which is α·β
}

// A signalledLook is a look after signals.
type signalledLook struct {
	look
	signals float64
}

// firstWorth is the worth of a signal before any look, of a precision of .2.
const firstWorth = .22314

var (
	_ revisit.Replayer     = (*BusaFekete)(nil)
	_ revisit.LinkObserver = (*BusaFekete)(nil)
	_ revisit.Saver        = (*BusaFekete)(nil)
)

// NewBusaFekete returns the policy of Busa-Fekete et al.
func NewBusaFekete() *BusaFekete {
	p := &BusaFekete{}
	p.refresher = newRefresher(busaFekete{p})
	return p
}

// Learn takes in a document.
func (p *BusaFekete) Learn(v graph.Node, profile revisit.Profile) {
	p.refresher.Learn(v, profile)
	for len(p.signals) < len(p.docs) {
		p.signals = append(p.signals, signalled{worth: firstWorth})
	}
}

// ObserveLinks takes in signals: after the first crawl all links that it is told of are new ones. That a
// document fetched in this cycle was linked to is no news.
func (p *BusaFekete) ObserveLinks(_ graph.Node, to []graph.Node) {
	if p.cycle == 0 {
		return
	}
	for _, u := range to {
		if s := &p.signals[u]; int(s.cycle) < p.cycle && p.docs[u].tried < p.now {
			s.all++
			s.since++
			s.cycle = int32(p.cycle)
		}
	}
}

// Observe takes in a look, and what it says of the signals before it.
func (p *BusaFekete) Observe(r revisit.Refetch) {
	d, s := &p.docs[r.Page], &p.signals[r.Page]
	before := len(d.looks)
	p.refresher.Observe(r)
	if len(d.looks) == before {
		return
	}
	if s.since > 0 {
		s.looks = append(s.looks, signalledLook{d.looks[before], float64(s.since)})
		s.worth = worthOfSignal(s.looks, p.unsignalled(d, s))
	}
	s.since = 0
}

// worthOfSignal is the likeliest worth of a signal, −log(1 − precision), where so many changes a day come without
// one: the root of
//
//	Σ over changed looks signals/(e^(unsignalled·days + worth·signals) − 1) = Σ over unchanged looks signals
//
// with two looks more that are firstLooks of firstWorth, in signals. As in likeliest, Newton's steps reach it
// from below. O(looks).
func worthOfSignal(looks []signalledLook, unsignalled float64) float64 {
	first := math.Ln2 / firstWorth
	unchanged := first
	for _, l := range looks {
		if !l.changed {
			unchanged += l.signals
		}
	}
	worth := math.Log1p(first/unchanged) / first // the root for the first look alone
	for range 100 {
		e := math.Expm1(worth * first)
		sum, slope := first/e, first/e*first*(1+1/e)
		for _, l := range looks {
			if l.changed {
				e := math.Expm1(unsignalled*l.days + worth*l.signals)
				sum += l.signals / e
				slope += l.signals / e * l.signals * (1 + 1/e)
			}
		}
		step := (sum - unchanged) / slope
		if worth += step; step < 1e-10*worth {
			break
		}
	}
	return worth
}

// signalsADay is how many signals a document gets a day, since it is known.
func (p *BusaFekete) signalsADay(d *watched, s *signalled) float64 {
	days := float64(p.now-d.last) / day
	for _, l := range d.looks {
		days += l.days
	}
	return float64(s.all) / days
}

// unsignalled is how many changes of a document a day give no signal: no less than a hundredth, so that
// it is fetched without one, too.
func (p *BusaFekete) unsignalled(d *watched, s *signalled) float64 {
	return max(.01*d.changes, d.changes+math.Expm1(-s.worth)*p.signalsADay(d, s))
}

type busaFekete struct{ p *BusaFekete }

func (busaFekete) changes(d *watched) float64 { return maximumLikelihood(d.looks) }

func (m busaFekete) place(p *refresher, queue []scored) {
	for i := range queue {
		v := queue[i].v
		d, s := &p.docs[v], &m.p.signals[v]
		queue[i].value = -crawlValue(m.p.unsignalled(d, s), m.p.signalsADay(d, s), s.worth, p.age(d), int(s.since))
	}
}

func (busaFekete) explores(int) bool { return false }

// mostTerms bounds the sums of crawlValue.
const mostTerms = 40

// crawlValue is the value of fetching a document so many days after its last fetch and n signals
// after it. unsignalled and signals are rates a day, worth is that of a signal.
func crawlValue(unsignalled, signals, worth, days float64, n int) float64 {
	if signals == 0 {
		return gain(unsignalled*days) / unsignalled
	}
	s := unsignalled*days + worth*float64(n)
	left, both := math.Exp(-s), unsignalled+signals
	w, psi, factor := 0.0, 0.0, 1/both
	for i := range mostTerms {
		x := (s - float64(i)*worth) / unsignalled
		if x <= 0 {
			break
		}
		p := atLeast(i+1, both*x)
		w += factor * p
		psi += atLeast(i+1, signals*x) / signals
		if p < 1e-9 {
			break
		}
		factor *= math.Exp(-worth) * signals / both
	}
	return w - left*psi
}

// atLeast is the chance that a Poisson variable of a mean is n or more.
func atLeast(n int, mean float64) float64 {
	term := math.Exp(-mean)
	sum := term
	for i := 1; i < n; i++ {
		term *= mean / float64(i)
		sum += term
	}
	return max(0, 1-sum)
}

// AppendState appends what is known of the documents and their signals.
func (p *BusaFekete) AppendState(b []byte) []byte {
	b = p.refresher.AppendState(b)
	for i := range p.signals {
		s := &p.signals[i]
		b = binary.AppendUvarint(b, uint64(s.all))
		b = binary.AppendUvarint(b, uint64(s.since))
		b = revisit.AppendFloat(b, s.worth)
		b = binary.AppendUvarint(b, uint64(len(s.looks)))
		for _, l := range s.looks {
			b = revisit.AppendFloat(l.append(b), l.signals)
		}
	}
	return b
}

// SetState reads what is known of the documents and their signals.
func (p *BusaFekete) SetState(r *revisit.StateReader, docs *revisit.Profiles, cycle int) {
	p.refresher.SetState(r, docs, cycle)
	p.signals = make([]signalled, docs.Len())
	for i := range p.signals {
		s := &p.signals[i]
		*s = signalled{all: int32(r.Uint(math.MaxInt32)), since: int32(r.Uint(math.MaxInt32)), cycle: int32(cycle), worth: r.Float()}
		for range r.Uint(math.MaxInt32) {
			l := signalledLook{readLook(r), r.Float()}
			if !(l.days > 0 && l.signals > 0) {
				r.Fail()
				return
			}
			s.looks = append(s.looks, l)
		}
	}
}
