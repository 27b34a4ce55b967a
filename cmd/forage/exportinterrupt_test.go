//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"forage/store"
)

// TestInterruptedExport: an export that is interrupted while it writes ends with 130 and leaves no
// unfinished file. What it writes to is a pipe that nobody reads, so that writing never ends by itself.
func TestInterruptedExport(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	db, err := store.Open(filepath.Join(dir, "store"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &store.Site{Name: "a.test", Rules: store.Rules{Scope: "host", Within: "a.test"}, Seeds: []string{"http://a.test/"}}
	if err := db.AddSite(s); err != nil {
		t.Fatal(err)
	}
	for i := range 2000 { // twice as many bytes as the largest pipe holds by default
		if _, err := db.Add(store.NewDoc(fmt.Sprintf("http://a.test/%0100d", i), s.ID)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, ".pipe.123.tmp") // what it would leave of a file
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args = []string{"forage", "export", "urls", "--all", "--dir", filepath.Join(dir, "store"), "-o", pipe}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out, err := os.OpenFile(pipe, os.O_RDONLY, 0) // waits until the command writes
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || stderr.String() != "forage: interrupted\n" {
		t.Errorf("exit code %d, want %d; stderr %s", code, exitInterrupted, stderr.String())
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the unfinished file is left: %v", err)
	}
}
