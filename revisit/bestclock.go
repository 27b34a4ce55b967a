package revisit

import "math"

// A clock numbers cycles, knows when each began, and tells how much of what was seen at one is left
// at another. What was seen fades with time and with what was seen since: a site that publishes
// much shows soon that it has changed its ways.
//
// tick must come once a cycle, at its end, before anything asks for the time watched up to it.
type clock struct {
	cycle int      // the current one, from 1; 0: the first crawl
	at    []moment // by cycle, from 0
	ago   []ago    // of the current cycle, by cycle, from 0
}

// A moment is a cycle.
type moment struct {
	day   float64 // since the epoch; of cycle 0 when the last document of the first crawl was fetched
	left  float64 // log of what is left now of what was there at first, less than 0
	watch float64 // faded: how much could be seen up to then, in publications
}

// An ago is what has come of the time since a cycle. Many documents were fetched last in the same one.
type ago struct {
	fade    float64 // what is left of what was seen then; 0: not worked out yet
	pending float64 // what no look since then is worth
}

func newClock() clock { return clock{at: []moment{{}}} }

const secondsADay = 24 * 60 * 60

// began moves cycle 0 to the last fetch of the first crawl.
func (c *clock) began(seen Time) { c.at[0].day = max(c.at[0].day, float64(seen)/secondsADay) }

// begin begins a cycle and returns the days since the one before. Where it is not known when the
// first crawl was, it was a day before the first cycle. Where time goes backwards, no time has passed, and
// the cycles before were as much earlier: if they kept their days, a clock that was once years ahead
// would stand still for years.
func (c *clock) begin(now Time) (days float64) {
	day := float64(now) / secondsADay
	if c.cycle == 0 && c.at[0].day == 0 {
		c.at[0].day = day - 1
	}
	c.cycle++
	last := c.at[len(c.at)-1]
	if ahead := last.day - day; ahead > 0 {
		for i := range c.at {
			c.at[i].day -= ahead
		}
	}
	c.at = append(c.at, moment{day: day, left: last.left, watch: last.watch})
	c.ago = append(c.ago[:0], make([]ago, len(c.at))...)
	return c.days()
}

// days is the time between the cycle and the one before.
func (c *clock) days() float64 { return c.since(int32(c.cycle - 1)) }

// since is the time since a cycle, in days.
func (c *clock) since(cycle int32) float64 { return c.at[c.cycle].day - c.at[cycle].day }

// mostGap is how many days between two cycles count as time watched. Longer ones tell no more, since
// nobody looked meanwhile, and what was seen before them is still the best that is known.
const mostGap = 28

// tick ends a cycle. One that found pages watched one publication, and each day counts as a part of
// one.
func (c *clock) tick(foundPages bool, p *Prior) {
	days := min(c.days(), mostGap)
	watched := p.Idle * days
	if foundPages {
		watched++
	}
	now, before := &c.at[c.cycle], &c.at[c.cycle-1]
	now.left = before.left - p.Forget*days - p.Adapt*watched
	now.watch = before.watch*math.Exp(now.left-before.left) + watched
}

// fade is what is left at one cycle of what there was at another. Within a cycle nothing fades:
// until tick the current one is as the one before.
func (c *clock) fade(from, to int32) float64 { return math.Exp(c.at[to].left - c.at[from].left) }

// faded is what the cycle before left.
func (c *clock) faded() float64 { return c.fade(int32(max(0, c.cycle-2)), int32(c.cycle-1)) }

// between is how much could be seen after a cycle up to another, faded as of that.
func (c *clock) between(since, until int32) float64 {
	return max(0, c.at[until].watch-c.at[since].watch*c.fade(since, until))
}

// sinceThen returns what has come of the time since a cycle, until tick.
func (c *clock) sinceThen(cycle int32, p *Prior) *ago {
	a := &c.ago[cycle]
	if a.fade == 0 {
		*a = ago{c.fade(cycle, int32(c.cycle)), pending(c.since(cycle), p.Delay)}
	}
	return a
}

// pending is what a time without a look is worth, in days: each later day less than the one before,
// since what waits is of less use, or somebody else shows it. A part of a day is worth less than that
// part of a day's worth: who looks every few hours is not to look at one document again while others
// have waited for a day.
func pending(days, delay float64) float64 { return delay * math.Log1p(days/delay) * min(1, days) }
