package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"forage/distributed/shards/topics"
	"forage/snap"
	"forage/store"
)

// TestMain runs the program where a test started it as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("FORAGE_SHARD_TEST") != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		debug.SetGCPercent(40) // as main does
		code := run(ctx, os.Stdout, os.Stderr, os.Args[1:])
		stop()
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// A web is a server of many hosts, which records who asks when.
type web struct {
	addr   string // :port
	hosts  int
	pages  int  // of each host, on average
	uneven bool // the largest host has nine times as many pages as the smallest, so that first visits end one after another
	pause  int  // seconds, the Crawl-delay of all hosts; 0: they have no robots.txt
	remote bool // to some pages one page leads, of another host: who loses one URL on the way never finds them
	server *http.Server

	mu    sync.Mutex
	asked map[string][]request // by host
	count map[string]int       // by URL
}

// A request is how long one took, for which path, and of which process.
type request struct {
	from, to time.Time
	path     string
	agent    string
}

// serveWeb serves a web on all of 127.0.0.0/8. Page i of a host leads to pages 2i+1 and 2i+2, and to one of each of three other hosts.
func serveWeb(t testing.TB, hosts, pages int) *web {
	t.Helper()
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	w := &web{addr: ":" + port, hosts: hosts, pages: pages, asked: map[string][]request{}, count: map[string]int{}}
	w.server = &http.Server{Handler: w}
	go w.server.Serve(l)
	t.Cleanup(func() { w.server.Close() })
	return w
}

// size is how many pages a host has: with uneven, all together have hosts*pages where that is divisible by 5.
func (w *web) size(host int) int {
	if !w.uneven {
		return w.pages
	}
	rank := host * 7919 % w.hosts // a prime: neighbours differ
	return w.pages/5 + (2*rank+1)*4*w.pages/(5*w.hosts)
}

// isRemote reports whether only a page of another host leads to a page. The pages of a host's first tenth, which no host lacks, lead to others: none of them is one.
func (w *web) isRemote(host, page int) bool {
	return w.remote && page > 0 && page%3 == 0 && 2*page+1 >= w.size(host)
}

// total is how many pages there are.
func (w *web) total() (n int) {
	for h := range w.hosts {
		n += w.size(h)
	}
	return n
}

func (w *web) host(i int) string { return fmt.Sprintf("127.7.%d.%d%s", i/200, 1+i%200, w.addr) }

func (w *web) url(host, page int) string {
	if page == 0 {
		return "http://" + w.host(host) + "/"
	}
	return fmt.Sprintf("http://%s/%d", w.host(host), page)
}

func (w *web) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	from := time.Now()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.asked[r.Host] = append(w.asked[r.Host], request{from, time.Now(), r.URL.Path, r.UserAgent()})
		w.count["http://"+r.Host+r.URL.Path]++
	}()
	if r.URL.Path == "/robots.txt" && w.pause > 0 {
		fmt.Fprintf(out, "User-agent: *\nCrawl-delay: %d\n", w.pause)
		return
	}
	var page, x, y int
	if r.URL.Path != "/" {
		var err error
		if page, err = strconv.Atoi(r.URL.Path[1:]); err != nil || page < 1 {
			http.NotFound(out, r)
			return
		}
	}
	if n, err := fmt.Sscanf(r.Host, "127.7.%d.%d:", &x, &y); n != 2 || err != nil {
		http.NotFound(out, r)
		return
	}
	host := 200*x + y - 1
	if page >= w.size(host) {
		http.NotFound(out, r)
		return
	}
	out.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(out, "<!doctype html><title>%d of %d</title><p>", page, host)
	rnd := rand.New(rand.NewPCG(uint64(host), uint64(page)))
	for range 60 { // a text like no other, which nobody takes for what the site says of pages that are not there
		fmt.Fprintf(out, "%s ", strconv.FormatUint(rnd.Uint64N(1<<30), 36))
	}
	for _, next := range []int{2*page + 1, 2*page + 2} {
		if next < w.size(host) && !w.isRemote(host, next) {
			fmt.Fprintf(out, ` <a href="/%d">%d</a>`, next, next)
		}
	}
	for range 3 {
		other := rnd.IntN(w.hosts)
		to := rnd.IntN(w.size(other))
		if w.isRemote(other, to) {
			to = (to - 1) / 2
		}
		fmt.Fprintf(out, ` <a href="%s">x</a>`, w.url(other, to))
	}
	if first := max(1, w.pages/10); page < first {
		other := (host + 1) % w.hosts
		for to := page; to < w.size(other); to += first {
			if w.isRemote(other, to) {
				fmt.Fprintf(out, ` <a href="%s">x</a>`, w.url(other, to))
			}
		}
	}
}

// politeness returns an error if two requests to a host overlapped, or were closer than delay.
func (w *web) politeness(delay time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for host, all := range w.asked {
		slices.SortFunc(all, func(a, b request) int { return a.from.Compare(b.from) })
		for i := 1; i < len(all); i++ {
			if gap := all[i].from.Sub(all[i-1].to); gap < delay {
				return fmt.Errorf("%s: a request came %v after another one had ended, want %v at least", host, gap, delay)
			}
		}
	}
	return nil
}

// again returns how many pages were fetched more than once.
func (w *web) again() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for url, c := range w.count {
		if c > 1 && !strings.HasSuffix(url, "robots.txt") {
			n += c - 1
		}
	}
	return n
}

// A trial is a crawl by several processes.
type trial struct {
	t           testing.TB
	program     string // that the processes run
	web         *web
	brokers     string
	group       string
	dir         string
	partitions  int
	session     time.Duration
	checkpoints time.Duration
	delay       time.Duration
	processes   map[string]*process
	patience    time.Duration
	look        time.Duration                             // how often await asks how partitions are
	more        []string                                  // flags of run
	apart       map[string]func(start func() error) error // starts processes that are not in the network of the test
	ends        []ending
	happened    map[happening]bool // events that stores have, once stores was called
	began       time.Time
}

// An ending is when the test ended a process, or stopped it.
type ending struct {
	name string
	at   time.Time
}

// A happening is what an event tells of.
type happening struct {
	Type, Site, URL string
	Cycle           store.Cycle
}

// A process takes part.
type process struct {
	cmd   *exec.Cmd
	mu    sync.Mutex
	out   bytes.Buffer
	ended chan error
	meant bool // it was ended by the test
}

// Write takes what the process prints.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

// text is what the process has printed so far.
func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// broker starts a broker in memory, or tells where the one of FORAGE_KAFKA is.
func broker(t testing.TB) string {
	t.Helper()
	if at := os.Getenv("FORAGE_KAFKA"); at != "" {
		return at
	}
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.BrokerConfigs(map[string]string{"group.min.session.timeout.ms": "100"}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return strings.Join(c.ListenAddrs(), ",")
}

func newTrial(t testing.TB, hosts, pages int, delay time.Duration) *trial {
	t.Helper()
	tr := &trial{
		t: t, program: os.Args[0], web: serveWeb(t, hosts, pages), brokers: broker(t), group: fmt.Sprintf("test-%d-%d", os.Getpid(), time.Now().UnixNano()), dir: t.TempDir(),
		partitions: 6, session: 3 * time.Second, checkpoints: 2 * time.Second, delay: delay, processes: map[string]*process{}, patience: 90 * time.Second, look: 200 * time.Millisecond,
		apart: map[string]func(func() error) error{}, happened: map[happening]bool{}, began: time.Now(),
	}
	config := fmt.Sprintf("defaults:\n  timeout: 2s\n  every: 1000h\n  budget: 5\n  delay: %v\n  allow_private: [127.0.0.0/8]\nsites: []\n", tr.delay)
	if err := os.WriteFile(tr.path("forage.yaml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(tr.path("checkpoints"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for name, p := range tr.processes {
			p.cmd.Process.Kill()
			<-p.ended
			if t.Failed() {
				t.Logf("%s:\n%s", name, p.text())
			}
		}
	})
	return tr
}

func (tr *trial) path(name string) string { return filepath.Join(tr.dir, name) }

// start has a process take part.
func (tr *trial) start(name string) {
	tr.t.Helper()
	p := tr.processes[name]
	if p == nil {
		p = &process{}
		tr.processes[name] = p
	}
	p.cmd = exec.Command(tr.program, "run", "--brokers", tr.brokers, "--group", tr.group, "--dir", tr.path(name), "--name", name, "--checkpoints", tr.path("checkpoints"),
		"--config", tr.config(name), "--partitions", fmt.Sprint(tr.partitions), "--session", tr.session.String(), "--checkpoint-interval", tr.checkpoints.String(), "-v", "--replicas", "1")
	p.cmd.Args = append(p.cmd.Args, tr.more...)
	p.cmd.Env = append(os.Environ(), "FORAGE_SHARD_TEST=1")
	p.cmd.Stdout, p.cmd.Stderr = p, p
	p.ended, p.meant = make(chan error, 1), false
	begin := p.cmd.Start
	if do := tr.apart[name]; do != nil {
		begin = func() error { return do(p.cmd.Start) }
	}
	if err := begin(); err != nil {
		tr.t.Fatal(err)
	}
	cmd, ended := p.cmd, p.ended
	go func() { ended <- cmd.Wait() }()
}

// config is the configuration of a process: by the name under which it asks the web knows it.
func (tr *trial) config(name string) string {
	tr.t.Helper()
	b, err := os.ReadFile(tr.path("forage.yaml"))
	if err != nil {
		tr.t.Fatal(err)
	}
	path := tr.path(name + ".yaml")
	if err := os.WriteFile(path, bytes.Replace(b, []byte("defaults:\n"), []byte("defaults:\n  user_agent: "+name+"\n"), 1), 0o644); err != nil {
		tr.t.Fatal(err)
	}
	return path
}

// stop ends a process with a signal, and returns when it has ended.
func (tr *trial) stop(name string, s syscall.Signal) {
	tr.t.Helper()
	p := tr.processes[name]
	p.meant = true
	p.cmd.Process.Signal(s)
	select {
	case err := <-p.ended:
		p.ended <- err
		tr.ends = append(tr.ends, ending{name, time.Now()})
		if s == syscall.SIGTERM && err != nil {
			tr.t.Errorf("%s ends with %v", name, err)
		}
	case <-time.After(30 * time.Second):
		tr.t.Fatalf("%s does not end", name)
	}
}

// command runs a command, and returns what it prints.
func (tr *trial) command(args ...string) string {
	tr.t.Helper()
	var out, msg bytes.Buffer
	if code := run(context.Background(), &out, &msg, append(args, "--brokers", tr.brokers, "--group", tr.group)); code != 0 {
		tr.t.Fatalf("%q ends with %d: %s", args, code, msg.Bytes())
	}
	return out.String()
}

// status is what status tells.
func (tr *trial) status() (all []topics.Status) {
	tr.t.Helper()
	var out, msg bytes.Buffer
	if code := run(context.Background(), &out, &msg, []string{"status", "--json", "--brokers", tr.brokers, "--group", tr.group}); code != 0 {
		return nil // it has not begun
	}
	for line := range strings.Lines(out.String()) {
		var s topics.Status
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			tr.t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// await returns when ok does.
func (tr *trial) await(what string, ok func([]topics.Status) bool) {
	tr.t.Helper()
	tick := time.NewTicker(tr.look)
	defer tick.Stop()
	late := time.After(tr.patience)
	for {
		all := tr.status()
		if len(all) == tr.partitions && ok(all) {
			return
		}
		for name, p := range tr.processes {
			select {
			case err := <-p.ended:
				p.ended <- err
				if !p.meant {
					tr.t.Fatalf("not %s, as %s has ended with %v", what, name, err)
				}
			default:
			}
		}
		select {
		case <-tick.C:
		case <-late:
			tr.t.Errorf("still not %s:\n%s", what, tr.command("status"))
			for name, p := range tr.processes {
				if !p.meant {
					tr.stop(name, syscall.SIGTERM)
				}
			}
			tr.stores()
			tr.t.FailNow()
		}
	}
}

// crawled reports whether all is crawled.
func (tr *trial) crawled(all []topics.Status) bool {
	var sites, pages, queued int64
	for _, s := range all {
		sites, pages, queued = sites+s.Sites, pages+s.Pages, queued+s.Queued
	}
	return sites == int64(tr.web.hosts) && pages == int64(tr.web.total()) && queued == 0
}

// addAll adds all hosts.
func (tr *trial) addAll() {
	tr.t.Helper()
	args := []string{"add"}
	for i := range tr.web.hosts {
		args = append(args, tr.web.url(i, 0))
	}
	tr.command(args...)
}

// stores checks that each page is in the store of one partition, the one to which it belongs, as a page. All processes have ended.
func (tr *trial) stores() {
	tr.t.Helper()
	pages, known := map[string]int{}, map[string]string{}
	for p := range tr.partitions {
		var newest string // the store of the latest owner
		var epoch int64 = -1
		for name := range tr.processes {
			b, err := os.ReadFile(tr.path(fmt.Sprintf("%s/partition-%05d.json", name, p)))
			var l struct{ Epoch int64 }
			if err == nil && json.Unmarshal(b, &l) == nil && l.Epoch > epoch {
				epoch, newest = l.Epoch, tr.path(fmt.Sprintf("%s/partition-%05d", name, p))
			}
		}
		db, err := store.Open(newest, store.Options{MustExist: true})
		if err != nil {
			tr.t.Fatal(err)
		}
		if err := db.Check(func(problem store.Problem) { tr.t.Errorf("partition %d: %v", p, problem) }); err != nil {
			tr.t.Error(err)
		}
		if err := db.Docs(func(d *store.Doc) bool {
			if at := topics.Partition(store.HostOf(d.URL), int32(tr.partitions)); at == int32(p) {
				known[d.URL] = fmt.Sprintf("%s %s, status %d, %s %s, found by %d, cycle %d", d.State, d.Kind, d.Status, d.Reason, d.Via, d.FoundOn, d.Cycle)
			}
			if d.State == store.Fetched && d.Kind == store.Page {
				pages[d.URL]++
				if at := topics.Partition(store.HostOf(d.URL), int32(tr.partitions)); at != int32(p) {
					tr.t.Errorf("%s was fetched by partition %d, and belongs to %d", d.URL, p, at)
				}
			}
			return true
		}); err != nil {
			tr.t.Error(err)
		}
		if err := db.Events(0, func(e *store.Event) bool {
			tr.happened[happening{string(e.Type), e.Site, e.URL, e.Cycle}] = true
			return true
		}); err != nil {
			tr.t.Error(err)
		}
		if err := db.Close(); err != nil {
			tr.t.Error(err)
		}
	}
	for h := range tr.web.hosts {
		for p := range tr.web.size(h) {
			url := tr.web.url(h, p)
			if n := pages[url]; n != 1 {
				tr.t.Errorf("%s is in %d stores, want one: %s", url, n, known[url])
			}
		}
	}
}

// listed checks that each page is listed once. All processes have ended, with a checkpoint of each partition.
func (tr *trial) listed() {
	tr.t.Helper()
	count := map[string]int{}
	lines := strings.Fields(tr.read("pages"))
	for _, url := range lines {
		count[url]++
	}
	for h := range tr.web.hosts {
		for p := range tr.web.size(h) {
			if n := count[tr.web.url(h, p)]; n != 1 {
				tr.t.Errorf("%s is listed %d times, want once", tr.web.url(h, p), n)
			}
		}
	}
	if want := tr.web.total(); len(lines) != want {
		tr.t.Errorf("%d pages are listed, want %d", len(lines), want)
	}
}

// read runs a command that reads the checkpoints, and returns what it prints.
func (tr *trial) read(args ...string) string {
	tr.t.Helper()
	var out, msg bytes.Buffer
	if code := run(context.Background(), &out, &msg, append(args, "--checkpoints", tr.path("checkpoints"), "--group", tr.group)); code != 0 {
		tr.t.Fatalf("%q ends with %d: %s", args, code, msg.Bytes())
	}
	if !strings.Contains(msg.String(), "forage-shard: as of checkpoints, the oldest of 2") && !slices.Contains(args, "--json") {
		tr.t.Errorf("%q does not say how old the checkpoints are: %q", args, msg.String())
	}
	return out.String()
}

// exported checks what is exported against what is listed.
func (tr *trial) exported() {
	tr.t.Helper()
	urls, pages := strings.Fields(tr.read("export", "urls", "-o", "-")), strings.Fields(tr.read("pages"))
	if slices.Sort(urls); len(urls) == 0 || !slices.Equal(urls, slices.Sorted(slices.Values(pages))) {
		tr.t.Errorf("%d URLs are exported, and %d pages listed", len(urls), len(pages))
	}
	known := strings.Fields(tr.read("export", "urls", "--all", "-o", "-"))
	if slices.Sort(known); len(known) < len(urls) || len(slices.Compact(slices.Clone(known))) != len(known) {
		tr.t.Errorf("of %d URLs that are known some come twice", len(known))
	}
	one := topics.Partition(tr.web.host(0), int32(tr.partitions))
	if of := strings.Fields(tr.read("pages", "--partition", fmt.Sprint(one))); len(of) == 0 || len(of) >= len(pages) || slices.ContainsFunc(of, func(u string) bool { return topics.Partition(store.HostOf(u), int32(tr.partitions)) != one }) {
		tr.t.Errorf("partition %d: %d pages", one, len(of))
	}
	if of := strings.Fields(tr.read("pages", "--site", tr.web.host(0), "--new-since", "1", "--include-unknown")); len(of) > tr.web.size(0) {
		tr.t.Errorf("of a site %d pages", len(of))
	}
	if rows := strings.Split(strings.TrimSpace(tr.read("pages", "--format", "csv")), "\n"); len(rows) != len(pages)+1 || !strings.HasPrefix(rows[0], "url,site,") || slices.ContainsFunc(rows[1:], func(r string) bool { return r == rows[0] }) {
		tr.t.Errorf("a table of %d rows, want %d and a head", len(rows), len(pages))
	}

	var told struct {
		Records uint64
		Oldest  time.Time
	}
	if err := json.Unmarshal([]byte(tr.read("export", "parquet", "--json", "-o", tr.path("tables"))), &told); err != nil || told.Records < uint64(len(pages)) || told.Oldest.IsZero() {
		tr.t.Errorf("tables: %+v, %v", told, err)
	}
	tr.read("export", "graph", "-o", tr.path("graph"))
	for p := range tr.partitions {
		for _, file := range []string{"tables/partition=%d/pages.parquet", "tables/partition=%d/links.parquet", "graph/partition=%d/links.tsv", "graph/partition=%d/links.tsv.urls"} {
			if info, err := os.Stat(tr.path(fmt.Sprintf(file, p))); err != nil || info.Size() == 0 {
				tr.t.Errorf("a file of an export: %v", err)
			}
		}
	}
	tr.read("export", "snap", "--site", tr.web.host(0), "-o", tr.path("site.snap.gz"))
	if h, err := snap.Open(tr.path("site.snap.gz")); err != nil || h.Site != tr.web.host(0) {
		tr.t.Errorf("the history of a site: %+v, %v", h, err)
	}
}

// events checks, as one who drops what comes twice, that each site is told of as ready once, nothing else of a page twice, and all that the stores have.
func (tr *trial) events() {
	tr.t.Helper()
	told, ready := map[happening]int{}, map[string]int{}
	for line := range strings.Lines(tr.command("events")) {
		var e happening
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			tr.t.Fatal(err)
		}
		if told[e]++; e.Type == string(store.SiteReady) {
			ready[e.Site]++
		}
	}
	for e, n := range told {
		if n > 1 && e.URL != "" {
			tr.t.Errorf("%+v is told %d times, want once", e, n)
		}
	}
	for e := range tr.happened {
		if told[e] == 0 {
			tr.t.Errorf("%+v is in a store, and not told", e)
		}
	}
	for i := range tr.web.hosts {
		if n := ready[tr.web.host(i)]; n != 1 {
			tr.t.Errorf("%s is told of as ready %d times, want once", tr.web.host(i), n)
		}
	}
}

// TestOneBudget has several processes share the fetches of a day: where more sites are, there is more of it; and when the process that divides it is
// killed another one does.
func TestOneBudget(t *testing.T) {
	tr := newTrial(t, 12, 8, 0)
	b, err := os.ReadFile(tr.path("forage.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	b = append(bytes.ReplaceAll(b, []byte("every: 1000h"), []byte("every: 24h")), "limits: {fetches_per_day: 30}\n"...)
	if err := os.WriteFile(tr.path("forage.yaml"), b, 0o644); err != nil {
		t.Fatal(err)
	}
	tr.start("a")
	tr.start("b")
	tr.await("begun", func(all []topics.Status) bool {
		return !slices.ContainsFunc(all, func(s topics.Status) bool { return s.State != "crawls" })
	})
	tr.addAll()
	divided := func(all []topics.Status) bool {
		sum, sites := 0, true
		for _, s := range all {
			if s.Allotted == nil {
				return false
			}
			sum += *s.Allotted
			sites = sites && (s.Sites > 0) == (*s.Allotted > 0)
		}
		return sum == 30 && sites // 5 a day for each of 12 sites are wanted
	}
	tr.await("divided", func(all []topics.Status) bool { return tr.crawled(all) && divided(all) })
	var owner string
	epoch := int64(0)
	for _, s := range tr.status() {
		if s.Partition == 0 {
			owner, epoch = s.Owner, s.Epoch
		}
	}
	tr.stop(owner, syscall.SIGKILL)
	tr.await("divided by another one", func(all []topics.Status) bool {
		return all[0].Epoch > epoch && all[0].Owner != owner && divided(all)
	})
}

// TestCrawl has two processes crawl, one more come, and one go.
func TestCrawl(t *testing.T) {
	tr := newTrial(t, 40, 30, 10*time.Millisecond)
	tr.start("a")
	tr.start("b")
	tr.await("begun", func(all []topics.Status) bool {
		return !slices.ContainsFunc(all, func(s topics.Status) bool { return s.State != "crawls" })
	})
	tr.addAll()
	tr.start("c")
	tr.await("with c", func(all []topics.Status) bool {
		return slices.ContainsFunc(all, func(s topics.Status) bool { return s.Owner == "c" })
	})
	tr.stop("a", syscall.SIGTERM)
	tr.await("crawled", tr.crawled)
	tr.stop("b", syscall.SIGTERM)
	tr.stop("c", syscall.SIGTERM)
	tr.stores()
	tr.listed()
	tr.exported()
	tr.events()
	if err := tr.web.politeness(tr.delay); err != nil {
		t.Error(err)
	}
	if n := tr.web.again(); n > 0 {
		t.Errorf("%d pages were fetched again, though all partitions were handed over", n)
	}
}

// trouble is what is done to processes in mid-crawl.
func (tr *trial) trouble(what, name string) {
	tr.t.Helper()
	began := time.Now()
	switch what {
	case "killed, and starts again":
		tr.stop(name, syscall.SIGKILL)
		tr.start(name)
	case "killed, and starts again with an empty disk":
		tr.stop(name, syscall.SIGKILL)
		if err := os.RemoveAll(tr.path(name)); err != nil {
			tr.t.Fatal(err)
		}
		tr.start(name)
	case "killed":
		tr.stop(name, syscall.SIGKILL)
	case "stopped until others have its partitions":
		p := tr.processes[name].cmd.Process
		p.Signal(syscall.SIGSTOP)
		tr.await("taken over from "+name, func(all []topics.Status) bool {
			return !slices.ContainsFunc(all, func(s topics.Status) bool { return s.Owner == name })
		})
		p.Signal(syscall.SIGCONT)
	}
	tr.goesOn(began)
	tr.t.Logf("%s is %s: all partitions are crawled again after %v", name, what, time.Since(began).Round(100*time.Millisecond))
}

// goesOn returns when all partitions are crawled, as their owners said after a time.
func (tr *trial) goesOn(since time.Time) {
	tr.t.Helper()
	tr.await("going on", func(all []topics.Status) bool {
		return !slices.ContainsFunc(all, func(s topics.Status) bool {
			at, err := time.Parse(time.RFC3339, s.At)
			return err != nil || s.State != "crawls" || at.Before(since)
		})
	})
}

// TestTrouble has processes be killed and stopped while they crawl.
func TestTrouble(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	if os.Getenv("FORAGE_KAFKA_JARS") != "" {
		t.Skip("TestKafka does the same with a broker of Apache Kafka")
	}
	troubled(t, func(*trial) {})
}

// troubled is a crawl with all sorts of trouble; more is some of it.
func troubled(t *testing.T, more func(*trial)) {
	tr := newTrial(t, 30, 300, 100*time.Millisecond)
	for _, name := range []string{"a", "b", "c"} {
		tr.start(name)
	}
	tr.await("divided", func(all []topics.Status) bool {
		owners := map[string]int{}
		for _, s := range all {
			owners[s.Owner]++
		}
		return owners["a"] == 2 && owners["b"] == 2 && owners["c"] == 2
	})
	tr.addAll()
	more(tr)
	tr.trouble("killed, and starts again", "a")
	tr.trouble("stopped until others have its partitions", "b")
	tr.trouble("killed, and starts again with an empty disk", "c")
	tr.trouble("killed", "a")
	if all := tr.status(); tr.crawled(all) {
		t.Error("all was crawled before the last trouble")
	}
	tr.await("crawled", tr.crawled)
	for _, name := range []string{"b", "c"} {
		tr.stop(name, syscall.SIGTERM)
	}
	tr.stores()
	tr.listed()
	tr.events()
	if err := tr.web.politeness(tr.delay); err != nil {
		t.Error(err)
	}
	again, all := tr.web.again(), tr.web.total()
	if t.Logf("%d of %d pages were fetched again", again, all); again == 0 || again > all/3 {
		t.Errorf("%d of %d pages were fetched again: want those since the last checkpoints, and some", again, all)
	}
}

// TestBadInput gives a process what does not fit: it says so, in a line, and takes part in nothing.
func TestBadInput(t *testing.T) {
	tr := newTrial(t, 1, 1, 0)
	tr.start("a")
	tr.await("begun", func(all []topics.Status) bool { return all[0].State == "crawls" })
	if err := os.Mkdir(tr.path("elsewhere"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tr.path("hooks.yaml"), []byte("webhooks:\n  - name: x\n    url: https://example.org/\nsites: []\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	given := map[string]string{
		"--brokers": tr.brokers, "--group": tr.group, "--dir": tr.path("b"), "--name": "b", "--checkpoints": tr.path("checkpoints"), "--config": tr.path("forage.yaml"), "--partitions": fmt.Sprint(tr.partitions), "--listen": "127.0.0.1:0", "--max-total": "0",
	}
	for _, c := range []struct{ flag, value, want string }{
		{"--listen", "127.0.0.1" + tr.web.addr, "address already in use"},
		{"--brokers", "127.0.0.1:1", "no broker of Kafka's protocol answers at 127.0.0.1:1"},
		{"--brokers", "127.0.0.1" + tr.web.addr, "no broker of Kafka's protocol answers"},
		{"--partitions", "7", "has 6 partitions, want 7"},
		{"--max-total", "-1", "--max-total wants 0 or more"},
		{"--partitions", "0", "0 partitions: want 1 to 10000"},
		{"--checkpoints", tr.path("elsewhere"), "not the checkpoints that the other processes"},
		{"--checkpoints", tr.path("nowhere"), "it has to be there"},
		{"--dir", tr.path("a"), "another process works there"},
		{"--config", tr.path("hooks.yaml"), "webhooks"},
		{"--config", tr.path("none.yaml"), "none.yaml"},
	} {
		args := []string{"run"}
		for flag, value := range given {
			if flag == c.flag {
				value = c.value
			}
			args = append(args, flag, value)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		var out, msg bytes.Buffer
		code := run(ctx, &out, &msg, args)
		cancel()
		if lines := strings.Count(msg.String(), "\n"); code != exitUsage || !strings.Contains(msg.String(), c.want) || lines != 1 {
			t.Errorf("%s %s: exit code %d, %q; want %d and a line with %q", c.flag, c.value, code, msg.String(), exitUsage, c.want)
		}
	}
	var out, msg bytes.Buffer
	if code := run(t.Context(), &out, &msg, []string{"add", "--brokers", tr.brokers, "--group", tr.group, tr.web.url(0, 0), "no url"}); code != exitUsage || !strings.Contains(msg.String(), "argument 2") {
		t.Errorf("add: exit code %d, %q", code, msg.String())
	}
	if code := run(t.Context(), &out, &msg, []string{"status", "--brokers", tr.brokers, "--group", "none"}); code != exitUsage || !strings.Contains(msg.String(), "'forage-shard run' begins one") {
		t.Errorf("status: exit code %d, %q", code, msg.String())
	}
}
