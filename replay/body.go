package replay

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

// body returns the content type and the bytes of a document, which differ from version to version
// where it changed, but for a sitemap in plain text. origin is the scheme and host
// that feeds and sitemaps put before their paths.
func (s *Server) body(v *version, id snap.ID, origin string) (contentType string, body []byte) {
	path := s.path[id]
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
func (s *Server) page(b *bytes.Buffer, v *version, id snap.ID) []byte {
	title := html.EscapeString(s.history.Site + s.history.URLs[id])
	fmt.Fprintf(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>%s</title>\n", title)
	links := v.Links[id]
	if v.Flag[id] == snap.Redirect {
		target := "https://elsewhere.example/"
		if len(links) > 0 {
			target, links = s.path[links[0]], links[1:]
		}
		fmt.Fprintf(b, "<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n", html.EscapeString(target))
	}
	for _, u := range links {
		if v.Flag[u] == snap.Feed {
			fmt.Fprintf(b, "<link rel=\"alternate\" type=\"%s\" href=\"%s\">\n", feedFormat(s.path[u]).contentType, html.EscapeString(s.path[u]))
		}
	}
	fmt.Fprintf(b, "</head>\n<body>\n<h1>%s</h1>\n<p>Version %d of document %d.</p>\n<ul>\n", title, v.Version[id], id)
	for _, u := range links {
		if v.Flag[u] != snap.Feed {
			path := html.EscapeString(s.path[u])
			fmt.Fprintf(b, "<li><a href=\"%s\">%s</a></li>\n", path, path)
		}
	}
	b.WriteString("</ul>\n</body>\n</html>\n")
	return b.Bytes()
}

// A format is one way to write a feed.
type format struct {
	contentType string
	write       func(b *bytes.Buffer, title string, urls []string)
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

func (s *Server) feed(b *bytes.Buffer, v *version, id snap.ID, origin string) string {
	f := feedFormat(s.path[id])
	f.write(b, fmt.Sprintf("%s, version %d", s.history.Site, v.Version[id]), s.absolute(v.Links[id], origin))
	return f.contentType
}

func (s *Server) absolute(ids []snap.ID, origin string) []string {
	urls := make([]string, len(ids))
	for i, u := range ids {
		urls[i] = origin + s.path[u]
	}
	return urls
}

// text escapes for XML.
func text(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(s))
	return b.String()
}

const xmlHead = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"

func writeRSS(b *bytes.Buffer, title string, urls []string) {
	fmt.Fprintf(b, "%s<rss version=\"2.0\"><channel>\n<title>%s</title>\n<description>%[2]s</description>\n", xmlHead, text(title))
	for _, u := range urls {
		fmt.Fprintf(b, "<item><title>%s</title><link>%[1]s</link><guid>%[1]s</guid></item>\n", text(u))
	}
	b.WriteString("</channel></rss>\n")
}

func writeAtom(b *bytes.Buffer, title string, urls []string) {
	fmt.Fprintf(b, "%s<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<title>%s</title>\n", xmlHead, text(title))
	for _, u := range urls {
		fmt.Fprintf(b, "<entry><title>%s</title><link href=\"%[1]s\"/></entry>\n", text(u))
	}
	b.WriteString("</feed>\n")
}

func writeRDF(b *bytes.Buffer, title string, urls []string) {
	fmt.Fprintf(b, "%s<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns=\"http://purl.org/rss/1.0/\">\n<channel><title>%s</title></channel>\n", xmlHead, text(title))
	for _, u := range urls {
		fmt.Fprintf(b, "<item rdf:about=\"%s\"><title>%[1]s</title><link>%[1]s</link></item>\n", text(u))
	}
	b.WriteString("</rdf:RDF>\n")
}

func writeJSONFeed(b *bytes.Buffer, title string, urls []string) {
	type item struct {
		ID  string `json:"id"`
		URL string `json:"url"`
	}
	items := make([]item, len(urls))
	for i, u := range urls {
		items[i] = item{u, u}
	}
	json.NewEncoder(b).Encode(map[string]any{"version": "https://jsonfeed.org/version/1.1", "title": title, "items": items})
}

// sitemap writes a sitemap, or an index where it links to nothing but sitemaps.
func (s *Server) sitemap(b *bytes.Buffer, v *version, id snap.ID, origin string) string {
	links := v.Links[id]
	urls := s.absolute(links, origin)
	if strings.HasSuffix(strings.TrimSuffix(s.path[id], ".gz"), ".txt") {
		for _, u := range urls {
			b.WriteString(u + "\n")
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
	for i, u := range urls {
		mod := ""
		if s.lastmod {
			mod = "<lastmod>" + time.Unix(v.times[v.Version[links[i]]], 0).UTC().Format(time.RFC3339) + "</lastmod>"
		}
		fmt.Fprintf(b, "<%s><loc>%s</loc>%s</%[1]s>\n", inner, text(u), mod)
	}
	fmt.Fprintf(b, "</%s>\n", outer)
	return "application/xml"
}

// robots writes a robots.txt that allows everything and names the well-known documents.
func (s *Server) robots(v *version, origin string) []byte {
	var b bytes.Buffer
	b.WriteString("User-agent: *\nAllow: /\n")
	for _, id := range v.WellKnown {
		if v.Alive[id] {
			b.WriteString("Sitemap: " + origin + s.path[id] + "\n")
		}
	}
	return b.Bytes()
}
