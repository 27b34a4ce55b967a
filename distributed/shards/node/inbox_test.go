package node

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"forage/distributed/shards/topics"
)

// read has an owner take in its topic until it has read up to an offset, and ends with the error of that.
func (o *owner) read(t *testing.T, upTo int64) error {
	t.Helper()
	in, err := o.inbox()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	ended := make(chan error, 1)
	go func() { ended <- o.takeIn(ctx, in) }()
	await(t, "read", func() bool { return o.offset.Load() >= upTo || len(ended) > 0 })
	end()
	return <-ended
}

// TestIdle has retention drop all of a partition that is idle, and was read to its end: nothing is lost, and what comes later is taken in.
func TestIdle(t *testing.T) {
	o, _ := newOwner(t)
	o.epoch = 2
	out, err := o.producer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	write := func() {
		t.Helper()
		b, err := json.Marshal(topics.URL{URL: "https://" + hostOf(0) + "/"})
		if err != nil {
			t.Fatal(err)
		}
		if err := transact(t.Context(), out, []*kgo.Record{{Topic: o.node.topics.URLs, Value: b}}); err != nil {
			t.Fatal(err)
		}
	}
	write()
	if err := o.read(t, 1); err != nil {
		t.Fatal(err)
	}
	r := kmsg.NewPtrDeleteRecordsRequest()
	topic := kmsg.NewDeleteRecordsRequestTopic()
	one := kmsg.NewDeleteRecordsRequestTopicPartition()
	one.Offset = -1 // all
	topic.Topic, topic.Partitions = o.node.topics.URLs, append(topic.Partitions, one)
	r.Topics, r.TimeoutMillis = append(r.Topics, topic), 10_000
	if answer, err := r.RequestWith(t.Context(), o.node.client); err != nil || answer.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("%+v, %v", answer, err)
	}
	write()
	if err := o.read(t, 3); err != nil {
		t.Error(err)
	}
	if n := o.received.Load(); n != 2 {
		t.Errorf("%d URLs are taken in, want 2", n)
	}
}

// TestStray has the log hold a site of another partition: it is left out.
func TestStray(t *testing.T) {
	o, _ := newOwner(t)
	for p, want := range []int{1, 0} {
		u := topics.URL{URL: "https://" + hostOf(int32(p)) + "/", Seed: true}
		before := len(o.service.Sites())
		if err := o.watch(t.Context(), &u); err != nil {
			t.Fatal(err)
		}
		if got := len(o.service.Sites()) - before; got != want {
			t.Errorf("a site of partition %d adds %d sites, want %d", p, got, want)
		}
	}
}
