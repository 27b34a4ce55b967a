package software

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
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

// crawl follows links at the site's time, addresses with few parameters first, since what there is
// without end has many, and calls visit with each, up to so many.
func crawl(t *testing.T, s *Site, most int, visit func(path string, r *http.Response)) {
	t.Helper()
	var todo [20][]string // by how many parameters
	todo[0] = []string{"/"}
	seen := map[string]bool{"/": true}
	for range most {
		at := slices.IndexFunc(todo[:], func(some []string) bool { return len(some) > 0 })
		if at < 0 {
			return
		}
		path := todo[at][0]
		todo[at] = todo[at][1:]
		base, err := url.Parse("http://site.test" + path)
		if err != nil {
			t.Fatal(err)
		}
		r := get(t, s, path, "Cookie", sessionCookie+"=1")
		visit(path, r)
		links := []string{r.Header.Get("Location")}
		if strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
			for _, m := range href.FindAllStringSubmatch(body(t, r), -1) {
				links = append(links, html.UnescapeString(m[1]))
			}
		}
		for _, l := range links {
			u, err := url.Parse(l)
			if err != nil {
				t.Fatalf("%s links to %q: %v", path, l, err)
			}
			if u = base.ResolveReference(u); u.Host == "site.test" && !seen[u.RequestURI()] {
				path := u.RequestURI()
				seen[path] = true
				n := min(len(todo)-1, strings.Count(path, "?")+strings.Count(path, "&")+strings.Count(path, ";"))
				todo[n] = append(todo[n], path)
			}
		}
	}
}

// few has a test leave out every other kind, unless FORAGE_SITES=all; another test those that it takes.
func few(t *testing.T, s *Site, parity int) {
	t.Helper()
	i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == s.Kind.Name })
	if i%2 != parity && os.Getenv("FORAGE_SITES") != "all" {
		t.Skip("every other kind: FORAGE_SITES=all takes each")
	}
}

// TestLinks: few links lead to nothing, and they lead to every content page.
func TestLinks(t *testing.T) {
	each(t, func(t *testing.T, s *Site) {
		few(t, s, 0)
		reached := map[int]bool{}
		var failed []string
		n := 0
		crawl(t, s, 1500, func(path string, r *http.Response) {
			n++
			if r.StatusCode >= 400 {
				failed = append(failed, fmt.Sprintf("%d %s", r.StatusCode, path))
			}
			if look, err := s.Ask(Start, path); err != nil {
				t.Fatal(err)
			} else if look.Page != 0 {
				reached[look.Page] = true
			}
		})
		if len(failed) > n/20 {
			t.Errorf("of %d URLs %d are not there: %s", n, len(failed), strings.Join(failed[:min(40, len(failed))], ", "))
		}
		if want := len(s.Content(Start)); len(reached) != want {
			t.Errorf("%d of %d content pages within %d URLs", len(reached), want, n)
		}
	})
}

// TestEarlier asks for all addresses of the last week at the first, when much of what they name was
// not there: none is an error of the server.
func TestEarlier(t *testing.T) {
	each(t, func(t *testing.T, s *Site) {
		few(t, s, 1)
		s.At(Start.Add(time.Duration(s.Weeks()) * Week))
		crawl(t, s, 1000, func(path string, r *http.Response) {
			if look, err := s.Ask(Start, path); err != nil || look.Status >= 500 {
				t.Errorf("%s: %+v, %v", path, look, err)
			}
		})
	})
}

// FuzzAsk: a site answers whatever it is asked for.
func FuzzAsk(f *testing.F) {
	var sites []*Site
	for i, k := range Kinds {
		s, err := New(k.Name, Config{Pages: 12, Weeks: 1, Published: 2, Deleted: 2, Renamed: 2, Edited: 3})
		if err != nil {
			f.Fatal(err)
		}
		sites = append(sites, s)
		for _, path := range append(s.Content(Start), "/?page=0&p=-1&limit=-1&ofs=-1&pg=-1&offset=-1&max=-1&page_number=-1") {
			f.Add(i, int64(0), path)
		}
	}
	for _, path := range []string{
		"/page/0/", "/?paged=-1", "/?p=5&replytocom=1", "/?cat=-7", "/?author=0", "/?m=2", "/wp-json/", "/index.php?title=Special:RecentChanges&limit=-1",
		"/index.php?title=X&oldid=1&diff=prev", "/index.php?title=Special:NewPages&offset=-1", "/doku.php?id=:&do=diff&rev=1", "/ticket/1?action=diff&version=-1",
		"/timeline?from=0000-01-01", "/tool/log/?ofs=-1", "/tool/commit/?id=1", "/?p=tool.git;a=shortlog;pg=-2", "/?p=tool.git;a=blob;hb=HEAD;f=", "/report/0", "/view_all_bug_page.php?page_number=-1",
	} {
		for i := range sites {
			f.Add(i, int64(1), path)
		}
	}
	f.Fuzz(func(t *testing.T, kind int, week int64, address string) {
		if kind < 0 || kind >= len(sites) || week < 0 || week > 2 {
			return
		}
		look, err := sites[kind].Ask(Start.Add(time.Duration(week)*Week), address)
		if err == nil && (look.Status < 200 || look.Status >= 500) {
			t.Errorf("%s at %s: status %d", Kinds[kind].Name, address, look.Status)
		}
	})
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
