package sitemap

import (
	"encoding/xml"
	"io"
	"strings"

	"forage/fetch/link"
)

// xml reads a sitemap, an index, RSS, Atom or RDF. Names are taken without their prefix: many
// documents declare other namespaces than the protocols say, or none; what an element means
// follows from those around it.
func (p *parser) xml(r io.Reader) {
	l := newLexer(r)
	x := &xmlList{parser: p}
	for {
		t, err := l.next()
		if err == io.EOF {
			return
		}
		if err != nil {
			p.doc.Problem = err
			return
		}
		more := true
		switch t := t.(type) {
		case xml.Directive:
			x.directive(string(t))
		case xml.StartElement:
			more = x.start(t)
		case xml.EndElement:
			more = x.close(t.Name.Local)
		case xml.CharData:
			if x.collect && x.text.Len() < maxToken {
				x.text.Write(t)
			}
		}
		if !more {
			return
		}
	}
}

// maxDepth bounds the open elements that are remembered.
const maxDepth = 64

// xmlList is the state of reading one document.
type xmlList struct {
	*parser
	stack    []element // that are open
	entities []string  // "&name;" of those that the document declares
	collect  bool      // the text of this element is wanted
	text     strings.Builder

	// The entry being read.
	refs      []reference
	lastmod   string
	published int64
	guid      bool // the guid is a link
}

// An element is one that is open.
type element struct {
	name string     // without its prefix
	base *link.Base // by its xml:base, or that of what it stands in
}

// A reference is what an entry refers to.
type reference struct {
	url  string // as it stands there
	base *link.Base
}

// base is what references are resolved against where the reader is.
func (x *xmlList) base() *link.Base {
	if n := len(x.stack); n > 0 {
		return x.stack[n-1].base
	}
	return x.parser.base
}

// rebase returns what the xml:base of an element makes of the base that it stands in. One that is no
// base of http or https, or too long for one, does not count.
func rebase(t xml.StartElement, base *link.Base) *link.Base {
	for _, a := range t.Attr {
		if a.Name.Space != "xml" || a.Name.Local != "base" {
			continue
		}
		if url, err := base.Resolve(strings.TrimSpace(a.Value)); err == nil && len(url) <= link.MaxBase {
			if b, err := link.NewBase(url); err == nil {
				return b
			}
		}
	}
	return base
}

// refer notes what the entry refers to. What is too long for a URL is not kept.
func (x *xmlList) refer(url string) {
	switch url = strings.TrimSpace(url); {
	case len(url) > link.MaxURL:
		x.doc.Rejected++
	case len(x.refs) == MaxEntries, len(x.refs) >= fewRefs && !x.take(int64(len(url))+refSize):
		x.doc.Cut = true
	default:
		x.refs = append(x.refs, reference{url, x.base()})
	}
}

// refSize is how many bytes a reference takes, its URL apart, while the slice grows; an entry has fewRefs
// of them without asking.
const (
	refSize = 64
	fewRefs = 16
)

// maxEntities is how many entities of a document's own are told from text.
const maxEntities = 1000

// directive notes the entities that a document type declares: references to them stay
// unexpanded, and what holds one is no URL.
func (x *xmlList) directive(s string) {
	for _, decl := range strings.Split(s, "<!ENTITY")[1:] {
		if f := strings.Fields(decl); len(f) > 0 && len(x.entities) < maxEntities {
			x.entities = append(x.entities, "&"+f[0]+";")
		}
	}
}

func (x *xmlList) parent() string {
	if len(x.stack) < 2 {
		return ""
	}
	return x.stack[len(x.stack)-2].name
}

func attr(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if strings.EqualFold(a.Name.Local, name) {
			return a.Value
		}
	}
	return ""
}

func (x *xmlList) start(t xml.StartElement) (more bool) {
	name := t.Name.Local
	if len(x.stack) == 0 {
		switch strings.ToLower(name) {
		case "urlset":
			x.doc.Kind = Sitemap
		case "sitemapindex":
			x.doc.Kind = Index
		case "rss", "feed", "rdf":
			x.doc.Kind = Feed
		default:
			return false // HTML, or anything else
		}
	}
	if len(x.stack) < maxDepth {
		base := x.base()
		if x.doc.Kind == Feed {
			base = rebase(t, base)
		}
		x.stack = append(x.stack, element{name, base})
	}
	x.collect = false
	x.text.Reset()
	switch name {
	case "url", "sitemap", "item", "entry":
		x.refs, x.lastmod, x.published = x.refs[:0], "", 0
	}
	switch {
	case x.doc.Kind != Feed:
		switch name {
		case "loc", "lastmod":
			x.collect = x.parent() == "url" || x.parent() == "sitemap"
		case "publication_date":
			x.collect = true
		case "link": // xhtml:link to another language
			if href := attr(t, "href"); href != "" && x.parent() == "url" {
				x.refer(href)
			}
		}
	case name == "link":
		// Atom, or an Atom link in RSS; RSS has the URL as text.
		if href := attr(t, "href"); href != "" && leads(attr(t, "rel")) && !x.inside("content", "summary") {
			x.refer(href)
		}
		x.collect = x.parent() == "channel" || x.parent() == "item"
	case name == "item":
		if about := attr(t, "about"); about != "" {
			x.refer(about)
		}
	case name == "guid":
		x.collect, x.guid = true, !strings.EqualFold(attr(t, "isPermaLink"), "false")
	case name == "origLink", name == "pubDate", name == "date", name == "published", name == "updated":
		x.collect = true
	}
	return true
}

// leads reports whether a link of a feed with this rel leads to something that can be read: not to
// the feed itself, nor to where an entry is edited [RFC 5023, 11.1 and 11.2].
func leads(rel string) bool {
	rel = strings.ToLower(strings.TrimPrefix(strings.TrimSpace(rel), "http://www.iana.org/assignments/relation/"))
	return rel != "self" && rel != "edit" && rel != "edit-media"
}

// inside reports whether one of the open elements has one of the names.
func (x *xmlList) inside(names ...string) bool {
	for _, s := range x.stack {
		for _, n := range names {
			if s.name == n {
				return true
			}
		}
	}
	return false
}

func (x *xmlList) close(name string) (more bool) {
	if x.collect {
		x.value(name, strings.TrimSpace(x.text.String()))
	}
	x.collect = false
	// Close what is open up to the element; an end tag without a start is passed over.
	for i := len(x.stack) - 1; i >= 0; i-- {
		if x.stack[i].name == name {
			x.stack = x.stack[:i]
			break
		}
	}
	switch name {
	case "url", "sitemap", "item", "entry":
		return x.flush(name == "sitemap" && x.doc.Kind == Index)
	case "link", "title":
		if x.doc.Kind == Feed && !x.inside("item", "entry") {
			return x.flush(false) // of the feed itself
		}
	}
	return true
}

// value takes the text of an element.
func (x *xmlList) value(name, s string) {
	if s == "" {
		return
	}
	switch name {
	case "loc", "link", "origLink":
		x.refer(s)
	case "guid":
		if x.guid && absolute(s) {
			x.refer(s)
		}
	case "lastmod", "updated":
		x.lastmod = s[:min(len(s), maxTime+1)]
	case "publication_date", "pubDate", "date", "published":
		x.published = ParseTime(s)
	}
}

// flush ends an entry.
func (x *xmlList) flush(sitemap bool) (more bool) {
	more = true
	for i, ref := range x.refs {
		if x.declared(ref.url) {
			x.doc.Rejected++
			continue
		}
		if i > 0 && ref == x.refs[i-1] {
			continue // link and guid are often the same
		}
		more = more && x.add(ref.url, ref.base, Entry{Sitemap: sitemap, LastMod: x.lastmod, Published: x.published})
	}
	x.refs, x.lastmod, x.published = x.refs[:0], "", 0
	return more
}

// declared reports whether s holds a reference to an entity of the document's own.
func (x *xmlList) declared(s string) bool {
	for _, e := range x.entities {
		if strings.Contains(s, e) {
			return true
		}
	}
	return false
}
