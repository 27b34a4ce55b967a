// Package sample keeps explorations in folders: those of live sources, which go on after an
// interruption, and those of hidden graphs. It reads them back to estimate from.
//
// Live explores an API until its budget is spent; Keep does the same with an explore.Trial; Read
// returns what explore.Sample needs. The folders are those of source.Collection, which tells what
// they hold.
package sample

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"forage/explore"
	"forage/graph"
	"forage/graph/arcs"
	"forage/source"
)

// ErrNoManifest says that a folder is no sample.
var ErrNoManifest = errors.New("it holds no manifest.json")

// A BiasError tells of a sample whose bias is not known, so that nothing follows from it for the
// whole graph.
type BiasError struct {
	Dir      string
	Policy   string
	Directed bool // the graph is: no policy's sample will do; else this policy's does not
}

func (e *BiasError) Error() string {
	if e.Directed {
		return fmt.Sprintf("%s is a sample of a directed graph: where its walks stand in the long run is not known", e.Dir)
	}
	return fmt.Sprintf("%s is a sample of %s, which prefers some nodes in a way that nobody can weight away", e.Dir, e.Policy)
}

// walks are the policies whose samples can be weighted so that they stand for the whole.
var walks = []string{"rw", "frontier", "mhrw"}

// Read reads the sample in a folder and returns the policy that took it. If the bias of the sample
// is not known it is a *BiasError, unless biased is set: then the nodes queried are taken as they
// are. A folder without a manifest is ErrNoManifest. Memory: all links of the sample.
func Read(dir string, biased bool) (s *explore.Sample, policy string, err error) {
	var manifest struct {
		Policy   string `json:"policy"`
		Directed bool   `json:"directed"`
	}
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("%s is no sample: %w", dir, ErrNoManifest)
	} else if err != nil {
		return nil, "", err
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		return nil, "", fmt.Errorf("%s/manifest.json: %w", dir, err)
	}
	policy = manifest.Policy
	walk := slices.Contains(walks, policy)
	if !biased && (!walk || manifest.Directed) {
		return nil, "", &BiasError{Dir: dir, Policy: policy, Directed: walk}
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
	s = &explore.Sample{
		Uniform: policy == "mhrw" || !walk,
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
			if row[1] != string(source.Complete) {
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
	return s, policy, err
}

// eachRow calls visit for each row of a CSV file that begins with the columns given.
func eachRow(path string, columns []string, visit func(row []string) error) (err error) {
	f, err := arcs.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := csv.NewReader(f)
	for line := 1; ; line++ {
		row, err := r.Read()
		if err == io.EOF && line > 1 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if line == 1 {
			if len(row) < len(columns) || !slices.Equal(row[:len(columns)], columns) {
				return fmt.Errorf("%s:1: want the columns %v, got %v", path, columns, row)
			}
			continue
		}
		if err := visit(row); err != nil {
			return fmt.Errorf("%s:%d: %w", path, line, err)
		}
	}
}

// Keep runs the policy of that name on a trial and writes the sample to the folder dir, which must
// not exist, as a live exploration would, with node numbers as names. path names the graph in the
// manifest. After an error nothing is left.
func Keep(dir string, t *explore.Trial, policy, path string) (err error) {
	c, _, err := source.OpenCollection(dir, nil, source.Settings{"graph": path, "start": t.Start, "policy": policy, "seed": t.Seed, "directed": t.Directed})
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, c.Close()); err != nil {
			os.RemoveAll(dir)
		}
	}()
	name := func(v graph.Node) string { return strconv.FormatUint(uint64(v), 10) }
	c.Number(name(t.Start))
	p, queries, err := t.Record(policy, func(v graph.Node, out []graph.Node) error {
		r := source.Record{ID: name(v), Answer: source.Answer{State: source.Complete, Declared: -1}}
		for _, u := range out {
			r.Answer.Neighbours = append(r.Answer.Neighbours, source.Neighbour{ID: name(u), Degree: -1})
		}
		_, err := c.Append(&r)
		return err
	})
	if err != nil {
		return err
	}
	return c.Write(map[string]any{
		"version": 1, "graph": path, "policy": policy, "seed": t.Seed, "start": name(t.Start), "directed": t.Directed,
		"budget": map[string]any{"nodes": t.Budget}, "queries": queries, "observed": c.Observed(), "states": c.States(), "complete": true,
	}, steps(p))
}

// steps returns the steps of a policy that walks, nil of others. Its numbers are those of
// the collection: both count in the order of first observation.
func steps(p explore.Policy) []source.Step {
	w, ok := p.(explore.Walker)
	if !ok {
		return nil
	}
	steps := []source.Step{}
	for _, s := range w.Steps() {
		steps = append(steps, source.Step{Walker: s.Walker, Node: s.Node, Degree: s.Degree})
	}
	return steps
}
