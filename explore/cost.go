package explore

import (
	"math"

	"forage/graph"
)

// A CostObserver is a Policy that can weigh what a query promises against what it costs: a list
// that comes in pages costs a request for each.
type CostObserver interface {
	// ObserveCost tells the policy that the answer that listed n neighbours of v took so many
	// requests. Callers whose budget is in nodes never call it.
	ObserveCost(v graph.Node, n, requests int)
}

// costs predicts requests from the length of a list by the line of least squares through all
// queries so far. The zero value knows nothing: every query costs 1.
type costs struct {
	most               float64 // requests for one node; 0: no limit
	n, x, y, xx, xy    float64 // queries, and sums over them: lengths, requests, products
	constant, perEntry float64
}

func (c *costs) observe(listed, requests int) {
	x, y := float64(listed), float64(max(1, requests))
	c.n++
	c.x += x
	c.y += y
	c.xx += x * x
	c.xy += x * y
	c.perEntry = 0
	if spread := c.n*c.xx - c.x*c.x; spread > 0 {
		c.perEntry = max(0, (c.n*c.xy-c.x*c.y)/spread)
	}
	c.constant = (c.y - c.perEntry*c.x) / c.n
}

// log returns the logarithm of the requests expected for a node, at least 0: of its declared
// degree, or of the average where that is negative, not told.
func (c *costs) log(declared float64) float64 {
	if declared < 0 {
		declared = c.x / c.n
	}
	cost := max(1, c.constant+c.perEntry*declared)
	if c.most > 0 {
		cost = min(cost, c.most)
	}
	return math.Log(cost)
}
