package node

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"forage/crawl/scope"
	"forage/distributed/shards/checkpoint"
	"forage/distributed/shards/group"
	"forage/distributed/shards/group/grouptest"
	"forage/distributed/shards/lease"
	"forage/distributed/shards/topics"
	"forage/store"
	"forage/watch"
)

// TestAway has an owner end while no broker answers: the store, with what is not in the log, goes to whoever is next, who need not wait for its lease.
func TestAway(t *testing.T) {
	o, cluster := newOwner(t)
	o.node.Session = 2 * time.Second
	o.find(t)
	cluster.Close()
	err := o.handOver()
	o.crawl = nil
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "store")
	if _, _, err := checkpoint.RestoreLatest(t.Context(), o.node.place(0), dir); err != nil {
		t.Fatal(err)
	}
	if epoch, ended, err := latestEpoch(t.Context(), o.node.place(0)); epoch != 1 || !ended || err != nil {
		t.Errorf("epoch %d, ended %v, %v", epoch, ended, err)
	}
	db, err := store.Open(dir, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	n := 0
	if err := db.Outgoing(0, func(*store.Outgoing) bool { n++; return true }); err != nil || n != 1 {
		t.Errorf("%d URLs are to be handed on, %v", n, err)
	}
}

// TestUnmounted has an empty folder in the place of the checkpoints, as where they are mounted no more: nobody claims a partition there, or writes a checkpoint, and both
// go on when they are back.
func TestUnmounted(t *testing.T) {
	o, _ := newOwner(t)
	folder := string(o.node.bucket.(checkpoint.Folder))
	o.node.member = group.New(group.Config{Clock: sinceBoot, Terms: lease.Terms{Term: 1 << 40}})
	o.node.member.Lease(func(l *lease.Lease, now lease.Instant) { l.Joined(now, 1, []int32{0}) })
	if err := writeEnded(t.Context(), o.node.place(0), 1); err != nil {
		t.Fatal(err)
	}
	away := folder + "-away"
	if err := errors.Join(os.Rename(folder, away), os.Mkdir(folder, 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := o.save(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a checkpoint is written: %v", err)
	}
	log := o.tells()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	claimed := make(chan error, 1)
	go func() { claimed <- o.claim(ctx) }()
	grouptest.Await(t, "told", func() bool { return log.Count("the checkpoints cannot be read or written") > 0 || len(claimed) > 0 })
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v are in a folder that is not that of the checkpoints", entries, err)
	}
	if err := errors.Join(os.RemoveAll(folder), os.Rename(away, folder)); err != nil {
		t.Fatal(err)
	}
	if err := <-claimed; err != nil || o.epoch != 2 {
		t.Errorf("epoch %d is claimed, %v; want 2", o.epoch, err)
	}
}

// TestGone has the store of a partition be gone from the disk, and not the record that it is there: that of the checkpoint is taken.
func TestGone(t *testing.T) {
	o, _ := newOwner(t)
	o.node.Dir = t.TempDir()
	o.find(t)
	if err := o.save(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.lineage(), []byte(`{"epoch":1}`), 0o644); err != nil {
		t.Fatal(err)
	}
	next := &owner{node: o.node, epoch: 2, log: o.log}
	if others, err := next.prepare(t.Context()); !others || err != nil {
		t.Errorf("restored: %v, %v", others, err)
	}
	if _, err := os.Stat(next.dir()); err != nil {
		t.Error(err)
	}
}

// TestWritten has sites whose URLs are not written in normal form, in the configuration and in settings: each is watched in the partition that its host belongs to.
func TestWritten(t *testing.T) {
	o, _ := newOwner(t)
	o.node.Dir = t.TempDir()
	o.node.Crawl.Fetch.UserAgent = "test"
	var urls []string
	var sites []map[string]string
	for _, host := range []string{"A.test", "B.test", "bücher.test", "bäcker.test", "127.1", "127.2"} {
		urls = append(urls, "https://"+host)
		sites = append(sites, map[string]string{"url": "https://" + host})
	}
	config, err := json.Marshal(map[string]any{"sites": sites[1:]})
	if err != nil {
		t.Fatal(err)
	}
	if o.node.Watch, err = watch.Parse("forage.yaml", config, func(string) (string, bool) { return "", false }); err != nil {
		t.Fatal(err)
	}
	watched := 0
	for p := range o.node.Partitions {
		one := &owner{node: o.node, p: p, epoch: 1, log: o.log}
		if err := one.tryOpen(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := one.watch(t.Context(), &topics.URL{URL: urls[0], Seed: true}); err != nil {
			t.Error(err)
		}
		for _, s := range one.service.Sites() {
			watched++
			if url, err := scope.Normalise(s.URL, nil); err != nil || one.crawl.Elsewhere(store.HostOf(url)) {
				t.Errorf("%s is watched in partition %d, and its host belongs elsewhere", s.URL, p)
			}
		}
		if err := one.crawl.Close(); err != nil {
			t.Error(err)
		}
	}
	if watched != len(urls) {
		t.Errorf("%d sites are watched, want %d", watched, len(urls))
	}
}
