package serve

import (
	"net/http"
	"slices"
	"strings"

	"forage/fetch/link"
	"forage/report"
	"forage/store"
)

// explainedVisits is how many of the latest visits of a URL a page shows.
const explainedVisits = 50

// uiURL explains a URL.
func (s *server) uiURL(r *http.Request, f *uiFrame) (string, error) {
	f.Title = "URL"
	raw := strings.TrimSpace(r.URL.Query().Get("url"))
	page := struct {
		Raw   string
		Wrong string
		*report.Explanation
		More        bool
		Latest      []*report.Visit // the latest one first
		First, Last []string        // of the path
		Cut         int             // pages of it between them
	}{Raw: raw}
	f.Page = &page
	if raw == "" {
		return "url", nil
	}
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	norm, err := link.Parse(raw)
	if err != nil {
		page.Wrong = err.Error()
		return "url", nil
	}
	err = s.read(func(v *store.View) (err error) {
		if page.Explanation, page.More, err = report.Explain(v, norm, explainedVisits); err != nil || page.Explanation.State != "unknown" || strings.Contains(page.Raw, "://") {
			return err
		}
		other := "https" + strings.TrimPrefix(norm, "http") // the scheme was not given
		e, more, err := report.Explain(v, other, explainedVisits)
		if err == nil && e.State != "unknown" {
			page.Explanation, page.More = e, more
		}
		return err
	})
	if err != nil {
		return "", err
	}
	page.Latest = slices.Clone(page.Visits)
	slices.Reverse(page.Latest)
	const ends = 8
	if page.First = page.Path; len(page.Path) > 2*ends {
		page.First, page.Last, page.Cut = page.Path[:ends], page.Path[len(page.Path)-ends:], len(page.Path)-2*ends
	}
	f.Title = page.URL
	return "url", nil
}
