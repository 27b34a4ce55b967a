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

	"forage/graph"
	"forage/internal/printable"
	"forage/store"
)

// selection tells which pages are listed.
type selection struct {
	new, changed, gone, moved since
	site, match, kind         string
	unknown                   bool // with new: also pages that may be new
	duplicates                bool
	all                       bool // feeds and sitemaps too
	excluded                  bool // also what rules leave out that came later
}

func pagesCmd() *cobra.Command {
	var (
		dir, format string
		sel         selection
		asJSON      bool
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

Each page has a kind, by its structure: content is there to be read, a list (archive, tag,
category, pagination) leads to others, a form is to be filled in, a redirect leads away by meta
refresh, a duplicate repeats another page. --kind selects one.

Pages that an --exclude, --include or --max-depth of a later 'forage crawl' leaves out are
kept, but listed with --include-excluded only.`,
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
			if sel.kind != "" && !slices.Contains(kinds, sel.kind) {
				return usagef("unknown kind %q; known: %s", sel.kind, strings.Join(kinds, " "))
			}
			sel.duplicates = sel.duplicates || sel.kind == "duplicate"
			re, err := regexp.Compile(sel.match)
			if err != nil {
				return usagef("--match: %w", err)
			}
			return onStore(cmd, dir, func(v *store.View) error {
				out := bufio.NewWriter(cmd.OutOrStdout())
				if err := listPages(v, &sel, re, to.brief, to.writer(out)); err != nil {
					return err
				}
				return errors.Join(out.Flush(), sel.notYet(v, cmd.ErrOrStderr()))
			})
		},
	}
	dirFlag(cmd, &dir)
	f := cmd.Flags()
	f.Var(&sel.new, "new-since", "only pages that are new since a cycle or time")
	f.Var(&sel.changed, "changed-since", "only pages whose content changed since")
	f.Var(&sel.gone, "gone-since", "only pages that have gone since")
	f.Var(&sel.moved, "moved-since", "only pages that were found to be others at a new URL since")
	f.StringVar(&sel.kind, "kind", "", "only pages of this kind: "+strings.Join(kinds, ", "))
	f.StringVar(&sel.site, "site", "", "only pages of this site")
	f.StringVar(&sel.match, "match", "", "only URLs that match this regular expression")
	f.BoolVar(&sel.unknown, "include-unknown", false, "with --new-since: also pages that may be new")
	f.BoolVar(&sel.duplicates, "duplicates", false, "also pages that repeat another one, and with --new-since those that have moved")
	f.BoolVar(&sel.excluded, "include-excluded", false, "also pages that rules leave out which came after they were fetched")
	f.BoolVar(&sel.all, "all-documents", false, "also feeds and sitemaps")
	f.StringVar(&format, "format", "txt", "txt, csv or jsonl")
	f.BoolVar(&asJSON, "json", false, "the same as --format jsonl")
	return cmd
}

// kinds are those of pages.
var kinds = []string{"content", "list", "form", "redirect", "duplicate"}

// listPages writes the pages selected, by site, then in the order in which they became known; of
// new ones content comes first. brief: of each page the URL is enough.
func listPages(v *store.View, sel *selection, match *regexp.Regexp, brief bool, write pageWriter) error {
	sites, err := v.Sites()
	if err != nil {
		return err
	}
	c := v.Cursor()
	defer c.Close()
	found := false
	for _, s := range sites {
		if sel.site != "" && s.Name != sel.site {
			continue
		}
		found = true
		var rest []graph.Node // new pages that are not content
		var failed error
		list := func(d *store.Doc) {
			p := &page{}
			if p.URL, p.FetchedAs, failed = listedAs(c, d, sel.duplicates); failed != nil || !match.MatchString(p.URL) {
				return
			}
			if !brief {
				failed = p.fill(c, s, d)
			}
			if failed == nil {
				failed = write(p)
			}
		}
		err := c.SiteDocs(s.ID, func(d *store.Doc) bool {
			var ok bool
			switch ok, failed = sel.selects(c, d); {
			case !ok || failed != nil:
			case sel.new.set() && d.KindText() != "content":
				rest = append(rest, d.ID)
			default:
				list(d)
			}
			return failed == nil
		})
		for _, id := range rest {
			if err != nil || failed != nil {
				break
			}
			var d *store.Doc
			if d, err = v.Doc(id); err == nil {
				list(d)
			}
		}
		if err := errors.Join(err, failed); err != nil {
			return err
		}
	}
	if sel.site != "" && !found {
		return usagef("there is no site %q in the store; 'forage status' lists them", sel.site)
	}
	return write(nil)
}

// notYet says so where a list is asked for since a cycle that there has not been: it is empty for that.
func (sel *selection) notYet(v *store.View, stderr io.Writer) error {
	last, err := v.LastCycle()
	for _, s := range []since{sel.new, sel.changed, sel.gone, sel.moved} {
		if s.cycle > last && err == nil {
			_, err = fmt.Fprintf(stderr, "forage: there is no cycle %d yet, the last one is %d\n", s.cycle, last)
		}
	}
	return err
}

// selects reports whether d is to be listed.
func (sel *selection) selects(c *store.Cursor, d *store.Doc) (bool, error) {
	switch {
	case d.LeftOut() && !sel.excluded:
		return false, nil
	case d.Kind != store.Page && !(sel.all && (d.Kind == store.Feed || d.Kind == store.Sitemap)):
		return false, nil
	case d.Kind == store.Page && d.Repeats() && !sel.duplicates:
		return false, nil
	case sel.kind != "" && d.KindText() != sel.kind:
		return false, nil
	case sel.new.set() && !(d.New == store.IsNew || sel.unknown && d.New == store.MaybeNew || sel.duplicates && d.Moved != 0):
		return false, nil
	case sel.new.set() && (d.Cycle < sel.new.cycle || d.FirstSeen < sel.new.time):
		return false, nil
	case sel.gone.set() && (d.Gone == 0 || d.Gone < sel.gone.time || d.GoneIn < sel.gone.cycle):
		return false, nil
	case sel.moved.set() && (d.Moved == 0 || d.Moved < sel.moved.time || d.MovedIn < sel.moved.cycle):
		return false, nil
	case sel.changed.set():
		if d.Changed == 0 || d.Changed < sel.changed.time {
			return false, nil
		}
		return changedSince(c, d, sel.changed.cycle)
	}
	return true, nil
}

// changedSince reports whether a fetch in cycle c or later found another body than before. The
// cycles of a site have ascending numbers, so that one number serves for all sites.
func changedSince(c *store.Cursor, d *store.Doc, cycle store.Cycle) (changed bool, err error) {
	if cycle == 0 {
		return true, nil
	}
	last := uint64(0)
	err = c.Visits(d, func(visit store.Visit) bool {
		if visit.Digest != 0 {
			changed = changed || last != 0 && visit.Digest != last && visit.Cycle >= cycle
			last = visit.Digest
		}
		return true
	})
	return changed, err
}

// A page is one record of the list.
type page struct {
	URL         string `json:"url"`
	Site        string `json:"site"`
	New         string `json:"new"`
	FirstSeen   any    `json:"first_seen"`
	Cycle       uint32 `json:"cycle"`
	FoundOn     any    `json:"found_on"`
	Status      any    `json:"status"`
	Title       any    `json:"title"`
	Canonical   any    `json:"canonical"`
	ContentType any    `json:"content_type"`
	Digest      any    `json:"digest"`
	Bytes       int64  `json:"bytes"`
	Published   any    `json:"published"`
	LastMod     any    `json:"lastmod"`
	Depth       int    `json:"depth"`
	LastFetched any    `json:"last_fetched"`
	Changed     any    `json:"changed"`
	Gone        any    `json:"gone"`
	Moved       any    `json:"moved"`      // when it was found to be MovedFrom
	MovedFrom   any    `json:"moved_from"` // the URL that it had
	DuplicateOf any    `json:"duplicate_of"`
	FetchedAs   any    `json:"fetched_as"` // the URL that was fetched, where that stands for URL
	Kind        string `json:"kind"`
	Visits      int    `json:"visits"`             // fetches that were answered
	Changes     int    `json:"changes"`            // of them, those that found another body than the one before
	LeftOut     any    `json:"left_out,omitempty"` // the rule that leaves it out; absent: none does
}

// appendJSON appends p as printJSON writes it, without reflection: a list may have millions.
func (p *page) appendJSON(b []byte) []byte {
	b = append(b, '{')
	for i, f := range [...]struct {
		key string
		val any
	}{
		{"url", p.URL}, {"site", p.Site}, {"new", p.New}, {"first_seen", p.FirstSeen}, {"cycle", int64(p.Cycle)}, {"found_on", p.FoundOn},
		{"status", p.Status}, {"title", p.Title}, {"canonical", p.Canonical}, {"content_type", p.ContentType}, {"digest", p.Digest},
		{"bytes", p.Bytes}, {"published", p.Published}, {"lastmod", p.LastMod}, {"depth", p.Depth}, {"last_fetched", p.LastFetched},
		{"changed", p.Changed}, {"gone", p.Gone}, {"moved", p.Moved}, {"moved_from", p.MovedFrom}, {"duplicate_of", p.DuplicateOf},
		{"fetched_as", p.FetchedAs}, {"kind", p.Kind}, {"visits", p.Visits}, {"changes", p.Changes}, {"left_out", p.LeftOut},
	} {
		if f.key == "left_out" && f.val == nil {
			continue
		}
		b = append(b, ","[:min(i, 1)]...)
		b = append(append(append(b, '"'), f.key...), '"', ':')
		switch v := f.val.(type) {
		case nil:
			b = append(b, "null"...)
		case string:
			b = printable.AppendString(b, v)
		case int:
			b = strconv.AppendInt(b, int64(v), 10)
		case int64:
			b = strconv.AppendInt(b, v, 10)
		default:
			panic(fmt.Sprintf("page: %s is a %T", f.key, v)) // a test writes all of them
		}
	}
	return append(b, '}')
}

// listedAs returns the URL that d is listed under, and the one that was fetched where that is another.
// own: under its own URL, even where it stands for another one.
func listedAs(c *store.Cursor, d *store.Doc, own bool) (url string, fetched any, err error) {
	if !d.Stands || own {
		return d.URL, nil, nil
	}
	if url, err = c.URL(d.DuplicateOf); err != nil {
		return "", nil, fmt.Errorf("document %d: %w", d.DuplicateOf, err)
	}
	return url, d.URL, nil
}

// fill sets what is known of d, which listedAs has named.
func (p *page) fill(c *store.Cursor, s *store.Site, d *store.Doc) error {
	*p = page{
		URL: p.URL, FetchedAs: p.FetchedAs, Site: s.Name, New: d.New.String(), FirstSeen: stamp(d.FirstSeen), Cycle: uint32(d.Cycle),
		Status: orNull(d.Status), Title: orNull(d.Title), Canonical: orNull(d.Canonical), ContentType: orNull(d.ContentType),
		Bytes: d.Bytes, Published: stamp(d.Published), LastMod: stamp(d.LastMod), Depth: d.Depth,
		LastFetched: stamp(d.LastFetched), Changed: stamp(d.Changed), Gone: stamp(d.Gone), Moved: stamp(d.Moved), Kind: d.KindText(), Visits: d.Visits, Changes: d.Changes,
	}
	if d.LeftOut() {
		p.LeftOut = d.Reason
	}
	if d.Digest != 0 {
		p.Digest = fmt.Sprintf("%016x", d.Digest)
	}
	var err error
	if p.FoundOn, err = urlOf(c, d.FoundOn); err != nil {
		return err
	}
	if d.Moved != 0 {
		if p.MovedFrom, err = urlOf(c, d.MovedFrom); err != nil {
			return err
		}
	}
	if p.FetchedAs == nil {
		p.DuplicateOf, err = urlOf(c, d.DuplicateOf)
	}
	return err
}

// urlOf returns the URL of a document, nil for graph.None.
func urlOf(c *store.Cursor, id graph.Node) (any, error) {
	if id == graph.None {
		return nil, nil
	}
	url, err := c.URL(id)
	if err != nil {
		return nil, fmt.Errorf("document %d: %w", id, err)
	}
	return url, nil
}

// A pageWriter writes a page; nil ends the list.
type pageWriter func(*page) error

// A pageFormat is how pages are written.
type pageFormat struct {
	brief  bool // of a page it writes the URL alone
	writer func(io.Writer) pageWriter
}

var pageFormats = map[string]pageFormat{
	"txt": {true, func(w io.Writer) pageWriter {
		return func(p *page) error {
			if p == nil {
				return nil
			}
			_, err := fmt.Fprintln(w, printable.Text(p.URL))
			return err
		}
	}},
	"jsonl": {false, func(w io.Writer) pageWriter {
		var line []byte
		return func(p *page) error {
			if p == nil {
				return nil
			}
			line = append(p.appendJSON(line[:0]), '\n')
			_, err := w.Write(line)
			return err
		}
	}},
	"csv": {false, func(w io.Writer) pageWriter {
		c := csv.NewWriter(w)
		c.Write(strings.Fields("url site new first_seen cycle found_on status title canonical content_type digest bytes published lastmod depth last_fetched changed gone duplicate_of kind visits changes left_out moved moved_from fetched_as"))
		return func(p *page) error {
			if p == nil {
				c.Flush()
				return c.Error()
			}
			cells := []any{
				p.URL, p.Site, p.New, p.FirstSeen, p.Cycle, p.FoundOn, p.Status, p.Title, p.Canonical, p.ContentType, p.Digest,
				p.Bytes, p.Published, p.LastMod, p.Depth, p.LastFetched, p.Changed, p.Gone, p.DuplicateOf, p.Kind, p.Visits, p.Changes, p.LeftOut,
				p.Moved, p.MovedFrom, p.FetchedAs,
			}
			row := make([]string, len(cells))
			for i, x := range cells {
				switch x := x.(type) {
				case nil:
				case string:
					row[i] = printable.Cell(x)
				case int:
					row[i] = strconv.Itoa(x)
				default: // numbers
					row[i] = fmt.Sprint(x)
				}
			}
			return c.Write(row)
		}
	}},
}
