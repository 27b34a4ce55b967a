package serve

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// An addPage is the form for a site, and what it says of itself.
type addPage struct {
	Settings         Settings
	Include, Exclude string // a pattern on each line
	Wrong            string // why the settings do not work
	Exists           string // the name of the site that is watched already
	*Preview
	First time.Duration // that a first visit takes by its delay alone
	Bytes int64         // that it brings; 0: it is not known
	Daily float64       // pages that became new or changed a day
}

// uiAdd is the form.
func (s *server) uiAdd(r *http.Request, f *uiFrame) (string, error) {
	f.Title, f.Here = "Add a site", "add"
	f.Page = &addPage{Settings: Settings{URL: r.URL.Query().Get("url")}}
	return "add", nil
}

// uiPreview is the form with what a look at the site found: it is a POST, as it has something fetched.
func (s *server) uiPreview(r *http.Request, f *uiFrame) (string, error) {
	f.Title, f.Here = "Add a site", "add"
	p := &addPage{}
	f.Page = p
	var err error
	if p.Settings, err = formSettings(r); err != nil {
		return "", err
	}
	p.Include, p.Exclude = strings.Join(p.Settings.Include, "\n"), strings.Join(p.Settings.Exclude, "\n")
	select {
	case s.looks <- struct{}{}:
		defer func() { <-s.looks }()
	default:
		return "", tooMany(fmt.Sprintf("%d sites are being looked at", maxLooks), "30")
	}
	p.Preview, err = s.Watch.Preview(r.Context(), p.Settings)
	switch {
	case errors.Is(err, ErrInvalid):
		p.Wrong = err.Error()
	case errors.Is(err, ErrExists):
		p.Exists, _, _ = strings.Cut(err.Error(), ": ")
	case err != nil:
		return "", err
	default:
		pages := p.URLs
		if n := p.Settings.MaxPages; n > 0 {
			pages = min(pages, n)
		}
		p.First, p.Bytes, p.Daily = time.Duration(pages)*p.Delay, int64(pages)*p.Usual, float64(p.Recent)/30
	}
	return "add", nil
}

// maxLooks is how many sites are looked at at the same time: each look holds the URLs of its lists.
const maxLooks = 8

// addByForm watches the site of a form.
func (s *server) addByForm(w http.ResponseWriter, r *http.Request) {
	settings, err := formSettings(r)
	if err == nil {
		var added []Site
		if added, err = s.Watch.Add(r.Context(), []Settings{settings}); err == nil {
			http.Redirect(w, r, s.At+sitePath(added[0].Name)+"?said=added", http.StatusSeeOther)
			return
		}
	}
	s.page(w, r, func(*http.Request, *uiFrame) (string, error) { return "", err })
}

// formSettings reads the settings of a form.
func formSettings(r *http.Request) (set Settings, err error) {
	if err := r.ParseForm(); err != nil {
		return set, huma.Error400BadRequest("the form cannot be read: " + err.Error())
	}
	form := r.PostForm
	get := func(key string) string { return strings.TrimSpace(form.Get(key)) }
	set = Settings{URL: get("url"), Budget: get("budget"), Every: get("every"), Window: get("window"), Scope: get("scope"), Delay: get("delay"), Include: formLines(form, "include"), Exclude: formLines(form, "exclude")}
	if text := get("max_pages"); text != "" {
		if set.MaxPages, err = strconv.Atoi(text); err != nil || set.MaxPages < 0 {
			return set, huma.Error400BadRequest(fmt.Sprintf("pages at most: %q is no number", text))
		}
	}
	if set.URL != "" && !strings.Contains(set.URL, "://") {
		set.URL = "https://" + set.URL
	}
	return set, nil
}

// formLines are the lines of a field that say something.
func formLines(form url.Values, key string) (lines []string) {
	for line := range strings.Lines(form.Get(key)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
