package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"forage/crawl"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/replay"
	"forage/snap"
	"forage/store"
)

func demoCmd() *cobra.Command {
	var (
		weeks, budget int
		seed          uint64
		asJSON        bool
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Crawl a small evolving site on loopback and find what is new, week by week",
		Long: `Demo makes a small site in memory, a blog with a manual, serves it on loopback, crawls it
fully, and then comes back each week with a budget of a few fetches to find what is new.
It shows how many new pages there were, how many it found, and what that cost beside
fetching everything again. It needs no network, no file, and leaves nothing behind.`,
		Example: "  forage demo\n  forage demo --budget 3 --weeks 12",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if weeks < 1 || weeks > 100 || budget < 1 {
				return usagef("--weeks wants 1 to 100, --budget at least 1")
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			rows, err := demo(ctx, rand.New(rand.NewPCG(seed, 0)), weeks, budget, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if asJSON {
				for _, r := range rows {
					if err := printJSON(cmd.OutOrStdout(), r); err != nil {
						return err
					}
				}
				return nil
			}
			return printDemo(cmd.OutOrStdout(), rows)
		},
	}
	f := cmd.Flags()
	f.IntVar(&weeks, "weeks", 8, "how many times to come back")
	f.IntVar(&budget, "budget", 5, "old documents to fetch each time")
	f.Uint64Var(&seed, "seed", 1, "seed of the site")
	f.BoolVar(&asJSON, "json", false, "one JSON object a cycle")
	return cmd
}

// demoRow is one cycle of the demo.
type demoRow struct {
	Cycle     store.Cycle `json:"cycle"`
	Week      int         `json:"week"`
	Known     int         `json:"known"`     // documents before the cycle: what a full recrawl fetches
	Refetched int64       `json:"refetched"` // old documents fetched
	There     int         `json:"there"`     // new pages that can be reached and were not found before
	NewPages  int64       `json:"new_pages"` // found
	Overhead  *float64    `json:"overhead"`
}

// demo serves the history of a site, crawls its first version and revisits the others.
func demo(ctx context.Context, r *rand.Rand, weeks, budget int, progress io.Writer) ([]demoRow, error) {
	h := snap.Blog(r, weeks)
	site, err := replay.New(h, 0, false)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	srv := &http.Server{Handler: site, ReadHeaderTimeout: 10 * time.Second}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- serveUntil(serving, srv, l) }()
	defer func() { stop(); <-ended }()
	dir, err := os.MkdirTemp("", "forage-demo-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)

	base := "http://" + l.Addr().String()
	cfg := crawl.Config{
		Dir:   dir,
		Delay: -1, // the site is ours
		Fetch: fetch.Config{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	}
	var rows []demoRow
	for k := range h.Snapshots {
		if err := site.Switch(k); err != nil {
			return nil, err
		}
		row, err := demoCycle(ctx, cfg, h, k, base, budget)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
		fmt.Fprintf(progress, "forage: week %d of %d\n", k, weeks)
	}
	return rows, nil
}

// demoCycle crawls (k = 0) or revisits the site at version k, with the clock of that version.
func demoCycle(ctx context.Context, cfg crawl.Config, h *snap.History, k int, base string, budget int) (row demoRow, err error) {
	cfg.At = time.Unix(h.Snapshots[k].Time, 0)
	c, err := crawl.Open(cfg)
	if err != nil {
		return row, err
	}
	defer func() {
		if e := c.Close(); err == nil {
			err = e
		}
	}()
	known, err := answered(c.View())
	if err != nil {
		return row, err
	}
	row.Week, row.Known, row.There = k, len(known), unfound(h, k, base, known)
	var r *crawl.Result
	if k == 0 {
		r, err = c.Run(ctx, []scope.Seed{{URL: base + "/"}}, crawl.Options{})
	} else {
		r, err = c.Revisit(ctx, plan.Plan{Budget: func(int) int { return budget }, Text: fmt.Sprint(budget)}, crawl.Options{})
	}
	if err != nil {
		return row, err
	}
	if r.Interrupted {
		return row, context.Canceled
	}
	row.Cycle, row.Refetched, row.NewPages = r.Cycle, r.Refetched, r.NewPages
	if k == 0 {
		row.NewPages = r.Pages
	}
	if f, ok := r.Overhead(); ok && k > 0 {
		row.Overhead = &f
	}
	return row, nil
}

// answered returns the URLs of all documents that once answered.
func answered(v *store.View) (map[string]bool, error) {
	known := map[string]bool{}
	err := v.Docs(func(d *store.Doc) bool {
		if d.IsPage() || d.IsList() {
			known[d.URL] = true
		}
		return true
	})
	return known, err
}

// unfound counts the pages of version k that are not known yet.
func unfound(h *snap.History, k int, base string, known map[string]bool) int {
	n := 0
	s := h.At(k)
	for id, alive := range s.Alive {
		if alive && s.Flag[id].IsPage() && !known[base+h.URLs[id]] {
			n++
		}
	}
	return n
}

// barWidth is the length of the longest bar of the demo's plot.
const barWidth = 40

func printDemo(w io.Writer, rows []demoRow) error {
	first, rest := rows[0], rows[1:]
	fmt.Fprintf(w, "Week 0: a full crawl of the site found %d pages.\n", first.NewPages)
	fmt.Fprint(w, "Then, each week, a few old documents are fetched again to find what is new:\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "week\tto find\tfound\told fetched\ta full recrawl fetches\toverhead\t")
	var there, found, fetched, full int64
	longest := 1
	for _, r := range rest {
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%d\t%s\t\n", r.Week, r.There, r.NewPages, r.Refetched, r.Known, percent(r.Overhead))
		found, fetched, full = found+r.NewPages, fetched+r.Refetched, full+int64(r.Known)
		longest = max(longest, r.There)
	}
	there = found
	if last := rest[len(rest)-1]; last.There > int(last.NewPages) {
		there += int64(last.There) - last.NewPages // missed for good, so far
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nnew pages a week: # found, . not yet found\n")
	for _, r := range rest {
		scale := func(n int) int { return (n*barWidth + longest - 1) / longest }
		bar := scale(int(r.NewPages))
		fmt.Fprintf(w, "%4d |%s%s\n", r.Week, strings.Repeat("#", bar), strings.Repeat(".", max(0, scale(r.There)-bar)))
	}
	overhead := "-"
	if found > 0 {
		overhead = percentOf(fetched, found)
	}
	_, err := fmt.Fprintf(w, "\n%d of %d new pages found, with %d fetches of old documents (overhead %s);\nfull recrawls would have fetched %d old documents for them (overhead %s).\n\nTry it on a site of yours:  forage crawl URL   and some days later:  forage revisit --budget 5\n",
		found, there, fetched, overhead, full, percentOf(full, max(there, 1)))
	return err
}
