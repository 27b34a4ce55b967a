package main

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"forage/report"
	"forage/store"
)

// TestStatusWidth prints the status of stores with 1 and 20 sites: no line is wider than a
// terminal of 100 columns but for URLs at the end, and hubs do not fill the screen.
func TestStatusWidth(t *testing.T) {
	for _, n := range []int{1, 20} {
		overhead, coverage, low, high, share, at := 1.82, .931, .812, .985, .91, "2026-01-22T00:00:00Z"
		s := &report.Status{Totals: report.Totals{Sites: n, Pages: 123456, Cycles: 2}}
		for i := range n {
			d := &report.Discovery{Estimate: report.Estimate{Cycles: 30, Refetched: 12345, Found: 6789, Overhead: &overhead, Coverage: &coverage, Low: &low, High: &high}, HubShare: &share}
			for j := range 5 {
				d.Hubs = append(d.Hubs, &report.Hub{URL: fmt.Sprintf("https://www.example%02d.org/archive/%d", i, j), Led: 900, Adds: 800 >> j, Fetches: 30, LastFetched: &at})
			}
			s.BySite = append(s.BySite, report.SiteStatus{SiteCounts: report.SiteCounts{Site: fmt.Sprintf("www.example%02d.org", i), State: "done", Pages: 12345, New: 6789, Gone: 12,
				Feeds: 34, Skipped: 567, Crawled: &at}, Discovery: d})
		}
		for _, lists := range []bool{false, true} {
			var b strings.Builder
			if err := printStatus(&b, s, lists); err != nil {
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
	reason, cut := "stopped by --max-pages", "cut"
	s := &report.Status{Totals: report.Totals{Sites: 1}, BySite: []report.SiteStatus{{SiteCounts: report.SiteCounts{Site: "a.test", State: "done", Reason: &reason, Partial: &cut,
		LeftOutGroups: []store.LeftOut{{Group: "/day/#", URLs: 2, Why: "hundreds of pages"}, {Group: "?sort=", URLs: 1, Fetched: 20, Why: "the page is the same"}},
		Traps:         []string{"/cal/"}}, Waiting: map[string]int{"timeout": 1, "503": 2}}}}
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
		if err := printStatus(&b, s, false); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Fatalf("status:\n%s\nwant in it:\n%s", b.String(), want)
		}
	}
}
