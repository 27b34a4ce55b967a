package report

import (
	"errors"
	"fmt"
	"time"

	"forage/store"
)

// A Host is what is told of a host: a name, with its port where that is not the usual one.
type Host struct {
	Host          string  `json:"host"`
	Until         *string `json:"until" format:"date-time" doc:"when it may be asked again; null: now"`
	Why           *string `json:"why" doc:"why it waits"`
	Pending       int     `json:"pending" doc:"documents in line there in cycles that are under way"`
	LastRequest   *string `json:"last_request" format:"date-time"`
	CrawlDelay    float64 `json:"crawl_delay" doc:"seconds, as its robots.txt asks for where a cycle that is under way has read it"`
	Failures      int     `json:"failures" doc:"in a row, each of which doubled the wait"`
	RobotsAt      *string `json:"robots_at" format:"date-time" doc:"when its robots.txt was fetched last"`
	RobotsStatus  *int    `json:"robots_status" doc:"null: there was no answer"`
	RobotsProblem *string `json:"robots_problem" doc:"why nothing may be fetched although no rule says so"`
}

// Asked tells how a host stands that cycles ask now.
type Asked struct {
	Host       string
	Next       time.Time     // when it may be asked again
	CrawlDelay time.Duration // as its robots.txt asks for
	Pending    int           // documents in line
	Failures   int           // in a row
	LeftAlone  string        // why it is not asked any more in these cycles; "": it is
}

// NewHost returns the record of a host at a time. asked is how it stands in the cycles under way; nil: in none. O(1).
func NewHost(v *store.View, h *store.Host, asked *Asked, now time.Time) (*Host, error) {
	r := &Host{Host: h.Origin, LastRequest: stamp(h.LastRequest / 1000), Failures: h.Failures, RobotsProblem: null(h.RobotsProblem)}
	robotsAt, status := h.RobotsAt, h.RobotsStatus
	for _, scheme := range []string{"http://", "https://"} {
		kept, err := v.Robots(scheme + h.Origin)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if kept.FetchedAt >= robotsAt {
			robotsAt, status, r.RobotsProblem = kept.FetchedAt, kept.Status, nil
		}
	}
	r.RobotsAt, r.RobotsStatus = stamp(robotsAt), null(status)
	next := time.UnixMilli(h.NotBefore)
	if asked != nil {
		next, r.CrawlDelay, r.Pending, r.Failures = asked.Next, asked.CrawlDelay.Seconds(), asked.Pending, asked.Failures
	}
	if next.After(now) {
		at := next.Add(time.Second - 1).UTC().Truncate(time.Second) // not before it may be asked
		r.Until = null(at.Format(time.RFC3339))
	}
	switch {
	case asked != nil && asked.LeftAlone != "":
		r.Why = &asked.LeftAlone
	case r.Until == nil:
	case r.Failures > 0:
		r.Why = null(fmt.Sprintf("it did not answer properly, %s", times(r.Failures)))
	case r.CrawlDelay > 0:
		r.Why = null("its robots.txt asks for a delay between two requests")
	default:
		r.Why = null("the delay between two requests, or the wait that it asked for")
	}
	return r, nil
}

// Hosts returns hosts after a name, by name: those that the store remembers something of, and those that are asked now,
// of which asked are the first, or, where there are fewer than most, all. It looks at up to most of either until stop
// says that they were enough, at one at least. more: the list goes on after the last one of them. O(hosts looked at).
func Hosts(v *store.View, after string, asked []*Asked, most int, stop func(looked int) bool, now time.Time) (hosts []*Host, more bool, err error) {
	var kept []*store.Host
	if err := v.Hosts(after, func(h *store.Host) bool {
		if more = len(kept) == most || len(kept) > 0 && stop(len(kept)); more {
			return false
		}
		kept = append(kept, h)
		return true
	}); err != nil {
		return nil, false, err
	}
	end := "" // nothing is known of what comes after it
	if more {
		end = kept[len(kept)-1].Origin
	}
	if len(asked) == most && (end == "" || asked[most-1].Host < end) {
		end = asked[most-1].Host
	}
	for len(kept) > 0 || len(asked) > 0 {
		var h *store.Host
		var a *Asked
		switch {
		case len(asked) == 0 || len(kept) > 0 && kept[0].Origin < asked[0].Host:
			h, kept = kept[0], kept[1:]
		case len(kept) == 0 || asked[0].Host < kept[0].Origin:
			h, a, asked = &store.Host{Origin: asked[0].Host}, asked[0], asked[1:]
		default:
			h, a, kept, asked = kept[0], asked[0], kept[1:], asked[1:]
		}
		if end != "" && h.Origin > end {
			break
		}
		r, err := NewHost(v, h, a, now)
		if err != nil {
			return nil, false, err
		}
		hosts = append(hosts, r)
	}
	return hosts, end != "", nil
}

// Waits reports whether the host may not be asked now.
func (h *Host) Waits() bool { return h.Why != nil }

// times is how often something happened in a row.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times in a row", n)
}
