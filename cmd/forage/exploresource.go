package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"forage/explore"
	"forage/explore/sample"
	"forage/fetch"
	"forage/source"
)

// live are the flags of an exploration of a live source.
type live struct {
	source       string
	dir          string
	requests     int
	time         time.Duration
	pages        int
	raw          bool
	pseudonymize string
	private      []string
	contact      string
}

func (l *live) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&l.source, "source", "", "explore a live API instead: "+strings.Join(source.Presets(), ", ")+" (with :HOST where it needs one) or a FILE.json that describes it")
	f.StringVarP(&l.dir, "output", "o", "", "folder for the sample: nodes, arcs, steps; live: where it holds some already, the exploration goes on")
	f.IntVar(&l.requests, "budget-requests", 0, "live: requests in all (0: no limit)")
	f.DurationVar(&l.time, "budget-time", 0, "live: time from now (0: no limit)")
	f.IntVar(&l.pages, "max-pages-per-node", 0, "live: requests for one list (0: no limit); a node with more is truncated")
	f.BoolVar(&l.raw, "raw", false, "live: keep the answers as they came")
	f.StringVar(&l.pseudonymize, "pseudonymize", "", "live: replace names and texts by hashes with the key in this file")
	f.StringSliceVar(&l.private, "allow-private", nil, "live: address ranges that a name may lead to although they are not public; addresses that the description names are allowed")
	f.StringVar(&l.contact, "contact", "", "live: URL or mail address where the operator can be reached")
}

// live explores an API.
func (f *exploreFlags) live(cmd *cobra.Command) error {
	l := &f.of
	switch {
	case f.start == "":
		return usagef("--source wants --start ID, the node to begin with")
	case l.dir == "":
		return usagef("--source wants -o DIR, a folder for what is collected")
	case cmd.Flags().Changed("budget") && f.budget.isPct:
		return usagef("--budget %s: nobody knows how many nodes there are; want a number", f.budget.text)
	case !cmd.Flags().Changed("budget") && l.requests == 0 && l.time == 0:
		return usagef("--source wants a budget: --budget, --budget-requests or --budget-time")
	case cmd.Flags().Changed("budget") && f.budget.n < 1:
		return usagef("--budget 0: want at least 1 query")
	case l.requests < 0 || l.time < 0 || l.pages < 0:
		return usagef("--budget-requests, --budget-time and --max-pages-per-node want at least 0")
	case f.runs != 1:
		return usagef("--runs %d: a live source is explored once", f.runs)
	case f.policy == "med":
		return usagef("--policy med: the oracle knows the true degrees, which a live source does not tell")
	case l.raw && l.pseudonymize != "":
		return usagef("--raw keeps names that --pseudonymize hides: want one of them")
	}
	d, err := source.Describe(l.source)
	if err != nil {
		return badInput(err)
	}
	var key []byte
	if l.pseudonymize != "" {
		if key, err = os.ReadFile(l.pseudonymize); err != nil {
			return badInput(fmt.Errorf("--pseudonymize: %w", err))
		}
		if len(key) < 16 {
			return usagef("--pseudonymize %s: want a key of at least 16 bytes, such as from 'head -c 32 /dev/urandom'", l.pseudonymize)
		}
	}
	token := ""
	if d.Auth != nil {
		if token = os.Getenv(d.Auth.Env); token == "" && d.Auth.Required {
			return usagef("%s: the environment variable %s with the token is not set", l.source, d.Auth.Env)
		}
	}
	allow, err := fetch.ParseRanges(l.private)
	if err != nil {
		return usagef("--allow-private %w", err)
	}
	budget := 0
	if cmd.Flags().Changed("budget") {
		budget = f.budget.n
	}
	client := source.Client{
		Description: d, HTTP: sample.HTTPClient(d, allow), Agent: fetch.Agent(l.contact), Token: token,
		MaxPages: l.pages, MaxRequests: l.requests, KeepRaw: l.raw,
	}
	if change := callOf(cmd.Context()).api; change != nil {
		change(&client)
	}
	began := time.Now()
	e, err := sample.Open(sample.Config{
		Dir: l.dir, Key: key, Source: l.source, Start: f.start, Policy: f.policy, Seed: f.seed, Directed: f.directed || d.Directed,
		Budget: budget, Time: l.time, Warn: func(text string) { fmt.Fprintf(cmd.ErrOrStderr(), "forage: %s\n", text) },
		Client: client,
	})
	if err != nil {
		return badInput(err)
	}
	defer e.Close()
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	runErr := e.Run(ctx)
	if runErr != nil && e.Queries() == 0 {
		e.Discard()
		if errors.Is(runErr, context.Canceled) {
			return &exitError{exitInterrupted, errors.New("interrupted before the first answer")}
		}
		return sourceError(runErr)
	}
	if err := e.Write(runErr == nil); err != nil {
		return err
	}
	if runErr != nil {
		if errors.Is(runErr, context.Canceled) {
			return &exitError{exitInterrupted, fmt.Errorf("interrupted after %d queries, all kept; the same command goes on", e.Queries())}
		}
		return fmt.Errorf("%w (%d queries are kept in %s; the same command goes on)", sourceError(runErr), e.Queries(), l.dir)
	}
	o := explore.Outcome{Policy: f.policy, Run: 1, Start: e.Start(), Budget: budget, Queries: e.Queries(), Observed: e.Observed(), Seconds: time.Since(began).Seconds()}
	if f.json {
		return printJSON(cmd.OutOrStdout(), struct {
			explore.Outcome
			Requests int                  `json:"requests"`
			States   map[source.State]int `json:"states"`
		}{o, e.Requests(), e.States()})
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d queries (%d requests), %d nodes observed, in %s\n", o.Queries, e.Requests(), o.Observed, l.dir)
	return err
}

// sourceError makes a description that does not fit the answers bad input.
func sourceError(err error) error {
	if d := (*source.DescriptionError)(nil); errors.As(err, &d) {
		return badInput(fmt.Errorf("the answers are not as the description says: %w", err))
	}
	return err
}
