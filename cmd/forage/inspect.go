package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"forage/fetch/link"
	"forage/fetch/robots"
	"forage/inspect"
	"forage/internal/printable"
)

// Output of inspect: for people, one fact or URL a line; with --json one object; with --batch
// one object a line of stdin, in order. What pages bring along is printed with control
// characters escaped.

func inspectCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inspect",
		Short: "Show what forage makes of a robots.txt, page, URL, sitemap or feed",
		Long: `Inspect reads one document from a file or, for "-", from stdin, and shows what the crawler
would make of it. Nothing is fetched: curl -s URL | forage inspect links - --url URL.

With --batch each kind reads one JSON object a line on stdin and answers one a line, in
order. Lines that are no such object are answered with an error, and the exit code is 2.`,
		Example: "  forage inspect robots robots.txt http://example.org/private --agent forage\n  forage inspect url 'http://EX.org:80/%7ea/../b#c'",
		Args:    arguments(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	cmd.AddCommand(inspectRobotsCmd(), inspectLinksCmd(), inspectURLCmd(), inspectSitemapCmd(), inspectCharsetCmd())
	return cmd
}

// maxInspect bounds what inspect reads: more than any limit of the crawler's.
const maxInspect = 64 << 20

// document reads a file, or stdin for "-".
func document(cmd *cobra.Command, path string) ([]byte, error) {
	var in io.Reader = cmd.InOrStdin()
	if path != "-" {
		if strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://") {
			return nil, usagef("inspect reads files and fetches nothing; try: curl -s '%s' | %s -", path, cmd.CommandPath())
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, badInput(err)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxInspect))
	if err != nil {
		return nil, badInput(fmt.Errorf("%s: %w", path, err))
	}
	return b, nil
}

// inspection has what the five kinds of inspect share.
type inspection struct {
	inspect.Inspector
	batch, json bool
}

// run returns what answers the questions on stdin with --batch, and else shows the document that
// the first argument names; URLs are none.
func (i *inspection) run(kind inspect.Kind, show func(cmd *cobra.Command, args []string, document []byte) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if !i.batch {
			var b []byte
			if kind != inspect.URL {
				var err error
				if b, err = document(cmd, args[0]); err != nil {
					return err
				}
			}
			return show(cmd, args, b)
		}
		err := i.Batch(kind, cmd.InOrStdin(), cmd.OutOrStdout())
		if bad := (*inspect.BatchError)(nil); errors.As(err, &bad) {
			return usagef("stdin:%w", err)
		}
		return err
	}
}

func (i *inspection) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&i.batch, "batch", false, "answer one JSON object a line of stdin")
	cmd.Flags().BoolVar(&i.json, "json", false, "one JSON object")
}

// args checks the arguments of a kind that wants least to most of them, named want.
func (i *inspection) args(least, most int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case i.batch && len(args) > 0:
			return usagef("--batch reads stdin and takes no arguments; see '%s --help'", cmd.CommandPath())
		case !i.batch && (len(args) < least || most >= 0 && len(args) > most):
			return usagef("want %s, got %d arguments; see '%s --help'", want, len(args), cmd.CommandPath())
		}
		return nil
	}
}

func inspectRobotsCmd() *cobra.Command {
	var (
		i     inspection
		agent string
	)
	cmd := &cobra.Command{
		Use:   "robots FILE URL…",
		Short: "Tell which URLs a robots.txt allows",
		Long: `Robots tells of each URL whether FILE, a robots.txt, allows --agent to fetch it. The URL is
matched as given: percent-encode it as the crawler would ask for it ('inspect url' does).
The agent is a product token: letters, "-" and "_".

--batch reads objects with robots, agent and url, and answers with allow.`,
		Example: "  forage inspect robots robots.txt http://example.org/ http://example.org/private --agent forage",
		Args:    i.args(1, -1, "a file and URLs"),
		RunE: i.run(inspect.Robots, func(cmd *cobra.Command, args []string, b []byte) error {
			f := robots.Parse(b)
			out := cmd.OutOrStdout()
			for _, u := range args[1:] {
				v := i.Robots(f, agent, u)
				if i.json {
					if err := printJSON(out, v); err != nil {
						return err
					}
					continue
				}
				word := "disallowed"
				if v.Allow {
					word = "allowed"
				}
				fmt.Fprintf(out, "%-10s  %s\n", word, printable.Text(u))
				for _, p := range v.Usage {
					fmt.Fprintf(out, "            Content-Usage: %s\n", printable.Text(p))
				}
				for _, p := range v.Signal {
					fmt.Fprintf(out, "            Content-Signal: %s\n", printable.Text(p))
				}
			}
			if i.json {
				if len(args) == 1 {
					return printJSON(out, map[string]any{"agent": agent, "crawl_delay": f.CrawlDelay(agent).Seconds(), "sitemaps": append([]string{}, f.Sitemaps...)})
				}
				return nil
			}
			if d := f.CrawlDelay(agent); d > 0 {
				fmt.Fprintf(out, "crawl-delay %v\n", d)
			}
			for _, s := range f.Sitemaps {
				fmt.Fprintf(out, "sitemap     %s\n", printable.Text(s))
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&agent, "agent", "forage", "product token of the crawler")
	i.flags(cmd)
	return cmd
}

func inspectLinksCmd() *cobra.Command {
	var (
		i    inspection
		opts link.Options
		show bool
	)
	cmd := &cobra.Command{
		Use:   "links FILE",
		Short: "List the links of a page",
		Long: `Links lists the links that the crawler finds in FILE, an HTML page: one URL a line, each
once, and with --details its kind, whether it is marked nofollow, its place in the page and
its text. What --content-type says to be no page has none.

--batch reads objects with html or html_b64, base, content_type and headers (names with
lists of values; Link and X-Robots-Tag are read), and answers with links, embeds, nofollow.`,
		Example: "  forage inspect links page.html --url http://example.org/dir/page.html --details",
		Args:    i.args(1, 1, "one file"),
		PreRunE: func(cmd *cobra.Command, args []string) error {
			if opts.URL != "" && !i.batch {
				if _, err := link.Parse(opts.URL); err != nil {
					return badInput(fmt.Errorf("--url: %w", err))
				}
			}
			return nil
		},
		RunE: i.run(inspect.Links, func(cmd *cobra.Command, args []string, b []byte) error {
			a := i.Links(b, opts, show || i.json)
			out := cmd.OutOrStdout()
			switch {
			case i.json:
				return printJSON(out, a)
			case show:
				for _, d := range a.Details {
					mark := ""
					if d.NoFollow {
						mark = " nofollow"
					}
					fmt.Fprintf(out, "%s\t%s%s\t%s\t%s\n", d.URL, d.Kind, mark, printable.Text(d.Path), printable.Text(d.Text))
				}
			default:
				for _, u := range a.Links {
					fmt.Fprintln(out, printable.Text(u))
				}
			}
			switch {
			case !a.Read:
				fmt.Fprintf(cmd.ErrOrStderr(), "forage: no links are read from a document of type %s\n", printable.Text(opts.ContentType))
			case len(a.Links) == 0 && opts.URL == "":
				fmt.Fprintln(cmd.ErrOrStderr(), "forage: no absolute links; relative ones need --url, the page's URL")
			}
			return nil
		}),
	}
	f := cmd.Flags()
	f.StringVar(&opts.URL, "url", "", "the page's URL, which relative links are resolved against")
	f.StringVar(&opts.ContentType, "content-type", "", "the Content-Type that the page came with")
	f.BoolVar(&show, "details", false, "kind, place and text of every link")
	i.flags(cmd)
	return cmd
}

func inspectURLCmd() *cobra.Command {
	var (
		i    inspection
		base string
	)
	cmd := &cobra.Command{
		Use:   "url URL…",
		Short: "Show the identity of URLs",
		Long: `URL shows the form under which the crawler knows each URL: two URLs are the same page to it
if that form is the same. With --base a URL may be relative.

--batch reads objects with url and, if it is to be resolved, base. It answers with url, null
if it is refused: the identity, or with a base the URL as a browser resolves it. The key
identity has the identity in both cases.`,
		Example: "  forage inspect url 'HTTP://Example.org:80/%7ea/../b?x#y'\n  forage inspect url --base http://example.org/a/b ../c",
		Args:    i.args(1, -1, "URLs"),
		RunE: i.run(inspect.URL, func(cmd *cobra.Command, args []string, _ []byte) error {
			var failed []error
			for _, u := range args {
				a := i.URL(u, base)
				switch {
				case i.json:
					if err := printJSON(cmd.OutOrStdout(), a); err != nil {
						return err
					}
				case a.URL != nil:
					fmt.Fprintln(cmd.OutOrStdout(), printable.Text(*a.Identity))
				}
				if a.URL == nil {
					failed = append(failed, errors.New(printable.Text(a.Error)))
				}
			}
			return badInput(errors.Join(failed...))
		}),
	}
	cmd.Flags().StringVar(&base, "base", "", "URL that relative ones are resolved against")
	cmd.Flags().StringSliceVar(&i.IgnoreParams, "ignore-params", nil, "drop these query parameters, such as utm_*,fbclid")
	i.flags(cmd)
	return cmd
}

func inspectSitemapCmd() *cobra.Command {
	var (
		i        inspection
		at, kind string
	)
	cmd := &cobra.Command{
		Use:   "sitemap FILE",
		Short: "List the URLs of a sitemap or feed",
		Long: `Sitemap tells what kind of list FILE is (sitemap, index, feed, none) and lists its URLs, each
with its date of change if it has one. FILE may be compressed by gzip. URLs of other hosts
than the sitemap's are rejected, as the protocol wants; those of a feed are not.

--batch reads objects with body or body_b64, url and content_type, and answers with kind,
urls and lastmod.`,
		Example: "  forage inspect sitemap sitemap.xml.gz --url http://example.org/sitemap.xml.gz",
		Args:    i.args(1, 1, "one file"),
		RunE: i.run(inspect.Sitemap, func(cmd *cobra.Command, args []string, b []byte) error {
			a, err := i.Sitemap(b, at, kind)
			if err != nil {
				return badInput(fmt.Errorf("--url: %w", err))
			}
			if i.json {
				return printJSON(cmd.OutOrStdout(), a)
			}
			out, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
			for _, u := range append(a.Sitemaps, a.URLs...) {
				if m := a.LastMod[u]; m != "" {
					fmt.Fprintf(out, "%s\t%s\n", u, printable.Text(m))
				} else {
					fmt.Fprintln(out, printable.Text(u))
				}
			}
			fmt.Fprintf(stderr, "forage: %s: %s, %d URLs\n", args[0], a.Kind, len(a.URLs)+len(a.Sitemaps))
			if len(a.Rejected) > 0 {
				fmt.Fprintf(stderr, "forage: %d URLs of other hosts than %s rejected\n", len(a.Rejected), inspect.Authority(at))
			}
			if a.Problem != "" {
				fmt.Fprintf(stderr, "forage: the rest could not be read: %s\n", printable.Text(a.Problem))
			}
			if a.Cut {
				fmt.Fprintln(stderr, "forage: cut at the limits of the protocol")
			}
			return nil
		}),
	}
	f := cmd.Flags()
	f.StringVar(&at, "url", "", "the document's URL")
	f.StringVar(&kind, "content-type", "", "the Content-Type that it came with")
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if !i.batch && at == "" {
			return usagef("--url is needed: the URL of the document, which its own are compared with")
		}
		return nil
	}
	i.flags(cmd)
	return cmd
}

func inspectCharsetCmd() *cobra.Command {
	var (
		i    inspection
		kind string
	)
	cmd := &cobra.Command{
		Use:   "charset FILE",
		Short: "Tell the encoding of a page",
		Long: `Charset tells the encoding of FILE, an HTML page: by byte order mark, Content-Type, meta
elements or, without any, its bytes.

--batch reads objects with html or html_b64 and content_type, and answers with encoding.`,
		Example: "  forage inspect charset page.html --content-type 'text/html; charset=koi8-r'",
		Args:    i.args(1, 1, "one file"),
		RunE: i.run(inspect.Charset, func(cmd *cobra.Command, args []string, b []byte) error {
			a := i.Charset(b, kind)
			if i.json {
				return printJSON(cmd.OutOrStdout(), a)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), a.Encoding)
			return err
		}),
	}
	cmd.Flags().StringVar(&kind, "content-type", "", "the Content-Type that the page came with")
	i.flags(cmd)
	return cmd
}
