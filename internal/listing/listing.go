// Package listing has what the commands that list or export what stores hold share, those of forage and those of forage-shard: the flags by which pages
// are chosen, how they are written, and which documents are left out as their site asks for.
package listing

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"forage/report"
	"forage/store"
)

// Pages are the flags of a command that lists pages.
type Pages struct {
	Respect                   Respect
	New, Changed, Gone, Moved Since

	flags         *pflag.FlagSet
	selection     report.Selection
	format, match string
	json          bool
	to            format
}

// Add adds the flags.
func (p *Pages) Add(f *pflag.FlagSet) {
	p.flags = f
	f.Var(&p.New, "new-since", "only pages that are new since a cycle or time")
	f.Var(&p.Changed, "changed-since", "only pages whose content changed since")
	f.Var(&p.Gone, "gone-since", "only pages that have gone since")
	f.Var(&p.Moved, "moved-since", "only pages that were found to be others at a new URL since")
	f.StringVar(&p.selection.Kind, "kind", "", "only pages of this kind: "+strings.Join(report.Kinds, ", "))
	f.StringVar(&p.selection.Site, "site", "", "only pages of this site")
	f.StringVar(&p.match, "match", "", "only URLs that match this regular expression")
	f.BoolVar(&p.selection.Unknown, "include-unknown", false, "with --new-since: also pages that may be new")
	f.BoolVar(&p.selection.Duplicates, "duplicates", false, "also pages that repeat another one, and with --new-since those that have moved")
	f.BoolVar(&p.selection.Excluded, "include-excluded", false, "also pages that rules leave out which came after they were fetched")
	f.BoolVar(&p.selection.All, "all-documents", false, "also feeds and sitemaps")
	p.Respect.Add(f)
	f.StringVar(&p.format, "format", "txt", "txt, csv or jsonl")
	f.BoolVar(&p.json, "json", false, "the same as --format jsonl")
}

// Check finds what is wrong with the flags, once they are read, and before anything else is called.
func (p *Pages) Check() (err error) {
	if p.json {
		if p.flags.Changed("format") && p.format != "jsonl" {
			return fmt.Errorf("--json and --format %s contradict each other", p.format)
		}
		p.format = "jsonl"
	}
	known := false
	if p.to, known = formats[p.format]; !known {
		return fmt.Errorf("unknown format %q; known: jsonl csv txt", p.format)
	}
	if p.selection.Kind != "" && !slices.Contains(report.Kinds, p.selection.Kind) {
		return fmt.Errorf("unknown kind %q; known: %s", p.selection.Kind, strings.Join(report.Kinds, " "))
	}
	if p.selection.Match, err = regexp.Compile(p.match); err != nil {
		return fmt.Errorf("--match: %w", err)
	}
	p.selection.New, p.selection.Changed, p.selection.Gone, p.selection.Moved = p.New.Since, p.Changed.Since, p.Gone.Since, p.Moved.Since
	return nil
}

// Site is the site whose pages alone are listed; "": there is none.
func (p *Pages) Site() string { return p.selection.Site }

// Since are the flags that name a cycle or a time.
func (p *Pages) Since() []Since { return []Since{p.New, p.Changed, p.Gone, p.Moved} }

// A List is a list of pages that is written, of one store or of several.
type List struct {
	pages *Pages
	out   *bufio.Writer
	write writer
}

// To begins a list.
func (p *Pages) To(w io.Writer) *List {
	out := bufio.NewWriter(w)
	return &List{p, out, p.to.writer(out)}
}

// ErrNoSite says that a store does not have the site that was named.
var ErrNoSite = errors.New("there is no such site")

// Add writes the pages of a store. Errors: ErrNoSite, and nothing is written then; those of the store and of what is written to.
func (l *List) Add(v *store.View) error {
	s := l.pages.selection
	if s.Site != "" {
		if _, err := v.SiteNamed(s.Site); errors.Is(err, store.ErrNotFound) {
			return ErrNoSite
		} else if err != nil {
			return err
		}
	}
	s.Keep = l.pages.Respect.Keep()
	return s.Pages(v, l.pages.to.brief, l.write)
}

// End ends the list.
func (l *List) End() error { return errors.Join(l.write(nil), l.out.Flush()) }
