package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

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
and, where there is one, a figure (SVG).`,
		Example: "  forage lab list\n  forage lab run discoverability-data --data sites -o results",
	}
	cmd.AddCommand(labListCmd(), labRunCmd())
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
				var syntax *snap.SyntaxError
				var unfit *lab.DataError
				if errors.Is(err, fs.ErrNotExist) || errors.As(err, &syntax) || errors.As(err, &unfit) {
					return badInput(err)
				}
				if err != nil {
					return fmt.Errorf("lab %s: %w", e.Name, err)
				}
				return r.Write(env.Out, e.Name)
			}
			var err error
			switch {
			case !cmd.Flags().Changed("dir"):
				if _, err := os.Stat(env.Data); err != nil {
					return usagef("--data: %w; name a folder that holds the experiment's inputs: site histories, networks or graphs", err)
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
	f.BoolVar(&env.PaperFilter, "paper-filter", false, "discoverability-data: only sites with 100 to 200,000 pages in every snapshot")
	f.BoolVar(&asJSON, "json", false, "one JSON object when done")
	return cmd
}
