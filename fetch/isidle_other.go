//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package fetch

import "net"

// isIdle cannot tell here, so connections that idled are not used again.
func isIdle(net.Conn) bool { return false }
