package store

import (
	"encoding/json"
	"fmt"
	"forage/graph"
	"forage/store/record"
)

// A SiteID numbers the sites of a store from 1.
type SiteID uint32

// A SiteState tells how far the crawl of a site is.
type SiteState string

// The states of a site.
const (
	SiteCrawling SiteState = "crawling" // its first visit, or a cycle, is not finished
	SiteDone     SiteState = "done"     // nothing is left to be fetched in this cycle
	SitePaused   SiteState = "paused"   // by hand, or because it blocks us: Reason tells
	SiteFailed   SiteState = "failed"   // not one page could be fetched: Reason tells
)

// A Site is what was asked for and what holds for all its pages.
type Site struct {
	ID    SiteID `json:"id"`
	Name  string `json:"name"`  // host, host:port, domain or prefix; unique in the store
	Rules Rules  `json:"rules"` // what belongs to it and how much of it is fetched

	Seeds  []string  `json:"seeds"` // normalised URLs
	State  SiteState `json:"state"`
	Reason string    `json:"reason,omitempty"` // of SitePaused, SiteFailed

	Partial    bool       `json:"partial,omitempty"`     // the first visit did not see all of it
	PartialWhy string     `json:"partial_why,omitempty"` // a few words for people
	Ready      bool       `json:"ready,omitempty"`       // that its first visit has ended was told, see SiteReady
	Trouble    string     `json:"trouble,omitempty"`     // what was told of last, see SiteTrouble; "": it is over
	Adopted    *Adoption  `json:"adopted,omitempty"`     // nil: somebody named it
	FirstCycle Cycle      `json:"first_cycle"`           // its first visit
	LastCycle  Cycle      `json:"last_cycle"`            // the latest cycle that worked on it
	CrawledAt  Time       `json:"crawled_at,omitempty"`  // when its latest cycle ended
	Imported   int64      `json:"imported,omitempty"`    // the latest date of what was imported, in milliseconds since the epoch
	Probe      string     `json:"probe,omitempty"`       // what a random path answered: "404", "soft404", …
	Soft404    []uint64   `json:"soft404,omitempty"`     // fingerprints of bodies for what is not there
	CatchAll   bool       `json:"catch_all,omitempty"`   // its home page is one of these bodies
	Missing    []Missing  `json:"missing,omitempty"`     // what it answers for addresses that nothing has
	NeedsJS    bool       `json:"needs_js,omitempty"`    // scripts, but next to no links
	Traps      []string   `json:"traps,omitempty"`       // patterns that were cut, for people
	Looked     int        `json:"looked,omitempty"`      // fetches of pages for no reason but that lists had dropped them
	Departed   int        `json:"departed,omitempty"`    // of these, of pages that were not there
	Suspicions Suspicions `json:"suspicions,omitzero"`   // how many of them were right, by who had them
	Rows       []uint64   `json:"rows,omitempty"`        // digests of rows of links that many of its pages have, see document.Rows

	SameParams   []string `json:"same_params,omitempty"`   // parameters that do not change the page, and are left out of URLs
	NeededParams []string `json:"needed_params,omitempty"` // parameters that were taken for such, and are not

	LeftOut []LeftOut `json:"left_out,omitempty"` // groups of URLs that are not fetched, as others of them brought nothing
}

// Suspicions tells how often pages were gone of which something seemed to say so.
type Suspicions struct {
	ByList   map[graph.Node]Verdicts `json:"by_list,omitempty"` // of pages that a list had ceased to name
	Compared Verdicts                `json:"compared,omitzero"` // of pages that several lists, taken together, named no more, or no document
}

// Verdicts counts suspected pages that were looked at.
type Verdicts struct {
	Looked   int `json:"looked"`
	Departed int `json:"departed,omitempty"` // of them, those that were not there
}

// A Missing is what a site answered for an address that was made up, of the kind of one at which a page
// was.
type Missing struct {
	Template string `json:"template"`       // of the addresses, see scope.Name
	Says     uint64 `json:"says,omitempty"` // what the answer said, see link.Page.Says; 0: it was no page, and said so by its status
}

// A LeftOut is a group of URLs of a site that are not fetched, because others that look like them
// brought nothing. They are documents that are Skipped, with StoppedReason and the group.
type LeftOut struct {
	Group   string `json:"group"`   // "?replytocom=", "/*/feed/"
	URLs    int64  `json:"urls"`    // left out
	Fetched int64  `json:"fetched"` // of the group
	Why     string `json:"why"`     // what these brought, for people
}

// StoppedReason begins the reason of a document that is left out with its group.
const StoppedReason = "yield: "

// ShellText says, for people, what a site is of which Shell is true.
func (s *Site) ShellText() string {
	if s.NeedsJS {
		return "every path answers with the same page; its links are made by JavaScript: forage does not run it; its sitemap / feed / API would do"
	}
	return "every path answers with the same page, and its links lead to no other; a sitemap, a feed or an API would do"
}

// Rules tell which URLs belong to a site and which of them are fetched.
type Rules struct {
	Scope        string   `json:"scope"`                   // "host", "domain" or "prefix"
	Within       string   `json:"within"`                  // the host, domain or URL prefix
	Include      []string `json:"include,omitempty"`       // regular expressions on the normalised URL
	Exclude      []string `json:"exclude,omitempty"`       // the same; wins over Include
	IgnoreParams []string `json:"ignore_params,omitempty"` // query parameters dropped before identity
	MaxPages     int      `json:"max_pages,omitempty"`     // 0: no limit
	MaxDepth     int      `json:"max_depth,omitempty"`     // in links from a seed; -1: the seeds alone; 0: no limit
	Budget       int      `json:"budget,omitempty"`        // fetches in the first visit; 0: no limit
	DelayMillis  int64    `json:"delay_ms"`                // least gap between two requests to a host
	All          bool     `json:"all,omitempty"`           // also what seems to bring nothing is fetched
	Robots       string   `json:"robots,omitempty"`        // "ignore", or "" for obey
	AllowPrivate []string `json:"allow_private,omitempty"` // ranges of addresses that are asked although they are not public
	Contact      string   `json:"contact,omitempty"`       // who answers for Robots "ignore"
}

// Counters count the documents and the fetches of a site.
type Counters struct {
	State    [numStates]int64 // documents by State
	Kind     [numKinds]int64  // documents by Kind
	New      int64            // pages that are new for certain, duplicates left out
	Gone     int64            // pages and lists that are gone
	Fetches  int64            // answers to requests for documents
	Bytes    int64            // received with them and what pages need
	Errors   int64            // fetches that failed
	Distinct int64            // pages that lists have: see Doc.IsListed
	Hollow   int64            // pages with the body that the site gives for what is not there
	Actions  int64            // documents skipped by ReasonAction
	LeftOut  int64            // pages, feeds and sitemaps that rules leave out which came later

	Requisites     int64 // answers to requests for what pages need, which are not of Fetches
	RequisiteBytes int64 // of Bytes, received with them
}

// Shell reports whether the home page is all that a site gives, whatever it is asked for.
func (s *Site) Shell(c *Counters) bool { return s.CatchAll && c.Hollow > 0 && c.Hollow == c.Pages() }

// Known is the number of documents.
func (c *Counters) Known() int64 {
	n := int64(0)
	for _, v := range c.State {
		n += v
	}
	return n
}

// Queued is the number of documents that wait to be fetched.
func (c *Counters) Queued() int64 { return c.State[Queued] }

// Pages is the number of pages, duplicates included.
func (c *Counters) Pages() int64 { return c.Kind[Page] }

// Documents is the number of pages, duplicates included, feeds and sitemaps.
func (c *Counters) Documents() int64 { return c.Kind[Page] + c.Kind[Feed] + c.Kind[Sitemap] }

// Duplicates is the number of pages that lists leave out, as they repeat others.
func (c *Counters) Duplicates() int64 { return c.Pages() - c.Distinct }

// A tally is what one document adds to the counters of its site.
type tally struct {
	site     SiteID
	state    State
	kind     Kind
	isNew    bool
	gone     bool
	distinct bool
	hollow   bool
	leftOut  bool
	action   bool
	changed  Time // see events
	moved    Time // of what is distinct
	says     uint64
}

func (d *Doc) tally() tally {
	kind := d.Kind
	if d.LeftOut() {
		kind = Unseen
	}
	distinct, moved := d.IsListed(), Time(0)
	if distinct {
		moved = d.Moved
	}
	return tally{d.Site, d.State, kind, d.New == IsNew && distinct, d.Gone != 0 && (d.IsPage() || d.IsList()), distinct, d.Hollow && d.IsPage(), d.LeftOut() && (d.Kind == Page || d.Kind == Feed || d.Kind == Sitemap), d.State == Skipped && d.Reason == ReasonAction, d.Changed, moved, d.says()}
}

func (c *Counters) count(t tally, by int64) {
	c.State[t.state] += by
	c.Kind[t.kind] += by
	if t.isNew {
		c.New += by
	}
	if t.gone {
		c.Gone += by
	}
	if t.distinct {
		c.Distinct += by
	}
	if t.hollow {
		c.Hollow += by
	}
	if t.action {
		c.Actions += by
	}
	if t.leftOut {
		c.LeftOut += by
	}
}

// counterFields is the record of counters: states from tag 1 on, kinds from tag 16 on.
var counterFields = record.New(func() (all []record.Field[Counters]) {
	for i := range int(numStates) {
		all = append(all, record.Int(1+i, func(c *Counters) *int64 { return &c.State[i] }))
	}
	for i := range int(numKinds) {
		all = append(all, record.Int(16+i, func(c *Counters) *int64 { return &c.Kind[i] }))
	}
	return append(all,
		record.Int(32, func(c *Counters) *int64 { return &c.New }),
		record.Int(33, func(c *Counters) *int64 { return &c.Gone }),
		record.Int(34, func(c *Counters) *int64 { return &c.Fetches }),
		record.Int(35, func(c *Counters) *int64 { return &c.Bytes }),
		record.Int(36, func(c *Counters) *int64 { return &c.Errors }),
		record.Int(37, func(c *Counters) *int64 { return &c.Distinct }),
		record.Int(38, func(c *Counters) *int64 { return &c.Hollow }),
		record.Int(39, func(c *Counters) *int64 { return &c.LeftOut }),
		record.Int(40, func(c *Counters) *int64 { return &c.Actions }),
		record.Int(41, func(c *Counters) *int64 { return &c.Requisites }),
		record.Int(42, func(c *Counters) *int64 { return &c.RequisiteBytes }),
	)
}()...)

func decodeCounters(b []byte) (*Counters, error) {
	c := new(Counters)
	if err := counterFields.Decode(b, c); err != nil {
		return nil, fmt.Errorf("counters: %w", err)
	}
	return c, nil
}

// A site is kept as JSON, not by a codec: it holds lists of texts and a struct, there are few
// of them, and each is written once a cycle.
func encodeSite(s *Site) ([]byte, error) { return json.Marshal(s) }

func decodeSite(b []byte) (*Site, error) {
	s := new(Site)
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("site: %w: %v", record.ErrCorrupt, err)
	}
	return s, nil
}
