package store

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"forage/graph"
)

// A history is the part of the model that is about sites and their cycles.
type history struct {
	names   []string // of the sites, by number - 1
	cycles  map[siteRound]CycleRecord
	last    Cycle
	past    map[SiteID]PastCycles
	rows    map[siteRow]bool // refetches, and newcomers by their number + 1<<31
	records map[siteRound]string
	robots  map[string]string
}

type siteRow struct {
	siteRound
	id graph.Node
}

func (h history) clone() history {
	h.names = slices.Clone(h.names)
	h.cycles, h.past, h.rows = maps.Clone(h.cycles), maps.Clone(h.past), maps.Clone(h.rows)
	h.records, h.robots = maps.Clone(h.records), maps.Clone(h.robots)
	return h
}

func newHistory(names ...string) history {
	return history{names, map[siteRound]CycleRecord{}, 0, map[SiteID]PastCycles{}, map[siteRow]bool{}, map[siteRound]string{}, map[string]string{}}
}

func byCycle(a, b siteRound) int {
	return cmp.Or(cmp.Compare(a.cycle, b.cycle), cmp.Compare(a.site, b.site))
}

// text is the history as text, for comparison.
func (h *history) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q, %d cycles\n", h.names, h.last)
	for _, k := range slices.SortedFunc(maps.Keys(h.cycles), byCycle) {
		c := h.cycles[k]
		fmt.Fprintf(&b, "%+v", c)
		for _, r := range slices.SortedFunc(maps.Keys(h.rows), func(a, b siteRow) int { return cmp.Compare(a.id, b.id) }) {
			if r.siteRound == k {
				fmt.Fprintf(&b, " %d", r.id)
			}
		}
		b.WriteByte('\n')
	}
	for site := range SiteID(len(h.names) + 1) {
		fmt.Fprintf(&b, "%d: %+v", site, h.past[site])
		for _, k := range slices.SortedFunc(maps.Keys(h.records), byCycle) {
			if k.site == site {
				fmt.Fprintf(&b, " %d=%q", k.cycle, h.records[k])
			}
		}
		b.WriteByte('\n')
	}
	for _, o := range slices.Sorted(maps.Keys(h.robots)) {
		fmt.Fprintf(&b, "%s %s\n", o, h.robots[o])
	}
	return b.String()
}

// readHistory is what a view shows, as a history. It asks each question in all ways there are.
func readHistory(t *testing.T, v *View, origins []string) history {
	t.Helper()
	h := newHistory()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	last, err := v.LastCycle()
	must(err)
	h.last = last
	var order, back []siteRound
	must(v.Cycles(0, func(c *CycleRecord) bool {
		k := siteRound{c.Cycle, c.Site}
		h.cycles[k] = *c
		order = append(order, k)
		one, err := v.Cycle(c.Site, c.Cycle)
		if err != nil || *one != *c {
			t.Fatalf("Cycle(%d, %d) = %+v, %v, want %+v", c.Site, c.Cycle, one, err, c)
		}
		return true
	}))
	must(v.CyclesBack(func(c *CycleRecord) bool { back = append(back, siteRound{c.Cycle, c.Site}); return true }))
	if slices.Reverse(back); !slices.Equal(order, back) || !slices.IsSortedFunc(order, byCycle) {
		t.Fatalf("Cycles tells %v, CyclesBack %v", order, back)
	}
	if len(order) > 2 {
		var some []siteRound
		must(v.Cycles(order[1].cycle, func(c *CycleRecord) bool { some = append(some, siteRound{c.Cycle, c.Site}); return len(some) < 2 }))
		if !slices.Equal(some, order[1:3]) {
			t.Fatalf("Cycles(%d) begins with %v, want %v", order[1].cycle, some, order[1:3])
		}
	}
	sites, err := v.Sites()
	must(err)
	for i, s := range sites {
		if named, err := v.SiteNamed(s.Name); err != nil || named.ID != s.ID || s.ID != SiteID(i+1) {
			t.Fatalf("SiteNamed(%s) = %+v, %v, want site %d", s.Name, named, err, s.ID)
		}
		h.names = append(h.names, s.Name)
		var of, ofBack []siteRound
		must(v.SiteCycles(s.ID, func(c *CycleRecord) bool { of = append(of, siteRound{c.Cycle, c.Site}); return true }))
		must(v.SiteCyclesBack(s.ID, func(c *CycleRecord) bool { ofBack = append(ofBack, siteRound{c.Cycle, c.Site}); return true }))
		for i, before := range ofBack {
			var n int
			must(v.SiteCyclesBefore(s.ID, before.cycle, func(c *CycleRecord) bool {
				if n++; i+n >= len(ofBack) || ofBack[i+n].cycle != c.Cycle {
					t.Fatalf("before cycle %d of site %d comes %d as number %d, of %v", before.cycle, s.ID, c.Cycle, n, ofBack)
				}
				return true
			}))
			if i+n+1 != len(ofBack) {
				t.Fatalf("before cycle %d of site %d are %d, of %v", before.cycle, s.ID, n, ofBack)
			}
		}
		want := slices.DeleteFunc(slices.Clone(order), func(k siteRound) bool { return k.site != s.ID })
		if slices.Reverse(ofBack); !slices.Equal(of, want) || !slices.Equal(ofBack, want) {
			t.Fatalf("site %d has the cycles %v, backwards %v, want %v", s.ID, of, ofBack, want)
		}
		p, err := v.PastCycles(s.ID)
		must(err)
		if p.resume = 0; p.Cycles != 0 {
			h.past[s.ID] = *p
		}
		before := -1
		must(v.Records(s.ID, 0, func(c Cycle, b []byte) bool {
			if int(c) <= before {
				t.Fatalf("record of cycle %d of site %d after that of %d", c, s.ID, before)
			}
			before = int(c)
			h.records[siteRound{c, s.ID}] = string(b)
			return true
		}))
		for _, at := range []int{0, 1, before / 3, before / 2, before - 1, before, before + 1} { // no fewer and no others
			from, n := Cycle(max(0, at)), 0
			must(v.Records(s.ID, from, func(c Cycle, b []byte) bool {
				if c < from || h.records[siteRound{c, s.ID}] != string(b) {
					t.Fatalf("the records of site %d from cycle %d on have one of %d, %q", s.ID, from, c, b)
				}
				n++
				return true
			}))
			for r := range h.records {
				if r.site == s.ID && r.cycle >= from {
					n--
				}
			}
			if n != 0 {
				t.Fatalf("there are %d records too many of site %d from cycle %d on", n, s.ID, from)
			}
		}
		must(v.RefetchesFrom(s.ID, 0, func(c Cycle, r *Refetch) bool { h.rows[siteRow{siteRound{c, s.ID}, r.Page}] = true; return true }))
		must(v.NewcomersFrom(s.ID, 0, func(c Cycle, id graph.Node, _ Kind) bool {
			h.rows[siteRow{siteRound{c, s.ID}, id + 1<<31}] = true
			return true
		}))
	}
	for k := range h.cycles { // of one cycle: neither more nor less
		n := 0
		must(v.Refetches(k.site, k.cycle, func(r *Refetch) bool {
			n++
			if !h.rows[siteRow{k, r.Page}] {
				t.Fatalf("Refetches(%d, %d) tells of document %d", k.site, k.cycle, r.Page)
			}
			return true
		}))
		must(v.Newcomers(k.site, k.cycle, func(id graph.Node, _ Kind) bool {
			n++
			if !h.rows[siteRow{k, id + 1<<31}] {
				t.Fatalf("Newcomers(%d, %d) tells of document %d", k.site, k.cycle, id)
			}
			return true
		}))
		for r := range h.rows {
			if r.siteRound == k {
				n--
			}
		}
		if n != 0 {
			t.Fatalf("cycle %d of site %d tells of %d rows more than all tell together", k.cycle, k.site, n)
		}
	}
	for _, o := range origins {
		if r, err := v.Robots(o); err == nil {
			h.robots[o] = fmt.Sprintf("%d %d %d %q", r.FetchedAt, r.Expires, r.Status, r.Body)
		} else if !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
	}
	return h
}

var origins = []string{"http://a.test", "https://a.test", "http://b.test:8080"}

// act does something random to sites and cycles, to the store and the model alike.
func (h *history) act(t *testing.T, db *DB, r *rand.Rand, docs int) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	record := func(k siteRound) {
		b := strings.Repeat(string('a'+rune(r.IntN(26))), r.IntN(40))
		if r.IntN(20) == 0 {
			b = strings.Repeat(b, 3000) // too large to be packed, or nearly
		}
		must(db.PutRecord(k.site, k.cycle, []byte(b)))
		h.records[k] = b
	}
	switch op := r.IntN(10); {
	case op == 0:
		name := fmt.Sprintf("%d.test", r.IntN(10))
		s := &Site{Name: name}
		if err := db.AddSite(s); (err == nil) == slices.Contains(h.names, name) {
			t.Fatalf("AddSite(%s) = %v, there are %q", name, err, h.names)
		} else if err == nil {
			h.names = append(h.names, name)
			record(siteRound{0, s.ID})
		}
		if s, err := db.SiteNamed(name); err != nil || h.names[s.ID-1] != name {
			t.Fatalf("SiteNamed(%s) = %+v, %v", name, s, err)
		}
	case op == 1:
		x := &Robots{Origin: origins[r.IntN(len(origins))], FetchedAt: r.Int64N(100), Expires: r.Int64N(100), Status: 200, Body: []byte("User-agent: *")}
		must(db.PutRobots(x))
		h.robots[x.Origin] = fmt.Sprintf("%d %d %d %q", x.FetchedAt, x.Expires, x.Status, x.Body)
	case op < 6:
		c := CycleRecord{Site: SiteID(1 + r.IntN(min(3, len(h.names)))), Kind: []CycleKind{FirstVisit, Revisit, Revisit, Revisit, FullRecrawl}[r.IntN(5)], At: r.Int64N(1000)}
		must(db.OpenCycle(&c))
		if h.last++; c.Cycle != h.last {
			t.Fatalf("OpenCycle gives the number %d, want %d", c.Cycle, h.last)
		}
		k := siteRound{c.Cycle, c.Site}
		h.cycles[k] = c
		for range r.IntN(3) * min(docs, 1) {
			id := graph.Node(r.IntN(docs))
			must(db.PutRefetch(c.Site, c.Cycle, &Refetch{Page: id}))
			must(db.PutNewcomer(&Doc{ID: id, Site: c.Site}, c.Cycle))
			h.rows[siteRow{k, id}], h.rows[siteRow{k, id + 1<<31}] = true, true
		}
		if r.IntN(4) > 0 {
			h.end(t, db, r, k)
			record(k)
		}
	default:
		for _, k := range slices.SortedFunc(maps.Keys(h.cycles), byCycle) {
			if h.cycles[k].Ended == 0 && r.IntN(3) == 0 {
				h.end(t, db, r, k)
				record(k)
				break
			}
		}
	}
}

func (h *history) end(t *testing.T, db *DB, r *rand.Rand, k siteRound) {
	t.Helper()
	c := h.cycles[k]
	c.Ended, c.Took, c.Done = c.At+1+r.Int64N(9), r.Int64N(99), true
	c.Fetched, c.Refetched, c.Pages, c.New, c.Unknown, c.Bytes, c.Errors = r.Int64N(9), r.Int64N(9), r.Int64N(9), r.Int64N(9), r.Int64N(9), r.Int64N(9), r.Int64N(9)
	if err := db.PutCycle(&c); err != nil {
		t.Fatal(err)
	}
	h.cycles[k] = c
}

// condense condenses a site in the store, which has no open window. Which cycles it takes is
// read from the store, and judged here; what becomes of them is the model's.
func (h *history) condense(t *testing.T, db *DB, site SiteID, keep int) {
	t.Helper()
	for range 2 { // the second one of a window does nothing
		if err := db.Condense(site, keep); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Commit(); err != nil {
		t.Fatal(err)
	}
	left, oldest := 0, Cycle(0)
	kept := map[Cycle]bool{}
	if err := db.SiteCycles(site, func(c *CycleRecord) bool {
		kept[c.Cycle] = true
		if c.condensable() {
			left++
			oldest = cmp.Or(oldest, c.Cycle)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if left > keep+keep/4 {
		t.Fatalf("Condense(%d, %d) leaves %d cycles", site, keep, left)
	}
	took := 0
	for _, k := range slices.SortedFunc(maps.Keys(h.cycles), byCycle) {
		if k.site != site || kept[k.cycle] {
			continue
		}
		c := h.cycles[k]
		if took++; !c.condensable() || k.cycle > oldest && oldest != 0 {
			t.Fatalf("Condense(%d, %d) took %+v; the oldest that is left is %d", site, keep, c, oldest)
		}
		p := h.past[site]
		if p.Cycles == 0 {
			p.Since = c.At
		}
		p.Cycles, p.Through, p.Since, p.Until, p.Took = p.Cycles+1, max(p.Through, c.Cycle), min(p.Since, c.At), max(p.Until, c.Ended), p.Took+c.Took
		p.Fetched, p.Refetched, p.Pages, p.New = p.Fetched+c.Fetched, p.Refetched+c.Refetched, p.Pages+c.Pages, p.New+c.New
		p.Unknown, p.Bytes, p.Errors = p.Unknown+c.Unknown, p.Bytes+c.Bytes, p.Errors+c.Errors
		h.past[site] = p
		delete(h.cycles, k)
		maps.DeleteFunc(h.rows, func(r siteRow, _ bool) bool { return r.siteRound == k })
	}
	if took > 0 && left < keep {
		t.Fatalf("Condense(%d, %d) leaves %d cycles only", site, keep, left)
	}
}

// TestCondenseMany condenses more cycles than one call takes, and packs their records in rows
// of at most 256, in whatever steps that happens.
func TestCondenseMany(t *testing.T) {
	db, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	h := newHistory("a.test")
	if err := db.AddSite(&Site{Name: "a.test"}); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 7))
	for h.last < 2500 {
		c := CycleRecord{Site: 1, Kind: Revisit, At: 5}
		if h.last%100 == 9 {
			c.Kind = FullRecrawl
		}
		if err := db.OpenCycle(&c); err != nil {
			t.Fatal(err)
		}
		h.last++
		k := siteRound{c.Cycle, 1}
		h.cycles[k] = c
		if c.Cycle == 77 {
			continue // open: passed over, and ended below
		}
		h.end(t, db, r, k)
		h.records[k] = fmt.Sprint("record of ", c.Cycle)
		if err := db.PutRecord(1, c.Cycle, []byte(h.records[k])); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Commit(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{condenseAtOnce, 2 * condenseAtOnce, 2474 - 100, 2474 - 100} {
		if err := errors.Join(db.Condense(1, 100), db.Commit()); err != nil {
			t.Fatal(err)
		}
		p, err := db.PastCycles(1)
		if err != nil || p.Cycles != want {
			t.Fatalf("PastCycles = %+v, %v, want %d cycles", p, err, want)
		}
	}
	h.condense(t, db, 1, 100)
	late := siteRound{77, 1}
	h.end(t, db, r, late)
	for _, text := range []string{"record of 77", "and again"} { // the second one replaces the first
		h.records[late] = text
		if err := errors.Join(db.PutRecord(1, 77, []byte(text)), db.Commit()); err != nil {
			t.Fatal(err)
		}
		h.condense(t, db, 1, 50)
	}
	if err := errors.Join(db.pack(1, 77, 78), db.Commit()); err != nil {
		t.Fatal(err)
	}
	got := readHistory(t, &db.View, nil)
	if got.text() != h.text() {
		t.Errorf("the store holds\n%.2000s\nwant\n%.2000s", got.text(), h.text())
	}
	rows := 0
	if err := db.scan([]byte{tableRecords}, nil, func(k, val []byte) error {
		list, err := decodePack(val)
		if len(list) > packRecords+1 { // the one of cycle 77 came later
			t.Errorf("a row of %d records", len(list))
		}
		rows++
		return err
	}); err != nil || rows > 12 {
		t.Errorf("%d rows of records, %v", rows, err)
	}
	if p := problems(t, &db.View); len(p) != 0 {
		t.Errorf("%q", p)
	}
}
