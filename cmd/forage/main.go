// Forage crawls the web, comes back, and finds what is new with few fetches.
//
// Rules of output, for every command: results on stdout, one record a line; with --json one
// JSON object a line. Progress, warnings and errors on stderr, each line starting with
// "forage: ". Exit code 0 done, 1 failed, 2 wrong usage or bad input, 130 interrupted with
// the state saved.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"forage/fetch"
	"forage/internal/printable"
	"forage/store"
)

// Exit codes.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// An exitError carries the exit code of its error.
type exitError struct {
	code int
	err  error // nil: it has been printed already
}

func (e *exitError) Error() string { return fmt.Sprint(e.err) }
func (e *exitError) Unwrap() error { return e.err }

// badInput marks err as the fault of what the user gave: exit code 2.
func badInput(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitUsage, err}
}

// usagef is an error of usage: exit code 2.
func usagef(format string, args ...any) error { return badInput(fmt.Errorf(format, args...)) }

func main() {
	cobra.EnableCommandSorting = false // groups list their commands in the order of use
	os.Exit(run(context.Background(), os.Stdout, os.Stderr, os.Args[1:]))
}

// run runs one command and returns its exit code.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	root := rootCmd()
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetArgs(args)
	if ctx.Value(callKey{}) == nil {
		ctx = context.WithValue(ctx, callKey{}, &call{args: args})
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	var e *exitError
	if errors.As(err, &e) && e.err == nil {
		return e.code // said already
	}
	if errors.Is(err, context.Canceled) && (e == nil || e.code == exitUsage) { // while it read
		fmt.Fprintln(stderr, "forage: interrupted")
		return exitInterrupted
	}
	fmt.Fprintf(stderr, "forage: %s\n", printable.Lines(err.Error()))
	var damaged *store.DamagedError
	if errors.As(err, &damaged) {
		fmt.Fprintln(stderr, "forage: 'forage check --repair' keeps what can be kept of a damaged store")
	}
	switch {
	case e != nil:
		return e.code
	// The commands that cobra adds (completion) check their arguments by its own errors, which
	// have no type: the check is made again.
	case cmd.ValidateArgs(cmd.Flags().Args()) != nil:
		return exitUsage
	}
	return exitFailed
}

func rootCmd() *cobra.Command {
	root := &cobra.Command{
		Use:   "forage",
		Short: "A web crawler that finds more of the web with fewer fetches",
		Long: `Forage is a web crawler that finds more of the web with fewer fetches: it visits a site
once, comes back with a budget of a few requests, and tells which pages are new.`,
		Example:       "  forage demo\n  forage crawl https://example.org/\n  forage revisit --budget 10\n  forage pages --new-since 2",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				hint := ""
				if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
					hint = fmt.Sprintf(" (did you mean %s?)", strings.Join(near, " or "))
				}
				return usagef("there is no command %q%s; 'forage --help' lists them", args[0], hint)
			}
			return cmd.Help()
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; see '%s --help'", flagError(err), cmd.CommandPath())
	})
	group := func(id, title string, cmds ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, c := range cmds {
			c.GroupID = id
		}
		root.AddCommand(cmds...)
	}
	group("crawl", "Crawl and come back:", crawlCmd(), revisitCmd(), watchCmd())
	group("store", "Look into a store, also beside a running crawl:", statusCmd(), pagesCmd(), eventsCmd(), explainCmd(), exportCmd(), importCmd(), backupCmd(), checkCmd())
	group("steer", "Steer a running crawl:", append(steerCmds(), webhooksCmd())...)
	group("decide", "Decide on graphs of any kind:", seedCmd(), exploreCmd(), retainCmd(), coverCmd(), graphCmd())
	group("see", "See how it works:", demoCmd(), replayCmd(), inspectCmd(), labCmd())
	return root
}

// flagError says what a flag wants: what the standard library's parsers find is put into words, and the
// rest says so by itself.
func flagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	wants := map[string]string{"bool": "true or false", "int": "a whole number", "int64": "a whole number", "uint64": "a whole number of at least 0", "float64": "a number"}
	if want := wants[invalid.GetFlag().Value.Type()]; want != "" {
		return fmt.Errorf("--%s wants %s, got %q", invalid.GetFlag().Name, want, invalid.GetValue())
	}
	return fmt.Errorf("--%s: %w", invalid.GetFlag().Name, invalid.Unwrap())
}

// version tells which forage this is, for reports: the release, the commit that it was built from
// where the build knew it, and what it was built with.
func version() string {
	of := map[string]string{}
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			of[s.Key] = s.Value
		}
	}
	built := []string{runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	if of["vcs.modified"] == "true" {
		built = slices.Insert(built, 0, "changed")
	}
	if of["vcs.revision"] != "" {
		built = slices.Insert(built, 0, "commit "+of["vcs.revision"])
	}
	return fetch.Version + " (" + strings.Join(built, ", ") + ")"
}

// arguments makes an error of a wrong number of arguments one of usage.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef("%w; see '%s --help'", err, cmd.CommandPath())
		}
		return nil
	}
}
