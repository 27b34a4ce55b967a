package node

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
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

// A journal is a log that is written to while it is read.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

// count tells how often the log has a text.
func (j *journal) count(text string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.text.String(), text)
}

// tells has an owner log to what is returned.
func (o *owner) tells() *journal {
	j := &journal{}
	o.log = slog.New(slog.NewTextHandler(j, nil))
	return j
}

// TestRefused has the broker refuse that the log is read: that is told once, and what is there is taken in when it does not any more.
func TestRefused(t *testing.T) {
	o, cluster := newOwner(t)
	if err := topics.Seed(t.Context(), o.node.client, o.node.topics, 2, []topics.URL{{URL: "https://" + hostOf(0) + "/"}}); err != nil {
		t.Fatal(err)
	}
	var refused atomic.Int64
	cluster.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		if refused.Add(1) > 3 {
			return nil, nil, false
		}
		cluster.KeepControl()
		answer := r.ResponseKind().(*kmsg.FetchResponse)
		for _, t := range r.(*kmsg.FetchRequest).Topics {
			topic := kmsg.NewFetchResponseTopic()
			topic.Topic, topic.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				one := kmsg.NewFetchResponseTopicPartition()
				one.Partition, one.ErrorCode = p.Partition, kerr.TopicAuthorizationFailed.Code
				topic.Partitions = append(topic.Partitions, one)
			}
			answer.Topics = append(answer.Topics, topic)
		}
		return answer, nil, true
	})
	log := o.tells()
	began := time.Now()
	if err := o.read(t, 1); err != nil {
		t.Fatal(err)
	}
	if n := log.count("the log cannot be read"); n != 1 || time.Since(began) < 2*time.Second {
		t.Errorf("it is told %d times, and tried three times within %v", n, time.Since(began))
	}
}
