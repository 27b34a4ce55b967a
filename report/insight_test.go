package report

import (
	"math"
	"math/rand/v2"
	"testing"

	"forage/crawl/plan"
	"forage/graph"
	"forage/revisit"
	"forage/store"
)

// pastOf returns the past of a site with so many rounds, a day apart, of looks that find pages now and then.
func pastOf(r *rand.Rand, rounds, looks, documents int) *plan.Past {
	p := &plan.Past{Documents: documents}
	next := graph.Node(1000)
	for i := range rounds {
		round := plan.Round{Cycle: &store.CycleRecord{Cycle: store.Cycle(i + 2), At: store.Time(86400 * (i + 1)), Kind: store.Revisit}, Looks: looks}
		if i == rounds/3 {
			round.Cycle.Kind = store.FullRecrawl
		}
		for j := range looks {
			f := revisit.PastRefetch{Page: graph.Node(j), Gap: 1 + r.IntN(6)}
			for range r.IntN(3) {
				f.Found = append(f.Found, next)
				next++
			}
			f.Led = f.Found
			round.Found += len(f.Found)
			round.Fetches, round.At = append(round.Fetches, f), append(round.At, round.Cycle.At)
		}
		p.Rounds = append(p.Rounds, round)
	}
	return p
}

// TestInsightAgrees compares the parts of an insight with each other, and with the past that they are made of.
func TestInsightAgrees(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 5))
		past := pastOf(r, 5+r.IntN(80), 1+r.IntN(5), 20)
		in := new(Insight)
		in.rate(past)
		in.trend(past)
		in.looks(past)
		if want := float64(past.Rounds[0].Looks); math.Abs(in.PerDay-want) > 1e-9 {
			t.Errorf("seed %d: %g fetches a day, want %g", seed, in.PerDay, want)
		}
		last, want := in.Trend[len(in.Trend)-1], past.Latest(trendCycles).Discovery(0).Coverage
		if last.Share != want.Share && !(math.IsNaN(last.Share) && math.IsNaN(want.Share)) || last.At != past.Rounds[len(past.Rounds)-1].Cycle.At {
			t.Errorf("seed %d: the trend ends with %+v, a discovery tells %+v", seed, last, want)
		}
		for i := 1; i < len(in.Trend); i++ {
			if in.Trend[i].At <= in.Trend[i-1].At {
				t.Errorf("seed %d: the trend goes from %d to %d", seed, in.Trend[i-1].At, in.Trend[i].At)
			}
		}
		looks, found := 0, 0
		for _, round := range past.Rounds {
			if round.Cycle.Kind != store.FullRecrawl {
				looks, found = looks+round.Looks, found+round.Found
			}
		}
		for name, parts := range map[string][]Looks{"chosen and audits": {in.Chosen, in.Audits}, "by gap": in.ByGap} {
			n, f := 0, 0
			for _, l := range parts {
				n, f = n+l.Fetches, f+l.Found
			}
			if n != looks || f != found {
				t.Errorf("seed %d, %s: %d looks found %d, want %d and %d", seed, name, n, f, looks, found)
			}
		}
	}
}

// TestLooks sorts looks by hand, and checks that intervals hold.
func TestLooks(t *testing.T) {
	past := &plan.Past{Documents: 10}
	for i, gaps := range [][]int{{1, 1, 2, 1, 1}, {1, 1, 0, 2, 3}} { // round robin comes round after 2 cycles
		round := plan.Round{Cycle: &store.CycleRecord{At: store.Time(86400 * (i + 1)), Kind: store.Revisit}, Looks: len(gaps)}
		for j, gap := range gaps {
			f := revisit.PastRefetch{Page: graph.Node(j), Gap: gap}
			if j == 0 {
				f.Found = []graph.Node{graph.Node(100 + i)}
			}
			round.Fetches = append(round.Fetches, f)
		}
		past.Rounds = append(past.Rounds, round)
	}
	in := new(Insight)
	in.looks(past)
	if in.Round != 2 || in.Chosen.Fetches != 6 || in.Chosen.Found != 2 || in.Audits.Fetches != 3 || in.Audits.Found != 0 {
		t.Errorf("round robin after %g cycles, chosen %+v, audits %+v; want 2, 6 looks that found 2, 3 that found nothing", in.Round, in.Chosen, in.Audits)
	}
	if in.Audits.Low != 0 || math.Abs(in.Audits.High-3.689/3) > 1e-9 {
		t.Errorf("audits find %g to %g", in.Audits.Low, in.Audits.High)
	}
	// Of many sets of looks at documents that show Poisson many pages, the true mean lies in the interval of 95% or so.
	r := rand.New(rand.NewPCG(1, 6))
	held := 0
	const sets, mean = 2000, .4
	for range sets {
		var l Looks
		for range 50 {
			n := 0
			for p := r.Float64(); p > math.Exp(-mean); p *= r.Float64() {
				n++
			}
			l.add(n)
		}
		l.settle()
		if l.Low <= mean && mean <= l.High {
			held++
		}
	}
	if held < sets*91/100 || held > sets*98/100 {
		t.Errorf("%d of %d intervals hold", held, sets)
	}
}
