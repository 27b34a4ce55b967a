package lab

import (
	"context"
	"math"
	"sync"
	"testing"

	"forage/internal/shared"
	"forage/revisit"
)

// TestTimely compares what revisit.NewTimely expects of other budgets, from 30 weeks in which Best fetched 10 documents
// each, with what Best finds with these in the weeks that follow: the share of the pages that became new, orphans left out,
// found in the week in which they did and within seven. -v prints the table.
func TestTimely(t *testing.T) {
	const window, learnt = 30, 10
	budgets := []int{1, 3, learnt, 30}
	// How far what is expected may be from what is found, in points: in the mean, and without its sign.
	most := map[string][2]float64{"sites": {4, 18}, "sites-more": {21, 26}}
	for _, set := range []string{"sites", "sites-more"} {
		t.Run(set, func(t *testing.T) {
			type sum struct{ n, want, got, off float64 }
			var mu sync.Mutex
			all := map[[2]int]*sum{}
			_, err := eachSite(context.Background(), &Env{Data: shared.Path(t, "data", set)}, func(_ int, s *site) error {
				_, weeks := s.recrawls(true)
				truth := s.truth(weeks)
				runs := map[int]*budgeted{}
				var w *witness
				for _, k := range budgets {
					p, err := policy("best", 1)
					if err != nil {
						return err
					}
					x := &witness{Policy: p}
					b := s.budgeted(x, true, "none")
					b.run(k, truth)
					if runs[k] = b; k == learnt {
						w = x
					}
				}
				for end := window; end+window < len(s.weeks); end += window {
					past := w.answered(end, window)
					c := revisit.Estimate(past, w.known[end-1])
					m := revisit.NewTimely(past, c.Share, w.known[end-1])
					for _, k := range budgets {
						for _, within := range []int{1, 7} {
							there, found := 0., 0.
							for y, at := range truth.born {
								if int(at) <= end || int(at) > end+window-within+1 {
									continue
								}
								there++
								if f := runs[k].foundAt[y]; f >= 0 && int(f-at) < within {
									found++
								}
							}
							if there < 10 || c.Found < 10 {
								continue
							}
							mu.Lock()
							key := [2]int{k, within}
							if all[key] == nil {
								all[key] = new(sum)
							}
							got := m.Share(float64(k * within))
							all[key].n++
							all[key].want += found / there
							all[key].got += got
							all[key].off += math.Abs(got - found/there)
							mu.Unlock()
						}
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, within := range []int{1, 7} {
				for _, k := range budgets {
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
