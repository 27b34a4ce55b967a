package asked

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Use is what a process took.
type Use struct {
	CPU     time.Duration // user and system
	Memory  int64         // the most that was resident, bytes
	Written int64         // bytes, by the blocks that the system counts
}

// Measure runs cmd to its end. Memory is VmHWM as /proc tells it while it runs, and at its end the system.
func Measure(cmd *exec.Cmd) (u Use, err error) {
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return u, err
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			u.Memory = max(u.Memory, Resident(cmd.Process.Pid))
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	})
	err = cmd.Wait()
	close(done)
	wg.Wait()
	if err != nil {
		text := stderr.String()
		return u, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args[:min(2, len(cmd.Args))], " "), err, text[max(0, len(text)-1000):])
	}
	u.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if ru, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.Written = ru.Oublock * 512
		u.Memory = max(u.Memory, ru.Maxrss<<10) // of what ends between two looks; the program that measures, which the system counts in, is small
	}
	return u, nil
}

// Resident returns VmHWM of a process in bytes, 0 where it is not there.
func Resident(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kB int64
	fmt.Sscan(rest, &kB)
	return kB << 10
}
