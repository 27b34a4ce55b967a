package crawl

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"forage/crawl/scope"
	"forage/store"
)

// The sites of a run begin a few at a time, between which the loop takes in answers and heeds what is
// asked of it: to begin a hundred thousand of them takes seconds. A site to which a link leads begins at
// once, so that it makes no difference to what is found when the others do.

// portion is how many sites begin at once.
const portion = 64

// An arrival is a site of a run that has not begun yet.
type arrival struct {
	run   *run
	seeds []scope.Seed // of the site, checked
	come  bool         // it has begun
}

// A later is a cycle of a revisit that has not begun yet.
type later struct {
	site  string
	begin func() error
	begun bool
}

// arrivals are those of a run.
type arrivals struct {
	all    []*arrival // in the order of the seeds; come, or still to come
	later  []*later   // of a revisit, which has no seeds
	open   bool       // the run counts them among what is pending
	strays strays     // there were when all were still to come; from then on a link to one has it come
}

// expect has the sites of seeds, which were checked, begin one after another.
func (r *run) expect(seeds []scope.Seed) error {
	c := r.crawl
	strays, err := c.straysFor(seeds)
	if err != nil {
		return err
	}
	byName := map[string]*arrival{}
	r.arrivals = arrivals{strays: strays, open: true}
	for _, seed := range seeds {
		a := byName[seed.Rules.Within]
		if a == nil {
			a = &arrival{run: r}
			byName[seed.Rules.Within] = a
			r.arrivals.all = append(r.arrivals.all, a)
			key := withinHost(&seed.Rules)
			c.coming[key] = append(c.coming[key], a)
		}
		a.seeds = append(a.seeds, seed)
	}
	r.pending++ // until all have come
	return nil
}

// postpone has the cycles of a revisit begin one after another.
func (r *run) postpone(cycles []*later) {
	r.arrivals = arrivals{later: cycles, open: true}
	r.pending++ // until all have begun
}

// start begins a cycle that has not begun yet.
func (l *later) start() error {
	if l.begun {
		return nil
	}
	l.begun = true
	if err := l.begin(); err != nil {
		return fmt.Errorf("site %s: %w", l.site, err)
	}
	return nil
}

// left is how many sites have not begun, or have come since as a link led there.
func (as *arrivals) left() int { return len(as.all) + len(as.later) }

// arrive has the next few sites of a run begin.
func (r *run) arrive() error {
	next := r.arrivals.later
	next = next[:min(portion, len(next))]
	r.arrivals.later = r.arrivals.later[len(next):]
	for _, l := range next {
		if err := l.start(); err != nil {
			return err
		}
	}
	var some []*arrival
	for all := r.arrivals.all; len(all) > 0 && len(some) < portion; r.arrivals.all = all {
		if !all[0].come {
			some = append(some, all[0])
		}
		all[0] = nil
		all = all[1:]
	}
	return r.begin(some)
}

// begin has sites begin that have not come yet.
func (r *run) begin(some []*arrival) error {
	c := r.crawl
	var seeds []scope.Seed
	for _, a := range some {
		seeds = append(seeds, a.seeds...)
		c.forget(a)
	}
	sites, err := c.addSeeds(seeds, r.arrivals.strays, r.opt.Log)
	for _, s := range sites {
		if err == nil {
			err = r.visitOnce(s)
		}
	}
	return err
}

// forget takes an arrival from those that are still to come.
func (c *Crawl) forget(a *arrival) {
	key := withinHost(&a.seeds[0].Rules)
	rest := c.coming[key][:0]
	for _, o := range c.coming[key] {
		if o != a {
			rest = append(rest, o)
		}
	}
	if c.coming[key] = rest; len(rest) == 0 {
		delete(c.coming, key)
	}
	if len(c.coming) == 0 {
		c.coming = map[string][]*arrival{} // a map that was large stays so
	}
	a.come, a.seeds = true, nil
}

// come begins the site to which url belongs, where it is one that is still to come. O(labels of the host).
func (c *Crawl) come(url string) {
	if len(c.coming) == 0 {
		return
	}
	for name, more := store.HostOf(url), true; more; _, name, more = strings.Cut(name, ".") {
		for _, a := range c.coming[name] {
			if sc, err := scope.New(&a.seeds[0].Rules); err == nil && sc.Contains(url) {
				if err := a.run.begin([]*arrival{a}); err != nil {
					a.run.failed(err)
				}
				return
			}
		}
	}
}

// arrive has the next few sites of each run begin.
func (l *Loop) arrive() {
	if !l.arriving() {
		return
	}
	for _, c := range slices.Clone(l.crawls) {
		c.comeBack(l.clock.Now())
		for _, r := range slices.Clone(c.runs) {
			if !r.arriving() {
				continue
			}
			if err := r.arrive(); err != nil {
				r.failed(err)
			} else if r.arrivals.left() == 0 {
				r.arrivals = arrivals{}
				r.sub()
			}
		}
	}
}

// arriving reports whether sites of a run are to begin now: not while many have begun that were not asked
// for anything, since what is known of a site takes memory.
func (r *run) arriving() bool {
	l := r.crawl.loop
	return r.arrivals.left() > 0 && r.crawl.err == nil && r.crawl.Full() == nil && l.queue.Strangers(l.clock.Now()) < mostBegun
}

// arriving reports whether sites of any run are to begin now, or to come back.
func (l *Loop) arriving() bool {
	return slices.ContainsFunc(l.crawls, func(c *Crawl) bool {
		return c.comingBack(l.clock.Now()) || slices.ContainsFunc(c.runs, (*run).arriving)
	})
}

// leaveComing gives up the sites of a run that have not come.
func (r *run) leaveComing() {
	if !r.arrivals.open {
		return
	}
	r.left = r.left || slices.ContainsFunc(r.arrivals.later, func(l *later) bool { return !l.begun })
	for _, a := range r.arrivals.all {
		if !a.come {
			r.left = true
			r.crawl.forget(a)
		}
	}
	r.arrivals = arrivals{}
	r.pending--
}

// failed ends a run with an error.
func (r *run) failed(err error) {
	r.err = errors.Join(r.err, err)
	r.stop("", false)
}
