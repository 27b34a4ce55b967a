package inspect

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"forage/fetch/link"
	"forage/fetch/robots"
)

func TestInspector(t *testing.T) {
	i := &Inspector{IgnoreParams: []string{"utm_*"}}
	v := i.Robots(robots.Parse([]byte("User-agent: *\nDisallow: /x\nCrawl-delay: 2\nSitemap: http://a.org/s\n")), "forage", "http://a.org/x")
	if v.Allow || v.Delay != 2 || v.Maps != 1 {
		t.Errorf("Robots = %+v", v)
	}
	p := i.Links([]byte(`<title>T</title><a href="/b">B</a><a href="/b" rel=nofollow>B</a><img src="c.png">`), link.Options{URL: "http://a.org/"}, true)
	if !slices.Equal(p.Links, []string{"http://a.org/b"}) || !slices.Equal(p.NoFollow, p.Links) || !slices.Equal(p.Embeds, []string{"http://a.org/c.png"}) || p.Title != "T" || len(p.Details) != 2 || p.Details[1].Text != "B" {
		t.Errorf("Links = %+v", p)
	}
	if a := i.URL("../c?utm_source=x&y#z", "http://A.org/a/b"); a.URL == nil || *a.Identity != "http://a.org/c?y" || *a.URL == *a.Identity {
		t.Errorf("URL = %+v", a)
	}
	for _, c := range [][2]string{{"mailto:x", ""}, {"x", "mailto:y"}} {
		if a := i.URL(c[0], c[1]); a.URL != nil || a.Identity != nil || a.Error == "" {
			t.Errorf("URL(%q, %q) = %+v", c[0], c[1], a)
		}
	}
	l, err := i.Sitemap([]byte(`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://a.org/1</loc><lastmod>2024-01-02</lastmod></url><url><loc>http://b.org/</loc></url><url><loc>http://a.org/1</loc></url></urlset>`), "http://a.org/s.xml", "")
	if err != nil || l.Kind != "sitemap" || !slices.Equal(l.URLs, []string{"http://a.org/1"}) || !slices.Equal(l.Rejected, []string{"http://b.org/"}) || l.LastMod["http://a.org/1"] != "2024-01-02" {
		t.Errorf("Sitemap = %+v, %v", l, err)
	}
	if e := i.Charset([]byte("x"), "text/html; charset=koi8-r"); e.Encoding != "koi8-r" {
		t.Errorf("Charset = %+v", e)
	}
	for u, want := range map[string]string{"HTTP://A.org:80/": "a.org", "http://a.org:8080/": "a.org:8080", "x": ""} {
		if got := Authority(u); got != want {
			t.Errorf("Authority(%q) = %q, want %q", u, got, want)
		}
	}
}

// TestLinksOfTypes has links read from what a crawl reads links from.
func TestLinksOfTypes(t *testing.T) {
	const page = `<title>T</title><a href="http://a.org/b">B</a>`
	for contentType, want := range map[string]bool{
		"": true, "text/html": true, "TEXT/HTML; charset=utf-8": true, "application/xhtml+xml": true,
		"text/plain": false, "text/plain; charset=utf-8": false, "image/png": false, "image/svg+xml": false, "application/pdf": false,
		"application/xml": false, "application/json": false, "no type": false,
	} {
		p := new(Inspector).Links([]byte(page), link.Options{ContentType: contentType}, true)
		if p.Read != want || (len(p.Links) == 1) != want || (p.Title == "T") != want || p.Links == nil || p.Embeds == nil || p.NoFollow == nil {
			t.Errorf("%q: %+v, want it read: %v", contentType, p, want)
		}
	}
	if p := new(Inspector).Links([]byte("\x89PNG\r\n\x1a\n"+page), link.Options{ContentType: "text/html"}, false); p.Read {
		t.Errorf("a picture that says it is a page: %+v", p)
	}
	if p := new(Inspector).Links([]byte(`<html xmlns="http://www.w3.org/1999/xhtml">`+page), link.Options{ContentType: "application/xml"}, false); len(p.Links) != 1 {
		t.Errorf("XHTML: %+v", p)
	}
}

func TestBatch(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		in   string
		want string // a beginning of each line
	}{
		{Robots, `{"robots":"User-agent: *\nDisallow: /","agent":"a","url":"http://a.org/"}`, `{"allow":false,`},
		{Links, `{"html_b64":"PGEgaHJlZj0vYj4=","base":"http://a.org/"}`, `{"links":["http://a.org/b"],`},
		{Links, `{"html":"<a href=http://a.org/>","content_type":"text/plain"}`, `{"links":[],`},
		{URL, "{\"url\":\"http://A.org\"}\n\n{\"url\":\"x\"}", "{\"url\":\"http://a.org/\",\n{\"url\":null,"},
		{Sitemap, `{"body":"x","url":""}`, `{"kind":"none","urls":[],`},
		{Charset, `{"html":"<meta charset=utf-8>"}`, `{"encoding":"utf-8"}`},
	} {
		var out bytes.Buffer
		if err := new(Inspector).Batch(c.kind, strings.NewReader(c.in), &out); err != nil {
			t.Errorf("Batch(%s, %s): %v", c.kind, c.in, err)
		}
		got, want := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), strings.Split(c.want, "\n")
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("Batch(%s, %s) = %q, want %q", c.kind, c.in, got, want)
		}
	}
	var out bytes.Buffer
	err := new(Inspector).Batch(URL, strings.NewReader("{}\nx\n[]\n{\"url\":\"http://a.org\"}\n"), &out)
	var bad *BatchError
	if !errors.As(err, &bad) || bad.Line != 2 || bad.More != 1 {
		t.Errorf("Batch of two bad lines: %v", err)
	}
	if lines := strings.Split(out.String(), "\n"); len(lines) != 5 || !strings.HasPrefix(lines[1], `{"error":`) || !strings.HasPrefix(lines[3], `{"url":"http`) {
		t.Errorf("answers and lines are not together: %q", lines)
	}
}
