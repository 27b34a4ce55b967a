// Sitebench crawls sites as common server software serves them (internal/software) and tells
// how well that went: how many requests the first visit took for each content page and whether it
// came to an end, how many published pages the weekly cycles after it told new, and how many of the
// deleted and renamed ones gone.
//
//	go run ./internal/sitebench
//	go run ./internal/sitebench -small -kinds wordpress,shop -explain
//
// With -fetches it makes first visits of so many fetches instead, in the order of discovery and in that of the default policy, and
// tells how many content pages are known after each, and how many were fetched.
//
//	go run ./internal/sitebench -fetches 60
//
// With -serve it serves one of the sites on loopback instead, for crawls by hand. POST /-/at?week=2
// moves the site there.
//
//	go run ./internal/sitebench -serve mediawiki -addr 127.0.0.1:8080
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"forage/internal/software"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := bench(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sitebench:", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context, out io.Writer, args []string) error {
	f := flag.NewFlagSet("sitebench", flag.ContinueOnError)
	kinds := f.String("kinds", "", "kinds of sites, separated by commas; none: all")
	first := f.Int64("first", 0, "requests after which a first visit is cut; 0: 6000, or 1200 of a small site")
	budget := f.Int("budget", 10, "of each weekly cycle")
	most := f.Int64("most", 3000, "requests after which such a cycle is cut")
	smaller := f.Bool("small", false, "the sizes of the tests instead of the full ones")
	seed := f.Uint64("seed", 1, "another site for each")
	explain := f.Bool("explain", false, "also tell where requests went, and what was told wrongly or not at all")
	asJSON := f.Bool("json", false, "one object a kind instead of the table")
	fetches := f.Int("fetches", 0, "first visits of so many fetches, by policy; 0: none, but trials")
	policies := f.String("policies", "bfs,best", "of these, separated by commas")
	serve := f.String("serve", "", "serve a site of this kind and crawl none")
	addr := f.String("addr", "127.0.0.1:8080", "where -serve listens")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *serve != "" {
		return serveSite(ctx, out, *serve, *addr, software.Config{Seed: *seed})
	}
	names := split(*kinds)
	if len(names) == 0 {
		for _, k := range software.Kinds {
			names = append(names, k.Name)
		}
	}
	if *fetches > 0 {
		return benchFew(ctx, out, names, split(*policies), software.Config{Seed: *seed}, *fetches)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	defer table.Flush()
	if !*asJSON {
		fmt.Fprintln(table, heading)
	}
	for _, name := range names {
		t := trial{kind: name, config: software.Config{Seed: *seed}, first: cmp.Or(*first, 6000), budget: *budget, most: *most}
		if *smaller {
			i := slices.IndexFunc(software.Kinds, func(k software.Kind) bool { return k.Name == name })
			if i < 0 {
				return fmt.Errorf("unknown kind of site %q", name)
			}
			t = small(&software.Kinds[i], *seed)
			t.first = cmp.Or(*first, t.first)
		}
		if *explain {
			t.log = func(format string, a ...any) { fmt.Fprintf(out, name+"\t"+format+"\n", a...) }
		}
		r, err := judge(ctx, t)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if *asJSON {
			if err := json.NewEncoder(out).Encode(r); err != nil {
				return err
			}
		} else {
			fmt.Fprintln(table, r.row())
			fmt.Fprintln(os.Stderr, "done:", name)
		}
	}
	return nil
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

const heading = "kind\tcontent\tended\tfailed\trequests\tper page\tlisted\tfound\tpublished\ttold new\tfalse new\tother new\taway\ttold away\tmoved as new\tfalse gone\trevisit\tmost\t"

func (r *report) row() string {
	return fmt.Sprintf("%s\t%d\t%v\t%v\t%d\t%.1f\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t", r.Kind, r.Content, r.Ended, r.Failed, r.Requests, r.perPage(), r.Listed, r.Found,
		r.Published, r.ToldNew, r.FalseNew, r.OtherNew, r.Away, r.ToldAway, r.MovedNew, r.FalseGone, r.Revisit, r.RevisitTo)
}

// control is the path by which a site that is served by hand is moved in time.
const control = "/-/at"

// serveSite serves a site until ctx ends.
func serveSite(ctx context.Context, out io.Writer, kind, addr string, c software.Config) error {
	site, err := software.New(kind, c)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	s := &http.Server{Handler: controlled(site)}
	defer context.AfterFunc(ctx, func() { s.Close() })()
	fmt.Fprintf(out, "http://%s/\n", l.Addr())
	if err := s.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// controlled adds a control to a site: POST /-/at?week=N moves it N weeks on from its start, and
// the answer tells what happened until then, one change a line.
func controlled(site *software.Site) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != control {
			site.ServeHTTP(w, r)
			return
		}
		week, err := strconv.Atoi(r.URL.Query().Get("week"))
		if err != nil || week < 0 || r.Method != http.MethodPost {
			http.Error(w, "want POST "+control+"?week=N with N of 0 or more", http.StatusBadRequest)
			return
		}
		t := software.Start.Add(time.Duration(week) * software.Week)
		site.At(t)
		for _, c := range site.Changes(software.Start, t) {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.Time.Format(time.RFC3339), c.What, c.From, c.To)
		}
	})
}
