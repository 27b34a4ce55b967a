package node

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// waitingOf is where URLs stand in the store, by their offsets in the log, whose sites are watched and not visited yet: they are taken in when the first visit
// has begun, which may be long after others, as where a site is paused.
const waitingOf = "shards-waiting"

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
	o.waits = map[string]bool{"": true} // what waits in the store is looked at once
	for ctx.Err() == nil {
		if err := o.takeWaiting(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		polling, enough := ctx, context.CancelFunc(func() {})
		if len(o.waits) > 0 { // it looks again whether they still have to
			polling, enough = context.WithTimeout(ctx, lookEvery)
		}
		fetches := in.PollRecords(polling, atOnce)
		over := polling.Err()
		enough()
		var failed error
		for _, e := range fetches.Errors() {
			if over != nil && errors.Is(e.Err, over) {
				continue
			}
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
	var all []arrived
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
		all = append(all, arrived{r, u})
	}
	unvisited, err := o.awaitSites(ctx, all)
	if err != nil {
		return err
	}
	var found []crawl.Received
	var later []*kgo.Record
	waits := map[string]bool{}
	for i := range all {
		if name := siteAmong(unvisited, all[i].url.URL); name != "" {
			later, waits[name] = append(later, all[i].record), true
			continue
		}
		found = append(found, received(&all[i].url))
	}
	if err := o.receive(ctx, found, func(db *store.DB) error {
		err := putPosition(db, offsetOf, uint64(next))
		for _, r := range later {
			err = errors.Join(err, db.PutDelivery(waitingOf, uint64(r.Offset)+1, r.Value))
		}
		return err
	}); err != nil {
		return err
	}
	maps.Copy(o.waits, waits)
	o.offset.Store(next)
	o.lag.note(records)
	return nil
}

// An arrived URL is one with its record.
type arrived struct {
	record *kgo.Record
	url    topics.URL
}

func received(u *topics.URL) crawl.Received {
	return crawl.Received{URL: u.URL, From: u.From, Via: u.Via, NoFollow: u.NoFollow, At: u.At, Depth: u.Depth, MaybeOld: u.MaybeOld}
}

// receive has the store take in what was found, with what keep writes in one commit. Where the disk is full it waits.
func (o *owner) receive(ctx context.Context, found []crawl.Received, keep func(*store.DB) error) error {
	for {
		counts, err := o.crawl.Receive(ctx, found, keep)
		if err == nil {
			o.received.Add(int64(len(found)))
			o.noSite.Add(int64(len(counts.NoSite)))
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

// mostWaiting is how many URLs that waited are read at once.
const mostWaiting = 10_000

// takeWaiting takes in what waited, of sites whose first visit has begun, or that are not watched any more.
func (o *owner) takeWaiting(ctx context.Context) error {
	for len(o.waits) > 0 {
		unvisited, err := o.unvisited()
		if err != nil {
			return err
		}
		all := true
		for name := range o.waits {
			all = all && unvisited[name]
		}
		if all {
			return nil
		}
		var found []crawl.Received
		var numbers []uint64
		waits := map[string]bool{}
		var failed error
		err = o.crawl.View().Deliveries(func(target string, number uint64, rec []byte) bool {
			if target != waitingOf {
				return target < waitingOf
			}
			var u topics.URL
			if failed = json.Unmarshal(rec, &u); failed != nil {
				return false
			}
			if name := siteAmong(unvisited, u.URL); name != "" {
				waits[name] = true
				return true
			}
			found, numbers = append(found, received(&u)), append(numbers, number)
			return len(found) < mostWaiting
		})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		for i := 0; i < len(found); i += atOnce {
			end := min(i+atOnce, len(found))
			if err := o.receive(ctx, found[i:end], func(db *store.DB) (err error) {
				for _, number := range numbers[i:end] {
					err = errors.Join(err, db.DropDelivery(waitingOf, number))
				}
				return err
			}); err != nil {
				return err
			}
		}
		if len(found) < mostWaiting {
			o.waits = waits
			return nil
		}
	}
	return nil
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

// awaitFor is how long the log waits for the first visits of sites to begin. Most do so at once, and nothing need be written twice.
const awaitFor = 2 * time.Second

// awaitSites returns when the sites to which URLs belong are in the store, if they are watched: their first visits begin soon. Where some take longer it returns all that
// are not visited yet; while some do, at once.
func (o *owner) awaitSites(ctx context.Context, all []arrived) (unvisited map[string]bool, err error) {
	late := time.After(awaitFor)
	for {
		unvisited, err := o.unvisited()
		if err != nil || len(o.waits) > 0 || !slices.ContainsFunc(all, func(a arrived) bool { return siteAmong(unvisited, a.url.URL) != "" }) {
			return unvisited, err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-late:
			return unvisited, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// unvisited returns the names of the sites that are watched, and not in the store, as their first visits have not begun.
func (o *owner) unvisited() (map[string]bool, error) {
	names := map[string]bool{}
	for _, s := range o.service.Sites() {
		if o.begun[s.Name] {
			continue
		}
		switch _, err := o.crawl.View().SiteNamed(s.Name); {
		case err == nil:
			o.begun[s.Name] = true
		case errors.Is(err, store.ErrNotFound):
			names[s.Name] = true
		default:
			return nil, err
		}
	}
	return names, nil
}

// siteAmong returns which of the sites of some names a URL belongs to; "": none.
func siteAmong(names map[string]bool, url string) string {
	if len(names) == 0 {
		return ""
	}
	for _, kind := range scope.Kinds {
		if name, err := scope.Within(kind, url); err == nil && names[name] {
			return name
		}
	}
	for end := strings.LastIndexByte(url, '/'); end > 0; end = strings.LastIndexByte(url[:end], '/') { // by scope prefix it is named by a URL up to a slash
		if names[url[:end+1]] {
			return url[:end+1]
		}
	}
	return ""
}
