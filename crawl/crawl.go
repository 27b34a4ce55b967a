// Package crawl is the loop: the only place where decisions meet effects. It asks package
// frontier whose turn it is, has package fetch fetch, reads what came, writes it to the store,
// and follows what is new.
//
// Start with Open, which takes the store of a folder, and Crawl.Run, which visits sites for
// the first time or goes on where it was interrupted. Crawl.Revisit runs one cycle of
// discovery: a revisit.Policy names old documents, the loop fetches them and follows new ones
// to the end. Both return a Result and leave a store that is good, however they end. While
// they run, View shows the store to others, and Add, Pause, Resume and Stop steer.
//
// One goroutine, the loop, decides and writes; a pool of Config.Parallel fetches and parses.
// What new, gone, duplicate and trap mean is in newness.go, answer.go and traps.go.
package crawl

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"forage/fetch"
	"forage/store"
)

// Config says what to crawl and how. The zero value of a field means the default.
type Config struct {
	Dir      string        // the store
	Fetch    fetch.Config  // how single requests are made
	Parallel int           // requests at once over all hosts; 0: 64
	Delay    time.Duration // least gap between two requests to a host; see frontier.Config; below 0: as the sites were crawled (Revisit)
	MaxTotal int64         // answers in one run; 0: no limit
	MaxTime  time.Duration // of one run; 0: no limit
	MaxKept  int           // pages of which links and validators are kept; 0: all
	Policy   string        // explorer that orders a first visit; "": bfs
	At       time.Time     // the clock of the records; zero: the real one
	Skipped  io.Writer     // where URLs that are not fetched are listed, with reasons; nil: nowhere
	Progress func(Progress)
	Log      *slog.Logger // warnings; nil: none
}

// A Progress is what a person who waits wants to know.
type Progress struct {
	Elapsed time.Duration
	Fetched int64 // answers in this run
	Pages   int64 // pages answered for the first time in this run
	Queued  int64 // documents that wait, over all sites
	Hosts   int   // hosts with something to fetch
	Out     int   // requests under way
	Wait    time.Duration
}

// A Result tells what a run came to.
type Result struct {
	Cycle       store.Cycle
	Sites       int
	Fetched     int64 // answers to requests for documents, in this run
	Refetched   int64 // of these, of old documents
	Pages       int64 // pages that answered for the first time in this run, duplicates included
	Known       int64 // pages of the run's sites in the store
	NewPages    int64 // pages that are new for certain, duplicates left out
	Unknown     int64 // pages of which nobody knows whether they are new
	Bytes       int64
	Errors      int64
	Failed      []FailedSite
	Finished    []*store.Site // sites that had nothing left to be fetched from the start
	Interrupted bool          // by the context or Stop: the state is saved, the same call goes on
	Cut         string        // what else ended the run before its end: --max-total, --time-limit, …
	Seconds     float64
}

// A FailedSite is a site of which no page could be fetched, or that could not be begun.
type FailedSite struct {
	Site   string `json:"site"`
	Reason string `json:"reason"`
}

// Overhead is old documents fetched per new page, and false where there is none.
func (r *Result) Overhead() (float64, bool) {
	if r.NewPages == 0 {
		return 0, false
	}
	return float64(r.Refetched) / float64(r.NewPages), true
}

// A Crawl owns a store and works on it.
type Crawl struct {
	cfg      Config
	db       *store.DB
	commands chan command
	running  atomic.Bool
	stop     chan struct{} // closed when the run has ended
}

// Open opens or makes the store of cfg.Dir. Its errors are those of store.Open.
func Open(cfg Config) (*Crawl, error) {
	cfg.Parallel = cmp.Or(cfg.Parallel, 64)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	db, err := store.Open(cfg.Dir, store.Options{})
	if err != nil {
		return nil, err
	}
	return &Crawl{cfg: cfg, db: db, commands: make(chan command)}, nil
}

// View shows what is committed, also while the crawl runs.
func (c *Crawl) View() *store.View { return &c.db.View }

// Snapshot shows what is committed now, and goes on showing it. The caller closes it.
func (c *Crawl) Snapshot() *store.View { return c.db.Snapshot() }

// Close gives the store free. No Run or Revisit may be under way.
func (c *Crawl) Close() error { return c.db.Close() }

// A Seed is one URL to start from, with the rules of its site.
type Seed struct {
	URL   string
	Rules store.Rules // Within is filled in
}

// A siteURL is a URL as a seed of a site.
type siteURL struct {
	site store.SiteID
	url  string
}

// addSeeds makes the sites of seeds, or changes the rules of those that exist, and returns
// them, each once, in the order of the seeds.
func (c *Crawl) addSeeds(seeds []Seed, cycle store.Cycle, now store.Time) ([]*store.Site, error) {
	all, err := c.db.Sites()
	if err != nil {
		return nil, err
	}
	byName := map[string]*store.Site{}
	for _, s := range all {
		byName[s.Name] = s
	}
	var out, fresh []*store.Site
	chosen, given := map[string]bool{}, map[siteURL]bool{}
	urls, of := make([]string, len(seeds)), make([]*store.Site, len(seeds))
	for i, seed := range seeds {
		rules := seed.Rules
		if rules.Scope == "" {
			rules.Scope = Scopes[0]
		}
		url, err := normalise(seed.URL, rules.IgnoreParams)
		if err != nil {
			return nil, fmt.Errorf("seed %q: %w", seed.URL, err)
		}
		if rules.Within, err = within(rules.Scope, url); err != nil {
			return nil, err
		}
		if _, err := newScope(&rules); err != nil {
			return nil, err
		}
		s := byName[rules.Within]
		if s == nil {
			s = &store.Site{Name: rules.Within, Rules: rules, State: store.SiteCrawling, FirstCycle: cycle, LastCycle: cycle}
			if err := c.db.AddSite(s); err != nil {
				return nil, err
			}
			byName[s.Name] = s
			fresh = append(fresh, s)
		} else if !chosen[s.Name] {
			s.Rules = rules
		}
		if !chosen[s.Name] {
			chosen[s.Name] = true
			out = append(out, s)
			for _, u := range s.Seeds {
				given[siteURL{s.ID, u}] = true
			}
		}
		if !given[siteURL{s.ID, url}] {
			given[siteURL{s.ID, url}] = true
			s.Seeds = append(s.Seeds, url)
		}
		urls[i], of[i] = url, s
	}
	if err := c.adopt(fresh, cycle); err != nil {
		return nil, err
	}
	for i, s := range of {
		d := newDoc(urls[i], s.ID)
		d.Seed, d.Discovered, d.Cycle = true, now, cycle
		if s.LastCycle != s.FirstCycle {
			d.New = newness(s, cycle, nil)
		}
		added, err := c.db.Add(d)
		if err != nil {
			return nil, err
		}
		if !added {
			if d, err = c.db.Doc(d.ID); err != nil {
				return nil, err
			}
			if d.State == store.Skipped {
				d.State, d.Reason = store.Queued, ""
			}
			d.Seed = true
			if d.Kind == store.Unseen {
				d.Depth = 0
			}
			if err := c.db.Put(d); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range out {
		if err := c.db.PutSite(s); err != nil {
			return nil, err
		}
	}
	return out, c.db.Commit()
}

// currentCycle returns the latest cycle, nil for none.
func currentCycle(v *store.View) (*store.CycleRecord, error) {
	all, err := v.Cycles()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[len(all)-1], nil
}

// nextCycle returns the cycle to work in: the latest one, if it is of the same kind and was
// interrupted, else a new one, which is written when something is fetched.
func nextCycle(v *store.View, kind store.CycleKind, policy, budget string, now store.Time) (*store.CycleRecord, bool, error) {
	last, err := currentCycle(v)
	if err != nil {
		return nil, false, err
	}
	if last != nil && last.Ended == 0 && last.Kind == kind && last.Policy == policy && last.Budget == budget {
		return last, true, nil
	}
	r := &store.CycleRecord{Cycle: 1, Kind: kind, Policy: policy, Budget: budget, At: now}
	if last != nil {
		r.Cycle = last.Cycle + 1
	}
	return r, false, nil
}

func (c *Crawl) now() store.Time {
	if !c.cfg.At.IsZero() {
		return c.cfg.At.Unix()
	}
	return time.Now().Unix()
}

// ErrNoSite is wrapped by the error for a name that no site of the store has.
var ErrNoSite = errors.New("no such site in the store")

// DB is the store of the crawl, for those that read it beside the crawl.
func (c *Crawl) DB() *store.DB { return c.db }

// begin and end mark the time in which commands reach the loop.
func (c *Crawl) begin() {
	c.stop = make(chan struct{})
	c.running.Store(true)
}

func (c *Crawl) end() {
	c.running.Store(false)
	close(c.stop)
}

func (c *Crawl) ended() <-chan struct{} { return c.stop }
