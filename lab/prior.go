package lab

import (
	"forage/graph"
	"forage/revisit"
)

// folds is the number of parts into which sites are divided, in the order of their files, when
// each is to have a prior that it did not teach.
const folds = 5

// foldPrior returns the prior of site i: what the sites of the other folds teach.
func foldPrior(taught []*revisit.Experience, i int) *revisit.Prior {
	var others []*revisit.Experience
	for j, e := range taught {
		if j%folds != i%folds {
			others = append(others, e)
		}
	}
	p := revisit.LearnPrior(others)
	return &p
}

// experience counts what the documents of a site showed in the weeks that recrawls tells of.
func (s *site) experience(weeks []recrawl) *revisit.Experience {
	e := new(revisit.Experience)
	var lists revisit.Lists
	list, number := make([]int32, len(s.urls)), make([]int, len(s.urls))
	for v := range s.urls {
		list[v], number[v] = lists.Of(s.kind[v], s.urls[v])
	}
	for i := range weeks {
		r := &weeks[i]
		news := float64(r.h.NumNew())
		if news == 0 {
			continue
		}
		first := func(v int) bool { // what it shows is not left for others to find
			return graph.Node(v) == s.home || s.isMain(v, r.t-1)
		}
		shown := make([]float64, len(r.h.New)) // documents that show a column
		taken := make([]bool, len(r.h.New))
		for g, docs := range r.h.Old {
			for _, c := range r.h.Cols[g] {
				shown[c] += float64(len(docs))
				for _, v := range docs {
					taken[c] = taken[c] || first(int(v))
				}
			}
		}
		pages, last := make(map[int32]int), make(map[int32]int)
		for v := range s.urls {
			if list[v] > 0 && s.old(graph.Node(v), r.t) {
				pages[list[v]]++
				if l, ok := last[list[v]]; !ok || number[v] > number[l] {
					last[list[v]] = v
				}
			}
		}
		before := &s.weeks[r.t-1]
		for v := range s.urls {
			if !s.old(graph.Node(v), r.t) || !before.alive[v] {
				continue
			}
			p := revisit.Profile{Kind: s.kind[v], Home: graph.Node(v) == s.home, Main: s.isMain(v, r.t-1), Index: v < s.pages && revisit.IsIndex(s.urls[v]),
				List: list[v], Depth: revisit.Depth(s.urls[v]), Links: len(before.links[v])}
			isLast := list[v] > 0 && last[list[v]] == v && revisit.IsDense(number[v], pages[list[v]])
			var share, split float64
			if g := r.group[v]; g >= 0 {
				for _, c := range r.h.Cols[g] {
					if !taken[c] || first(v) {
						part := float64(len(r.h.New[c])) / news
						share, split = share+part, split+part/shown[c]
					}
				}
			}
			e.Add(&p, isLast, share, split)
		}
	}
	return e
}

// isMain reports whether v is a main feed or sitemap at week t.
func (s *site) isMain(v, t int) bool {
	return v >= s.pages && s.main[v] >= 0 && int(s.main[v]) <= t
}
