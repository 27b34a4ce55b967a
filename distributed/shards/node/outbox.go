package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"forage/distributed/shards/checkpoint"
	"forage/distributed/shards/topics"
	"forage/graph"
	"forage/report"
	"forage/store"
)

// gatherFor is how long what is handed on waits for more that goes with it: each time costs the broker a transaction.
const gatherFor = 50 * time.Millisecond

// mostHandedOn is how many records go in one transaction.
const mostHandedOn = 2000

// handOn hands on, until ctx ends, what was found of other partitions, and the events of this one. errClaimed: another owner does so by now.
func (o *owner) handOn(ctx context.Context) error {
	var out *kgo.Client
	defer func() { closeClient(out) }()
	troubled := false
	for {
		db := o.crawl.DB()
		urls, events := db.MoreOutgoing(), db.MoreEvents() // before it is read, so that nothing is overlooked
		more, err := o.handOnSome(ctx, &out)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			failed := err
			if err = o.afterFailure(err, &out); err != nil {
				return err
			}
			if !troubled {
				o.log.Warn("nothing could be handed on; it is tried again", "error", failed)
			}
			troubled = true
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return nil
			}
			continue
		}
		troubled = false
		if more {
			continue
		}
		select {
		case <-urls:
		case <-events:
		case <-ctx.Done():
			return nil
		}
		select {
		case <-time.After(gatherFor):
		case <-ctx.Done():
			return nil
		}
	}
}

func closeClient(c *kgo.Client) {
	if c != nil {
		c.Close()
	}
}

// handOnAll hands on all that is there.
func (o *owner) handOnAll(ctx context.Context) error {
	var out *kgo.Client
	defer func() { closeClient(out) }()
	for {
		more, err := o.handOnSome(ctx, &out)
		if err != nil || !more {
			return err
		}
	}
}

// afterFailure drops the producer, whose transaction nobody knows the state of, and returns the error where no other one would do better. One that was fenced
// may be replaced: brokers do so, too, when a transaction takes too long or none was begun for days, and where there is a successor producer knows.
func (o *owner) afterFailure(err error, out **kgo.Client) error {
	closeClient(*out)
	*out = nil
	if errors.Is(err, errClaimed) || errors.Is(err, errStore) && !o.full(err) {
		return err
	}
	return nil
}

var errStore = errors.New("the store")

// producer opens what writes to the log for this partition: no other one can from then on. Who has a successor opens none, as that would fence the successor.
func (o *owner) producer(ctx context.Context) (*kgo.Client, error) {
	epoch, err := checkpoint.Claimed(ctx, o.node.place(o.p))
	if err != nil {
		return nil, err
	}
	if int64(epoch) > o.epoch {
		return nil, fmt.Errorf("%w: epoch %d", errClaimed, epoch)
	}
	return kgo.NewClient(
		kgo.SeedBrokers(o.node.Brokers...), kgo.ClientID("forage-shard "+o.node.Name),
		kgo.TransactionalID(fmt.Sprintf("%s-%d", o.node.Group, o.p)), kgo.TransactionTimeout(10*time.Second),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.SnappyCompression()), // zstd would take some MB of memory for each partition
		kgo.RecordDeliveryTimeout(10*time.Second),
	)
}

// dropAtOnce is how many URLs that are in the log wait to be dropped: each time leaves a range of keys that all reads of the store have to
// look at until it is compacted.
const dropAtOnce = 20_000

// handOnSome hands on some in one transaction, and reports whether there is more. What has arrived is forgotten afterwards: after a kill in between it
// goes out once more, and those who read it know it by its URL, or its ID.
func (o *owner) handOnSome(ctx context.Context, out **kgo.Client) (more bool, err error) {
	n := o.node
	var records []*kgo.Record
	var failed error
	lastURL, lastEvent := o.handedOn, o.told.Load()
	sent := 0
	err = o.crawl.View().Outgoing(lastURL, func(u *store.Outgoing) bool {
		lastURL = u.Seq
		var b []byte
		if b, failed = json.Marshal(topics.URL{URL: u.URL, From: u.From, Via: u.Via, NoFollow: u.NoFollow, At: u.At, Depth: u.Depth, MaybeOld: u.MaybeOld}); failed != nil {
			return false
		}
		records = append(records, &kgo.Record{Topic: n.topics.URLs, Partition: topics.Partition(store.HostOf(u.URL), n.Partitions), Key: []byte(u.URL), Value: b})
		sent++
		more = len(records) >= mostHandedOn
		return !more
	})
	if err = errors.Join(err, failed); err == nil && !more {
		err = o.crawl.View().Events(lastEvent, func(e *store.Event) bool {
			lastEvent = e.Seq
			shown := report.NewEvent(e)
			shown.ID = eventID(e)
			var b []byte
			if b, failed = json.Marshal(shown); failed != nil {
				return false
			}
			records = append(records, &kgo.Record{Topic: n.topics.Events, Partition: o.p, Key: []byte(e.Site), Value: b})
			more = len(records) >= mostHandedOn
			return !more
		})
		err = errors.Join(err, failed)
	}
	if err != nil {
		return false, fmt.Errorf("%w: %w", errStore, err)
	}
	if len(records) == 0 {
		return false, nil
	}
	if *out == nil {
		if *out, err = o.producer(ctx); err != nil {
			return false, err
		}
	}
	if err := transact(ctx, *out, records); err != nil {
		return false, err
	}
	drop := lastURL-o.dropped >= dropAtOnce
	err = o.crawl.Write(func(db *store.DB) error {
		if drop {
			if err := db.DropOutgoing(lastURL); err != nil {
				return err
			}
		}
		return errors.Join(putPosition(db, sentOf, lastURL), putPosition(db, toldOf, lastEvent))
	})
	if err != nil {
		return false, fmt.Errorf("%w: %w", errStore, err)
	}
	if o.handedOn = lastURL; drop {
		o.dropped = lastURL
	}
	o.sent.Add(int64(sent))
	o.told.Store(lastEvent)
	return more, nil
}

// transact writes records to the log, all of them or none.
func transact(ctx context.Context, out *kgo.Client, records []*kgo.Record) error {
	if err := out.BeginTransaction(); err != nil {
		return err
	}
	if err := out.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return err // closing the producer leaves the transaction to be aborted by the next one
	}
	return out.EndTransaction(ctx, kgo.TryCommit)
}

// eventID is a name of an event that it has again when it is told once more, by an owner of the partition who goes on from an earlier checkpoint: a page
// is told of as new once; that it has changed, is gone or has moved, once in a cycle of its site.
func eventID(e *store.Event) string {
	h := fnv.New128a()
	cycle := e.Cycle
	if e.Type == store.PageNew || e.Type == store.SiteReady || e.Type == store.SiteAdopted {
		cycle = 0
	}
	fmt.Fprintf(h, "%s\x00%s\x00%s\x00%d\x00%016x", e.Type, e.Site, e.URL, cycle, digestOf(e))
	if e.Doc == graph.None && e.Type != store.SiteReady && e.Type != store.SiteAdopted { // of a site, or of the service: these come to be true again and again
		fmt.Fprintf(h, "\x00%d", e.At)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// digestOf is that of the body where the event is that it has changed.
func digestOf(e *store.Event) uint64 {
	if e.Type == store.PageChanged {
		return e.Digest
	}
	return 0
}
