package serve

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
	"github.com/danielgtaylor/huma/v2"

	"forage/report"
	"forage/store"
)

// feedPages is how many new pages a feed has at most, and where nothing else is asked for.
const feedPages = 100

// maxLookedBack is how many of the latest events a feed is made of.
const maxLookedBack = 20_000

// maxMatching is how long a feed may take to compare URLs with a pattern: one of 20 letters can cost half an hour.
var maxMatching = 5 * time.Second // a constant but for a test

// maxPattern bounds such a pattern, in bytes: between two events nobody looks at the time.
const maxPattern = 1000

// maxTitle bounds a title in a feed, in bytes.
const maxTitle = 1000

// A feed is the latest new pages, of all sites or of one.
type feed struct {
	title   string
	id      string // the same wherever and whenever it is asked for
	home    string // the URL of the service
	self    string // the URL of the feed, without a token
	updated time.Time
	pages   []*store.Event
}

// feeds registers the feeds in both formats.
func (s *server) feeds(mux *http.ServeMux) {
	for path, format := range map[string]struct {
		contentType string
		write       func(io.Writer, *feed) error
	}{
		"feed.atom": {"application/atom+xml; charset=utf-8", writeAtom},
		"feed.json": {"application/feed+json; charset=utf-8", writeJSONFeed},
	} {
		h := func(w http.ResponseWriter, r *http.Request) { s.feed(w, r, format.contentType, format.write) }
		mux.HandleFunc("GET /"+path, h)
		mux.HandleFunc("GET /sites/{site}/"+path, h)
	}
}

// lastEvent is what the last event of a store is called.
type lastEvent struct {
	seq uint64
	id  string
}

// lastEvent returns the number and the id of the last event: another store, or the same one as it was once, does not have both. It
// reads them when there is another one.
func (s *server) lastEvent() (*lastEvent, error) {
	seq := s.DB.LastEvent()
	if e := s.last.Load(); e != nil && e.seq == seq {
		return e, nil
	}
	e := &lastEvent{seq: seq}
	if seq == 0 {
		return e, nil
	}
	err := s.read(func(v *store.View) error {
		return v.Events(seq-1, func(last *store.Event) bool {
			if last.Seq == seq { // else it is not kept any more
				e.id = last.ID()
			}
			return false
		})
	})
	if err == nil {
		s.last.Store(e)
	}
	return e, err
}

// feed answers with a feed. One that has not changed is not made, and nothing is read for it: its tag tells what was
// asked for, and which event was the last.
func (s *server) feed(w http.ResponseWriter, r *http.Request, contentType string, write func(io.Writer, *feed) error) {
	last, err := s.lastEvent() // before what is read, so that nothing newer is taken for what this tag stands for
	if err != nil {
		writeError(w, err)
		return
	}
	query := r.URL.Query()
	query.Del("token")
	home := s.PublicURL
	if home == "" {
		home = "http://" + r.Host + "/"
	}
	home = strings.TrimSuffix(home, "/") + s.At + "/"
	f := &feed{home: home, self: strings.TrimSuffix(home, "/") + r.URL.EscapedPath(), id: "urn:forage:feed:" + strings.TrimPrefix(s.At+"/", "/") + r.PathValue("site")}
	if len(query) > 0 {
		f.self += "?" + query.Encode()
		f.id += "?" + query.Encode()
	}
	tag := fmt.Sprintf(`"%x-%016x"`, last.seq, xxhash.Sum64String(s.Version+"\x00"+last.id+"\x00"+f.self))
	w.Header().Set("ETag", tag)
	if hasTag(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	err = s.readFeed(f, r.PathValue("site"), query)
	if err != nil {
		w.Header().Del("ETag")
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", contentType)
	if err := write(w, f); err != nil {
		s.Log.Debug("a feed was cut off", "error", err)
	}
}

// hasTag reports whether a tag is one of a list of If-None-Match.
func hasTag(list, tag string) bool {
	for t := range strings.SplitSeq(list, ",") {
		if t = strings.TrimPrefix(strings.TrimSpace(t), "W/"); t == tag || t == "*" {
			return true
		}
	}
	return false
}

// readFeed reads the pages of a feed: content comes first, and has the places first, then the latest one.
func (s *server) readFeed(f *feed, site string, query url.Values) error {
	limit := feedPages
	for key := range query {
		if !slices.Contains([]string{"match", "limit", "kind", "q"}, key) {
			return huma.Error400BadRequest(fmt.Sprintf("unknown parameter %q; known: match, limit, kind, q, token", key))
		}
	}
	if text := query.Get("limit"); query.Has("limit") {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > feedPages {
			return huma.Error400BadRequest(fmt.Sprintf("limit=%s: want a number from 1 to %d", text, feedPages))
		}
	}
	if n := len(query.Get("match")); n > maxPattern {
		return huma.Error400BadRequest(fmt.Sprintf("match: %d bytes, at most %d", n, maxPattern))
	}
	match, err := regexp.Compile(query.Get("match"))
	if err != nil {
		return huma.Error400BadRequest(fmt.Sprintf("match: %v", err))
	}
	if n := len(query.Get("q")); n > maxSearch {
		return huma.Error400BadRequest(fmt.Sprintf("q: %d bytes, at most %d", n, maxSearch))
	}
	kind, text := query.Get("kind"), searched(query.Get("q"))
	f.title = "New pages"
	return s.read(func(v *store.View) error {
		if site != "" {
			if _, err := v.SiteNamed(site); err != nil {
				return err
			}
			f.title += " of " + site
		}
		var content, others []*store.Event
		looked, late := 0, false
		end := time.Now().Add(maxMatching)
		err := v.EventsBack(func(e *store.Event) bool {
			looked++
			switch {
			case e.Type != store.PageNew, site != "" && e.Site != site, kind != "" && e.Kind != kind, !hasText(e, text), !match.MatchString(e.URL):
			case e.Kind == "content":
				content = append(content, e)
			case len(others) < limit:
				others = append(others, e)
			}
			late = time.Now().After(end)
			return len(content) < limit && looked < maxLookedBack && !late
		})
		if err == nil && late {
			return huma.Error400BadRequest("match: the pattern takes too long")
		}
		f.pages = append(content, others[:min(len(others), limit-len(content))]...)
		for _, e := range f.pages {
			if at := time.Unix(e.At, 0).UTC(); at.After(f.updated) {
				f.updated = at
			}
		}
		if len(f.pages) == 0 {
			f.updated = time.Unix(0, 0).UTC()
		}
		return err
	})
}

// plain is text that strangers wrote as one line of text: without what is not seen but does something, and cut
// where it is long. Joiners, which are part of words and emoji, stay.
func plain(s string) string {
	if len(s) > maxTitle {
		s = s[:maxTitle] // what is left of a character that was cut is dropped below
		s += "…"
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == 0x200c || r == 0x200d:
			return r
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co), r == utf8.RuneError, r&0xfffe == 0xfffe:
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// entryTitle is the title of a page, or its URL where it has none.
func entryTitle(e *store.Event) string {
	if t := plain(e.Title); t != "" {
		return t
	}
	return e.URL
}

// entryID is the name of a page in a feed.
func entryID(e *store.Event) string { return "urn:forage:" + e.ID() }

// dates are when a page was published, as far as that is known, and when it was found.
func dates(e *store.Event) (published, found string) {
	found = time.Unix(e.At, 0).UTC().Format(time.RFC3339)
	if e.Published != 0 {
		return time.Unix(e.Published, 0).UTC().Format(time.RFC3339), found
	}
	return found, found
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr,omitempty"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID        string   `xml:"id"`
	Title     string   `xml:"title"`
	Link      atomLink `xml:"link"`
	Published string   `xml:"published"`
	Updated   string   `xml:"updated"`
	Category  struct {
		Term string `xml:"term,attr"`
	} `xml:"category"`
}

type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Author  string      `xml:"author>name"`
	Links   []atomLink  `xml:"link"`
	Entries []atomEntry `xml:"entry"`
}

// writeAtom writes a feed as Atom (RFC 4287).
func writeAtom(w io.Writer, f *feed) error {
	a := atomFeed{
		ID: f.id, Title: f.title, Updated: f.updated.Format(time.RFC3339), Author: "forage",
		Links: []atomLink{{"self", "application/atom+xml", f.self}, {"alternate", "", f.home}},
	}
	for _, e := range f.pages {
		published, found := dates(e)
		entry := atomEntry{ID: entryID(e), Title: entryTitle(e), Link: atomLink{Rel: "alternate", Href: e.URL}, Published: published, Updated: found}
		entry.Category.Term = e.Kind
		a.Entries = append(a.Entries, entry)
	}
	b, err := xml.Marshal(&a)
	if err != nil {
		return err
	}
	_, err = w.Write(append([]byte(xml.Header), b...))
	return err
}

type jsonItem struct {
	ID        string   `json:"id"`
	URL       string   `json:"url"`
	Title     string   `json:"title"`
	Text      string   `json:"content_text"`
	Published string   `json:"date_published"`
	Tags      []string `json:"tags"`
}

type jsonFeed struct {
	Version string     `json:"version"`
	Title   string     `json:"title"`
	Home    string     `json:"home_page_url"`
	Self    string     `json:"feed_url"`
	Items   []jsonItem `json:"items"`
}

// writeJSONFeed writes a feed as JSON Feed 1.1.
func writeJSONFeed(w io.Writer, f *feed) error {
	j := jsonFeed{Version: "https://jsonfeed.org/version/1.1", Title: f.title, Home: f.home, Self: f.self, Items: []jsonItem{}}
	for _, e := range f.pages {
		published, _ := dates(e)
		j.Items = append(j.Items, jsonItem{entryID(e), e.URL, entryTitle(e), e.URL, published, []string{e.Kind}})
	}
	return report.WriteJSON(w, &j)
}
