package serve

import (
	"context"
	"errors"
	"maps"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"

	"forage/store"
)

// parted are four partitions, of which this process has some. A site that begins with a digit is of that partition.
type parted struct {
	mu   sync.Mutex
	here map[int32]*Store
}

func (p *parted) All(context.Context) []Partition {
	return []Partition{
		{Partition: 0, Owner: "a", State: "crawls", Sites: 1},
		{Partition: 1, Owner: "a", State: "crawls", Sites: 2, Pages: 1234, At: "2026-01-31T12:00:00Z"},
		{Partition: 2, Owner: "<b>", Address: "http://b.test/", State: "crawls"},
		{Partition: 3, State: "none"},
	}
}

func (p *parted) Of(site string) int32 {
	if site = strings.TrimPrefix(site, "http://"); site == "" {
		return 3
	}
	return int32(site[0]-'0') % 4
}

func (p *parted) Here() []int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.here))
}

func (p *parted) Store(n int32) *Store {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.here[n]
}

// servePartitions serves partitions 0 and 1.
func servePartitions(t *testing.T, o Options) (p *parted, stores [2]*watched, base string) {
	t.Helper()
	o.Loopback = o.Tokens == nil
	p = &parted{here: map[int32]*Store{}}
	for n := range stores {
		db, err := store.Open(filepath.Join(t.TempDir(), "store"), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		stores[n] = &watched{sites: []Site{{Name: string(rune('0'+n)) + ".test", Settings: Settings{URL: "http://" + string(rune('0'+n)) + ".test/"}}}}
		one := o
		one.DB, one.Watch, one.At = db, stores[n], PartitionPath(int32(n))
		if p.here[int32(n)], err = New(one); err != nil {
			t.Fatal(err)
		}
	}
	h, err := NewPartitions(o, p)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(nil)
	srv.Config = Server(h)
	srv.Start()
	t.Cleanup(srv.Close)
	return p, stores, srv.URL
}

// TestPartitions asks for what is of a partition, in several ways, of all, and of others.
func TestPartitions(t *testing.T) {
	p, stores, base := servePartitions(t, Options{})
	for _, c := range []struct {
		path, accept string
		status       int
		want         string
	}{
		{"/", "", 200, "1\u202f234"},
		{"/", "", 200, "&lt;b&gt;"},
		{"/", "", 200, `<td><a href="/partition-00001/">1</a></td><td>this one</td>`},
		{"/api/v1/partitions", "", 200, `"path":"/partition-00001/"`},
		{"/api/v1/sites", "", 200, `"site":"1.test"`},
		{"/api/v1/sites?limit=0", "", 422, "limit"},
		{"/api/v1/sites?nonsense=0", "", 422, "nonsense"},
		{"/api/v1/sites/1.test", "", 200, `"site":"1.test"`},
		{"/api/v1/sites/1.none", "", 404, "no such site"},
		{"/sites/1.test", "text/html", 200, `action="/partition-00001/sites/1.test/pause"`},
		{"/partition-00001/sites/1.test", "text/html", 200, `href="/partition-00001/pages?site=1.test"`},
		{"/partition-00000/sites/1.test", "text/html", 200, `action="/partition-00001/sites/1.test/pause"`}, // it was added from there
		{"/partition-00001/api/v1/status", "", 200, `"pages":0`},
		{"/partition-00001/", "text/html", 200, `href="/partition-00001/sites"`},
		{"/url?url=1.test/x", "text/html", 200, "1.test"},
		{"/api/v1/events?site=1.test&site=1.other", "", 200, `"events":[]`},
		{"/api/v1/events?site=1.test&site=2.test", "", 400, "several partitions"},
		{"/feed.atom", "", 404, "/api/v1/partitions"},
		{"/partition-00001/feed.atom", "", 200, "/partition-00001/feed.atom"},
		{"/api/v1/sites/2.test", "", 404, "partition 2 is in process <b>, at http://b.test/"},
		{"/sites/2.test", "text/html", 404, "partition 2 is in process &lt;b&gt;, at http://b.test/"},
		{"/sites/2.test?x=%2F", "text/html", 404, `href="http://b.test/sites/2.test?x=%2F"`},
		{"/partition-00002/sites", "text/html", 404, "partition 2 is in process"},
		{"/sites/3.test", "text/html", 503, "partition 3 is in no process"},
		{"/partition-00003/api/v1/status", "", 503, "in no process"},
		{"/partition-00004/", "", 404, "there is no partition 4: the crawl has 4"},
		{"/partition-1/", "", 404, "nothing at this path"},
		{"/partition-00001", "", 404, "nothing at this path"},
		{"/partition-99999999999/", "", 404, "nothing at this path"},
	} {
		a := ask(t, "GET", base+c.path, "", "Accept: "+c.accept)
		if a.status != c.status || !strings.Contains(string(a.body), c.want) {
			t.Errorf("%s: %d %s, want %d and %q", c.path, a.status, a.body, c.status, c.want)
		}
	}
	page(t, base+"/").has("2 of 4", "this one", "nobody yet", "2026-01-31 12:00")
	page(t, base+"/partition-00001/sites").has("Partition 1")

	// No page of a partition leads out of it but to the overview, to what explains a URL, and to files.
	for _, path := range []string{"/", "/sites", "/pages", "/hosts", "/add", "/url", "/sites/1.test"} {
		visit := func(n *html.Node) {
			for _, key := range []string{"href", "action", "formaction"} {
				to := attr(n, key)
				if strings.HasPrefix(to, "/") && to != "/" && to != "/url" && !strings.HasPrefix(to, "/ui/") && !strings.HasPrefix(to, "/partition-00001/") {
					t.Errorf("%s leads to %s", path, to)
				}
			}
		}
		d := page(t, base+"/partition-00001"+path)
		for _, tag := range []string{"a", "form", "button"} {
			d.each(tag, visit)
		}
	}

	form := []string{"Content-Type: application/x-www-form-urlencoded", "Origin: " + base}
	if a := ask(t, "POST", base+"/sites/1.test/pause", "", form...); a.status != 200 || !stores[1].sites[0].Paused || stores[0].sites[0].Paused {
		t.Errorf("a pause: %d %s", a.status, a.body)
	}
	if a := ask(t, "POST", base+"/sites/1.test/pause", "", "Origin: http://evil.test"); a.status != 403 {
		t.Errorf("a pause from elsewhere: %d", a.status)
	}
	if a := ask(t, "GET", base+"/", "", "Host: evil.test"); a.status != 403 {
		t.Errorf("the overview by a name of a stranger: %d", a.status)
	}
	for wait, status := range map[error]int{nil: 200, errors.New("the disk is full"): 503} {
		stores[1].set(State{Wait: wait})
		if a := ask(t, "GET", base+"/readyz", ""); a.status != status {
			t.Errorf("ready where %v: %d %s", wait, a.status, a.body)
		}
	}
	for _, path := range []string{"/partition-00001/login", "/login", "/partition-00000/login", "/sites/1.none", "/sites/2.test", "/sites/0.none"} { // the same template at several paths
		if a := ask(t, "GET", base+path, "", "Accept: text/html"); a.status != 200 && a.status != 404 {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	p.mu.Lock()
	clear(p.here)
	p.mu.Unlock()
	for path, status := range map[string]int{"/partition-00001/": 404, "/sites/1.test": 404, "/api/v1/sites": 200, "/": 200, "/add": 503} {
		if a := ask(t, "GET", base+path, ""); a.status != status {
			t.Errorf("without partitions: %s: %d %s, want %d", path, a.status, a.body, status)
		}
	}
}

// TestPartitionsGuard asks without tokens, and with one.
func TestPartitionsGuard(t *testing.T) {
	_, _, base := servePartitions(t, Options{Public: true, Tokens: []Token{{Value: "a token to read by"}}})
	for path, want := range map[string]int{
		"/": 200, "/api/v1/partitions": 200, "/partition-00001/": 200, "/api/v1/sites/1.test": 200,
		"/partition-00001/api/v1/webhooks": 401, "/partition-00001/api/v1/webhooks/x": 401,
	} {
		if a := ask(t, "GET", base+path, ""); a.status != want {
			t.Errorf("of what is public: %s: %d, want %d", path, a.status, want)
		}
	}
	_, _, base = servePartitions(t, Options{Tokens: []Token{{Value: "a token to read by"}}})
	for _, path := range []string{"/", "/api/v1/partitions", "/api/v1/sites", "/api/v1/sites/1.test", "/api/v1/sites/2.test", "/partition-00001/api/v1/status", "/partition-00002/api/v1/status"} {
		if a := ask(t, "GET", base+path, ""); a.status != 401 {
			t.Errorf("%s without a token: %d %s", path, a.status, a.body)
		}
		if a := ask(t, "GET", base+path, "", "Authorization: Bearer a token to read by"); a.status != 200 && a.status != 404 {
			t.Errorf("%s with a token: %d %s", path, a.status, a.body)
		}
		if a := ask(t, "POST", base+"/partition-00001/api/v1/pause", "", "Authorization: Bearer a token to read by"); a.status != 403 {
			t.Errorf("a pause by who may read: %d", a.status)
		}
	}
	a := ask(t, "GET", base+"/partition-00001/sites", "", "Accept: text/html")
	if a.status != 200 || !strings.Contains(string(a.body), `value="/partition-00001/sites"`) {
		t.Errorf("a browser without a token: %d %s; want the form, that leads back", a.status, a.body)
	}
	if a := ask(t, "POST", base+"/login", url.Values{"token": {"wrong"}}.Encode(), "Content-Type: application/x-www-form-urlencoded", "Origin: "+base); a.status != 401 || !strings.Contains(string(a.body), "none of the tokens") {
		t.Errorf("a wrong token: %d %s", a.status, a.body)
	}
}
