package replay

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"forage/internal/race"
	"forage/internal/shared"
	"forage/snap"
)

// evolving is a site of every kind of document in three versions.
func evolving(t *testing.T) *snap.History {
	h := snap.New("x", "https://x.test/")
	h.URLs = []string{"/", "/a b%2Fc", "/café", "/stub", "/off", "/feed.xml", "/atom", "/feed.json", "/index.rdf", "/sitemap.xml", "/s1.xml.gz", "/sitemap.txt"}
	docs := func(home ...snap.ID) []snap.Document {
		return []snap.Document{
			{ID: 0, Links: home}, {ID: 1, Links: []snap.ID{0, 5, 9}}, {ID: 2},
			{ID: 3, Flag: snap.Redirect, Links: []snap.ID{0, 1}}, {ID: 4, Flag: snap.Redirect},
			{ID: 5, Flag: snap.Feed, Links: []snap.ID{0, 1}}, {ID: 6, Flag: snap.Feed, Links: []snap.ID{1, 2}},
			{ID: 7, Flag: snap.Feed, Links: []snap.ID{1}}, {ID: 8, Flag: snap.Feed, Links: []snap.ID{1, 2}},
			{ID: 9, Flag: snap.Sitemap, Links: []snap.ID{10, 11}}, {ID: 10, Flag: snap.Sitemap, Links: []snap.ID{0, 2}},
			{ID: 11, Flag: snap.Sitemap, Links: []snap.ID{1}},
		}
	}
	at, err := h.Append(nil, 1e9, "", docs(1, 2, 3), []snap.ID{5, 9})
	if err == nil {
		at, err = h.Append(at, 2e9, "", docs(1, 2, 3, 4), []snap.ID{9})
	}
	if err == nil {
		_, err = h.Append(at, 3e9, "", docs(1)[:2:2], nil)
	}
	if err == nil {
		t.Fatal("documents that link to what is gone were appended")
	}
	if _, err = h.Append(at, 3e9, "", []snap.Document{{ID: 0}, {ID: 2, Changed: true}}, nil); err != nil {
		t.Fatal(err)
	}
	return h
}

func serve(t *testing.T, h *snap.History, lastmod bool) (*Server, string) {
	t.Helper()
	s, err := New(h, 0, lastmod)
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(s)
	t.Cleanup(ts.Close)
	return s, ts.URL
}

func get(t *testing.T, url string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(url, ".gz") && resp.StatusCode == 200 {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		body, _ = io.ReadAll(z)
	}
	return resp, string(body)
}

// target finds the links of every kind of document; enough for what this package writes.
var target = regexp.MustCompile(`(?:href="|url=|<guid>|<loc>|rdf:about="|"url":"|(?m:^)http)([^"<\n]*)`)

// linksOf returns the ids that a document's text links to.
func linksOf(s *Server, origin, body string) []snap.ID {
	var ids []snap.ID
	for _, m := range target.FindAllStringSubmatch(body, -1) {
		u := strings.TrimPrefix(html.UnescapeString(m[1]), origin)
		u = strings.TrimPrefix(u, strings.TrimPrefix(origin, "http"))
		if id, ok := s.byPath[u]; ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// checkAll fetches every document of the version served and compares its links.
func checkAll(t *testing.T, s *Server, origin string) {
	t.Helper()
	v := s.at.Load()
	for id, alive := range v.Alive {
		resp, body := get(t, origin+s.site.Path(snap.ID(id)))
		if want := map[bool]int{true: 200, false: 404}[alive]; resp.StatusCode != want {
			t.Errorf("at %d: %s answers %d, want %d", v.K, s.site.Path(snap.ID(id)), resp.StatusCode, want)
		}
		if !alive {
			continue
		}
		if got := linksOf(s, origin, body); !slices.Equal(got, v.Links[id]) {
			t.Errorf("at %d: %s links to %v, want %v:\n%s", v.K, s.site.Path(snap.ID(id)), got, v.Links[id], body)
		}
	}
}

func TestServesEveryVersion(t *testing.T) {
	h := evolving(t)
	s, origin := serve(t, h, false)
	for k := range h.Snapshots {
		if err := s.Switch(k); err != nil {
			t.Fatal(err)
		}
		checkAll(t, s, origin)
	}
}

func TestRealHistories(t *testing.T) {
	race.Skip(t)
	for _, site := range []string{"julialang", "weekref", "wz2100"} {
		t.Run(site, func(t *testing.T) {
			h, err := snap.Open(shared.Path(t, "data", "sites", site+".snap.gz"))
			if err != nil {
				t.Fatal(err)
			}
			s, origin := serve(t, h, true)
			for _, k := range []int{0, len(h.Snapshots) / 2, len(h.Snapshots) - 1} {
				if err := s.Switch(k); err != nil {
					t.Fatal(err)
				}
				checkAll(t, s, origin)
			}
		})
	}
}

// Every path of every history is served under a form of its own, and found again under it.
func TestPathsOfRealHistories(t *testing.T) {
	race.Skip(t)
	names, _ := filepath.Glob(filepath.Join(shared.Path(t, "data", "sites"), "*.snap.gz"))
	for _, name := range names {
		h, err := snap.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := serve(t, h, false)
		if len(s.byPath) != len(h.URLs) {
			t.Errorf("%s: %d URLs are served under %d paths", name, len(h.URLs), len(s.byPath))
		}
	}
}

func TestValidators(t *testing.T) {
	s, origin := serve(t, evolving(t), false)
	resp, _ := get(t, origin+"/caf%C3%A9")
	etag, modified := resp.Header.Get("ETag"), resp.Header.Get("Last-Modified")
	for name, tt := range map[string]struct {
		header []string
		want   [3]int // status by version
	}{
		"etag":         {[]string{"If-None-Match", etag}, [3]int{304, 304, 200}},
		"weak etag":    {[]string{"If-None-Match", `"no", W/` + etag}, [3]int{304, 304, 200}},
		"star":         {[]string{"If-None-Match", "*"}, [3]int{304, 304, 304}},
		"other etag":   {[]string{"If-None-Match", `"other"`, "If-Modified-Since", modified}, [3]int{200, 200, 200}},
		"modified":     {[]string{"If-Modified-Since", modified}, [3]int{304, 304, 200}},
		"no date":      {[]string{"If-Modified-Since", "yesterday"}, [3]int{200, 200, 200}},
		"no validator": {nil, [3]int{200, 200, 200}},
	} {
		for k, want := range tt.want {
			if err := s.Switch(k); err != nil {
				t.Fatal(err)
			}
			if resp, body := get(t, origin+"/caf%C3%A9", tt.header...); resp.StatusCode != want || (want == 304) != (body == "") {
				t.Errorf("%s, version %d: status %d, body %q, want %d", name, k, resp.StatusCode, body, want)
			}
		}
	}
}

func TestRobotsNamesWellKnown(t *testing.T) {
	s, origin := serve(t, evolving(t), false)
	for k, want := range []string{"Sitemap: %s/feed.xml\nSitemap: %[1]s/sitemap.xml\n", "Sitemap: %s/sitemap.xml\n", "%.0s"} {
		if err := s.Switch(k); err != nil {
			t.Fatal(err)
		}
		want = "User-agent: *\nAllow: /\n" + fmt.Sprintf(want, origin)
		if _, got := get(t, origin+"/robots.txt"); got != want {
			t.Errorf("version %d: robots.txt %q, want %q", k, got, want)
		}
	}
}

func TestLastmod(t *testing.T) {
	s, origin := serve(t, evolving(t), true)
	if err := s.Switch(1); err != nil {
		t.Fatal(err)
	}
	etag := ""
	_, body := get(t, origin+"/s1.xml.gz")
	if !strings.Contains(body, "/</loc><lastmod>2033-05-18T03:33:20Z</lastmod>") || !strings.Contains(body, "/caf%C3%A9</loc><lastmod>2001-09-09T01:46:40Z</lastmod>") {
		t.Errorf("sitemap with lastmod: %s", body)
	}
	// What it lists changed, so it did, though its links are those of snapshot 0.
	for k, want := range []int{http.StatusOK, http.StatusOK, http.StatusNotModified} {
		if k < 2 {
			if err := s.Switch(k); err != nil {
				t.Fatal(err)
			}
		}
		req, err := http.NewRequest(http.MethodGet, origin+"/s1.xml.gz", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("If-None-Match", etag)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("snapshot %d with the ETag of the one before: status %d, want %d", k, resp.StatusCode, want)
		}
		etag = resp.Header.Get("ETag")
	}
}

func TestControl(t *testing.T) {
	s, origin := serve(t, evolving(t), false)
	get(t, origin+"/")
	get(t, origin+"/robots.txt")
	get(t, origin+"/nowhere")
	for _, tt := range []struct {
		at     string
		status int
		k      int
	}{{"2", 200, 2}, {"3", 400, 2}, {"-1", 400, 2}, {"x", 400, 2}, {"1", 200, 1}} {
		resp, err := http.Post(origin+Control+"?at="+tt.at, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.status || s.Counts().At != tt.k {
			t.Errorf("POST at=%s: status %d, at %d, want %d, %d", tt.at, resp.StatusCode, s.Counts().At, tt.status, tt.k)
		}
	}
	_, body := get(t, origin+Control)
	var got Counts
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if want := (Counts{At: 1, Snapshots: 3, Site: "x", Requests: 3, Documents: 1}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	resp, err := http.Post(origin+"/", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST / answers %d", resp.StatusCode)
	}
}
