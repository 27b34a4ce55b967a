package main

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"forage/store"
)

// TestStatusWidth prints the status of stores with 1 and 20 sites: no line is wider than a
// terminal of 100 columns but for URLs at the end, and hubs do not fill the screen.
func TestStatusWidth(t *testing.T) {
	for _, n := range []int{1, 20} {
		s := &status{Sites: n, Pages: 123456, Cycles: 2}
		for i := range n {
			d := &discoveryStatus{Cycles: 30, Refetched: 12345, Found: 6789, Overhead: 1.82, Coverage: .931, Low: .812, High: .985, HubShare: .91}
			for j := range 5 {
				d.Hubs = append(d.Hubs, hubJSON{URL: fmt.Sprintf("https://www.example%02d.org/archive/%d", i, j), Led: 900, Adds: 800 >> j, Fetches: 30, LastFetched: "2026-01-22T00:00:00Z"})
			}
			s.BySite = append(s.BySite, siteStatus{Site: fmt.Sprintf("www.example%02d.org", i), State: "done", Pages: 12345, New: 6789, Gone: 12,
				Feeds: 34, Skipped: 567, Crawled: "2026-01-22T00:00:00Z", Discovery: d})
		}
		for _, lists := range []bool{false, true} {
			var b strings.Builder
			if err := s.print(&b, lists); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
			for _, l := range lines {
				if utf8.RuneCountInString(l) > 100 {
					t.Errorf("%d sites: %d columns: %s", n, utf8.RuneCountInString(l), l)
				}
			}
			want := 2 + 1 + n + 2 + n // counts, both tables
			if lists {
				want += n * 8
			}
			if len(lines) != want {
				t.Errorf("%d sites, hubs %v: %d lines, want %d:\n%s", n, lists, len(lines), want, b.String())
			}
		}
	}
}

// TestStatusNotes: what is told of a site below the table comes in one order.
func TestStatusNotes(t *testing.T) {
	s := &status{Sites: 1, BySite: []siteStatus{{Site: "a.test", State: "done", Reason: "stopped by --max-pages", Partial: "cut",
		LeftOutGroups: []store.LeftOut{{Group: "/day/#", URLs: 2, Why: "hundreds of pages"}, {Group: "?sort=", URLs: 1, Fetched: 20, Why: "the page is the same"}},
		Traps:         []string{"/cal/"}, Waiting: map[string]int{"timeout": 1, "503": 2}}}}
	const want = `  a.test: stopped by --max-pages
  a.test: first visit partial: cut
  a.test: 2 URLs of /day/# left out, and what they alone lead to: hundreds of pages
  a.test: 1 URL of ?sort= left out: 20 others fetched, the page is the same
  a.test: 'forage crawl --all URL' fetches what is left out
  a.test: trap: /cal/
  a.test: 2 URLs waiting or failed for "503"
  a.test: 1 URL waiting or failed for "timeout"
`
	for range 20 {
		var b strings.Builder
		if err := s.print(&b, false); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Fatalf("status:\n%s\nwant in it:\n%s", b.String(), want)
		}
	}
}
