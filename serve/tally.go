package serve

import (
	"errors"
	"maps"
	"sync"
	"time"

	"forage/store"
)

// A tally counts by days, for each site, what the events and the cycles of a store tell: a chart of a month would
// else read a month for each who looks at it. It follows both tables by their numbers, forward as they grow and, from
// where it began, back into the past, a piece at a time, so that nobody who asks waits longer than patience. What it
// holds is bounded by tallyDays for each site.
type tally struct {
	mu     sync.Mutex
	begun  bool
	from   int32     // the first day that is counted
	days   dayCounts // of all sites
	sites  map[string]*siteTally
	names  map[store.SiteID]string
	open   map[store.Cycle]store.SiteID // had not ended when they were read
	events reach
	cycles reach
}

// A reach is which numbers of a table have been counted: from low up to, but not, high. They go down to first, and up to next.
type reach struct{ low, high, first, next uint64 }

// share is how many of them that is.
func (r *reach) share() float64 {
	if r.next <= r.first {
		return 1
	}
	return float64(r.high-r.low) / float64(r.next-r.first)
}

// follow has more of them read, until the time is up.
func (r *reach) follow(end time.Time, read func(from, to uint64) (old bool, err error)) error {
	for once := true; r.high < r.next && (once || time.Now().Before(end)); once = false {
		to := min(r.next, r.high+tallyStep)
		if _, err := read(r.high, to); err != nil {
			return err
		}
		r.high = to
	}
	for r.low > r.first && time.Now().Before(end) {
		from := max(r.first, r.low-min(r.low, tallyStep))
		old, err := read(from, r.low)
		if err != nil {
			return err
		}
		if r.low = from; old {
			r.first = from
		}
	}
	return nil
}

const (
	tallyDays = 60
	tallyStep = 2000 // events or cycles read between two looks at the time
)

// patience is how long who asks waits for what has not been counted.
var patience = 40 * time.Millisecond // a constant but for tests

// A dayCount is of one day.
type dayCount struct{ news, old, fetched, failed int64 }

// dayCounts are by days since the epoch, UTC.
type dayCounts map[int32]*dayCount

func (d dayCounts) of(day int32) *dayCount {
	c := d[day]
	if c == nil {
		c = new(dayCount)
		d[day] = c
	}
	return c
}

// A siteTally is what is counted of one site.
type siteTally struct {
	days  dayCounts
	week  [7 * 24]float32      // new pages by the hour in which they appeared, UTC, from Monday 0:00 on; one that is not known is shared out
	dated int                  // new pages in week
	known [len(delays) + 1]int // new pages by their delay
	most  [len(delays) + 1]int // by what it was at most, where it is not known
	timed int                  // new pages in known and most
	day   float64              // of them, as many as are expected to have been found within a day
	week7 float64              // and within seven
}

// delays are the upper bounds of the columns of the histogram; the last one has none.
var delays = [...]time.Duration{time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 3 * 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour}

func newTally() *tally {
	return &tally{days: dayCounts{}, sites: map[string]*siteTally{}, names: map[store.SiteID]string{}, open: map[store.Cycle]store.SiteID{}}
}

// dayOf is the day of a time, UTC.
func dayOf(t store.Time) int32 { return int32(t / 86400) }

func (t *tally) site(name string) *siteTally {
	s := t.sites[name]
	if s == nil {
		s = &siteTally{days: dayCounts{}}
		t.sites[name] = s
	}
	return s
}

// follow counts what has come, and then more of what was before until the time is up. It returns the share of what
// there is that has been counted. t.mu is held.
func (t *tally) follow(v *store.View, now time.Time) (share float64, err error) {
	end := time.Now().Add(patience)
	first, last, err := v.EventsKept()
	if err != nil {
		return 0, err
	}
	cycle, err := v.LastCycle()
	if err != nil {
		return 0, err
	}
	if today := dayOf(now.Unix()); today-tallyDays > t.from {
		t.from = today - tallyDays
		t.forget()
	}
	if !t.begun {
		t.begun = true
		t.events, t.cycles = reach{last + 1, last + 1, first, 0}, reach{uint64(cycle) + 1, uint64(cycle) + 1, 1, 0}
	}
	t.events.next, t.cycles.next = max(t.events.next, last+1), max(t.cycles.next, uint64(cycle)+1)
	if last+1 < t.events.next || uint64(cycle)+1 < t.cycles.next { // v is older than what another one who asked has counted of: it does not have what would be counted next
		return (t.events.share() + t.cycles.share()) / 2, nil
	}
	if err := t.readOpen(v); err != nil {
		return 0, err
	}
	if err := t.cycles.follow(end, func(from, to uint64) (bool, error) { return t.readCycles(v, from, to) }); err != nil {
		return 0, err
	}
	if err := t.events.follow(end, func(from, to uint64) (bool, error) { return t.readEvents(v, from, to) }); err != nil {
		return 0, err
	}
	return (t.events.share() + t.cycles.share()) / 2, nil
}

// forget drops the days before the first that is counted.
func (t *tally) forget() {
	drop := func(day int32, _ *dayCount) bool { return day < t.from }
	maps.DeleteFunc(t.days, drop)
	for _, s := range t.sites {
		maps.DeleteFunc(s.days, drop)
	}
}

// readEvents counts the events of these numbers, the last one left out. old: the first of them is from before what is counted.
func (t *tally) readEvents(v *store.View, from, to uint64) (old bool, err error) {
	begun := false
	err = v.Events(from-1, func(e *store.Event) bool {
		if e.Seq >= to {
			return false
		}
		if !begun {
			begun, old = true, dayOf(e.At) < t.from
		}
		if e.Type == store.PageNew && dayOf(e.At) >= t.from {
			t.count(e)
		}
		return true
	})
	return old, err
}

// count counts a new page.
func (t *tally) count(e *store.Event) {
	s := t.site(e.Site)
	day := dayOf(e.At)
	t.days.of(day).news++
	s.days.of(day).news++
	low, high := appeared(e)
	if low == 0 {
		return
	}
	delay := &s.known
	if high-low >= 3600 {
		delay = &s.most
	}
	i := 0
	for i < len(delays) && e.At-low > int64(delays[i]/time.Second) {
		i++
	}
	delay[i]++
	s.timed++
	s.day += within(86400, e.At-high, e.At-low)
	s.week7 += within(7*86400, e.At-high, e.At-low)
	if high-low > 7*86400 {
		return // any hour
	}
	s.dated++
	// The hours from low to high, in equal parts. The epoch was a Thursday.
	first, last := low/3600, max(low, high-1)/3600
	for h := first; h <= last; h++ {
		s.week[(h+3*24)%(7*24)] += 1 / float32(last-first+1)
	}
}

// within is how likely a delay from least to most, each as likely, is at most that.
func within(that, least, most int64) float64 {
	if most <= that {
		return 1
	}
	return max(0, float64(that-least)/float64(most-least))
}

// appeared are the times between which a new page appeared, the latter left out where they differ: 0 where nothing is known. What the page
// says is believed as far as it can be: not before the last look that did not show it, not after it was found. A date
// without a time is a whole day.
func appeared(e *store.Event) (low, high store.Time) {
	low, high = e.PreviousLook, e.At
	if e.Published == 0 {
		return low, high
	}
	from, to := e.Published, e.Published
	if from%86400 == 0 {
		to += 86400
	}
	if to < low || from > high { // an old date on a page that was not there, or one to come
		return low, high
	}
	return max(from, low), min(to, high)
}

// readCycles is readEvents for cycles.
func (t *tally) readCycles(v *store.View, from, to uint64) (old bool, err error) {
	begun := false
	var failed error
	err = v.Cycles(store.Cycle(from), func(c *store.CycleRecord) bool {
		if uint64(c.Cycle) >= to {
			return false
		}
		if !begun {
			begun, old = true, dayOf(c.At) < t.from
		}
		failed = t.countCycle(v, c)
		return failed == nil
	})
	return old, errors.Join(err, failed)
}

// readOpen counts the cycles that have ended since they were read.
func (t *tally) readOpen(v *store.View) error {
	for c, site := range t.open {
		r, err := v.Cycle(site, c)
		switch {
		case errors.Is(err, store.ErrNotFound):
			delete(t.open, c)
		case err != nil:
			return err
		case r.Ended != 0:
			delete(t.open, c)
			if err := t.countCycle(v, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// countCycle counts a cycle on the day on which it ended.
func (t *tally) countCycle(v *store.View, c *store.CycleRecord) error {
	if c.Ended == 0 {
		t.open[c.Cycle] = c.Site
		return nil
	}
	day := dayOf(c.Ended)
	if day < t.from {
		return nil
	}
	name, ok := t.names[c.Site]
	if !ok {
		s, err := v.Site(c.Site)
		if err != nil {
			return err
		}
		name = s.Name
		t.names[c.Site] = name
	}
	for _, d := range []*dayCount{t.days.of(day), t.site(name).days.of(day)} {
		d.old, d.fetched, d.failed = d.old+c.Refetched, d.fetched+c.Fetched, d.failed+c.Errors
	}
	return nil
}

// latest returns the counts of n days, the last of which is today.
func (d dayCounts) latest(n int, now time.Time) (days []int32, counts []dayCount) {
	today := dayOf(now.Unix())
	for day := today - int32(n) + 1; day <= today; day++ {
		days = append(days, day)
		if c := d[day]; c != nil {
			counts = append(counts, *c)
		} else {
			counts = append(counts, dayCount{})
		}
	}
	return days, counts
}
