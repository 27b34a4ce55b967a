package store

import (
	"fmt"

	"forage/graph"
	"forage/store/record"
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

// A Class tells what a page is for, as its structure shows; see package document.
type Class uint8

// The classes of pages. Of pages that were fetched by a release without classes it is not known.
const (
	NoClass      Class = iota
	ContentPage        // there to be read
	ListPage           // there to lead to others: archives, tags, categories, pagination
	FormPage           // there to be filled in
	RedirectPage       // leads away by meta refresh
	numClasses
)

// A Novelty tells whether a page is new to the web since the site's first visit.
type Novelty uint8

// A page is new for certain, certainly not, or nobody can tell.
const (
	NotNew Novelty = iota
	IsNew
	MaybeNew
)

func (n Novelty) String() string { return [...]string{"no", "yes", "unknown", "unknown"}[n&3] }

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
	FirstSeen  Time       // when it first answered 2xx, to us or as an archive has it
	Cycle      Cycle      // of FirstSeen, or of Discovered as long as it has not answered
	FoundOn    graph.Node // document that led here first; graph.None: given by hand or well known
	Via        LinkKind   // how FoundOn led here
	Depth      int        // links from a seed, at discovery; where rules bound them, the fewest that are known
	New        Novelty

	Title       string
	Canonical   string // normalised URL that the page names as its own
	ContentType string
	Digest      uint64 // of the decoded body
	Shape       uint64 // of its first body that was none of the site's Soft404, or of its latest; only where the site has some
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
	Stands      bool       // for DuplicateOf, which is not a page so far: lists have it under that URL
	StandIn     graph.Node // the document that stands for it; graph.None: none does
	Class       Class      // of a page, by its latest body
	Passages    [2]uint32  // of a page: hashes of the longest runs of text in its latest body, see link.Layout
	Simhash     uint64     // of a page: of what its latest body says, see package simhash; 0: that is too little, or not known
	Dropped     int        // lists that named it and ceased to, since it was last fetched; see package novelty
	DroppedBy   graph.Node // that of these which was right most often; graph.None: lists that were compared
	Moved       Time       // when it was found to be the page MovedFrom at another URL; 0: it is not
	MovedIn     Cycle      // the cycle of Moved
	MovedFrom   graph.Node // graph.None: it is not

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
	Listed          bool  // a sitemap or feed names it that did not lead to it first; only noted where the site has a Soft404
	Hollow          bool  // its body is one of the site's Soft404, see Shape
	Action          bool  // a link called it something that is done when it is fetched
	Stub            bool  // New is MaybeNew only because it led away by meta refresh whenever it was fetched

	Learned  uint32 // when that, or that it is left out, was learned from, among all that was learned of its site; 0: not known
	Yield    uint8  // what its first answer brought, a yield.Outcome; 0: not known
	NoFollow bool   // only links with rel=nofollow lead to it
	Unlisted uint8  // fetches of a page that would be new but asks not to be listed; 0: it is none

	Use      string // what the site says of its use, as package fetch/use writes it
	UseKnown bool   // for Use: an answer was read for it; false where the latest is of a release that did not

	Away   bool  // of a page: the latest answer that told was none of a page, but a redirect or of another type
	TextIn Cycle // the latest cycle from which on there may be something else to tell of its text; 0: not known, see text.go

	stored    bool  // there is a record in the store
	was       tally // what the record in the store counts as
	visited   bool  // the record in the store tells of the latest visit, too, see DB.PutVisit
	lastVisit Visit // that visit
}

// IsPage reports whether d counts as a page: it once answered 2xx with HTML of its own, and rules
// do not leave it out.
func (d *Doc) IsPage() bool { return d.Kind == Page && d.State != Skipped }

// IsList reports whether d is a feed or a sitemap that rules do not leave out.
func (d *Doc) IsList() bool { return (d.Kind == Feed || d.Kind == Sitemap) && d.State != Skipped }

// ReasonAction is why a document is skipped that seems to do something for who is logged in.
const ReasonAction = "action"

// LeftOut reports whether d was answered, and is left out under rules that came later. It counts
// as skipped, and for none of the kinds of documents.
func (d *Doc) LeftOut() bool { return d.State == Skipped && d.Kind != Unseen }

// Sighted reports whether d was there, by what an archive says of it, and was never answered to us: FirstSeen is the earliest date that the
// archive has. It is known, so that it is not new, but not read: nobody knows what it leads to.
func (d *Doc) Sighted() bool { return d.Kind == Unseen && d.FirstSeen != 0 }

// NewDoc returns a document of a site that nobody has seen yet.
func NewDoc(url string, site SiteID) *Doc {
	return &Doc{URL: url, Site: site, FoundOn: graph.None, DuplicateOf: graph.None, StandIn: graph.None, MovedFrom: graph.None, DroppedBy: graph.None}
}

// IsListed reports whether lists of pages have d where nothing else is asked for: it is a page, and
// the first of those that are the same.
func (d *Doc) IsListed() bool { return d.IsPage() && !d.Repeats() }

// KindText is what is told as the kind of d: of a page content, list, form, redirect or duplicate, of
// others their Kind. Pages that were fetched by a release without classes count as content.
func (d *Doc) KindText() string {
	switch {
	case d.Kind != Page:
		return d.Kind.String()
	case d.Repeats():
		return "duplicate"
	case d.Class == ListPage:
		return "list"
	case d.Class == FormPage:
		return "form"
	case d.Class == RedirectPage:
		return "redirect"
	}
	return "content"
}

// Repeats reports whether d is a copy of another page, and stands for none.
func (d *Doc) Repeats() bool { return d.DuplicateOf != graph.None && !d.Stands }

// Alive reports whether the latest answer was 2xx or not modified.
func (d *Doc) Alive() bool {
	return d.State == Fetched && d.Gone == 0 && d.Status >= 200 && d.Status < 300
}

// Outcome is the latest answer in a few words for people; "" where there was none.
func (d *Doc) Outcome() string {
	switch {
	case d.Status == 0:
		return d.Reason
	case d.Reason != "":
		return fmt.Sprintf("status %d: %s", d.Status, d.Reason)
	}
	return fmt.Sprintf("status %d", d.Status)
}

// simhashTag is the tag of Doc.Simhash.
const simhashTag = 64

// docFields is the record of a document.
var docFields = record.New(
	record.Text(1, func(d *Doc) *string { return &d.URL }),
	record.Uint(2, func(d *Doc) *SiteID { return &d.Site }),
	record.Uint(3, func(d *Doc) *State { return &d.State }),
	record.Uint(4, func(d *Doc) *Kind { return &d.Kind }),
	record.Text(5, func(d *Doc) *string { return &d.Reason }),
	record.Uint(6, func(d *Doc) *int { return &d.Status }),
	record.Uint(7, func(d *Doc) *int { return &d.Attempts }),
	record.Int(8, func(d *Doc) *Time { return &d.Discovered }),
	record.Int(9, func(d *Doc) *Time { return &d.FirstSeen }),
	record.Uint(10, func(d *Doc) *Cycle { return &d.Cycle }),
	record.Node(11, func(d *Doc) *graph.Node { return &d.FoundOn }),
	record.Uint(12, func(d *Doc) *LinkKind { return &d.Via }),
	record.Uint(13, func(d *Doc) *int { return &d.Depth }),
	record.Uint(14, func(d *Doc) *Novelty { return &d.New }),
	record.Text(15, func(d *Doc) *string { return &d.Title }),
	record.Text(16, func(d *Doc) *string { return &d.Canonical }),
	record.Text(17, func(d *Doc) *string { return &d.ContentType }),
	record.Uint(18, func(d *Doc) *uint64 { return &d.Digest }),
	record.Uint(19, func(d *Doc) *int64 { return &d.Bytes }),
	record.Bool(20, func(d *Doc) *bool { return &d.Truncated }),
	record.Int(21, func(d *Doc) *Time { return &d.Published }),
	record.Int(22, func(d *Doc) *Time { return &d.LastMod }),
	record.Int(23, func(d *Doc) *Time { return &d.LastFetched }),
	record.Int(24, func(d *Doc) *Time { return &d.Changed }),
	record.Int(25, func(d *Doc) *Time { return &d.Gone }),
	record.Uint(26, func(d *Doc) *int { return &d.GoneCycles }),
	record.Uint(27, func(d *Doc) *Cycle { return &d.GoneIn }),
	record.Node(28, func(d *Doc) *graph.Node { return &d.DuplicateOf }),
	record.Text(29, func(d *Doc) *string { return &d.ETag }),
	record.Text(30, func(d *Doc) *string { return &d.LastModified }),
	record.Uint(31, func(d *Doc) *int { return &d.Visits }),
	record.Uint(32, func(d *Doc) *int { return &d.Changes }),
	record.Uint(33, func(d *Doc) *Cycle { return &d.FetchedIn }),
	record.Uint(34, func(d *Doc) *Cycle { return &d.LinksOf }),
	record.Uint(35, func(d *Doc) *int { return &d.NumLinks }),
	record.Bool(36, func(d *Doc) *bool { return &d.Seed }),
	record.Bool(37, func(d *Doc) *bool { return &d.Main }),
	record.Text(38, func(d *Doc) *string { return &d.Given }),
	record.Bool(39, func(d *Doc) *bool { return &d.Evicted }),
	record.Bool(40, func(d *Doc) *bool { return &d.Dated }),
	record.Bool(41, func(d *Doc) *bool { return &d.Named }),
	record.Bool(42, func(d *Doc) *bool { return &d.Stub }),
	record.Bool(43, func(d *Doc) *bool { return &d.Listed }),
	record.Bool(44, func(d *Doc) *bool { return &d.Hollow }),
	record.Uint(45, func(d *Doc) *uint64 { return &d.Shape }),
	record.Bool(46, func(d *Doc) *bool { return &d.Action }),
	record.Uint(47, func(d *Doc) *uint32 { return &d.Learned }),
	record.Node(48, func(d *Doc) *graph.Node { return &d.DroppedBy }),
	record.Bool(49, func(d *Doc) *bool { return &d.visited }),
	record.Text(50, func(d *Doc) *string { return &d.Use }),
	record.Bool(51, func(d *Doc) *bool { return &d.UseKnown }),
	record.Bool(52, func(d *Doc) *bool { return &d.Stands }),
	record.Node(53, func(d *Doc) *graph.Node { return &d.StandIn }),
	record.Uint(54, func(d *Doc) *Class { return &d.Class }),
	record.Uint(55, func(d *Doc) *uint32 { return &d.Passages[0] }),
	record.Uint(56, func(d *Doc) *uint32 { return &d.Passages[1] }),
	record.Uint(57, func(d *Doc) *int { return &d.Dropped }),
	record.Int(58, func(d *Doc) *Time { return &d.Moved }),
	record.Uint(59, func(d *Doc) *Cycle { return &d.MovedIn }),
	record.Node(60, func(d *Doc) *graph.Node { return &d.MovedFrom }),
	record.Uint(61, func(d *Doc) *uint8 { return &d.Yield }),
	record.Bool(62, func(d *Doc) *bool { return &d.NoFollow }),
	record.Uint(63, func(d *Doc) *uint8 { return &d.Unlisted }),
	record.Uint(simhashTag, func(d *Doc) *uint64 { return &d.Simhash }),
	record.Bool(65, func(d *Doc) *bool { return &d.Away }),
	record.Uint(66, func(d *Doc) *Cycle { return &d.TextIn }),
)

// visit is the latest visit as far as d tells of it.
func (d *Doc) visit() Visit {
	return Visit{Cycle: d.FetchedIn, At: d.LastFetched, Status: d.Status, Digest: d.Digest, Bytes: d.Bytes}
}

// visitedOnce reports whether no visit of d but the latest was ever made. A document that Repair restored does not
// know how often it was visited before, nor when it became known.
func (d *Doc) visitedOnce() bool { return d.Visits == 1 && d.Discovered != 0 }

// visits calls yield for the visits that rows yields and the one that d tells of, by cycle. A row of the cycle that
// d tells of was written for a record of d that is lost: it does not count.
func (d *Doc) visits(rows func(yield func(Visit) bool) error, yield func(Visit) bool) error {
	if d.visited && d.visitedOnce() {
		yield(d.lastVisit)
		return nil
	}
	last, more := d.visited, true
	err := rows(func(v Visit) bool {
		if last && d.lastVisit.Cycle < v.Cycle {
			if last, more = false, yield(d.lastVisit); !more {
				return false
			}
		}
		if d.visited && d.lastVisit.Cycle == v.Cycle {
			return true
		}
		more = yield(v)
		return more
	})
	if err == nil && more && last {
		yield(d.lastVisit)
	}
	return err
}

func (d *Doc) encode() []byte {
	return docFields.Append(make([]byte, 0, 160+len(d.URL)+len(d.Title)), d)
}

func decodeDoc(id graph.Node, b []byte) (*Doc, error) {
	d := new(Doc)
	if err := d.decode(id, b); err != nil {
		return nil, err
	}
	return d, nil
}

// blank is what a document is before anything is decoded.
var blank = *NewDoc("", 0)

// decode makes d the document id of a record.
func (d *Doc) decode(id graph.Node, b []byte) error {
	*d = blank
	d.ID, d.stored = id, true
	if err := docFields.Decode(b, d); err != nil {
		return fmt.Errorf("document %d: %w", id, err)
	}
	if d.URL == "" || d.State >= numStates || d.Kind >= numKinds || d.New > MaybeNew || d.Class >= numClasses {
		return fmt.Errorf("document %d: %w: state %d, kind %d, url %q", id, record.ErrCorrupt, d.State, d.Kind, d.URL)
	}
	d.was = d.tally()
	if d.visited {
		d.lastVisit = d.visit()
	}
	return nil
}
