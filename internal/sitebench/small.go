package main

import "forage/internal/software"

// Of a small site first visits and later cycles are cut after so many requests. Where a first visit
// is to be cut, it is so early that no kind is known by then.
const (
	cutFirst   = 1200
	cutEarly   = 30
	cutRevisit = 200
)

// small is the trial of the tests: a site of a kind that is crawled in a second.
func small(k *software.Kind, seed uint64) trial {
	c := software.Config{Pages: 40, Weeks: 2, Published: 3, Deleted: 1, Renamed: 1, Edited: 2, Seed: seed}
	if k.Full.Pages < c.Pages {
		c = software.Config{Seed: seed}
	}
	return trial{kind: k.Name, config: c, first: cutFirst, budget: 10, most: cutRevisit}
}
