package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"forage/replay"
	"forage/snap"
)

func replayCmd() *cobra.Command {
	var (
		addr    string
		at      int
		lastmod bool
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Serve a site's history over HTTP, version by version",
		Long: `Replay serves the site whose history is in FILE (SNAP2, *.snap.gz) as it was at one
snapshot: pages with their links, feeds, sitemaps, a robots.txt, redirect stubs, 404 for
what was not there, ETag and Last-Modified that change when a document did.

The first line on stdout is the base URL; nothing follows it. POST /-/replay?at=K
switches to snapshot K, GET /-/replay tells the version and what has been served.`,
		Example: "  forage replay site.snap.gz --addr 127.0.0.1:8000 --at 3\n  forage crawl http://127.0.0.1:8000/ --allow-private 127.0.0.0/8 --delay 0\n  curl -X POST '127.0.0.1:8000/-/replay?at=4'",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := snap.Open(args[0])
			var syntax *snap.SyntaxError
			if errors.As(err, &syntax) || errors.Is(err, fs.ErrNotExist) {
				return badInput(err)
			}
			if err != nil {
				return err
			}
			s, err := replay.New(h, at, lastmod)
			if err != nil {
				return badInput(fmt.Errorf("%s: %w", args[0], err))
			}
			l, err := net.Listen("tcp", addr)
			if err != nil {
				return fmt.Errorf("replay on %s: %w", addr, err)
			}
			base := "http://" + l.Addr().String()
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), map[string]any{"url": base})
			} else {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), base)
			}
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return serveUntil(ctx, &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}, l)
		},
	}
	f := cmd.Flags()
	f.StringVar(&addr, "addr", "127.0.0.1:0", "address to listen on")
	f.IntVar(&at, "at", 0, "snapshot to begin with, from 0")
	f.BoolVar(&lastmod, "lastmod", false, "sitemaps tell when each page last changed")
	f.BoolVar(&asJSON, "json", false, "print the base URL as a JSON object")
	return cmd
}

// serveUntil serves what the demo shows, too.
var serveUntil = replay.ServeUntil
