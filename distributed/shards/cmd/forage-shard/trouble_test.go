package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"forage/distributed/shards/topics"
)

// begin has all partitions worked on.
func (tr *trial) begin(names ...string) {
	tr.t.Helper()
	for _, name := range names {
		tr.start(name)
	}
	tr.await("begun", func(all []topics.Status) bool {
		for _, s := range all {
			if s.State != "crawls" {
				return false
			}
		}
		return true
	})
}

// client is one that writes to any partition.
func (tr *trial) client() *kgo.Client {
	tr.t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(tr.brokers), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.t.Cleanup(c.Close)
	return c
}

// TestOddRecords has the log hold what is no URL, a site of another partition, and what is from the future: each is told once, and what comes after them is crawled.
func TestOddRecords(t *testing.T) {
	tr := newTrial(t, 1, 5, 0)
	tr.begin("a")
	p := topics.Partition(tr.web.host(0), int32(tr.partitions))
	seed, err := json.Marshal(topics.URL{URL: tr.web.url(0, 0), Seed: true})
	if err != nil {
		t.Fatal(err)
	}
	stray := 1
	for topics.Partition(tr.web.host(stray), int32(tr.partitions)) == p {
		stray++
	}
	elsewhere, err := json.Marshal(topics.URL{URL: tr.web.url(stray, 0), Seed: true})
	if err != nil {
		t.Fatal(err)
	}
	var records []*kgo.Record
	for _, value := range []string{"no URL", `{"url": 7}`, "", string(elsewhere), string(seed), string(seed)} {
		records = append(records, &kgo.Record{Topic: topics.Of(tr.group).URLs, Partition: p, Value: []byte(value), Timestamp: time.Now().Add(10 * time.Minute)})
	}
	if err := tr.client().ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	tr.await("crawled", tr.crawled)
	tr.stop("a", syscall.SIGTERM)
	text := tr.processes["a"].text()
	for want, n := range map[string]int{"is no URL of forage-shard": 3, "a seed is left out": 1, "the clock of this machine is behind": 1} {
		if got := strings.Count(text, want); got != n {
			t.Errorf("%q is told %d times, want %d", want, got, n)
		}
	}
}

// TestCrawlDelay kills a process that has asked a host since the last checkpoint: who has the partition next keeps the Crawl-delay of the host all the same.
func TestCrawlDelay(t *testing.T) {
	if os.Getenv("FORAGE_LONG") == "" {
		t.Skip("set FORAGE_LONG=1 to wait for a minute between few requests ('make trial')")
	}
	tr := newTrial(t, 1, 3, 0)
	tr.web.pause = 15 // longer than it takes until the next one has the partition
	tr.partitions = 1
	tr.begin("a")
	tr.addAll()
	asked := func() int {
		tr.web.mu.Lock()
		defer tr.web.mu.Unlock()
		return len(tr.web.asked[tr.web.host(0)])
	}
	tr.await("asked for a page", func([]topics.Status) bool { return asked() > 1 })
	known := time.Now().UTC().Format(time.RFC3339)
	tr.await("in a checkpoint", func(all []topics.Status) bool { return all[0].Checkpoint > known })
	had := asked()
	tr.look = 20 * time.Millisecond
	tr.await("asked for another", func([]topics.Status) bool { return asked() > had })
	tr.stop("a", syscall.SIGKILL)
	tr.start("b")
	tr.await("crawled", tr.crawled)
	if n := strings.Count(tr.processes["b"].text(), "begins"); n != 1 {
		t.Errorf("the other process began %d times with a checkpoint", n)
	}
	if err := tr.web.politeness(time.Duration(tr.web.pause) * time.Second); err != nil {
		t.Error(err)
	}
	tr.stop("b", syscall.SIGTERM)
}

// TestRetention: a process that finds what it has not read yet dropped from the log says so, and ends.
func TestRetention(t *testing.T) {
	tr := newTrial(t, 6, 5, 0)
	tr.checkpoints = time.Hour
	tr.begin("a")
	tr.addAll()
	tr.await("crawled", tr.crawled)
	tr.stop("a", syscall.SIGKILL)
	if err := os.RemoveAll(tr.path("a")); err != nil {
		t.Fatal(err)
	}
	r := kmsg.NewPtrDeleteRecordsRequest()
	r.TimeoutMillis = 10_000
	topic := kmsg.NewDeleteRecordsRequestTopic()
	topic.Topic = topics.Of(tr.group).URLs
	for p := range int32(tr.partitions) {
		one := kmsg.NewDeleteRecordsRequestTopicPartition()
		one.Partition, one.Offset = p, -1 // all
		topic.Partitions = append(topic.Partitions, one)
	}
	r.Topics = append(r.Topics, topic)
	for _, shard := range tr.client().RequestSharded(t.Context(), r) {
		if shard.Err != nil {
			t.Fatal(shard.Err)
		}
	}
	tr.start("b")
	p := tr.processes["b"]
	select {
	case err := <-p.ended:
		p.ended <- err
		if err == nil || !strings.Contains(p.text(), "the log has dropped URLs that no checkpoint has") || !strings.Contains(p.text(), "partition") {
			t.Errorf("it ends with %v, and says %q", err, p.text())
		}
	case <-time.After(tr.patience):
		t.Fatalf("it goes on: %s", p.text())
	}
}

// TestFullDisk: the partitions of a process whose disk is full wait, others go on; when there is room again nothing was lost.
func TestFullDisk(t *testing.T) {
	tr := newTrial(t, 60, 150, 0)
	dir := tr.path("a")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256m"); err != nil {
		t.Skipf("no disk of its own can be mounted: %v", err)
	}
	t.Cleanup(func() {
		for _, p := range tr.processes { // before it is unmounted
			p.cmd.Process.Kill()
			err := <-p.ended
			p.ended <- err
		}
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	tr.begin("a", "b")
	tr.await("shared", func(all []topics.Status) bool {
		return slices.ContainsFunc(all, func(s topics.Status) bool { return s.Owner == "a" && s.State == "crawls" }) &&
			!slices.ContainsFunc(all, func(s topics.Status) bool { return s.State != "crawls" })
	})
	// All of the room that there is, but for some of what the pages will take.
	ballast, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer ballast.Close()
	block := make([]byte, 64<<10)
	for err == nil {
		_, err = ballast.Write(block)
	}
	tr.addAll()
	of := func(name string) (pages int64) {
		for _, s := range tr.status() {
			if s.Owner == name {
				pages += s.Pages
			}
		}
		return pages
	}
	tr.await("waiting for room", func([]topics.Status) bool { return strings.Contains(tr.processes["a"].text(), "no space left") })
	tr.await("crawled by the other one", func(all []topics.Status) bool {
		for _, s := range all {
			if s.Owner == "b" && (s.Queued > 0 || s.Sites == 0) {
				return false
			}
		}
		return of("b") > 0
	})
	if tr.crawled(tr.status()) {
		t.Error("all is crawled without room")
	}
	if err := os.Remove(ballast.Name()); err != nil {
		t.Fatal(err)
	}
	ballast.Close()
	tr.await("crawled", tr.crawled)
	tr.stop("a", syscall.SIGTERM)
	tr.stop("b", syscall.SIGTERM)
	tr.stores()
}
