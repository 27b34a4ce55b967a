package explore

import (
	"math/rand/v2"

	"forage/graph"
)

// buckets is a set of nodes, each with a small number as its key: a bucket queue. Adding,
// removing and raising a key by one take constant time, a node of the largest key constant
// time amortised over the raises. Memory 12 bytes a node seen, a slice for each key in use.
type buckets struct {
	nodes [][]graph.Node // by key
	key   []uint32       // by node
	at    []uint32       // by node: its place in its bucket
	top   int            // no bucket above is in use
	n     int            // nodes in the set
}

// add puts v, which is not in the set, into the bucket of key.
func (b *buckets) add(v graph.Node, key int) {
	for int(v) >= len(b.at) {
		b.at, b.key = append(b.at, 0), append(b.key, 0)
	}
	for key >= len(b.nodes) {
		b.nodes = append(b.nodes, nil)
	}
	b.at[v], b.key[v] = uint32(len(b.nodes[key])), uint32(key)
	b.nodes[key] = append(b.nodes[key], v)
	b.top = max(b.top, key)
	b.n++
}

// remove takes v out, which is in the set.
func (b *buckets) remove(v graph.Node) {
	in := b.nodes[b.key[v]]
	last := in[len(in)-1]
	in[b.at[v]], b.at[last] = last, b.at[v]
	b.nodes[b.key[v]] = in[:len(in)-1]
	b.n--
}

// change gives v, which is in the set, another key.
func (b *buckets) change(v graph.Node, key int) {
	b.remove(v)
	b.add(v, key)
}

// put gives v the key, whether or not it is in the set.
func (b *buckets) put(v graph.Node, key int) {
	if int(v) < len(b.at) {
		if k := b.key[v]; int(k) < len(b.nodes) && int(b.at[v]) < len(b.nodes[k]) && b.nodes[k][b.at[v]] == v {
			b.remove(v)
		}
	}
	b.add(v, key)
}

// largest takes out a node of the largest key, chosen uniformly.
func (b *buckets) largest(r *rand.Rand) (graph.Node, bool) {
	if b.n == 0 {
		return graph.None, false
	}
	for len(b.nodes[b.top]) == 0 {
		b.top--
	}
	in := b.nodes[b.top]
	v := in[r.IntN(len(in))]
	b.remove(v)
	return v, true
}

// smallest returns the node of rank i when the set is sorted by key, equal ones in any order.
// Time O(distinct keys up to there).
func (b *buckets) smallest(i int) graph.Node {
	for _, in := range b.nodes {
		if i < len(in) {
			return in[i]
		}
		i -= len(in)
	}
	panic("explore: rank outside the set")
}
