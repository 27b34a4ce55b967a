package crawl

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forage/crawl/plan"
	"forage/fetch"
	"forage/store"
)

// TestActions crawls a site as somebody who is logged in, by a cookie or by a header field, and as
// nobody: what logs out, deletes or fills carts is left alone where a request for it would do so.
func TestActions(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3tS3CR3T"
	acting := []string{"/logout", "/posts/1/delete", "/shop?add-to-cart=5", "/do?x=1", "/edit?_wpnonce=1", "/go"}
	for _, test := range []struct {
		name string
		set  func(*Config, *web)
		in   bool
	}{
		{"nobody", func(*Config, *web) {}, false},
		{"a cookie", func(cfg *Config, _ *web) {
			cfg.Fetch.Cookies = cookies(t, "127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\t"+secret)
		}, true},
		{"a cookie of another path", func(cfg *Config, _ *web) {
			cfg.Fetch.Cookies = cookies(t, "127.0.0.1\tFALSE\t/other\tFALSE\t0\tsid\t"+secret)
		}, false},
		{"a cookie for https", func(cfg *Config, _ *web) {
			cfg.Fetch.Cookies = cookies(t, "127.0.0.1\tFALSE\t/\tTRUE\t0\tsid\t"+secret)
		}, false},
		{"a header field", func(cfg *Config, w *web) {
			cfg.Fetch.Fields = []fetch.SiteField{{Host: w.Listener.Addr().String(), Name: "Authorization", Value: "Bearer " + secret}}
		}, true},
		{"a header field that tells nothing", func(cfg *Config, w *web) {
			cfg.Fetch.Fields = []fetch.SiteField{{Host: w.Listener.Addr().String(), Name: "Accept-Language", Value: "de"}}
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w, other := newWeb(t), newWeb(t)
			leaked := false
			watch := func(h http.HandlerFunc) http.HandlerFunc {
				return func(rw http.ResponseWriter, r *http.Request) {
					if r.Header.Get("Authorization") != "" {
						leaked = true
					}
					h(rw, r)
				}
			}
			other.pages["/"] = watch(page("other"))
			w.pages["/"] = func(rw http.ResponseWriter, r *http.Request) {
				page("home", "/a", "/logout", "/posts/1/delete", "/shop?add-to-cart=5", "/edit?_wpnonce=1", "/jump", "/away", "/quietly")(rw, r)
				rw.Write([]byte(`<a href="/do?x=1">Delete</a><a href="/go" data-method=delete>x</a>`))
			}
			w.pages["/a"] = page("a", "/b")
			w.pages["/b"] = page("b")
			w.pages["/jump"] = redirect(302, "/logout?all")
			w.pages["/away"] = redirect(302, other.URL+"/")
			for _, p := range append(slices.Clone(acting), "/logout?all") {
				w.pages[p] = page("done: " + p)
			}
			var dir string
			c := open(t, func(cfg *Config) { test.set(cfg, w); dir = cfg.Dir })
			w.crawl(t, c, store.Rules{})
			w.revisit(t, c, plan.Plan{Full: true})
			if _, err := c.Run(t.Context(), other.seed("/", store.Rules{}), Options{}); err != nil || leaked {
				t.Errorf("%v, the other host saw the field: %t", err, leaked)
			}
			n := int64(0)
			for _, p := range append(slices.Clone(acting), "/logout?all") {
				asked, d := w.count(p), w.doc(t, c, p)
				if (asked == 0) != test.in || (d.State == store.Skipped && d.Reason == store.ReasonAction) != test.in {
					t.Errorf("%s was asked for %d times, and is %v %s", p, asked, d.State, d.Reason)
				}
				n++
			}
			if counts, err := c.View().Counters(1); err != nil || (counts.Actions == n) != test.in {
				t.Errorf("%d actions, %v", counts.Actions, err)
			}
			for _, p := range []string{"/a", "/b", "/jump", "/away"} {
				if w.count(p) == 0 {
					t.Errorf("%s was not asked for", p)
				}
			}
			if !test.in {
				return
			}
			// By hand, it is fetched.
			if _, err := c.Run(t.Context(), w.seed("/logout", store.Rules{}), Options{}); err != nil || w.count("/logout") != 1 || w.count("/go") != 0 {
				t.Errorf("given by hand: %v, %d requests", err, w.count("/logout"))
			}
			if err := c.DB().Sync(); err != nil {
				t.Fatal(err)
			}
			if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
				if err != nil || !e.Type().IsRegular() {
					return nil
				}
				if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte(secret)) {
					t.Errorf("the secret is in %s", path)
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestActionsLater logs in at a site that was crawled before: what is known to act is not asked
// for again.
func TestActionsLater(t *testing.T) {
	t.Parallel()
	w := newWeb(t)
	w.pages["/"] = page("home", "/a", "/logout")
	w.pages["/a"], w.pages["/logout"] = page("a"), page("bye")
	dir := t.TempDir()
	crawl := func(set func(*Config), then func(*Crawl)) {
		cfg := local(dir)
		set(&cfg)
		c, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		then(c)
	}
	crawl(func(*Config) {}, func(c *Crawl) { w.crawl(t, c, store.Rules{}) })
	crawl(func(cfg *Config) { cfg.Fetch.Cookies = cookies(t, "127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\tx") }, func(c *Crawl) {
		w.revisit(t, c, plan.Plan{Full: true})
		w.revisit(t, c, plan.Plan{Budget: func(int) int { return 3 }, Text: "3"})
	})
	if w.count("/logout") != 1 || w.count("/a") < 2 {
		t.Errorf("requests: %v", w.asked)
	}
}

func cookies(t *testing.T, line string) *fetch.Cookies {
	t.Helper()
	c, err := fetch.ReadCookies(strings.NewReader(line+"\n"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return c
}
