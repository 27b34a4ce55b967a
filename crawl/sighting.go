package crawl

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"forage/crawl/scope"
	"forage/graph"
	"forage/store"
)

// A Sighting is a URL that somebody else knows of.
type Sighting struct {
	Rules *store.Rules // of its site, for where the store has none: Within is its name
	Root  bool         // a new site gets it for a seed
	URL   string       // normalised
	At    time.Time    // the earliest date at which an archive has it; zero: nobody knows
}

// Sightings are what is to be imported: site by site, the roots of a site first, each URL of it once.
type Sightings interface {
	// Next returns the next one, or io.EOF.
	Next() (*Sighting, error)
}

// mostSightings is how many sightings the loop takes in between two commits: what others ask of it waits for some 20 ms.
const mostSightings = 2048

// ImportSightings takes in URLs of which others know. Those that the store does not have wait in the queue: they are known, and so never new.
// With a date they were there then, so that this is when they were seen first, whatever the store knew. Each site at which something
// was new to the store gets a cycle of its own, of the kind store.Import. Nothing is fetched. The same sightings once more change nothing, so that
// one that was interrupted, or killed, may be begun again. Otherwise as Import.
func (c *Crawl) ImportSightings(ctx context.Context, from Sightings, opt Options) (*Imported, error) {
	im := &intake{crawl: c}
	return im.carryOut(ctx, opt, func(ctx context.Context) error { return im.feedSightings(ctx, from) })
}

// feedSightings has the loop take in sightings. It returns when all are, or the run is to end.
func (im *intake) feedSightings(ctx context.Context, from Sightings) (err error) {
	ready := make(chan []*Sighting, 2)
	ctx, cancel := context.WithCancel(ctx)
	var failed error // of from; it is set before ready is closed
	go func() {
		defer close(ready)
		for more := true; more; {
			some := make([]*Sighting, 0, mostSightings)
			for len(some) < mostSightings && more {
				s, err := from.Next()
				if more = err == nil; more {
					some = append(some, s)
				} else if err != io.EOF {
					failed = err
				}
			}
			select {
			case ready <- some:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() { // whoever gave us from may close it then
		cancel()
		for range ready {
		}
	}()
	for some := range ready {
		if more, err := im.give(ctx, len(some), func(from int) (int, progress, error) { return im.sightings(some[from:]) }); err != nil || !more {
			return err
		}
	}
	if failed != nil || ctx.Err() != nil {
		return failed
	}
	over := make(chan error, 1)
	im.crawl.loop.do(func() { over <- im.endListing() })
	err = <-over
	im.all = err == nil
	return err
}

// sightings takes in some sightings, and returns how many: not all where the window is to end first.
func (im *intake) sightings(some []*Sighting) (n int, then progress, err error) {
	c := im.crawl
	if err := im.lookAhead(some); err != nil {
		return 0, stops, err
	}
	for n, s := range some {
		switch {
		case c.err != nil:
			return n, stops, c.err
		case im.run.stopping || im.run.over:
			return n, stops, nil
		case c.Full() != nil:
			return n, waits, nil
		}
		if err := im.sighting(s); err != nil {
			return n, stops, err
		}
		if c.loop.added >= fullWindow {
			return n + 1, goesOn, nil
		}
	}
	return len(some), goesOn, nil
}

// lookAhead has at hand what is known of documents, which takes a third of the time where all are known.
func (im *intake) lookAhead(some []*Sighting) error {
	if !im.known {
		return nil
	}
	ids := make([]graph.Node, 0, len(some))
	for _, s := range some {
		switch id, err := im.crawl.db.Find(s.URL); {
		case err == nil:
			ids = append(ids, id)
		case !errors.Is(err, store.ErrNotFound):
			return err
		}
	}
	slices.Sort(ids)
	return im.crawl.db.Prefetch(slices.Compact(ids))
}

// sighting takes in one.
func (im *intake) sighting(s *Sighting) error {
	c := im.crawl
	if s.Rules.Within != im.within {
		if err := im.endListing(); err != nil {
			return err
		}
		if err := im.enter(s.Rules.Within); err != nil {
			return err
		}
		if im.site != nil {
			if err := im.continueListing(); err != nil {
				return err
			}
		}
	}
	url, at := s.URL, s.At.Unix()
	if s.At.IsZero() {
		at = 0
	}
	if im.site != nil && len(im.site.SameParams) > 0 {
		url = im.site.identity(url)
	}
	id, err := c.db.Find(url)
	if errors.Is(err, store.ErrNotFound) {
		return im.add(s, url, at)
	}
	if err != nil {
		return err
	}
	d, err := c.doc(id)
	if err != nil {
		return err
	}
	if im.site == nil || d.Site != im.site.ID {
		if !stray(d) {
			im.left["URLs of documents of another site"]++
			return nil
		}
		if err := im.list(s); err != nil {
			return err
		}
		if d, err = c.doc(id); err != nil { // a new site may have got it
			return err
		}
		if d.Site != im.site.ID {
			d.Cycle = im.listing.Cycle
			if err := c.moved(d, im.site.Site, im.site.scope, store.NotNew); err != nil {
				return err
			}
		}
	} else if at == 0 || d.FirstSeen != 0 && d.FirstSeen <= at {
		im.same++
		return nil
	} else if err := im.list(s); err != nil {
		return err
	}
	im.took()
	if at != 0 {
		return c.sighted(d, at)
	}
	return nil
}

// add adds a document of which the store has none.
func (im *intake) add(s *Sighting, url string, at store.Time) error {
	c := im.crawl
	d := store.NewDoc(url, 0)
	sc, err := im.scopeOf(s)
	if err != nil {
		return err
	}
	if sc.Skip(d) != "" {
		im.left["URLs that the rules of their site leave out"]++
		return nil
	}
	d.Seed = s.Root && im.site == nil
	if err := im.list(s); err != nil {
		return err
	}
	d.Site, d.Cycle = im.site.ID, im.listing.Cycle
	d.Discovered, d.FirstSeen = at, at
	if at == 0 {
		d.Discovered = c.now()
	}
	added, err := c.db.Add(d)
	if err != nil {
		return err
	}
	if added {
		c.loop.added += len(url)
		im.added++
	}
	im.took()
	return nil
}

// scopeOf returns the scope of the site, also where the store has none.
func (im *intake) scopeOf(s *Sighting) (*scope.Scope, error) {
	if im.site != nil {
		return im.site.scope, nil
	}
	var err error
	if im.scope == nil {
		im.scope, err = im.crawl.newScope(s.Rules)
	}
	return im.scope, err
}

func (im *intake) took() {
	im.taken++
	im.run.fetched++ // for who looks how far it is
}

// recordSize is about how much of a window the records of a site and a cycle take.
const recordSize = 512

// list makes the cycle of a site in which its sightings are taken in, and the site, where there is none.
func (im *intake) list(s *Sighting) error {
	if im.listing != nil {
		return nil
	}
	c := im.crawl
	at := c.now()
	fresh := im.site == nil
	if fresh {
		last, err := c.db.LastCycle()
		if err != nil {
			return err
		}
		rec := &store.Site{Name: s.Rules.Within, Rules: *s.Rules, State: store.SiteCrawling, Reason: "not visited yet", FirstCycle: last + 1, LastCycle: last + 1}
		if s.Root {
			rec.Seeds = []string{s.URL}
		}
		if err := c.db.AddSite(rec); err != nil {
			return err
		}
		if im.site, err = c.site(rec); err != nil {
			return err
		}
		c.loop.added += recordSize
		n, err := c.db.NumURLs()
		if err != nil {
			return err
		}
		// All that it may take is committed: an import of sightings makes no strays.
		if _, err := c.take(rec, strays{none: n == 0}, last+1); err != nil {
			return err
		}
	}
	// It has ended from the start, as nothing works on it beyond the loop; it is done when all of the site was taken in.
	im.listing = &store.CycleRecord{Site: im.site.ID, Kind: store.Import, Policy: ImportPolicy, At: at, Ended: max(at, 1)}
	if err := c.db.OpenCycle(im.listing); err != nil {
		return err
	}
	im.listing.Run = im.listing.Cycle
	return c.db.PutCycle(im.listing)
}

// continueListing goes on with the cycle of the site in which an earlier import was interrupted.
func (im *intake) continueListing() error {
	return im.crawl.db.SiteCyclesBack(im.site.ID, func(r *store.CycleRecord) bool {
		if r.Kind == store.Import && !r.Done {
			im.listing = r
		}
		return false
	})
}

// endListing ends the cycle of the site.
func (im *intake) endListing() error {
	rec := im.listing
	if rec == nil {
		return nil
	}
	im.listing = nil
	rec.Done, rec.Ended = true, max(im.crawl.now(), 1)
	im.run.res.Cycles = append(im.run.res.Cycles, rec.Cycle)
	return im.crawl.db.PutCycle(rec)
}
