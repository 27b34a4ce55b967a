package seed

import "forage/graph"

// Trust returns for each node how many trusted pages reach it within two hops, of each
// group (domain) at most most of them: a guard against pages that only their own kind links to. A
// trusted page vouches for itself. group is by node; nil puts each trusted page in a group of
// its own. Time: the second neighbourhoods of the trusted pages, the links of a page read at most
// most times a group beside those read as a trusted page's own. Memory 16 bytes a node.
func Trust(g *graph.CSR, trusted []graph.Node, group []uint32, most int) []uint32 {
	n := g.NumNodes()
	trust := make([]uint32, n)
	byGroup := map[uint32][]graph.Node{}
	var order []uint32
	for i, v := range trusted {
		k := uint32(i)
		if group != nil {
			k = group[v]
		}
		if byGroup[k] == nil {
			order = append(order, k)
		}
		byGroup[k] = append(byGroup[k], v)
	}
	seen := make([]uint32, n)  // the last trusted page that came here
	given := make([]uint32, n) // votes of this group
	read := make([]uint32, n)  // trusted pages of this group that link here, up to most: all that it links to have as many votes
	search := uint32(0)
	var touched []graph.Node
	vouch := func(v graph.Node) {
		if seen[v] == search {
			return
		}
		seen[v] = search
		if given[v] == 0 {
			touched = append(touched, v)
		}
		if int(given[v]) < most {
			given[v]++
			trust[v]++
		}
	}
	for _, k := range order {
		for _, t := range byGroup[k] {
			search++
			vouch(t)
			for _, u := range g.Successors(t) {
				vouch(u)
				if int(read[u]) == most {
					continue
				}
				read[u]++
				for _, v := range g.Successors(u) {
					vouch(v)
				}
			}
		}
		for _, v := range touched {
			given[v], read[v] = 0, 0
		}
		touched = touched[:0]
	}
	return trust
}

// Bounded returns weights under which no group of nodes is worth more than most: 1 for each node
// of a small group, most/size for those of a larger one. base, if not nil, are the weights
// to bound. A farm of pages then adds no more than an honest site.
func Bounded(group []uint32, base []float32, most float64) []float32 {
	total := map[uint32]float64{}
	w := make([]float32, len(group))
	for v, k := range group {
		w[v] = 1
		if base != nil {
			w[v] = base[v]
		}
		total[k] += float64(w[v])
	}
	for v, k := range group {
		if total[k] > most {
			w[v] = float32(float64(w[v]) * most / total[k])
		}
	}
	return w
}
