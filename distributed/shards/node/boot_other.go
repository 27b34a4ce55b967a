//go:build !linux

package node

import (
	"time"

	"forage/distributed/shards/lease"
)

var began = time.Now()

// sinceBoot counts from the start of the process. On systems whose monotonic clock stands still while the machine is suspended, so
// does this one: no lease outlives that by more than its term.
func sinceBoot() lease.Instant { return time.Since(began) }
