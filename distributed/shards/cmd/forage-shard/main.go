// Forage-shard crawls with several processes, joined by a log of Kafka's protocol.
//
// Rules of output are those of forage: results on stdout, with --json one JSON object a line;
// progress and errors on stderr, each line starting with "forage-shard: ". Exit code 0 done, 1
// failed, 2 wrong usage or bad input, 130 interrupted with the state saved.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"forage/distributed/shards/checkpoint"
	"forage/distributed/shards/group"
	"forage/distributed/shards/node"
	"forage/distributed/shards/topics"
	"forage/internal/printable"
	"forage/watch"
)

// Exit codes.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// An inputError is an error of usage, or of what the user gave: exit code 2.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return inputError{fmt.Errorf(format, args...)} }

func main() {
	debug.SetGCPercent(40) // what lives is small beside what comes and goes with answers, and memory is what bounds how many partitions a machine has
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Stdout, os.Stderr, os.Args[1:]))
}

// run runs one command and returns its exit code.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	root := &cobra.Command{
		Use:   "forage-shard",
		Short: "Crawl with several processes, joined by a log of Kafka's protocol",
		Long: `Forage-shard crawls a web that outgrows one machine, or that is to outlive one. The hosts are divided by their
registered domain into partitions; each is crawled as 'forage watch' crawls one store, by one process at a time. URLs that lead
from one partition to another, and events, pass through a log that speaks Kafka's protocol.

'run' is such a process; 'add' gives the crawl further sites; 'status', 'pages', 'export' and 'events' tell of all partitions.`,
		Example: `  forage-shard run --brokers kafka:9092 --dir /data --checkpoints /shared/checkpoints --config forage.yaml
  forage-shard add --brokers kafka:9092 https://example.org/
  forage-shard events --brokers kafka:9092 --follow`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; see '%s --help'", err, cmd.CommandPath())
	})
	root.AddCommand(runCmd(), addCmd(), statusCmd(), pagesCmd(), exportCmd(), eventsCmd())
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	fmt.Fprintf(stderr, "forage-shard: %s\n", printable.Lines(err.Error()))
	var own inputError
	var partitions *topics.PartitionsError
	var config *watch.Error
	var unusable *checkpoint.UnusableError
	if errors.As(err, &own) || errors.As(err, &partitions) || errors.As(err, &config) || errors.As(err, &unusable) || errors.Is(err, group.ErrTwice) || errors.Is(err, node.ErrElsewhere) || errors.Is(err, node.ErrBroker) || errors.Is(err, fs.ErrNotExist) || cmd.ValidateArgs(cmd.Flags().Args()) != nil {
		return exitUsage
	}
	return exitFailed
}

// printJSON prints a record on a line.
func printJSON(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }
