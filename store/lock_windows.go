package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// noFollow: to make a symbolic link takes an administrator here.
const noFollow = 0

func isLink(error) bool { return false }

func isReadOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }

// tryLock locks a file until it is closed, or the process dies, and does not wait. It returns errLocked where
// others hold it. Nobody may read what is locked, so that it is a byte far behind the end: the file holds the
// number of the process.
func tryLock(f *os.File, exclusive bool) error {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errLocked
	}
	return err
}

// lives reports whether there is a process of that number.
func lives(pid int) bool {
	p, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return errors.Is(err, windows.ERROR_ACCESS_DENIED)
	}
	defer windows.CloseHandle(p)
	var code uint32
	const stillActive = 259
	return windows.GetExitCodeProcess(p, &code) == nil && code == stillActive
}
