package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"forage/distributed/shards/node"
	"forage/distributed/shards/topics"
)

// logFlags say which log, and which crawl in it.
type logFlags struct {
	brokers []string
	group   string
}

func (l *logFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&l.brokers, "brokers", []string{"localhost:9092"}, "HOST:PORT of brokers to start from")
	f.StringVar(&l.group, "group", "forage", "name of the crawl: of the group of its processes, and of its topics")
}

// answerFor is how long a broker may take to answer a command.
const answerFor = 10 * time.Second

// open connects to the log, and returns how many partitions the crawl has.
func (l *logFlags) open(ctx context.Context, opts ...kgo.Opt) (*kgo.Client, topics.Names, int32, error) {
	names := topics.Of(l.group)
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(l.brokers...), kgo.ClientID("forage-shard")}, opts...)...)
	if err != nil {
		return nil, names, 0, usagef("--brokers: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerFor)
	defer cancel()
	away := func(err error) error {
		return usagef("%w at %s: %w", node.ErrBroker, strings.Join(l.brokers, ","), err)
	}
	if err := client.Ping(ctx); err != nil {
		client.Close()
		return nil, names, 0, away(err)
	}
	n, err := topics.Partitions(ctx, client, names)
	if errors.Is(err, context.DeadlineExceeded) {
		err = away(err)
	}
	if err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
		client.Close()
		return nil, names, 0, err
	}
	if err != nil {
		client.Close()
		return nil, names, 0, usagef("there is no crawl of the name %q: %w; 'forage-shard run' begins one", l.group, err)
	}
	return client, names, n, nil
}
