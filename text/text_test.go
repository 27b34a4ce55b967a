package text

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"

	"forage/internal/race"
)

var update = flag.Bool("update", false, "write what is wanted anew")

func read(body string, f Format) Page {
	return new(Reader).Read([]byte(body), Options{URL: "http://ex.test/dir/page", ContentType: "text/html", Format: f})
}

// TestPages reads the pages of testdata.
func TestPages(t *testing.T) {
	pages, err := filepath.Glob("testdata/*.html")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	var r Reader
	for _, path := range pages {
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []struct {
			Format
			ext string
		}{{Markdown, ".md"}, {Plain, ".txt"}} {
			p := r.Read(body, Options{URL: "http://ex.test/dir/page", ContentType: "text/html", Format: f.Format})
			got := fmt.Sprintf("%s\n%s\n\n%s\n", p.Title, p.Lang, p.Text)
			name := strings.TrimSuffix(path, ".html") + f.ext
			if *update {
				if err := os.WriteFile(name, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name)
			if err != nil || got != string(want) {
				t.Errorf("%s: %v\n%s", name, err, got)
			}
		}
	}
}

func TestRead(t *testing.T) {
	for _, test := range []struct{ name, body, markdown, plain string }{
		{"nothing", "", "", ""},
		{"no tags", " some  text\n", "some text", "some text"},
		{"around the text", "<nav>N</nav><header>H</header><p>text</p><aside>A</aside><form>F</form><footer>F</footer>", "text", "text"},
		{"header of an article", "<header>H</header><article><header><h1>T</h1></header>text</article>", "# T\n\ntext", "T\n\ntext"},
		{"all in a form", "<nav>menu</nav><form><p>all of it is in here</p><footer>F</footer></form><p>&copy; 2020</p>", "all of it is in here\n\n© 2020", "all of it is in here\n\n© 2020"},
		{"all in a header", "<header><nav>N</nav>text</header><footer>F</footer>", "text", "text"},
		{"nothing else", "<nav>N</nav><footer>F</footer>", "N\n\nF", "N\n\nF"},
		{"without text", "<p>a<script>b</script><style>c</style><noscript>d</noscript><template>e</template><svg><title>f</title>g</svg><select><option>h</select><textarea>i</textarea><iframe>j</iframe>", "a", "a"},
		{"an empty script", "<script src=x></script>text<script src=y></script> more", "text more", "text more"},
		{"a button in a div", "<div><button>B</div><p>text", "text", "text"},
		{"words", "a<b>b</b> <i>c</i>d <span>e</span><x-y>f</x-y>g", "a**b** *c*d e\n\nf\n\ng", "ab cd e\n\nf\n\ng"},
		{"spaces in marks", "a <b> b </b> c <code> d </code> e", "a **b** c `d` e", "a b c d e"},
		{"unseen", "Do\u00adnau\u200b &#1;x\x00y\ufeff\u00a0z", "Donau xy z", "Donau xy z"},
		{"no UTF-8", "<p>caf\xe9 \xff", "café ÿ", "café ÿ"}, // so it is windows-1252
		{"marks in text", "<p>*a* _b_ c_d [e](f) `g` \\ # h &lt;i&gt; ~~j~~ &amp;amp;", "\\*a\\* \\_b\\_ c_d \\[e\\](f) \\`g\\` \\\\ # h \\<i> \\~\\~j\\~\\~ \\&amp;", "*a* _b_ c_d [e](f) `g` \\ # h <i> ~~j~~ &amp;"},
		{"marks at the beginning", "<p># a<p>- b<p>+ c<p>1. d<p>2) e<p>&gt; f<p>--- g<p>=== h<p>2020. i<p>3.5 j<p>-k", "\\# a\n\n\\- b\n\n\\+ c\n\n1\\. d\n\n2\\) e\n\n\\> f\n\n\\--- g\n\n\\=== h\n\n2020\\. i\n\n3.5 j\n\n-k", "# a\n\n- b\n\n+ c\n\n1. d\n\n2) e\n\n> f\n\n--- g\n\n=== h\n\n2020. i\n\n3.5 j\n\n-k"},
		{"headings", "<h1>a</h1><h2>b <b>c</b><h3>C#</h3><h4><p>d</h4><h5>e<p>f", "# a\n\n## b c\n\n### C\\#\n\n#### d\n\n##### e\n\nf", "a\n\nb c\n\nC#\n\nd\n\ne\n\nf"},
		{"links", `<base href=/b/><a href=c>d</a> <a href="HTTPS://x.test/(y) z">e</a> <a href=javascript:f()>f</a> <a href=#g>g</a> <a>h</a> <a href=mailto:i@j>i</a><a href=k></a> <a href="//l/m[n]">o]</a>`,
			"[d](http://ex.test/b/c) [e](HTTPS://x.test/%28y%29%20z) f g h [i](mailto:i@j) [o\\]](http://l/m%5Bn%5D)", "d e f g h i o]"},
		{"a link around blocks", "<a href=/x><h2>T</h2><p>p</a> q", "## [T](http://ex.test/x)\n\np q", "T\n\np q"},
		{"images", `<img src=a.png alt=" A  ]b "> <img src=b.png> <img alt=c src="data:x"> <img alt=d>`, "![A \\]b](http://ex.test/dir/a.png) c d", "A ]b c d"},
		{"lists", "<ul><li>a<li>b<ol start=5><li>c<li>d</ol><li></ul>e<menu><li>f</menu>", "- a\n- b\n  1. c\n  2. d\n\ne\n\n- f", "a\nb\nc\nd\n\ne\n\nf"},
		{"items without a list", "<li>a<li>b", "a\n\nb", "a\n\nb"},
		{"quotes", "<blockquote>a<blockquote>b</blockquote></blockquote>", "> a\n>\n> > b", "a\n\nb"},
		{"code", "<pre class='x lang-c++'>\na\n  b</pre><code>c`d</code><pre><div>e</div><div>f</div></pre><pre> </pre>", "```c++\na\n  b\n```\n\n``c`d``\n\n```\ne\nf\n```", "a\n  b\n\nc`d\n\ne\nf"},
		{"breaks", "a<br>b<br><br>c<br>", "a  \nb\n\nc", "a\nb\n\nc"},
		{"a line", "a<hr>b", "a\n\n---\n\nb", "a\n\nb"},
		{"a table", "<table><caption>C</caption><thead><tr><th>a|b<th>c<tbody><tr><td>d<td><tr><td colspan=2>e</table>", "C\n\n| a\\|b | c |\n|---|---|\n| d |  |\n| e |  |", "C\n\na|b\tc\nd\ne"},
		{"a table without head", "<table><tr><td>a<td>b<tr><td>c<td>d</table>", "| a | b |\n|---|---|\n| c | d |", "a\tb\nc\td"},
		{"a table for places", "<table><tr><td>a<td><p>b<p>c</table>d", "a\n\nb\n\nc\n\nd", "a\tb\nc\n\nd"},
		{"rows for places", "<table><tr><td>1.<td><a href=/x>T</a><tr><td colspan=2>by e</table>", "1\\. [T](http://ex.test/x)\n\nby e", "1.\tT\nby e"},
		{"tables in tables", "<table><tr><td><table><tr><td>a<td>b<tr><td>c<td>d</table><td>e</table>", "a b\n\nc d\n\ne", "a\tb\nc\td\ne"},
		{"text in a table", "<table>a<tr>b<td>c</table>", "a\n\nb\n\nc", "a\n\nb\n\nc"},
		{"cells without a table", "<td>a<td>b<tr>c", "a\n\nb\n\nc", "a\n\nb\n\nc"},
		{"a form across a table", "<table><form><tr><td>a</form><tr><td>b</table>c", "b\n\nc", "b\n\nc"},
		{"ends that begin nothing", "</div></p></td></ul>a</b></a></h1></form>b", "a\n\nb", "a\n\nb"},
		{"lists beside each other", "<ol><li>a</ol><ol><li>b</ol><ul>c<li>d<ul><ul><li>e</ul></ul></ul>", "1. a\n\n1) b\n\nc\n\n- d\n\n  - e", "a\n\nb\n\nc\nd\ne"},
		{"marks that touch", "<b>a</b><b>b</b> <i>c</i><b>d</b> <code>e</code><code>f</code> !<a href=/g>g</a> <b>(h)</b>h", "**ab** *c*d `ef` \\![g](http://ex.test/g) (h)h", "ab cd ef !g (h)h"},
		{"links in code", "<code>a <a href=/b>b</a></code>", "`a` [`b`](http://ex.test/b)", "a b"},
		{"lines in code", "<code>a<br>b</code>", "`a`  \n`b`", "a\nb"},
		{"marks that cross", "<b>a<i>b</b>c</i>d", "**a*b***cd", "abcd"},
	} {
		if got := read(test.body, Markdown).Text; got != test.markdown {
			t.Errorf("%s: %q, want %q", test.name, got, test.markdown)
		}
		if got := read(test.body, Plain).Text; got != test.plain {
			t.Errorf("%s, plain: %q, want %q", test.name, got, test.plain)
		}
	}
}

func TestTitleAndLang(t *testing.T) {
	for _, test := range []struct{ body, header, title, lang string }{
		{"<html lang=de-AT><title> a\n &lt;b </title><title>c</title>", "en", "a <b", "de-AT"},
		{"<html xml:lang=fr><svg><title>a</title></svg><title>b</title>", "", "b", "fr"},
		{"<html lang=''><title></title><title>c</title>", "nl, en", "c", "nl"},
		{"<html lang='not a tag!'>", " pt-BR ", "", "pt-BR"},
		{"<p>", "*", "", ""},
		{"<html lang=" + strings.Repeat("a", 100) + "><title>" + strings.Repeat("é", 300) + "</title>", "", strings.Repeat("é", 256), ""},
	} {
		p := new(Reader).Read([]byte(test.body), Options{ContentType: "text/html; charset=utf-8", Language: test.header})
		if p.Title != test.title || p.Lang != test.lang {
			t.Errorf("%.40s: %q, %q, want %q, %q", test.body, p.Title, p.Lang, test.title, test.lang)
		}
	}
	if _, err := ParseFormat("html"); err == nil {
		t.Error("html is taken for a format")
	}
	if got := Cut("aé", 2); got != "a" {
		t.Errorf("cut to %q", got)
	}
}

// TestTrees compares the words of random pages with those of the tree that golang.org/x/net/html makes of them, and those of Markdown with those of plain text.
func TestTrees(t *testing.T) {
	var r Reader
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var b strings.Builder
		randomPage(rng, &b, 0, "")
		body := b.String()
		plain := r.Read([]byte(body), Options{ContentType: "text/html; charset=utf-8", Format: Plain}).Text
		md := r.Read([]byte(body), Options{ContentType: "text/html; charset=utf-8", Format: Markdown}).Text
		doc, err := html.Parse(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		want := naive(doc)
		if got := strings.Fields(plain); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %s\n%q\nwant\n%q", seed, body, got, want)
		}
		if got := regexp.MustCompile(`[a-z]+`).FindAllString(md, -1); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %s\nas Markdown:\n%s\nwords %q\nwant %q", seed, body, md, got, want)
		}
	}
}

// randomPage writes elements that may stand in each other.
func randomPage(rng *rand.Rand, b *strings.Builder, depth int, in string) {
	blocks := []string{"div", "p", "ul", "ol", "blockquote", "pre", "table", "h2", "section", "article", "nav", "header", "footer", "aside", "form", "script", "details"}
	inline := []string{"b", "i", "em", "strong", "code", "span", "u", "sub"}
	word := func() { fmt.Fprintf(b, "%s ", string(rune('a'+rng.IntN(26)))+string(rune('a'+rng.IntN(26)))) }
	for range 1 + rng.IntN(4) {
		kinds := blocks
		if in == "p" || in == "h2" || in == "pre" || in == "inline" || depth > 5 || rng.IntN(2) == 0 {
			kinds = inline
		}
		tag := kinds[rng.IntN(len(kinds))]
		if rng.IntN(3) == 0 || depth > 8 || b.Len() > 2000 {
			word()
			continue
		}
		switch tag {
		case "ul", "ol":
			b.WriteString("<" + tag + ">")
			for range rng.IntN(4) {
				b.WriteString("<li>")
				randomPage(rng, b, depth+1, "li")
				if rng.IntN(2) == 0 {
					b.WriteString("</li>")
				}
			}
		case "table":
			b.WriteString("<table>")
			for range rng.IntN(4) {
				b.WriteString("<tr>")
				for range rng.IntN(4) {
					b.WriteString([]string{"<td>", "<th>"}[rng.IntN(2)])
					if rng.IntN(2) == 0 {
						word()
					} else {
						randomPage(rng, b, depth+1, "td")
					}
				}
			}
		case "script":
			b.WriteString("<script>")
			word()
		case "form":
			if strings.Contains(b.String(), "<form>") { // one in another is none
				continue
			}
			fallthrough
		default:
			b.WriteString("<" + tag + ">")
			within := tag
			if slices.Contains(inline, tag) {
				within = "inline"
			}
			randomPage(rng, b, depth+1, within)
		}
		b.WriteString("</" + tag + "> ")
	}
}

// naive are the words of a tree, as Read tells them.
func naive(doc *html.Node) []string {
	var walk func(n *html.Node, in string, landmark bool, words map[string][]string, out *[]string, keep map[string]bool)
	walk = func(n *html.Node, in string, landmark bool, words map[string][]string, out *[]string, keep map[string]bool) {
		if n.Type == html.TextNode {
			f := strings.Fields(n.Data)
			words[in] = append(words[in], f...)
			for part := range strings.SplitSeq(in, "+") {
				if part != "" && !keep[part] {
					return
				}
			}
			*out = append(*out, f...)
			return
		}
		add := func(part string) {
			if !strings.Contains(in, part) {
				all := append(strings.Split(strings.Trim(in, "+"), "+"), part)
				slices.Sort(all)
				in = strings.Trim(strings.Join(all, "+"), "+")
			}
		}
		switch n.Data {
		case "script":
			return
		case "nav", "footer", "aside":
			add("other")
		case "form":
			add("form")
		case "header":
			if !landmark {
				add("header")
			}
		case "article":
			landmark = true
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, in, landmark, words, out, keep)
		}
	}
	count := func(words map[string][]string, in string) (n int) {
		for _, w := range words[in] {
			n += len(w)
		}
		return n
	}
	words := map[string][]string{}
	walk(doc, "", false, words, new([]string), nil)
	keep := map[string]bool{}
	left := count(words, "")
	if count(words, "form") > left {
		keep["form"] = true
		left = 1
	}
	if left == 0 {
		if count(words, "header")+count(words, "form+header") > 0 {
			keep["form"], keep["header"] = true, true
		} else {
			keep = map[string]bool{"form": true, "header": true, "other": true}
		}
	}
	var out []string
	walk(doc, "", false, map[string][]string{}, &out, keep)
	return out
}

// hostile are pieces of which pages are made that are to take long.
var hostile = map[string]string{
	"divs": "<div>", "spans": "<span>", "bold": "<b>", "fonts": "<font size=1>", "links": "<a href=x>y", "paragraphs": "<p>x", "bold words": "<b>x</b> ",
	"lists": "<ul><li>x", "items": "<li>x", "quotes": "<blockquote>x", "tables": "<table><tr><td>x", "rows": "<tr><td>x", "cells": "<td>x", "headings": "<h1>x",
	"forms": "<form>x", "navs": "<nav>x", "articles": "<article>x", "preformatted": "<pre>x", "code": "<code>x", "pictures": "<img src=x alt=y>", "lines": "x<br>", "rules": "<hr>",
	"brackets": "[", "stars": "*", "underlines": "_a ", "hashes": "# ", "numbers": "1. ", "backticks": "`", "ampersands": "&", "less": "< ", "dashes": "- ", "greater": "> ",
	"spaces": " ", "no UTF-8": "\xff", "NUL": "\x00", "unseen": "\u00ad", "ends": "</div>", "other ends": "</b></td></li>", "closed divs": "<div></div>", "buttons": "<button>x",
	"titles": "<title>x</title>", "scripts": "<script>x</script>", "comments": "<!-- -->", "custom": "<x-y>z", "spaces in marks": " <i> </i>", "definitions": "<dl><dt>x<dd>y",
	"bold items": "<ul><li><b>x</b><ul>", "wide cells": "<table><tr><th colspan=99>x<tr><td>y</table>", "many in one": "<i>x</i>y", "nested tables": "<table><td>", "captions": "<table><caption>x",
}

// TestHostile: time and memory grow with the length of a page and no faster, whatever it is made of.
func TestHostile(t *testing.T) {
	race.Skip(t) // which takes minutes, and its own time and memory
	const size = 256 << 10
	var r Reader
	pages := map[string]string{}
	for name, piece := range hostile {
		pages[name] = strings.Repeat(piece, size/len(piece))
	}
	pages["in a row"] = "<table><tr>" + strings.Repeat("<td>x", size/5)
	pages["in a cell"] = "<b><table><tr><td>" + strings.Repeat("</b>", size/4)
	pages["attribute"] = `<a href="` + strings.Repeat("x", size) + `">y</a>`
	pages["attributes"] = "<a " + strings.Repeat("a=b ", size/4) + ">y</a>"
	pages["a header of cells"] = "<table><tr>" + strings.Repeat("<th>x", 64) + strings.Repeat("<tr><td>x", size/9)
	pages["a base"] = "<base href='http://x/" + strings.Repeat("y", 2000) + "/'>" + strings.Repeat("<a href=z>z</a>", size/15)
	pages["deep, then ends"] = strings.Repeat("<div>", size/16) + strings.Repeat("</span>", size/16) + "text"
	deep := strings.Repeat("<blockquote><ol><li>", 8) // each line of it is longer than what it says: not all are marked
	pages["deep code"] = deep + "<pre>x" + strings.Repeat("\ny", size/2)
	pages["deep paragraphs"] = deep + strings.Repeat("<p>x", size/4)
	for name, body := range pages {
		for _, f := range []Format{Markdown, Plain} {
			took := func(body string) (d time.Duration, bytes uint64, p Page) {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				at := time.Now()
				p = r.Read([]byte(body), Options{URL: "http://ex.test/", Format: f})
				d = time.Since(at)
				runtime.ReadMemStats(&after)
				return d, after.TotalAlloc - before.TotalAlloc, p
			}
			few, _, _ := took(body[:size/8])
			all, bytes, p := took(body)
			if all > 24*few+500*time.Millisecond {
				t.Errorf("%s, %s: %v for an eighth, %v for all", name, f, few, all)
			}
			if name == "a base" {
				bytes -= min(bytes, 32*maxURLs)
			}
			if bytes > 400*size {
				t.Errorf("%s, %s: it takes %d MB", name, f, bytes>>20)
			}
			check(t, name, body, p)
		}
	}
	for _, name := range []string{"deep code", "deep paragraphs"} {
		if n := len(r.Read([]byte(pages[name]), Options{}).Text); n > 2*maxPrefix {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
	if got := r.Read([]byte(pages["deep, then ends"]), Options{}); got.Text != "text" {
		t.Errorf("%q", got.Text)
	}
}

// check finds what is wrong with a page, whatever it was made of.
func check(t *testing.T, name, body string, p Page) {
	t.Helper()
	for _, s := range []string{p.Title, p.Lang, p.Text} {
		if !utf8.ValidString(s) {
			t.Errorf("%s: no UTF-8: %.100q", name, s)
		}
		if i := strings.IndexFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
			t.Errorf("%s: a control character: %.100q", name, s[i:])
		}
	}
	if p.Text != strings.TrimSpace(p.Text) || len(p.Title) > maxTitle || len(p.Lang) > maxLang {
		t.Errorf("%s: %.100q", name, p.Text)
	}
	if len(p.Text) > 64*len(body)+maxURLs+1<<20 {
		t.Errorf("%s: %d bytes of text of %d", name, len(p.Text), len(body))
	}
}

func FuzzRead(f *testing.F) {
	for _, piece := range hostile {
		f.Add([]byte(strings.Repeat(piece, 3)), "text/html; charset=utf-8", true)
	}
	page, err := os.ReadFile("testdata/page.html")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(page, "text/html", false)
	f.Add([]byte("<p>\x82\xa0<b>\x83"), "text/html; charset=shift_jis", true)
	var r Reader
	f.Fuzz(func(t *testing.T, body []byte, contentType string, markdown bool) {
		o := Options{URL: "http://ex.test/a/", ContentType: contentType, Language: contentType, Format: Plain}
		if markdown {
			o.Format = Markdown
		}
		p := r.Read(body, o)
		check(t, "page", string(body), p)
		if again := new(Reader).Read(body, o); again != p {
			t.Errorf("%+v, and again %+v", p, again)
		}
		if markdown && len(body) < 1<<10 {
			same(t, string(body), contentType)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	page, err := os.ReadFile("testdata/page.html")
	if err != nil {
		b.Fatal(err)
	}
	page = slices.Repeat(page, 9000/len(page)+1)[:9000]
	for _, f := range []Format{Markdown, Plain} {
		b.Run("format="+string(f), func(b *testing.B) {
			var r Reader
			b.SetBytes(int64(len(page)))
			b.ReportAllocs()
			for b.Loop() {
				r.Read(page, Options{URL: "http://ex.test/", ContentType: "text/html; charset=utf-8", Format: f})
			}
		})
	}
}
