package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"forage/archive"
	"forage/export"
	"forage/internal/listing"
	"forage/store"
)

// An exportKind is something that can be exported.
type exportKind struct {
	name   string
	flags  []string // of those that not every kind takes
	folder bool     // it makes a folder, so that there is no writing it to stdout
	// write writes it. v is nil where the kind is asked for of an archive alone.
	write func(x *exporting, v *store.View) (export.Written, error)
}

var exportKinds = []exportKind{
	{name: "cdxj", flags: []string{"warc"}, write: (*exporting).cdxj},
	{name: "graph", flags: []string{"fetched-only", "labels", "respect"}, write: (*exporting).graph},
	{name: "parquet", flags: []string{"respect", "since", "warc"}, folder: true, write: (*exporting).parquet},
	{name: "snap", flags: []string{"respect", "site"}, write: func(x *exporting, v *store.View) (export.Written, error) {
		s, err := oneSite(v, x.site)
		if err != nil {
			return export.Written{}, err
		}
		return export.Snap(v, s, x.to, x.heed.Keep())
	}},
	{name: "text", flags: []string{"format", "respect", "since", "site", "text", "warc"}, write: (*exporting).text},
	{name: "urls", flags: []string{"all", "respect"}, write: func(x *exporting, v *store.View) (export.Written, error) {
		return export.URLs(v, x.to, x.all, x.heed.Keep())
	}},
	{name: "wacz", flags: []string{"respect", "site", "warc"}, write: (*exporting).wacz},
}

// exportFlags are the flags of export.
type exportFlags struct {
	dir, output, site, archive, labels string

	all, fetched, json bool
	heed               listing.Respect
	from               listing.Since
	texts              textsFlags
}

// exporting is one call of export.
type exporting struct {
	exportFlags
	*cobra.Command
	kind exportKind
	to   export.Target

	names *export.Target // graph: where the URLs of its nodes go; nil: nowhere
	more  map[string]any // what is told beside what all kinds tell
}

func exportCmd() *cobra.Command {
	var x exporting
	var kinds []string
	for _, k := range exportKinds {
		kinds = append(kinds, k.name)
	}
	cmd := &cobra.Command{
		Use:   "export KIND",
		Short: "Write the store's tables, texts, link graph or URLs, a site's history, or an archive's index to a file",
		Long: `Export writes what the store holds to a file. KIND is one of

  cdxj     the index of the WARC files of the store's archive, or in the folder --warc and below
           it, a line a capture, sorted; pywb serves them with it
  graph    the links as an arc list (u<TAB>v a line), with PATH.urls, or the file --labels: number
           and URL; --fetched-only leaves out what is only linked to
  parquet  sites, pages, links, visits, cycles, refetches and events as tables, in a new folder
           PATH; and captures, the index of the archive as Common Crawl has it. DuckDB, pandas
           and others read them. --since leaves out what was known before a cycle (which is
           in) or a time
  snap     the history of a site as SNAP2, a snapshot a cycle; 'forage replay' serves it
  text     what pages say, as Markdown or plain text, a JSON object a line, or as a table where
           PATH ends in .parquet: the texts that 'crawl --text' has kept, or else made of the
           archive. --since tells what is new, changed and gone since a cycle or a time
  urls     the URLs of all pages, a line each
  wacz     the WARC files of the store's archive, or of --warc, as one file with an index and a
           list of pages, which ReplayWeb.page shows; --site NAME takes that site's captures only

A path that ends in .gz or .zst is compressed (snap, tables and wacz always are); '-' is the standard
output, where nothing else is written then. Export works beside a running crawl. --respect
leaves out documents as 'forage pages' does, and of a graph their links: its nodes are numbered
anew.`,
		Example:   "  forage export graph -o links.tsv.zst\n  forage export urls -o - | wc -l\n  forage export snap --site example.org -o example.snap.gz\n  forage export parquet --since 7 -o tables/7\n  forage export text --since 7 -o new.jsonl.zst",
		Args:      arguments(cobra.ExactArgs(1)),
		ValidArgs: kinds,
		RunE: func(cmd *cobra.Command, args []string) error {
			at := slices.Index(kinds, args[0])
			if at < 0 {
				return usagef("there is no export %q; known: %s", args[0], strings.Join(kinds, " "))
			}
			x.kind, x.Command = exportKinds[at], cmd
			return x.run()
		},
	}
	dirFlag(cmd, &x.dir)
	f := cmd.Flags()
	f.StringVarP(&x.output, "output", "o", "", "file to write, - for the standard output; parquet: new folder")
	f.StringVar(&x.archive, "warc", "", "cdxj, parquet, text, wacz: folder of another archive than the store's")
	f.Var(&x.from, "since", "parquet, text: only what came to be known since a cycle or time")
	f.StringVar(&x.site, "site", "", "snap: the site, where the store has several; text, wacz: only what is of it")
	x.texts.add(f)
	f.StringVar(&x.labels, "labels", "", "graph: file for the URLs of its nodes, instead of PATH.urls")
	f.BoolVar(&x.all, "all", false, "urls: everything known, not only pages")
	f.BoolVar(&x.fetched, "fetched-only", false, "graph: only documents that were fetched and had content, numbered anew")
	x.heed.Add(f)
	f.BoolVar(&x.json, "json", false, "one JSON object, on stderr where the export itself goes to stdout")
	return cmd
}

// check finds what is wrong with the flags.
func (x *exporting) check() error {
	if x.output == "" {
		return usagef("say where to write with -o PATH, or -o - for the standard output")
	}
	takers := map[string][]string{} // of each flag that not every kind takes
	for _, k := range exportKinds {
		for _, f := range k.flags {
			takers[f] = append(takers[f], "'export "+k.name+"'")
		}
	}
	for _, f := range slices.Sorted(maps.Keys(takers)) {
		if x.Flags().Changed(f) && !slices.Contains(x.kind.flags, f) {
			return usagef("--%s is for %s; %s has no use for it", f, inWords(takers[f]), x.kind.name)
		}
	}
	switch {
	case x.kind.name == "text" && !textPath(x.output):
		return usagef("-o %s: want a file that ends in .jsonl, .jsonl.gz or .jsonl.zst, a new folder that ends in .parquet, or - for the standard output", x.output)
	case x.output == "-" && x.kind.folder:
		return usagef("%s is a folder of files, for which the standard output has no place: name a new one with -o PATH", x.kind.name)
	case x.output == "-" && x.labels == "-":
		return usagef("-o and --labels cannot both be the standard output")
	}
	return nil
}

// inWords joins a list as people write it.
func inWords(list []string) string {
	if n := len(list) - 1; n > 0 {
		return strings.Join(list[:n], ", ") + " and " + list[n]
	}
	return list[0]
}

func (x *exporting) run() error {
	if err := x.check(); err != nil {
		return err
	}
	out := bufio.NewWriterSize(x.OutOrStdout(), 64<<10) // another process gets each write in a message of its own
	target := func(path string) export.Target {
		if path == "-" {
			return export.Target{To: out}
		}
		return export.File(x.path(path))
	}
	x.to = target(x.output)
	outputs := []string{x.to.Path}
	if x.kind.name == "graph" {
		switch {
		case x.labels != "":
			names := target(x.labels)
			x.names = &names
		case x.output != "-":
			names := export.File(export.LabelsPath(x.to.Path))
			x.names = &names
		}
		if x.names != nil {
			outputs = append(outputs, x.names.Path)
		}
	}
	outputs = slices.DeleteFunc(outputs, func(path string) bool { return path == "" })
	defer endOnInterrupt(x.Context(), x.ErrOrStderr(), outputs...)()
	write := func(v *store.View) error {
		w, err := x.kind.write(x, v)
		if err == nil {
			err = out.Flush()
		}
		if err != nil {
			return err
		}
		x.heed.Tell(x.ErrOrStderr(), "forage")
		return x.tell(w)
	}
	if x.archive != "" && !x.needsStore() {
		return write(nil)
	}
	return onStore(x.Command, x.dir, write)
}

// needsStore reports whether a folder of WARC files is not all that is needed.
func (x *exporting) needsStore() bool {
	switch x.kind.name {
	case "cdxj":
		return false
	case "wacz":
		asked := callOf(x.Context()).owner != nil || x.Flags().Changed("dir") || x.Flags().Changed("respect") || x.Flags().Changed("site")
		return asked || store.Exists(x.dir) == nil
	}
	return true
}

// path resolves a path of the command line.
func (x *exporting) path(p string) string { return callOf(x.Context()).path(p) }

// note says something on stderr.
func (x *exporting) note(text string) { fmt.Fprintf(x.ErrOrStderr(), "forage: %s\n", text) }

// tell says what was written. Where that is the standard output it is not mixed with what was.
func (x *exporting) tell(w export.Written) error {
	piped := x.output == "-" || x.labels == "-"
	to := x.OutOrStdout()
	if piped {
		to = x.ErrOrStderr()
	}
	switch {
	case x.json:
		told := map[string]any{"kind": x.kind.name, "path": x.output, "records": w.Records, "bytes": w.Bytes}
		maps.Copy(told, x.more)
		return printJSON(to, told)
	case piped:
		return nil
	}
	_, err := fmt.Fprintf(to, "%s: %d records, %d bytes\n", x.output, w.Records, w.Bytes)
	return err
}

// reader reads the archive that is asked for: the folder that was named, or where the store's is. The caller closes it.
func (x *exporting) reader(v *store.View) (*archive.Reader, error) {
	folder := ""
	if x.archive != "" {
		folder = x.path(x.archive)
	}
	return archiveOf(v, folder)
}

func (x *exporting) cdxj(v *store.View) (w export.Written, err error) {
	from, err := x.reader(v)
	if err != nil {
		return w, err
	}
	defer from.Close()
	w, err = export.CDXJ(from, x.to, x.note)
	if errors.Is(err, fs.ErrNotExist) {
		return w, usagef("%w", err)
	}
	return w, err
}

func (x *exporting) wacz(v *store.View) (w export.Written, err error) {
	from, err := x.reader(v)
	if err != nil {
		return w, err
	}
	defer from.Close()
	what := export.Package{From: from, Keep: x.heed.Keep(), Software: "forage/" + version(), Note: x.note}
	if x.site != "" {
		if what.Site, err = oneSite(v, x.site); err != nil {
			return w, err
		}
	}
	w, err = export.WACZ(v, x.to, what)
	if errors.Is(err, fs.ErrNotExist) {
		return w, usagef("%w; --warc DIR names the folder where the archive is", err)
	}
	return w, err
}

func (x *exporting) graph(v *store.View) (export.Written, error) {
	if x.names == nil {
		x.note("the URLs of the nodes are not written: --labels FILE says where to")
	}
	return export.Graph(v, x.to, x.names, x.fetched, x.heed.Keep())
}

func (x *exporting) parquet(v *store.View) (w export.Written, err error) {
	if samePath(x.to.Path, x.path(".")) {
		return w, usagef("%s is the current folder, in whose place another cannot be put: name a new one", x.output)
	}
	what := export.Tables{Keep: x.heed.Keep(), Note: x.note}
	if x.from.Since != nil {
		what.Cycle, what.Time = x.from.Cycle, x.from.Time
	}
	if _, err := v.Archive(store.Answers); x.archive != "" || err == nil {
		if what.Archive, err = x.reader(v); err != nil {
			return w, err
		}
		defer what.Archive.Close()
	}
	w, err = export.Parquet(v, x.to.Path, what)
	if what.Archive != nil && errors.Is(err, fs.ErrNotExist) {
		return w, usagef("%w; --warc DIR names the folder where the archive is", err)
	}
	if errors.Is(err, fs.ErrExist) {
		return w, usagef("%w", err)
	}
	return w, errors.Join(err, listing.NotYet(v, x.ErrOrStderr(), "forage", x.from))
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
