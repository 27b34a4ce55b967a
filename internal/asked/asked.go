// Package asked is for programs that measure: it prints each figure beside what is asked of it.
package asked

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Table prints figures.
type Table struct {
	Out   io.Writer
	Quick bool // sizes are divided by ten, for a look
	Short int  // figures that are not what is asked
}

// A Row is what can be measured by itself.
type Row struct {
	Name string
	Run  func() error
}

// Names of rows, for people.
func Names(rows []Row) string {
	var all []string
	for _, r := range rows {
		all = append(all, r.Name)
	}
	return strings.Join(all, ", ")
}

// Know returns an error unless only is the name of a row, or empty.
func Know(rows []Row, only string) error {
	if only != "" && !slices.ContainsFunc(rows, func(r Row) bool { return r.Name == only }) {
		return fmt.Errorf("-only %q: want one of %s", only, Names(rows))
	}
	return nil
}

// Run measures all rows, or the one that is named.
func (t *Table) Run(rows []Row, only string) error {
	if err := Know(rows, only); err != nil {
		return err
	}
	fmt.Fprintf(t.Out, "%-58s %12s %12s\n", "", "measured", "asked")
	for _, r := range rows {
		if only == "" || r.Name == only {
			if err := r.Run(); err != nil {
				return fmt.Errorf("%s: %w", r.Name, err)
			}
		}
	}
	if t.Short > 0 {
		fmt.Fprintf(t.Out, "%d short\n", t.Short)
	}
	return nil
}

// Size is a size of the full run, or of the quick one.
func (t *Table) Size(n int) int {
	if t.Quick {
		return max(1, n/10)
	}
	return n
}

// Tell prints a figure beside what is asked: at most so much, at least where asked is negative; 0: nothing is asked.
func (t *Table) Tell(what string, measured float64, unit string, asked float64) {
	mark, want := "", "-"
	if asked != 0 {
		mark, want = "ok", "<= "+figure(asked)
		short := measured > asked
		if asked < 0 {
			want, short = ">= "+figure(-asked), measured < -asked
		}
		if short || math.IsNaN(measured) {
			mark = "short"
			t.Short++
		}
	}
	fmt.Fprintf(t.Out, "%-58s %12s %12s %s\n", what, strings.TrimSpace(figure(measured)+" "+unit), want, mark)
}

func figure(x float64) string {
	return strconv.FormatFloat(x, 'f', map[bool]int{true: 0, false: 2}[math.Abs(x) >= 100 || x == math.Trunc(x)], 64)
}
