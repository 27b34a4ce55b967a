package main

import (
	"errors"

	"github.com/spf13/cobra"

	"forage/internal/listing"
	"forage/store"
)

func pagesCmd() *cobra.Command {
	var (
		dir string
		p   listing.Pages
	)
	cmd := &cobra.Command{
		Use:   "pages",
		Short: "List the pages that are known, or only new, changed, gone or moved ones",
		Long: `Pages lists the pages that once answered with HTML: one URL a line, or with --format
jsonl or csv everything that is known of each. Pages that repeat the body of another, or
name it canonical, are left out unless --duplicates is given. A page that names one canonical
which has not been fetched stands for that one, and is listed under its URL.

With --new-since it lists the pages that are certainly new since a cycle (inclusive) or a
time, those first that are there to be read; --include-unknown adds those that nobody can
date, because the first visit was cut short before it reached them, and those that a budgeted
cycle found as redirects by meta refresh, which are new once they are pages of their own.
--gone-since lists those that have gone, --moved-since those that were found to be others at a
new URL; moved_from is the one that they had. They are not new, but copies of what was there:
--new-since lists them with --duplicates.

In JSON and CSV, duplicate_near is the first page of the site whose text is nearly the same: that
of both differs in so few words that at most 3 of 64 bits of their simhashes do. Such pages are
listed like any other.

Each page has a kind, by its structure: content is there to be read, a list (archive, tag,
category, pagination) leads to others, a form is to be filled in, a redirect leads away by meta
refresh, a duplicate repeats another page. --kind selects one.

Pages that an --exclude, --include or --max-depth of a later 'forage crawl' leaves out are
kept, but listed with --include-excluded only.

--respect leaves out pages whose site asks for that: noindex and noarchive by meta robots or
X-Robots-Tag, tdm where the right to mine text and data is reserved, by tdm-reservation,
Content-Usage or Content-Signal. Without it they are listed, and the key use in JSON tells
what was said.`,
		Example: "  forage pages --new-since 3\n  forage pages --new-since 3 --kind content\n  forage pages --site example.org --match '/blog/' --format jsonl",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := p.Check(); err != nil {
				return badInput(err)
			}
			return onStore(cmd, dir, func(v *store.View) error {
				list := p.To(cmd.OutOrStdout())
				err := list.Add(v)
				if errors.Is(err, listing.ErrNoSite) {
					return usagef("there is no site %q in the store; 'forage status' lists them", p.Site())
				}
				if err != nil {
					return err
				}
				p.Respect.Tell(cmd.ErrOrStderr(), "forage")
				return errors.Join(list.End(), listing.NotYet(v, cmd.ErrOrStderr(), "forage", p.Since()...))
			})
		},
	}
	dirFlag(cmd, &dir)
	p.Add(cmd.Flags())
	return cmd
}
