package lab

import "forage/graph"

// louvain returns the modularity and the number of the communities that the Louvain method
// (Blondel, Guillaume, Lambiotte, Lefebvre, 2008) finds in an undirected graph, going through
// the nodes by number. Time O(edges) a pass.
func louvain(g *graph.CSR) (modularity float64, communities int) {
	n := g.NumNodes()
	adj := make([]map[int]float64, n) // weights; a node's link to itself counts both ends
	for v := range n {
		adj[v] = map[int]float64{}
		for _, u := range g.Successors(graph.Node(v)) {
			adj[v][int(u)]++
		}
	}
	order := make([][]int, n) // neighbours in a fixed order: the same result every time
	for v := range n {
		for _, u := range g.Successors(graph.Node(v)) {
			order[v] = append(order[v], int(u))
		}
	}
	total := float64(g.NumArcs())
	if total == 0 {
		return 0, n
	}
	for {
		n := len(adj)
		of, degree, sum := make([]int, n), make([]float64, n), make([]float64, n)
		for v := range n {
			of[v] = v
			for _, u := range order[v] {
				degree[v] += adj[v][u]
			}
			sum[v] = degree[v]
		}
		moved := false
		for again := true; again; {
			again = false
			for v := range n {
				links := map[int]float64{}
				var near []int
				for _, u := range order[v] {
					if u == v {
						continue
					}
					if _, ok := links[of[u]]; !ok {
						near = append(near, of[u])
					}
					links[of[u]] += adj[v][u]
				}
				old := of[v]
				sum[old] -= degree[v]
				best, gain := old, links[old]-sum[old]*degree[v]/total
				for _, c := range near {
					if g := links[c] - sum[c]*degree[v]/total; g > gain+1e-9 {
						best, gain = c, g
					}
				}
				sum[best] += degree[v]
				if of[v] = best; best != old {
					again, moved = true, true
				}
			}
		}
		number := map[int]int{}
		for v := range n {
			if _, ok := number[of[v]]; !ok {
				number[of[v]] = len(number)
			}
		}
		next, nextOrder := make([]map[int]float64, len(number)), make([][]int, len(number))
		for i := range next {
			next[i] = map[int]float64{}
		}
		for v := range n {
			c := number[of[v]]
			for _, u := range order[v] {
				d := number[of[u]]
				if _, ok := next[c][d]; !ok {
					nextOrder[c] = append(nextOrder[c], d)
				}
				next[c][d] += adj[v][u]
			}
		}
		if !moved {
			q := 0.0
			for c := range next {
				all := 0.0
				for _, d := range nextOrder[c] {
					all += next[c][d]
				}
				q += next[c][c]/total - all/total*all/total
			}
			return q, len(next)
		}
		adj, order = next, nextOrder
	}
}
