package serve

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"forage/crawl/plan"
	"forage/internal/race"
	"forage/store"
)

// feedEntries reads a feed in both formats, which must have the same pages, and returns these.
func feedEntries(t *testing.T, base, path, query string) (ids, titles, links []string) {
	t.Helper()
	a := ask(t, "GET", base+path+"/feed.atom"+query, "")
	if a.status != 200 || !strings.HasPrefix(a.header.Get("Content-Type"), "application/atom+xml") {
		t.Fatalf("%s/feed.atom%s: %d %s %s", path, query, a.status, a.header.Get("Content-Type"), a.body)
	}
	var f atomFeed
	if err := xml.Unmarshal(a.body, &f); err != nil {
		t.Fatalf("%v\n%s", err, a.body)
	}
	if f.ID == "" || f.Title == "" || f.Updated == "" || len(f.Links) != 2 {
		t.Errorf("the feed lacks something: %+v", f)
	}
	for _, e := range f.Entries {
		ids, titles, links = append(ids, e.ID), append(titles, e.Title), append(links, e.Link.Href)
		if e.Updated == "" {
			t.Errorf("%s has no time", e.ID)
		}
	}
	a = ask(t, "GET", base+path+"/feed.json"+query, "")
	var j jsonFeed
	if err := json.Unmarshal(a.body, &j); err != nil || a.status != 200 || j.Version != "https://jsonfeed.org/version/1.1" || j.Items == nil {
		t.Fatalf("%s/feed.json%s: %d %v %s", path, query, a.status, err, a.body)
	}
	var others [3][]string
	for _, e := range j.Items {
		others[0], others[1], others[2] = append(others[0], e.ID), append(others[1], e.Title), append(others[2], e.URL)
		if e.Text == "" {
			t.Errorf("%s has no text", e.ID)
		}
	}
	if !slices.Equal(ids, others[0]) || !slices.Equal(titles, others[1]) || !slices.Equal(links, others[2]) {
		t.Errorf("the formats differ: %q and %q", [][]string{ids, titles, links}, others)
	}
	return ids, titles, links
}

// TestFeed compares the feeds of a site that was crawled with the events of new pages.
func TestFeed(t *testing.T) {
	b := newBlog(t)
	b.apart = 7 * 24 * time.Hour
	db := b.crawl.DB()
	name := url.PathEscape(strings.TrimPrefix(b.url, "http://"))
	srv := serving(t, Options{DB: db, PublicURL: "https://forage.example/watch/"})
	if ids, _, _ := feedEntries(t, srv.URL, "", ""); len(ids) != 0 {
		t.Errorf("%d new pages after the first visit", len(ids))
	}
	for range 5 {
		b.next(t)
	}
	for query, wanted := range map[string]func(*store.Event) bool{
		"":                      func(e *store.Event) bool { return true },
		"?kind=content":         func(e *store.Event) bool { return e.Kind == "content" },
		"?kind=list":            func(e *store.Event) bool { return e.Kind == "list" },
		"?match=/20[0-9]{2}/":   func(e *store.Event) bool { return regexp.MustCompile("/20[0-9]{2}/").MatchString(e.URL) },
		"?q=%20PAGE%20":         func(e *store.Event) bool { return strings.Contains(strings.ToLower(e.URL+" "+e.Title), "page") },
		"?q=/2&kind=content":    func(e *store.Event) bool { return e.Kind == "content" && strings.Contains(e.URL+" "+e.Title, "/2") },
		"?limit=3":              func(e *store.Event) bool { return true },
		"?match=nothing-at-all": func(e *store.Event) bool { return false },
	} {
		var content, rest []string // oracle: of all events, sorted
		if err := db.View.Events(0, func(e *store.Event) bool {
			if e.Type == store.PageNew && wanted(e) {
				if e.Kind == "content" {
					content = append(content, "urn:forage:"+e.ID())
				} else {
					rest = append(rest, "urn:forage:"+e.ID())
				}
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		slices.Reverse(content)
		slices.Reverse(rest)
		want := append(content, rest...)
		if query == "?limit=3" {
			want = want[:3]
		}
		want = want[:min(len(want), feedPages)]
		for _, path := range []string{"", "/sites/" + name} {
			if ids, _, _ := feedEntries(t, srv.URL, path, query); !slices.Equal(ids, want) {
				t.Errorf("%s%s: %d entries %q\nwant %d %q", path, query, len(ids), ids, len(want), want)
			}
		}
		if query == "" && len(want) < 10 {
			t.Errorf("%d new pages: too few to compare", len(want))
		}
	}
	if a := ask(t, "GET", srv.URL+"/feed.atom?limit=5&token=secret", ""); !strings.Contains(string(a.body), `"https://forage.example/watch/feed.atom?limit=5"`) || strings.Contains(string(a.body), "secret") {
		t.Errorf("the feed's own link is wrong: %s", a.body)
	}
}

// TestFeedUnchanged: a feed that has not changed is not made: nothing is read of the store, whose
// reading has ended.
func TestFeedUnchanged(t *testing.T) {
	db, s := newStore(t)
	publish(t, db, s, "http://a.test/1", nil)
	srv := serving(t, Options{DB: db})
	tags := map[string]string{}
	for _, path := range []string{"/feed.atom", "/feed.json", "/sites/a.test/feed.atom", "/feed.atom?limit=1"} {
		a := ask(t, "GET", srv.URL+path, "")
		tag := a.header.Get("ETag")
		if a.status != 200 || tag == "" {
			t.Fatalf("%s: %d, tag %q", path, a.status, tag)
		}
		for other, have := range tags {
			if have == tag {
				t.Errorf("%s and %s have one tag", path, other)
			}
		}
		tags[path] = tag
	}
	publish(t, db, s, "http://a.test/2", nil)
	for path, tag := range tags {
		a := ask(t, "GET", srv.URL+path, "", "If-None-Match: "+tag)
		if a.status != 200 || a.header.Get("ETag") == tag {
			t.Errorf("%s has a new page: %d", path, a.status)
		}
		tags[path] = a.header.Get("ETag")
	}
	if err := db.EndReads(); err != nil {
		t.Fatal(err)
	}
	for path, tag := range tags {
		for _, list := range []string{tag, "W/" + tag, `"x", ` + tag} {
			if a := ask(t, "GET", srv.URL+path, "", "If-None-Match: "+list); a.status != 304 || len(a.body) > 0 || a.header.Get("ETag") != tag {
				t.Errorf("%s, If-None-Match: %s: %d", path, list, a.status)
			}
		}
		a := ask(t, "GET", srv.URL+path, "", `If-None-Match: "x"`)
		wantProblem(t, path, a, 503)
		if a.header.Get("ETag") != "" {
			t.Errorf("%s: an error has a tag", path)
		}
	}
}

// TestFeedReplaced: the tag of a feed is none of another store that has as many events.
func TestFeedReplaced(t *testing.T) {
	tags := map[string]bool{}
	for _, url := range []string{"http://a.test/1", "http://a.test/2"} {
		db, s := newStore(t)
		srv := serving(t, Options{DB: db, PublicURL: "https://forage.example/", Public: true})
		for range 2 { // it stays while the store does
			tags[ask(t, "GET", srv.URL+"/feed.atom", "").header.Get("ETag")] = true
		}
		publish(t, db, s, url, nil)
		for range 2 {
			tags[ask(t, "GET", srv.URL+"/feed.atom", "").header.Get("ETag")] = true
		}
	}
	if len(tags) != 3 {
		t.Errorf("tags %v: want one of empty stores, which have the same feed, and one of each other", tags)
	}
}

// BenchmarkFeedUnchanged asks for a feed that has not changed, by HTTP and many at a time, while a crawl writes and events come: how
// many 304 are there a second, and what does each cost in time of the processor, client included?
func BenchmarkFeedUnchanged(b *testing.B) {
	bl := newBlog(b)
	bl.next(b)
	bl.next(b)
	srv := serving(b, Options{DB: bl.crawl.DB()})
	stop, stopped := make(chan struct{}), make(chan struct{})
	crawled := 0
	go func() { // a full recrawl after another, from one week to the next and back
		defer close(stopped)
		for week := 2; ; week = 5 - week {
			select {
			case <-stop:
				return
			default:
			}
			if err := bl.web.Switch(week); err != nil {
				b.Error(err)
				return
			}
			res, err := bl.crawl.Revisit(context.Background(), plan.Plan{Full: true}, bl.options())
			if err != nil {
				b.Error(err)
				return
			}
			crawled += int(res.Fetched)
		}
	}()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	var unchanged, changed atomic.Int64
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		tag := ""
		for p.Next() {
			r, err := http.NewRequest("GET", srv.URL+"/feed.atom", nil)
			if err != nil {
				b.Fatal(err)
			}
			r.Header.Set("If-None-Match", tag)
			res, err := client.Do(r)
			if err != nil {
				b.Error(err)
				return
			}
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if tag = res.Header.Get("ETag"); res.StatusCode == http.StatusNotModified {
				unchanged.Add(1)
			} else {
				changed.Add(1)
			}
		}
	})
	b.StopTimer()
	close(stop)
	<-stopped
	b.ReportMetric(float64(unchanged.Load())/b.Elapsed().Seconds(), "304/s")
	b.ReportMetric(float64(changed.Load()), "changed")
	b.ReportMetric(float64(crawled)/b.Elapsed().Seconds(), "fetches/s")
}

// TestFeedHostile has pages with titles and URLs of strangers: they are text in a feed that can be read.
func TestFeedHostile(t *testing.T) {
	db, s := newStore(t)
	prefix := addSite(t, db, "b.test/a b/ü&?")
	srv := serving(t, Options{DB: db})
	for i, c := range [][2]string{ // title, as the feed has it
		{"<script>alert(1)</script>", "<script>alert(1)</script>"},
		{"]]>&lt;", "]]>&lt;"},
		{"a\x00b\x1b[31m\x7f\u009b", "ab[31m"},
		{"\u202egnp.exe\u2066\ufeff", "gnp.exe"},
		{"two\r\n\u2028lines\t ", "two lines"},
		{"\xff\xfe\ufffe\uffffok", "ok"},
		{"\U0001f468\u200d\U0001f469 日本", "\U0001f468\u200d\U0001f469 日本"},
		{strings.Repeat("x", maxTitle-1) + strings.Repeat("é", 500_000), strings.Repeat("x", maxTitle-1) + "…"},
		{"\x00", "http://a.test/8?a=%22&b='<>"},
	} {
		at := "http://a.test/" + fmt.Sprint(i) + "?a=%22&b='<>"
		publish(t, db, s, at, func(d *store.Doc) { d.Title = c[0] })
		ids, titles, links := feedEntries(t, srv.URL, "", "?limit=1")
		if len(ids) != 1 || titles[0] != c[1] || links[0] != at {
			t.Errorf("title %.60q: entry %.60q, %q, want %.60q, %s", c[0], titles, links, c[1], at)
		}
	}
	publish(t, db, prefix, "http://b.test/a%20b/1", nil)
	if _, _, links := feedEntries(t, srv.URL, "/sites/"+url.PathEscape(prefix.Name), ""); !slices.Equal(links, []string{"http://b.test/a%20b/1"}) {
		t.Errorf("the feed of %q has %q", prefix.Name, links)
	}
	for path, status := range map[string]int{
		"/sites/c.test/feed.atom": 404, "/feed.atom?match=(": 400, "/feed.atom?limit=0": 400, "/feed.json?limit=101": 400, "/feed.atom?mach=x": 400,
	} {
		wantProblem(t, path, ask(t, "GET", srv.URL+path, ""), status)
	}
}

// A pattern that takes long to compare is given up.
func TestFeedSlowPattern(t *testing.T) {
	race.Skip(t)
	db, s := newStore(t)
	srv := serving(t, Options{DB: db})
	for i := range 200 {
		publish(t, db, s, fmt.Sprintf("http://a.test/%d/%s", i, strings.Repeat("a", 7000)), nil)
	}
	defer func(d time.Duration) { maxMatching = d }(maxMatching)
	maxMatching = 10 * time.Millisecond
	slow := url.QueryEscape(strings.Repeat("(.*a){1000}", 3) + "b")
	wantProblem(t, "a slow pattern", ask(t, "GET", srv.URL+"/feed.json?match="+slow, ""), 400)
	wantProblem(t, "a long pattern", ask(t, "GET", srv.URL+"/feed.json?match="+strings.Repeat("a", maxPattern+1), ""), 400)
}

// TestHealth: the service is not ready while nothing can be fetched, and says why.
func TestHealth(t *testing.T) {
	db, _ := newStore(t)
	w := &watched{}
	ending := make(chan struct{})
	srv := serving(t, Options{DB: db, Watch: w, Ending: ending})
	want := func(path string, status int, says string) {
		t.Helper()
		if a := ask(t, "GET", srv.URL+path, ""); a.status != status || !strings.Contains(string(a.body), says) {
			t.Errorf("%s: %d %s, want %d %s", path, a.status, a.body, status, says)
		}
	}
	want("/readyz", 200, "ok")
	w.set(State{Wait: errors.New("no room: 3 MiB are left")})
	want("/readyz", 503, "no room: 3 MiB are left")
	want("/healthz", 200, "ok")
	w.set(State{})
	want("/readyz", 200, "ok")
	close(ending)
	want("/readyz", 503, "the service ends")
	want("/healthz", 200, "ok")
}
