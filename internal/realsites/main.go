// Realsites shows what a crawler makes of the software that everybody runs. It sets up sites on
// loopback, from packages of Debian and of Python's and Node.js's registries, without a container: WordPress,
// MediaWiki and others. It lets forage visit each and come back every week while articles are
// published, edited, renamed and deleted, counts requests in the server's own log, and prints
// tables, with wget --mirror and Scrapy beside forage's first visit. All that it makes is below
// one folder; processes that it starts end with it; only Debian's packages stay on the machine.
//
//	go run ./internal/realsites measure                    # all sites: the tables
//	go run ./internal/realsites measure wordpress          # one
//	go run ./internal/realsites serve wordpress            # set it up anew and serve it until Ctrl-C
//	go run ./internal/realsites week wordpress             # beside serve: the site's next week
//	go run ./internal/realsites truth wordpress            # beside serve: what is there and what happened
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// sites are all software that there is a way to set up, in the order of the tables.
var sites = []*software{&wordpress, &mediawiki, &dokuwiki, &cgit, &trac, &oscar, &mkdocs, &shell, &prerendered}

func main() {
	runtime.LockOSThread() // the sites' processes end with the thread that started them
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "realsites:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("realsites", flag.ExitOnError)
	cache := flags.String("cache", ".realsites", "folder of what is installed and of the sites")
	addr := flags.String("addr", "127.0.0.1:0", "serve: where")
	forage := flags.String("forage", "", "measure: the program to measure; empty builds ./cmd/forage")
	only := flags.Bool("only-forage", false, "measure: leave out wget and Scrapy")
	flags.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: realsites measure|serve|week|truth [flags] [SITE…]\nsites:")
		for _, s := range sites {
			fmt.Fprintf(os.Stderr, "  %-12s %s\n", s.name, s.kind)
		}
		flags.PrintDefaults()
	}
	if len(args) == 0 {
		flags.Usage()
		os.Exit(2)
	}
	var names []string
	for rest := args[1:]; ; { // flags may stand behind names
		if err := flags.Parse(rest); err != nil {
			return err
		}
		if flags.NArg() == 0 {
			break
		}
		names, rest = append(names, flags.Arg(0)), flags.Args()[1:]
	}
	chosen, err := choose(names)
	if err != nil {
		return err
	}
	root, err := filepath.Abs(*cache)
	if err != nil {
		return err
	}
	at := func(s *software, t tools) *host {
		return &host{software: *s, dir: filepath.Join(root, s.name), addr: *addr, tools: t}
	}
	if args[0] == "measure" {
		t, err := install(root, chosen)
		if err != nil {
			return err
		}
		m := &measurement{ctx: ctx, forage: *forage, onlyForage: *only, dir: root}
		return m.all(chosen, func(s *software) *host { return at(s, t) })
	}
	if len(names) != 1 {
		return fmt.Errorf("%s: want the name of one site", args[0])
	}
	t, err := install(root, chosen)
	if err != nil {
		return err
	}
	h := at(chosen[0], t)
	switch args[0] {
	case "serve":
		if strings.HasSuffix(h.addr, ":0") {
			if h.addr, err = freeAddr(); err != nil {
				return err
			}
		}
		if err := h.open(); err != nil {
			return err
		}
		defer h.close()
		fmt.Printf("http://%s%s\n", h.addr, h.home)
		return h.wait(ctx)
	case "week":
		s, err := h.load()
		if err != nil {
			return fmt.Errorf("%w: is it served from this -cache?", err)
		}
		h.addr = s.Addr
		if err := h.advance(); err != nil {
			return err
		}
		fmt.Println(atWeek(s.Week + 1))
		return nil
	case "truth":
		s, err := h.load()
		if err != nil {
			return fmt.Errorf("%w: is it served from this -cache?", err)
		}
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "\t")
		e.SetEscapeHTML(false)
		return e.Encode(s)
	}
	flags.Usage()
	os.Exit(2)
	return nil
}

// atWeek is the time of a week as forage's --at wants it.
func atWeek(week int) string { return at(week).Format(time.RFC3339) }

// choose returns the sites of those names; without any, all.
func choose(names []string) ([]*software, error) {
	if len(names) == 0 {
		return sites, nil
	}
	var chosen []*software
	for _, name := range names {
		i := slices.IndexFunc(sites, func(s *software) bool { return s.name == name })
		if i < 0 {
			var known []string
			for _, s := range sites {
				known = append(known, s.name)
			}
			return nil, fmt.Errorf("no site %q: there are %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, sites[i])
	}
	return chosen, nil
}
