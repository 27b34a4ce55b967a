// Package document turns the body of an answer into what a crawl wants to know of it: what
// kind of document it is, where it leads, and digests by which it is recognised.
//
// Reader.Read does it, and Reader.List for what is no page as it comes, without network, store or clock. What becomes of the links is for
// package crawl to decide.
package document

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"forage/crawl/scope"
	"forage/fetch"
	"forage/fetch/link"
	"forage/fetch/sitemap"
	"forage/fetch/use"
	"forage/store"
)

// A Content is what the crawl wants to know of a body. It holds no part of the body itself,
// but for the strings of Links, which share memory: clone what is kept for long.
type Content struct {
	Kind      store.Kind // Page, Feed, Sitemap or Other
	Digest    uint64     // of the body
	Shapes    []uint64   // of the body as it is but for tokens, without its path, without the last segment of that; only with Options.Shapes
	Bytes     int64      // of the body
	Cut       bool       // not all of its links were taken, or not all of its text was read
	Title     string
	Canonical string     // normalised URL that it names as its own; "" for none
	Published store.Time // 0: not told
	Stub      bool       // a page that leads away by meta refresh
	Scripts   bool       // scripts, but next to no links
	Routes    int        // links to #! and #/ routes, which are no URLs
	Links     []Link     // in the order of the document, repeated ones included
	NoIndex   bool       // robots rules in it forbid to list it
	Use       use.Use    // what header and body say of it
	Layout    link.Layout
	Simhash   uint64 // of a page, see link.Page.Simhash; only with Options.Simhash

	Texts     bool     // the rest is worked out: Options.Texts
	Blocks    []uint64 // of text, see link.Page.Blocks
	TextShape uint64   // the same

	Says uint64 // see link.Page.Says; only with Options.Says

	Requisites []link.Requisite // what a page or style sheet needs to look right; of a page only with Options.Requisites
}

// Size is how many bytes the content takes, about; c may be nil. O(links).
func (c *Content) Size() int64 {
	if c == nil {
		return 0
	}
	n := len(c.Links)*int(unsafe.Sizeof(Link{})) + len(c.Blocks)*8 + len(c.Requisites)*int(unsafe.Sizeof(link.Requisite{}))
	for i := range c.Requisites {
		n += len(c.Requisites[i].URL)
	}
	for i := range c.Links {
		n += len(c.Links[i].URL) + len(c.Links[i].Given)
	}
	return int64(n)
}

// A Link is a link as it stands in a document.
type Link struct {
	URL                string // normalised
	Given              string // as it stood there, where that differs
	Kind               store.LinkKind
	NoFollow           bool
	Action             bool       // it does something when it is followed; only with Options.Actions
	Main               bool       // to a list that the site itself points to
	Place              uint32     // see store.Link
	LastMod, Published store.Time // what a feed or sitemap says of the target; 0: nothing
}

// Options say how a body is read.
type Options struct {
	URL          string   // of the document, normalised
	IgnoreParams []string // query parameters that do not tell pages apart
	Actions      bool     // work out Link.Action
	Shapes       bool     // work out Content.Shapes
	Texts        bool     // work out Content.Blocks
	Simhash      bool     // work out Content.Simhash
	Requisites   bool     // tell what a page needs
	Says         []string // addresses whose words do not count in Content.Says; none: it is not worked out

	Room func(bytes int64) bool // as link.Options.Room; nil: there is room for all
}

// A Reader reads bodies, one after another, in the same memory. The zero value is ready.
type Reader struct{ extractor link.Extractor }

// Hash is the digest of a body.
func Hash(b []byte) uint64 { return xxhash.Sum64(b) }

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

// Read makes out what kind of document the body of o is, and reads it. It never fails: what
// is neither a page nor a list is Other. O(bytes).
func (r *Reader) Read(o *fetch.Outcome, opt Options) *Content {
	c := &Content{Kind: store.Other, Digest: Hash(o.Body), Bytes: int64(len(o.Body))}
	c.Use.Header = o.Said()
	if opt.Shapes {
		c.Shapes = shapes(o.Body, opt.URL)
	}
	if o.Kind == fetch.HTML && !looksLikeList(o.Body) {
		r.page(o, &opt, c)
		return c
	}
	doc, err := sitemap.Read(bytes.NewReader(o.Body), sitemap.Options{URL: opt.URL, ContentType: o.ContentType, Room: opt.Room})
	switch {
	case err == nil && doc.Kind != sitemap.None:
		list(doc, &opt, c)
	case o.Kind.IsPage(o.Body):
		r.page(o, &opt, c)
	}
	return c
}

// Streams reports whether the body of o, which begins with head, can be read as it comes, by Reader.List:
// it is no page. list tells whether it is a list for certain. url is the document's.
func Streams(o *fetch.Outcome, head []byte, url string) (ok, list bool) {
	if o.Kind == fetch.HTML && !looksLikeList(head) {
		return false, false
	}
	doc, err := sitemap.Parse(head, url, o.ContentType)
	list = err == nil && doc.Kind != sitemap.None
	return list || !o.Kind.IsPage(head), list
}

// List reads the body of o, for which Streams is true, from r. It says the same of it as Read. O(bytes)
// time; memory for the entries of the list.
func (r *Reader) List(o *fetch.Outcome, body io.Reader, opt Options) *Content {
	h := xxhash.New()
	in := &tally{r: io.TeeReader(body, h)}
	c := &Content{Kind: store.Other}
	c.Use.Header = o.Said()
	if doc, err := sitemap.Read(in, sitemap.Options{URL: opt.URL, ContentType: o.ContentType, Room: opt.Room}); err == nil && doc.Kind != sitemap.None {
		list(doc, &opt, c)
	}
	io.Copy(io.Discard, in) // an error is the fetch's to tell
	c.Digest, c.Bytes = h.Sum64(), in.n
	return c
}

// A tally counts the bytes that are read.
type tally struct {
	r io.Reader
	n int64
}

func (t *tally) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.n += int64(n)
	return n, err
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

// shapes are digests by which bodies are recognised that differ in what they repeat of their URL,
// and in tokens made anew for each answer. Of a body for a path that is in no other, the last one
// tells what all paths share. Of others it may lack too much, where a segment is a word of the
// page: so a body is like that one if any of its shapes is.
func shapes(body []byte, url string) []uint64 {
	all := []uint64{Hash(withoutTokens(body))}
	path, _, _ := strings.Cut(scope.Path(url), "?")
	path = strings.TrimSuffix(path, "/")
	for _, part := range []string{path, path[strings.LastIndexByte(path, '/')+1:]} {
		if len(part) >= 3 {
			body = bytes.ReplaceAll(body, []byte(part), nil)
		}
		all = append(all, Hash(withoutTokens(body)))
	}
	return all
}

// minToken is the least length of what counts as a token: nonces, marks against forged requests
// and session numbers have at least 96 bits, which are 16 characters of base64.
const minToken = 16

// withoutTokens returns body without its runs of letters, digits, + and _ that are long and have
// both letters and digits.
func withoutTokens(body []byte) []byte {
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); {
		start, letters, digits := i, false, false
	run:
		for ; i < len(body); i++ {
			switch b := body[i]; {
			case '0' <= b && b <= '9':
				digits = true
			case 'a' <= b|0x20 && b|0x20 <= 'z':
				letters = true
			case b == '+', b == '_':
			default:
				break run
			}
		}
		if i-start < minToken || !letters || !digits {
			out = append(out, body[start:i]...)
		}
		if i < len(body) {
			out = append(out, body[i])
			i++
		}
	}
	return out
}

// page reads HTML.
func (r *Reader) page(o *fetch.Outcome, opt *Options, c *Content) {
	p := r.extractor.Extract(o.Body, link.Options{
		URL: opt.URL, ContentType: o.ContentType, Links: o.Header.Values("Link"), Robots: o.Header.Values("X-Robots-Tag"),
		Agent: fetch.AgentToken, IgnoreParams: opt.IgnoreParams, Actions: opt.Actions, Simhash: opt.Simhash, Requisites: opt.Requisites, Room: opt.Room,
	})
	defer r.extractor.Shrink()
	c.Kind = store.Page
	c.Title, c.Canonical = p.Title, strings.Clone(p.Canonical)
	if !p.Published.IsZero() {
		c.Published = p.Published.Unix()
	}
	c.Stub, c.Scripts, c.Routes, c.Cut = p.Moved != "", p.NeedsScript(), p.Routes, p.Truncated
	c.NoIndex, c.Use.Page, c.Layout, c.Simhash = p.NoIndex, p.Said, p.Layout, p.Simhash
	c.Layout.Rows, c.Requisites = slices.Clone(p.Layout.Rows), slices.Clone(p.Requisites)
	if opt.Texts {
		c.Texts = true
		c.Blocks, c.TextShape = p.Blocks(nil)
	}
	if len(opt.Says) > 0 {
		c.Says = p.Says(opt.Says...)
	}
	c.Links = make([]Link, len(p.Links))
	for i := range p.Links {
		l := &p.Links[i]
		c.Links[i] = Link{URL: l.URL, Given: l.Given, Kind: linkKinds[l.Kind], NoFollow: l.NoFollow, Action: l.Action, Place: l.Place, Main: l.Kind == link.Sitemap}
	}
}

// list takes over the entries of a feed or sitemap.
func list(doc *sitemap.Document, opt *Options, c *Content) {
	kind := store.ViaSitemap
	c.Kind = store.Sitemap
	if doc.Kind == sitemap.Feed {
		c.Kind, kind = store.Feed, store.ViaFeed
	}
	c.Cut = doc.Cut
	c.Links = make([]Link, len(doc.Entries))
	for i := range doc.Entries {
		e := &doc.Entries[i]
		c.Links[i] = Link{URL: link.DropParams(e.URL, opt.IgnoreParams), Kind: kind, Main: e.Sitemap, LastMod: e.Modified, Published: e.Published}
	}
}
