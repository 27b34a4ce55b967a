//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
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
