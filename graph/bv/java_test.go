package bv

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"forage/graph"
	"forage/graph/gen"
)

// WebGraph's own programs read what we write, and we what they write, to the bit. 'make bv-java'
// fetches them and names the folder of their archives.
func TestWebGraphJava(t *testing.T) {
	jars := os.Getenv("FORAGE_WEBGRAPH_JARS")
	if jars == "" {
		t.Skip("run by 'make bv-java'")
	}
	java := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("java", append([]string{"-cp", filepath.Join(jars, "*")}, args...)...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("java %v: %v", args, err)
		}
		return string(bytes.TrimSpace(out))
	}
	g, err := gen.Weblike(30000, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%d %d %016x %016x", g.NumNodes(), g.NumArcs(), gen.Checksum(g), gen.Checksum(g))
	for i, tt := range []struct {
		c    Config
		args []string
	}{
		{Config{}, nil},
		{Config{Window: 3, MaxRef: 1, MinInterval: 2, ZetaK: 2}, []string{"-w", "3", "-m", "1", "-i", "2", "-k", "2"}},
		{Config{MaxRef: -1}, []string{"-m", "-1"}},
		{Config{Window: -1, MinInterval: -1}, []string{"-w", "0", "-i", "0"}},
		{Config{Flags: "OUTDEGREES_DELTA | BLOCKS_DELTA | BLOCK_COUNT_UNARY | REFERENCES_GAMMA | RESIDUALS_GAMMA | OFFSETS_DELTA"},
			[]string{"-c", "OUTDEGREES_DELTA", "-c", "BLOCKS_DELTA", "-c", "BLOCK_COUNT_UNARY", "-c", "REFERENCES_GAMMA", "-c", "RESIDUALS_GAMMA", "-c", "OFFSETS_DELTA"}},
		{Config{Flags: "RESIDUALS_NIBBLE | REFERENCES_DELTA | BLOCK_COUNT_DELTA"}, []string{"-c", "RESIDUALS_NIBBLE", "-c", "REFERENCES_DELTA", "-c", "BLOCK_COUNT_DELTA"}},
		{Config{Flags: "RESIDUALS_DELTA"}, []string{"-c", "RESIDUALS_DELTA"}},
		// WebGraph does not tell the modulus of Golomb codes in the properties: only the default reads back.
		{Config{Flags: "RESIDUALS_GOLOMB"}, []string{"-c", "RESIDUALS_GOLOMB"}},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			ours := filepath.Join(t.TempDir(), "ours")
			s, err := Write(ours, g, tt.c)
			if err != nil {
				t.Fatal(err)
			}
			if got := java("testdata/java/Dump.java", ours); got != want {
				t.Errorf("WebGraph reads %s, want %s", got, want)
			}
			theirs := filepath.Join(t.TempDir(), "theirs")
			java(append(append([]string{"it.unimi.dsi.webgraph.BVGraph"}, tt.args...), ours, theirs)...)
			h := open(t, theirs)
			if err := h.Check(); err != nil {
				t.Error(err)
			}
			equal(t, h, g)
			if bits, err := h.Bits(); err != nil || bits != s.Bits {
				t.Errorf("WebGraph writes %d bits, %v; we write %d", bits, err, s.Bits)
			}
			loaded, err := graph.Load(h)
			if err != nil || gen.Checksum(loaded) != gen.Checksum(g) {
				t.Errorf("what WebGraph writes reads otherwise: %v", err)
			}
		})
	}
}
