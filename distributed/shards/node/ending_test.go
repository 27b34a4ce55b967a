package node

import (
	"log/slog"
	"testing"

	"forage/distributed/shards/checkpoint"
	"forage/distributed/shards/group"
)

// TestEnding has the group give a partition to a process that ends: it is left alone, as nobody would end it.
func TestEnding(t *testing.T) {
	n := &Node{Config: Config{Group: "test", Partitions: 2, Log: slog.New(slog.DiscardHandler)}, bucket: checkpoint.Folder(t.TempDir()), owners: map[int32]*owner{}, failed: make(chan error, 1)}
	n.member = group.New(group.Config{Clock: sinceBoot})
	n.changed([]int32{0}, nil)
	n.endAll()
	n.changed([]int32{1}, nil)
	n.mu.Lock()
	left := len(n.owners)
	n.mu.Unlock()
	if left != 0 {
		t.Errorf("%d partitions are begun after the end", left)
	}
	n.endAll()
}
