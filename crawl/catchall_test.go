package crawl

import (
	"testing"
	"time"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/graph"
	"forage/internal/software"
	"forage/store"
)

// TestCatchAllSites visits applications behind servers that answer every path with the home page,
// for the first time and each week after: all content is found, the home page is a page of its own,
// and what was taken down is no page any more once it was fetched again.
func TestCatchAllSites(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"catch-all", "catch-all-small"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			site, err := software.New(kind, software.Config{})
			if err != nil {
				t.Fatal(err)
			}
			web := lan.Server("127.0.0.1:0", site)
			t.Cleanup(web.Close)
			at := software.Start
			c := open(t, nil)
			for week := 0; week <= site.Weeks(); week++ {
				site.At(at)
				var r *Result
				if week == 0 {
					r, err = c.Run(t.Context(), []scope.Seed{{URL: web.URL + "/"}}, Options{})
				} else {
					r, err = c.Revisit(t.Context(), plan.Plan{Full: true}, Options{})
				}
				if err != nil || len(r.Failed) > 0 || len(r.Shells) > 0 {
					t.Fatalf("week %d: %+v, %v", week, r, err)
				}
				pages := map[string]bool{}
				if err := c.View().SiteDocs(1, func(d *store.Doc) bool {
					if d.IsPage() && d.DuplicateOf == graph.None && d.Gone == 0 {
						pages[d.URL[len(web.URL):]] = true
					}
					return true
				}); err != nil {
					t.Fatal(err)
				}
				truth := map[string]bool{}
				for _, p := range site.Content(at) {
					truth[p] = true
					if !pages[p] {
						t.Errorf("week %d: %s is not found", week, p)
					}
				}
				t.Logf("week %d: %d fetched, %d pages, %d of content, %d new", week, r.Fetched, len(pages), len(truth), r.NewPages)
				for _, change := range site.Changes(software.Start, at) {
					if p := change.From; p != "" && !truth[p] && pages[p] {
						t.Errorf("week %d: %s is listed, and was taken down on %v", week, p, change.Time)
					}
				}
				if week > 0 && !pages["/"] {
					t.Errorf("week %d: the home page is not listed", week)
				}
				at = at.Add(7 * 24 * time.Hour)
			}
		})
	}
}
