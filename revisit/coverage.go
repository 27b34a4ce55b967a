package revisit

import "forage/graph"

// A Look is one fetch of an old document that was answered with the document (a 304 too). Numbers
// are the caller's own.
type Look struct {
	Page  graph.Node
	Audit bool         // see Auditor
	Found []graph.Node // pages that this fetch found first, Visit.Found
	Led   []graph.Node // N(page): all pages found in the cycle that it leads to
	Shown []graph.Node // of an audit: Visit.Led
}

// Audit reports whether Next returned the document fetched longest ago.
func (p *Index) Audit() bool { return p.fetches%indexAudit == indexAudit-1 }
