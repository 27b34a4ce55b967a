package report

import (
	"math"

	"forage/crawl/plan"
	"forage/revisit"
	"forage/store"
)

// An Insight is what the past of a site says about how it should be visited. It is made of the cycles that
// plan.ReadPast gives; shares are NaN where nothing is known.
type Insight struct {
	Discovery *Discovery           // as NewDiscovery has it; nil: no cycle has visited the site again
	Cycles    []*store.CycleRecord // that ended, after the first visit, oldest first
	PerDay    float64              // fetches of old documents a day over these cycles; 0: not known
	Trend     []CoverageAt
	Chosen    Looks   // at documents that round robin would not have come to so soon
	Audits    Looks   // at those that it would have: fetched as long ago as it takes to come round
	Round     float64 // how many cycles that is
	ByGap     []Looks // all of them, by how many cycles ago the document was fetched before
	Spans     []Span  // between cycles that saw everything, oldest first
	Timely    *revisit.Timely
}

// A CoverageAt is the share of the new pages that was known when a cycle ended.
type CoverageAt struct {
	At store.Time
	revisit.Coverage
}

// Looks sum up fetches of old documents.
type Looks struct {
	Least, Most int // cycles since the fetch before; Most 0: any number
	Fetches     int
	Found       int     // new pages that they found first
	Mean        float64 // of them, a look
	Low, High   float64 // the mean is between them with a confidence of 95%
	squares     float64
}

func (l *Looks) add(found int) {
	l.Fetches++
	l.Found += found
	l.squares += float64(found) * float64(found)
}

// settle works out mean and interval, by the normal distribution with the variance of what looks found: of 50 looks that
// find 0.4 pages each, 92% of the intervals hold. Where none
// found anything, a page in as many looks and 3.7 is the most that would be no surprise (Poisson, 97.5%).
func (l *Looks) settle() {
	n := float64(l.Fetches)
	if n == 0 {
		l.Mean, l.Low, l.High = math.NaN(), math.NaN(), math.NaN()
		return
	}
	l.Mean = float64(l.Found) / n
	if l.Found == 0 {
		l.High = 3.689 / n
		return
	}
	se := math.Sqrt(max(l.squares/n-l.Mean*l.Mean, l.Mean/n) / n) // one look that found a page tells of no variance
	l.Low, l.High = max(0, l.Mean-1.96*se), l.Mean+1.96*se
}

const (
	insightCycles = 300 // looked back at
	trendPoints   = 12
	trendCycles   = 30 // of an estimate, as in a Discovery
)

// NewInsight reads the past of a site. O(fetches of the cycles looked back at, which are 20,000 at most, and links of what
// they fetched).
func NewInsight(v *store.View, site store.SiteID, hubs int) (*Insight, error) {
	past, err := plan.ReadPast(v, site, insightCycles)
	if err != nil {
		return nil, err
	}
	in := &Insight{}
	if len(past.Rounds) == 0 {
		return in, nil
	}
	for i := range past.Rounds {
		in.Cycles = append(in.Cycles, past.Rounds[i].Cycle)
	}
	if in.Discovery, err = newDiscovery(v, past.Latest(trendCycles).Discovery(hubs), hubs); err != nil {
		return nil, err
	}
	in.rate(past)
	in.trend(past)
	in.looks(past)
	if in.Spans, err = newSpans(v, site, past); err != nil {
		return nil, err
	}
	share := math.NaN()
	if c := in.Discovery.Coverage; c != nil {
		share = *c
	}
	in.Timely = revisit.NewTimely(past.Fetches(), share, past.Documents)
	return in, nil
}

// rate says how much is fetched: what the rounds fetched after the first one, over the time since that.
func (in *Insight) rate(past *plan.Past) {
	first, last := past.Rounds[0].Cycle, past.Rounds[len(past.Rounds)-1].Cycle
	fetches := 0
	for _, r := range past.Rounds[1:] {
		fetches += r.Looks
	}
	if days := float64(last.At-first.At) / 86400; days > 0 {
		in.PerDay = float64(fetches) / days
	}
}

// trend estimates the coverage at some of the rounds, each as a Discovery would have then.
func (in *Insight) trend(past *plan.Past) {
	n := len(past.Rounds)
	for i := range trendPoints {
		end := n - (trendPoints-1-i)*n/trendPoints
		if end < 3 || i > 0 && end == n-(trendPoints-i)*n/trendPoints {
			continue
		}
		then := (&plan.Past{Rounds: past.Rounds[:end], Documents: past.Documents}).Latest(trendCycles)
		since := plan.Past{Rounds: then.SinceFull()}
		c := revisit.Estimate(since.Fetches(), past.Documents)
		in.Trend = append(in.Trend, CoverageAt{past.Rounds[end-1].Cycle.At, c})
	}
}

// looks sorts the fetches by how long ago their documents were fetched before. Round robin over all documents, with
// as many fetches a cycle, comes to a document again after Round cycles: what was fetched after as long is an
// audit, whoever chose it.
func (in *Insight) looks(past *plan.Past) {
	looks, rounds := 0, 0
	for _, r := range past.Rounds {
		if r.Cycle.Kind != store.FullRecrawl {
			looks, rounds = looks+r.Looks, rounds+1
		}
	}
	if looks == 0 {
		return
	}
	in.Round = float64(past.Documents) * float64(rounds) / float64(looks)
	for _, bound := range [][2]int{{1, 1}, {2, 3}, {4, 7}, {8, 15}, {16, 31}, {32, 0}} {
		in.ByGap = append(in.ByGap, Looks{Least: bound[0], Most: bound[1]})
	}
	for _, r := range past.Rounds {
		if r.Cycle.Kind == store.FullRecrawl {
			continue
		}
		for _, f := range r.Fetches {
			if f.Gap == 0 {
				continue
			}
			for i := range in.ByGap {
				if l := &in.ByGap[i]; f.Gap >= l.Least && (l.Most == 0 || f.Gap <= l.Most) {
					l.add(len(f.Found))
				}
			}
			if float64(f.Gap) >= in.Round {
				in.Audits.add(len(f.Found))
			} else {
				in.Chosen.add(len(f.Found))
			}
		}
	}
	in.Chosen.settle()
	in.Audits.settle()
	for i := range in.ByGap {
		in.ByGap[i].settle()
	}
}
