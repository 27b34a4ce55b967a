package crawl

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/internal/software"
	"forage/store"
)

// budgeted is a plan with a budget.
func budgeted(k int) plan.Plan {
	return plan.Plan{Budget: func(int) int { return k }, Text: fmt.Sprint(k)}
}

// TestNewAfterCut cuts a first visit and publishes: what a document that was read before links to
// now is new; what only a new page leads to may have been there all along, and waits; so does what
// the first visit left, for what the policy leaves of the budget.
func TestNewAfterCut(t *testing.T) {
	w := newWeb(t)
	var links []string
	for i := range 30 {
		p := fmt.Sprintf("/%d", i)
		links = append(links, p)
		w.pages[p] = page("page "+p, "/", p+"/deep")
		w.pages[p+"/deep"] = page("deep "+p, "/")
	}
	w.pages["/"] = page("home", links...)
	w.pages["/sitemap.xml"] = urlset(links...)
	c := open(t, func(cfg *Config) { cfg.Parallel = 1 })
	w.crawl(t, c, store.Rules{Budget: 12})
	before := w.doc(t, c, "/")
	if s, err := c.View().Site(1); err != nil || !s.Partial || before.State != store.Fetched {
		t.Fatalf("%+v, %v: the first visit was not cut", s, err)
	}

	w.set("/", page("home", append([]string{"/new"}, links...)...))
	w.set("/sitemap.xml", urlset(append(links, "/named")...))
	w.set("/new", page("new", "/", "/behind"))
	w.set("/named", page("named"))
	w.set("/behind", page("behind"))
	r := w.revisit(t, c, budgeted(20))
	for p, want := range map[string]store.Novelty{"/new": store.IsNew, "/named": store.IsNew, "/behind": store.MaybeNew} {
		if d := w.doc(t, c, p); d.New != want {
			t.Errorf("%s: new %v, want %v", p, d.New, want)
		}
	}
	if r.NewPages != 2 || r.Refetched+r.Waited != 20 || r.Waited == 0 || r.Fetched != r.Refetched+r.Waited+r.NewPages {
		t.Errorf("%d new pages, %d old documents, %d that waited, %d fetched with a budget of 20", r.NewPages, r.Refetched, r.Waited, r.Fetched)
	}
	for cycle, n := 0, w.total(); ; cycle++ { // what waits is fetched in the end, new or not, within each budget
		r = w.revisit(t, c, budgeted(40))
		if got := w.total() - n; r.Refetched+r.Waited > 40 || got > 41 {
			t.Fatalf("%d old documents and %d that waited with a budget of 40, %d requests", r.Refetched, r.Waited, got)
		}
		n = w.total()
		counts, err := c.View().Counters(1)
		if err != nil {
			t.Fatal(err)
		}
		if counts.Queued() == 0 {
			break
		}
		if cycle > 10 {
			t.Fatalf("%d documents wait after %d cycles", counts.Queued(), cycle)
		}
	}
	if d := w.doc(t, c, "/behind"); d.Kind != store.Page || d.New != store.MaybeNew {
		t.Errorf("/behind is a %v, new %v", d.Kind, d.New)
	}
	if fresh := pagesOf(t, c.View(), func(d *store.Doc) bool { return d.New == store.IsNew }); len(fresh) != 2 {
		t.Errorf("new are %v", fresh)
	}
}

// TestWaitingByYield: of what waits from a cut first visit the budget goes to what others like it brought
// something for, though copies are known for longer.
func TestWaitingByYield(t *testing.T) {
	w := newWeb(t)
	w.pages["/robots.txt"], w.pages["/sitemap.xml"] = plain(""), status(404)
	var links []string
	b := &blog{web: w}
	for i := range 30 {
		p := fmt.Sprintf("/?sort=%d", i)
		links = append(links, p)
		w.pages[p] = page("copy", "/")
	}
	for i := range 30 {
		p := fmt.Sprintf("/item/%d", i)
		links = append(links, p)
		w.pages[p] = b.text(p)
	}
	w.pages["/"] = page("home", links...)
	c := open(t, func(cfg *Config) { cfg.Parallel, cfg.At = 1, software.Start })
	w.crawl(t, c, store.Rules{Budget: 20})
	items := func() (n int) {
		for p := range pagesOf(t, c.View(), func(d *store.Doc) bool { return d.State == store.Fetched && !d.Repeats() }) {
			if strings.HasPrefix(p, "/item/") {
				n++
			}
		}
		return n
	}
	before := items()
	c.cfg.At = c.cfg.At.Add(software.Week)
	r := w.revisit(t, c, budgeted(30))
	if got := items() - before; r.Waited < 5 || int64(got) != min(r.Waited, int64(30-before)) {
		t.Errorf("%d items of %d documents that waited, %d items were known", got, r.Waited, before)
	}
}

// TestKnownBefore: what a list has gained since it was read is not new if it was known by then, as
// where a row comes from one page of a list to the next.
func TestKnownBefore(t *testing.T) {
	w := newWeb(t)
	w.pages["/robots.txt"], w.pages["/sitemap.xml"] = plain(""), status(404)
	w.pages["/"] = page("home", "/list", "/0", "/1", "/2", "/3")
	w.pages["/list"] = page("list", "/1", "/2", "/3")
	w.pages["/0"] = page("page 0", "/row")
	w.pages["/row"], w.pages["/late"] = page("a row"), page("a late row")
	for _, p := range []string{"/1", "/2", "/3"} {
		w.pages[p] = page("page " + p)
	}
	c := open(t, func(cfg *Config) { cfg.Parallel = 1 })
	w.crawlWith(t, c, store.Rules{Budget: 3}, Options{Policy: "bfs"})
	rotate := func(k int) plan.Plan {
		p := budgeted(k)
		p.Policy = "round-robin"
		return p
	}
	w.revisit(t, c, rotate(3))
	if d := w.doc(t, c, "/row"); d.State != store.Queued || d.New != store.MaybeNew {
		t.Fatalf("%+v: the row is fetched, or nobody has read of it", d)
	}
	w.set("/list", page("list", "/row", "/late", "/1", "/2", "/3"))
	w.revisit(t, c, rotate(10))
	for p, want := range map[string]store.Novelty{"/row": store.MaybeNew, "/late": store.IsNew} {
		if d := w.doc(t, c, p); d.New != want {
			t.Errorf("%s: new %v, want %v", p, d.New, want)
		}
	}
}

// endless serves a page for every path, each with links to two that nobody has seen.
func endless(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(rw, "<title>%s</title><p>%[1]s</p><a href=%[1]sa/>a</a><a href=%[1]sb/>b</a>", r.URL.Path)
}

// TestEndless revisits a site without an end, after a first visit that was cut: a revisit takes its
// budget and what is certainly new, however much lies behind that.
func TestEndless(t *testing.T) {
	w := newWeb(t)
	w.pages["/robots.txt"], w.pages["/sitemap.xml"] = plain(""), status(404)
	w.pages["/"] = page("home", "/x/")
	w.other = endless
	c := open(t, func(cfg *Config) { cfg.At = software.Start }) // what a policy chooses follows from the time
	w.crawl(t, c, store.Rules{Budget: 40})
	for week := range 3 {
		w.set("/", page("home", fmt.Sprintf("/new%d/", week), "/x/"))
		c.cfg.At = c.cfg.At.Add(software.Week)
		before := w.total()
		r := w.revisit(t, c, budgeted(10))
		if r.NewPages != 1 || w.total()-before > 13 { // and the sitemap that is not there
			t.Errorf("week %d: %d new pages, %d requests", week, r.NewPages, w.total()-before)
		}
	}
}

// TestMaxNew publishes more than is to be followed in a cycle: the next ones go on, each page is
// told as new once, and every document that the policy names has its turn.
func TestMaxNew(t *testing.T) {
	w := newWeb(t)
	var many, few []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("/many/%d", i))
		w.pages[many[i]] = page("one of many " + many[i])
	}
	for i := range 3 {
		few = append(few, fmt.Sprintf("/few/%d", i))
		w.pages[few[i]] = page("one of few " + few[i])
	}
	w.pages["/"] = page("home", "/a", "/b")
	w.pages["/a"], w.pages["/b"] = page("a"), page("b")
	c := open(t, nil)
	if r := w.crawl(t, c, store.Rules{}); r.Known != 3 {
		t.Fatalf("%d pages", r.Known)
	}
	w.set("/a", page("a", many...))
	w.set("/b", page("b", few...))
	p := budgeted(3)
	p.MaxNew = 20
	total := int64(0)
	for i, over := range []int64{23, 3, 0} {
		r := w.revisit(t, c, p)
		if total += r.NewPages; r.NewPages != min(20, 43-20*int64(i)) || r.Over != over {
			t.Errorf("cycle %d: %d new pages, %d left, want %d left", r.Cycle, r.NewPages, r.Over, over)
		}
		if found := pagesOf(t, c.View(), func(d *store.Doc) bool { return strings.Contains(d.URL, "/few/") }); i == 0 && len(found) != 3 {
			t.Errorf("found %v first, want all that /b leads to", found)
		}
	}
	if fresh := pagesOf(t, c.View(), func(d *store.Doc) bool { return d.New == store.IsNew }); len(fresh) != 43 || total != 43 {
		t.Errorf("%d pages are new, %d were told", len(fresh), total)
	}
}

// TestMaxNewLeftOut: what is left out unasked for makes no room for more, and what was not there
// and is asked for again as new pages link to it takes some.
func TestMaxNewLeftOut(t *testing.T) {
	t.Parallel()
	s := serveKind(t, "mediawiki", software.Config{Pages: 40, Published: 6})
	c := openLoopback(t, 4)
	if _, err := c.Run(t.Context(), []scope.Seed{{URL: s.url + "/"}}, Options{}); err != nil {
		t.Fatal(err)
	}
	s.At(software.Start.AddDate(0, 0, 7))
	p := budgeted(10)
	p.MaxNew = 2
	r, err := c.Revisit(t.Context(), p, Options{})
	if err != nil || r.NewPages == 0 || r.Fetched-r.Refetched-r.Waited > 2+1 { // the sitemap, which is not there, is asked for at a well-known place
		t.Errorf("%d new pages, %d requests more than the budget of %d, %v", r.NewPages, r.Fetched-r.Refetched-r.Waited, r.Refetched, err)
	}
}

// TestStandIn: a page that names another one canonical stands for it until that is fetched, in lists
// and counts, and is not told twice.
func TestStandIn(t *testing.T) {
	canonical := func(text, to string, links ...string) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(rw, "<title>x</title><link rel=canonical href=%s><p>%s %s", to, text, r.URL)
			for _, l := range links {
				io.WriteString(rw, "<a href="+l+">x</a>")
			}
		}
	}
	w := newWeb(t)
	w.pages["/"] = page("home", "/p?from=home", "/p?from=list", "/q?x=1")
	w.pages["/p?from=home"], w.pages["/p?from=list"] = canonical("p", "/p"), canonical("p", "/p")
	w.pages["/q?x=1"] = canonical("q", "/q")
	w.pages["/p"] = page("p itself")
	w.pages["/robots.txt"] = plain("User-agent: *\nDisallow: /q$\n")
	c := open(t, func(cfg *Config) { cfg.Parallel = 1 })
	listed := func(want int, stands ...string) {
		t.Helper()
		counts, err := c.View().Counters(1)
		if err != nil || counts.Distinct != int64(want) {
			t.Errorf("%d pages are counted, %v, want %d", counts.Distinct, err, want)
		}
		n := 0
		c.View().Docs(func(d *store.Doc) bool {
			if d.IsListed() {
				n++
			}
			return true
		})
		if n != want {
			t.Errorf("%d pages are listed, want %d", n, want)
		}
		for _, p := range stands {
			if d := w.doc(t, c, p); !d.Stands {
				t.Errorf("%s does not stand for its canonical", p)
			}
		}
	}
	w.crawlWith(t, c, store.Rules{Budget: 5}, Options{Policy: "bfs"}) // all but /p
	listed(3, "/p?from=home", "/q?x=1")
	if d := w.doc(t, c, "/p?from=list"); d.Stands {
		t.Error("two pages stand for /p")
	}
	r := w.crawl(t, c, store.Rules{})
	listed(3, "/q?x=1")
	if d := w.doc(t, c, "/p"); !d.IsListed() || r.Known != 3 || r.Duplicates != 2 || r.Documents != 5 {
		t.Errorf("/p is listed: %v; %d pages, %d duplicates, %d documents", d.IsListed(), r.Known, r.Duplicates, r.Documents)
	}

	// New under its canonical URL, once.
	w.set("/", page("home", "/n?x=1", "/p?from=home", "/p?from=list", "/q?x=1"))
	w.set("/n?x=1", canonical("n", "/n"))
	if r := w.revisit(t, c, budgeted(2)); r.NewPages != 1 || w.doc(t, c, "/n?x=1").New != store.IsNew {
		t.Errorf("%d new pages, want the one that stands for /n", r.NewPages)
	}
	w.set("/n", page("n"))
	w.set("/", page("home", "/n", "/p?from=home"))
	if r := w.revisit(t, c, budgeted(5)); r.NewPages != 0 {
		t.Errorf("%d new pages when /n is there, want 0", r.NewPages)
	}
	if d := w.doc(t, c, "/n"); !d.IsListed() || d.New != store.IsNew || w.doc(t, c, "/n?x=1").IsListed() {
		t.Errorf("/n is listed: %v, new %v", d.IsListed(), d.New)
	}
}

// noindexed is a page that asks not to be listed.
func noindexed(text string, links ...string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("X-Robots-Tag", "noindex")
		page(text, links...)(rw, r)
	}
}

// TestNewAfterLeavingOut publishes at a site of which the first visit has left a group of URLs out.
// Of these what only a new page leads to may have been there all along, and waits for the budget;
// what a document has gained that was read before is new, and so is what looks like none of them.
func TestNewAfterLeavingOut(t *testing.T) {
	w := newWeb(t)
	links := []string{"/old"}
	for i := range 100 {
		p := fmt.Sprintf("/%d-view/all", i)
		links = append(links, p)
		w.pages[p] = noindexed("page "+strings.Repeat(string(rune('a'+i%26)), 1+i), p)
	}
	w.pages["/robots.txt"], w.pages["/sitemap.xml"] = plain(""), status(404)
	w.pages["/"] = page("home", links...)
	w.pages["/old"] = page("a text that is long enough to be known again when it is told once more")
	c := open(t, func(cfg *Config) { cfg.Parallel = 1 })
	w.crawl(t, c, store.Rules{})
	s, err := c.View().Site(1)
	if err != nil || s.Partial || len(s.LeftOut) == 0 {
		t.Fatalf("%+v, %v: nothing is left out, or more than that", s, err)
	}

	w.set("/", page("home", append([]string{"/new", "/gained-view/all"}, links...)...))
	w.set("/new", page("a new page with a text of its own that nobody has read before", "/behind-view/all", "/like?it=1", "/behind"))
	w.set("/behind", page("what lies behind the new page, which has a text of its own as well"))
	w.set("/like?it=1", page("a text that is long enough to be known again when it is told once more", "/like?it=2"))
	w.set("/like?it=2", page("something that has a text of its own, and may have been there for long"))
	w.set("/gained-view/all", page("a view with a text of its own that came to be just now, as home shows"))
	r := w.revisit(t, c, budgeted(1))
	for p, want := range map[string]store.Novelty{"/new": store.IsNew, "/behind": store.IsNew, "/gained-view/all": store.IsNew,
		"/behind-view/all": store.MaybeNew, "/like?it=1": store.MaybeNew, "/like?it=2": store.MaybeNew} {
		if d := w.doc(t, c, p); d.New != want {
			t.Errorf("%s: new %v, want %v", p, d.New, want)
		}
	}
	if r.NewPages != 3 || r.Unknown != 1 || w.count("/behind-view/all")+w.count("/like?it=2") > 0 {
		t.Errorf("%d new pages and %d that may be, want 3 and 1; what waits was asked for %d times", r.NewPages, r.Unknown, w.count("/behind-view/all")+w.count("/like?it=2"))
	}
}

// TestListedLater: a new page that asks not to be listed is not told, and is when it does not ask so
// any more; the budget is for others by and large.
func TestListedLater(t *testing.T) {
	w := newWeb(t)
	w.pages["/robots.txt"], w.pages["/sitemap.xml"] = plain(""), status(404)
	var links []string
	for i := range 40 {
		p := fmt.Sprintf("/%d", i)
		links = append(links, p)
		w.pages[p] = page("page " + p)
	}
	w.pages["/"] = page("home", links...)
	dir, start := t.TempDir(), time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	on := func(day int, visit func(*Crawl)) {
		cfg := local(dir)
		cfg.At = start.Add(time.Duration(day) * 24 * time.Hour)
		c, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		visit(c)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	on(0, func(c *Crawl) { w.crawl(t, c, store.Rules{}) })
	const text = "a page with enough to say that somebody would read it, were it listed"
	w.set("/", page("home", append([]string{"/young", "/never"}, links...)...))
	w.set("/young", noindexed("young: "+text))
	w.set("/never", noindexed("never: "+text))
	p := budgeted(4)
	p.Policy = "round-robin"
	for day, want := range []struct{ told, asked int }{{0, 1}, {0, 2}, {0, 2}, {1, 3}, {0, 3}} {
		if day == 2 {
			w.set("/young", page("young: "+text))
		}
		on(1+day, func(c *Crawl) {
			r := w.revisit(t, c, p)
			if int(r.NewPages) != want.told || w.count("/young") != want.asked || r.Refetched > 4 {
				t.Errorf("day %d: %d new pages, /young asked for %d times, %d old documents; want %d, %d, at most 4", 1+day, r.NewPages, w.count("/young"), r.Refetched, want.told, want.asked)
			}
			if d := w.doc(t, c, "/young"); (d.New == store.IsNew) != (day >= 3) {
				t.Errorf("day %d: /young is new: %v", 1+day, d.New)
			}
		})
	}
}
