package sitemap

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"forage/internal/race"
)

// tokens writes what next returns, one after another, texts that follow each other as one.
func tokens(next func() (xml.Token, error)) string {
	var out, text strings.Builder
	for {
		t, err := next()
		if c, ok := t.(xml.CharData); ok {
			text.Write(c)
			continue
		}
		switch t.(type) {
		case xml.Comment, xml.ProcInst, xml.Directive:
			continue
		}
		if text.Len() > 0 {
			fmt.Fprintf(&out, "%q", text.String())
			text.Reset()
		}
		switch t := t.(type) {
		case xml.StartElement:
			fmt.Fprintf(&out, "<%s", t.Name.Local)
			for _, a := range t.Attr {
				fmt.Fprintf(&out, " %s=%q", a.Name.Local, a.Value)
			}
			out.WriteString(">")
		case xml.EndElement:
			fmt.Fprintf(&out, "</%s>", t.Name.Local)
		}
		if err != nil {
			if err != io.EOF {
				fmt.Fprintf(&out, " %v", err)
			}
			return out.String()
		}
	}
}

func lexed(s string) string { return tokens(newLexer(strings.NewReader(s)).next) }

// What is right XML is read as encoding/xml reads it.
func TestLexerAgainstXML(t *testing.T) {
	for _, s := range []string{
		`<?xml version="1.0"?><!-- c - x --><a:b x:y="1 &lt; '2'" z='"'>t &amp; &#65;&#x42;<c/><d /></a:b>`,
		`<a><![CDATA[<b> &amp; ]] ]>]]]></a>`, `<a>x<!-- <b> -->y<?p <b> ?>z</a>`,
		`<!DOCTYPE l [<!ENTITY a "h>a"><!-- > -->]><l>x</l>`, "<a\n b\n=\n\"1\"\n>\n</a\n>", `<a b="/"/>`, `<é ü="ö">ä</é>`,
	} {
		d := xml.NewDecoder(strings.NewReader(s))
		if got, want := lexed(s), tokens(d.RawToken); got != want {
			t.Errorf("%s\nis  %s\nnot %s", s, got, want)
		}
	}
}

func TestLexerOnBroken(t *testing.T) {
	for s, want := range map[string]string{
		`<a>1 < 2 <b>x</b>`:               `<a>"1 < 2 "<b>"x"</b>`,
		`<a x="1<b>y`:                     `<a x="1"><b>"y"`,
		`<a x=1 y>&nope; &amp &copy;1&y=`: `<a x="1" y="">"&nope; &amp ©1&y="`,
		`<a`:                              `<a>`,
		`</`:                              `</>`,
		`<`:                               `"<"`,
		`<![CDATA[x`:                      `"x"`,
		`<!-- x`:                          ``,
		`<!DOCTYPE`:                       ``,
		`<a it's="1">x`:                   `<a it's="1">"x"`,
	} {
		if got := lexed(s); got != want {
			t.Errorf("%s is %s, want %s", s, got, want)
		}
	}
}

// The lexer ends, in time that grows with the input alone, and keeps no more than its bounds.
func TestLexerOnHostile(t *testing.T) {
	size := race.Fewer(2 << 20)
	for _, s := range []string{"<", "<a", "<a x=\"", "<!--", "<![CDATA[", "&", "&amp", "<!DOCTYPE [", "]]", "<a/>", "</", "<?"} {
		l := newLexer(strings.NewReader(strings.Repeat(s, size/len(s))))
		for {
			if _, err := l.next(); err != nil {
				break
			}
			if cap(l.buf) > 4*maxToken {
				t.Fatalf("%q: %d bytes kept", s, cap(l.buf))
			}
		}
	}
}

func FuzzLexer(f *testing.F) {
	f.Add(`<a x="1<b>y`)
	f.Add(`<?xml?><!DOCTYPE l [<!ENTITY a "h">]><l><![CDATA[x]]>&amp;</l>`)
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := tokens(newLexer(iotest.OneByteReader(strings.NewReader(s))).next), lexed(s); got != want {
			t.Fatalf("%q byte by byte is %s, at once %s", s, got, want)
		}
	})
}

func BenchmarkXML(b *testing.B) {
	var s strings.Builder
	s.WriteString(`<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
	for i := range 10_000 {
		fmt.Fprintf(&s, "<url>\n  <loc>http://example.org/2024/05/some-page-%d/</loc>\n  <lastmod>2024-05-06T07:08:09+00:00</lastmod>\n</url>\n", i)
	}
	body := []byte(s.String())
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if d, err := Parse(body, "http://example.org/sitemap.xml", "application/xml"); err != nil || len(d.Entries) != 10_000 {
			b.Fatal(err)
		}
	}
}
