package revisit

import (
	"slices"

	"forage/graph"
)

// A rotation holds the documents by their last fetch. Every cfg.audit-th fetch takes the first of
// them, whatever it is worth: that finds what changed its ways, and is the sample that Estimate
// reads.
//
// A fetch puts its document at the end and leaves the older entry where it is: an entry counts
// only while its cycle is that of the document's last fetch.
type rotation struct {
	oldest  []turn
	fetches int  // in cycles that ended
	spent   int  // fetches of this cycle
	outage  int  // of these: found the document gone
	audit   bool // the last Next returned an audit
}

// turn is a document and the cycle of its last fetch.
type turn struct {
	v    graph.Node
	last int32
}

// queued puts v at the end.
func (r *rotation) queued(v graph.Node, last int32) { r.oldest = append(r.oldest, turn{v, last}) }

// Audit reports whether Next returned the document fetched longest ago.
func (r *rotation) Audit() bool { return r.audit }

// longestAgo returns the document fetched longest ago; ok=false if all were fetched in this cycle
// or the one before.
func (b *Best) longestAgo() (v graph.Node, ok bool) {
	for len(b.oldest) > 0 {
		o := b.oldest[0]
		d := &b.docs[o.v]
		if d.last != o.last || d.misses > 1 {
			b.oldest = b.oldest[1:]
			continue
		}
		return o.v, !b.done[o.v] && int(d.last) < b.cycle-1
	}
	return 0, false
}

// prune drops entries that no longer count where these are the most. Signals add entries without
// fetches, so that Next would not come to them.
func (b *Best) prune() {
	if len(b.oldest) > 2*len(b.docs) {
		b.oldest = slices.DeleteFunc(b.oldest, func(o turn) bool { return b.docs[o.v].last != o.last })
	}
}
