package watch

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"forage/store"
)

// TestAdopt: a service that may grow takes on what its sites link to, but what opt_out has, and watches it from then on, also after a restart.
func TestAdopt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other, third := newBlog(t, 3), newBlog(t, 3)
		links := lan.Server("127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<!doctype html><title>links</title><p>What I read.<a href=%s/>one</a><a href=%s/>another</a>", other.URL, third.URL)
		}))
		defer links.Close()
		text := fmt.Sprintf("adopt: 5\nopt_out: ['%s/']\ndefaults: {scope: prefix}\nsites:\n- {url: %s/, budget: 100/day}\n", third.URL, links.URL)
		dir := t.TempDir()
		w := begin(t, dir, text)
		names := func() (all []string) {
			for _, st := range w.Sites() {
				all = append(all, st.Name)
			}
			return all
		}
		time.Sleep(time.Hour)
		want := []string{other.name(), links.URL + "/"}
		if got := names(); !slices.Equal(got, want) {
			t.Fatalf("watched are %q, want %q", got, want)
		}
		st, err := w.Site(other.name())
		if err != nil || !strings.Contains(string(st.Settings), `"first_budget":50`) || st.Rules.Robots != "" || st.When.Budget.N != 10 {
			t.Errorf("the adopted site: %+v, %v", st, err)
		}
		rec, err := w.Crawl.View().SiteNamed(other.name())
		if err != nil || rec.Adopted == nil || rec.Adopted.From != links.URL+"/" || !rec.Ready {
			t.Errorf("the adopted site: %+v, %v", rec, err)
		}
		before := other.looks(time.Time{})
		time.Sleep(48 * time.Hour)
		if n := other.looks(time.Time{}) - before; n < 2 {
			t.Errorf("the adopted site was looked at %d times in two days", n)
		}
		other.set(func(b *blog) { b.posts++ })
		w.stop()
		w = begin(t, dir, text)
		time.Sleep(48 * time.Hour)
		if got := names(); !slices.Equal(got, want) {
			t.Errorf("after a restart %q are watched, want %q", got, want)
		}
		var told []string
		if err := w.Crawl.View().Events(0, func(e *store.Event) bool {
			if e.Site == other.name() {
				told = append(told, string(e.Type))
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if got := slices.Compact(told); !slices.Equal(got, []string{"site.adopted", "site.ready", "page.changed", "page.new"}) && !slices.Equal(got, []string{"site.adopted", "site.ready", "page.new", "page.changed"}) {
			t.Errorf("told of it: %q", got)
		}
		// Removed, it stays so.
		if err := w.Remove(other.name()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(48 * time.Hour)
		if got := names(); !slices.Equal(got, want[1:]) {
			t.Errorf("after it was removed %q are watched, want %q", got, want[1:])
		}
		w.stop()
	})
}

// TestAdoptNot: without adopt, or with room for none, a service stays where it is.
func TestAdoptNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := newBlog(t, 3)
		links := lan.Server("127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<!doctype html><title>links</title><p>What I read.<a href=%s/>one</a>", other.URL)
		}))
		defer links.Close()
		w := begin(t, t.TempDir(), fmt.Sprintf("adopt: 0\nsites:\n- {url: %s/}\n", links.URL))
		time.Sleep(2 * time.Hour)
		if n := len(w.Sites()); n != 1 || len(other.homes) != 0 {
			t.Errorf("%d sites are watched, and the other one was asked %d times", n, len(other.homes))
		}
		w.stop()
	})
}
