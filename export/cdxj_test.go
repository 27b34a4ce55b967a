package export

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forage/archive"
	"forage/warc"
)

// folder reads a folder of WARC files that no store knows of.
func folder(dir string) *archive.Reader {
	r, err := archive.NewReader(dir, nil)
	if err != nil {
		panic(err)
	}
	return r
}

// anArchive writes WARC files of n captures each to a folder.
func anArchive(t testing.TB, dir string, names []string, n int) {
	t.Helper()
	random, rng := rand.NewChaCha8([32]byte{}), rand.New(rand.NewPCG(1, 4))
	for _, name := range names {
		var b bytes.Buffer
		w := warc.NewWriter(&b, random)
		if err := w.Info(filepath.Base(name), time.Unix(1e9, 0), nil); err != nil {
			t.Fatal(err)
		}
		for range n {
			body := fmt.Sprint(rng.IntN(1e6))
			c := &warc.Capture{
				URI: "http://example.org/" + body, Date: time.Unix(1e9+int64(rng.IntN(1e6)), 0), Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"),
				Body: strings.NewReader(body), Size: int64(len(body)), Request: []byte("GET / HTTP/1.1\r\n\r\n"),
			}
			var err error
			if c.Digest, err = w.Sum(c.Body, c.Size); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Capture(c); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCDXJ(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "all.cdxj")
	anArchive(t, dir, []string{"b.warc.gz", "a.warc.gz", "below/c.warc.gz"}, 20)
	read := func(want uint64) []string {
		t.Helper()
		var notes []string
		w, err := CDXJ(folder(dir), File(out), func(text string) { notes = append(notes, text) })
		if err != nil || w.Records != want {
			t.Fatalf("%d records, %v, want %d", w.Records, err, want)
		}
		b, err := os.ReadFile(out)
		if err != nil || int64(len(b)) != w.Bytes {
			t.Fatalf("%d bytes of %d, %v", len(b), w.Bytes, err)
		}
		all := strings.SplitAfter(strings.TrimSuffix(string(b), "\n"), "\n")
		if !slices.IsSorted(all) || uint64(len(all)) != want {
			t.Errorf("%d lines, sorted: %v", len(all), slices.IsSorted(all))
		}
		return notes
	}
	if notes := read(60); len(notes) > 0 {
		t.Errorf("notes: %q", notes)
	}
	// An index beside a file is taken for it, as long as the file is older.
	index := filepath.Join(dir, "below", "c.cdxj")
	if err := os.WriteFile(index, []byte("org,example)/2 20010909014640 {}\r\norg,example)/1 20010909014640 {}"), 0o666); err != nil {
		t.Fatal(err)
	}
	read(42)
	if err := os.Chtimes(index, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	read(60)
	// What is cut is told, and what comes before it is there.
	b, err := os.ReadFile(filepath.Join(dir, "a.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.warc.gz"), b[:len(b)-5], 0o666); err != nil {
		t.Fatal(err)
	}
	if notes := read(60); len(notes) != 1 || !strings.Contains(notes[0], "a.warc.gz: byte ") { // the last record is a request
		t.Errorf("notes: %q", notes)
	}
	if _, err := CDXJ(folder(t.TempDir()), File(out), nil); err == nil || !strings.Contains(err.Error(), "there is no WARC file") {
		t.Errorf("of a folder without: %v", err)
	}
}

// BenchmarkCDXJ merges the indexes of files that have one.
func BenchmarkCDXJ(b *testing.B) {
	dir := b.TempDir()
	rng := rand.New(rand.NewPCG(1, 5))
	const captures = 1_000_000
	for f := range 10 {
		var text bytes.Buffer
		for i := range captures / 10 {
			e := warc.Entry{
				Key: fmt.Sprintf("org,example)/%x", rng.Uint64()), Time: "20261123120000", URL: "http://example.org/x", MIME: "text/html", Status: "200",
				Digest: "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", Length: 3000, Offset: int64(i) * 3000, Filename: fmt.Sprint(f, ".warc.gz"),
			}
			text.Write(e.Append(nil))
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(f, ".warc.gz")), nil, 0o666); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(f, ".cdxj")), text.Bytes(), 0o666); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if w, err := CDXJ(folder(dir), File(filepath.Join(b.TempDir(), "all")), nil); err != nil || w.Records != captures {
			b.Fatal(w, err)
		}
	}
}
