package document

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"forage/fetch"
	"forage/store"
)

// TestShapes checks which bodies are recognised by what a probe showed.
func TestShapes(t *testing.T) {
	t.Parallel()
	const body = `<title>%s</title><p>There is no %s here</p><meta content="%s"><a href="deeper/page">x</a>`
	answer := func(url, last, path, token string) []uint64 {
		return shapes(fmt.Appendf(nil, body, last, path, token), url)
	}
	probe := answer("http://a.test/0123456789abcdef01234567", "0123456789abcdef01234567", "/0123456789abcdef01234567", "Zq3J5q0aVb7sK2mP")
	like := probe[len(probe)-1]
	for _, test := range []struct {
		name   string
		shapes []uint64
		want   bool
	}{
		{"what it repeats of its URL", answer("http://a.test/lost/thing", "thing", "/lost/thing", "Zq3J5q0aVb7sK2mP"), true},
		{"a query", answer("http://a.test/thing?a=1", "thing", "/thing", "Zq3J5q0aVb7sK2mP"), true},
		{"another token", answer("http://a.test/lost/thing", "thing", "/lost/thing", "o5Xw81Yc_0Lr6TtEe+u9"), true},
		{"a token that is too short", answer("http://a.test/lost/thing", "thing", "/lost/thing", "o5Xw81Y"), false},
		{"a word", answer("http://a.test/lost/thing", "thing", "/lost/thing", "internationalisation"), false},
		{"a number", answer("http://a.test/lost/thing", "thing", "/lost/thing", "1234567890123456789"), false},
		{"a title of its own", answer("http://a.test/lost/thing", "A thing", "/lost/thing", "Zq3J5q0aVb7sK2mP"), false},
	} {
		if got := slices.Contains(test.shapes, like); got != test.want {
			t.Errorf("%s: recognised %t, want %t", test.name, got, test.want)
		}
	}
	// A segment that is a word of the page: the path alone tells.
	got := shapes([]byte(`<p>There is no /lost/page here</p><a href="deeper/page">x</a>`), "http://a.test/lost/page")
	want := shapes([]byte(`<p>There is no /0123456789abcdef01234567 here</p><a href="deeper/page">x</a>`), "http://a.test/0123456789abcdef01234567")
	if !slices.Contains(got, want[len(want)-1]) {
		t.Errorf("shapes %x, want one to be %x", got, want[len(want)-1])
	}
}

// TestList: what is read as it comes is read as it is from a body that is held, and pages are not read
// so.
func TestList(t *testing.T) {
	t.Parallel()
	const namespaces = ` xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml"`
	sitemap := `<?xml version="1.0"?><urlset` + namespaces + `>` + strings.Repeat(`<url><loc>http://ex.test/a</loc><lastmod>2024-01-02</lastmod></url>`, 100) + `</urlset>`
	for _, test := range []struct {
		name, body, contentType string
		streams, list           bool
	}{
		{"sitemap", sitemap, "application/xml", true, true},
		{"sitemap that says it is a page", sitemap, "text/html", true, true},
		{"text", strings.Repeat("http://ex.test/a\n", 100), "text/plain", true, true},
		{"other text", strings.Repeat("some text\n", 1000), "text/plain", true, false},
		{"feed", `<rss><channel><item><link>http://ex.test/a</link></item></channel></rss>`, "application/rss+xml", true, true},
		{"json", `{"items":[{"url":"/a"}],"version":"https://jsonfeed.org/version/1"}`, "application/json", true, true},
		{"other json", `{"a":` + strings.Repeat("[", 5000), "application/json", true, false},
		{"other xml", `<note>` + strings.Repeat("<a/>", 1000) + `</note>`, "text/xml", true, false},
		{"page", `<title>x</title><a href=b>c</a>`, "text/html", false, false},
		{"page of xml", `<html xmlns="http://www.w3.org/1999/xhtml"><body><a href="b">c</a></body></html>`, "application/xml", false, false},
		{"page that begins as xml", `<?xml version="1.0"?><!DOCTYPE x><p><a href=b>c</a></p>`, "text/html", false, false},
	} {
		const at = "http://ex.test/list.txt"
		o := &fetch.Outcome{Kind: fetch.KindOf(test.contentType, []byte(test.body)), ContentType: test.contentType}
		head := []byte(test.body)[:min(len(test.body), 1445)]
		if ok, list := Streams(o, head, at); ok != test.streams || list && !test.list || list != test.list && o.Kind != fetch.JSON {
			t.Errorf("%s: read as it comes %v, list %v", test.name, ok, list)
		}
		held := *o
		held.Body = []byte(test.body)
		var r Reader
		want := r.Read(&held, Options{URL: at})
		if isList := want.Kind == store.Sitemap || want.Kind == store.Feed; isList != test.list {
			t.Errorf("%s is of kind %v", test.name, want.Kind)
		}
		if got := r.List(o, iotest.OneByteReader(strings.NewReader(test.body)), Options{URL: at}); test.streams && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: as it comes %+v, held %+v", test.name, got, want)
		}
	}
}
