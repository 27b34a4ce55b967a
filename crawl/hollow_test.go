package crawl

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"forage/crawl/plan"
	"forage/graph"
	"forage/store"
)

// app answers with the page of a single-page app, with a token made anew each time.
func app(links ...string) http.HandlerFunc {
	var tokens atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>App</title><meta name="csrf-token" content="tok%024dA"><div id=root></div>`, tokens.Add(1)*7919)
		for _, l := range links {
			fmt.Fprintf(w, "<a href=\"%s\">x</a>", l)
		}
		fmt.Fprint(w, `<script type=module src="/assets/index.js"></script>`)
	}
}

// original reports whether a page is no duplicate.
func original(d *store.Doc) bool { return d.DuplicateOf == graph.None }

// TestCatchAll crawls sites whose servers answer every path with one page.
func TestCatchAll(t *testing.T) {
	t.Parallel()
	real := []string{"/a", "/b", "/c", "/d"}
	for _, test := range []struct {
		name  string
		seed  string
		site  func(w *web)
		pages []string // that are no duplicates
		shell bool
		most  int // requests; 0: any number
	}{
		{"the home page has links", "/", func(w *web) {
			w.other = app(real...)
			for _, p := range real {
				w.pages[p] = page(p)
			}
		}, append([]string{"/"}, real...), false, 8},
		{"the home page has no links", "/", func(w *web) { w.other = app() }, []string{"/"}, true, 6},
		{"so it is for a seed below the root", "/app/", func(w *web) { w.other = app() }, []string{"/app/"}, true, 6},
		{"so it is where the root leads elsewhere", "/", func(w *web) {
			w.other = app()
			w.pages["/"] = redirect(302, "/app/")
		}, []string{"/app/"}, true, 6},
		{"its links lead to the same page", "/", func(w *web) { w.other = app("/about", "/login") }, []string{"/"}, true, 6},
		{"without scripts", "/", func(w *web) { w.other = page("under construction") }, []string{"/"}, true, 6},
		{"a sitemap names pages", "/", func(w *web) {
			w.other = app("/about", "/news/1")
			w.pages["/sitemap.xml"] = urlset("/", "/news/1", "/news/2", "/news/3")
		}, []string{"/", "/news/1", "/news/2", "/news/3"}, true, 9},
		{"a feed names a page that is another", "/", func(w *web) {
			w.other = app("/feed.xml")
			w.pages["/news/1"] = page("prerendered", "/news/0")
			w.pages["/news/0"] = page("an older one")
			w.pages["/feed.xml"] = func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Content-Type", "application/rss+xml")
				fmt.Fprintf(rw, "<rss><channel><item><link>http://%s/news/1</link></item><item><link>http://%[1]s/news/2</link></item></channel></rss>", r.Host)
			}
		}, []string{"/", "/news/0", "/news/1", "/news/2"}, false, 0},
		{"what answers for what is not there is a page of use", "/", func(w *web) {
			w.other = page("the site map", "/hidden")
			w.pages["/"] = page("home", "/map")
			w.pages["/hidden"] = page("hidden")
		}, []string{"/", "/map", "/hidden"}, false, 8},
	} {
		for _, policy := range []string{"", "best"} {
			t.Run(test.name+" "+policy, func(t *testing.T) {
				t.Parallel()
				w := newWeb(t)
				test.site(w)
				c := open(t, nil)
				r, err := c.Run(t.Context(), w.seed(test.seed, store.Rules{}), Options{Policy: policy})
				if err != nil {
					t.Fatal(err)
				}
				want := map[string]bool{}
				for _, p := range test.pages {
					want[p] = true
				}
				if diff := differ(pagesOf(t, c.View(), original), want); diff != "" {
					t.Error(diff)
				}
				if len(r.Failed) > 0 || (len(r.Shells) > 0) != test.shell {
					t.Errorf("failed %v, shells %v", r.Failed, r.Shells)
				}
				if n := w.total(); test.most > 0 && n > test.most {
					t.Errorf("%d requests, want at most %d: %v", n, test.most, w.asked)
				}
			})
		}
	}
}

// TestShellGrows has a shell publish through its sitemap: what that newly names is new. The app
// is published anew meanwhile, and a page of its own is taken down.
func TestShellGrows(t *testing.T) {
	t.Parallel()
	w := newWeb(t)
	w.other = app("/sitemap.xml")
	w.pages["/sitemap.xml"] = urlset("/1", "/2", "/own")
	w.pages["/own"] = page("prerendered")
	c := open(t, nil)
	w.crawl(t, c, store.Rules{})

	w.set("/sitemap.xml", urlset("/1", "/2", "/own", "/3", "/4"))
	w.mu.Lock()
	w.other = app("/sitemap.xml", "/login")
	w.mu.Unlock()
	delete(w.pages, "/own")
	for range 2 { // the first one learns that the app has changed
		if _, err := c.Revisit(t.Context(), plan.Plan{Full: true}, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	for p, want := range map[string]store.Novelty{"/1": store.NotNew, "/3": store.IsNew, "/4": store.IsNew} {
		if d := w.doc(t, c, p); d.Kind != store.Page || d.New != want || d.DuplicateOf != graph.None {
			t.Errorf("%s: %v, new %v, duplicate of %d", p, d.Kind, d.New, int32(d.DuplicateOf))
		}
	}
	if own, login := w.doc(t, c, "/own"), w.doc(t, c, "/login"); own.Kind != store.Page || own.GoneCycles == 0 || login.Kind != store.Soft404 {
		t.Errorf("/own is a %v, not there in %d cycles, /login a %v", own.Kind, own.GoneCycles, login.Kind)
	}
	if s, err := c.View().Site(1); err != nil || len(s.Soft404) != 2 || !s.CatchAll {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestShellRenewed has a shell publish after its app was published anew, and only its sitemap is
// fetched again: the new pages have one body, and none is a copy of another.
func TestShellRenewed(t *testing.T) {
	t.Parallel()
	w := newWeb(t)
	w.other = page("app 1")
	w.pages["/sitemap.xml"] = urlset("/1")
	c := open(t, nil)
	w.crawl(t, c, store.Rules{})
	one := plan.Plan{Budget: func(int) int { return 1 }, Text: "1", Policy: "round-robin"}
	for range 2 { // the pages, so that the sitemap is next
		w.revisit(t, c, one)
	}
	w.set("/sitemap.xml", urlset("/1", "/2", "/3", "/4"))
	w.mu.Lock()
	w.other = page("app 2")
	w.mu.Unlock()
	if r := w.revisit(t, c, one); r.NewPages != 3 || r.Refetched != 1 || w.count("/") != 2 {
		t.Errorf("%d new pages by fetching %d old documents, %v", r.NewPages, r.Refetched, w.asked)
	}
	w.revisit(t, c, plan.Plan{Full: true})
	s, err := c.View().Site(1)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := c.View().Counters(1); err != nil || !s.Shell(n) || n.Pages() != 5 {
		t.Errorf("a shell: %v, %v, %v", s.Shell(n), n, err)
	}
}

// TestSeedOfSoft404 gives a URL by hand that the site was taken not to have.
func TestSeedOfSoft404(t *testing.T) {
	t.Parallel()
	w := newWeb(t)
	w.other = app("/about")
	c := open(t, nil)
	w.crawl(t, c, store.Rules{})
	if d := w.doc(t, c, "/about"); d.Kind != store.Soft404 {
		t.Fatalf("/about is a %v", d.Kind)
	}
	if _, err := c.Run(t.Context(), w.seed("/about", store.Rules{}), Options{}); err != nil {
		t.Fatal(err)
	}
	if d := w.doc(t, c, "/about"); d.Kind != store.Page {
		t.Errorf("/about, given by hand, is a %v", d.Kind)
	}
}

// TestPublishedAnew: an app is published anew, and answers the guess at a sitemap before its home page:
// that guess is no new page.
func TestPublishedAnew(t *testing.T) {
	t.Parallel()
	w := newWeb(t)
	w.other = page("the app, as it was first")
	c := open(t, func(cfg *Config) { cfg.Parallel = 8 })
	if _, err := c.Run(t.Context(), w.seed("/", store.Rules{}), Options{}); err != nil {
		t.Fatal(err)
	}
	w.other = page("the app, as it was published anew")
	app, guessed := w.other, make(chan bool)
	w.set("/sitemap.xml", func(rw http.ResponseWriter, r *http.Request) {
		app(rw, r)
		close(guessed)
	})
	w.set("/", func(rw http.ResponseWriter, r *http.Request) {
		select {
		case <-guessed:
		case <-r.Context().Done():
		}
		app(rw, r)
	})
	if r := w.revisit(t, c, budgeted(10)); r.NewPages != 0 || r.Unknown != 0 {
		t.Errorf("%d new pages, %d that may be", r.NewPages, r.Unknown)
	}
}
