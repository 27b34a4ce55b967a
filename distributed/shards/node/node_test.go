package node

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"forage/crawl"
	"forage/distributed/shards/topics"
	"forage/fetch"
	"forage/serve"
	"forage/watch"
)

// TestServe has a process serve its partitions: a site is added with settings, its page is found, and when the process ends its partitions are told to have ended.
func TestServe(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!doctype html><title>A page</title><p>It says something.")
	}))
	defer web.Close()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.BrokerConfigs(map[string]string{"group.min.session.timeout.ms": "100"}))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	c, err := watch.Parse("forage.yaml", []byte("defaults: {every: 1000h, budget: 5, delay: 0s, allow_private: [127.0.0.0/8]}\nsites: []\n"), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + l.Addr().String()
	private := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Config{
			Dir: t.TempDir(), Brokers: cluster.ListenAddrs(), Group: "test", Name: "a", Partitions: 3, Replicas: 1, Checkpoints: t.TempDir(), Interval: time.Minute, Session: 2 * time.Second, Longest: time.Second,
			Watch: c, Crawl: crawl.Config{Fetch: fetch.Config{UserAgent: "test", Timeout: time.Second, AllowPrivate: private}, Delay: -1}, Log: slog.New(slog.DiscardHandler),
			Listener: l, Address: base + "/",
		})
	}()
	get := func(path string, into any) int {
		a, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		if b, err := io.ReadAll(a.Body); err != nil || a.StatusCode == 200 && json.Unmarshal(b, into) != nil {
			t.Fatalf("%s: %s, %v", path, b, err)
		}
		return a.StatusCode
	}
	await := func(what string, ok func() bool) {
		t.Helper()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		late := time.After(30 * time.Second)
		for !ok() {
			select {
			case <-tick.C:
			case err := <-ended:
				t.Fatalf("still not %s when it ended: %v", what, err)
			case <-late:
				t.Fatalf("still not %s", what)
			}
		}
	}
	var all struct{ Partitions []serve.Partition }
	await("all here", func() bool {
		n := 0
		get("/api/v1/partitions", &all)
		for _, p := range all.Partitions {
			if p.Path == serve.PartitionPath(p.Partition)+"/" && p.Address == base+"/" && p.Owner == "a" {
				n++
			}
		}
		return n == 3
	})
	a, err := http.Post(base+"/api/v1/sites", "application/json", strings.NewReader(fmt.Sprintf(`{"url": %q, "budget": "7/day"}`, web.URL)))
	if err != nil || a.StatusCode != 201 {
		t.Fatalf("adding a site: %v, %v", a, err)
	}
	a.Body.Close()
	host := strings.TrimPrefix(web.URL, "http://")
	var site struct {
		Settings serve.Settings
		Pages    int
	}
	await("crawled", func() bool { return get("/api/v1/sites/"+host, &site) == 200 && site.Pages == 1 })
	if site.Settings.Budget != "7/day" {
		t.Errorf("the settings are %+v", site.Settings)
	}
	own := serve.PartitionPath(topics.Partition(host, 3))
	if status := get(own+"/api/v1/sites/"+host, &site); status != 200 {
		t.Errorf("in its partition: %d", status)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
	in, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	said, err := topics.Statuses(t.Context(), in, topics.Of("test"), 3)
	if err != nil {
		t.Fatal(err)
	}
	for p, s := range said {
		if s == nil || s.State != "ended" || s.Checkpoint == "" {
			t.Errorf("partition %d: %+v", p, s)
		}
	}
	if a, err := http.Get(base); err == nil {
		t.Errorf("it answers still: %d", a.StatusCode)
	}
}
