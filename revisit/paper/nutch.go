package paper

import "forage/revisit"

// Nutch is the AdaptiveFetchSchedule of Apache Nutch 1.x (org.apache.nutch.crawl), with the values of
// its conf/nutch-default.xml: an interval of 30 days that shrinks by .2 with each change and grows
// by .4 without one, between a minute and a year; the next fetch is moved towards the time of the
// last change seen, by .3 of how long ago that is. What is gone is due after 1.5 times its
// interval, after 81 days at most (.9 of db.fetch.interval.max), as setPageGoneSchedule of
// AbstractFetchSchedule says, and what gave no answer a day later.
//
// Difference from the original: see timetable.
type Nutch struct{ timetable }

var (
	_ revisit.Replayer = (*Nutch)(nil)
	_ revisit.Saver    = (*Nutch)(nil)
)

// NewNutch returns Nutch's adaptive schedule.
func NewNutch() *Nutch { return &Nutch{newTimetable(nutch{})} }

type nutch struct{}

// day is in seconds.
const day = 24 * 60 * 60

// The values of nutch-default.xml, in seconds where they are times.
const (
	nutchInterval   = 30 * day  // db.fetch.interval.default
	nutchLongest    = 90 * day  // db.fetch.interval.max, of what is gone
	nutchIncrease   = .4        // db.fetch.schedule.adaptive.inc_rate
	nutchDecrease   = .2        // db.fetch.schedule.adaptive.dec_rate
	nutchMin        = 60        // db.fetch.schedule.adaptive.min_interval
	nutchMax        = 365 * day // db.fetch.schedule.adaptive.max_interval
	nutchSync       = .3        // db.fetch.schedule.adaptive.sync_delta_rate
	nutchGoneGrowth = 1.5       // in the code of setPageGoneSchedule, as is .9 below
)

func (nutch) initial() float64 { return nutchInterval }

func (nutch) after(e *entry, now float64, what outcome) {
	switch what {
	case failed:
		e.due = now + day
		return
	case gone:
		if e.interval *= nutchGoneGrowth; e.interval >= nutchLongest {
			e.interval = .9 * nutchLongest
		}
		e.due = now + e.interval
		return
	case modified:
		e.interval *= 1 - nutchDecrease
		e.modified = now
	case unmodified:
		e.interval *= 1 + nutchIncrease
	}
	delta := now - e.modified
	e.interval = min(max(e.interval, delta, nutchMin), nutchMax)
	e.due = now - nutchSync*delta + e.interval
}
