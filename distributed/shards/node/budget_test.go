package node

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"forage/distributed/shards/topics"
	"forage/revisit"
)

// record is v as the topic of control has it.
func record(t *testing.T, key string, v any) *kgo.Record {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return &kgo.Record{Key: []byte(key), Value: b}
}

func sum(all []int) (n int) {
	for _, v := range all {
		n += v
	}
	return n
}

// TestBudget divides a limit as partitions tell their demands, and never gives more than it.
func TestBudget(t *testing.T) {
	const limit = 20
	b := newBudget(limit, 3)
	shares := func() (all []int) {
		for p := range int32(3) {
			all = append(all, b.allotted(p))
		}
		return all
	}
	if got := shares(); sum(got) != limit || slices.Max(got)-slices.Min(got) > 1 {
		t.Errorf("before anything is told: %v, want equal shares of %d", got, limit)
	}
	tell := func(p int32, epoch int64, bands ...revisit.Band) {
		d := &topics.Demand{Partition: p, Epoch: epoch, Bands: bands}
		b.read(record(t, string(d.Key()), d))
	}
	divided := func(epoch int64) *topics.Allotments {
		t.Helper()
		a := b.due(epoch)
		if a == nil {
			t.Fatal("nothing is due")
		}
		if sum(a.Fetches) > limit {
			t.Errorf("%v are more than %d", a.Fetches, limit)
		}
		changed := b.wait()
		b.read(record(t, topics.AllotmentsKey, a))
		select {
		case <-changed:
		default:
			t.Error("nobody is told of a change")
		}
		if again := b.due(epoch); again != nil {
			t.Errorf("told, and still due: %+v", again)
		}
		return a
	}
	tell(0, 1, revisit.Band{Step: 4, Fetches: 10}, revisit.Band{Step: 0, Fetches: 50})
	tell(1, 1, revisit.Band{Step: 8, Fetches: 2})
	if a := divided(1); a.Fetches[0] != 11 || a.Fetches[1] != 2 || a.Fetches[2] != 7 { // who has not told has an equal share
		t.Errorf("%+v", a)
	}
	tell(2, 1, revisit.Band{Step: 8, Fetches: 30})
	if a := divided(1); a.Fetches[0] != 0 || a.Fetches[1] != 1 || a.Fetches[2] != 19 || a.Price != 4 {
		t.Errorf("%+v", a)
	}
	tell(2, 3, revisit.Band{Step: -8, Fetches: 1})
	tell(2, 2, revisit.Band{Step: 8, Fetches: 30}) // of an owner that does not know yet that it is none
	if a := divided(1); a.Fetches[0] != 18 || a.Fetches[1] != 2 || a.Fetches[2] != 0 {
		t.Errorf("%+v", a)
	}
	if got := shares(); !slices.Equal(got, []int{18, 2, 0}) {
		t.Errorf("allotted %v", got)
	}
	divided(5) // partition 0 has another owner
	was := shares()
	for _, r := range []*kgo.Record{
		record(t, topics.AllotmentsKey, topics.Allotments{Epoch: 4, Fetches: []int{20, 0, 0}}), // the owner before
		record(t, topics.AllotmentsKey, topics.Allotments{Epoch: 9, Fetches: []int{20}}),
		record(t, topics.AllotmentsKey, topics.Allotments{Epoch: 9, Fetches: []int{20, 1, 0}}), // the limit was higher
		record(t, topics.AllotmentsKey, topics.Allotments{Epoch: 9, Fetches: []int{20, -1, 0}}),
		record(t, "demand-0", topics.Demand{Epoch: 9, Bands: revisit.Demand{{Step: 5000, Fetches: 1}}}), // a price beyond what JSON has numbers for
		record(t, "demand-0", topics.Demand{Epoch: 9, Bands: revisit.Demand{{Step: 0, Fetches: 1 << 62}, {Step: 0, Fetches: 1 << 62}}}),
		{Key: []byte(topics.AllotmentsKey), Value: []byte("no JSON")},
		record(t, "demand-7", topics.Demand{Partition: 7}), record(t, "demand-0", topics.Demand{Partition: 1, Epoch: 9}), record(t, "0", topics.Status{}),
		{Key: []byte("checkpoints"), Value: []byte("X")},
	} {
		changed := b.wait()
		b.read(r)
		select {
		case <-changed:
			t.Errorf("%s %s changes something", r.Key, r.Value)
		default:
		}
	}
	if got := shares(); !slices.Equal(got, was) {
		t.Errorf("%v, want %v", got, was)
	}
}

// TestUntold has the broker refuse what is told of the fetches of a day: that is said once, and it is told when it does not any more.
func TestUntold(t *testing.T) {
	o, cluster := newOwner(t)
	o.p, o.node.budget = 1, newBudget(10, 2)
	var refused atomic.Int64
	cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		if refused.Add(1) > 2 {
			return nil, nil, false
		}
		cluster.KeepControl()
		answer := r.ResponseKind().(*kmsg.ProduceResponse)
		for _, t := range r.(*kmsg.ProduceRequest).Topics {
			topic := kmsg.NewProduceResponseTopic()
			topic.Topic, topic.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				one := kmsg.NewProduceResponseTopicPartition()
				one.Partition, one.ErrorCode = p.Partition, kerr.TopicAuthorizationFailed.Code
				topic.Partitions = append(topic.Partitions, one)
			}
			answer.Topics = append(answer.Topics, topic)
		}
		return answer, nil, true
	})
	log := o.tells()
	o.demanded = make(chan struct{}, 1)
	o.allot(revisit.Demand{{Step: 0, Fetches: 3}})
	ctx, end := context.WithCancel(t.Context())
	defer end()
	if err := o.node.follow(ctx); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- o.heed(ctx) }()
	<-o.node.budget.wait()
	if n := log.Count("cannot be told"); n != 1 || time.Since(began) < 2*time.Second {
		t.Errorf("it is said %d times, and told within %v", n, time.Since(began))
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
