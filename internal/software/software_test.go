package software

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func get(t *testing.T, s *Site, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest("GET", "http://site.test"+path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// each runs a test on a small site of every kind.
func each(t *testing.T, do func(t *testing.T, s *Site)) {
	for _, k := range Kinds {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			s, err := New(k.Name, Config{Pages: 30, Weeks: 3, Published: 3, Deleted: 3, Renamed: 2, Edited: 3, Seed: 5})
			if err != nil {
				t.Fatal(err)
			}
			do(t, s)
		})
	}
}

// TestTruth: at any time each content page answers at its address and shows itself, before it is
// published it does not, and after it was deleted or renamed its old address shows it no more,
// unless it leads to the new one.
func TestTruth(t *testing.T) {
	each(t, func(t *testing.T, s *Site) {
		end := Start.Add(time.Duration(s.Weeks()) * Week)
		count := map[What]int{}
		for _, c := range s.Changes(Start, end) {
			count[c.What]++
			before, after := c.Time.Add(-time.Second), c.Time
			shows := func(at time.Time, path string) bool {
				look, err := s.Ask(at, path)
				if err != nil {
					t.Fatal(err)
				}
				return look.HTML && look.Page == c.Page
			}
			if c.From != "" && !shows(before, c.From) {
				t.Errorf("%v: %s does not show page %d before", c, c.From, c.Page)
			}
			if c.To != "" && !shows(after, c.To) {
				t.Errorf("%v: %s does not show page %d after", c, c.To, c.Page)
			}
			switch c.What {
			case Published:
				if shows(before, c.To) {
					t.Errorf("%v: %s shows it before", c, c.To)
				}
			case Deleted:
				if shows(after, c.From) {
					t.Errorf("%v: %s shows it after", c, c.From)
				}
			}
		}
		full := s.Kind.Full
		if full.Pages > 0 && (count[Published] != 9 || count[Edited] == 0) || full.Deleted > 0 && count[Deleted] != 9 {
			t.Errorf("changes: %v; want 9 pages published, some edited, 9 deleted", count)
		}
		for _, at := range []time.Time{Start, end} {
			seen := map[int]bool{}
			for _, path := range s.Content(at) {
				look, err := s.Ask(at, path)
				if err != nil || look.Page == 0 || seen[look.Page] {
					t.Errorf("at %v %s is %+v, %v", at, path, look, err)
				}
				seen[look.Page] = true
			}
		}
	})
}

var href = regexp.MustCompile(`<a [^>]*href=["']([^"'#]*)`)

// TestLinks follows links, addresses with few parameters first, since what there is without end
// has many: few lead to nothing, and every content page is reached.
func TestLinks(t *testing.T) {
	each(t, func(t *testing.T, s *Site) {
		const most = 3000
		todo, seen := []string{"/"}, map[string]bool{"/": true}
		reached := map[int]bool{}
		var failed []string
		for len(todo) > 0 && len(seen) < most {
			at := 0
			for i, p := range todo {
				if params(p) < params(todo[at]) {
					at = i
				}
			}
			path := todo[at]
			todo = slices.Delete(todo, at, at+1)
			base, err := url.Parse("http://site.test" + path)
			if err != nil {
				t.Fatal(err)
			}
			r := get(t, s, path, "Cookie", sessionCookie+"=1")
			if r.StatusCode >= 400 {
				failed = append(failed, fmt.Sprintf("%d %s", r.StatusCode, path))
			}
			if look, err := s.Ask(Start, path); err != nil {
				t.Fatal(err)
			} else if look.Page != 0 {
				reached[look.Page] = true
			}
			if to := r.Header.Get("Location"); to != "" {
				if to = strings.TrimPrefix(to, "http://site.test"); !seen[to] {
					seen[to] = true
					todo = append(todo, to)
				}
				continue
			}
			if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
				continue
			}
			for _, m := range href.FindAllStringSubmatch(body(t, r), -1) {
				u, err := url.Parse(html.UnescapeString(m[1]))
				if err != nil {
					t.Fatalf("%s links to %q: %v", path, m[1], err)
				}
				if u = base.ResolveReference(u); u.Host == "site.test" && !seen[u.RequestURI()] {
					to := u.RequestURI()
					seen[to] = true
					todo = append(todo, to)
				}
			}
		}
		if len(failed) > len(seen)/50 {
			t.Errorf("of %d URLs %d are not there: %s", len(seen), len(failed), strings.Join(failed[:min(40, len(failed))], ", "))
		}
		if want := len(s.Content(Start)); len(reached) != want {
			t.Errorf("%d of %d content pages within %d URLs", len(reached), want, len(seen))
		}
	})
}

func params(address string) int {
	return strings.Count(address, "?") + strings.Count(address, "&") + strings.Count(address, ";")
}

// TestSame: the same configuration gives the same site, another seed another one.
func TestSame(t *testing.T) {
	each(t, func(t *testing.T, s *Site) {
		again, err := New(s.Kind.Name, s.config)
		if err != nil {
			t.Fatal(err)
		}
		c := s.config
		c.Seed++
		other, err := New(s.Kind.Name, c)
		if err != nil {
			t.Fatal(err)
		}
		same, differ := 0, 0
		for _, path := range s.Content(Start) {
			first := body(t, get(t, s, path))
			if first != body(t, get(t, again, path)) {
				t.Errorf("%s differs in a second site of the same configuration", path)
			}
			same++
			if r := get(t, other, path); r.StatusCode != 200 || body(t, r) != first {
				differ++
			}
		}
		if s.Kind.Full.Pages > 0 && (same == 0 || differ == 0) {
			t.Errorf("%d pages compared, %d differ with another seed", same, differ)
		}
	})
}
