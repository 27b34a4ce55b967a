package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"forage/internal/race"
)

// mostMemory is what a crawl takes at most, in MiB, whatever servers answer.
const mostMemory = 400

// TestHostileMemory crawls sites whose pages are made to take memory, many of them at a time, each in a
// process of its own, and one ordinary page beside them, which has to come whole and lead on.
func TestHostileMemory(t *testing.T) {
	if runtime.GOOS != "linux" || race.Enabled {
		t.Skip("reads the peak of a process's memory as Linux counts it, without the race detector's own")
	}
	const long = 1900
	anchors := func(w io.Writer, n int, href string) {
		for i := range n {
			fmt.Fprintf(w, "<a href=\"%s%d\">x</a>\n", href, i)
		}
	}
	packed := map[string][]byte{}
	for _, coding := range []string{"gzip", "gzip, gzip", "br", "zstd"} {
		packed[coding] = bomb(t, coding, repeated("<p>x "), 20<<20)
	}
	window := bomb(t, "br", repeated("<!--"+strings.Repeat(" ", 1<<16)), 20<<20) // quick to read
	for _, c := range []struct {
		name            string
		pages, parallel int
		total           int // answers after which it is enough; 0: all
		page            func(w http.ResponseWriter, i int)
	}{
		{"base", 4, 16, 7, func(w http.ResponseWriter, i int) {
			fmt.Fprintf(w, "<base href=\"/%s/\">", strings.Repeat("b", 8000))
			anchors(w, 15_000, fmt.Sprint("a", i, "x"))
		}},
		{"short base", 8, 16, 11, func(w http.ResponseWriter, i int) {
			fmt.Fprintf(w, "<base href=\"/%s/\">", strings.Repeat("b", long))
			anchors(w, 20_000, fmt.Sprint("a", i, "x"))
		}},
		{"long URLs", 12, 64, 15, func(w http.ResponseWriter, i int) {
			anchors(w, 2000, fmt.Sprint("/", strings.Repeat("b", long), i, "x"))
		}},
		{"new links", 10, 64, 13, func(w http.ResponseWriter, i int) { anchors(w, 50_000, fmt.Sprint("/", i, "x")) }},
		{"bombs", 32, 64, 0, func(w http.ResponseWriter, i int) {
			coding := []string{"gzip", "gzip, gzip", "br", "zstd"}[i%4]
			w.Header().Set("Content-Encoding", coding)
			w.Write(packed[coding])
		}},
		{"windows", 64, 64, 0, func(w http.ResponseWriter, i int) {
			w.Header().Set("Content-Encoding", "br")
			w.Write(window)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			const paragraph = "<p>an ordinary page of some length</p>"
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				i, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/page"))
				switch {
				case r.URL.Path == "/":
					fmt.Fprint(w, "<title>home</title><a href=/ordinary>o</a>")
					anchors(w, c.pages, "/page")
				case r.URL.Path == "/ordinary":
					fmt.Fprint(w, "<title>o</title><a href=/behind>b</a>", strings.Repeat(paragraph, 5000))
				case r.URL.Path == "/behind":
					fmt.Fprint(w, "<title>b</title>", strings.Repeat(paragraph, 10))
				case err == nil && i < c.pages:
					c.page(w, i)
				default:
					http.NotFound(w, r)
				}
			}))
			defer s.Close()
			dir := filepath.Join(t.TempDir(), "store")
			cmd := exec.Command("forage", "crawl", "--dir", dir, "--delay", "0", "--allow-private", "127.0.0.0/8", "--json", "--max-body", "4MiB",
				"--parallel", fmt.Sprint(c.parallel), "--max-total", fmt.Sprint(c.total), s.URL+"/")
			cmd.Env = append(os.Environ(), "FORAGE_TEST_PEAK="+dir+".status")
			var stderr strings.Builder
			cmd.Stderr = &stderr
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v: %s", err, stderr.String())
			}
			status, err := os.ReadFile(dir + ".status")
			if err != nil {
				t.Fatal(err)
			}
			_, after, _ := strings.Cut(string(status), "VmHWM:")
			peak := 0 // KiB
			if _, err := fmt.Sscan(after, &peak); err != nil || peak>>10 > mostMemory {
				t.Errorf("took %d MiB, at most %d are right (%v)", peak>>10, mostMemory, err)
			} else {
				t.Logf("took %d MiB", peak>>10)
			}
			var e struct{ State, Reason string }
			out, _ := forage(t, 0, "explain", "--dir", dir, "--json", s.URL+"/ordinary")
			if err := json.Unmarshal([]byte(out), &e); err != nil {
				t.Fatal(err)
			}
			if e.State != "fetched" || strings.Contains(e.Reason, "cut") {
				t.Errorf("the ordinary page: %s, %s", e.State, e.Reason)
			}
		})
	}
}

// copyStatus writes what Linux tells of this process into a file. What it tells of a child that has
// ended begins with the memory of its parent.
func copyStatus(name string) error {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	return os.WriteFile(name, b, 0o644)
}

// bomb packs size bytes of a page as the codings say, with the largest windows that are allowed.
func bomb(t *testing.T, codings string, page repeated, size int) []byte {
	t.Helper()
	var r io.Reader = io.LimitReader(page, int64(size))
	for coding := range strings.SplitSeq(codings, ", ") {
		var b bytes.Buffer
		var w io.WriteCloser
		switch coding {
		case "gzip":
			w = gzip.NewWriter(&b)
		case "br":
			w = brotli.NewWriterOptions(&b, brotli.WriterOptions{Quality: 2, LGWin: 24})
		case "zstd":
			var err error
			if w, err = zstd.NewWriter(&b, zstd.WithWindowSize(8<<20)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.Copy(w, r); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r = bytes.NewReader(b.Bytes())
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// repeated is a page without end.
type repeated string

func (r repeated) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], r)
	}
	return n, nil
}
