package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Try locks f, for itself alone or with others that do not ask for that, and does not wait. Nobody may read what is
// locked, so that it is a byte far behind the end: the file may hold the number of the process.
func Try(f *os.File, exclusive bool) error {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}
