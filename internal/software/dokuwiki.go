package software

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// dokuWiki answers as DokuWiki does without rewriting: all of it is query strings of /doku.php.
// What is done with a page is rel=nofollow and noindex,nofollow; so is a page whose last change is
// not five days old. A page that is not there answers 200 and says that it does not exist yet.
type dokuWiki struct{ items []*item }

func newDokuWiki(s *Site) server { return &dokuWiki{s.items} }

// dwDelay is how long after a change a page asks not to be indexed.
const dwDelay = 5 * 24 * 3600

const dwSpaces = 6

func dwSpace(it *item) string { return vocabulary[600+it.chance(2).IntN(dwSpaces)] }

func dwID(it *item, now int64) string { return dwSpace(it) + ":" + it.slug(now, "_") }

func (w *dokuWiki) path(st *state, it *item) string { return "/doku.php?id=" + dwID(it, st.now) }

// dwURL is an address about a page, with parameters in order: name, value, …
func dwURL(id string, params ...string) string {
	u := "/doku.php?id=" + id
	for i := 0; i < len(params); i += 2 {
		u += "&amp;" + params[i] + "=" + url.QueryEscape(params[i+1])
	}
	return u
}

// find returns the item of an id; former says that it has another name now.
func (w *dokuWiki) find(st *state, id string) (it *item, former bool) {
	space, name, ok := strings.Cut(id, ":")
	if !ok {
		return nil, false
	}
	it, now := st.named(name, "_")
	if it == nil || dwSpace(it) != space {
		return nil, false
	}
	return it, !now
}

// revisions are the times of the versions up to now, the latest first.
func (w *dokuWiki) revisions(it *item, now int64) []int64 {
	out := []int64{it.published}
	out = append(out, it.edits[:it.revision(now)]...)
	slices.Reverse(out)
	return out
}

func (w *dokuWiki) answer(st *state, r *request) *answer {
	switch r.path {
	case "/", "/index.php":
		return &answer{status: 302, location: r.base + "/doku.php"}
	case "/feed.php":
		return w.feed(st, r)
	case "/lib/exe/opensearch.php", "/lib/exe/manifest.php":
		return &answer{kind: "application/json", body: "{}"}
	case "/doku.php":
	default:
		return &answer{status: 404, body: "<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\">\n<html><head><title>404 Not Found</title></head><body><h1>Not Found</h1><p>The requested URL was not found on this server.</p></body></html>\n"}
	}
	id := strings.Trim(strings.ToLower(r.query.Get("id")), ":")
	if id == "" {
		id = "start"
	}
	it, former := w.find(st, id)
	if it != nil && !it.lives(st.now) || former {
		if former && it.moved == redirected && it.lives(st.now) && r.query.Get("do") == "" {
			return &answer{status: 301, location: r.base + w.path(st, it)} // by a plugin that all use
		}
		it = nil
	}
	a := w.act(st, r, id, it)
	a.vain = it == nil && !w.isStart(id) || it != nil && r.query.Has("rev") && !slices.Contains(w.revisions(it, st.now), int64(r.int("rev", 0)))
	return a
}

// act does with a page what the request says.
func (w *dokuWiki) act(st *state, r *request, id string, it *item) *answer {
	do := r.query.Get("do")
	if r.query.Has("idx") {
		do = "index"
	}
	switch do {
	case "", "show":
		return w.show(st, r, id, it)
	case "export_xhtml":
		p := &page{}
		w.robots(st, r, p, id, it, it != nil)
		if it != nil {
			w.text(st, p, it, it.revision(st.now))
		}
		return &answer{body: p.html("en", id), item: it}
	case "export_raw":
		return &answer{kind: "text/plain; charset=utf-8", body: id + "\n"}
	case "edit", "login", "register", "resendpwd", "profile":
		p := w.begin(st, r, id, it, false)
		p.f("<form method=\"post\" action=\"%s\"><input type=\"hidden\" name=\"sectok\" value=\"\"><textarea name=\"wikitext\">", dwURL(id))
		if do == "edit" && it != nil {
			for _, t := range it.paragraphs(it.revision(st.now)) {
				p.f("%s\n", t)
			}
		}
		p.f("</textarea></form>")
		return w.end(st, r, p, id, do)
	case "revisions", "diff":
		return w.history(st, r, id, it, do)
	case "backlink":
		p := w.begin(st, r, id, it, false)
		p.f("<h1>Backlinks</h1><p>This is a list of pages that seem to link back to the current page.</p><ul class=\"idx\">")
		for _, o := range st.live {
			if it != nil && slices.Contains(related(w.items, o, st.now), it) {
				w.link(st, p, "<li>", o)
			}
		}
		p.f("</ul>")
		return w.end(st, r, p, id, do)
	case "recent":
		return w.recent(st, r, id, it)
	case "index":
		return w.index(st, r, id, it)
	case "media":
		p := w.begin(st, r, id, it, false)
		p.f("<h1>Media Manager</h1><ul class=\"idx\">")
		for i := range dwSpaces {
			for _, tab := range []string{"files", "upload", "search"} {
				p.f("<li><a href=\"%s\" class=\"idx_dir\">%s</a></li>", dwURL(id, "do", "media", "tab_files", tab, "ns", vocabulary[600+i]), vocabulary[600+i])
			}
		}
		p.f("</ul><p>Nothing was found.</p>")
		return w.end(st, r, p, id, do)
	}
	p := w.begin(st, r, id, it, false)
	p.f("<div class=\"error\">Command disabled: %s</div>", do)
	return w.end(st, r, p, id, do)
}

// robots writes what the page says of itself.
func (w *dokuWiki) robots(st *state, r *request, p *page, id string, it *item, shown bool) {
	exists := it != nil || w.isStart(id)
	switch {
	case shown && exists && it != nil && st.now-it.touched(st.now) < dwDelay:
		p.meta("<meta name=\"robots\" content=\"noindex,nofollow\"/>")
	case shown && exists:
		p.meta("<meta name=\"robots\" content=\"index,follow\"/>")
	case shown:
		p.meta("<meta name=\"robots\" content=\"noindex,follow\"/>")
	default:
		p.meta("<meta name=\"robots\" content=\"noindex,nofollow\"/>")
	}
	if shown && exists {
		p.meta("<link rel=\"canonical\" href=\"%s%s\"/>", r.base, dwURL(id))
	}
}

// isStart reports whether an id is the start page, or that of a namespace.
func (w *dokuWiki) isStart(id string) bool {
	space, ok := strings.CutSuffix(id, "start")
	if !ok {
		return false
	}
	space = strings.TrimSuffix(space, ":")
	return space == "" || slices.Contains(vocabulary[600:600+dwSpaces], space)
}

// begin writes the head and the tools. shown: the page itself, not what is done with it.
func (w *dokuWiki) begin(st *state, r *request, id string, it *item, shown bool) *page {
	p := &page{class: "dokuwiki mode_show tpl_dokuwiki"}
	p.meta("<meta name=\"generator\" content=\"DokuWiki\"/>")
	w.robots(st, r, p, id, it, shown)
	p.meta("<link rel=\"search\" type=\"application/opensearchdescription+xml\" href=\"/lib/exe/opensearch.php\" title=\"Wiki\"/>\n<link rel=\"start\" href=\"/\"/>\n<link rel=\"contents\" href=\"%s\" title=\"Sitemap\"/>\n<link rel=\"manifest\" href=\"/lib/exe/manifest.php\"/>", dwURL(id, "do", "index"))
	space, _, _ := strings.Cut(id, ":")
	p.meta("<link rel=\"alternate\" type=\"application/rss+xml\" title=\"Recent Changes\" href=\"/feed.php\"/>\n<link rel=\"alternate\" type=\"application/rss+xml\" title=\"Current namespace\" href=\"/feed.php?mode=list&amp;ns=%s\"/>", space)
	if shown {
		p.meta("<link rel=\"edit\" title=\"Edit this page\" href=\"%s\"/>", dwURL(id, "do", "edit"))
		p.meta("<link rel=\"alternate\" type=\"text/html\" title=\"Plain HTML\" href=\"/doku.php?do=export_xhtml&amp;id=%s\"/>\n<link rel=\"alternate\" type=\"text/plain\" title=\"Wiki Markup\" href=\"/doku.php?do=export_raw&amp;id=%s\"/>", id, id)
	}
	p.f("<header id=\"dokuwiki__header\"><h1 class=\"logo\"><a href=\"/doku.php?id=start\" accesskey=\"h\" title=\"Home\">Wiki</a></h1><div id=\"dokuwiki__usertools\"><ul>")
	p.f("<li class=\"action login\"><a href=\"%s\" title=\"Log In\" rel=\"nofollow\">Log In</a></li></ul></div>", dwURL(id, "do", "login", "sectok", ""))
	p.f("<div id=\"dokuwiki__sitetools\"><form action=\"/doku.php\" method=\"get\"><input name=\"q\"></form><ul>")
	p.f("<li><a href=\"%s\" title=\"Recent Changes\" rel=\"nofollow\" accesskey=\"r\">Recent Changes</a></li><li><a href=\"%s\" rel=\"nofollow\">Media Manager</a></li><li><a href=\"%s\" rel=\"nofollow\" accesskey=\"x\">Sitemap</a></li></ul></div>",
		dwURL(id, "do", "recent"), dwURL(id, "do", "media", "ns", space), dwURL(id, "do", "index"))
	p.f("<div class=\"breadcrumbs\"><span class=\"bchead\">Trace:</span> <a href=\"%s\" class=\"breadcrumbs\" title=\"%s\">%s</a></div></header>\n<main><div class=\"pageId\"><span>%s</span></div><div class=\"page\">", dwURL(id), id, id[strings.LastIndex(id, ":")+1:], id)
	return p
}

// end writes the tools of the page.
func (w *dokuWiki) end(st *state, r *request, p *page, id, do string) *answer {
	p.f("</div></main>\n<nav id=\"dokuwiki__pagetools\"><ul>")
	for _, l := range [][2]string{{"edit", "Edit this page"}, {"revisions", "Old revisions"}, {"backlink", "Backlinks"}} {
		if l[0] == do {
			continue
		}
		p.f("<li class=\"%s\"><a href=\"%s\" title=\"%s\" rel=\"nofollow\"><span>%s</span></a></li>", l[0], dwURL(id, "do", l[0]), l[1], l[1])
	}
	p.f("<li class=\"top\"><a href=\"#dokuwiki__top\" rel=\"nofollow\"><span>Back to top</span></a></li></ul></nav>\n<footer id=\"dokuwiki__footer\"><a href=\"https://www.dokuwiki.org/\">Driven by DokuWiki</a></footer>")
	title := id
	if do != "" {
		title += " - " + do
	}
	return &answer{body: p.html("en", title+" [Wiki]")}
}

// link writes a link to an item: with rel=nofollow and as missing if it is not there.
func (w *dokuWiki) link(st *state, p *page, before string, it *item) {
	id := dwID(it, st.now)
	if it.lives(st.now) {
		p.f("%s<a href=\"%s\" class=\"wikilink1\" title=\"%s\">%s</a>", before, dwURL(id), id, it.title(st.now))
	} else {
		p.f("%s<a href=\"%s\" class=\"wikilink2\" title=\"%s\" rel=\"nofollow\">%s</a>", before, dwURL(id), id, it.title(st.now))
	}
}

func (w *dokuWiki) text(st *state, p *page, it *item, revision int) {
	p.f("<h1 class=\"sectionedit1\">%s</h1>", it.title(st.now))
	links := related(w.items, it, st.now)
	for i, t := range it.paragraphs(revision) {
		p.f("<div class=\"level1\"><p>%s", t)
		for j, to := range links {
			if j%3 == i%3 {
				w.link(st, p, "", to)
			}
		}
		p.f("</p></div>")
	}
}

func (w *dokuWiki) show(st *state, r *request, id string, it *item) *answer {
	rev := int64(r.int("rev", 0))
	p := w.begin(st, r, id, it, rev == 0)
	switch {
	case it != nil && rev != 0:
		if !slices.Contains(w.revisions(it, st.now), rev) {
			p.f("<p>This revision does not exist. Please use the Old revisions button.</p>")
			break
		}
		p.f("<div class=\"info\"><strong>This is an old revision of the document!</strong></div>")
		w.text(st, p, it, it.revision(rev))
	case it != nil:
		w.text(st, p, it, it.revision(st.now))
		p.f("<div class=\"docInfo\">%s &middot; Last modified: %s by 192.0.2.%d</div>", id, date(it.touched(st.now), "2006/01/02 15:04"), it.n%30+1)
		a := w.end(st, r, p, id, "")
		a.item = it
		return a
	case w.isStart(id):
		space := strings.TrimSuffix(strings.TrimSuffix(id, "start"), ":")
		p.f("<h1>%s</h1><ul>", id)
		for i := range dwSpaces {
			if space == "" {
				p.f("<li><a href=\"%s\" class=\"wikilink1\" title=\"%s\">%s</a></li>", dwURL(vocabulary[600+i]+":start"), vocabulary[600+i]+":start", vocabulary[600+i])
			}
		}
		// Who writes a page puts it onto the list of its namespace, two days later.
		for _, o := range st.live {
			if dwSpace(o) == space && o.published < st.now-2*24*3600 {
				w.link(st, p, "<li>", o)
			}
		}
		p.f("</ul>")
	default:
		p.f("<h1 class=\"sectionedit1\">This topic does not exist yet</h1><p>You've followed a link to a topic that doesn't exist yet. If permissions allow, you may create it by clicking on Create this page.</p>")
	}
	return w.end(st, r, p, id, "")
}

func (w *dokuWiki) history(st *state, r *request, id string, it *item, do string) *answer {
	p := w.begin(st, r, id, it, false)
	p.f("<h1>Old Revisions</h1>")
	if it == nil {
		return w.end(st, r, p, id, do)
	}
	all := w.revisions(it, st.now)
	if do == "diff" {
		a, b := it.revision(st.now), max(0, it.revision(st.now)-1)
		if rev := int64(r.int("rev", 0)); rev != 0 {
			b = min(a, it.revision(rev))
		}
		for _, t := range []string{"sidebyside", "inline"} {
			p.f("<a class=\"diff\" href=\"%s\">%s</a>", dwURL(id, "do", "diff", "rev2[0]", fmt.Sprint(all[len(all)-1-b]), "rev2[1]", fmt.Sprint(all[0]), "difftype", t), t)
		}
		for i := range all[:len(all)-1] {
			p.f("<a class=\"diffprevrev\" href=\"%s\">%s</a>", dwURL(id, "do", "diff", "rev2[0]", fmt.Sprint(all[i+1]), "rev2[1]", fmt.Sprint(all[i]), "difftype", "sidebyside"), date(all[i], "2006/01/02 15:04"))
		}
		p.f("<table class=\"diff\"><tr><td>%s</td><td>%s</td></tr></table>", it.paragraphs(b)[0], it.paragraphs(a)[0])
		return w.end(st, r, p, id, do)
	}
	p.f("<form method=\"get\"><ul>")
	for i, t := range all {
		u := dwURL(id, "rev", strconv.FormatInt(t, 10))
		if i == 0 {
			u = dwURL(id)
		}
		p.f("<li><a href=\"%s\" class=\"diff_link\">diff</a> <a href=\"%s\" class=\"wikilink1\">%s</a></li>", dwURL(id, "rev", strconv.FormatInt(t, 10), "do", "diff"), u, date(t, "2006/01/02 15:04"))
	}
	p.f("</ul></form>")
	return w.end(st, r, p, id, do)
}

// changed are live items by their latest changes.
func (w *dokuWiki) changed(st *state, n int) []*item {
	all := slices.Clone(st.live)
	slices.SortStableFunc(all, func(a, b *item) int { return int(b.touched(st.now) - a.touched(st.now)) })
	return all[:min(n, len(all))]
}

func (w *dokuWiki) recent(st *state, r *request, id string, it *item) *answer {
	p := w.begin(st, r, id, it, false)
	p.f("<h1>Recent Changes</h1><form><ul>")
	for _, o := range w.changed(st, 20) {
		oid := dwID(o, st.now)
		p.f("<li>%s <a href=\"%s\" class=\"diff_link\">diff</a> <a href=\"%s\" class=\"revisions_link\">revisions</a>", date(o.touched(st.now), "2006/01/02 15:04"), dwURL(oid, "do", "diff"), dwURL(oid, "do", "revisions"))
		w.link(st, p, "", o)
		p.f("</li>")
	}
	p.f("</ul></form>")
	return w.end(st, r, p, id, "recent")
}

// index is the tree of namespaces, with one open.
func (w *dokuWiki) index(st *state, r *request, id string, it *item) *answer {
	open := r.query.Get("idx")
	if open == "" {
		open, _, _ = strings.Cut(id, ":")
	}
	p := w.begin(st, r, id, it, false)
	p.f("<h1>Sitemap</h1><p>This is a sitemap over all available pages ordered by namespaces.</p><ul class=\"idx\">")
	for i := range dwSpaces {
		s := vocabulary[600+i]
		p.f("<li class=\"closed\"><a href=\"%s\" title=\"%s\" class=\"idx_dir\"><strong>%s</strong></a>", dwURL(id, "idx", s), s, s)
		if s == open {
			in := st.where(func(o *item) bool { return dwSpace(o) == s })
			slices.SortFunc(in, func(a, b *item) int { return strings.Compare(a.title(st.now), b.title(st.now)) })
			p.f("<ul>")
			for _, o := range in {
				w.link(st, p, "<li>", o)
			}
			p.f("</ul>")
		}
		p.f("</li>")
	}
	p.f("<li><a href=\"/doku.php?id=start\" class=\"wikilink1\">start</a></li></ul>")
	return w.end(st, r, p, id, "index")
}

// feed is RSS 1.0 whose entries lead to differences, as the default is; a list of a namespace leads
// to the pages.
func (w *dokuWiki) feed(st *state, r *request) *answer {
	list := r.query.Get("mode") == "list"
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<rdf:RDF xmlns=\"http://purl.org/rss/1.0/\" xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\n")
	fmt.Fprintf(&b, "<channel rdf:about=\"%s/feed.php\"><title>Wiki</title><link>%s/</link></channel>\n", r.base, r.base)
	var latest int64
	n := 0
	for _, it := range w.changed(st, len(st.live)) {
		if list && dwSpace(it) != r.query.Get("ns") || !list && n == 15 {
			continue
		}
		n++
		t := it.touched(st.now)
		latest = max(latest, t)
		u := r.base + dwURL(dwID(it, st.now))
		if !list {
			u = r.base + dwURL(dwID(it, st.now), "rev", strconv.FormatInt(t, 10), "do", "diff")
		}
		fmt.Fprintf(&b, "<item rdf:about=\"%s\"><dc:date>%s</dc:date><title>%s</title><link>%s</link><description>%s</description></item>\n", u, date(t, time.RFC3339), it.title(st.now), u, it.paragraphs(0)[0])
	}
	b.WriteString("</rdf:RDF>\n")
	return &answer{kind: "application/rdf+xml; charset=utf-8", body: b.String(), modified: latest}
}
