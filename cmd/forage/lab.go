package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"forage/internal/atomicfile"
	"forage/lab"
	"forage/snap"
	"forage/store"
)

func labCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Reproduce a table or figure of the papers",
		Long: `Lab reproduces the tables and figures of the four papers that forage starts from, with
the code that the live crawl runs, on data that you have: site histories (*.snap.gz),
networks (*.tsv.gz), graphs. Each result is a table (CSV), the same with notes (JSON)
and, where there is one, a figure (SVG). 'lab fit' fits a policy to histories.`,
		Example: "  forage lab list\n  forage lab run discoverability-data --data sites -o results",
	}
	cmd.AddCommand(labListCmd(), labRunCmd(), labFitCmd())
	return cmd
}

func labListCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the tables and figures",
		Example: "  forage lab list",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, e := range lab.Experiments() {
				if asJSON {
					if err := printJSON(cmd.OutOrStdout(), map[string]any{"name": e.Name, "title": e.Title}); err != nil {
						return err
					}
					continue
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%-28s %s\n", e.Name, e.Title)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return cmd
}

func labRunCmd() *cobra.Command {
	var (
		env    lab.Env
		dir    string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:     "run NAME",
		Short:   "Run one and write NAME.csv, NAME.json and, of figures, NAME.svg",
		Example: "  forage lab run discoverability-data --data sites -o results",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, others := lab.Find(args[0])
			if e == nil {
				return usagef("there is no experiment %q; known: %s", args[0], strings.Join(others, " "))
			}
			env.Progress = cmd.ErrOrStderr()
			start := time.Now()
			var r *lab.Result
			run := func(v *store.View) error {
				env.Store, env.Out = v, callOf(cmd.Context()).path(env.Out)
				var err error
				r, err = e.Run(cmd.Context(), &env)
				if err != nil {
					return labError(e.Name, err)
				}
				return r.Write(env.Out, e.Name)
			}
			var err error
			switch {
			case !cmd.Flags().Changed("dir"):
				if err := isData(env.Data, "the experiment's inputs: site histories, networks or graphs"); err != nil {
					return err
				}
				err = run(nil)
			case !e.TakesStore():
				return usagef("%s reads no store; --dir is for discoverability-table1 and discoverability-fig7", e.Name)
			default:
				err = onStore(cmd, dir, run)
			}
			if err != nil {
				return err
			}
			if r == nil {
				return nil // the process that owns the store has done it
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"name": e.Name, "rows": len(r.Rows), "notes": r.Notes, "seconds": time.Since(start).Seconds()})
			}
			return r.Text(cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.StringVar(&env.Data, "data", ".", "folder of the data, searched recursively")
	f.StringVar(&dir, "dir", "forage-data", "folder of a store: discoverability-table1 and -fig7 then show its web in place of a generated one")
	f.StringVarP(&env.Out, "output", "o", ".", "folder for the results")
	f.Uint64Var(&env.Seed, "seed", 1, "seed of everything random")
	f.IntVar(&env.Runs, "runs", 0, "repetitions (0: the experiment's own number)")
	f.BoolVar(&env.Full, "full", false, "larger graphs too, ten times the pages: stability-lemma5, -theorem1, -theorem2, -theorem3, -buffer, -variants, -models, de-crawler-others")
	f.BoolVar(&env.PaperFilter, "paper-filter", false, "discoverability-data: only sites with 100 to 200,000 pages in every snapshot")
	f.BoolVar(&asJSON, "json", false, "one JSON object when done")
	return cmd
}

// isData returns the error that says what to do where there is no folder of data.
func isData(dir, holds string) error {
	if _, err := os.Stat(dir); err != nil {
		return usagef("--data: %w; name a folder that holds %s", err, holds)
	}
	return nil
}

// labError tells errors of the data from others.
func labError(name string, err error) error {
	var syntax *snap.SyntaxError
	var unfit *lab.DataError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &syntax) || errors.As(err, &unfit) {
		return badInput(err)
	}
	return fmt.Errorf("lab %s: %w", name, err)
}

func labFitCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "fit",
		Short:   "Fit the numbers of a policy to site histories",
		Example: "  forage lab fit revisit --data sites -o prior.json",
	}
	cmd.AddCommand(labFitRevisitCmd())
	return cmd
}

func labFitRevisitCmd() *cobra.Command {
	var (
		env          lab.Env
		cfg          lab.FitConfig
		folds        int
		fold, output string
	)
	cmd := &cobra.Command{
		Use:   "revisit",
		Short: "Fit the numbers of 'forage revisit --policy best'",
		Long: `Fit revisit looks for the numbers by which 'forage revisit --policy best' finds most new pages, and
finds them soonest, at the sites whose histories of commits (SNAP3, *.snap.gz) are below
--data. It writes them as JSON, for 'forage revisit --prior'. The same histories and seed give
the same bytes.

With --fold I/N, from 1/N to N/N, it leaves out the sites of one of N parts. The name of a site
alone says to which it belongs. What is found there then does not come from its own history.
With --folds N it does so for each part and then for all sites, in little more time than for
one, and writes 1.json to N.json and prior.json into the folder --output.`,
		Example: "  forage lab fit revisit --data sites -o prior.json\n  forage lab fit revisit --data sites --folds 10 -o fits",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if fold != "" {
				var err error
				if cfg.Fold, cfg.Folds, err = parseFold(fold); err != nil {
					return usagef("--fold: %w", err)
				}
			}
			if cmd.Flags().Changed("folds") {
				switch {
				case folds < 2:
					return usagef("--folds: want 2 parts or more, got %d", folds)
				case fold != "":
					return usagef("--folds fits without each part in turn, --fold without one: give one of them")
				case output == "":
					return usagef("--folds writes several files: name a folder for them with --output")
				}
			}
			if cfg.Rounds < 1 {
				return usagef("--rounds: want 1 or more, got %d", cfg.Rounds)
			}
			if cfg.Draws < 1 {
				return usagef("--draws: want 1 or more, got %d", cfg.Draws)
			}
			if err := isData(env.Data, "histories of commits (SNAP3, *.snap.gz)"); err != nil {
				return err
			}
			if output != "" { // said now, not after minutes
				dir := filepath.Dir(output)
				if folds > 0 {
					dir = output
				}
				if info, err := os.Stat(dir); err != nil {
					return usagef("--output: %w", err)
				} else if !info.IsDir() {
					return usagef("--output: %s is no folder", dir)
				}
			}
			env.Progress = cmd.ErrOrStderr()
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			if folds > 0 {
				fits, err := lab.FitFolds(ctx, &env, folds, cfg)
				if err != nil {
					return labError("fit revisit", err)
				}
				for i, f := range fits {
					name := "prior.json"
					if i < folds {
						name = fmt.Sprintf("%d.json", i+1)
					}
					if err := atomicfile.Write(filepath.Join(output, name), f.JSON()); err != nil {
						return err
					}
				}
				return nil
			}
			f, err := lab.Fit(ctx, &env, cfg)
			if err != nil {
				return labError("fit revisit", err)
			}
			if output == "" {
				_, err = cmd.OutOrStdout().Write(f.JSON())
				return err
			}
			return atomicfile.Write(output, f.JSON())
		},
	}
	f := cmd.Flags()
	f.StringVar(&env.Data, "data", ".", "folder of the data, searched recursively")
	f.StringVar(&fold, "fold", "", "I/N: leave out the sites of the Ith of N parts, the first being 1/N")
	f.IntVar(&folds, "folds", 0, "fit without each of so many parts, and to all")
	f.StringVarP(&output, "output", "o", "", "file for the numbers (standard output), with --folds the folder for the files")
	f.Uint64Var(&env.Seed, "seed", 1, "seed of everything random")
	f.IntVar(&cfg.Rounds, "rounds", lab.FitRounds, "rounds of the search")
	f.IntVar(&cfg.Draws, "draws", lab.FitDraws, "vectors of numbers judged in each round")
	return cmd
}

// parseFold reads I/N.
func parseFold(text string) (i, n int, err error) {
	before, after, _ := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(before)
	n, err2 := strconv.Atoi(after)
	if err1 != nil || err2 != nil || n < 2 || i < 1 || i > n {
		return 0, 0, fmt.Errorf("want I/N, one of 2 parts or more, such as 1/10 to 10/10, got %q", text)
	}
	return i, n, nil
}
