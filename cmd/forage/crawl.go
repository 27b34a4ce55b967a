package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"forage/crawl"
	"forage/explore"
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
	)
	cmd := &cobra.Command{
		Use:   "crawl URL…",
		Short: "Crawl sites fully, or continue an interrupted crawl",
		Long: `Crawl visits the site of each URL for the first time: all pages that links, feeds and
sitemaps lead to within the scope, politely. The store in --dir remembers them. Interrupted
by Ctrl-C, a limit or a crash, the same command goes on where it was; for a site that is
finished it fetches nothing, and 'forage revisit' finds what is new.

A line of --seeds FILE is a URL and, after tabs, key=value fields for its site: scope,
max-pages, max-depth, budget, delay, include, exclude.

--header 'HOST Name: value' sends a header field to one host only; $NAME in the value is
taken from the environment, so that secrets stay out of the shell's history.`,
		Example: "  forage crawl https://example.org/\n  forage crawl --seeds sites.txt --max-pages 1000 --delay 2s",
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
				return usagef("--max-pages, --max-depth, --max-total, --budget and --delay want 0 or more")
			}
			if _, err := explore.New(policy, explore.Config{}); err != nil {
				if _, other := paper.New(policy, revisit.Config{}); other == nil {
					return usagef("--policy: %s chooses what 'forage revisit' fetches again; %w", policy, err)
				}
				return usagef("--policy: %w", err)
			}
			rules.IgnoreParams = ff.ignore
			if err := crawl.CheckRules(rules); err != nil {
				return badInput(err)
			}
			seeds, err := readSeeds(cmd, file, args, rules)
			if err != nil {
				return err
			}
			cfg, done, err := ff.config(cmd, hostsOf(seeds))
			if err != nil {
				return err
			}
			defer done()
			cfg.MaxTotal, cfg.Policy = total, policy
			cfg.Delay = delay
			for _, s := range seeds {
				cfg.Delay = min(cfg.Delay, time.Duration(s.Rules.DelayMillis)*time.Millisecond)
			}
			r, err := runCrawl(cmd, cfg, func(ctx context.Context, c *crawl.Crawl) (*crawl.Result, error) { return c.Run(ctx, seeds) })
			if err != nil {
				return err
			}
			if err := printCrawl(cmd, r, asJSON); err != nil {
				return err
			}
			switch {
			case r.Interrupted:
				return &exitError{exitInterrupted, errors.New("interrupted; the same command goes on where it was")}
			case len(r.Failed) > 0 && (strict || len(r.Failed) == r.Sites):
				return &exitError{exitFailed, fmt.Errorf("%d of %d sites failed", len(r.Failed), r.Sites)}
			}
			return nil
		},
	}
	ff.add(cmd)
	f := cmd.Flags()
	f.StringVar(&file, "seeds", "", "file of URLs, one a line, with fields for their sites")
	f.StringVar(&rules.Scope, "scope", "host", "what belongs to the site of a URL: host, domain or prefix")
	f.StringArrayVar(&rules.Include, "include", nil, "fetch only URLs that match this regular expression (repeatable)")
	f.StringArrayVar(&rules.Exclude, "exclude", nil, "do not fetch URLs that match this regular expression (repeatable; wins)")
	f.IntVar(&rules.MaxPages, "max-pages", 0, "pages of a site (0: no limit)")
	f.IntVar(&depth, "max-depth", -1, "links from a seed (-1: no limit)")
	f.IntVar(&rules.Budget, "budget", 0, "fetches of a site (0: no limit)")
	f.Int64Var(&total, "max-total", 0, "fetches of this run (0: no limit)")
	f.Var((*delayFlag)(&delay), "delay", "least gap between two requests to a host; 0: none")
	f.StringVar(&policy, "policy", "bfs", "order of the visit: bfs, the order of discovery; best, first what stands where links led to most new URLs (with a limit); others as in 'forage explore --help'")
	f.StringVar(&robots, "robots", "obey", "obey or ignore robots.txt; ignore needs --contact")
	f.BoolVar(&strict, "strict", false, "exit 1 if any site fails, not only if all do")
	f.BoolVar(&asJSON, "json", false, "one JSON object when done")
	return cmd
}

// readSeeds collects the URLs of the arguments and of a file. Wrong lines of the file are
// told; wrong arguments end the command.
func readSeeds(cmd *cobra.Command, file string, args []string, rules store.Rules) ([]crawl.Seed, error) {
	var seeds []crawl.Seed
	for _, a := range args {
		if err := crawl.CheckURL(a); err != nil {
			return nil, badInput(err)
		}
		seeds = append(seeds, crawl.Seed{URL: a, Rules: rules})
	}
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return nil, badInput(fmt.Errorf("--seeds: %w", err))
		}
		defer f.Close()
		list, bad, err := crawl.ReadSeeds(f, file, rules)
		if err != nil {
			return nil, badInput(err)
		}
		for _, b := range bad {
			fmt.Fprintf(cmd.ErrOrStderr(), "forage: %v\n", b)
		}
		if len(list) == 0 && len(args) == 0 {
			return nil, usagef("%s: no URL in it", file)
		}
		seeds = append(seeds, list...)
	}
	if len(seeds) == 0 {
		return nil, usagef("want a URL to start from, or --seeds FILE; see 'forage crawl --help'")
	}
	return seeds, nil
}

// runCrawl opens the store, serves it to other processes, and runs work, which Ctrl-C
// interrupts; a second Ctrl-C ends the process at once.
func runCrawl(cmd *cobra.Command, cfg crawl.Config, work func(context.Context, *crawl.Crawl) (*crawl.Result, error)) (r *crawl.Result, err error) {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	c, err := crawl.Open(cfg)
	if err != nil {
		return nil, storeError(cfg.Dir, err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	closeSocket, err := serveStore(ctx, cfg.Dir, &ownStore{db: c.DB(), crawl: c})
	if err != nil {
		return nil, err
	}
	defer closeSocket()
	r, err = work(ctx, c)
	if errors.Is(err, crawl.ErrNoSite) {
		err = badInput(err)
	}
	return r, err
}

// crawlJSON is the result of forage crawl.
type crawlJSON struct {
	Cycle       store.Cycle        `json:"cycle"`
	Sites       int                `json:"sites"`
	Fetched     int64              `json:"fetched"`
	Pages       int64              `json:"pages"`
	NewPages    int64              `json:"new_pages"`
	Bytes       int64              `json:"bytes"`
	Errors      int64              `json:"errors"`
	Failed      []crawl.FailedSite `json:"failed_sites"`
	Finished    []string           `json:"finished_sites"`
	Interrupted bool               `json:"interrupted"`
	Cut         any                `json:"stopped_by"`
	Seconds     float64            `json:"seconds"`
}

func printCrawl(cmd *cobra.Command, r *crawl.Result, asJSON bool) error {
	out, note := cmd.OutOrStdout(), cmd.ErrOrStderr()
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
	if asJSON {
		return printJSON(out, crawlJSON{r.Cycle, r.Sites, r.Fetched, r.Known, r.NewPages, r.Bytes, r.Errors, append([]crawl.FailedSite{}, r.Failed...), append([]string{}, finished...), r.Interrupted, orNull(r.Cut), r.Seconds})
	}
	_, err := fmt.Fprintf(out, "cycle %d: %s found, %d known, %s fetched, %s in %s\n", r.Cycle, plural(r.Pages, "page"), r.Known, plural(r.Fetched, "document"), bytesText(r.Bytes), seconds(r.Seconds))
	if err == nil && r.Cut != "" {
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
