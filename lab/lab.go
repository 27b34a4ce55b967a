// Package lab reproduces the papers' tables and figures on real data, one file each, with
// the code that the live crawl runs.
//
// An Experiment runs in an Env and returns a Result: a table, a figure, and what there is to
// say about them. Run writes it as NAME.csv, NAME.json and NAME.svg. Fit fits the numbers of a
// revisit policy to site histories. The same data and seed give the same bytes.
package lab

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forage/store"
)

// An Experiment is one table or figure.
type Experiment struct {
	Name  string // as on the command line: subject, then table or figure
	Title string // one line
	Run   func(ctx context.Context, env *Env) (*Result, error)
}

// An Env is what an experiment may use.
type Env struct {
	Data     string    // folder that is searched recursively for inputs
	Out      string    // folder for results; experiments may add files of their own
	Seed     uint64    // of everything random
	Runs     int       // repetitions; 0: the experiment's own
	Full     bool      // larger graphs too, where the experiment's own end within minutes
	Progress io.Writer // a line now and then

	// PaperFilter leaves out sites that [DGKOPT07, §3] would have: below 100 or above 200,000
	// pages in any snapshot.
	PaperFilter bool

	// Store is a crawl to read in place of other data, where TakesStore says so; nil: none.
	Store *store.View
}

// TakesStore reports whether the experiment can read a store.
func (e Experiment) TakesStore() bool {
	return e.Name == "discoverability-table1" || e.Name == "discoverability-fig7"
}

// A DataError says why data cannot serve an experiment, and what would.
type DataError struct{ Reason string }

func (e *DataError) Error() string { return e.Reason }

// Files returns the files below Data whose names end in suffix, sorted by path.
func (e *Env) Files(suffix string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(e.Data, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, suffix) {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, &DataError{fmt.Sprintf("%s holds no *%s; --data names the folder to search", e.Data, suffix)}
	}
	slices.Sort(names)
	return names, nil
}

// A Result is what an experiment found.
type Result struct {
	Columns []string
	Rows    [][]any  // nil, string, int, float64 or bool; a nil cell is empty in CSV, null in JSON
	Notes   []string // sentences: where the data differ, which claims of the paper hold
	Figure  *Figure  // nil: a table only
}

// Add appends a row, a cell for each column.
func (r *Result) Add(cells ...any) {
	if len(cells) != len(r.Columns) {
		panic(fmt.Sprintf("lab: %d cells for %d columns", len(cells), len(r.Columns)))
	}
	r.Rows = append(r.Rows, cells)
}

// Notef appends a sentence.
func (r *Result) Notef(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// Experiments returns all experiments, sorted by name.
func Experiments() []Experiment {
	all := slices.Concat(delays, discoverability, explorers, setCover, stability)
	slices.SortFunc(all, func(a, b Experiment) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Find returns the experiment of that name, nil if there is none, and the names of all others.
func Find(name string) (found *Experiment, others []string) {
	for _, e := range Experiments() {
		if e.Name == name {
			found = &e
		} else {
			others = append(others, e.Name)
		}
	}
	return found, others
}
