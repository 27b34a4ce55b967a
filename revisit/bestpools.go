package revisit

import "forage/graph"

// pools hold what the documents of a template showed together, and what the holders of each of
// its roles showed. Little is known of most documents by themselves; of their template there is
// more, and a new post has nothing but its role. Pool 0 is that of the last pages of lists, of the
// whole site; then each template has one, followed by one for each of its ranks.
type pools []pool

// pool is what a template or role has shown.
type pool struct {
	sum   float64 // Σ value × share × holders over live patterns: weigh sets it, fetches change it
	shown float64 // exposure of all its documents, as of cycle at
	at    int32
}

func poolOf(template int32) int32 { return 1 + (1+maxRoles)*template }

func roleIn(template int32, role int8) int32 {
	if role == lastPage {
		return 0
	}
	return poolOf(template) + 1 + int32(role)
}

// expected weighs m, what the prior or a wider pool expects, against what pool i has shown in the
// time that it was watched: m counts as much as one cycle of watching.
func (b *Best) expected(i int32, m float64) float64 {
	p := &b.pools[i]
	return (p.sum + m) / (p.shown*b.fade(p.at) + 1)
}

// expose adds the cycles after since to what the template of v was watched for, and the roles that v
// held in these cycles. The clock must have ticked.
func (b *Best) expose(v graph.Node, since int32) {
	d, t := &b.docs[v], int32(b.cycle)
	more := b.between(since, t)
	T := d.profile.Template
	b.watch(poolOf(T), more)
	if !d.formerHolder {
		return
	}
	segments := b.segments[v]
	for i, s := range segments {
		if s.role < 0 {
			continue
		}
		until := t
		if i+1 < len(segments) {
			until = min(t, segments[i+1].from-1)
		}
		if from := max(since, s.from-1); from < until {
			b.watch(roleIn(T, s.role), b.between(from, until)*b.fade(until))
		}
	}
}

func (b *Best) watch(i int32, more float64) {
	p := &b.pools[i]
	p.shown = p.shown*b.fade(p.at) + more
	p.at = int32(b.cycle)
}
