package store

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"forage/graph"
	"forage/store/record"
)

// A round is a cycle of format 1: one over all sites, kept as JSON in table 'c' by its number
// alone. What it came to at each site is in table 'y', in the first eight fields of what is a
// CycleRecord now.
type round struct {
	Cycle   Cycle     `json:"cycle"`
	Kind    CycleKind `json:"kind"`
	Policy  string    `json:"policy"`
	Budget  string    `json:"budget"`
	At      Time      `json:"at"`
	Ended   Time      `json:"ended"`
	Fetched int64     `json:"fetched"`
	Old     int64     `json:"refetched"`
	New     int64     `json:"new_pages"`
	Bytes   int64     `json:"bytes"`
	Errors  int64     `json:"errors"`

	sites []SiteID // that it worked on, ascending
	sum   round1   // of what is kept of them
}

// A round1 is what is known of a round at one site.
type round1 struct{ fetched, old, new, unknown, bytes int64 }

// A siteRound names a round at a site.
type siteRound struct {
	cycle Cycle
	site  SiteID
}

// fromFormat1 makes each round a cycle of each of its sites. Format 1 kept the new pages and
// the errors of a round over all sites only: new pages are counted again from what was found
// at each site, and what this leaves over, and all errors, go to the first of the sites, so
// that the sum over the sites is what the round was. The rounds themselves are dropped last;
// until then everything can be done again and comes to the same.
func fromFormat1(db *DB, m *migration) error {
	sites, err := nameSites(db, m)
	if err != nil {
		return err
	}
	rounds, last, err := readRounds(db)
	if err != nil {
		return err
	}
	given, err := db.View.LastCycle() // by this migration, when it was interrupted
	if err != nil {
		return err
	}
	if err := m.put(metaKey("cycle"), uint32Bytes(uint32(max(given, last)))); err != nil {
		return err
	}
	found, err := foundIn(db)
	if err != nil {
		return err
	}
	if err := db.scan([]byte{tableCycle}, nil, rowsOf(func(c *CycleRecord) error {
		if r := rounds[c.Cycle]; r != nil {
			r.sites = append(r.sites, c.Site)
			x := found[siteRound{c.Cycle, c.Site}]
			r.sum.fetched += c.Fetched
			r.sum.old += c.Refetched
			r.sum.bytes += c.Bytes
			r.sum.new += x.new
		}
		return nil
	})); err != nil {
		return err
	}
	// What was counted again cannot be more than the round had.
	for _, r := range rounds {
		for _, s := range slices.Backward(r.sites) {
			k := siteRound{r.Cycle, s}
			x := found[k]
			if over := min(x.new, r.sum.new-r.New); over > 0 {
				x.new -= over
				r.sum.new -= over
				found[k] = x
			}
		}
	}
	if err := db.scan([]byte{tableCycle}, nil, rowsOf(func(c *CycleRecord) error {
		if r := rounds[c.Cycle]; r != nil {
			return r.split(c, found[siteRound{c.Cycle, c.Site}], sites[c.Site], m)
		}
		return nil
	})); err != nil {
		return err
	}
	for _, c := range slices.Sorted(maps.Keys(rounds)) {
		if r := rounds[c]; len(r.sites) == 0 && len(sites) > 0 {
			first := sites[slices.Min(slices.Collect(maps.Keys(sites)))]
			r.sites = []SiteID{first.ID}
			if err := r.split(&CycleRecord{Cycle: c, Site: first.ID, At: r.At}, round1{}, first, m); err != nil {
				return err
			}
		}
	}
	if err := m.flush(); err != nil {
		return err
	}
	for c := range rounds {
		if err := m.drop(key(tableCycleIndex, uint32(c))); err != nil {
			return err
		}
	}
	return m.flush()
}

// rowsOf passes the rows of tableCycle that can be read on; the others are for Repair.
func rowsOf(yield func(*CycleRecord) error) func(k, val []byte) error {
	return func(k, val []byte) error {
		n, err := numbers(k, 2)
		if err != nil {
			return nil
		}
		c, err := decodeCycle(SiteID(n[0]), Cycle(n[1]), val)
		if err != nil {
			return nil
		}
		return yield(c)
	}
}

// nameSites makes the index of the sites' names.
func nameSites(db *DB, m *migration) (map[SiteID]*Site, error) {
	sites := map[SiteID]*Site{}
	last := SiteID(0)
	var failed error
	if err := db.SitesFrom(0, func(s *Site) bool {
		sites[s.ID] = s
		last = max(last, s.ID)
		failed = m.put(nameKey(s.Name), uint32Bytes(uint32(s.ID)))
		return failed == nil
	}); err != nil || failed != nil {
		return nil, errors.Join(err, failed)
	}
	return sites, m.put(metaKey("sites"), uint32Bytes(uint32(last)))
}

// readRounds reads what is there of the rounds, and the highest number.
func readRounds(db *DB) (map[Cycle]*round, Cycle, error) {
	rounds := map[Cycle]*round{}
	last := Cycle(0)
	err := db.scan([]byte{tableCycleIndex}, nil, func(k, val []byte) error {
		n, err := numbers(k, 1)
		if err != nil {
			if _, e := numbers(k, 2); e == nil { // written by this migration
				return nil
			}
			return err
		}
		r := new(round)
		if err := json.Unmarshal(val, r); err != nil || r.Cycle != Cycle(n[0]) {
			return nil // it stays, for Repair
		}
		rounds[r.Cycle] = r
		last = max(last, r.Cycle)
		return nil
	})
	return rounds, last, err
}

// foundIn counts the new pages that each round found at each site.
func foundIn(db *DB) (map[siteRound]round1, error) {
	found := map[siteRound]round1{}
	err := db.scan([]byte{tableNew}, nil, func(k, _ []byte) error {
		n, err := numbers(k, 3)
		if err != nil {
			return err
		}
		d, err := db.View.Doc(graph.Node(n[2]))
		if errors.Is(err, ErrNotFound) || errors.Is(err, record.ErrCorrupt) {
			return nil // for Repair, which needs a store that opens
		}
		if err != nil {
			return err
		}
		if !d.IsPage() || d.DuplicateOf != noDuplicate {
			return nil
		}
		at := siteRound{Cycle(n[1]), SiteID(n[0])}
		x := found[at]
		switch d.New {
		case IsNew:
			x.new++
		case MaybeNew:
			x.unknown++
		}
		found[at] = x
		return nil
	})
	return found, err
}

// split writes the cycle c of the site s, which is its part of the round.
func (r *round) split(c *CycleRecord, x round1, s *Site, m *migration) error {
	c.Kind, c.Policy, c.Budget, c.Ended = r.Kind, r.Policy, r.Budget, r.Ended
	c.New, c.Unknown = x.new, x.unknown
	if c.At == 0 {
		c.At = r.At
	}
	if c.Site == r.sites[0] {
		c.Fetched += max(0, r.Fetched-r.sum.fetched)
		c.Refetched += max(0, r.Old-r.sum.old)
		c.Bytes += max(0, r.Bytes-r.sum.bytes)
		c.New += max(0, r.New-r.sum.new)
		c.Errors = r.Errors
	}
	if c.Ended == 0 && c.Done { // the site was through with it when the round was interrupted
		c.Ended = max(c.At, 1)
		if s != nil && s.LastCycle == c.Cycle {
			c.Ended = max(c.Ended, s.CrawledAt)
		}
	}
	return errors.Join(
		m.put(cycleKey(c.Site, c.Cycle), cycleFields.Encode(c)),
		m.put(cycleIndexKey(c.Cycle, c.Site), nil),
	)
}
