package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forage/cover/sets"
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
