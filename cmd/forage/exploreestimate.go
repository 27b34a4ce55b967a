package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"forage/explore"
	"forage/graph"
	"forage/graph/arcs"
)

func exploreEstimateCmd() *cobra.Command {
	var (
		biased bool
		asJSON bool
		burnIn amount
	)
	cmd := &cobra.Command{
		Use:   "estimate SAMPLE",
		Short: "Estimate properties of the whole graph from a sample",
		Long: `Estimate tells the mean degree, the degree distribution, the number of nodes and the mean
clustering coefficient of the whole graph from a folder that 'forage explore -o' filled. It
takes samples of the walks rw, frontier and mhrw only. Policies that look for many nodes,
such as learned, de, mod or bfs, query nodes of many neighbours first: their samples
over-represent these by an amount that nobody knows, so that every estimate from them is
wrong, and intervals would not show it. --biased estimates from such a sample all the same,
taking the queried nodes as they are.

A walk stands at a node in proportion to its degree; steps are weighted by 1/degree
(Hansen-Hurwitz). mhrw stands everywhere equally often and is not weighted. The number of
nodes comes from how often a walk meets itself; clustering from whether the nodes before and
after a step are linked, which mhrw cannot tell. The graph must be undirected. Intervals (95%)
come from leaving out a twentieth of the walk at a time. Geweke's z compares the beginning
of the walk with its second half: beyond 2 or -2 it has not settled, and a longer walk is
needed.`,
		Example: "  forage explore network.tsv.gz --policy rw --budget 20% -o sample\n  forage explore estimate sample",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, policy, err := readSample(args[0], biased)
			if err != nil {
				return err
			}
			s.Steps = s.Steps[burnIn.of(len(s.Steps)):]
			if len(s.Steps) < 40 {
				return usagef("%s: %d steps are too few to estimate from; want at least 40", args[0], len(s.Steps))
			}
			return printEstimates(cmd.OutOrStdout(), policy, s, asJSON)
		},
	}
	burnIn.Set("10%")
	f := cmd.Flags()
	f.BoolVar(&biased, "biased", false, "estimate from the sample of a policy that is no walk: wrong by an unknown amount")
	f.Var(&burnIn, "burn-in", "steps left out at the beginning, or a percentage")
	f.BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

// readSample reads a folder that explore filled.
func readSample(dir string, biased bool) (*explore.Sample, string, error) {
	var manifest struct {
		Policy   string `json:"policy"`
		Directed bool   `json:"directed"`
	}
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", usagef("%s is no sample: it holds no manifest.json; 'forage explore -o' makes one", dir)
	} else if err != nil {
		return nil, "", err
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		return nil, "", usagef("%s/manifest.json: %w", dir, err)
	}
	walk := manifest.Policy == "rw" || manifest.Policy == "frontier" || manifest.Policy == "mhrw"
	if !walk && !biased {
		return nil, "", usagef("%s is a sample of %s, which prefers some nodes in a way that nobody can weight away; explore with rw, frontier or mhrw, or give --biased for numbers that are wrong", dir, manifest.Policy)
	}
	if manifest.Directed && !biased {
		return nil, "", usagef("%s is a sample of a directed graph: where its walks stand in the long run is not known; give --biased for numbers that are wrong", dir)
	}
	number := map[string]graph.Node{}
	node := func(name string) graph.Node {
		v, ok := number[name]
		if !ok {
			v = graph.Node(len(number))
			number[name] = v
		}
		return v
	}
	linked := map[graph.Arc]bool{}
	err = eachRow(filepath.Join(dir, "arcs.csv.zst"), []string{"source", "target"}, func(row []string) error {
		linked[graph.Arc{From: node(row[0]), To: node(row[1])}] = true
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	s := &explore.Sample{
		Uniform: manifest.Policy == "mhrw" || !walk,
		Linked: func(a, b graph.Node) bool {
			return linked[graph.Arc{From: a, To: b}] || linked[graph.Arc{From: b, To: a}]
		},
	}
	if walk {
		err = eachRow(filepath.Join(dir, "walk.csv"), []string{"step", "walker", "node", "degree"}, func(row []string) error {
			walker, err1 := strconv.Atoi(row[1])
			degree, err2 := strconv.Atoi(row[3])
			if err1 != nil || err2 != nil || degree < 0 {
				return fmt.Errorf("want numbers of a walker and a degree, got %q and %q", row[1], row[3])
			}
			s.Steps = append(s.Steps, explore.Step{Walker: walker, Node: node(row[2]), Degree: degree})
			return nil
		})
	} else {
		err = eachRow(filepath.Join(dir, "nodes.csv"), []string{"node", "state", "order", "time", "declared", "listed"}, func(row []string) error {
			if row[1] != "complete" {
				return nil
			}
			degree, err := strconv.Atoi(row[5])
			if err != nil {
				return fmt.Errorf("want a number of neighbours, got %q", row[5])
			}
			s.Steps = append(s.Steps, explore.Step{Node: node(row[0]), Degree: degree})
			return nil
		})
	}
	return s, manifest.Policy, err
}

// eachRow calls visit for each row of a CSV file that begins with the columns given.
func eachRow(path string, columns []string, visit func(row []string) error) (err error) {
	f, err := arcs.Open(path)
	if err != nil {
		return badInput(err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := csv.NewReader(f)
	for line := 1; ; line++ {
		row, err := r.Read()
		if err == io.EOF && line > 1 {
			return nil
		}
		if err != nil {
			return badInput(fmt.Errorf("%s: %w", path, err))
		}
		if line == 1 {
			for i, name := range columns {
				if i >= len(row) || row[i] != name {
					return usagef("%s:1: want the columns %v, got %v", path, columns, row)
				}
			}
			continue
		}
		if err := visit(row); err != nil {
			return usagef("%s:%d: %w", path, line, err)
		}
	}
}

func printEstimates(w io.Writer, policy string, s *explore.Sample, asJSON bool) error {
	e := s.Estimate()
	if asJSON {
		number := func(x float64) *float64 {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil
			}
			return &x
		}
		estimate := func(x explore.Estimate) map[string]any {
			return map[string]any{"value": number(x.Value), "low": number(x.Low), "high": number(x.High)}
		}
		degrees := make([][2]float64, len(e.Degrees))
		for i, d := range e.Degrees {
			degrees[i] = [2]float64{float64(d.Degree), d.Share}
		}
		return printJSON(w, map[string]any{
			"policy": policy, "steps": len(s.Steps), "effective_steps": number(e.Effective), "geweke": number(e.Geweke),
			"mean_degree": estimate(e.MeanDegree), "size": estimate(e.Size), "collisions": e.Collisions,
			"clustering": estimate(e.Clustering), "degrees": degrees,
		})
	}
	show := func(name string, x explore.Estimate, format string) {
		if math.IsNaN(x.Value) {
			fmt.Fprintf(w, "%-12s cannot be told\n", name)
			return
		}
		fmt.Fprintf(w, "%-12s "+format+"  (95%%: "+format+" to "+format+")\n", name, x.Value, x.Low, x.High)
	}
	fmt.Fprintf(w, "%d steps of %s, worth %.0f independent ones; Geweke's z %.2f\n", len(s.Steps), policy, e.Effective, e.Geweke)
	show("mean degree", e.MeanDegree, "%.3f")
	show("nodes", e.Size, "%.0f")
	show("clustering", e.Clustering, "%.4f")
	fmt.Fprintf(w, "share of nodes by degree:")
	for i, d := range e.Degrees {
		if i == 10 {
			fmt.Fprintf(w, " … (%d degrees; --json lists all)", len(e.Degrees))
			break
		}
		fmt.Fprintf(w, " %d: %.1f%%", d.Degree, 100*d.Share)
	}
	_, err := fmt.Fprintln(w)
	return err
}
