package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"forage/internal/printable"
	"forage/store"
)

func checkCmd() *cobra.Command {
	var (
		dir            string
		repair, asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Verify a whole store",
		Long: `Check reads every file of a store and verifies that it holds what was written, that nothing
is missing that was there, and that documents, links, the queue, visits and counts fit together.
It exits with 1 when they do not. With --repair it mends what it finds: of a damaged file all
that can be read is kept, a document that cannot be read is fetched again by the next crawl,
indexes are made anew, what belongs to nothing is dropped. The damaged files stay in a folder
damaged-N in the store, which may be deleted.`,
		Example: "  forage check --dir forage-data",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			problems := int64(0)
			report := func(p store.Problem) {
				problems++
				if problems <= 100 {
					fmt.Fprintf(printable.Writer(cmd.ErrOrStderr()), "forage: %s\n", p)
				}
			}
			if !repair {
				return onStore(cmd, dir, func(v *store.View) error {
					if err := v.Check(report); err != nil {
						return err
					}
					return told(cmd.OutOrStdout(), asJSON, problems, false)
				})
			}
			db, err := store.Open(dir, store.Options{MustExist: true, Repair: report})
			if err != nil {
				return storeError(dir, err)
			}
			left := int64(0)
			_, err = db.Repair(report)
			if err == nil {
				err = db.View.Check(func(store.Problem) { left++ })
			}
			if err = errors.Join(err, db.Close()); err != nil {
				return err
			}
			if left > 0 {
				return fmt.Errorf("%s could not be mended", plural(left, "problem"))
			}
			return told(cmd.OutOrStdout(), asJSON, problems, true)
		},
	}
	dirFlag(cmd, &dir)
	cmd.Flags().BoolVar(&repair, "repair", false, "mend what can be mended")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

// told prints the outcome of a check and returns the error that it means for the exit code.
func told(w io.Writer, asJSON bool, problems int64, repaired bool) error {
	ok := problems == 0 || repaired
	var err error
	switch {
	case asJSON:
		err = printJSON(w, map[string]any{"ok": ok, "problems": problems, "repaired": repaired && problems > 0})
	case problems == 0:
		_, err = fmt.Fprintln(w, "ok: every record is there and fits the others")
	case repaired:
		_, err = fmt.Fprintf(w, "ok: %s repaired\n", plural(problems, "problem"))
	}
	if err == nil && !ok {
		err = fmt.Errorf("%s; 'forage check --repair' mends what can be mended", plural(problems, "problem"))
	}
	return err
}
