// Package link knows URLs and the links between documents.
//
// Parse gives a URL its identity, a Base resolves references. An Extractor reads a page
// once, from left to right, without building a tree, and fills a Page: links with their place
// and anchor text, what the page embeds, title, canonical URL, robots rules, dates, encoding.
// One bad URL never loses a page, and nothing that stands in a page makes it fail.
//
// The package does as the standards of the WHATWG say (URL, HTML, Encoding), with scripts off.
// Its tokenizer is held to that of golang.org/x/net/html, its quick way with URLs to
// github.com/nlnwa/whatwg-url, both by fuzzing.
package link

import (
	"html"
	"strings"
	"time"

	"forage/fetch/use"
)

// Limits of a page: what is beyond them is not taken, and Page.Truncated is set.
const (
	MaxLinks = 50_000   // links, and embeds
	MaxURLs  = 4 << 20  // bytes of their URLs in all: 84 for each of MaxLinks
	MaxText  = 16 << 20 // bytes of a page in UTF-8 that comes in another encoding
)

// linkSize is how many bytes a link takes, its URL apart: as a reference, as a Link, and as what the
// caller makes of it, while the slices of the first two grow.
const linkSize = 384

// A Kind tells by what a document leads to another.
type Kind uint8

const (
	Anchor    Kind = iota // a, area
	Frame                 // frame, iframe
	Rel                   // link rel=next, prev, first, last, start, up, index, contents
	Canonical             // link rel=canonical
	Alternate             // link rel=alternate or amphtml to a page
	Feed                  // link rel=alternate or feed to a feed
	Sitemap               // link rel=sitemap
	Refresh               // meta refresh
)

func (k Kind) String() string {
	return [...]string{"anchor", "frame", "rel", "canonical", "alternate", "feed", "sitemap", "refresh"}[k]
}

// A Link is one reference of a page to a document over http or https.
type Link struct {
	URL      string // identity; shares memory with those of the other links: clone what is kept for long
	Given    string // the URL before identity is taken, as Base.Reference, where that differs; "" elsewhere
	Kind     Kind
	NoFollow bool   // by rel, meta robots or X-Robots-Tag
	Action   bool   // by its text or attributes it does something when it is followed; only with Options.Actions
	Place    uint32 // hash of the DOM path with class and id names, digits apart; 0: from a header

	node        int32 // in Page.nodes; -1: none
	start, stop int   // of the anchor's content in Page.text
}

// Options tell what is known of a page before it is read.
type Options struct {
	URL          string   // absolute
	ContentType  string   // as sent
	Links        []string // values of Link header fields
	Robots       []string // values of X-Robots-Tag header fields
	Agent        string   // product token: robots rules for it count, those for others do not
	IgnoreParams []string // parameters dropped from links, as DropParams takes them
	Embeds       bool     // resolve what the page embeds, too
	Requisites   bool     // tell what the page needs to look right
	Actions      bool     // tell which links act
	Simhash      bool     // work out Page.Simhash
	Paths        bool     // keep what Page.Path needs: up to some hundred bytes for each element around a link

	// Room, if set, is called before much memory is taken, with all that the page has taken and is
	// going to, in bytes. Where it returns false nothing more is taken, and Page.Truncated is set.
	Room func(bytes int64) bool
}

// A Page is what was read from a document. It and its strings, those of links apart, belong to
// the Extractor and are good until its next page; Text and Path need the body to be unchanged.
type Page struct {
	Links     []Link   // in the order of the page; the same URL may come again
	Embeds    []string // identities of images, scripts, styles, media; only on demand
	Title     string   // of the first title, white space collapsed
	Canonical string   // identity; empty: none
	Published time.Time
	NoFollow  bool     // robots rules forbid to follow links, by meta or X-Robots-Tag
	NoIndex   bool     // robots rules forbid to list the page, the same
	Said      use.Said // what the page itself says of its use, with the licenses of Link headers; its strings stay good
	Charset   string   // encoding, by its name in the Encoding standard in lower case
	Refresh   int      // seconds before a meta refresh, those in noscript apart; -1: none
	Moved     string   // identity that Refresh leads to, where it makes the page a redirect stub; empty: it does not
	Scripts   int      // script elements that may run
	Routes    int      // dropped links to #! and #/ routes
	Bad       int      // dropped references that are no URLs
	Truncated bool     // more than a limit allows was there
	Layout    Layout
	Simhash   uint64 // of the text that Layout counts as the page's own; 0: it is too short; only with Options.Simhash

	Requisites []Requisite // each once, in the order of the page; only with Options.Requisites

	text  []byte // the body in UTF-8
	nodes []node
}

// NeedsScript reports whether the page has scripts but almost no links, as pages have that
// scripts fill in.
func (p *Page) NeedsScript() bool {
	if p.Scripts == 0 {
		return false
	}
	n := 0
	for i := range p.Links {
		if k := p.Links[i].Kind; k <= Rel || k == Refresh {
			n++
		}
	}
	return n <= 2
}

// maxMove is the longest delay, in seconds, of a meta refresh that makes its page a stub. Pages
// that say where their content is now wait for 0, or for the 5 or 10 that they count down; a page
// that is there to be read, and leads on later or reloads, waits for longer. Search engines take
// a refresh at once for a permanent redirect and a delayed one for a temporary one; Nutch draws
// that line at 5 s, and Scrapy follows up to 100 s.
const maxMove = 10

// maxText is the length in bytes of anchor texts and titles; the rest is cut.
const maxText = 512

// Text returns the text of anchor l of the page, white space collapsed, at most 512 bytes.
// Images count with their alt text. Cost O(length of the anchor's content).
func (p *Page) Text(l *Link) string {
	if l.stop <= l.start {
		return ""
	}
	var out strings.Builder
	s := scanner{b: p.text[l.start:l.stop]}
	for out.Len() < 4*maxText {
		switch s.next() {
		case textToken:
			out.WriteString(html.UnescapeString(string(s.words())))
		case startToken:
			if s.tag == tagImg {
				out.WriteString(" " + attrText(s.attr(attrAlt)) + " ")
			}
		case endOfInput:
			return collapse(out.String())
		}
	}
	return collapse(out.String())
}

// collapse makes each run of white space one space, trims s and cuts it to maxText bytes at
// the start of a character.
func collapse(s string) string {
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "\ufffd")
	if len(s) <= maxText {
		return s
	}
	i := maxText
	for i > 0 && s[i]&0xc0 == 0x80 {
		i--
	}
	return s[:i]
}
