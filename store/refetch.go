package store

import (
	"fmt"

	"forage/graph"
	"forage/store/record"
)

// A Refetch is one fetch of an old document and what it led to. The refetches of a site's
// cycle, in their Order, with its CycleRecord, are all that a revisit policy is told.
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
	Gap         int          // cycles of the site since the document was last fetched and answered; 0: not known, as in a full recrawl
	Same        []graph.Node // of a feed or sitemap: documents that it says to be as they were at their last fetch
}

// Failed reports whether the fetch showed nothing: no answer, or one that says nothing of the
// document.
func (r *Refetch) Failed() bool {
	return !r.NotModified && !r.Gone && (r.Status < 200 || r.Status >= 400)
}

var refetchFields = record.New(
	record.Uint(1, func(r *Refetch) *int { return &r.Order }),
	record.Int(2, func(r *Refetch) *Time { return &r.At }),
	record.Uint(3, func(r *Refetch) *int { return &r.Status }),
	record.Uint(4, func(r *Refetch) *int64 { return &r.Bytes }),
	record.Bool(5, func(r *Refetch) *bool { return &r.NotModified }),
	record.Bool(6, func(r *Refetch) *bool { return &r.Changed }),
	record.Bool(7, func(r *Refetch) *bool { return &r.Gone }),
	record.Nodes(8, func(r *Refetch) *[]graph.Node { return &r.Gained }),
	record.Uint(9, func(r *Refetch) *int { return &r.Lost }),
	record.Nodes(10, func(r *Refetch) *[]graph.Node { return &r.Found }),
	record.Nodes(11, func(r *Refetch) *[]graph.Node { return &r.Led }),
	// 12 and 13 told of audits, for which alone earlier versions kept 15.
	record.Nodes(14, func(r *Refetch) *[]graph.Node { return &r.Same }),
	record.Uint(15, func(r *Refetch) *int { return &r.Gap }),
)

func decodeRefetch(page graph.Node, b []byte) (*Refetch, error) {
	r := &Refetch{Page: page}
	if err := refetchFields.Decode(b, r); err != nil {
		return nil, fmt.Errorf("refetch of document %d: %w", page, err)
	}
	return r, nil
}

// A Visit is one answered fetch of a document.
type Visit struct {
	Cycle  Cycle
	At     Time
	Status int
	Digest uint64 // 0: no body
	Bytes  int64
}

var visitFields = record.New(
	record.Int(1, func(v *Visit) *Time { return &v.At }),
	record.Uint(2, func(v *Visit) *int { return &v.Status }),
	record.Uint(3, func(v *Visit) *uint64 { return &v.Digest }),
	record.Uint(4, func(v *Visit) *int64 { return &v.Bytes }),
)

func decodeVisit(c Cycle, b []byte) (Visit, error) {
	v := Visit{Cycle: c}
	err := visitFields.Decode(b, &v)
	return v, err
}
