package store

import (
	"fmt"

	"forage/graph"
)

// Time is whole seconds since the epoch; 0 means never or not known.
type Time = int64

// A State tells what the crawl still has to do with a document.
type State uint8

// The states of a document.
const (
	Queued  State = iota // waits to be fetched
	Fetched              // has been answered; Status tells how
	Skipped              // is not fetched under the rules that hold; Reason tells which
	Failed               // could not be fetched; Reason tells why
	numStates
)

var stateNames = [...]string{"queued", "fetched", "skipped", "failed"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// A Kind tells what a document turned out to be. It is set by the first answer of 2xx and
// stays when the document is gone later.
type Kind uint8

// The kinds of documents. Only a Page is a page to be discovered.
const (
	Unseen   Kind = iota // never answered 2xx
	Page                 // HTML
	Feed                 // RSS, Atom, JSON feed
	Sitemap              // sitemap or sitemap index
	Other                // neither HTML nor a list of URLs
	Redirect             // answers with a redirect by HTTP
	Soft404              // HTML, but the body that the site gives for what is not there
	numKinds
)

var kindNames = [...]string{"unseen", "page", "feed", "sitemap", "other", "redirect", "soft404"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// New tells whether a page is new to the web since the site's first visit.
type New uint8

// A page is new for certain, certainly not, or nobody can tell.
const (
	NotNew New = iota
	IsNew
	MaybeNew
)

func (n New) String() string { return [...]string{"no", "yes", "unknown", "unknown"}[n&3] }

// A Doc is what the store knows of one URL: a page, a feed, a sitemap, or a URL that has
// not been fetched. The zero value of a field means not known.
type Doc struct {
	ID    graph.Node
	URL   string // normalised
	Given string // as the link had it, where that differs: robots.txt must allow both
	Site  SiteID

	State    State
	Kind     Kind
	Reason   string // why Skipped or Failed, or why it waits: a short word such as "robots"
	Status   int    // HTTP status of the latest answer
	Attempts int    // fetches that failed since the last answer

	Discovered Time       // when the URL became known
	FirstSeen  Time       // when it first answered 2xx
	Cycle      Cycle      // of FirstSeen, or of Discovered as long as it has not answered
	FoundOn    graph.Node // document that led here first; graph.None: given by hand or well known
	Via        LinkKind   // how FoundOn led here
	Depth      int        // links from a seed, at discovery
	New        New

	Title       string
	Canonical   string // normalised URL that the page names as its own
	ContentType string
	Digest      uint64 // of the decoded body
	Bytes       int64  // of the decoded body
	Truncated   bool   // the body was cut at the limit
	Published   Time   // as the page, a feed or a news sitemap says
	LastMod     Time   // as a sitemap or Last-Modified says

	LastFetched Time
	Changed     Time       // when a change was last seen
	Gone        Time       // since when it is gone; 0: it is not
	GoneCycles  int        // cycles in a row that answered 404
	GoneIn      Cycle      // latest cycle that answered 404 or 410
	DuplicateOf graph.Node // graph.None: of no other

	ETag, LastModified string // validators, verbatim

	Visits, Changes int   // fetches that were answered, and how many of them showed a change
	FetchedIn       Cycle // latest cycle that fetched it
	LinksOf         Cycle // cycle of the latest version of its links; 0: none are stored
	NumLinks        int   // documents of the site that it links to now
	Evicted         bool  // its links and validators were given up to make room; see DB.Evict
	Seed            bool  // given by hand: scope and limits do not hold for it
	Main            bool  // feed or sitemap that the site itself points to
	Dated           bool  // feed or sitemap that tells when documents changed
	Named           bool  // robots.txt names it; false where the latest one names none

	stored bool  // there is a record in the store
	was    tally // what the record in the store counts as
}

// IsPage reports whether d counts as a page: it once answered 2xx with HTML of its own.
func (d *Doc) IsPage() bool { return d.Kind == Page }

// IsList reports whether d is a feed or a sitemap.
func (d *Doc) IsList() bool { return d.Kind == Feed || d.Kind == Sitemap }

// Alive reports whether the latest answer was 2xx or not modified.
func (d *Doc) Alive() bool {
	return d.State == Fetched && d.Gone == 0 && d.Status >= 200 && d.Status < 300
}

func (d *Doc) encode() []byte {
	w := writer{make([]byte, 0, 160+len(d.URL)+len(d.Title))}
	w.string(1, d.URL)
	w.uint(2, uint64(d.Site))
	w.uint(3, uint64(d.State))
	w.uint(4, uint64(d.Kind))
	w.string(5, d.Reason)
	w.uint(6, uint64(d.Status))
	w.uint(7, uint64(d.Attempts))
	w.int(8, d.Discovered)
	w.int(9, d.FirstSeen)
	w.uint(10, uint64(d.Cycle))
	w.node(11, d.FoundOn)
	w.uint(12, uint64(d.Via))
	w.uint(13, uint64(d.Depth))
	w.uint(14, uint64(d.New))
	w.string(15, d.Title)
	w.string(16, d.Canonical)
	w.string(17, d.ContentType)
	w.uint(18, d.Digest)
	w.uint(19, uint64(d.Bytes))
	w.bool(20, d.Truncated)
	w.int(21, d.Published)
	w.int(22, d.LastMod)
	w.int(23, d.LastFetched)
	w.int(24, d.Changed)
	w.int(25, d.Gone)
	w.uint(26, uint64(d.GoneCycles))
	w.uint(27, uint64(d.GoneIn))
	w.node(28, d.DuplicateOf)
	w.string(29, d.ETag)
	w.string(30, d.LastModified)
	w.uint(31, uint64(d.Visits))
	w.uint(32, uint64(d.Changes))
	w.uint(33, uint64(d.FetchedIn))
	w.uint(34, uint64(d.LinksOf))
	w.uint(35, uint64(d.NumLinks))
	w.bool(36, d.Seed)
	w.bool(37, d.Main)
	w.string(38, d.Given)
	w.bool(39, d.Evicted)
	w.bool(40, d.Dated)
	w.bool(41, d.Named)
	return w.b
}

func decodeDoc(id graph.Node, b []byte) (*Doc, error) {
	d := &Doc{ID: id, FoundOn: graph.None, DuplicateOf: graph.None, stored: true}
	err := fields(b, func(f field) error {
		switch f.tag {
		case 1:
			d.URL = string(f.bytes)
		case 2:
			d.Site = SiteID(f.v)
		case 3:
			d.State = State(f.v)
		case 4:
			d.Kind = Kind(f.v)
		case 5:
			d.Reason = string(f.bytes)
		case 6:
			d.Status = int(f.v)
		case 7:
			d.Attempts = int(f.v)
		case 8:
			d.Discovered = f.int()
		case 9:
			d.FirstSeen = f.int()
		case 10:
			d.Cycle = Cycle(f.v)
		case 11:
			d.FoundOn = f.node()
		case 12:
			d.Via = LinkKind(f.v)
		case 13:
			d.Depth = int(f.v)
		case 14:
			d.New = New(f.v)
		case 15:
			d.Title = string(f.bytes)
		case 16:
			d.Canonical = string(f.bytes)
		case 17:
			d.ContentType = string(f.bytes)
		case 18:
			d.Digest = f.v
		case 19:
			d.Bytes = int64(f.v)
		case 20:
			d.Truncated = f.v != 0
		case 21:
			d.Published = f.int()
		case 22:
			d.LastMod = f.int()
		case 23:
			d.LastFetched = f.int()
		case 24:
			d.Changed = f.int()
		case 25:
			d.Gone = f.int()
		case 26:
			d.GoneCycles = int(f.v)
		case 27:
			d.GoneIn = Cycle(f.v)
		case 28:
			d.DuplicateOf = f.node()
		case 29:
			d.ETag = string(f.bytes)
		case 30:
			d.LastModified = string(f.bytes)
		case 31:
			d.Visits = int(f.v)
		case 32:
			d.Changes = int(f.v)
		case 33:
			d.FetchedIn = Cycle(f.v)
		case 34:
			d.LinksOf = Cycle(f.v)
		case 35:
			d.NumLinks = int(f.v)
		case 36:
			d.Seed = f.v != 0
		case 37:
			d.Main = f.v != 0
		case 38:
			d.Given = string(f.bytes)
		case 39:
			d.Evicted = f.v != 0
		case 40:
			d.Dated = f.v != 0
		case 41:
			d.Named = f.v != 0
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("document %d: %w", id, err)
	}
	if d.URL == "" || d.State >= numStates || d.Kind >= numKinds || d.New > MaybeNew {
		return nil, fmt.Errorf("document %d: %w: state %d, kind %d, url %q", id, errCorrupt, d.State, d.Kind, d.URL)
	}
	d.was = d.tally()
	return d, nil
}
