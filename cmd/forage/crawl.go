package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"forage/crawl"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/explore"
	"forage/internal/printable"
	"forage/revisit"
	"forage/revisit/paper"
	"forage/store"
)

func crawlCmd() *cobra.Command {
	var (
		ff     fetchFlags
		rules  store.Rules
		file   string
		delay  = time.Second
		depth  = -1
		total  int64
		policy string
		strict bool
		robots string
		asJSON bool
		most   int
	)
	cmd := &cobra.Command{
		Use:   "crawl URL…",
		Short: "Crawl sites fully, or continue an interrupted crawl",
		Long: `Crawl visits the site of each URL for the first time: all pages that links, feeds and
sitemaps lead to within the scope, politely. The store in --dir remembers them. Interrupted
by Ctrl-C, a limit or a crash, the same command goes on where it was; for a site that is
finished it fetches nothing, and 'forage revisit' finds what is new. While another command
works on the store it is that one which does the fetching, and this one tells what came of it.

With --adopt N the crawl may grow: when the sites that were named are done, it takes on sites
that pages of these link to, best first by the pages that a fetch there is expected to find and by
how many registered domains link to them, and visits each with up to 50 fetches; then it is a site
like others, with the rules of the site whose page led there, but that robots.txt always counts.
Who forbids it there, or does not answer, is not adopted. N counts over the life of the store.

With --budget or --max-pages, also of a line of --seeds, the order of the visit decides what is found. It is not that of discovery then:
sitemaps come first, then lists that promise many pages, and once enough pages are known for the fetches that are left, those of
the kinds that have shown to be content. --policy bfs keeps the order of discovery.

A line of --seeds FILE is a URL and, after tabs, key=value fields for its site: scope,
max-pages, max-depth, budget, delay, include, exclude. Of a table as 'forage seed' writes it,
whose first line begins with "url", the first column counts. FILE may be - for stdin.

--header 'HOST Name: value' sends a header field to one host only; $NAME in the value is
taken from the environment, so that secrets stay out of the shell's history. Cookies go where
their file says. Where one of these logs in, links that look like actions are not followed.`,
		Example: "  forage crawl https://example.org/\n  forage crawl --seeds sites.txt --max-pages 1000 --delay 2s\n  forage seed --dir forage-data --k 50 | forage crawl --dir again --seeds - --budget 500",
		RunE: func(cmd *cobra.Command, args []string) error {
			rules.DelayMillis = delay.Milliseconds()
			rules.MaxDepth = max(depth, 0)
			if depth == 0 {
				rules.MaxDepth = -1
			}
			switch robots {
			case "obey":
			case "ignore":
				if ff.contact == "" {
					return usagef("--robots ignore needs --contact URL: whoever wonders must be able to ask")
				}
				rules.Robots, rules.Contact = robots, ff.contact
			default:
				return usagef("--robots %q: want obey or ignore", robots)
			}
			if rules.MaxPages < 0 || rules.Budget < 0 || total < 0 || delay < 0 || depth < -1 {
				return usagef("--max-pages, --max-total, --budget and --delay want 0 or more, --max-depth -1 or more")
			}
			if _, err := explore.New(cmp.Or(policy, "best"), explore.Config{}); err != nil {
				if _, other := paper.New(policy, revisit.Config{}); other == nil {
					return usagef("--policy: %s chooses what 'forage revisit' fetches again; %w", policy, err)
				}
				return usagef("--policy: %w", err)
			}
			if err := checkAdopt(most); err != nil {
				return err
			}
			rules.IgnoreParams = ff.ignore
			allowed, err := ff.addresses()
			if err != nil {
				return err
			}
			for _, a := range allowed {
				rules.AllowPrivate = append(rules.AllowPrivate, a.String())
			}
			if err := scope.CheckRules(rules); err != nil {
				return badInput(err)
			}
			seeds, err := readSeeds(cmd, file, args, rules)
			if err != nil {
				return err
			}
			cfg, err := ff.config(cmd, hostsOf(seeds))
			if err != nil {
				return err
			}
			return ff.run(cmd, cfg, func(ctx context.Context, c *crawl.Crawl, opt crawl.Options) (*crawl.Result, error) {
				opt.MaxTotal, opt.Policy = total, policy
				list := seeds
				seeds = nil // they may be very many, and are not needed twice
				r, err := c.Run(ctx, list, opt)
				if err != nil {
					return nil, err
				}
				return c.Grow(ctx, crawl.Growth{Most: most}, opt, r)
			}, func(r *crawl.Result) error { return printCrawl(cmd, r, asJSON) }, strict)
		},
	}
	ff.add(cmd)
	f := cmd.Flags()
	f.StringVar(&file, "seeds", "", "file of URLs, one a line, with fields for their sites; - for stdin")
	f.StringVar(&rules.Scope, "scope", "host", "what belongs to the site of a URL: host, domain or prefix")
	f.StringArrayVar(&rules.Include, "include", nil, "fetch only URLs that match this regular expression (repeatable)")
	f.StringArrayVar(&rules.Exclude, "exclude", nil, "do not fetch URLs that match this regular expression (repeatable; wins)")
	f.BoolVar(&rules.All, "all", false, "fetch everything, also URLs that are left out because others like them brought nothing (see 'forage status')")
	f.IntVar(&rules.MaxPages, "max-pages", 0, "pages of a site (0: no limit)")
	f.IntVar(&depth, "max-depth", -1, "links from a seed (-1: no limit)")
	f.IntVar(&rules.Budget, "budget", 0, "fetches of a site (0: no limit)")
	f.Int64Var(&total, "max-total", 0, "fetches of this run (0: no limit)")
	f.Var((*delayFlag)(&delay), "delay", "least gap between two requests to a host; 0: none")
	f.StringVar(&policy, "policy", "", "order of the visit: bfs, the order of discovery; best, first what is worth most of the fetches that are left, content or what leads to more of it (default: best with --budget or --max-pages of at most 10,000, else bfs); others as in 'forage explore --help'")
	f.StringVar(&robots, "robots", "obey", "obey or ignore robots.txt; ignore needs --contact")
	adoptFlag(cmd, &most)
	f.BoolVar(&strict, "strict", false, "exit 1 if any site fails, not only if all do")
	f.BoolVar(&asJSON, "json", false, "one JSON object when done")
	return cmd
}

// readSeeds collects the URLs of the arguments and of a file. Wrong lines of the file are
// told; wrong arguments end the command.
func readSeeds(cmd *cobra.Command, file string, args []string, rules store.Rules) ([]scope.Seed, error) {
	var seeds []scope.Seed
	for _, a := range args {
		if err := scope.CheckURL(a); err != nil {
			return nil, badInput(err)
		}
		seeds = append(seeds, scope.Seed{URL: a, Rules: rules})
	}
	if file != "" {
		in, name, err := openSeeds(cmd, file)
		if err != nil {
			return nil, badInput(fmt.Errorf("--seeds: %w", err))
		}
		defer in.Close()
		list, bad, err := scope.ReadSeeds(in, name, rules)
		if err != nil {
			return nil, badInput(err)
		}
		for _, b := range bad {
			fmt.Fprintf(printable.Writer(cmd.ErrOrStderr()), "forage: %v\n", b)
		}
		if len(list) == 0 && len(args) == 0 {
			return nil, usagef("%s: no URL in it", name)
		}
		seeds = append(seeds, list...)
	}
	if len(seeds) == 0 {
		return nil, usagef("want a URL to start from, or --seeds FILE; see 'forage crawl --help'")
	}
	return seeds, nil
}

// openSeeds opens a list of seeds: a file, or stdin for "-". name is for messages.
func openSeeds(cmd *cobra.Command, file string) (in io.ReadCloser, name string, err error) {
	call := callOf(cmd.Context())
	if file != "-" {
		in, err = os.Open(call.path(file))
		return in, file, err
	}
	list, err := call.stdin(cmd.InOrStdin())
	return io.NopCloser(bytes.NewReader(list)), "stdin", err
}

// run opens the store, serves it to other processes, and runs work, which Ctrl-C interrupts; a
// second Ctrl-C ends the process at once. Where another process has the store it runs there.
// print tells of the result; strict: any site that fails is told by the exit code.
func (ff *fetchFlags) run(cmd *cobra.Command, cfg crawl.Config, work func(context.Context, *crawl.Crawl, crawl.Options) (*crawl.Result, error), print func(*crawl.Result) error, strict bool) error {
	on := func(ctx context.Context, c *crawl.Crawl) error {
		opt, done, err := ff.options(cmd)
		if err != nil {
			return err
		}
		r, err := work(ctx, c, opt)
		done()
		if errors.Is(err, plan.ErrNoSite) {
			return badInput(err)
		}
		if err != nil {
			return err
		}
		if r.Cycle != 0 { // else it was interrupted before its turn came
			if err := print(r); err != nil {
				return err
			}
		}
		switch {
		case r.Interrupted:
			return &exitError{exitInterrupted, errors.New("interrupted; the same command goes on where it was")}
		case len(r.Failed) > 0 && (strict || len(r.Failed) == r.Sites):
			return &exitError{exitFailed, fmt.Errorf("%d of %d sites failed", len(r.Failed), r.Sites)}
		}
		return nil
	}
	call := callOf(cmd.Context())
	if own := call.owner; own != nil {
		if own.imports {
			return usagef("the store %s is being imported into: wait for that to end, or end it with 'forage stop --dir %s'", cfg.Dir, cfg.Dir)
		}
		if err := own.fits(ff.given(cmd)); err != nil {
			return err
		}
		err := on(cmd.Context(), own.crawl)
		if errors.Is(err, crawl.ErrHandedBack) {
			call.handedBack = true
			return &exitError{exitFailed, nil} // the other process says what it does
		}
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	cmd.SetContext(ctx)
	return here(cmd, cfg.Dir, cmd.ErrOrStderr(), func() error {
		c, err := crawl.Open(cfg)
		if err != nil {
			return storeError(cfg.Dir, err)
		}
		defer keepLean(c.Held)()
		ending := make(chan struct{})
		server, err := serveStore(cfg.Dir, &ownStore{crawl: c, flags: ff.given(cmd), ending: ending})
		if err != nil {
			return errors.Join(err, c.Close())
		}
		err = on(ctx, c)
		// What others asked for, and what they read for long, they go on with themselves.
		c.HandBack()
		close(ending)
		server.Close(func() { c.DB().EndReads() })
		return errors.Join(err, c.DB().EndReads(), c.Close())
	})
}

// crawlJSON is the result of forage crawl.
type crawlJSON struct {
	Cycle       store.Cycle        `json:"cycle"`
	Cycles      []store.Cycle      `json:"cycles"`
	Sites       int                `json:"sites"`
	Fetched     int64              `json:"fetched"`
	Pages       int64              `json:"pages"`
	Documents   int64              `json:"documents"`
	Duplicates  int64              `json:"duplicates"`
	NewPages    int64              `json:"new_pages"`
	Bytes       int64              `json:"bytes"`
	Requisites  crawl.Requisites   `json:"requisites"`
	Errors      int64              `json:"errors"`
	Failed      []crawl.FailedSite `json:"failed_sites"`
	Finished    []string           `json:"finished_sites"`
	Shells      []string           `json:"shells"`
	Interrupted bool               `json:"interrupted"`
	Cut         any                `json:"stopped_by"`
	Seconds     float64            `json:"seconds"`
	grownJSON
}

func printCrawl(cmd *cobra.Command, r *crawl.Result, asJSON bool) error {
	out, note := cmd.OutOrStdout(), printable.Writer(cmd.ErrOrStderr())
	var finished []string
	for _, s := range r.Finished {
		finished = append(finished, s.Name)
		when := ""
		if s.CrawledAt != 0 {
			when = " on " + time.Unix(s.CrawledAt, 0).UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(note, "forage: %s was crawled%s; nothing is left to fetch. 'forage revisit %s' finds what is new\n", s.Name, when, s.Name)
	}
	for _, s := range r.Failed {
		fmt.Fprintf(note, "forage: %s failed: %s\n", s.Site, s.Reason)
	}
	printGrown(note, r)
	if asJSON {
		return printJSON(out, crawlJSON{r.Cycle, append([]store.Cycle{}, r.Cycles...), r.Sites, r.Fetched, r.Known, r.Documents, r.Duplicates, r.NewPages, r.Bytes, r.Requisites, r.Errors, append([]crawl.FailedSite{}, r.Failed...), append([]string{}, finished...), append([]string{}, r.Shells...), r.Interrupted, orNull(r.Cut), r.Seconds, grown(r)})
	}
	_, err := fmt.Fprintf(out, "%s: %s found, %d known, %s fetched, %s in %s\n", cyclesText(r), plural(r.Pages-r.Copies, "page"), r.Known, plural(r.Fetched, "document"), bytesText(r.Bytes), seconds(r.Seconds))
	if err == nil && r.Cut != "" && !r.Interrupted {
		fmt.Fprintf(note, "forage: stopped by %s; the same command goes on where it was\n", r.Cut)
	}
	return err
}

func bytesText(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%.0f GiB", float64(n)/(1<<30))
	case n >= 10<<20:
		return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.0f KiB", float64(n)/(1<<10))
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(10 * time.Millisecond).String()
}

// cyclesText names the cycles of a result.
func cyclesText(r *crawl.Result) string {
	if n := len(r.Cycles); n > 1 {
		return fmt.Sprintf("%d cycles from %d to %d", n, r.Cycles[0], r.Cycles[n-1])
	}
	return fmt.Sprintf("cycle %d", r.Cycle)
}
