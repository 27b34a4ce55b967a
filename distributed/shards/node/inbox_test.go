package node

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"forage/distributed/shards/group/grouptest"
	"forage/distributed/shards/topics"
	"forage/store"
)

// read has an owner take in its topic until it has read up to an offset, and ends with the error of that.
func (o *owner) read(t *testing.T, upTo int64) error {
	t.Helper()
	return o.readUntil(t, func() bool { return o.offset.Load() >= upTo })
}

func (o *owner) readUntil(t *testing.T, ok func() bool) error {
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
	grouptest.Await(t, "read", func() bool { return ok() || len(ended) > 0 })
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

// tells has an owner log to what is returned.
func (o *owner) tells() *grouptest.Journal {
	j := &grouptest.Journal{}
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
	if n := log.Count("the log cannot be read"); n != 1 || time.Since(began) < 2*time.Second {
		t.Errorf("it is told %d times, and tried three times within %v", n, time.Since(began))
	}
}

// TestUnvisited has the log hold a URL of a site whose first visit does not begin, as where it is paused, and after that another site: this one is watched all the same, and
// the URL is taken in when the visit has begun.
func TestUnvisited(t *testing.T) {
	o, _ := newOwner(t)
	var hosts []string
	for i := 0; len(hosts) < 3; i++ {
		if host := fmt.Sprintf("s%d.test", i); topics.Partition(host, 2) == 0 {
			hosts = append(hosts, host)
		}
	}
	prefix := "https://" + hosts[2] + "/a/"
	put := func(u topics.URL) {
		t.Helper()
		b, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.node.client.ProduceSync(t.Context(), &kgo.Record{Topic: o.node.topics.URLs, Value: b}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	urls := []string{"https://" + hosts[0] + "/page", prefix + "b/page"}
	put(topics.URL{URL: "https://" + hosts[0] + "/", Seed: true})
	put(topics.URL{URL: prefix, Seed: true, Settings: json.RawMessage(fmt.Sprintf(`{"url": %q, "scope": "prefix"}`, prefix))})
	put(topics.URL{URL: urls[0]})
	put(topics.URL{URL: urls[1]})
	if err := o.read(t, 4); err != nil {
		t.Fatal(err)
	}
	put(topics.URL{URL: "https://" + hosts[1] + "/", Seed: true})
	if err := o.read(t, 5); err != nil {
		t.Fatal(err)
	}
	if n := len(o.service.Sites()); n != 3 {
		t.Errorf("%d sites are watched, want 3", n)
	}
	known := func(url string) bool {
		_, err := o.crawl.View().Find(url)
		return err == nil
	}
	begin := func(name, scope string) {
		t.Helper()
		if err := o.crawl.Write(func(db *store.DB) error {
			return db.AddSite(&store.Site{Name: name, Rules: store.Rules{Scope: scope, Within: name}, FirstCycle: 1, LastCycle: 1})
		}); err != nil {
			t.Fatal(err)
		}
	}
	begin(hosts[0], "host")
	if err := o.readUntil(t, func() bool { return known(urls[0]) }); err != nil {
		t.Fatal(err)
	}
	if known(urls[1]) {
		t.Errorf("%s is taken in, and its site is not visited", urls[1])
	}
	begin(prefix, "prefix")
	if err := o.readUntil(t, func() bool { return known(urls[1]) }); err != nil {
		t.Fatal(err)
	}
	if n := o.received.Load(); n != 2 || o.noSite.Load() != 0 || len(o.waits) > 0 {
		t.Errorf("%d are taken in, %d of no site, %v wait; want 2", n, o.noSite.Load(), o.waits)
	}
}
