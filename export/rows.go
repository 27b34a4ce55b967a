package export

import (
	"encoding/binary"
	"encoding/hex"
	"strings"

	"forage/fetch/use"
	"forage/graph"
	"forage/store"
)

// The rows of the tables, as docs/tables.md tells them. A field that is optional is null where it is zero; times are milliseconds
// since the epoch. Documents are named by their numbers in the store.

type siteRow struct {
	Site            string   `parquet:"site"`
	Scope           string   `parquet:"scope,dict"`
	Within          string   `parquet:"within"`
	Seeds           []string `parquet:"seeds,list"`
	State           string   `parquet:"state,dict"`
	Reason          string   `parquet:"reason,optional"`
	Partial         bool     `parquet:"partial"`
	PartialWhy      string   `parquet:"partial_why,optional"`
	FirstCycle      int32    `parquet:"first_cycle,optional"`
	LastCycle       int32    `parquet:"last_cycle,optional"`
	Crawled         int64    `parquet:"crawled,timestamp(millisecond:utc),optional"`
	Documents       int64    `parquet:"documents"`
	Queued          int64    `parquet:"queued"`
	Fetched         int64    `parquet:"fetched"`
	Skipped         int64    `parquet:"skipped"`
	Failed          int64    `parquet:"failed"`
	Pages           int64    `parquet:"pages"`
	Listed          int64    `parquet:"listed"`
	New             int64    `parquet:"new"`
	Feeds           int64    `parquet:"feeds"`
	Sitemaps        int64    `parquet:"sitemaps"`
	Gone            int64    `parquet:"gone"`
	Fetches         int64    `parquet:"fetches"`
	Bytes           int64    `parquet:"bytes"`
	Errors          int64    `parquet:"errors"`
	CondensedCycles int64    `parquet:"condensed_cycles"`
}

func newSiteRow(s *store.Site, c *store.Counters, condensed int64) siteRow {
	seeds := make([]string, len(s.Seeds))
	for i, u := range s.Seeds {
		seeds[i] = valid(u)
	}
	return siteRow{
		Site: valid(s.Name), Scope: valid(s.Rules.Scope), Within: valid(s.Rules.Within), Seeds: seeds, State: string(s.State), Reason: valid(s.Reason), Partial: s.Partial,
		PartialWhy: valid(s.PartialWhy), FirstCycle: int32(s.FirstCycle), LastCycle: int32(s.LastCycle), Crawled: millis(s.CrawledAt),
		Documents: c.Known(), Queued: c.Queued(), Fetched: c.State[store.Fetched], Skipped: c.State[store.Skipped], Failed: c.State[store.Failed],
		Pages: c.Pages(), Listed: c.Distinct, New: c.New, Feeds: c.Kind[store.Feed], Sitemaps: c.Kind[store.Sitemap], Gone: c.Gone,
		Fetches: c.Fetches, Bytes: c.Bytes, Errors: c.Errors, CondensedCycles: condensed,
	}
}

type pageRow struct {
	Page         uint32  `parquet:"page,delta"`
	URL          string  `parquet:"url"`
	Site         string  `parquet:"site,dict"`
	Type         string  `parquet:"type,dict,optional"`
	Kind         string  `parquet:"kind,dict,optional"`
	Listed       bool    `parquet:"listed"`
	State        string  `parquet:"state,dict"`
	Reason       string  `parquet:"reason,dict,optional"`
	New          *bool   `parquet:"new"`
	Discovered   int64   `parquet:"discovered,timestamp(millisecond:utc),optional"`
	FirstSeen    int64   `parquet:"first_seen,timestamp(millisecond:utc),optional"`
	Cycle        int32   `parquet:"cycle,optional"`
	FoundOn      *uint32 `parquet:"found_on"`
	Via          string  `parquet:"via,dict"`
	Depth        int32   `parquet:"depth"`
	Seed         bool    `parquet:"seed"`
	OnlyNoFollow bool    `parquet:"only_nofollow"`
	Status       int32   `parquet:"status,optional"`
	Title        string  `parquet:"title,optional"`
	Canonical    string  `parquet:"canonical,optional"`
	ContentType  string  `parquet:"content_type,dict,optional"`
	Digest       string  `parquet:"digest,optional"`
	Bytes        *int64  `parquet:"bytes"`
	Truncated    bool    `parquet:"truncated"`
	Published    int64   `parquet:"published,timestamp(millisecond:utc),optional"`
	LastMod      int64   `parquet:"lastmod,timestamp(millisecond:utc),optional"`
	LastFetched  int64   `parquet:"last_fetched,timestamp(millisecond:utc),optional"`
	FetchedIn    int32   `parquet:"fetched_in,optional"`
	Visits       int32   `parquet:"visits"`
	Changes      int32   `parquet:"changes"`
	Changed      int64   `parquet:"changed,timestamp(millisecond:utc),optional"`
	Gone         int64   `parquet:"gone,timestamp(millisecond:utc),optional"`
	Moved        int64   `parquet:"moved,timestamp(millisecond:utc),optional"`
	MovedFrom    *uint32 `parquet:"moved_from"`
	DuplicateOf  *uint32 `parquet:"duplicate_of"`
	StandsFor    *uint32 `parquet:"stands_for"`
	Near         *uint32 `parquet:"duplicate_near"`
	Simhash      uint64  `parquet:"simhash,optional"`
	LinksCycle   int32   `parquet:"links_cycle,optional"`
	Evicted      bool    `parquet:"evicted"`
	useColumns
}

// newPageRow makes the row of a document. of is the name of its site, node what a reference to another document becomes.
func newPageRow(d *store.Doc, of string, node func(graph.Node) *uint32) pageRow {
	r := pageRow{
		Page: uint32(d.ID), URL: valid(d.URL), Site: of, Listed: d.IsListed(), State: d.State.String(), Reason: valid(d.Reason),
		Discovered: millis(d.Discovered), FirstSeen: millis(d.FirstSeen), Cycle: int32(d.Cycle), FoundOn: node(d.FoundOn), Via: d.Via.String(), Depth: int32(d.Depth),
		Seed: d.Seed, OnlyNoFollow: d.NoFollow, Status: int32(d.Status), Title: valid(d.Title), Canonical: valid(d.Canonical), ContentType: valid(d.ContentType),
		Digest: digest(d.Digest), Truncated: d.Truncated, Published: millis(d.Published), LastMod: millis(d.LastMod), LastFetched: millis(d.LastFetched), FetchedIn: int32(d.FetchedIn),
		Visits: int32(d.Visits), Changes: int32(d.Changes), Changed: millis(d.Changed), Gone: millis(d.Gone), Moved: millis(d.Moved), LinksCycle: int32(d.LinksOf), Evicted: d.Evicted, Simhash: d.Simhash,
		useColumns: newUseColumns(d.Use, d.UseKnown),
	}
	if d.New != store.MaybeNew {
		r.New = boolean(d.New == store.IsNew)
	}
	if d.Kind != store.Unseen {
		r.Type = d.Kind.String()
		if d.Kind == store.Page {
			r.Kind = d.KindText()
		}
	}
	if d.Visits > 0 {
		bytes := d.Bytes // d is the cursor's
		r.Bytes = &bytes
	}
	if d.Moved != 0 {
		r.MovedFrom = node(d.MovedFrom)
	}
	if d.Stands {
		r.StandsFor = node(d.DuplicateOf)
	} else {
		r.DuplicateOf = node(d.DuplicateOf)
	}
	return r
}

// useColumns tell what a site says of the use of a document.
type useColumns struct {
	NoIndex        *bool    `parquet:"noindex"`
	NoFollow       *bool    `parquet:"nofollow"`
	NoArchive      *bool    `parquet:"noarchive"`
	TDMReservation *int32   `parquet:"tdm_reservation"`
	TDMPolicy      string   `parquet:"tdm_policy,optional"`
	Usage          string   `parquet:"content_usage,dict,optional"`
	RobotsUsage    string   `parquet:"robots_content_usage,dict,optional"`
	RobotsSignal   string   `parquet:"robots_content_signal,dict,optional"`
	Licenses       []string `parquet:"license,list,optional"`
}

var (
	yes, no               = true, false
	reserved, notReserved = int32(1), int32(0)
)

// boolean is b as a column that may be null has it.
func boolean(b bool) *bool {
	if b {
		return &yes
	}
	return &no
}

// newUseColumns reads store.Doc.Use. Where nobody has looked, nothing is known.
func newUseColumns(text string, known bool) useColumns {
	switch {
	case !known:
		return useColumns{}
	case text == "":
		return useColumns{NoIndex: &no, NoFollow: &no, NoArchive: &no}
	}
	u := use.Parse(text)
	rules := u.Rules()
	c := useColumns{
		NoIndex: boolean(rules&use.NoIndex != 0), NoFollow: boolean(rules&use.NoFollow != 0), NoArchive: boolean(rules&use.NoArchive != 0),
		Usage: valid(u.Header.Usage), RobotsUsage: valid(u.Robots.Usage), RobotsSignal: valid(u.Robots.Signal),
	}
	for _, l := range u.Page.Licenses {
		c.Licenses = append(c.Licenses, valid(l))
	}
	reservation, policy := u.TDM()
	switch c.TDMPolicy = valid(policy); reservation {
	case use.Reserved:
		c.TDMReservation = &reserved
	case use.NotReserved:
		c.TDMReservation = &notReserved
	}
	return c
}

type linkRow struct {
	From     uint32 `parquet:"from_page,delta"`
	Position int32  `parquet:"position,delta"`
	To       uint32 `parquet:"to_page,delta"`
	Kind     string `parquet:"kind,dict"`
	NoFollow bool   `parquet:"nofollow"`
	Outside  bool   `parquet:"outside"`
	Place    uint32 `parquet:"place,optional"`
	Cycle    int32  `parquet:"cycle,delta"`
}

type visitRow struct {
	Page   uint32 `parquet:"page,delta"`
	Cycle  int32  `parquet:"cycle,delta"`
	At     int64  `parquet:"time,timestamp(millisecond:utc),optional"`
	Status int32  `parquet:"status"`
	Digest string `parquet:"digest,optional"`
	Bytes  int64  `parquet:"bytes"`
}

func newVisitRow(d *store.Doc, v store.Visit) visitRow {
	return visitRow{Page: uint32(d.ID), Cycle: int32(v.Cycle), At: millis(v.At), Status: int32(v.Status), Digest: digest(v.Digest), Bytes: v.Bytes}
}

type cycleRow struct {
	Site         string `parquet:"site,dict"`
	Cycle        int32  `parquet:"cycle,delta"`
	Run          int32  `parquet:"run,optional"`
	Kind         string `parquet:"kind,dict"`
	Policy       string `parquet:"policy,dict,optional"`
	Budget       string `parquet:"budget,dict,optional"`
	RefetchLimit *int64 `parquet:"refetch_limit"`
	Began        int64  `parquet:"began,timestamp(millisecond:utc),optional"`
	Ended        int64  `parquet:"ended,timestamp(millisecond:utc),optional"`
	Took         int64  `parquet:"took_ms"`
	Done         bool   `parquet:"done"`
	Fetched      int64  `parquet:"fetched"`
	Refetched    int64  `parquet:"refetched"`
	Waited       int64  `parquet:"waited"`
	Pages        int64  `parquet:"pages"`
	Duplicates   int64  `parquet:"duplicates"`
	New          int64  `parquet:"new"`
	NewContent   int64  `parquet:"new_content"`
	NewUnknown   int64  `parquet:"new_unknown"`
	Moved        int64  `parquet:"moved"`
	Bytes        int64  `parquet:"bytes"`
	Errors       int64  `parquet:"errors"`
}

func newCycleRow(c *store.CycleRecord, of string) cycleRow {
	r := cycleRow{
		Site: of, Cycle: int32(c.Cycle), Run: int32(c.Run), Kind: string(c.Kind), Policy: valid(c.Policy), Budget: valid(c.Budget), Began: millis(c.At), Ended: millis(c.Ended), Took: c.Took,
		Done: c.Done, Fetched: c.Fetched, Refetched: c.Refetched, Waited: c.Waited, Pages: c.Pages, Duplicates: c.Copies, New: c.New, NewContent: c.Content, NewUnknown: c.Unknown,
		Moved: c.Moved, Bytes: c.Bytes, Errors: c.Errors,
	}
	if c.Limit >= 0 {
		limit := int64(c.Limit)
		r.RefetchLimit = &limit
	}
	return r
}

type refetchRow struct {
	Site        string       `parquet:"site,dict"`
	Cycle       int32        `parquet:"cycle,delta"`
	Position    int32        `parquet:"position"`
	Page        uint32       `parquet:"page,delta"`
	At          int64        `parquet:"time,timestamp(millisecond:utc),optional"`
	Status      int32        `parquet:"status,optional"`
	Bytes       int64        `parquet:"bytes"`
	NotModified bool         `parquet:"not_modified"`
	Changed     bool         `parquet:"changed"`
	Gone        bool         `parquet:"gone"`
	Gap         int32        `parquet:"gap,optional"`
	Lost        int32        `parquet:"lost"`
	Gained      []graph.Node `parquet:"gained,list"`
	Found       []graph.Node `parquet:"found,list"`
	Led         []graph.Node `parquet:"led,list"`
	Same        []graph.Node `parquet:"same,list"`
}

// newRefetchRow makes the row of a refetch. of is the name of its site, nodes drops documents that are not in the tables.
func newRefetchRow(c store.Cycle, f *store.Refetch, of string, nodes func([]graph.Node) []graph.Node) refetchRow {
	return refetchRow{
		Site: of, Cycle: int32(c), Position: int32(f.Order), Page: uint32(f.Page), At: millis(f.At), Status: int32(f.Status), Bytes: f.Bytes, NotModified: f.NotModified,
		Changed: f.Changed, Gone: f.Gone, Gap: int32(f.Gap), Lost: int32(f.Lost), Gained: nodes(f.Gained), Found: nodes(f.Found), Led: nodes(f.Led), Same: nodes(f.Same),
	}
}

type eventRow struct {
	Seq          int64   `parquet:"seq,delta"`
	ID           string  `parquet:"id"`
	Type         string  `parquet:"type,dict"`
	At           int64   `parquet:"time,timestamp(millisecond:utc),optional"`
	Site         string  `parquet:"site,dict,optional"`
	Cycle        int32   `parquet:"cycle,optional"`
	Page         *uint32 `parquet:"page"`
	URL          string  `parquet:"url,optional"`
	Title        string  `parquet:"title,optional"`
	Kind         string  `parquet:"kind,dict,optional"`
	FoundOn      string  `parquet:"found_on,optional"`
	Via          string  `parquet:"via,dict,optional"`
	PreviousLook int64   `parquet:"previous_look,timestamp(millisecond:utc),optional"`
	Published    int64   `parquet:"published,timestamp(millisecond:utc),optional"`
	LastMod      int64   `parquet:"lastmod,timestamp(millisecond:utc),optional"`
	ContentType  string  `parquet:"content_type,dict,optional"`
	Digest       string  `parquet:"digest,optional"`
	Depth        *int32  `parquet:"depth"`
	MovedFrom    string  `parquet:"moved_from,optional"`
	Reason       string  `parquet:"reason,optional"`
	useColumns
}

func newEventRow(e *store.Event) eventRow {
	r := eventRow{
		Seq: int64(e.Seq), ID: e.ID(), Type: string(e.Type), At: millis(e.At), Site: valid(e.Site), Cycle: int32(e.Cycle), URL: valid(e.URL), Title: valid(e.Title), Kind: valid(e.Kind),
		FoundOn: valid(e.FoundOn), Via: valid(e.Via), PreviousLook: millis(e.PreviousLook), Published: millis(e.Published), LastMod: millis(e.LastMod), ContentType: valid(e.ContentType),
		Digest: digest(e.Digest), MovedFrom: valid(e.MovedFrom), Reason: valid(e.Reason), useColumns: newUseColumns(e.Use, e.Use != ""),
	}
	if e.Doc != graph.None {
		page, depth := uint32(e.Doc), int32(e.Depth)
		r.Page, r.Depth = &page, &depth
	}
	return r
}

// valid is s, or where that is no UTF-8 what can be told of it: Parquet's strings are UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

func millis(t store.Time) int64 { return t * 1000 }

// digest is 16 hexadecimal digits as pages --json has them, "" for none.
func digest(d uint64) string {
	if d == 0 {
		return ""
	}
	return hex.EncodeToString(binary.BigEndian.AppendUint64(nil, d))
}
