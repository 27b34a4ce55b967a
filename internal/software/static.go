package software

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// docs answers as documentation that MkDocs makes: static files, the whole table of contents in
// each page. It has no traps.
type docs struct{}

func newDocs(*Site) server { return docs{} }

func docsSection(it *item) string { return vocabulary[50+it.chance(2).IntN(5)] }

func (docs) path(st *state, it *item) string {
	return fmt.Sprintf("/%s/%s/", docsSection(it), it.slug(st.now, "-"))
}

// contents are the pages in the order of the table of contents.
func (d docs) contents(st *state) []*item {
	all := slices.Clone(st.live)
	slices.SortFunc(all, func(a, b *item) int { return strings.Compare(d.path(st, a), d.path(st, b)) })
	return all
}

// made is when the site was generated: whenever a page changed.
func made(st *state) int64 {
	var t int64
	for _, it := range st.items {
		t = max(t, it.touched(st.now))
		if !it.lives(st.now) {
			t = max(t, it.deleted)
		}
	}
	return t
}

func (d docs) answer(st *state, r *request) *answer {
	all := d.contents(st)
	switch r.path {
	case "/sitemap.xml":
		paths := []string{"/"}
		for _, it := range all {
			paths = append(paths, d.path(st, it))
		}
		day := made(st) / (24 * 3600) * 24 * 3600 // MkDocs dates all pages by the day of the build
		a := urlset(r.base, paths, func(int) int64 { return day })
		a.modified = made(st)
		return a
	case "/":
		return d.page(st, r, all, nil)
	}
	for _, it := range all {
		switch d.path(st, it) {
		case r.path:
			return d.page(st, r, all, it)
		case r.path + "/":
			return r.redirect(301, r.path+"/")
		}
	}
	p := &page{}
	p.f("<h1>404</h1><p><strong>Page not found</strong></p>")
	return &answer{status: 404, body: p.html("en", "Manual")}
}

func (d docs) page(st *state, r *request, all []*item, it *item) *answer {
	up, title := "", "Manual"
	p := &page{}
	if it != nil {
		up, title = "../../", it.title(st.now)
		p.meta("<link rel=\"canonical\" href=\"%s%s\">", r.base, d.path(st, it))
	}
	p.meta("<link rel=\"shortcut icon\" href=\"%simg/favicon.ico\">\n<link href=\"%scss/base.css\" rel=\"stylesheet\">", up, up)
	p.f("<nav><a class=\"navbar-brand\" href=\"%s.\">Manual</a><ul>", up)
	for _, o := range all {
		p.f("<li><a href=\"%s%s\" class=\"dropdown-item\">%s</a></li>", up, d.path(st, o)[1:], o.title(st.now))
	}
	p.f("</ul></nav><div role=\"main\"><h1 id=\"top\">%s</h1>", title)
	if it == nil {
		p.f("<p>Read this first.</p>")
	} else {
		p.text(it, it.revision(st.now))
		at := slices.Index(all, it)
		if at > 0 {
			p.f("<a rel=\"prev\" href=\"%s%s\">Previous</a>", up, d.path(st, all[at-1])[1:])
		}
		if at+1 < len(all) {
			p.f("<a rel=\"next\" href=\"%s%s\">Next</a>", up, d.path(st, all[at+1])[1:])
		}
	}
	p.f("</div><footer>Documentation built with <a href=\"https://www.mkdocs.org/\">MkDocs</a>.</footer>")
	return &answer{body: p.html("en", title+" - Manual"), item: it, modified: made(st)}
}

// blog answers as a blog that Hugo makes: static files, a feed, tags, pages of ten posts. A post
// that was renamed leaves a page that leads to its new address by meta refresh. It has no traps.
type blog struct{}

func newBlog(*Site) server { return blog{} }

func (blog) path(st *state, it *item) string { return "/posts/" + it.slug(st.now, "-") + "/" }

func blogTags(it *item) []string {
	r := it.chance(4)
	out := []string{vocabulary[80+r.IntN(8)], vocabulary[80+r.IntN(8)]}
	slices.Sort(out)
	return slices.Compact(out)
}

func (b blog) answer(st *state, r *request) *answer {
	switch r.path {
	case "/robots.txt":
		return robots("User-agent: *\n")
	case "/sitemap.xml":
		paths := []string{"/", "/posts/", "/tags/"}
		times := []int64{made(st), made(st), made(st)}
		for _, it := range st.live {
			paths, times = append(paths, b.path(st, it)), append(times, it.touched(st.now))
		}
		a := urlset(r.base, paths, func(i int) int64 { return times[i] })
		a.modified = made(st)
		return a
	case "/index.xml", "/posts/index.xml":
		var entries []entry
		for _, it := range st.live {
			entries = append(entries, entry{it.title(st.now), b.path(st, it), it.paragraphs(0)[0], it.published})
		}
		return rss(r.base, "Blog", "/", entries)
	case "/tags/":
		p := b.begin(r, "/tags/")
		for i := range 8 {
			p.f("<li><a href=\"%s/tags/%s/\">%s</a></li>", r.base, vocabulary[80+i], vocabulary[80+i])
		}
		return &answer{body: p.html("en", "Tags"), modified: made(st)}
	}
	segments := strings.Split(strings.Trim(r.path, "/"), "/")
	number := 1
	if n := len(segments); n >= 2 && segments[n-2] == "page" {
		fmt.Sscan(segments[n-1], &number)
		segments = segments[:n-2]
	}
	under := strings.Join(segments, "/")
	tag, tagged := strings.CutPrefix(under, "tags/")
	switch {
	case !strings.HasSuffix(r.path, "/"):
	case under == "" || under == "posts":
		return b.list(st, r, under, number, st.live)
	case tagged:
		return b.list(st, r, under, number, st.where(func(it *item) bool { return slices.Contains(blogTags(it), tag) }))
	case len(segments) == 2 && segments[0] == "posts":
		if it, now := st.named(segments[1], "-"); it != nil && it.lives(st.now) {
			if !now {
				p := &page{}
				p.meta("<link rel=\"canonical\" href=\"%s%s\">\n<meta http-equiv=\"refresh\" content=\"0; url=%s%s\">", r.base, b.path(st, it), r.base, b.path(st, it))
				return &answer{body: p.html("en", r.base+b.path(st, it)), modified: made(st)}
			}
			return b.post(st, r, it)
		}
	}
	p := b.begin(r, "")
	p.f("<h1>404: there is no such page</h1>")
	return &answer{status: 404, body: p.html("en", "404")}
}

func (blog) begin(r *request, self string) *page {
	p := &page{}
	if self != "" {
		p.meta("<link rel=\"canonical\" href=\"%s%s\">", r.base, self)
	}
	p.meta("<link rel=\"alternate\" type=\"application/rss+xml\" href=\"%s/index.xml\" title=\"Blog\">", r.base)
	p.f("<header><a href=\"%s/\">Blog</a> <a href=\"%s/posts/\">Archive</a> <a href=\"%s/tags/\">Tags</a></header>", r.base, r.base, r.base)
	return p
}

func (b blog) list(st *state, r *request, under string, n int, all []*item) *answer {
	some, pages := slice(all, n, 10)
	if len(some) == 0 || n < 1 {
		p := b.begin(r, "")
		p.f("<h1>404: there is no such page</h1>")
		return &answer{status: 404, body: p.html("en", "404")}
	}
	p := b.begin(r, r.path)
	for _, it := range some {
		p.f("<article><h2><a href=\"%s%s\">%s</a></h2><p>%s</p></article>", r.base, b.path(st, it), it.title(st.now), it.paragraphs(it.revision(st.now))[0])
	}
	prefix := "/"
	if under != "" {
		prefix += under + "/"
	}
	if n > 1 {
		p.f("<a class=\"prev\" href=\"%s%s\">&laquo; Prev</a>", r.base, prefix+map[bool]string{false: fmt.Sprintf("page/%d/", n-1)}[n == 2])
	}
	if n < pages {
		p.f("<a class=\"next\" href=\"%s%spage/%d/\">Next &raquo;</a>", r.base, prefix, n+1)
	}
	return &answer{body: p.html("en", "Blog"), modified: made(st)}
}

func (b blog) post(st *state, r *request, it *item) *answer {
	p := b.begin(r, b.path(st, it))
	p.meta("<meta property=\"article:published_time\" content=\"%s\">\n<meta property=\"article:modified_time\" content=\"%s\">", date(it.published, time.RFC3339), date(it.touched(st.now), time.RFC3339))
	p.f("<article><h1>%s</h1>", it.title(st.now))
	p.text(it, it.revision(st.now))
	for _, t := range blogTags(it) {
		p.f("<a href=\"%s/tags/%s/\">%s</a>", r.base, t, t)
	}
	at := slices.Index(st.live, it)
	if at+1 < len(st.live) {
		p.f("<a class=\"prev\" href=\"%s%s\">older</a>", r.base, b.path(st, st.live[at+1]))
	}
	if at > 0 {
		p.f("<a class=\"next\" href=\"%s%s\">newer</a>", r.base, b.path(st, st.live[at-1]))
	}
	p.f("</article>")
	return &answer{body: p.html("en", it.title(st.now)+" | Blog"), item: it, modified: made(st)}
}
