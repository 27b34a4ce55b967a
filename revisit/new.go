package revisit

import (
	"fmt"
	"strings"
)

// Config holds what a policy may be told beside its name. The zero value is the default.
type Config struct {
	Alpha float64 // decay of a full recrawl per cycle in od-win, in (0, 1]; 0 means 1
	Seed  uint64  // of everything random (uniform, bandit)
	Stop  float64 // stop when a fetch is expected to find less than this share of a cycle's new pages; 0: never
}

// Default is the policy of a user who names none.
const Default = "od-win"

// A Description is one policy that New makes.
type Description struct {
	Name string
	Doc  string // a few words
	Lab  bool   // compared in the paper or here, of no use otherwise

	new func(Config) Policy
}

// Policies returns the policies that New makes, those that serve first.
func Policies() []Description { return policies }

var policies = []Description{
	{Name: "od-win", Doc: "documents that led to most new pages in past full recrawls", new: func(c Config) Policy { return NewODWin(c.Alpha, false) }},
	{Name: "od-all", Lab: true, Doc: "od-win, with a full recrawl every cycle", new: func(c Config) Policy { return NewODWin(c.Alpha, false) }},
	{Name: "od-1", Lab: true, Doc: "od-win, from the latest full recrawl only", new: func(Config) Policy { return NewODWin(1, true) }},
}

// New returns the policy of a name. The error for an unknown name suggests the nearest.
func New(name string, cfg Config) (Policy, error) {
	if cfg.Alpha == 0 {
		cfg.Alpha = 1
	}
	if !(cfg.Alpha > 0 && cfg.Alpha <= 1) {
		return nil, fmt.Errorf("decay %g is outside (0, 1]", cfg.Alpha)
	}
	if !(cfg.Stop >= 0 && cfg.Stop < 1) {
		return nil, fmt.Errorf("stopping share %g is outside [0, 1)", cfg.Stop)
	}
	var names []string
	nearest, least := "", 4
	for _, d := range policies {
		if d.Name == name {
			return d.new(cfg), nil
		}
		if n := edits(name, d.Name); n < least {
			nearest, least = d.Name, n
		}
		if !d.Lab {
			names = append(names, d.Name)
		}
	}
	hint := "there are " + strings.Join(names, ", ")
	if nearest != "" {
		hint = fmt.Sprintf("do you mean %q? Else %s", nearest, hint)
	}
	return nil, fmt.Errorf("no revisit policy is called %q: %s", name, hint)
}

// edits returns the Levenshtein distance of two short strings.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d++
			}
			diagonal = row[j+1]
			row[j+1] = min(d, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
