package revisit

import (
	"slices"

	"forage/graph"
)

// A SignalObserver is a Policy that can use change signals.
type SignalObserver interface {
	// ObserveSignal tells, after the Observe of a list, of old documents that it says to be
	// as they were at their last good fetch, and that is believed: fetching one of them in
	// this cycle would show nothing new.
	ObserveSignal(same []graph.Node)
}

// signals is what lists told of a site's documents, and how far that was true. Sites write
// into their lists what they like: the time of the last build for all, that of the first
// publication for ever. Such lists are found out by fetches of what they just called the same:
// of as many as should have shown a change, going by how often these documents did before, a
// list that knows nothing misses all. One that calls everything changed does no harm.
//
// What is believed is still tried: of the documents called the same, one in tryEvery a cycle
// is left to the policy as if nothing had been said.
type signals struct {
	docs     []signalled // by document; shorter: nothing was told
	all      signalled   // of all of them
	expected float64     // changes that fetches of documents called the same should have shown
	missed   float64     // that they did show
}

// signalled is what is known of one document.
type signalled struct {
	same    int32   // latest cycle in which a list called it the same
	fetches float32 // good ones since lists tell of it
	changed float32 // of these: its links had changed
}

// Lists are believed when enough changes should have been missed, and at most a tenth of these
// were. Both counts are halved at mostExpected, so that lists which begin to lie are found out
// soon.
const (
	enough       = 3
	mostExpected = 40
	tryEvery     = 20
)

func (g *signals) believed() bool { return g.expected >= enough && 10*g.missed <= g.expected }

// check compares what the fetch of v showed with what was told of it in this cycle.
func (s *Site) check(v graph.Node, a *Answer) {
	g := &s.signals
	if int(v) >= len(g.docs) || a.Gone || a.Failed {
		return
	}
	d := &g.docs[v]
	if int(d.same) == s.cycle {
		rate := (g.all.changed + .1) / (g.all.fetches + 1)
		g.expected += float64((d.changed + rate) / (d.fetches + 1))
		if a.Changed {
			g.missed++
		}
		if g.expected > mostExpected {
			g.expected, g.missed = g.expected/2, g.missed/2
		}
	}
	for _, d := range []*signalled{d, &g.all} {
		d.fetches++
		if a.Changed {
			d.changed++
		}
	}
}

// tell takes in the documents that a list called the same, and tells the policy of them if it
// can use them and they are believed.
func (s *Site) tell(same []Key) {
	p, ok := s.policy.(SignalObserver)
	if !ok || len(same) == 0 {
		return
	}
	g := &s.signals
	believed := s.Believe || g.believed()
	var told []graph.Node
	for _, k := range same {
		v, ok := s.node.find(s.key, k)
		if !ok || int(s.docs.born(v)) == s.cycle || int(s.last[v]) == s.cycle || s.gone[v] {
			continue
		}
		for len(g.docs) < s.docs.Len() {
			g.docs = append(g.docs, signalled{})
		}
		if int(g.docs[v].same) == s.cycle {
			continue
		}
		g.docs[v].same = int32(s.cycle)
		if believed && (s.Believe || mixed(uint64(s.cycle)<<32|uint64(v))%tryEvery != 0) {
			told = append(told, v)
		}
	}
	slices.Sort(told)
	if len(told) > 0 {
		p.ObserveSignal(told)
	}
}

// mixed is a hash of x [the last step of splitmix64].
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
