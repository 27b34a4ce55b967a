package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forage/cover/sets"
	"forage/internal/race"
)

// endless is a family of which only the head is written: it tells of more than any disk holds.
type endless struct{}

func (endless) NumSets() uint64                         { return 1 << 20 }
func (endless) NumElements() uint64                     { return 1 << 20 }
func (endless) Size() uint64                            { return 1 << 60 }
func (endless) Scan(func(uint64, []uint64) error) error { return nil }

// TestCoverPlanRefuses: --plan tells the plan of what cannot fit, and ends with exit code 2.
func TestCoverPlanRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "far.sets")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := sets.Write(f, endless{}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code := run(context.Background(), &stdout, &stderr, []string{"cover", path, "--plan", "--json", "--temp", dir})
	if code != exitUsage || !strings.Contains(stderr.String(), "this cannot fit: it needs 3145728.0 TiB of disk and "+dir+" has ") {
		t.Errorf("exit code %d, %q; want 2 and a refusal for the disk", code, stderr.String())
	}
	if out := stdout.String(); !strings.Contains(out, `"out_of_core":true`) || !strings.Contains(out, `"fits":false`) {
		t.Errorf("%s; want a plan out of core that does not fit", out)
	}
}

// TestWideCover: numbers beyond 32 bits are covered out of core without being asked, however
// little there is of them.
func TestWideCover(t *testing.T) {
	if race.Enabled {
		t.Skip("takes gigabytes under the race detector")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "wide.txt")
	if err := os.WriteFile(path, []byte("7 4294967299\n3\n3 4294967299 12\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code := run(context.Background(), &stdout, &stderr, []string{"cover", path, "--points", "1", "--temp", dir, "-o", filepath.Join(dir, "out"), "--json"})
	out, err := os.ReadFile(filepath.Join(dir, "out"))
	if code != 0 || err != nil || string(out) != "0\n1\n2\n" || !strings.Contains(stdout.String(), `"out_of_core":true`) {
		t.Errorf("exit code %d, %q, %q; the cover is %q, %v; want all sets, out of core", code, stdout.String(), stderr.String(), out, err)
	}
}
