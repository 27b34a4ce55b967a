package watch

import (
	"math/rand/v2"
	"testing"

	"forage/revisit"
	"time"
)

// inWindow is the naive way: what the clock on the wall shows.
func inWindow(w Window, t time.Time) bool {
	if w.Zone == nil {
		return true
	}
	at := t.In(w.Zone)
	since := time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute + time.Duration(at.Second())*time.Second
	if w.From < w.To {
		return since >= w.From && since < w.To
	}
	return since >= w.From || since < w.To
}

// TestWindow looks at each minute of days on which clocks change, and of others.
func TestWindow(t *testing.T) {
	for _, c := range []struct{ window, from string }{
		{"06:00-23:00 Europe/Berlin", "2026-03-28T00:00:00Z"}, {"02:30-03:30 Europe/Berlin", "2026-03-28T00:00:00Z"},
		{"02:30-02:45 Europe/Berlin", "2026-03-28T00:00:00Z"}, // there is no such time on the 29th
		{"02:30-02:45 Europe/Berlin", "2026-10-24T00:00:00Z"}, // there it is twice on the 25th
		{"22:00-02:30 Europe/Berlin", "2026-10-24T00:00:00Z"}, {"00:00-24:00 America/New_York", "2026-03-07T00:00:00Z"},
		{"23:59-00:01 Pacific/Apia", "2011-12-28T00:00:00Z"}, // a day is left out
		{"01:45-02:15 Australia/Lord_Howe", "2026-04-04T00:00:00Z"}, {"09:00-17:00", "2026-01-01T00:00:00Z"}, {"18:00-06:00 Asia/Kathmandu", "2026-01-01T00:00:00Z"},
	} {
		w, err := ParseWindow(c.window)
		if err != nil {
			t.Fatal(err)
		}
		from, err := time.Parse(time.RFC3339, c.from)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseWindow(w.String()); err != nil || again.String() != w.String() {
			t.Errorf("%s is read as %s, %v", w, again, err)
		}
		next := time.Time{} // looked for from the end
		for m := 5 * 24 * 60; m >= 0; m-- {
			at := from.Add(time.Duration(m) * time.Minute)
			if inWindow(w, at) {
				next = at
			}
			if got := w.Next(at); !next.IsZero() && !got.Equal(next) {
				t.Fatalf("%s: Next(%s) = %s, want %s", w, at, got, next)
			}
		}
	}
	if at := time.Unix(5, 7); !(Window{}).Next(at).Equal(at) {
		t.Error("the whole day does not begin at once")
	}
}

// TestDue has a day go by second by second for visits that take their time, and compares with what Due says.
func TestDue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		w := When{Every: time.Duration(1+r.IntN(5000)) * time.Second}
		if r.IntN(2) == 0 {
			w.Window, _ = ParseWindow([]string{"06:00-23:00 Europe/Berlin", "22:00-05:00", "10:00-10:05"}[r.IntN(3)])
		}
		phase := Phase(string(rune(r.IntN(1000))), w.Every)
		from := time.Unix(1774500000+int64(r.IntN(1<<20)), int64(r.IntN(1e9)))
		// Every occasion, put off until the window opens.
		occasions := map[int64]bool{}
		for s := from.Unix() - 86400; s < from.Unix()+2*86400; s++ {
			if (time.Duration(s)*time.Second-phase)%w.Every < time.Second && time.Duration(s)*time.Second >= phase { // phases have parts of seconds
				at := time.Unix(0, 0).Add((time.Duration(s)*time.Second-phase)/w.Every*w.Every + phase)
				occasions[w.Window.Next(at).UnixNano()] = true
			}
		}
		next := func(after time.Time) time.Time {
			best := int64(1 << 62)
			for o := range occasions {
				if o > after.UnixNano() && o < best {
					best = o
				}
			}
			return time.Unix(0, best)
		}
		due := w.Due(from, phase, 0, 0, nil)
		// What lies before `from` may be put off to after it.
		if want := next(from); !due.Equal(want) && !inWindow(w.Window, from) {
			if due.Before(want) {
				t.Fatalf("%v %s: due %s, want %s", w.Every, w.Window, due, want)
			}
		} else if !due.Equal(want) {
			t.Fatalf("%v %s: due %s after %s, want %s", w.Every, w.Window, due, from, want)
		}
		ended := due.Add(time.Duration(r.IntN(20000)) * time.Second)
		n := 0
		for o := range occasions {
			if o > due.UnixNano() && o <= ended.UnixNano() {
				n++
			}
		}
		if got := w.Skipped(due, ended, phase); got != n {
			t.Fatalf("%v %s: %d occasions skipped from %s to %s, want %d", w.Every, w.Window, got, due, ended, n)
		}
	}
}

// TestPerDay spends budgets for a day over 30 days, in visits that cannot spend all: they add up.
func TestPerDay(t *testing.T) {
	for _, window := range []string{"00:00-24:00 UTC", "06:00-23:00 Europe/Berlin", "12:00-12:30 UTC"} {
		for _, n := range []int{1, 3, 10, 200, 5000} {
			w := When{Budget: Budget{N: n, PerDay: true}}
			w.Window, _ = ParseWindow(window)
			begin := time.Unix(1774500000, 0)
			now, left, spent, visits := begin, 0., 0, 0
			for {
				due := w.Due(now, 0, float64(n), left, &revisit.Rhythm{})
				if due.Sub(begin) > 30*day {
					break
				}
				if !inWindow(w.Window, due) || due.Before(now) {
					t.Fatalf("%s: due %s after %s", w.Window, due, now)
				}
				left = min(left+due.Sub(now).Hours()/24*float64(n), max(1, float64(n)))
				k := int(left + 1e-6)
				if k < 1 {
					t.Fatalf("%d a day: due with %g", n, left)
				}
				now, left, spent, visits = due, left-float64(k), spent+k, visits+1
			}
			if spent > 30*n || spent < 29*n-1 {
				t.Errorf("%d a day, %s: %d spent in 30 days, in %d visits", n, w.Window, spent, visits)
			}
		}
	}
	if w := (When{Budget: Budget{N: 5, PerDay: true}}); w.Due(time.Unix(0, 0), 0, 0, 0, nil) != never {
		t.Error("a site that gets no fetches is due")
	}
}
