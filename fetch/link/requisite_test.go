package link

import (
	"bytes"
	"fmt"
	"html"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	xhtml "golang.org/x/net/html"
)

// refsOf are the references of a style sheet; those of style sheets begin with "sheet ".
func refsOf(css string) (all []string) {
	StyleRefs([]byte(css), func(ref []byte, sheet bool) bool {
		is := ""
		if sheet {
			is = "sheet "
		}
		all = append(all, is+string(ref))
		return true
	})
	return all
}

func TestStyleRefs(t *testing.T) {
	for _, c := range []struct {
		css  string
		want string // separated by "|"
	}{
		{`a{background:url(a.png)}`, "a.png"},
		{`a{background:url( "a.png" )}b{background:URL('b.png')}`, "a.png|b.png"},
		{"a{background:url(\n a.png\t)}", "a.png"},
		{`@import "a.css"; @import url(b.css) screen; @IMPORT url('c.css') layer(x) supports(display: grid);`, "sheet a.css|sheet b.css|sheet c.css"},
		{`@import/**/"a.css"/* "b.css" */;`, "sheet a.css"},
		{`@charset "utf-8"; @namespace url(http://www.w3.org/1999/xhtml); @namespace svg "http://x/"; @namespace m url(n);a{b:url(c)}`, "c"},
		{`@font-face{font-family:"url(x)";src:local("A"),url(a.woff2)format("woff2"),url("b.woff") format('woff')}`, "a.woff2|b.woff"},
		{`/* url(a.png) */ a{content:"url(b.png)"; color:#url(c.png); x: furl(d.png); width: 1url(e.png)}`, ""},
		{`a{background:url(a\29 b.png)} b{background:u\72l(b.png)} c{background:\55 RL(c.png)}`, "a)b.png|b.png|c.png"},
		{`a{background:url("a\
b.png")}`, "ab.png"},
		{"a{background:url('a\nb.png)}c{background:url(c.png)}", "c.png"},
		{"a{background:url('a\nb.png')}c{background:url(c.png)}", ""}, // the second quote begins a string
		{`a{background:url(a b.png)}c{background:url(c.png)}`, "c.png"},
		{`a{background:url(a"b.png)}c{background:url(c.png)}`, "c.png"},
		{`a{fill:url(#g);background:url()}b{mask:url("")}`, ""},
		{`a{background:image-set("a.png" 1x, url(b.png) 2x, "c.avif" type("image/avif"))}b{content:"d.png"}`, "a.png|b.png|c.avif"},
		{`a{background:-webkit-image-set(url(a.png) 1x)}`, "a.png"},
		{`a{b:image-set("a.png" 1x}c{content:"d.png"}`, "a.png"},
		{`a{background:url(data:image/png;base64,AAAA)}`, "data:image/png;base64,AAAA"},
		{`a{background:url(a.png`, "a.png"},
		{`a{background:url("a.png`, "a.png"},
		{`a{background:url("a.png";color:red}b{background:url(b.png)}`, "b.png"},
		{`a{background:url("a.png" x(")") /*)*/)}b{background:url(b.png)}`, "a.png|b.png"},
		{`<!-- a{background:url(a.png)} -->`, "a.png"},
		{`@media screen{@import "a.css";a{background:url(b.png)}}`, "sheet a.css|b.png"},
		{`@import a "b.css";`, ""},
		{"\ufeff@import 'a.css';", "sheet a.css"},
		{`a{background:url(ä\e4.png)}`, "ää.png"},
		{`a{background:url(a\` + "\n" + `b)}c{background:url(c)}`, "c"},
		{`a{background:url(\0 x)}`, "\ufffdx"},
		{`a\`, ""},
		{`url(\`, ""},
		{`"\`, ""},
		{`/*`, ""},
		{`@`, ""},
	} {
		if got := strings.Join(refsOf(c.css), "|"); got != c.want {
			t.Errorf("%q: %q, want %q", c.css, got, c.want)
		}
	}
}

// A style sheet that is made of references, each in any of the ways in which CSS may write it, has these.
func TestStyleRefsOfAnySpelling(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	oneOf := func(some ...string) string { return some[rnd.IntN(len(some))] }
	escape := func(s string, must string) string {
		var b strings.Builder
		for i, r := range s {
			switch {
			case strings.ContainsRune(must, r) || rnd.IntN(8) == 0:
				if n := rnd.IntN(3); n == 0 && !strings.ContainsRune("0123456789abcdefABCDEF\n", r) {
					fmt.Fprintf(&b, `\%c`, r)
				} else if n == 1 {
					if fmt.Fprintf(&b, `\%06x`, r); strings.HasPrefix(s[i+utf8.RuneLen(r):]+" ", " ") {
						b.WriteByte(' ') // else it would end the escape
					}
				} else {
					fmt.Fprintf(&b, `\%x%s`, r, oneOf(" ", "\n", "\t", "\r\n"))
				}
			default:
				b.WriteRune(r)
			}
		}
		return b.String()
	}
	space := func() string { return oneOf("", " ", "\n", "/* url(no) */", "/* ' */ ") }
	blank := func() string { return oneOf("", " ", "\n\t") }
	for range 2000 {
		var css strings.Builder
		var want []string
		for range 1 + rnd.IntN(6) {
			ref := ""
			for range 1 + rnd.IntN(12) {
				ref += oneOf("a", "b", "/", ".", "ü", "(", ")", "'", `"`, `\`, " ", "x", "1", "漢", ";", "{", "}", "*")
			}
			ref = "/" + strings.TrimSpace(ref)
			quoted := func() string {
				q := oneOf(`"`, "'")
				return q + escape(ref, q+`\`) + q
			}
			url := escape("url", "") + "(" + blank() + oneOf(escape(ref, `"'() \`), quoted()) + blank() + ")"
			switch rnd.IntN(4) {
			case 0:
				css.WriteString("@" + escape("import", "") + oneOf(space()+quoted(), " "+url) + space() + oneOf("", "print") + ";")
				want = append(want, "sheet "+ref)
			case 1:
				css.WriteString("@font-face" + space() + "{ src:" + space() + url + " format('woff')" + space() + "}")
				want = append(want, ref)
			case 2:
				css.WriteString("a:not([b='url(no)'])" + space() + "{ background:" + space() + "#fff" + space() + " " + url + oneOf("", ";") + space() + "}")
				want = append(want, ref)
			default:
				css.WriteString("a { background: image-set(" + space() + quoted() + " 1x) }")
				want = append(want, ref)
			}
			css.WriteString(space())
		}
		if got := refsOf(css.String()); !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q", css.String(), got, want)
		}
	}
}

func TestRequisites(t *testing.T) {
	const at = "http://a.example/dir/page"
	for _, c := range []struct{ html, want string }{
		{`<img src=a.png srcset="b.png 1x, /c.png 2x">`, "dir/a.png dir/b.png c.png"},
		{`<picture><source srcset="a.avif, b.avif 2x" type=image/avif><img src=c.png></picture>`, "dir/a.avif dir/b.avif dir/c.png"},
		{`<video src=v.mp4 poster=p.jpg><source src=w.mp4><track src=t.vtt></video><audio src=a.mp3></audio>`, "dir/p.jpg"},
		{`<link rel=stylesheet href=/s.css><link rel="alternate stylesheet" href=t.css><link rel=stylesheet type=text/less href=l.less>`, "s.css* dir/t.css*"},
		{`<link rel="shortcut icon" href=/favicon.ico><link rel=apple-touch-icon href=t.png><link rel=manifest href=m.json>`, "favicon.ico dir/t.png"},
		{`<link rel=preload as=font href=f.woff2><link rel=preload as=style href=p.css><link rel=preload as=fetch href=x.json><link rel=preload as=image imagesrcset="i.png 2x"><link rel=modulepreload href=m.js><link rel=prefetch href=n.html>`, "dir/f.woff2 dir/p.css* dir/i.png dir/m.js"},
		{`<script src=a.js></script><script type=module src=b.mjs></script><script type=text/template src=no.html></script><script>var x="<img src=no.png>"</script>`, "dir/a.js dir/b.mjs"},
		{`<style>@import "a.css"; b{background:url(b.png)}</style><p style="background:url(&quot;c.png&quot;)">`, "dir/a.css* dir/b.png dir/c.png"},
		{`<base href=http://cdn.example/x/><img src=a.png><style>b{background:url(b.png)}</style>`, "cdn.example/x/a.png cdn.example/x/b.png"},
		{`<img src=early.png><base href=http://cdn.example/x/>`, "cdn.example/x/early.png"},
		{`<input type=IMAGE src=a.gif><input type=text src=no.gif><body background=b.gif><table background=c.gif><tr><td background=d.gif>`, "dir/a.gif dir/b.gif dir/c.gif dir/d.gif"},
		{`<svg><image href=a.png /><image xlink:href="b.png"/><use href="sprite.svg#icon"/><use xlink:href="#local"/><filter><feImage href="f.png"/></filter></svg>`, "dir/a.png dir/b.png dir/sprite.svg dir/f.png"},
		{`<object type=image/svg+xml data=a.svg></object><object data=no.pdf></object><embed type="image/png" src=b.png><embed src=no.swf>`, "dir/a.svg dir/b.png"},
		{`<img src=a.png><img src=./a.png><img src="a.png#x"><link rel=stylesheet href=a.png>`, "dir/a.png*"},
		{`<img src=""><img src="#x"><img src="data:image/png;base64,AA"><img src="javascript:1"><img src="mailto:x"><img><img src=page>`, ""},
		{`<noscript><img src=a.png></noscript><template><img src=no.png></template><iframe src=no.html></iframe><textarea><img src=no.png></textarea>`, "dir/a.png"},
		{`<img data-src=lazy.png loading=lazy src=a.png>`, "dir/a.png"},
		{`<title>x</title><style></style><img src=a.png>`, "dir/a.png"},
	} {
		p := Extract([]byte(c.html), Options{URL: at, Requisites: true})
		var got []string
		for _, r := range p.Requisites {
			u := strings.TrimPrefix(strings.TrimPrefix(r.URL, "http://a.example/"), "http://")
			if r.Sheet {
				u += "*"
			}
			got = append(got, u)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.html, got, c.want)
		}
		if p := Extract([]byte(c.html), Options{URL: at}); len(p.Requisites) != 0 {
			t.Errorf("%s: %v without being asked", c.html, p.Requisites)
		}
	}
}

func TestSheetRequisites(t *testing.T) {
	got := SheetRequisites([]byte(`@import "b.css"; a{background:url(../i.png)} b{background:url(../i.png)} c{src:url(http://cdn.example/f.woff)} d{background:url(data:,x)} @import "a.css";`), "http://a.example/css/a.css")
	want := []Requisite{{"http://a.example/css/b.css", true}, {"http://a.example/i.png", false}, {"http://cdn.example/f.woff", false}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := SheetRequisites([]byte(`a{b:url(c)}`), "no URL"); got != nil {
		t.Errorf("%v of a sheet without a URL", got)
	}
}

// What a page may need is bounded, as its links are.
func TestRequisitesAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range MaxLinks + 10 {
		fmt.Fprintf(&b, "<img src=%d>", i)
	}
	if p := Extract([]byte(b.String()), Options{URL: "http://a.example/", Requisites: true}); len(p.Requisites) != MaxLinks || !p.Truncated {
		t.Errorf("%d requisites, cut: %v", len(p.Requisites), p.Truncated)
	}
	room := func(n int64) bool { return n < 100<<10 }
	if p := Extract([]byte(b.String()), Options{URL: "http://a.example/", Requisites: true, Room: room}); len(p.Requisites) >= MaxLinks/2 || !p.Truncated {
		t.Errorf("%d requisites without room, cut: %v", len(p.Requisites), p.Truncated)
	}
	long := strings.Repeat("x", 2000)
	b.Reset()
	for i := range 5000 {
		fmt.Fprintf(&b, "<img src=%s%d>", long, i)
	}
	n := 0
	for _, r := range Extract([]byte(b.String()), Options{URL: "http://a.example/", Requisites: true}).Requisites {
		n += len(r.URL)
	}
	if n == 0 || n > MaxURLs+MaxURL {
		t.Errorf("%d bytes of URLs", n)
	}
}

// modelledRequisites is what a page needs by the tokenizer of golang.org/x/net/html, read with as little thought as possible, but for
// what stands in style sheets. It knows no base element.
func modelledRequisites(body []byte, base *Base) (all []string) {
	seen := map[string]bool{base.url: true}
	add := func(ref string) {
		ref = strings.Trim(ref, " \t\n\r\f")
		if ref == "" || ref[0] == '#' || otherScheme([]byte(ref)) {
			return
		}
		if u, err := base.Resolve(ref); err == nil && !seen[u] {
			seen[u] = true
			all = append(all, u)
		}
	}
	z := xhtml.NewTokenizer(bytes.NewReader(body))
	inert := 0
	for {
		switch z.Next() {
		case xhtml.ErrorToken:
			return all
		case xhtml.EndTagToken:
			if name, _ := z.TagName(); string(name) == "template" {
				inert = max(inert-1, 0)
			}
		case xhtml.StartTagToken, xhtml.SelfClosingTagToken:
			tok := z.Token()
			if tok.Data == "noscript" {
				z.NextIsNotRawText()
			}
			attr := map[string]string{}
			has := map[string]bool{}
			for _, a := range tok.Attr {
				if !has[a.Key] {
					attr[a.Key], has[a.Key] = a.Val, true
				}
			}
			if tok.Data == "template" && (inert > 0 || !has["shadowrootmode"]) {
				inert++
			}
			if inert > 0 {
				continue
			}
			switch tok.Data {
			case "img":
				add(attr["src"])
				add(attr["href"])
				add(attr["xlink:href"])
				for _, u := range ParseSrcset(attr["srcset"]) {
					add(u)
				}
			case "video":
				add(attr["poster"])
			case "body", "td":
				add(attr["background"])
			case "use":
				add(attr["href"])
				add(attr["xlink:href"])
			}
		}
	}
}

func FuzzRequisites(f *testing.F) {
	for _, s := range htmlSeeds {
		f.Add([]byte(s))
	}
	for _, s := range []string{
		`<img src="a&amp;b" srcset="c 1x,d 2x"><video poster=e><use xlink:href=f#g><td background=h>`,
		`<template><img src=a></template><img src=b><noscript><img src=c></noscript>`,
		`<img src='a` + "\r\n\x00" + `b'><IMG SRC=c SRC=d>`,
	} {
		f.Add([]byte(s))
	}
	base := new(Base)
	base.set("http://ex.test/a/b")
	var x Extractor
	f.Fuzz(func(t *testing.T, b []byte) {
		o := Options{URL: base.url, ContentType: "text/html; charset=utf-8", Requisites: true}
		p := x.Extract(b, o)
		for _, r := range p.Requisites {
			if again, err := Parse(r.URL); err != nil || again != r.URL {
				t.Fatalf("%q is %q, %v", r.URL, again, err)
			}
		}
		// The model knows fewer elements, and neither bases nor encodings, nor how much is too much.
		low := bytes.ToLower(b)
		for _, no := range []string{"base", "style", "script", "link", "image", "source", "input", "object", "embed", "table", "tbody", "thead", "tfoot", "<th", "<tr", "plaintext"} {
			if bytes.Contains(low, []byte(no)) {
				return
			}
		}
		if bytes.HasPrefix(b, []byte("\ufeff")) || bytes.HasPrefix(b, []byte("\xff\xfe")) || bytes.HasPrefix(b, []byte("\xfe\xff")) || !bytes.Equal(b, bytes.ToValidUTF8(b, nil)) || len(b) > 10_000 {
			return
		}
		var got []string
		for _, r := range p.Requisites {
			got = append(got, r.URL)
		}
		if want := modelledRequisites(b, base); !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q", b, got, want)
		}
	})
}

func FuzzStyleRefs(f *testing.F) {
	f.Add([]byte(`@import "a.css";a{background:url(a\29 b.png),image-set("x" 1x)}/**/`), 3)
	f.Add([]byte(`@font-face{src:url('a'),url( b )}`), 9)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		refs := refsOf(string(b))
		n := 0
		for _, r := range refs {
			n += len(r)
		}
		if n > 3*len(b)+6*len(refs) { // an escape makes no more of fewer bytes than U+FFFD
			t.Fatalf("%q: %q", b, refs)
		}
		// A comment between two rules changes nothing, and what a sheet says stays so in front of another one.
		if !bytes.ContainsAny(b, `\"'(/*`) && cut >= 0 {
			both := refsOf(string(b) + ";}/* ; */ z{y:url(last)}")
			if len(both) == 0 || both[len(both)-1] != "last" {
				t.Fatalf("%q: %q", b, both)
			}
		}
		SheetRequisites(b, "http://a.example/")
		Extract([]byte("<p style='"+html.EscapeString(string(b))+"'>"), Options{URL: "http://a.example/", Requisites: true})
	})
}

func BenchmarkRequisites(b *testing.B) {
	page := append(benchPage(), `<link rel=stylesheet href=/s.css><style>a{background:url(a.png)}</style><script src=x.js></script><img src=1.png srcset="2.png 1x, 3.png 2x"><img src=4.png><p style="background:url(5.png)">`...)
	for _, on := range []bool{false, true} {
		b.Run(fmt.Sprint("on=", on), func(b *testing.B) {
			var x Extractor
			b.ReportAllocs()
			b.SetBytes(int64(len(page)))
			for b.Loop() {
				x.Extract(page, Options{URL: "http://127.0.0.1:8101/p/7", ContentType: "text/html; charset=utf-8", Requisites: on})
			}
		})
	}
}
