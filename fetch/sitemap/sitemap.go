// Package sitemap reads the documents that list a site's URLs: sitemaps and their indexes
// (XML, text, compressed, news), and feeds (RSS, Atom, RDF, JSON Feed).
//
// Parse tells what kind of list a document is, by its root element or shape, not by its name
// or type, and returns its entries with their dates. It reads what is broken as far as it can
// be read. Entities are never expanded beyond the five of XML and HTML's names, so nothing
// outside the document is ever looked at and nothing grows.
package sitemap

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"

	"forage/fetch/link"
)

// Limits of the protocol (sitemaps.org): what is beyond them is not read.
const (
	MaxEntries = 50_000
	MaxBytes   = 50 << 20 // after decompression
)

// A Kind tells what a document lists.
type Kind uint8

// The kinds of documents.
const (
	None    Kind = iota // no list of URLs
	Sitemap             // URLs of pages
	Index               // URLs of sitemaps
	Feed                // RSS, Atom, RDF, JSON Feed
)

var kindNames = [...]string{"none", "sitemap", "index", "feed"}

func (k Kind) String() string { return kindNames[k] }

// An Entry is one URL of a list.
type Entry struct {
	URL       string // identity
	Sitemap   bool   // it is a sitemap, of an index
	LastMod   string // as written; "": not told
	Modified  int64  // LastMod in seconds since the epoch; 0: not told or not readable
	Published int64  // by a feed or a news sitemap; 0: not told
}

// A Document is a parsed list.
type Document struct {
	Kind     Kind
	Entries  []Entry // in order; a URL may come twice
	Rejected int     // entries that are no http URL
	Cut      bool    // a limit was reached
	Problem  error   // where reading ended early; nil: it did not
}

// Options tell what is known of a document before it is read.
type Options struct {
	URL         string // absolute
	ContentType string // as sent

	// Room, if set, is called before the entries take more memory, with all that they have taken and
	// are going to, in bytes. Where it returns false nothing more is taken, and Document.Cut is set.
	Room func(bytes int64) bool
}

// Parse reads a document that answered at rawURL with a content type, see Read.
func Parse(body []byte, rawURL, contentType string) (*Document, error) {
	return Read(bytes.NewReader(body), Options{URL: rawURL, ContentType: contentType})
}

// Read reads a document, which may be compressed by gzip, as it comes, and as far as it has to be read.
// An unknown kind of document gives Kind None, never an error; the only error is that o.URL is no URL.
// Memory: the entries, and some 200 KiB.
func Read(r io.Reader, o Options) (*Document, error) {
	base, err := link.NewBase(o.URL)
	if err != nil {
		return nil, err
	}
	p := &parser{doc: new(Document), base: base, room: o.Room}
	d, err := open(r, o.ContentType)
	if err != nil {
		p.doc.Problem = err
		return p.doc, nil
	}
	switch first := firstByte(d.head); {
	case first == '<':
		p.xml(d)
	case first == '{':
		p.json(d)
	case strings.HasPrefix(o.ContentType, "text/plain") || strings.HasSuffix(strings.TrimSuffix(pathOf(o.URL), ".gz"), ".txt"):
		p.text(d)
	}
	p.doc.Cut = p.doc.Cut || d.limit.N <= 0
	return p.doc, nil
}

// IsList reports whether a document may be a list, by looking at its first bytes: what it
// denies, Parse finds to be None.
func IsList(body []byte, rawURL, contentType string) bool {
	d, err := open(bytes.NewReader(body), contentType)
	if err != nil {
		return false
	}
	head := d.head
	for _, root := range []string{"<urlset", ":urlset", "<sitemapindex", ":sitemapindex", "<rss", "<feed", ":feed", "rdf:rdf"} {
		if bytes.Contains(bytes.ToLower(head), []byte(root)) {
			return true
		}
	}
	switch firstByte(head) {
	case '{':
		return bytes.Contains(head, []byte(`"items"`)) || bytes.Contains(head, []byte("jsonfeed.org"))
	case 'h', 'H':
		return strings.HasSuffix(strings.TrimSuffix(pathOf(rawURL), ".gz"), ".txt")
	}
	return false
}

func pathOf(u string) string {
	u, _, _ = strings.Cut(u, "?")
	return strings.ToLower(u)
}

func firstByte(b []byte) byte {
	b = bytes.TrimLeft(b, " \t\r\n\ufeff")
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

// headSize is how many bytes the look ahead takes.
const headSize = 4096

// A text is a document as valid UTF-8, of which at most MaxBytes are read.
type text struct {
	*bufio.Reader
	head  []byte // the first bytes; good until the first read
	limit *io.LimitedReader
}

// open returns the text of a document.
func open(r io.Reader, contentType string) (*text, error) {
	b := bufio.NewReaderSize(r, headSize)
	// Nested compression is seen: a server may compress what is compressed already.
	for range 3 {
		if magic, _ := b.Peek(2); len(magic) < 2 || magic[0] != 0x1f || magic[1] != 0x8b {
			break
		}
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, err
		}
		b = bufio.NewReaderSize(z, headSize)
	}
	limit := &io.LimitedReader{R: b, N: MaxBytes}
	b = bufio.NewReaderSize(limit, headSize)
	first, _ := b.Peek(headSize)
	var decoded io.Reader = b
	if e, name := charset.Lookup(encodingOf(first, contentType)); e != nil && name != "utf-8" {
		decoded = transform.NewReader(decoded, e.NewDecoder())
	}
	decoded = transform.NewReader(decoded, transform.Chain(runes.ReplaceIllFormed(), runes.Map(legal)))
	t := &text{Reader: bufio.NewReaderSize(decoded, headSize), limit: limit}
	t.head, _ = t.Peek(headSize)
	return t, nil
}

// legal replaces characters that XML does not allow.
func legal(r rune) rune {
	if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
		return ' '
	}
	return r
}

// encodingOf returns the label of the encoding by byte order mark, XML declaration, content
// type; "utf-8" where nothing tells.
func encodingOf(head []byte, contentType string) string {
	switch {
	case bytes.HasPrefix(head, []byte("\xfe\xff")), bytes.HasPrefix(head, []byte("\x00<")):
		return "utf-16be"
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("<\x00")):
		return "utf-16le"
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return "utf-8"
	}
	if bytes.HasPrefix(head, []byte("<?xml")) {
		decl, _, _ := bytes.Cut(head, []byte("?>"))
		if _, after, ok := bytes.Cut(decl, []byte("encoding")); ok {
			after = bytes.TrimLeft(after, " \t\r\n=")
			if len(after) > 0 && (after[0] == '"' || after[0] == '\'') {
				if end := bytes.IndexByte(after[1:], after[0]); end >= 0 {
					return string(after[1 : 1+end])
				}
			}
		}
	}
	if _, after, ok := strings.Cut(strings.ToLower(contentType), "charset="); ok {
		label, _, _ := strings.Cut(after, ";")
		return strings.Trim(label, `"' `)
	}
	return "utf-8"
}

type parser struct {
	doc   *Document
	base  *link.Base
	room  func(int64) bool
	urls  int64 // bytes of the entries' URLs
	taken int64 // by the entries
	asked int64 // of what they take
}

// entrySize is how many bytes an entry takes, its URL apart: here while the slice grows, and as what
// the caller makes of it. roomStep is how much is asked for at a time.
const (
	entrySize = 192
	roomStep  = 64 << 10
)

// take has room made for n bytes more.
func (p *parser) take(n int64) bool {
	p.taken += n
	if p.taken <= p.asked || p.room == nil {
		return true
	}
	p.asked = (p.taken + roomStep) / roomStep * roomStep
	return p.asked == roomStep || p.room(p.asked) // a small list asks for nothing
}

// add appends an entry. In a feed the reference may be relative to base, and all have as many bytes of
// URLs as the links of a page; in a sitemap it is an absolute URL [sitemaps.org, "XML tag definitions"].
// It returns false when no more are taken.
func (p *parser) add(ref string, base *link.Base, e Entry) bool {
	ref = strings.TrimSpace(ref)
	if ref == "" {
		return true
	}
	if p.doc.Kind != Feed && !absolute(ref) {
		p.doc.Rejected++
		return true
	}
	u, err := base.Resolve(ref)
	if err != nil {
		p.doc.Rejected++
		return true
	}
	p.urls += int64(len(u))
	if len(p.doc.Entries) == MaxEntries || p.doc.Kind == Feed && p.urls > link.MaxURLs || !p.take(int64(len(u))+entrySize) {
		p.doc.Cut = true
		return false
	}
	e.URL = u
	if len(e.LastMod) > maxTime {
		e.LastMod = ""
	}
	e.Modified = ParseTime(e.LastMod)
	p.doc.Entries = append(p.doc.Entries, e)
	return true
}

// absolute reports whether s begins as an absolute URL of http or https does.
func absolute(s string) bool {
	scheme, _, ok := strings.Cut(s[:min(len(s), len("https://"))], "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

var layouts = []string{
	time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700",
	"2006-01-02 15:04:05", time.DateOnly, "2006-01", "2006", "20060102T150405Z", "20060102",
	time.RFC1123Z, time.RFC1123, "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 MST",
	"Mon, 2 Jan 2006 15:04 -0700", "Mon, 2 Jan 2006 15:04 MST", "Mon, 2 Jan 2006", "2 Jan 2006", time.RFC850, time.ANSIC,
}

// maxTime is the length in bytes beyond which nothing is a date.
const maxTime = 64

// ParseTime reads a date of a sitemap, feed or page: W3C's and RFC 822's, and what is often
// taken for them. It returns seconds since the epoch, 0 for what is no date after 1970.
func ParseTime(s string) int64 {
	s = strings.TrimFunc(s, unicode.IsSpace)
	if s == "" || len(s) > maxTime {
		return 0
	}
	for _, l := range layouts {
		if t, err := time.Parse(l, s); err == nil {
			return max(0, t.Unix())
		}
	}
	return 0
}
