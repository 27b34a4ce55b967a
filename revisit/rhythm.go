package revisit

import "math"

// A Rhythm is when a site publishes, by the hour of the day and by the day of the week, both in UTC. With it a
// budget is spent more where new pages are likely to wait: fetches come evenly by a clock that runs at Pace.
// The zero value knows nothing and is even.
//
// Where pages appear at the rate r(t) and looks come at the rate n(t), a page waits 1/2n(t), and the mean over
// pages is least for a number of looks where n(t) is proportional to √r(t). What is seen of r is little, and so
// is drawn to even: hours and days are taken for independent, and each counts some finds more than there were.
//
// What that is worth with the default policy the lab's delay-when tells: at 22 sites of which nothing was chosen a page
// waits .94, .98, .91 and .98 times as long as evenly with 1, 3, 10 and 24 fetches a day.
type Rhythm struct {
	Hours [24]float64 `json:"hours"` // finds by the hour, each spread over those in which it may have appeared
	Days  [7]float64  `json:"days"`  // the same by the day, from Monday
}

// What the estimates of a Rhythm are drawn to even with, in finds, and how far a find counts for the hours beside its own.
const (
	rhythmHours = 10
	rhythmDays  = 5
	rhythmNear  = 2.         // standard deviation, in hours
	rhythmFades = 1 - 1./256 // of what was seen, with each find
)

// beside is what a find counts for hours so far away.
var beside = func() (w [24]float64) {
	sum := 0.
	for i := range w {
		d := float64(min(i, 24-i)) / rhythmNear
		w[i] = math.Exp(-d * d / 2)
		sum += w[i]
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}()

const (
	anHour = 60 * 60
	aWeek  = 7 * secondsADay
)

// hourOf returns the hour of the day and the day of the week at t, from Monday. The epoch was a Thursday.
func hourOf(t Time) (hour, day int) {
	s := ((int64(t)+3*secondsADay)%aWeek + aWeek) % aWeek
	return int(s % secondsADay / anHour), int(s / secondsADay)
}

// Saw notes that something appeared after one time and until another. Of more than a week the last one counts.
func (r *Rhythm) Saw(from, to Time) {
	from = max(from, to-aWeek)
	n := max(1, int((to-from+anHour-1)/anHour))
	for i := range r.Hours {
		r.Hours[i] *= rhythmFades
	}
	for i := range r.Days {
		r.Days[i] *= rhythmFades
	}
	for i := range n {
		hour, day := hourOf(to - Time(int64(to-from)*int64(2*i+1)/int64(2*n)))
		for d, w := range beside {
			r.Hours[(hour+d)%24] += w / float64(n)
		}
		r.Days[day] += 1 / float64(n)
	}
}

// roots are the paces of parts of a cycle in which something was seen, drawn to even, with a mean of 1.
func roots(paces, seen []float64, even float64) {
	sum, all := 0., even
	for _, x := range seen {
		all += x
	}
	for i, x := range seen {
		paces[i] = math.Sqrt((x + even/float64(len(seen))) / all)
		sum += paces[i]
	}
	for i := range paces {
		paces[i] *= float64(len(paces)) / sum
	}
}

// A pacedWeek is how fast the clock of a Rhythm runs: the product of an hour and a day.
type pacedWeek struct {
	hours [24]float64
	days  [7]float64
}

func (r *Rhythm) paced() (p pacedWeek) {
	roots(p.hours[:], r.Hours[:], rhythmHours)
	roots(p.days[:], r.Days[:], rhythmDays)
	return p
}

// Pace is how much denser than evenly looks are to come at t: 1 in the mean over a week.
func (r *Rhythm) Pace(t Time) float64 {
	p := r.paced()
	hour, day := hourOf(t)
	return p.hours[hour] * p.days[day]
}

// Between is how many days lie between two times by the clock that runs at Pace; 0 where to is not after from. O(1).
func (r *Rhythm) Between(from, to Time) float64 {
	if to <= from {
		return 0
	}
	weeks := int64(to-from) / aWeek
	p := r.paced()
	return 7*float64(weeks) + p.within(from+Time(weeks*aWeek), to)
}

// within is Between of times at most a week apart.
func (p *pacedWeek) within(from, to Time) (days float64) {
	for from < to {
		hour, day := hourOf(from)
		next := min(to, nextHour(from))
		days += p.hours[hour] * p.days[day] * float64(next-from) / secondsADay
		from = next
	}
	return days
}

// nextHour is when the hour of t ends.
func nextHour(t Time) Time { return t + anHour - Time((int64(t)%anHour+anHour)%anHour) }

// After is when so many days have passed since a time by the clock that runs at Pace, to the second after. O(1).
func (r *Rhythm) After(from Time, days float64) Time {
	if !(days > 0) {
		return from
	}
	weeks := math.Floor(days / 7)
	from, days = from+Time(weeks)*aWeek, days-7*weeks
	for p := r.paced(); ; {
		hour, day := hourOf(from)
		next := nextHour(from)
		pace := p.hours[hour] * p.days[day]
		if part := pace * float64(next-from) / secondsADay; part < days {
			from, days = next, days-part
			continue
		}
		return from + Time(math.Ceil(days*secondsADay/pace))
	}
}
