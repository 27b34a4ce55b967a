package crawl

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"forage/crawl/plan"
	"forage/graph"
	"forage/internal/software"
	"forage/store"
)

// TestRulesLater changes what a site's rules leave out after it was fetched, back and forth: what
// is listed, counted and fetched again follows, and nothing is forgotten.
func TestRulesLater(t *testing.T) {
	t.Parallel()
	w := newWeb(t)
	var links []string
	for i := range 10 {
		links = append(links, fmt.Sprintf("/print/%d", i), fmt.Sprintf("/page/%d", i))
		same := page(fmt.Sprint(i), fmt.Sprintf("/late/%d", i))
		w.pages[fmt.Sprintf("/print/%d", i)], w.pages[fmt.Sprintf("/page/%d", i)] = same, same
		w.pages[fmt.Sprintf("/late/%d", i)] = page(fmt.Sprint("late ", i))
	}
	w.pages["/"] = page("home", links...)
	c := open(t, func(cfg *Config) { cfg.Parallel = 1 }) // so that /print/N comes before /page/N
	listed := func() map[string]bool {
		return pagesOf(t, c.View(), func(d *store.Doc) bool { return d.IsPage() && d.DuplicateOf == graph.None })
	}
	check := func(when string, pages, distinct, leftOut int64, not string) {
		t.Helper()
		n, err := c.View().Counters(1)
		if err != nil || n.Pages() != pages || n.Distinct != distinct || n.LeftOut != leftOut {
			t.Errorf("%s: %d pages, %d distinct, %d left out, %v; want %d, %d, %d", when, n.Pages(), n.Distinct, n.LeftOut, err, pages, distinct, leftOut)
		}
		got := listed()
		if int64(len(got)) != distinct {
			t.Errorf("%s: %d pages are listed, want %d", when, len(got), distinct)
		}
		for p := range got {
			if not != "" && strings.Contains(p, not) {
				t.Errorf("%s: %s is listed", when, p)
			}
		}
	}
	w.crawl(t, c, store.Rules{Exclude: []string{"/late/"}})
	check("first", 21, 11, 0, "/page/")
	w.revisit(t, c, plan.Plan{Full: true}) // so that the policy knows all of them

	var told strings.Builder
	w.crawlWith(t, c, store.Rules{Exclude: []string{"/late/", "/print/"}}, Options{Log: slog.New(slog.NewTextHandler(&told, nil))})
	check("without prints", 11, 11, 10, "/print/")
	if !strings.Contains(told.String(), `"pages left out"=10`) {
		t.Errorf("it is told %q", told.String())
	}

	before := w.total() - w.count("/sitemap.xml")
	r := w.revisit(t, c, plan.Plan{Budget: func(n int) int {
		if n != 11 {
			t.Errorf("the budget is a share of %d documents", n)
		}
		return 11
	}, Text: "11"})
	if n := w.total() - w.count("/sitemap.xml") - before; r.Refetched != 11 || n != 11 {
		t.Errorf("%d documents fetched again, %d requests", r.Refetched, n)
	}
	for i := range 10 {
		if n := w.count(fmt.Sprintf("/print/%d", i)); n != 2 {
			t.Errorf("/print/%d was asked for %d times", i, n)
		}
	}
	w.revisit(t, c, plan.Plan{Full: true})
	check("after a full recrawl", 11, 11, 10, "/print/")

	w.crawl(t, c, store.Rules{Exclude: []string{"/late/"}})
	check("with prints again", 21, 11, 0, "/print/")
	w.crawl(t, c, store.Rules{})
	check("with all", 31, 21, 0, "/print/")
	if d := w.doc(t, c, "/late/3"); d.Visits != 1 || d.New != store.NotNew {
		t.Errorf("/late/3: %d visits, new %v", d.Visits, d.New)
	}
	w.crawl(t, c, store.Rules{MaxDepth: 1})
	check("up to a depth", 21, 11, 10, "/late/")
	w.crawl(t, c, store.Rules{Include: []string{"/page/"}})
	check("pages alone", 11, 11, 20, "/late/")
}

// TestRulesLifted lifts a rule, or what is left out by default, after the first visit: what only pages lead
// to that were left out then may have been there all along, and is not told as new.
func TestRulesLifted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		first, then store.Rules
	}{
		{"exclude", store.Rules{Exclude: []string{"/r/[2-9]"}}, store.Rules{}},
		{"depth", store.Rules{MaxDepth: 2}, store.Rules{}},
		{"all", store.Rules{}, store.Rules{All: true}},
	} {
		w := newWeb(t)
		w.pages["/"] = page("home", "/r/0")
		for n := range 20 {
			w.pages[fmt.Sprintf("/r/%d", n)] = func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(rw, `<title>%d</title><meta http-equiv="refresh" content="0; url=/r/%d">`, n, n+1)
			}
		}
		c := open(t, func(cfg *Config) { cfg.At = software.Start })
		w.crawl(t, c, test.first)
		c.cfg.At = c.cfg.At.Add(software.Week)
		w.revisit(t, c, plan.Plan{Budget: func(int) int { return 5 }})
		w.crawl(t, c, test.then)
		leads := 0
		for n := range 20 {
			if w.count(fmt.Sprintf("/r/%d", n)) == 0 {
				break
			}
			leads++
			if d := w.doc(t, c, fmt.Sprintf("/r/%d", n)); d.New == store.IsNew {
				t.Errorf("%s: %s is new", test.name, d.URL)
				break
			}
		}
		if leads < 11 {
			t.Errorf("%s: %d pages of the chain were fetched", test.name, leads)
		}
	}
}

// TestRevisitForbidden: a revisit of a site whose addresses may not be asked any more says why it brings
// nothing.
func TestRevisitForbidden(t *testing.T) {
	t.Parallel()
	w := newWeb(t)
	w.pages["/"] = page("home", "/a")
	w.pages["/a"] = page("a")
	c := open(t, func(cfg *Config) { cfg.At, cfg.Fetch.AllowPrivate = software.Start, nil })
	w.crawl(t, c, store.Rules{AllowPrivate: []string{"127.0.0.0/8"}})
	w.crawl(t, c, store.Rules{})
	c.cfg.At = c.cfg.At.Add(time.Hour) // the store's robots.txt still holds, so that nothing else says so
	r, err := c.Revisit(t.Context(), plan.Plan{Budget: func(int) int { return 2 }}, Options{})
	if r.Fetched != 0 || len(r.Failed) != 1 || !strings.Contains(r.Failed[0].Reason, "not a public address") {
		t.Errorf("%d fetched, failed are %v, %v", r.Fetched, r.Failed, err)
	}
}

// TestRulesMeanwhile changes the rules of a site while it is being visited.
func TestRulesMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWeb(t)
	var links []string
	for i := range 20 {
		links = append(links, fmt.Sprintf("/old/%d", i))
		w.pages[links[i]] = page(links[i])
	}
	w.pages["/"] = page("home", append(links, "/slow", "/other")...)
	w.pages["/other"] = page("other")
	asked, release := make(chan bool), make(chan bool)
	w.pages["/slow"] = func(rw http.ResponseWriter, r *http.Request) {
		close(asked)
		<-release
		page("slow")(rw, r)
	}
	c := open(t, func(cfg *Config) { cfg.Parallel = 1 })
	first := w.visit(c, "/", store.Rules{}, Options{})
	<-asked
	rules := store.Rules{Exclude: []string{"/old/", "/slow"}}
	second := w.visit(c, "/", rules, Options{Log: slog.New(slog.NewTextHandler(told(func() { close(release) }), nil))})
	<-first
	<-second
	for _, p := range append(links, "/slow") {
		if d := w.doc(t, c, p); d.State != store.Skipped || d.IsPage() {
			t.Errorf("%s is %v", p, d.State)
		}
	}
	if n, err := c.View().Counters(1); err != nil || n.Pages() != 2 || n.LeftOut != 21 || n.Queued() != 0 {
		t.Errorf("%+v, %v", n, err)
	}
}

// told is a log that is written to once.
type told func()

func (f told) Write(b []byte) (int, error) {
	f()
	return len(b), nil
}

// TestForeignTraps links to a host that makes up URLs without end: that is not the site's trap.
func TestForeignTraps(t *testing.T) {
	t.Parallel()
	w, foreign := newWeb(t), newWeb(t)
	var links []string
	for i := range 3000 {
		links = append(links, fmt.Sprintf("%s/share?u=%d", foreign.URL, i))
	}
	for i := range 20 {
		links = append(links, foreign.URL+strings.Repeat("/again", i)+"/", fmt.Sprintf("%s/p;jsessionid=%d", foreign.URL, i))
	}
	links = append(links, foreign.URL+"/"+strings.Repeat("long", 1000))
	w.pages["/"] = page("home", links...)
	c := open(t, nil)
	w.crawl(t, c, store.Rules{})
	w.revisit(t, c, plan.Plan{Full: true})
	if s, err := c.View().Site(1); err != nil || len(s.Traps) > 0 {
		t.Errorf("traps %v, %v", s.Traps, err)
	}
	if n := foreign.total(); n > 0 {
		t.Errorf("%d requests to the foreign host", n)
	}
}

// TestAllowPrivate checks that a site remembers which addresses may be asked, that others do not
// profit from it, and that a first try that a rule ends uses up no cycle.
func TestAllowPrivate(t *testing.T) {
	t.Parallel()
	w, other := newWeb(t), newWeb(t)
	for _, w := range []*web{w, other} {
		w.pages["/"] = page("home", "/a")
		w.pages["/a"] = page("a")
	}
	ranges := []string{"127.0.0.0/8"}
	c := open(t, func(cfg *Config) { cfg.Fetch.AllowPrivate = nil })
	for range 2 {
		if r := w.crawl(t, c, store.Rules{}); len(r.Failed) != 1 || !strings.Contains(r.Failed[0].Reason, "not a public address") || r.Cycle != 1 {
			t.Fatalf("without leave: %+v", r)
		}
	}
	if _, err := c.Revisit(t.Context(), plan.Plan{}, Options{}); err == nil {
		t.Error("there is nothing to be visited again")
	}
	r := w.crawl(t, c, store.Rules{AllowPrivate: ranges})
	if len(r.Failed) != 0 || r.Pages != 2 || r.Cycle != 1 {
		t.Errorf("with leave: %+v", r)
	}
	if s, err := c.View().Site(1); err != nil || s.FirstCycle != 1 || s.State != store.SiteDone {
		t.Errorf("%+v, %v", s, err)
	}
	if r := w.revisit(t, c, plan.Plan{Full: true}); r.Refetched != 2 || r.Cycle != 2 {
		t.Errorf("revisit: %+v", r)
	}
	if r := other.crawl(t, c, store.Rules{}); len(r.Failed) != 1 || other.total() > 0 {
		t.Errorf("another site: %+v, %d requests", r, other.total())
	}
	if r, err := c.Run(t.Context(), other.seed("/", store.Rules{}), Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}); err != nil || r.Pages != 2 {
		t.Errorf("another site, with leave for one run: %+v, %v", r, err)
	}
	if _, err := c.Run(t.Context(), w.seed("/", store.Rules{AllowPrivate: []string{"nonsense"}}), Options{}); err == nil {
		t.Error("nonsense is taken for addresses")
	}
}

// TestRefusedFirst checks other rules that end a first try: it uses up no cycle, and what it did
// not fetch is asked for again, once they do not hold any more.
func TestRefusedFirst(t *testing.T) {
	t.Parallel()
	w := newWeb(t)
	w.pages["/"] = page("home")
	w.pages["/robots.txt"] = uncached(plain("User-agent: *\nDisallow: /"))
	c := open(t, nil)
	if r := w.crawl(t, c, store.Rules{}); len(r.Failed) != 1 || r.Failed[0].Reason != "robots" || r.Cycle != 1 {
		t.Errorf("robots.txt forbids all: %+v", r)
	}
	w.set("/robots.txt", status(404))
	if r := w.crawl(t, c, store.Rules{}); len(r.Failed) != 0 || r.Pages != 1 || r.Cycle != 1 {
		t.Errorf("robots.txt forbids nothing any more: %+v", r)
	}

	private := open(t, func(cfg *Config) { cfg.Fetch.AllowPrivate = nil })
	rules := store.Rules{Robots: "ignore", Contact: "mail@a.test"}
	if r := w.crawl(t, private, rules); len(r.Failed) != 1 || r.Cycle != 1 {
		t.Errorf("a private address, without robots.txt: %+v", r)
	}
	rules.AllowPrivate = []string{"127.0.0.1/32"}
	if r := w.crawl(t, private, rules); len(r.Failed) != 0 || r.Pages != 1 || r.Cycle != 1 {
		t.Errorf("the same, with leave: %+v", r)
	}
}

// TestDepthByShortestWay: how far a document is from a seed is told by the shortest way there, also where the crawl came by a
// longer one first, in the same cycle or in an earlier one, and has seen what the document leads to.
func TestDepthByShortestWay(t *testing.T) {
	t.Parallel()
	w := newWeb(t)
	came := make(chan struct{}) // by the long way
	w.pages["/"] = page("home", "/1", "/slow")
	w.pages["/slow"] = func(rw http.ResponseWriter, r *http.Request) {
		<-came
		page("slow", "/3")(rw, r)
	}
	for n := 1; n <= 8; n++ {
		w.pages[fmt.Sprintf("/%d", n)] = page(fmt.Sprint(n), fmt.Sprintf("/%d", n+1), "/1")
	}
	third := w.pages["/3"]
	var once sync.Once
	w.pages["/3"] = func(rw http.ResponseWriter, r *http.Request) {
		third(rw, r)
		once.Do(func() { close(came) })
	}
	c := open(t, nil)
	check := func(name string, depths ...int) {
		t.Helper()
		for i, depth := range depths {
			if d := w.doc(t, c, fmt.Sprintf("/%d", i+1)); d.Depth != depth || (d.State == store.Fetched) != (depth <= 3) {
				t.Errorf("%s: %s is %v at depth %d (%s), want depth %d", name, d.URL, d.State, d.Depth, d.Reason, depth)
			}
		}
	}
	w.crawl(t, c, store.Rules{MaxDepth: 3})
	check("first visit", 1, 2, 2, 3, 4)
	w.pages["/"] = page("home", "/1", "/slow", "/4")
	w.revisit(t, c, plan.Plan{Full: true})
	check("revisit", 1, 2, 2, 1, 2, 3, 4)
	if d := w.doc(t, c, "/5"); d.New == store.IsNew { // it may have been there all along
		t.Errorf("%s is new", d.URL)
	}
}
