package node

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"forage/crawl"
	"forage/crawl/scope"
	"forage/distributed/shards/topics"
	"forage/store"
	"forage/watch"
)

// How far the log was read and written stands in the store itself, so that a checkpoint has it, and a commit all or nothing: a number for each of these.
const (
	offsetOf = "shards-urls"   // of the next record to be taken in
	toldOf   = "shards-events" // of the last event in the log
	sentOf   = "shards-sent"   // of the last outgoing URL in the log
)

// position reads one of these numbers, 0 where there is none.
func (o *owner) position(name string) (n uint64, err error) {
	err = o.crawl.View().Deliveries(func(target string, seq uint64, rec []byte) bool {
		if target == name && seq == 0 && len(rec) == 8 {
			n = binary.BigEndian.Uint64(rec)
		}
		return target <= name
	})
	return n, err
}

func putPosition(db *store.DB, name string, n uint64) error {
	return db.PutDelivery(name, 0, binary.BigEndian.AppendUint64(nil, n))
}

// inbox opens the partition's topic of URLs where the store has read it up to.
func (o *owner) inbox() (*kgo.Client, error) {
	at, err := o.position(offsetOf)
	if err != nil {
		return nil, err
	}
	told, err := o.position(toldOf)
	if err != nil {
		return nil, err
	}
	if o.handedOn, err = o.position(sentOf); err != nil {
		return nil, err
	}
	o.dropped = o.handedOn
	o.offset.Store(int64(at))
	o.told.Store(told)
	return kgo.NewClient(
		kgo.SeedBrokers(o.node.Brokers...), kgo.ClientID("forage-shard "+o.node.Name),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{o.node.topics.URLs: {o.p: kgo.NewOffset().At(int64(at))}}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), // what is gone was lost, and that has to be told
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), // the offset goes past them: else one would seem to be lost where retention drops all of an idle partition
		kgo.FetchMaxBytes(1<<20), kgo.FetchMaxPartitionBytes(1<<20), kgo.BrokerMaxReadBytes(4<<20), kgo.MaxConcurrentFetches(1),
	)
}

// ErrRetention says that the log does not have any more what the store has not read yet.
var ErrRetention = errors.New("the log has dropped URLs that no checkpoint has: the topic must keep them for longer than checkpoints are apart")

// mostAhead is how far clocks may be apart before that is told.
const mostAhead = time.Minute

// atOnce is how many records are taken in with one commit.
const atOnce = 500

// takeIn takes in the URLs that other partitions found, and seeds, until ctx ends.
func (o *owner) takeIn(ctx context.Context, in *kgo.Client) error {
	troubled := false
	for ctx.Err() == nil {
		fetches := in.PollRecords(ctx, atOnce)
		var failed error
		for _, e := range fetches.Errors() {
			if failed = e.Err; errors.Is(failed, kerr.OffsetOutOfRange) {
				return fmt.Errorf("%w: topic %s, partition %d, offset %d", ErrRetention, o.node.topics.URLs, o.p, o.offset.Load())
			}
		}
		if records := fetches.Records(); len(records) > 0 {
			if err := o.take(ctx, records); err != nil && ctx.Err() == nil {
				return err
			}
		}
		if failed != nil && ctx.Err() == nil {
			if !troubled {
				o.log.Warn("the log cannot be read; it is tried again", "error", failed)
			}
			select { // the client tries again by itself, and at once
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
		troubled = failed != nil
	}
	return nil
}

// take takes in some records, each once: how far they go is in the commit that has what they say. Seeds come before, and may come twice.
func (o *owner) take(ctx context.Context, records []*kgo.Record) error {
	next := records[len(records)-1].Offset + 1
	records = slices.DeleteFunc(records, func(r *kgo.Record) bool { return r.Attrs.IsControl() })
	var found []crawl.Received
	for _, r := range records {
		if ahead := time.Until(r.Timestamp); ahead > mostAhead && !o.offClock {
			o.offClock = true
			o.log.Warn("the clock of this machine is behind that of another one: the times of what is told are off, and nothing else is", "by", ahead.Round(time.Second))
		}
		var u topics.URL
		if err := json.Unmarshal(r.Value, &u); err != nil {
			o.log.Warn("a record is no URL of forage-shard, and is left out", "offset", r.Offset, "error", err)
			continue
		}
		if u.Seed {
			if err := o.watch(ctx, &u); err != nil {
				return err
			}
			continue
		}
		found = append(found, crawl.Received{URL: u.URL, From: u.From, Via: u.Via, NoFollow: u.NoFollow, At: u.At, Depth: u.Depth, MaybeOld: u.MaybeOld})
	}
	if err := o.awaitSites(ctx, found); err != nil {
		return err
	}
	for {
		counts, err := o.crawl.Receive(ctx, found, func(db *store.DB) error { return putPosition(db, offsetOf, uint64(next)) })
		if err == nil {
			o.received.Add(int64(len(found)))
			o.noSite.Add(int64(len(counts.NoSite)))
			o.offset.Store(next)
			o.lag.note(records)
			return nil
		}
		if !o.full(err) {
			return err
		}
		select { // for room on the disk
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// full reports whether a failure is for want of room on the disk, where there may be some again by now: it is tried again.
func (o *owner) full(err error) bool {
	return o.crawl.Full() != nil || errors.Is(err, syscall.ENOSPC)
}

// watch has the service watch the site of a seed.
func (o *owner) watch(ctx context.Context, seed *topics.URL) error {
	settings := seed.Settings
	if len(settings) == 0 {
		var err error
		if settings, err = json.Marshal(map[string]string{"url": seed.URL}); err != nil {
			return err
		}
	}
	// A visit of a host that belongs elsewhere would fail, and with it all that the process does.
	if conf, err := o.node.Watch.Site(settings); err == nil && o.node.Of(conf.Name) != o.p {
		o.log.Warn("a seed is left out", "url", seed.URL, "error", fmt.Errorf("%s is of partition %d", conf.Name, o.node.Of(conf.Name)))
		return nil
	}
	for {
		_, err := o.service.Add([]json.RawMessage{settings})
		switch {
		case err == nil || errors.Is(err, watch.ErrExists):
			return nil
		case errors.Is(err, watch.ErrInvalid):
			o.log.Warn("a seed is left out", "url", seed.URL, "error", err)
			return nil
		case !o.full(err):
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// awaitSites returns when the sites that are watched, and to which URLs belong, are in the store: their first visits begin soon. While a site
// is not visited the log waits, so that nothing of it is lost.
func (o *owner) awaitSites(ctx context.Context, found []crawl.Received) error {
	began, told := time.Now(), false
	for {
		waits := ""
		there := map[string]bool{}
		for _, s := range o.service.Sites() {
			there[s.Name] = !o.begun[s.Name]
		}
		for i := range found {
			for _, kind := range scope.Kinds {
				name, err := scope.Within(kind, found[i].URL)
				if err != nil || !there[name] {
					continue
				}
				there[name] = false // looked at
				switch _, err := o.crawl.View().SiteNamed(name); {
				case err == nil:
					o.begun[name] = true
				case errors.Is(err, store.ErrNotFound):
					waits = name
				default:
					return err
				}
			}
		}
		if waits == "" {
			return nil
		}
		if !told && time.Since(began) > time.Minute {
			o.log.Warn("URLs from other partitions wait for the first visit of a site to begin", "site", waits)
			told = true
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
