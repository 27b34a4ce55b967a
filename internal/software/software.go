// Package software holds sites as common server software serves them: the same URLs, links,
// canonicals, robots rules and status codes, without the software. Crawlers are tested on them,
// since most of the web is made by a few programs, each of which answers under many more URLs
// than it has pages.
//
// Kinds lists the programs. New makes a Site of one of them: an http.Handler whose content
// changes from week to week after Start and stands where At has put it. Content and Changes tell
// the truth about it: which content pages there are, and which were published, deleted, renamed
// or edited when. Ask tells what a URL answers at any time and which content page that shows.
//
// The same Config gives the same site. A Site is safe for concurrent use.
package software

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A Kind is a program that serves sites.
type Kind struct {
	Name  string
	About string
	Full  Config // what New takes where a Config gives nothing
	make  func(s *Site) server
}

// A server answers as one program does.
type server interface {
	// answer returns what a URL answers. It depends on its arguments and the site's items alone.
	answer(st *state, r *request) *answer
	// path is the canonical address of a live item, beginning with "/".
	path(st *state, it *item) string
}

// A request is a URL that was asked for.
type request struct {
	path   string // decoded
	query  url.Values
	raw    string // the query as sent
	base   string // "http://host"
	cookie string // the value of the visitor's session cookie, "" without one
	serial uint64 // differs from request to request
}

// An answer is what a URL answers.
type answer struct {
	status   int // 0: 200
	location string
	kind     string // media type; "": HTML
	body     string
	header   [][2]string
	modified int64 // Last-Modified, by which conditional requests get 304; 0: none
	item     *item // of which it is the content page, or a copy of it; nil: of none
	vain     bool  // nothing is there, whatever the status says: a soft 404, a form for what does not exist, a page beyond the end of a list
}

// Kinds are the programs, in the order of tables.
var Kinds = []Kind{
	{"wordpress", "WordPress, theme Twenty Twenty-One, permalinks by day and name, comments", Config{Pages: 200, Weeks: 4, Published: 4, Deleted: 1, Renamed: 1, Edited: 4}, newWordPress},
	{"wordpress-plain", "the same with the permalinks of a new installation, /?p=N", Config{Pages: 200, Weeks: 4, Published: 4, Deleted: 1, Renamed: 1, Edited: 4}, newWordPressPlain},
	{"mediawiki", "MediaWiki 1.39 as Debian installs it, open to all", Config{Pages: 150, Weeks: 4, Published: 4, Deleted: 1, Renamed: 1, Edited: 10}, newMediaWiki},
	{"shop", "a shop: facets, several paths to a product, session numbers in URLs, part of it in a sitemap", Config{Pages: 180, Weeks: 4, Published: 6, Deleted: 2, Renamed: 2, Edited: 6}, newShop},
	{"shop-visit", "the same with a parameter that nobody knows for a session, no sitemap, and lists that name their category canonical", Config{Pages: 180, Weeks: 4, Published: 6, Deleted: 2, Renamed: 2, Edited: 6}, newShopVisit},
	{"dokuwiki", "DokuWiki without rewriting: query strings of one script", Config{Pages: 120, Weeks: 4, Published: 4, Deleted: 1, Renamed: 1, Edited: 8}, newDokuWiki},
	{"trac", "an issue tracker of Trac's kind: queries by any column, attachments, a timeline without end", Config{Pages: 150, Weeks: 4, Published: 6, Deleted: 1, Renamed: -1, Edited: 12}, newTrac},
	{"mantis", "an issue tracker of Mantis' kind: scripts, settings made by links, soft 404s", Config{Pages: 150, Weeks: 4, Published: 6, Deleted: 2, Renamed: -1, Edited: 12}, newMantis},
	{"cgit", "cgit in front of one repository", Config{Pages: 100, Weeks: 4, Published: 4, Deleted: 1, Renamed: 1, Edited: 6}, newCgit},
	{"gitweb", "Gitweb in front of one repository", Config{Pages: 60, Weeks: 4, Published: 4, Deleted: 1, Renamed: 1, Edited: 6}, newGitweb},
	{"catch-all", "an application rendered beforehand; unknown paths answer with the home page", Config{Pages: 40, Weeks: 4, Published: 3, Deleted: 1, Renamed: 1, Edited: 2}, newCatchAll},
	{"catch-all-small", "the same with four pages", Config{Pages: 4, Weeks: 2, Published: 1, Deleted: -1, Renamed: -1, Edited: 1}, newCatchAll},
	{"shell", "a single-page application: every path answers with the same document, without a link", Config{Pages: -1, Weeks: 1, Published: -1, Deleted: -1, Renamed: -1, Edited: -1}, newShell},
	{"docs", "documentation made by MkDocs; no traps", Config{Pages: 120, Weeks: 4, Published: 3, Deleted: 1, Renamed: 1, Edited: 6}, newDocs},
	{"blog", "a blog made by Hugo; no traps", Config{Pages: 150, Weeks: 4, Published: 4, Deleted: 1, Renamed: 1, Edited: 4}, newBlog},
}

// A Site is a site at a time of its history.
type Site struct {
	Kind   *Kind
	config Config
	items  []*item
	server server
	at     atomic.Pointer[state]
	serial atomic.Uint64
}

// New makes a site that stands at Start. It returns an error for an unknown kind.
func New(kind string, c Config) (*Site, error) {
	i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == kind })
	if i < 0 {
		var names []string
		for _, k := range Kinds {
			names = append(names, k.Name)
		}
		return nil, fmt.Errorf("unknown kind of site %q; known: %s", kind, strings.Join(names, " "))
	}
	k := &Kinds[i]
	full := k.Full
	// What a kind has none of, no Config gives it.
	or := func(n, full int) int {
		if full < 0 {
			return full
		}
		return cmp.Or(n, full)
	}
	c = Config{or(c.Pages, full.Pages), or(c.Weeks, full.Weeks), or(c.Published, full.Published), or(c.Deleted, full.Deleted), or(c.Renamed, full.Renamed), or(c.Edited, full.Edited), cmp.Or(c.Seed, 1)}
	s := &Site{Kind: k, config: c, items: newHistory(c)}
	s.server = k.make(s)
	s.At(Start)
	return s, nil
}

// Weeks is how many weeks after Start the site changes.
func (s *Site) Weeks() int { return s.config.Weeks }

// At moves the site to a time.
func (s *Site) At(t time.Time) { s.at.Store(newState(s.items, t.Unix())) }

// Content returns the canonical addresses of the content pages there are at a time, each with
// its path and query.
func (s *Site) Content(t time.Time) []string {
	st := newState(s.items, t.Unix())
	var out []string
	for _, it := range st.live {
		out = append(out, s.server.path(st, it))
	}
	return out
}

// What happens to a content page.
type What uint8

// The kinds of changes.
const (
	Published What = iota
	Deleted
	Renamed
	Edited
)

func (w What) String() string { return [...]string{"published", "deleted", "renamed", "edited"}[w] }

// A Change is something that happened to a content page.
type Change struct {
	What What
	Time time.Time
	Page int    // its number, as Ask tells it
	From string // address before; "" if Published
	To   string // address after; "" if Deleted
}

// Changes returns what happens after one time and up to another, ascending.
func (s *Site) Changes(after, until time.Time) []Change {
	var out []Change
	for _, it := range s.items {
		add := func(w What, at int64) {
			if at <= after.Unix() || at > until.Unix() {
				return
			}
			c := Change{What: w, Time: time.Unix(at, 0).UTC(), Page: it.n}
			if w != Published {
				c.From = s.server.path(newState(s.items, at-1), it)
			}
			if w != Deleted {
				c.To = s.server.path(newState(s.items, at), it)
			}
			if w != Renamed || c.From != c.To { // the software may not tell a name in the address
				out = append(out, c)
			}
		}
		add(Published, it.published)
		if it.deleted != 0 {
			add(Deleted, it.deleted)
		}
		for _, n := range it.names[1:] {
			add(Renamed, n.since)
		}
		for _, at := range it.edits {
			add(Edited, at)
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int { return a.Time.Compare(b.Time) })
	return out
}

// A Look is what a URL answers, as far as the truth about the site goes.
type Look struct {
	Status int
	HTML   bool // of status 200, and something is there: no soft 404, nor what is about a page that is not there
	Page   int  // number of the content page that it shows, at its own address or as a copy; 0: none
}

// Ask tells what an address answers at a time: a path with its query, or a URL of the site.
func (s *Site) Ask(t time.Time, address string) (Look, error) {
	u, err := url.Parse(address)
	if err != nil {
		return Look{}, err
	}
	a := s.server.answer(newState(s.items, t.Unix()), newRequest(u, "http://site.test", "", 0))
	l := Look{Status: cmp.Or(a.status, http.StatusOK)}
	if l.Status == http.StatusOK {
		l.HTML = a.kind == "" && !a.vain
		if a.item != nil {
			l.Page = a.item.n
		}
	}
	return l, nil
}

func newRequest(u *url.URL, base, cookie string, serial uint64) *request {
	// Semicolons separate too, as PHP and Perl can have it; url.ParseQuery refuses them.
	q, _ := url.ParseQuery(strings.ReplaceAll(u.RawQuery, ";", "&"))
	return &request{u.Path, q, u.RawQuery, base, cookie, serial}
}

// sessionCookie is the cookie of the programs that know their visitors.
const sessionCookie = "session"

func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	cookie := ""
	if c, err := r.Cookie(sessionCookie); err == nil {
		cookie = c.Value
	}
	a := s.server.answer(s.at.Load(), newRequest(r.URL, "http://"+r.Host, cookie, s.serial.Add(1)))
	h := w.Header()
	for _, f := range a.header {
		h.Add(f[0], f[1])
	}
	if a.modified != 0 {
		m := time.Unix(a.modified, 0).UTC()
		h.Set("Last-Modified", m.Format(http.TimeFormat))
		if since, err := http.ParseTime(r.Header.Get("If-Modified-Since")); err == nil && !m.After(since) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if a.location != "" {
		h.Set("Location", a.location)
	}
	h.Set("Content-Type", cmp.Or(a.kind, "text/html; charset=UTF-8"))
	w.WriteHeader(cmp.Or(a.status, http.StatusOK))
	if r.Method == http.MethodGet {
		w.Write([]byte(a.body))
	}
}

// int returns a parameter of the query as a number from 0 to ten billion, or other where it is none.
func (r *request) int(name string, other int) int {
	n, err := strconv.Atoi(r.query.Get(name))
	if err != nil || n < 0 || n > 1e10 {
		return other
	}
	return n
}

// redirect is an answer that leads to a path of the site.
func (r *request) redirect(status int, path string) *answer {
	return &answer{status: status, location: r.base + path}
}

// robots is a robots.txt.
func robots(text string) *answer { return &answer{kind: "text/plain; charset=utf-8", body: text} }

// A page writes HTML.
type page struct {
	head, body strings.Builder
	class      string // of the body
}

func (p *page) meta(format string, a ...any) { fmt.Fprintf(&p.head, format+"\n", a...) }
func (p *page) f(format string, a ...any)    { fmt.Fprintf(&p.body, format+"\n", a...) }

// text writes the paragraphs of an item at a time.
func (p *page) text(it *item, revision int) {
	for _, t := range it.paragraphs(revision) {
		p.f("<p>%s</p>", t)
	}
}

func (p *page) html(lang, title string) string {
	return fmt.Sprintf("<!DOCTYPE html>\n<html lang=\"%s\">\n<head>\n<meta charset=\"UTF-8\">\n<title>%s</title>\n%s</head>\n<body class=\"%s\">\n%s</body>\n</html>\n",
		lang, title, p.head.String(), p.class, p.body.String())
}

// date formats a time.
func date(t int64, layout string) string { return time.Unix(t, 0).UTC().Format(layout) }

// slice returns page n (from 1) of a list cut into pages of size each, and how many there are.
func slice[T any](all []T, n, size int) (some []T, pages int) {
	pages = max(1, (len(all)+size-1)/size)
	lo := min(len(all), (min(max(1, n), pages+1)-1)*size)
	return all[lo:min(len(all), lo+size)], pages
}

// urlset is a sitemap of paths, with dates where there are any.
func urlset(base string, paths []string, modified func(i int) int64) *answer {
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n")
	for i, p := range paths {
		fmt.Fprintf(&b, "<url><loc>%s%s</loc>", base, strings.ReplaceAll(p, "&", "&amp;"))
		if modified != nil {
			fmt.Fprintf(&b, "<lastmod>%s</lastmod>", date(modified(i), time.RFC3339))
		}
		b.WriteString("</url>\n")
	}
	b.WriteString("</urlset>\n")
	return &answer{kind: "application/xml; charset=UTF-8", body: b.String()}
}

// An entry is one of a feed.
type entry struct {
	title, link, text string
	time              int64
}

// rss is a feed of paths.
func rss(base, title, link string, entries []entry) *answer {
	var b strings.Builder
	fmt.Fprintf(&b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rss version=\"2.0\">\n<channel>\n<title>%s</title>\n<link>%s%s</link>\n", title, base, link)
	var latest int64
	for _, e := range entries {
		u := base + strings.ReplaceAll(e.link, "&", "&amp;")
		fmt.Fprintf(&b, "<item><title>%s</title><link>%s</link><pubDate>%s</pubDate><guid isPermaLink=\"false\">%s</guid><description>%s</description></item>\n",
			e.title, u, date(e.time, time.RFC1123Z), u, e.text)
		latest = max(latest, e.time)
	}
	b.WriteString("</channel>\n</rss>\n")
	return &answer{kind: "application/rss+xml; charset=UTF-8", body: b.String(), modified: latest}
}
