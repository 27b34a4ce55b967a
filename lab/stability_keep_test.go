package lab

import (
	"context"
	"slices"
	"strings"
	"testing"

	"forage/graph"
	"forage/retain"
)

func TestKeepings(t *testing.T) {
	env := blog(t)
	var first [][]any
	for range 2 {
		r, err := keepings(context.Background(), env)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = r.Rows
		}
		for i, row := range r.Rows {
			for j := range row {
				if row[j] != first[i][j] {
					t.Errorf("row %d: a second run gives %v for %v", i, row[j], first[i][j])
				}
			}
		}
		if len(r.Rows) != len(keepShares)*len(retain.KeepRules()) || !strings.HasPrefix(r.Notes[0], "1 sites,") {
			t.Errorf("%d rows, %q", len(r.Rows), r.Notes)
		}
	}
}

// TestKeepingOfAll: a store that has room for all loses nothing, and one with room for one page holds that
// page's links.
func TestKeepingOfAll(t *testing.T) {
	// 0 links to 1, 2, 3, which link back; in the second week 3 is gone, in the third it is back.
	star := [][]graph.Node{{1, 2, 3}, {0}, {0}, {0}}
	without := [][]graph.Node{{1, 2}, {0}, {0}, nil}
	s := &site{pages: 4, home: 0}
	for _, gone := range []bool{false, true, false} {
		w := week{alive: []bool{true, true, true, !gone}, links: star, count: 4}
		if gone {
			w.links = without
		}
		s.weeks = append(s.weeks, w)
	}
	for _, rule := range retain.KeepRules() {
		all, err := s.keeping(rule, 4, s.discovered())
		if err != nil {
			t.Fatal(err)
		}
		if all.held != 1 || all.lost != 0 || all.back != 0 || all.validated != (1+3./4)/2 {
			t.Errorf("%s, room for all: %+v", rule, all)
		}
		one, err := s.keeping(rule, 1, s.discovered())
		if err != nil {
			t.Fatal(err)
		}
		if len(one.pages) != 1 || one.held > .5 || one.held == 0 || one.validated == 0 {
			t.Errorf("%s, room for one: %+v", rule, one)
		}
	}
	if got := s.discovered(); !slices.Equal(got, []graph.Node{0, 1, 2, 3}) {
		t.Errorf("discovered in the order %v", got)
	}
}

// TestKeepNotes: the rule that the notes choose is the one that loses least on the other sites.
func TestKeepNotes(t *testing.T) {
	rules := retain.KeepRules()
	made := func(lost ...[3]float64) (all [][][]keeping) {
		for _, of := range lost {
			var site [][]keeping
			for range keepShares {
				site = append(site, []keeping{{lost: of[0]}, {lost: of[1]}, {lost: of[2]}})
			}
			all = append(all, site)
		}
		return all
	}
	for _, tt := range []struct {
		lost [][3]float64
		want string
	}{
		{[][3]float64{{.1, .2, .3}, {.1, .2, .3}}, "votes 10.00% (fewest on 2 of 2 sites, chosen for 2 by the others), indegree 20.00% (fewest on 0 of 2 sites, chosen for 0 by the others), pagerank 30.00% (fewest on 0 of 2 sites, chosen for 0 by the others); chosen so, out of fold, 10.00%."},
		{[][3]float64{{.3, .2, .1}, {.1, .2, .3}}, "votes 20.00% (fewest on 1 of 2 sites, chosen for 1 by the others), indegree 20.00% (fewest on 0 of 2 sites, chosen for 0 by the others), pagerank 20.00% (fewest on 1 of 2 sites, chosen for 1 by the others); chosen so, out of fold, 30.00%."},
	} {
		r := &Result{}
		keepNotes(r, made(tt.lost...), rules)
		if len(r.Notes) != len(keepShares) || !strings.Contains(r.Notes[0], tt.want) {
			t.Errorf("%v: %q, want %q", tt.lost, r.Notes, tt.want)
		}
	}
}
