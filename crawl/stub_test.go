package crawl

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"forage/crawl/plan"
	"forage/store"
)

// stub is a page that leads away by meta refresh after some seconds.
func stub(seconds int, to string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, `<!DOCTYPE html><title>moved</title><meta http-equiv="refresh" content="%d; url=%s"><p><a href="%[2]s">here</a>`, seconds, to)
	}
}

// TestStubs follows pages that lead away by meta refresh. They are pages; but one that a budgeted
// cycle finds is not told as new before it is a page of its own. Its target is.
func TestStubs(t *testing.T) {
	w := newWeb(t)
	var links []string
	home := func(more ...string) {
		links = append(links, more...)
		w.set("/", page("home", links...))
	}
	set := func(paths ...string) {
		for _, p := range paths {
			w.set(p, page(p))
		}
	}
	home("/moved", "/moves", "/out")
	w.set("/moved", stub(0, "/target"))
	w.set("/out", stub(0, "http://elsewhere.test/"))
	set("/target", "/moves")
	c := open(t, nil)
	// check compares what a cycle counted, and which pages a list has as new, or perhaps new, in it.
	check := func(r *Result, fresh, perhaps []string) {
		t.Helper()
		if len(fresh) != int(r.NewPages) || len(perhaps) != int(r.Unknown) {
			t.Errorf("cycle %d counts %d new pages and %d that may be new, want %d and %d", r.Cycle, r.NewPages, r.Unknown, len(fresh), len(perhaps))
		}
		for n, want := range map[store.Novelty][]string{store.IsNew: fresh, store.MaybeNew: perhaps} {
			got := slices.Sorted(maps.Keys(pagesOf(t, c.View(), func(d *store.Doc) bool { return d.New == n && d.Cycle == r.Cycle })))
			if !slices.Equal(got, slices.Sorted(slices.Values(want))) {
				t.Errorf("new in cycle %d, %v: %q, want %q", r.Cycle, n, got, want)
			}
		}
		counts, err := c.View().Counters(w.doc(t, c, "/").Site)
		if all := len(pagesOf(t, c.View(), func(d *store.Doc) bool { return d.New == store.IsNew })); err != nil || int(counts.New) != all {
			t.Errorf("after cycle %d the site counts %d new pages, %v; a list has %d", r.Cycle, counts.New, err, all)
		}
	}
	if r := w.crawl(t, c, store.Rules{}); r.Pages != 5 || r.NewPages != 0 {
		t.Errorf("%d pages at first, %d of them new; want 5, 0", r.Pages, r.NewPages)
	}

	// What stubs lead to is new, be it by one after another; they are not. One that waits for long
	// is there to be read.
	all := plan.Plan{Policy: "round-robin", Budget: func(n int) int { return 20 }}
	w.set("/fresh", stub(5, "/fresh/stub"))
	w.set("/fresh/stub", stub(0, "/fresh/target"))
	w.set("/slow", stub(30, "/later"))
	w.set("/moves", stub(0, "/moves/target"))
	set("/fresh/target", "/moves/target", "/later")
	home("/fresh", "/slow")
	check(w.revisit(t, c, all), []string{"/fresh/target", "/moves/target", "/slow", "/later"}, []string{"/fresh", "/fresh/stub"})

	// A stub that leads elsewhere now is one still, and what it leads to is new.
	w.set("/fresh", stub(0, "/fresh/other"))
	set("/fresh/other")
	check(w.revisit(t, c, all), []string{"/fresh/other"}, nil)

	// Stubs become pages: new where nobody could tell. The page that had become one is known.
	set("/fresh", "/moved", "/moves")
	r := w.revisit(t, c, all)
	check(r, []string{"/fresh"}, nil)
	if d := w.doc(t, c, "/fresh"); d.FirstSeen != d.LastFetched || r.Pages != 0 {
		t.Errorf("/fresh is new since %d, fetched at %d; %d pages more", d.FirstSeen, d.LastFetched, r.Pages)
	}
	w.set("/fresh", stub(0, "/target")) // and remains it
	check(w.revisit(t, c, all), nil, nil)

	// In a full recrawl new is what was not known before; a stub may turn into a page there, too.
	w.set("/late", stub(0, "/late/target"))
	set("/late/target", "/fresh/stub")
	home("/late")
	check(w.revisit(t, c, plan.Plan{Full: true}), []string{"/late", "/late/target", "/fresh/stub"}, nil)
	set("/late")
	check(w.revisit(t, c, all), nil, nil)
}
