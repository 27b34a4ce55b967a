package software

import (
	"slices"
	"strings"
)

// catchAll answers as a web server does that gives the home page for whatever it does not have
// (try_files $uri /index.html), in front of an application that was rendered beforehand: all paths
// answer 200, /robots.txt and /sitemap.xml too. Known paths have pages of their own. A page that was
// deleted or renamed is the home page from then on.
type catchAll struct{}

func newCatchAll(*Site) server { return catchAll{} }

// catchFlat is up to how many pages are linked from the home page; if there are more, sections are.
const catchFlat = 6

func catchSection(it *item) string { return vocabulary[20+it.chance(2).IntN(4)] }

func (catchAll) path(st *state, it *item) string {
	if len(st.items) <= catchFlat {
		return "/" + it.slug(st.now, "-")
	}
	return "/" + catchSection(it) + "/" + it.slug(st.now, "-")
}

func (c catchAll) answer(st *state, r *request) *answer {
	if strings.HasPrefix(r.path, "/assets/") {
		return &answer{kind: "text/javascript", body: "export default {}\n", modified: Start.Unix()}
	}
	for _, it := range st.live {
		if c.path(st, it) == strings.TrimSuffix(r.path, "/") {
			p := c.begin(st)
			p.f("<article><h1>%s</h1>", it.title(st.now))
			p.text(it, it.revision(st.now))
			p.f("</article>")
			return c.end(p, it.title(st.now), it)
		}
	}
	p := c.begin(st)
	if len(st.items) > catchFlat {
		for i := range 4 {
			s := vocabulary[20+i]
			if strings.TrimSuffix(r.path, "/") == "/"+s {
				p.f("<h1>%s</h1><ul>", s)
				for _, it := range st.live {
					if catchSection(it) == s {
						p.f("<li><a href=\"%s\">%s</a></li>", c.path(st, it), it.title(st.now))
					}
				}
				p.f("</ul>")
				return c.end(p, s, nil)
			}
		}
	}
	p.f("<h1>Welcome</h1><p>%s</p><h2>Latest</h2><ul>", st.items[0].paragraphs(0)[0])
	for _, it := range st.live[:min(catchFlat, len(st.live))] {
		p.f("<li><a href=\"%s\">%s</a></li>", c.path(st, it), it.title(st.now))
	}
	p.f("</ul>")
	a := c.end(p, "Home", nil)
	a.vain = r.path != "/"
	return a
}

func (c catchAll) begin(st *state) *page {
	p := &page{}
	p.meta("<script type=\"module\" crossorigin src=\"/assets/index-4f2a81c0.js\"></script>\n<link rel=\"stylesheet\" href=\"/assets/index-91c2.css\">")
	p.f("<div id=\"app\"><header><a href=\"/\">Home</a>")
	if len(st.items) > catchFlat {
		for i := range 4 {
			if s := vocabulary[20+i]; slices.ContainsFunc(st.live, func(it *item) bool { return catchSection(it) == s }) {
				p.f("<a href=\"/%s\">%s</a>", s, s)
			}
		}
	}
	p.f("</header><main>")
	return p
}

func (c catchAll) end(p *page, title string, it *item) *answer {
	p.f("</main></div>")
	return &answer{body: p.html("en", title+" - App"), item: it}
}

// shell answers as a single-page application that was not rendered: the same document for every
// path, without a link.
type shell struct{}

func newShell(*Site) server { return shell{} }

func (shell) path(*state, *item) string { panic("software: a shell has no content pages") }

func (shell) answer(st *state, r *request) *answer {
	if strings.HasPrefix(r.path, "/static/") {
		return &answer{kind: "text/javascript", body: "\"use strict\";\n"}
	}
	p := &page{}
	p.meta("<link rel=\"icon\" href=\"/favicon.ico\"/>\n<link rel=\"manifest\" href=\"/manifest.json\"/>\n<script defer=\"defer\" src=\"/static/js/main.8d1f6a20.js\"></script>")
	p.f("<noscript>You need to enable JavaScript to run this app.</noscript>\n<div id=\"root\"></div>")
	return &answer{body: p.html("en", "App"), modified: Start.Unix() - 3600}
}
