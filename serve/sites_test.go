package serve

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

type told1 struct {
	Site     string
	Settings Settings
	ReadOnly bool `json:"read_only"`
	Paused   bool
	Running  bool
	Due      *string
	State    *string
	Pages    int64
}

// TestSites adds, changes, pauses and removes sites, and begins a cycle, in good ways and bad ones.
func TestSites(t *testing.T) {
	db, s := newStore(t)
	publish(t, db, s, "http://a.test/1", nil)
	w := &watched{sites: []Site{{Name: "a.test", Settings: Settings{URL: "http://a.test/", Budget: "5"}, ReadOnly: true}}}
	srv := serving(t, Options{DB: db, Watch: w})
	sites := srv.URL + "/api/v1/sites"
	one := func(a answer, status int) (r told1) {
		t.Helper()
		if err := json.Unmarshal(a.body, &r); a.status != status || err != nil {
			t.Fatalf("%d %s, want %d", a.status, a.body, status)
		}
		return r
	}
	if r := one(ask(t, "GET", sites+"/a.test", ""), 200); r.Site != "a.test" || !r.ReadOnly || r.Pages != 1 || r.State == nil || *r.State != "done" || r.Due != nil {
		t.Errorf("a site of the store: %+v", r)
	}
	const js = "Content-Type: application/json"
	if a := ask(t, "POST", sites, `{"url": "http://b.test:8080/", "budget": "10/day", "exclude": ["/tag/"]}`, js); a.status != 201 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := ask(t, "POST", sites, "# a list\r\nhttp://c.test/\r\n\r\nhttp://d.test/\r\n", "Content-Type: text/uri-list; charset=utf-8"); a.status != 201 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	b := sites + "/" + url.PathEscape("b.test:8080")
	if r := one(ask(t, "PATCH", b, `{"every": "6h", "budget": null}`, js), 200); r.Settings.Every != "6h" || r.Settings.Budget != "" || !slices.Equal(r.Settings.Exclude, []string{"/tag/"}) || r.State != nil {
		t.Errorf("a changed site: %+v", r)
	}
	if r := one(ask(t, "POST", b+"/cycles", "{}", js), 202); !r.Running {
		t.Errorf("a cycle was begun: %+v", r)
	}
	wantProblem(t, "a cycle beside a cycle", ask(t, "POST", b+"/cycles", ""), 409)
	one(ask(t, "POST", sites+"/c.test/cycles", `{"full": true}`, js), 202)
	one(ask(t, "POST", sites+"/d.test/cycles", ""), 202)
	if !slices.Equal(w.full, []bool{false, true, false}) {
		t.Errorf("full of the cycles: %v", w.full)
	}
	if r := one(ask(t, "POST", b+"/pause", ""), 200); !r.Paused {
		t.Errorf("a paused site: %+v", r)
	}
	if r := one(ask(t, "POST", b+"/resume", ""), 200); r.Paused {
		t.Errorf("a resumed site: %+v", r)
	}
	for limit := 1; limit <= 5; limit++ {
		var got []string
		for after := ""; ; {
			l := get[struct {
				Sites []told1
				Next  *string
			}](t, fmt.Sprintf("%s?limit=%d&after=%s", sites, limit, url.QueryEscape(after)))
			for _, r := range l.Sites {
				got = append(got, r.Site)
			}
			if l.Next == nil {
				break
			}
			after = *l.Next
		}
		if !slices.Equal(got, []string{"a.test", "b.test:8080", "c.test", "d.test"}) {
			t.Errorf("limit %d: %q", limit, got)
		}
	}
	for _, c := range []struct {
		method, path, body, kind string
		status                   int
	}{
		{"POST", "", `{"url": "http://b.test:8080/"}`, js, 409},
		{"POST", "", `{"url": "ftp://e.test/"}`, js, 400},
		{"POST", "", `{"url": "http://e.test/", "budgte": "5"}`, js, 400},
		{"POST", "", `{"url": 5}`, js, 400},
		{"POST", "", `{"url": "http://e.test/"} {}`, js, 400},
		{"POST", "", `{`, js, 400},
		{"POST", "", "http://e.test/\nftp://f.test/", "Content-Type: text/uri-list", 400},
		{"POST", "", "# nothing\n", "Content-Type: text/uri-list", 400},
		{"POST", "", "url: http://e.test/", "Content-Type: application/yaml", 415},
		{"POST", "", strings.Repeat(" ", maxBody+1), js, 413},
		{"PATCH", "/b.test:8080", `[]`, js, 400},
		{"PATCH", "/b.test:8080", `null`, js, 400},
		{"PATCH", "/b.test:8080", `{"budgte": "5"}`, js, 400},
		{"PATCH", "/b.test:8080", `{"budget": "5"}`, "Content-Type: text/plain", 415},
		{"PATCH", "/b.test:8080", `{"Every": "7h"}`, js, 400},
		{"PATCH", "/b.test:8080", `{"url": "x"}`, js, 400},
		{"PATCH", "/a.test", `{"budget": "6"}`, js, 409},
		{"PATCH", "/e.test", `{"budget": "6"}`, js, 404},
		{"DELETE", "/a.test", "", "", 409},
		{"DELETE", "/e.test", "", "", 404},
		{"GET", "/e.test", "", "", 404},
		{"POST", "/e.test/cycles", "", "", 404},
		{"POST", "/e.test/pause", "", "", 404},
		{"POST", "/e.test/resume", "", "", 404},
		{"GET", "?limit=0", "", "", 422},
	} {
		header := []string{}
		if c.kind != "" {
			header = append(header, c.kind)
		}
		wantProblem(t, fmt.Sprintf("%s %s %.40q", c.method, c.path, c.body), ask(t, c.method, sites+c.path, c.body, header...), c.status)
	}
	if names := w.Sites(); len(names) != 4 {
		t.Errorf("what was refused was added: %v", names)
	}
	if a := ask(t, "DELETE", b, ""); a.status != 204 {
		t.Errorf("%d %s", a.status, a.body)
	}
	wantProblem(t, "a removed site", ask(t, "GET", b, ""), 404)

	w.mu.Lock()
	w.sites = append(w.sites, Site{Name: "z.test/a b/ü&?"}) // a scope by prefix
	w.mu.Unlock()
	if r := one(ask(t, "POST", sites+"/"+url.PathEscape("z.test/a b/ü&?")+"/pause", ""), 200); !r.Paused {
		t.Errorf("a site with a path: %+v", r)
	}
}
