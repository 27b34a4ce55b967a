package machine

import "golang.org/x/sys/windows"

func peakRSS() int64 { return 0 }

func freeDisk(folder string) int64 {
	var free uint64
	name, err := windows.UTF16PtrFromString(folder)
	if err != nil || windows.GetDiskFreeSpaceEx(name, &free, nil, nil) != nil {
		return 0
	}
	return int64(free)
}

func device(string) uint64 { return 0 }
