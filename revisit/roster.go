package revisit

import "forage/graph"

// A roster is what the simple policies know of the documents of a site.
type roster struct {
	profiles []Profile
	known    []bool
	gone     []bool
	born     []int32 // cycle in which it was learnt
	last     []int32 // cycle of the last fetch; of Learn before that
	count    int     // documents known
	cycle    int
	queue    []turn // by last, then by the order of Learn or fetch; entries may be stale
}

// A turn is a document and the cycle of its last fetch.
type turn struct {
	v    graph.Node
	last int32
}

// learn takes in a document and reports whether it is new.
func (r *roster) learn(v graph.Node, p Profile) bool {
	for int(v) >= len(r.profiles) {
		r.profiles, r.known = append(r.profiles, Profile{}), append(r.known, false)
		r.gone, r.born, r.last = append(r.gone, false), append(r.born, 0), append(r.last, 0)
	}
	r.profiles[v] = p
	if r.known[v] {
		return false
	}
	r.known[v], r.born[v], r.last[v] = true, int32(r.cycle), int32(r.cycle)
	r.queue = append(r.queue, turn{v, int32(r.cycle)})
	r.count++
	return true
}

// fetched notes a fetch.
func (r *roster) fetched(v Refetch) {
	r.last[v.Page] = int32(r.cycle)
	r.queue = append(r.queue, turn{v.Page, int32(r.cycle)})
	if !v.Failed {
		r.gone[v.Page] = v.Gone
	}
}

// recrawled notes what a full recrawl found gone and back.
func (r *roster) recrawled(c Cycle) {
	for _, v := range c.Gone {
		r.gone[v] = true
	}
	for _, v := range c.Back {
		r.gone[v] = false
		r.last[v] = int32(r.cycle)
		r.queue = append(r.queue, turn{v, int32(r.cycle)})
	}
}

// candidate reports whether v can be fetched in this cycle.
func (r *roster) candidate(v graph.Node) bool {
	return r.known[v] && !r.gone[v] && (r.cycle == 0 || int(r.born[v]) < r.cycle)
}

// oldest takes the document fetched longest ago that was not fetched in this cycle and that
// skip does not name; a document that is gone has left the queue for good, unless its fetch
// puts it back. ok=false: there is none.
func (r *roster) oldest(skip func(graph.Node) bool) (v graph.Node, ok bool) {
	for len(r.queue) > 0 {
		t := r.queue[0]
		if int(t.last) >= r.cycle {
			return 0, false
		}
		r.queue = r.queue[1:]
		if t.last != r.last[t.v] || r.gone[t.v] || skip != nil && skip(t.v) {
			continue
		}
		return t.v, true
	}
	return 0, false
}
