package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"forage/crawl"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/replay"
	"forage/snap"
	"forage/store"
)

// newStore returns a store with a site of no documents.
func newStore(t *testing.T) (*store.DB, *store.Site) {
	t.Helper()
	db, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	s := addSite(t, db, "a.test")
	return db, s
}

func addSite(t *testing.T, db *store.DB, name string) *store.Site {
	t.Helper()
	s := &store.Site{Name: name, Rules: store.Rules{Scope: "host", Within: name}, State: store.SiteDone, FirstCycle: 1}
	if err := db.AddSite(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// publish adds a new page of a site to a store, of which it then tells.
func publish(t *testing.T, db *store.DB, s *store.Site, url string, change func(*store.Doc)) {
	t.Helper()
	d := store.NewDoc(url, s.ID)
	d.State, d.Kind, d.Class, d.Status, d.New, d.Cycle = store.Fetched, store.Page, store.ContentPage, 200, store.IsNew, 2
	d.FirstSeen, d.Discovered, d.LastFetched, d.FetchedIn = 1_700_000_000, 1_700_000_000, 1_700_000_000, 2
	if change != nil {
		change(d)
	}
	if _, err := db.Add(d); err != nil {
		t.Fatal(err)
	}
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
}

// tellReady has a store tell n times that a site is ready.
func tellReady(t *testing.T, db *store.DB, site string, n int) {
	t.Helper()
	for range n {
		db.PutEvent(&store.Event{Type: store.SiteReady, At: 1_700_000_000, Site: site})
	}
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
}

// serving serves a store on this machine.
func serving(t testing.TB, o Options) *httptest.Server {
	t.Helper()
	if o.Tokens == nil && !o.Public {
		o.Loopback = true
	}
	if o.Watch == nil {
		o.Watch = &watched{}
	}
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(nil)
	srv.Config = Server(h)
	srv.Start()
	t.Cleanup(srv.Close)
	return srv
}

// An answer is what a server answered.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// ask makes a request; header is "Name: value" each.
func ask(t *testing.T, method, url, body string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, b}
}

// get returns what is read as JSON at a URL, which must answer 200.
func get[T any](t *testing.T, url string, header ...string) (v T) {
	t.Helper()
	a := ask(t, "GET", url, "", header...)
	if a.status != 200 {
		t.Fatalf("GET %s: %d %s", url, a.status, a.body)
	}
	if err := json.Unmarshal(a.body, &v); err != nil {
		t.Fatalf("GET %s: %v", url, err)
	}
	return v
}

// wantProblem checks that an answer is a problem with a status, and returns what it says.
func wantProblem(t *testing.T, what string, a answer, status int) (p struct {
	Title, Detail string
	Status        int
	First         uint64
}) {
	t.Helper()
	if a.status != status || a.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s: %d %s %s, want a problem of status %d", what, a.status, a.header.Get("Content-Type"), a.body, status)
		return p
	}
	if err := json.Unmarshal(a.body, &p); err != nil || p.Status != status || p.Title != http.StatusText(status) {
		t.Errorf("%s: %v: %s", what, err, a.body)
	}
	return p
}

// A blog is a site that was visited, and that publishes: each of its weeks is a visit. It is the clock of its
// crawl, which dates visits as far apart as a test asks, so that what a budget finds need not depend on how fast that runs.
type blog struct {
	apart time.Duration // from week to week, beside what passes by itself
	ahead atomic.Int64  // nanoseconds before the machine's date
	web   *replay.Server
	crawl *crawl.Crawl
	url   string // of the site, without the / at its end
	week  int
}

func newBlog(t testing.TB) *blog {
	t.Helper()
	web, err := replay.New(snap.Blog(rand.New(rand.NewPCG(1, 0)), 6), 0, false)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(web)
	t.Cleanup(srv.Close)
	b := &blog{web: web, url: srv.URL}
	c, err := crawl.Open(crawl.Config{Dir: t.TempDir(), Delay: -1, Clock: b})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	b.crawl = c
	rules := store.Rules{Scope: "host", AllowPrivate: []string{"127.0.0.0/8"}}
	if _, err := c.Run(context.Background(), []scope.Seed{{URL: srv.URL + "/", Rules: rules}}, b.options()); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *blog) Now() time.Time                         { return time.Now() }
func (b *blog) Wall() time.Time                        { return time.Now().Add(time.Duration(b.ahead.Load())) }
func (b *blog) After(d time.Duration) <-chan time.Time { return time.After(d) }

func (b *blog) options() crawl.Options {
	return crawl.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}

// next has a week pass, and finds what it brought.
func (b *blog) next(t testing.TB) {
	t.Helper()
	b.few(t, 40)
}

// few is next with so many old documents.
func (b *blog) few(t testing.TB, budget int) {
	t.Helper()
	b.week++
	b.ahead.Add(int64(b.apart))
	if err := b.web.Switch(b.week); err != nil {
		t.Fatal(err)
	}
	if _, err := b.crawl.Revisit(context.Background(), plan.Plan{Budget: func(int) int { return budget }, Text: strconv.Itoa(budget)}, b.options()); err != nil {
		t.Fatal(err)
	}
	if err := b.crawl.DB().Sync(); err != nil {
		t.Fatal(err)
	}
}

// TestGuard asks by the names of strangers, from the pages of strangers, and with and without tokens.
func TestGuard(t *testing.T) {
	db, _ := newStore(t)
	type request struct {
		method string
		path   string
		header string
		want   int
	}
	const (
		events = "/api/v1/events"
		write  = "/api/v1/nothing" // nothing is there: what the guard lets pass is not found
	)
	for name, c := range map[string]struct {
		options  Options
		requests []request
	}{
		"loopback": {Options{Loopback: true, PublicURL: "https://forage.example/"}, []request{
			{"GET", events, "", 200},
			{"GET", events, "Host: localhost:8080", 200},
			{"GET", events, "Host: [::1]:8080", 200},
			{"GET", events, "Host: 127.1.2.3", 200},
			{"GET", events, "Host: forage.example", 403}, // from anywhere, by a proxy
			{"GET", events, "Host: evil.example", 403},
			{"GET", events, "Host: evil.example:80", 403},
			{"GET", events, "Host: 127.0.0.1.evil.example", 403},
			{"GET", events, "Host: 192.0.2.1", 403},
			{"GET", "/nothing", "Host: evil.example", 403},
			{"POST", write, "", 404},
			{"POST", write, "Host: forage.example", 403},
			{"POST", write, "Origin: http://evil.example", 403},
			{"POST", write, "Sec-Fetch-Site: cross-site", 403},
			{"POST", write, "Sec-Fetch-Site: same-site", 403},
			{"POST", write, "Sec-Fetch-Site: same-origin", 404},
			{"POST", write, "Origin: null", 403},
			{"DELETE", write, "Origin: http://evil.example", 403},
			{"GET", events, "Origin: http://evil.example", 200}, // the browser shows it to nobody
			{"GET", events, "X-Forwarded-For: 192.0.2.1", 403},  // a proxy that says nothing of the public name
			{"POST", write, "Forwarded: for=192.0.2.1", 403},
			{"GET", "/api/v1/webhooks", "", 200},
		}},
		"public on loopback": {Options{Loopback: true, Public: true, PublicURL: "https://forage.example/"}, []request{
			{"GET", events, "Host: forage.example", 200},
			{"GET", "/api/v1/webhooks", "Host: forage.example", 403},
			{"GET", events, "X-Forwarded-For: 192.0.2.1", 200},
			{"POST", write, "Host: forage.example", 403},
			{"POST", write, "X-Forwarded-For: 192.0.2.1", 403},
			{"POST", write, "", 404},
		}},
		"tokens": {Options{Tokens: []Token{{"reader", false}, {"writer", true}}}, []request{
			{"GET", events, "", 401},
			{"GET", events, "Authorization: Bearer reader", 200},
			{"GET", events, "Authorization: bearer writer", 200},
			{"GET", events, "Authorization: Bearer reade", 401},
			{"GET", events, "Authorization: Bearer ", 401},
			{"GET", events, "Authorization: Basic reader", 401},
			{"GET", events + "?token=reader", "", 401},
			{"GET", "/nothing/feed.atom", "", 401},
			{"GET", "/nothing/feed.atom?token=reader", "", 404},
			{"GET", "/nothing/feed.atom?token=", "", 401},
			{"POST", "/nothing/feed.atom?token=writer", "", 401},
			{"POST", write, "", 401},
			{"POST", write, "Authorization: Bearer reader", 403},
			{"POST", write, "Authorization: Bearer writer", 404},
			{"GET", events, "Host: whatever.example", 401},
		}},
		"tokens on loopback": {Options{Loopback: true, Tokens: []Token{{"writer", true}}}, []request{
			{"GET", events, "", 401},
			{"GET", events, "Authorization: Bearer writer", 200},
		}},
		"public": {Options{Public: true, Tokens: []Token{{"writer", true}}}, []request{
			{"GET", events, "", 200},
			{"GET", events, "Authorization: Bearer wrong", 401},
			{"GET", "/api/v1/webhooks", "", 401},
			{"GET", "/api/v1/%77ebhooks/a", "", 401},
			{"GET", "/api/v1/webhooks", "Authorization: Bearer writer", 200},
			{"POST", write, "", 401},
			{"POST", write, "Authorization: Bearer writer", 404},
		}},
		"public without tokens": {Options{Public: true}, []request{{"GET", events, "", 200}, {"POST", write, "", 403}}},
		"nobody":                {Options{}, []request{{"GET", events, "", 403}, {"POST", write, "", 403}}},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.DB, c.options.Watch = db, &watched{}
			h, err := New(c.options)
			if err != nil {
				t.Fatal(err)
			}
			srv := httptest.NewServer(h)
			defer srv.Close()
			for _, r := range c.requests {
				var header []string
				if r.header != "" {
					header = []string{r.header}
				}
				a := ask(t, r.method, srv.URL+r.path, "", header...)
				what := fmt.Sprintf("%s %s %s", r.method, r.path, r.header)
				if r.want == 200 {
					if a.status != 200 {
						t.Errorf("%s: %d %s, want 200", what, a.status, a.body)
					}
				} else {
					wantProblem(t, what, a, r.want)
				}
				if (a.status == 401) != (a.header.Get("WWW-Authenticate") != "") {
					t.Errorf("%s: status %d with WWW-Authenticate: %q", what, a.status, a.header.Get("WWW-Authenticate"))
				}
				for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy"} {
					if a.header.Get(name) == "" {
						t.Errorf("%s: no %s", what, name)
					}
				}
			}
		})
	}
	if _, err := New(Options{DB: db, Watch: &watched{}, PublicURL: "forage.example"}); err == nil {
		t.Error("New takes a public URL without a scheme")
	}
	if _, err := New(Options{DB: db, Watch: &watched{}, Tokens: []Token{{"", true}}}); err == nil {
		t.Error("New takes an empty token")
	}
}

// TestLimits sends what is too long.
func TestLimits(t *testing.T) {
	db, _ := newStore(t)
	srv := serving(t, Options{DB: db})
	if a := ask(t, "GET", srv.URL+"/api/v1/events", "", "X: "+strings.Repeat("x", 2*maxHeader)); a.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of %d bytes: %d", 2*maxHeader, a.status)
	}
	wantProblem(t, "another method", ask(t, "PUT", srv.URL+"/api/v1/events", ""), 405)
	if a := ask(t, "PUT", srv.URL+"/api/v1/events", ""); a.header.Get("Allow") == "" {
		t.Error("405 without Allow")
	}
	wantProblem(t, "no such path", ask(t, "GET", srv.URL+"/api/v2", ""), 404)
}
