package main

import "forage/internal/software"

// A bound is what a crawl of a small site of a kind must reach at least, which TestLeast checks. It
// is what the crawl reaches now: whoever makes it better raises it.
type bound struct {
	kind      string
	config    software.Config
	requests  int64 // the first visit makes no more
	ended     bool  // it ends by itself
	found     int   // content pages
	toldNew   int   // published ones that are told in their week
	falseNew  int   // no more are told though they were there
	toldAway  int   // deleted and renamed ones that are told
	falseGone int   // no more are told though they are there
	revisit   int64 // requests of a later cycle: on average no more
}

// cut is after how many requests first visits and later cycles of the small sites are cut.
const (
	cutFirst   = 1500
	cutRevisit = 400
)

func (b bound) trial(seed uint64) trial {
	c := b.config
	c.Seed = seed
	return trial{kind: b.kind, config: c, first: cutFirst, budget: 10, most: cutRevisit}
}

// small is the size of the sites of the tests.
var small = software.Config{Pages: 40, Weeks: 2, Published: 3, Deleted: 1, Renamed: 1, Edited: 2}

var least = []bound{
	{kind: "wordpress", config: small, requests: 452, ended: true, found: 40, toldNew: 6, revisit: 27},
	{kind: "wordpress-plain", config: small, requests: 454, ended: true, found: 40, toldNew: 6, revisit: 21},
	{kind: "mediawiki", config: small, requests: 1502, found: 40, revisit: 20},
	{kind: "shop", config: small, requests: 1502, found: 32, revisit: 181},
	{kind: "cgit", config: small, requests: 1502, found: 39, revisit: 401},
}
