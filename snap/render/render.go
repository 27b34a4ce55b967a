// Package render writes the documents of a history as a server would send them: HTML with the links, feeds and sitemaps in their own
// formats, a robots.txt. Titles and texts are made up. The same history makes the same bytes, which differ from version to version of a
// document.
package render

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"strings"
	"time"

	"forage/snap"
)

// A Site writes the documents of one history. Its methods may be called by several goroutines at once.
type Site struct {
	LastMod bool // sitemaps tell when each page changed last
	Dated   bool // pages, feeds and sitemaps state the dates that a history by commits has of them

	history *snap.History
	paths   []string
}

// New returns the site of a history.
func New(h *snap.History) *Site {
	s := &Site{history: h, paths: make([]string, len(h.URLs))}
	for id, path := range h.URLs {
		s.paths[id] = Path(path)
	}
	return s
}

// Path returns the canonical path of a document, see Path.
func (s *Site) Path(id snap.ID) string { return s.paths[id] }

// Version returns what stands for the version of a document in v, as an entity tag, and when it came to be.
func (s *Site) Version(v *snap.State, id snap.ID) (etag string, modified time.Time) {
	changed := v.Version[id]
	if s.LastMod && v.Flag[id] == snap.Sitemap { // it shows when what it lists changed
		for _, u := range v.Links[id] {
			changed = max(changed, v.Version[u])
		}
	}
	return fmt.Sprintf(`"%d-%d"`, id, changed), s.changed(changed)
}

// changed is when a snapshot was.
func (s *Site) changed(k int) time.Time { return time.Unix(s.history.Snapshots[k].Time, 0).UTC() }

// Document returns the content type and the bytes of a document that is there in v, which differ from version to version
// where it changed, but for a sitemap in plain text. origin is the scheme and host
// that feeds and sitemaps put before their paths.
func (s *Site) Document(v *snap.State, id snap.ID, origin string) (contentType string, body []byte) {
	path := s.paths[id]
	var b bytes.Buffer
	switch v.Flag[id] {
	case snap.Feed:
		contentType = s.feed(&b, v, id, origin)
	case snap.Sitemap:
		contentType = s.sitemap(&b, v, id, origin)
	default:
		return "text/html; charset=utf-8", s.page(&b, v, id)
	}
	if !strings.HasSuffix(path, ".gz") {
		return contentType, b.Bytes()
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(b.Bytes())
	w.Close()
	return "application/gzip", z.Bytes()
}

// page writes an HTML page or a redirect stub.
func (s *Site) page(b *bytes.Buffer, v *snap.State, id snap.ID) []byte {
	title := html.EscapeString(s.history.Site + s.history.URLs[id])
	fmt.Fprintf(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>%s</title>\n", title)
	if s.Dated && v.Published != nil && v.Published[id] != 0 {
		fmt.Fprintf(b, "<meta property=\"article:published_time\" content=\"%s\">\n", time.Unix(v.Published[id], 0).UTC().Format(time.RFC3339))
	}
	links := v.Links[id]
	if v.Flag[id] == snap.Redirect {
		target := "https://elsewhere.example/"
		if len(links) > 0 {
			target, links = s.paths[links[0]], links[1:]
		}
		fmt.Fprintf(b, "<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n", html.EscapeString(target))
	}
	for _, u := range links {
		if v.Flag[u] == snap.Feed {
			fmt.Fprintf(b, "<link rel=\"alternate\" type=\"%s\" href=\"%s\">\n", feedFormat(s.paths[u]).contentType, html.EscapeString(s.paths[u]))
		}
	}
	fmt.Fprintf(b, "</head>\n<body>\n<h1>%s</h1>\n<p>Version %d of document %d.</p>\n<ul>\n", title, v.Version[id], id)
	for _, u := range links {
		if v.Flag[u] != snap.Feed {
			path := html.EscapeString(s.paths[u])
			fmt.Fprintf(b, "<li><a href=\"%s\">%s</a></li>\n", path, path)
		}
	}
	b.WriteString("</ul>\n</body>\n</html>\n")
	return b.Bytes()
}

// A format is one way to write a feed.
type format struct {
	contentType string
	write       func(b *bytes.Buffer, title string, entries []entry)
}

// feedFormat goes by the name of the feed; RSS where the name does not tell.
func feedFormat(path string) format {
	switch p := strings.ToLower(strings.TrimSuffix(path, ".gz")); {
	case strings.HasSuffix(p, ".json"):
		return format{"application/feed+json", writeJSONFeed}
	case strings.HasSuffix(p, ".rdf"):
		return format{"application/rdf+xml", writeRDF}
	case strings.Contains(p, "atom"):
		return format{"application/atom+xml", writeAtom}
	}
	return format{"application/rss+xml", writeRSS}
}

func (s *Site) feed(b *bytes.Buffer, v *snap.State, id snap.ID, origin string) string {
	f := feedFormat(s.paths[id])
	f.write(b, fmt.Sprintf("%s, version %d", s.history.Site, v.Version[id]), s.entries(v, id, origin))
	return f.contentType
}

// An entry is what a feed or sitemap says of a document.
type entry struct {
	url string
	at  time.Time // zero: nothing is said of that
}

// date writes when the document was changed or published.
func (e *entry) date(b *bytes.Buffer, element, layout string) {
	if !e.at.IsZero() {
		fmt.Fprintf(b, "<%s>%s</%[1]s>", element, e.at.Format(layout))
	}
}

func (s *Site) entries(v *snap.State, id snap.ID, origin string) []entry {
	links := v.Links[id]
	all := make([]entry, len(links))
	for i, u := range links {
		all[i].url = origin + s.paths[u]
		switch at, stated := s.stated(v, id, u); {
		case stated:
			all[i].at = at
		case s.LastMod && v.Flag[id] == snap.Sitemap:
			all[i].at = s.changed(v.Version[u])
		}
	}
	return all
}

// stated is the date that a feed or sitemap states of a document in a history by commits.
func (s *Site) stated(v *snap.State, id, of snap.ID) (at time.Time, ok bool) {
	if !s.Dated || v.Dates == nil {
		return at, false
	}
	seconds, ok := v.Dates[id][of]
	return time.Unix(seconds, 0).UTC(), ok
}

// text escapes for XML.
func text(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(s))
	return b.String()
}

const xmlHead = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"

func writeRSS(b *bytes.Buffer, title string, entries []entry) {
	fmt.Fprintf(b, "%s<rss version=\"2.0\"><channel>\n<title>%s</title>\n<description>%[2]s</description>\n", xmlHead, text(title))
	for _, e := range entries {
		fmt.Fprintf(b, "<item><title>%s</title><link>%[1]s</link><guid>%[1]s</guid>", text(e.url))
		e.date(b, "pubDate", time.RFC1123Z)
		b.WriteString("</item>\n")
	}
	b.WriteString("</channel></rss>\n")
}

func writeAtom(b *bytes.Buffer, title string, entries []entry) {
	fmt.Fprintf(b, "%s<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<title>%s</title>\n", xmlHead, text(title))
	for _, e := range entries {
		fmt.Fprintf(b, "<entry><title>%s</title><link href=\"%[1]s\"/>", text(e.url))
		e.date(b, "updated", time.RFC3339)
		b.WriteString("</entry>\n")
	}
	b.WriteString("</feed>\n")
}

func writeRDF(b *bytes.Buffer, title string, entries []entry) {
	fmt.Fprintf(b, "%s<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\" xmlns=\"http://purl.org/rss/1.0/\">\n<channel><title>%s</title></channel>\n", xmlHead, text(title))
	for _, e := range entries {
		fmt.Fprintf(b, "<item rdf:about=\"%s\"><title>%[1]s</title><link>%[1]s</link>", text(e.url))
		e.date(b, "dc:date", time.RFC3339)
		b.WriteString("</item>\n")
	}
	b.WriteString("</rdf:RDF>\n")
}

func writeJSONFeed(b *bytes.Buffer, title string, entries []entry) {
	type item struct {
		ID        string     `json:"id"`
		URL       string     `json:"url"`
		Published *time.Time `json:"date_published,omitempty"`
	}
	items := make([]item, len(entries))
	for i, e := range entries {
		if items[i] = (item{ID: e.url, URL: e.url}); !e.at.IsZero() {
			items[i].Published = &e.at
		}
	}
	json.NewEncoder(b).Encode(map[string]any{"version": "https://jsonfeed.org/version/1.1", "title": title, "items": items})
}

// sitemap writes a sitemap, or an index where it links to nothing but sitemaps.
func (s *Site) sitemap(b *bytes.Buffer, v *snap.State, id snap.ID, origin string) string {
	links := v.Links[id]
	entries := s.entries(v, id, origin)
	if strings.HasSuffix(strings.TrimSuffix(s.paths[id], ".gz"), ".txt") {
		for _, e := range entries {
			b.WriteString(e.url + "\n")
		}
		return "text/plain; charset=utf-8"
	}
	outer, inner := "sitemapindex", "sitemap"
	if len(links) == 0 {
		outer, inner = "urlset", "url"
	}
	for _, u := range links {
		if v.Flag[u] != snap.Sitemap {
			outer, inner = "urlset", "url"
		}
	}
	fmt.Fprintf(b, "%s<%s xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n<!-- version %d -->\n", xmlHead, outer, v.Version[id])
	for _, e := range entries {
		fmt.Fprintf(b, "<%s><loc>%s</loc>", inner, text(e.url))
		e.date(b, "lastmod", time.RFC3339)
		fmt.Fprintf(b, "</%s>\n", inner)
	}
	fmt.Fprintf(b, "</%s>\n", outer)
	return "application/xml"
}

// Robots writes a robots.txt that allows everything and names the well-known documents.
func (s *Site) Robots(v *snap.State, origin string) []byte {
	var b bytes.Buffer
	b.WriteString("User-agent: *\nAllow: /\n")
	for _, id := range v.WellKnown {
		if v.Alive[id] {
			b.WriteString("Sitemap: " + origin + s.paths[id] + "\n")
		}
	}
	return b.Bytes()
}
