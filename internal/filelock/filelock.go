// Package filelock locks a file against other processes: until it is closed, or the process dies.
package filelock

import "errors"

// ErrLocked is returned where others hold the lock.
var ErrLocked = errors.New("others hold the lock")
