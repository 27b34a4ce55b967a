package open

import (
	"cmp"
	"fmt"
	"os"

	"forage/graph"
	"forage/graph/arcs"
	"forage/graph/bv"
	"forage/internal/machine"
)

// Estimate tells the size of the graph at the paths before it is read; of o, Format, Direction and
// Relabel count.
func Estimate(paths []string, o Options) (arcs.Estimate, error) {
	switch {
	case o.Format == BV:
		g, err := bv.Open(paths[0])
		if err != nil {
			return arcs.Estimate{}, err
		}
		defer g.Close()
		e := arcs.Estimate{Nodes: uint64(g.NumNodes()), Arcs: g.NumArcs(), Exact: o.Direction != arcs.Both}
		if o.Direction == arcs.Both {
			e.Arcs *= 2
		}
		return e, nil
	case o.Format == GraphML:
		info, err := os.Stat(paths[0])
		if err != nil {
			return arcs.Estimate{}, err
		}
		const perArc = 36 // bytes of an edge with short ids
		return arcs.Estimate{Nodes: uint64(info.Size() / perArc / 8), Arcs: uint64(info.Size() / perArc), Text: info.Size()}, nil
	case o.Relabel:
		return estimateNames(paths)
	}
	files, err := arcs.FilesAll(paths)
	if err != nil {
		return arcs.Estimate{}, err
	}
	return arcs.Guess(files, o.arcs())
}

// estimateNames estimates a list of arcs between names by its size.
func estimateNames(paths []string) (arcs.Estimate, error) {
	e := arcs.Estimate{}
	for _, p := range paths {
		files, err := arcs.Files(p)
		if file, ok := arcs.Collection(p); ok {
			files, err = []string{file}, nil
		}
		if err != nil {
			return e, err
		}
		for _, name := range files {
			info, err := os.Stat(name)
			if err != nil {
				return e, err
			}
			e.Text += info.Size()
		}
	}
	e.Arcs = uint64(e.Text) / 24
	e.Nodes = e.Arcs / 4
	return e, nil
}

// A Plan is what work on a graph would take. Memory is what the work allocates; seconds come from
// rates, in arcs a second, that were measured with two processors.
type Plan struct {
	Plan    bool    `json:"plan"` // always true
	Nodes   uint64  `json:"nodes"`
	Arcs    uint64  `json:"arcs"`
	Exact   bool    `json:"exact"`  // nodes and arcs are counted, not estimated
	Memory  int64   `json:"memory"` // bytes
	Limit   int64   `json:"memory_limit"`
	Disk    int64   `json:"disk"` // bytes written, temporary ones included
	Temp    int64   `json:"disk_temporary"`
	Free    int64   `json:"disk_free"`
	Seconds float64 `json:"seconds"`
	Fits    bool    `json:"fits"`
}

func newPlan(e arcs.Estimate, f Format) Plan {
	rate := 40e6 // arcs read a second
	switch f {
	case BV:
		rate = 70e6
	case GraphML:
		rate = 0.3e6
	}
	return Plan{Plan: true, Nodes: e.Nodes, Arcs: e.Arcs, Exact: e.Exact, Seconds: float64(e.Arcs) / rate}
}

// PlanConvert returns what it takes to open a graph with the options and to write it in the
// format to.
func PlanConvert(e arcs.Estimate, o Options, to Format) Plan {
	p := newPlan(e, o.Format)
	n, m := int64(e.Nodes), int64(e.Arcs)
	sorted := false
	switch {
	case o.Relabel || o.Format == GraphML:
		p.Memory = 104*n + 12*m
		p.Seconds = float64(m) / 2e6
	case o.Format == BV && o.Direction == arcs.AsWritten:
		p.Memory = 16 << 20
	case o.Format == BV:
		p.Memory = turning(e.Nodes, e.Arcs, o.Direction)
		sorted = p.Memory > o.Memory
	default:
		p.Memory = 8*n + 12*m
		sorted = p.Memory > o.Memory
	}
	if sorted && o.Memory > 0 {
		p.Memory = max(o.Memory, 8<<20)
		p.Temp = 10 * m
		p.Disk = p.Temp
		p.Seconds += float64(m) / 6e6
	}
	digits := int64(len(fmt.Sprint(max(1, n)))) + 1
	switch to {
	case BV:
		p.Disk += m*3/2 + n // 12 bits an arc: weblike takes 10, real web graphs 2 to 4
		p.Seconds += float64(m) / 10e6
	case GraphML:
		p.Disk += (30+2*digits)*m + 20*n
		p.Seconds += float64(m) / 10e6
	case Adjacency:
		p.Disk += digits*m + n
		p.Seconds += float64(m) / 40e6
	default:
		p.Disk += 2 * digits * m
		p.Seconds += float64(m) / 30e6
	}
	return p
}

// PlanMeasure returns what graph.Measure takes on a graph in the format f, with distances from so
// many nodes, or without components and distances if quick is set; and PageRank, if asked for.
func PlanMeasure(e arcs.Estimate, f Format, distances int, quick, pagerank bool) Plan {
	p := newPlan(e, f)
	n, m := int64(e.Nodes), int64(e.Arcs)
	work := 4 * n // degrees
	if !quick {
		work = 32 * n
		p.Seconds += float64(m) / 20e6 * float64(2+distances)
	}
	if pagerank {
		work = max(work, 40*n)
		p.Seconds += 80 * float64(m) / 60e6
		p.Disk = 22 * n
	}
	switch f {
	case BV:
		p.Memory = work + 17*n/4 + 1<<20
		if quick && !pagerank {
			p.Memory = work + 1<<20
		}
	case GraphML:
		p.Memory = 104*n + 12*m + work
	default:
		p.Memory = max(8*n+12*m, 8*n+4*m+work)
	}
	return p
}

// PlanMake returns what it takes to make a graph of about so many arcs in memory, and to write it in
// BV format or as text; "" writes nothing.
func PlanMake(nodes int, arcs float64, memory int64, seconds float64, to Format) Plan {
	p := Plan{Plan: true, Nodes: uint64(nodes), Arcs: uint64(arcs), Memory: memory, Seconds: seconds}
	switch to {
	case "":
	case BV:
		p.Disk = int64(1.5*arcs + float64(nodes))
		p.Seconds += arcs / 10e6
	default: // the longest text, an arc list
		p.Disk = int64(arcs * 2 * float64(len(fmt.Sprint(nodes))+1))
		p.Seconds += arcs / 30e6
	}
	return p
}

// A Shortfall is one reason why a plan does not fit.
type Shortfall struct {
	Of         Resource
	Need, Have int64  // bytes, of Nodes numbers
	Folder     string // of Sorting
}

// A Resource is what a plan needs.
type Resource int

// The resources.
const (
	Memory  Resource = iota // to work in
	Sorting                 // disk for what is sorted
	Output                  // disk for what is written
	Nodes                   // node numbers: a graph has at most graph.MaxNodes
)

// Fit fills in what there is, limit bytes of memory and the disk of the folder that the output goes
// to, sets Fits, and returns what is missing. What is sorted goes to the folder temp, by default
// that of the system; it counts against the disk of the output where that is the same one.
func (p *Plan) Fit(limit int64, temp, folder string) []Shortfall {
	p.Limit, p.Free = limit, machine.FreeDisk(folder)
	var short []Shortfall
	if p.Memory > p.Limit && p.Limit > 0 {
		short = append(short, Shortfall{Of: Memory, Need: p.Memory, Have: p.Limit})
	}
	temp = cmp.Or(temp, os.TempDir())
	kept := p.Disk
	if p.Temp > 0 && machine.Device(temp) != machine.Device(folder) {
		kept -= p.Temp
		if free := machine.FreeDisk(temp); p.Temp > free && free > 0 {
			short = append(short, Shortfall{Of: Sorting, Need: p.Temp, Have: free, Folder: temp})
		}
	}
	if kept > p.Free && p.Free > 0 {
		short = append(short, Shortfall{Of: Output, Need: kept, Have: p.Free})
	}
	if p.Nodes > graph.MaxNodes {
		short = append(short, Shortfall{Of: Nodes, Need: int64(p.Nodes), Have: graph.MaxNodes})
	}
	p.Fits = len(short) == 0
	return short
}
