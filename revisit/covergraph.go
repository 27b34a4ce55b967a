package revisit

import (
	"cmp"
	"encoding/binary"
	"slices"

	"forage/graph"
)

// CoverGraph is the bipartite graph H_t of [DGKOPT07, §2.1] in groups: which old documents cover which
// new pages, through chains of new pages. Old documents with the same N(x) are one group, new
// pages covered by the same groups one column, so that a site on which every page links to
// the newest posts stays small. Old documents that cover nothing and new pages that nothing
// covers are not in it. Memory O(groups × columns + documents).
type CoverGraph struct {
	Old  [][]graph.Node // by group: the documents, ascending; groups ascend by their first
	New  [][]graph.Node // by column: the new pages, ascending; columns ascend by their first
	Cols [][]int32      // by group: the columns that it covers, ascending, at least one
}

// NumNew returns the number of new pages in h.
func (h *CoverGraph) NumNew() int {
	n := 0
	for _, c := range h.New {
		n += len(c)
	}
	return n
}

// Size returns |N(x)| for the documents x of a group.
func (h *CoverGraph) Size(group int) int {
	n := 0
	for _, c := range h.Cols[group] {
		n += len(h.New[c])
	}
	return n
}

// Covers appends N(x) of the documents x of a group to dst.
func (h *CoverGraph) Covers(dst []graph.Node, group int) []graph.Node {
	for _, c := range h.Cols[group] {
		dst = append(dst, h.New[c]...)
	}
	return dst
}

// Groups returns the group of every old document, as a slice by node of length n; -1: none.
func (h *CoverGraph) Groups(n int) []int32 {
	of := make([]int32, n)
	for i := range of {
		of[i] = -1
	}
	for g, docs := range h.Old {
		for _, x := range docs {
			of[x] = int32(g)
		}
	}
	return of
}

// Keep returns a new graph and leaves h as it is: h without the new pages for which keep is false.
func (h *CoverGraph) Keep(keep func(y graph.Node) bool) *CoverGraph {
	column := make([]int32, len(h.New))
	out := &CoverGraph{}
	for c, pages := range h.New {
		column[c] = -1
		var kept []graph.Node
		for _, y := range pages {
			if keep(y) {
				kept = append(kept, y)
			}
		}
		if kept != nil {
			column[c] = int32(len(out.New))
			out.New = append(out.New, kept)
		}
	}
	var sets [][]int32
	var docs [][]graph.Node
	for g, cols := range h.Cols {
		var kept []int32
		for _, c := range cols {
			if column[c] >= 0 {
				kept = append(kept, column[c])
			}
		}
		if kept != nil {
			sets, docs = append(sets, kept), append(docs, h.Old[g])
		}
	}
	out.Old, out.Cols = join(docs, sets)
	return out
}

// NewCoverGraph returns H_t. The new pages are fresh, distinct, old the old documents that were fetched,
// distinct, and links what every document, old or new, links to now; it may name documents
// that are neither. Chains lead through fresh and through, new documents that are not pages.
//
// New pages that are strongly connected are condensed first; then each distinct set of entry
// points is followed once. No path is enumerated. Time O(links + distinct entry sets × (new
// pages and their links)), memory 4 bytes times the largest new node beside the result.
func NewCoverGraph(fresh, through, old []graph.Node, links func(graph.Node) []graph.Node) *CoverGraph {
	if len(fresh) == 0 {
		return &CoverGraph{}
	}
	// The induced graph on the new documents, numbered as in all.
	all := slices.Concat(fresh, through)
	numbers := make([]int32, int(slices.Max(all))+1) // 1 + the number, 0: none
	for i, y := range all {
		numbers[y] = int32(i + 1)
	}
	number := func(y graph.Node) (int32, bool) {
		if int(y) >= len(numbers) || numbers[y] == 0 {
			return 0, false
		}
		return numbers[y] - 1, true
	}
	out := make([][]graph.Node, len(all))
	for i, y := range all {
		for _, z := range links(y) {
			if j, ok := number(z); ok && int(j) != i {
				out[i] = append(out[i], graph.Node(j))
			}
		}
	}
	// Pages of one strongly connected component are covered by the same documents, so from here
	// on components stand for pages.
	comp, dag := condense(out)

	// Old documents by their set of entry components, then by what these reach.
	entries := make(map[string][]graph.Node)
	var keys []string
	var set []int32
	var key []byte
	for _, x := range old {
		set = set[:0]
		for _, z := range links(x) {
			if j, ok := number(z); ok {
				set = append(set, comp[j])
			}
		}
		if len(set) == 0 {
			continue
		}
		slices.Sort(set)
		set = slices.Compact(set)
		key = key[:0]
		for _, c := range set {
			key = binary.LittleEndian.AppendUint32(key, uint32(c))
		}
		if _, ok := entries[string(key)]; !ok {
			keys = append(keys, string(key))
		}
		entries[string(key)] = append(entries[string(key)], x)
	}
	pages := make([]int, len(dag)) // pages in each component; through documents do not count
	for i := range fresh {
		pages[comp[i]]++
	}
	reached := make([]int32, len(dag)) // 1 + number of the entry set that reached it last
	var docs [][]graph.Node
	var sets [][]int32
	var todo []int32
	for e, k := range keys {
		todo = todo[:0]
		visit := func(c int32) {
			if reached[c] != int32(e+1) {
				reached[c] = int32(e + 1)
				todo = append(todo, c)
			}
		}
		for b := []byte(k); len(b) > 0; b = b[4:] {
			visit(int32(binary.LittleEndian.Uint32(b)))
		}
		for i := 0; i < len(todo); i++ {
			for _, c := range dag[todo[i]] {
				visit(c)
			}
		}
		var cover []int32
		for _, c := range todo {
			if pages[c] > 0 {
				cover = append(cover, c)
			}
		}
		if cover == nil {
			continue
		}
		slices.Sort(cover)
		docs, sets = append(docs, entries[k]), append(sets, cover)
	}
	// Different entry points may reach the same pages, as two posts that link to each other do.
	docs, sets = join(docs, sets)

	// Components covered by the same groups are one column.
	by := make([][]int32, len(dag))
	for g, cover := range sets {
		for _, c := range cover {
			by[c] = append(by[c], int32(g))
		}
	}
	columns := make(map[string]int32)
	h := &CoverGraph{Old: docs, Cols: make([][]int32, len(docs))}
	column := make([]int32, len(dag))
	for c := range column {
		column[c] = -1
	}
	order := slices.Clone(fresh)
	slices.Sort(order)
	for _, y := range order { // so that columns ascend by their first page
		c := comp[numbers[y]-1]
		if len(by[c]) == 0 {
			continue
		}
		if column[c] < 0 {
			key = key[:0]
			for _, g := range by[c] {
				key = binary.LittleEndian.AppendUint32(key, uint32(g))
			}
			id, ok := columns[string(key)]
			if !ok {
				id = int32(len(h.New))
				columns[string(key)] = id
				h.New = append(h.New, nil)
				for _, g := range by[c] {
					h.Cols[g] = append(h.Cols[g], id)
				}
			}
			column[c] = id
		}
		h.New[column[c]] = append(h.New[column[c]], y)
	}
	return h
}

// join merges groups with the same set and sorts groups by their first document.
func join(docs [][]graph.Node, sets [][]int32) ([][]graph.Node, [][]int32) {
	at := make(map[string]int)
	var key []byte
	var outDocs [][]graph.Node
	var outSets [][]int32
	for g, set := range sets {
		key = key[:0]
		for _, c := range set {
			key = binary.LittleEndian.AppendUint32(key, uint32(c))
		}
		i, ok := at[string(key)]
		if !ok {
			i = len(outDocs)
			at[string(key)] = i
			outDocs, outSets = append(outDocs, nil), append(outSets, set)
		}
		outDocs[i] = append(outDocs[i], docs[g]...)
	}
	order := make([]int, len(outDocs))
	for i := range order {
		order[i] = i
		slices.Sort(outDocs[i])
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(outDocs[a][0], outDocs[b][0]) })
	sortedDocs, sortedSets := make([][]graph.Node, len(order)), make([][]int32, len(order))
	for i, o := range order {
		sortedDocs[i], sortedSets[i] = outDocs[o], outSets[o]
	}
	return sortedDocs, sortedSets
}

// condense returns the strongly connected component of each node of a graph, and the links
// among components without repeats. Time O(links log links), for sorting them.
func condense(out [][]graph.Node) (comp []int32, dag [][]int32) {
	component, components, err := graph.StrongComponents(graph.FromLists(out))
	if err != nil {
		panic(err) // only reading a graph fails, and this one is in memory
	}
	comp, dag = make([]int32, len(out)), make([][]int32, components)
	for v, c := range component {
		comp[v] = int32(c)
	}
	for v, links := range out {
		for _, w := range links {
			if comp[v] != comp[w] {
				dag[comp[v]] = append(dag[comp[v]], comp[w])
			}
		}
	}
	for c := range dag {
		slices.Sort(dag[c])
		dag[c] = slices.Compact(dag[c])
	}
	return comp, dag
}
