package serve

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"forage/store"
)

// tellPages has a store tell of n new pages, some of which were found in the days before now, and of other things.
func tellPages(t *testing.T, db *store.DB, s *store.Site, r *rand.Rand, n int, now time.Time) {
	t.Helper()
	for i := range n {
		at := now.Add(-time.Duration(n-i) * time.Hour).Unix()
		if r.IntN(4) == 0 {
			db.PutEvent(&store.Event{Type: store.SiteReady, At: at, Site: s.Name})
			continue
		}
		publish(t, db, s, fmt.Sprintf("http://%s/%d-%d", s.Name, now.Unix(), i), func(d *store.Doc) {
			d.FirstSeen, d.Discovered, d.LastFetched = at, at, at
			switch r.IntN(3) {
			case 0:
				d.Published = at - int64(r.IntN(10*86400))
			case 1:
				d.Published = (at - int64(r.IntN(10*86400))) / 86400 * 86400
			}
		})
	}
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
}

// TestTally follows a store that grows, with so little patience that it takes many calls, and compares with counts
// made of all of it at once.
func TestTally(t *testing.T) {
	defer func(was time.Duration) { patience = was }(patience)
	patience = 0
	db, a := newStore(t)
	b := addSite(t, db, "b.test")
	r, now := rand.New(rand.NewPCG(1, 2)), time.Unix(1_700_000_000, 0)
	ty := newTally()
	follow := func() float64 {
		v := db.Snapshot()
		defer v.Close()
		share, err := ty.follow(v, now)
		if err != nil {
			t.Fatal(err)
		}
		return share
	}
	cycle := store.Cycle(0)
	visit := func(s *store.Site, at time.Time, ended bool) {
		cycle++
		c := &store.CycleRecord{Site: s.ID, Kind: store.Revisit, At: at.Unix(), Fetched: int64(r.IntN(20)), Refetched: int64(r.IntN(10)), Errors: int64(r.IntN(3))}
		if err := db.OpenCycle(c); err != nil {
			t.Fatal(err)
		}
		if ended {
			c.Ended, c.Done = at.Unix()+60, true
			if err := db.PutCycle(c); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string) {
		t.Helper()
		for range 10_000 {
			if follow() == 1 {
				break
			}
		}
		v := db.Snapshot()
		defer v.Close()
		want := map[string]map[int32]dayCount{"": {}, a.Name: {}, b.Name: {}}
		add := func(site string, at int64, c dayCount) {
			day := dayOf(at)
			if day < dayOf(now.Unix())-tallyDays {
				return
			}
			for _, name := range []string{"", site} {
				sum := want[name][day]
				sum.add(&c)
				want[name][day] = sum
			}
		}
		timed := map[string]int{}
		if err := v.Events(0, func(e *store.Event) bool {
			if e.Type == store.PageNew {
				add(e.Site, e.At, dayCount{news: 1})
				if low, _ := appeared(e); low != 0 && dayOf(e.At) >= dayOf(now.Unix())-tallyDays {
					timed[e.Site]++
				}
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if err := v.Cycles(1, func(c *store.CycleRecord) bool {
			if c.Ended != 0 {
				add(map[store.SiteID]string{a.ID: a.Name, b.ID: b.Name}[c.Site], c.Ended, dayCount{old: c.Refetched, fetched: c.Fetched, failed: c.Errors})
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		for name, days := range want {
			have := ty.days
			if name != "" {
				have = ty.site(name).days
				if got := ty.sites[name].timed; got != timed[name] {
					t.Errorf("%s, %s: %d pages with a delay, want %d", what, name, got, timed[name])
				}
			}
			for day, c := range have {
				if *c != days[day] {
					t.Errorf("%s, %q, day %d: %+v, want %+v", what, name, day, *c, days[day])
				}
			}
			for day, c := range days {
				if c != (dayCount{}) && have[day] == nil {
					t.Errorf("%s, %q, day %d: nothing, want %+v", what, name, day, c)
				}
			}
		}
	}
	check("nothing")
	tellPages(t, db, a, r, 300, now)
	tellPages(t, db, b, r, 100, now)
	for i := range 40 {
		visit([]*store.Site{a, b}[i%2], now.Add(-time.Duration(200-5*i)*time.Hour), i%7 != 0)
	}
	check("at first")
	tellPages(t, db, b, r, 50, now)
	visit(a, now, true)
	check("with more")
	for c := range cycle { // what was open ends
		rec, err := db.Cycle([]store.SiteID{a.ID, b.ID}[c%2], c+1)
		if err != nil {
			t.Fatal(err)
		}
		if rec.Ended == 0 {
			rec.Ended = now.Unix()
			if err := db.PutCycle(rec); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
	check("with ends")
}

// TestTallyForgets has the days pass.
// TestTallyOlder: who reads an older state than others have counted of makes nothing be left out.
func TestTallyOlder(t *testing.T) {
	defer func(was time.Duration) { patience = was }(patience)
	patience = 0
	db, a := newStore(t)
	now := time.Unix(1_700_000_000, 0)
	ty := newTally()
	follow := func(v *store.View) float64 {
		share, err := ty.follow(v, now)
		if err != nil {
			t.Fatal(err)
		}
		return share
	}
	old := db.Snapshot()
	defer old.Close()
	follow(old)
	const pages = 2*tallyStep + 100
	for i := range pages {
		publish(t, db, a, fmt.Sprintf("http://%s/%d", a.Name, i), func(d *store.Doc) {
			d.FirstSeen, d.Discovered, d.LastFetched = now.Unix(), now.Unix(), now.Unix()
		})
	}
	c := &store.CycleRecord{Site: a.ID, Kind: store.Revisit, At: now.Unix(), Fetched: 7}
	if err := errors.Join(db.OpenCycle(c), db.Sync()); err != nil {
		t.Fatal(err)
	}
	v := db.Snapshot()
	defer v.Close()
	follow(v)
	follow(old)
	c.Ended = now.Unix() + 1
	if err := errors.Join(db.PutCycle(c), db.Sync()); err != nil {
		t.Fatal(err)
	}
	last := db.Snapshot()
	defer last.Close()
	for range 10 {
		follow(last)
	}
	if share := follow(last); share != 1 {
		t.Errorf("%v of it are counted", share)
	}
	news, fetched := int64(0), int64(0)
	for _, d := range ty.days {
		news, fetched = news+d.news, fetched+d.fetched
	}
	if news != pages || fetched != 7 {
		t.Errorf("%d new pages of %d, %d fetches of 7", news, pages, fetched)
	}
}

func TestTallyForgets(t *testing.T) {
	db, a := newStore(t)
	now := time.Unix(1_700_000_000, 0)
	tellPages(t, db, a, rand.New(rand.NewPCG(1, 2)), 50, now)
	ty := newTally()
	for _, later := range []time.Duration{0, 30 * 24 * time.Hour, 70 * 24 * time.Hour} {
		v := db.Snapshot()
		if _, err := ty.follow(v, now.Add(later)); err != nil {
			t.Fatal(err)
		}
		v.Close()
		if got, want := len(ty.days) > 0, later < tallyDays*24*time.Hour; got != want || len(ty.sites[a.Name].days) > 0 != want {
			t.Errorf("after %v: %d days, of the site %d", later, len(ty.days), len(ty.sites[a.Name].days))
		}
	}
}

func TestAppeared(t *testing.T) {
	const day = 86400
	for _, tt := range []struct {
		name                string
		look, published, at store.Time
		low, high           store.Time
	}{
		{"nothing known", 0, 0, 100 * day, 0, 100 * day},
		{"between two looks", 99 * day, 0, 100 * day, 99 * day, 100 * day},
		{"dated", 99 * day, 99*day + 5, 100 * day, 99*day + 5, 99*day + 5},
		{"dated before the last look that did not show it", 99 * day, 7, 100 * day, 99 * day, 100 * day},
		{"dated in the future", 99 * day, 200*day + 1, 100 * day, 99 * day, 100 * day},
		{"a day alone", 98*day + 5, 99 * day, 100*day + 7, 99 * day, 100 * day},
		{"the day of the last look", 98*day + 5, 98 * day, 100 * day, 98*day + 5, 99 * day},
		{"today", 98 * day, 100 * day, 100*day + 7, 100 * day, 100*day + 7},
	} {
		if low, high := appeared(&store.Event{PreviousLook: tt.look, Published: tt.published, At: tt.at}); low != tt.low || high != tt.high {
			t.Errorf("%s: appeared from %d to %d, want %d to %d", tt.name, low, high, tt.low, tt.high)
		}
	}
}

// TestBack goes back through events by pages of any size, and compares with all of them.
func TestBack(t *testing.T) {
	db, a := newStore(t)
	b := addSite(t, db, "b.test")
	r := rand.New(rand.NewPCG(3, 4))
	now := time.Unix(1_700_000_000, 0)
	tellPages(t, db, a, r, 150, now)
	tellPages(t, db, b, r, 20, now)
	tellPages(t, db, a, r, 150, now.Add(time.Second))
	v := db.Snapshot()
	defer v.Close()
	for _, c := range []eventFilter{{}, {site: "b.test"}, {types: map[store.EventType]bool{store.PageNew: true}}, {text: "-7"}, {kind: "list"}, {site: "none"}} {
		var want []uint64
		if err := v.EventsBack(func(e *store.Event) bool {
			if c.has(e) {
				want = append(want, e.Seq)
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 7, 50, 1000} {
			var got []uint64
			for before, more := uint64(0), true; more; {
				events, next, err := c.back(v, before, n)
				if err != nil || len(events) > n {
					t.Fatalf("back(%d, %d) = %d events, %v", before, n, len(events), err)
				}
				for _, e := range events {
					got = append(got, e.Seq)
				}
				before, more = next, next != 0
			}
			if !slices.Equal(got, want) {
				t.Errorf("%+v, %d at a time: %d events, want %d", c, n, len(got), len(want))
			}
		}
	}
}
