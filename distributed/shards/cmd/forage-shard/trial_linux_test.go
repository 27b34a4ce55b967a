package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"forage/distributed/shards/latest"
	"forage/distributed/shards/topics"
)

// A ledger is what the checkpoints of a crawl have had, though some of it is removed while the crawl goes on.
type ledger struct {
	mu     sync.Mutex
	copied map[string]int64   // bytes, by file
	saved  map[int32][]record // checkpoints, by partition
	claims map[int32][]record // epochs, by partition, the earliest first
}

// A record is an epoch that was claimed, or a checkpoint.
type record struct {
	epoch int64
	by    string    // who claimed it
	at    time.Time // since when it is there
	of    time.Time // of a checkpoint: what was in the store then is in it
}

// ledgerEvery is how often a ledger looks. Of each partition two checkpoints are kept.
const ledgerEvery = 500 * time.Millisecond

// keepLedger watches the checkpoints until the test ends.
func (tr *trial) keepLedger() *ledger {
	l := &ledger{copied: map[string]int64{}, saved: map[int32][]record{}, claims: map[int32][]record{}}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(ledgerEvery)
		defer tick.Stop()
		for {
			l.look(tr)
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	}()
	tr.t.Cleanup(func() { close(done); <-ended })
	return l
}

var ofPartition = regexp.MustCompile(`/partition-(\d{5})/epoch-(\d{6})/(checkpoint-\d{6}\.json|claim\.json)$`)

// look notes what is new.
func (l *ledger) look(tr *trial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := filepath.WalkDir(tr.path("checkpoints"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		_, known := l.copied[path]
		if l.copied[path] = info.Size(); known {
			return nil
		}
		m := ofPartition.FindStringSubmatch(path)
		if m == nil {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n, _ := strconv.Atoi(m[1])
		p := int32(n)
		r := record{at: info.ModTime()}
		r.epoch, _ = strconv.ParseInt(m[2], 10, 64)
		if m[3] == "claim.json" {
			r.by, _, _ = strings.Cut(string(b), " ")
			l.claims[p] = append(l.claims[p], r)
			slices.SortFunc(l.claims[p], func(a, b record) int { return cmp.Compare(a.epoch, b.epoch) })
			return nil
		}
		var manifest struct{ Checkpoint struct{ State latest.State } }
		if err := json.Unmarshal(b, &manifest); err != nil {
			return err
		}
		r.of = manifest.Checkpoint.State.At
		l.saved[p] = append(l.saved[p], r)
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // else it was removed meanwhile, and the rest is seen the next time
		tr.t.Error(err)
	}
}

// ownerAt returns which of claims, the earliest first, was the latest at a time; -1: none was made yet.
func ownerAt(claims []record, at time.Time) int {
	i, _ := slices.BinarySearchFunc(claims, at, func(c record, at time.Time) int { return c.at.Compare(at) })
	return i - 1
}

// names are of those who made claims.
func names(claims []record) (all []string) {
	for _, c := range claims {
		all = append(all, c.by)
	}
	return all
}

// inFlight is how long the web may have answered a page before it was in the store of who asked, on a machine that has much else to do.
const inFlight = 5 * time.Second

// owned checks what was asked of the web against the claims: each request was of the process that owned the partition then, and a page was fetched again only
// where a later owner could not know of it: it was in flight when the earlier one was killed, or came after the checkpoint from which the later
// one went on. It returns how many were fetched again. All processes have ended.
func (tr *trial) owned(l *ledger) (again int) {
	tr.t.Helper()
	l.look(tr)
	l.mu.Lock()
	defer l.mu.Unlock()
	claims := l.claims
	tr.web.mu.Lock()
	defer tr.web.mu.Unlock()
	for host, all := range tr.web.asked {
		p := topics.Partition(host, int32(tr.partitions))
		last := map[string]request{}
		slices.SortFunc(all, func(a, b request) int { return a.from.Compare(b.from) })
		for _, r := range all {
			now := ownerAt(claims[p], r.from)
			if now < 0 || claims[p][now].by != r.agent {
				tr.t.Errorf("%s asks %s for %s at %v, and partition %d is not its own: of those who claimed it, %q, the latest is number %d", r.agent, host, r.path, r.from.Sub(tr.began), p, names(claims[p]), now+1)
				continue
			}
			page, err := strconv.Atoi(r.path[1:])
			if r.path != "/" && (err != nil || page < 1) {
				continue // robots.txt, and what no host has
			}
			before, fetched := last[r.path]
			last[r.path] = r
			if !fetched {
				continue
			}
			again++
			was := ownerAt(claims[p], before.from)
			if was == now {
				tr.t.Errorf("%s asks %s for %s at %v, and had been answered at %v", r.agent, host, r.path, r.from.Sub(tr.began), before.to.Sub(tr.began))
				continue
			}
			if known := tr.knownUntil(l, p, claims[p][was], claims[p][was+1]); before.to.Before(known.Add(-inFlight)) {
				tr.t.Errorf("%s asks %s for %s at %v, which %s had at %v, and what was there until %v is not lost", r.agent, host, r.path, r.from.Sub(tr.began), before.agent, before.to.Sub(tr.began),
					known.Sub(tr.began))
			}
		}
	}
	return again
}

// knownUntil returns up to when the owner after another one knows what that had fetched: to its end where it goes on with the store on its disk, else to
// the latest checkpoint.
func (tr *trial) knownUntil(l *ledger, p int32, was, next record) (until time.Time) {
	if strings.Contains(tr.processes[next.by].text(), fmt.Sprintf("partition %d: goes on, epoch %d\n", p, next.epoch)) {
		for _, e := range tr.ends {
			if e.name == next.by && e.at.Before(next.at) {
				until = e.at
			}
		}
	}
	for _, s := range l.saved[p] {
		if s.epoch <= was.epoch && s.at.Before(next.at) && s.of.After(until) {
			until = s.of
		}
	}
	return until
}

// begins has processes start, and returns when each has partitions and all are crawled.
func (tr *trial) begins(names ...string) {
	tr.t.Helper()
	for _, name := range names {
		tr.start(name)
	}
	tr.await("divided", func(all []topics.Status) bool {
		owners := map[string]bool{}
		for _, s := range all {
			if s.State != "crawls" {
				return false
			}
			owners[s.Owner] = true
		}
		return !slices.ContainsFunc(names, func(name string) bool { return !owners[name] })
	})
}

// has returns whether a process has a partition.
func has(name string) func([]topics.Status) bool {
	return func(all []topics.Status) bool {
		return slices.ContainsFunc(all, func(s topics.Status) bool { return s.Owner == name && s.State == "crawls" })
	}
}

// cutOff has the broker be out of reach for a process, and not the web, for a time and until others have its partitions.
func (tr *trial) cutOff(name string, n *namespace, how cut, least time.Duration) {
	tr.t.Helper()
	began := time.Now()
	whole := time.After(least)
	n.cut(how)
	tr.await("taken over from "+name, func(all []topics.Status) bool {
		return !slices.ContainsFunc(all, func(s topics.Status) bool { return s.Owner == name || s.State != "crawls" })
	})
	tr.t.Logf("%s is cut off from the broker, %s: all partitions are crawled again after %v", name, how, time.Since(began).Round(100*time.Millisecond))
	<-whole
	n.mend(how)
	began = time.Now()
	tr.await(name+" back", has(name))
	tr.goesOn(began)
	tr.t.Logf("%s reaches the broker again: all partitions are crawled again after %v", name, time.Since(began).Round(100*time.Millisecond))
}

// TestCut has a process lose its way to the broker, and not to the web.
func TestCut(t *testing.T) {
	for _, how := range []cut{down, silent} {
		t.Run(string(how), func(t *testing.T) {
			n := newNamespace(t)
			t.Setenv("FORAGE_KAFKA", brokerAt(t, n.host))
			tr := newTrial(t, 20, 150, 100*time.Millisecond)
			tr.web.remote = true
			tr.web.servedIn(n)
			tr.apart["b"] = n.do
			l := tr.keepLedger()
			tr.begins("a", "b")
			tr.addAll()
			tr.await("under way", func(all []topics.Status) bool {
				return slices.ContainsFunc(all, func(s topics.Status) bool { return s.Owner == "b" && s.Pages > 0 })
			})
			tr.cutOff("b", n, how, 0)
			if tr.crawled(tr.status()) {
				t.Error("all was crawled before b was back")
			}
			tr.await("crawled", tr.crawled)
			tr.stop("a", syscall.SIGTERM)
			tr.stop("b", syscall.SIGTERM)
			tr.stores()
			tr.events()
			if err := tr.web.politeness(tr.delay); err != nil {
				t.Error(err)
			}
			t.Logf("%d of %d pages were fetched again", tr.owned(l), tr.web.total())
		})
	}
}

// TestTrial is all trouble that there is in one crawl of 100,000 pages on 200 hosts, by three processes, then four, with a broker of Apache Kafka.
func TestTrial(t *testing.T) {
	if os.Getenv("FORAGE_LONG") == "" {
		t.Skip("set FORAGE_LONG=1 to crawl 100,000 pages while all sorts of things go wrong ('make trial')")
	}
	n := newNamespace(t)
	k := startKafka(t, n.host)
	t.Setenv("FORAGE_KAFKA", k.addr)
	tr := newTrial(t, 200, 500, 600*time.Millisecond)
	tr.web.uneven, tr.web.remote = true, true
	tr.web.servedIn(n)
	tr.apart["d"] = n.do
	tr.partitions, tr.session, tr.checkpoints, tr.patience, tr.look = 32, 10*time.Second, 30*time.Second, 10*time.Minute, time.Second
	l := tr.keepLedger()

	tr.begins("a", "b", "c")
	tr.addAll()
	added := time.Now()
	for _, name := range []string{"a", "b", "c"} {
		tr.trouble("killed, and starts again", name)
	}
	began := time.Now()
	k.kill()
	k.start()
	tr.goesOn(began)
	t.Logf("the broker is killed, and starts again: all partitions are crawled again after %v", time.Since(began).Round(100*time.Millisecond))

	minute := time.After(time.Minute)
	began = time.Now()
	stopped := tr.processes["b"].cmd.Process
	stopped.Signal(syscall.SIGSTOP)
	tr.await("taken over from b", func(all []topics.Status) bool {
		return !slices.ContainsFunc(all, func(s topics.Status) bool { return s.Owner == "b" || s.State != "crawls" })
	})
	t.Logf("b is stopped: all partitions are crawled again after %v", time.Since(began).Round(100*time.Millisecond))
	<-minute
	stopped.Signal(syscall.SIGCONT)
	tr.await("b back", has("b"))

	began = time.Now()
	tr.begins("d")
	tr.goesOn(began)
	t.Logf("d is added: all partitions are crawled again after %v", time.Since(began).Round(100*time.Millisecond))
	tr.cutOff("d", n, down, time.Minute)
	tr.cutOff("d", n, silent, time.Minute)
	tr.trouble("killed, and starts again with an empty disk", "c")
	began = time.Now()
	tr.stop("a", syscall.SIGTERM)
	tr.goesOn(began)
	t.Logf("a is removed: all partitions are crawled again after %v", time.Since(began).Round(100*time.Millisecond))

	if tr.crawled(tr.status()) {
		t.Error("all was crawled before the last trouble")
	}
	tr.await("crawled", tr.crawled)
	took := time.Since(added)
	for _, name := range []string{"b", "c", "d"} {
		tr.stop(name, syscall.SIGTERM)
	}
	tr.stores()
	tr.listed()
	tr.events()
	if err := tr.web.politeness(tr.delay); err != nil {
		t.Error(err)
	}
	again := tr.owned(l)
	tr.sizes(k, l, took, again)
}

// sizes tells what a crawl took.
func (tr *trial) sizes(k *kafka, l *ledger, took time.Duration, again int) {
	tr.t.Helper()
	pages := float64(tr.web.total())
	tr.t.Logf("%.0f pages in %v, %d fetched again", pages, took.Round(time.Second), again)
	for _, topic := range []string{topics.Of(tr.group).URLs, topics.Of(tr.group).Events, topics.Of(tr.group).Control} {
		files, err := filepath.Glob(filepath.Join(k.dir, "log", topic+"-*", "*.log"))
		if err != nil {
			tr.t.Fatal(err)
		}
		var bytes int64
		for _, file := range files {
			info, err := os.Stat(file)
			if err != nil {
				tr.t.Fatal(err)
			}
			bytes += info.Size()
		}
		records, err := tr.records(topic)
		if err != nil {
			tr.t.Fatal(err)
		}
		tr.t.Logf("topic %s: %d records, %.1f MB, %.3f MB/s; of a page %.2f records, %.0f bytes", topic, records, float64(bytes)/1e6, float64(bytes)/1e6/took.Seconds(),
			float64(records)/pages, float64(bytes)/pages)
	}
	var copied int64
	for _, n := range l.copied {
		copied += n
	}
	written := 0
	for _, of := range l.saved {
		written += len(of)
	}
	tr.t.Logf("%d checkpoints, %.1f MB were copied, %.3f MB/s; of a page %.0f bytes", written, float64(copied)/1e6, float64(copied)/1e6/took.Seconds(), float64(copied)/pages)
}

// records counts those of a topic.
func (tr *trial) records(topic string) (n int, err error) {
	err = topics.Read(tr.t.Context(), tr.client(), topic, func(*kgo.Record) error { n++; return nil })
	return n, err
}
