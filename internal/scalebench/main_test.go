package main

import (
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestMeasure: what is told of a process is its own.
func TestMeasure(t *testing.T) {
	if os.Getenv("SCALEBENCH_CHILD") != "" {
		held := make([]byte, 100<<20)
		for i := range held {
			held[i] = byte(i)
		}
		if held[12345] == 0 {
			t.Fatal("never")
		}
		io.ReadAll(os.Stdin)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestMeasure$")
	cmd.Env = append(os.Environ(), "SCALEBENCH_CHILD=1")
	u, err := measure(cmd)
	if err != nil || u.memory < 100<<20 || u.memory > 1<<30 || u.cpu <= 0 {
		t.Errorf("%+v, %v, want 100 MiB and some CPU time", u, err)
	}
	if _, err := measure(exec.Command(os.Args[0], "-there-is-no-such-flag")); err == nil || !strings.Contains(err.Error(), "there-is-no-such-flag") {
		t.Errorf("a process that fails: %v", err)
	}
	if resident(0) != 0 {
		t.Error("there is a process 0")
	}
}

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
