package sitemap

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
)

// text reads a sitemap of one absolute URL a line. The first line that is not empty decides
// whether it is one.
func (p *parser) text(r io.Reader) {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4096), 1<<16)
	for s.Scan() {
		line := strings.Trim(s.Text(), "\ufeff \t\r")
		if line == "" {
			continue
		}
		if !absolute(line) {
			if p.doc.Kind == None {
				return
			}
			p.doc.Rejected++
			continue
		}
		p.doc.Kind = Sitemap
		if !p.add(line, p.base, Entry{}) {
			return
		}
	}
	p.doc.Problem = s.Err()
}

// json reads a JSON Feed (jsonfeed.org, versions 1 and 1.1).
func (p *parser) json(r io.Reader) {
	var feed struct {
		Version string `json:"version"`
		Home    string `json:"home_page_url"`
		Next    string `json:"next_url"`
		Items   []struct {
			ID        any    `json:"id"`
			URL       string `json:"url"`
			Published string `json:"date_published"`
			Modified  string `json:"date_modified"`
		} `json:"items"`
	}
	if err := json.NewDecoder(r).Decode(&feed); err != nil {
		p.doc.Problem = err
		return
	}
	if feed.Items == nil || !strings.Contains(feed.Version, "jsonfeed.org") && feed.Home == "" {
		return
	}
	p.doc.Kind = Feed
	p.add(feed.Home, p.base, Entry{})
	p.add(feed.Next, p.base, Entry{})
	for _, i := range feed.Items {
		e := Entry{LastMod: i.Modified, Published: ParseTime(i.Published)}
		if !p.add(i.URL, p.base, e) {
			return
		}
		if id, ok := i.ID.(string); ok && id != i.URL && (strings.HasPrefix(id, "http://") || strings.HasPrefix(id, "https://")) {
			p.add(id, p.base, e)
		}
	}
}
