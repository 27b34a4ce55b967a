//go:build unix

package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// noFollow has a file not be opened where its name is a symbolic link: see isLink.
const noFollow = unix.O_NOFOLLOW

func isLink(err error) bool { return errors.Is(err, unix.ELOOP) }

func isReadOnly(err error) bool { return errors.Is(err, unix.EROFS) }

// tryLock locks a file until it is closed, or the process dies, and does not wait. It returns errLocked where
// others hold it.
func tryLock(f *os.File, exclusive bool) error {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return errLocked
	}
	return err
}

// lives reports whether there is a process of that number.
func lives(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}
