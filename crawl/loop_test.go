package crawl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/fetch/fetchtest"
	"forage/graph"
	"forage/store"
)

// A web is a server whose pages are functions; it notes what it was asked for, and when.
type web struct {
	*httptest.Server
	mu    sync.Mutex
	pages map[string]http.HandlerFunc
	asked map[string]int
	times []time.Time
	out   int // requests under way
	most  int // at once
	other http.HandlerFunc
}

// lan is the network in memory of the tests that start no processes.
var lan = fetchtest.New()

// newWeb is a web on lan, at an address of its own.
func newWeb(t *testing.T) *web {
	return newWebBy(t, func(h http.Handler) *httptest.Server { return lan.Server("127.0.0.1:0", h) })
}

// newWebBy is a web of which start starts the server.
func newWebBy(t *testing.T, start func(http.Handler) *httptest.Server) *web {
	w := &web{pages: map[string]http.HandlerFunc{}, asked: map[string]int{}}
	w.Server = start(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.asked[r.URL.RequestURI()]++
		w.times = append(w.times, time.Now())
		w.out++
		w.most = max(w.most, w.out)
		h := w.pages[r.URL.RequestURI()]
		if h == nil {
			h = w.other
		}
		w.mu.Unlock()
		defer func() {
			w.mu.Lock()
			w.out--
			w.mu.Unlock()
		}()
		if h == nil {
			http.NotFound(rw, r)
			return
		}
		h(rw, r)
	}))
	t.Cleanup(w.Close)
	return w
}

// page answers with HTML; links are paths.
func page(text string, links ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>%s</title><p>%s</p>", text, text)
		for _, l := range links {
			fmt.Fprintf(w, "<a href=\"%s\">x</a>\n", l)
		}
	}
}

func plain(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, strings.ReplaceAll(text, "HOST", r.Host))
	}
}

// urlset answers with a sitemap of paths.
func urlset(paths ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		io.WriteString(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
		for _, p := range paths {
			fmt.Fprintf(w, "<url><loc>http://%s%s</loc></url>\n", r.Host, p)
		}
		io.WriteString(w, "</urlset>")
	}
}

// index answers with a sitemap index of /map0.xml, /map1.xml, …
func index(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		io.WriteString(w, `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
		for i := range n {
			fmt.Fprintf(w, "<sitemap><loc>http://%s/map%d.xml</loc></sitemap>\n", r.Host, i)
		}
		io.WriteString(w, "</sitemapindex>")
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(code) }
}

// uncached has an answer say that it must not be kept.
func uncached(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		h(w, r)
	}
}

func redirect(code int, to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(code)
	}
}

func (w *web) count(uri string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked[uri]
}

func (w *web) total() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, k := range w.asked {
		n += k
	}
	return n
}

func (w *web) set(uri string, h http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages[uri] = h
}

func open(t *testing.T, change func(*Config)) *Crawl {
	t.Helper()
	cfg := local(t.TempDir())
	if change != nil {
		change(&cfg)
	}
	return openSound(t, cfg)
}

// openSound opens a store that is sound in the end.
func openSound(t *testing.T, cfg Config) *Crawl {
	t.Helper()
	c, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.View().Check(func(p store.Problem) { t.Error(p) }); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func (w *web) crawl(t *testing.T, c *Crawl, rules store.Rules) *Result {
	t.Helper()
	return w.crawlWith(t, c, rules, Options{})
}

func (w *web) crawlWith(t *testing.T, c *Crawl, rules store.Rules, opt Options) *Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	r, err := c.Run(ctx, []scope.Seed{{URL: w.URL + "/", Rules: rules}}, opt)
	if err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatal("the crawl did not end")
	}
	return r
}

func (w *web) revisit(t *testing.T, c *Crawl, p plan.Plan) *Result {
	t.Helper()
	r, err := c.Revisit(context.Background(), p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (w *web) doc(t *testing.T, c *Crawl, path string) *store.Doc {
	t.Helper()
	id, err := c.View().Find(w.URL + path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	d, err := c.View().Doc(id)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestRedirects(t *testing.T) {
	w := newWeb(t)
	w.pages["/"] = page("home", "/301", "/302", "/307", "/rel/x", "/utf8", "/loop1", "/chain0", "/long0", "/b")
	w.pages["/301"] = redirect(301, "/b")
	w.pages["/302"] = redirect(302, "/b")
	w.pages["/307"] = redirect(307, "/b#part")
	w.pages["/rel/x"] = redirect(302, "../c?x")
	w.pages["/utf8"] = redirect(301, "/caf\u00e9")
	w.pages["/loop1"] = redirect(302, "/loop2")
	w.pages["/loop2"] = redirect(302, "/loop1")
	for i := range 12 {
		w.pages[fmt.Sprintf("/chain%d", i)] = redirect(302, fmt.Sprintf("/chain%d", i+1))
		w.pages[fmt.Sprintf("/long%d", i)] = redirect(302, fmt.Sprintf("/long%d", i+1))
	}
	w.pages["/chain10"] = page("end of the chain")
	w.pages["/long12"] = page("too far")
	w.pages["/b"] = page("b")
	w.pages["/c?x"] = page("c")
	w.pages["/caf%C3%A9"] = page("cafe")
	c := open(t, nil)
	w.crawl(t, c, store.Rules{})
	want := map[string]bool{"/": true, "/b": true, "/c": true, "/café": true, "/chain10": true}
	if diff := differ(pagesOf(t, c.View(), func(*store.Doc) bool { return true }), want); diff != "" {
		t.Error(diff)
	}
	for uri, n := range w.asked {
		if n != 1 {
			t.Errorf("%s was asked for %d times", uri, n)
		}
	}
	if w.count("/long12") != 0 || w.count("/long10") != 1 {
		t.Error("a chain of more than 10 redirects was followed to its end")
	}
	if d := w.doc(t, c, "/loop2"); d.Reason != "redirect_loop" || d.Status != 302 {
		t.Errorf("/loop2: %q, status %d", d.Reason, d.Status)
	}
	if d := w.doc(t, c, "/301"); d.Status != 301 || d.Kind != store.Redirect {
		t.Errorf("/301: status %d, %v", d.Status, d.Kind)
	}
	links, err := c.View().Links(w.doc(t, c, "/301"))
	if err != nil || len(links) != 1 || links[0].To != w.doc(t, c, "/b").ID || links[0].Kind != store.ViaRedirect {
		t.Errorf("links of /301: %v, %v", links, err)
	}
}

func TestRedirectToAnotherHost(t *testing.T) {
	far := newWeb(t)
	far.pages["/"] = page("far away", "/more")
	far.pages["/robots.txt"] = plain("User-agent: *\nDisallow: /private")
	w := newWeb(t)
	w.pages["/"] = page("home", "/go")
	w.pages["/go"] = redirect(301, far.URL+"/")
	c := open(t, nil)
	w.crawl(t, c, store.Rules{})
	if n := far.total(); n != 0 {
		t.Errorf("the other host was asked %d times; it is out of scope", n)
	}
	if id, err := c.View().Find(far.URL + "/"); err != nil {
		t.Error(err)
	} else if d, _ := c.View().Doc(id); d.State != store.Skipped || d.Reason != "scope" {
		t.Errorf("the target is %v, %q", d.State, d.Reason)
	}
}

func TestRobots(t *testing.T) {
	w := newWeb(t)
	w.pages["/robots.txt"] = plain("User-agent: *\nDisallow: /no\nSitemap: http://HOST/map.xml\n")
	w.pages["/map.xml"] = func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/xml")
		fmt.Fprintf(rw, "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>http://%s/listed</loc><lastmod>2020-01-02</lastmod></url></urlset>", r.Host)
	}
	w.pages["/"] = page("home", "/no", "/no/deep", "/yes")
	w.pages["/yes"] = page("yes")
	w.pages["/listed"] = page("listed")
	c := open(t, nil)
	w.crawl(t, c, store.Rules{})
	if w.count("/no")+w.count("/no/deep") != 0 {
		t.Error("a disallowed page was fetched")
	}
	if w.count("/sitemap.xml") != 0 {
		t.Error("/sitemap.xml was asked for although robots.txt names another one")
	}
	if d := w.doc(t, c, "/no"); d.State != store.Skipped || d.Reason != "robots" {
		t.Errorf("/no is %v, %q", d.State, d.Reason)
	}
	if d := w.doc(t, c, "/listed"); !d.IsPage() || d.LastMod != 1577923200 || d.Via != store.ViaSitemap {
		t.Errorf("/listed: %+v", d)
	}
}

func TestRobotsUnreachable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		w.pages["/robots.txt"] = status(503)
		w.pages["/"] = page("home")
		c := open(t, nil)
		r := w.crawl(t, c, store.Rules{})
		if w.count("/") != 0 || len(r.Failed) != 1 || !strings.Contains(r.Failed[0].Reason, "503") {
			t.Errorf("asked for / %d times, failed %v", w.count("/"), r.Failed)
		}
		if n, err := c.View().Counters(1); err != nil || n.Queued() != 1 {
			t.Errorf("%d documents are kept, %v; want 1", n.Queued(), err)
		}
		w.set("/robots.txt", status(404))
		if r = w.crawl(t, c, store.Rules{}); r.Known != 1 || len(r.Failed) != 0 {
			t.Errorf("when robots.txt is back: %+v", r)
		}
		// That was the first visit, and it was a whole one.
		if d := w.doc(t, c, "/"); d.New != store.NotNew {
			t.Errorf("the first page is new: %v", d.New)
		}
		w.set("/", page("home", "/new"))
		w.set("/new", page("new"))
		if r = w.revisit(t, c, plan.Plan{Full: true}); r.NewPages != 1 || r.Unknown != 0 {
			t.Errorf("the revisit found %d new pages and %d unknown, want 1 and 0", r.NewPages, r.Unknown)
		}
		// Where robots.txt fails again, a cycle fetches nothing, says so and forgets nothing.
		w.set("/robots.txt", status(500))
		asked := w.count("/")
		if r = w.revisit(t, c, plan.Plan{Full: true}); r.Fetched != 0 || w.count("/") != asked || len(r.Failed) != 1 || !strings.Contains(r.Failed[0].Reason, "500") {
			t.Errorf("with robots.txt gone: %+v", r)
		}
		w.set("/robots.txt", status(404))
		if r = w.revisit(t, c, plan.Plan{Full: true}); r.Refetched != 2 || len(r.Failed) != 0 {
			t.Errorf("with robots.txt back again: %+v", r)
		}
	})
}

// TestLimitRaised stops at a limit and goes on with a higher one: that is still the first visit.
func TestLimitRaised(t *testing.T) {
	w := newWeb(t)
	w.pages["/"] = page("home", "/a", "/b")
	w.pages["/a"] = page("a", "/c")
	w.pages["/b"] = page("b", "/d")
	w.pages["/c"] = page("c")
	w.pages["/d"] = page("d")
	c := open(t, nil)
	w.crawl(t, c, store.Rules{MaxPages: 2})
	if r := w.crawl(t, c, store.Rules{MaxPages: 100}); r.Known != 5 || r.NewPages != 0 || r.Unknown != 0 {
		t.Errorf("with a higher limit: %+v", r)
	}
	w.set("/d", page("d", "/new"))
	w.set("/new", page("new"))
	if r := w.revisit(t, c, plan.Plan{Full: true}); r.NewPages != 1 || r.Unknown != 0 {
		t.Errorf("the revisit found %d new pages and %d unknown, want 1 and 0", r.NewPages, r.Unknown)
	}
}

func TestDuplicates(t *testing.T) {
	w := newWeb(t)
	w.pages["/"] = page("home", "/a", "/b", "/c")
	w.pages["/a"] = page("same")
	w.pages["/b"] = page("same")
	w.pages["/c"] = func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		io.WriteString(rw, "<link rel=canonical href=/a><p>printer's version")
	}
	c := open(t, func(cfg *Config) { cfg.Parallel = 1 })
	w.crawl(t, c, store.Rules{})
	a := w.doc(t, c, "/a")
	for _, p := range []string{"/b", "/c"} {
		if d := w.doc(t, c, p); d.DuplicateOf != a.ID {
			t.Errorf("%s is a duplicate of %d, want %d", p, d.DuplicateOf, a.ID)
		}
	}
	if a.DuplicateOf != graph.None {
		t.Error("/a is a duplicate")
	}
	n, err := c.View().Counters(1)
	if err != nil || n.Pages() != 4 || n.Distinct != 2 {
		t.Errorf("%d pages, %d of them distinct, %v; want 4 and 2", n.Pages(), n.Distinct, err)
	}
}

// TestGone checks that a page is gone after 410, or after 404 in two cycles, and never because
// the whole site is away, and that nothing is new when it comes back.
func TestGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		w.pages["/"] = page("home", "/a", "/b", "/c")
		for _, p := range []string{"/a", "/b", "/c"} {
			w.pages[p] = page(p)
		}
		c := open(t, nil)
		w.crawl(t, c, store.Rules{})
		is := func(path string, want bool) {
			t.Helper()
			if d := w.doc(t, c, path); (d.Gone != 0) != want {
				t.Errorf("%s: gone %v, want %v", path, d.Gone != 0, want)
			}
		}
		w.set("/a", status(410))
		w.set("/b", status(404))
		w.revisit(t, c, plan.Plan{Full: true})
		is("/a", true)
		is("/b", false)
		w.revisit(t, c, plan.Plan{Full: true})
		is("/b", true)
		is("/c", false)
		// The whole site vanishes for some cycles.
		saved := maps.Clone(w.pages)
		for _, code := range []int{404, 503, 404} {
			w.mu.Lock()
			clear(w.pages)
			w.other = status(code)
			w.pages["/robots.txt"] = status(404)
			w.mu.Unlock()
			w.revisit(t, c, plan.Plan{Full: true})
			is("/c", false)
		}
		w.mu.Lock()
		w.pages, w.other = saved, nil
		w.mu.Unlock()
		w.set("/b", page("/b"))
		r := w.revisit(t, c, plan.Plan{Full: true})
		if r.NewPages != 0 || r.Pages != 0 {
			t.Errorf("when the site came back, %d pages were new", r.NewPages)
		}
		is("/b", false)
		is("/a", true)
	})
}

func TestConditionalRequests(t *testing.T) {
	w := newWeb(t)
	tag := `W/"x"`
	var sent []string
	w.pages["/"] = func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		if m := r.Header.Get("If-None-Match"); m != "" {
			sent = append(sent, m)
			rw.Header().Set("ETag", `W/"y"`)
			rw.WriteHeader(304)
			return
		}
		rw.Header().Set("ETag", tag)
		io.WriteString(rw, "<a href=/a>a</a>")
	}
	w.pages["/a"] = page("a")
	c := open(t, nil)
	w.crawl(t, c, store.Rules{})
	r := w.revisit(t, c, plan.Plan{Full: true})
	w.revisit(t, c, plan.Plan{Full: true})
	if !slices.Equal(sent, []string{`W/"x"`, `W/"y"`}) {
		t.Errorf("If-None-Match: %q", sent)
	}
	d := w.doc(t, c, "/")
	links, err := c.View().Links(d)
	if err != nil || len(links) != 1 || d.Status != 200 || d.Changes != 0 {
		t.Errorf("after a 304: links %v, %v, status %d, %d changes", links, err, d.Status, d.Changes)
	}
	if d := w.doc(t, c, "/a"); d.Changes != 0 || d.Visits != 3 {
		t.Errorf("the same bytes count as %d changes in %d visits", d.Changes, d.Visits)
	}
	if r.Refetched != 2 || r.NewPages != 0 {
		t.Errorf("%+v", r)
	}
}

func TestSoft404(t *testing.T) {
	w := newWeb(t)
	w.other = func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" || r.URL.Path == "/sitemap.xml" {
			http.NotFound(rw, r)
			return
		}
		page("There is no "+r.URL.Path+" here", "deeper/page")(rw, r)
	}
	w.pages["/"] = page("home", "/real", "/lost/thing")
	w.pages["/real"] = page("real")
	c := open(t, nil)
	w.crawl(t, c, store.Rules{})
	want := map[string]bool{"/": true, "/real": true}
	if diff := differ(pagesOf(t, c.View(), func(*store.Doc) bool { return true }), want); diff != "" {
		t.Error(diff)
	}
	if d := w.doc(t, c, "/lost/thing"); d.Kind != store.Soft404 || d.New != store.NotNew {
		t.Errorf("/lost/thing is %v", d.Kind)
	}
	if n := w.total(); n > 10 {
		t.Errorf("%d requests", n)
	}
}

// TestTraps crawls sites that make up URLs without end: the real pages are all found, and
// the requests stay bounded.
func TestTraps(t *testing.T) {
	t.Parallel()
	n := 0
	number := func() int { n++; return n }
	real := []string{"/p0", "/p1", "/p2", "/p3", "/p4"}
	tests := []struct {
		name string
		page func(rw http.ResponseWriter, r *http.Request)
		most int
	}{
		{"the same page with new relative links", func(rw http.ResponseWriter, r *http.Request) {
			io.WriteString(rw, "<title>x</title><a href=a/b/>1</a><a href=c/d/>2</a>")
		}, 200},
		{"path repeats", func(rw http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(rw, "<p>%d<a href=\"again/\">1</a>", number())
		}, 60},
		{"session numbers in the path", func(rw http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(rw, "<p>%s %d", r.URL.Path, number())
			for _, p := range real {
				fmt.Fprintf(rw, "<a href=\"%s;jsessionid=%d\">x</a>", p, number())
			}
		}, 60},
		{"session numbers in the query", func(rw http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(rw, "<p>%s %d", r.URL.Path, number())
			for _, p := range real {
				fmt.Fprintf(rw, "<a href=\"%s?a=1&sid=%d\">x</a>", p, number())
			}
		}, 60},
		{"ever new query strings", func(rw http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(rw, "<p>%d<a href=\"/calendar?day=%d\">x</a><a href=\"/calendar?day=%d\">x</a>", number(), number(), number())
		}, 2000}, // some 500, and more where answers come late
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWeb(t)
			w.pages["/robots.txt"], w.pages["/sitemap.xml"] = status(404), status(404)
			var mu sync.Mutex
			w.other = func(rw http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				rw.Header().Set("Content-Type", "text/html")
				test.page(rw, r)
			}
			w.pages["/"] = page("home", append(slices.Clone(real), "/start/")...)
			c := open(t, nil)
			w.crawl(t, c, store.Rules{})
			if got := w.total(); got > test.most {
				t.Errorf("%d requests, want at most %d", got, test.most)
			}
			for _, p := range real {
				if w.doc(t, c, p).Status != 200 {
					t.Errorf("%s was not fetched", p)
				}
			}
			s, err := c.View().Site(1)
			if err != nil || len(s.LeftOut)+len(s.Traps) == 0 && w.doc(t, c, "/p0").Kind != store.Soft404 {
				t.Errorf("nothing is told to be left out: %+v, %v", s, err)
			}
		})
	}
}

func TestBlocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		w.pages["/robots.txt"], w.pages["/sitemap.xml"] = status(404), status(404)
		var links []string
		for i := range 40 {
			links = append(links, fmt.Sprintf("/p%d", i))
		}
		w.pages["/"] = page("home", links...)
		w.other = func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Cf-Mitigated", "challenge")
			rw.WriteHeader(403)
		}
		c := open(t, func(cfg *Config) { cfg.Parallel = 64 })
		r := w.crawl(t, c, store.Rules{})
		s, err := c.View().Site(1)
		if err != nil || s.State != store.SitePaused || !strings.Contains(s.Reason, "blocked") {
			t.Errorf("the site is %v, %q, %v", s.State, s.Reason, err)
		}
		if r.Known != 1 {
			t.Errorf("%d pages", r.Known)
		}
	})
}

// TestPoliteness measures at the server: never two requests at once, never two closer than
// the delay, also when the crawl is stopped and started again.
func TestPoliteness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		var links []string
		for i := range 12 {
			links = append(links, fmt.Sprintf("/p%d", i))
			w.pages[links[i]] = page(links[i], links...)
		}
		w.pages["/"] = page("home", links...)
		const delay = 250 * time.Millisecond
		dir := t.TempDir()
		for run := range 4 {
			c, err := Open(Config{Dir: dir, Parallel: 8, Delay: delay, Fetch: local("").Fetch})
			if err != nil {
				t.Fatal(err)
			}
			var opt Options
			if run < 3 {
				opt.MaxTime = 700 * time.Millisecond
			}
			_, err = c.Run(context.Background(), []scope.Seed{{URL: w.URL + "/", Rules: store.Rules{DelayMillis: delay.Milliseconds()}}}, opt)
			if err := errors.Join(err, c.Close()); err != nil {
				t.Fatal(err)
			}
		}
		if w.most > 1 {
			t.Errorf("%d requests at once", w.most)
		}
		for i := 1; i < len(w.times); i++ {
			if gap := w.times[i].Sub(w.times[i-1]); gap < delay {
				t.Errorf("requests %d and %d are %v apart", i-1, i, gap)
			}
		}
		for uri, n := range w.asked {
			if n != 1 && uri != "/robots.txt" {
				t.Errorf("%s was fetched %d times", uri, n)
			}
		}
		if len(w.asked) != 16 {
			t.Errorf("%d URLs were asked for, want 16", len(w.asked))
		}
	})
}

func TestScopeAndLimits(t *testing.T) {
	w := newWeb(t)
	w.pages["/"] = page("home", "/a/", "/b/", "/a/skip.html")
	w.pages["/a/"] = page("a", "/a/1", "/a/2")
	w.pages["/a/1"] = page("a1", "/a/1/x")
	w.pages["/a/1/x"] = page("a1x")
	w.pages["/a/2"] = page("a2")
	w.pages["/a/skip.html"] = page("skip")
	w.pages["/b/"] = page("b")
	tests := []struct {
		name  string
		seed  string
		rules store.Rules
		want  []string
	}{
		{"all", "/", store.Rules{}, []string{"/", "/a/", "/a/1", "/a/1/x", "/a/2", "/a/skip.html", "/b/"}},
		{"prefix", "/a/", store.Rules{Scope: "prefix"}, []string{"/a/", "/a/1", "/a/1/x", "/a/2"}},
		{"include", "/", store.Rules{Include: []string{"/a/"}}, []string{"/", "/a/", "/a/1", "/a/1/x", "/a/2", "/a/skip.html"}},
		{"exclude wins", "/", store.Rules{Include: []string{"/a/"}, Exclude: []string{`\.html$`}}, []string{"/", "/a/", "/a/1", "/a/1/x", "/a/2"}},
		{"seeds alone", "/", store.Rules{MaxDepth: -1}, []string{"/"}},
		{"depth 2", "/", store.Rules{MaxDepth: 2}, []string{"/", "/a/", "/a/1", "/a/2", "/a/skip.html", "/b/"}},
		{"pages", "/", store.Rules{MaxPages: 2}, nil},
		{"budget", "/", store.Rules{Budget: 3}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var skipped strings.Builder
			c := open(t, nil)
			r, err := c.Run(context.Background(), []scope.Seed{{URL: w.URL + test.seed, Rules: test.rules}}, Options{Skipped: &skipped})
			if err != nil {
				t.Fatal(err)
			}
			got := pagesOf(t, c.View(), func(*store.Doc) bool { return true })
			switch {
			case test.rules.MaxPages > 0:
				if len(got) != test.rules.MaxPages {
					t.Errorf("%d pages", len(got))
				}
			case test.rules.Budget > 0:
				if int(r.Fetched) != test.rules.Budget {
					t.Errorf("%d fetched", r.Fetched)
				}
			default:
				want := map[string]bool{}
				for _, p := range test.want {
					want[p] = true
				}
				if diff := differ(got, want); diff != "" {
					t.Error(diff)
				}
				if len(want) < 7 && !strings.Contains(skipped.String(), "\t") && test.seed == "/" {
					t.Errorf("no URL is reported as skipped: %q", skipped.String())
				}
			}
		})
	}
}

// TestTotal ends runs after one answer each: every document is fetched once, in the end.
func TestTotal(t *testing.T) {
	w := newWeb(t)
	w.pages["/"] = page("home", "/a", "/b")
	w.pages["/a"] = page("a")
	w.pages["/b"] = page("b")
	c := open(t, nil)
	cycle := store.Cycle(0)
	for i := range 3 {
		r := w.crawlWith(t, c, store.Rules{}, Options{MaxTotal: 1})
		if r.Fetched != int64(i)+1 || r.Cut != "--max-total" || i > 0 && r.Cycle != cycle {
			t.Errorf("run %d: %+v", i, r)
		}
		cycle = r.Cycle
	}
	if r := w.crawl(t, c, store.Rules{}); r.Known != 3 {
		t.Errorf("%+v", r)
	}
	for uri, n := range w.asked {
		if n != 1 && uri != "/robots.txt" {
			t.Errorf("%s was asked for %d times", uri, n)
		}
	}
}

// TestSteering adds, pauses, resumes and stops while a crawl runs.
func TestSteering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		w.pages["/"] = page("home", "/1")
		for i := 1; i < 200; i++ {
			w.pages[fmt.Sprint("/", i)] = page(fmt.Sprint(i), fmt.Sprint("/", i+1))
		}
		reached, paused, hidden := make(chan bool), make(chan bool), make(chan bool)
		w.pages["/5"] = func(rw http.ResponseWriter, r *http.Request) {
			close(reached)
			<-paused
			page("5", "/6")(rw, r)
		}
		w.pages["/hidden"] = func(rw http.ResponseWriter, r *http.Request) {
			close(hidden)
			page("nobody links here")(rw, r)
		}
		idle := make(chan bool, 1) // holds something when nothing has been under way since it was empty
		c := open(t, func(cfg *Config) { cfg.Delay = time.Millisecond })
		opt := Options{Progress: func(p Progress) {
			if p.Out == 0 {
				select {
				case idle <- true:
				default:
				}
			}
		}}
		if err := c.Pause(""); !errors.Is(err, ErrNotRunning) {
			t.Errorf("Pause without a crawl: %v", err)
		}
		done := make(chan *Result)
		go func() {
			r, err := c.Run(context.Background(), []scope.Seed{{URL: w.URL + "/"}}, opt)
			if err != nil {
				t.Error(err)
			}
			done <- r
		}()
		<-reached
		if err := errors.Join(c.Pause(""), c.Add([]string{w.URL + "/hidden"})); err != nil {
			t.Fatal(err)
		}
		if err := c.Pause("nowhere"); !errors.Is(err, plan.ErrNoSite) {
			t.Errorf("Pause of a site that is not there: %v", err)
		}
		before := w.total()
		select {
		case <-idle: // from before /5
		default:
		}
		close(paused)
		<-idle
		if n := w.total() - before; n != 0 {
			t.Errorf("a paused crawl made %d requests", n)
		}
		if err := c.Resume(""); err != nil {
			t.Fatal(err)
		}
		<-hidden
		if err := c.Stop(""); err != nil {
			t.Fatal(err)
		}
		if r := <-done; !r.Interrupted || r.Fetched >= 200 {
			t.Errorf("stopped: %+v", r)
		}
		if r := w.crawl(t, c, store.Rules{}); r.Known != 201 {
			t.Errorf("gone on: %+v", r)
		}
	})
}

// TestAdd gives a running crawl several URLs at once, with the rules of the site that they lie in:
// all, or none where one is no URL.
func TestAdd(t *testing.T) {
	w := newWeb(t)
	reached, added := make(chan bool), make(chan bool)
	w.pages["/"] = func(rw http.ResponseWriter, r *http.Request) {
		close(reached)
		<-added
		page("home")(rw, r)
	}
	w.pages["/1"], w.pages["/2"] = page("1"), page("2")
	c := open(t, nil)
	done := make(chan *Result)
	go func() {
		r, err := c.Run(context.Background(), []scope.Seed{{URL: w.URL + "/", Rules: store.Rules{IgnoreParams: []string{"from"}}}}, Options{})
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	<-reached
	if err := c.Add([]string{w.URL + "/2", "no URL"}); err == nil {
		t.Error("what is no URL was added")
	}
	if err := c.Add([]string{w.URL + "/1?from=here", w.URL + "/1"}); err != nil {
		t.Error(err)
	}
	close(added)
	if r := <-done; r == nil || r.Known != 2 || w.count("/1") != 1 || w.count("/2") != 0 {
		t.Errorf("home and /1 were added, the run came to %+v, with %d and %d requests for /1 and /2", r, w.count("/1"), w.count("/2"))
	}
}

// TestChangedRules goes on with a crawl under other rules: they hold for what waits.
func TestChangedRules(t *testing.T) {
	w := newWeb(t)
	w.pages["/"] = page("home", "/a", "/b")
	w.pages["/a"] = page("a")
	w.pages["/b"] = page("b")
	c := open(t, func(cfg *Config) { cfg.Parallel = 1 })
	w.crawl(t, c, store.Rules{MaxPages: 1})
	if r := w.crawl(t, c, store.Rules{MaxPages: 1}); r.Fetched != 0 || len(r.Finished) != 1 {
		t.Errorf("the same again fetched %d", r.Fetched)
	}
	w.crawl(t, c, store.Rules{Exclude: []string{"/b"}})
	want := map[string]bool{"/": true, "/a": true}
	if diff := differ(pagesOf(t, c.View(), func(*store.Doc) bool { return true }), want); diff != "" {
		t.Error(diff)
	}
	if d := w.doc(t, c, "/b"); d.Reason != "exclude" {
		t.Errorf("/b is %v, %q", d.State, d.Reason)
	}
}

// TestPolicies crawls a site in the order of every explorer: all find the same pages.
func TestPolicies(t *testing.T) {
	w := newWeb(t)
	w.pages["/"] = page("home", "/1", "/2")
	for i := 1; i < 30; i++ {
		w.pages[fmt.Sprint("/", i)] = page(fmt.Sprint(i), fmt.Sprint("/", 2*i), fmt.Sprint("/", 2*i+1))
	}
	for _, p := range []string{"bfs", "dfs", "random", "rw", "best"} {
		t.Run(p, func(t *testing.T) {
			c := open(t, nil)
			if r := w.crawlWith(t, c, store.Rules{}, Options{Policy: p, MaxTotal: 12}); r.Fetched > 12 {
				t.Fatalf("%+v", r)
			}
			if r := w.crawlWith(t, c, store.Rules{}, Options{Policy: p}); r.Known != 30 {
				t.Errorf("%+v; want 30 pages", r)
			}
		})
	}
}

// TestBestOrder crawls a part of a site whose menu leads to pages that lead nowhere, and whose
// archive, below it, to lists of articles: best finds out and knows more URLs than bfs, also
// when it is interrupted.
func TestBestOrder(t *testing.T) {
	w := newWeb(t)
	html := func(parts ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, "<!doctype html><title>%s</title><p>%[1]s</p>%s", r.URL.Path, strings.Join(parts, ""))
		}
	}
	list := func(class, path string, from, to int) string {
		var b strings.Builder
		fmt.Fprintf(&b, "<ul class=%s>", class)
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "<li><a href=%s%d>x</a></li>", path, i)
		}
		return b.String() + "</ul>"
	}
	w.pages["/"] = html(list("menu", "/about", 0, 100), list("archive", "/month", 0, 3))
	for i := range 100 {
		w.pages[fmt.Sprint("/about", i)] = html()
	}
	for i := range 100 {
		w.pages[fmt.Sprint("/month", i)] = html(list("articles", "/article", 10*i, 10*i+10), list("archive", "/month", 3*i+3, 3*i+6))
	}
	for i := range 1000 {
		w.pages[fmt.Sprint("/article", i)] = html()
	}
	urls := func(policy string, totals ...int64) int {
		c := open(t, func(cfg *Config) { cfg.Parallel = 1 })
		for _, total := range totals {
			w.crawlWith(t, c, store.Rules{MaxPages: 40}, Options{Policy: policy, MaxTotal: total})
		}
		n := 0
		if err := c.View().Docs(func(*store.Doc) bool { n++; return true }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	bfs, best, twice := urls("bfs", 0), urls("best", 0), urls("best", 15, 0)
	if t.Logf("bfs=%d best=%d interrupted=%d", bfs, best, twice); best < 2*bfs || twice < 2*bfs {
		t.Errorf("40 pages lead best to %d URLs, %d with an interruption, bfs to %d", best, twice, bfs)
	}
}

// TestPoliteByDefault checks that a program that sets nothing keeps a second between its requests
// to a host, and that below 0 the rules of the seeds alone hold.
func TestPoliteByDefault(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		delay time.Duration
		apart time.Duration
	}{{0, DefaultDelay}, {-1, 0}, {time.Minute, time.Minute}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWeb(t)
			w.pages["/"], w.pages["/a"] = page("home", "/a"), page("a")
			cfg := Config{Dir: t.TempDir(), Delay: test.delay, Fetch: local("").Fetch}
			c, err := Open(cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			w.crawl(t, c, store.Rules{})
			least := time.Hour
			for i := range w.times[1:] {
				least = min(least, w.times[i+1].Sub(w.times[i]))
			}
			if len(w.times) < 4 || least < test.apart || test.apart == 0 && least > 0 {
				t.Errorf("Delay %v: %d requests, %v apart", test.delay, len(w.times), least)
			}
		})
	}
}
