//go:build unix

package fetch

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time of this process, the server's part included.
func cpuTime() time.Duration {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}
