package main

import (
	"strings"
	"testing"
	"time"

	"forage/crawl"
)

// TestOverwrite: on a terminal one line says how far a crawl is, no wider than that, and nothing of it is left.
func TestOverwrite(t *testing.T) {
	var out strings.Builder
	width := 40
	show, stop := overwrite(&out, func() int { return width })
	for i, p := range []crawl.Progress{{Pages: 1, Elapsed: time.Second}, {Pages: 2, Elapsed: 1050 * time.Millisecond}, {Pages: 3, Elapsed: 2 * time.Second}} {
		if i == 2 {
			width = 11
		}
		show(p)
	}
	stop()
	lines := strings.Split(out.String(), "\r")
	if len(lines) != 5 || lines[0] != "" || lines[4] != "" || strings.Contains(out.String(), "\n") {
		t.Fatalf("%q", lines)
	}
	if !strings.HasPrefix(lines[1], "1 pages, ") || len(lines[1]) != 39 || lines[2] != "3 pages, 0"+strings.Repeat(" ", 29) || lines[3] != strings.Repeat(" ", 10) {
		t.Errorf("%q", lines)
	}
	out.Reset()
	if _, stop = overwrite(&out, nil); out.Len() > 0 {
		t.Error("something is shown before the crawl has begun")
	}
	if stop(); out.Len() > 0 {
		t.Errorf("nothing was shown, and %q is", out.String())
	}
}
