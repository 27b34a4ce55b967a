package watch

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"forage/store"
)

func TestOptOut(t *testing.T) {
	for _, c := range []struct {
		text     string
		out, not []string
	}{
		{"example.org", []string{"http://example.org/", "https://blog.example.org/a", "https://example.org:8443/?x", "https://user@example.org/", "http://example.org"},
			[]string{"https://example.org.evil.test/", "https://notexample.org/", "https://a.test/example.org/", "https://a.test/?u=http://example.org/", "https://example-org/"}},
		{"127.0.0.1:8080", []string{"http://127.0.0.1:8080/x"}, []string{"http://127.0.0.1:8081/x", "http://127.0.0.1/"}},
		{"https://example.org/private/", []string{"https://example.org/private/a", "http://example.org/private/"}, []string{"https://example.org/", "https://example.org/private", "https://b.example.org/private/"}},
		{"https://Example.org/a?b=", []string{"https://example.org/a?b=1"}, []string{"https://example.org/a"}},
	} {
		o, err := parseOptOut(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		re := regexp.MustCompile(o.pattern)
		for _, u := range c.out {
			if !re.MatchString(u) {
				t.Errorf("%s: %s may be fetched", c.text, u)
			}
		}
		for _, u := range c.not {
			if re.MatchString(u) {
				t.Errorf("%s: %s may not be fetched", c.text, u)
			}
		}
	}
	for text, want := range map[string]string{
		"opt_out: '*.example.org'\nsites: []":                                   `1:10: opt_out: want a host such as example.org`,
		"opt_out: [ftp://a.test/]":                                              "1:11: opt_out: ",
		"opt_out: blog.example\nsites: [{url: https://a.blog.example/}]":        "2:9: https://a.blog.example/ is not to be watched: opt_out has blog.example",
		"opt-out: ['https://a.test/x']\nsites:\n  - {url: http://a.test/x/y}\n": "3:5: http://a.test/x/y is not to be watched: opt_out has https://a.test/x",
	} {
		if _, err := Parse("forage.yaml", []byte(text), environment); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	c, err := Parse("forage.yaml", []byte("opt_out: [old.example.org, else.test, https://www.example.org/p]\nsites: [{url: https://www.example.org/, scope: domain}]"), environment)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(c.Sites[0].Rules.Exclude); n != 2 {
		t.Errorf("%d patterns, want those of its own domain: %q", n, c.Sites[0].Rules.Exclude)
	}
	if _, err := c.Site([]byte(`{"url": "https://else.test/"}`)); err == nil {
		t.Error("a site that is not to be fetched is added")
	}
}

// TestOptOutQueued: what is not to be fetched from now on is not, though it waits in a visit under way; and comes when that is over.
func TestOptOutQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlog(t, 400)
		b.set(func(b *blog) { b.slow = 10 * time.Second })
		conf := fmt.Sprintf("sites: [{url: %s/, every: 1h, budget: 5}]", b.URL)
		w := begin(t, t.TempDir(), conf)
		states := func() (fetched, queued, skipped int64) {
			t.Helper()
			counts, err := w.Crawl.View().Counters(1)
			if err != nil {
				t.Fatal(err)
			}
			return counts.State[store.Fetched], counts.State[store.Queued], counts.State[store.Skipped]
		}
		time.Sleep(time.Minute)
		was, waited, _ := states()
		if was < 2 || waited < 100 {
			t.Fatalf("after a minute %d are fetched, %d wait", was, waited)
		}
		if err := w.Reload(configOf(t, "opt_out: "+b.URL+"/post/\n"+conf)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Minute)
		// Those under way came to their end; a post that was fetched is left out, too.
		if fetched, queued, skipped := states(); fetched > 2 || queued > 0 || skipped < 390 {
			t.Errorf("after opting out %d are fetched, %d wait, %d are left out", fetched, queued, skipped)
		}
		if err := w.Reload(configOf(t, conf)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Hour)
		if fetched, queued, skipped := states(); fetched < 400 || queued > 0 || skipped > 1 {
			t.Errorf("after that was taken back %d are fetched, %d wait, %d are left out", fetched, queued, skipped)
		}
	})
}
