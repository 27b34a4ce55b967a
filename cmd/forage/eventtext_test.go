package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"forage/crawl"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/export"
	"forage/fetch"
	"forage/store"
	"forage/text"
	"forage/webhook"
)

// TestWebhookTexts: events of new and changed pages carry what these say, of what was kept while crawling, each to whom it was
// promised, as long as the page says that.
func TestWebhookTexts(t *testing.T) {
	var week, requests atomic.Int64
	long := strings.Repeat("Füße über Flüsse. ", 5000)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/":
			io.WriteString(w, "<title>Home</title><p><a href=/a>a</a> <a href=/b>b</a>")
			if week.Load() > 0 {
				io.WriteString(w, "<p><a href=/new>new</a> <a href=/long>long</a>")
			}
		case "/a":
			fmt.Fprintf(w, "<title>A</title><p>It is week %d.", week.Load())
		case "/b":
			io.WriteString(w, "<title>B</title><p>It stays.")
		case "/new":
			io.WriteString(w, "<html lang=de><title>New</title><h1>New</h1><p>It is <b>new</b>.")
		case "/long":
			io.WriteString(w, "<title>Long</title><p>"+long)
		default:
			http.NotFound(w, r)
		}
	}))
	defer web.Close()
	private := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	dir := t.TempDir()
	var c *crawl.Crawl
	for week.Store(0); week.Load() < 3; week.Add(1) { // page /a says something else at the end than when it changed first
		if c != nil {
			c.Close()
		}
		var err error
		if c, err = crawl.Open(crawl.Config{
			Dir: filepath.Join(dir, "store"), Delay: -1, Fetch: fetch.Config{AllowPrivate: private}, At: time.Unix(1_700_000_000+week.Load()*604_800, 0),
			Texts: &crawl.Texts{Folder: filepath.Join(dir, "texts"), Format: text.Markdown},
		}); err != nil {
			t.Fatal(err)
		}
		if week.Load() == 0 {
			_, err = c.Run(t.Context(), []scope.Seed{{URL: web.URL + "/"}}, crawl.Options{})
		} else {
			_, err = c.Revisit(t.Context(), plan.Plan{Full: true}, crawl.Options{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	defer c.Close()
	asked := requests.Load()

	type delivery struct{ to, body string }
	got := make(chan delivery, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- delivery{r.URL.Path, string(b)}
	}))
	defer hook.Close()
	texts := export.NewEventTexts(c.DB())
	defer texts.Close()
	s, err := webhook.New(webhook.Options{DB: c.DB(), Write: c.Write, Text: texts.Add}, []webhook.Target{
		{Name: "markdown", URL: hook.URL + "/markdown", Text: text.Markdown, Allow: private},
		{Name: "plain", URL: hook.URL + "/plain", Text: text.Plain, Allow: private},
		{Name: "none", URL: hook.URL + "/none", Allow: private},
		{Name: "template", URL: hook.URL + "/template", Text: text.Markdown, Template: "{{.title}}|{{.text}}|{{.text_truncated}}", Allow: private},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"markdown", "plain", "none", "template"} {
		if _, err := s.Redeliver(name, webhook.Redelivery{After: new(uint64)}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	bodies := map[string]map[string]string{} // by target and title
	var first, second string                 // of what /a says
	for n, all := 0, 4*numEvents(t, c.DB()); n < all; n++ {
		var d delivery
		select {
		case d = <-got:
		case <-time.After(time.Minute):
			t.Fatalf("%d deliveries of %d", n, all)
		}
		var e struct{ Title, Type string }
		if d.to == "/template" {
			e.Title, _, _ = strings.Cut(d.body, "|")
		} else if err := json.Unmarshal([]byte(d.body), &e); err != nil {
			t.Fatalf("%v: %s", err, d.body)
		}
		if d.to == "/markdown" && e.Title == "A" {
			first, second = second, d.body
		}
		if bodies[d.to] == nil {
			bodies[d.to] = map[string]string{}
		}
		bodies[d.to][e.Title] = d.body
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if requests.Load() != asked {
		t.Error("something was fetched for it")
	}
	if b := bodies["/markdown"]["New"]; !strings.Contains(b, `"text":"# New\n\nIt is **new**.","lang":"de"`) || strings.Contains(b, "text_truncated") {
		t.Errorf("%s", b)
	}
	if strings.Contains(first, `"text"`) || !strings.Contains(second, `"text":"It is week 2."`) {
		t.Errorf("%s\n%s", first, second)
	}
	for _, to := range []string{"/plain", "/none"} { // it is not kept like that, and was not asked for
		for title, b := range bodies[to] {
			if strings.Contains(b, `"text"`) {
				t.Errorf("%s: %s: %s", to, title, b)
			}
		}
	}
	var cut struct {
		Text      string
		Truncated bool `json:"text_truncated"`
	}
	if err := json.Unmarshal([]byte(bodies["/markdown"]["Long"]), &cut); err != nil {
		t.Fatal(err)
	}
	if len(cut.Text) > 64_000 || len(cut.Text) < 64_000-3 || !cut.Truncated || !utf8.ValidString(cut.Text) || !strings.HasPrefix(long, cut.Text) {
		t.Errorf("%d bytes, cut %v", len(cut.Text), cut.Truncated)
	}
	if b := bodies["/template"]["New"]; b != "New|# New\n\nIt is **new**.|" {
		t.Errorf("%q", b)
	}
	if err := c.DB().View.Deliveries(func(name string, seq uint64, b []byte) bool {
		if len(b) > 1000 {
			t.Errorf("%s, %d: the store has %d bytes of it", name, seq, len(b))
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
}

// numEvents counts what happened.
func numEvents(t *testing.T, db *store.DB) (n int) {
	t.Helper()
	if err := db.View.Events(0, func(e *store.Event) bool {
		n++
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return n
}
