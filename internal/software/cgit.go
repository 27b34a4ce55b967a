package software

import (
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
)

// cgit answers as cgit does in front of one repository. Its content pages are the files of the
// default branch at /repo/tree/path; each of them, and each folder, is there once more for every
// commit, with its log, and every two commits have a difference. All pages say index, nofollow, as
// cgit does unless it is told otherwise.
type cgit struct {
	*repository
	robots string // of its meta element; "": none
}

const cgRepo = "/tool/"

func newCgit(s *Site) server {
	return &cgit{newRepository(s.items), "index, nofollow"}
}

func (c *cgit) path(st *state, it *item) string { return cgRepo + "tree/" + fileName(it, st.now) }

// at returns when the commit was made that a request names by id or h, now for none.
func (c *cgit) at(st *state, r *request, past []commit) (t int64, suffix string, ok bool) {
	if id := r.query.Get("id"); id != "" {
		for _, k := range past {
			if k.id == id || hash("tree", k.it.n, k.time) == id {
				return k.time, "?id=" + id, true
			}
		}
		return 0, "", false
	}
	switch h := r.query.Get("h"); h {
	case "", "master":
		if h != "" {
			suffix = "?h=" + h
		}
		return st.now, suffix, true
	default:
		for i := range 3 {
			if h == branch(i) {
				return branchTip(i), "?h=" + h, true
			}
		}
	}
	return 0, "", false
}

func (c *cgit) answer(st *state, r *request) *answer {
	past := c.past(st)
	a := c.route(st, r, past)
	if _, path, _ := strings.Cut(strings.TrimPrefix(r.path, cgRepo), "/"); path != "" && !slices.ContainsFunc(past, func(k commit) bool {
		f := fileName(k.it, k.time)
		return f == path || strings.HasPrefix(f, strings.TrimSuffix(path, "/")+"/")
	}) {
		a.vain = true // log, commit and difference of a file that was never there are shown all the same
	}
	return a
}

func (c *cgit) route(st *state, r *request, past []commit) *answer {
	if r.path == "/" {
		p := &page{}
		c.head(st, r, p)
		p.f("<table summary='repository list' class='list nowrap'><tr><td class='toplevel-repo'><a title='tool' href='%s'>tool</a></td><td>Unnamed repository</td><td><a class='button' href='%s'>summary</a><a class='button' href='%slog/'>log</a><a class='button' href='%stree/'>tree</a></td></tr></table>", cgRepo, cgRepo, cgRepo, cgRepo)
		for i, col := range []string{"name", "desc", "owner", "idle"} {
			p.f("<a href='/?s=%s'>%d</a>", col, i)
		}
		return c.done(st, p, "Git repository browser")
	}
	if r.path == "/robots.txt" {
		return &answer{status: 404, kind: "text/plain", body: "not found\n"}
	}
	rest, ok := strings.CutPrefix(r.path, cgRepo)
	if !ok {
		return c.error(st, r, "No repositories found")
	}
	view, path, _ := strings.Cut(rest, "/")
	t, suffix, ok := c.at(st, r, past)
	if !ok {
		return c.error(st, r, "Bad object id: "+html.EscapeString(r.query.Get("id")))
	}
	switch view {
	case "":
		return c.summary(st, r, past)
	case "refs":
		p := c.begin(st, r, view, "", "")
		c.branches(st, p)
		return c.done(st, p, "refs")
	case "log":
		return c.log(st, r, past, t, path, suffix)
	case "tree":
		return c.tree(st, r, t, path, suffix)
	case "blame", "plain":
		it := c.file(st, t, path)
		if it == nil {
			return c.error(st, r, "Path not found")
		}
		text := strings.Join(it.paragraphs(it.revision(t)), "\n")
		if view == "plain" {
			return &answer{kind: "text/plain; charset=UTF-8", body: text + "\n"}
		}
		p := c.begin(st, r, view, path, suffix)
		p.f("<table class='blame blob'><tr><td class='hashes'>")
		for _, k := range past {
			if k.it == it && k.time <= t {
				p.f("<span class='sha1'><a href='%scommit/%s?id=%s'>%s</a></span>", cgRepo, path, k.id, k.id[:7])
			}
		}
		p.f("</td><td class='lines'><pre>%s</pre></td></tr></table>", text)
		return c.done(st, p, path)
	case "commit", "diff", "patch", "rawdiff":
		return c.commit(st, r, past, view, t, path)
	case "snapshot":
		return &answer{kind: "application/x-gzip", body: "\x1f\x8b\x08" + path}
	case "stats":
		p := c.begin(st, r, view, path, suffix)
		p.f("<table class='stats'>")
		for _, period := range []string{"w", "m", "q", "y"} {
			p.f("<tr><td><a href='%sstats/%s?period=%s'>%s</a></td></tr>", cgRepo, path, period, period)
		}
		p.f("<tr><td>Commits</td><td>%d</td></tr></table>", len(past))
		return c.done(st, p, "stats")
	case "atom":
		return c.feed(st, r, past)
	}
	return c.error(st, r, "Unknown command")
}

func (c *cgit) head(st *state, r *request, p *page) {
	p.meta("<meta name='generator' content='cgit v1.2.3'/>")
	if c.robots != "" {
		p.meta("<meta name='robots' content='%s'/>", c.robots)
	}
	p.meta("<link rel='stylesheet' type='text/css' href='/cgit-css/cgit.css'/>")
}

// begin writes the head and the tabs. Of what is shown of a path, or at a commit, they keep both.
func (c *cgit) begin(st *state, r *request, view, path, suffix string) *page {
	p := &page{}
	c.head(st, r, p)
	p.meta("<link rel='alternate' title='Atom feed' href='%s%satom/?h=master' type='application/atom+xml'/>", r.base, cgRepo)
	p.f("<table id='header'><tr><td class='main'><a href='/'>index</a> : <a title='tool' href='%s'>tool</a></td><td class='form'><form method='get'><select name='h'>", cgRepo)
	for i := range 3 {
		p.f("<option value='%s'>%s</option>", branch(i), branch(i))
	}
	p.f("</select></form></td></tr></table>\n<table class='tabs'><tr><td><a href='%s'>summary</a><a href='%srefs/%s'>refs</a>", cgRepo, cgRepo, suffix)
	for _, v := range []string{"log", "tree", "commit", "diff", "stats"} {
		p.f("<a href='%s%s/%s%s'>%s</a>", cgRepo, v, path, suffix, v)
	}
	p.f("</td><td class='form'><form action='%slog/%s'><input name='q'></form></td></tr></table>\n<div class='path'>path: <a href='%s%s/%s'>root</a>", cgRepo, path, cgRepo, view, suffix)
	for i, ch := range path {
		if ch == '/' {
			p.f("/<a href='%s%s/%s%s'>%s</a>", cgRepo, view, path[:i], suffix, path[strings.LastIndex(path[:i], "/")+1:i])
		}
	}
	p.f("</div>\n<div class='content'>")
	return p
}

// done ends a page. cgit says that it was made now.
func (c *cgit) done(st *state, p *page, title string) *answer {
	p.f("</div>\n<div class='footer'>generated by <a href='https://git.zx2c4.com/cgit/about/'>cgit v1.2.3</a> at %s</div>", date(st.now, "2006-01-02 15:04:05 -0700"))
	return &answer{body: p.html("en", "tool - "+title), header: [][2]string{{"Expires", date(st.now+300, "Mon, 02 Jan 2006 15:04:05 GMT")}, {"Last-Modified", date(st.now, "Mon, 02 Jan 2006 15:04:05 GMT")}}}
}

func (c *cgit) error(st *state, r *request, text string) *answer {
	p := c.begin(st, r, "tree", "", "")
	p.f("<div class='error'>%s</div>", text)
	a := c.done(st, p, "Not found")
	a.status = 404
	return a
}

func (c *cgit) summary(st *state, r *request, past []commit) *answer {
	p := c.begin(st, r, "", "", "")
	c.branches(st, p)
	p.f("<table class='list nowrap'><tr><th>Age</th><th><a href='%slog/'>Commit message</a></th></tr>", cgRepo)
	for _, k := range past[:min(10, len(past))] {
		p.f("<tr><td>%s</td><td><a href='%scommit/?id=%s'>%s</a></td></tr>", date(k.time, "2006-01-02"), cgRepo, k.id, k.what)
	}
	p.f("<tr><td><a href='%slog/'>[...]</a></td></tr></table>", cgRepo)
	return c.done(st, p, "summary")
}

func (c *cgit) branches(st *state, p *page) {
	p.f("<table class='list nowrap'><tr><th>Branch</th></tr><tr><td><a href='%slog/'>master</a></td></tr>", cgRepo)
	for i := range 3 {
		p.f("<tr><td><a href='%slog/?h=%s'>%s</a></td></tr>", cgRepo, branch(i), branch(i))
	}
	p.f("</table>")
}

func (c *cgit) log(st *state, r *request, past []commit, t int64, path, suffix string) *answer {
	var all []commit
	for _, k := range past {
		if f := fileName(k.it, k.time); k.time <= t && (path == "" || f == path || strings.HasPrefix(f, strings.TrimSuffix(path, "/")+"/")) {
			all = append(all, k)
		}
	}
	const size = 50
	ofs := r.int("ofs", 0)
	some := all[min(len(all), ofs):min(len(all), ofs+size)]
	p := c.begin(st, r, "log", path, suffix)
	with := func(params ...string) string { // parameters in order: name, value, …
		v := url.Values{}
		for _, k := range []string{"id", "h", "showmsg", "ofs"} {
			if x := r.query.Get(k); x != "" {
				v.Set(k, x)
			}
		}
		for i := 0; i < len(params); i += 2 {
			v.Set(params[i], params[i+1])
			if params[i+1] == "" {
				v.Del(params[i])
			}
		}
		u := cgRepo + "log/" + path
		if len(v) > 0 {
			u += "?" + strings.ReplaceAll(v.Encode(), "&", "&amp;")
		}
		return u
	}
	expand := with("showmsg", "1")
	if r.query.Has("showmsg") {
		expand = with("showmsg", "")
	}
	p.f("<table class='list nowrap'><tr><th>Age</th><th>Commit message (<a href='%s'>Expand</a>)</th><th>Author</th></tr>", expand)
	for _, k := range some {
		p.f("<tr><td>%s</td><td><a href='%scommit/%s?id=%s'>%s</a></td><td>%s</td></tr>", date(k.time, "2006-01-02"), cgRepo, path, k.id, k.what, vocabulary[230+k.it.n%5])
		if r.query.Has("showmsg") {
			p.f("<tr><td colspan='3'>%s</td></tr>", k.it.paragraphs(0)[0])
		}
	}
	p.f("</table><ul class='pager'>")
	if ofs > 0 {
		p.f("<li><a href='%s'>[prev]</a></li>", with("ofs", fmt.Sprint(max(0, ofs-size))))
	}
	if ofs+size < len(all) {
		p.f("<li><a href='%s'>[next]</a></li>", with("ofs", fmt.Sprint(ofs+size)))
	}
	p.f("</ul>")
	return c.done(st, p, "log")
}

func (c *cgit) tree(st *state, r *request, t int64, path, suffix string) *answer {
	path = strings.TrimSuffix(path, "/")
	if it := c.file(st, t, path); it != nil {
		p := c.begin(st, r, "tree", path, suffix)
		p.f("blob: %s (<a href='%splain/%s%s'>plain</a>) (<a href='%sblame/%s%s'>blame</a>)<table summary='blob content' class='blob'><tr><td class='lines'><pre><code>", hash("blob", it.n, int64(it.revision(t))), cgRepo, path, suffix, cgRepo, path, suffix)
		for _, text := range it.paragraphs(it.revision(t)) {
			p.f("%s\n", text)
		}
		p.f("</code></pre></td></tr></table>")
		a := c.done(st, p, path)
		// The same file in an earlier commit is a copy as long as it stays as it was.
		if it.lives(st.now) && it.revision(t) == it.revision(st.now) && fileName(it, t) == fileName(it, st.now) {
			a.item = it
		}
		return a
	}
	prefix := path + "/"
	if path == "" {
		prefix = ""
	}
	type row struct {
		name string
		it   *item
	}
	var rows []row
	for _, it := range c.items {
		if it.published > st.now || !it.lives(t) {
			continue
		}
		rest, ok := strings.CutPrefix(fileName(it, t), prefix)
		if !ok {
			continue
		}
		if dir, _, sub := strings.Cut(rest, "/"); !sub {
			rows = append(rows, row{rest, it})
		} else if !slices.ContainsFunc(rows, func(o row) bool { return o.name == dir }) {
			rows = append(rows, row{dir, nil})
		}
	}
	if len(rows) == 0 {
		return c.error(st, r, "Path not found")
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.name, b.name) })
	p := c.begin(st, r, "tree", path, suffix)
	p.f("<table summary='tree listing' class='list nowrap'><tr><th>Mode</th><th>Name</th><th>Size</th></tr>")
	for _, o := range rows {
		f := prefix + o.name
		mode := "d---------"
		if o.it != nil {
			mode = "-rw-r--r--"
		}
		p.f("<tr><td>%s</td><td><a class='ls' href='%stree/%s%s'>%s</a></td><td><a class='button' href='%slog/%s%s'>log</a><a class='button' href='%sstats/%s%s'>stats</a>", mode, cgRepo, f, suffix, o.name, cgRepo, f, suffix, cgRepo, f, suffix)
		if o.it != nil {
			p.f("<a class='button' href='%splain/%s%s'>plain</a><a class='button' href='%sblame/%s%s'>blame</a>", cgRepo, f, suffix, cgRepo, f, suffix)
		}
		p.f("</td></tr>")
	}
	p.f("</table>")
	return c.done(st, p, "tree")
}

func (c *cgit) commit(st *state, r *request, past []commit, view string, t int64, path string) *answer {
	at := slices.IndexFunc(past, func(k commit) bool { return k.time <= t })
	if at < 0 {
		return c.error(st, r, "Bad commit")
	}
	k := past[at]
	f := fileName(k.it, k.time)
	text := k.it.paragraphs(k.it.revision(k.time))[0]
	if view == "patch" || view == "rawdiff" {
		return &answer{kind: "text/plain; charset=UTF-8", body: fmt.Sprintf("From %s\nSubject: %s\n---\n+++ b/%s\n+%s\n", k.id, k.what, f, text)}
	}
	p := c.begin(st, r, view, path, "?id="+k.id)
	p.f("<table class='commit-info'><tr><th>author</th><td>%s</td></tr><tr><th>commit</th><td><a href='%scommit/%s?id=%s'>%s</a> (<a href='%spatch/%s?id=%s'>patch</a>)</td></tr><tr><th>tree</th><td><a href='%stree/?id=%s'>%s</a> /<a href='%stree/%s?id=%s'>%s</a></td></tr>",
		vocabulary[230+k.it.n%5], cgRepo, path, k.id, k.id, cgRepo, path, k.id, cgRepo, k.id, hash("tree", k.it.n, k.time), cgRepo, path, k.id, path)
	if at+1 < len(past) {
		o := past[at+1].id
		p.f("<tr><th>parent</th><td><a href='%scommit/%s?id=%s'>%s</a> (<a href='%sdiff/%s?id=%s&amp;id2=%s'>diff</a>)</td></tr>", cgRepo, path, o, o, cgRepo, path, k.id, o)
	}
	p.f("<tr><th>download</th><td><a href='%ssnapshot/tool-%s.tar.gz'>tool-%s.tar.gz</a></td></tr></table><div class='commit-subject'>%s</div>", cgRepo, k.id, k.id[:12], k.what)
	p.f("<div class='diffstat-header'><a href='%sdiff/?id=%s'>Diffstat</a> (", cgRepo, k.id)
	for _, o := range []string{"context=1", "context=3", "context=10", "context=40", "ignorews=1", "ss=1", "dt=2"} {
		p.f("<a href='%s%s/%s?id=%s&amp;%s'>%s</a>", cgRepo, view, path, k.id, o, o)
	}
	p.f(")</div><table class='diffstat'><tr><td class='upd'><a href='%sdiff/%s?id=%s'>%s</a></td><td>+1</td></tr></table><table class='diff'><tr><td><div class='head'>diff --git a/<a href='%stree/%s?id=%s'>%s</a></div><div class='add'>+%s</div></td></tr></table>",
		cgRepo, f, k.id, f, cgRepo, f, k.id, f, text)
	return c.done(st, p, k.what)
}

func (c *cgit) feed(st *state, r *request, past []commit) *answer {
	var b strings.Builder
	fmt.Fprintf(&b, "<?xml version='1.0' encoding='utf-8'?>\n<feed xmlns='http://www.w3.org/2005/Atom'>\n<title>tool, branch master</title><link rel='alternate' type='text/html' href='%s%s'/>\n", r.base, cgRepo)
	for _, k := range past[:min(10, len(past))] {
		fmt.Fprintf(&b, "<entry><title>%s</title><updated>%s</updated><published>%s</published><link rel='alternate' type='text/html' href='%s%scommit/?id=%s'/><id>%s</id></entry>\n",
			k.what, date(k.time, "2006-01-02T15:04:05Z"), date(k.time, "2006-01-02T15:04:05Z"), r.base, cgRepo, k.id, k.id)
	}
	b.WriteString("</feed>\n")
	return &answer{kind: "text/xml; charset=utf-8", body: b.String()}
}
