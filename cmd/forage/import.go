package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"forage/crawl"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/ingest"
	"forage/internal/printable"
	"forage/store"
)

// An importer takes in the files of one kind, which were checked, and returns what came of it.
type importer func(ctx context.Context, c *crawl.Crawl, rules *scope.Directory, opt ingest.Options, run crawl.Options) (*imported, error)

// imported is what came of an import.
type imported struct {
	Kind        string           `json:"kind"`
	Records     int64            `json:"records"` // captures, or URLs, that told something new
	Pages       int64            `json:"pages"`   // that became known by them; of lists and indexes URLs, as nothing of them was read
	Bytes       int64            `json:"bytes"`   // of the files
	Read        int64            `json:"read"`    // records, lines or documents in the files
	Known       int64            `json:"known"`   // captures, or URLs, that told nothing new
	Bad         int64            `json:"bad"`     // of those read, that are broken
	Left        map[string]int64 `json:"left_out"`
	Sites       int              `json:"sites"`
	Cycles      []store.Cycle    `json:"cycles"`
	NewPages    int64            `json:"new_pages"`
	Interrupted bool             `json:"interrupted"`
	Seconds     float64          `json:"seconds"`

	unit    string // what Records counts
	listing bool   // nothing was read but which URLs there are
}

func importCmd() *cobra.Command {
	var (
		dir     string
		rules   store.Rules
		maxBody = size(15 << 20)
		asJSON  bool
	)
	var kinds []string
	for _, k := range importKinds {
		kinds = append(kinds, k.name)
	}
	cmd := &cobra.Command{
		Use:   "import KIND FILE…",
		Short: "Take archives, their indexes, lists of URLs or histories into a store",
		Long: `Import takes into a store what others have fetched, or know of. KIND is one of

  warc   the answers in web archives, forage's and others', plain or .gz, files or folders: pages,
         links, visits and what they say of changes are as if they had been crawled then
  cdxj   indexes of archives, CDXJ or CDX, of pywb, Wayback or Common Crawl, in any order: what an
         archive has seen as a page, feed or sitemap is known from its earliest date, and never new
         afterwards; where it was led elsewhere, the URL is known
  urls   lists of URLs, one a line; what stands behind a tab is passed over, and so are empty lines
         and those that begin with #
  snap   the history of a site, as 'forage export snap' writes it: each snapshot is a visit that
         fetched everything, with bodies as 'forage replay' serves them; of a history by commits
         (SNAP3) a snapshot a week

Of cdxj and urls nothing is read but which URLs there are. They wait in the queue: 'forage crawl'
with the URL of a site reads those of that site, 'forage revisit' those of sites that were crawled,
within its budget. They are not new, as somebody knows of them; one that only a list has, and that is
not there when it is read, is new if it comes to be later. Files may be .gz or .zst, and - is the
standard input. A line that is broken is told of, and the rest taken in.

Of warc and snap, the first captures of a site are its first visit, later ones are cycles that come
back to it, at the times at which they were made: so 'forage revisit' knows from the start how often
what changes. What pages link to and no file has waits in the queue, and is not new.

Imported once more, the same files change nothing; an import that was interrupted or killed goes on
with the same command. Nothing is fetched. It has the store to itself.`,
		Example: "  forage import warc archive/*.warc.gz\n" +
			"  forage import cdxj index.cdxj.gz\n" +
			"  forage import urls urls.txt.zst\n" +
			"  forage import snap site.snap.gz",
		Args:      arguments(cobra.MinimumNArgs(2)),
		ValidArgs: kinds,
		RunE: func(cmd *cobra.Command, args []string) error {
			i := slices.Index(kinds, args[0])
			if i < 0 {
				return usagef("there is no import %q; known: %s", args[0], strings.Join(kinds, " "))
			}
			if rules.Scope == "prefix" {
				return usagef("--scope prefix: of a file nobody can tell where a site begins; want host or domain")
			}
			if err := scope.CheckRules(rules); err != nil {
				return badInput(err)
			}
			if k := importKinds[i]; cmd.Flags().Changed("max-body") && !k.bodies {
				return usagef("--max-body is for 'import warc' and 'import snap'; of %s no page is read", k.name)
			}
			if maxBody <= 0 {
				return usagef("--max-body wants more than 0")
			}
			run, err := importKinds[i].of(cmd.Context(), args[1:])
			var wrong *ingest.FileError
			if errors.As(err, &wrong) || errors.Is(err, fs.ErrNotExist) {
				return badInput(err)
			}
			if err != nil {
				return err
			}
			cfg := crawl.Config{Dir: dir, Delay: -1, Parallel: 1, Fetch: fetch.Config{MaxBody: int64(maxBody), Parallel: runtime.GOMAXPROCS(0)}}
			return importing(cmd, cfg, kinds[i], rules, run, asJSON)
		},
	}
	dirFlag(cmd, &dir)
	rules.DelayMillis = time.Second.Milliseconds()
	f := cmd.Flags()
	f.StringVar(&rules.Scope, "scope", "host", "what belongs to the site of a URL, where the store has none that it belongs to: host or domain")
	f.StringArrayVar(&rules.Include, "include", nil, "of new sites, take in only URLs that match this regular expression (repeatable)")
	f.StringArrayVar(&rules.Exclude, "exclude", nil, "of new sites, do not take in URLs that match this regular expression (repeatable; wins)")
	f.StringSliceVar(&rules.IgnoreParams, "ignore-params", nil, "of new sites, query parameters that do not tell pages apart, such as utm_*")
	f.Var(&maxBody, "max-body", "warc, snap: bytes read of a page; the rest is cut")
	f.BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

// An importKind is one kind of files that can be imported.
type importKind struct {
	name   string
	bodies bool                                                        // pages are read
	of     func(ctx context.Context, files []string) (importer, error) // checks files, and returns what takes them in
}

var importKinds = []importKind{{"warc", true, warcImporter}, {"cdxj", false, indexImporter}, {"urls", false, urlImporter}, {"snap", true, historyImporter}}

func warcImporter(_ context.Context, files []string) (importer, error) {
	paths, err := ingest.WARCFiles(files)
	if err != nil {
		return nil, err
	}
	return captureImporter("capture", func(ctx context.Context, rules *scope.Directory, opt ingest.Options) (captures, error) {
		return ingest.OpenArchive(ctx, paths, rules, opt)
	}), nil
}

func historyImporter(ctx context.Context, files []string) (importer, error) {
	if err := ingest.HistoryFiles(ctx, files); err != nil {
		return nil, err
	}
	return captureImporter("document", func(ctx context.Context, rules *scope.Directory, opt ingest.Options) (captures, error) {
		return ingest.OpenHistories(ctx, files, rules, opt)
	}), nil
}

// Captures are those of files that are being read.
type captures interface {
	crawl.Captures
	tallied
	Close()
}

// Tallied tells what was read of files.
type tallied interface {
	Bytes() int64
	Records() int64
	Bad() int64
	Left() map[string]int64
}

// captureImporter returns what takes in the captures of files, unit is what people call one.
func captureImporter(unit string, open func(context.Context, *scope.Directory, ingest.Options) (captures, error)) importer {
	return func(ctx context.Context, c *crawl.Crawl, rules *scope.Directory, opt ingest.Options, run crawl.Options) (*imported, error) {
		from, err := open(ctx, rules, opt)
		if err != nil {
			return nil, err
		}
		defer from.Close()
		r, err := c.Import(ctx, from, run)
		if err != nil {
			return nil, err
		}
		sum := newImported(r, from, r.Pages-r.Copies)
		sum.unit = unit
		return sum, nil
	}
}

func indexImporter(_ context.Context, files []string) (importer, error) {
	return listingImporter(files, ingest.IndexFiles, ingest.OpenIndexes)
}

func urlImporter(_ context.Context, files []string) (importer, error) {
	return listingImporter(files, ingest.URLFiles, ingest.OpenURLs)
}

// listingImporter returns what takes in files of which nothing is read but which URLs they know of.
func listingImporter(files []string, check func([]string) error, open func(context.Context, []string, *scope.Directory, ingest.Options) (*ingest.Listing, error)) (importer, error) {
	if err := check(files); err != nil {
		return nil, err
	}
	return func(ctx context.Context, c *crawl.Crawl, rules *scope.Directory, opt ingest.Options, run crawl.Options) (*imported, error) {
		l, err := open(ctx, files, rules, opt)
		if err != nil {
			return nil, err
		}
		defer l.Close()
		r, err := c.ImportSightings(ctx, l, run)
		if err != nil {
			return nil, err
		}
		sum := newImported(r, l, r.Added)
		sum.unit, sum.listing = "URL", true
		return sum, nil
	}, nil
}

// newImported sums up what came of an import, pages are those that are known by it.
func newImported(r *crawl.Imported, from tallied, pages int64) *imported {
	left := from.Left()
	for why, n := range r.Left {
		left[why] += n
	}
	return &imported{
		Records: r.Taken, Pages: pages, Bytes: from.Bytes(), Read: from.Records(), Known: r.Same, Bad: from.Bad(), Left: left,
		Sites: r.Sites, Cycles: append([]store.Cycle{}, r.Cycles...), NewPages: r.NewPages, Interrupted: r.Interrupted,
	}
}

// importing opens the store and has run take in what there is. Other commands can look into the store meanwhile.
func importing(cmd *cobra.Command, cfg crawl.Config, kind string, defaults store.Rules, run importer, asJSON bool) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	c, err := crawl.Open(cfg)
	var used *store.InUseError
	if errors.As(err, &used) {
		return usagef("%w: an import needs it to itself: wait for the other command to end, or end it with 'forage stop --dir %s'", used, cfg.Dir)
	}
	if err != nil {
		return storeError(cfg.Dir, err)
	}
	defer keepLean(c.Held)()
	ending := make(chan struct{})
	server, err := serveStore(cfg.Dir, &ownStore{crawl: c, imports: true, ending: ending})
	if err != nil {
		return errors.Join(err, c.Close())
	}
	err = importInto(ctx, cmd, cfg.Dir, kind, c, defaults, run, asJSON)
	c.HandBack()
	close(ending)
	server.Close(func() { c.DB().EndReads() })
	return errors.Join(err, c.DB().EndReads(), c.Close())
}

func importInto(ctx context.Context, cmd *cobra.Command, dir, kind string, c *crawl.Crawl, defaults store.Rules, run importer, asJSON bool) error {
	rules, err := scope.NewDirectory(c.View(), defaults)
	if err != nil {
		return err
	}
	began := time.Now()
	tell := printable.Writer(cmd.ErrOrStderr())
	show := importProgress(cmd.ErrOrStderr(), began)
	r, err := run(ctx, c, rules, ingest.Options{
		Scratch: filepath.Join(dir, "import"), Progress: show.read,
		Note: func(text string) { fmt.Fprintf(tell, "forage: %s\n", text) },
	}, crawl.Options{Progress: show.taken, Log: slog.New(plainLog{cmd.ErrOrStderr()})})
	switch {
	case err != nil && ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New("interrupted; the same command goes on where it was")}
	case err != nil:
		var wrong *ingest.FileError
		if errors.As(err, &wrong) {
			return badInput(err)
		}
		return err
	}
	for _, why := range slices.Sorted(maps.Keys(r.Left)) {
		fmt.Fprintf(tell, "forage: left out: %d %s\n", r.Left[why], why)
	}
	r.Kind, r.Seconds = kind, time.Since(began).Seconds()
	if err := r.print(cmd.OutOrStdout(), asJSON); err != nil {
		return err
	}
	if r.Interrupted {
		return &exitError{exitInterrupted, errors.New("interrupted; the same command goes on where it was")}
	}
	return nil
}

func (r *imported) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return printJSON(w, r)
	}
	var text string
	if r.listing {
		text = fmt.Sprintf("%s taken in of %s: %d became known", plural(r.Records, r.unit), bytesText(r.Bytes), r.Pages)
	} else {
		text = fmt.Sprintf("%s taken in of %s: %s", plural(r.Records, r.unit), bytesText(r.Bytes), plural(r.Pages, "page"))
	}
	text += fmt.Sprintf(", %s at %s", plural(int64(len(r.Cycles)), "cycle"), plural(int64(r.Sites), "site"))
	if r.Known > 0 {
		text += fmt.Sprintf("; %d were known", r.Known)
	}
	if r.Bad > 0 {
		text += fmt.Sprintf("; %d cannot be read", r.Bad)
	}
	_, err := fmt.Fprintf(w, "%s, in %s\n", text, seconds(r.Seconds))
	return err
}

// An importShow shows how far an import is: a line every ten seconds.
type importShow struct {
	read  func(done, total int64)
	taken func(crawl.Progress)
}

func importProgress(w io.Writer, began time.Time) (show importShow) {
	var last time.Duration
	line := func(text string, args ...any) {
		if passed := time.Since(began); passed-last >= 10*time.Second {
			last = passed
			fmt.Fprintf(w, "forage: "+text+"\n", args...)
		}
	}
	show.read = func(done, total int64) {
		if total < done { // the standard input
			line("%s read", bytesText(done))
			return
		}
		line("%s of %s read", bytesText(done), bytesText(total))
	}
	show.taken = func(p crawl.Progress) {
		line("%d records taken in (%.0f/s), %d pages read", p.Fetched, float64(p.Fetched)/max(p.Elapsed.Seconds(), 1e-3), p.Pages)
	}
	return show
}
