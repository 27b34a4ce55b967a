package node

import (
	"path/filepath"
	"testing"
	"time"

	"forage/distributed/shards/checkpoint"
	"forage/store"
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
