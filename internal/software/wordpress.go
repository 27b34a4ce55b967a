package software

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// wordPress answers as WordPress does. Beside its page a post has a feed of its comments, an
// address for each comment that could be replied to (rel=nofollow, noindex, canonical to the
// post), a short address, one to be embedded, and JSON of it; lists of posts by category, tag,
// author and month are cut into pages and have feeds of their own.
type wordPress struct {
	plain  bool // permalinks are "/?p=N", as after installation, else "/2026/03/02/name/"
	latest atomic.Pointer[wpLatestAt]
}

func newWordPress(*Site) server      { return &wordPress{} }
func newWordPressPlain(*Site) server { return &wordPress{plain: true} }

const (
	wpPosts      = 10 // of a page of a list
	wpCategories = 6
	wpTags       = 24
	wpAuthors    = 2
)

// A wpRoute is what a URL asks for.
type wpRoute struct {
	view  string // home, post, page, category, tag, author, date, search, feed, comments, embed, none
	name  string // of the category, tag or author; of a date "2026/03/02", "2026/03" or "2026"
	post  *item
	page  int // of a list, from 1
	feed  bool
	reply int // comment to reply to
}

func wpCategory(it *item) string { return vocabulary[it.chance(2).IntN(wpCategories)] }
func wpAuthor(it *item) string   { return vocabulary[300+it.chance(3).IntN(wpAuthors)] }

func wpTagsOf(it *item) []string {
	r := it.chance(4)
	var out []string
	for range r.IntN(4) {
		if t := vocabulary[100+r.IntN(wpTags)]; !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// A wpComment is numbered over the whole site.
type wpComment struct {
	id     int
	author string
	time   int64
	text   string
}

// comments of a post: seven on average, and one more for each second edit.
func wpComments(it *item, now int64) []wpComment {
	r := it.chance(5)
	n := r.IntN(15)
	var out []wpComment
	for i := range n {
		if t := it.published + int64(1+i)*(3600+r.Int64N(48*3600)); t <= now {
			out = append(out, wpComment{it.n*40 + i, vocabulary[400+r.IntN(300)], t, sentences(r, 2)})
		}
	}
	for i, t := range it.edits {
		if i%2 == 1 && t <= now && i < 20 {
			out = append(out, wpComment{it.n*40 + 20 + i, vocabulary[400+r.IntN(300)], t, sentences(r, 1)})
		}
	}
	slices.SortStableFunc(out, func(a, b wpComment) int { return int(a.time - b.time) })
	return out
}

func (w *wordPress) path(st *state, it *item) string {
	if w.plain {
		return fmt.Sprintf("/?p=%d", w.id(it))
	}
	return fmt.Sprintf("%s%s/", date(it.published, "/2006/01/02/"), it.slug(st.now, "-"))
}

// id is the number of a post: pages and revisions have numbers too.
func (w *wordPress) id(it *item) int { return 2 + 3*it.n }

func (w *wordPress) byID(st *state, id int) *item {
	if id < 5 || id%3 != 2 {
		return nil
	}
	it := st.numbered((id - 2) / 3)
	if it == nil || !it.lives(st.now) {
		return nil
	}
	return it
}

// list is the address of a page of a list: view and name as in a wpRoute.
func (w *wordPress) list(view, name string, page int, feed bool) string {
	if w.plain {
		q := url.Values{}
		switch view {
		case "category":
			q.Set("cat", strconv.Itoa(2+slices.Index(vocabulary, name)))
		case "tag":
			q.Set("tag", name)
		case "author":
			q.Set("author", strconv.Itoa(1+slices.Index(vocabulary[300:], name)))
		case "date":
			q.Set("m", strings.ReplaceAll(name, "/", ""))
		}
		if page > 1 {
			q.Set("paged", strconv.Itoa(page))
		}
		if feed {
			q.Set("feed", "rss2")
		}
		if len(q) == 0 {
			return "/"
		}
		return "/?" + q.Encode()
	}
	p := "/"
	switch view {
	case "category", "tag", "author":
		p += view + "/" + name + "/"
	case "date":
		p += name + "/"
	}
	if page > 1 {
		p += fmt.Sprintf("page/%d/", page)
	}
	if feed {
		p += "feed/"
	}
	return p
}

// below is the address of something that belongs to a post, such as its feed.
func (w *wordPress) below(st *state, it *item, what string) string {
	p := w.path(st, it)
	switch {
	case !w.plain:
		return p + what + "/"
	case what == "feed":
		return fmt.Sprintf("/?feed=rss2&p=%d", w.id(it))
	}
	return p + "&" + what + "=true"
}

func (w *wordPress) reply(st *state, it *item, comment int) string {
	sep := "?"
	if w.plain {
		sep = "&"
	}
	return fmt.Sprintf("%s%sreplytocom=%d", w.path(st, it), sep, comment)
}

func (w *wordPress) rest(route string) string {
	if w.plain {
		return "/index.php?rest_route=" + url.QueryEscape("/"+route)
	}
	return "/wp-json/" + route
}

func (w *wordPress) sitemap(name string) string {
	if !w.plain {
		if name == "index" {
			return "/wp-sitemap.xml"
		}
		return "/wp-sitemap-" + name + "-1.xml"
	}
	if name == "index" {
		return "/?sitemap=index"
	}
	kind, sub, _ := strings.Cut(name, "-")
	q := "/?paged=1&sitemap=" + kind
	if sub != "" {
		q += "&sitemap-subtype=" + sub
	}
	return q
}

var (
	wpPermalink = regexp.MustCompile(`^/(\d{4})/(\d\d)/(\d\d)/([a-z-]+)(?:/(feed|embed))?/?$`)
	wpArchive   = regexp.MustCompile(`^(?:/(category|tag|author)/([a-z-]+)|/(\d{4}(?:/\d\d){0,2}))?(?:/page/(\d+))?(/feed)?/?$`)
)

// route reads a URL. A redirect is what its other forms answer.
func (w *wordPress) route(st *state, r *request) (rt wpRoute, elsewhere *answer) {
	rt.page, rt.reply = 1, r.int("replytocom", 0)
	if id := r.int("p", r.int("page_id", 0)); id != 0 && r.path == "/" {
		rt.view = "none"
		if id == 2 {
			rt.view = "page"
		} else if rt.post = w.byID(st, id); rt.post != nil {
			rt.view, rt.feed = "post", r.query.Has("feed")
			if r.query.Has("embed") {
				rt.view = "embed"
			}
		}
		if !w.plain && rt.view == "post" {
			return rt, r.redirect(301, w.path(st, rt.post))
		}
		return rt, nil
	}
	if r.query.Has("s") {
		rt.view = "search"
		return rt, nil
	}
	if w.plain {
		if r.path != "/" && r.path != "/index.php" {
			rt.view = "none"
			return rt, nil
		}
		rt.view, rt.page, rt.feed = "home", r.int("paged", 1), r.query.Get("feed") == "rss2"
		switch {
		case r.query.Get("feed") == "comments-rss2":
			rt.view = "comments"
		case r.query.Has("cat"):
			rt.view, rt.name = "category", word(r.int("cat", 0)-2)
		case r.query.Has("tag"):
			rt.view, rt.name = "tag", r.query.Get("tag")
		case r.query.Has("author"):
			rt.view, rt.name = "author", word(299+r.int("author", 0))
		case r.query.Has("m"):
			rt.view, rt.name = "date", r.query.Get("m")
			if len(rt.name) > 4 {
				rt.name = rt.name[:4] + "/" + rt.name[4:]
			}
		}
		return rt, nil
	}
	switch m := wpPermalink.FindStringSubmatch(r.path); {
	case m != nil && m[4] != "page":
		it, now := st.named(m[4], "-")
		if it == nil || !it.lives(st.now) {
			rt.view = "none"
			return rt, nil
		}
		if !now || !strings.HasSuffix(r.path, "/") || date(it.published, "2006/01/02") != strings.Join(m[1:4], "/") {
			return rt, r.redirect(301, w.path(st, it))
		}
		rt.view, rt.post, rt.feed = "post", it, m[5] == "feed"
		if m[5] == "embed" {
			rt.view = "embed"
		}
	case r.path == "/sample-page/":
		rt.view = "page"
	case r.path == "/comments/feed/":
		rt.view = "comments"
	default:
		m := wpArchive.FindStringSubmatch(r.path)
		if m == nil {
			rt.view = "none"
			return rt, nil
		}
		switch {
		case m[1] != "":
			rt.view, rt.name = m[1], m[2]
		case m[3] != "":
			rt.view, rt.name = "date", m[3]
		default:
			rt.view = "home"
		}
		if m[4] != "" {
			rt.page, _ = strconv.Atoi(m[4])
		}
		rt.feed = m[5] != ""
		if !strings.HasSuffix(r.path, "/") {
			return rt, r.redirect(301, r.path+"/")
		}
	}
	return rt, nil
}

// word is a word of the vocabulary, "" for a number that is none's.
func word(n int) string {
	if n < 0 || n >= len(vocabulary) {
		return ""
	}
	return vocabulary[n]
}

// posts are those of a list.
func (w *wordPress) posts(st *state, rt wpRoute) []*item {
	return st.where(func(it *item) bool {
		switch rt.view {
		case "category":
			return wpCategory(it) == rt.name
		case "tag":
			return slices.Contains(wpTagsOf(it), rt.name)
		case "author":
			return wpAuthor(it) == rt.name
		case "date":
			return strings.HasPrefix(date(it.published, "2006/01/02"), rt.name)
		}
		return true
	})
}

func (w *wordPress) answer(st *state, r *request) *answer {
	switch {
	case r.path == "/robots.txt":
		return robots("User-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\n\nSitemap: " + r.base + w.sitemap("index") + "\n")
	case r.path == "/sitemap.xml" && !w.plain:
		return r.redirect(301, w.sitemap("index"))
	case strings.HasPrefix(r.path, "/wp-sitemap") && !w.plain, r.query.Has("sitemap"):
		return w.sitemaps(st, r)
	case r.path == "/wp-login.php":
		p := &page{}
		p.meta("<meta name='robots' content='max-image-preview:large, noindex, noarchive' />")
		p.f("<form name=\"loginform\" action=\"%s/wp-login.php\" method=\"post\"><input name=\"log\"><input name=\"pwd\" type=\"password\"></form>", r.base)
		p.f("<a href=\"%s/wp-login.php?action=lostpassword\">Lost your password?</a> <a href=\"%s/\">&larr; Go to Notes</a>", r.base, r.base)
		return &answer{body: p.html("en-US", "Log In &lsaquo; Notes")}
	case r.path == "/xmlrpc.php":
		if r.query.Has("rsd") {
			return &answer{kind: "text/xml; charset=UTF-8", body: "<?xml version=\"1.0\" encoding=\"UTF-8\"?><rsd version=\"1.0\" xmlns=\"http://archipelago.phrasewise.com/rsd\"><service><engineName>WordPress</engineName></service></rsd>"}
		}
		return &answer{status: 405, kind: "text/plain;charset=UTF-8", body: "XML-RPC server accepts POST requests only."}
	case strings.HasPrefix(r.path, "/wp-json/"), r.query.Has("rest_route"):
		return &answer{kind: "application/json; charset=UTF-8", body: `{"name":"Notes","namespaces":["oembed/1.0","wp/v2"]}`, header: [][2]string{{"X-Robots-Tag", "noindex"}}}
	}
	rt, elsewhere := w.route(st, r)
	switch {
	case elsewhere != nil:
		return elsewhere
	case rt.view == "none":
		return w.missing(st, r)
	case rt.view == "comments", rt.feed:
		return w.feed(st, r, rt)
	case rt.view == "embed":
		p := &page{class: "embed"}
		p.meta("<meta name='robots' content='noindex, follow, max-image-preview:large' />\n<link rel=\"canonical\" href=\"%s%s\" />", r.base, w.path(st, rt.post))
		p.f("<p class=\"wp-embed-heading\"><a href=\"%s%s\" target=\"_top\">%s</a></p><p>%s</p>", r.base, w.path(st, rt.post), rt.post.title(st.now), rt.post.paragraphs(0)[0])
		return &answer{body: p.html("en-US", rt.post.title(st.now)+" &#8211; Notes")}
	case rt.view == "post":
		return w.post(st, r, rt)
	case rt.view == "page":
		p := w.begin(st, r, "page", "")
		p.meta("<link rel=\"canonical\" href=\"%s/sample-page/\" />", r.base)
		p.f("<article><h1 class=\"entry-title\">Sample Page</h1><p>This is an example page. It is different from a post because it stays in one place.</p></article>")
		return w.end(st, r, p, "Sample Page")
	}
	return w.archive(st, r, rt)
}

// begin writes what all pages begin with.
func (w *wordPress) begin(st *state, r *request, class, robots string) *page {
	p := &page{class: class + " wp-embed-responsive"}
	if robots == "" {
		robots = "max-image-preview:large"
	}
	p.meta("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n<meta name='robots' content='%s' />", robots)
	p.meta("<link rel=\"alternate\" type=\"application/rss+xml\" title=\"Notes &raquo; Feed\" href=\"%s%s\" />", r.base, w.list("home", "", 1, true))
	comments := "/comments/feed/"
	if w.plain {
		comments = "/?feed=comments-rss2"
	}
	p.meta("<link rel=\"alternate\" type=\"application/rss+xml\" title=\"Notes &raquo; Comments Feed\" href=\"%s%s\" />", r.base, comments)
	p.meta("<link rel='stylesheet' href='%s/wp-content/themes/twentytwentyone/style.css?ver=1.7' media='all' />", r.base)
	p.meta("<link rel=\"https://api.w.org/\" href=\"%s%s\" /><link rel=\"EditURI\" type=\"application/rsd+xml\" title=\"RSD\" href=\"%s/xmlrpc.php?rsd\" />", r.base, w.rest(""), r.base)
	p.meta("<meta name=\"generator\" content=\"WordPress 6.1.1\" />")
	p.f("<a class=\"skip-link screen-reader-text\" href=\"#content\">Skip to content</a>\n<header id=\"masthead\" class=\"site-header\"><h1 class=\"site-title\"><a href=\"%s/\">Notes</a></h1></header>\n<main id=\"main\" class=\"site-main\">", r.base)
	return p
}

// end writes the widgets of the foot: the latest posts and comments, months, categories, and what
// only people want.
func (w *wordPress) end(st *state, r *request, p *page, title string) *answer {
	p.f("</main>\n<aside class=\"widget-area\">\n<form role=\"search\" method=\"get\" action=\"%s/\"><input type=\"search\" name=\"s\"></form>\n<h2>Recent Posts</h2><ul class=\"wp-block-latest-posts__list\">", r.base)
	for _, it := range st.live[:min(5, len(st.live))] {
		p.f("<li><a class=\"wp-block-latest-posts__post-title\" href=\"%s%s\">%s</a></li>", r.base, w.path(st, it), it.title(st.now))
	}
	p.f("</ul>\n<h2>Recent Comments</h2><ol class=\"wp-block-latest-comments\">")
	for _, c := range w.latestComments(st, 5) {
		p.f("<li><a class=\"wp-block-latest-comments__comment-author\" href=\"http://%s.example/\">%s</a> on <a class=\"wp-block-latest-comments__comment-link\" href=\"%s%s#comment-%d\">%s</a></li>",
			c.author, c.author, r.base, w.path(st, c.post), c.id, c.post.title(st.now))
	}
	p.f("</ol>\n<h2>Archives</h2><ul class=\"wp-block-archives-list\">")
	last := ""
	for _, it := range st.live {
		if m := date(it.published, "2006/01"); m != last {
			last = m
			p.f("<li><a href='%s%s'>%s</a></li>", r.base, w.list("date", m, 1, false), date(it.published, "January 2006"))
		}
	}
	p.f("</ul>\n<h2>Categories</h2><ul class=\"wp-block-categories-list\">")
	for i := range wpCategories {
		if c := vocabulary[i]; len(w.posts(st, wpRoute{view: "category", name: c})) > 0 {
			p.f("<li class=\"cat-item\"><a href=\"%s%s\">%s</a></li>", r.base, w.list("category", c, 1, false), c)
		}
	}
	p.f("</ul>\n<h2>Meta</h2><ul><li><a href=\"%s/wp-login.php\">Log in</a></li><li><a href=\"%s%s\">Entries feed</a></li><li><a href=\"https://wordpress.org/\">WordPress.org</a></li></ul>\n</aside>", r.base, r.base, w.list("home", "", 1, true))
	sample := "/sample-page/"
	if w.plain {
		sample = "/?page_id=2"
	}
	p.f("<footer id=\"colophon\" class=\"site-footer\"><nav><a href=\"%s%s\">Sample Page</a></nav>Proudly powered by <a href=\"https://wordpress.org/\">WordPress</a>.</footer>", r.base, sample)
	return &answer{body: p.html("en-US", title+" &#8211; Notes"), header: [][2]string{{"Link", fmt.Sprintf("<%s%s>; rel=\"https://api.w.org/\"", r.base, w.rest(""))}}}
}

type wpLatest struct {
	wpComment
	post *item
}

// A wpLatestAt is all comments at a time, the newest first.
type wpLatestAt struct {
	now      int64
	comments []wpLatest
}

// latestComments returns the n newest comments. Each page shows some, so that those of the time asked for last are kept.
func (w *wordPress) latestComments(st *state, n int) []wpLatest {
	last := w.latest.Load()
	if last == nil || last.now != st.now {
		last = &wpLatestAt{now: st.now}
		for _, it := range st.live {
			for _, c := range wpComments(it, st.now) {
				last.comments = append(last.comments, wpLatest{c, it})
			}
		}
		slices.SortStableFunc(last.comments, func(a, b wpLatest) int { return int(b.time - a.time) })
		w.latest.Store(last)
	}
	return last.comments[:min(n, len(last.comments))]
}

// foot writes the dates, categories and tags of a post.
func (w *wordPress) foot(p *page, r *request, it *item, author bool) {
	p.f("<footer class=\"entry-footer\"><span class=\"posted-on\">Published <time class=\"entry-date published updated\" datetime=\"%s\">%s</time></span>",
		date(it.published, time.RFC3339), date(it.published, "January 2, 2006"))
	if author {
		p.f("<span class=\"byline\">By <a href=\"%s%s\" rel=\"author\">%s</a></span>", r.base, w.list("author", wpAuthor(it), 1, false), wpAuthor(it))
	}
	p.f("<span class=\"cat-links\">Categorized as <a href=\"%s%s\" rel=\"category tag\">%s</a></span>", r.base, w.list("category", wpCategory(it), 1, false), wpCategory(it))
	for _, t := range wpTagsOf(it) {
		p.f("<span class=\"tags-links\">Tagged <a href=\"%s%s\" rel=\"tag\">%s</a></span>", r.base, w.list("tag", t, 1, false), t)
	}
	p.f("</footer>")
}

func (w *wordPress) post(st *state, r *request, rt wpRoute) *answer {
	it, self := rt.post, r.base+w.path(st, rt.post)
	robots := ""
	if rt.reply != 0 {
		robots = "noindex, follow, max-image-preview:large"
	}
	p := w.begin(st, r, "post-template-default single single-post", robots)
	feed, oembed := r.base+w.below(st, it, "feed"), fmt.Sprintf("%s%s?url=%s", r.base, w.rest("oembed/1.0/embed"), url.QueryEscape(self))
	if w.plain {
		oembed = strings.Replace(oembed, "?url=", "&url=", 1)
	}
	short := fmt.Sprintf("%s/?p=%d", r.base, w.id(it))
	p.meta("<link rel=\"alternate\" type=\"application/rss+xml\" title=\"Notes &raquo; %s Comments Feed\" href=\"%s\" />", it.title(st.now), strings.ReplaceAll(feed, "&", "&#038;"))
	p.meta("<link rel=\"alternate\" type=\"application/json\" href=\"%s%s\" />", r.base, w.rest(fmt.Sprintf("wp/v2/posts/%d", w.id(it))))
	p.meta("<link rel=\"canonical\" href=\"%s\" />\n<link rel='shortlink' href='%s' />", self, short)
	p.meta("<link rel=\"alternate\" type=\"application/json+oembed\" href=\"%s\" />\n<link rel=\"alternate\" type=\"text/xml+oembed\" href=\"%s&#038;format=xml\" />", strings.ReplaceAll(oembed, "&", "&#038;"), strings.ReplaceAll(oembed, "&", "&#038;"))
	p.f("<article id=\"post-%d\" class=\"post type-post status-publish format-standard hentry category-%s\"><header class=\"entry-header\"><h1 class=\"entry-title\">%s</h1></header><div class=\"entry-content\">", w.id(it), wpCategory(it), it.title(st.now))
	p.text(it, (it.revision(st.now)+1)/2)
	p.f("</div>")
	w.foot(p, r, it, true)
	p.f("</article>\n<nav class=\"navigation post-navigation\" aria-label=\"Posts\"><div class=\"nav-links\">")
	at := slices.Index(st.live, it)
	if at+1 < len(st.live) {
		p.f("<div class=\"nav-previous\"><a href=\"%s%s\" rel=\"prev\">%s</a></div>", r.base, w.path(st, st.live[at+1]), st.live[at+1].title(st.now))
	}
	if at > 0 {
		p.f("<div class=\"nav-next\"><a href=\"%s%s\" rel=\"next\">%s</a></div>", r.base, w.path(st, st.live[at-1]), st.live[at-1].title(st.now))
	}
	p.f("</div></nav>\n<div id=\"comments\" class=\"comments-area\"><ol class=\"comment-list\">")
	to := ""
	for _, c := range wpComments(it, st.now) {
		if c.id == rt.reply {
			to = " to " + c.author
		}
		p.f("<li id=\"comment-%d\" class=\"comment depth-1\"><b class=\"fn\"><a href=\"http://%s.example/\" rel=\"external nofollow ugc\" class=\"url\">%s</a></b> <a href=\"%s#comment-%d\"><time datetime=\"%s\">%s</time></a><p>%s</p>",
			c.id, c.author, c.author, self, c.id, date(c.time, time.RFC3339), date(c.time, "January 2, 2006 at 3:04 pm"), c.text)
		p.f("<div class=\"reply\"><a rel='nofollow' class='comment-reply-link' href='%s%s#respond' data-commentid=\"%d\" aria-label='Reply to %s'>Reply</a></div></li>",
			r.base, strings.ReplaceAll(w.reply(st, it, c.id), "&", "&#038;"), c.id, c.author)
	}
	back := w.path(st, it)
	p.f("</ol><div id=\"respond\" class=\"comment-respond\"><h2 class=\"comment-reply-title\">Leave a comment%s <small><a rel=\"nofollow\" id=\"cancel-comment-reply-link\" href=\"%s#respond\">Cancel reply</a></small></h2>", to, back)
	p.f("<form action=\"%s/wp-comments-post.php\" method=\"post\"><textarea name=\"comment\"></textarea><input type='hidden' name='comment_post_ID' value='%d' /><input type='hidden' name='comment_parent' value='%d' /></form></div></div>", r.base, w.id(it), rt.reply)
	a := w.end(st, r, p, it.title(st.now))
	a.header = append(a.header, [2]string{"Link", fmt.Sprintf("<%s>; rel=shortlink", short)}, [2]string{"X-Pingback", r.base + "/xmlrpc.php"})
	a.item = it
	return a
}

func (w *wordPress) archive(st *state, r *request, rt wpRoute) *answer {
	all := w.posts(st, rt)
	robots, title := "", "Notes"
	switch rt.view {
	case "search":
		robots, title = "noindex, follow, max-image-preview:large", "Search Results"
		all = all[:min(3, len(all))]
	case "home":
	default:
		title = rt.name
	}
	some, pages := slice(all, rt.page, wpPosts)
	if len(some) == 0 {
		return w.missing(st, r)
	}
	p := w.begin(st, r, rt.view+" archive hfeed", robots)
	if rt.view == "category" || rt.view == "tag" || rt.view == "author" {
		p.meta("<link rel=\"alternate\" type=\"application/rss+xml\" title=\"Notes &raquo; %s Feed\" href=\"%s%s\" />", rt.name, r.base, strings.ReplaceAll(w.list(rt.view, rt.name, 1, true), "&", "&#038;"))
	}
	if rt.view != "home" {
		p.f("<header class=\"page-header\"><h1 class=\"page-title\">%s</h1></header>", title)
	}
	for _, it := range some {
		u := r.base + w.path(st, it)
		p.f("<article id=\"post-%d\" class=\"post hentry\"><header class=\"entry-header\"><h2 class=\"entry-title\"><a href=\"%s\">%s</a></h2></header><div class=\"entry-content\"><p>%s&hellip; <a class=\"more-link\" href=\"%s\">Continue reading <span class=\"screen-reader-text\">%s</span></a></p></div>",
			w.id(it), u, it.title(st.now), it.paragraphs((it.revision(st.now) + 1) / 2)[0], u, it.title(st.now))
		w.foot(p, r, it, false)
		p.f("</article>")
	}
	if pages > 1 {
		p.f("<nav class=\"navigation pagination\" aria-label=\"Posts\"><div class=\"nav-links\">")
		for _, n := range around(rt.page, pages) {
			if n == rt.page {
				p.f("<span aria-current=\"page\" class=\"page-numbers current\">%d</span>", n)
			} else {
				p.f("<a class=\"page-numbers\" href=\"%s%s\">%d</a>", r.base, strings.ReplaceAll(w.list(rt.view, rt.name, n, false), "&", "&#038;"), n)
			}
		}
		p.f("</div></nav>")
	}
	return w.end(st, r, p, title)
}

// around are the numbers that pagination links to: the ends, and the pages beside the current one.
func around(at, pages int) []int {
	var out []int
	for n := 1; n <= pages; n++ {
		if n == 1 || n == pages || n >= at-1 && n <= at+1 {
			out = append(out, n)
		}
	}
	return out
}

func (w *wordPress) missing(st *state, r *request) *answer {
	p := w.begin(st, r, "error404", "")
	p.f("<header class=\"page-header\"><h1 class=\"page-title\">Nothing here</h1></header><div class=\"error-404 not-found\"><p>It looks like nothing was found at this location. Maybe try a search?</p></div>")
	a := w.end(st, r, p, "Page not found")
	a.status = 404
	return a
}

func (w *wordPress) feed(st *state, r *request, rt wpRoute) *answer {
	var entries []entry
	switch {
	case rt.view == "comments":
		for _, c := range w.latestComments(st, 10) {
			entries = append(entries, entry{"Comment on " + c.post.title(st.now) + " by " + c.author, fmt.Sprintf("%s#comment-%d", w.path(st, c.post), c.id), c.text, c.time})
		}
	case rt.post != nil:
		for _, c := range wpComments(rt.post, st.now) {
			entries = append(entries, entry{"By: " + c.author, fmt.Sprintf("%s#comment-%d", w.path(st, rt.post), c.id), c.text, c.time})
		}
	default:
		some, _ := slice(w.posts(st, rt), rt.page, wpPosts)
		if len(some) == 0 {
			return w.missing(st, r)
		}
		for _, it := range some {
			entries = append(entries, entry{it.title(st.now), w.path(st, it), it.paragraphs(0)[0], it.published})
		}
	}
	return rss(r.base, "Notes", "/", entries)
}

func (w *wordPress) sitemaps(st *state, r *request) *answer {
	is := func(name string) bool {
		u, _ := url.Parse(w.sitemap(name))
		if !w.plain {
			return r.path == u.Path
		}
		q := u.Query()
		return r.query.Get("sitemap") == q.Get("sitemap") && r.query.Get("sitemap-subtype") == q.Get("sitemap-subtype")
	}
	names := []string{"posts-post", "posts-page", "taxonomies-category", "taxonomies-post_tag", "users"}
	if is("index") {
		var b strings.Builder
		b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">")
		for _, n := range names {
			fmt.Fprintf(&b, "<sitemap><loc>%s%s</loc></sitemap>", r.base, strings.ReplaceAll(w.sitemap(n), "&", "&amp;"))
		}
		b.WriteString("</sitemapindex>\n")
		return &answer{kind: "application/xml; charset=UTF-8", body: b.String()}
	}
	var paths []string
	lists := func(view string, of func(*item) []string) {
		seen := map[string]bool{}
		for _, it := range st.live {
			for _, n := range of(it) {
				if !seen[n] {
					seen[n] = true
					paths = append(paths, w.list(view, n, 1, false))
				}
			}
		}
		slices.Sort(paths)
	}
	switch {
	case is("posts-post"):
		for i := range st.live {
			paths = append(paths, w.path(st, st.live[len(st.live)-1-i]))
		}
	case is("posts-page"):
		paths = []string{"/", "/sample-page/"}
		if w.plain {
			paths[1] = "/?page_id=2"
		}
	case is("taxonomies-category"):
		lists("category", func(it *item) []string { return []string{wpCategory(it)} })
	case is("taxonomies-post_tag"):
		lists("tag", wpTagsOf)
	case is("users"):
		lists("author", func(it *item) []string { return []string{wpAuthor(it)} })
	default:
		return w.missing(st, r)
	}
	return urlset(r.base, paths, nil)
}
