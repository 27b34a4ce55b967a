package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"forage/export"
	"forage/store"
)

func exportCmd() *cobra.Command {
	var (
		dir, output, site, archive string
		all, fetched, asJSON       bool
		heed                       respect
		from                       since
	)
	kinds := []string{"cdxj", "graph", "parquet", "snap", "urls"}
	cmd := &cobra.Command{
		Use:   "export KIND",
		Short: "Write the store's tables, link graph or URLs, a site's history, or an archive's index to a file",
		Long: `Export writes what the store holds to a file. KIND is one of

  cdxj     the index of the WARC files of the store's archive, or in the folder --warc and below
           it, a line a capture, sorted; pywb serves them with it
  graph    the links as an arc list (u<TAB>v a line), with PATH.urls: number and URL;
           --fetched-only leaves out what is only linked to
  parquet  sites, pages, links, visits, cycles, refetches and events as tables, in a new folder
           PATH; and captures, the index of the archive as Common Crawl has it. DuckDB, pandas
           and others read them. --since leaves out what was known before a cycle (which is
           in) or a time
  snap     the history of a site as SNAP2, a snapshot a cycle; 'forage replay' serves it
  urls     the URLs of all pages, a line each

A path that ends in .gz or .zst is compressed (snap and parquet always are). Export works beside a
running crawl. --respect leaves out documents as 'forage pages' does, and of a graph their
links: its nodes are numbered anew.`,
		Example:   "  forage export graph -o links.tsv.zst\n  forage export snap --site example.org -o example.snap.gz\n  forage export parquet --since 7 -o tables/7",
		Args:      arguments(cobra.ExactArgs(1)),
		ValidArgs: kinds,
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == "" {
				return usagef("say where to write with -o PATH")
			}
			if fetched && args[0] != "graph" {
				return usagef("--fetched-only is for 'export graph'; %s has no use for it", args[0])
			}
			if archive != "" && args[0] != "cdxj" && args[0] != "parquet" {
				return usagef("--warc is for 'export cdxj' and 'export parquet'; %s has no use for it", args[0])
			}
			if from.Since != nil && args[0] != "parquet" {
				return usagef("--since is for 'export parquet'; %s has no use for it", args[0])
			}
			if heed.Respect != 0 && args[0] == "cdxj" {
				return usagef("--respect is for what a store knows; 'export cdxj' reads an archive")
			}
			path := callOf(cmd.Context()).path(output)
			note := func(text string) { fmt.Fprintf(cmd.ErrOrStderr(), "forage: %s\n", text) }
			tell := func(w export.Written) error {
				if asJSON {
					return printJSON(cmd.OutOrStdout(), map[string]any{"kind": args[0], "path": output, "records": w.Records, "bytes": w.Bytes})
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %d records, %d bytes\n", output, w.Records, w.Bytes)
				return err
			}
			index := func(folder string) error {
				w, err := export.CDXJ(folder, path, note)
				if errors.Is(err, fs.ErrNotExist) {
					return usagef("%w", err)
				}
				if err != nil {
					return err
				}
				return tell(w)
			}
			if archive != "" && args[0] == "cdxj" {
				defer endOnInterrupt(cmd.Context(), cmd.ErrOrStderr(), path)()
				return index(callOf(cmd.Context()).path(archive))
			}
			var write func(v *store.View) (export.Written, error)
			switch args[0] {
			case "urls":
				write = func(v *store.View) (export.Written, error) { return export.URLs(v, path, all, heed.keep()) }
			case "graph":
				write = func(v *store.View) (export.Written, error) { return export.Graph(v, path, fetched, heed.keep()) }
			case "parquet":
				if samePath(path, callOf(cmd.Context()).path(".")) {
					return usagef("%s is the current folder, in whose place another cannot be put: name a new one", output)
				}
				what := export.Tables{Keep: heed.keep(), Note: note}
				if from.Since != nil {
					what.Cycle, what.Time = from.Cycle, from.Time
				}
				write = func(v *store.View) (w export.Written, err error) {
					if archive != "" {
						what.Archive = callOf(cmd.Context()).path(archive)
					} else if _, err := v.Archive(); err == nil {
						if what.Archive, err = archiveOf(v); err != nil {
							return w, err
						}
					}
					w, err = export.Parquet(v, path, what)
					if what.Archive != "" && errors.Is(err, fs.ErrNotExist) {
						return w, usagef("%w; --warc DIR names the folder where the archive is", err)
					}
					if errors.Is(err, fs.ErrExist) {
						return w, usagef("%w", err)
					}
					return w, errors.Join(err, notYet(v, cmd.ErrOrStderr(), from))
				}
			case "snap":
				write = func(v *store.View) (export.Written, error) {
					s, err := oneSite(v, site)
					if err != nil {
						return export.Written{}, err
					}
					return export.Snap(v, s, path, heed.keep())
				}
			case "cdxj":
				defer endOnInterrupt(cmd.Context(), cmd.ErrOrStderr(), path)()
				return onStore(cmd, dir, func(v *store.View) error {
					folder, err := archiveOf(v)
					if err != nil {
						return err
					}
					return index(folder)
				})
			default:
				return usagef("there is no export %q; known: %s", args[0], strings.Join(kinds, " "))
			}
			outputs := []string{path}
			if args[0] == "graph" {
				outputs = append(outputs, export.LabelsPath(path))
			}
			written := endOnInterrupt(cmd.Context(), cmd.ErrOrStderr(), outputs...)
			defer written()
			return onStore(cmd, dir, func(v *store.View) error {
				w, err := write(v)
				if err != nil {
					return err
				}
				heed.tell(cmd.ErrOrStderr())
				return tell(w)
			})
		},
	}
	dirFlag(cmd, &dir)
	f := cmd.Flags()
	f.StringVarP(&output, "output", "o", "", "file to write; parquet: new folder")
	f.StringVar(&archive, "warc", "", "cdxj, parquet: folder of another archive than the store's")
	f.Var(&from, "since", "parquet: only what came to be known since a cycle or time")
	f.StringVar(&site, "site", "", "snap: the site, where the store has several")
	f.BoolVar(&all, "all", false, "urls: everything known, not only pages")
	f.BoolVar(&fetched, "fetched-only", false, "graph: only documents that were fetched and had content, numbered anew")
	respectFlag(cmd, &heed)
	f.BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

// oneSite returns the site of that name, or the only one where the name is empty.
func oneSite(v *store.View, name string) (*store.Site, error) {
	sites, err := v.Sites()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range sites {
		if s.Name == name || name == "" && len(sites) == 1 {
			return s, nil
		}
		names = append(names, s.Name)
	}
	if name == "" {
		return nil, usagef("the store has %d sites, choose one with --site: %s", len(sites), strings.Join(names, " "))
	}
	return nil, usagef("there is no site %q in the store; it has: %s", name, strings.Join(names, " "))
}
