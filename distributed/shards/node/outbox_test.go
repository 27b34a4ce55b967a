package node

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"forage/crawl"
	"forage/distributed/shards/checkpoint"
	"forage/distributed/shards/group/grouptest"
	"forage/distributed/shards/topics"
	"forage/fetch"
	"forage/store"
	"forage/watch"
)

// newOwner returns the owner of partition 0 of 2 in epoch 1, as work has one before its parts begin, and the broker.
func newOwner(t *testing.T) (*owner, *kfake.Cluster) {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	c, err := watch.Parse("forage.yaml", []byte("defaults: {allow_private: [127.0.0.0/8]}\nsites: []\n"), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{
		Config: Config{Group: "test", Name: "a", Brokers: cluster.ListenAddrs(), Partitions: 2, Session: 10 * time.Second, Watch: c, Log: slog.New(slog.DiscardHandler)},
		bucket: checkpoint.Folder(t.TempDir()), topics: topics.Of("test"), budget: newBudget(0, 2),
	}
	if n.client, err = kgo.NewClient(kgo.SeedBrokers(n.Brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.client.Close)
	if err := topics.Ensure(t.Context(), n.client, n.topics, n.Partitions, 1); err != nil {
		t.Fatal(err)
	}
	if err := n.agree(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := &owner{node: n, epoch: 1, log: n.Log, begun: map[string]bool{}}
	if err := checkpoint.Claim(t.Context(), n.place(0), 1, []byte("a")); err != nil {
		t.Fatal(err)
	}
	if o.crawl, err = crawl.Open(crawl.Config{
		Dir: t.TempDir(), Fetch: fetch.Config{UserAgent: "test"}, Elsewhere: func(host string) bool { return topics.Partition(host, n.Partitions) != 0 },
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if o.crawl == nil { // handed over
			return
		}
		if err := o.crawl.Close(); err != nil {
			t.Error(err)
		}
	})
	o.writer = checkpoint.NewWriter(n.place(0), 1, nil)
	if o.service, err = watch.New(watch.Options{Crawl: o.crawl, Dir: t.TempDir(), Config: c, Log: n.Log}); err != nil {
		t.Fatal(err)
	}
	return o, cluster
}

// hostOf returns a host of a partition of 2.
func hostOf(p int32) string {
	for _, host := range []string{"a.test", "b.test", "c.test", "d.test", "e.test", "f.test", "g.test", "h.test"} {
		if topics.Partition(host, 2) == p {
			return host
		}
	}
	panic("no host of that partition")
}

// TestSuccessor has an owner that does not know yet that it has a successor hand on what it found: it is refused, and the successor writes on.
func TestSuccessor(t *testing.T) {
	o, _ := newOwner(t)
	next := &owner{node: o.node, epoch: 2, log: o.log}
	if err := checkpoint.Claim(t.Context(), o.node.place(0), 2, []byte("b")); err != nil {
		t.Fatal(err)
	}
	out, err := next.producer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	record := func() []*kgo.Record {
		return []*kgo.Record{{Topic: o.node.topics.Events, Value: []byte("{}")}}
	}
	if err := transact(t.Context(), out, record()); err != nil {
		t.Fatal(err)
	}
	o.find(t)
	if err := o.handOnAll(t.Context()); !errors.Is(err, errClaimed) {
		t.Errorf("the one before hands on: %v", err)
	}
	if err := transact(t.Context(), out, record()); err != nil {
		t.Errorf("the successor cannot write any more: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := o.handOn(ctx); !errors.Is(err, errClaimed) {
		t.Errorf("the one before goes on: %v", err)
	}
}

// find has the owner find a URL of the other partition.
func (o *owner) find(t *testing.T) {
	t.Helper()
	if err := o.crawl.Write(func(db *store.DB) error {
		return db.PutOutgoing(&store.Outgoing{URL: "https://" + hostOf(1) + "/"})
	}); err != nil {
		t.Fatal(err)
	}
}

// TestFenced has a producer fenced by no successor, as a broker does when a transaction takes too long: the owner goes on with another one.
func TestFenced(t *testing.T) {
	o, _ := newOwner(t)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- o.handOn(ctx) }()
	for sent := range int64(2) {
		o.find(t)
		grouptest.Await(t, "handed on", func() bool { return o.sent.Load() > sent || len(ended) > 0 })
		other, err := o.producer(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := transact(t.Context(), other, []*kgo.Record{{Topic: o.node.topics.Events, Value: []byte("{}")}}); err != nil {
			t.Fatal(err)
		}
		other.Close()
	}
	end()
	if err := <-ended; err != nil || o.sent.Load() != 2 {
		t.Errorf("%d URLs are handed on, %v", o.sent.Load(), err)
	}
}
