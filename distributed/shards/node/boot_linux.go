package node

import (
	"time"

	"golang.org/x/sys/unix"

	"forage/distributed/shards/lease"
)

// sinceBoot is the time since the machine started, those included in which it was suspended, or the process stopped.
func sinceBoot() lease.Instant {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(err) // the clock is there since Linux 2.6.39
	}
	return time.Duration(t.Nano())
}
