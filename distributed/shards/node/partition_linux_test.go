package node

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"forage/distributed/shards/group"
	"forage/distributed/shards/group/grouptest"
	"forage/distributed/shards/lease"
	"forage/distributed/shards/topics"
)

// TestNoRoom gives a partition to a process whose disk is full: it waits, and begins when there is room.
func TestNoRoom(t *testing.T) {
	o, _ := newOwner(t)
	if err := o.crawl.Close(); err != nil {
		t.Fatal(err)
	}
	o.crawl = nil
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("no disk of its own can be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	ballast, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 4<<10)
	for err == nil {
		_, err = ballast.Write(block)
	}
	if err := ballast.Close(); err != nil {
		t.Fatal(err)
	}
	n := o.node
	if err := writeEnded(t.Context(), n.place(0), 1); err != nil {
		t.Fatal(err)
	}
	n.Dir, n.Interval, n.Crawl.Fetch.UserAgent = dir, time.Hour, "test"
	n.member = group.New(group.Config{Clock: sinceBoot, Terms: lease.Terms{Term: 1 << 40}})
	n.member.Lease(func(l *lease.Lease, now lease.Instant) { l.Joined(now, 1, []int32{0}) })
	fresh := &owner{node: n, log: slog.New(slog.DiscardHandler)}
	log := fresh.tells()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- fresh.own(ctx) }()
	grouptest.Await(t, "told", func() bool { return log.Count("no room on the disk") == 1 || len(ended) > 0 })
	if err := os.Remove(ballast.Name()); err != nil {
		t.Fatal(err)
	}
	grouptest.Await(t, "begun", func() bool {
		said, err := topics.Statuses(t.Context(), n.client, n.topics, 2)
		return err == nil && said[0] != nil && said[0].State == "crawls" || len(ended) > 0
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
