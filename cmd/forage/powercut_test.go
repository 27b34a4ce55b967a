//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forage/internal/disktest"
	"forage/internal/race"
	"forage/replay"
	"forage/snap"
)

// TestPowerCut cuts the power after each command that writes files: what it said is there is
// there, whole.
func TestPowerCut(t *testing.T) {
	race.Skip(t)
	disk := disktest.New(t, 64<<20)
	s, err := replay.New(snap.Blog(rand.New(rand.NewPCG(1, 0)), 3), 0, false)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	defer srv.Close()
	text, sets, store := filepath.Join(t.TempDir(), "g.txt"), filepath.Join(t.TempDir(), "s.txt"), filepath.Join(t.TempDir(), "store")
	if err := errors.Join(os.WriteFile(text, []byte("0 1\n1 2\n2 0\n2 1\n"), 0o600), os.WriteFile(sets, []byte("1 2\n3\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(disk.Dir, "out")
	for _, c := range []struct {
		args  string
		files string // that the command makes, beside what begins with .
	}{
		{"crawl " + srv.URL + " --dir " + store + " --delay 0 --allow-private 127.0.0.0/8 --report-skipped " + out, "out"},
		{"export urls --dir " + store + " -o " + out, "out"},
		{"export graph --dir " + store + " -o " + out + ".zst", "out.urls.zst out.zst"},
		{"export snap --dir " + store + " -o " + out + ".snap.gz", "out.snap.gz"},
		{"graph convert " + text + " -o " + out + ".gz", "out.gz"},
		{"graph convert " + text + " --relabel -o " + out, "out out.names"},
		{"graph convert " + text + " --to bv -o " + out, "out.graph out.offsets out.properties"},
		{"graph generate weblike --nodes 50 --degree 3 -o " + out, "out"},
		{"graph stat " + text + " --pagerank " + out, "out"},
		{"graph stat " + text + " --degrees " + out, "out"},
		{"cover " + sets + " -o " + out, "out"},
		{"seed " + text + " --method reach --k 1 -o " + out, "out"},
		{"retain " + text + " --buffer 1 -o " + out, "out"},
		{"lab run stability-lemma2 -o " + out, "out/stability-lemma2.csv out/stability-lemma2.json"},
		{"explore " + text + " --start 0 --budget 3 --policy bfs -o " + out, "out/arcs.csv.zst out/journal.jsonl out/manifest.json out/nodes.csv"},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(context.Background(), &stdout, &stderr, strings.Fields(c.args)); code != 0 {
			t.Errorf("forage %s: exit %d: %s", c.args, code, &stderr)
			continue
		}
		cut := disk.PowerCut(t)
		for _, name := range strings.Fields(c.files) {
			want, err := os.ReadFile(filepath.Join(disk.Dir, name))
			if err != nil {
				t.Errorf("forage %s: %v", c.args, err)
			} else if got, err := os.ReadFile(filepath.Join(cut, name)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("forage %s: after a power cut %s has %d bytes, %v; want %d", c.args, name, len(got), err, len(want))
			}
		}
		made, err := filepath.Glob(out + "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range made {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}
