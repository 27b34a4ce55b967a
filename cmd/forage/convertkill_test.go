package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forage/internal/race"
)

// TestConvertKill kills graph convert --relabel while it writes the names: what it leaves is
// removed by the next run that writes the same graph, with names or without.
func TestConvertKill(t *testing.T) {
	race.Skip(t)
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	var text strings.Builder
	for v := range 100_000 {
		fmt.Fprintf(&text, "a%d b%d\n", v, v)
	}
	in, out := filepath.Join(dir, "in.txt"), filepath.Join(dir, "out.txt")
	if err := os.WriteFile(in, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	left := func() []string {
		found, err := filepath.Glob(filepath.Join(dir, ".out.txt.names.*.tmp"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	for _, relabel := range []string{"--relabel", "--format=arcs"} {
		for try := 0; len(left()) == 0; try++ { // the kill may come too late
			if try == 50 {
				t.Fatal("no kill left anything")
			}
			cmd := exec.Command("forage", "graph", "convert", in, "-o", out, "--relabel")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			look := time.NewTicker(time.Millisecond)
			for writing := true; writing && len(left()) == 0; {
				select {
				case <-ended:
					ended <- nil
					writing = false
				case <-look.C:
				}
			}
			look.Stop()
			cmd.Process.Kill()
			<-ended
		}
		source := in
		if relabel != "--relabel" {
			if source = filepath.Join(dir, "arcs.txt"); os.WriteFile(source, []byte("0 1\n"), 0o600) != nil {
				t.Fatal("cannot write")
			}
		}
		if text, err := exec.Command("forage", "graph", "convert", source, "-o", out, relabel).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if left := left(); len(left) > 0 {
			t.Errorf("%s: left %v", relabel, left)
		}
	}
}
