package crawl

import (
	"time"

	"forage/store"
)

// roomInterval is how often the room on the disk is looked at while there is some: the store has a
// reserve for what is written meanwhile, and what is under way then. fullInterval is how often while
// there is none.
const (
	roomInterval = 100 * time.Millisecond
	fullInterval = time.Second
)

// look pauses the crawl while there is no room on the disk of its store: what is under way is
// finished and written, nothing more is handed out. Its runs may be interrupted meanwhile.
func (c *Crawl) look(now time.Time) {
	was, interval := c.Full() != nil, roomInterval
	if was {
		interval = fullInterval
	}
	if c.err != nil || now.Sub(c.looked) < interval {
		return
	}
	c.looked = now
	err := c.db.Room()
	for _, folder := range c.cfg.folders() {
		if err == nil {
			err = store.RoomIn(folder, was)
		}
	}
	switch {
	case err != nil && !was:
		c.pause(err)
	case err == nil && was:
		c.full.Store(nil)
		for _, r := range c.runs {
			r.opt.Log.Warn("there is room again, the crawl goes on")
		}
		c.eachOpen(func(cy *cycle) {
			for h := range cy.hosts {
				c.loop.wake(h)
			}
			cy.touch()
		})
	}
}

// pause hands nothing more out, until look finds room.
func (c *Crawl) pause(err error) {
	if c.full.Swap(&err) != nil {
		return
	}
	c.looked = c.loop.clock.Now()
	c.eachOpen(func(cy *cycle) {
		for h := range cy.hosts {
			c.loop.queue.Spill(h.id)
		}
	})
	for _, r := range c.runs {
		r.tellFull()
	}
}

// eachOpen calls f for each open cycle.
func (c *Crawl) eachOpen(f func(*cycle)) {
	for _, r := range c.runs {
		for _, cy := range r.cycles {
			if cy != nil && !cy.closed {
				f(cy)
			}
		}
	}
}

// tellFull says that the run waits for room, if it does.
func (r *run) tellFull() {
	if err := r.crawl.Full(); err != nil {
		r.opt.Log.Warn(err.Error() + "; it waits until there is room")
	}
}

// LookForRoom has the loop look whether there is room again, as it does by itself while a run is under way.
func (c *Crawl) LookForRoom() { c.loop.do(func() { c.look(c.loop.clock.Now()) }) }

// Full returns why nothing is fetched for want of room on the disk, nil where there is room. It may
// be called at any time, and tells of when the loop looked last.
func (c *Crawl) Full() error {
	if err := c.full.Load(); err != nil {
		return *err
	}
	return nil
}
