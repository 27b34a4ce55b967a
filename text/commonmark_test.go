package text

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// commonMark is what a reader of Markdown makes of a text, as a tree of HTML.
func commonMark(t *testing.T, markdown string) *html.Node {
	t.Helper()
	var b bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.Table)).Convert([]byte(markdown), &b); err != nil {
		t.Fatal(err)
	}
	doc, err := html.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// An outline is what matters of a document: its blocks, of each character where it leads, and which marks it has.
type outline struct {
	blocks []string
	marked []string // of each character that is no space: strong s, emphasized e, code c
	mid    bool
}

type style struct{ code, strong, em, href string }

func outlineOf(doc *html.Node) *outline {
	o := new(outline)
	o.walk(doc, "", style{})
	return o
}

func (o *outline) add(kind string) {
	o.blocks, o.mid = append(o.blocks, kind), false
}

// char adds a character to the paragraph.
func (o *outline) char(s string, st style) {
	if !o.mid {
		o.add("text: ")
		o.mid = true
	}
	b := &o.blocks[len(o.blocks)-1]
	if strings.TrimSpace(s) == "" {
		if !strings.HasSuffix(*b, " ") && !strings.HasSuffix(*b, "\n") {
			*b += " "
		}
		return
	}
	*b += s
	if st.href != "" {
		*b += "{" + st.href + "}"
	}
	o.marked = append(o.marked, st.strong+st.em+st.code)
}

func (o *outline) walk(n *html.Node, in string, st style) {
	attr := func(key string) string {
		for _, a := range n.Attr {
			if a.Key == key {
				return a.Val
			}
		}
		return ""
	}
	leads := func(to string) string {
		if plain, err := url.PathUnescape(to); err == nil {
			to = plain
		}
		return to
	}
	if n.Type == html.TextNode {
		if strings.TrimSpace(n.Data) == "" && !o.mid {
			return
		}
		for _, c := range n.Data {
			o.char(string(c), st)
		}
		return
	}
	block := ""
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Ul, atom.Ol, atom.Li, atom.Blockquote, atom.Tr, atom.Td, atom.Th, atom.Table:
		block = strings.ReplaceAll(n.Data, "th", "td")
		o.add(block)
	case atom.P:
		o.mid = false
	case atom.Hr:
		o.add("hr")
	case atom.Pre:
		text, class := n.FirstChild, attr("class")
		if text != nil && text.DataAtom == atom.Code {
			n, text = text, text.FirstChild
			class = attr("class")
			for _, a := range n.Attr {
				class = a.Val
			}
		}
		data := ""
		if text != nil {
			data = text.Data
		}
		lines := strings.Split(strings.TrimRight(data, " \t\n"), "\n")
		for i, l := range lines {
			if strings.TrimSpace(l) == "" {
				lines[i] = ""
			}
		}
		o.add(fmt.Sprintf("pre %s %q", class, lines))
		return
	case atom.Br:
		if o.mid {
			b := &o.blocks[len(o.blocks)-1]
			*b = strings.TrimSpace(*b) + "\n"
		}
		return
	case atom.Img:
		for _, c := range attr("alt") {
			o.char(string(c), style{href: "!" + leads(attr("src")) + " " + st.href})
		}
		return
	case atom.A:
		st.href = leads(attr("href"))
	case atom.Code:
		st.code = "c"
	case atom.Strong, atom.B:
		st.strong = "s"
	case atom.Em, atom.I:
		st.em = "e"
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		o.walk(c, in, st)
	}
	switch {
	case block != "":
		o.add("/" + block)
	case n.DataAtom == atom.P:
		o.mid = false
	}
}

// trim leaves out spaces at the ends of blocks.
func (o *outline) trim() []string {
	for i, b := range o.blocks {
		o.blocks[i] = strings.TrimSpace(b)
	}
	return o.blocks
}

// A writer of pages which say in HTML what Markdown can say.
type pageWriter struct {
	*rand.Rand
	strings.Builder
	links int
}

var words = []string{"a", "bc", "d_e", "_f", "g_", "*", "**", "#", "##", "1.", "23)", "4", "-", "--", "---", "+", "=", "===", ">", "<", "<i>", "&", "&amp;", "&#65;", "`", "``", "[", "]",
	"[x](y)", "[x]:", "!", "\\", "\\*", "|", "|-|", ":-", ":--", "~", "~~", "~~~", "```", "(", ")", ".", "\"", "é", "€", "“q”", "http://a.test/_b_", "x|y", "&copy;", "\t"}

func (w *pageWriter) word() { w.WriteString(html.EscapeString(words[w.IntN(len(words))])) }

// inline writes what is in a block, and in such elements.
func (w *pageWriter) inline(in string, breaks, link bool) {
	for i := range 1 + w.IntN(4) {
		if i > 0 && w.IntN(3) > 0 {
			if w.WriteString(" "); breaks && w.IntN(6) == 0 {
				w.WriteString("x<br>y ")
			}
		}
		kind := w.IntN(14)
		switch {
		case len(in) > 2 || kind > 5:
			w.word()
		case kind == 5 && in == "":
			fmt.Fprintf(w, "<img alt='%s' src='http://i.test/%s'>", html.EscapeString("al"+words[w.IntN(len(words)-1)]), html.EscapeString(words[w.IntN(len(words)-1)]))
		case kind == 4:
			w.WriteString("<code>")
			w.word()
			if w.IntN(2) == 0 {
				w.word()
			}
			w.WriteString("</code>")
		case kind == 3 && link:
			w.links++
			fmt.Fprintf(w, "<a href='http://l%d.test/%s'>x", w.links, html.EscapeString(words[w.IntN(len(words)-1)]))
			w.inline(in+"a", breaks, false)
			w.WriteString("</a>")
		default:
			tag := []string{"b", "em", "strong", "i"}[w.IntN(4)]
			mark := map[string]string{"b": "s", "strong": "s", "em": "e", "i": "e"}[tag]
			if strings.Contains(in, mark) {
				continue
			}
			w.WriteString("<" + tag + ">")
			w.inline(in+mark, breaks, link)
			w.WriteString("</" + tag + ">")
		}
	}
}

func (w *pageWriter) blocks(depth int) {
	for range 1 + w.IntN(4) {
		switch kind := w.IntN(10); {
		case kind < 3 || depth > 3:
			w.WriteString("<p>x")
			w.inline("", true, true)
			w.WriteString("</p>")
		case kind < 5:
			tag := []string{"ul", "ol"}[w.IntN(2)]
			w.WriteString("<" + tag + ">")
			for range 1 + w.IntN(3) {
				w.WriteString("<li>")
				if w.IntN(2) == 0 {
					w.word()
					w.WriteString("x")
					w.inline("", true, true)
				}
				w.blocks(depth + 1)
				w.WriteString("</li>")
			}
			w.WriteString("</" + tag + ">")
		case kind == 5:
			w.WriteString("<blockquote>")
			w.blocks(depth + 1)
			w.WriteString("</blockquote>")
		case kind == 6:
			level := 1 + w.IntN(6)
			fmt.Fprintf(w, "<h%d>x", level)
			w.inline("", false, true)
			fmt.Fprintf(w, "</h%d>", level)
		case kind == 7:
			w.WriteString("<pre class=language-go>x")
			for range w.IntN(5) {
				w.WriteString([]string{"\n", "\n\n", " ", "  "}[w.IntN(4)])
				w.word()
			}
			w.WriteString("</pre>")
		case kind == 8:
			w.WriteString("<hr>")
		case depth > 0:
			w.WriteString("<p>x</p>")
		default:
			columns := 2 + w.IntN(3)
			w.WriteString("<table>")
			for range 2 + w.IntN(3) {
				w.WriteString("<tr>")
				for i := range columns {
					w.WriteString("<td>")
					if i == 0 || w.IntN(4) > 0 {
						w.WriteString("x")
						w.inline("", false, true)
					}
					w.WriteString("</td>")
				}
				w.WriteString("</tr>")
			}
			w.WriteString("</table>")
		}
	}
}

// TestCommonMark reads the Markdown of random pages as Markdown, and finds their blocks, lists and links in it. Marks may be left out, see mark, but none is where there was none.
func TestCommonMark(t *testing.T) {
	var r Reader
	kept, had := 0, 0
	wrong, body := "", ""
	for seed := range uint64(2000) {
		w := &pageWriter{Rand: rand.New(rand.NewPCG(seed, 3))}
		w.blocks(int(seed % 4))
		page, err := html.Parse(strings.NewReader(w.String()))
		if err != nil {
			t.Fatal(err)
		}
		fails := func(format string, args ...any) {
			if wrong == "" || w.Len() < len(body) {
				body = w.String()
				wrong = fmt.Sprintf("seed %d: ", seed) + fmt.Sprintf(format, args...)
			}
		}
		md := r.Read([]byte(w.String()), Options{ContentType: "text/html; charset=utf-8", Format: Markdown}).Text
		got, want := outlineOf(commonMark(t, md)), outlineOf(page)
		if !slices.Equal(got.trim(), want.trim()) {
			i := 0
			for i < min(len(got.blocks), len(want.blocks)) && got.blocks[i] == want.blocks[i] {
				i++
			}
			fails("Markdown:\n%s\nis read as\n%q\nwant\n%q", md, got.blocks[i:], want.blocks[i:])
			continue
		}
		for i, marks := range want.marked {
			had += len(marks)
			kept += len(got.marked[i])
			if strings.Trim(got.marked[i], marks) != "" {
				fails("Markdown:\n%s\ncharacter %d is %q, want %q", md, i, got.marked[i], marks)
				break
			}
		}
	}
	if wrong != "" {
		t.Errorf("%s\n%s", body, wrong)
	}
	if kept < had/2 {
		t.Errorf("characters have %d marks, of %d", kept, had)
	}
}

// said is the text of a tree, without spaces.
func said(n *html.Node) string {
	var b strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
		for _, a := range n.Attr {
			if a.Key == "alt" {
				b.WriteString(a.Val)
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(n)
	return withoutSpaces(b.String())
}

func withoutSpaces(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// TestSame compares what Markdown says, to who reads it as such, with plain text, on pages of pieces that do not fit together.
func TestSame(t *testing.T) {
	pieces := []string{"</b>", "</i>", "</a>", "</code>", "</td>", "</table>", "</ul>", "</li>", "</blockquote>", "</pre>", "</h1>", "</div>", "\n", "<div>", "<ol><li>", "<ul>", "<tr>", "<caption>", "<th>",
		"<td colspan=2 rowspan=3>", "<em>", "<h2>", "<hr>", "<br>", "<img alt='!x]' src=http://a.test/>", "<a href=http://b.test/>", "<p>", "<span>", "&lt;", "\\"}
	for _, piece := range hostile {
		pieces = append(pieces, piece)
	}
	slices.Sort(pieces)
	for seed := range uint64(10000) {
		rng := rand.New(rand.NewPCG(seed, 5))
		var b strings.Builder
		for range 1 + rng.IntN(24) {
			if rng.IntN(3) == 0 {
				b.WriteString(html.EscapeString(words[rng.IntN(len(words))]))
			} else {
				b.WriteString(pieces[rng.IntN(len(pieces))])
			}
		}
		same(t, b.String(), "text/html; charset=utf-8")
	}
}

// same checks that the Markdown of a page, read as such, says what its plain text says.
func same(t *testing.T, body, contentType string) {
	t.Helper()
	o := Options{ContentType: contentType, Format: Markdown}
	md := new(Reader).Read([]byte(body), o).Text
	o.Format = Plain
	plain := new(Reader).Read([]byte(body), o).Text
	if got, want := said(commonMark(t, md)), withoutSpaces(plain); got != want {
		t.Fatalf("%q\nMarkdown:\n%s\nsays\n%q\nwant\n%q", body, md, got, want)
	}
}
