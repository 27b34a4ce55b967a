package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"forage/crawl"
	"forage/export"
	"forage/fetch/use"
	"forage/internal/printable"
	"forage/internal/served"
	"forage/metrics"
	"forage/serve"
	"forage/watch"
	"forage/webhook"
)

func watchCmd() *cobra.Command {
	w := watchFlags{delay: -1}
	var check bool
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Watch sites for months, and tell what is new",
		Long: `Watch visits the sites of a file for the first time, and again whenever they are due, until it
is told to end; 'forage events --follow' beside it prints what it finds:

  listen: 127.0.0.1:8080
  limits: {fetches_per_day: 200000, min_free: 1GiB, keep_events: 90d}
  defaults: {budget: 10/day, contact: https://example.org/bot}
  sites:
    - url: https://blog.example/
    - {url: https://news.example/, budget: 200/day, window: 06:00-23:00 Europe/Berlin, exclude: ['/tag/']}
    - {url: https://docs.example/, every: 6h, budget: 5}

A budget for a day leaves open when it is spent; every fixes the occasions, and the budget is for
each. The flags of crawl and revisit are keys of a site, or of defaults; flags given here hold for
all sites. fetches_per_day over all sites goes where most is expected of it. --check tells all that
is wrong in the file. SIGHUP reads it again; one that is wrong leaves the one before in force.
The first line on stdout is the address that is listened at. Interrupted, or killed at any
moment, the same command goes on where it was.`,
		Example: "  forage watch --config forage.yaml --check\n  forage watch --config forage.yaml --dir /var/lib/forage",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if callOf(cmd.Context()).owner != nil {
				return usagef("watch runs by itself")
			}
			c, err := w.read(cmd)
			if mistakes := (interface{ Unwrap() []error })(nil); errors.As(err, &mistakes) { // each on a line of its own
				for _, e := range mistakes.Unwrap() {
					fmt.Fprintf(printable.Writer(cmd.ErrOrStderr()), "forage: %v\n", e)
				}
				return &exitError{exitUsage, nil}
			}
			if err != nil {
				return err
			}
			if check {
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", w.file, plural(int64(len(c.Sites)), "site"))
				return err
			}
			return w.run(cmd, c)
		},
	}
	w.ff.add(cmd)
	f := cmd.Flags()
	for _, name := range ofOneRun {
		f.MarkHidden(name)
	}
	f.StringVar(&w.file, "config", "forage.yaml", "file that says what is watched")
	f.StringVar(&w.addr, "addr", "", "address and port to listen at, instead of the file's; port 0: a free one")
	f.Var((*delayFlag)(&w.delay), "delay", "least gap between two requests to a host, at all sites; 0: none")
	f.Lookup("delay").DefValue = "as the file says, or 1s"
	f.StringVar(&w.debug, "debug-addr", "", "address and port at which the profiles of Go are served, to whoever reaches it (/debug/pprof/)")
	f.BoolVar(&check, "check", false, "only tell what is wrong in the file")
	return cmd
}

// ofOneRun are fetch flags that say nothing to a service.
var ofOneRun = []string{"at", "time-limit", "report-skipped"}

// watchFlags are the flags of watch.
type watchFlags struct {
	ff    fetchFlags
	file  string
	addr  string
	debug string        // where profiles are served; "": nowhere
	delay time.Duration // below 0: as the file says
}

// read reads the file. What flags say holds instead of it.
func (w *watchFlags) read(cmd *cobra.Command) (*watch.Config, error) {
	for _, name := range ofOneRun {
		if cmd.Flags().Changed(name) {
			return nil, usagef("--%s is for crawl and revisit", name)
		}
	}
	data, err := os.ReadFile(w.file)
	if err != nil {
		return nil, badInput(fmt.Errorf("--config: %w", err))
	}
	c, err := watch.Parse(w.file, data, os.LookupEnv)
	if err != nil {
		return nil, badInput(err)
	}
	allowed, err := w.ff.addresses()
	if err != nil {
		return nil, err
	}
	c.Each(func(s *watch.Site) {
		if w.delay >= 0 {
			s.Rules.DelayMillis = w.delay.Milliseconds()
		}
		for _, a := range allowed {
			s.Rules.AllowPrivate = append(s.Rules.AllowPrivate, a.String())
		}
		if cmd.Flags().Changed("requisites") {
			s.Requisites = bool(w.ff.archive.requisites)
		}
		if s.Requisites && c.Archive.Folder == "" && w.ff.archive.folder == "" {
			err = usagef("%s: requisites: page is for an archive, which alone keeps what pages need: say where with warc: DIR", w.file)
		}
		if len(w.ff.ignore) > 0 {
			s.Rules.IgnoreParams = w.ff.ignore
		}
	})
	if err != nil {
		return nil, err
	}
	for i := range c.Webhooks {
		c.Webhooks[i].Allow = append(c.Webhooks[i].Allow, allowed...)
	}
	return c, nil
}

// config makes the configuration of the crawl of what the file and the flags say.
func (w *watchFlags) config(cmd *cobra.Command, c *watch.Config) (cfg crawl.Config, err error) {
	given, f := cmd.Flags().Changed, &c.Fetch
	if !given("contact") {
		w.ff.contact = f.Contact
	}
	if !given("user-agent") {
		w.ff.agent = f.UserAgent
	}
	if !given("cookies") {
		w.ff.cookies = f.Cookies
	}
	if !given("parallel") && f.Parallel > 0 {
		w.ff.parallel = f.Parallel
	}
	if !given("timeout") && f.Timeout > 0 {
		w.ff.timeout = f.Timeout
	}
	if !given("max-body") && f.MaxBody > 0 {
		w.ff.maxBody = size(f.MaxBody)
	}
	if !given("max-kept-pages") {
		w.ff.kept = f.MaxKept
	}
	if !given("keep-rule") && f.Keep != "" {
		w.ff.keepRule = string(f.Keep)
	}
	if a := &w.ff.archive; !given("warc") && c.Archive.Folder != "" {
		a.folder = c.Archive.Folder
		if !given("warc-dedupe") && c.Archive.Dedupe != "" {
			if err := a.dedupe.Set(c.Archive.Dedupe); err != nil {
				return cfg, err
			}
		}
		if !given("warc-http2") {
			a.http2 = c.Archive.HTTP2
		}
	}
	if a := &w.ff.archive; !given("text") && c.Texts.Folder != "" {
		a.texts = c.Texts.Folder
		if !given("text-format") && c.Texts.Format != "" {
			if err := a.format.Set(c.Texts.Format); err != nil {
				return cfg, err
			}
		}
	}
	var urls []string
	for _, s := range c.Sites {
		urls = append(urls, s.URL)
	}
	if cfg, err = w.ff.config(cmd, hostsNamed(urls)); err != nil {
		return cfg, err
	}
	if !given("respect") {
		if r := c.Archive.Respect; r != nil && cfg.Archive != nil {
			if cfg.Archive.Respect, err = use.ParseRespect(*r); err != nil {
				return cfg, err
			}
		}
		if r := c.Texts.Respect; r != nil && cfg.Texts != nil {
			if cfg.Texts.Respect, err = use.ParseRespect(*r); err != nil {
				return cfg, err
			}
		}
	}
	cfg.Fetch.Bandwidth = c.Limits.Bandwidth
	for _, s := range c.Sites {
		cfg.Fetch.Fields = append(cfg.Fetch.Fields, s.Fields...)
	}
	if f.Proxy != "" && !given("proxy") {
		if cfg.Fetch.Proxy, err = url.Parse(f.Proxy); err != nil {
			return cfg, usagef("%s: proxy: want http://, https:// or socks5:// and a host", w.file)
		}
	}
	return cfg, nil
}

// run watches until a signal ends it.
func (w *watchFlags) run(cmd *cobra.Command, c *watch.Config) error {
	log := slog.New(plainLog{cmd.ErrOrStderr()})
	cfg, err := w.config(cmd, c)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // from here on: unheeded it ends the process
	defer signal.Stop(hangup)
	cr, err := crawl.Open(cfg)
	if err != nil {
		return storeError(cfg.Dir, err)
	}
	defer keepLean(cr.Held)()
	shut := sync.OnceValue(cr.Close)
	defer shut()
	s, err := watch.New(watch.Options{Crawl: cr, Dir: cfg.Dir, Config: c, Log: log})
	if err != nil {
		return err
	}
	texts := export.NewEventTexts(cr.DB())
	defer texts.Close()
	hooks, err := webhook.New(webhook.Options{DB: cr.DB(), Write: cr.Write, Text: texts.Add, UserAgent: cfg.Fetch.UserAgent, Full: cr.Full, Log: log}, c.Webhooks)
	if err != nil {
		return err
	}
	addr := c.Listen
	if w.addr != "" {
		addr = w.addr
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	defer l.Close()
	ending := make(chan struct{})
	server, err := serveStore(cfg.Dir, &ownStore{crawl: cr, watch: s, hooks: hooks, flags: w.ff.given(cmd), ending: ending})
	if err != nil {
		return err
	}
	reload := w.reloading(cmd, s, hooks, log)
	shown, err := metrics.New(metrics.Options{Crawl: cr, Webhooks: hooks, Log: log, Visits: func(yield func(string, int64, int64)) {
		for _, st := range s.Sites() {
			yield(st.Name, st.Late, st.Skipped)
		}
	}})
	if err != nil {
		return err
	}
	serving := w.serving(c, cr, served.Watch{Service: s, Again: reload}, l.Addr(), ending, log)
	serving.Metrics, serving.Webhooks, serving.Text = shown, hooks, texts.Add
	handler, err := serve.New(serving)
	if err != nil {
		return badInput(err)
	}
	endDebug, err := debugAt(w.debug, log)
	if err != nil {
		return err
	}
	defer endDebug()
	web := serve.Server(handler)
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(l) }()
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "http://%s\n", l.Addr()); err != nil {
		return err
	}
	notify(log, "READY=1")
	reloaded := reloadOn(ctx, hangup, reload)
	sent := make(chan error, 1)
	go func() {
		err := hooks.Run(ctx)
		stop() // where it cannot go on nothing is told any more
		sent <- err
	}()
	covered := make(chan struct{})
	go func() { shown.Run(ctx); close(covered) }()
	err = s.Run(ctx)
	notify(log, "STOPPING=1")
	stop()
	<-reloaded
	<-covered
	err = errors.Join(err, <-sent)
	cr.HandBack()
	close(ending)
	server.Close(func() { cr.DB().EndReads() })
	err = errors.Join(err, web.Close())
	if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return errors.Join(err, cr.DB().EndReads(), shut())
}

// serving says what is served, and to whom.
func (w *watchFlags) serving(c *watch.Config, cr *crawl.Crawl, s served.Watch, addr net.Addr, ending <-chan struct{}, log *slog.Logger) serve.Options {
	o := serve.Options{DB: cr.DB(), Watch: s, Version: version(), PublicURL: c.PublicURL, Public: c.Public, Ending: ending, Log: log}
	if a, ok := addr.(*net.TCPAddr); ok {
		o.Loopback = a.IP.IsLoopback()
	}
	for _, t := range c.Tokens.Read {
		o.Tokens = append(o.Tokens, serve.Token{Value: t})
	}
	for _, t := range c.Tokens.Write {
		o.Tokens = append(o.Tokens, serve.Token{Value: t, Write: true})
	}
	return o
}

// reloading returns a function that reads the file again and tells of it. Where the file is wrong its error is a
// *serve.FileError, and what it said before holds. It may be called by several goroutines.
func (w *watchFlags) reloading(cmd *cobra.Command, s *watch.Service, hooks *webhook.Sender, log *slog.Logger) func() error {
	var mu sync.Mutex
	return func() error {
		mu.Lock()
		defer mu.Unlock()
		c, err := w.read(cmd)
		if err != nil {
			wrong := &serve.FileError{Mistakes: slices.Collect(strings.SplitSeq(err.Error(), "\n"))}
			for _, m := range wrong.Mistakes {
				log.Warn(m)
			}
			log.Warn("the configuration is as it was", "file", w.file)
			return wrong
		}
		if err = s.Reload(c); err == nil {
			err = hooks.Reload(c.Webhooks)
		}
		if err != nil {
			log.Warn("the configuration is as it was", "file", w.file, "error", err)
			return err
		}
		log.Warn("the configuration was read again; what says how to fetch, and listen, holds from the next start", "file", w.file, "sites", len(s.Sites()))
		return nil
	}
}

// reloadOn calls reload, which tells what went wrong, at each signal, until ctx ends; then the channel is closed.
func reloadOn(ctx context.Context, hangup <-chan os.Signal, reload func() error) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangup:
				reload()
			}
		}
	}()
	return done
}

// notify tells systemd how the service is, where it was started by that (sd_notify(3)).
func notify(log *slog.Logger, state string) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	if path[0] == '@' { // a name outside of the file system
		path = "\x00" + path[1:]
	}
	c, err := net.Dial("unixgram", path)
	if err == nil {
		_, err = c.Write([]byte(state))
		c.Close()
	}
	if err != nil {
		log.Warn("systemd is not told", "error", err)
	}
}

// watchURLs has a service watch the sites of URLs.
func watchURLs(s *watch.Service, urls []string) error {
	settings := make([]json.RawMessage, len(urls))
	for i, u := range urls {
		var err error
		if settings[i], err = json.Marshal(map[string]string{"url": u}); err != nil {
			return err
		}
	}
	_, err := s.Add(settings)
	return err
}
