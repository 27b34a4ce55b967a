// Package inspect shows what the crawler makes of one document: which URLs a robots.txt allows, the
// links of a page, the identity of a URL, the URLs of a sitemap or feed, the encoding of a page.
//
// Start with Inspector. It fetches nothing and decides nothing: each answer is what the packages
// below fetch tell the crawl, as a record that can be written as JSON. Batch answers questions that
// are JSON themselves, which is how the conformance cases are run.
package inspect

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"forage/fetch"
	"forage/fetch/link"
	"forage/fetch/robots"
	"forage/fetch/sitemap"
	"forage/fetch/use"
)

// An Inspector answers questions. The zero value is ready; it is not safe for concurrent use.
type Inspector struct {
	IgnoreParams []string // query parameters that URLs lose, as in link.DropParams

	links link.Extractor
}

// A Verdict is what a robots.txt says of a URL.
type Verdict struct {
	Allow bool    `json:"allow"`
	URL   string  `json:"url"`
	Agent string  `json:"agent"`
	Delay float64 `json:"crawl_delay"` // seconds
	Maps  int     `json:"sitemaps"`    // how many the file names

	Usage  []string `json:"content_usage,omitempty"` // Content-Usage lines that hold for the URL
	Signal []string `json:"content_signal,omitempty"`
}

// Robots tells whether f allows the agent, a product token, to fetch a URL, which is matched as it
// is given.
func (*Inspector) Robots(f *robots.File, agent, url string) Verdict {
	usage, signal := f.Preferences(agent, url)
	return Verdict{f.Allowed(agent, url), url, agent, f.CrawlDelay(agent).Seconds(), len(f.Sitemaps), usage, signal}
}

// A Page is what the crawler reads in a page. Lists hold each URL once, in the order of the page.
type Page struct {
	Links     []string `json:"links"`
	Embeds    []string `json:"embeds"`
	NoFollow  []string `json:"nofollow"`
	Title     string   `json:"title"`
	Canonical string   `json:"canonical"`
	Published string   `json:"published"` // RFC 3339; empty: not told
	Charset   string   `json:"encoding"`
	Routes    int      `json:"routes"`
	Bad       int      `json:"bad"`
	Truncated bool     `json:"truncated"`
	Script    bool     `json:"needs_script"`
	Read      bool     `json:"read"`              // false: it is of a type that the crawler reads no links from, and the rest is empty
	Use       []string `json:"use,omitempty"`     // what is said of its use, as use.Use.String has it
	Details   []Link   `json:"details,omitempty"` // of every link, repetitions included
}

// A Link is one link of a page.
type Link struct {
	URL      string `json:"url"`
	Kind     string `json:"kind"`
	NoFollow bool   `json:"nofollow"`
	Text     string `json:"text"`
	Path     string `json:"path"` // where it stands in the page
}

// Links reads a page, embedded resources included; details asks for Page.Details. What is no page by
// o.ContentType and its first bytes has no links, as in a crawl; without one it is taken for HTML.
func (i *Inspector) Links(body []byte, o link.Options, details bool) *Page {
	if o.ContentType != "" && !fetch.KindOf(o.ContentType, body).IsPage(body) {
		return &Page{Links: []string{}, Embeds: []string{}, NoFollow: []string{}}
	}
	o.Embeds, o.Paths, o.Agent = true, details, fetch.AgentToken
	p := i.links.Extract(body, o)
	a := &Page{Read: true, Embeds: unique(p.Embeds), Title: p.Title, Canonical: p.Canonical, Charset: p.Charset, Routes: p.Routes, Bad: p.Bad, Truncated: p.Truncated, Script: p.NeedsScript()}
	said := use.Use{Page: p.Said}
	for _, v := range o.Robots {
		said.Header.Rules.AddHeader(v, o.Agent)
	}
	if text := said.String(); text != "" {
		a.Use = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	if !p.Published.IsZero() {
		a.Published = p.Published.Format(time.RFC3339)
	}
	for k := range p.Links {
		l := &p.Links[k]
		a.Links = append(a.Links, l.URL)
		if l.NoFollow {
			a.NoFollow = append(a.NoFollow, l.URL)
		}
		if details {
			a.Details = append(a.Details, Link{l.URL, l.Kind.String(), l.NoFollow, p.Text(l), p.Path(l)})
		}
	}
	a.Links, a.NoFollow = unique(a.Links), unique(a.NoFollow)
	return a
}

// An Identity is the form under which the crawler knows a URL. URL and Identity are nil if it is
// refused, and Error tells why.
type Identity struct {
	URL      *string `json:"url"` // with a base, as a browser resolves it; else the identity
	Identity *string `json:"identity"`
	Error    string  `json:"error,omitempty"`
}

// URL identifies a URL, relative to base unless that is "".
func (i *Inspector) URL(raw, base string) Identity {
	fail := func(err error) Identity { return Identity{Error: err.Error()} }
	if base == "" {
		id, err := link.Parse(raw)
		if err != nil {
			return fail(err)
		}
		id = link.DropParams(id, i.IgnoreParams)
		return Identity{URL: &id, Identity: &id}
	}
	b, err := link.NewBase(base)
	if err != nil {
		return fail(fmt.Errorf("base: %w", err))
	}
	href, err := b.Reference(raw)
	if err != nil {
		return fail(err)
	}
	id, err := b.Resolve(raw)
	if err != nil {
		return fail(err)
	}
	id = link.DropParams(id, i.IgnoreParams)
	return Identity{URL: &href, Identity: &id}
}

// A List is what the crawler reads in a sitemap or feed. Its lists hold each URL once, in the order
// of the document.
type List struct {
	Kind      string            `json:"kind"` // sitemap, index, feed or none
	URLs      []string          `json:"urls"`
	LastMod   map[string]string `json:"lastmod"`
	Published map[string]int64  `json:"published"` // seconds since the epoch
	Sitemaps  []string          `json:"sitemaps"`
	Rejected  []string          `json:"rejected"` // a sitemap's URLs of other hosts
	Cut       bool              `json:"cut"`      // at the limits of the protocol
	Problem   string            `json:"problem,omitempty"`
}

// Sitemap reads a sitemap or feed, perhaps compressed by gzip, whose URL is at. An error says that
// at is no URL; what is wrong with the document is List.Problem.
func (*Inspector) Sitemap(body []byte, at, contentType string) (*List, error) {
	a := &List{LastMod: map[string]string{}, Published: map[string]int64{}}
	d, err := sitemap.Parse(body, at, contentType)
	if err == nil {
		a.Kind, a.Cut = d.Kind.String(), d.Cut
		if d.Problem != nil {
			a.Problem = d.Problem.Error()
		}
		a.enter(d, Authority(at))
	}
	a.URLs, a.Sitemaps, a.Rejected = unique(a.URLs), unique(a.Sitemaps), unique(a.Rejected)
	return a, err
}

// enter takes the entries of a document of a host.
func (a *List) enter(d *sitemap.Document, host string) {
	for _, e := range d.Entries {
		switch {
		case e.Sitemap:
			a.Sitemaps = append(a.Sitemaps, e.URL)
		case d.Kind == sitemap.Sitemap && Authority(e.URL) != host:
			a.Rejected = append(a.Rejected, e.URL)
			continue
		default:
			a.URLs = append(a.URLs, e.URL)
		}
		if e.LastMod != "" {
			a.LastMod[e.URL] = e.LastMod
		}
		if e.Published != 0 {
			a.Published[e.URL] = e.Published
		}
	}
}

// An Encoding is the encoding of a page.
type Encoding struct {
	Encoding string `json:"encoding"`
}

// Charset tells the encoding of a page that came with a Content-Type, "" for none.
func (*Inspector) Charset(body []byte, contentType string) Encoding {
	return Encoding{link.Charset(body, contentType)}
}

// Authority returns the host and port of a URL, "" for what is none.
func Authority(u string) string {
	id, err := link.Parse(u)
	if err != nil {
		return ""
	}
	p, err := url.Parse(id)
	if err != nil {
		return ""
	}
	return p.Host
}

// unique returns s without repetitions, in order; never nil.
func unique(s []string) []string {
	seen := make(map[string]bool, len(s))
	out := []string{}
	for _, v := range s {
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}
