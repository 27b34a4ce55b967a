package revisit

import (
	"fmt"
	"strings"

	"forage/internal/spell"
)

// Config holds what a policy may be told beside its name. The zero value is the default.
type Config struct {
	Alpha float64 // decay of a full recrawl per cycle in od-win, in (0, 1]; 0 means 1
	Seed  uint64  // of everything random (uniform, bandit)
	Stop  float64 // stop when a fetch is expected to find less than this share of a cycle's new pages; 0: never
	Prior *Prior  // of best; nil: the one that comes with it. It must not change
}

// Default is the policy of a user who names none.
const Default = "best"

// A Description is one policy that can be made by its name.
type Description struct {
	Name string
	Doc  string // a few words
	Lab  bool   // compared in the paper or here, of no use otherwise
	Full bool   // learns from full recrawls only: names no document before one has led to a new page
	Make func(Config) Policy
}

// Policies returns the policies that New makes, the default first.
func Policies() []Description { return policies }

var policies = []Description{
	{Name: "best", Doc: "what the documents fetched so far do not show; learns from links and from its own fetches", Make: func(c Config) Policy {
		p := c.Prior
		if p == nil {
			p = &shipped.Prior
		}
		return newBest(p, c.Stop)
	}},
	{Name: "index", Doc: "a price for each document in continuous time, no full recrawls", Make: func(Config) Policy { return NewIndex() }},
	{Name: "history", Doc: "greedy cover of what past cycles found, for sites with full recrawls", Make: func(Config) Policy { return NewHistory() }},
	{Name: "od-win-audit", Doc: "od-win from its own fetches, a fifth of them round robin", Make: func(Config) Policy { return NewAudit(false) }},
	{Name: "feeds-first", Doc: "main feeds, sitemaps and home, then od-win-audit", Make: func(Config) Policy { return NewAudit(true) }},
	{Name: "round-robin", Doc: "the document fetched longest ago", Make: func(Config) Policy { return &RoundRobin{} }},
}

// New returns the policy of a name, of those in this package; paper.New knows the paper's too.
func New(name string, cfg Config) (Policy, error) { return NewFrom(policies, name, cfg) }

// NewFrom returns the policy of a name, one of those described, with the defaults of cfg filled
// in. The error for an unknown name suggests the nearest.
func NewFrom(described []Description, name string, cfg Config) (Policy, error) {
	if cfg.Alpha == 0 {
		cfg.Alpha = 1
	}
	if !(cfg.Alpha > 0 && cfg.Alpha <= 1) {
		return nil, fmt.Errorf("decay %g is outside (0, 1]", cfg.Alpha)
	}
	if !(cfg.Stop >= 0 && cfg.Stop < 1) {
		return nil, fmt.Errorf("stopping share %g is outside [0, 1)", cfg.Stop)
	}
	var names, serving []string
	for _, d := range described {
		if d.Name == name {
			return d.Make(cfg), nil
		}
		names = append(names, d.Name)
		if !d.Lab {
			serving = append(serving, d.Name)
		}
	}
	hint := "there are " + strings.Join(serving, ", ")
	if nearest := spell.Nearest(name, names); nearest != "" {
		hint = fmt.Sprintf("do you mean %q? Else %s", nearest, hint)
	}
	return nil, fmt.Errorf("no revisit policy is called %q: %s", name, hint)
}
