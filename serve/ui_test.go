package serve

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"forage/chart"
	"forage/crawl/plan"
	"forage/report"
	"forage/store"
)

// A document is a page as a browser reads it.
type document struct {
	t    *testing.T
	what string
	root *html.Node
}

// page returns the page at a URL, which must answer 200 with one that keeps the rules of all pages.
func page(t *testing.T, url string, header ...string) *document {
	t.Helper()
	a := ask(t, "GET", url, "", header...)
	if a.status != 200 || a.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("GET %s: %d %s", url, a.status, a.body)
	}
	if n := len(a.body); n > 100_000 {
		t.Errorf("GET %s: %d bytes", url, n)
	}
	return read(t, "GET "+url, a)
}

func read(t *testing.T, what string, a answer) *document {
	t.Helper()
	if csp := a.header.Get("Content-Security-Policy"); csp != uiPolicy {
		t.Errorf("%s: Content-Security-Policy %q", what, csp)
	}
	root, err := html.Parse(strings.NewReader(string(a.body)))
	if err != nil {
		t.Fatal(err)
	}
	d := &document{t, what, root}
	d.check()
	return d
}

// each calls f for each element of a name; "": of any.
func (d *document) each(name string, f func(*html.Node)) {
	for n := range d.root.Descendants() {
		if n.Type == html.ElementNode && (name == "" || n.Data == name) {
			f(n)
		}
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// plainText is what is read in a part of a page, with one space between words.
func plainText(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// has checks that the page says something.
func (d *document) has(want ...string) {
	d.t.Helper()
	all := plainText(d.root)
	for _, w := range want {
		if !strings.Contains(all, w) {
			d.t.Errorf("%s does not say %q: %s", d.what, w, all)
		}
	}
}

// figures are the numbers above a page, by their names.
func (d *document) figures() map[string]string {
	all := map[string]string{}
	d.each("dl", func(n *html.Node) {
		if attr(n, "class") != "figures" {
			return
		}
		for c := range n.ChildNodes() {
			if c.Data != "div" {
				continue
			}
			parts := [2]string{}
			for e := range c.ChildNodes() {
				switch e.Data {
				case "dt":
					parts[0] = plainText(e)
				case "dd":
					parts[1] = plainText(e)
				}
			}
			all[parts[0]] = parts[1]
		}
	})
	return all
}

// check holds a page to the rules: no script or style of its own, nothing from elsewhere, links to the web and to
// itself only, a label for each input, a name for each part, headings, one main, a language.
func (d *document) check() {
	d.t.Helper()
	labels, ids, mains, h1 := map[string]bool{}, map[string]bool{}, 0, 0
	d.each("label", func(n *html.Node) { labels[attr(n, "for")] = true })
	d.each("", func(n *html.Node) {
		for _, a := range n.Attr {
			switch {
			case a.Key == "style" || strings.HasPrefix(a.Key, "on"):
				d.t.Errorf("%s: %s has %s=%q", d.what, n.Data, a.Key, a.Val)
			case a.Key == "id" && ids[a.Val]:
				d.t.Errorf("%s: the id %q twice", d.what, a.Val)
			case a.Key == "id":
				ids[a.Val] = true
			case a.Key == "tabindex" && a.Val != "0" && a.Val != "-1":
				d.t.Errorf("%s: tabindex %s takes %s out of the order of the page", d.what, a.Val, n.Data)
			case a.Key == "href" && !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#") && !strings.HasPrefix(a.Val, "http://") && !strings.HasPrefix(a.Val, "https://"),
				a.Key == "src" && !strings.HasPrefix(a.Val, "/ui/"), a.Key == "action" && !strings.HasPrefix(a.Val, "/"):
				d.t.Errorf("%s: %s %s=%q", d.what, n.Data, a.Key, a.Val)
			case strings.Contains(a.Val, "ZgotmplZ"):
				d.t.Errorf("%s: %s=%q", d.what, a.Key, a.Val)
			}
		}
		switch n.Data {
		case "script":
			if n.FirstChild != nil || attr(n, "src") == "" {
				d.t.Errorf("%s: a script in the page", d.what)
			}
		case "style", "iframe", "object", "embed", "base":
			d.t.Errorf("%s has %s", d.what, n.Data)
		case "input", "select", "textarea":
			if attr(n, "type") != "hidden" && !labels[attr(n, "id")] {
				d.t.Errorf("%s: %s %q has no label", d.what, n.Data, attr(n, "name"))
			}
		case "button":
			if plainText(n) == "" {
				d.t.Errorf("%s: a button that says nothing", d.what)
			}
		case "svg":
			if p := n.Parent; p != nil && p.Data != "svg" && (attr(n, "role") != "img" || attr(n, "aria-label") == "") {
				d.t.Errorf("%s: a chart without a name", d.what)
			}
		case "a":
			if plainText(n) == "" {
				d.t.Errorf("%s: a link to %q that says nothing", d.what, attr(n, "href"))
			}
			if strings.HasPrefix(attr(n, "href"), "http") && attr(n, "rel") != "noreferrer noopener nofollow external" {
				d.t.Errorf("%s: a link to %s with rel=%q", d.what, attr(n, "href"), attr(n, "rel"))
			}
		case "form":
			if m := attr(n, "method"); m != "" && m != "post" {
				d.t.Errorf("%s: a form by %s", d.what, m)
			}
		case "main":
			mains++
		case "h1":
			h1++
		case "html":
			if attr(n, "lang") == "" {
				d.t.Errorf("%s has no language", d.what)
			}
		}
	})
	d.each("", func(n *html.Node) {
		if by := attr(n, "aria-labelledby"); by != "" && !ids[by] {
			d.t.Errorf("%s: %q names nothing", d.what, by)
		}
	})
	if mains != 1 || h1 != 1 {
		d.t.Errorf("%s has %d main and %d h1, want one each", d.what, mains, h1)
	}
	// Who goes by keyboard comes to the way past the header first.
	first := ""
	d.each("a", func(n *html.Node) {
		if first == "" {
			first = attr(n, "href")
		}
	})
	if first != "#main" {
		d.t.Errorf("%s: the first link leads to %q", d.what, first)
	}
}

// uiBlog is a blog of which some weeks have passed, watched and served.
func uiBlog(t *testing.T) (b *blog, name, base string, w *watched) {
	t.Helper()
	b = newBlog(t)
	for range 4 {
		b.next(t)
	}
	name = strings.TrimPrefix(b.url, "http://")
	w = &watched{sites: []Site{{Name: name, Settings: Settings{URL: b.url + "/", Budget: "40"}}}}
	return b, name, serving(t, Options{DB: b.crawl.DB(), Watch: w}).URL, w
}

// TestPagesTellTheAPI compares numbers of the pages with those of the API.
func TestPagesTellTheAPI(t *testing.T) {
	b, name, base, _ := uiBlog(t)
	events := get[eventList](t, base+"/api/v1/events?limit=1000&type=page.new")
	if len(events.Events) < 3 {
		t.Fatalf("%d new pages", len(events.Events))
	}
	site := get[siteRecord](t, base+"/api/v1/sites/"+url.PathEscape(name))
	first := page(t, base+"/")
	if f := first.figures(); f["New pages today"] != number(len(events.Events)) || f["in 7 days"] != number(len(events.Events)) || f["Sites"] != "1" {
		t.Errorf("the overview tells %v of %d new pages", f, len(events.Events))
	}
	one := page(t, base+sitePath(name))
	if f := one.figures(); f["Pages"] != number(site.Pages) || f["New since the first visit"] != number(site.New) || f["Gone"] != number(site.Gone) {
		t.Errorf("the page of the site tells %v of %+v", f, site)
	}
	v := b.crawl.View()
	known, err := v.SiteNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	d, err := report.NewDiscovery(v, known.ID, siteHubs)
	if err != nil || d == nil || len(d.Hubs) == 0 {
		t.Fatalf("NewDiscovery = %+v, %v", d, err)
	}
	coverage := "–"
	if d.Coverage != nil {
		coverage = fmt.Sprintf("%.0f%% %.0f%% to %.0f%%", 100**d.Coverage, 100**d.Low, 100**d.High)
	}
	if got := one.figures()["Coverage"]; got != coverage {
		t.Errorf("the page of the site tells a coverage of %q, want %q", got, coverage)
	}
	one.has(pathText(d.Hubs[0].URL), "robots.txt in force", "What a budget finds", "When pages appear")
	cycles, _, err := report.Cycles(v, known, 0, 100)
	if err != nil || len(cycles) != 5 {
		t.Fatalf("Cycles = %d, %v", len(cycles), err)
	}
	for _, c := range cycles {
		one.has(fmt.Sprintf("%d %s %s", c.Cycle.Cycle, cycleKinds[store.CycleKind(c.Kind)], strings.Replace((*c.At)[:16], "T", " ", 1)))
	}
	list := page(t, base+"/pages")
	for _, e := range events.Events {
		list.has(*e.URL)
	}
	page(t, base+"/sites").has(name, number(site.Pages))
	why := page(t, base+"/url?"+url.Values{"url": {*events.Events[0].URL}}.Encode())
	why.has(*events.Events[0].URL, "Found on "+*events.Events[0].FoundOn, "fetched", "Visits")
	page(t, base+"/url").has("Give a URL")
	page(t, base+"/url?url="+url.QueryEscape("javascript:alert(1)")).has("This is no URL that can be fetched")
	page(t, base+"/url?url="+url.QueryEscape(strings.TrimPrefix(*events.Events[0].URL, "http://"))).has("Found on")
	page(t, base+"/login").has("There are no tokens here")
}

// TestPagesOfNothing asks for all pages of a service that watches nothing, and of a site that was not visited.
func TestPagesOfNothing(t *testing.T) {
	db, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	w := &watched{}
	base := serving(t, Options{DB: db, Watch: w}).URL
	page(t, base+"/").has("Nothing is watched yet")
	page(t, base+"/pages").has("No page has appeared since the first visits")
	page(t, base+"/sites").has("Nothing is watched yet")
	w.sites = []Site{{Name: "a.test", Settings: Settings{URL: "http://a.test/"}, ReadOnly: true}}
	page(t, base+"/").has("No page has appeared since the first visits")
	page(t, base+"/sites/a.test").has("Its first visit has not begun", "not begun")
	page(t, base+"/sites").has("not begun", "file")
	page(t, base+"/sites?q=b").has("None of the 1 site is like that")
	w.set(State{Paused: true, Wait: &store.FullError{Dir: "/d", Free: 1, Want: 2}})
	page(t, base+"/").has("All sites are paused", "Nothing is fetched:")
	for path, status := range map[string]int{"/sites/none": 404, "/pages?type=x": 400, "/pages?before=x": 400, "/pages?q=" + strings.Repeat("x", maxSearch+1): 400, "/sites/a.test?before=x": 400} {
		a := ask(t, "GET", base+path, "")
		if a.status != status || a.header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s: %d %s, want a page of status %d", path, a.status, a.header.Get("Content-Type"), status)
		}
		read(t, path, a)
	}
}

// TestPagesNeed has sites be in each kind of trouble.
func TestPagesNeed(t *testing.T) {
	db, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	now := time.Unix(1_700_000_000, 0)
	w := &watched{}
	for _, s := range []store.Site{
		{Name: "a.fine"}, {Name: "b.failed", State: store.SiteFailed, Reason: "no answer <b>"}, {Name: "c.js", NeedsJS: true},
		{Name: "d.blocks", Trouble: "429 for hours"}, {Name: "e.paused", State: store.SitePaused, Reason: "it blocks us"},
	} {
		if s.State == "" {
			s.State = store.SiteDone
		}
		s.FirstCycle, s.Rules = 1, store.Rules{Scope: "host", Within: s.Name}
		if err := db.AddSite(&s); err != nil {
			t.Fatal(err)
		}
		w.sites = append(w.sites, Site{Name: s.Name, Due: now.Add(time.Hour)})
	}
	w.sites = append(w.sites, Site{Name: "f.late", Due: now.Add(-time.Hour)}, Site{Name: "g.soon", Due: now.Add(-time.Minute)}, Site{Name: "h.rests", Due: now.Add(-time.Hour), Paused: true})
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
	base := serving(t, Options{DB: db, Watch: w, Now: func() time.Time { return now }}).URL
	var got []string
	page(t, base+"/").each("ul", func(n *html.Node) {
		if attr(n, "class") == "needs" {
			for li := range n.ChildNodes() {
				got = append(got, plainText(li))
			}
		}
	})
	want := []string{"failing b.failed no answer <b>", "blocked d.blocks 429 for hours", "blocked e.paused it blocks us", "overdue f.late due 60 min ago, and has not begun", "needs JavaScript c.js its pages have scripts but next to no links"}
	if !slices.Equal(got, want) {
		t.Errorf("sites that need a person:\n%q, want\n%q", got, want)
	}
	var rows []string
	page(t, base+"/sites?show=needs").each("tr", func(n *html.Node) { rows = append(rows, strings.Fields(plainText(n))[0]) })
	if want := []string{"Site", "b.failed", "c.js", "d.blocks", "e.paused", "f.late"}; !slices.Equal(rows, want) {
		t.Errorf("/sites?show=needs lists %q, want %q", rows, want)
	}
}

// TestPagesInParts goes through lists by their cursors.
func TestPagesInParts(t *testing.T) {
	db, s := newStore(t)
	w := &watched{}
	for i := range 2*sitesShown + 3 {
		w.sites = append(w.sites, Site{Name: fmt.Sprintf("%03d.test", i)})
	}
	const news = 2*pagesShown + 7
	for i := range news {
		publish(t, db, s, fmt.Sprintf("http://a.test/%d", i), nil)
	}
	base := serving(t, Options{DB: db, Watch: w}).URL
	follow := func(path string, item func(*html.Node) string) (all []string) {
		for next := path; next != ""; {
			d := page(t, base+next)
			next = ""
			d.each("", func(n *html.Node) {
				if x := item(n); x != "" {
					all = append(all, x)
				}
				if n.Data == "a" && attr(n, "class") == "button" && n.Parent.Data == "nav" && plainText(n) != "Latest" {
					next = attr(n, "href")
				}
			})
			if len(all) > 1000 {
				t.Fatalf("%s has no end", path)
			}
		}
		return all
	}
	sites := follow("/sites", func(n *html.Node) string {
		if n.Data == "td" && n.FirstChild != nil && n.FirstChild.Data == "a" {
			return plainText(n)
		}
		return ""
	})
	if len(sites) != len(w.sites) || !slices.IsSorted(sites) {
		t.Errorf("/sites lists %d sites: %q", len(sites), sites)
	}
	pages := follow("/pages", func(n *html.Node) string { return attr(n, "data-seq") })
	if len(pages) != news || len(slices.Compact(slices.Clone(pages))) != news {
		t.Errorf("/pages lists %d pages, want %d", len(pages), news)
	}
	if some := follow("/pages?q=/1", func(n *html.Node) string { return attr(n, "data-seq") }); len(some) != 1+10+news-100 {
		t.Errorf("/pages?q=/1 lists %d pages", len(some))
	}
	for path, want := range map[string]int{"/pages.jsonl": news, "/pages.csv": news + 1, "/pages.csv?q=/99": 2, "/pages.jsonl?type=gone": 0} {
		a := ask(t, "GET", base+path, "")
		if got := strings.Count(string(a.body), "\n"); a.status != 200 || got != want {
			t.Errorf("%s: %d, %d lines, want %d", path, a.status, got, want)
		}
	}
}

// TestPagesHostile has pages with titles and URLs that want to be more than text.
func TestPagesHostile(t *testing.T) {
	db, s := newStore(t)
	titles := []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, "</bdi></title><svg onload=alert(1)>", strings.Repeat("long ", 200_000),
		"\u202egnp.evil\u2066 \x00\x1b[31m\u200b", "{{.}}", "javascript:alert(1)", "=cmd|' /C calc'!A0",
	}
	for i, title := range titles {
		publish(t, db, s, fmt.Sprintf("http://a.test/%d?<script>'\"\u202e", i), func(d *store.Doc) { d.Title = title })
	}
	// No document has such a URL, but an event could.
	db.PutEvent(&store.Event{Type: store.PageNew, At: 1_700_000_000, Site: "a.test", URL: "javascript:alert(document.domain)//", Title: "click"})
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
	name := "a.test"
	base := serving(t, Options{DB: db, Watch: &watched{sites: []Site{{Name: name, Settings: Settings{URL: "javascript:alert(1)"}}}}}).URL
	for _, path := range []string{"/", "/pages", "/pages?" + url.Values{"q": {`"><script>`}, "site": {`"><script>`}}.Encode(), "/sites/a.test", "/sites?q=%3Cscript%3E", "/url?url=" + url.QueryEscape("http://a.test/0?<script>'\"\u202e"), "/url?url=%22%3E%3Cscript%3E"} {
		d := page(t, base+path)
		scripts, shown := 0, 0
		d.each("", func(n *html.Node) {
			switch n.Data {
			case "script":
				scripts++
			case "img":
				t.Errorf("%s has an image", path)
			case "bdi":
				shown++
				if said := plainText(n); strings.ContainsAny(said, "\u202e\u2066\x00\x1b\u200b") || len(said) > 1000 {
					t.Errorf("%s shows %.200q", path, said)
				}
			case "a":
				if strings.Contains(attr(n, "href"), "javascript") && !strings.HasPrefix(attr(n, "href"), "/url?url=") {
					t.Errorf("%s leads to %s", path, attr(n, "href"))
				}
			}
		})
		if want := map[bool]int{true: 1}[path == "/" || path == "/pages"]; scripts != want {
			t.Errorf("%s has %d scripts, want %d", path, scripts, want)
		}
		if path == "/pages" {
			d.has(titles[0], titles[1], "…", "{{.}}")
			if shown < 2*len(titles) {
				t.Errorf("%s isolates %d texts", path, shown)
			}
		}
	}
	if a := ask(t, "GET", base+"/pages.csv", ""); strings.Contains(string(a.body), "\n=cmd") || strings.Contains(string(a.body), ",=cmd") || strings.ContainsRune(string(a.body), '\u202e') {
		t.Errorf("the table has formulas or hidden characters: %.500s", a.body)
	}
}

// browser is a client with cookies, which does not follow redirects.
func browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// do makes a request of a browser: of a page of origin where that is given.
func do(t *testing.T, c *http.Client, method, url, origin string, form url.Values) (status int, location string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	if method == "POST" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode, res.Header.Get("Location")
}

// TestForms pauses, resumes, visits and removes sites by the forms of their pages.
func TestForms(t *testing.T) {
	db, _ := newStore(t)
	w := &watched{sites: []Site{{Name: "a.test", ReadOnly: true}, {Name: "b.test/x/", Settings: Settings{URL: "http://b.test/x/"}}}}
	base := serving(t, Options{DB: db, Watch: w}).URL
	c := browser(t)
	b := base + "/sites/b.test%2Fx%2F"
	for _, step := range []struct {
		url, origin string
		form        url.Values
		status      int
		to          string
		check       func() bool
	}{
		{b + "/pause", "http://evil.test", nil, 403, "", func() bool { return !w.sites[1].Paused }},
		{b + "/pause", base, nil, 303, "/sites/b.test%2Fx%2F?said=paused", func() bool { return w.sites[1].Paused }},
		{b + "/visit", base, nil, 409, "", func() bool { return len(w.full) == 0 }},
		{b + "/resume", base, nil, 303, "/sites/b.test%2Fx%2F?said=resumed", func() bool { return !w.sites[1].Paused }},
		{b + "/visit", base, nil, 303, "/sites/b.test%2Fx%2F?said=begun", func() bool { return slices.Equal(w.full, []bool{false}) }},
		{base + "/sites/a.test/visit", base, url.Values{"full": {"yes"}}, 303, "/sites/a.test?said=full", func() bool { return slices.Equal(w.full, []bool{false, true}) }},
		{base + "/sites/a.test/remove", base, url.Values{"sure": {"yes"}}, 409, "", func() bool { return len(w.sites) == 2 }},
		{b + "/remove", base, nil, 400, "", func() bool { return len(w.sites) == 2 }},
		{b + "/remove", base, url.Values{"sure": {"yes"}}, 303, "/sites?said=removed", func() bool { return len(w.sites) == 1 }},
		{b + "/pause", base, nil, 404, "", func() bool { return true }},
		{base + "/sites/a.test/nothing", base, nil, 404, "", func() bool { return true }},
	} {
		if status, to := do(t, c, "POST", step.url, step.origin, step.form); status != step.status || to != step.to || !step.check() {
			t.Errorf("POST %s from %s: %d to %q, want %d to %q; the sites are %+v, cycles %v", step.url, step.origin, status, to, step.status, step.to, w.sites, w.full)
		}
	}
	page(t, base+"/sites/a.test?said=paused").has(uiNotices["paused"])
	page(t, base+"/sites/a.test?said=%3Cb%3E")
	var forms []string
	page(t, base+"/sites/a.test").each("form", func(n *html.Node) { forms = append(forms, attr(n, "action")) })
	if slices.Contains(forms, "/sites/a.test/remove") {
		t.Error("a site of the file can be removed")
	}
}

// TestLogin has a browser come in by a token, and go.
func TestLogin(t *testing.T) {
	db, _ := newStore(t)
	const reader, writer = "a reader's token; with = and ü", "writer"
	w := &watched{sites: []Site{{Name: "a.test"}}}
	base := serving(t, Options{DB: db, Watch: w, Tokens: []Token{{reader, false}, {writer, true}}}).URL
	c := browser(t)
	want := func(what string, wantStatus int, wantTo string) func(int, string) {
		return func(status int, to string) {
			t.Helper()
			if status != wantStatus || to != wantTo {
				t.Errorf("%s: %d to %q, want %d to %q", what, status, to, wantStatus, wantTo)
			}
		}
	}
	want("a page", 303, "/login?next=%2Fpages%3Fq%3Dx")(do(t, c, "GET", base+"/pages?q=x", "", nil))
	want("the form", 200, "")(do(t, c, "GET", base+"/login", "", nil))
	// By no-referrer a browser sends Origin: null with the form, which is refused where it sends no Sec-Fetch-Site: without TLS.
	if policy := ask(t, "GET", base+"/login", "").header.Get("Referrer-Policy"); policy != "same-origin" {
		t.Errorf("Referrer-Policy %q keeps the form from telling its origin", policy)
	}
	want("the style", 200, "")(do(t, c, "GET", base+"/ui/style.css", "", nil))
	want("the API", 401, "")(do(t, c, "GET", base+"/api/v1/events", "", nil))
	want("a feed", 401, "")(do(t, c, "GET", base+"/feed.atom", "", nil))
	want("a wrong token", 401, "")(do(t, c, "POST", base+"/login", base, url.Values{"token": {"x"}}))
	want("an empty token", 401, "")(do(t, c, "POST", base+"/login", base, nil))
	want("from elsewhere", 403, "")(do(t, c, "POST", base+"/login", "http://evil.test", url.Values{"token": {reader}}))
	for next, to := range map[string]string{"//evil.test/": "/", "http://evil.test/": "/", `/\evil.test`: "/", "/pages?q=x": "/pages?q=x", "": "/"} {
		want("to "+next, 303, to)(do(t, c, "POST", base+"/login", base, url.Values{"token": {reader}, "next": {next}}))
	}
	u, _ := url.Parse(base)
	if cookies := c.Jar.Cookies(u); len(cookies) != 1 {
		t.Fatalf("cookies: %v", cookies)
	}
	want("a page, logged in", 200, "")(do(t, c, "GET", base+"/pages", "", nil))
	want("the API, logged in", 200, "")(do(t, c, "GET", base+"/api/v1/events", "", nil))
	want("a pause by a reader", 403, "")(do(t, c, "POST", base+"/sites/a.test/pause", base, nil))
	want("logging out", 303, "/login")(do(t, c, "POST", base+"/logout", base, nil))
	want("a page, logged out", 303, "/login?next=%2F")(do(t, c, "GET", base+"/", "", nil))
	do(t, c, "POST", base+"/login", base, url.Values{"token": {writer}})
	want("a pause from elsewhere", 403, "")(do(t, c, "POST", base+"/sites/a.test/pause", "http://evil.test", nil))
	want("a pause by a writer", 303, "/sites/a.test?said=paused")(do(t, c, "POST", base+"/sites/a.test/pause", base, nil))
	r, err := http.NewRequest("POST", base+"/login", strings.NewReader(url.Values{"token": {writer}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := browser(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if set := res.Header.Get("Set-Cookie"); !strings.Contains(set, "HttpOnly") || !strings.Contains(set, "SameSite=Strict") || !strings.Contains(set, "Path=/") {
		t.Errorf("Set-Cookie: %s", set)
	}
}

// TestAssets asks for the files beside the pages.
func TestAssets(t *testing.T) {
	db, _ := newStore(t)
	base := serving(t, Options{DB: db}).URL
	for name, a := range uiAssets {
		got := ask(t, "GET", base+"/ui/"+name+"?v="+a.sum, "")
		if got.status != 200 || got.header.Get("Content-Type") != a.kind || string(got.body) != string(a.body) || !strings.Contains(got.header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %v", name, got.status, got.header)
		}
		if again := ask(t, "GET", base+"/ui/"+name, "", "If-None-Match: "+got.header.Get("ETag")); again.status != 304 {
			t.Errorf("%s again: %d", name, again.status)
		}
		if strings.Contains(string(a.body), "//") && strings.Contains(string(a.body), "url(") {
			t.Errorf("%s refers to something", name)
		}
	}
	if n := len(uiAssets["live.js"].body); n > 15_000 {
		t.Errorf("live.js has %d bytes", n)
	}
	wantProblem(t, "no such file", ask(t, "GET", base+"/ui/frame.html", ""), 404)
}

// TestAdd looks at sites by the form, and adds them.
func TestAdd(t *testing.T) {
	db, _ := newStore(t)
	w := &watched{sites: []Site{{Name: "a.test"}}}
	srv := serving(t, Options{DB: db, Watch: w})
	base := srv.URL
	page(t, base+"/add?url=http://b.test/").has("Look at it first", "Watch it")
	post := func(form url.Values) *document {
		t.Helper()
		a := ask(t, "POST", base+"/add", form.Encode(), "Content-Type: application/x-www-form-urlencoded")
		if a.status != 200 {
			t.Fatalf("POST /add %v: %d %s", form, a.status, a.body)
		}
		return read(t, "POST /add", a)
	}
	w.preview = &Preview{
		Name: "b.test", Scope: "host", Robots: "http://b.test/robots.txt", RobotsStatus: 200, Allowed: true, Delay: 2 * time.Second, Usual: 10_000,
		Lists: []PreviewList{{URL: "http://b.test/sitemap.xml<script>", Kind: "sitemap", Entries: 1300, Ours: 1234}, {URL: "http://b.test/none.xml", Problem: "answered 404"}}, URLs: 1234, Dated: 100, Recent: 45,
	}
	d := post(url.Values{"url": {"b.test/"}, "budget": {"7/day"}, "exclude": {"/tag/\r\n\r\n/old/"}})
	d.has("b.test", "answered 200; the start may be fetched", "2s between two requests", "sitemap, 1 300 entries, 1 234 of this site", "answered 404", "/tag/ /old/")
	want := map[string]string{"Pages": "1 234", "First visit, by the delay alone": "41 min", "As large as documents here usually are": "12.3 MB", "New or changed a day, by the dates of 30 days": "1.5"}
	for name, value := range want {
		if got := d.figures()[name]; got != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
	values := map[string]string{}
	d.each("input", func(n *html.Node) { values[attr(n, "name")+attr(n, "id")] = attr(n, "value") })
	if values["urlurl"] != "https://b.test/" || values["budgetbudget"] != "7/day" {
		t.Errorf("the form holds %v", values)
	}
	if len(w.sites) != 1 {
		t.Errorf("a look added a site: %+v", w.sites)
	}
	w.preview = nil
	post(url.Values{"url": {"b.test/"}}).has("Its lists name no pages of this site")
	post(url.Values{"url": {"a.test"}}).has("a.test is watched already")
	post(url.Values{"url": {"ftp://b.test/"}}).has("is no URL")
	c := browser(t)
	if status, _ := do(t, c, "POST", base+"/add", "http://evil.test", url.Values{"url": {"b.test"}}); status != 403 {
		t.Errorf("a look for a stranger's page: %d", status)
	}
	for _, form := range []url.Values{{"url": {"a.test"}}, {"url": {"ftp://b.test/"}}, {"url": {"b.test"}, "max_pages": {"many"}}} {
		if status, _ := do(t, c, "POST", base+"/sites", base, form); status != 409 && status != 400 {
			t.Errorf("POST /sites %v: %d", form, status)
		}
	}
	if status, to := do(t, c, "POST", base+"/sites", base, url.Values{"url": {"b.test/x"}, "budget": {"7/day"}, "exclude": {"/tag/\r\n/old/\r\n"}, "max_pages": {"5"}}); status != 303 || to != "/sites/b.test?said=added" {
		t.Errorf("POST /sites: %d to %q", status, to)
	}
	if got := w.sites[1].Settings; got.URL != "https://b.test/x" || got.Budget != "7/day" || !slices.Equal(got.Exclude, []string{"/tag/", "/old/"}) || got.MaxPages != 5 {
		t.Errorf("added with %+v", got)
	}
	page(t, base+"/sites/b.test?said=added").has(uiNotices["added"], "/tag/")
}

// TestHostsPage lists hosts that wait, and all.
func TestHostsPage(t *testing.T) {
	db, _ := newStore(t)
	now := time.Unix(1_700_000_000, 0)
	if err := db.PutHost(&store.Host{Origin: "b.test", NotBefore: now.Add(3 * time.Hour).UnixMilli(), LastRequest: now.UnixMilli(), Failures: 4, RobotsProblem: "answers 503 <b>"}); err != nil {
		t.Fatal(err)
	}
	if err := db.PutHost(&store.Host{Origin: "c.test", LastRequest: now.Add(-time.Hour).UnixMilli()}); err != nil {
		t.Fatal(err)
	}
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
	w := &watched{asked: []*report.Asked{{Host: "d.test", Next: now.Add(90 * time.Second), CrawlDelay: 2 * time.Minute, Pending: 77}}}
	base := serving(t, Options{DB: db, Watch: w, Now: func() time.Time { return now }}).URL
	rows := func(path string) (all []string) {
		page(t, base+path).each("tr", func(n *html.Node) { all = append(all, plainText(n)) })
		return all[min(1, len(all)):]
	}
	want := []string{
		"b.test in 3 h it did not answer properly, 4 times in a row robots.txt answers 503 <b> 0 4 2023-11-14 22:13 –",
		"d.test in 2 min its robots.txt asks for a delay between two requests 77 0 never –, delay 120 s",
	}
	if got := rows("/hosts"); !slices.Equal(got, want) {
		t.Errorf("/hosts lists %q, want %q", got, want)
	}
	if got := rows("/hosts?show=all"); len(got) != 3 || !strings.HasPrefix(got[1], "c.test may be asked") {
		t.Errorf("/hosts?show=all lists %q", got)
	}
	page(t, base+"/hosts?after=z").has("There are no further ones")
	none, _ := newStore(t)
	page(t, serving(t, Options{DB: none}).URL+"/hosts").has("No host waits")
}

// TestOracle: once a full recrawl has shown all that was new, the page of the site tells what visits of few looks had found
// of it, and what an oracle would have.
func TestOracle(t *testing.T) {
	b := newBlog(t)
	for range 4 {
		b.few(t, 1)
	}
	name := strings.TrimPrefix(b.url, "http://")
	w := &watched{sites: []Site{{Name: name, Settings: Settings{URL: b.url + "/", Budget: "1"}}}}
	base := serving(t, Options{DB: b.crawl.DB(), Watch: w}).URL
	if got := plainText(page(t, base+sitePath(name)).root); strings.Contains(got, "Beside an oracle") {
		t.Error("no recrawl has shown what was new, and there is an oracle")
	}
	if _, err := b.crawl.Revisit(t.Context(), plan.Plan{Full: true, Text: "all"}, b.options()); err != nil {
		t.Fatal(err)
	}
	known, err := b.crawl.View().SiteNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	in, err := report.NewInsight(b.crawl.View(), known.ID, siteHubs)
	if err != nil || len(in.Spans) != 1 {
		t.Fatalf("NewInsight has %d spans, %v", len(in.Spans), err)
	}
	s := in.Spans[0]
	if s.Looks != 4 || s.Found == 0 || s.Best < s.Found || s.New < s.Best {
		t.Errorf("%+v", s)
	}
	page(t, base+sitePath(name)).has("Beside an oracle", fmt.Sprintf("%d %d %d %d %s", s.Looks, s.New, s.Found, s.Best, chart.Percent(s.Share())))
}

// TestLooks: as many sites are looked at at the same time as may be, and another one later.
func TestLooks(t *testing.T) {
	db, _ := newStore(t)
	w := &watched{looking: make(chan chan bool)}
	base := serving(t, Options{DB: db, Watch: w}).URL
	look := func(site int) (status int, header http.Header) {
		r, err := http.NewRequest("POST", base+"/add", strings.NewReader(url.Values{"url": {fmt.Sprintf("https://s%d.test/", site)}}.Encode()))
		if err != nil {
			t.Error(err)
			return 0, nil
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return 0, nil
		}
		res.Body.Close()
		return res.StatusCode, res.Header
	}
	ended := make(chan int)
	var begun []chan bool
	for i := range maxLooks {
		go func() {
			status, _ := look(i)
			ended <- status
		}()
		begun = append(begun, <-w.looking)
	}
	if got, header := look(maxLooks); got != 503 || header.Get("Retry-After") == "" {
		t.Errorf("one look more than may be: %d, Retry-After %q", got, header.Get("Retry-After"))
	}
	for _, goOn := range begun {
		goOn <- true
		if got := <-ended; got != 200 {
			t.Errorf("a look: %d", got)
		}
	}
	go func() { goOn := <-w.looking; goOn <- true }()
	if got, _ := look(maxLooks); got != 200 {
		t.Errorf("a look after them: %d", got)
	}
}
