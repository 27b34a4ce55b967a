package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"forage/replay"
	"forage/snap"
	"forage/watch"
)

// A watching process is a forage watch, with its address.
type watching struct {
	*exec.Cmd
	base   string
	stderr chan string // its lines; closed when it has ended
}

// startWatch starts forage watch, and returns when it listens.
func startWatch(t *testing.T, args ...string) *watching {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &watching{Cmd: exec.Command(self), stderr: make(chan string, 1<<16)}
	w.Args = append([]string{"forage", "watch"}, args...)
	r, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	w.Stderr = stderr
	out, err := w.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Start(), stderr.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Process.Kill(); w.Wait() })
	go func() {
		defer close(w.stderr)
		defer r.Close()
		for in := bufio.NewScanner(r); in.Scan(); {
			w.stderr <- in.Text()
		}
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "http://127.0.0.1:") {
		t.Fatalf("its first line is %q, %v", line, err)
	}
	w.base = strings.TrimSpace(line)
	return w
}

// says waits for a line on stderr.
func (w *watching) says(t *testing.T, text string) {
	t.Helper()
	for line := range w.stderr {
		if strings.Contains(line, text) {
			return
		}
	}
	t.Fatalf("it ended before it said %q", text)
}

// rest is what it still says until it ends: what the race detector found, for one.
func (w *watching) rest() string {
	var all []string
	for line := range w.stderr {
		all = append(all, line)
	}
	return strings.Join(all, "\n")
}

// TestWatch watches an evolving site, is killed again and again, told to read its file again, and ended: what it
// tells is each new page once, without a gap.
func TestWatch(t *testing.T) {
	s, err := replay.New(snap.Blog(rand.New(rand.NewPCG(1, 0)), 6), 0, false)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	defer srv.Close()
	dir := t.TempDir()
	data, file := filepath.Join(dir, "store"), filepath.Join(dir, "forage.yaml")
	config := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	good := fmt.Sprintf("listen: 127.0.0.1:0\nsites:\n  - {url: %s/, every: 1s, budget: 1000, period: 1, max-new: 0}\n", srv.URL)
	config(good)
	args := []string{"--config", file, "--dir", data, "--delay", "0", "--allow-private", "127.0.0.0/8"}
	w := startWatch(t, args...)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out, errs := &lines{to: make(chan string, 1<<16)}, &strings.Builder{}
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, out, errs, []string{"events", "--follow", "--dir", data}) }()
	defer func() { cancel(); <-ended }()
	type told struct {
		Seq       uint64
		Type, URL string
	}
	next, news := uint64(1), map[string]bool{}
	event := func() (e told) {
		t.Helper()
		select {
		case line := <-out.to:
			if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq != next {
				t.Fatalf("event %d is %s, %v", next, line, err)
			}
		case code := <-ended:
			t.Fatalf("following ended with %d: %s", code, errs)
		}
		next++
		if e.Type == "page.new" {
			if news[e.URL] {
				t.Errorf("%s is new twice", e.URL)
			}
			news[e.URL] = true
		}
		return e
	}
	for event().Type != "site.ready" {
	}
	if len(news) > 0 {
		t.Errorf("the first visit told %v", news)
	}
	for week := 1; week < 5; week++ {
		was := len(news)
		if err := s.Switch(week); err != nil {
			t.Fatal(err)
		}
		if week%2 == 0 {
			if err := w.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			w.Wait()
			w = startWatch(t, args...)
		}
		for len(news) == was {
			event()
		}
	}

	// The API has what the command has.
	resp, err := http.Get(w.base + "/api/v1/events?after=0&limit=1")
	if err != nil {
		t.Fatal(err)
	}
	var page struct{ Events []told }
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil || len(page.Events) != 1 || page.Events[0].Type != "site.ready" {
		t.Errorf("the API tells %+v, %v", page, err)
	}
	resp.Body.Close()

	config(good + "  - {budgte: 1}\n")
	if err := w.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	w.says(t, "forage.yaml:4:6: budgte: unknown key (did you mean budget?)")
	w.says(t, "the configuration is as it was")
	config(strings.Replace(good, "every: 1s", "every: 1h", 1))
	if err := w.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	w.says(t, "the configuration was read again")

	// Where there are no signals the API has the file read again.
	call := func(method, path string, want int) string {
		t.Helper()
		r, err := http.NewRequest(method, w.base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != want {
			t.Errorf("%s %s: %d %s, %v, want %d", method, path, resp.StatusCode, b, err, want)
		}
		return string(b)
	}
	config(good + "  - {budgte: 1}\n")
	if text := call("POST", "/api/v1/reload", 422); !strings.Contains(text, "forage.yaml:4:6: budgte: unknown key (did you mean budget?)") {
		t.Errorf("a reload of a wrong file says %s", text)
	}
	w.says(t, "the configuration is as it was")
	config(strings.Replace(good, "every: 1s", "every: 1h", 1))
	if text := call("POST", "/api/v1/reload", 200); !strings.Contains(text, `"sites":1`) {
		t.Errorf("a reload says %s", text)
	}
	w.says(t, "the configuration was read again")
	call("GET", "/api/v1/hosts", 200)

	// Another process does not get the store, steers, and adds a site that outlives the service.
	forage := func(want int, args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		if code := run(context.Background(), &out, &errs, args); code != want {
			t.Errorf("%q: exit %d, want %d: %s", args, code, want, errs.String())
		}
		return out.String() + errs.String()
	}
	if text := forage(exitFailed, append([]string{"watch"}, args...)...); !strings.Contains(text, "in use by process") {
		t.Errorf("a second service says %q", text)
	}
	forage(0, "pause", "--dir", data)
	for event().Type != "watch.paused" {
	}
	forage(0, "add", "http://localhost:1/", "--dir", data) // blocked by the address guard: it fails
	forage(exitUsage, "add", srv.URL+"/", "--dir", data)
	forage(0, "resume", "--dir", data)
	for event().Type != "watch.resumed" {
	}
	if err := w.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := w.Wait(); err != nil {
		t.Errorf("it ended with %v: %s", err, w.rest())
	}
	w = startWatch(t, args...)
	if text := forage(0, "status", "--dir", data); !strings.Contains(text, "is running") {
		t.Errorf("status beside it says %q", text)
	}
	if err := w.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := w.Wait(); err != nil {
		t.Errorf("it ended with %v: %s", err, w.rest())
	}
	forage(0, "check", "--dir", data)
}

// TestWatchFetches: what forage.yaml says of fetching reaches those who fetch, and flags go before it.
func TestWatchFetches(t *testing.T) {
	c, err := watch.Parse("forage.yaml", []byte("limits: {bandwidth: 2MiB/s}\ndefaults: {parallel: 7, timeout: 5s}\nsites: [{url: https://blog.example/}]\n"), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		args     []string
		parallel int
	}{{nil, 7}, {[]string{"--parallel", "9"}, 9}} {
		w := watchFlags{delay: -1}
		cmd := &cobra.Command{}
		w.ff.add(cmd)
		if err := cmd.ParseFlags(of.args); err != nil {
			t.Fatal(err)
		}
		cfg, err := w.config(cmd, c)
		if err != nil {
			t.Fatal(err)
		}
		if f := cfg.Fetch; f.Bandwidth != 2<<20 || f.Parallel != of.parallel && cfg.Parallel != of.parallel || f.Timeout != 5*time.Second {
			t.Errorf("%v: bandwidth %d, parallel %d, timeout %s", of.args, f.Bandwidth, cfg.Parallel, f.Timeout)
		}
	}
}
