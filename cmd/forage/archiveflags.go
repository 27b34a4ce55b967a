package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"forage/archive"
	"forage/crawl"
	"forage/fetch"
	"forage/fetch/use"
	"forage/store"
	"forage/text"
	"forage/warc"
	"forage/watch"
)

// archiveFlags are the flags of what a crawl keeps of answers.
type archiveFlags struct {
	folder  string
	dedupe  dedupe
	http2   bool
	texts   string // folder of what pages say
	format  textFormat
	respect archiveRespect

	requisites requisites
}

func (af *archiveFlags) add(f *pflag.FlagSet) {
	af.dedupe, af.format, af.respect = dedupe{archive.All}, textFormat{text.Markdown}, archiveRespect{use.RespectNoArchive}
	f.StringVar(&af.folder, "warc", "", "keep every answer in WARC files in this folder, which goes with the store")
	f.Var(&af.dedupe, "warc-dedupe", "bodies that need not be stored again: those in all files, those in the same file, or off")
	f.Var(&af.requisites, "requisites", "page: also fetch images, styles, scripts and fonts of pages for --warc, each once, so that they look right there; or none")
	f.BoolVar(&af.http2, "warc-http2", false, "speak HTTP/2 although the archive gets heads of answers that are rebuilt")
	f.StringVar(&af.texts, "text", "", "keep what pages say in this folder, which goes with the store")
	f.Var(&af.format, "text-format", "how that is written: markdown or text")
	f.Var(&af.respect, "respect", "leave out of --warc and --text what its site asks to: noindex, noarchive, tdm, separated by commas; '' for nothing")
}

// A textFormat is the value of a flag.
type textFormat struct{ text.Format }

func (t *textFormat) Type() string   { return "markdown|text" }
func (t *textFormat) String() string { return string(t.Format) }

func (t *textFormat) Set(s string) (err error) {
	t.Format, err = text.ParseFormat(s)
	return err
}

// requisites is the value of --requisites: whether what pages need is fetched.
type requisites bool

func (r *requisites) Type() string { return "page|none" }

func (r *requisites) String() string {
	if *r {
		return "page"
	}
	return "none"
}

func (r *requisites) Set(text string) error {
	page, err := watch.ParseRequisites(text)
	*r = requisites(page)
	return err
}

// A dedupe is the value of --warc-dedupe.
type dedupe struct{ archive.Dedupe }

func (d *dedupe) Type() string   { return "all|file|off" }
func (d *dedupe) String() string { return string(d.Dedupe) }

func (d *dedupe) Set(text string) (err error) {
	d.Dedupe, err = archive.ParseDedupe(text)
	return err
}

// An archiveRespect is the value of --respect where something is archived.
type archiveRespect struct{ use.Respect }

func (r *archiveRespect) Type() string { return "LIST" }

func (r *archiveRespect) Set(list string) (err error) {
	r.Respect, err = use.ParseRespect(list)
	return err
}

// config says what a crawl keeps; nil: nothing.
func (af *archiveFlags) config(cmd *cobra.Command, agent, contact, robots string) (kept *crawl.Archive, texts *crawl.Texts, err error) {
	for _, needs := range []struct {
		flag, reason string
		given        bool
	}{
		{"warc-dedupe", "is for an archive: say where with --warc DIR", af.folder != ""},
		{"warc-http2", "is for an archive: say where with --warc DIR", af.folder != ""},
		{"text-format", "is for texts: say where to keep them with --text DIR", af.texts != ""},
		{"respect", "is for an archive or texts: say where with --warc DIR or --text DIR", af.folder != "" || af.texts != ""},
	} {
		if !needs.given && cmd.Flags().Changed(needs.flag) {
			return nil, nil, usagef("--%s %s", needs.flag, needs.reason)
		}
	}
	if af.requisites && af.folder == "" {
		return nil, nil, usagef("--requisites page is for an archive, which alone keeps what pages need: say where with --warc DIR")
	}
	if af.folder != "" && af.texts != "" && samePath(callOf(cmd.Context()).path(af.folder), callOf(cmd.Context()).path(af.texts)) {
		return nil, nil, usagef("--warc and --text want a folder each")
	}
	log := slog.New(plainLog{cmd.ErrOrStderr()})
	info := without(warc.Fields{
		{Name: "software", Value: "forage/" + cmp.Or(version(), fetch.Version)}, {Name: "operator", Value: contact}, {Name: "robots", Value: cmp.Or(robots, "obey")},
		{Name: "http-header-user-agent", Value: agent}, {Name: "command", Value: commandLine(cmd)},
	})
	if af.folder != "" {
		kept = &crawl.Archive{Folder: callOf(cmd.Context()).path(af.folder), Dedupe: af.dedupe.Dedupe, HTTP2: af.http2, Respect: af.respect.Respect, Log: log, Info: info}
	}
	if af.texts != "" {
		texts = &crawl.Texts{Folder: callOf(cmd.Context()).path(af.texts), Format: af.format.Format, Respect: af.respect.Respect, Log: log, Info: info}
	}
	return kept, texts, nil
}

// without leaves out fields without a value.
func without(f warc.Fields) (some warc.Fields) {
	for _, field := range f {
		if field.Value != "" {
			some = append(some, field)
		}
	}
	return some
}

// userinfo is the name and password of a URL, also of one that cannot be parsed.
var userinfo = regexp.MustCompile(`(//)[^/?#\s]*@`)

// commandLine is what somebody asked for, without secrets, and as long as people read.
func commandLine(cmd *cobra.Command) string {
	words := []string{cmd.CommandPath()}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		switch f.Name {
		case "header", "cookies", "proxy":
			value = "…"
		}
		words = append(words, "--"+f.Name+"="+value)
	})
	words = append(words, cmd.Flags().Args()...)
	const most = 2000
	text := userinfo.ReplaceAllString(strings.Join(words, " "), "$1")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}

// archiveOf reads a folder of WARC files as far as the store has written it; folder "": where that has written last. v nil: no store is asked. The caller
// closes it.
func archiveOf(v *store.View, folder string) (*archive.Reader, error) {
	if v == nil {
		return archive.NewReader(folder, nil)
	}
	state, err := v.Archive(store.Answers)
	if errors.Is(err, store.ErrNotFound) && folder == "" {
		return nil, usagef("the store has no archive: 'forage crawl --warc DIR' writes one, and --warc DIR names one of others")
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	r, err := archive.NewReader(folder, state)
	if err != nil {
		return nil, fmt.Errorf("%w: name the archive with --warc DIR", err)
	}
	return r, nil
}
