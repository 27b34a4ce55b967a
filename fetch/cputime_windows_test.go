package fetch

import (
	"time"

	"golang.org/x/sys/windows"
)

// cpuTime returns the CPU time of this process, the server's part included.
func cpuTime() time.Duration {
	var began, ended, kernel, user windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &began, &ended, &kernel, &user) != nil {
		return 0
	}
	sum := time.Duration(0)
	for _, t := range []windows.Filetime{kernel, user} { // in units of 100 ns
		sum += 100 * time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime))
	}
	return sum
}
