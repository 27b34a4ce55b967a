package main

import (
	"errors"

	"github.com/spf13/cobra"

	"forage/internal/listing"
	"forage/store"
)

func pagesCmd() *cobra.Command {
	var (
		from storesFlags
		p    listing.Pages
	)
	cmd := &cobra.Command{
		Use:   "pages",
		Short: "List the pages of all partitions, as of their latest checkpoints",
		Long: `Pages lists the pages that once answered with HTML, as 'forage pages' does, of one partition after another. It reads the latest checkpoint of each, and
wants neither a broker nor a process of the crawl. The stores are copied to the folder for temporary files (TMPDIR), one at a time. What was fetched since
the checkpoints is not listed; on stderr it says how old the oldest one is.

Cycles are numbered in each partition: over several of them --new-since and its like want a time.`,
		Example: "  forage-shard pages --checkpoints /shared/checkpoints --new-since 2026-01-31\n  forage-shard pages --checkpoints /shared/checkpoints --site example.org --format jsonl",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.Check(); err != nil {
				return inputError{err}
			}
			for _, s := range p.Since() {
				if s.Since != nil && s.Cycle > 0 && from.several(p.Site()) {
					return usagef("%s is a cycle, of which each partition has its own: give a time such as 2026-01-31T12:00:00Z, or one --partition", s.String())
				}
			}
			list := p.To(cmd.OutOrStdout())
			found := false
			err := from.each(cmd, p.Site(), func(_ int32, v *store.View) error {
				err := list.Add(v)
				if errors.Is(err, listing.ErrNoSite) {
					return nil
				}
				found = true
				return errors.Join(err, listing.NotYet(v, cmd.ErrOrStderr(), "forage-shard", p.Since()...))
			})
			if err == nil && p.Site() != "" && !found {
				err = usagef("no checkpoint has a site %q", p.Site())
			}
			if err != nil {
				return err
			}
			p.Respect.Tell(cmd.ErrOrStderr(), "forage-shard")
			from.tellAge(cmd)
			return list.End()
		},
	}
	from.add(cmd)
	p.Add(cmd.Flags())
	return cmd
}
