// Package latest reads the stores of all partitions of a crawl as of their latest checkpoints. It wants no broker, and no process of the crawl: the
// bucket of checkpoints alone.
package latest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"forage/distributed/shards/checkpoint"
	"forage/store"
)

// A State is what the owner of a partition says of a checkpoint.
type State struct {
	At         time.Time `json:"at"`         // when it was begun
	Partitions int32     `json:"partitions"` // of the crawl
}

// A Crawl is what there is of checkpoints of a crawl.
type Crawl struct{ Partitions []Partition } // all, by number

// A Partition is one with its latest checkpoint.
type Partition struct {
	Number  int32
	At      time.Time // of the checkpoint: once it is read, of that which was
	place   checkpoint.Bucket
	latest  *checkpoint.Manifest
	leftOut []string // damaged checkpoints that were told of
}

// A NoCrawlError says that a bucket has nothing of a crawl of that name.
type NoCrawlError struct {
	Group  string
	Others []string // crawls that it has something of
}

func (e *NoCrawlError) Error() string {
	if len(e.Others) == 0 {
		return fmt.Sprintf("there are no checkpoints of a crawl %q, or of any other one", e.Group)
	}
	return fmt.Sprintf("there are no checkpoints of a crawl %q; there are of: %s", e.Group, strings.Join(e.Others, " "))
}

// Place is the beginning of the names of a partition's files.
func Place(group string, p int32) string { return fmt.Sprintf("%s/partition-%05d", group, p) }

// name is that of a file of a crawl: the name of its folder, or a file of a partition.
var name = regexp.MustCompile(`^([^/]+)/(?:name|partition-(\d{5})/.+)$`)

// Open finds the latest checkpoint of each partition of a crawl, by the name of its group. note is told of checkpoints that are damaged, and left out.
// Errors: a *NoCrawlError; those of the bucket. O(files).
func Open(ctx context.Context, b checkpoint.Bucket, group string, note func(error)) (*Crawl, error) {
	begun := false
	seen := int32(0) // partitions of which there is a file
	if err := b.List(ctx, group+"/", func(file string) bool {
		if m := name.FindStringSubmatch(file); m != nil {
			if begun = true; m[2] != "" {
				p, _ := strconv.Atoi(m[2])
				seen = max(seen, int32(p)+1)
			}
		}
		return true
	}); err != nil {
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	if !begun {
		return nil, noCrawl(ctx, b, group)
	}
	c := &Crawl{}
	all := map[int32]Partition{}
	for p := range seen {
		one := Partition{Number: p, place: checkpoint.In(b, Place(group, p))}
		m, state, err := one.find(ctx, note)
		if errors.Is(err, checkpoint.ErrNone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		one.At, one.latest = state.At, m
		all[p] = one
		seen = max(seen, state.Partitions)
	}
	for p := range seen {
		one := all[p]
		one.Number = p // also of one that has none
		c.Partitions = append(c.Partitions, one)
	}
	return c, nil
}

// noCrawl tells which crawls there are instead of that one.
func noCrawl(ctx context.Context, b checkpoint.Bucket, group string) error {
	others := map[string]bool{}
	if err := b.List(ctx, "", func(file string) bool {
		if m := name.FindStringSubmatch(file); m != nil {
			others[m[1]] = true
		}
		return true
	}); err != nil {
		return fmt.Errorf("checkpoints: %w", err)
	}
	return &NoCrawlError{group, slices.Sorted(maps.Keys(others))}
}

// None reports whether there is no checkpoint of the partition yet.
func (p *Partition) None() bool { return p.latest == nil }

// find returns the latest checkpoint. Error: checkpoint.ErrNone; those of the bucket.
func (p *Partition) find(ctx context.Context, note func(error)) (*checkpoint.Manifest, *State, error) {
	m, broken, err := checkpoint.Latest(ctx, p.place)
	p.leaveOut(broken, note)
	if err != nil {
		return nil, nil, err
	}
	s, err := p.state(m)
	return m, s, err
}

// state returns what a checkpoint says of itself.
func (p *Partition) state(m *checkpoint.Manifest) (*State, error) {
	s := new(State)
	if err := json.Unmarshal(m.State, s); err != nil {
		return nil, fmt.Errorf("partition %d: what checkpoint %d of epoch %d says of itself: %w", p.Number, m.Number, m.Epoch, err)
	}
	return s, nil
}

// Read calls read with the store of the partition, in a temporary folder that is gone when Read returns. A checkpoint that is damaged is left out, for the
// one before; note is told. When ctx ends, what is read of the store fails, and the error is that of ctx. Errors: checkpoint.ErrNone; a
// *checkpoint.LostError where none is whole; those of the bucket, of the file system, of read. O(bytes of the store), on the disk, too.
func (p *Partition) Read(ctx context.Context, note func(error), read func(*store.View) error) (err error) {
	if p.latest == nil {
		return checkpoint.ErrNone
	}
	folder, err := os.MkdirTemp("", "forage-shard-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	dir := filepath.Join(folder, "store")
	if err := p.restore(ctx, dir, note); err != nil {
		return fmt.Errorf("partition %d: %w", p.Number, err)
	}
	db, err := store.Open(dir, store.Options{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("partition %d: %w", p.Number, err)
	}
	var end error
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		end = db.EndReads()
	})
	v := db.Snapshot()
	err = errors.Join(read(v), v.Close())
	if !stop() {
		<-ended
		err = errors.Join(ctx.Err(), end)
	}
	return errors.Join(err, db.Close())
}

// restore makes the store of the latest checkpoint that is whole, as a process does that is given the partition. One that was removed meanwhile, as a later
// one is there, makes way for that. Errors: a *checkpoint.LostError; those of the bucket, of the file system.
func (p *Partition) restore(ctx context.Context, dir string, note func(error)) error {
	for {
		m, damaged, err := checkpoint.RestoreLatest(ctx, p.place, dir)
		var lost *checkpoint.LostError
		if errors.As(err, &lost) { // or all that were there when it began were removed
			m, state, e := p.find(ctx, note)
			if e != nil || m.Epoch == p.latest.Epoch && m.Number == p.latest.Number {
				return err
			}
			p.latest, p.At = m, state.At
			continue
		}
		if err != nil {
			return err
		}
		state, err := p.state(m)
		if err != nil {
			return err
		}
		p.latest, p.At = m, state.At
		p.leaveOut(damaged, note)
		if len(damaged) > 0 {
			note(fmt.Errorf("partition %d is read from an earlier checkpoint, of %s", p.Number, p.At.Format(time.RFC3339)))
		}
		return nil
	}
}

// leaveOut tells of damaged checkpoints, of each once.
func (p *Partition) leaveOut(damaged []*checkpoint.DamagedError, note func(error)) {
	for _, d := range damaged {
		if !slices.Contains(p.leftOut, d.Error()) {
			p.leftOut = append(p.leftOut, d.Error())
			note(fmt.Errorf("partition %d: a checkpoint is left out: %w", p.Number, d))
		}
	}
}
