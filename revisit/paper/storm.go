package paper

import (
	"math"

	"forage/revisit"
)

// Storm is the AdaptiveScheduler of StormCrawler (com.digitalpebble.stormcrawler.persistence, now
// org.apache.stormcrawler.persistence), with its defaults: an interval of a day that moves half
// the way to an hour with each change and grows by half without one, up to 14 days, in whole
// minutes. What is gone is never fetched again (fetchInterval.error of crawler-default.yaml is −1),
// what gave no answer two hours later, and its interval is a day again.
//
// Difference from the original: see timetable.
type Storm struct{ timetable }

var (
	_ revisit.Replayer = (*Storm)(nil)
	_ revisit.Saver    = (*Storm)(nil)
)

// NewStorm returns StormCrawler's adaptive schedule.
func NewStorm() *Storm { return &Storm{newTimetable(storm{})} }

type storm struct{}

// The defaults of AdaptiveScheduler and crawler-default.yaml, in seconds where they are times.
const (
	stormInterval = day      // fetchInterval.default
	stormRetry    = 120 * 60 // fetchInterval.fetch.error
	stormMin      = 60 * 60  // scheduler.adaptive.fetchInterval.min
	stormMax      = 14 * day // scheduler.adaptive.fetchInterval.max
	stormIncrease = .5       // scheduler.adaptive.fetchInterval.rate.incr
	stormDecrease = .5       // scheduler.adaptive.fetchInterval.rate.decr
	stormUnit     = 60       // intervals are kept in minutes
)

func (storm) initial() float64 { return stormInterval }

func (storm) after(e *entry, now float64, what outcome) {
	switch what {
	case failed:
		e.interval = stormInterval
		e.due = now + stormRetry
		return
	case gone:
		e.due = math.Inf(1)
		return
	case modified:
		e.interval = stormUnit * math.Floor(((1-stormDecrease)*e.interval+stormDecrease*stormMin)/stormUnit)
	case unmodified:
		e.interval = min(stormUnit*math.Floor((1+stormIncrease)*e.interval/stormUnit), stormMax)
	}
	e.due = now + e.interval
}
