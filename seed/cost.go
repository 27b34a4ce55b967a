package seed

// The methods, by the names that users give them.
const (
	NameReach    = "reach"
	NameLayered  = "layered"
	NameTwoLevel = "two-level"
)

// Names returns the names of the methods.
func Names() []string { return []string{NameReach, NameLayered, NameTwoLevel} }

// A Cost is what a method takes, the graph itself included.
type Cost struct {
	Memory  int64 // bytes with which it does all in memory
	Least   int64 // bytes that it needs if its covers are out of core
	Seconds float64
}

// Estimate returns what a method takes on a graph of n nodes and m arcs that is in memory or
// streams from its file; depth is that of the Task, levels those of TwoLevel. Times are rates, in
// seconds an arc: Reach was measured at 3.0 s for 30 million arcs, the transpose included.
func Estimate(method string, n, m int64, depth, levels int, streams bool) Cost {
	held := 8*n + 4*m
	if method == NameReach {
		need := 2*held + 52*n
		return Cost{need, need, float64(m) * 1.2e-7}
	}
	if streams {
		held = 0
	}
	passes := float64(levels) * 1e-7
	if method == NameLayered {
		passes = float64(depth*(depth+1)/2) * 6e-8
	}
	// A family is at worst all arcs and its state; out of core, bits.
	return Cost{held + 4*m + 40*n, held + 3*n, float64(m) * passes}
}

// A Plan is what a run is expected to take.
type Plan struct {
	Method  string  `json:"method"`
	Nodes   int64   `json:"nodes"`
	Arcs    int64   `json:"arcs"`
	Exact   bool    `json:"exact"`        // nodes and arcs are counted, not estimated: the caller's to say
	Graph   int64   `json:"graph_bytes"`  // of the graph in memory
	Memory  int64   `json:"memory"`       // bytes
	Least   int64   `json:"least_memory"` // bytes, with covers out of core
	Disk    int64   `json:"disk_read"`    // bytes: the caller's to say
	Seconds float64 `json:"seconds"`
}

// NewPlan returns the plan of what Estimate estimates.
func NewPlan(method string, n, m int64, depth, levels int, streams bool) *Plan {
	c := Estimate(method, n, m, depth, levels, streams)
	return &Plan{Method: method, Nodes: n, Arcs: m, Graph: 8*n + 4*m, Memory: c.Memory, Least: c.Least, Seconds: c.Seconds}
}
