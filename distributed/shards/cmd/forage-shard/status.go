package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"forage/distributed/shards/topics"
)

func statusCmd() *cobra.Command {
	var (
		l      logFlags
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Tell how all partitions are, as their owners said last",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, names, n, err := l.open(cmd.Context())
			if err != nil {
				return err
			}
			defer client.Close()
			all, err := topics.Statuses(cmd.Context(), client, names, n)
			if err != nil {
				return err
			}
			if asJSON {
				for p, s := range all {
					if s == nil {
						s = &topics.Status{Partition: int32(p), State: "none"}
					}
					if err := printJSON(cmd.OutOrStdout(), s); err != nil {
						return err
					}
				}
				return nil
			}
			return printStatus(cmd, all)
		},
	}
	l.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a partition")
	return cmd
}

// printStatus prints a line a partition, and one of all.
func printStatus(cmd *cobra.Command, all []*topics.Status) error {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "partition\towner\tepoch\tstate\tsites\tpages\tqueued\treceived\tsent\tevents\tcheckpoint\ttold\tserves at\t")
	var sum topics.Status
	latest := "" // of what is said of MaxTotal
	for p, s := range all {
		if s == nil {
			fmt.Fprintf(w, "%d\t\t\tnobody yet\t\t\t\t\t\t\t\t\t\t\n", p)
			continue
		}
		fmt.Fprintf(w, "%d\t%s\t%d\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t\n", p, s.Owner, s.Epoch, s.State, s.Sites, s.Pages, s.Queued, s.Received, s.Sent, s.Told, ago(s.Checkpoint), ago(s.At), s.Address)
		if s.Taken != nil && s.At >= latest {
			latest, sum.MaxTotal, sum.Taken = s.At, s.MaxTotal, s.Taken
		}
		sum.Sites, sum.Pages, sum.Queued, sum.Received, sum.Sent, sum.Told = sum.Sites+s.Sites, sum.Pages+s.Pages, sum.Queued+s.Queued, sum.Received+s.Received, sum.Sent+s.Sent, sum.Told+s.Told
	}
	fmt.Fprintf(w, "all\t\t\t\t%d\t%d\t%d\t%d\t%d\t%d\t\t\t\t\n", sum.Sites, sum.Pages, sum.Queued, sum.Received, sum.Sent, sum.Told)
	if err := w.Flush(); err != nil || sum.Taken == nil {
		return err
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%d of --max-total %d are taken\n", *sum.Taken, sum.MaxTotal)
	return err
}

// ago tells how long ago something was.
func ago(at string) string {
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return "never"
	}
	return time.Since(t).Round(time.Second).String() + " ago"
}
