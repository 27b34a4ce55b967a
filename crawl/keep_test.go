package crawl

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/internal/race"
	"forage/retain"
	"forage/store"
)

// ring is a site of n pages: the root links to all, page i to its two followers and to the first
// ten, which are thus the most linked; from version 1 on, page 50 links to one more.
func ring(n int, version *atomic.Int32) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		link := func(i int) { fmt.Fprintf(w, "<a href='/%d'>%d</a>\n", i, i) }
		switch {
		case r.URL.Path == "/":
			for i := range n {
				link(i)
			}
			return
		case r.URL.Path == "/late" && version.Load() > 0:
			fmt.Fprint(w, "<p>late</p><a href='/1'>1</a>")
			return
		}
		i, err := strconv.Atoi(r.URL.Path[1:])
		if err != nil || i >= n {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf("%q", r.URL.Path+fmt.Sprint(version.Load())))
		fmt.Fprintf(w, "<title>%d</title>", i)
		link((i + 1) % n)
		link((i + 2) % n)
		for j := range 10 {
			link(j)
		}
		if i == 50 && version.Load() > 0 {
			fmt.Fprint(w, "<a href='/late'>late</a>")
		}
	})
}

// kept counts the pages whose links are stored and checks the bound; evicted pages have nothing
// but their statistics.
func kept(t *testing.T, v *store.View, most int) (have map[string]bool, evicted int) {
	t.Helper()
	have = map[string]bool{}
	err := v.Docs(func(d *store.Doc) bool {
		versions := 0
		if err := v.LinkHistory(d.ID, func(store.Cycle, []store.Link) bool { versions++; return true }); err != nil {
			t.Fatal(err)
		}
		switch {
		case d.IsPage() && d.LinksOf != 0:
			have[d.URL] = true
		case d.Evicted:
			evicted++
			if versions != 0 || d.ETag != "" || d.Title != "" || d.Digest == 0 || d.FirstSeen == 0 || d.Visits == 0 {
				t.Errorf("%s is evicted and keeps %d versions of links, ETag %q, title %q; digest %x, seen %d, %d visits", d.URL, versions, d.ETag, d.Title, d.Digest, d.FirstSeen, d.Visits)
			}
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(have) > most {
		t.Errorf("links of %d pages are kept, at most %d may be", len(have), most)
	}
	problems := 0
	if err := v.Check(func(p store.Problem) { problems++; t.Log(p) }); err != nil || problems > 0 {
		t.Errorf("%d problems, %v", problems, err)
	}
	return have, evicted
}

func TestMaxKept(t *testing.T) {
	race.Skip(t)
	for _, rule := range retain.KeepRules() {
		t.Run(string(rule), func(t *testing.T) { testMaxKept(t, rule) })
	}
}

func testMaxKept(t *testing.T, rule retain.KeepRule) {
	var version atomic.Int32
	web := lan.Server("127.0.0.1:0", ring(200, &version))
	defer web.Close()
	cfg := local(t.TempDir())
	cfg.MaxKept, cfg.Keep = 20, rule
	c, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	r, err := c.Run(ctx, []scope.Seed{{URL: web.URL + "/"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Pages != 201 {
		t.Fatalf("%d pages found with a bound, want 201", r.Pages)
	}
	_, evicted := kept(t, c.View(), 20)
	if evicted != 181 {
		t.Errorf("%d pages evicted, want 181", evicted)
	}
	// Each full recrawl offers every page again: the most linked come to stay, nothing
	// counts as new, and what is new does although the page that links to it was evicted.
	for cycle := range 4 {
		if cycle == 2 {
			version.Store(1)
		}
		r, err := c.Revisit(ctx, plan.Plan{Full: true}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := int64(0)
		if cycle == 2 {
			want = 1
		}
		if r.NewPages != want || r.Unknown != 0 {
			t.Errorf("cycle %d: %d new pages, %d unknown; want %d, 0", cycle, r.NewPages, r.Unknown, want)
		}
	}
	have, _ := kept(t, c.View(), 20)
	for i := range 10 {
		if !have[fmt.Sprintf("%s/%d", web.URL, i)] {
			t.Errorf("page %d, which all link to, is not kept", i)
		}
	}
	state, err := c.View().Kept()
	if err != nil {
		t.Fatal(err)
	}
	k, err := retain.Restore(state)
	if err != nil {
		t.Fatal(err)
	}
	if s := k.Stats(); s.Kept != 20 || s.Rounds != 5 || s.Evicted < 181 {
		t.Errorf("%+v; want 20 kept, 5 rounds, 181 evicted or more", s)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}

	// A smaller bound on the same store: what is too much goes when the next run begins.
	cfg.MaxKept = 5
	if c, err = Open(cfg); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Revisit(ctx, plan.Plan{Budget: func(int) int { return 1 }, Policy: "round-robin"}, Options{}); err != nil {
		t.Fatal(err)
	}
	kept(t, c.View(), 5)
}

// lookup returns the document at a URL.
func lookup(v *store.View, url string) (*store.Doc, error) {
	id, err := v.Find(url)
	if err != nil {
		return nil, err
	}
	return v.Doc(id)
}

// An evicted page that is found again, also by another process, keeps its number and its
// statistics: it is not new, and no budget is spent on it as on a new one.
func TestEvictedFoundAgain(t *testing.T) {
	race.Skip(t)
	var version, hits atomic.Int32
	var again atomic.Value // path that all pages link to, once it is set
	again.Store("")
	pages := ring(200, &version)
	web := lan.Server("127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := again.Load().(string)
		if path != "" && r.URL.Path == path {
			hits.Add(1)
		}
		pages.ServeHTTP(w, r)
		if path != "" {
			fmt.Fprintf(w, "<a href='%s'>again</a>", path)
		}
	}))
	defer web.Close()
	cfg := local(t.TempDir())
	cfg.MaxKept = 20
	page := func(c *Crawl) *store.Doc {
		t.Helper()
		d, err := lookup(c.View(), web.URL+again.Load().(string))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	open := func() *Crawl {
		t.Helper()
		c, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := open()
	if _, err := c.Run(t.Context(), []scope.Seed{{URL: web.URL + "/"}}, Options{}); err != nil {
		t.Fatal(err)
	}
	var first *store.Doc
	if err := c.View().Docs(func(d *store.Doc) bool {
		if d.Evicted {
			first = d // the last: a budget of 5 does not get there
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if first == nil || first.New != store.NotNew {
		t.Fatalf("no page is evicted, or it is new: %+v", first)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}

	again.Store(strings.TrimPrefix(first.URL, web.URL))
	for _, p := range []plan.Plan{{Budget: func(int) int { return 5 }, Policy: "round-robin"}, {Full: true}} {
		c := open()
		before := hits.Load()
		visits := page(c).Visits
		r, err := c.Revisit(t.Context(), p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r.NewPages != 0 || r.Unknown != 0 {
			t.Errorf("full %v: %d new pages, %d unknown; want none", p.Full, r.NewPages, r.Unknown)
		}
		want := int32(0)
		if p.Full {
			want = 1
		}
		if got := hits.Load() - before; got != want {
			t.Errorf("full %v: the page was fetched %d times, want %d", p.Full, got, want)
		}
		d := page(c)
		if d.ID != first.ID || d.New != store.NotNew || d.FirstSeen != first.FirstSeen || d.Discovered != first.Discovered || d.Cycle != first.Cycle || int32(d.Visits-visits) != want {
			t.Errorf("full %v: found again as %+v, first %+v", p.Full, d, first)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
