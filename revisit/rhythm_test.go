package revisit

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestRhythmEven: what knows nothing runs as any clock does.
func TestRhythmEven(t *testing.T) {
	var r Rhythm
	at := Time(1_700_000_123)
	for _, d := range []Time{0, 1, 3600, 86_400, 7 * 86_400, 100*86_400 + 17} {
		if got, want := r.Between(at, at+d), float64(d)/86_400; math.Abs(got-want) > 1e-9 {
			t.Errorf("%d s are %v days, want %v", d, got, want)
		}
		if got := r.After(at, float64(d)/86_400); got < at+d-1 || got > at+d+1 {
			t.Errorf("%d s later is %d s later", d, got-at)
		}
	}
	if got := r.Between(at, at-5); got != 0 {
		t.Errorf("back in time: %v", got)
	}
}

// TestRhythm: against a clock that takes one minute after another; After turns Between round.
func TestRhythm(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 14))
	for range 20 {
		var x Rhythm
		for range r.IntN(60) {
			at := Time(r.Int64N(1 << 31))
			x.Saw(at-Time(r.Int64N(20*86_400)), at)
		}
		from := Time(r.Int64N(1 << 31))
		to := from + Time(r.Int64N(16*86_400))
		sum := 0.
		for m := from; m < to; m++ {
			if m%60 == 0 || m == from {
				pace := x.Pace(m)
				sum += pace * float64(min(to, m-m%60+60)-m) / 86_400
			}
		}
		if got := x.Between(from, to); math.Abs(got-sum) > 1e-6 {
			t.Fatalf("between: %v, by minutes %v", got, sum)
		}
		if got := x.After(from, sum); got < to-2 || got > to+2 {
			t.Fatalf("after %v days: %d s, want %d", sum, got-from, to-from)
		}
		if week := x.Between(from, from+aWeek); math.Abs(week-7) > 1e-9 {
			t.Fatalf("a week has %v days", week)
		}
	}
}

// TestRhythmLearns: a site that publishes on workdays at noon is looked at there, and not only there.
func TestRhythmLearns(t *testing.T) {
	var x Rhythm
	noon := time.Date(2024, 1, 1, 12, 30, 0, 0, time.UTC) // a Monday
	for d := range 60 {
		if at := noon.AddDate(0, 0, d); at.Weekday() != time.Saturday && at.Weekday() != time.Sunday {
			x.Saw(Time(at.Unix()-1800), Time(at.Unix()))
		}
	}
	at := func(day, hour int) float64 {
		return x.Pace(Time(time.Date(2025, 9, day, hour, 0, 0, 0, time.UTC).Unix()))
	}
	monday, night, sunday := at(1, 12), at(1, 0), at(7, 12) // 1 September 2025 is a Monday
	if monday < 1.5 || night > monday/2 || night < .2 || sunday > monday/2 || sunday < .2 {
		t.Errorf("paces: Monday at noon %.2f, at night %.2f, Sunday %.2f", monday, night, sunday)
	}
}

// TestRhythmInterval: what appeared at some time of a week tells nothing of the hour or day.
func TestRhythmInterval(t *testing.T) {
	var x Rhythm
	for w := range 50 {
		x.Saw(0, Time((w+3)*aWeek)) // more than a week counts as one
	}
	for h := range 168 {
		if p := x.Pace(Time(h * anHour)); math.Abs(p-1) > 1e-6 {
			t.Fatalf("hour %d of the week: %v", h, p)
		}
	}
}
