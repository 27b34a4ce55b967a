// Package explore decides which unseen page, account or node to query next in a graph that
// only fetching reveals.
//
// Start with Policy: the caller alternates Next, fetch, Observe. New makes a policy by its
// name. The package never fetches and never sees more of the graph than the answers that the
// caller reports; node numbers are handed out by the caller in the order of first observation.
package explore

import "forage/graph"

// A Policy chooses which open node to query next in a graph that it cannot see. The caller
// alternates Next, fetch, Observe. A Policy is not safe for concurrent use.
type Policy interface {
	// Next returns an open node (observed, not yet queried), or ok=false when none is known.
	// Nodes handed out and not yet observed are not handed out again.
	Next() (v graph.Node, ok bool)
	// Observe tells the policy that v was queried and links to out, each once. A start node
	// enters as an observation of graph.None that links to it. The policy must not keep out
	// after returning.
	Observe(v graph.Node, out []graph.Node)
}
