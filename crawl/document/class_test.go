package document

import (
	"fmt"
	"strings"
	"testing"

	"forage/fetch"
	"forage/store"
)

// read reads a body as that of /dir/page.
func read(body string) *Content {
	var r Reader
	return r.Read(&fetch.Outcome{Status: 200, Kind: fetch.HTML, ContentType: "text/html;charset=utf-8", Body: []byte(body)}, Options{URL: "http://ex.test/dir/page"})
}

// items writes n things of a list.
func items(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestClasses: what software of several kinds writes is told apart by its structure.
func TestClasses(t *testing.T) {
	const menu = `<div class=menu><ul><li><a href=/>Home page</a><li><a href=/about>About us here</a><li><a href=/contact>Contact us here</a></ul></div>`
	text := "<p>" + strings.Repeat("A sentence of some words, as they are in any text. ", 8)
	seen := new(Rows)
	for range 5 {
		seen.Learn(read(menu))
	}
	for _, c := range []struct {
		name, body string
		want       store.Class
	}{
		{"post", menu + "<article><h1>Title</h1>" + text + "</article><ul class=tags>" + items(5, `<li><a href=/tag/%d>tag</a>`) + "</ul>", store.ContentPage},
		{"short post with a menu", menu + "<h1>Title</h1><p>Few words.", store.ContentPage},
		{"post with a form for comments", "<article><h1>Title</h1>" + text + `</article><form><textarea></textarea><input name=author><input name=email></form>`, store.ContentPage},
		{"post that names others below", "<h1>Title</h1>" + text + items(2, `<h3><a href=/other/%d>Other post</a></h3>`), store.ContentPage},
		{"article with links in its sentences", "<h1>Title</h1>" + items(20, `<p>A sentence with <a href=/w/%d>a link of several words</a> in it.`), store.ContentPage},
		{"product", "<h1>Name</h1><p>Price 10<p>It is a thing of a good many properties, which are told here.<div>" + items(3, `<div class=p><a href=/p/%d>Related</a></div>`) + "</div>", store.ContentPage},
		{"excerpts", "<h1>Archive</h1>" + items(10, `<article><header><h2><a href=/p/%d>Title</a></h2></header>`+text+`</article>`), store.ListPage},
		{"archive of one post", `<header><h1>Archive: May</h1></header><article><h2><a href=/p/1>Title</a></h2>` + text + "</article>", store.ListPage},
		{"category", "<h1>Category</h1><p>Pages in this category" + "<ul>" + items(12, `<li><a href=/w/%d>A page</a>`) + "</ul>", store.ListPage},
		{"table of issues", "<h1>Issues</h1><table>" + items(12, `<tr><td>%[1]d</td><td><a href=/i/%[1]d>What is wrong with it</a></td><td>open</td></tr>`) + "</table>", store.ListPage},
		{"login", "<h1>Log in</h1><form><label>Name<input name=n></label><label>Password<input type=password></label></form>", store.FormPage},
		{"editor", `<meta name=robots content="noindex,nofollow"><h1>Edit</h1>` + text + "<form><textarea></textarea></form>", store.FormPage},
		{"a field to search", "<h1>Title</h1><p>Few words.<form><input name=q></form>", store.ContentPage},
		{"stub", `<meta http-equiv=refresh content="0; url=/other">` + "<ul>" + items(12, `<li><a href=/w/%d>A page</a>`) + "</ul>", store.RedirectPage},
		{"nothing", "", store.ContentPage},
	} {
		if got := read(c.body).Class(seen.Repeats); got != c.want {
			t.Errorf("%s: class %d, want %d: %+v", c.name, got, c.want, read(c.body).Layout)
		}
	}
}

// TestRows: a row counts as the site's when it stands on more pages than lists of the same things
// do, for good; there is room for what stands on the first pages.
func TestRows(t *testing.T) {
	list := read("<ul>" + items(5, "<li><a href=/%d>item</a>") + "</ul>")
	row := list.Layout.Rows[0].Digest
	r := new(Rows)
	for n := 1; n <= maxRepeats+2; n++ {
		if c := list.Class(r.Repeats); (c == store.ListPage) != (n <= maxRepeats) {
			t.Errorf("page %d with the row is of class %d", n, c)
		}
		r.Learn(list)
	}
	if later := (&Rows{Common: r.Common}); later.Repeats(row) <= maxRepeats {
		t.Errorf("the next cycle knows %x, not %x", r.Common, row)
	}
	for i := range 2 * maxRows {
		r.Learn(read(fmt.Sprintf("<ul><li><a href=/x%d>item</a></ul>", i)))
	}
	if len(r.seen) != maxRows {
		t.Errorf("%d rows are remembered, want %d", len(r.seen), maxRows)
	}
}
