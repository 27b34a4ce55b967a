package lab

import (
	"math"
	"testing"

	"forage/revisit"
)

var timelyBudgets = []int{1, 3, 10, 30}

// TestTimely compares what revisit.NewTimely expects of other budgets, from 30 weeks in which Best fetched 10 documents
// each, with what Best finds with these in the weeks that follow: the share of the pages that became new, orphans left out,
// found in the week in which they did and within seven. -v prints the table.
func TestTimely(t *testing.T) {
	const window, learnt = 30, 10
	// How far what is expected may be from what is found, in points: in the mean, and without its sign.
	most := map[string][2]float64{"sites": {4, 18}, "sites-more": {21, 26}}
	for _, set := range []string{"sites", "sites-more"} {
		t.Run(set, func(t *testing.T) {
			type sum struct{ n, want, got, off float64 }
			all := map[[2]int]*sum{}
			for _, s := range watch(t, set) {
				learn := s.runs[estimateSetting{"best", learnt}]
				for end := window; end+window < s.weeks; end += window {
					past := learn.answered(end, window)
					c := revisit.Estimate(past, learn.known[end-1])
					m := revisit.NewTimely(past, c.Share, learn.known[end-1])
					for _, k := range timelyBudgets {
						foundAt := s.runs[estimateSetting{"best", k}].foundAt
						for _, within := range []int{1, 7} {
							there, found := 0., 0.
							for y, at := range s.truth.born {
								if int(at) <= end || int(at) > end+window-within+1 {
									continue
								}
								there++
								if f := foundAt[y]; f >= 0 && int(f-at) < within {
									found++
								}
							}
							if there < 10 || c.Found < 10 {
								continue
							}
							key := [2]int{k, within}
							if all[key] == nil {
								all[key] = new(sum)
							}
							got := m.Share(float64(k * within))
							all[key].n++
							all[key].want += found / there
							all[key].got += got
							all[key].off += math.Abs(got - found/there)
						}
					}
				}
			}
			for _, within := range []int{1, 7} {
				for _, k := range timelyBudgets {
					x := all[[2]int{k, within}]
					t.Logf("k = %2d, within %d: %g windows, %.1f%% found, %.1f%% expected, %.1f points off", k, within, x.n, 100*x.want/x.n, 100*x.got/x.n, 100*x.off/x.n)
					if m := most[set]; x.n < 20 || math.Abs(x.want-x.got) > m[0]/100*x.n || x.off > m[1]/100*x.n {
						t.Errorf("k = %d, within %d: %g windows, %.1f%% found, %.1f%% expected, %.1f points off; want at least 20, at most %g and %g points", k, within, x.n, 100*x.want/x.n, 100*x.got/x.n, 100*x.off/x.n, m[0], m[1])
					}
				}
			}
		})
	}
}
