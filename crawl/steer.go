package crawl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/store"
)

// ErrNotRunning is returned by what steers a crawl when no run is under way.
var ErrNotRunning = errors.New("no crawl is running")

// steer has the loop do something between two answers. When it returns nil, what was done is on
// the disk.
func (c *Crawl) steer(do func() error) error {
	done := make(chan error, 1)
	c.loop.do(func() {
		if len(c.runs)+len(c.growths) == 0 {
			done <- ErrNotRunning
			return
		}
		err := do()
		done <- errors.Join(err, c.db.Sync())
	})
	return <-done
}

// Write has the loop call write between two answers, whether runs are under way or not. When it returns nil, what
// was written is on the disk. It is for records of who runs the crawl; those of sites that are visited are the loop's.
func (c *Crawl) Write(write func(*store.DB) error) error {
	done := make(chan error, 1)
	c.loop.do(func() {
		if c.err != nil {
			done <- c.err
			return
		}
		done <- errors.Join(write(c.db), c.db.Sync())
	})
	return <-done
}

// A HostState tells how a host stands that cycles ask now.
type HostState struct {
	Name       string
	Next       time.Time     // when it may be asked again
	CrawlDelay time.Duration // as its robots.txt asks for
	Pending    int           // documents in line or under way
	Failures   int           // in a row, each of which doubled the wait
	LeftAlone  string        // why it is not asked any more in these cycles; "": it is
}

// Hosts tells how the hosts stand that cycles ask now, by name: up to limit of those after a name, but for those of
// sites that are parked (parked.go), which wait. O(hosts asked now), of which the loop only lists their names.
func (c *Crawl) Hosts(after string, limit int) []HostState {
	l := c.loop
	listed := make(chan []string, 1)
	l.do(func() {
		var names []string
		for name := range l.hosts.byName {
			if name > after {
				names = append(names, name)
			}
		}
		listed <- names
	})
	names := <-listed
	slices.Sort(names)
	done := make(chan []HostState, 1)
	l.do(func() {
		all, now, wall := []HostState{}, l.clock.Now(), l.clock.Wall()
		for _, name := range names {
			h := l.hosts.byName[name]
			if len(all) == limit {
				break
			}
			if h == nil { // nobody asks it any more
				continue
			}
			st := l.queue.State(h.id)
			s := HostState{Name: name, Next: wall.Add(st.Next.Sub(now)), CrawlDelay: st.CrawlDelay, Failures: st.Backoff, LeftAlone: h.givenUp}
			if st.Paused {
				s.LeftAlone = st.Reason
			}
			for _, b := range h.backlogs {
				s.Pending += b.pending
			}
			for _, n := range h.needs {
				s.Pending += n.pending
			}
			all = append(all, s)
		}
		done <- all
	})
	return <-done
}

// Add gives the crawl's oldest run further URLs to start from, with the rules that their site
// has, or the delay of one of the run's sites. It adds none if one of them is no URL. A site
// that is new gets a first visit, one that is being visited has them in its cycle.
func (c *Crawl) Add(urls []string) error {
	return c.steer(func() error {
		if c.intake != nil {
			return ErrNotAlone
		}
		i := slices.IndexFunc(c.runs, func(r *run) bool { return !r.stopping })
		if i < 0 {
			return ErrNotRunning
		}
		r := c.runs[i]
		seeds := make([]scope.Seed, len(urls))
		for i, u := range urls {
			url, err := scope.Normalise(u, nil)
			if err != nil {
				return fmt.Errorf("add %q: %w", u, err)
			}
			rules := r.rulesFor(url)
			if url, err = scope.Normalise(u, rules.IgnoreParams); err != nil {
				return fmt.Errorf("add %q: %w", u, err)
			}
			seeds[i] = scope.Seed{URL: url, Rules: rules}
		}
		seeds, err := c.checkSeeds(context.Background(), seeds)
		if err != nil {
			return err
		}
		strays, err := c.straysFor(seeds)
		if err != nil {
			return err
		}
		sites, err := c.addSeeds(seeds, strays, r.opt.Log)
		if err != nil {
			return err
		}
		for _, site := range sites {
			s := c.at(site.ID)
			switch {
			case s != nil && s.busy():
			case s != nil && s.cycle != nil && s.cycle.mayReopen():
				s.cycle.reopen()
				if err := s.cycle.queueAll(); err != nil {
					return err
				}
			default:
				if err := r.visitOnce(site); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// rulesFor are the rules of a URL that is added to a run: those of its site, else the default
// ones with delay, parameters and addresses of the run's first site, a second where it has none yet.
func (r *run) rulesFor(url string) store.Rules {
	if s := r.crawl.siteOf(url); s != nil {
		return s.Rules
	}
	rules := store.Rules{Scope: scope.Kinds[0], DelayMillis: 1000}
	if len(r.cycles) > 0 {
		rules.DelayMillis, rules.IgnoreParams, rules.AllowPrivate = r.first.DelayMillis, r.first.IgnoreParams, r.first.AllowPrivate
	}
	return rules
}

// named returns the open cycles of the site of that name, or of all sites for "".
func (c *Crawl) named(name string) ([]*cycle, error) {
	for _, r := range c.runs {
		for _, l := range r.arrivals.later {
			if l.site == name {
				if err := l.start(); err != nil {
					return nil, err
				}
			}
		}
		for _, a := range r.arrivals.all {
			if a != nil && !a.come && name != "" && a.seeds[0].Rules.Within == name {
				if err := r.begin([]*arrival{a}); err != nil {
					return nil, err
				}
			}
		}
	}
	if name != "" {
		site, err := c.db.SiteNamed(name)
		switch {
		case err == nil:
			c.at(site.ID)
		case !errors.Is(err, store.ErrNotFound):
			return nil, err
		}
	}
	var out []*cycle // but for those that are parked, which are handed nothing out
	for _, r := range c.runs {
		for _, cy := range r.cycles {
			if cy != nil && !cy.closed && (name == "" || cy.site.Name == name) {
				out = append(out, cy)
			}
		}
	}
	if len(out) == 0 && name != "" {
		return nil, fmt.Errorf("%s: %w that is being visited", name, plan.ErrNoSite)
	}
	return out, nil
}

// Pause lets the crawl hand out nothing more, of one site or, for "", of all.
func (c *Crawl) Pause(name string) error {
	return c.steer(func() error {
		if c.intake != nil {
			return ErrNotAlone
		}
		cycles, err := c.named(name)
		if err != nil {
			return err
		}
		c.paused = c.paused || name == ""
		for _, cy := range cycles {
			for h := range cy.hosts {
				c.loop.queue.Spill(h.id)
			}
			if name != "" {
				s := cy.site
				s.State, s.Reason, cy.held = store.SitePaused, "by hand", true
				if err := c.db.PutSite(s.Site); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Resume ends a pause, by hand or because the site blocked us.
func (c *Crawl) Resume(name string) error {
	return c.steer(func() error {
		if c.intake != nil {
			return ErrNotAlone
		}
		cycles, err := c.named(name)
		if err != nil {
			return err
		}
		c.paused = c.paused && name != ""
		for _, cy := range cycles {
			cy.held = false
			if s := cy.site; s.State == store.SitePaused {
				s.State, s.Reason = store.SiteCrawling, ""
				if err := c.db.PutSite(s.Site); err != nil {
					return err
				}
			}
			for h := range cy.hosts {
				c.loop.askAgain(h)
			}
			cy.touch()
		}
		return nil
	})
}

// Stop ends the crawl's runs, or the work on one site, with the state saved.
func (c *Crawl) Stop(name string) error {
	return c.steer(func() error {
		cycles, err := c.named(name)
		if err != nil {
			return err
		}
		if name == "" {
			for _, r := range slices.Clone(c.runs) {
				r.stop("forage stop", true)
			}
			for _, w := range c.growths {
				w.end()
			}
			return nil
		}
		for _, cy := range cycles {
			cy.held = false
			cy.run.res.Interrupted = true
			cy.windUp("forage stop", true)
		}
		return nil
	})
}
