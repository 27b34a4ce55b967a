package crawl

import "time"

// A Clock is the time that the engine goes by.
type Clock interface {
	// Now is for gaps and limits: when hosts may be asked, when a run is over. It runs evenly
	// and never back, also where somebody sets the machine's clock.
	Now() time.Time
	// Wall is the date that records get. Somebody may set it, forwards or back, at any moment,
	// so that what is stored may lie ahead of it.
	Wall() time.Time
	// After returns a channel on which the time is sent once d has passed.
	After(d time.Duration) <-chan time.Time
}

// machineClock is the clock of the machine.
type machineClock struct{}

func (machineClock) Now() time.Time                         { return time.Now() } // with its monotonic reading
func (machineClock) Wall() time.Time                        { return time.Now().Round(0) }
func (machineClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
