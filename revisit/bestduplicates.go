package revisit

import "forage/graph"

// duplicates are documents that showed exactly the same pages, as where a whole site has one
// menu. One of them is worth a fetch, the others nearly nothing. Without this, on a site whose
// pages share their navigation, a budget goes to copies of one page.
//
// That two documents showed the same can only be said after a full recrawl: what partial cycles
// show depends on when each document was fetched. So signatures live for the one cycle after it.
type duplicates struct {
	told      bool            // the last cycle was a full recrawl
	signature []uint64        // by document: a hash of the live patterns that it shows; 0: none, or not told
	fetched   map[uint64]bool // signatures of this cycle's fetches
}

// compare gives documents that showed the same patterns the same signature.
func (d *duplicates) compare(entries [][]entry, base int32) {
	clear(d.signature)
	clear(d.fetched)
	if !d.told {
		return
	}
	for len(d.signature) < len(entries) {
		d.signature = append(d.signature, 0)
	}
	for v := range entries {
		for _, e := range entries[v] {
			if e.p >= base {
				d.signature[v] += mixed(uint64(e.p)) // a sum, so that order does not count
			}
		}
	}
}

// take notes that v was fetched.
func (d *duplicates) take(v graph.Node) {
	if s := d.of(v); s != 0 {
		d.fetched[s] = true
	}
}

// isDuplicate reports whether a document that showed just what v did was fetched in this cycle.
func (d *duplicates) isDuplicate(v graph.Node) bool {
	s := d.of(v)
	return s != 0 && d.fetched[s]
}

// of returns the signature of v; 0: it has none.
func (d *duplicates) of(v graph.Node) uint64 {
	if int(v) >= len(d.signature) {
		return 0
	}
	return d.signature[v]
}

// mixed is a hash of x [the last step of splitmix64].
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
