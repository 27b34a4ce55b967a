// Crawlbench measures what a crawl costs: it serves a site that does not exist on loopback,
// lets a bare loop (net/http's client, the x/net/html tokenizer, a set of hashes; no store, no
// robots.txt, no identity) and then forage crawl fetch all of it, each in a process of its
// own, and prints pages per second of CPU time side by side. The ratio is what counts:
// both run on the same machine in the same minute. With -against another forage program takes the
// place of the bare loop, and the ratio tells what a change to the crawler has cost or saved.
//
//	go run ./internal/crawlbench -pages 50000 -runs 3
//	go run ./internal/crawlbench -https -against /path/to/older/forage
//
// With -folder the site is a folder of HTML files, such as a package of documentation, sent with gzip;
// over https by HTTP/1.1, or HTTP/2 with -h2:
//
//	go run ./internal/crawlbench -folder /usr/share/doc/python3.11/html -https -h2
//
// With -hosts it serves that many hosts instead, each at an address of its own in 127.0.0.0/8 with
// a site of -perhost pages, has forage crawl all of them once, and prints what the server saw: how
// soon the first request came, how long it took beside what the delays need, how hosts were left alone
// between requests, connections, how many of these resumed a session of TLS, and the CPU time of either side. With -silent as many hosts beside
// them never answer; they stand first in the list of seeds.
//
//	go run ./internal/crawlbench -hosts 100000 -perhost 1 -delay 60s
//	go run ./internal/crawlbench -hosts 600 -perhost 10 -delay 3s -https
//	go run ./internal/crawlbench -hosts 1 -perhost 2000 -delay 50ms -silent 100 -silence drop -parallel 16 -limit 120s
package main

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "crawlbench:", err)
		os.Exit(1)
	}
}

// A result is what one crawler needed for the site.
type result struct {
	name   string
	served int // pages, as the server counts them
	cpu    time.Duration
	wall   time.Duration
	memory int64 // peak of resident memory, bytes
}

func (r result) rate() float64 { return float64(r.served) / r.cpu.Seconds() }

func run() error {
	var (
		pages    = flag.Uint64("pages", 50_000, "pages of the site")
		size     = flag.Int("size", 10_240, "bytes of a page, about")
		links    = flag.Int("links", 20, "links of a page")
		parallel = flag.Int("parallel", 64, "requests at once")
		runs     = flag.Int("runs", 3, "repetitions; the median counts")
		forage   = flag.String("forage", "", "the program to measure; empty builds ./cmd/forage")
		against  = flag.String("against", "", "another forage program to measure, instead of the bare loop")
		https    = flag.Bool("https", false, "serve the site, or the hosts, over https")
		h2       = flag.Bool("h2", false, "serve -folder by HTTP/2, with -https")
		folder   = flag.String("folder", "", "serve the HTML files of this folder, with gzip, instead of made-up pages")
		keep     = flag.String("keep", "", "folder that keeps the last store")
		part     = flag.String("part", "", "used by the program itself: site, hosts or bare")
		many     load
	)
	flag.IntVar(&many.hosts, "hosts", 0, "serve so many hosts; 0: the one site")
	flag.IntVar(&many.perHost, "perhost", 1, "pages of each of -hosts")
	flag.DurationVar(&many.delay, "delay", time.Second, "between two requests to one of -hosts")
	flag.IntVar(&many.silent, "silent", 0, "hosts that do not answer, beside -hosts")
	flag.StringVar(&many.silence, "silence", silenceAccept, "how they do not: accept connections and say nothing, or drop what wants to connect")
	flag.DurationVar(&many.limit, "limit", 0, "end the crawl of -hosts after this time; 0: when all is fetched")
	flag.Parse()
	if err := many.check(); err != nil {
		return err
	}
	many.parallel = *parallel
	if *h2 && (*folder == "" || !*https && *part == "") {
		return errors.New("-h2 goes with -folder and -https")
	}
	switch *part {
	case "hosts":
		return serveHosts(many, flag.Arg(0))
	case "site":
		if *folder != "" {
			return serveFolder(*folder, flag.Arg(0), *h2)
		}
		return serveSite(newSite(*pages, *size, *links), flag.Arg(0))
	case "bare":
		return bare(flag.Arg(0), *parallel)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "crawlbench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if *forage == "" {
		*forage = filepath.Join(tmp, "forage")
		build := exec.Command("go", "build", "-o", *forage, "./cmd/forage")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("go build ./cmd/forage: %w", err)
		}
	}
	certificate := ""
	if *https {
		certificate = filepath.Join(tmp, "certificate.pem")
		if err := os.Setenv("SSL_CERT_FILE", certificate); err != nil { // for the crawlers
			return err
		}
	}
	if many.hosts > 0 {
		store := cmp.Or(*keep, filepath.Join(tmp, "store"))
		if err := os.RemoveAll(store); err != nil {
			return err
		}
		return benchHosts(many, self, *forage, filepath.Join(tmp, "seeds"), store, certificate)
	}
	site := func() *exec.Cmd {
		return exec.Command(self, "-part", "site", "-pages", fmt.Sprint(*pages), "-size", fmt.Sprint(*size), "-links", fmt.Sprint(*links),
			"-folder", *folder, fmt.Sprintf("-h2=%t", *h2), certificate)
	}
	crawl := func(program, store string) []string {
		return []string{program, "crawl", "--dir", store, "--delay", "0", "--parallel", fmt.Sprint(*parallel), "--allow-private", "127.0.0.0/8", "--json"}
	}
	names := []string{"bare loop", "forage crawl"}
	if *against != "" {
		names[0] = "against"
	}
	var rows [2][]result
	fmt.Printf("%-14s %8s %8s %8s %12s %8s\n", "", "pages", "wall s", "CPU s", "pages/CPU s", "MB")
	for i := range *runs {
		store := filepath.Join(tmp, fmt.Sprint("store", i))
		if *keep != "" {
			store = *keep
			if err := os.RemoveAll(store); err != nil {
				return err
			}
		}
		first := []string{self, "-part", "bare", "-parallel", fmt.Sprint(*parallel)}
		if *against != "" {
			first = crawl(*against, store+"-against")
		}
		for j, args := range [][]string{first, crawl(*forage, store)} {
			r, err := measure(site(), args)
			if err != nil {
				return err
			}
			r.name = names[j]
			fmt.Printf("%-14s %8d %8.2f %8.2f %12.0f %8.0f\n", r.name, r.served, r.wall.Seconds(), r.cpu.Seconds(), r.rate(), float64(r.memory)/1e6)
			rows[j] = append(rows[j], r)
			if *folder == "" && uint64(r.served) < *pages {
				return fmt.Errorf("%s fetched %d of %d pages", r.name, r.served, *pages)
			}
		}
	}
	var ratios []float64
	for i := range rows[0] {
		ratios = append(ratios, rows[1][i].rate()/rows[0][i].rate())
	}
	slices.Sort(ratios)
	most := slices.MaxFunc(rows[1], func(a, b result) int { return cmp.Compare(a.served, b.served) })
	again := fmt.Sprintf("%d pages fetched more than once", uint64(most.served)-*pages)
	if *folder != "" {
		again = fmt.Sprintf("%d pages of %d", most.served, rows[0][0].served)
	}
	memory := func(rows []result) int64 {
		slices.SortFunc(rows, func(a, b result) int { return cmp.Compare(a.memory, b.memory) })
		return rows[len(rows)/2].memory
	}
	fmt.Printf("ratio %.2f (%.2f to %.2f in %d runs); memory %.2f; %s\n",
		ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1], *runs, float64(memory(rows[1]))/float64(memory(rows[0])), again)
	return nil
}

// measure serves the site, runs args with the site's URL behind them, and tells what that took.
func measure(site *exec.Cmd, args []string) (r result, err error) {
	out, err := site.StdoutPipe()
	if err != nil {
		return r, err
	}
	site.Stderr = os.Stderr
	if err := site.Start(); err != nil {
		return r, err
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		return r, errors.Join(errors.New("the site did not start"), site.Wait())
	}
	crawler := exec.Command(args[0], append(args[1:], lines.Text()+"/")...)
	var stderr strings.Builder
	crawler.Stderr = &stderr
	start := time.Now()
	failed := crawler.Run()
	r.wall = time.Since(start)
	if err := site.Process.Signal(syscall.SIGTERM); err != nil {
		return r, err
	}
	if lines.Scan() {
		fmt.Sscanf(lines.Text(), "served %d", &r.served)
	}
	if err := site.Wait(); err != nil {
		return r, fmt.Errorf("site: %w", err)
	}
	if failed != nil {
		return r, fmt.Errorf("%s: %w: %s", filepath.Base(args[0]), failed, stderr.String())
	}
	use := crawler.ProcessState
	r.cpu = use.UserTime() + use.SystemTime()
	if ru, ok := use.SysUsage().(*syscall.Rusage); ok {
		r.memory = ru.Maxrss << 10 // Linux counts KiB
	}
	return r, nil
}
