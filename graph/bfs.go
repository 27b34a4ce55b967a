package graph

// Layers returns the breadth-first layers from the sources: layer 0 is the sources, each
// once, in the order given; layer d the nodes first reached over d arcs, in order of
// discovery. It stops after maxDepth layers beyond the sources, or where nothing new is
// reached; maxDepth < 0 means no limit. Its only errors are those of reading g. Time O(nodes +
// arcs reached), memory a bit a node beside the result.
func Layers(g Graph, sources []Node, maxDepth int) ([][]Node, error) {
	seen := make([]uint64, (g.NumNodes()+63)/64)
	visit := func(to []Node, v Node) []Node {
		if seen[v/64]>>(v%64)&1 != 0 {
			return to
		}
		seen[v/64] |= 1 << (v % 64)
		return append(to, v)
	}
	var first, buf []Node
	for _, v := range sources {
		first = visit(first, v)
	}
	layers := [][]Node{first}
	for d := 0; maxDepth < 0 || d < maxDepth; d++ {
		var next []Node
		for _, v := range layers[d] {
			var err error
			if buf, err = g.AppendSuccessors(buf[:0], v); err != nil {
				return nil, err
			}
			for _, u := range buf {
				next = visit(next, u)
			}
		}
		if len(next) == 0 {
			break
		}
		layers = append(layers, next)
	}
	return layers, nil
}

// Layers is the function of that name for a graph in memory, which cannot fail.
func (g *CSR) Layers(sources []Node, maxDepth int) [][]Node {
	layers, err := Layers(g, sources, maxDepth)
	if err != nil {
		panic(err) // a CSR has no errors
	}
	return layers
}
