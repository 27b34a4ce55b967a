//go:build !linux

package pipeline

import "os/exec"

// dieWithParent does nothing where the system has no such thing: a worker ends when its runner's
// connection does.
func dieWithParent(*exec.Cmd) {}
