package graph

// StrongComponents returns, for every node, the number of its strongly connected component,
// and how many there are. Components are numbered in the order in which a depth-first search
// completes them, so that every arc leads to the same component or to one of a lower number.
//
// It is Tarjan's algorithm in the form of [Pearce16] (its PEA_FIND_SCC3: one number a node, no
// recursion). Lists of successors on the path of the search are kept, up to 2·NumNodes
// entries in all; beyond that they are given up and read again on the way back. Of the lists
// given up at a time one at most, of up to NumNodes entries, had been read again before, so that
// the others, each the first time, are as long: what is read again is at most twice the arcs.
// Time O(n + m), memory about 24 bytes a node. Its only errors are those of reading g.
func StrongComponents(g Graph) (component []Node, count int, err error) {
	n := g.NumNodes()
	var (
		rank  = make([]Node, n) // 0: not visited; then its index; of a completed node n − component
		index = Node(1)
		next  = Node(n) // rank of the next component
		stack []Node    // visited, not in a component, not on the path
		path  []frame
		list  = successorStack{g: g, limit: max(2*n, 1<<16)}
	)
	visit := func(v Node) error {
		rank[v] = index
		index++
		base, err := list.push(v)
		path = append(path, frame{v: v, base: base, isRoot: true})
		return err
	}
	for root := range Node(n) {
		if rank[root] != 0 {
			continue
		}
		if err := visit(root); err != nil {
			return nil, 0, err
		}
		for len(path) > 0 {
			f := &path[len(path)-1]
			succ, err := list.top(f)
			if err != nil {
				return nil, 0, err
			}
			// visitLoop
			down := false
			for f.done < len(succ) {
				w := succ[f.done]
				if rank[w] == 0 {
					if err := visit(w); err != nil { // the arc is looked at again on the way back
						return nil, 0, err
					}
					down = true
					break
				}
				if rank[w] < rank[f.v] {
					rank[f.v] = rank[w]
					f.isRoot = false
				}
				f.done++
			}
			if down {
				continue
			}
			// finishVisiting
			list.pop(f)
			v := f.v
			if f.isRoot {
				index--
				for len(stack) > 0 && rank[v] <= rank[stack[len(stack)-1]] {
					rank[stack[len(stack)-1]] = next
					stack = stack[:len(stack)-1]
					index--
				}
				rank[v] = next
				next--
			} else {
				stack = append(stack, v)
			}
			path = path[:len(path)-1]
		}
	}
	for v := range rank {
		rank[v] = Node(n) - rank[v]
	}
	return rank, n - int(next), nil
}

// A frame is a node on the path of a depth-first search.
type frame struct {
	v      Node
	isRoot bool
	done   int // successors looked at
	base   int // where its list begins in the successorStack
}

// A successorStack holds the lists of the nodes on the path, one behind the other, the lower
// ones given up when they exceed limit.
type successorStack struct {
	g     Graph
	limit int
	list  []Node
	gone  int // entries given up: list begins with entry number gone
}

// push adds the list of v and returns where it begins.
func (s *successorStack) push(v Node) (base int, err error) {
	if len(s.list) > s.limit {
		s.gone += len(s.list)
		s.list = s.list[:0]
	}
	base = s.gone + len(s.list)
	s.list, err = s.g.AppendSuccessors(s.list, v)
	return base, err
}

// top returns the list of f, the last on the path.
func (s *successorStack) top(f *frame) (succ []Node, err error) {
	if f.base < s.gone {
		s.gone = f.base
		s.list, err = s.g.AppendSuccessors(s.list[:0], f.v)
	}
	return s.list[f.base-s.gone:], err
}

// pop takes away the list of f, the last on the path.
func (s *successorStack) pop(f *frame) { s.list = s.list[:max(0, f.base-s.gone)] }

// WeakComponents returns, for every node, the least node that it is connected with when arcs
// may be walked both ways, and how many such components there are. Time nearly O(n + m), one
// reading of g; memory 4 bytes a node.
func WeakComponents(g Scanner) (least []Node, count int, err error) {
	n := g.NumNodes()
	least = make([]Node, n)
	for v := range least {
		least[v] = Node(v)
	}
	find := func(v Node) Node {
		for least[v] != v {
			least[v] = least[least[v]] // halve the path
			v = least[v]
		}
		return v
	}
	err = g.Scan(0, Node(n), func(v Node, succ []Node) error {
		a := find(v)
		for _, u := range succ {
			if b := find(u); a < b {
				least[b] = a
			} else {
				least[a] = b
				a = b
			}
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	for v := range least {
		least[v] = find(Node(v))
		if least[v] == Node(v) {
			count++
		}
	}
	return least, count, nil
}
