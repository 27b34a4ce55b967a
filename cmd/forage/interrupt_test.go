package main

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"forage/graph/arcs"
	"forage/graph/bv"
	"forage/graph/gen"
	"forage/replay"
	"forage/snap"
)

// TestInterrupt presses Ctrl-C while a server holds an answer back: once, which saves and exits
// 130 within a second, and twice, which may end the process at once. Nothing is lost either way:
// the same command gets the whole site.
func TestInterrupt(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, presses := range []int{1, 2} {
		site, err := replay.New(snap.Blog(rand.New(rand.NewPCG(1, 0)), 2), 0, false)
		if err != nil {
			t.Fatal(err)
		}
		stuck, free := make(chan bool, 100), make(chan bool)
		var served atomic.Int64
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-free:
			default:
				if served.Add(1) > 20 {
					stuck <- true
					select {
					case <-free:
					case <-r.Context().Done():
					}
				}
			}
			site.ServeHTTP(w, r)
		}))
		defer web.Close()
		dir := t.TempDir()
		forage := func(args ...string) (*exec.Cmd, *bytes.Buffer) {
			cmd := exec.Command(self, append(args, "--dir", dir)...)
			cmd.Args[0] = "forage"
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			return cmd, &out
		}
		crawl := []string{"crawl", "--delay", "0", "--parallel", "1", "--allow-private", "127.0.0.0/8", web.URL + "/"}
		cmd, out := forage(crawl...)
		<-stuck
		pressed := time.Now()
		for range presses {
			cmd.Process.Signal(os.Interrupt)
		}
		cmd.Wait()
		if took := time.Since(pressed); took > 20*time.Second { // 1 s on a machine that is free; the answer would be waited for for 30
			t.Errorf("%d times Ctrl-C: ended after %v", presses, took)
		}
		// -1: the signal ended it, which shells show as 130 too.
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted && !(presses == 2 && code == -1) {
			t.Errorf("%d times Ctrl-C: exit code %d, output %s", presses, code, out)
		}
		close(free)
		before := site.Counts().Documents
		cmd, out = forage(crawl...)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the same command again: %v, %s", err, out)
		}
		if !strings.Contains(out.String(), "226 known") {
			t.Errorf("the same command again: %s", out)
		}
		if again := site.Counts().Documents - before; again > 235 {
			t.Errorf("%d documents fetched after the interruption", again)
		}
		cmd, out = forage("check")
		if err := cmd.Wait(); err != nil {
			t.Errorf("check: %v, %s", err, out)
		}
	}
}

// TestInterruptedCover: a cover that is interrupted while it reads a graph or a set file says
// so, exits 130 and leaves no list.
func TestInterruptedCover(t *testing.T) {
	dir := t.TempDir()
	g, err := gen.Weblike(3000, 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	web, out := filepath.Join(dir, "web.graph"), filepath.Join(dir, "out")
	if _, err := bv.Write(filepath.Join(dir, "web"), g, bv.Config{}); err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "web.adj")
	if err := arcs.WriteFile(list, g, arcs.Adjacency); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, args := range []string{"--memory 10", "", "--algorithm greedy", "--memory 10 --threads 1"} {
		for _, path := range []string{web, list} {
			var stdout, stderr bytes.Buffer
			code := run(ctx, &stdout, &stderr, append([]string{"cover", path, "-o", out}, strings.Fields(args)...))
			if code != exitInterrupted || stderr.String() != "forage: interrupted\n" || stdout.Len() > 0 {
				t.Errorf("%s %s: exit code %d, %q, %q", path, args, code, stdout.String(), stderr.String())
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*out*")); len(left) > 0 {
				t.Errorf("%s %s left %v", path, args, left)
			}
		}
	}
}
