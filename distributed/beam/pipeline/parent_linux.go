package pipeline

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the system end a process when the one that started it is gone, however that
// ended.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
