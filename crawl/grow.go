package crawl

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"forage/crawl/scope"
	"forage/store"
)

// An Adopted is a site that was adopted, and what its first visit came to.
type Adopted struct {
	Site string `json:"site"`
	URL  string `json:"url"` // where its first visit starts
	store.Adoption
	Fetched int64 `json:"fetched"` // answers to requests for documents
	Pages   int64 `json:"pages"`   // duplicates left out
}

// Grow lets the crawl grow after a run that came to r: it adopts the next sites, visits them for the first time, and so on, until
// there are g.Most, nothing more is to be adopted, or a limit of opt is reached, which count for all runs together. First visits of adopted
// sites that were interrupted are gone on with before. It returns r with what all this came to. Errors are those of Run.
func (c *Crawl) Grow(ctx context.Context, g Growth, opt Options, r *Result) (*Result, error) {
	began, spent := c.loop.clock.Now(), r.Seconds
	if g.Most == 0 || r.Interrupted || r.Cut != "" {
		return r, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &growth{end: cancel}
	c.loop.do(func() { c.growths = append(c.growths, w) })
	defer c.loop.do(func() { c.growths = slices.DeleteFunc(c.growths, func(o *growth) bool { return o == w }) })
	seeds, err := c.unvisited()
	total, limit := opt.MaxTotal, opt.MaxTime
	for err == nil {
		if ctx.Err() != nil {
			r.Interrupted = true
			break
		}
		if total > 0 {
			if opt.MaxTotal = total - r.answers; opt.MaxTotal <= 0 {
				r.Cut = "--max-total"
				break
			}
		}
		r.Seconds = spent + c.loop.clock.Now().Sub(began).Seconds()
		if limit > 0 {
			if opt.MaxTime = limit - time.Duration(r.Seconds*float64(time.Second)); opt.MaxTime <= 0 {
				r.Cut = "--time-limit"
				break
			}
		}
		if len(seeds) == 0 {
			var refused []store.Refusal
			seeds, refused, err = c.Adopt(ctx, g, opt)
			r.Refused = append(r.Refused, refused...)
			if ctx.Err() != nil && (err == nil || errors.Is(err, ctx.Err())) {
				err = nil // what was adopted is visited next time
				continue
			}
			if err != nil || len(seeds) == 0 {
				break
			}
		}
		var more *Result
		if more, err = c.Run(ctx, seeds, opt); err == nil {
			r.add(more)
			err = r.addAdopted(&c.db.View, seeds)
			if seeds = nil; r.Interrupted || r.Cut != "" {
				break
			}
		}
	}
	r.Seconds = spent + c.loop.clock.Now().Sub(began).Seconds()
	return r, err
}

// A growth is a call of Grow. It belongs to the loop.
type growth struct{ end func() }

// unvisited returns the starts of adopted sites whose first visit has not ended.
func (c *Crawl) unvisited() (seeds []scope.Seed, err error) {
	sites, err := c.db.Adopted()
	for _, s := range sites {
		if s.State == store.SiteCrawling && !visited(s) {
			seeds = append(seeds, scope.Seed{URL: s.Seeds[0], Rules: s.Rules})
		}
	}
	return seeds, err
}

// visited reports whether the first visit of an adopted site is over.
func visited(s *store.Site) bool { return s.Ready || s.State == store.SiteFailed || s.CrawledAt != 0 }

// add adds what another run came to, of other sites.
func (r *Result) add(o *Result) {
	if r.Cycles = append(r.Cycles, o.Cycles...); len(o.Cycles) > 0 {
		slices.Sort(r.Cycles)
		r.Cycle = r.Cycles[0]
	}
	r.Sites += o.Sites
	r.Fetched, r.Bytes, r.Errors, r.answers = r.Fetched+o.Fetched, r.Bytes+o.Bytes, r.Errors+o.Errors, r.answers+o.answers
	r.Pages, r.Copies, r.NewPages, r.Content, r.Unknown, r.Moved = r.Pages+o.Pages, r.Copies+o.Copies, r.NewPages+o.NewPages, r.Content+o.Content, r.Unknown+o.Unknown, r.Moved+o.Moved
	r.Requisites.Fetched, r.Requisites.Bytes = r.Requisites.Fetched+o.Requisites.Fetched, r.Requisites.Bytes+o.Requisites.Bytes
	r.Known, r.Documents, r.Duplicates = r.Known+o.Known, r.Documents+o.Documents, r.Duplicates+o.Duplicates
	r.Failed, r.Shells, r.Finished = append(r.Failed, o.Failed...), append(r.Shells, o.Shells...), append(r.Finished, o.Finished...)
	r.Interrupted, r.Cut = r.Interrupted || o.Interrupted, cmp.Or(r.Cut, o.Cut)
}

// addAdopted adds the sites that were adopted with these seeds, and visited now.
func (r *Result) addAdopted(v *store.View, seeds []scope.Seed) error {
	for _, seed := range seeds {
		s, err := v.SiteNamed(seed.Rules.Within)
		if err != nil {
			return err
		}
		a := Adopted{Site: s.Name, URL: seed.URL, Adoption: *s.Adopted}
		if a.Fetched, a.Pages, err = v.FirstVisits(s.ID); err != nil {
			return err
		}
		r.Adopted = append(r.Adopted, a)
	}
	return nil
}
