//go:build unix

package store

import (
	"errors"

	"golang.org/x/sys/unix"
)

// noFollow has a file not be opened where its name is a symbolic link: see isLink.
const noFollow = unix.O_NOFOLLOW

func isLink(err error) bool { return errors.Is(err, unix.ELOOP) }

func isReadOnly(err error) bool { return errors.Is(err, unix.EROFS) }

// lives reports whether there is a process of that number.
func lives(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}
