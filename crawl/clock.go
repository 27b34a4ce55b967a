package crawl

import "time"

// A Clock is the time that the engine goes by: when hosts may be asked, when limits end.
type Clock interface {
	Now() time.Time
	// After returns a channel on which the time is sent once d has passed.
	After(d time.Duration) <-chan time.Time
}

// machineClock is the clock of the machine.
type machineClock struct{}

func (machineClock) Now() time.Time                         { return time.Now() }
func (machineClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
