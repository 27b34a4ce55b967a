package webhook

import (
	"net/http"
	"testing"
	"time"
)

// TestFailed plays an event that is never accepted: how often it is tried in 32 hours, when it is given up, and that each chance
// keeps to the bounds.
func TestFailed(t *testing.T) {
	begin := time.Unix(1_700_000_000, 0)
	for _, chance := range []float64{0, .5, .999999} {
		var s state
		now, tries, last := begin, 0, time.Duration(0)
		for tries++; !s.failed(now, begin.Unix(), &Attempt{Status: 500}, chance); tries++ {
			wait := s.wait(now)
			if want := min(firstWait<<min(tries-1, 20), longestWait); wait < want*3/4 || wait > want*5/4+time.Second {
				if now.Add(wait) != begin.Add(giveUp) {
					t.Errorf("chance %v: attempt %d waits %v, want about %v", chance, tries, wait, want)
				}
			}
			if wait < last*3/5 && now.Add(wait) != begin.Add(giveUp) {
				t.Errorf("chance %v: attempt %d waits %v after %v", chance, tries, wait, last)
			}
			last, now = wait, now.Add(wait)
		}
		if now != begin.Add(giveUp) || tries < 35 || tries > 60 {
			t.Errorf("chance %v: given up after %v and %d attempts", chance, now.Sub(begin), tries)
		}
		if s.Tries != 0 || s.Next != 0 || s.Dead != 1 || s.Failing != begin.Unix() {
			t.Errorf("chance %v: then it is %+v", chance, s)
		}
		// The next one has waited as long, and is tried leastTries times all the same.
		for i := range leastTries {
			if dead := s.failed(now, begin.Unix(), &Attempt{Status: 500}, chance); dead != (i == leastTries-1) {
				t.Errorf("chance %v: the next event is given up: %v, after attempt %d", chance, dead, i+1)
			}
			now = now.Add(s.wait(now))
		}
		// One of an hour ago is not given up for what was before it.
		for range leastTries {
			if s.failed(now, now.Add(-time.Hour).Unix(), &Attempt{}, chance) {
				t.Error("given up after an hour")
			}
		}
		s.accepted()
		if s.Failing != 0 || s.wait(now) != 0 || s.Delivered != 1 {
			t.Errorf("accepted: %+v", s)
		}
	}
}

func TestFailedOdd(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var s state
	s.failed(now, now.Unix(), &Attempt{Status: 429, retryAfter: 10 * time.Minute}, 0)
	if w := s.wait(now); w != 10*time.Minute {
		t.Errorf("Retry-After of 10 minutes: waits %v", w)
	}
	s.failed(now, now.Unix(), &Attempt{Status: 429, retryAfter: 1000 * time.Hour}, 0)
	if w := s.wait(now); w != longestWait {
		t.Errorf("Retry-After of 1000 hours: waits %v", w)
	}
	if w := s.wait(now.Add(-1000 * time.Hour)); w != 2*longestWait {
		t.Errorf("a clock that was set back: waits %v", w)
	}
	s = state{}
	if s.failed(now, now.Unix(), &Attempt{Status: http.StatusGone}, 0); s.Disabled == "" {
		t.Error("410 does not disable")
	}
	s = state{}
	s.failed(now, now.Add(1000*time.Hour).Unix(), &Attempt{}, 0) // an event of a clock that was set back
	s.failed(now, now.Add(1000*time.Hour).Unix(), &Attempt{}, 0)
	if !s.failed(now.Add(giveUp), now.Add(1000*time.Hour).Unix(), &Attempt{}, 0) {
		t.Error("an event from the future is never given up")
	}
}
