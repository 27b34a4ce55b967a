//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package http1

import "syscall"

const canLook = true

// nothingCame reports whether a connection is open and nothing is there to be read.
func nothingCame(c syscall.RawConn) bool {
	still := false
	err := c.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		still = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
	})
	return err == nil && still
}

// descriptors is how many files and connections the process may have open.
func descriptors() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 1024
	}
	return int(min(uint64(l.Cur), 1<<20))
}
