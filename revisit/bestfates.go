package revisit

import "forage/graph"

// fates count what became of documents fetched of late. Sites drop templates whole: when some
// documents of a template were gone, the others likely are. Number 0 is of the last pages of
// lists, 1 + template of a template.
type fates []fate

// fate counts recent fetches most.
type fate struct{ fetched, gone float64 }

// alive is the probability that the next one is there, by the rule of succession, with one
// document that was there before any was fetched.
func (f fate) alive() float64 { return (f.fetched - f.gone + 1) / (f.fetched + 1) }

// fade lets what was counted count less.
func (f fates) fade(left float64) {
	for i := range f {
		f[i].fetched *= left
		f[i].gone *= left
	}
}

// count adds n fetches of documents of a template, gone or not; isLast says that they are last
// pages of lists too.
func (f fates) count(template int32, isLast bool, n float64, gone bool) {
	f[1+template].add(n, gone)
	if isLast {
		f[0].add(n, gone)
	}
}

func (f *fate) add(n float64, gone bool) {
	f.fetched += n
	if gone {
		f.gone += n
	}
}

// alive is the probability that a document of a template is there.
func (f fates) alive(template int32, isLast bool) float64 {
	alive := f[1+template].alive()
	if isLast {
		alive = min(alive, f[0].alive())
	}
	return alive
}

// revive has documents that were gone fetched like any other, in this cycle already: another
// document newly links to them.
func (b *Best) revive(docs []graph.Node) {
	for _, v := range docs {
		d := &b.docs[v]
		if b.done[v] {
			continue
		}
		if d.misses > 1 {
			b.queued(v, d.last)
		}
		d.misses = 0
		if !b.replaying {
			b.heap.Push(scored{b.value(v), v})
		}
	}
}

// excuse takes the misses of a cycle back in which all fetches found their documents gone: the
// site is away, which is not the documents' fault.
func (b *Best) excuse() {
	if b.outage < 2 || b.outage != b.spent {
		return
	}
	for v := range b.docs {
		if d := &b.docs[v]; b.done[v] && d.misses > 0 {
			d.misses--
			b.fates.count(d.profile.Template, d.role == lastPage, -1, true)
		}
	}
}
