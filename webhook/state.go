package webhook

import (
	"net/http"
	"time"

	"forage/store"
)

// A target is tried again after firstWait, then after twice as long each time, up to longestWait, a quarter more or less. An
// event is given up when it has not been accepted for giveUp, and was tried leastTries times at least: what had to wait
// for others that long is not given up for their sake.
const (
	firstWait   = 5 * time.Second
	longestWait = time.Hour
	giveUp      = 32 * time.Hour
	leastTries  = 3
)

// An Attempt is what came of sending an event once.
type Attempt struct {
	_      struct{}      `nullable:"true"`
	At     time.Time     `json:"at"`
	Event  string        `json:"event" doc:"its id"`
	Status int           `json:"status" doc:"0: there was no answer"`
	Error  string        `json:"error" doc:"why it failed, for people; empty: it was accepted"`
	Took   time.Duration `json:"-"`
	Millis int64         `json:"millis"`

	retryAfter time.Duration // asked for; 0: not
}

// ok reports whether the target has accepted the event.
func (r *Attempt) ok() bool { return r.Error == "" }

// A state is what the store has of a target. Times are Unix seconds, 0: none.
type state struct {
	Seq       uint64   `json:"seq"`                // what up to here is for the target has been sent, or given up
	URL       string   `json:"url,omitempty"`      // hash of the one that Disabled is of
	Disabled  string   `json:"disabled,omitempty"` // why nothing is sent; "": it is
	Failing   int64    `json:"failing,omitempty"`  // since when nothing was accepted
	Tries     int      `json:"tries,omitempty"`    // failures of the event that is the next
	Next      int64    `json:"next,omitempty"`     // nothing is sent before
	Delivered int64    `json:"delivered,omitempty"`
	Dead      int64    `json:"dead,omitempty"` // given up, in all
	Lost      int64    `json:"lost,omitempty"` // events that were dropped before they were looked at
	Last      *Attempt `json:"last,omitempty"`
}

// A letter is what the store has of one event for a target: a dead letter, or one that is to be sent again.
type letter struct {
	At     int64  `json:"at"` // when it was given up, or asked for again
	Again  bool   `json:"again,omitempty"`
	Status int    `json:"status,omitempty"`
	Error  string `json:"error,omitempty"`
}

// accepted notes a success.
func (s *state) accepted() {
	s.Failing, s.Tries, s.Next = 0, 0, 0
	s.Delivered++
}

// failed notes a failure at now of an event that is to be sent since a time, and reports whether it is given up. chance
// is in [0, 1).
func (s *state) failed(now time.Time, since store.Time, r *Attempt, chance float64) (dead bool) {
	at := now.Unix()
	if s.Failing == 0 || s.Failing > at { // the clock may have been set back
		s.Failing = at
	}
	s.Tries++
	if since > at {
		since = s.Failing
	}
	end := max(since, s.Failing) + int64(giveUp/time.Second)
	switch {
	case r.Status == http.StatusGone:
		s.Disabled = "it answered 410 Gone"
		return false
	case at >= end && s.Tries >= leastTries:
		s.Tries, s.Next = 0, 0
		s.Dead++
		return true
	}
	wait := longestWait
	if n := s.Tries - 1; n < 20 {
		wait = min(wait, firstWait<<n)
	}
	wait = max(wait*3/4+time.Duration(chance*float64(wait/2)), min(r.retryAfter, longestWait))
	s.Next = at + int64((wait+time.Second-1)/time.Second)
	if at < end {
		s.Next = min(s.Next, end) // the last attempt is then
	}
	return false
}

// wait is how long nothing is sent to the target from now on.
func (s *state) wait(now time.Time) time.Duration {
	if s.Next == 0 {
		return 0
	}
	return min(max(time.Unix(s.Next, 0).Sub(now), 0), 2*longestWait) // more is of a clock that was set back
}
