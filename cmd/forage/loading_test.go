//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestInterruptedLoading: a command that is interrupted while it reads its input ends with 130
// and leaves nothing. The input is a pipe that stays open, so that reading never ends by itself.
func TestInterruptedLoading(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"cover PIPE -o OUT",
		"cover PIPE --format arcs -o OUT",
		"cover PIPE --format sets --memory 10 -o OUT",
		"graph convert PIPE -o OUT",
		"graph convert PIPE --memory 1MiB -o OUT.graph",
		"graph convert PIPE --relabel -o OUT",
		"graph stat PIPE --format adjacency --pagerank OUT",
	} {
		t.Run(args, func(t *testing.T) {
			dir := t.TempDir()
			pipe := filepath.Join(dir, "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			w := strings.Fields(strings.NewReplacer("PIPE", pipe, "OUT", filepath.Join(dir, "out")).Replace(args))
			cmd := exec.Command(self)
			cmd.Args = append([]string{"forage"}, w...)
			cmd.Env = append(os.Environ(), "TMPDIR="+dir)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			in, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits until the command reads
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			// It may have looked at the pipe and be about to open it again.
			if _, err := in.WriteString("1 2\n2 3\n"); err != nil && !errors.Is(err, syscall.EPIPE) {
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
				t.Errorf("exit code %d, want %d; stderr %s", code, exitInterrupted, stderr.String())
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 1 {
				t.Errorf("%v left, %v; want the pipe alone", left, err)
			}
		})
	}
}
