// Package snap reads and writes the history of one web site: which pages it had at each of a
// row of snapshots and what they linked to. SNAP2 has a snapshot a week, or whenever somebody
// crawled the site. SNAP3 has one for every commit that changed the site, and the dates that its
// pages, feeds and sitemaps stated.
//
// Read gives a History, Walk (or Start and Advance, by time) its States in turn. To make one,
// start with New, give every document its number in URLs and Append snapshot after snapshot;
// Write writes the file. Read checks everything it reads, so that a History never holds an
// unknown number, a link of a page that is not there, a date of a link that is not there, or
// times that run backwards.
//
// # Format
//
// A file is gzip'd UTF-8 text, each line ended by \n:
//
//	SNAP2 \t site \t repository \t ref \t root folder \t base URL
//	U \t n                                    the URL table follows, a path a line, ids 0..n-1
//	/                                         pages first, then all feeds and sitemaps
//	S \t k \t unixtime \t commit \t pages \t feeds and sitemaps
//	W 445                                     well-known documents; absent: as before
//	-12                                       12 is gone
//	+13 r 5                                   13 is there, a redirect stub that links to 5
//	*5 -12 13                                 5 dropped the link to 12 and gained 13
//	~0                                        0 changed, its links did not
//	E
//
// Flags stand behind the number of + and * lines: r redirect stub, f feed, m sitemap; none: a
// page. Gone lines come first, the others ascend by number.
//
// SNAP3 begins with that word and has two lines more, below the change that they belong to:
//
//	+13 5
//	P 13 1583020800                           the date that page 13 states of itself; below + of a page
//	*20 -12 13
//	L 20 5:- 13:1583020800                    20, a feed or sitemap, states this date of 13, and none of 5 any more
//
// Times are seconds since the epoch. An L line may follow any line of a feed or sitemap but that
// it is gone, ascends by target, and names only targets that the document links to then. A date
// stands until it is stated anew, its link is dropped, or the document goes.
package snap

import (
	"errors"
	"fmt"
	"slices"
)

// ID numbers the documents of one history, from 0, in the order of the URL table.
type ID uint32

// A Flag tells what kind of document a URL answers with.
type Flag byte

// The flags of documents. A redirect stub is a page; feeds and sitemaps are not.
const (
	Page     Flag = 0
	Redirect Flag = 'r'
	Feed     Flag = 'f'
	Sitemap  Flag = 'm'
)

// IsPage reports whether the document counts as a page: HTML, redirect stubs included.
func (f Flag) IsPage() bool { return f == Page || f == Redirect }

// A History is a site over time.
type History struct {
	Site, Repo, Ref, Root string // where it comes from; free text without tabs
	Base                  string // base URL of the site
	Dated                 bool   // SNAP3: a snapshot a commit, with dates

	URLs      []string // path of each document, by ID
	Snapshots []Snapshot
}

// A Snapshot is one recrawl, or in a dated history one commit, as changes against the one before.
type Snapshot struct {
	Time        int64  // seconds since the epoch; never falls from snapshot to snapshot
	Commit      string // version of the source, free text
	Pages, Docs int    // pages, feeds and sitemaps alive after the changes
	WellKnown   []ID   // documents known without any link; nil: as before, else the whole list
	Changes     []Change
}

// Op is the kind of a change.
type Op byte

// The changes that a snapshot can hold.
const (
	Gone    Op = '-' // the document is not there any more
	Added   Op = '+' // the document is there, for the first time or again
	Links   Op = '*' // the document's links or flag changed
	Content Op = '~' // the document changed but not its links
)

// A Change is what happened to one document.
type Change struct {
	Op   Op
	ID   ID
	Flag Flag // after the change; meaningful for Added and Links
	Gain []ID // links gained, ascending; all links for Added
	Drop []ID // links dropped, ascending

	// In dated histories only.
	Published int64  // the date that a page states of itself when it is Added; 0: none
	Dates     []Date // that a feed or sitemap newly states of its links, ascending by Target
}

// A Date is what a feed or sitemap states of a document that it links to: when it was changed or
// published.
type Date struct {
	Target ID
	Time   int64 // seconds since the epoch; 0: no date any more
}

// A State is a site at one snapshot. The slices inside belong to the walk that made it and
// hold until it goes on.
type State struct {
	K         int // number of the snapshot
	Time      int64
	Alive     []bool // by ID
	Flag      []Flag // by ID, of documents alive
	Links     [][]ID // by ID, ascending; nil for documents not alive
	Version   []int  // by ID: the snapshot that changed the document last
	WellKnown []ID

	// In dated histories only; nil in others.
	Published []int64        // by ID: the date that the page states of itself; 0: none
	Dates     []map[ID]int64 // by ID of a feed or sitemap: the date it states of each target that it dates
}

// New returns a history without snapshots.
func New(site, base string) *History { return &History{Site: site, Base: base} }

// NumPages returns how many of the leading URLs are not feeds or sitemaps: FORMAT puts all
// pages first. An ID below it is a page whenever it is alive.
func (h *History) NumPages() int {
	n := len(h.URLs)
	for _, s := range h.Snapshots {
		for _, c := range s.Changes {
			if (c.Op == Added || c.Op == Links) && !c.Flag.IsPage() {
				n = min(n, int(c.ID))
			}
		}
	}
	return n
}

// Walk calls visit with the state at each snapshot in turn, until it returns false.
func (h *History) Walk(visit func(*State) bool) {
	for s := h.Start(); h.Step(s) && visit(s); {
	}
}

// Start returns the state before the first snapshot: K is -1, nothing is there.
func (h *History) Start() *State { return h.newState() }

// Step moves s on by one snapshot; false: there is none left.
func (h *History) Step(s *State) bool {
	if s.K+1 >= len(h.Snapshots) {
		return false
	}
	if err := s.apply(&h.Snapshots[s.K+1]); err != nil {
		panic(fmt.Sprintf("snap: snapshot %d: %v", s.K, err)) // Read and Append let none in
	}
	return true
}

// Advance moves s on to the last snapshot at or before a time, in seconds since the epoch. It
// never moves back.
func (h *History) Advance(s *State, time int64) {
	for s.K+1 < len(h.Snapshots) && h.Snapshots[s.K+1].Time <= time {
		h.Step(s)
	}
}

// At returns the state at snapshot k. It panics if there is no snapshot k.
func (h *History) At(k int) *State {
	var at *State
	h.Walk(func(s *State) bool { at = s; return s.K < k })
	if at == nil || at.K != k {
		panic(fmt.Sprintf("snap: snapshot %d of %d", k, len(h.Snapshots)))
	}
	return at
}

func (h *History) newState() *State {
	n := len(h.URLs)
	s := &State{K: -1, Alive: make([]bool, n), Flag: make([]Flag, n), Links: make([][]ID, n), Version: make([]int, n)}
	if h.Dated {
		s.Published, s.Dates = make([]int64, n), make([]map[ID]int64, n)
	}
	return s
}

// apply moves s on by one snapshot. It leaves earlier link slices as they were.
func (s *State) apply(next *Snapshot) error {
	if s.K >= 0 && next.Time < s.Time {
		return fmt.Errorf("time %d comes after %d", next.Time, s.Time)
	}
	s.K, s.Time = s.K+1, next.Time
	if next.WellKnown != nil {
		s.WellKnown = next.WellKnown
	}
	for i := range next.Changes {
		c := &next.Changes[i]
		if int(c.ID) >= len(s.Alive) {
			return fmt.Errorf("document %d of %d", c.ID, len(s.Alive))
		}
		if s.Alive[c.ID] == (c.Op == Added) {
			return fmt.Errorf("%c%d: the document is %s", c.Op, c.ID, map[bool]string{true: "there already", false: "not there"}[c.Op == Added])
		}
		s.Version[c.ID] = s.K
		switch c.Op {
		case Gone:
			s.Alive[c.ID], s.Links[c.ID], s.Flag[c.ID] = false, nil, Page
		case Added:
			s.Alive[c.ID], s.Flag[c.ID], s.Links[c.ID] = true, c.Flag, c.Gain
		case Links:
			out, err := change(s.Links[c.ID], c.Drop, c.Gain)
			if err != nil {
				return fmt.Errorf("*%d: %w", c.ID, err)
			}
			s.Flag[c.ID], s.Links[c.ID] = c.Flag, out
		case Content:
		default:
			return fmt.Errorf("unknown change %q", c.Op)
		}
		if s.Dates != nil {
			if err := s.date(c); err != nil {
				return fmt.Errorf("%c%d: %w", c.Op, c.ID, err)
			}
		}
	}
	return nil
}

// date takes in what a change, which s has taken in otherwise, does to dates.
func (s *State) date(c *Change) error {
	page := s.Flag[c.ID].IsPage()
	if c.Op == Gone || c.Op == Added || page {
		s.Dates[c.ID] = nil
	}
	if c.Op == Gone || c.Op == Added {
		s.Published[c.ID] = c.Published
	}
	if len(c.Dates) > 0 && (page || c.Op == Gone) {
		return errors.New("only feeds and sitemaps state dates of others")
	}
	if c.Published != 0 && (!page || c.Op != Added) {
		return errors.New("only a page that is added states a date of itself")
	}
	dates := s.Dates[c.ID]
	for _, u := range c.Drop {
		delete(dates, u)
	}
	for _, d := range c.Dates {
		if _, links := slices.BinarySearch(s.Links[c.ID], d.Target); !links {
			return fmt.Errorf("states a date of %d, to which it does not link", d.Target)
		}
		if _, dated := dates[d.Target]; d.Time == 0 && !dated {
			return fmt.Errorf("takes back the date of %d, of which it states none", d.Target)
		}
		if d.Time == 0 {
			delete(dates, d.Target)
			continue
		}
		if dates == nil {
			dates = make(map[ID]int64)
			s.Dates[c.ID] = dates
		}
		dates[d.Target] = d.Time
	}
	return nil
}

// check verifies what apply cannot see change by change: links to what is not there, and
// the counts that the snapshot states.
func (s *State) check(snapshot *Snapshot) error {
	pages, docs := 0, 0
	for id, alive := range s.Alive {
		if !alive {
			continue
		}
		if s.Flag[id].IsPage() {
			pages++
		} else {
			docs++
		}
	}
	if pages != snapshot.Pages || docs != snapshot.Docs {
		return fmt.Errorf("%d pages and %d feeds and sitemaps, stated %d and %d", pages, docs, snapshot.Pages, snapshot.Docs)
	}
	return nil
}

// change returns the ascending links without drop and with gain.
func change(links, drop, gain []ID) ([]ID, error) {
	out := make([]ID, 0, max(0, len(links)-len(drop))+len(gain))
	for _, u := range links {
		if len(drop) > 0 && drop[0] == u {
			drop = drop[1:]
			continue
		}
		for len(gain) > 0 && gain[0] < u {
			out, gain = append(out, gain[0]), gain[1:]
		}
		if len(gain) > 0 && gain[0] == u {
			return nil, fmt.Errorf("gains the link to %d that it has", u)
		}
		out = append(out, u)
	}
	if len(drop) > 0 {
		return nil, fmt.Errorf("drops the link to %d that it has not", drop[0])
	}
	return append(out, gain...), nil
}

// A Document is one alive document of a snapshot to be appended.
type Document struct {
	ID      ID
	Flag    Flag
	Links   []ID // ascending, distinct, each alive in the same snapshot
	Changed bool // whether its content differs from the snapshot before
}

// Append adds a snapshot with exactly the given documents, ascending by ID. prev is the state
// at the last snapshot, nil for the first; Append moves it on and returns it, so that a long
// history is not walked anew for each snapshot.
//
// It makes weekly histories: what it appends states no dates.
func (h *History) Append(prev *State, time int64, commit string, docs []Document, wellKnown []ID) (*State, error) {
	if prev == nil {
		prev = h.newState()
	}
	for n := len(h.URLs); len(prev.Alive) < n; {
		prev.Alive, prev.Flag = append(prev.Alive, false), append(prev.Flag, Page)
		prev.Links, prev.Version = append(prev.Links, nil), append(prev.Version, 0)
	}
	next := Snapshot{Time: time, Commit: commit}
	if !slices.Equal(wellKnown, prev.WellKnown) {
		next.WellKnown = slices.Clone(wellKnown)
		if next.WellKnown == nil {
			next.WellKnown = []ID{}
		}
	}
	there := make([]bool, len(h.URLs))
	for i, d := range docs {
		if int(d.ID) >= len(h.URLs) {
			return nil, fmt.Errorf("append snapshot %d: document %d of %d", len(h.Snapshots), d.ID, len(h.URLs))
		}
		if i > 0 && docs[i-1].ID >= d.ID {
			return nil, errors.New("append snapshot: documents do not ascend")
		}
		there[d.ID] = true
	}
	for id, alive := range prev.Alive {
		if alive && !there[id] {
			next.Changes = append(next.Changes, Change{Op: Gone, ID: ID(id)})
		}
	}
	for _, d := range docs {
		if d.Flag.IsPage() {
			next.Pages++
		} else {
			next.Docs++
		}
		for i, u := range d.Links {
			if int(u) >= len(there) || !there[u] || i > 0 && d.Links[i-1] >= u {
				return nil, fmt.Errorf("append snapshot %d: document %d links to %d: not there, or out of order", len(h.Snapshots), d.ID, u)
			}
		}
		c := Change{ID: d.ID, Flag: d.Flag}
		switch {
		case !prev.Alive[d.ID]:
			c.Op, c.Gain = Added, slices.Clone(d.Links)
		case d.Flag != prev.Flag[d.ID] || !slices.Equal(d.Links, prev.Links[d.ID]):
			c.Op = Links
			c.Drop, c.Gain = Difference(prev.Links[d.ID], d.Links), Difference(d.Links, prev.Links[d.ID])
		case d.Changed:
			c.Op, c.Flag = Content, Page
		default:
			continue
		}
		next.Changes = append(next.Changes, c)
	}
	if err := prev.apply(&next); err != nil {
		return nil, fmt.Errorf("append snapshot %d: %w", len(h.Snapshots), err)
	}
	h.Snapshots = append(h.Snapshots, next)
	return prev, nil
}

// Difference returns what is in a and not in b, both ascending.
func Difference(a, b []ID) []ID {
	var out []ID
	for _, x := range a {
		for len(b) > 0 && b[0] < x {
			b = b[1:]
		}
		if len(b) == 0 || b[0] != x {
			out = append(out, x)
		}
	}
	return out
}
