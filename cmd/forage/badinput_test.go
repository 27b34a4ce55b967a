package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forage/cover"
	"forage/cover/sets"
	"forage/graph/arcs"
	"forage/graph/bv"
	"forage/graph/gen"
)

// TestDamagedFiles: files that a script cannot hold, cut off or with bytes turned: exit code 2,
// an error that names file and place, no output.
func TestDamagedFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	change := func(from, to string, f func(b []byte) []byte) {
		t.Helper()
		b, err := os.ReadFile(at(from))
		check(err)
		check(os.WriteFile(at(to), f(b), 0o600))
	}
	half := func(b []byte) []byte { return b[:len(b)/2] }
	same := func(b []byte) []byte { return b }
	ones := func(b []byte) []byte { copy(b[len(b)/2:], bytes.Repeat([]byte{0xff}, 16)); return b }

	g, err := gen.Weblike(3000, 5, 1)
	check(err)
	check(arcs.WriteFile(at("g.txt.gz"), g, arcs.List))
	change("g.txt.gz", "cut.txt.gz", half)
	change("g.txt.gz", "head.gz", func(b []byte) []byte { return b[:5] })
	f, err := os.Create(at("g.sets"))
	check(err)
	check(sets.Write(f, cover.OutLinks(g)))
	check(f.Close())
	change("g.sets", "cut.sets", half)
	change("g.sets", "turned.sets", ones)
	_, err = bv.Write(at("g"), g, bv.Config{})
	check(err)
	for name, damage := range map[string]func([]byte) []byte{"cut": half, "turned": ones, "wrong": same, "short": same} {
		change("g.graph", name+".graph", damage)
		change("g.properties", name+".properties", same)
	}
	change("g.offsets", "wrong.offsets", ones)
	change("g.offsets", "short.offsets", half)
	check(arcs.Create(at("costs.gz"), func(w io.Writer) error { _, err := io.WriteString(w, strings.Repeat("1\n2.5\n", 1e5)); return err }))
	change("costs.gz", "cut-costs.gz", half)
	check(os.WriteFile(at("sets.txt"), []byte("1 2\n3\n"), 0o600))

	for _, c := range []struct{ args, want string }{
		{"cover cut.txt.gz", "cut.txt.gz: after "},
		{"cover cut.txt.gz --format arcs", "cut.txt.gz: after "},
		{"cover cut.txt.gz --memory 10", "cut.txt.gz: after "},
		{"cover head.gz", "head.gz: gzip: "},
		{"cover sets.txt --weights cut.txt.gz", "cut.txt.gz:1: want a finite cost"},
		{"cover sets.txt --weights cut-costs.gz", "cut-costs.gz: after "},
		{"cover sets.txt --weights head.gz", "head.gz: gzip: "},
		{"cover cut.sets", "cut.sets: byte "},
		{"cover cut.sets --memory 10", "cut.sets: byte "},
		{"cover turned.sets", "turned.sets: byte "},
		{"cover turned.sets --memory 10", "turned.sets: byte "},
		{"cover cut.graph", "cut.graph: bit "},
		{"cover turned.graph", "turned.graph: bit "},
		{"cover turned.graph --memory 10", "turned.graph: bit "},
		{"graph convert cut.txt.gz", "cut.txt.gz: after "},
		{"graph convert cut.txt.gz --relabel", "cut.txt.gz: after "},
		{"graph convert head.gz", "head.gz: gzip: "},
		{"graph convert cut.graph", "cut.graph: bit "},
		{"graph convert turned.graph --transpose", "turned.graph: bit "},
		{"graph stat wrong.graph", "wrong.offsets: bit "},
		{"graph stat short.graph", "short.offsets: bit "},
	} {
		w := strings.Fields(c.args)
		for i := range w {
			if strings.ContainsRune(w[i], '.') {
				w[i] = at(w[i])
			}
		}
		if w[1] != "stat" {
			w = append(w, "-o", at("out"))
		}
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), &stdout, &stderr, w)
		if code != exitUsage || !strings.HasPrefix(stderr.String(), "forage: "+at(c.want)) || stdout.Len() > 0 || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%s: exit code %d, %q, %q; want 2 and %q", c.args, code, stderr.String(), stdout.String(), at(c.want))
		}
		for _, pattern := range []string{"out*", ".out*"} {
			if left, _ := filepath.Glob(at(pattern)); len(left) > 0 {
				t.Errorf("%s left %v", c.args, left)
			}
		}
	}
}
