package store

import (
	"errors"

	"golang.org/x/sys/windows"
)

// noFollow: to make a symbolic link takes an administrator here.
const noFollow = 0

func isLink(error) bool { return false }

func isReadOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }

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
