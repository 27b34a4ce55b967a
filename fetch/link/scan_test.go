package link

import (
	"bytes"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"forage/fetch/use"
)

// attrNames are the names of the attributes that the scanner knows.
var attrNames = [numAttrs]string{
	attrHref: "href", attrSrc: "src", attrRel: "rel", attrClass: "class", attrID: "id", attrName: "name",
	attrContent: "content", attrProperty: "property", attrItemprop: "itemprop", attrType: "type", attrSrcset: "srcset",
	attrPoster: "poster", attrData: "data", attrAlt: "alt", attrTitle: "title", attrCharset: "charset",
	attrHTTPEquiv: "http-equiv", attrXlinkHref: "xlink:href", attrImageSrcset: "imagesrcset", attrShadow: "shadowrootmode",
	attrOnclick: "onclick", attrLabel: "aria-label", attrMethod: "data-method", attrConfirm: "data-confirm",
	attrTurboMethod: "data-turbo-method", attrTurboConfirm: "data-turbo-confirm",
	attrStyle: "style", attrAs: "as", attrBackground: "background",
}

// scanned writes the tokens of b as the scanner sees them.
func scanned(b []byte) string {
	var out strings.Builder
	s := scanner{b: b}
	for {
		switch k := s.next(); k {
		case endOfInput:
			return out.String()
		case textToken:
			out.WriteString(html.UnescapeString(lines(s.words(), false)))
		case rawToken:
			out.WriteString("[" + lines(s.words(), true) + "]")
		case endToken:
			fmt.Fprintf(&out, "\n</%s>", lower(s.label.in(b)))
		case startToken:
			if spelt := s.tag.spelt(); s.tag&hashedName == 0 && spelt != lower(s.label.in(b)) {
				fmt.Fprintf(&out, "taken for %q", spelt)
			}
			fmt.Fprintf(&out, "\n<%s", lower(s.label.in(b)))
			for a, name := range attrNames {
				if s.has(a) {
					fmt.Fprintf(&out, " %s=%q", name, attrText(s.attr(a)))
				}
			}
			out.WriteString(">")
		}
	}
}

// spelt returns the letters of a name that is no hash.
func (n name) spelt() (s string) {
	for ; n != 0; n >>= 8 {
		s += string(rune(n & 0xff))
	}
	return s
}

// modelled writes the tokens of b as the model sees them.
func modelled(b []byte) string {
	var out strings.Builder
	z := html.NewTokenizer(bytes.NewReader(b))
	raw := false
	for {
		switch tt := z.Next(); tt {
		case html.ErrorToken:
			return out.String()
		case html.TextToken:
			text := z.Raw()
			if raw {
				out.WriteString("[" + lines(text, true) + "]")
			} else {
				out.WriteString(html.UnescapeString(lines(text, false)))
			}
			raw = false
		case html.CommentToken, html.DoctypeToken:
			raw = false
		case html.EndTagToken:
			name, _ := z.TagName()
			fmt.Fprintf(&out, "\n</%s>", name)
			raw = false
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			fmt.Fprintf(&out, "\n<%s", name)
			got := map[string]string{}
			seen := map[string]bool{}
			for more {
				var k, v []byte
				k, v, more = z.TagAttr()
				got[string(k)], seen[string(k)] = string(v), true
			}
			for _, n := range attrNames {
				if seen[n] {
					fmt.Fprintf(&out, " %s=%q", n, got[n])
				}
			}
			out.WriteString(">")
			switch string(name) {
			case "noscript":
				z.NextIsNotRawText()
			case "iframe", "noembed", "noframes", "plaintext", "script", "style", "textarea", "title", "xmp":
				raw = true
			}
		}
	}
}

func lower(b []byte) string {
	b = bytes.ReplaceAll(bytes.Clone(b), []byte{0}, []byte("\ufffd"))
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}

func lines(b []byte, raw bool) string {
	return strings.ReplaceAll(strings.ReplaceAll(string(b), "\r\n", "\n"), "\r", "\n")
}

var htmlSeeds = []string{
	`<a href="x">t</a>`, `<A HREF='x&amp;y' href=z class=a id>`, `<a/href=x/>`, `<a =x href=1>`, `<a href = x >`, `<p a=/>`, `<a href>`,
	`<!-- <a> --><b>`, `<!--><b>`, `<!---><b>`, `<!--->--><b>`, `<!--a--!><b>`, `<!--a--!-><b>--><c>`, `<!-`, `<!`, `<!d><b>`, `<!DOCTYPE html><a>`, `<?x><a>`, `</ x><a>`, `</><a>`, `</`, `<`, `a<b`, `a < b <c>`,
	`<script>a<b</script><b>`, `<script><!-- <script></script> --></script><b>`, `<script><!--<script><x></script>-><b></script><c>`, `<script><!-- <</script><b>`, `<SCRIPT></Script ><b>`, `<script><!--</script><b>--></script>`,
	`<title>a<b>&amp;</title><textarea></textarea><style><a></style>`, `<iframe><a></iframe><noscript><a></noscript><xmp><a></xmp>`, `<plaintext><a></plaintext>`, `<noembed/><a></noembed>`,
	"<a href=\"a\r\nb\x00c&copy;&copy=1&notit;&#x41;&lt;\">", `<a href="?a=1&b=2&c">`, `<a href="&#64;&#064;x&#8217;&#31;&#128;&#160;&#55296;&#1114111;&#1114112;&#9999999;&#;&#6&#65">`, `<a href="&quot;&'">`, `<a href=x'y">`, `<a href="x`, `<a href=x`, `<a hr`, `<a `, `<a"b=c href=d>`, `<meta charset="utf-8"/>`,
	"<a\x00 href=x>", "<h\u00e9 class=a>", `<![CDATA[<a>]]>`, `<a href="1"href="2">`, `<svg><title><a></title>`, `<script><!-- --><!-- <script ></script/></script>`,
	`<td background="b.png" style='background:url(s.png)'><link as=image href=i><a/style>`,
}

func TestScannerAgainstModel(t *testing.T) {
	for a, name := range attrNames {
		if got := attrOf([]byte(name)); got != a {
			t.Errorf("attribute %d, %q, is read as %d", a, name, got)
		}
	}
	for _, s := range htmlSeeds {
		for _, cut := range []int{0, 1, 2, 3} {
			b := []byte(s[:max(0, len(s)-cut)])
			if got, want := scanned(b), modelled(b); got != want {
				t.Errorf("%q: got %s\nwant %s", b, got, want)
			}
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, s := range htmlSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := scanned(b), modelled(b); got != want {
			t.Fatalf("%q: got %s\nwant %s", b, got, want)
		}
	})
}

func FuzzExtract(f *testing.F) {
	for _, s := range htmlSeeds {
		f.Add([]byte(s), "text/html; charset=utf-8", "</x>; rel=next", "nofollow")
	}
	f.Add([]byte("<base href=/b/><meta name=forage content=none><meta name=tdm-reservation content=1><meta name=tdm-policy content='p\n\xff'><a rel=license href=l>"), "", "<l>; rel=license", "forage: noarchive")
	var x Extractor
	f.Fuzz(func(t *testing.T, b []byte, contentType, link, robots string) {
		o := Options{URL: "http://ex.test/a/b", ContentType: contentType, Links: []string{link}, Robots: []string{robots}, Agent: "forage", Embeds: true, Paths: true}
		p := x.Extract(b, o)
		q := Extract(b, o)
		if len(p.Links) != len(q.Links) || p.Title != q.Title || p.Canonical != q.Canonical || p.NoFollow != q.NoFollow {
			t.Fatalf("a used Extractor gives another page")
		}
		u := &use.Use{Page: p.Said}
		if !reflect.DeepEqual(p.Said, q.Said) || use.Parse(u.String()).String() != u.String() {
			t.Fatalf("%+v is said, by a new Extractor %+v", p.Said, q.Said)
		}
		for i := range p.Links {
			l := &p.Links[i]
			if again, err := Parse(l.URL); err != nil || again != l.URL {
				t.Fatalf("link %q is %q, %v", l.URL, again, err)
			}
			if p.Text(l) != q.Text(&q.Links[i]) || p.Path(l) != q.Path(&q.Links[i]) {
				t.Fatalf("text or path differ")
			}
		}
	})
}

// benchPage is a page of the size that the throughput check serves: 10 kB, 20 links.
func benchPage() []byte {
	words := strings.Fields("the of crawl page frontier discover new content site and link graph cover seed rate change model time fetch host")
	var b bytes.Buffer
	b.WriteString(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Page 7</title><link rel="canonical" href="/p/7"></head><body><h1>Page 7</h1>` + "\n")
	for k := range 20 {
		b.WriteString(`<div class="c"><p>`)
		for n, stop := k, b.Len()+410; b.Len() < stop; n++ {
			b.WriteString(words[n%len(words)] + " ")
			if n%37 == 0 {
				b.WriteString("<b>x</b> ")
			}
		}
		b.WriteString("</p></div>\n<p>See <a class=\"ref\" href=\"/p/" + strconv.Itoa(k*7919) + "\">page " + strconv.Itoa(k) + "</a> for more.</p>\n")
	}
	b.WriteString("</body></html>\n")
	return b.Bytes()
}

// bare is the loop that the throughput check compares with.
func bare(body []byte, base *url.URL, out []string) []string {
	z := html.NewTokenizer(bytes.NewReader(body))
	for {
		tt := z.Next()
		if tt == html.ErrorToken {
			return out
		}
		if tt != html.StartTagToken && tt != html.SelfClosingTagToken {
			continue
		}
		name, has := z.TagName()
		if len(name) == 1 && name[0] == 'a' {
			for has {
				var k, v []byte
				k, v, has = z.TagAttr()
				if string(k) == "href" {
					if r, err := base.Parse(string(v)); err == nil {
						r.Fragment = ""
						out = append(out, r.String())
					}
				}
			}
		}
	}
}

func BenchmarkExtract(b *testing.B) {
	page := benchPage()
	b.Run("impl=forage", func(b *testing.B) {
		var x Extractor
		b.ReportAllocs()
		b.SetBytes(int64(len(page)))
		for b.Loop() {
			if p := x.Extract(page, Options{URL: "http://127.0.0.1:8101/p/7", ContentType: "text/html; charset=utf-8"}); len(p.Links) != 21 {
				b.Fatal(len(p.Links))
			}
		}
	})
	b.Run("impl=bare", func(b *testing.B) {
		base, _ := url.Parse("http://127.0.0.1:8101/p/7")
		b.ReportAllocs()
		b.SetBytes(int64(len(page)))
		var out []string
		for b.Loop() {
			if out = bare(page, base, out[:0]); len(out) != 20 {
				b.Fatal(len(out))
			}
		}
	})
}
