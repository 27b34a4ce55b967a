package main

import (
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestFound reads what crawlbench prints.
func TestFound(t *testing.T) {
	const text = `                  pages   wall s    CPU s  pages/CPU s       MB
bare loop         50000     5.00     9.18         5449       30
forage crawl      50000     6.00     9.12         5483      124
ratio 1.01 (0.98 to 1.03 in 5 runs); memory 4.10; 0 pages fetched more than once
first request after          1.25 s
span that delays need        120.00 s, ratio 1.073
CPU of the crawler           3.20 s, 410 µs a request
memory                       88 MB
`
	for pattern, want := range map[string]float64{ratioOf: 1.01, memoryOf: 124, firstOf: 1.25, spanOf: 1.073, cpuOf: 3.2, residOf: 88} {
		if got := found(text, pattern); got != want {
			t.Errorf("found(%s) = %v, want %v", pattern, got, want)
		}
		if got := found("", pattern); !math.IsNaN(got) {
			t.Errorf("found(%s) of nothing = %v", pattern, got)
		}
	}
}

// TestOnly: a row that is not there is refused before anything is built.
func TestOnly(t *testing.T) {
	if err := new(bench).run("nothing"); err == nil || !strings.Contains(err.Error(), "hosts-100k") {
		t.Errorf("-only nothing: %v", err)
	}
}

// TestRelay: what goes through arrives, and the first connection is noted.
func TestRelay(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "page "+r.URL.Path) }))
	defer s.Close()
	url, first, err := relay(s.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	if first.Load() != 0 {
		t.Error("a connection before there was one")
	}
	resp, err := http.Get(url + "a")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "page /a" || first.Load() == 0 {
		t.Errorf("%q, %v, first at %d", body, err, first.Load())
	}
}
