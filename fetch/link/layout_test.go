package link

import (
	"strings"
	"testing"
)

// TestLayout reads pages as software of several kinds writes them.
func TestLayout(t *testing.T) {
	const at = "http://ex.test/a/page"
	long := strings.Repeat("what there is to be read ", 5)
	for _, c := range []struct {
		name, body string
		text       int // of the page
		fields     int
		row        Row // the one with most text; Digest and Place are not compared
	}{
		{"navigation is the site's", `<header>Site<nav><ul><li><a href=/x>x</a><li><a href=/y>y</a></ul></nav></header><main><p>own text</main><aside><h2><a href=/z>zz</a></h2></aside><footer>foot</footer>`,
			len("own text"), 0, Row{}},
		{"a header of an article is its own", `<article><header><h2><a href=/x>title</a></h2></header><p>text</p></article>`,
			len("text"), 0, Row{Links: 1, Text: 5, Between: 0, Titles: true}},
		{"titles and what stands below them", `<h1>Archive</h1><div><h2><a href=1>one</a></h2><p>aaaa</div><div><h2><a href=2>two</a></h2><p>bbbb</div><div><h2><a href=3>ten</a></h2><p>cccc</div>`,
			len("Archiveaaaabbbbcccc"), 0, Row{Links: 3, Text: 9, Between: 12, Before: 7, Titles: true}},
		{"links in sentences are no row", `<p>` + long + `<a href=1>one</a> and <a href=2>two</a>.<p>see <a href=3>three</a> and more<p>see <a href=4>four</a>, too`,
			len(strings.TrimSpace(long)) + len("and.seeand moresee, too"), 0, Row{}},
		{"one title that leads to itself", `<h1><a href=page>Self</a></h1><p>text`, 4, 0, Row{Links: 0, Text: 4, Titles: true}},
		{"cells", `<table><tr><td>1<td><a href=1>first</a><td>x</tr><tr><td>2<td><a href=2>second</a><td>y</table>`, 4, 0, Row{Links: 2, Text: 11, Between: 3, Before: 1}},
		{"fields", `<form><input name=a><input type=hidden><input type=submit><input type=search><input type=password><textarea>abc</textarea><select></select></form><aside><input></aside>`, 0, 6, Row{}},
	} {
		p := Extract([]byte(c.body), Options{URL: at, ContentType: "text/html;charset=utf-8"})
		var row Row
		if len(p.Layout.Rows) > 0 {
			row = p.Layout.Rows[0]
			row.Digest, row.Place = 0, 0
		}
		if l := p.Layout; l.Text != c.text || l.Fields != c.fields || row != c.row {
			t.Errorf("%s: %d bytes, %d fields, row %+v; want %d, %d, %+v", c.name, l.Text, l.Fields, row, c.text, c.fields, c.row)
		}
	}
}

// TestPassages: the longest texts of a page are the same where other things on it are not.
func TestPassages(t *testing.T) {
	longer := "A paragraph is known by its words, and <em>not</em> by how they are marked up."
	shorter := "A second one, of a few words less than the first."
	of := func(body string) [2]uint32 {
		return Extract([]byte(body), Options{URL: "http://ex.test/", ContentType: "text/html;charset=utf-8"}).Layout.Passages
	}
	a := of("<h1>Title</h1><p>2 comments<p>" + longer + "<p>" + shorter)
	b := of("<nav><p>" + longer + longer + "</nav><h1>Other</h1><p>3 comments<p>" + shorter + "<p>" + strings.ReplaceAll(longer, "em>", "strong>"))
	if a != b || a[0] == 0 || a[1] == 0 || a[0] == a[1] {
		t.Errorf("passages %x and %x, want the same two", a, b)
	}
	if c := of("<p>" + shorter); c != [2]uint32{a[1], 0} {
		t.Errorf("passages %x of one paragraph, want %x", c, a[1])
	}
	if c := of("<p>short"); c != [2]uint32{} {
		t.Errorf("passages %x of a word", c)
	}
}

// TestRowDigest: a menu is the same row on each page, whatever its order, and another where a link
// or the place differs.
func TestRowDigest(t *testing.T) {
	of := func(url, body string) uint64 {
		return Extract([]byte(body), Options{URL: url, ContentType: "text/html;charset=utf-8"}).Layout.Rows[0].Digest
	}
	menu := of("http://ex.test/x", "<ul class=m><li><a href=x>x</a><li><a href=y>y</a></ul>")
	for body, same := range map[string]bool{
		"<ul class=m><li><a href=../y>y</a><li><a href=../x>x</a></ul>": true,
		"<ul class=m><li><a href=../y>y</a><li><a href=../z>x</a></ul>": false,
		"<ul class=n><li><a href=../x>x</a><li><a href=../y>y</a></ul>": false,
	} {
		if got := of("http://ex.test/a/b", body); (got == menu) != same {
			t.Errorf("%s: %x, the menu is %x; want the same: %v", body, got, menu, same)
		}
	}
}
