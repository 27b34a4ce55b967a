package crawl

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"forage/crawl/plan"
	"forage/internal/race"
	"forage/internal/software"
	"forage/store"
)

// A trap is a site without end, beside a few pages that are there to be read.
type trap struct {
	name  string
	serve func(path string) (status int, contentType, body string)
	most  int // requests
}

// prose is text of its own for a page.
func prose(of string, n int) string {
	var b strings.Builder
	h := fnv.New64a()
	for i := range n {
		fmt.Fprintf(h, "%s %d", of, i)
		s := h.Sum64()
		b.WriteString(" " + []string{"river", "stone", "lamp", "window", "market", "engine", "paper", "garden", "signal", "copper", "winter", "harbour"}[s%12])
		b.WriteString([]string{"s", "ed", "ing", "ly"}[s/12%4])
	}
	return b.String()
}

func htmlPage(title, text string, links ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html><title>%s</title><h1>%s</h1><p>%s</p>", title, title, text)
	for _, l := range links {
		fmt.Fprintf(&b, "<p><a href=\"%s\">%s</a></p>", l, l)
	}
	return b.String()
}

const numReal = 40 // pages of each trap that are there to be read

// honest answers for the pages that are there to be read: they link to each other in a tree.
func honest(path string, more ...string) (int, string, string) {
	if path == "/" {
		links := more
		for i := range numReal / 10 {
			links = append(links, fmt.Sprintf("/text/%d0.html", i))
		}
		return 200, "text/html", htmlPage("home", prose("home", 30), links...)
	}
	var n int
	if _, err := fmt.Sscanf(path, "/text/%d.html", &n); err != nil || n >= numReal {
		return 404, "text/plain", "no"
	}
	var links []string
	if n%10 == 0 {
		for i := 1; i < 10; i++ {
			links = append(links, fmt.Sprintf("/text/%d.html", n+i))
		}
	}
	return 200, "text/html", htmlPage(fmt.Sprintf("text %d", n), prose(path, 60), links...)
}

var unbounded = []trap{
	{"calendar of days", func(p string) (int, string, string) {
		at, err := time.Parse("/2006/01/02", p)
		if err != nil {
			return honest(p, "/2026/11/23")
		}
		return 200, "text/html", htmlPage("Events on "+at.Format("Monday, 2 January 2006"), "No events on this day.", at.AddDate(0, 0, 1).Format("/2006/01/02"), at.AddDate(0, 0, -1).Format("/2006/01/02"))
	}, 1000},
	{"calendar of days that say the same", func(p string) (int, string, string) {
		at, err := time.Parse("/2006/01/02", p)
		if err != nil {
			return honest(p, "/2026/11/23")
		}
		return 200, "text/html", htmlPage("Our calendar", "<p>"+prose("nothing", 30)+"<p>"+prose("nothing more", 30), at.AddDate(0, 0, 1).Format("/2006/01/02"))
	}, 600},
	{"calendar of months", func(p string) (int, string, string) {
		if at, err := time.Parse("/calendar/2006/01", p); err == nil {
			links := []string{at.AddDate(0, 1, 0).Format("/calendar/2006/01"), at.AddDate(0, -1, 0).Format("/calendar/2006/01")}
			for day := at; day.Month() == at.Month(); day = day.AddDate(0, 0, 1) {
				links = append(links, day.Format("/calendar/2006/01/02"))
			}
			return 200, "text/html", htmlPage(at.Format("January 2006"), "Nothing is planned.", links...)
		}
		if at, err := time.Parse("/calendar/2006/01/02", p); err == nil {
			return 200, "text/html", htmlPage(at.Format("Monday, 2 January 2006"), "Nothing is planned.", at.Format("/calendar/2006/01"))
		}
		return honest(p, "/calendar/2026/11")
	}, 2500}, // some 400 days beyond those that are near, and 400 months
	{"calendar with a text of its own", func(p string) (int, string, string) {
		at, err := time.Parse("/2006/01/02", p)
		if err != nil {
			return honest(p, "/2026/11/23")
		}
		return 200, "text/html", htmlPage(at.Format("2006-01-02"), prose(p, 30), at.AddDate(0, 0, 1).Format("/2006/01/02"))
	}, 1500},
	{"refresh chain", func(p string) (int, string, string) {
		var n int
		if _, err := fmt.Sscanf(p, "/r/%d", &n); err != nil {
			return honest(p, "/r/0")
		}
		return 200, "text/html", fmt.Sprintf(`<!doctype html><title>%d</title><meta http-equiv="refresh" content="0; url=/r/%d"><p>one moment %d`, n, n+1, n)
	}, 150},
	{"refresh chain by names", func(p string) (int, string, string) {
		if !strings.HasPrefix(p, "/go/") {
			return honest(p, "/go/start")
		}
		return 200, "text/html", fmt.Sprintf(`<!doctype html><title>x</title><meta http-equiv="refresh" content="0; url=/go/%s">`, strings.ReplaceAll(strings.TrimSpace(prose(p, 7)), " ", "-"))
	}, 150},
	{"session in the path", func(p string) (int, string, string) {
		rest, ok := strings.CutPrefix(p, "/s/")
		if !ok {
			return honest(p, "/s/0/start")
		}
		_, name, _ := strings.Cut(rest, "/")
		h := fnv.New64a()
		fmt.Fprint(h, p, "session")
		var links []string
		for _, n := range []string{"start", "one", "two", "three", "four", "five"} {
			links = append(links, fmt.Sprintf("/s/%016x/%s", h.Sum64(), n))
		}
		return 200, "text/html", htmlPage(name, prose(name, 60), links...)
	}, 400},
	{"indexes of indexes", func(p string) (int, string, string) {
		var n int
		if p == "/robots.txt" {
			return 200, "text/plain", "Sitemap: http://HOST/index0.xml\n"
		}
		if _, err := fmt.Sscanf(p, "/index%d.xml", &n); err != nil {
			return honest(p)
		}
		return 200, "application/xml", fmt.Sprintf(`<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>http://HOST/index%d.xml</loc></sitemap><sitemap><loc>http://HOST/index%d.xml</loc></sitemap></sitemapindex>`, 2*n+1, 2*n+2)
	}, 150},
	{"names of parameters", func(p string) (int, string, string) {
		path, query, _ := strings.Cut(p, "?")
		if path != "/" {
			return honest(p)
		}
		h := fnv.New64a()
		fmt.Fprint(h, query)
		var links []string
		for i := range 5 {
			links = append(links, fmt.Sprintf("/?k%x=%d", h.Sum64()+uint64(i)*0x9e3779b97f4a7c15, i))
		}
		return honest("/", links...)
	}, 400},
	{"names of parameters, texts of their own", func(p string) (int, string, string) {
		path, query, _ := strings.Cut(p, "?")
		if path != "/" {
			return honest(p)
		}
		h := fnv.New64a()
		fmt.Fprint(h, query)
		var links []string
		for i := range 5 {
			links = append(links, fmt.Sprintf("/?k%x=%d", h.Sum64()+uint64(i)*0x9e3779b97f4a7c15, i))
		}
		status, kind, body := honest("/", links...)
		return status, kind, body + prose(p, 30)
	}, 1500},
	{"repeating segments", func(p string) (int, string, string) {
		if !strings.HasPrefix(p, "/a/") {
			return honest(p, "/a/b/")
		}
		return 200, "text/html", htmlPage("a and b", prose(p, 30), "a/b/", "../b/a/")
	}, 600},
	{"a row of names", func(p string) (int, string, string) {
		if !strings.HasPrefix(p, "/next/") {
			return honest(p, "/next/start")
		}
		return 200, "text/html", htmlPage(p, prose(p, 30), "/next/"+strings.ReplaceAll(strings.TrimSpace(prose(p, 7)), " ", "-"))
	}, 1500},
}

// TestBounds crawls sites without end, with no limit given: each crawl ends by itself, has found all
// pages that are there to be read, and says what it left out.
func TestBounds(t *testing.T) {
	race.Skip(t)
	for _, trap := range unbounded {
		t.Run(trap.name, func(t *testing.T) {
			t.Parallel()
			w := newWeb(t)
			w.other = serves(trap.serve)
			c := open(t, nil)
			r := w.crawlWith(t, c, store.Rules{}, Options{MaxTotal: 4000})
			found := len(pagesOf(t, c.View(), func(d *store.Doc) bool { return strings.Contains(d.URL, "/text/") }))
			site, err := c.View().Site(1)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d requests, %d of %d pages, left out %+v, traps %v", w.total(), found, numReal, site.LeftOut, site.Traps)
			if r.Cut != "" || w.total() > trap.most || found != numReal {
				t.Errorf("%d requests (%q), want at most %d; %d of %d pages", w.total(), r.Cut, trap.most, found, numReal)
			}
			if len(site.LeftOut) == 0 {
				t.Error("nothing is told of what is left out")
			}
		})
	}
}

// bounded are sites that have an end, and look like those that have none.
var bounded = []struct {
	name  string
	serve func(path string) (status int, contentType, body string)
	pages int
}{
	{"a gallery of which each page leads to the next", func(p string) (int, string, string) {
		var n int
		if _, err := fmt.Sscanf(p, "/photo/%d", &n); err != nil {
			return honest(p, "/photo/1")
		}
		if n > 500 {
			return 404, "text/plain", "no"
		}
		return 200, "text/html", htmlPage(prose(p, 4), "", fmt.Sprintf("/photo/%d", n+1))
	}, 500},
	{"a diary of which each page leads to the one before", func(p string) (int, string, string) {
		at, err := time.Parse("/2006/01/02", p)
		if err != nil {
			return honest(p, "/2026/11/23")
		}
		if at.Year() < 2025 {
			return 404, "text/plain", "no"
		}
		return 200, "text/html", htmlPage(at.Format("2006-01-02"), prose(p, 30), at.AddDate(0, 0, -1).Format("/2006/01/02"))
	}, 692},
	{"an archive with links to older pages alone", func(p string) (int, string, string) {
		var n, k int
		if _, err := fmt.Sscanf(p, "/article/%d-%d", &n, &k); err == nil {
			return 200, "text/html", htmlPage(prose(p, 4), prose(p, 60))
		}
		if _, err := fmt.Sscanf(p, "/page/%d", &n); err != nil {
			return honest(p, "/page/1")
		}
		if n > 450 {
			return 404, "text/plain", "no"
		}
		return 200, "text/html", htmlPage("Archive", "", fmt.Sprintf("/page/%d", n+1), fmt.Sprintf("/article/%d-1", n), fmt.Sprintf("/article/%d-2", n))
	}, 450 * 3},
	{"rows of pages that say nothing but their numbers", func(p string) (int, string, string) {
		var n int
		if _, err := fmt.Sscanf(p, "/number/%d", &n); err != nil {
			var links []string
			for i := range 150 {
				links = append(links, fmt.Sprintf("/number/%d", 100+i*100))
			}
			return honest(p, links...)
		}
		if n%100 == 13 { // four of them lie beyond minFar, and eight do not
			return 404, "text/plain", "no"
		}
		return 200, "text/html", htmlPage(fmt.Sprintf("Number %d", n), "", fmt.Sprintf("/number/%d", n+1))
	}, 150 * 13},
	{"products with the same small print", func(p string) (int, string, string) {
		small := "<p>" + prose("terms", 60) + "<p>" + prose("returns", 50)
		var n int
		if _, err := fmt.Sscanf(p, "/item/%d/", &n); err != nil {
			var links []string
			for i := range 60 {
				links = append(links, fmt.Sprintf("/item/%d/", 100_200+i))
			}
			return honest(p, links...)
		}
		_, sub, _ := strings.Cut(p[1:], "0")
		_, sub, _ = strings.Cut(sub, "/")
		return 200, "text/html", htmlPage(prose(fmt.Sprint(n), 2)+" "+sub, small, fmt.Sprintf("/item/%d/reviews", n), fmt.Sprintf("/item/%d/details", n))
	}, 180},
	{"a form with many fields", func(p string) (int, string, string) {
		path, query, _ := strings.Cut(p, "?")
		if path != "/find" {
			return honest(p, "/find")
		}
		var links []string
		for i := range 60 {
			links = append(links, fmt.Sprintf("/find?by-%s=1", strings.ReplaceAll(strings.TrimSpace(prose(fmt.Sprint("field", i), 3)), " ", "-")))
		}
		if query != "" {
			links = nil
		}
		return 200, "text/html", htmlPage(prose(p, 4), prose(p, 60), links...)
	}, 61},
	{"an index in an index, and forwarding", func(p string) (int, string, string) {
		var n int
		list := func(of, item, at string) string {
			return fmt.Sprintf(`<%s xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><%s><loc>http://HOST%s</loc></%s></%s>`, of, item, at, item, of)
		}
		switch p {
		case "/robots.txt":
			return 200, "text/plain", "Sitemap: http://HOST/one.xml\n"
		case "/one.xml":
			return 200, "application/xml", list("sitemapindex", "sitemap", "/two.xml")
		case "/two.xml":
			return 200, "application/xml", list("sitemapindex", "sitemap", "/three.xml")
		case "/three.xml":
			return 200, "application/xml", list("urlset", "url", "/go/0")
		case "/end":
			return 200, "text/html", htmlPage("the end", prose("end", 60))
		}
		if _, err := fmt.Sscanf(p, "/go/%d", &n); err == nil {
			to := fmt.Sprintf("/go/%d", n+1)
			if n == 8 {
				to = "/end"
			}
			return 200, "text/html", fmt.Sprintf(`<!doctype html><title>%d</title><meta http-equiv="refresh" content="0; url=%s"><p>one moment %d`, n, to, n)
		}
		return honest(p)
	}, 1},
}

// TestWithinBounds crawls sites that look endless and are not: everything is fetched, and nothing said.
func TestWithinBounds(t *testing.T) {
	race.Skip(t)
	for _, site := range bounded {
		t.Run(site.name, func(t *testing.T) {
			t.Parallel()
			w := newWeb(t)
			w.other = serves(site.serve)
			c := open(t, nil)
			w.crawl(t, c, store.Rules{})
			found := 0
			if err := c.View().Docs(func(d *store.Doc) bool {
				if d.IsPage() && !strings.Contains(d.URL, "/go/") && d.URL != w.URL+"/" && !strings.Contains(d.URL, "/text/") {
					found++
				}
				return true
			}); err != nil {
				t.Fatal(err)
			}
			s, err := c.View().Site(1)
			if err != nil {
				t.Fatal(err)
			}
			if found != site.pages || len(s.LeftOut)+len(s.Traps) != 0 {
				t.Errorf("%d of %d pages, left out %+v, traps %v", found, site.pages, s.LeftOut, s.Traps)
			}
		})
	}
}

// TestBoundsLifted crawls past a bound where everything is asked for, after a crawl that kept to it, and
// the bound of an interrupted crawl is that of one that was not.
func TestBoundsLifted(t *testing.T) {
	t.Parallel()
	w := newWeb(t)
	w.other = serves(unbounded[0].serve)
	c := open(t, nil)
	w.crawlWith(t, c, store.Rules{}, Options{MaxTotal: 200})
	w.crawl(t, c, store.Rules{})
	n := w.total()
	if n > unbounded[0].most {
		t.Errorf("%d requests in two runs, want at most %d", n, unbounded[0].most)
	}
	w.crawlWith(t, c, store.Rules{All: true}, Options{MaxTotal: int64(n) + 200})
	if w.total() < n+100 {
		t.Errorf("%d requests, and %d where everything is asked for", n, w.total()-n)
	}
}

func serves(serve func(path string) (status int, contentType, body string)) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		status, kind, body := serve(r.URL.RequestURI())
		rw.Header().Set("Content-Type", kind)
		rw.WriteHeader(status)
		fmt.Fprint(rw, strings.ReplaceAll(body, "HOST", r.Host))
	}
}

// TestRowRefetched: that a long row of pages is fetched again, and says what it said before, does not count
// against what is published at its end.
func TestRowRefetched(t *testing.T) {
	t.Parallel()
	pages := maxEmpty + 2*minFar
	w := newWeb(t)
	w.other = func(rw http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/strip/"))
		if r.URL.Path != "/" && (err != nil || n > pages) {
			http.NotFound(rw, r)
			return
		}
		var links []string
		if n < pages {
			links = append(links, fmt.Sprintf("/strip/%d", n+1))
		}
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rw, htmlPage(prose(r.URL.Path, 4), prose(r.URL.Path, 60), links...))
	}
	c := open(t, func(cfg *Config) { cfg.At = software.Start })
	w.crawl(t, c, store.Rules{})
	pages += 3
	c.cfg.At = c.cfg.At.Add(software.Week)
	if r := w.revisit(t, c, plan.Plan{Full: true}); r.NewPages != 3 {
		t.Errorf("%d new pages, want 3", r.NewPages)
	}
}

func TestNumberless(t *testing.T) {
	naive := regexp.MustCompile(`[0-9]+`)
	for _, s := range []string{"", "a", "1", "12", "a1", "1a", "a12b345", "/2026/11/23/", "½0٣9"} {
		if got, want := numberless(s), naive.ReplaceAllString(s, "#"); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}
