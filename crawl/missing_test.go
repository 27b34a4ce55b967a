package crawl

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"forage/store"
)

// A tracker has issues at /view?id=N and two lists of them, neither of which is a sitemap. What is not
// there answers 200 and repeats its number.
func newTracker(t *testing.T, n int) (w *web, remove func(id int), update func()) {
	w = newWeb(t)
	var ids []int
	for i := range n {
		ids = append(ids, 10+i)
	}
	w.other = func(rw http.ResponseWriter, r *http.Request) {
		var id int
		fmt.Sscan(r.URL.Query().Get("id"), &id)
		switch rw.Header().Set("Content-Type", "text/html"); {
		case r.URL.Path != "/view":
			http.NotFound(rw, r)
		case slices.Contains(ids, id):
			fmt.Fprintf(rw, "<title>Issue %d</title><p>What is to be said about issue %d is said here, and nowhere else.<p>It is the issue that has the number %d, and %s<a href=/>home</a>", id, id, id, words(id))
		default:
			fmt.Fprintf(rw, "<title>Tracker</title><p>Issue %d was not found, which somebody may regret.<a href=/>home</a>", id)
		}
	}
	update = func() {
		var all []string
		for _, id := range ids {
			all = append(all, fmt.Sprintf("/view?id=%d", id))
		}
		w.set("/", page("issues", all...))
	}
	update()
	return w, func(id int) { ids = slices.DeleteFunc(ids, func(i int) bool { return i == id }) }, update
}

// words makes a text for a number that no other has.
func words(n int) string {
	s := ""
	for ; n > 0; n /= 2 {
		s += []string{"even ", "odd "}[n%2]
	}
	return s
}

// TestMissing: a page that says that it is not there, as the site says it of an address that nobody ever
// had, is gone; one whose text was written anew is not. The site is asked once.
func TestMissing(t *testing.T) {
	w, remove, update := newTracker(t, 20)
	c := open(t, func(cfg *Config) { cfg.Parallel = 1 })
	w.crawl(t, c, store.Rules{})
	remove(13)
	remove(21)
	update()
	w.set("/view?id=15", page("A text that was written anew from its beginning to the end of it", "/"))
	p := budgeted(30)
	p.CheckGone = .5
	before := w.total()
	r := w.revisit(t, c, p)
	if asked := w.total() - before - int(r.Refetched); asked > 3 { // a sitemap, what is not there, and for the text that is another
		t.Errorf("%d requests beside those of %d old documents", asked, r.Refetched)
	}
	for path, gone := range map[string]bool{"/view?id=13": true, "/view?id=21": true, "/view?id=15": false, "/view?id=14": false} {
		if d := w.doc(t, c, path); (d.Gone != 0) != gone || gone && d.Title == "Tracker" {
			t.Errorf("%s is gone: %v, %q", path, d.Gone != 0, d.Title)
		}
	}
	if s, err := c.View().Site(1); err != nil || len(s.Missing) != 1 || s.Missing[0].Says == 0 {
		t.Errorf("of what is not there %+v is known, %v", s.Missing, err)
	}
}
