package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"forage/internal/units"
	"forage/store"
)

func backupCmd() *cobra.Command {
	var (
		dir, output string
		asJSON      bool
	)
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Copy a store as it is now, also beside a running crawl",
		Long: `Backup copies a store, as it is committed at this moment, to a new folder, which is a store
itself: 'forage check --dir FOLDER' verifies it, and any command works on it. Nobody waits for it: a crawl or
'forage watch' goes on meanwhile. The folder is there whole or not at all.`,
		Example: "  forage backup -o backups/2026-11-23\n  forage check --dir backups/2026-11-23",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == "" {
				return usagef("say where to with -o FOLDER")
			}
			if err := named(output); err != nil {
				return err
			}
			path := callOf(cmd.Context()).path(output)
			if samePath(path, callOf(cmd.Context()).path(".")) {
				return usagef("%s is the current folder, in whose place another cannot be put: name a new one", output)
			}
			began := time.Now()
			return onDB(cmd, dir, func(ctx context.Context, db *store.DB) error {
				n, err := db.Backup(ctx, path)
				if errors.Is(err, fs.ErrExist) {
					return usagef("%w", err)
				}
				if err != nil {
					return fmt.Errorf("backup: %w", err)
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), map[string]any{"path": path, "bytes": n, "seconds": time.Since(began).Seconds()})
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s; 'forage check --dir %s' verifies it\n", output, units.Binary(n), output)
				return err
			})
		},
	}
	dirFlag(cmd, &dir)
	f := cmd.Flags()
	f.StringVarP(&output, "output", "o", "", "new folder to copy to")
	f.BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

// samePath reports whether two paths lead to one file or folder that is there.
func samePath(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}
