package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"forage/crawl"
	"forage/watch"
)

// steerCmds are the commands that steer a running crawl through its socket.
func steerCmds() []*cobra.Command {
	// watched acts on a service; nil: as on any other crawl.
	site := func(use, short, long string, act func(c *crawl.Crawl, site string) error, watched func(s *watch.Service, site string) error) *cobra.Command {
		var dir string
		var asJSON bool
		cmd := &cobra.Command{
			Use:     use + " [SITE]",
			Short:   short,
			Long:    long,
			Example: "  forage " + use + " example.org",
			Args:    arguments(cobra.MaximumNArgs(1)),
			RunE: func(cmd *cobra.Command, args []string) error {
				name := ""
				if len(args) > 0 {
					name = args[0]
				}
				return onCrawl(cmd, dir, func(c *crawl.Crawl) error {
					var err error
					if s := callOf(cmd.Context()).owner.watch; s != nil && watched != nil {
						err = watched(s, name)
					} else {
						err = act(c, name)
					}
					if err != nil {
						return err
					}
					if asJSON {
						return printJSON(cmd.OutOrStdout(), map[string]any{use: orNull(name), "ok": true})
					}
					return nil
				})
			},
		}
		dirFlag(cmd, &dir)
		cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object when done")
		return cmd
	}
	return []*cobra.Command{
		addCmd(),
		site("pause", "Let a running crawl rest, or one site of it",
			"Pause lets the crawl that runs in --dir fetch nothing more, or nothing more of one site,\nuntil 'forage resume'. What is being fetched is finished.", (*crawl.Crawl).Pause, (*watch.Service).Pause),
		site("resume", "Let a paused crawl, or site, go on",
			"Resume lets the crawl that runs in --dir, or one site of it, go on after a pause, be it by\nhand or because the site blocked the crawl.", (*crawl.Crawl).Resume, (*watch.Service).Resume),
		site("stop", "End a running crawl, or one site of it, with its state saved",
			"Stop ends the crawl that runs in --dir as Ctrl-C does, or the work on one site of it. The\nsame command continues it later.", (*crawl.Crawl).Stop, nil),
	}
}

func addCmd() *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "add URL…",
		Short:   "Add seeds to a running crawl",
		Long:    "Add gives the crawl that runs in --dir further URLs to start from, as if they had been on its\ncommand line. A service watches their sites from then on.",
		Example: "  forage add https://example.org/",
		Args:    arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onCrawl(cmd, dir, func(c *crawl.Crawl) error {
				var err error
				if s := callOf(cmd.Context()).owner.watch; s != nil {
					err = watchURLs(s, args)
				} else {
					err = c.Add(args)
				}
				if err != nil {
					return badInput(err)
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), map[string]any{"added": len(args)})
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "added %d\n", len(args))
				return err
			})
		},
	}
	dirFlag(cmd, &dir)
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object when done")
	return cmd
}
