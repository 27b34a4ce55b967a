package crawl

import (
	"errors"
	"fmt"

	"forage/store"
)

// A command is something asked of a running crawl by another goroutine.
type command struct {
	do   func(*engine) error
	done chan error
}

// ErrNotRunning is returned by what steers a crawl when no Run or Revisit is under way.
var ErrNotRunning = errors.New("no crawl is running")

// steer has the loop do something between two answers.
func (c *Crawl) steer(do func(*engine) error) error {
	if !c.running.Load() {
		return ErrNotRunning
	}
	cmd := command{do, make(chan error, 1)}
	select {
	case c.commands <- cmd:
		return <-cmd.done
	case <-c.ended():
		return ErrNotRunning
	}
}

func (e *engine) command(c command) error { return c.do(e) }

// Add gives a running crawl further URLs to start from, with the rules that their site has, or
// those of the run's first site. It adds none if one of them is no URL.
func (c *Crawl) Add(urls []string) error {
	return c.steer(func(e *engine) error {
		seeds := make([]Seed, len(urls))
		for i, u := range urls {
			rules := store.Rules{Scope: Scopes[0]}
			url, err := normalise(u, nil)
			if err != nil {
				return fmt.Errorf("add %q: %w", u, err)
			}
			if s := e.siteOf(url); s != nil {
				rules = s.Rules
			} else {
				for _, s := range e.sites {
					if s.ID == 1 || rules.DelayMillis == 0 {
						rules.DelayMillis, rules.IgnoreParams = s.Rules.DelayMillis, s.Rules.IgnoreParams
					}
				}
			}
			if url, err = normalise(u, rules.IgnoreParams); err != nil {
				return fmt.Errorf("add %q: %w", u, err)
			}
			seeds[i] = Seed{URL: url, Rules: rules}
		}
		list, err := c.addSeeds(seeds, e.cycle.Cycle, c.now())
		if err != nil {
			return err
		}
		for _, rec := range list {
			s := e.sites[rec.ID]
			if s == nil {
				if s, err = e.addSite(rec); err != nil {
					return err
				}
				if e.cycle.Kind != store.FirstVisit {
					if err := e.db.SiteDocs(rec.ID, func(d *store.Doc) bool { s.traps.learn(d.URL); return true }); err != nil {
						return err
					}
				}
			}
			s.Seeds = rec.Seeds
		}
		for _, seed := range seeds {
			id, err := e.db.Find(seed.URL)
			if err != nil {
				return err
			}
			d, err := e.db.Doc(id)
			if err != nil {
				return err
			}
			if s := e.sites[d.Site]; s != nil && d.State == store.Queued {
				s.open++
				s.ended, s.full = false, false
				e.line(s, d)
			}
		}
		return nil
	})
}

// onSites calls do for the site of that name.
func (e *engine) named(name string) (*site, error) {
	for _, s := range e.sites {
		if s.Name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", name, ErrNoSite)
}

// Pause lets a running crawl hand out nothing more, of one site or, for "", of all.
func (c *Crawl) Pause(name string) error {
	return c.steer(func(e *engine) error {
		if name == "" {
			e.paused = true
			return nil
		}
		s, err := e.named(name)
		if err != nil {
			return err
		}
		s.State, s.Reason, s.held = store.SitePaused, "by hand", true
		for _, h := range e.byID {
			if h.cursors[s.ID] != nil {
				e.q.Spill(h.id)
			}
		}
		return e.db.PutSite(s.Site)
	})
}

// Resume ends a pause, by hand or because the site blocked us.
func (c *Crawl) Resume(name string) error {
	return c.steer(func(e *engine) error {
		e.paused = e.paused && name != ""
		for _, s := range e.sites {
			if name != "" && s.Name != name {
				continue
			}
			if s.State == store.SitePaused {
				s.State, s.Reason, s.held = store.SiteCrawling, "", false
				if err := e.db.PutSite(s.Site); err != nil {
					return err
				}
			}
			for _, h := range e.byID {
				if h.cursors[s.ID] != nil {
					h.givenUp, h.failed = "", 0
					e.q.Resume(h.id)
					e.wake(h)
				}
			}
		}
		if name != "" {
			_, err := e.named(name)
			return err
		}
		return nil
	})
}

// Stop ends a running crawl, or its work on one site, with the state saved.
func (c *Crawl) Stop(name string) error {
	return c.steer(func(e *engine) error {
		if name == "" {
			e.stop("forage stop")
			e.res.Interrupted = true
			return nil
		}
		s, err := e.named(name)
		if err != nil {
			return err
		}
		s.full, s.ended, s.held, s.limit = true, true, false, "forage stop"
		e.res.Interrupted = true
		return nil
	})
}
