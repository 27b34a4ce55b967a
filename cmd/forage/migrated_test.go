package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"forage/report"
)

// TestMigratedStore opens a store that the last release of format 1 wrote (store/testdata/old),
// and compares what this one tells of it with what that release told.
func TestMigratedStore(t *testing.T) {
	old := filepath.Join("..", "..", "store", "testdata", "old")
	want := func(name string) string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(old, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	dir := unpacked(t, filepath.Join(old, "store.tar.gz"))
	forage := func(args ...string) string {
		t.Helper()
		var out, msg bytes.Buffer
		if code := run(t.Context(), &out, &msg, append(args, "--dir", dir)); code != 0 {
			t.Fatalf("forage %s: exit code %d, %s", strings.Join(args, " "), code, &msg)
		}
		return out.String()
	}
	if got := forage("check", "--repair", "--json"); got != want("check.json") { // it migrates, as whatever writes does
		t.Errorf("check: %s", got)
	}
	// What was told of each page is told still, but for its kind, which says more now.
	told := func(line string) map[string]any {
		m := map[string]any{}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		delete(m, "kind")
		return m
	}
	kept := func(now, before string) bool {
		m := told(now)
		for k, v := range told(before) {
			if got, ok := m[k]; !ok || !reflect.DeepEqual(got, v) {
				return false
			}
		}
		return true
	}
	byURL := func(text string) []string {
		all := strings.Split(strings.TrimSpace(text), "\n")
		slices.Sort(all)
		return all
	}
	now, then := byURL(forage("pages", "--json", "--duplicates", "--all-documents")), byURL(want("pages.jsonl"))
	if !slices.EqualFunc(now, then, kept) {
		t.Errorf("pages: %s", strings.Join(now, "\n"))
	}
	links := filepath.Join(t.TempDir(), "graph.tsv")
	forage("export", "graph", "-o", links)
	for _, suffix := range []string{"", ".urls"} {
		b, err := os.ReadFile(links + suffix)
		if err != nil || string(b) != want("graph.tsv"+suffix) {
			t.Errorf("export graph, graph.tsv%s: %s, %v", suffix, b, err)
		}
	}
	for line := range strings.Lines(want("explain.jsonl")) {
		var e report.Explanation
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if got := forage("explain", e.URL, "--json"); !kept(got, line) {
			t.Errorf("explain %s: %s, want %s", e.URL, got, line)
		}
	}
	// A cycle over several sites is told site by site now: the sums are the same, and duplicates a count of their own.
	var before, after report.Status
	if err := errors.Join(json.Unmarshal([]byte(want("status.json")), &before), json.Unmarshal([]byte(forage("status", "--json")), &after)); err != nil {
		t.Fatal(err)
	}
	if after.Sites != before.Sites || after.Pages+after.Duplicates != before.Pages || after.Queued != before.Queued || after.Cycles != before.Cycles {
		t.Errorf("status: %+v, want %+v", after, before)
	}
	for _, c := range before.ByCycle {
		sum := report.Cycle{Cycle: c.Cycle}
		ended := c.Ended
		for _, s := range after.ByCycle {
			if s.Cycle == c.Cycle {
				sum.Fetched, sum.Refetched, sum.NewPages = sum.Fetched+s.Fetched, sum.Refetched+s.Refetched, sum.NewPages+s.NewPages
				if s.Kind != c.Kind || orDash(s.At) != orDash(c.At) {
					t.Errorf("cycle %d: %+v, want %+v", c.Cycle, s, c)
				}
				if s.Ended == nil {
					ended = nil
				}
			}
		}
		if sum.Fetched != c.Fetched || sum.Refetched != c.Refetched || sum.NewPages != c.NewPages || orDash(ended) != orDash(c.Ended) {
			t.Errorf("cycle %d: %+v in all, ended %v, want %+v", c.Cycle, sum, ended, c)
		}
	}
}

// unpacked returns the folder store of an archive.
func unpacked(t *testing.T, archive string) string {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return filepath.Join(root, "store")
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, filepath.Clean("/"+h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			var b []byte
			if b, err = io.ReadAll(r); err == nil {
				err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b, 0o644))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
