package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"forage/distributed/shards/topics"
)

func eventsCmd() *cobra.Command {
	var (
		l      logFlags
		follow bool
	)
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Print the events of all partitions, each once",
		Long: `Events prints what the topic of events has, one JSON object a line, as 'forage events --json' does. An event that is in the log twice, since its partition
went on from a checkpoint, is printed once.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, names, _, err := l.open(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			var told recent
			show := func(r *kgo.Record) error {
				if !told.add(idOf(r.Value)) {
					return nil
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", r.Value)
				return err
			}
			if !follow {
				return topics.Read(cmd.Context(), client, names.Events, show)
			}
			in, err := kgo.NewClient(append(client.Opts(), kgo.ConsumeTopics(names.Events), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(time.Second))...)
			if err != nil {
				return err
			}
			defer in.Close()
			for {
				fetches := in.PollFetches(cmd.Context())
				if err := fetches.Err(); err != nil {
					return err
				}
				for _, r := range fetches.Records() {
					if err := show(r); err != nil {
						return err
					}
				}
			}
		},
	}
	l.add(cmd)
	cmd.Flags().BoolVar(&follow, "follow", false, "go on with those that come")
	return cmd
}

// A recent remembers what was told of late: an event is told again within those since a checkpoint of its partition.
type recent struct {
	latest, before map[[16]byte]bool
}

// mostRecent is how many IDs are remembered at least. Twice as many, the most, take 72 MiB.
const mostRecent = 1 << 20

// add remembers an ID, and reports whether it did not before.
func (r *recent) add(id string) bool {
	whole := sha256.Sum256([]byte(id))
	sum := [16]byte(whole[:])
	if r.latest[sum] || r.before[sum] {
		return false
	}
	if r.latest == nil || len(r.latest) == mostRecent {
		r.latest, r.before = map[[16]byte]bool{}, r.latest
	}
	r.latest[sum] = true
	return true
}

// idOf returns the ID of an event.
func idOf(event []byte) string {
	var e struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(event, &e) // what is no event is told as it is, once
	return cmp.Or(e.ID, string(event))
}
