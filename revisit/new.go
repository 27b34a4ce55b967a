package revisit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Config holds what a policy may be told beside its name. The zero value is the default.
type Config struct {
	Alpha float64 // decay of a full recrawl per cycle in od-win, in (0, 1]; 0 means 1
	Seed  uint64  // of everything random (uniform, bandit)
	Stop  float64 // stop when a fetch is expected to find less than this share of a cycle's new pages; 0: never
	Prior *Prior  // of best; nil: the one that comes with it

	// Perturb, unless 0, is a seed that moves the constants of best by up to a tenth. A single
	// run over a few sites tells as much of luck as of the policy: a page fetched a week earlier
	// may bring hundreds. The mean of runs with different seeds tells more.
	Perturb uint64
}

// Default is the policy of a user who names none.
const Default = "best"

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
	{Name: "best", Doc: "what the documents fetched so far do not show; learns from its own fetches and from full recrawls", new: func(c Config) Policy {
		b := newBest(bestTuning.perturbed(c.Perturb), c.Stop)
		if c.Prior != nil {
			b.prior = c.Prior
		}
		return b
	}},
	{Name: "index", Doc: "a price for each document in continuous time, no full recrawls", new: func(Config) Policy { return NewIndex() }},
	{Name: "history", Doc: "greedy cover of what past cycles found, for sites with full recrawls", new: func(Config) Policy { return NewHistory() }},
	{Name: "od-win", Doc: "documents that led to most new pages in past full recrawls; nothing without one", new: func(c Config) Policy { return NewODWin(c.Alpha, false) }},
	{Name: "od-win-audit", Doc: "od-win from its own fetches, a fifth of them round robin", new: func(Config) Policy { return NewAudit(false) }},
	{Name: "feeds-first", Doc: "main feeds, sitemaps and home, then od-win-audit", new: func(Config) Policy { return NewAudit(true) }},
	{Name: "round-robin", Doc: "the document fetched longest ago", new: func(Config) Policy { return &RoundRobin{} }},
	{Name: "od-all", Lab: true, Doc: "od-win, with a full recrawl every cycle", new: func(c Config) Policy { return NewODWin(c.Alpha, false) }},
	{Name: "od-1", Lab: true, Doc: "od-win, from the latest full recrawl only", new: func(Config) Policy { return NewODWin(1, true) }},
	{Name: "cliq-win", Lab: true, Doc: "od-win over clusters of documents that show the same", new: func(c Config) Policy { return NewCliq(c.Alpha, cliqFar, false) }},
	{Name: "cliq-1", Lab: true, Doc: "cliq-win, from the latest full recrawl only", new: func(Config) Policy { return NewCliq(1, cliqFar, true) }},
	{Name: "cov", Lab: true, Doc: "greedy cover of the latest full recrawl", new: func(Config) Policy { return &Cov{} }},
	{Name: "bandit", Lab: true, Doc: "multi-armed bandit, UCB1", new: func(Config) Policy { return NewBandit(0, nil) }},
	{Name: "bandit-greedy", Lab: true, Doc: "multi-armed bandit, ε-greedy with ε = 0.1", new: func(c Config) Policy { return NewBandit(.1, rand.New(rand.NewPCG(c.Seed, 1))) }},
	{Name: "uniform", Lab: true, Doc: "documents at random", new: func(c Config) Policy { return NewUniform(rand.New(rand.NewPCG(c.Seed, 2))) }},
}

// cliqFar is the paper's ε_b [DGKOPT07, §5.6].
const cliqFar = .8

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
	if name == "greedy" {
		return nil, errors.New("greedy is the oracle: it knows what is new, as no live crawl does; 'forage lab run discoverability-beyond' has it beside the others")
	}
	var names []string
	nearest, least := "", 3
	for _, d := range policies {
		if d.Name == name {
			return d.new(cfg), nil
		}
		if n := edits(name, d.Name); n < least && n < len(d.Name) {
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
