package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"forage/distributed/shards/topics"
	"forage/export"
	"forage/graph/arcs"
	"forage/internal/atomicfile"
	"forage/internal/listing"
	"forage/store"
)

// An exportKind is something that can be exported.
type exportKind struct {
	name  string
	flags []string // of those that not every kind takes
	// write writes it of all partitions.
	write func(x *exporting) (export.Written, error)
}

var exportKinds = []exportKind{
	{"graph", []string{"fetched-only"}, (*exporting).graph},
	{"parquet", []string{"since"}, (*exporting).parquet},
	{"snap", []string{"site"}, (*exporting).snap},
	{"urls", []string{"all"}, (*exporting).urls},
}

// exporting is one call of export.
type exporting struct {
	*cobra.Command
	stores             storesFlags
	output, site       string
	all, fetched, json bool
	respect            listing.Respect
	since              listing.Since
}

func exportCmd() *cobra.Command {
	var x exporting
	var kinds []string
	for _, k := range exportKinds {
		kinds = append(kinds, k.name)
	}
	cmd := &cobra.Command{
		Use:   "export KIND",
		Short: "Write tables, link graphs or URLs of all partitions, or a site's history, as of their latest checkpoints",
		Long: `Export writes what the latest checkpoints hold, as 'forage export' does of a store. It wants neither a broker nor a process of the crawl; the stores are
copied to the folder for temporary files (TMPDIR), one at a time. KIND is one of

  graph    a new folder PATH with partition=N/links.tsv, an arc list, and links.tsv.urls, number and URL of its nodes, for each partition: nodes are
           numbered in each; a link to another partition leads to a node there that was not fetched, which has the URL in common with the one that was
  parquet  the tables of each partition in a folder of a new folder PATH, partition=N/pages.parquet and so on: DuckDB, pandas and others read all as one
           table with a column partition; numbers of documents are of each partition
  snap     the history of the site --site as SNAP2, a snapshot a cycle
  urls     the URLs of all pages, a line each, partition by partition

A path that ends in .gz or .zst is compressed (snap and tables always are); '-' is the standard output, for snap and urls. Checkpoints have no archives,
of which cdxj, text and wacz are made.`,
		Example:   "  forage-shard export parquet --checkpoints /shared/checkpoints -o tables\n  forage-shard export urls --checkpoints /shared/checkpoints -o urls.zst",
		Args:      cobra.ExactArgs(1),
		ValidArgs: kinds,
		RunE: func(cmd *cobra.Command, args []string) error {
			at := slices.Index(kinds, args[0])
			switch {
			case slices.Contains([]string{"cdxj", "text", "wacz"}, args[0]):
				return usagef("%s is made of an archive, and checkpoints have none; known: %s", args[0], strings.Join(kinds, " "))
			case at < 0:
				return usagef("there is no export %q; known: %s", args[0], strings.Join(kinds, " "))
			}
			x.Command = cmd
			return x.run(&exportKinds[at])
		},
	}
	x.stores.add(cmd)
	f := cmd.Flags()
	f.StringVarP(&x.output, "output", "o", "", "file to write, - for the standard output; graph, parquet: new folder")
	f.Var(&x.since, "since", "parquet: only what came to be known since a time, or a cycle of one --partition")
	f.StringVar(&x.site, "site", "", "snap: the site")
	f.BoolVar(&x.all, "all", false, "urls: everything known, not only pages")
	f.BoolVar(&x.fetched, "fetched-only", false, "graph: only documents that were fetched and had content, numbered anew")
	x.respect.Add(f)
	f.BoolVar(&x.json, "json", false, "one JSON object, on stderr where the export itself goes to stdout")
	return cmd
}

func (x *exporting) run(kind *exportKind) error {
	for _, k := range exportKinds {
		for _, f := range k.flags {
			if x.Flags().Changed(f) && k.name != kind.name {
				return usagef("--%s is for 'export %s'; %s has no use for it", f, k.name, kind.name)
			}
		}
	}
	switch {
	case x.output == "":
		return usagef("say where to write with -o PATH, or -o - for the standard output")
	case x.output == "-" && (kind.name == "graph" || kind.name == "parquet"):
		return usagef("%s is a folder of files, for which the standard output has no place: name a new one with -o PATH", kind.name)
	case kind.name == "snap" && x.site == "":
		return usagef("choose a site with --site")
	case x.since.Since != nil && x.since.Cycle > 0 && x.stores.several(""):
		return usagef("%s is a cycle, of which each partition has its own: give a time such as 2026-01-31T12:00:00Z, or one --partition", x.since.String())
	}
	w, err := kind.write(x)
	if errors.Is(err, fs.ErrExist) {
		return inputError{err}
	}
	if err != nil {
		return err
	}
	x.respect.Tell(x.ErrOrStderr(), "forage-shard")
	to := x.OutOrStdout()
	if x.output == "-" {
		to = x.ErrOrStderr()
	}
	if x.json {
		told := map[string]any{"kind": kind.name, "path": x.output, "records": w.Records, "bytes": w.Bytes, "oldest": nil}
		if !x.stores.oldest.IsZero() {
			told["oldest"] = x.stores.oldest.Format(time.RFC3339)
		}
		return printJSON(to, told)
	}
	x.stores.tellAge(x.Command)
	if x.output != "-" {
		_, err = fmt.Fprintf(to, "%s: %d records, %d bytes\n", x.output, w.Records, w.Bytes)
	}
	return err
}

// each calls write with the store of each partition, and adds up what that writes.
func (x *exporting) each(write func(p int32, v *store.View) (export.Written, error)) (all export.Written, err error) {
	err = x.stores.each(x.Command, x.site, func(p int32, v *store.View) error {
		w, err := write(p, v)
		all.Records, all.Bytes = all.Records+w.Records, all.Bytes+w.Bytes
		return err
	})
	return all, err
}

// stream has write write to the output, whole or, where that is a file, not at all.
func (x *exporting) stream(create func(string, func(io.Writer) error) error, write func(io.Writer) (export.Written, error)) (w export.Written, err error) {
	if x.output == "-" {
		out := bufio.NewWriterSize(x.OutOrStdout(), 64<<10)
		if w, err = write(out); err == nil {
			err = out.Flush()
		}
		return w, err
	}
	if err = create(x.output, func(out io.Writer) (err error) {
		w, err = write(out)
		return err
	}); err != nil {
		return w, err
	}
	info, err := os.Stat(x.output)
	if err == nil {
		w.Bytes = info.Size() // it may be compressed
	}
	return w, err
}

// folder has write make a folder for each partition in the folder of the output.
func (x *exporting) folder(write func(folder string, v *store.View) (export.Written, error)) (w export.Written, err error) {
	if wd, err := os.Getwd(); err == nil {
		if path, err := filepath.Abs(x.output); err == nil && path == wd {
			return w, usagef("%s is the current folder, in whose place another cannot be put: name a new one", x.output)
		}
	}
	err = atomicfile.CreateFolder(x.output, func(part string) error {
		w, err = x.each(func(p int32, v *store.View) (export.Written, error) {
			return write(filepath.Join(part, fmt.Sprintf("partition=%d", p)), v) // as Hive, and who reads its tables, names partitions
		})
		return err
	})
	return w, err
}

func (x *exporting) urls() (export.Written, error) {
	return x.stream(arcs.Create, func(out io.Writer) (export.Written, error) {
		return x.each(func(p int32, v *store.View) (export.Written, error) {
			keep, n := x.respect.Keep(), int32(x.stores.partitions)
			return export.URLs(v, export.Target{To: out}, x.all, func(d *store.Doc) bool {
				return topics.Partition(store.HostOf(d.URL), n) == p && (keep == nil || keep(d)) // what is linked to in another partition is listed there
			})
		})
	})
}

func (x *exporting) snap() (export.Written, error) {
	found := false
	w, err := x.stream(atomicfile.Create, func(out io.Writer) (export.Written, error) {
		w, err := x.each(func(_ int32, v *store.View) (w export.Written, err error) {
			s, err := v.SiteNamed(x.site)
			if errors.Is(err, store.ErrNotFound) {
				return w, nil
			}
			if err != nil {
				return w, err
			}
			found = true
			return export.Snap(v, s, export.Target{To: out}, x.respect.Keep())
		})
		if err == nil && !found {
			err = usagef("no checkpoint has a site %q", x.site)
		}
		return w, err
	})
	return w, err
}

func (x *exporting) parquet() (export.Written, error) {
	return x.folder(func(folder string, v *store.View) (export.Written, error) {
		what := export.Tables{Keep: x.respect.Keep(), Note: func(text string) { fmt.Fprintf(x.ErrOrStderr(), "forage-shard: %s\n", text) }}
		if x.since.Since != nil {
			what.Cycle, what.Time = x.since.Cycle, x.since.Time
		}
		w, err := export.Parquet(v, folder, what)
		return w, errors.Join(err, listing.NotYet(v, x.ErrOrStderr(), "forage-shard", x.since))
	})
}

func (x *exporting) graph() (export.Written, error) {
	return x.folder(func(folder string, v *store.View) (export.Written, error) {
		if err := os.Mkdir(folder, 0o755); err != nil {
			return export.Written{}, err
		}
		path := filepath.Join(folder, "links.tsv")
		names := export.File(export.LabelsPath(path))
		w, err := export.Graph(v, export.File(path), &names, x.fetched, x.respect.Keep())
		return w, errors.Join(err, atomicfile.SyncFolder(folder))
	})
}
