// Scalebench measures how far one machine goes, and prints beside each figure what is asked of it: CPU
// time, bytes written and memory for each page of small and large sites, sites of which many more URLs
// are known than were fetched, budgeted cycles and commands on a large store, many hosts, real HTML.
//
//	go run ./internal/scalebench
//	go run ./internal/scalebench -only million -quick
//
// Servers and crawlers are processes of their own; CPU time is user and system time of the crawler's.
// Memory is VmHWM of the crawler as /proc tells it while it runs, and at its end the system; bytes written are the blocks that
// the system counts for it. Ratios come from pairs, one after the other. All of it takes an hour or more;
// -quick divides the sizes by ten. What is written goes into a folder that is removed at the end.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"forage/internal/asked"
)

func main() {
	b := &bench{Table: asked.Table{Out: os.Stdout}}
	only := flag.String("only", "", "measure this row alone: "+asked.Names(b.rows()))
	flag.BoolVar(&b.Quick, "quick", false, "sizes divided by ten, for a look")
	flag.StringVar(&b.forage, "forage", "", "the program to measure; empty builds ./cmd/forage")
	flag.StringVar(&b.folder, "folder", "/usr/share/doc/python3.11/html", "a folder of HTML files")
	flag.Parse()
	if err := b.run(*only); err != nil {
		fmt.Fprintln(os.Stderr, "scalebench:", err)
		os.Exit(1)
	}
}

// A bench is one call of the program.
type bench struct {
	asked.Table
	forage, crawler, folder string // crawler is crawlbench
	tmp                     string
}

// rows are what can be measured, in the order in which it is.
func (b *bench) rows() []asked.Row {
	return []asked.Row{
		{Name: "standard", Run: b.standard},
		{Name: "html", Run: b.html},
		{Name: "tls-hosts", Run: b.tlsHosts},
		{Name: "hosts-10k", Run: b.hosts10k},
		{Name: "hosts-100k", Run: b.hosts100k},
		{Name: "million", Run: b.million},
		{Name: "ten-million", Run: b.tenMillion},
	}
}

func (b *bench) run(only string) (err error) {
	if err := asked.Know(b.rows(), only); err != nil {
		return err
	}
	if b.tmp, err = os.MkdirTemp("", "scalebench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.tmp)
	b.crawler = filepath.Join(b.tmp, "crawlbench")
	build := map[string]string{b.crawler: "./internal/crawlbench"}
	if b.forage == "" {
		b.forage = filepath.Join(b.tmp, "forage")
		build[b.forage] = "./cmd/forage"
	}
	for to, from := range build {
		cmd := exec.Command("go", "build", "-o", to, from)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("go build %s: %w", from, err)
		}
	}
	return b.Run(b.rows(), only)
}

// bytesIn is how much the files below a folder take.
func bytesIn(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}

// site serves a made-up site of pages of 2 kB until stop is called.
func (b *bench) site(pages, links int) (base string, stop func() error, err error) {
	server := exec.Command(b.crawler, "-part", "site", "-pages", fmt.Sprint(pages), "-size", "2000", "-links", fmt.Sprint(links), "")
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := server.Start(); err != nil {
		return "", nil, err
	}
	lines := bufio.NewScanner(out)
	stop = func() error {
		err := server.Process.Signal(syscall.SIGTERM)
		for lines.Scan() {
		}
		return errors.Join(err, server.Wait())
	}
	if !lines.Scan() {
		return "", nil, errors.Join(errors.New("the site did not start"), stop())
	}
	return lines.Text() + "/", stop, nil
}

// on is a command of forage on a store.
func (b *bench) on(store string, args ...string) *exec.Cmd {
	return exec.Command(b.forage, append(args, "--dir", store)...)
}

func (b *bench) crawl(store, url string, more ...string) *exec.Cmd {
	return b.on(store, append([]string{"crawl", url, "--delay", "0", "--parallel", "64", "--allow-private", "127.0.0.0/8"}, more...)...)
}

// visit crawls a site of pages of 2 kB with so many links each.
func (b *bench) visit(store string, pages, links int, more ...string) (u asked.Use, err error) {
	url, stop, err := b.site(pages, links)
	if err != nil {
		return u, err
	}
	u, err = asked.Measure(b.crawl(store, url, more...))
	return u, errors.Join(err, stop())
}

// small is the CPU time for a page of a small site, of which so many are fetched, the median of three visits.
func (b *bench) small(pages, links, fetch int) (float64, error) {
	var each []float64
	var limit []string
	if fetch < pages {
		limit = []string{"--max-total", fmt.Sprint(fetch)}
	}
	for i := range 3 {
		store := filepath.Join(b.tmp, fmt.Sprint("small", i))
		u, err := b.visit(store, pages, links, limit...)
		if err := errors.Join(err, os.RemoveAll(store)); err != nil {
			return 0, err
		}
		each = append(each, u.CPU.Seconds()/float64(fetch))
	}
	slices.Sort(each)
	return each[1], nil
}

func (b *bench) million() error {
	n := b.Size(1_000_000)
	few := b.Size(20_000)
	before, err := b.small(few, 10, few)
	if err != nil {
		return err
	}
	store := filepath.Join(b.tmp, "million")
	url, stop, err := b.site(n, 10)
	if err != nil {
		return err
	}
	u, err := asked.Measure(b.crawl(store, url))
	if err != nil {
		return errors.Join(err, stop())
	}
	after, err := b.small(few, 10, few)
	if err != nil {
		return errors.Join(err, stop())
	}
	size, err := bytesIn(store)
	if err != nil {
		return errors.Join(err, stop())
	}
	each := u.CPU.Seconds() / float64(n)
	b.Tell("CPU for a page of a small site", (before+after)/2*1e6, "us", 0)
	b.Tell(fmt.Sprintf("CPU for each of %d pages", n), each*1e6, "us", 0)
	b.Tell("  against a small site", 2*each/(before+after), "x", 1.25)
	b.Tell("  bytes written for each (blocks that the system counts)", float64(u.Written)/float64(n), "B", 900)
	b.Tell("  bytes of the store for each", float64(size)/float64(n), "B", 0)
	b.Tell("  memory", float64(u.Memory)/1e6, "MB", 200)
	for range 3 { // what the first ones have to make is there then
		u, err = asked.Measure(b.on(store, "revisit", "--budget", "100", "--delay", "0", "--allow-private", "127.0.0.0/8"))
		if err != nil {
			return errors.Join(err, stop())
		}
	}
	b.Tell("revisit --budget 100 of it, the third: CPU", u.CPU.Seconds(), "s", 1)
	b.Tell("  memory", float64(u.Memory)/1e6, "MB", 150)
	if err := errors.Join(stop(), b.commands(store, url)); err != nil {
		return err
	}
	return os.RemoveAll(store)
}

// commands measures what reads a store.
func (b *bench) commands(store, url string) error {
	file := filepath.Join(b.tmp, "export.gz")
	for _, args := range [][]string{
		{"pages"}, {"pages", "--json"}, {"pages", "--format", "csv"}, {"pages", "--kind", "content", "--match", "7$"}, {"pages", "--changed-since", "1"},
		{"status", "--json"}, {"explain", url}, {"check"}, {"export", "urls", "-o", file}, {"export", "graph", "-o", file}, {"export", "snap", "-o", file},
	} {
		u, err := asked.Measure(b.on(store, args...))
		if err != nil {
			return err
		}
		what := strings.Join(args[:min(2, len(args))], " ")
		if what == "pages --kind" {
			what = "pages --kind --match"
		} else if args[0] == "explain" {
			what = "explain"
		}
		b.Tell(fmt.Sprintf("%s: CPU (memory %d MB)", what, u.Memory/1e6), u.CPU.Seconds(), "s", 5)
	}
	return nil
}

// tenMillion crawls a fifth of a site, by when nearly all of its URLs are known, and goes on.
func (b *bench) tenMillion() (err error) {
	n, fetch := b.Size(10_000_000), b.Size(2_000_000)
	// Of the small site a fifth is fetched too, so that a page leads to as many unknown URLs there.
	each, err := b.small(b.Size(100_000), 20, b.Size(20_000))
	if err != nil {
		return err
	}
	url, stop, err := b.site(n, 20)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	url, first, err := relay(url)
	if err != nil {
		return err
	}
	store := filepath.Join(b.tmp, "ten")
	u, err := asked.Measure(b.crawl(store, url, "--max-total", fmt.Sprint(fetch)))
	if err != nil {
		return err
	}
	b.Tell(fmt.Sprintf("CPU for each of %d pages of %d", fetch, n), u.CPU.Seconds()/float64(fetch)*1e6, "us", 0)
	b.Tell("  against a fifth of a small site", u.CPU.Seconds()/float64(fetch)/each, "x", 1.5)
	b.Tell("  memory", float64(u.Memory)/1e6, "MB", 600)
	b.Tell("  bytes written for each", float64(u.Written)/float64(fetch), "B", 0)
	for _, after := range []string{"a clean stop", "kill -9"} {
		u, took, err := b.resume(store, url, first)
		if err != nil {
			return err
		}
		b.Tell("resuming it after "+after+": to the first connection", took.Seconds(), "s", 5)
		b.Tell("  CPU until then", u.CPU.Seconds(), "s", 0)
		b.Tell("  memory", float64(u.Memory)/1e6, "MB", 600)
	}
	return os.RemoveAll(store)
}

// resume goes on with a crawl and kills it at its first connection, which comes after took.
func (b *bench) resume(store, url string, first *atomic.Int64) (u asked.Use, took time.Duration, err error) {
	cmd := b.crawl(store, url)
	first.Store(0)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return u, 0, err
	}
	for ; first.Load() == 0 && time.Since(began) < 10*time.Minute; time.Sleep(10 * time.Millisecond) {
		u.Memory = max(u.Memory, asked.Resident(cmd.Process.Pid))
	}
	if first.Load() == 0 {
		err = errors.New("no connection within ten minutes")
	}
	err = errors.Join(err, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	u.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return u, time.Unix(0, first.Load()).Sub(began), err
}

// relay passes connections on to a site. first is when the first one came since it was set to 0, in
// nanoseconds since the epoch.
func relay(url string) (through string, first *atomic.Int64, err error) {
	to := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	first = new(atomic.Int64)
	go func() { // for as long as the program runs
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			first.CompareAndSwap(0, time.Now().UnixNano())
			go func() {
				defer in.Close()
				out, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer out.Close()
				go io.Copy(out, in)
				io.Copy(in, out)
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/", first, nil
}

// bench runs crawlbench and returns what it prints.
func (b *bench) bench(args ...string) (string, error) {
	cmd := exec.Command(b.crawler, append([]string{"-forage", b.forage}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("crawlbench %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

// found is the number that the first group of a pattern has in a text, NaN where there is none.
func found(text, pattern string) float64 {
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		return math.NaN()
	}
	x, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

// patterns of what crawlbench prints.
const (
	ratioOf  = `ratio ([\d.]+) \(`
	memoryOf = `(?m)^forage crawl .* ([\d.]+)$`
	firstOf  = `first request after +([\d.]+) s`
	spanOf   = `span that delays need .* ratio ([\d.]+)`
	cpuOf    = `CPU of the crawler +([\d.]+) s`
	residOf  = `(?m)^memory +([\d.]+) MB`
)

func (b *bench) standard() error {
	text, err := b.bench("-pages", fmt.Sprint(b.Size(50_000)), "-runs", "5")
	b.Tell("standard job, http: pages per CPU second, bare loop = 1", found(text, ratioOf), "x", -1)
	return err
}

func (b *bench) html() error {
	if _, err := os.Stat(b.folder); err != nil {
		fmt.Fprintf(b.Out, "real HTML: not measured, there is no %s: -folder names another\n", b.folder)
		return nil
	}
	for _, h2 := range []bool{false, true} {
		text, err := b.bench("-folder", b.folder, "-https", "-runs", "5", fmt.Sprintf("-h2=%t", h2))
		if err != nil {
			return err
		}
		b.Tell(fmt.Sprintf("real HTML, TLS, HTTP/%s: bare loop = 1", map[bool]string{false: "1.1", true: "2"}[h2]), found(text, ratioOf), "x", -1.7)
		b.Tell("  memory", found(text, memoryOf), "MB", 200)
	}
	return nil
}

func (b *bench) tlsHosts() error {
	text, err := b.bench("-hosts", fmt.Sprint(b.Size(600)), "-perhost", "10", "-delay", "3s", "-https")
	b.Tell("https/1.1, 600 hosts, delay 3 s: CPU", found(text, cpuOf), "s", 3.5)
	return err
}

func (b *bench) hosts10k() error {
	text, err := b.bench("-hosts", fmt.Sprint(b.Size(10_000)), "-perhost", "5", "-delay", "30s")
	b.Tell("10,000 hosts x 5, delay 30 s: span against what it needs", found(text, spanOf), "x", 1.1)
	return err
}

func (b *bench) hosts100k() error {
	text, err := b.bench("-hosts", fmt.Sprint(b.Size(100_000)), "-perhost", "1", "-delay", "60s")
	b.Tell("100,000 hosts x 1, delay 60 s: first request after", found(text, firstOf), "s", 5)
	b.Tell("  span against what it needs", found(text, spanOf), "x", 1.2)
	b.Tell("  memory", found(text, residOf), "MB", 400)
	return err
}
