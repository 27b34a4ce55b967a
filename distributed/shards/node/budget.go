package node

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"forage/distributed/shards/topics"
	"forage/revisit"
)

// limits.fetches_per_day hold over all partitions. Each tells in the topic of control what its sites would do with how many fetches; the owner of
// partition 0 finds the price at which all of them take what there is, and tells each how many it has. Until it has told, and while it
// does not know of a partition, that has an equal share.

// A budget is what the process knows of that.
type budget struct {
	limit int // of all partitions

	mu      sync.Mutex
	demands []*topics.Demand // by partition; nil: not told yet
	now     *topics.Allotments
	changed chan struct{} // closed when something of it has
}

func newBudget(limit int, partitions int32) *budget {
	return &budget{limit: limit, demands: make([]*topics.Demand, partitions), changed: make(chan struct{})}
}

// wait returns a channel that is closed when something changes after this call.
func (b *budget) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// read takes in a record of the topic. Others than those of the budget, and such as are out of date, change nothing. Nor do those that give out more than there is:
// they are of a time when the limit was higher.
func (b *budget) read(r *kgo.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var d topics.Demand
	var a topics.Allotments
	switch {
	case string(r.Key) == topics.AllotmentsKey:
		if json.Unmarshal(r.Value, &a) != nil || !b.holds(a.Fetches) || b.now != nil && a.Epoch < b.now.Epoch {
			return
		}
		b.now = &a
	case json.Unmarshal(r.Value, &d) == nil && d.Partition >= 0 && int(d.Partition) < len(b.demands) && string(r.Key) == string(d.Key()) && !slices.ContainsFunc(d.Bands, odd):
		if was := b.demands[d.Partition]; was != nil && d.Epoch < was.Epoch {
			return
		}
		b.demands[d.Partition] = &d
	default:
		return
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// holds reports whether fetches of each partition are no more than there are.
func (b *budget) holds(fetches []int) bool {
	left := b.limit
	for _, n := range fetches {
		if n < 0 || n > left {
			return false
		}
		left -= n
	}
	return len(fetches) == len(b.demands)
}

// odd reports whether a band is none that can be reckoned with: nobody tells such.
func odd(band revisit.Band) bool {
	return band.Fetches < 0 || band.Fetches > math.MaxInt32 || band.Step < -1000 || band.Step > 1000
}

// allotted is how many fetches of a day a partition has.
func (b *budget) allotted(p int32) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now != nil {
		return b.now.Fetches[p]
	}
	return equalShare(b.limit, int(p), len(b.demands))
}

// due returns what the owner of partition 0, in that epoch, has to tell; nil: nothing that is not told.
func (b *budget) due(epoch int64) *topics.Allotments {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := divide(b.limit, b.demands)
	if a.Epoch = epoch; b.now != nil && b.now.Epoch == epoch && slices.Equal(b.now.Fetches, a.Fetches) {
		return nil
	}
	return a
}

// equalShare is that of the i-th of n, to a whole fetch.
func equalShare(limit, i, n int) int { return limit*(i+1)/n - limit*i/n }

// divide divides a limit among partitions by their demands. It is never exceeded.
func divide(limit int, demands []*topics.Demand) *topics.Allotments {
	bands := make([]revisit.Demand, len(demands))
	left := limit
	for p, d := range demands {
		if d == nil {
			left -= equalShare(limit, p, len(demands))
		} else {
			bands[p] = d.Bands
		}
	}
	var a topics.Allotments
	a.Fetches, a.Price = revisit.Allot(left, bands)
	for p, d := range demands {
		if d == nil {
			a.Fetches[p] = equalShare(limit, p, len(demands))
		}
	}
	return &a
}

// follow reads the topic of control until ctx ends.
func (n *Node) follow(ctx context.Context) error {
	in, err := kgo.NewClient(append(n.client.Opts(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{n.topics.Control: {0: kgo.NewOffset().AtStart()}}))...)
	if err != nil {
		return err
	}
	go func() {
		defer in.Close()
		for ctx.Err() == nil {
			fetches := in.PollFetches(ctx)
			fetches.EachRecord(n.budget.read)
			if err := fetches.Err(); err != nil {
				select { // the client tries again by itself, and at once
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
			}
		}
	}()
	return nil
}

// allot is told by the service what its sites would do with fetches, and says how many they have.
func (o *owner) allot(d revisit.Demand) int {
	o.demand.Store(&d)
	select {
	case o.demanded <- struct{}{}:
	default:
	}
	return o.node.budget.allotted(o.p)
}

// heed takes part in dividing the fetches of a day, until ctx ends: it tells the partition's demand, has the service go by what is allotted to it, and, as the
// owner of partition 0, divides.
func (o *owner) heed(ctx context.Context) error {
	n := o.node
	if n.budget.limit == 0 {
		return nil
	}
	had := n.budget.allotted(o.p)
	troubled := false
	put := func(key []byte, v any) bool {
		err := o.put(ctx, key, v)
		if err != nil && ctx.Err() == nil && !troubled {
			o.log.Warn("how the fetches of a day are divided, or what sites would do with them, cannot be told; it is tried again", "error", err)
		}
		troubled = err != nil
		return err == nil
	}
	for {
		pause := gatherFor // for more that changes with it
		var again <-chan time.Time
		changed := n.budget.wait() // before it is looked at, so that nothing is overlooked
		if has := n.budget.allotted(o.p); has != had {
			had = has
			o.service.Reshare()
		}
		if o.p == 0 {
			if a := n.budget.due(o.epoch); a != nil {
				if put([]byte(topics.AllotmentsKey), a) {
					o.log.Info("divides the fetches of a day", "price", a.Price, "fetches", a.Fetches)
				} else {
					again = time.After(time.Second)
				}
			}
		}
		select {
		case <-changed:
		case <-again:
		case <-o.demanded:
			if !put((&topics.Demand{Partition: o.p}).Key(), &topics.Demand{Partition: o.p, Epoch: o.epoch, Bands: *o.demand.Load()}) {
				pause = time.Second
				select {
				case o.demanded <- struct{}{}:
				default:
				}
			}
		case <-ctx.Done():
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
	}
}

// put writes a record of the topic of control.
func (o *owner) put(ctx context.Context, key []byte, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return o.node.client.ProduceSync(ctx, &kgo.Record{Topic: o.node.topics.Control, Key: key, Value: b}).FirstErr()
}
