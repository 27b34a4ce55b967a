//go:build unix

package machine

import (
	"runtime"
	"syscall"
)

func peakRSS() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10
}

func freeDisk(folder string) int64 {
	var s syscall.Statfs_t
	if syscall.Statfs(folder, &s) != nil {
		return 0
	}
	return int64(s.Bavail) * int64(s.Bsize)
}

func device(folder string) uint64 {
	var s syscall.Stat_t
	if syscall.Stat(folder, &s) != nil {
		return 0
	}
	return uint64(s.Dev)
}
