//go:build unix

package crawl

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"forage/archive"
	"forage/crawl/scope"
	"forage/internal/disktest"
)

// TestArchiveFull: while the disk of the archive is full the crawl waits; what was answered meanwhile is asked for again, and the archive
// stays whole.
func TestArchiveFull(t *testing.T) {
	t.Parallel()
	disk := disktest.New(t, 64<<20)
	ballast, filled := filepath.Join(disk.Dir, "ballast"), make(chan bool)
	fill := sync.OnceFunc(func() {
		f, err := os.Create(ballast)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		for size := 1 << 20; size > 0; size /= 2 {
			for err = error(nil); err == nil; {
				_, err = f.Write(make([]byte, size))
			}
		}
		close(filled)
	})
	noise := make([]byte, 200<<10)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil && r.URL.Path != "/" || n > 99 {
			http.NotFound(w, r)
			return
		}
		if n == 10 {
			fill()
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<a href=/%d>next</a><a href=/%d>and another</a>", 2*n+1, 2*n+2)
		page := slices.Clone(noise)
		chance := rand.NewChaCha8([32]byte{byte(n)})
		chance.Read(page)
		for i := range page {
			page[i] = page[i]&0x3f + '@'
		}
		w.Write(page)
	}))
	defer web.Close()
	dir := t.TempDir()
	cfg := loopback(filepath.Join(dir, "store"))
	cfg.Archive = &Archive{Folder: filepath.Join(disk.Dir, "warc"), Dedupe: archive.All}
	c, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var res *Result
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		var err error
		res, err = c.Run(ctx, []scope.Seed{{URL: web.URL + "/"}}, Options{})
		done <- err
	}()
	<-filled
	for c.Full() == nil {
		select {
		case err := <-done:
			t.Fatalf("it was not full: %+v, %v", res, err)
		case <-time.After(time.Millisecond):
		}
	}
	if err := c.Full(); !strings.Contains(err.Error(), disk.Dir) {
		t.Errorf("it says %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || res.Interrupted || res.Fetched < 100 {
		t.Fatalf("%+v, %v", res, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	all, files, _ := archivedIn(t, cfg.Archive.Folder)
	validate(t, files)
	got := map[string]int{}
	for _, a := range all {
		got[a.path]++
	}
	for n := range 100 {
		path := fmt.Sprint("/", n)
		if n == 0 {
			path = "/"
		}
		if got[path] != 1 {
			t.Errorf("%s is there %d times", path, got[path])
		}
	}
}
