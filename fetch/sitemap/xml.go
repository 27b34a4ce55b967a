package sitemap

import (
	"encoding/xml"
	"io"
	"strings"
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
	stack    []string // local names of the open elements
	entities []string // "&name;" of those that the document declares
	collect  bool     // the text of this element is wanted
	text     strings.Builder

	// The entry being read.
	refs      []string
	lastmod   string
	published int64
	guid      bool // the guid is a link
}

// directive notes the entities that a document type declares: references to them stay
// unexpanded, and what holds one is no URL.
func (x *xmlList) directive(s string) {
	for _, decl := range strings.Split(s, "<!ENTITY")[1:] {
		if f := strings.Fields(decl); len(f) > 0 {
			x.entities = append(x.entities, "&"+f[0]+";")
		}
	}
}

func (x *xmlList) parent() string {
	if len(x.stack) < 2 {
		return ""
	}
	return x.stack[len(x.stack)-2]
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
		x.stack = append(x.stack, name)
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
				x.refs = append(x.refs, href)
			}
		}
	case name == "link":
		// Atom, or an Atom link in RSS; RSS has the URL as text.
		if href := attr(t, "href"); href != "" && !strings.EqualFold(attr(t, "rel"), "self") && !x.inside("content", "summary") {
			x.refs = append(x.refs, href)
		}
		x.collect = x.parent() == "channel" || x.parent() == "item"
	case name == "item":
		if about := attr(t, "about"); about != "" {
			x.refs = append(x.refs, about)
		}
	case name == "guid":
		x.collect, x.guid = true, !strings.EqualFold(attr(t, "isPermaLink"), "false")
	case name == "origLink", name == "pubDate", name == "date", name == "published", name == "updated":
		x.collect = true
	}
	return true
}

// inside reports whether one of the open elements has one of the names.
func (x *xmlList) inside(names ...string) bool {
	for _, s := range x.stack {
		for _, n := range names {
			if s == n {
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
		if x.stack[i] == name {
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
		x.refs = append(x.refs, s)
	case "guid":
		if lower := strings.ToLower(s); x.guid && (strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://")) {
			x.refs = append(x.refs, s)
		}
	case "lastmod", "updated":
		x.lastmod = s
	case "publication_date", "pubDate", "date", "published":
		x.published = ParseTime(s)
	}
}

// flush ends an entry.
func (x *xmlList) flush(sitemap bool) (more bool) {
	more = true
	for i, ref := range x.refs {
		if x.declared(ref) {
			x.doc.Rejected++
			continue
		}
		if i > 0 && ref == x.refs[i-1] {
			continue // link and guid are often the same
		}
		more = more && x.add(ref, Entry{Sitemap: sitemap, LastMod: x.lastmod, Published: x.published})
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
