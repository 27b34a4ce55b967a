// Package machine tells what memory and disk the machine has left, and what the process took.
//
// Every answer is a hint that is out of date when it is read: plans are made with it, nothing
// is allocated by it. Where the system does not tell, the answer is the one given below and not
// an error.
package machine

import (
	"math"
	"os"
	"strconv"
	"strings"
)

// FreeMemory returns how many bytes the process may still take, the lower of what the kernel
// and the control group tell; 8 GiB where neither is known.
func FreeMemory() uint64 {
	free := uint64(math.MaxUint64)
	if kb, ok := field("/proc/meminfo", "MemAvailable:"); ok {
		free = uint64(kb) << 10
	}
	if most, ok := number("/sys/fs/cgroup/memory.max"); ok {
		if used, ok := number("/sys/fs/cgroup/memory.current"); ok {
			free = min(free, most-min(most, used))
		}
	}
	if free == math.MaxUint64 {
		return 8 << 30
	}
	return free
}

// PeakRSS returns the most memory that the process ever had, in bytes; 0 where the system does
// not tell.
func PeakRSS() int64 {
	// On Linux Rusage counts the process that ran before exec, too: a large parent.
	if kb, ok := field("/proc/self/status", "VmHWM:"); ok {
		return kb << 10
	}
	return peakRSS()
}

// FreeDisk returns the bytes that are free in a folder; 0 where the system does not tell.
func FreeDisk(folder string) int64 { return freeDisk(folder) }

// Device returns the number of the file system that a folder is on; 0 where the system does not
// tell.
func Device(folder string) uint64 { return device(folder) }

// field returns the number that follows a name at the beginning of a line of a file.
func field(path, name string) (v int64, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if w := strings.Fields(line); len(w) >= 2 && w[0] == name {
			v, err := strconv.ParseInt(w[1], 10, 64)
			return v, err == nil
		}
	}
	return 0, false
}

// number returns the number that a file consists of.
func number(path string) (uint64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	v, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return v, err == nil
}
