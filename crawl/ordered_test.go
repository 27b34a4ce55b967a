package crawl

import (
	"fmt"
	"testing"

	"forage/store"
)

// TestOrderOf: who orders a first visit follows from what was asked for, and from the limits of the site.
func TestOrderOf(t *testing.T) {
	for _, c := range []struct {
		asked string
		rules store.Rules
		want  string
	}{
		{"", store.Rules{}, ""},
		{"", store.Rules{Budget: 60}, "best"},
		{"", store.Rules{MaxPages: 60}, "best"},
		{"", store.Rules{Budget: maxOrdered}, "best"},
		{"", store.Rules{MaxPages: maxOrdered + 1}, ""},
		{"", store.Rules{MaxPages: maxOrdered + 1, Budget: 60}, "best"},
		{"", store.Rules{Budget: 60, Scope: "domain"}, ""},
		{"", store.Rules{Budget: 60, All: true}, ""},
		{"bfs", store.Rules{Budget: 60}, ""},
		{"de", store.Rules{}, "de"},
		{"best", store.Rules{Scope: "domain"}, "best"},
	} {
		if got := orderOf(c.asked, &c.rules); got != c.want {
			t.Errorf("asked for %q with %+v: %q, want %q", c.asked, c.rules, got, c.want)
		}
	}
}

// TestOrderedParts: a visit with a budget that is cut again and again, and whose explorer may be told of three documents at a time, asks
// for each page once, and comes to all of them.
func TestOrderedParts(t *testing.T) {
	t.Parallel()
	for _, told := range []int{3, maxTold} {
		t.Run(fmt.Sprint("told=", told), func(t *testing.T) {
			t.Parallel()
			w := newWeb(t)
			w.pages["/robots.txt"], w.pages["/sitemap.xml"] = plain(""), status(404)
			w.tree("/", 40)
			known := int64(0)
			c := open(t, func(cfg *Config) { cfg.Parallel = 1 })
			c.loop.maxTold = told
			for range 20 {
				r := w.crawlWith(t, c, store.Rules{Budget: 200}, Options{MaxTotal: 5})
				if known = r.Known; r.Cut == "" {
					break
				}
			}
			if known != 41 {
				t.Errorf("%d pages known, want 41", known)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			for uri, n := range w.asked {
				if n > 1 && uri != "/robots.txt" {
					t.Errorf("%s was asked for %d times", uri, n)
				}
			}
		})
	}
}
