package crawl

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"forage/crawl/scope"
	"forage/explore/yield"
	"forage/graph"
	"forage/internal/software"
	"forage/store"
)

// A kindOfSite is a site of a kind of software on loopback, with the requests that it was asked.
type kindOfSite struct {
	*software.Site
	url   string
	mu    sync.Mutex
	asked []string
}

func serveKind(t *testing.T, kind string, c software.Config) *kindOfSite {
	t.Helper()
	site, err := software.New(kind, c)
	if err != nil {
		t.Fatal(err)
	}
	s := &kindOfSite{Site: site}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.URL.RequestURI())
		s.mu.Unlock()
		site.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

// openLoopback opens a store in a folder of its own, with so many requests at once.
func openLoopback(t *testing.T, parallel int) *Crawl {
	t.Helper()
	cfg := loopback(t.TempDir())
	cfg.Parallel = parallel
	return openSound(t, cfg)
}

// missing returns how many content pages the store has no page of.
func (s *kindOfSite) missing(t *testing.T, v *store.View) (n int) {
	t.Helper()
	found := map[int]bool{}
	page := func(url string) int {
		look, err := s.Ask(software.Start, url)
		if err != nil {
			t.Fatal(err)
		}
		return look.Page
	}
	if err := v.SiteDocs(1, func(d *store.Doc) bool {
		if d.IsPage() && d.DuplicateOf == graph.None {
			found[page(d.URL)] = true
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	for _, path := range s.Content(software.Start) {
		if !found[page(s.url+path)] {
			n++
		}
	}
	return n
}

// TestWorth crawls sites of software that makes many URLs for a page: the first visit ends by
// itself, has all pages, and tells what it left out; so it does where it is cut again and again and
// goes on from what is in the store.
func TestWorth(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind  string
		pages int
		most  int // requests; twice as many as were measured
	}{{"wordpress", 40, 440}, {"mediawiki", 40, 560}, {"dokuwiki", 40, 300}, {"shop-visit", 40, 2000}} {
		for _, cut := range []int64{0, 60} {
			t.Run(fmt.Sprint(test.kind, " cut=", cut), func(t *testing.T) {
				t.Parallel()
				s := serveKind(t, test.kind, software.Config{Pages: test.pages})
				c := openLoopback(t, 4)
				seeds := []scope.Seed{{URL: s.url + "/"}}
				var r *Result
				for {
					var err error
					r, err = c.Run(t.Context(), seeds, Options{MaxTotal: cut})
					if err != nil {
						t.Fatal(err)
					}
					if r.Cut == "" {
						break
					}
					if len(s.asked) > 2*test.most {
						t.Fatalf("no end after %d requests", len(s.asked))
					}
				}
				if r.Pages-r.Copies != r.Known {
					t.Errorf("%d pages found, %d of them copies, but %d are listed", r.Pages, r.Copies, r.Known)
				}
				if n := len(s.asked); n > test.most {
					t.Errorf("%d requests, want at most %d", n, test.most)
				}
				if n := s.missing(t, c.View()); n > 0 {
					t.Errorf("%d of %d pages are missing", n, test.pages)
				}
				site, err := c.View().Site(1)
				if err != nil || site.State != store.SiteDone {
					t.Fatalf("the site is %v, %v", site.State, err)
				}
				told, out := int64(0), int64(0)
				for _, g := range site.LeftOut {
					if told += g.URLs; g.Why == "" || g.Fetched == 0 {
						t.Errorf("left out without a reason: %+v", g)
					}
				}
				if err := c.View().SiteDocs(1, func(d *store.Doc) bool {
					if strings.HasPrefix(d.Reason, store.StoppedReason) {
						out++
					}
					return true
				}); err != nil || told != out || out == 0 {
					t.Errorf("%d URLs are left out, %d told, %v", out, told, err)
				}
			})
		}
	}
}

// TestWorthOff: at a site without traps the order and number of requests are what they are without
// any judgement, and --all fetches what was left out at one that has some.
func TestWorthOff(t *testing.T) {
	t.Parallel()
	var asked [2][]string
	for i, all := range []bool{false, true} {
		s := serveKind(t, "docs", software.Config{Pages: 60})
		c := openLoopback(t, 1)
		if _, err := c.Run(t.Context(), []scope.Seed{{URL: s.url + "/", Rules: store.Rules{All: all}}}, Options{}); err != nil {
			t.Fatal(err)
		}
		for _, uri := range s.asked {
			if len(uri) != len("/0123456789abcdef01234567") { // the probe's is of the host's name
				asked[i] = append(asked[i], uri)
			}
		}
	}
	if !slices.Equal(asked[0], asked[1]) || len(asked[0]) < 40 {
		t.Errorf("%d requests, %d when everything is fetched; first\n%v\nand\n%v", len(asked[0]), len(asked[1]), asked[0][:10], asked[1][:10])
	}
	s := serveKind(t, "dokuwiki", software.Config{Pages: 10})
	c := openLoopback(t, 4)
	for _, all := range []bool{false, true} {
		if _, err := c.Run(t.Context(), []scope.Seed{{URL: s.url + "/", Rules: store.Rules{All: all}}}, Options{MaxTotal: 600}); err != nil {
			t.Fatal(err)
		}
		left := 0
		if err := c.View().SiteDocs(1, func(d *store.Doc) bool {
			if strings.HasPrefix(d.Reason, store.StoppedReason) {
				left++
			}
			return true
		}); err != nil || (left == 0) != all {
			t.Errorf("all %t: %d left out, %v", all, left, err)
		}
	}
}

// TestWorthOrdered has an explorer order the visit: what it names that brings little waits all the
// same, so that a budget goes to pages.
func TestWorthOrdered(t *testing.T) {
	t.Parallel()
	s := serveKind(t, "mediawiki", software.Config{Pages: 40})
	c := openLoopback(t, 1)
	if _, err := c.Run(t.Context(), []scope.Seed{{URL: s.url + "/", Rules: store.Rules{Budget: 280}}}, Options{Policy: "best"}); err != nil {
		t.Fatal(err)
	}
	if n := s.missing(t, c.View()); n > 0 {
		t.Errorf("%d of 40 pages are missing after 280 requests", n)
	}
}

// TestOrderedIsTold has the explorer of a visit told what addresses are: nothing else tells the lists of a site
// from the many pages that its home page names before them.
func TestOrderedIsTold(t *testing.T) {
	known := func(policy string) (n int) {
		synctest.Test(t, func(t *testing.T) {
			w := newWeb(t)
			var home []string
			for i := range 60 {
				home = append(home, fmt.Sprintf("/about/topic-%d", i))
				w.set(home[i], page(fmt.Sprint("topic ", i), "/"))
			}
			for i := range 5 {
				list := fmt.Sprintf("/monthly/%c", 'a'+i)
				home = append(home, list)
				var of []string
				for k := range 20 {
					post := fmt.Sprintf("/texts/%c-%d", 'a'+i, k)
					of = append(of, post)
					w.set(post, page(post, "/"))
				}
				w.set(list, page(list, of...))
			}
			w.set("/", page("home", home...))
			c := open(t, func(cfg *Config) { cfg.Parallel = 1 })
			w.crawlWith(t, c, store.Rules{Budget: 15}, Options{Policy: policy})
			if err := c.View().Docs(func(*store.Doc) bool { n++; return true }); err != nil {
				t.Fatal(err)
			}
		})
		return n
	}
	if best, bfs := known("best"), known("bfs"); best < bfs+80 {
		t.Errorf("with 15 requests best knows %d of 166 pages, bfs %d", best, bfs)
	}
}

// TestLeadsAreItsOwn: what robots.txt names before a document answers is not to the credit of that.
func TestLeadsAreItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		w.set("/robots.txt", plain("Sitemap: http://HOST/list.xml\n"))
		w.set("/list.xml", urlset("/a"))
		w.set("/a", page("a"))
		w.set("/", noindexed("home"))
		c := open(t, nil)
		w.crawl(t, c, store.Rules{})
		if got := yield.Outcome(w.doc(t, c, "/").Yield); got != yield.NoIndex {
			t.Errorf("the home page brought %v, want %v", got, yield.NoIndex)
		}
	})
}
