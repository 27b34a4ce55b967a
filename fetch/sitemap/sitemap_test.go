package sitemap

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"forage/fetch/link"
	"forage/internal/shared"
)

func urls(d *Document, sitemaps bool) []string {
	out := []string{}
	for _, e := range d.Entries {
		if e.Sitemap == sitemaps {
			out = append(out, e.URL)
		}
	}
	return out
}

func parse(t *testing.T, body, url, contentType string) *Document {
	t.Helper()
	d, err := Parse([]byte(body), url, contentType)
	if err != nil {
		t.Fatal(err)
	}
	if maybe := IsList([]byte(body), url, contentType); d.Kind != None && !maybe {
		t.Errorf("IsList denies a document that Parse calls %v: %.100q", d.Kind, body)
	}
	return d
}

// zeros is gzip of n spaces, made without holding them.
func zeros(n int64) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	block := bytes.Repeat([]byte(" "), 1<<20)
	for ; n > 0; n -= int64(len(block)) {
		z.Write(block)
	}
	z.Close()
	return b.String()
}

func TestConformance(t *testing.T) {
	f, err := os.Open(shared.Path(t, "conformance", "sitemaps.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); n++ {
		var c struct {
			ID, URL, Body, Kind   string
			ContentType           string `json:"content_type"`
			BodyB64               string `json:"body_b64"`
			URLs, Sitemaps, Never []string
			Rejected              []string
			LastMod               map[string]string
			Generated             bool
		}
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		t.Run(c.ID, func(t *testing.T) {
			body := c.Body
			if c.BodyB64 != "" {
				b, err := base64.StdEncoding.DecodeString(c.BodyB64)
				if err != nil {
					t.Fatal(err)
				}
				body = string(b)
			}
			if c.Generated {
				body = zeros(60 << 20) // more than the limit does for ten gigabytes
			}
			d := parse(t, body, c.URL, c.ContentType)
			if c.Generated {
				if d.Kind != None || len(d.Entries) != 0 {
					t.Errorf("a bomb gives %v with %d entries", d.Kind, len(d.Entries))
				}
				return
			}
			got := slices.DeleteFunc(urls(d, false), func(u string) bool { return slices.Contains(c.Rejected, u) })
			if d.Kind.String() != c.Kind || !slices.Equal(got, c.URLs) {
				t.Errorf("%v %v, want %v %v", d.Kind, got, c.Kind, c.URLs)
			}
			if c.Sitemaps != nil && !slices.Equal(urls(d, true), c.Sitemaps) {
				t.Errorf("sitemaps %v, want %v", urls(d, true), c.Sitemaps)
			}
			for _, e := range d.Entries {
				if want := c.LastMod[e.URL]; want != "" && (e.LastMod != want || e.Modified == 0) {
					t.Errorf("%s: lastmod %q (%d), want %q", e.URL, e.LastMod, e.Modified, want)
				}
			}
		})
	}
	if n < 15 {
		t.Errorf("%d cases", n)
	}
}

func TestFeeds(t *testing.T) {
	for name, tt := range map[string]struct {
		body string
		want []string // paths below http://x.test
	}{
		"rss": {`<?xml version="1.0"?><rss xmlns:atom="http://www.w3.org/2005/Atom" xmlns:feedburner="x"><channel>
			<title>T</title><link>http://x.test/</link><atom:link href="http://x.test/feed.xml" rel="self"/><atom:link rel="next" href="/feed2.xml"/>
			<image><url>http://x.test/i.png</url><link>http://x.test/image</link></image>
			<item><title>A</title><link>http://x.test/a</link><guid>http://x.test/a</guid><pubDate>Thu, 01 Jan 1970 00:01:40 GMT</pubDate></item>
			<item><link>/b</link><guid isPermaLink="false">http://x.test/nob</guid><description>&lt;a href="http://x.test/no"&gt;</description></item>
			<item><guid>http://x.test/c</guid><feedburner:origLink>http://x.test/c2</feedburner:origLink></item>
			<item><guid>not-a-url</guid></item></channel></rss>`, []string{"/", "/feed2.xml", "/a", "/b", "/c", "/c2"}},
		"atom": {`<feed xmlns="http://www.w3.org/2005/Atom"><link rel="self" href="/atom.xml"/><link href="/"/><updated>2020-01-01T00:00:00Z</updated>
			<entry><link rel="alternate" href="/a"/><published>1970-01-01T00:01:40Z</published><content type="xhtml"><div><link href="/no"/></div></content></entry>
			<entry><id>http://x.test/id</id><link href='/b?x=1&amp;y=2'></link></entry></feed>`, []string{"/", "/a", "/b?x=1&y=2"}},
		"rdf": {`<rdf:RDF xmlns:rdf="r"><channel rdf:about="http://x.test/rdf"><link>http://x.test/</link></channel>
			<item rdf:about="http://x.test/a"><link>http://x.test/a</link><dc:date>1970-01-01T00:01:40Z</dc:date></item></rdf:RDF>`, []string{"/", "/a"}},
		"json": {`{"version":"https://jsonfeed.org/version/1","home_page_url":"http://x.test/","next_url":"/2.json","items":[
			{"id":"http://x.test/a","url":"http://x.test/a","date_published":"1970-01-01T00:01:40Z"},{"id":7,"url":"/b"},{"id":"http://x.test/c"},{"id":"no"}]}`,
			[]string{"/", "/2.json", "/a", "/b", "/c"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := parse(t, tt.body, "http://x.test/feed", "")
			var got []string
			for _, u := range urls(d, false) {
				got = append(got, strings.TrimPrefix(u, "http://x.test"))
			}
			if d.Kind != Feed || d.Problem != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%v %v (%v), want feed %v", d.Kind, got, d.Problem, tt.want)
			}
			for _, e := range d.Entries {
				if want := map[bool]int64{true: 100}[strings.HasSuffix(e.URL, "/a")]; e.Published != want {
					t.Errorf("%s: published %d, want %d", e.URL, e.Published, want)
				}
			}
		})
	}
}

// TestAbsoluteLocs: what a sitemap names is an absolute URL of http or https, in whatever case.
func TestAbsoluteLocs(t *testing.T) {
	for loc, want := range map[string]bool{
		"http://x.test/a": true, "HTTPS://x.test/a": true, " \n http://x.test/a\n ": true,
		"/a": false, "a": false, "//x.test/a": false, "?a": false, "http:a": false, "http:/a": false, "ftp://x.test/a": false, "mailto:a": false,
	} {
		for _, body := range []string{
			"<urlset><url><loc>" + loc + "</loc></url></urlset>",
			"<sitemapindex><sitemap><loc>" + loc + "</loc></sitemap></sitemapindex>",
			"<urlset><url><xhtml:link rel='alternate' href='" + loc + "'/></url></urlset>",
		} {
			if d := parse(t, body, "http://x.test/s.xml", ""); (len(d.Entries) == 1) != want || (d.Rejected == 1) == want {
				t.Errorf("%s: %d entries, %d rejected", body, len(d.Entries), d.Rejected)
			}
		}
	}
}

// TestXMLBase resolves what an Atom feed refers to against the xml:base of the elements around it.
func TestXMLBase(t *testing.T) {
	long := "http://long.test/" + strings.Repeat("b", link.MaxBase) + "/"
	d := parse(t, `<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://y.test/blog/"><link href="."/><link rel="edit" href="edit"/>
		<entry xml:base="2024/"><link href="a"/><link href="e" rel="http://www.iana.org/assignments/relation/edit"/><link rel="Edit-Media" href="m"/></entry>
		<entry><link xml:base="http://z.test/" href="b"/><link rel="alternate" href="c"/></entry>
		<entry xml:base="mailto:x"><link href="d"/></entry><entry base="http://no.test/"><link href="f"/></entry>
		<entry xml:base="`+long+`"><link href="g"/></entry></feed>`, "http://x.test/feed", "application/atom+xml")
	want := []string{"http://y.test/blog/", "http://y.test/blog/2024/a", "http://z.test/b", "http://y.test/blog/c", "http://y.test/blog/d", "http://y.test/blog/f", "http://y.test/blog/g"}
	if got := urls(d, false); d.Kind != Feed || !slices.Equal(got, want) {
		t.Errorf("%v %q, want %q", d.Kind, got, want)
	}
}

func TestKindByShape(t *testing.T) {
	for body, want := range map[string]Kind{
		"":                                  None,
		"  \n":                              None,
		"<!DOCTYPE html><html><rss></html>": None,
		"<html><a href='/'>x</a></html>":    None,
		"<?xml version='1.0'?><note/>":      None,
		`{"items":1}`:                       None,
		`{"items":[]}`:                      None,
		`{"a":`:                             None,
		"http://x.test/a\nhttp://x.test/b":  Sitemap,
		"\ufeffhttp://x.test/a\r\n\r\nfoo":  Sitemap,
		"some text\nhttp://x.test/b":        None,
		"<URLSET></URLSET>":                 Sitemap,
		"\n<!-- c --><rss/>":                Feed,
	} {
		if d := parse(t, body, "http://x.test/list.txt", "text/plain"); d.Kind != want {
			t.Errorf("%q is %v, want %v", body, d.Kind, want)
		}
	}
	if d := parse(t, "http://x.test/a", "http://x.test/list", "text/html"); d.Kind != None {
		t.Errorf("text that says it is HTML is %v", d.Kind)
	}
}

func TestBrokenIsReadAsFarAsPossible(t *testing.T) {
	const start = "<urlset><url><loc>http://x.test/a</loc></url><url><loc>http://x.test/b</loc></url>"
	for name, body := range map[string]string{
		"cut":           start + "<url><loc>http://x.te",
		"bad tag":       start + "<url <<",
		"stray end":     start + "</nothing></urlset>",
		"bytes":         "<!-- \xff\x00\x01 -->" + start,
		"other end":     strings.Replace(start, "</loc></url><url>", "</loc></url></bad><url>", 1),
		"bad url":       strings.Replace(start, "<url>", "<url><loc>http://[x</loc></url><url>", 1),
		"utf-16":        "\xff\xfe" + wide(`<?xml version="1.0" encoding="utf-16"?>`+start),
		"utf-16 no bom": wide(`<?xml version="1.0" encoding="utf-16"?>` + start),
		"unknown enc":   `<?xml version="1.0" encoding="klingon"?>` + start,
	} {
		if d := parse(t, body, "http://x.test/s.xml", "application/xml"); d.Kind != Sitemap || !slices.Equal(urls(d, false), []string{"http://x.test/a", "http://x.test/b"}) {
			t.Errorf("%s: %v %v (%v)", name, d.Kind, urls(d, false), d.Problem)
		}
	}
}

// wide is ASCII in UTF-16, little end first.
func wide(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte(s[i])
		b.WriteByte(0)
	}
	return b.String()
}

func TestGzip(t *testing.T) {
	body := "<urlset><url><loc>http://x.test/a</loc></url></urlset>"
	for range 3 {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, body)
		z.Close()
		body = b.String()
		if d := parse(t, body, "http://x.test/s.xml.gz", "application/gzip"); d.Kind != Sitemap || len(d.Entries) != 1 {
			t.Errorf("%v with %d entries", d.Kind, len(d.Entries))
		}
	}
	if d := parse(t, body[:len(body)/2], "http://x.test/s.xml.gz", ""); d.Problem == nil {
		t.Errorf("half a gzip file gives %v without a problem", d.Kind)
	}
}

func TestLimits(t *testing.T) {
	var b strings.Builder
	b.WriteString("<urlset>")
	for i := range MaxEntries + 10 {
		fmt.Fprintf(&b, "<url><loc>http://x.test/%d</loc></url>", i)
	}
	if d := parse(t, b.String(), "http://x.test/s.xml", ""); len(d.Entries) != MaxEntries || !d.Cut {
		t.Errorf("%d entries, cut %v", len(d.Entries), d.Cut)
	}
}

func TestParseTime(t *testing.T) {
	want := time.Date(2004, 12, 23, 18, 0, 0, 0, time.UTC).Unix()
	for _, s := range []string{"2004-12-23T18:00:00Z", "2004-12-23T18:00Z", "2004-12-23T20:00:00+02:00", "Thu, 23 Dec 2004 18:00:00 GMT", "Thu, 23 Dec 2004 18:00:00 +0000", "23 Dec 2004 18:00:00 UTC", " 2004-12-23 18:00:00 "} {
		if got := ParseTime(s); got != want {
			t.Errorf("ParseTime(%q) = %d, want %d", s, got, want)
		}
	}
	for _, s := range []string{"", "yesterday", "1950-01-01", "2004-13-01", strings.Repeat("2", 100)} {
		if got := ParseTime(s); got != 0 {
			t.Errorf("ParseTime(%q) = %d, want 0", s, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("<urlset><url><loc>http://x.test/a</loc></url></urlset>"), "application/xml")
	f.Add([]byte(`{"version":"https://jsonfeed.org/version/1","items":[{"url":"/b"}]}`), "")
	f.Add([]byte("http://x.test/a\n"), "text/plain")
	f.Add([]byte("\xff\xfe<\x00r\x00s\x00s\x00>\x00"), "text/xml; charset=utf-16")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		d, err := Parse(body, "http://x.test/list.txt", contentType)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := Parse(body, "http://x.test/list.txt", contentType)
		if !reflect.DeepEqual(urls(d, false), urls(again, false)) {
			t.Fatal("the same document gives other entries")
		}
		for _, e := range d.Entries {
			if !strings.HasPrefix(e.URL, "http") {
				t.Fatalf("entry %q", e.URL)
			}
		}
	})
}

// TestRoom: entries ask for the memory that they take, whatever kind of list they stand in, and none
// are taken where there is none.
func TestRoom(t *testing.T) {
	const n = 20_000
	for name, body := range map[string]string{
		"sitemap": "<urlset>" + strings.Repeat("<url><loc>http://x.test/some/path</loc></url>", n) + "</urlset>",
		"links":   "<urlset><url>" + strings.Repeat("<xhtml:link href='http://x.test/some/path'/><xhtml:link href='http://x.test/another/path'/>", n/2) + "</url></urlset>",
		"atom":    "<feed>" + strings.Repeat("<entry><link href='some/path'/></entry>", n) + "</feed>",
		"text":    strings.Repeat("http://x.test/some/path\n", n),
		"json":    `{"version":"https://jsonfeed.org/version/1","items":[` + strings.Repeat(`{"url":"/b"},`, n) + `{}]}`,
		"long":    `{"home_page_url":"/","items":[],"x":"` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		asked := int64(0)
		o := Options{URL: "http://x.test/list.txt", Room: func(bytes int64) bool {
			if bytes <= asked {
				t.Errorf("%s: asks for %d bytes after %d", name, bytes, asked)
			}
			asked = bytes
			return true
		}}
		whole, err := Read(strings.NewReader(body), o)
		if err != nil || whole.Cut || whole.Problem != nil || name != "long" && len(whole.Entries) < n || asked < int64(len(whole.Entries)*entrySize) || asked < 3<<20 {
			t.Errorf("%s: %d entries, cut %v, asked for %d bytes (%v, %v)", name, len(whole.Entries), whole.Cut, asked, err, whole.Problem)
		}
		o.Room = func(int64) bool { return false }
		if d, _ := Read(strings.NewReader(body), o); name != "long" && (!d.Cut || len(d.Entries) > 2*roomStep/entrySize) {
			t.Errorf("%s: without room %d entries, cut %v", name, len(d.Entries), d.Cut)
		}
	}
	small := Options{URL: "http://x.test/s.xml", Room: func(int64) bool { t.Error("a small sitemap asks for room"); return true }}
	if d, err := Read(strings.NewReader("<urlset>"+strings.Repeat("<url><loc>http://x.test/a</loc></url>", 200)+"</urlset>"), small); err != nil || len(d.Entries) != 200 {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestFeedBudget: a feed makes no more bytes of URLs of a long base than a page may.
func TestFeedBudget(t *testing.T) {
	d := parse(t, "<feed xml:base='http://x.test/"+strings.Repeat("b", 2000)+"/'>"+strings.Repeat("<entry><link href='a'/></entry>", 10_000)+"</feed>", "http://x.test/feed", "")
	if n := len(d.Entries) * 2000; !d.Cut || n > link.MaxURLs || n < link.MaxURLs*9/10 {
		t.Errorf("%d entries, cut %v", len(d.Entries), d.Cut)
	}
}
