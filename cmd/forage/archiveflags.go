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
	"forage/warc"
)

// archiveFlags are the flags of what a crawl keeps as it came.
type archiveFlags struct {
	folder  string
	dedupe  dedupe
	http2   bool
	respect archiveRespect
}

func (af *archiveFlags) add(f *pflag.FlagSet) {
	af.dedupe, af.respect = dedupe{archive.All}, archiveRespect{use.RespectNoArchive}
	f.StringVar(&af.folder, "warc", "", "keep every answer in WARC files in this folder, which goes with the store")
	f.Var(&af.dedupe, "warc-dedupe", "bodies that need not be stored again: those in all files, those in the same file, or off")
	f.BoolVar(&af.http2, "warc-http2", false, "speak HTTP/2 although the archive gets heads of answers that are rebuilt")
	f.Var(&af.respect, "respect", "leave out of the archive what its site asks to: noindex, noarchive, tdm, separated by commas; ''  for nothing")
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
func (af *archiveFlags) config(cmd *cobra.Command, agent, contact, robots string) (*crawl.Archive, error) {
	if af.folder == "" {
		for _, name := range []string{"warc-dedupe", "warc-http2", "respect"} {
			if cmd.Flags().Changed(name) {
				return nil, usagef("--%s is for an archive: say where with --warc DIR", name)
			}
		}
		return nil, nil
	}
	return &crawl.Archive{
		Folder: callOf(cmd.Context()).path(af.folder), Dedupe: af.dedupe.Dedupe, HTTP2: af.http2, Respect: af.respect.Respect,
		Log: slog.New(plainLog{cmd.ErrOrStderr()}),
		Info: without(warc.Fields{
			{Name: "software", Value: "forage/" + cmp.Or(version(), fetch.Version)}, {Name: "operator", Value: contact}, {Name: "robots", Value: cmp.Or(robots, "obey")},
			{Name: "http-header-user-agent", Value: agent}, {Name: "command", Value: commandLine(cmd)},
		}),
	}, nil
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
	state, err := v.Archive()
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
