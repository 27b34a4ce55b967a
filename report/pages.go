package report

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"forage/graph"
	"forage/internal/printable"
	"forage/store"
)

// Kinds are the kinds of pages.
var Kinds = []string{"content", "list", "form", "redirect", "duplicate"}

// A Selection tells which pages are listed. The zero value is of all pages that lists have.
type Selection struct {
	New, Changed, Gone, Moved *Since
	Site                      string
	Match                     *regexp.Regexp          // of the URL; nil: of any
	Kind                      string                  // one of Kinds; "": any, but for duplicates
	Unknown                   bool                    // with New: also pages that may be new
	Duplicates                bool                    // and with New: also those that have moved
	All                       bool                    // feeds and sitemaps too
	Excluded                  bool                    // also what rules leave out that came later
	Keep                      func(d *store.Doc) bool // of those selected; nil: all
}

// Since is a cycle, or a time where that is 0.
type Since struct {
	Cycle store.Cycle
	Time  store.Time
}

// ParseSince reads a cycle such as 3, or a time such as 2026-01-31T12:00:00Z or 2026-01-31.
func ParseSince(text string) (*Since, error) {
	if n, err := strconv.ParseUint(text, 10, 32); err == nil && n > 0 && len(text) < 10 {
		return &Since{Cycle: store.Cycle(n)}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return &Since{Time: t.Unix()}, nil
		}
	}
	return nil, fmt.Errorf("want a cycle such as 3 or a time such as 2026-01-31T12:00:00Z, got %q", text)
}

// A Page is what is told of a page, a feed or a sitemap.
type Page struct {
	URL         string  `json:"url"`
	Site        string  `json:"site"`
	New         string  `json:"new" doc:"yes, no or unknown"`
	FirstSeen   *string `json:"first_seen" format:"date-time"`
	Cycle       uint32  `json:"cycle" doc:"of first_seen"`
	FoundOn     *string `json:"found_on"`
	Status      *int    `json:"status"`
	Title       *string `json:"title"`
	Canonical   *string `json:"canonical"`
	ContentType *string `json:"content_type"`
	Digest      *string `json:"digest" doc:"of the body, 16 hexadecimal digits"`
	Bytes       int64   `json:"bytes"`
	Published   *string `json:"published" format:"date-time"`
	LastMod     *string `json:"lastmod" format:"date-time"`
	Depth       int     `json:"depth" doc:"links from a seed"`
	LastFetched *string `json:"last_fetched" format:"date-time"`
	Changed     *string `json:"changed" format:"date-time"`
	Gone        *string `json:"gone" format:"date-time"`
	Moved       *string `json:"moved" format:"date-time" doc:"when it was found to be moved_from"`
	MovedFrom   *string `json:"moved_from" doc:"the URL that it had"`
	DuplicateOf *string `json:"duplicate_of"`
	Near        *string `json:"duplicate_near,omitempty" doc:"the first page of the site that says nearly the same; absent: there is none, or it was not looked for, as in lists that come in parts"`
	FetchedAs   *string `json:"fetched_as" doc:"the URL that was fetched, where that stands for url"`
	Kind        string  `json:"kind" doc:"content, list, form, redirect or duplicate; of other documents feed or sitemap"`
	Visits      int     `json:"visits" doc:"fetches that were answered"`
	Changes     int     `json:"changes" doc:"of them, those that found another body than the one before"`
	LeftOut     *string `json:"left_out,omitempty" doc:"the rule that leaves it out; absent: none does"`
	Use         *Use    `json:"use,omitempty" doc:"what the site says of its use; absent: nothing, or it is not known"`
}

// Pages calls yield for the pages selected, by site, then in the order in which they became known; of new ones content
// comes first. brief: of each page the URL is enough. The Page is a new one in each call. An error of yield ends the list,
// and is returned; ErrNotFound of the store: there is no such site. O(documents), twice unless brief, and what simhash.First
// takes; memory for that, and 12 bytes for each page of a site.
func (sel *Selection) Pages(v *store.View, brief bool, yield func(*Page) error) error {
	sites, err := v.Sites()
	if err != nil {
		return err
	}
	c := v.Cursor()
	defer c.Close()
	found := sel.Site == ""
	for _, s := range sites {
		if sel.Site != "" && s.Name != sel.Site {
			continue
		}
		found = true
		var rest []graph.Node // new pages that are not content
		var failed error
		near := &near{view: v, site: s.ID}
		list := func(d *store.Doc) {
			var p *Page
			if p, failed = sel.page(c, s, d, near, brief); failed == nil && p != nil {
				failed = yield(p)
			}
		}
		err := c.SiteDocs(s.ID, func(d *store.Doc) bool {
			var ok bool
			switch ok, failed = sel.selects(c, d); {
			case !ok || failed != nil:
			case sel.New != nil && d.KindText() != "content":
				rest = append(rest, d.ID)
			default:
				list(d)
			}
			return failed == nil
		})
		for _, id := range rest {
			if err != nil || failed != nil {
				break
			}
			var d *store.Doc
			if d, err = v.Doc(id); err == nil {
				list(d)
			}
		}
		if err := errors.Join(err, failed); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("site %q: %w", sel.Site, store.ErrNotFound)
	}
	return nil
}

// A Place is where a list of pages goes on: at a document of a site. The zero Place is its beginning.
type Place struct {
	Site store.SiteID
	Doc  graph.Node
}

// String is p as ParsePlace reads it: 16 hexadecimal digits.
func (p Place) String() string { return fmt.Sprintf("%08x%08x", uint32(p.Site), uint32(p.Doc)) }

// ParsePlace reads a Place.
func ParsePlace(text string) (Place, error) {
	n, err := strconv.ParseUint(text, 16, 64)
	p := Place{store.SiteID(n >> 32), graph.Node(n)}
	if err != nil || p.String() != text {
		return Place{}, fmt.Errorf("%q is no place in a list", text)
	}
	return p, nil
}

// Part returns up to limit of the pages selected, from a place on, by site and then in the order in which they became
// known, and where the list goes on; nil: this was the end of it. It looks at documents until stop says that they were
// enough, at one at least, so that a part may be empty though there is more. Error: ErrNotFound of the store where there is
// no such site. O(documents looked at).
func (sel *Selection) Part(v *store.View, from Place, limit int, stop func(looked int) bool) (pages []*Page, next *Place, err error) {
	if sel.Site != "" {
		s, err := v.SiteNamed(sel.Site)
		if err != nil {
			return nil, nil, fmt.Errorf("site %q: %w", sel.Site, err)
		}
		if from.Site != s.ID {
			from = Place{Site: s.ID}
		}
	}
	c := v.Cursor()
	defer c.Close()
	looked := 0
	var failed error
	err = v.SitesFrom(from.Site, func(s *store.Site) bool {
		if sel.Site != "" && s.ID != from.Site {
			return false
		}
		first := graph.Node(0)
		if s.ID == from.Site {
			first = from.Doc
		}
		failed = errors.Join(failed, c.SiteDocsFrom(s.ID, first, func(d *store.Doc) bool {
			if len(pages) == limit || looked > 0 && stop(looked) {
				next = &Place{s.ID, d.ID}
				return false
			}
			looked++
			var ok bool
			var p *Page
			if ok, failed = sel.selects(c, d); failed == nil && ok {
				if p, failed = sel.page(c, s, d, nil, false); failed == nil && p != nil {
					pages = append(pages, p)
				}
			}
			return failed == nil
		}))
		return failed == nil && next == nil
	})
	return pages, next, errors.Join(err, failed)
}

// page returns what is told of d, nil where its URL is not selected. near: may be nil.
func (sel *Selection) page(c *store.Cursor, s *store.Site, d *store.Doc, near *near, brief bool) (*Page, error) {
	p := &Page{}
	var err error
	if p.URL, p.FetchedAs, err = listedAs(c, d, sel.duplicates()); err != nil || sel.Match != nil && !sel.Match.MatchString(p.URL) {
		return nil, err
	}
	if brief {
		return p, nil
	}
	if err := p.fill(c, s, d); err != nil || near == nil {
		return p, err
	}
	first, err := near.first(d)
	if err != nil || first == nil {
		return p, err
	}
	url, _, err := listedAs(c, first, sel.duplicates())
	p.Near = &url
	return p, err
}

func (sel *Selection) duplicates() bool { return sel.Duplicates || sel.Kind == "duplicate" }

// selects reports whether d is to be listed, whatever its URL.
func (sel *Selection) selects(c *store.Cursor, d *store.Doc) (bool, error) {
	switch {
	case d.LeftOut() && !sel.Excluded:
		return false, nil
	case d.Kind != store.Page && !(sel.All && (d.Kind == store.Feed || d.Kind == store.Sitemap)):
		return false, nil
	case d.Kind == store.Page && d.Repeats() && !sel.duplicates():
		return false, nil
	case sel.Kind != "" && d.KindText() != sel.Kind:
		return false, nil
	case sel.New != nil && !(d.New == store.IsNew || sel.Unknown && d.New == store.MaybeNew || sel.duplicates() && d.Moved != 0):
		return false, nil
	case sel.New != nil && (d.Cycle < sel.New.Cycle || d.FirstSeen < sel.New.Time):
		return false, nil
	case sel.Gone != nil && (d.Gone == 0 || d.Gone < sel.Gone.Time || d.GoneIn < sel.Gone.Cycle):
		return false, nil
	case sel.Moved != nil && (d.Moved == 0 || d.Moved < sel.Moved.Time || d.MovedIn < sel.Moved.Cycle):
		return false, nil
	case sel.Changed != nil:
		if d.Changed == 0 || d.Changed < sel.Changed.Time {
			return false, nil
		}
		if changed, err := changedSince(c, d, sel.Changed.Cycle); err != nil || !changed {
			return false, err
		}
	}
	return sel.Keep == nil || sel.Keep(d), nil
}

// changedSince reports whether a fetch in cycle c or later found another body than before. The
// cycles of a site have ascending numbers, so that one number serves for all sites.
func changedSince(c *store.Cursor, d *store.Doc, cycle store.Cycle) (changed bool, err error) {
	if cycle == 0 {
		return true, nil
	}
	last := uint64(0)
	err = c.Visits(d, func(visit store.Visit) bool {
		if visit.Digest != 0 {
			changed = changed || last != 0 && visit.Digest != last && visit.Cycle >= cycle
			last = visit.Digest
		}
		return true
	})
	return changed, err
}

// AppendJSON appends p as encoding/json and WriteJSON write it, without reflection: a list may have millions.
func (p *Page) AppendJSON(b []byte) []byte {
	text := func(key, s string) {
		b = append(append(append(b, ",\""...), key...), "\":"...)
		b = printable.AppendString(b, s)
	}
	null := func(key string, s *string) {
		if s != nil {
			text(key, *s)
			return
		}
		b = append(append(append(b, ",\""...), key...), "\":null"...)
	}
	number := func(key string, n int64) {
		b = append(append(append(b, ",\""...), key...), "\":"...)
		b = strconv.AppendInt(b, n, 10)
	}
	b = printable.AppendString(append(b, `{"url":`...), p.URL)
	text("site", p.Site)
	text("new", p.New)
	null("first_seen", p.FirstSeen)
	number("cycle", int64(p.Cycle))
	null("found_on", p.FoundOn)
	if p.Status != nil {
		number("status", int64(*p.Status))
	} else {
		null("status", nil)
	}
	null("title", p.Title)
	null("canonical", p.Canonical)
	null("content_type", p.ContentType)
	null("digest", p.Digest)
	number("bytes", p.Bytes)
	null("published", p.Published)
	null("lastmod", p.LastMod)
	number("depth", int64(p.Depth))
	null("last_fetched", p.LastFetched)
	null("changed", p.Changed)
	null("gone", p.Gone)
	null("moved", p.Moved)
	null("moved_from", p.MovedFrom)
	null("duplicate_of", p.DuplicateOf)
	if p.Near != nil {
		text("duplicate_near", *p.Near)
	}
	null("fetched_as", p.FetchedAs)
	text("kind", p.Kind)
	number("visits", int64(p.Visits))
	number("changes", int64(p.Changes))
	if p.LeftOut != nil {
		text("left_out", *p.LeftOut)
	}
	if p.Use != nil {
		b = p.Use.appendJSON(append(b, `,"use":`...))
	}
	return append(b, '}')
}

// listedAs returns the URL that d is listed under, and the one that was fetched where that is another.
// own: under its own URL, even where it stands for another one.
func listedAs(c *store.Cursor, d *store.Doc, own bool) (url string, fetched *string, err error) {
	if !d.Stands || own {
		return d.URL, nil, nil
	}
	if url, err = c.URL(d.DuplicateOf); err != nil {
		return "", nil, fmt.Errorf("document %d: %w", d.DuplicateOf, err)
	}
	return url, null(d.URL), nil
}

// fill sets what is known of d, which listedAs has named.
func (p *Page) fill(c *store.Cursor, s *store.Site, d *store.Doc) error {
	*p = Page{
		URL: p.URL, FetchedAs: p.FetchedAs, Site: s.Name, New: d.New.String(), FirstSeen: stamp(d.FirstSeen), Cycle: uint32(d.Cycle),
		Status: null(d.Status), Title: null(d.Title), Canonical: null(d.Canonical), ContentType: null(d.ContentType),
		Bytes: d.Bytes, Published: stamp(d.Published), LastMod: stamp(d.LastMod), Depth: d.Depth,
		LastFetched: stamp(d.LastFetched), Changed: stamp(d.Changed), Gone: stamp(d.Gone), Moved: stamp(d.Moved), Kind: d.KindText(), Visits: d.Visits, Changes: d.Changes,
		Use: NewUse(strings.Clone(d.Use)), // d is the cursor's
	}
	if d.LeftOut() {
		reason := d.Reason // d is the cursor's
		p.LeftOut = &reason
	}
	if d.Digest != 0 {
		p.Digest = null(hex.EncodeToString(binary.BigEndian.AppendUint64(nil, d.Digest)))
	}
	var err error
	if p.FoundOn, err = urlOf(c, d.FoundOn); err != nil {
		return err
	}
	if d.Moved != 0 {
		if p.MovedFrom, err = urlOf(c, d.MovedFrom); err != nil {
			return err
		}
	}
	if p.FetchedAs == nil {
		p.DuplicateOf, err = urlOf(c, d.DuplicateOf)
	}
	return err
}

// urlOf returns the URL of a document, nil for graph.None.
func urlOf(c *store.Cursor, id graph.Node) (*string, error) {
	if id == graph.None {
		return nil, nil
	}
	url, err := c.URL(id)
	if err != nil {
		return nil, fmt.Errorf("document %d: %w", id, err)
	}
	return &url, nil
}
