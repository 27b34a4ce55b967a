package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"text/tabwriter"

	"forage/crawl"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/fetch/fetchtest"
	"forage/internal/software"
	"forage/store"
)

// A few is what a first visit of a few fetches came to.
type few struct {
	pages   int // content pages that there are
	known   int // of them, those of which an address is known
	fetched int // of them, those that were fetched, at whatever address
}

// visitFew makes a first visit of a site with so many fetches in the order of a policy, in a store of its own.
func visitFew(ctx context.Context, kind string, c software.Config, policy string, fetches int) (_ few, err error) {
	site, err := software.New(kind, c)
	if err != nil {
		return few{}, err
	}
	dir, err := os.MkdirTemp("", "forage-software-")
	if err != nil {
		return few{}, err
	}
	defer os.RemoveAll(dir)
	network := fetchtest.New()
	web := network.Server("127.0.0.1:80", site)
	defer web.Close()
	crawler, err := crawl.Open(crawl.Config{Dir: dir, At: software.Start, Parallel: 1, Delay: -1,
		Fetch: fetch.Config{Dial: network.Dial, Lookup: network.Lookup, AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	if err != nil {
		return few{}, err
	}
	defer func() {
		if e := crawler.Close(); err == nil {
			err = e
		}
	}()
	base := "http://" + kind + ".test"
	if _, err := crawler.Run(ctx, []scope.Seed{{URL: base + "/", Rules: store.Rules{Budget: fetches}}}, crawl.Options{Policy: policy}); err != nil {
		return few{}, err
	}
	known, fetched := map[int]bool{}, map[int]bool{}
	j := run{site: site, base: base}
	var failed error
	if err := crawler.View().SiteDocs(1, func(d *store.Doc) bool {
		if d.State != store.Queued && d.State != store.Fetched {
			return true
		}
		look, err := j.ask(software.Start, d.URL)
		if failed = err; err == nil && look.Status == http.StatusOK && look.Page != 0 {
			known[look.Page] = true
			if d.State == store.Fetched {
				fetched[look.Page] = true
			}
		}
		return failed == nil
	}); err != nil || failed != nil {
		return few{}, cmp.Or(err, failed)
	}
	return few{len(site.Content(software.Start)), len(known), len(fetched)}, nil
}

// benchFew writes a table of first visits of so many fetches: for each kind and policy the content pages fetched, and known.
func benchFew(ctx context.Context, out io.Writer, kinds, policies []string, c software.Config, fetches int) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	defer table.Flush()
	fmt.Fprint(table, "kind\tcontent\t")
	for _, p := range policies {
		fmt.Fprintf(table, "%s fetched\tknown\t", p)
	}
	fmt.Fprintln(table)
	sums := make([]few, len(policies))
	for _, kind := range kinds {
		for i, p := range policies {
			r, err := visitFew(ctx, kind, c, p, fetches)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", kind, p, err)
			}
			if i == 0 {
				fmt.Fprintf(table, "%s\t%d\t", kind, r.pages)
			}
			fmt.Fprintf(table, "%d\t%d\t", r.fetched, r.known)
			sums[i].pages, sums[i].known, sums[i].fetched = sums[i].pages+r.pages, sums[i].known+r.known, sums[i].fetched+r.fetched
		}
		fmt.Fprintln(table)
	}
	fmt.Fprintf(table, "all\t%d\t", sums[0].pages)
	for _, s := range sums {
		fmt.Fprintf(table, "%d\t%d\t", s.fetched, s.known)
	}
	fmt.Fprintln(table)
	return nil
}
