package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"forage/crawl"
	"forage/distributed/shards/node"
	"forage/fetch"
	"forage/internal/atomicfile"
	"forage/internal/filelock"
	"forage/internal/printable"
	"forage/watch"
)

// runFlags are the flags of run.
type runFlags struct {
	log         logFlags
	dir         string
	checkpoints string
	config      string
	name        string
	partitions  int32
	replicas    int16
	session     time.Duration
	interval    time.Duration
	total       int64
	private     []string
	listen      string
	verbose     bool
}

func runCmd() *cobra.Command {
	var r runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Crawl as one of several processes",
		Long: `Run takes part in a crawl until it is ended by a signal: it is given partitions, works on each as 'forage watch' does on a store, and
hands them back at the end. All processes have the same --config, --group and --partitions, and see the same --checkpoints; each has a --dir of its own.

Where a process dies, the others have its partitions from the latest checkpoints once its --session is over, and the time for which a request of it may still be under way.
What it had fetched since is fetched again, and told again under the same IDs.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd) },
	}
	r.log.add(cmd)
	f := cmd.Flags()
	f.StringVar(&r.dir, "dir", "", "folder of this process, for the stores of its partitions")
	f.StringVar(&r.checkpoints, "checkpoints", "", "folder that all processes see, s3://BUCKET/PREFIX or gs://BUCKET/PREFIX, for checkpoints")
	f.StringVar(&r.config, "config", "forage.yaml", "which sites, and how, as of 'forage watch'")
	f.StringVar(&r.name, "name", "", "of this process, as nobody else has it (default: one that is made up, and kept in --dir)")
	f.Int32Var(&r.partitions, "partitions", 32, "into which the hosts are divided; fixed when the crawl begins")
	f.Int16Var(&r.replicas, "replicas", -1, "of topics that are made (-1: as the broker says)")
	f.DurationVar(&r.session, "session", 10*time.Second, "after which a process that is silent loses its partitions")
	f.DurationVar(&r.interval, "checkpoint-interval", 5*time.Minute, "between checkpoints of a partition")
	f.Int64Var(&r.total, "max-total", 0, "fetches of all processes, for the life of the crawl (0: no limit)")
	f.StringSliceVar(&r.private, "allow-private", nil, "address ranges that may be fetched although they are not public, such as 127.0.0.0/8")
	f.StringVar(&r.listen, "listen", "", "address and port at which the partitions of this process are served as 'forage watch' serves its store (default: nowhere; listen: of the file is for one process); port 0: a free one")
	f.BoolVarP(&r.verbose, "verbose", "v", false, "tell which partitions come and go")
	return cmd
}

func (r *runFlags) run(cmd *cobra.Command) error {
	switch {
	case r.dir == "":
		return usagef("say where this process has its stores with --dir FOLDER")
	case r.checkpoints == "":
		return usagef("say where all processes have checkpoints with --checkpoints FOLDER|s3://BUCKET/PREFIX|gs://BUCKET/PREFIX")
	case r.total < 0:
		return usagef("--max-total wants 0 or more")
	case r.interval <= 0:
		return usagef("--checkpoint-interval %v: want a time above zero", r.interval)
	}
	cfg, err := r.read()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return inputError{err}
	}
	lock, err := os.OpenFile(filepath.Join(r.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return inputError{err}
	}
	defer lock.Close()
	if err := filelock.Try(lock, true); err != nil {
		return usagef("--dir %s: another process works there (%w); each needs a folder of its own", r.dir, err)
	}
	if cfg.Name, err = r.named(); err != nil {
		return err
	}
	level := slog.LevelWarn
	if r.verbose {
		level = slog.LevelInfo
	}
	cfg.Log = slog.New(&lines{w: cmd.ErrOrStderr(), level: level})
	if err := cfg.Check(); err != nil {
		return usagef("%s: %w", r.config, err)
	}
	if r.listen != "" {
		if cfg.Listener, err = net.Listen("tcp", r.listen); err != nil {
			return inputError{err}
		}
		defer cfg.Listener.Close()
		if cfg.Address, err = address(cfg.Listener.Addr()); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "http://%s\n", cfg.Listener.Addr()); err != nil {
			return err
		}
	}
	return node.Run(cmd.Context(), *cfg)
}

// address is where others reach what is served at addr.
func address(addr net.Addr) (string, error) {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return "", err
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		if host, err = os.Hostname(); err != nil {
			return "", err
		}
	}
	return "http://" + net.JoinHostPort(host, port) + "/", nil
}

// read reads the configuration.
func (r *runFlags) read() (*node.Config, error) {
	data, err := os.ReadFile(r.config)
	if err != nil {
		return nil, usagef("--config: %w", err)
	}
	c, err := watch.Parse(r.config, data, os.LookupEnv)
	if err != nil {
		return nil, inputError{err}
	}
	var allowed []netip.Prefix
	for _, text := range r.private {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, usagef("--allow-private %q: want a range of addresses such as 10.0.0.0/8", text)
		}
		allowed = append(allowed, p)
	}
	c.Each(func(s *watch.Site) {
		for _, a := range allowed {
			s.Rules.AllowPrivate = append(s.Rules.AllowPrivate, a.String())
		}
	})
	f := fetch.Config{UserAgent: c.Fetch.UserAgent, Parallel: c.Fetch.Parallel, Timeout: c.Fetch.Timeout, MaxBody: c.Fetch.MaxBody, AllowPrivate: allowed, Bandwidth: c.Limits.Bandwidth}
	if f.UserAgent == "" {
		f.UserAgent = fetch.Agent(c.Fetch.Contact)
	}
	if f.Timeout == 0 {
		f.Timeout = time.Minute
	}
	for _, s := range c.Sites {
		f.Fields = append(f.Fields, s.Fields...)
	}
	if c.Fetch.Proxy != "" {
		if f.Proxy, err = url.Parse(c.Fetch.Proxy); err != nil {
			return nil, usagef("%s: proxy: want http://, https:// or socks5:// and a host", r.config)
		}
	}
	if c.Fetch.Cookies != "" {
		file, err := os.Open(c.Fetch.Cookies)
		if err != nil {
			return nil, usagef("%s: cookies: %w", r.config, err)
		}
		defer file.Close()
		if f.Cookies, err = fetch.ReadCookies(file, time.Now()); err != nil {
			return nil, usagef("%s: cookies: %w", r.config, err)
		}
	}
	return &node.Config{
		Dir: r.dir, Checkpoints: r.checkpoints, Brokers: r.log.brokers, Group: r.log.group, Partitions: r.partitions, Replicas: r.replicas,
		Interval: r.interval, Session: r.session, Longest: f.Timeout, MaxTotal: r.total, Watch: c,
		Crawl: crawl.Config{Fetch: f, Parallel: c.Fetch.Parallel, Delay: -1, MaxKept: c.Fetch.MaxKept, Keep: c.Fetch.Keep},
	}, nil
}

// named returns the name of the process: --name, or the one that is in its folder.
func (r *runFlags) named() (string, error) {
	if r.name != "" {
		return r.name, nil
	}
	path := filepath.Join(r.dir, "name")
	b, err := os.ReadFile(path)
	if name := strings.TrimSpace(string(b)); err == nil && name != "" {
		return name, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	name := host + "-" + rand.Text()[:8]
	return name, atomicfile.Write(path, []byte(name+"\n"))
}

// lines writes a log for people.
type lines struct {
	w     io.Writer
	level slog.Level
	attrs []slog.Attr
}

func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }
func (l *lines) WithGroup(string) slog.Handler                    { return l }

func (l *lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &lines{l.w, l.level, append(l.attrs[:len(l.attrs):len(l.attrs)], attrs...)}
}

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString("forage-shard: ")
	for _, a := range l.attrs {
		fmt.Fprintf(&b, "%s %s: ", a.Key, printable.Text(a.Value.String()))
	}
	b.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&b, ", %s %s", a.Key, printable.Text(a.Value.String()))
		return true
	})
	_, err := fmt.Fprintln(l.w, b.String())
	return err
}
