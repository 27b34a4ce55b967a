package topics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// silentFor is how long a broker may send nothing of what it has. A transaction whose producer was killed is in the way for 10 s.
const silentFor = 30 * time.Second

// Read reads a topic from its beginning up to where it ends now. It is an error where the broker sends nothing of that for half a minute.
func Read(ctx context.Context, client *kgo.Client, topic string, yield func(*kgo.Record) error) error {
	extents, err := ends(ctx, client, topic)
	if err != nil {
		return err
	}
	return readTo(ctx, client, topic, extents, silentFor, yield)
}

// readTo reads extents of a topic. What they had last may be gone meanwhile, by the topic's retention: a later record ends them, too.
func readTo(ctx context.Context, client *kgo.Client, topic string, extents map[int32]extent, patience time.Duration, yield func(*kgo.Record) error) error {
	left := 0
	read := map[int32]bool{} // partitions, to the end
	from := map[int32]kgo.Offset{}
	for p, e := range extents {
		if e.first < e.next {
			from[p] = kgo.NewOffset().At(e.first)
			left++
		}
	}
	if left == 0 {
		return nil
	}
	in, err := kgo.NewClient(append(client.Opts(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}), kgo.KeepControlRecords(), kgo.FetchIsolationLevel(kgo.ReadCommitted()))...)
	if err != nil {
		return err
	}
	defer in.Close()
	for left > 0 {
		polling, cancel := context.WithTimeout(ctx, patience)
		fetches := in.PollFetches(polling)
		silent := polling.Err() != nil && ctx.Err() == nil
		cancel()
		if err := fetches.Err(); silent && errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("topic %s: the broker has sent nothing for %v", topic, patience)
		} else if err != nil {
			return err
		}
		var failed error
		fetches.EachRecord(func(r *kgo.Record) {
			end := extents[r.Partition]
			if r.Offset >= end.next-1 && !read[r.Partition] {
				read[r.Partition] = true
				left--
			}
			if r.Offset >= end.next || failed != nil {
				return
			}
			if !r.Attrs.IsControl() {
				failed = yield(r)
			}
		})
		if failed != nil {
			return failed
		}
	}
	return nil
}

// An extent tells which offsets a partition of a topic has: from first to before next.
type extent struct{ first, next int64 }

// ends returns the extents of the partitions of a topic.
func ends(ctx context.Context, client *kgo.Client, topic string) (map[int32]extent, error) {
	all := map[int32]extent{}
	for _, which := range []int64{-2, -1} { // the earliest, the latest
		r := kmsg.NewPtrListOffsetsRequest()
		r.ReplicaID, r.IsolationLevel = -1, 1
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = topic
		n, err := count(ctx, client, topic)
		if err != nil {
			return nil, err
		}
		for p := range n {
			one := kmsg.NewListOffsetsRequestTopicPartition()
			one.Partition, one.Timestamp = p, which
			t.Partitions = append(t.Partitions, one)
		}
		r.Topics = append(r.Topics, t)
		for _, shard := range client.RequestSharded(ctx, r) {
			if shard.Err != nil {
				return nil, shard.Err
			}
			for _, t := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
				for _, p := range t.Partitions {
					if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
						return nil, fmt.Errorf("topic %s, partition %d: %w", topic, p.Partition, err)
					}
					e := all[p.Partition]
					if which == -2 {
						e.first = p.Offset
					} else {
						e.next = p.Offset
					}
					all[p.Partition] = e
				}
			}
		}
	}
	return all, nil
}

// Statuses returns how each of n partitions is, as its owner said last, of several the one with the latest epoch: one that has lost it may say so later than
// the next one speaks. nil: nobody yet.
func Statuses(ctx context.Context, client *kgo.Client, names Names, n int32) ([]*Status, error) {
	all := make([]*Status, n)
	err := Read(ctx, client, names.Control, func(r *kgo.Record) error {
		var s Status
		if err := json.Unmarshal(r.Value, &s); err == nil && string(r.Key) == string(s.Key()) && s.Partition >= 0 && s.Partition < n && (all[s.Partition] == nil || s.Epoch >= all[s.Partition].Epoch) {
			all[s.Partition] = &s // what is none is of a later release, or another key
		}
		return nil
	})
	return all, err
}

// folderKey begins the keys in the topic of control of the names of folders of checkpoints. Each name has a key of its own, so that compaction keeps the first one.
const folderKey = "checkpoints-"

// Folder returns the name of the folder of checkpoints that the processes of the crawl see, the first that was told; "": none was.
func Folder(ctx context.Context, client *kgo.Client, names Names) (name string, err error) {
	err = Read(ctx, client, names.Control, func(r *kgo.Record) error {
		if name == "" && strings.HasPrefix(string(r.Key), folderKey) {
			name = string(r.Value)
		}
		return nil
	})
	return name, err
}

// PutFolder tells the others that name. Of several who do so at once, Folder tells whose counts.
func PutFolder(ctx context.Context, client *kgo.Client, names Names, name string) error {
	return client.ProduceSync(ctx, &kgo.Record{Topic: names.Control, Key: []byte(folderKey + name), Value: []byte(name)}).FirstErr()
}
