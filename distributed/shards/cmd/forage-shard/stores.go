package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"forage/distributed/shards/checkpoint"
	"forage/distributed/shards/latest"
	"forage/distributed/shards/topics"
	"forage/store"
)

// storesFlags say which stores are read: those of a crawl, or one of them, as of their latest checkpoints.
type storesFlags struct {
	checkpoints, group string
	partition          int32

	partitions int       // of the crawl, once it is open
	oldest     time.Time // checkpoint of those that were read
}

func (s *storesFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.checkpoints, "checkpoints", "", "where the processes of the crawl have their checkpoints: a folder, s3://BUCKET/PREFIX or gs://BUCKET/PREFIX")
	f.StringVar(&s.group, "group", "forage", "name of the crawl")
	f.Int32Var(&s.partition, "partition", -1, "only this partition (-1: all)")
}

// several reports whether the stores of several partitions are read: a cycle is a number of one store.
func (s *storesFlags) several(site string) bool { return s.partition < 0 && site == "" }

// each calls read with the store of each partition, of the one alone that has the site if that is not "". What is not there is told.
func (s *storesFlags) each(cmd *cobra.Command, site string, read func(p int32, v *store.View) error) error {
	ctx := cmd.Context()
	if s.checkpoints == "" {
		return usagef("say where the checkpoints are with --checkpoints FOLDER|s3://BUCKET/PREFIX|gs://BUCKET/PREFIX")
	}
	bucket, err := checkpoint.Open(ctx, s.checkpoints)
	if err != nil {
		return err
	}
	note := func(err error) { fmt.Fprintf(cmd.ErrOrStderr(), "forage-shard: %v\n", err) }
	crawl, err := latest.Open(ctx, bucket, s.group, note)
	var none *latest.NoCrawlError
	if errors.As(err, &none) {
		return usagef("%s: %w; --group names another one", s.checkpoints, err)
	}
	if err != nil {
		return err
	}
	s.partitions = len(crawl.Partitions)
	n := int32(s.partitions)
	chosen := crawl.Partitions
	if n > 0 && s.partition >= n || s.partition < -1 {
		return usagef("--partition %d: the crawl has partitions 0 to %d", s.partition, n-1)
	}
	if s.partition >= 0 && n > 0 {
		chosen = chosen[s.partition:][:1]
	} else if site != "" && n > 0 {
		chosen = chosen[topics.PartitionOf(site, n):][:1]
	}
	var without []string
	chosen = slices.DeleteFunc(slices.Clone(chosen), func(p latest.Partition) bool {
		if p.None() {
			without = append(without, strconv.Itoa(int(p.Number)))
		}
		return p.None()
	})
	switch {
	case len(without) > 0:
		note(fmt.Errorf("no checkpoint yet of: partition %s", strings.Join(without, ", ")))
	case n == 0:
		note(errors.New("there is no checkpoint yet"))
	}
	for i := range chosen {
		p := &chosen[i]
		if err := p.Read(ctx, note, func(v *store.View) error { return read(p.Number, v) }); err != nil {
			return err
		}
		if s.oldest.IsZero() || p.At.Before(s.oldest) {
			s.oldest = p.At
		}
	}
	return nil
}

// tellAge says how old what was read is.
func (s *storesFlags) tellAge(cmd *cobra.Command) {
	if !s.oldest.IsZero() {
		fmt.Fprintf(cmd.ErrOrStderr(), "forage-shard: as of checkpoints, the oldest of %s, %v ago\n", s.oldest.Format(time.RFC3339), time.Since(s.oldest).Round(time.Second))
	}
}
