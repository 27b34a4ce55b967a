package software

import (
	"fmt"
	"slices"
	"strings"
)

// gitweb answers as Gitweb does: all of it is query strings of /, with parameters apart by
// semicolons. Its content pages are the files at HEAD. A link to a file names its contents (h) and
// the commit (hb) too, so that the same file has an address in every commit, and a link keeps
// answering when the file is gone. All pages say index, nofollow.
type gitweb struct{ *repository }

func newGitweb(s *Site) server { return &gitweb{newRepository(s.items)} }

func (g *gitweb) path(st *state, it *item) string {
	return gwURL("blob", "f", fileName(it, st.now), "hb", "HEAD")
}

// gwURL is the address of an action, with parameters in order: name, value, …
func gwURL(action string, params ...string) string {
	u := "/?p=tool.git;a=" + action
	for i := 0; i < len(params); i += 2 {
		if params[i+1] != "" {
			u += ";" + params[i] + "=" + params[i+1]
		}
	}
	return u
}

// blobID and treeID name contents: a file's after so many edits, the whole tree's after a commit.
func blobID(it *item, revision int) string { return hash("blob", it.n, int64(revision)) }
func treeID(c commit) string               { return hash("tree", c.it.n, c.time) }

// at returns when the commit was made that an object or branch names: HEAD for none.
func (g *gitweb) at(st *state, name string, past []commit) (t int64, id string, ok bool) {
	switch name {
	case "", "HEAD", "master", "refs/heads/master":
		return st.now, "HEAD", true
	}
	for _, c := range past {
		if c.id == name || treeID(c) == name {
			return c.time, c.id, true
		}
	}
	for i := range 3 {
		if strings.TrimPrefix(name, "refs/heads/") == branch(i) {
			return branchTip(i), name, true
		}
	}
	return 0, "", false
}

func (g *gitweb) answer(st *state, r *request) *answer {
	if r.path == "/robots.txt" || r.path != "/" {
		return &answer{status: 404, body: "<html><head><title>404 Not Found</title></head><body><h1>Not Found</h1><p>The requested URL was not found on this server.</p></body></html>\n"}
	}
	q, past := r.query, g.past(st)
	if q.Get("p") == "" {
		if a := q.Get("a"); a == "opml" || a == "project_index" {
			return &answer{kind: "text/plain; charset=utf-8", body: "tool.git owner\n"}
		}
		p := g.head("Git")
		p.f("<table class=\"project_list\"><tr>")
		for _, o := range []string{"project", "descr", "owner", "age"} {
			p.f("<th><a class=\"header\" href=\"/?o=%s\">%s</a></th>", o, o)
		}
		p.f("</tr><tr class=\"dark\"><td><a class=\"list\" href=\"%s\">tool.git</a></td><td class=\"link\">", gwURL("summary"))
		for _, a := range []string{"summary", "shortlog", "log", "tree"} {
			p.f("<a href=\"%s\">%s</a> | ", gwURL(a), a)
		}
		p.f("</td></tr></table><a class=\"rss_logo\" href=\"/?a=opml\">OPML</a> <a class=\"rss_logo\" href=\"/?a=project_index\">TXT</a>")
		return &answer{body: p.html("en-US", "Git")}
	}
	if q.Get("p") != "tool.git" {
		return g.error(404, "No such project")
	}
	action := q.Get("a")
	name := q.Get("hb")
	if name == "" && action != "blob" && action != "blob_plain" {
		name = q.Get("h")
	}
	t, id, ok := g.at(st, name, past)
	if !ok {
		return g.error(404, "Unknown commit object")
	}
	f := q.Get("f")
	since := slices.IndexFunc(past, func(c commit) bool { return c.time <= t })
	if since < 0 {
		return g.error(404, "Unknown commit object")
	}
	switch action {
	case "", "summary":
		p := g.begin(st, r, "summary", "", "")
		p.f("<div class=\"title\">&nbsp;</div><table class=\"projects_list\"><tr><td>last change</td><td>%s</td></tr></table><div class=\"header\"><a class=\"title\" href=\"%s\">shortlog</a></div>", date(past[0].time, "Mon, 2 Jan 2006 15:04:05 +0000"), gwURL("shortlog"))
		g.shortlog(p, past[:min(16, len(past))], "")
		p.f("<a class=\"list\" href=\"%s\">...</a><div class=\"header\"><a class=\"title\" href=\"%s\">heads</a></div>", gwURL("shortlog"), gwURL("heads"))
		g.heads(p)
		return g.end(p, "summary")
	case "heads", "tags":
		p := g.begin(st, r, action, "", "")
		g.heads(p)
		return g.end(p, action)
	case "shortlog", "log", "history":
		all := past[since:]
		if action == "history" {
			all = slices.DeleteFunc(slices.Clone(all), func(c commit) bool { return !under(fileName(c.it, c.time), f) })
		}
		some, pages := slice(all, 1+r.int("pg", 0), 100)
		p := g.begin(st, r, action, q.Get("h"), name)
		p.f("<div class=\"page_nav\">")
		if pg := r.int("pg", 0); pg > 0 {
			p.f("<a href=\"%s\">first</a> &sdot; <a href=\"%s\" accesskey=\"p\">prev</a>", gwURL(action, "f", f, "h", q.Get("h"), "hb", q.Get("hb")), gwURL(action, "f", f, "h", q.Get("h"), "hb", q.Get("hb"), "pg", fmt.Sprint(pg-1)))
		}
		if pg := r.int("pg", 0); pg+1 < pages {
			p.f("<a href=\"%s\" accesskey=\"n\">next</a>", gwURL(action, "f", f, "h", q.Get("h"), "hb", q.Get("hb"), "pg", fmt.Sprint(pg+1)))
		}
		p.f("</div>")
		g.shortlog(p, some, f)
		return g.end(p, action)
	case "tree":
		return g.tree(st, r, t, id, f)
	case "blob", "blob_plain":
		return g.blob(st, r, t, id, f)
	case "commit", "commitdiff", "commitdiff_plain", "patch", "blobdiff", "blobdiff_plain":
		return g.commit(st, r, past[since:], action, f)
	case "snapshot":
		return &answer{kind: "application/x-gzip", body: "\x1f\x8b\x08" + q.Get("h")}
	case "rss", "atom":
		var entries []entry
		for _, c := range past[:min(150, len(past))] {
			entries = append(entries, entry{c.what, gwURL("commitdiff", "h", c.id), c.it.paragraphs(0)[0], c.time})
		}
		return rss(r.base, "tool.git", gwURL("summary"), entries)
	case "search":
		p := g.begin(st, r, action, "", "")
		p.f("<p>No match.</p>")
		return g.end(p, action)
	}
	return g.error(400, "Unknown action")
}

// under reports whether a path is that of a file, or below that of a folder; "" is above all.
func under(path, of string) bool {
	return of == "" || path == of || strings.HasPrefix(path, of+"/")
}

func (g *gitweb) head(title string) *page {
	p := &page{}
	p.meta("<meta name=\"generator\" content=\"gitweb/2.39.2 git/2.39.2\"/>\n<meta name=\"robots\" content=\"index, nofollow\"/>\n<link rel=\"stylesheet\" type=\"text/css\" href=\"/gitweb.css\"/>")
	return p
}

// begin writes the head and the tabs; h and hb are the objects shown, "" for those of HEAD.
func (g *gitweb) begin(st *state, r *request, action, h, hb string) *page {
	p := g.head(action)
	for _, feed := range []string{"rss", "atom"} {
		p.meta("<link rel=\"alternate\" title=\"tool.git - log - %s feed\" href=\"%s\" type=\"application/%s+xml\" />", feed, gwURL(feed), feed)
		p.meta("<link rel=\"alternate\" title=\"tool.git - log - %s feed (no merges)\" href=\"%s;opt=--no-merges\" type=\"application/%s+xml\" />", feed, gwURL(feed), feed)
	}
	p.f("<div class=\"page_header\"><a href=\"http://git-scm.com/\" title=\"git homepage\">git</a><a href=\"/\">projects</a> / <a href=\"%s\">tool.git</a> / %s</div><form method=\"get\" action=\"/\"><input name=\"s\"></form>\n<div class=\"page_nav\">", gwURL("summary"), action)
	for _, a := range []string{"summary", "shortlog", "log", "commit", "commitdiff", "tree"} {
		switch {
		case a == action:
			p.f("%s | ", a)
		case a == "summary":
			p.f("<a href=\"%s\">%s</a> | ", gwURL(a), a)
		case a == "tree":
			p.f("<a href=\"%s\">%s</a>", gwURL(a, "h", h, "hb", hb), a)
		default:
			p.f("<a href=\"%s\">%s</a> | ", gwURL(a, "h", hb), a)
		}
	}
	p.f("</div>")
	return p
}

func (g *gitweb) end(p *page, title string) *answer {
	p.f("<div class=\"page_footer\"><div class=\"page_footer_text\">Unnamed repository</div><a class=\"rss_logo\" title=\"log RSS feed\" href=\"%s\">RSS</a> <a class=\"rss_logo\" title=\"log Atom feed\" href=\"%s\">Atom</a></div>", gwURL("rss"), gwURL("atom"))
	return &answer{body: p.html("en-US", "tool.git/"+title)}
}

func (g *gitweb) error(status int, text string) *answer {
	p := g.head("error")
	p.f("<div class=\"page_header\"><a href=\"/\">projects</a> /</div><div class=\"page_body\"><br /><br />%d - %s<br /></div>", status, text)
	return &answer{status: status, body: p.html("en-US", "Git")}
}

func (g *gitweb) heads(p *page) {
	p.f("<table class=\"heads\">")
	for _, b := range []string{"master", branch(0), branch(1), branch(2)} {
		p.f("<tr><td><a class=\"list name\" href=\"%s\">%s</a></td><td class=\"link\">", gwURL("shortlog", "h", "refs/heads/"+b), b)
		for _, a := range []string{"shortlog", "log", "tree"} {
			p.f("<a href=\"%s\">%s</a> | ", gwURL(a, "h", "refs/heads/"+b, "hb", map[bool]string{true: "refs/heads/" + b}[a == "tree"]), a)
		}
		p.f("</td></tr>")
	}
	p.f("</table>")
}

// shortlog lists commits; with f, what they did to that file.
func (g *gitweb) shortlog(p *page, all []commit, f string) {
	p.f("<table class=\"shortlog\">")
	for _, c := range all {
		p.f("<tr><td><i>%s</i></td><td>%s</td><td><a class=\"list subject\" href=\"%s\">%s</a></td><td class=\"link\">", date(c.time, "2006-01-02"), vocabulary[230+c.it.n%5], gwURL("commit", "h", c.id), c.what)
		if f != "" {
			p.f("<a href=\"%s\">blob</a> | <a href=\"%s\">commitdiff</a> | <a href=\"%s\">diff to current</a>", gwURL("blob", "f", f, "hb", c.id), gwURL("commitdiff", "h", c.id), gwURL("blobdiff", "f", f, "h", blobID(c.it, c.it.revision(c.time)), "hp", "HEAD", "hb", "HEAD", "hpb", c.id))
		} else {
			p.f("<a href=\"%s\">commit</a> | <a href=\"%s\">commitdiff</a> | <a href=\"%s\">tree</a> | <a href=\"%s\" title=\"in format: tar.gz\">snapshot</a>", gwURL("commit", "h", c.id), gwURL("commitdiff", "h", c.id), gwURL("tree", "h", treeID(c), "hb", c.id), gwURL("snapshot", "h", treeID(c), "sf", "tgz"))
		}
		p.f("</td></tr>")
	}
	p.f("</table>")
}

func (g *gitweb) tree(st *state, r *request, t int64, id, f string) *answer {
	p := g.begin(st, r, "tree", r.query.Get("h"), id)
	p.f("<div class=\"header\"><a class=\"title\" href=\"%s\">tree</a></div><div class=\"page_path\"><a href=\"%s\">[tool.git]</a> / %s</div><table class=\"tree\">", gwURL("commit", "h", id), gwURL("tree", "hb", id), f)
	var rows []string
	files := map[string]*item{}
	for _, it := range g.items {
		if name := fileName(it, t); it.published <= st.now && it.lives(t) && under(name, f) && name != f {
			rest := strings.TrimPrefix(strings.TrimPrefix(name, f), "/")
			if dir, _, sub := strings.Cut(rest, "/"); sub {
				rest = dir + "/"
			} else {
				files[rest] = it
			}
			if !slices.Contains(rows, rest) {
				rows = append(rows, rest)
			}
		}
	}
	if len(rows) == 0 {
		return g.error(404, "Reading tree failed")
	}
	slices.Sort(rows)
	prefix := f
	if f != "" {
		prefix += "/"
	}
	for _, name := range rows {
		if it := files[name]; it != nil {
			h := blobID(it, it.revision(t))
			p.f("<tr><td class=\"mode\">-rw-r--r--</td><td class=\"list\"><a class=\"list\" href=\"%s\">%s</a></td><td class=\"link\"><a href=\"%s\">blob</a> | <a href=\"%s\">history</a> | <a href=\"%s\">raw</a></td></tr>",
				gwURL("blob", "f", prefix+name, "h", h, "hb", id), name, gwURL("blob", "f", prefix+name, "h", h, "hb", id), gwURL("history", "f", prefix+name, "h", h, "hb", id), gwURL("blob_plain", "f", prefix+name, "h", h, "hb", id))
			continue
		}
		d := strings.TrimSuffix(prefix+name, "/")
		h := g.folderID(d, t)
		p.f("<tr><td class=\"mode\">drwxr-xr-x</td><td class=\"list\"><a href=\"%s\">%s</a></td><td class=\"link\"><a href=\"%s\">tree</a> | <a href=\"%s\">history</a></td></tr>",
			gwURL("tree", "f", d, "h", h, "hb", id), name, gwURL("tree", "f", d, "h", h, "hb", id), gwURL("history", "f", d, "h", h, "hb", id))
	}
	p.f("</table>")
	return g.end(p, "tree")
}

// blob shows a file by its contents if the request names them, else by its path in a commit.
func (g *gitweb) blob(st *state, r *request, t int64, id, f string) *answer {
	h := r.query.Get("h")
	var it *item
	revision := 0
	if h != "" {
		for _, o := range st.items {
			for k := range len(o.edits) + 1 {
				if blobID(o, k) == h && k <= o.revision(st.now) {
					it, revision = o, k
				}
			}
		}
	} else if it = g.file(st, t, f); it != nil {
		revision = it.revision(t)
	}
	if it == nil {
		return g.error(404, "Cannot find file")
	}
	text := it.paragraphs(revision)
	if r.query.Get("a") == "blob_plain" {
		return &answer{kind: "text/plain; charset=utf-8", body: strings.Join(text, "\n") + "\n"}
	}
	p := g.begin(st, r, "blob", "", id)
	p.f("<div class=\"formats_nav\"><a href=\"%s\">history</a> | <a href=\"%s\">raw</a> | <a href=\"%s\">HEAD</a></div><div class=\"page_path\">%s</div><div class=\"page_body\">",
		gwURL("history", "f", f, "h", blobID(it, revision), "hb", id), gwURL("blob_plain", "f", f, "h", blobID(it, revision), "hb", id), gwURL("blob", "f", f, "hb", "HEAD"), f)
	for i, line := range text {
		p.f("<div class=\"pre\"><a id=\"l%d\" href=\"#l%d\" class=\"linenr\">%d</a> %s</div>", i+1, i+1, i+1, line)
	}
	p.f("</div>")
	a := g.end(p, f)
	if it.lives(st.now) && revision == it.revision(st.now) && f == fileName(it, st.now) {
		a.item = it
	}
	return a
}

// commit shows the first of the commits, or what it changed.
func (g *gitweb) commit(st *state, r *request, past []commit, action, f string) *answer {
	c := past[0]
	name := fileName(c.it, c.time)
	k := c.it.revision(c.time)
	text := c.it.paragraphs(k)[0]
	if strings.HasSuffix(action, "_plain") || action == "patch" {
		return &answer{kind: "text/plain; charset=utf-8", body: fmt.Sprintf("From: %s\nSubject: %s\n---\n+++ b/%s\n+%s\n", vocabulary[230+c.it.n%5], c.what, name, text)}
	}
	p := g.begin(st, r, action, treeID(c), c.id)
	p.f("<div class=\"header\"><a class=\"title\" href=\"%s\">%s</a></div><table class=\"object_header\"><tr><td>author</td><td>%s</td></tr><tr><td>commit</td><td class=\"sha1\">%s</td></tr>", gwURL("commitdiff", "h", c.id), c.what, vocabulary[230+c.it.n%5], c.id)
	p.f("<tr><td>tree</td><td class=\"sha1\"><a class=\"list\" href=\"%s\">%s</a></td><td class=\"link\"><a href=\"%s\">tree</a> | <a href=\"%s\">snapshot</a></td></tr>", gwURL("tree", "h", treeID(c), "hb", c.id), treeID(c), gwURL("tree", "h", treeID(c), "hb", c.id), gwURL("snapshot", "h", c.id, "sf", "tgz"))
	if len(past) > 1 {
		o := past[1].id
		p.f("<tr><td>parent</td><td class=\"sha1\"><a class=\"list\" href=\"%s\">%s</a></td><td class=\"link\"><a href=\"%s\">commit</a> | <a href=\"%s\">diff</a></td></tr>", gwURL("commit", "h", o), o, gwURL("commit", "h", o), gwURL("commitdiff", "h", c.id, "hp", o))
	}
	p.f("</table>")
	if action != "commit" {
		p.f("<div class=\"formats_nav\"><a href=\"%s\">raw</a> | <a href=\"%s\">patch</a> | <a href=\"%s;ds=sidebyside\">side by side</a></div><div class=\"patch\">+%s</div>", gwURL("commitdiff_plain", "h", c.id), gwURL("patch", "h", c.id), gwURL("commitdiff", "h", c.id), text)
	}
	h := blobID(c.it, k)
	p.f("<table class=\"diff_tree\"><tr><td><a class=\"list\" href=\"%s\">%s</a></td><td class=\"link\">", gwURL("blob", "f", name, "h", h, "hb", c.id), name)
	if k > 0 && len(past) > 1 {
		p.f("<a href=\"%s\">diff</a> | ", gwURL("blobdiff", "f", name, "h", h, "hp", blobID(c.it, k-1), "hb", c.id, "hpb", past[1].id))
	}
	p.f("<a href=\"%s\">blob</a> | <a href=\"%s\">history</a></td></tr></table>", gwURL("blob", "f", name, "h", h, "hb", c.id), gwURL("history", "f", name, "hb", c.id))
	return g.end(p, action)
}
