//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"forage/internal/disktest"
)

// A pagesOf site has n pages, each of which links to those after it. It can be kept from answering.
type pagesOf struct {
	n        int
	mu       sync.Mutex
	requests map[string]int
	gate     sync.RWMutex  // locked: no page is answered
	answered chan struct{} // gets one an answer
}

func (s *pagesOf) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	at, err := strconv.Atoi(r.URL.Path[1:]) // all of it: what looks for soft 404s may begin with digits
	if err != nil && r.URL.Path != "/" {
		http.NotFound(rw, r)
		return
	}
	s.gate.RLock()
	defer s.gate.RUnlock()
	s.mu.Lock()
	s.requests[r.URL.Path]++
	s.mu.Unlock()
	rw.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(rw, "<title>%d</title>", at)
	for i := range 30 {
		if to := at*10 + i + 1; to < s.n {
			fmt.Fprintf(rw, `<a href="/%d">page %d of %x</a> `, to, to, to*to)
		}
	}
	select {
	case s.answered <- struct{}{}:
	default:
	}
}

// said waits for a line with text.
func said(t *testing.T, lines *bufio.Scanner, text string) {
	t.Helper()
	var all []string
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return
		}
		all = append(all, lines.Text())
	}
	t.Fatalf("it ended without %q; it said %q", text, all)
}

// TestFullDisk fills the disk beside a crawl, which waits and says so, goes on when there is room,
// ends on SIGTERM with its state saved, and does not begin on a full disk.
func TestFullDisk(t *testing.T) {
	disk := disktest.New(t, 64<<20)
	site := &pagesOf{n: 4000, requests: map[string]int{}, answered: make(chan struct{}, 1)}
	srv := httptest.NewServer(site)
	defer srv.Close()
	dir := filepath.Join(disk.Dir, "store")
	crawl := strings.Fields("crawl " + srv.URL + " --delay 0 --allow-private 127.0.0.0/8 --parallel 8 --dir " + dir)
	forage := func(args ...string) (string, int) {
		var text bytes.Buffer
		code := run(context.Background(), &text, &text, args)
		return text.String(), code
	}
	cmd := exec.Command("forage", crawl...)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(pipe)
	for round := range 2 {
		for range 100 {
			<-site.answered
		}
		site.gate.Lock()
		disk.Fill(t, 0)
		site.gate.Unlock()
		said(t, lines, "no space left on "+dir)
		if text, code := forage("status", "--dir", dir); code != 0 || !strings.Contains(text, "a crawl is running and waits: no space left on "+dir) {
			t.Errorf("status of a crawl that waits: exit %d: %s", code, text)
		}
		if round == 0 {
			disk.Empty(t)
			said(t, lines, "there is room again")
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	said(t, lines, "interrupted; the same command goes on where it was")
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitInterrupted {
		t.Fatalf("after SIGTERM it ends with %v", err)
	}
	for _, c := range []string{"status", "pages", "check"} {
		if text, code := forage(c, "--dir", dir); code != 0 {
			t.Errorf("%s on a full disk: exit %d: %s", c, code, text)
		}
	}
	if text, code := forage(crawl...); code != exitFailed || !strings.Contains(text, "no space left on "+dir) {
		t.Errorf("a crawl on a full disk: exit %d: %s", code, text)
	}
	disk.Empty(t)
	if text, code := forage(crawl...); code != 0 || !strings.Contains(text, fmt.Sprintf("%d pages found", site.n)) {
		t.Errorf("with room again: exit %d: %s", code, text)
	}
	again := 0
	for _, n := range site.requests {
		again += n - 1
	}
	if again > 8 {
		t.Errorf("%d pages were fetched again: more than were under way when it was interrupted", again)
	}
	if text, code := forage("check", "--dir", dir); code != 0 {
		t.Errorf("check: exit %d: %s", code, text)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("the folder holds %v, %v; want the database and the lock", left, err)
	}
}

// TestWatchFullDisk fills the disk beside a watch: it pauses, says so wherever somebody looks, is backed up meanwhile, and
// goes on by itself when there is room.
func TestWatchFullDisk(t *testing.T) {
	disk := disktest.New(t, 64<<20)
	site := &pagesOf{n: 3000, requests: map[string]int{}, answered: make(chan struct{}, 1)}
	srv := httptest.NewServer(site)
	defer srv.Close()
	dir, file := filepath.Join(disk.Dir, "store"), filepath.Join(t.TempDir(), "forage.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "listen: 127.0.0.1:0\nsites: [{url: %s/, every: 24h, budget: 10}]\n", srv.URL), 0o666); err != nil {
		t.Fatal(err)
	}
	forage := func(args ...string) {
		t.Helper()
		var text bytes.Buffer
		if code := run(context.Background(), &text, &text, args); code != 0 {
			t.Errorf("%s: exit %d: %s", args, code, &text)
		}
	}
	w := startWatch(t, "--config", file, "--dir", dir, "--delay", "0", "--allow-private", "127.0.0.0/8", "--parallel", "8")
	ask := func(path string, status int, want string) {
		t.Helper()
		res, err := http.Get(w.base + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != status || !strings.Contains(string(text), want) {
			t.Errorf("%s: %d, %v, want %d and %q: %s", path, res.StatusCode, err, status, want, text)
		}
	}
	for range 100 {
		<-site.answered
	}
	site.gate.Lock()
	disk.Fill(t, 0)
	site.gate.Unlock()
	w.says(t, "forage: paused")
	why := "no space left on " + dir
	ask("/readyz", http.StatusServiceUnavailable, why)
	ask("/", http.StatusOK, why)
	ask("/api/v1/status", http.StatusOK, why)
	ask("/api/v1/events?type=watch.paused", http.StatusOK, why)
	res, err := http.PostForm(w.base+"/add", url.Values{"url": {"http://127.0.0.1:1/"}})
	if err != nil {
		t.Fatal(err)
	}
	if res.Body.Close(); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("a look at a site: %d, Retry-After %q", res.StatusCode, res.Header.Get("Retry-After"))
	}
	copied := filepath.Join(t.TempDir(), "copy")
	forage("backup", "--dir", dir, "-o", copied)
	forage("check", "--dir", copied)
	disk.Empty(t)
	w.says(t, "forage: goes on")
	ask("/readyz", http.StatusOK, "")
	ask("/api/v1/events?type=site.ready&wait=30s", http.StatusOK, "site.ready")
	ask("/api/v1/sites", http.StatusOK, fmt.Sprintf(`"pages":%d`, site.n))
	if err := w.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := w.Wait(); err != nil {
		t.Errorf("after SIGTERM it ends with %v", err)
	}
	forage("check", "--dir", dir)
}
