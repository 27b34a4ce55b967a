// Forage-beam covers set systems that outgrow one machine, on Apache Beam.
//
// Rules of output are those of forage: results on stdout, with --json one JSON object a line;
// progress and errors on stderr, each line starting with "forage-beam: ". Exit code 0 done, 1
// failed, 2 wrong usage or bad input, 130 interrupted with the state saved.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"forage/distributed/beam/pipeline"
	"forage/internal/printable"
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
	// What lives is small, and each pipeline allocates far more: at the usual 100 the collector takes a
	// fifth of the time.
	debug.SetGCPercent(400)
	pipeline.Init(os.Args[1:])
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Stdout, os.Stderr, os.Args[1:]))
}

// run runs one command and returns its exit code.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	root := &cobra.Command{
		Use:   "forage-beam",
		Short: "Cover set systems that outgrow one machine, on Apache Beam",
		Long: `Forage-beam covers a set system, or a graph's pages by their links, with few sets, as
'forage cover --algorithm spgreedy' does, on as many machines as a runner of Apache Beam has. All
of them see one folder, in which everything lies that passes between them.

'shard' cuts the input into shards, 'cover' covers them, 'seeds' chooses seeds by layered covers;
'pool' starts workers for a cluster.`,
		Example:       "  forage-beam shard web.graph -o /shared/web --shards 64\n  forage-beam cover /shared/web --p 2 -o cover.txt",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; see '%s --help'", err, cmd.CommandPath())
	})
	root.AddCommand(shardCmd(), coverCmd(), seedsCmd(), poolCmd())
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(stderr, "forage-beam: interrupted; the same command goes on at the last complete level")
		return exitInterrupted
	}
	fmt.Fprintf(stderr, "forage-beam: %s\n", printable.Lines(err.Error()))
	var own inputError
	var input *pipeline.InputError
	if errors.As(err, &own) || errors.As(err, &input) || cmd.ValidateArgs(cmd.Flags().Args()) != nil {
		return exitUsage
	}
	return exitFailed
}

// printJSON prints a record on a line.
func printJSON(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }
