package node

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"forage/crawl"
	"forage/distributed/shards/checkpoint"
	"forage/distributed/shards/latest"
	"forage/distributed/shards/lease"
	"forage/distributed/shards/topics"
	"forage/internal/atomicfile"
	"forage/report"
	"forage/revisit"
	"forage/watch"
)

// An owner works on a partition for as long as the process has it.
type owner struct {
	node  *Node
	p     int32
	log   *slog.Logger
	end   context.CancelFunc
	ended chan struct{}

	epoch      int64
	crawl      *crawl.Crawl
	writer     *checkpoint.Writer
	service    *watch.Service
	received   atomic.Int64
	noSite     atomic.Int64
	lag        lag
	restored   bool            // others had the partition since this process
	begun      map[string]bool // sites that are in the store
	waits      map[string]bool // sites for which URLs wait in the store
	demand     atomic.Pointer[revisit.Demand]
	demanded   chan struct{} // holds a token while a demand is not told
	offClock   bool          // it was told that clocks are apart
	sent       atomic.Int64
	told       atomic.Uint64
	handedOn   uint64 // the last outgoing URL in the log
	dropped    uint64 // up to where they were dropped in the store
	offset     atomic.Int64
	checkpoint atomic.Pointer[string]
	front      atomic.Pointer[front] // what is served; nil: nothing is
	looks      sync.RWMutex          // held for reading by those who look at a site before it is watched
}

// lookEvery is how often an owner to be looks whether the one before has ended.
const lookEvery = 200 * time.Millisecond

// mostPause is how long an owner waits at most before it tries again to have the store in place.
const mostPause = 5 * time.Second

// own claims the partition as soon as it may, and works on it until ctx ends.
func (o *owner) own(ctx context.Context) error {
	for {
		if err := o.claim(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		err := o.work(ctx)
		if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
			return nil
		}
		if !errors.Is(err, errClaimed) {
			return err
		}
		o.log.Warn("somebody else has claimed the partition; it starts over", "epoch", o.epoch)
		o.node.member.Lease(func(l *lease.Lease, _ lease.Instant) { l.Superseded(o.p) })
	}
}

// errClaimed says that somebody else owns a partition.
var errClaimed = errors.New("another process has claimed the partition")

// endedName is the file by which the owner of an epoch says that he contacts nobody any more, and has written his last checkpoint.
func endedName(epoch int64) string { return fmt.Sprintf("epoch-%06d/ended.json", epoch) }

func writeEnded(ctx context.Context, place checkpoint.Bucket, epoch int64) error {
	if err := place.Create(ctx, endedName(epoch), []byte("{}\n")); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// latestEpoch returns the latest epoch that was claimed, 0 for none, and whether its owner says that he has ended.
func latestEpoch(ctx context.Context, place checkpoint.Bucket) (epoch int64, ended bool, err error) {
	n, err := checkpoint.Claimed(ctx, place)
	if err != nil || n == 0 {
		return 0, false, err
	}
	r, err := place.Get(ctx, endedName(int64(n)))
	if errors.Is(err, fs.ErrNotExist) {
		return int64(n), false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return int64(n), true, r.Close()
}

// claim returns when the partition is this process's alone. Errors: that of ctx.
func (o *owner) claim(ctx context.Context) error {
	place := o.node.place(o.p)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	troubled := false
	for {
		epoch, done, err := latestEpoch(ctx, place)
		if err == nil {
			var next int64
			due := false
			o.node.member.Lease(func(l *lease.Lease, now lease.Instant) {
				l.Saw(o.p, now, epoch, done)
				var from lease.Instant
				next, from, due = l.Claim(o.p)
				due = due && now >= from && now < l.Until()
			})
			if due {
				var claimed *checkpoint.ClaimedError
				if err = o.node.same(ctx); err == nil {
					err = checkpoint.Claim(ctx, place, uint64(next), []byte(o.node.Name+" "+rand.Text()))
				}
				switch {
				case errors.As(err, &claimed):
					err = nil // it looks again
				case err == nil:
					ours := false
					o.node.member.Lease(func(l *lease.Lease, now lease.Instant) { ours = l.Claimed(o.p, now, next) })
					if ours {
						o.epoch = next
						return nil
					}
				}
			}
		}
		if err != nil && ctx.Err() == nil && !troubled {
			o.log.Warn("the checkpoints cannot be read or written; it is tried again", "error", err)
			troubled = true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// A lineage says of a store on this machine which epoch last worked on it.
type lineage struct {
	Epoch int64 `json:"epoch"`
}

func (o *owner) dir() string     { return filepath.Join(o.node.Dir, fmt.Sprintf("partition-%05d", o.p)) }
func (o *owner) lineage() string { return o.dir() + ".json" }

// prepare has the store in place: the one of this machine where nobody else had the partition since, else that of the latest checkpoint that is
// whole: it has the offsets up to which it has read the log, so that nothing is lost by an earlier one. It reports whether others had the partition since.
func (o *owner) prepare(ctx context.Context) (others bool, err error) {
	place := o.node.place(o.p)
	var l lineage
	b, err := os.ReadFile(o.lineage())
	if err == nil {
		err = json.Unmarshal(b, &l)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.log.Warn("which epoch the store on this machine is of cannot be read: that of the latest checkpoint is taken", "error", err)
	}
	ours := err == nil && (l.Epoch == o.epoch-1 || l.Epoch == o.epoch) // of this one where it is tried again
	if _, e := os.Stat(o.dir()); e != nil {
		ours = false
	}
	restore := !ours
	if restore {
		// The order matters: without its record a store counts for nothing.
		if err := errors.Join(remove(o.lineage()), os.RemoveAll(o.dir())); err != nil {
			return false, err
		}
	}
	base, damaged, err := o.latest(ctx, place, restore)
	for _, d := range damaged {
		o.log.Warn("a checkpoint is left out", "error", d)
	}
	var lost *checkpoint.LostError
	switch {
	case errors.As(err, &lost):
		return false, fmt.Errorf("%w; what was crawled is lost: remove the files checkpoint-*.json of %s to crawl it anew", err, o.node.where(o.p))
	case err != nil && !errors.Is(err, checkpoint.ErrNone):
		return false, fmt.Errorf("the latest checkpoint cannot be restored: %w", err)
	case !restore:
		o.log.Info("goes on", "epoch", o.epoch)
	case base == nil:
		o.log.Info("begins", "epoch", o.epoch)
	default:
		level := slog.LevelInfo
		if len(damaged) > 0 {
			level = slog.LevelWarn // so that what is taken instead is told beside what is left out
		}
		o.log.Log(ctx, level, "begins", "epoch", o.epoch, "checkpoint", fmt.Sprintf("%d/%d", base.Epoch, base.Number), "bytes", base.Bytes())
	}
	o.writer = checkpoint.NewWriter(place, uint64(o.epoch), base)
	if b, err = json.Marshal(lineage{o.epoch}); err != nil {
		return false, err
	}
	return restore && o.epoch > 1, atomicfile.Write(o.lineage(), b)
}

// latest finds the latest checkpoint, and restores it if it is to; what fails is tried again, as in claim, unless it cannot get better. Errors:
// checkpoint.ErrNone, a *checkpoint.LostError, that of ctx.
func (o *owner) latest(ctx context.Context, place checkpoint.Bucket, restore bool) (base *checkpoint.Manifest, damaged []*checkpoint.DamagedError, err error) {
	troubled := false
	for pause := lookEvery; ; pause = min(2*pause, mostPause) { // each time may read all of it
		if restore {
			base, damaged, err = checkpoint.RestoreLatest(ctx, place, o.dir())
		} else {
			base, damaged, err = checkpoint.Latest(ctx, place)
		}
		var lost *checkpoint.LostError
		if err == nil || errors.Is(err, checkpoint.ErrNone) || errors.As(err, &lost) {
			return base, damaged, err
		}
		if ctx.Err() == nil && !troubled {
			o.log.Warn("the latest checkpoint cannot be restored; it is tried again", "error", err)
			troubled = true
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// open has the store and its service in place. It waits where there is no room on the disk.
func (o *owner) open(ctx context.Context) error {
	for troubled := false; ; troubled = true {
		err := o.tryOpen(ctx)
		if !errors.Is(err, syscall.ENOSPC) {
			return err
		}
		if !troubled {
			o.log.Warn("the partition has no room on the disk; it is tried again", "error", err)
		}
		select {
		case <-time.After(mostPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (o *owner) tryOpen(ctx context.Context) error {
	n := o.node
	restored, err := o.prepare(ctx)
	if err != nil {
		return err
	}
	cfg := n.Crawl
	cfg.Dir, cfg.Loop, cfg.Cache = o.dir(), n.loop, n.cache
	if o.restored = o.restored || restored; o.restored {
		cfg.AskedUntil = time.Now()
	}
	cfg.Elsewhere = func(host string) bool { return topics.Partition(host, n.Partitions) != o.p }
	if o.crawl, err = crawl.Open(cfg); err != nil {
		return err
	}
	watched := *n.Watch
	watched.Sites = slices.DeleteFunc(slices.Clone(watched.Sites), func(s watch.Site) bool {
		return n.Of(s.Name) != o.p
	})
	o.demanded = make(chan struct{}, 1)
	if o.service, err = watch.New(watch.Options{Crawl: o.crawl, Dir: cfg.Dir, Config: &watched, Log: o.log, Allot: o.allot}); err != nil {
		return errors.Join(err, o.crawl.DB().EndReads(), o.crawl.Close())
	}
	return nil
}

// work crawls the partition until ctx ends, or something fails. Then it writes a checkpoint, and that it has ended.
func (o *owner) work(ctx context.Context) (err error) {
	if err := o.open(ctx); err != nil {
		return err
	}
	closed := false
	defer func() {
		if !closed {
			err = errors.Join(err, o.crawl.DB().EndReads(), o.crawl.Close())
		}
	}()
	o.begun = map[string]bool{}
	in, err := o.inbox()
	if err != nil {
		return err
	}
	defer in.Close()

	// All of it ends when one part of it cannot go on.
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	hide, err := o.serve(ctx)
	if err != nil {
		return err
	}
	defer hide()
	var parts sync.WaitGroup
	for _, part := range []func(context.Context) error{
		o.visit,
		func(ctx context.Context) error { return o.takeIn(ctx, in) },
		o.handOn,
		o.keepCheckpoints,
		o.heed,
		o.report,
	} {
		parts.Go(func() {
			if err := part(ctx); err != nil && ctx.Err() == nil {
				end(err)
			}
		})
	}
	parts.Wait()
	hide()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		err = cause
	}
	if errors.Is(err, errClaimed) { // whatever it has is of no use to anybody
		return err
	}

	closed = true
	if e := o.handOver(); e != nil {
		o.log.Warn("not all was handed over: whoever is next waits for longer, and goes on from an earlier checkpoint", "error", e)
	} else {
		o.log.Info("ended", "epoch", o.epoch)
	}
	o.tell(context.Background(), "ended")
	return err
}

// handOver is called when nothing is under way any more. What was found goes on its way, and is in a checkpoint; what the log does not take, whoever is next hands on. It
// closes the store.
func (o *owner) handOver() error {
	last, cancel := context.WithTimeout(context.Background(), o.node.Session)
	defer cancel()
	some, enough := context.WithTimeout(last, o.node.Session/2) // a broker that is away leaves time for the checkpoint
	defer enough()
	if err := o.handOnAll(some); err != nil {
		o.log.Warn("not all that was found is in the log: whoever is next hands it on", "error", err)
	}
	err := o.save(last)
	if err = errors.Join(err, o.crawl.DB().EndReads(), o.crawl.Close()); err != nil {
		return err
	}
	return writeEnded(last, o.node.place(o.p), o.epoch)
}

// visit has the service run until ctx ends. Then requests under way have half a session to go on to their end: what is cut off would be fetched again
// by whoever is next.
func (o *owner) visit(ctx context.Context) error {
	running, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(ctx, func() {
		defer cut()
		if !errors.Is(context.Cause(ctx), errClaimed) {
			defer time.AfterFunc(o.node.Session/2, cut).Stop()
			o.service.Finish()
		}
	})()
	return o.service.Run(running)
}

// checkpointsKept is how many checkpoints of a partition stay.
const checkpointsKept = 2

// keepCheckpoints writes a checkpoint now and then.
func (o *owner) keepCheckpoints(ctx context.Context) error {
	tick := time.NewTicker(o.node.Interval)
	defer tick.Stop()
	troubled := false
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		switch err := o.save(ctx); {
		case errors.Is(err, errClaimed):
			return err
		case err != nil && ctx.Err() == nil:
			if !troubled {
				o.log.Warn("no checkpoint could be written; it is tried again", "error", err)
			}
			troubled = true
		default:
			troubled = false
		}
	}
}

func (o *owner) save(ctx context.Context) error {
	began := time.Now().UTC()
	if err := o.node.same(ctx); err != nil {
		return err
	}
	_, did, err := o.writer.Write(ctx, o.crawl.DB(), latest.State{At: began, Partitions: o.node.Partitions})
	var claimed *checkpoint.ClaimedError
	if errors.As(err, &claimed) {
		return fmt.Errorf("%w: %w", errClaimed, err)
	}
	if err != nil {
		return err
	}
	o.log.Debug("checkpoint", "epoch", o.epoch, "copied", did.Copied, "shared", did.Shared)
	if _, err := o.writer.Prune(ctx, checkpointsKept); err != nil && ctx.Err() == nil {
		o.log.Warn("old checkpoints stay", "error", err)
	}
	at := began.Format(time.RFC3339)
	o.checkpoint.Store(&at)
	return nil
}

// reportEvery is how often it is told how a partition is.
const reportEvery = 2 * time.Second

// report tells how the partition is, until ctx ends.
func (o *owner) report(ctx context.Context) error {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		o.tell(ctx, "crawls")
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// tell writes how the partition is to the topic. Where that fails it is told next time.
func (o *owner) tell(ctx context.Context, state string) {
	s := topics.Status{
		Partition: o.p, Epoch: o.epoch, Owner: o.node.Name, Address: o.node.Address, State: state, At: time.Now().UTC().Format(time.RFC3339),
		Received: o.received.Load(), NoSite: o.noSite.Load(), Sent: o.sent.Load(), Told: o.told.Load(), Offset: o.offset.Load(), LagMillis: o.lag.p99().Milliseconds(),
	}
	if o.node.budget.limit > 0 {
		a := o.node.budget.allotted(o.p)
		s.Allotted = &a
	}
	if total := o.node.total; total != nil {
		taken := total.seen()
		s.MaxTotal, s.Taken = o.node.MaxTotal, &taken
	}
	if at := o.checkpoint.Load(); at != nil {
		s.Checkpoint = *at
	}
	if state != "ended" {
		totals, err := report.NewTotals(o.crawl.View())
		if err != nil {
			return
		}
		s.Sites, s.Pages, s.Queued = int64(totals.Sites), totals.Pages, totals.Queued
	}
	b, err := json.Marshal(&s)
	if err != nil {
		return
	}
	o.node.client.TryProduce(context.WithoutCancel(ctx), &kgo.Record{Topic: o.node.topics.Control, Key: s.Key(), Value: b}, nil)
}
