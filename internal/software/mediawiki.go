package software

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// mediaWiki answers as MediaWiki 1.39 does after installation: articles under /index.php/Title,
// and under /index.php?title=Title with an action all that can be done with them. Forms,
// histories, old revisions, differences and special pages are noindex,nofollow; nothing else
// tells them from articles.
type mediaWiki struct {
	items []*item
	edits []mwEdit // of the whole wiki, ascending by time
}

// A mwEdit is one version of an article. Its number is its place among all of them, from 1.
type mwEdit struct {
	id       int
	it       *item
	revision int // of the text
	time     int64
}

func newMediaWiki(s *Site) server {
	w := &mediaWiki{items: s.items}
	for _, it := range s.items {
		w.edits = append(w.edits, mwEdit{it: it, time: it.published})
		for i, t := range it.edits {
			w.edits = append(w.edits, mwEdit{it: it, revision: i + 1, time: t})
		}
	}
	slices.SortStableFunc(w.edits, func(a, b mwEdit) int { return cmp.Compare(a.time, b.time) })
	for i := range w.edits {
		w.edits[i].id = i + 1
	}
	return w
}

const mwMain = "Main_Page"

func (w *mediaWiki) path(st *state, it *item) string { return "/index.php/" + mwTitle(it, st.now) }

// mwTitle is a title as URLs have it.
func mwTitle(it *item, now int64) string { return strings.ReplaceAll(it.title(now), " ", "_") }

func mwText(title string) string { return strings.ReplaceAll(title, "_", " ") }

// mwURL is the address of something about a title, with parameters in order: name, value, …
func mwURL(title string, params ...string) string {
	u := "/index.php?title=" + strings.ReplaceAll(url.QueryEscape(title), "%3A", ":")
	u = strings.ReplaceAll(u, "%2F", "/")
	for i := 0; i < len(params); i += 2 {
		u += "&amp;" + params[i] + "=" + url.QueryEscape(params[i+1])
	}
	return u
}

func mwCategory(it *item) string {
	c := vocabulary[40+it.chance(2).IntN(8)]
	return "Category:" + strings.ToUpper(c[:1]) + c[1:]
}

// mwAuthor is the address that a version was written from.
func mwAuthor(e mwEdit) string {
	return fmt.Sprintf("192.0.2.%d", 1+e.it.chance(uint64(50+e.revision)).IntN(30))
}

// wanted are titles that articles link to though nobody has written them.
func (w *mediaWiki) wanted(it *item) []string {
	r := it.chance(8)
	if r.IntN(3) > 0 {
		return nil
	}
	t := vocabulary[500+r.IntN(60)]
	return []string{strings.ToUpper(t[:1]) + t[1:]}
}

// byTitle returns the article of a title; former says that the title is one it had.
func (w *mediaWiki) byTitle(st *state, title string) (it *item, former bool) {
	it, now := st.named(strings.ToLower(mwText(title)), " ")
	return it, it != nil && !now
}

func (w *mediaWiki) answer(st *state, r *request) *answer {
	title := r.query.Get("title")
	switch {
	case r.path == "/":
		return r.redirect(301, "/index.php/"+mwMain)
	case r.path == "/index.php":
		if title == "" {
			return r.redirect(301, "/index.php/"+mwMain)
		}
	case strings.HasPrefix(r.path, "/index.php/"):
		title = strings.TrimPrefix(r.path, "/index.php/")
	case r.path == "/api.php":
		return &answer{kind: "text/xml; charset=utf-8", body: "<?xml version=\"1.0\"?><rsd version=\"1.0\"><service><engineName>MediaWiki</engineName></service></rsd>"}
	case r.path == "/opensearch_desc.php":
		return &answer{kind: "application/opensearchdescription+xml; charset=utf-8", body: "<?xml version=\"1.0\"?><OpenSearchDescription xmlns=\"http://a9.com/-/spec/opensearch/1.1/\"><ShortName>Wiki (en)</ShortName></OpenSearchDescription>"}
	default:
		return &answer{status: 404, body: "<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\">\n<html><head>\n<title>404 Not Found</title>\n</head><body>\n<h1>Not Found</h1>\n<p>The requested URL was not found on this server.</p>\n</body></html>\n"}
	}
	title = strings.ReplaceAll(title, " ", "_")
	a := w.act(st, r, title)
	about := title
	if special, ok := strings.CutPrefix(title, "Special:"); ok {
		_, about, _ = strings.Cut(special, "/")
		about = cmp.Or(about, r.query.Get("returnto"), r.query.Get("page"), r.query.Get("target"))
	}
	if about != "" && about != mwMain && !strings.Contains(about, ":") && !strings.Contains(about, ".") { // no user or category
		it, former := w.byTitle(st, about)
		a.vain = it == nil || !it.lives(st.now) || former && it.moved != redirected
	}
	return a
}

// act does with a title what the request says.
func (w *mediaWiki) act(st *state, r *request, title string) *answer {
	if strings.HasPrefix(title, "Special:") {
		return w.special(st, r, strings.TrimPrefix(title, "Special:"))
	}
	q := r.query
	switch action := q.Get("action"); {
	case action == "edit" || action == "submit":
		return w.form(st, r, title)
	case action == "history":
		return w.history(st, r, title)
	case action == "info":
		return w.info(st, r, title)
	case action == "raw":
		return &answer{kind: "text/x-wiki; charset=UTF-8", body: title}
	case q.Has("diff"), q.Has("oldid"):
		return w.version(st, r, title)
	}
	return w.view(st, r, title)
}

// begin writes the head of a page about a title. view is what is done with it.
func (w *mediaWiki) begin(st *state, r *request, title, view string, index bool) *page {
	p := &page{class: "mediawiki ltr sitedir-ltr skin-vector action-" + view}
	// The number of the request is in each page.
	p.meta("<script>RLCONF={\"wgPageName\":\"%s\",\"wgAction\":\"%s\",\"wgRequestId\":\"%016x%08x\"};</script>", title, view, r.serial*0x9e3779b97f4a7c15, r.serial)
	p.meta("<meta name=\"generator\" content=\"MediaWiki 1.39.5\"/>")
	if !index {
		p.meta("<meta name=\"robots\" content=\"noindex,nofollow\"/>")
	}
	p.meta("<link rel=\"stylesheet\" href=\"/load.php?lang=en&amp;modules=site.styles&amp;only=styles&amp;skin=vector\"/>")
	if !strings.HasPrefix(title, "Special:") {
		p.meta("<link rel=\"alternate\" type=\"application/x-wiki\" title=\"Edit\" href=\"%s\"/>", mwURL(title, "action", "edit"))
	}
	p.meta("<link rel=\"search\" type=\"application/opensearchdescription+xml\" href=\"/opensearch_desc.php\" title=\"Wiki (en)\"/>\n<link rel=\"EditURI\" type=\"application/rsd+xml\" href=\"%s/api.php?action=rsd\"/>", r.base)
	p.meta("<link rel=\"alternate\" type=\"application/atom+xml\" title=\"Wiki Atom feed\" href=\"%s\"/>", mwURL("Special:RecentChanges", "feed", "atom"))
	heading := mwText(title)
	switch view {
	case "edit":
		heading = "Editing " + heading
	case "history":
		heading += ": Revision history"
	case "info":
		heading = "Information for \"" + heading + "\""
	}
	p.f("<a class=\"mw-jump-link\" href=\"#mw-head\">Jump to navigation</a>\n<h1 id=\"firstHeading\" class=\"firstHeading mw-first-heading\">%s</h1>\n<div id=\"bodyContent\" class=\"vector-body\"><div id=\"siteSub\" class=\"noprint\">From Wiki</div>", heading)
	return p
}

// end writes the tabs, the side bar and the foot. last is the version shown, for what is no
// special page and exists.
func (w *mediaWiki) end(st *state, r *request, p *page, title string, last *mwEdit) *answer {
	special := strings.HasPrefix(title, "Special:")
	retrieved := r.base + "/index.php/" + title
	if last != nil {
		retrieved = r.base + mwURL(title, "oldid", fmt.Sprint(last.id))
	}
	p.f("<div class=\"printfooter\">Retrieved from \"<a dir=\"ltr\" href=\"%s\">%s</a>\"</div></div>", retrieved, retrieved)
	p.f("<nav id=\"p-personal\"><ul><li id=\"pt-anonuserpage\">Not logged in</li><li><a href=\"/index.php/Special:MyTalk\" rel=\"nofollow\">Talk</a></li><li><a href=\"/index.php/Special:MyContributions\" rel=\"nofollow\">Contributions</a></li>")
	p.f("<li><a href=\"%s\">Create account</a></li><li><a href=\"%s\">Log in</a></li></ul></nav>", mwURL("Special:CreateAccount", "returnto", mwText(title)), mwURL("Special:UserLogin", "returnto", mwText(title)))
	if special {
		p.f("<nav id=\"p-namespaces\"><ul><li><a href=\"%s\">Special page</a></li></ul></nav>", "/index.php/"+title)
	} else {
		p.f("<nav id=\"p-namespaces\"><ul><li id=\"ca-nstab-main\" class=\"selected\"><a href=\"/index.php/%s\">Page</a></li><li id=\"ca-talk\" class=\"new\"><a href=\"%s\" rel=\"discussion\" class=\"new\">Discussion</a></li></ul></nav>",
			title, mwURL(mwTalk(title), "action", "edit", "redlink", "1"))
		p.f("<nav id=\"p-views\"><ul>")
		if last != nil {
			p.f("<li id=\"ca-view\"><a href=\"/index.php/%s\">Read</a></li>", title)
		}
		p.f("<li id=\"ca-edit\"><a href=\"%s\">Edit</a></li>", mwURL(title, "action", "edit"))
		if last != nil {
			p.f("<li id=\"ca-history\"><a href=\"%s\">View history</a></li>", mwURL(title, "action", "history"))
		}
		p.f("</ul></nav>")
	}
	p.f("<form action=\"/index.php\" id=\"searchform\"><input type=\"search\" name=\"search\"><input type=\"hidden\" name=\"title\" value=\"Special:Search\"></form>")
	p.f("<nav id=\"p-navigation\"><a class=\"mw-wiki-logo\" href=\"/index.php/%s\" title=\"Visit the main page\"></a><ul><li><a href=\"/index.php/%s\">Main page</a></li><li><a href=\"/index.php/Special:RecentChanges\">Recent changes</a></li><li><a href=\"/index.php/Special:Random\">Random page</a></li><li><a href=\"https://www.mediawiki.org/wiki/Special:MyLanguage/Help:Contents\">Help about MediaWiki</a></li></ul></nav>", mwMain, mwMain)
	p.f("<nav id=\"p-tb\"><ul>")
	if !special {
		p.f("<li><a href=\"/index.php/Special:WhatLinksHere/%s\">What links here</a></li><li><a href=\"/index.php/Special:RecentChangesLinked/%s\" rel=\"nofollow\">Related changes</a></li>", title, title)
	}
	p.f("<li><a href=\"/index.php/Special:SpecialPages\">Special pages</a></li>")
	if last != nil || special {
		// Releases from 1.35 on leave printing to the browser; many older ones are there still.
		p.f("<li><a href=\"%s\" rel=\"alternate\">Printable version</a></li>", mwURL(title, "printable", "yes"))
	}
	if last != nil {
		p.f("<li><a href=\"%s\">Permanent link</a></li><li><a href=\"%s\">Page information</a></li>", mwURL(title, "oldid", fmt.Sprint(last.id)), mwURL(title, "action", "info"))
	}
	p.f("</ul></nav>\n<footer id=\"footer\"><ul>")
	if last != nil {
		p.f("<li>This page was last edited on %s.</li>", date(last.time, "2 January 2006, at 15:04"))
	}
	p.f("<li><a href=\"/index.php/Wiki:Privacy_policy\">Privacy policy</a></li><li><a href=\"/index.php/Wiki:About\">About Wiki</a></li><li><a href=\"/index.php/Wiki:General_disclaimer\">Disclaimers</a></li></ul><a href=\"https://www.mediawiki.org/\">Powered by MediaWiki</a></footer>")
	return &answer{body: p.html("en", mwText(title)+" - Wiki"), header: [][2]string{{"Cache-Control", "private, must-revalidate, max-age=0"}, {"Vary", "Accept-Encoding,Cookie"}}}
}

func mwTalk(title string) string {
	if space, rest, ok := strings.Cut(title, ":"); ok {
		return space + "_talk:" + rest
	}
	return "Talk:" + title
}

// versions of an article up to now, the latest first.
func (w *mediaWiki) versions(st *state, it *item) []mwEdit {
	var out []mwEdit
	for i := len(w.edits) - 1; i >= 0; i-- {
		if e := w.edits[i]; e.it == it && e.time <= st.now {
			out = append(out, e)
		}
	}
	return out
}

// latest are the latest versions of articles that are there.
func (w *mediaWiki) latest(st *state, n int, keep func(mwEdit) bool) []mwEdit {
	var out []mwEdit
	for i := len(w.edits) - 1; i >= 0 && len(out) < n; i-- {
		if e := w.edits[i]; e.time <= st.now && e.it.lives(st.now) && keep(e) {
			out = append(out, e)
		}
	}
	return out
}

// view shows a title.
func (w *mediaWiki) view(st *state, r *request, title string) *answer {
	if title == mwMain {
		return w.main(st, r)
	}
	if strings.HasPrefix(title, "Category:") {
		return w.category(st, r, title)
	}
	it, former := w.byTitle(st, title)
	if it == nil || !it.lives(st.now) || former && it.moved != redirected {
		return w.missing(st, r, title, it != nil)
	}
	self := mwTitle(it, st.now)
	index := !r.query.Has("printable")
	if former && r.query.Get("redirect") == "no" {
		p := w.begin(st, r, title, "view", true)
		p.f("<p>Redirect to:</p><ul class=\"redirectText\"><li><a href=\"/index.php/%s\">%s</a></li></ul>", self, it.title(st.now))
		return w.end(st, r, p, title, &w.versions(st, it)[0])
	}
	p := w.begin(st, r, self, "view", index)
	if former {
		p.meta("<link rel=\"canonical\" href=\"%s/index.php/%s\"/>", r.base, self)
		p.f("<div id=\"contentSub\"><span class=\"mw-redirectedfrom\">(Redirected from <a href=\"%s\" class=\"mw-redirect\">%s</a>)</span></div>", mwURL(title, "redirect", "no"), mwText(title))
	}
	last := w.versions(st, it)[0]
	w.text(st, p, it, last.revision)
	a := w.end(st, r, p, self, &last)
	a.item = it
	if former || r.query.Has("printable") {
		return a
	}
	// What a page links to is new or old by its colour: it changes with them.
	a.modified = it.touched(st.now)
	for _, to := range related(w.items, it, st.now) {
		a.modified = max(a.modified, to.published)
		if !to.lives(st.now) {
			a.modified = max(a.modified, to.deleted)
		}
	}
	return a
}

// text writes a version of an article.
func (w *mediaWiki) text(st *state, p *page, it *item, revision int) {
	title := mwTitle(it, st.now)
	links := related(w.items, it, st.now)
	p.f("<div id=\"mw-content-text\" class=\"mw-body-content mw-content-ltr\" lang=\"en\"><div class=\"mw-parser-output\">")
	for i, t := range it.paragraphs(revision) {
		if i > 0 && i < 4 {
			p.f("<h2><span class=\"mw-headline\" id=\"S%d\">%s</span><span class=\"mw-editsection\">[<a href=\"%s\" title=\"Edit section\">edit</a>]</span></h2>",
				i, vocabulary[(it.n*7+i)%len(vocabulary)], mwURL(title, "action", "edit", "section", fmt.Sprint(i)))
		}
		p.f("<p>%s", t)
		for j, to := range links {
			if j%3 == i%3 {
				w.link(st, p, it, to)
			}
		}
		p.f("</p>")
	}
	for _, t := range w.wanted(it) {
		p.f("<p><a href=\"%s\" class=\"new\" title=\"%s (page does not exist)\">%s</a></p>", mwURL(t, "action", "edit", "redlink", "1"), t, mwText(t))
	}
	c := mwCategory(it)
	p.f("</div></div><div id=\"catlinks\" class=\"catlinks\"><a href=\"/index.php/Special:Categories\">Category</a>: <ul><li>")
	if w.described(c) {
		p.f("<a href=\"/index.php/%s\" title=\"%s\">%s</a>", c, c, c[9:])
	} else {
		p.f("<a href=\"%s\" class=\"new\" title=\"%s (page does not exist)\">%s</a>", mwURL(c, "action", "edit", "redlink", "1"), c, c[9:])
	}
	p.f("</li></ul></div>")
}

// link writes a link of one article to another. It keeps the title that it was made with, to which a
// redirect leads if the article has moved; where none does, somebody has mended it.
func (w *mediaWiki) link(st *state, p *page, from, to *item) {
	title, text := mwTitle(to, st.now), to.title(st.now)
	if to.moved == redirected {
		text = to.title(max(to.published, from.touched(st.now)))
		title = strings.ReplaceAll(text, " ", "_")
	}
	if to.lives(st.now) {
		p.f("<a href=\"/index.php/%s\" title=\"%s\">%s</a>", title, text, text)
	} else {
		p.f("<a href=\"%s\" class=\"new\" title=\"%s (page does not exist)\">%s</a>", mwURL(title, "action", "edit", "redlink", "1"), text, text)
	}
}

// described tells whether somebody has written the page of a category: of half of them.
func (w *mediaWiki) described(category string) bool { return category[len(category)-1] < 'j' }

// main is the main page: some articles, and nothing of what is new.
func (w *mediaWiki) main(st *state, r *request) *answer {
	p := w.begin(st, r, mwMain, "view", true)
	p.f("<div id=\"mw-content-text\"><p><strong>MediaWiki has been installed.</strong></p><ul>")
	for i, it := range w.items {
		if i < 12 && it.lives(st.now) {
			p.f("<li><a href=\"/index.php/%s\" title=\"%s\">%s</a></li>", mwTitle(it, st.now), it.title(st.now), it.title(st.now))
		}
	}
	p.f("</ul></div>")
	return w.end(st, r, p, mwMain, &mwEdit{id: 0, time: Start.Unix() - 2*365*24*3600})
}

func (w *mediaWiki) category(st *state, r *request, title string) *answer {
	in := st.where(func(it *item) bool { return mwCategory(it) == title })
	known := w.described(title)
	if len(in) == 0 && !known {
		return w.missing(st, r, title, false)
	}
	slices.SortFunc(in, func(a, b *item) int { return strings.Compare(a.title(st.now), b.title(st.now)) })
	p := w.begin(st, r, title, "view", known)
	p.f("<div class=\"mw-category-generated\"><h2>Pages in category \"%s\"</h2><p>The following %d pages are in this category, out of %d total.</p><ul>", title[9:], len(in), len(in))
	for _, it := range in {
		p.f("<li><a href=\"/index.php/%s\" title=\"%s\">%s</a></li>", mwTitle(it, st.now), it.title(st.now), it.title(st.now))
	}
	p.f("</ul></div>")
	a := w.end(st, r, p, title, nil)
	if !known {
		a.status = 404 // its members are shown all the same
	}
	return a
}

func (w *mediaWiki) missing(st *state, r *request, title string, deleted bool) *answer {
	p := w.begin(st, r, title, "view", false)
	p.f("<div class=\"noarticletext mw-content-ltr\">")
	if deleted {
		p.f("<div class=\"mw-warning-with-logexcerpt\"><p>This page has been deleted. The deletion log for the page is provided below for reference.</p><a href=\"%s\">full log</a></div>", mwURL("Special:Log", "page", mwText(title)))
	}
	p.f("<p>There is currently no text in this page. You can <a href=\"/index.php/Special:Search/%s\">search for this page title</a> in other pages, <span class=\"plainlinks\"><a rel=\"nofollow\" class=\"external text\" href=\"%s\">search the related logs</a></span>, or <a class=\"external text\" href=\"%s\">create this page</a>.</p></div>",
		title, r.base+mwURL("Special:Log", "page", mwText(title)), r.base+mwURL(title, "action", "edit"))
	a := w.end(st, r, p, title, nil)
	a.status = 404
	return a
}

func (w *mediaWiki) form(st *state, r *request, title string) *answer {
	it, _ := w.byTitle(st, title)
	heading := "Editing " + mwText(title)
	p := w.begin(st, r, title, "edit", false)
	var last *mwEdit
	if it == nil || !it.lives(st.now) {
		p.f("<div class=\"mw-newarticletextanon\"><p>You have followed a link to a page that does not exist yet. To create the page, start typing in the box below.</p></div>")
	} else {
		last = &w.versions(st, it)[0]
	}
	p.f("<div id=\"mw-anon-edit-warning\">Warning: You are not logged in. <a href=\"%s\">Log in</a> or <a href=\"%s\">create an account</a>.</div>", mwURL("Special:UserLogin", "returnto", mwText(title)), mwURL("Special:CreateAccount", "returnto", mwText(title)))
	p.f("<form id=\"editform\" method=\"post\" action=\"%s\"><textarea name=\"wpTextbox1\">", mwURL(title, "action", "submit"))
	if last != nil {
		for _, t := range it.paragraphs(last.revision) {
			p.f("%s\n", t)
		}
	}
	p.f("</textarea><input name=\"wpSave\" type=\"submit\"><a href=\"/index.php/%s\" title=\"%s\">Cancel</a></form>", title, heading)
	return w.end(st, r, p, title, last)
}

func (w *mediaWiki) history(st *state, r *request, title string) *answer {
	it, former := w.byTitle(st, title)
	if it == nil || !it.lives(st.now) || former {
		return w.missing(st, r, title, it != nil)
	}
	all := w.versions(st, it)
	p := w.begin(st, r, title, "history", false)
	p.meta("<link rel=\"alternate\" type=\"application/atom+xml\" title=\"&quot;%s&quot; Atom feed\" href=\"%s\"/>", mwText(title), mwURL(title, "feed", "atom", "action", "history"))
	p.f("<div class=\"mw-history-subtitle\"><a href=\"%s\">View logs for this page</a></div>", mwURL("Special:Log", "page", mwText(title)))
	p.f("(newest | <a href=\"%s\">oldest</a>) View (newer 50 | older 50) (", mwURL(title, "dir", "prev", "action", "history"))
	for _, n := range []string{"20", "50", "100", "250", "500"} {
		p.f("<a class=\"mw-numlink\" href=\"%s\">%s</a> |", mwURL(title, "limit", n, "action", "history"), n)
	}
	p.f(")<ul id=\"pagehistory\">")
	limit := r.int("limit", 50)
	for i, e := range all[:min(len(all), max(1, limit))] {
		p.f("<li data-mw-revid=\"%d\">(", e.id)
		if i > 0 {
			p.f("<a href=\"%s\">cur</a> | ", mwURL(title, "diff", fmt.Sprint(all[0].id), "oldid", fmt.Sprint(e.id)))
		}
		if i+1 < len(all) {
			p.f("<a href=\"%s\">prev</a>", mwURL(title, "diff", fmt.Sprint(e.id), "oldid", fmt.Sprint(all[i+1].id)))
		}
		p.f(") <a href=\"%s\" class=\"mw-changeslist-date\">%s</a> %s", mwURL(title, "oldid", fmt.Sprint(e.id)), date(e.time, "15:04, 2 January 2006"), w.user(e))
		if i+1 < len(all) {
			p.f("(<span class=\"mw-history-undo\"><a href=\"%s\">undo</a></span>)", mwURL(title, "action", "edit", "undoafter", fmt.Sprint(all[i+1].id), "undo", fmt.Sprint(e.id)))
		}
		p.f("</li>")
	}
	p.f("</ul>")
	if r.query.Get("feed") == "atom" {
		return w.changes(r, title, all)
	}
	return w.end(st, r, p, title, &all[0])
}

// user writes who made a change.
func (w *mediaWiki) user(e mwEdit) string {
	a := mwAuthor(e)
	return fmt.Sprintf("<a href=\"/index.php/Special:Contributions/%s\" class=\"mw-userlink mw-anonuserlink\">%s</a> <span class=\"mw-usertoollinks\">(<a href=\"%s\" class=\"new mw-usertoollinks-talk\">talk</a>)</span>",
		a, a, mwURL("User_talk:"+a, "action", "edit", "redlink", "1"))
}

func (w *mediaWiki) info(st *state, r *request, title string) *answer {
	it, former := w.byTitle(st, title)
	if it == nil || !it.lives(st.now) || former {
		return w.missing(st, r, title, it != nil)
	}
	all := w.versions(st, it)
	p := w.begin(st, r, title, "info", false)
	p.f("<table class=\"mw-page-info\"><tr><td>Display title</td><td>%s</td></tr><tr><td>Page ID</td><td>%d</td></tr><tr><td>Number of redirects to this page</td><td><a href=\"%s\">0</a></td></tr><tr><td>Page creator</td><td>%s</td></tr>", it.title(st.now), it.n, mwURL("Special:WhatLinksHere/"+title, "hidelinks", "1", "hidetrans", "1"), w.user(all[len(all)-1]))
	p.f("<tr><td>Date of latest edit</td><td><a href=\"%s\">%s</a></td></tr><tr><td>Page protection log</td><td><a href=\"%s\">View the protection log</a></td></tr></table>", mwURL(title, "oldid", fmt.Sprint(all[0].id)), date(all[0].time, "15:04, 2 January 2006"), mwURL("Special:Log", "type", "protect", "page", mwText(title)))
	return w.end(st, r, p, title, &all[0])
}

// version shows an old revision, or the difference between two.
func (w *mediaWiki) version(st *state, r *request, title string) *answer {
	id := r.int("oldid", 0)
	if id == 0 {
		id = r.int("diff", 0)
	}
	if id < 1 || id > len(w.edits) || w.edits[id-1].time > st.now || !w.edits[id-1].it.lives(st.now) {
		p := w.begin(st, r, title, "view", false)
		p.f("<p>The revision #%d of the page named \"%s\" does not exist.</p><p>This is usually caused by following an outdated history link to a page that has been deleted.</p>", id, mwText(title))
		a := w.end(st, r, p, title, nil)
		a.status = 404
		return a
	}
	e := w.edits[id-1]
	title = mwTitle(e.it, st.now)
	all := w.versions(st, e.it)
	at := slices.Index(all, e)
	p := w.begin(st, r, title, "view", false)
	p.f("<div class=\"mw-revision\"><div id=\"mw-revision-info\">Revision as of %s by %s</div><div id=\"mw-revision-nav\">(", date(e.time, "15:04, 2 January 2006"), w.user(e))
	if at+1 < len(all) {
		p.f("<a href=\"%s\">diff</a>) <a href=\"%s\">&larr; Older revision</a> | ", mwURL(title, "diff", "prev", "oldid", fmt.Sprint(id)), mwURL(title, "direction", "prev", "oldid", fmt.Sprint(id)))
	}
	if at > 0 {
		p.f("<a href=\"/index.php/%s\">Latest revision</a> (<a href=\"%s\">diff</a>) | <a href=\"%s\">Newer revision &rarr;</a> (<a href=\"%s\">diff</a>)", title,
			mwURL(title, "diff", "cur", "oldid", fmt.Sprint(id)), mwURL(title, "direction", "next", "oldid", fmt.Sprint(id)), mwURL(title, "diff", "next", "oldid", fmt.Sprint(id)))
	}
	p.f("</div></div>")
	switch r.query.Get("direction") {
	case "next":
		e = all[max(0, at-1)]
	case "prev":
		e = all[min(len(all)-1, at+1)]
	}
	diff := r.query.Has("diff")
	if diff {
		p.f("<table class=\"diff\"><tr><td class=\"diff-marker\"></td><td>%s</td></tr></table><h2 class=\"diff-currentversion-title\">Revision as of %s</h2>", strings.Join(e.it.paragraphs(e.revision)[:1], ""), date(e.time, "15:04, 2 January 2006"))
	}
	w.text(st, p, e.it, e.revision)
	a := w.end(st, r, p, title, &e)
	if at == 0 && !diff {
		a.item = e.it
	}
	return a
}

// changes is an Atom feed of versions.
func (w *mediaWiki) changes(r *request, title string, all []mwEdit) *answer {
	var b strings.Builder
	fmt.Fprintf(&b, "<?xml version=\"1.0\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"en\"><id>%s%s</id><title>Wiki - %s [en]</title>", r.base, mwURL(title, "feed", "atom"), mwText(title))
	for _, e := range all {
		t := mwTitle(e.it, e.time)
		u := r.base + mwURL(t, "diff", fmt.Sprint(e.id), "oldid", "prev")
		if e.revision == 0 {
			u = r.base + "/index.php/" + t
		}
		fmt.Fprintf(&b, "<entry><id>%s</id><title>%s</title><link rel=\"alternate\" type=\"text/html\" href=\"%s\"/><updated>%s</updated><summary type=\"html\">%s</summary><author><name>%s</name></author></entry>\n",
			u, mwText(t), u, date(e.time, time.RFC3339), "&lt;p&gt;"+e.it.paragraphs(e.revision)[0]+"&lt;/p&gt;", mwAuthor(e))
	}
	b.WriteString("</feed>\n")
	return &answer{kind: "application/atom+xml; charset=UTF-8", body: b.String()}
}

// mwSpecial are special pages that list all articles in one order or another, or nothing.
var mwSpecial = []string{
	"BrokenRedirects", "DeadendPages", "DoubleRedirects", "LongPages", "AncientPages", "LonelyPages", "FewestRevisions", "WithoutInterwiki", "ProtectedPages",
	"ProtectedTitles", "ShortPages", "UncategorizedCategories", "UncategorizedFiles", "UncategorizedPages", "UncategorizedTemplates", "UnusedCategories",
	"UnusedFiles", "UnusedTemplates", "WantedCategories", "WantedFiles", "WantedPages", "WantedTemplates", "AllPages", "PrefixIndex", "Categories", "ListRedirects",
	"PagesWithProp", "Search", "TrackingCategories", "ActiveUsers", "AutoblockList", "BlockList", "CreateAccount", "ListGrants", "ListGroupRights", "ListUsers",
	"PasswordReset", "UserLogin", "UserRights", "NewFiles", "Log", "NewPages", "RecentChanges", "RecentChangesLinked", "Tags", "ListFiles", "FileDuplicateSearch",
	"MIMEsearch", "AllMessages", "ApiSandbox", "Statistics", "Version", "LinkSearch", "Random", "RandomInCategory", "RandomRedirect", "RandomRootpage", "Redirect",
	"MostLinkedCategories", "MostLinkedFiles", "MostLinkedPages", "MostLinkedTemplates", "MostCategories", "MostInterwikis", "MostRevisions", "BookSources",
	"ComparePages", "Diff", "ExpandTemplates", "Export", "PermanentLink", "WhatLinksHere",
}

func (w *mediaWiki) special(st *state, r *request, name string) *answer {
	name, of, _ := strings.Cut(name, "/")
	title := "Special:" + name
	if !slices.Contains(mwSpecial, name) && !slices.Contains([]string{"SpecialPages", "Contributions", "MyTalk", "MyContributions"}, name) {
		p := w.begin(st, r, title, "view", false)
		p.f("<p>You have requested an invalid special page.</p><p>A list of valid special pages can be found at <a href=\"/index.php/Special:SpecialPages\">Special pages</a>.</p>")
		a := w.end(st, r, p, title, nil)
		a.status = 404
		return a
	}
	article := func(p *page, it *item) {
		p.f("<li><a href=\"/index.php/%s\" title=\"%s\">%s</a></li>", mwTitle(it, st.now), it.title(st.now), it.title(st.now))
	}
	if of == "" {
		of = strings.ReplaceAll(r.query.Get("target"), " ", "_")
	}
	full := title
	if of != "" {
		full += "/" + of
	}
	p := w.begin(st, r, full, "view", false)
	switch name {
	case "Random", "RandomRootpage":
		at := int(r.serial*0x9e3779b97f4a7c15>>33) % len(st.live)
		return r.redirect(302, w.path(st, st.live[at]))
	case "RecentChanges", "RecentChangesLinked":
		limit, days := max(1, r.int("limit", 50)), max(1, r.int("days", 7))
		all := w.latest(st, limit, func(e mwEdit) bool {
			if name == "RecentChangesLinked" {
				from, _ := w.byTitle(st, of)
				if from == nil || !slices.Contains(related(w.items, from, st.now), e.it) {
					return false
				}
			}
			return e.time > st.now-int64(days)*24*3600
		})
		if r.query.Get("feed") == "atom" {
			return w.changes(r, title, all)
		}
		p.meta("<link rel=\"alternate\" type=\"application/atom+xml\" href=\"%s\"/>", mwURL(full, "feed", "atom"))
		p.f("<fieldset class=\"rcoptions\">Show last ")
		params := func(name, value string) string {
			out := []string{}
			for _, k := range []string{"limit", "days", "hidebots", "hideminor", "hideanons", "hideliu", "hidemyself", "from"} {
				if k == name {
					out = append(out, k, value)
				} else if v := r.query.Get(k); v != "" {
					out = append(out, k, v)
				}
			}
			return mwURL(full, out...)
		}
		for _, n := range []string{"50", "100", "250", "500"} {
			p.f("<a href=\"%s\" data-params='{\"limit\":\"%s\"}'>%s</a> |", params("limit", n), n, n)
		}
		for _, n := range []string{"1", "3", "7", "14", "30"} {
			p.f("<a href=\"%s\" data-params='{\"days\":\"%s\"}'>%s</a> |", params("days", n), n, n)
		}
		for _, n := range []string{"hideliu", "hideanons", "hideminor", "hidebots", "hidemyself"} {
			value := "1"
			if r.query.Get(n) == "1" {
				value = "0"
			}
			p.f("<a href=\"%s\">%s</a> |", params(n, value), n)
		}
		p.f("<a href=\"%s\">Show new changes starting from %s</a></fieldset><ul class=\"special\">", params("from", date(st.now, "20060102150405")), date(st.now, "15:04, 2 January 2006"))
		for _, e := range all {
			t := mwTitle(e.it, st.now)
			mark := ""
			if e.revision == 0 {
				mark = "<abbr class=\"newpage\" title=\"This edit created a new page\">N</abbr>"
			} else {
				mark = fmt.Sprintf("<a class=\"mw-changeslist-diff\" href=\"%s\">diff</a>", mwURL(t, "curid", fmt.Sprint(e.it.n), "diff", fmt.Sprint(e.id), "oldid", fmt.Sprint(max(1, e.id-1))))
			}
			p.f("<li class=\"mw-changeslist-line\">(%s | <a class=\"mw-changeslist-history\" href=\"%s\">hist</a>) <a href=\"/index.php/%s\" class=\"mw-changeslist-title\" title=\"%s\">%s</a>; %s %s</li>",
				mark, mwURL(t, "curid", fmt.Sprint(e.it.n), "action", "history"), t, e.it.title(st.now), e.it.title(st.now), date(e.time, "15:04"), w.user(e))
		}
		p.f("</ul>")
	case "WhatLinksHere":
		to, _ := w.byTitle(st, of)
		p.f("<h2>Filters</h2>")
		for _, h := range []string{"hidetrans", "hidelinks", "hideredirs"} {
			p.f("<a href=\"%s\">Hide %s</a> |", mwURL(full, h, "1"), h)
		}
		p.f("<p>The following pages link to <strong><a href=\"/index.php/%s\">%s</a></strong>:</p>View (", of, mwText(of))
		for _, n := range []string{"20", "50", "100", "250", "500"} {
			p.f("<a href=\"%s\" class=\"mw-numlink\">%s</a> |", mwURL(full, "limit", n), n)
		}
		p.f(")<ul id=\"mw-whatlinkshere-list\">")
		for _, it := range st.live {
			if to != nil && slices.Contains(related(w.items, it, st.now), to) {
				t := mwTitle(it, st.now)
				p.f("<li><a href=\"/index.php/%s\">%s</a> (<a href=\"/index.php/Special:WhatLinksHere/%s\">&larr; links</a> | <a href=\"%s\">edit</a>)</li>", t, it.title(st.now), t, mwURL(t, "action", "edit"))
			}
		}
		p.f("</ul>")
	case "SpecialPages":
		p.f("<ul>")
		for _, s := range mwSpecial {
			p.f("<li><a href=\"/index.php/Special:%s\" title=\"Special:%s\">%s</a></li>", s, s, s)
		}
		p.f("</ul>")
	case "Contributions":
		p.f("<ul class=\"mw-contributions-list\">")
		for _, e := range w.latest(st, max(1, r.int("limit", 50)), func(e mwEdit) bool { return mwAuthor(e) == of }) {
			t := mwTitle(e.it, st.now)
			p.f("<li><a href=\"%s\" class=\"mw-changeslist-date\">%s</a> (<a href=\"%s\">diff</a> | <a href=\"%s\">hist</a>) <a href=\"/index.php/%s\" class=\"mw-contributions-title\">%s</a></li>",
				mwURL(t, "oldid", fmt.Sprint(e.id)), date(e.time, "15:04, 2 January 2006"), mwURL(t, "diff", "prev", "oldid", fmt.Sprint(e.id)), mwURL(t, "action", "history"), t, e.it.title(st.now))
		}
		p.f("</ul>View (")
		for _, n := range []string{"20", "50", "100", "250", "500"} {
			p.f("<a href=\"%s\" class=\"mw-numlink\">%s</a> |", mwURL("Special:Contributions", "limit", n, "target", of), n)
		}
		p.f(")")
	case "AllPages", "PrefixIndex":
		all := st.where(func(it *item) bool { return mwTitle(it, st.now) >= r.query.Get("from") })
		slices.SortFunc(all, func(a, b *item) int { return strings.Compare(a.title(st.now), b.title(st.now)) })
		const size = 345
		if len(all) > size {
			p.f("<div class=\"mw-allpages-nav\"><a href=\"%s\">Next page (%s)</a></div>", mwURL(title, "from", mwTitle(all[size], st.now)), all[size].title(st.now))
			all = all[:size]
		}
		p.f("<ul class=\"mw-allpages-chunk\">")
		for _, it := range all {
			article(p, it)
		}
		p.f("</ul>")
	case "NewPages", "LongPages", "ShortPages", "AncientPages", "FewestRevisions", "MostRevisions", "LonelyPages", "DeadendPages":
		all := slices.Clone(st.live)
		if name != "NewPages" {
			slices.SortFunc(all, func(a, b *item) int { return cmp.Compare(a.seed^uint64(len(name)), b.seed^uint64(len(name))) })
		}
		limit, offset := max(1, r.int("limit", 50)), r.int("offset", 0)
		p.f("View (")
		if offset > 0 {
			p.f("<a href=\"%s\" rel=\"prev\" class=\"mw-prevlink\">previous %d</a> |", mwURL(title, "limit", fmt.Sprint(limit), "offset", fmt.Sprint(max(0, offset-limit))), limit)
		}
		if offset+limit < len(all) {
			p.f("<a href=\"%s\" rel=\"next\" class=\"mw-nextlink\">next %d</a> |", mwURL(title, "limit", fmt.Sprint(limit), "offset", fmt.Sprint(offset+limit)), limit)
		}
		for _, n := range []string{"20", "50", "100", "250", "500"} {
			p.f("<a href=\"%s\" class=\"mw-numlink\">%s</a> |", mwURL(title, "limit", n, "offset", fmt.Sprint(offset)), n)
		}
		p.f(")<ol class=\"special\" start=\"%d\">", offset+1)
		for _, it := range all[min(len(all), offset):min(len(all), offset+limit)] {
			t := mwTitle(it, st.now)
			p.f("<li>(<a href=\"%s\">hist</a>) <a href=\"/index.php/%s\" title=\"%s\">%s</a> [%d bytes]</li>", mwURL(t, "action", "history"), t, it.title(st.now), it.title(st.now), len(strings.Join(it.paragraphs(it.revision(st.now)), "\n")))
		}
		p.f("</ol>")
	case "Categories":
		p.f("<ul>")
		for i := range 8 {
			c := vocabulary[40+i]
			c = strings.ToUpper(c[:1]) + c[1:]
			p.f("<li><a href=\"/index.php/Category:%s\" title=\"Category:%s\">%s</a></li>", c, c, c)
		}
		p.f("</ul>")
	case "Log":
		p.f("<form><select name=\"type\"><option>All public logs</option></select></form>")
		if of := mwText(r.query.Get("page")); of != "" {
			p.f("<p>No matching items in log for <a href=\"/index.php/%s\">%s</a>.</p>", strings.ReplaceAll(of, " ", "_"), of)
		}
		for _, l := range []string{"block", "delete", "merge", "move", "newusers", "patrol", "protect", "upload"} {
			p.f("<a href=\"%s\">%s log</a>", mwURL("Special:Log", "type", l), l)
		}
	case "UserLogin", "CreateAccount":
		p.f("<form name=\"userlogin\" method=\"post\" action=\"%s\"><input name=\"wpName\"><input name=\"wpPassword\" type=\"password\"></form><a href=\"/index.php/Special:PasswordReset\">Forgot your password?</a>", mwURL(title, "returnto", r.query.Get("returnto")))
	default:
		p.f("<p>There are no results for this report.</p><form><input name=\"q\"></form>")
	}
	return w.end(st, r, p, full, nil)
}
