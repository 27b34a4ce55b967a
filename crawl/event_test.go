package crawl

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"forage/crawl/plan"
	"forage/internal/race"
	"forage/store"
)

// eventsOf returns the events of a store after a number, as words.
func eventsOf(t *testing.T, c *Crawl, base string, after uint64) (all []string) {
	t.Helper()
	if err := c.View().Events(after, func(e *store.Event) bool {
		if e.Seq != after+1 {
			t.Errorf("event %d follows %d", e.Seq, after)
		}
		after = e.Seq
		all = append(all, strings.TrimSpace(fmt.Sprint(e.Type, " ", strings.TrimPrefix(e.URL, base))))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// instead has the web answer so for all that has no page.
func (w *web) instead(h http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.other = h
}

// TestEvents has a site publish, change, rename and delete pages, fail and come back: what is told is that, each
// once, and the pages told as new are those that lists of new pages have.
func TestEvents(t *testing.T) {
	race.Skip(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		post := func(n int) string { return fmt.Sprintf("/post/%d", n) }
		text := func(n int) string {
			return strings.Repeat(fmt.Sprintf("Of subject %d there is much to be said, and here it is said. ", n), 5)
		}
		publish := func(have ...int) {
			var links []string
			for _, n := range have {
				links = append(links, post(n))
				w.set(post(n), page(text(n), "/"))
			}
			w.set("/", page("home", links...))
		}
		publish(1, 2, 3)
		c := open(t, nil)
		w.crawl(t, c, store.Rules{})
		if got := eventsOf(t, c, w.URL, 0); !slices.Equal(got, []string{"site.ready"}) {
			t.Fatalf("the first visit told %q", got)
		}
		last := uint64(1)
		step := func(want ...string) {
			t.Helper()
			time.Sleep(24 * time.Hour)
			before, err := c.View().LastCycle()
			if err != nil {
				t.Fatal(err)
			}
			w.revisit(t, c, plan.Plan{Budget: func(int) int { return 10 }, Text: "10"})
			got := eventsOf(t, c, w.URL, last)
			last += uint64(len(got))
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("told %q, want %q", got, want)
			}
			listed := pagesOf(t, c.View(), func(d *store.Doc) bool {
				return d.IsListed() && d.New == store.IsNew && d.Moved == 0 && d.Cycle > before
			})
			for _, e := range got {
				if path, ok := strings.CutPrefix(e, "page.new "); ok != listed[path] && ok {
					t.Errorf("%s is told as new, and not listed", path)
				} else {
					delete(listed, path)
				}
			}
			if len(listed) > 0 {
				t.Errorf("not told: %v", listed)
			}
		}
		step()
		publish(1, 2, 3, 4, 5)
		step("page.changed /", "page.new /post/4", "page.new /post/5")
		w.set(post(2), page(text(2)+"More.", "/"))
		w.set(post(3), status(410))
		step("page.changed /post/2", "page.gone /post/3")
		step()
		w.instead(status(503))
		for n := range 6 {
			w.set(post(n), status(503))
		}
		w.set("/", status(503))
		step("site.trouble")
		step()
		w.instead(nil)
		publish(1, 2, 4, 5, 6)
		step("page.changed /", "page.changed /post/2", "page.new /post/6", "site.fine")
	})
}

// TestOnePageIsNoTrouble interrupts visits of a site that is fine, but for a page of it that is not.
func TestOnePageIsNoTrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		links := []string{"/bad"}
		for n := range 300 {
			path := fmt.Sprintf("/%d", n)
			links = append(links, path)
			w.set(path, page(fmt.Sprintf("This is page %d.", n), "/"))
		}
		w.set("/", page("home", links...))
		w.set("/bad", status(500))
		c := open(t, nil)
		for range 2 {
			w.crawlWith(t, c, store.Rules{}, Options{MaxTotal: 130})
		}
		if got := eventsOf(t, c, w.URL, 0); len(got) > 0 {
			t.Errorf("an interrupted visit told %q", got)
		}
		w.crawl(t, c, store.Rules{})
		if got := eventsOf(t, c, w.URL, 0); !slices.Equal(got, []string{"site.ready"}) {
			t.Errorf("the first visit told %q", got)
		}
	})
}

// TestBrokenOff has connections break off in the middle of pages: what came is no change, nor is the whole page
// that comes next.
func TestBrokenOff(t *testing.T) {
	race.Skip(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t)
		whole := page(strings.Repeat("There is much to be said. ", 500), "/a")
		w.set("/", whole)
		w.set("/a", page("a"))
		c := open(t, nil)
		w.crawl(t, c, store.Rules{})
		digest := w.doc(t, c, "/").Digest
		for range 2 {
			for _, h := range []http.HandlerFunc{func(rw http.ResponseWriter, r *http.Request) {
				rec := httptest.NewRecorder()
				whole(rec, r)
				rw.Header().Set("Content-Type", "text/html")
				rw.Header().Set("Content-Length", fmt.Sprint(rec.Body.Len()))
				rw.Write(rec.Body.Bytes()[:rec.Body.Len()/2])
			}, whole} {
				w.set("/", h)
				time.Sleep(24 * time.Hour)
				w.revisit(t, c, plan.Plan{Full: true, Text: "all"})
			}
		}
		d := w.doc(t, c, "/")
		if got := eventsOf(t, c, w.URL, 0); !slices.Equal(got, []string{"site.ready"}) || d.Digest != digest || d.Changes != 0 || d.Visits != 5 || d.Truncated {
			t.Errorf("told %q; %d changes in %d visits", got, d.Changes, d.Visits)
		}
	})
}
