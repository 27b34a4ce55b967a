package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"forage/adopt"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/internal/software"
	"forage/store"
)

// newDirectory is a server of hosts with a page and two below it each, but for empty ones. links are those of the first page, by host: to numbers of
// hosts, with ! in front as nofollow, or URLs; robots is what robots.txt says, by host.
func newDirectory(t *testing.T, links, robots map[int]string, empty ...int) *many {
	var m *many
	m = newMany(t, func(host int, path string) (string, bool) {
		var b strings.Builder
		fmt.Fprintf(&b, "<!doctype html><title>%d%s</title><p>This is %s of host %d.", host, path, path, host)
		switch {
		case path == "/robots.txt":
			return robots[host], robots[host] != ""
		case slices.Contains(empty, host):
			return "", false
		case path == "/":
			b.WriteString(`<a href="/a">a</a> <a href="/b">b</a>`)
			for _, to := range strings.Fields(links[host]) {
				rest, no := strings.CutPrefix(to, "!")
				var other int
				if n, _ := fmt.Sscan(rest, &other); n == 1 {
					rest = m.url(other, "/")
				}
				fmt.Fprintf(&b, `<a href="%s"%s>x</a>`, rest, map[bool]string{true: " rel=nofollow"}[no])
			}
		case path != "/a" && path != "/b":
			return "", false
		}
		return b.String(), true
	})
	return m
}

func (m *many) name(host int) string { return store.HostOf(m.url(host, "/")) }

// names are those of the sites that r adopted, by the numbers of their hosts.
func (m *many) names(r *Result) (hosts []int) {
	for _, a := range r.Adopted {
		host := 0
		for m.name(host) != a.Site {
			host++
		}
		hosts = append(hosts, host)
	}
	return hosts
}

// grow runs the seeds of n hosts, and lets the crawl grow.
func (m *many) grow(t *testing.T, c *Crawl, n int, rules store.Rules, g Growth, opt Options) *Result {
	t.Helper()
	r, err := c.Run(t.Context(), m.seeds(n, rules), opt)
	if err == nil {
		r, err = c.Grow(t.Context(), g, opt, r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestGrow: what most domains link to is adopted first, who forbids it or does not answer is not, nofollow links do not count, and a
// crawl that may not grow leaves its sites never.
func TestGrow(t *testing.T) {
	t.Parallel()
	const silent = "http://127.9.9.9:9/" // nobody listens
	m := newDirectory(t, map[int]string{0: "2 3 4 !5 6 " + silent, 1: "3 4 !5 7 " + silent, 3: "8"}, map[int]string{4: "User-agent: *\nDisallow: /\n"})
	c := open(t, nil)
	if r := m.grow(t, c, 2, store.Rules{}, Growth{}, Options{}); r.Sites != 2 || len(r.Adopted)+len(r.Refused) != 0 {
		t.Fatalf("a crawl that may not grow: %+v", r)
	}
	r := m.grow(t, c, 2, store.Rules{MaxDepth: 9}, Growth{Most: 3}, Options{})
	if got, want := m.names(r), []int{3, 2, 6}; !slices.Equal(got, want) {
		t.Errorf("adopted %v, want %v", got, want)
	}
	for _, a := range r.Adopted {
		if a.Pages != 3 || a.Fetched < 3 || a.From != m.url(0, "/") && a.From != m.url(1, "/") {
			t.Errorf("adopted %+v, want 3 pages, from a page of the first two hosts", a)
		}
	}
	if a := r.Adopted[0]; a.Domains != 2 || a.Links != 2 || a.URL != m.url(3, "/") {
		t.Errorf("adopted %+v, want 2 links of 2 domains", a)
	}
	why := map[string]string{}
	for _, no := range r.Refused {
		why[no.Host] = no.Why
	}
	if len(why) != 2 || why[m.name(4)] != "robots.txt forbids /" || !strings.HasPrefix(why["127.9.9.9:9"], "robots.txt: ") {
		t.Errorf("refused %v", why)
	}
	if m.count("/", 9) != 5 || m.count("/robots.txt", 9) != 6 {
		t.Errorf("%d hosts were asked for a page, and %d times one for its robots.txt, want 5 and 6", m.count("/", 9), m.count("/robots.txt", 9))
	}
	// It is over: the number is that of the store's life, and what was refused is not asked again.
	again := m.grow(t, c, 2, store.Rules{MaxDepth: 9}, Growth{Most: 3}, Options{})
	if len(again.Adopted)+len(again.Refused) != 0 {
		t.Errorf("once more: %+v", again)
	}
	more := m.grow(t, c, 2, store.Rules{MaxDepth: 9}, Growth{Most: 9}, Options{})
	if got := m.names(more); !slices.Equal(got, []int{7, 8}) || len(more.Refused) != 0 {
		t.Errorf("with room for 9: adopted %v, refused %v, want the hosts 7, 8", got, more.Refused)
	}
	s, err := c.View().SiteNamed(m.name(8))
	if err != nil || s.Rules.MaxDepth != 9 || s.Rules.Budget != 50 || s.Adopted.From != m.url(3, "/") || !s.Ready {
		t.Errorf("site %+v, %v", s, err)
	}
	var told []string
	if err := c.View().Events(0, func(e *store.Event) bool {
		if e.Type == store.SiteAdopted {
			told = append(told, e.Site+" "+e.URL+" "+e.FoundOn)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%s %s %s", m.name(8), m.url(8, "/"), m.url(3, "/")); len(told) != 5 || told[4] != want {
		t.Errorf("events %q, want 5, the last one %q", told, want)
	}
	// It is a site like others.
	rev, err := c.Revisit(t.Context(), plan.Plan{Budget: func(int) int { return 2 }}, Options{})
	if err != nil || rev.Sites != 7 {
		t.Errorf("revisit: %+v, %v; want 7 sites", rev, err)
	}
}

// TestGrowBounds: rules of the site whose page leads there hold for the new one, but those on robots.txt, and a small budget; addresses
// that are not public are asked only where these rules allow it.
func TestGrowBounds(t *testing.T) {
	t.Parallel()
	m := newDirectory(t, map[int]string{0: "2 3 4", 1: "5"}, map[int]string{2: "User-agent: *\nDisallow: /\n"})
	for name, test := range map[string]struct {
		rules  store.Rules
		growth Growth
		opt    Options
		want   []int
		reason string // why what is refused is
		cut    string
	}{
		"robots.txt counts": {rules: store.Rules{Robots: "ignore", Contact: "x"}, want: []int{3, 4, 5}, reason: "forbids"},
		"exclude":           {rules: store.Rules{Exclude: []string{`/127\.1\.0\.[35]`}}, want: []int{4}, reason: "forbids"},
		"include":           {rules: store.Rules{Include: []string{`/127\.1\.0\.[0135]`}}, want: []int{3, 5}},
		"kept out": {growth: Growth{Rules: func(url string, by *store.Site) (store.Rules, error) {
			if strings.Contains(url, "127.1.0.3") {
				return store.Rules{}, ErrKeptOut
			}
			return by.Rules, nil
		}}, want: []int{4, 5}, reason: "forbids"},
		"max-total": {opt: Options{MaxTotal: 9}, cut: "--max-total", reason: "forbids"},
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, nil)
			test.growth.Most = 10
			r := m.grow(t, c, 2, test.rules, test.growth, test.opt)
			if got := m.names(r); test.cut == "" && !slices.Equal(got, test.want) || r.Cut != test.cut {
				t.Errorf("adopted %v, cut %q; want %v, %q", got, r.Cut, test.want, test.cut)
			}
			for _, no := range r.Refused {
				if test.reason == "" || !strings.Contains(no.Why, test.reason) {
					t.Errorf("refused %+v", no)
				}
			}
		})
	}
	t.Run("private", func(t *testing.T) {
		c := open(t, func(cfg *Config) { cfg.Fetch.AllowPrivate = nil })
		rules := store.Rules{AllowPrivate: []string{m.name(0)[:strings.IndexByte(m.name(0), ':')] + "/32", "127.1.0.4/32"}}
		r := m.grow(t, c, 1, rules, Growth{Most: 10}, Options{})
		if got := m.names(r); !slices.Equal(got, []int{4}) || len(r.Refused) != 2 {
			t.Errorf("adopted %v, refused %v, want host 4 alone", got, r.Refused)
		}
	})
}

// TestGrowBarren: a domain has a second chance; the first visit of a site that has no page counts as one.
func TestGrowBarren(t *testing.T) {
	t.Parallel()
	m := newDirectory(t, map[int]string{0: "1 2", 2: "3"}, nil, 1)
	c := open(t, nil)
	r := m.grow(t, c, 1, store.Rules{}, Growth{Most: 10}, Options{})
	if got := m.names(r); !slices.Equal(got, []int{1, 2, 3}) || len(r.Failed) != 1 || r.Failed[0].Site != m.name(1) {
		t.Errorf("adopted %v, failed %v, want the hosts 1, 2, 3, of which 1 fails", got, r.Failed)
	}
}

// TestGrowInterrupted: a crawl that is interrupted anywhere and goes on comes to the same sites.
func TestGrowInterrupted(t *testing.T) {
	t.Parallel()
	links := map[int]string{0: "2 3 4 5", 1: "4 5 6", 4: "7 8", 6: "9 10", 8: "11"}
	const most = 8
	sites := func(c *Crawl) (all []string) {
		adopted, err := c.View().Adopted()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range adopted {
			n, err := c.View().Counters(s.ID)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, fmt.Sprint(s.Name, s.State, s.Adopted.Domains, s.Adopted.Links, n.Pages()))
		}
		return all
	}
	m := newDirectory(t, links, nil)
	whole := open(t, nil)
	m.grow(t, whole, 2, store.Rules{}, Growth{Most: most}, Options{})
	want := sites(whole)
	if len(want) != most {
		t.Fatalf("adopted %q, want %d", want, most)
	}
	c := open(t, nil)
	for n := int64(1); ; n++ {
		if n > 200 {
			t.Fatal("it does not come to its end")
		}
		ctx, cancel := context.WithCancel(t.Context())
		opt := Options{Progress: func(Progress) {
			if n%3 == 0 {
				cancel()
			}
		}}
		if n%3 != 0 {
			opt.MaxTotal = n
		}
		r, err := c.Run(ctx, m.seeds(2, store.Rules{}), opt)
		if err == nil {
			r, err = c.Grow(ctx, Growth{Most: most}, opt, r)
		}
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if !r.Interrupted && r.Cut == "" {
			break
		}
	}
	if got := sites(c); !reflect.DeepEqual(got, want) {
		t.Errorf("interrupted now and then:\n%q\nwant\n%q", got, want)
	}
	if seeds, err := c.unvisited(); err != nil || len(seeds) != 0 {
		t.Errorf("%v wait for their first visit, %v", seeds, err)
	}
}

// TestGrowSilent: who does not answer is asked again after a day, and where nobody does, as without a network, few are asked.
func TestGrowSilent(t *testing.T) {
	t.Parallel()
	var links strings.Builder
	for i := range 12 {
		fmt.Fprintf(&links, "http://127.9.8.%d:8999/ ", i) // nobody listens
	}
	m := newDirectory(t, map[int]string{0: links.String()}, nil)
	c := open(t, func(cfg *Config) { cfg.At = software.Start })
	for i, want := range []int{8, 4, 0, 8} {
		if i == 3 {
			c.cfg.At = c.cfg.At.Add(adopt.SilentFor)
		}
		if r := m.grow(t, c, 1, store.Rules{}, Growth{Most: 30}, Options{}); len(r.Refused) != want || len(r.Adopted) != 0 {
			t.Errorf("run %d: %d refused, %d adopted, want %d, 0", i, len(r.Refused), len(r.Adopted), want)
		}
	}
}

// TestGrowNamed: a host whose site would have the name of one that is there is left alone, and who names a site that was refused has it,
// so that nothing tells any more that it was.
func TestGrowNamed(t *testing.T) {
	t.Parallel()
	w := newWeb(t)
	port := w.URL[strings.LastIndexByte(w.URL, ':'):]
	url := func(host string) string { return "http://" + host + port + "/" }
	w.other = func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/robots.txt" && r.Host == "no.test"+port:
			fmt.Fprint(rw, "User-agent: *\nDisallow: /\n")
		case r.URL.Path == "/" && r.Host == "list.test"+port:
			page("links", url("www.named.test"), url("no.test"))(rw, r)
		case r.URL.Path == "/":
			page(r.Host)(rw, r)
		default:
			http.NotFound(rw, r)
		}
	}
	c := open(t, nil)
	seeds := []scope.Seed{{URL: url("named.test"), Rules: store.Rules{Scope: "host"}}, {URL: url("list.test"), Rules: store.Rules{Scope: "domain"}}}
	grow := func() *Result {
		t.Helper()
		r, err := c.Run(t.Context(), seeds, Options{})
		if err == nil {
			r, err = c.Grow(t.Context(), Growth{Most: 9}, Options{}, r)
		}
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := grow(); len(r.Adopted) != 0 || len(r.Refused) != 1 || r.Refused[0].Host != "no.test"+port || w.count("/robots.txt") != 3 {
		t.Errorf("adopted %v, refused %v, %d times asked for a robots.txt; want no.test refused, and 3", r.Adopted, r.Refused, w.count("/robots.txt"))
	}
	seeds = append(seeds, scope.Seed{URL: url("no.test")})
	grow()
	if err := c.View().Refusals(func(no *store.Refusal) bool {
		t.Errorf("%s is a site, and refused", no.Host)
		return true
	}); err != nil {
		t.Fatal(err)
	}
}

// TestGrowSteered: what steers a crawl is heeded between two of its runs, while sites are asked whether they may be adopted.
func TestGrowSteered(t *testing.T) {
	t.Parallel()
	m := newDirectory(t, map[int]string{0: "1"}, nil)
	c := open(t, nil)
	inner := m.page
	var once sync.Once
	m.page = func(host int, path string) (string, bool) {
		if host == 1 && path == "/robots.txt" {
			once.Do(func() {
				for _, err := range []error{c.Pause(""), c.Resume(""), c.Stop("")} {
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		return inner(host, path)
	}
	if r := m.grow(t, c, 1, store.Rules{}, Growth{Most: 1}, Options{}); !r.Interrupted || len(r.Refused) != 0 || m.count("/", 2) != 1 {
		t.Errorf("stopped: %+v, %d hosts were asked for a page, want 1", r, m.count("/", 2))
	}
	if err := c.Stop(""); !errors.Is(err, ErrNotRunning) {
		t.Errorf("Stop afterwards: %v", err)
	}
	if r := m.grow(t, c, 1, store.Rules{}, Growth{Most: 1}, Options{}); r.Interrupted || len(r.Adopted) != 1 {
		t.Errorf("once more: %+v", r)
	}
}
