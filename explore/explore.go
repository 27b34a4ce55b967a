// Package explore decides which unseen page, account or node to query next in a graph that
// only fetching reveals.
//
// Start with Policy: the caller alternates Next, fetch, Observe. New makes a policy by its
// name. Run drives one on a Hidden graph, which plays the part of the network. The package
// never fetches and never sees more of the graph than the answers that the caller reports;
// node numbers are handed out by the caller in the order of first observation.
package explore

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"forage/graph"
	"forage/internal/spell"
)

// A Policy chooses which open node to query next in a graph that it cannot see. The caller
// alternates Next, fetch, Observe. A Policy is not safe for concurrent use.
//
// Several nodes may be under way at once: Next can be called again before the answer to an
// earlier one is in, and answers may come in any order, also for nodes that Next never gave
// (known from elsewhere, or from before an interruption). A query that failed is observed
// with an empty answer.
type Policy interface {
	// Next returns an open node (observed, not yet queried), or ok=false when none is known.
	// Nodes handed out and not yet observed are not handed out again.
	Next() (v graph.Node, ok bool)
	// Observe tells the policy that v was queried and links to out, each once. A start node
	// enters as an observation of graph.None that links to it. The policy must not keep out
	// after returning.
	Observe(v graph.Node, out []graph.Node)
}

// Config is what a policy may be told beforehand. The zero value works for every policy but
// the oracle.
type Config struct {
	Rand     *rand.Rand           // every choice at random; nil: a source of its own, seeded with 0
	Budget   int                  // queries planned, the start's included; 0: not known
	Directed bool                 // answers list out-links only, so that links are not mutual
	MaxCost  int                  // requests that a query costs at most; 0: no limit. See CostObserver
	NoSteps  bool                 // nobody will ask a Walker for its steps, which may be as many as the square of the nodes
	Degree   func(graph.Node) int // true degree of an observed node: for the oracle med alone
	Prior    *Prior               // of learned and best: where their weights start; nil: at those that come with them
	Lessons  *Lessons             // of learned and best: where they note what they meet; nil: nowhere
}

// Names returns the names that New knows, in the order in which tables show them. New also
// knows best, for crawls that see addresses; without these it is learned.
func Names() []string {
	return strings.Fields("bfs dfs rw random snowball mod opic de mhrw frontier learned med")
}

// New returns the policy of that name. It fails when there is none, suggesting the nearest,
// or when the oracle is asked for without the truth.
func New(name string, c Config) (Policy, error) {
	if c.Rand == nil {
		c.Rand = rand.New(rand.NewPCG(0, 0))
	}
	switch name {
	case "bfs":
		return &bfs{}, nil
	case "dfs":
		return &dfs{}, nil
	case "random":
		return &random{r: c.Rand}, nil
	case "rw":
		return newWalk(c), nil
	case "mhrw":
		return newMetropolis(c), nil
	case "frontier":
		return newFrontier(c), nil
	case "snowball":
		return &snowball{r: c.Rand}, nil
	case "mod":
		return &mod{r: c.Rand}, nil
	case "opic":
		return newOpic(c.Rand), nil
	case "de":
		return newDE(c), nil
	case "learned":
		return newLearned(c), nil
	case "best":
		return newBest(c), nil
	case "med":
		if c.Degree == nil {
			return nil, fmt.Errorf("med is the oracle: it needs the true degrees, which only a graph that is known can tell")
		}
		return &med{r: c.Rand, directed: c.Directed, degree: c.Degree}, nil
	}
	hint := "there are " + strings.Join(Names(), ", ")
	if near := spell.Nearest(name, append(Names(), "best")); near != "" {
		hint = fmt.Sprintf("do you mean %q? Else %s", near, hint)
	}
	return nil, fmt.Errorf("no explorer is called %q: %s", name, hint)
}

// A LinkObserver is a Policy that can use the addresses of what links lead to. Callers that know them
// call ObserveLinks instead of Observe, from the first answer on.
type LinkObserver interface {
	// ObserveLinks tells the policy that v was queried and holds links, a target once or
	// several times. The policy must not keep links after returning.
	ObserveLinks(v graph.Node, links []Link)
}

// A Link is a link and where it leads.
type Link struct {
	To      graph.Node
	URL     string  // of To: path and query, or the whole; it counts when To is told of for the first time
	Sitemap bool    // To is a sitemap, which names pages and is none; it counts as URL does
	Doubt   float64 // that To is worth a fetch: 0, none is known, to 1, it is certainly not; it counts as URL does
}

// A ContentObserver is a Policy that can use which answers are content: something to be read, not only links to it.
type ContentObserver interface {
	// ObserveContent tells the policy whether the answer to v, which is observed next, is content.
	ObserveContent(v graph.Node, content bool)
}

// A DegreeObserver is a Policy that can use degrees that the network declares.
type DegreeObserver interface {
	// ObserveDegree tells the policy that observed node v says it has degree neighbours.
	// It comes after an answer that shows v, or never.
	ObserveDegree(v graph.Node, degree int)
}

// A Walker is a Policy that walks: what it saw can be weighted so that it stands for the whole.
type Walker interface {
	// Steps returns the steps so far, repeats included, in order. The caller must not change
	// them.
	Steps() []Step
}

// A Step is one step of a walk.
type Step struct {
	Walker int // of several
	Node   graph.Node
	Degree int
}
