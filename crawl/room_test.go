package crawl

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"forage/store"
)

// A smallDisk is a file system in memory that tells how much room it has.
type smallDisk struct {
	vfs.FS
	free atomic.Uint64
}

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free.Load(), TotalBytes: 1 << 30}, nil
}

// TestFullDiskWaits: while its disk is full a crawl asks for nothing, for hours; it goes on by
// itself when there is room, and can be interrupted meanwhile, with everything saved.
func TestFullDiskWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		w.tree("/", 40)
		disk := &smallDisk{FS: vfs.NewMem()}
		disk.free.Store(1 << 30)
		db, err := store.Open("crawl", store.Options{FS: disk, WaitForRoom: true})
		if err != nil {
			t.Fatal(err)
		}
		cfg := local("crawl")
		cfg.Delay = time.Second
		if cfg.Loop, err = NewLoop(cfg); err != nil {
			t.Fatal(err)
		}
		c := newCrawl(cfg, db)
		var log bytes.Buffer
		opt := Options{Log: slog.New(slog.NewTextHandler(&log, nil))}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := begin(func() (*Result, error) { return c.Run(ctx, w.seed("/", store.Rules{}), opt) })
		full := func() int {
			t.Helper()
			disk.free.Store(0)
			time.Sleep(2 * time.Second) // of the bubble: what is under way is answered
			n := w.total()
			time.Sleep(3 * time.Hour)
			if got := w.total(); !under(done) || got != n {
				t.Errorf("it asked for %d more while the disk was full", got-n)
			}
			if err := c.Full(); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(log.String(), "no space left on crawl") {
				t.Errorf("it waits for %v and says %s", err, &log)
			}
			log.Reset()
			return n
		}
		time.Sleep(10 * time.Second)
		if n := full(); n < 5 || n > 15 {
			t.Errorf("%d requests in 12 s", n)
		}
		disk.free.Store(1 << 30)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if c.Full() != nil || !strings.Contains(log.String(), "there is room again") {
			t.Errorf("there is room again: it waits for %v and says %s", c.Full(), &log)
		}
		if n := full(); n < 12 || n > 30 {
			t.Errorf("%d requests in 24 s", n)
		}
		cancel()
		r := good(t, done)
		if !r.Interrupted || c.Full() == nil {
			t.Errorf("interrupted while it waits: %+v", r)
		}
		for _, free := range []uint64{1 << 30, 0} { // without a run
			disk.free.Store(free)
			time.Sleep(fullInterval)
			c.LookForRoom()
			synctest.Wait()
			if (c.Full() == nil) != (free > 0) {
				t.Errorf("%d bytes are free: it waits for %v", free, c.Full())
			}
		}
		fetched := r.Fetched
		done = begin(func() (*Result, error) { return c.Run(t.Context(), w.seed("/", store.Rules{}), opt) })
		if !under(done) || !strings.Contains(log.String(), "no space left on crawl") {
			t.Errorf("a run that begins on a full disk says %s", &log)
		}
		disk.free.Store(1 << 30)
		if r := good(t, done); r.Interrupted || r.Known != 41 || r.Fetched < fetched || w.count("/0") != 1 {
			t.Errorf("gone on after %d: %+v", fetched, r)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
