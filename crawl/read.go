package crawl

import (
	"bytes"
	"strings"

	"github.com/cespare/xxhash/v2"

	"forage/fetch"
	"forage/fetch/link"
	"forage/fetch/sitemap"
	"forage/store"
)

// A content is what the crawl wants to know of a body.
type content struct {
	kind      store.Kind
	digest    uint64 // of the body
	shape     uint64 // of the body without the last segment of its URL
	bytes     int64
	cut       bool // not all of its links were taken
	title     string
	canonical string
	published store.Time
	scripts   bool // scripts, but next to no links
	routes    int  // links to #! and #/ routes, which are no URLs
	links     []foundLink
}

// A foundLink is a link as it stands in a document.
type foundLink struct {
	url                string // normalised
	given              string // as it stood there, where that differs
	kind               store.LinkKind
	nofollow           bool
	main               bool   // to a list that the site itself points to
	place              uint32 // see store.Link
	lastMod, published store.Time
}

func hash(b []byte) uint64 { return xxhash.Sum64(b) }

// normalise returns the identity of a URL without the parameters that do not count.
func normalise(url string, ignore []string) (string, error) {
	id, err := link.Parse(url)
	if err != nil || len(ignore) == 0 {
		return id, err
	}
	return link.DropParams(id, ignore), nil
}

// linkKinds translates what package link calls the ways of a link.
var linkKinds = [...]store.LinkKind{
	link.Anchor:    store.ViaAnchor,
	link.Frame:     store.ViaFrame,
	link.Rel:       store.ViaRel,
	link.Canonical: store.ViaCanonical,
	link.Alternate: store.ViaAlternate,
	link.Feed:      store.ViaFeedLink,
	link.Sitemap:   store.ViaFeedLink,
	link.Refresh:   store.ViaRefresh,
}

// read makes out what kind of document a body is, and reads it.
func (r *reader) read(j *job) *content {
	o := j.out
	c := &content{kind: store.Other, digest: hash(o.Body), bytes: int64(len(o.Body))}
	if j.soft || j.work == fetchProbe {
		c.shape = shape(o.Body, j.url)
	}
	if o.Kind == fetch.HTML && !looksLikeList(o.Body) {
		r.page(j, c)
		return c
	}
	doc, err := sitemap.Parse(o.Body, j.url, o.ContentType)
	switch {
	case err == nil && doc.Kind != sitemap.None:
		list(j, c, doc)
	case o.Kind == fetch.HTML || o.Kind == fetch.XML && bytes.Contains(o.Body[:min(len(o.Body), 1024)], []byte("http://www.w3.org/1999/xhtml")):
		r.page(j, c)
	}
	return c
}

// looksLikeList reports whether a body that is labelled HTML has the root element of a feed or
// sitemap.
func looksLikeList(b []byte) bool {
	b = bytes.TrimLeft(b, "\ufeff \t\r\n")
	if !bytes.HasPrefix(b, []byte("<?xml")) && !bytes.HasPrefix(b, []byte("<rss")) && !bytes.HasPrefix(b, []byte("<feed")) && !bytes.HasPrefix(b, []byte("<urlset")) {
		return false
	}
	return !bytes.Contains(bytes.ToLower(b[:min(len(b), 1024)]), []byte("<html"))
}

// shape is a digest that does not change with the URL that a page repeats.
func shape(body []byte, url string) uint64 {
	path, _, _ := strings.Cut(pathOf(url), "?")
	path = strings.TrimSuffix(path, "/")
	for _, part := range []string{path, path[strings.LastIndexByte(path, '/')+1:]} {
		if len(part) >= 3 {
			body = bytes.ReplaceAll(body, []byte(part), nil)
		}
	}
	return hash(body)
}

// page reads HTML.
func (r *reader) page(j *job, c *content) {
	o := j.out
	p := r.extractor.Extract(o.Body, link.Options{
		URL: j.url, ContentType: o.ContentType, Links: o.Header.Values("Link"), Robots: o.Header.Values("X-Robots-Tag"),
		Agent: fetch.AgentToken, IgnoreParams: j.ignore,
	})
	c.kind = store.Page
	c.title, c.canonical = p.Title, strings.Clone(p.Canonical)
	if !p.Published.IsZero() {
		c.published = p.Published.Unix()
	}
	c.scripts, c.routes, c.cut = p.NeedsScript(), p.Routes, p.Truncated
	c.links = make([]foundLink, len(p.Links))
	for i := range p.Links {
		l := &p.Links[i]
		c.links[i] = foundLink{url: l.URL, given: l.Given, kind: linkKinds[l.Kind], nofollow: l.NoFollow, place: l.Place, main: l.Kind == link.Sitemap}
	}
}

// list takes over the entries of a feed or sitemap.
func list(j *job, c *content, doc *sitemap.Document) {
	kind := store.ViaSitemap
	c.kind = store.Sitemap
	if doc.Kind == sitemap.Feed {
		c.kind, kind = store.Feed, store.ViaFeed
	}
	c.cut = doc.Cut
	c.links = make([]foundLink, len(doc.Entries))
	for i := range doc.Entries {
		e := &doc.Entries[i]
		c.links[i] = foundLink{url: link.DropParams(e.URL, j.ignore), kind: kind, main: e.Sitemap, lastMod: e.Modified, published: e.Published}
	}
}
