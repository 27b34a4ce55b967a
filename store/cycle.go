package store

import (
	"encoding/json"
	"fmt"

	"forage/graph"
)

// A Cycle numbers the rounds of discovery over the whole store from 1.
type Cycle uint32

// A CycleKind tells what a cycle was for.
type CycleKind string

// The kinds of cycles.
const (
	FirstVisit  CycleKind = "crawl"   // sites are visited for the first time, or further
	Revisit     CycleKind = "revisit" // some old documents are fetched again
	FullRecrawl CycleKind = "full"    // all of them are
)

// A CycleRecord is one cycle over all its sites.
type CycleRecord struct {
	Cycle   Cycle     `json:"cycle"`
	Kind    CycleKind `json:"kind"`
	Policy  string    `json:"policy,omitempty"`
	Budget  string    `json:"budget,omitempty"` // as asked for: "10", "5%"
	At      Time      `json:"at"`               // the crawl's clock when it began
	Ended   Time      `json:"ended,omitempty"`  // 0: it is running or was interrupted
	Fetched int64     `json:"fetched"`          // answers to requests for documents
	Old     int64     `json:"refetched"`        // of old documents
	New     int64     `json:"new_pages"`        // duplicates left out
	Bytes   int64     `json:"bytes"`
	Errors  int64     `json:"errors,omitempty"`
}

// A SiteCycle is the outcome of a cycle at one site.
type SiteCycle struct {
	Site    SiteID
	Cycle   Cycle
	Kind    CycleKind
	At      Time
	Budget  int   // old documents that may be fetched; -1: all
	Fetched int   // answers
	Old     int   // of old documents
	New     int   // pages that answered for the first time, duplicates included
	Bytes   int64 // received
	Done    bool  // the cycle ended at this site
}

// A Refetch is one fetch of an old document and what it led to. The refetches of a site's
// cycle, in their Order, with its SiteCycle, are all that a revisit policy is told.
type Refetch struct {
	Order       int // 0, 1, … within the site and cycle
	Page        graph.Node
	At          Time
	Status      int
	Bytes       int64
	NotModified bool         // answered 304
	Changed     bool         // its body is not that of the fetch before
	Gone        bool         // answered 404 or 410
	Gained      []graph.Node // documents that it links to and did not at the fetch before
	Lost        int          // links that it had and has no longer
	Found       []graph.Node // documents first found through this fetch, chains included, breadth-first
	Led         []graph.Node // N(page): all new pages of the cycle that it leads to, ascending; set when the cycle ends
	Audit       bool         // chosen whatever was expected of it; false in a full recrawl
	Gap         int          // of an audit: cycles of the site since the document was fetched before
	Shown       []graph.Node // of an audit: the pages found since the fetch before, by whatever fetch, that it leads to
	Same        []graph.Node // of a feed or sitemap: documents that it says to be as they were at their last fetch
}

// A Visit is one answered fetch of a document.
type Visit struct {
	Cycle  Cycle
	At     Time
	Status int
	Digest uint64 // 0: no body
	Bytes  int64
}

func (v *Visit) encode() []byte {
	var w writer
	w.int(1, v.At)
	w.uint(2, uint64(v.Status))
	w.uint(3, v.Digest)
	w.uint(4, uint64(v.Bytes))
	return w.b
}

func decodeVisit(c Cycle, b []byte) (Visit, error) {
	v := Visit{Cycle: c}
	err := fields(b, func(f field) error {
		switch f.tag {
		case 1:
			v.At = f.int()
		case 2:
			v.Status = int(f.v)
		case 3:
			v.Digest = f.v
		case 4:
			v.Bytes = int64(f.v)
		}
		return nil
	})
	return v, err
}

func (r *Refetch) encode() []byte {
	var w writer
	w.uint(1, uint64(r.Order))
	w.int(2, r.At)
	w.uint(3, uint64(r.Status))
	w.uint(4, uint64(r.Bytes))
	w.bool(5, r.NotModified)
	w.bool(6, r.Changed)
	w.bool(7, r.Gone)
	w.nodes(8, r.Gained)
	w.uint(9, uint64(r.Lost))
	w.nodes(10, r.Found)
	w.nodes(11, r.Led)
	w.bool(12, r.Audit)
	w.nodes(13, r.Shown)
	w.nodes(14, r.Same)
	w.uint(15, uint64(r.Gap))
	return w.b
}

func decodeRefetch(page graph.Node, b []byte) (*Refetch, error) {
	r := &Refetch{Page: page}
	err := fields(b, func(f field) (err error) {
		switch f.tag {
		case 1:
			r.Order = int(f.v)
		case 2:
			r.At = f.int()
		case 3:
			r.Status = int(f.v)
		case 4:
			r.Bytes = int64(f.v)
		case 5:
			r.NotModified = f.v != 0
		case 6:
			r.Changed = f.v != 0
		case 7:
			r.Gone = f.v != 0
		case 8:
			r.Gained, err = f.nodes()
		case 9:
			r.Lost = int(f.v)
		case 10:
			r.Found, err = f.nodes()
		case 11:
			r.Led, err = f.nodes()
		case 12:
			r.Audit = f.v != 0
		case 13:
			r.Shown, err = f.nodes()
		case 14:
			r.Same, err = f.nodes()
		case 15:
			r.Gap = int(f.v)
		}
		return err
	})
	return r, err
}

func (s *SiteCycle) encode() []byte {
	var w writer
	w.string(1, string(s.Kind))
	w.int(2, s.At)
	w.int(3, int64(s.Budget))
	w.uint(4, uint64(s.Fetched))
	w.uint(5, uint64(s.Old))
	w.uint(6, uint64(s.Bytes))
	w.uint(7, uint64(s.New))
	w.bool(8, s.Done)
	return w.b
}

func decodeSiteCycle(site SiteID, c Cycle, b []byte) (*SiteCycle, error) {
	s := &SiteCycle{Site: site, Cycle: c}
	err := fields(b, func(f field) error {
		switch f.tag {
		case 1:
			s.Kind = CycleKind(f.bytes)
		case 2:
			s.At = f.int()
		case 3:
			s.Budget = int(f.int())
		case 4:
			s.Fetched = int(f.v)
		case 5:
			s.Old = int(f.v)
		case 6:
			s.Bytes = int64(f.v)
		case 7:
			s.New = int(f.v)
		case 8:
			s.Done = f.v != 0
		}
		return nil
	})
	return s, err
}

func decodeCycle(b []byte) (*CycleRecord, error) {
	c := new(CycleRecord)
	if err := json.Unmarshal(b, c); err != nil {
		return nil, fmt.Errorf("cycle: %w: %v", errCorrupt, err)
	}
	return c, nil
}

// Failed reports whether the fetch showed nothing: no answer, or one that says nothing of the
// document.
func (r *Refetch) Failed() bool {
	return !r.NotModified && !r.Gone && (r.Status < 200 || r.Status >= 400)
}
