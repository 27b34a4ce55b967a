package watch

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones are known also where the system has none

	"forage/revisit"
)

const day = 24 * time.Hour

// When says when a site is visited: at fixed occasions, or whenever enough of its budget has come together.
type When struct {
	Every  time.Duration // between occasions; 0: Budget is for a day
	Budget Budget
	Window Window
}

// portionGap is the least time between two visits of a site with a budget for a day: where more than a
// fetch comes together in it, they are spent in one visit.
const portionGap = 10 * time.Minute

// portion is how many fetches a visit spends of n a day, unless some were left before.
func portion(n int) int { return max(1, int(int64(n)*int64(portionGap)/int64(day))) }

// Due is when a site is to be visited that was visited last until the time given. rate is how many fetches a
// day it gets, left how many it had left then, and rhythm when they come; these are for budgets for a day alone.
// phase is the site's own, see Phase.
//
// What was missed while nobody watched is made up once: Due may lie in the past, and counts from the visit
// that comes then. O(1).
func (w *When) Due(last time.Time, phase time.Duration, rate, left float64, rhythm *revisit.Rhythm) time.Time {
	if w.Every > 0 {
		return w.Window.Next(occasion(last, w.Every, phase))
	}
	if rate <= 0 {
		return never
	}
	want := max(0, float64(portion(int(rate)))-left)
	return w.Window.Next(time.Unix(int64(rhythm.After(revisit.Time(last.Unix()), min(want/rate, 366))), 0).In(last.Location()))
}

// never is later than anything is due.
var never = time.Unix(1<<40, 0)

// Skipped is how many occasions lay between the begin and the end of a visit. For a budget for a day there are none.
func (w *When) Skipped(began, ended time.Time, phase time.Duration) int {
	if w.Every == 0 || !ended.After(began) {
		return 0
	}
	n, closed := 0, time.Time{}
	for t := occasion(began, w.Every, phase); !t.After(ended) && n < 1<<20; t = t.Add(w.Every) {
		at := w.Window.Next(t)
		if at.After(ended) {
			break
		}
		if !at.Equal(closed) { // several before the window opens are one
			n++
		}
		closed = at
	}
	return n
}

// occasion is the first time after t that is phase past a multiple of every since the epoch.
func occasion(t time.Time, every, phase time.Duration) time.Time {
	n := t.Add(-phase).UnixNano()
	rest := n % int64(every)
	if rest < 0 {
		rest += int64(every)
	}
	return t.Add(every - time.Duration(rest))
}

// Phase is where the occasions of a site lie between those of others, so that not all are due at once.
func Phase(site string, every time.Duration) time.Duration {
	if every <= 0 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(site))
	return time.Duration(h.Sum64() % uint64(every))
}

// A Window is a time of the day in which a site may be visited. The zero value is the whole day.
type Window struct {
	From, To time.Duration // since midnight, by the clock on the wall; To before From: over midnight
	Zone     *time.Location
}

// ParseWindow reads 06:00-23:00 Europe/Berlin. Without a zone it is UTC.
func ParseWindow(text string) (w Window, err error) {
	hours, zone, named := strings.Cut(text, " ")
	from, to, ok := strings.Cut(hours, "-")
	if !ok {
		return w, fmt.Errorf("want hours such as 06:00-23:00 Europe/Berlin, got %q", text)
	}
	if w.From, err = parseHour(from); err == nil {
		w.To, err = parseHour(to)
	}
	if err != nil {
		return Window{}, err
	}
	if w.From == day || w.From == w.To {
		return Window{}, fmt.Errorf("want a beginning and an end that differ, got %q", hours)
	}
	w.Zone = time.UTC
	if zone = strings.TrimSpace(zone); named && zone != "" {
		if strings.EqualFold(zone, "local") {
			return Window{}, fmt.Errorf("want the name of a zone such as Europe/Berlin, got %q", zone)
		}
		if w.Zone, err = time.LoadLocation(zone); err != nil {
			return Window{}, fmt.Errorf("there is no time zone %q; one is Europe/Berlin", zone)
		}
	}
	return w, nil
}

func parseHour(text string) (time.Duration, error) {
	h, m, ok := strings.Cut(text, ":")
	hour, err := strconv.Atoi(h)
	minute, err2 := strconv.Atoi(m)
	if !ok || err != nil || err2 != nil || len(h) != 2 || len(m) != 2 || hour < 0 || minute < 0 || minute > 59 || hour*60+minute > 24*60 {
		return 0, fmt.Errorf("want a time of the day such as 06:00, got %q", text)
	}
	return time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute, nil
}

func (w Window) String() string {
	if w.Zone == nil {
		return ""
	}
	hour := func(d time.Duration) string { return fmt.Sprintf("%02d:%02d", int(d.Hours()), int(d.Minutes())%60) }
	return hour(w.From) + "-" + hour(w.To) + " " + w.Zone.String()
}

// Next is the first time from t on that lies in the window. Where a clock is put forward over the beginning of
// the window it opens at that moment; where it is put back into it, it opens twice. O(changes of the clock met),
// which is one or two.
func (w Window) Next(t time.Time) time.Time {
	if w.Zone == nil {
		return t
	}
	at := t.In(w.Zone)
	for {
		_, offset := at.Zone()
		clock := ((at.Unix()+int64(offset))%86400 + 86400) % 86400
		since := time.Duration(clock)*time.Second + time.Duration(at.Nanosecond())
		if since >= w.From && since < w.To || w.To < w.From && (since >= w.From || since < w.To) {
			return at.In(t.Location())
		}
		opens := at.Add((w.From - since + day) % day)
		_, change := at.ZoneBounds()
		if change.IsZero() || opens.Before(change) {
			return opens.In(t.Location())
		}
		at = change.In(w.Zone)
	}
}
