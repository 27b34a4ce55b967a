package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"forage/crawl"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/retain"
	"forage/store"
)

// fetchFlags are the flags of every command that fetches.
type fetchFlags struct {
	dir      string
	parallel int
	agent    string
	contact  string
	private  []string
	timeout  time.Duration
	maxBody  size
	headers  []string
	cookies  string
	proxy    string
	ignore   []string
	limit    time.Duration
	skipped  string
	kept     int
	keepRule string
	at       timeFlag
	archive  archiveFlags
}

func (ff *fetchFlags) add(cmd *cobra.Command) {
	dirFlag(cmd, &ff.dir)
	ff.timeout, ff.maxBody = 60*time.Second, 15<<20
	f := cmd.Flags()
	f.IntVar(&ff.parallel, "parallel", 64, "requests at once, over all hosts")
	f.StringVar(&ff.agent, "user-agent", "", "user agent (default forage/1.0 and the contact)")
	f.StringVar(&ff.contact, "contact", "", "URL or mail address where the operator can be reached")
	f.StringSliceVar(&ff.private, "allow-private", nil, "address ranges that may be fetched although they are not public, such as 127.0.0.0/8; a site that is crawled remembers them")
	f.DurationVar(&ff.timeout, "timeout", ff.timeout, "of one request in all")
	f.Var(&ff.maxBody, "max-body", "bytes kept of a page; the rest is cut")
	f.StringArrayVar(&ff.headers, "header", nil, "'HOST Name: value': a header field for one host, the only one that is named by default (repeatable)")
	f.StringVar(&ff.cookies, "cookies", "", "file of cookies, as browsers export them; servers' own are never kept")
	f.StringVar(&ff.proxy, "proxy", "", "http, https or socks5 URL; $NAME is taken from the environment")
	f.StringSliceVar(&ff.ignore, "ignore-params", nil, "query parameters that do not tell pages apart, such as utm_*")
	f.DurationVar(&ff.limit, "time-limit", 0, "end after this time with the state saved (0: no limit)")
	f.StringVar(&ff.skipped, "report-skipped", "", "file for URLs that are not fetched: URL, reason, page with the link")
	f.IntVar(&ff.kept, "max-kept-pages", 0, "keep links and validators of so many pages, those that --keep-rule chooses (0: of all); what was found is never forgotten")
	f.StringVar(&ff.keepRule, "keep-rule", string(retain.KeepRules()[0]), "how --max-kept-pages chooses: votes, links from everything fetched; indegree or pagerank, links from the pages that are kept")
	ff.archive.add(f)
	f.Var(&ff.at, "at", "the time to record instead of now, RFC 3339")
}

// processWide are the flags that hold for all that a process fetches. A command that another
// process runs goes by those of that process.
var processWide = []string{"parallel", "at", "user-agent", "contact", "timeout", "max-body", "header", "cookies", "proxy", "max-kept-pages", "keep-rule", "warc", "warc-dedupe", "warc-http2", "text", "text-format", "respect"}

// given returns the process-wide flags of a command line that are not as by default.
func (ff *fetchFlags) given(cmd *cobra.Command) map[string]string {
	given := map[string]string{}
	for _, name := range processWide {
		if f := cmd.Flags().Lookup(name); f.Value.String() != f.DefValue {
			given[name] = f.Value.String()
			if name == "cookies" || name == "warc" || name == "text" {
				given[name] = callOf(cmd.Context()).path(f.Value.String())
				if whole, err := filepath.Abs(given[name]); err == nil { // of the process itself it is as it was given
					given[name] = whole
				}
			}
		}
	}
	return given
}

// fits reports which process-wide flags keep a command from being run by the process that owns
// the store: those that only one of them names, or both with different values.
func (own *ownStore) fits(given map[string]string) error {
	var differ []string
	for _, name := range processWide {
		mine, named := own.flags[name]
		value, asked := given[name]
		switch secret := name == "header" || name == "cookies" || name == "proxy"; {
		case named == asked && mine == value:
		case !named:
			differ = append(differ, "without --"+name)
		case secret:
			differ = append(differ, "with another --"+name)
		default:
			differ = append(differ, "with --"+name+" "+mine)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	return usagef("the store is in use by a command that fetches %s, which holds for all that its process fetches: give the same, or wait for that command to end", strings.Join(differ, ", "))
}

// config makes the configuration of a crawl.
func (ff *fetchFlags) config(cmd *cobra.Command, hosts []string) (cfg crawl.Config, err error) {
	if ff.parallel < 1 {
		return cfg, usagef("--parallel wants at least 1")
	}
	if ff.kept < 0 {
		return cfg, usagef("--max-kept-pages wants at least 1, or 0 for no limit")
	}
	rule, err := retain.ParseKeepRule(ff.keepRule)
	if err != nil {
		return cfg, usagef("--keep-rule: %w", err)
	}
	if cmd.Flags().Changed("keep-rule") && ff.kept == 0 {
		return cfg, usagef("--keep-rule says how --max-kept-pages chooses: give that, too")
	}
	fc := fetch.Config{UserAgent: ff.agent, Parallel: ff.parallel, Timeout: ff.timeout, MaxBody: int64(ff.maxBody)}
	if fc.UserAgent == "" {
		fc.UserAgent = fetch.Agent(ff.contact)
	}
	if ff.timeout <= 0 || ff.maxBody <= 0 || ff.limit < 0 {
		return cfg, usagef("--timeout and --max-body want more than 0, --time-limit 0 or more")
	}
	for _, h := range ff.headers {
		field, err := siteField(h, hosts)
		if err != nil {
			return cfg, badInput(err)
		}
		fc.Fields = append(fc.Fields, field)
	}
	if ff.proxy != "" {
		text, err := expand(ff.proxy)
		if err != nil {
			return cfg, usagef("--proxy: %w", err)
		}
		if fc.Proxy, err = url.Parse(text); err != nil {
			return cfg, usagef("--proxy: want http://, https:// or socks5:// and a host")
		}
	}
	if ff.cookies != "" {
		f, err := os.Open(callOf(cmd.Context()).path(ff.cookies))
		if err != nil {
			return cfg, badInput(fmt.Errorf("--cookies: %w", err))
		}
		fc.Cookies, err = fetch.ReadCookies(f, time.Now())
		f.Close()
		if err != nil {
			return cfg, usagef("--cookies %s: %w", ff.cookies, err)
		}
	}
	if _, err := fetch.New(fc); err != nil {
		return cfg, badInput(err)
	}
	robots := ""
	if f := cmd.Flags().Lookup("robots"); f != nil {
		robots = f.Value.String()
	}
	kept, texts, err := ff.archive.config(cmd, fc.UserAgent, ff.contact, robots)
	if err != nil {
		return cfg, err
	}
	return crawl.Config{Archive: kept, Texts: texts, Dir: ff.dir, Delay: -1, Fetch: fc, Parallel: ff.parallel, MaxKept: ff.kept, Keep: rule, At: ff.at.t}, nil
}

// addresses returns the ranges of --allow-private.
func (ff *fetchFlags) addresses() ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, p := range ff.private {
		prefix, err := netip.ParsePrefix(p)
		if err != nil {
			a, e := netip.ParseAddr(p)
			if e != nil {
				return nil, usagef("--allow-private %q: want a range of addresses such as 10.0.0.0/8", p)
			}
			prefix = netip.PrefixFrom(a, a.BitLen())
		}
		all = append(all, prefix)
	}
	return all, nil
}

// options makes the options of a run. done ends the show of progress and closes what was opened.
func (ff *fetchFlags) options(cmd *cobra.Command) (opt crawl.Options, done func(), err error) {
	show, done := progress(cmd.ErrOrStderr())
	opt = crawl.Options{MaxTime: ff.limit, Progress: show, Log: slog.New(plainLog{cmd.ErrOrStderr()}), Requisites: bool(ff.archive.requisites)}
	if ff.skipped == "" {
		return opt, done, nil
	}
	f, err := os.Create(callOf(cmd.Context()).path(ff.skipped))
	if err != nil {
		return opt, nil, badInput(fmt.Errorf("--report-skipped: %w", err))
	}
	w := newFlusher(f)
	opt.Skipped = w
	stop := done
	return opt, func() {
		stop()
		if err := w.close(); err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "forage: --report-skipped: %v\n", err)
		}
	}, nil
}

// siteField reads 'HOST Name: value'. Without HOST the one host of the seeds is meant.
func siteField(text string, hosts []string) (f fetch.SiteField, err error) {
	first, rest, _ := strings.Cut(text, " ")
	switch _, port, _ := strings.Cut(first, ":"); {
	case strings.Contains(rest, ":") && !strings.HasSuffix(first, ":") && (strings.Trim(port, "0123456789") == "" || first[0] == '['):
		f.Host, text = strings.ToLower(first), rest
	case len(hosts) == 1:
		f.Host = hosts[0]
	default:
		return f, errors.New("--header: want 'HOST Name: value': which host is it for?")
	}
	name, value, ok := strings.Cut(text, ":")
	if !ok {
		return f, errors.New("--header: want 'HOST Name: value', or 'Name: value' where one host is named")
	}
	f.Name = strings.TrimSpace(name)
	if f.Value, err = expand(strings.TrimSpace(value)); err != nil {
		return f, fmt.Errorf("--header %s: %w", f.Name, err)
	}
	return f, nil
}

// expand replaces $NAME by the environment's value.
func expand(text string) (string, error) {
	var missing error
	text = os.Expand(text, func(name string) string {
		v, ok := os.LookupEnv(name)
		if !ok {
			missing = fmt.Errorf("$%s is not in the environment", name)
		}
		return v
	})
	return text, missing
}

// hostsNamed returns the hosts of sites that are named, or of which URLs are given.
func hostsNamed(sites []string) []string {
	var hosts []string
	for _, name := range sites {
		hosts = append(hosts, strings.ToLower(cmp.Or(store.HostOf(name), name)))
	}
	return hosts
}

// hostsOf returns the hosts of seeds, each once.
func hostsOf(seeds []scope.Seed) []string {
	var hosts []string
	known := map[string]bool{}
	for _, s := range seeds {
		if h := strings.ToLower(store.HostOf(s.URL)); h != "" && !known[h] {
			known[h] = true
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// delayFlag is a duration that may be a plain 0.
type delayFlag time.Duration

func (d *delayFlag) Type() string   { return "duration" }
func (d *delayFlag) String() string { return time.Duration(*d).String() }

func (d *delayFlag) Set(text string) error {
	if text == "0" {
		*d = 0
		return nil
	}
	v, err := time.ParseDuration(text)
	if err != nil || v < 0 {
		return fmt.Errorf("want a duration such as 1.5s or 0, got %q", text)
	}
	*d = delayFlag(v)
	return nil
}

// timeFlag is a time.
type timeFlag struct{ t time.Time }

func (f *timeFlag) Type() string { return "time" }

func (f *timeFlag) String() string {
	if f.t.IsZero() {
		return ""
	}
	return f.t.Format(time.RFC3339)
}

func (f *timeFlag) Set(text string) error {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			f.t = t
			return nil
		}
	}
	return fmt.Errorf("want a time such as 2026-01-31T12:00:00Z, got %q", text)
}
