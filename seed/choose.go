package seed

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"

	"forage/graph"
)

// A Method is a way to choose seeds, with what it needs to know.
type Method struct {
	Name     string        // NameReach, NameLayered or NameTwoLevel
	K        int           // most seeds; 0: as many as are needed, which Reach does not take
	L0       []graph.Node  // Layered: the pages to choose from
	Levels   int           // TwoLevel
	MinYield int           // TwoLevel
	Dead     float64       // Reach: as in ReachConfig
	Covers   LayeredConfig // how Layered and TwoLevel cover
}

// A Choice is the seeds chosen, and what they reach.
type Choice struct {
	Method    string  `json:"method"`
	Depth     int     `json:"depth"` // hops
	NumSeeds  int     `json:"seeds"`
	Reached   int     `json:"reached"`         // pages, within Depth
	ByHops    []int   `json:"reached_by_hops"` // pages within 0, 1, … Depth hops
	Nodes     int     `json:"nodes"`
	Unreached *int    `json:"unreached_from_l0,omitempty"` // of Layered: pages
	LayerSize []int   `json:"layers,omitempty"`            // of Layered
	Passes    []Pass  `json:"passes,omitempty"`            // of Layered
	Levels    []Level `json:"levels,omitempty"`            // of TwoLevel

	Seeds []graph.Node `json:"-"` // in the order chosen
	Gains []int        `json:"-"` // by seed: pages that it adds to what is reached
}

// Choose runs the method on g for t; chance comes from r. Its errors are those of the function of
// that method and of ctx. It panics if there is no method of that name.
func (m *Method) Choose(ctx context.Context, g graph.Graph, t *Task, r *rand.Rand) (*Choice, error) {
	c := &Choice{Method: m.Name, Depth: t.Depth, Nodes: g.NumNodes()}
	var err error
	switch m.Name {
	case NameReach:
		csr, ok := g.(*graph.CSR)
		if !ok {
			if csr, err = graph.Load(g); err != nil {
				return nil, err
			}
		}
		c.Seeds, err = Reach(csr, csr.Transpose(), t, m.K, ReachConfig{Dead: m.Dead, Stop: func() bool { return ctx.Err() != nil }}, r)
		if err == nil {
			err = ctx.Err()
		}
	case NameLayered:
		var s *LayeredSeeds
		if s, err = Layered(ctx, g, m.L0, t, m.Covers); err == nil {
			c.Seeds, c.Unreached, c.LayerSize, c.Passes = s.Seeds, &s.Unreached, s.LayerSize, s.Passes
		}
	case NameTwoLevel:
		c.Seeds, c.Levels, err = TwoLevel(ctx, g, m.Levels, m.MinYield, t, m.Covers)
	default:
		panic("seed: there is no method " + m.Name)
	}
	if err != nil {
		return nil, err
	}
	if m.K > 0 && len(c.Seeds) > m.K {
		c.Seeds = c.Seeds[:m.K]
	}
	reached, err := NewReached(g, t)
	if err != nil {
		return nil, err
	}
	c.Gains = make([]int, len(c.Seeds))
	for i, v := range c.Seeds {
		if c.Gains[i], _, err = reached.Add(v); err != nil {
			return nil, err
		}
	}
	c.NumSeeds, c.Reached, c.ByHops = len(c.Seeds), reached.Within(t.Depth), reached.ByHops()
	return c, nil
}

// WriteTable writes the seeds as a table of url, node, gain, reached_cumulative and domain, parted by
// tabs. urls and domains are by seed.
func (c *Choice) WriteTable(w io.Writer, urls, domains []string) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "url\tnode\tgain\treached_cumulative\tdomain")
	sum := 0
	for i, v := range c.Seeds {
		sum += c.Gains[i]
		fmt.Fprintf(b, "%s\t%d\t%d\t%d\t%s\n", urls[i], v, c.Gains[i], sum, domains[i])
	}
	return b.Flush()
}

// WriteURLs writes URLs, one a line.
func WriteURLs(w io.Writer, urls []string) error {
	b := bufio.NewWriter(w)
	for _, u := range urls {
		fmt.Fprintln(b, u)
	}
	return b.Flush()
}
