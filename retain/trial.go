package retain

import (
	"math/rand/v2"

	"forage/graph"
)

// A Trial is what several runs of a buffer have in common: the web, and how long it is looked at.
// Where nothing is drawn during a run and the web stands still, a run goes to its limit cycle;
// else it warms up and is watched.
type Trial struct {
	Graph    *graph.CSR   // the web; of a web that changes, as it is in the end
	Config   Config       // Links 0 follows all, as 1 does
	Pages    []graph.Node // that a run may start from; nil: all
	Rewire   float64      // share of the arcs that Rewire deals out anew before each step
	MaxSteps int          // give up looking for the cycle; at least 1
	Window   int          // steps to warm up, and to watch; at least 1
	Delta    float64      // share of the steps watched that a page of the core may miss

	// Later is how many steps of a web that changes by itself are watched, in place of Window;
	// Change is called before each step of a run, from 0.
	Later  int
	Change func(d *Dynamics, step int) // nil: the web stands still

	topLinks, topRank []graph.Node // the best of Graph, as many as the buffer holds
}

// An Outcome is what one run showed.
type Outcome struct {
	Buffer    int      `json:"buffer"` // pages that fit
	Core      int      `json:"core"`   // pages
	CoreShare float64  `json:"core_share"`
	Period    *int     `json:"period"`    // nil: no cycle within MaxSteps, or a run that is watched
	Transient *int     `json:"transient"` // as Period
	Agreement *float64 `json:"agreement"` // that Agree fills in
	Steps     int      `json:"steps"`
	Turnover  float64  `json:"turnover"`
	ZeroVotes int      `json:"zero_votes"`       // pages of the core without a link from it
	Moving    *int     `json:"moving"`           // as Limit has it; nil of runs that are watched
	InDegree  float64  `json:"overlap_indegree"` // share of the last buffer that is among the best of Graph
	PageRank  float64  `json:"overlap_pagerank"`

	Pages []graph.Node `json:"-"` // the core, ascending
}

// Run runs a buffer from the given pages, or from Pages drawn at random where start is nil; all
// chance comes from r. The first call ranks the nodes
// of Graph. It is not safe for concurrent use.
func (t *Trial) Run(start []graph.Node, r *rand.Rand) (*Outcome, error) {
	b := t.Config.Buffer
	if t.topLinks == nil {
		rank, err := FullRank(t.Graph, t.Config)
		if err != nil {
			return nil, err
		}
		links, err := graph.InDegrees(t.Graph)
		if err != nil {
			return nil, err
		}
		t.topLinks, t.topRank = graph.Top(links, b, nil), graph.Top(rank, b, nil)
	}
	if start == nil {
		if t.Pages == nil {
			start = RandomStart(t.Graph.NumNodes(), b, r)
		} else {
			for _, i := range RandomStart(len(t.Pages), b, r) {
				start = append(start, t.Pages[i])
			}
		}
	}
	d, err := New(t.Graph, t.Config, start, r)
	if err != nil {
		return nil, err
	}
	o := &Outcome{Buffer: b}
	if t.Change != nil || t.Rewire > 0 || !d.Deterministic() {
		steps := t.Window
		if t.Change != nil {
			steps = t.Later
		}
		s := Watch(d, t.Window, steps, t.Delta, func(step int) {
			if t.Change != nil {
				t.Change(d, step)
			}
			if t.Rewire > 0 {
				d.SetGraph(Rewire(d.Graph(), t.Rewire, r))
			}
		})
		last := t.Graph
		if t.Change == nil {
			last = d.Graph()
		}
		o.Turnover, o.Steps, o.Pages = s.Turnover, t.Window+s.Steps, s.Core
		o.ZeroVotes = len(s.Core) - Voted(last, s.Core)
	} else {
		l := Run(d, t.MaxSteps)
		o.Turnover, o.Steps, o.ZeroVotes, o.Moving, o.Pages = l.Turnover, l.Steps, l.ZeroVotes, &l.Moving, l.Core
		if l.Cyclic {
			o.Period, o.Transient = &l.Period, &l.Transient
		}
	}
	o.Core, o.CoreShare = len(o.Pages), float64(len(o.Pages))/float64(b)
	buffer := d.Buffer(nil)
	o.InDegree = float64(Overlap(buffer, t.topLinks)) / float64(b)
	o.PageRank = float64(Overlap(buffer, t.topRank)) / float64(b)
	return o, nil
}

// Agree fills in what the core of each run shares with those of the others, on average; it leaves a
// single run alone.
func Agree(runs []*Outcome) {
	for i, o := range runs {
		sum := 0.0
		for j := range runs {
			if j != i {
				sum += Agreement(o.Pages, runs[j].Pages)
			}
		}
		if len(runs) > 1 {
			mean := sum / float64(len(runs)-1)
			o.Agreement = &mean
		}
	}
}
