package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"forage/distributed/shards/topics"
)

// build makes a program as deploy/ does, static and without symbols, and returns its path.
func build(b *testing.B, module, program string) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), filepath.Base(program))
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, program)
	cmd.Dir, cmd.Env = module, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return path
}

// BenchmarkForage crawls the web of BenchmarkCrawl with 'forage crawl', for comparison.
func BenchmarkForage(b *testing.B) {
	forage := build(b, "../../../..", "./cmd/forage")
	for range b.N {
		w := serveWeb(b, 200, 500)
		args := []string{"crawl", "--dir", filepath.Join(b.TempDir(), "store"), "--delay", "0", "--allow-private", "127.0.0.0/8"}
		for i := range w.hosts {
			args = append(args, w.url(i, 0))
		}
		cmd := exec.Command(forage, args...)
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		b.ReportMetric(time.Since(began).Seconds(), "s")
		b.ReportMetric(float64(w.hosts*w.pages)/cpu.Seconds(), "pages/CPU-s")
	}
}

// BenchmarkHandOver has the owner of one partition of 100,000 pages be killed, and tells when another process crawls it.
func BenchmarkHandOver(b *testing.B) {
	for range b.N {
		tr := newTrial(b, 200, 500, 0)
		tr.partitions, tr.checkpoints, tr.session, tr.patience = 1, 10*time.Second, 10*time.Second, 5*time.Minute
		tr.start("a")
		owned := func(name string) func([]topics.Status) bool {
			return func(all []topics.Status) bool { return all[0].Owner == name && all[0].State == "crawls" }
		}
		tr.await("begun", owned("a"))
		tr.addAll()
		tr.await("crawled", tr.crawled)
		crawled := time.Now().UTC().Format(time.RFC3339)
		tr.await("in a checkpoint", func(all []topics.Status) bool { return all[0].Checkpoint > crawled })
		tr.start("b")
		tr.await("with b", func([]topics.Status) bool { return strings.Contains(tr.processes["b"].text(), "joined") })
		began := time.Now()
		tr.stop("a", syscall.SIGKILL)
		tr.await("handed over", owned("b"))
		b.ReportMetric(time.Since(began).Seconds(), "s-handed-over")
		b.Logf("%s", tr.processes["b"].text())
	}
}

// BenchmarkCrawl crawls a web with one process, and the same with three: pages a second of CPU of the processes, the broker apart, the
// memory of the largest, and how long URLs took from the log into the store of their partition.
func BenchmarkCrawl(b *testing.B) {
	program := build(b, "../..", "./cmd/forage-shard")
	for _, n := range []int{1, 3} {
		b.Run(fmt.Sprintf("processes=%d", n), func(b *testing.B) {
			for range b.N {
				tr := newTrial(b, 200, 500, 0)
				tr.program = program
				tr.partitions, tr.checkpoints, tr.session, tr.patience = 32, time.Minute, 10*time.Second, 5*time.Minute
				names := []string{"a", "b", "c"}[:n]
				for _, name := range names {
					tr.start(name)
				}
				tr.await("divided", func(all []topics.Status) bool {
					owners := map[string]bool{}
					for _, s := range all {
						owners[s.Owner] = s.State == "crawls"
					}
					return len(owners) == n
				})
				tr.addAll()
				began := time.Now()
				tr.await("crawled", tr.crawled)
				b.ReportMetric(time.Since(began).Seconds(), "s")
				var lag, sent int64
				for _, s := range tr.status() {
					lag = max(lag, s.LagMillis)
					sent += s.Sent
				}
				var cpu time.Duration
				var most int64
				for _, name := range names {
					tr.stop(name, syscall.SIGTERM)
					state := tr.processes[name].cmd.ProcessState
					cpu += state.UserTime() + state.SystemTime()
					most = max(most, state.SysUsage().(*syscall.Rusage).Maxrss)
					b.Logf("%s: %v of CPU, %d MiB", name, state.UserTime()+state.SystemTime(), state.SysUsage().(*syscall.Rusage).Maxrss>>10)
				}
				b.ReportMetric(float64(tr.web.hosts*tr.web.pages)/cpu.Seconds(), "pages/CPU-s")
				b.ReportMetric(float64(most)/1024, "MiB-most")
				b.ReportMetric(float64(lag), "ms-lag-p99")
				b.ReportMetric(float64(sent), "URLs-across")
			}
		})
	}
}
