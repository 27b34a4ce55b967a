//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package http1

import "syscall"

const canLook = false

func nothingCame(syscall.RawConn) bool { return false }

// descriptors is how many files and connections the process may have open.
func descriptors() int { return 4096 }
