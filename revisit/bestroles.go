package revisit

import (
	"cmp"
	"slices"

	"forage/graph"
)

// Roles pass what documents showed on to those that come after them. What the latest post of a
// blog led to, its next post will lead to when it is the latest: so the newest documents of a
// template hold ranks 0 to 3, and the last page of a list that goes on over numbered pages holds
// the role lastPage. A document holds one role at most, and the last page of a list no rank.
//
// Roles change between cycles only, in assign: a page found in a cycle takes no role in it, and
// what the cycle found was shown by those that held the roles when it began. segments keeps who
// held what when, since a later fetch may still show pages of that time.
type roles struct {
	newest    [][]rank                 // by template: its newest documents, newest first; behind cfg.roles of them only holders that have yet to lose their rank
	size      []int32                  // by template: documents
	renewed   []int32                  // templates with new members in this cycle
	isRenewed []bool                   // by template
	lists     []list                   // by number of the list; 0 is none
	grown     []int32                  // lists with new pages in this cycle
	segments  map[graph.Node][]segment // of documents that ever held a role, ascending
}

const (
	maxRoles = 4        // ranks of a template; what they showed is kept in as many pools
	lastPage = maxRoles // the role of the last page of a list
	// A template of fewer documents has no ranks: it is no series.
	leastSeries = 3
)

// A rank is a document among the newest of its template.
type rank struct {
	born int
	v    graph.Node
}

// A list goes on over numbered pages.
type list struct {
	pages   int32      // known
	last    graph.Node // the page of the largest number
	number  int        // that number
	holder  graph.Node // the document that has the role
	isGrown bool       // in grown
}

// segment: from cycle from on the document holds a role, −1 none.
type segment struct {
	from int32
	role int8
}

// addTemplate makes room for one more template.
func (r *roles) addTemplate() {
	r.size, r.newest, r.isRenewed = append(r.size, 0), append(r.newest, nil), append(r.isRenewed, false)
}

// join adds a new document to its template. Only as many of the newest are kept as there are
// ranks, so that a template of a million documents costs no more than one of ten.
func (b *Best) join(v graph.Node, T int32) {
	b.size[T]++
	r := rank{b.cycle, v}
	at, _ := slices.BinarySearchFunc(b.newest[T], r, func(a, r rank) int {
		return cmp.Or(-cmp.Compare(a.born, r.born), -cmp.Compare(a.v, r.v))
	})
	if at < b.cfg.roles {
		newest := slices.Insert(b.newest[T], at, r)
		if i := b.cfg.roles; len(newest) > i && b.docs[newest[i].v].role < 0 {
			newest = slices.Delete(newest, i, i+1) // others hold roles that they have yet to lose
		}
		b.newest[T] = newest
	}
	if !b.isRenewed[T] {
		b.isRenewed[T] = true
		b.renewed = append(b.renewed, T)
	}
}

// extend adds a page to its list.
func (r *roles) extend(v graph.Node, p *Profile) {
	if p.List == 0 {
		return
	}
	for int(p.List) >= len(r.lists) {
		r.lists = append(r.lists, list{last: graph.None, holder: graph.None})
	}
	l := &r.lists[p.List]
	l.pages++
	if l.last == graph.None || p.Number > l.number {
		l.last, l.number = v, p.Number
	}
	if !l.isGrown {
		l.isGrown = true
		r.grown = append(r.grown, p.List)
	}
}

// assign gives the roles of templates with new members to their newest documents, and those
// of lists with new pages to their last ones, from the next cycle on.
func (b *Best) assign() {
	for _, T := range b.renewed {
		b.isRenewed[T] = false
		for _, n := range b.newest[T] {
			b.assignRole(n.v)
		}
		if b.size[T] >= leastSeries {
			b.newest[T] = b.newest[T][:min(b.cfg.roles, len(b.newest[T]))]
		}
	}
	b.renewed = b.renewed[:0]
	for _, i := range b.grown {
		l := &b.lists[i]
		l.isGrown = false
		if l.holder != graph.None {
			b.assignRole(l.holder)
		}
		l.holder = l.last
		b.assignRole(l.holder)
	}
	b.grown = b.grown[:0]
}

// assignRole gives v the role that it should have.
func (b *Best) assignRole(v graph.Node) {
	d := &b.docs[v]
	role := int8(-1)
	if b.size[d.profile.Template] >= leastSeries {
		if at := slices.IndexFunc(b.newest[d.profile.Template], func(n rank) bool { return n.v == v }); at < b.cfg.roles {
			role = int8(at)
		}
	}
	if l := d.profile.List; l > 0 && b.lists[l].last == v && IsDense(b.lists[l].number, int(b.lists[l].pages)) {
		role = lastPage
	}
	if d.role != role {
		d.role, d.formerHolder = role, true
		b.segments[v] = append(b.segments[v], segment{int32(b.cycle + 1), role})
	}
}

// held returns the role that v held in a cycle.
func (r *roles) held(v graph.Node, cycle int32) int8 {
	role := int8(-1)
	for _, s := range r.segments[v] {
		if s.from > cycle {
			break
		}
		role = s.role
	}
	return role
}
