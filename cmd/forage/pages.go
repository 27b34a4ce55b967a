package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"forage/internal/printable"
	"forage/report"
	"forage/store"
)

func pagesCmd() *cobra.Command {
	var (
		dir, format string
		sel         report.Selection
		match       string
		asJSON      bool
		heed        respect

		fresh, changed, gone, moved since
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
			if asJSON {
				if cmd.Flags().Changed("format") && format != "jsonl" {
					return usagef("--json and --format %s contradict each other", format)
				}
				format = "jsonl"
			}
			to, ok := pageFormats[format]
			if !ok {
				return usagef("unknown format %q; known: jsonl csv txt", format)
			}
			if sel.Kind != "" && !slices.Contains(report.Kinds, sel.Kind) {
				return usagef("unknown kind %q; known: %s", sel.Kind, strings.Join(report.Kinds, " "))
			}
			var err error
			if sel.Match, err = regexp.Compile(match); err != nil {
				return usagef("--match: %w", err)
			}
			sel.New, sel.Changed, sel.Gone, sel.Moved = fresh.Since, changed.Since, gone.Since, moved.Since
			return onStore(cmd, dir, func(v *store.View) error {
				out := bufio.NewWriter(cmd.OutOrStdout())
				write := to.writer(out)
				if _, err := v.SiteNamed(sel.Site); sel.Site != "" && errors.Is(err, store.ErrNotFound) {
					return usagef("there is no site %q in the store; 'forage status' lists them", sel.Site)
				}
				sel.Keep = heed.keep()
				if err := sel.Pages(v, to.brief, write); err != nil {
					return err
				}
				heed.tell(cmd.ErrOrStderr())
				return errors.Join(write(nil), out.Flush(), notYet(v, cmd.ErrOrStderr(), fresh, changed, gone, moved))
			})
		},
	}
	dirFlag(cmd, &dir)
	f := cmd.Flags()
	f.Var(&fresh, "new-since", "only pages that are new since a cycle or time")
	f.Var(&changed, "changed-since", "only pages whose content changed since")
	f.Var(&gone, "gone-since", "only pages that have gone since")
	f.Var(&moved, "moved-since", "only pages that were found to be others at a new URL since")
	f.StringVar(&sel.Kind, "kind", "", "only pages of this kind: "+strings.Join(report.Kinds, ", "))
	f.StringVar(&sel.Site, "site", "", "only pages of this site")
	f.StringVar(&match, "match", "", "only URLs that match this regular expression")
	f.BoolVar(&sel.Unknown, "include-unknown", false, "with --new-since: also pages that may be new")
	f.BoolVar(&sel.Duplicates, "duplicates", false, "also pages that repeat another one, and with --new-since those that have moved")
	f.BoolVar(&sel.Excluded, "include-excluded", false, "also pages that rules leave out which came after they were fetched")
	f.BoolVar(&sel.All, "all-documents", false, "also feeds and sitemaps")
	respectFlag(cmd, &heed)
	f.StringVar(&format, "format", "txt", "txt, csv or jsonl")
	f.BoolVar(&asJSON, "json", false, "the same as --format jsonl")
	return cmd
}

// notYet says so where a list is asked for since a cycle that there has not been: it is empty for that.
func notYet(v *store.View, stderr io.Writer, asked ...since) error {
	last, err := v.LastCycle()
	for _, s := range asked {
		if s.Since != nil && s.Cycle > last && err == nil {
			_, err = fmt.Fprintf(stderr, "forage: there is no cycle %d yet, the last one is %d\n", s.Cycle, last)
		}
	}
	return err
}

// A pageWriter writes a page; nil ends the list.
type pageWriter func(*report.Page) error

// A pageFormat is how pages are written.
type pageFormat struct {
	brief  bool // of a page it writes the URL alone
	writer func(io.Writer) pageWriter
}

var pageFormats = map[string]pageFormat{
	"txt": {true, func(w io.Writer) pageWriter {
		return func(p *report.Page) error {
			if p == nil {
				return nil
			}
			_, err := fmt.Fprintln(w, printable.Text(p.URL))
			return err
		}
	}},
	"jsonl": {false, func(w io.Writer) pageWriter {
		var line []byte
		return func(p *report.Page) error {
			if p == nil {
				return nil
			}
			line = append(p.AppendJSON(line[:0]), '\n')
			_, err := w.Write(line)
			return err
		}
	}},
	"csv": {false, func(w io.Writer) pageWriter {
		c := csv.NewWriter(w)
		var row []string
		text := func(all ...string) {
			for _, s := range all {
				row = append(row, printable.Cell(s))
			}
		}
		known := func(all ...*string) {
			for _, s := range all {
				if s == nil {
					row = append(row, "")
				} else {
					text(*s)
				}
			}
		}
		number := func(all ...int64) {
			for _, n := range all {
				row = append(row, strconv.FormatInt(n, 10))
			}
		}
		c.Write(strings.Fields("url site new first_seen cycle found_on status title canonical content_type digest bytes published lastmod depth last_fetched changed gone duplicate_of kind visits changes left_out moved moved_from fetched_as duplicate_near"))
		return func(p *report.Page) error {
			if p == nil {
				c.Flush()
				return c.Error()
			}
			row = row[:0]
			text(p.URL, p.Site, p.New)
			known(p.FirstSeen)
			number(int64(p.Cycle))
			known(p.FoundOn)
			if p.Status == nil {
				text("")
			} else {
				number(int64(*p.Status))
			}
			known(p.Title, p.Canonical, p.ContentType, p.Digest)
			number(p.Bytes)
			known(p.Published, p.LastMod)
			number(int64(p.Depth))
			known(p.LastFetched, p.Changed, p.Gone, p.DuplicateOf)
			text(p.Kind)
			number(int64(p.Visits), int64(p.Changes))
			known(p.LeftOut, p.Moved, p.MovedFrom, p.FetchedAs, p.Near)
			return c.Write(row)
		}
	}},
}
