package topics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestPartition divides hosts, and sites, by their registered domains. The numbers are those of another implementation of XXH64, and stay what they are for the life of a crawl.
func TestPartition(t *testing.T) {
	for host, want := range map[string]int32{"example.org": 21, "www.example.org": 21, "blog.example.org:8080": 21, "a.co.uk": 24, "b.a.co.uk": 24, "127.0.0.1:8080": 31} {
		for _, site := range []string{host, "https://" + host + "/blog/"} {
			if got := PartitionOf(site, 32); got != want || Partition(host, 32) != want {
				t.Errorf("site %s is of partition %d, and its host of %d; want %d", site, got, Partition(host, 32), want)
			}
		}
	}
}

// client connects to a broker in memory that has topics of three partitions.
func client(t *testing.T) (*kgo.Client, Names) {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	in, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.Close)
	names := Of("test")
	if err := Ensure(t.Context(), in, names, 3, 1); err != nil {
		t.Fatal(err)
	}
	return in, names
}

// TestEnsure makes topics again, and with another number of partitions.
func TestEnsure(t *testing.T) {
	in, names := client(t)
	if err := Ensure(t.Context(), in, names, 3, 1); err != nil {
		t.Errorf("topics that are there: %v", err)
	}
	var other *PartitionsError
	if err := Ensure(t.Context(), in, names, 4, 1); !errors.As(err, &other) || other.Have != 3 || other.Want != 4 {
		t.Errorf("topics with another number of partitions: %v", err)
	}
	if n, err := Partitions(t.Context(), in, names); n != 3 || err != nil {
		t.Errorf("%d partitions, %v", n, err)
	}
}

// TestNoTopics has a broker, or what is in between, tell of no topic that it is asked for: that is an error.
func TestNoTopics(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	c.ControlKey(int16(kmsg.Metadata), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		return r.ResponseKind(), nil, len(r.(*kmsg.MetadataRequest).Topics) > 0
	})
	if n, err := Partitions(t.Context(), in, Of("test")); n != 0 || err == nil {
		t.Errorf("%d partitions, %v", n, err)
	}
}

// TestSeed adds sites: each is in the partition of its host, with its settings.
func TestSeed(t *testing.T) {
	in, names := client(t)
	var seeds []URL
	want := map[string]string{}
	for i := range 20 {
		u := URL{URL: fmt.Sprintf("https://s%d.test/", i)}
		if i%2 > 0 {
			u.Settings = json.RawMessage(fmt.Sprintf(`{"url":%q,"budget":"7/day"}`, u.URL))
		}
		want[u.URL] = string(u.Settings)
		u.URL = strings.Replace(u.URL, "test/", "TEST", 1)
		seeds = append(seeds, u)
	}
	if err := Seed(t.Context(), in, names, 3, seeds); err != nil {
		t.Fatal(err)
	}
	if err := Read(t.Context(), in, names.URLs, func(r *kgo.Record) error {
		var u URL
		if err := json.Unmarshal(r.Value, &u); err != nil {
			return err
		}
		if settings, ok := want[u.URL]; !ok || !u.Seed || string(u.Settings) != settings || r.Partition != PartitionOf(u.URL, 3) || string(r.Key) != u.URL {
			t.Errorf("partition %d has %s", r.Partition, r.Value)
		}
		delete(want, u.URL)
		return nil
	}); err != nil || len(want) > 0 {
		t.Errorf("%v, %d are missing", err, len(want))
	}
}

// TestStatuses reads what owners said, among what is none of it.
func TestStatuses(t *testing.T) {
	in, names := client(t)
	if err := PutFolder(t.Context(), in, names, "name"); err != nil {
		t.Fatal(err)
	}
	for _, s := range []Status{{Partition: 1, Owner: "a", Epoch: 1}, {Partition: 2, Owner: "a"}, {Partition: 1, Owner: "b", Address: "http://b.test/", Epoch: 2}, {Partition: 1, Owner: "a", Epoch: 1, State: "ended"}, {Partition: 3, Owner: "of another crawl"}} {
		b, err := json.Marshal(&s)
		if err != nil {
			t.Fatal(err)
		}
		if err := in.ProduceSync(t.Context(), &kgo.Record{Topic: names.Control, Key: s.Key(), Value: b}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.ProduceSync(t.Context(), &kgo.Record{Topic: names.Control, Key: []byte("price"), Value: []byte(`{"partition": 0}`)}, &kgo.Record{Topic: names.Control, Key: []byte("2"), Value: []byte("none")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	all, err := Statuses(t.Context(), in, names, 3)
	if err != nil || len(all) != 3 || all[0] != nil || all[1] == nil || all[1].Owner != "b" || all[1].Address != "http://b.test/" || all[2] == nil || all[2].Owner != "a" {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestFolder has two processes that see different folders begin a crawl at once: both are told the same one.
func TestFolder(t *testing.T) {
	in, names := client(t)
	if name, err := Folder(t.Context(), in, names); name != "" || err != nil {
		t.Errorf("nobody has told, and it is %q, %v", name, err)
	}
	keys := map[string]bool{}
	for _, name := range []string{"a", "b"} { // neither has seen that the other one tells, too
		if err := PutFolder(t.Context(), in, names, name); err != nil {
			t.Fatal(err)
		}
		if have, err := Folder(t.Context(), in, names); have != "a" || err != nil {
			t.Errorf("who has told %q reads %q, %v; want the first one", name, have, err)
		}
	}
	if err := Read(t.Context(), in, names.Control, func(r *kgo.Record) error { keys[string(r.Key)] = true; return nil }); err != nil || len(keys) != 2 {
		t.Errorf("%v, %v: compaction would keep the later one alone", keys, err)
	}
}

// TestReadGone reads a topic of which what was there is gone before it is read.
func TestReadGone(t *testing.T) {
	in, names := client(t)
	seed := func(path string) {
		t.Helper()
		if err := Seed(t.Context(), in, names, 3, []URL{{URL: "https://a.test/" + path}}); err != nil {
			t.Fatal(err)
		}
	}
	seed("1")
	seed("2")
	p := PartitionOf("a.test", 3)
	r := kmsg.NewPtrDeleteRecordsRequest()
	topic := kmsg.NewDeleteRecordsRequestTopic()
	one := kmsg.NewDeleteRecordsRequestTopicPartition()
	one.Partition, one.Offset = p, 2
	topic.Topic, topic.Partitions = names.URLs, append(topic.Partitions, one)
	r.Topics, r.TimeoutMillis = append(r.Topics, topic), 10_000
	if answer, err := r.RequestWith(t.Context(), in); err != nil || answer.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("%+v, %v", answer, err)
	}
	seed("3")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := readTo(ctx, in, names.URLs, map[int32]extent{p: {0, 2}}, silentFor, func(r *kgo.Record) error { return fmt.Errorf("%s was not there", r.Value) }); err != nil {
		t.Error(err)
	}
}

// TestReadSilent reads a topic of which the broker sends less than there has to be: that is an error, and what is there is read before.
func TestReadSilent(t *testing.T) {
	in, names := client(t)
	if err := Seed(t.Context(), in, names, 3, []URL{{URL: "https://a.test/"}}); err != nil {
		t.Fatal(err)
	}
	n := 0
	count := func(*kgo.Record) error { n++; return nil }
	p := PartitionOf("a.test", 3)
	if err := readTo(t.Context(), in, names.URLs, map[int32]extent{p: {0, 2}}, time.Second, count); err == nil || !strings.Contains(err.Error(), "has sent nothing for 1s") || n != 1 {
		t.Errorf("%d records, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := readTo(ctx, in, names.URLs, map[int32]extent{p: {0, 2}}, time.Second, count); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
