package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"forage/crawl/scope"
	"forage/distributed/shards/topics"
)

func addCmd() *cobra.Command {
	var l logFlags
	cmd := &cobra.Command{
		Use:   "add URL…|-",
		Short: "Give the crawl sites to watch",
		Long: `Add has the sites of URLs watched, each in the partition that it belongs to, with the settings of 'defaults' of the
configuration. '-' reads URLs from stdin, one a line. Those that are watched already stay as they are. When the command ends they
are in the log, and will be watched whatever dies.`,
		Example: "  forage-shard add https://example.org/ https://example.net/blog/\n  forage-shard add - < seeds.txt",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			urls, err := seeds(cmd.InOrStdin(), args)
			if err != nil {
				return err
			}
			client, names, n, err := l.open(cmd.Context(), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RecordDeliveryTimeout(answerFor))
			if err != nil {
				return err
			}
			defer client.Close()
			seeds := make([]topics.URL, len(urls))
			for i, u := range urls {
				seeds[i].URL = u
			}
			if err := topics.Seed(cmd.Context(), client, names, n, seeds); err != nil {
				return fmt.Errorf("not all URLs are in the log; give them once more: %w", err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "sites in the log: %d\n", len(urls))
			return err
		},
	}
	l.add(cmd)
	return cmd
}

// seeds reads URLs from the command line, or from r for "-", and brings them to their normal form.
func seeds(r io.Reader, args []string) (urls []string, err error) {
	where := func(i int) string { return fmt.Sprintf("argument %d", i+1) }
	if len(args) == 1 && args[0] == "-" {
		args = nil
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			args = append(args, strings.TrimSpace(lines.Text()))
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("stdin: %w", err)
		}
		where = func(i int) string { return fmt.Sprintf("stdin:%d", i+1) }
	}
	for i, a := range args {
		if a == "" {
			continue
		}
		u, err := scope.Normalise(a, nil)
		if err != nil {
			return nil, usagef("%s: %q: %w; want an http or https URL; nothing was added", where(i), a, err)
		}
		urls = append(urls, u)
	}
	if len(urls) == 0 {
		return nil, usagef("no URLs were given")
	}
	return urls, nil
}
