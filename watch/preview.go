package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"forage/crawl"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/fetch/sitemap"
	"forage/store"
)

// A Preview is what a site says of itself before it is watched: nothing of it is fetched but robots.txt and lists that
// this names, and nothing is stored.
type Preview struct {
	Site    Site
	Robots  Robots
	Lists   []List
	Left    int           // lists that were not fetched
	URLs    int           // pages of the site that the lists name; 0: it is not known
	Dated   int           // of them, those with a date
	Recent  int           // of these, of the last 30 days
	Delay   time.Duration // least gap between two requests
	Fetched int           // documents that other sites of the store were asked for
	Bytes   int64         // that these took
}

// Robots is what robots.txt said.
type Robots struct {
	URL     string
	Status  int    // 0: there was no answer
	Problem string // why nothing is fetched for want of it; "": there is none
	Allowed bool   // the start of the site
	Delay   time.Duration
}

// A List is a sitemap or feed.
type List struct {
	URL     string
	Kind    string // "": none was read
	Status  int
	Entries int
	Ours    int    // that belong to the site
	Problem string // "": it was read whole
}

const (
	previewLists = 4 // fetched at most
	previewTime  = 25 * time.Second
	recently     = 30 * 24 * time.Hour
)

// Preview looks at a site of settings as Add takes them: its requests take turns with those of visits, by the delays that
// the site asks for. It takes previewTime at most; what it has not come to by then is left. Errors: ErrInvalid;
// ErrExists; ErrPaused; that of ctx, of the store.
func (s *Service) Preview(ctx context.Context, settings json.RawMessage) (*Preview, error) {
	s.mu.Lock()
	conf, err := s.config.Site(settings)
	exists, hold := err == nil && s.sites[conf.Name] != nil, s.hold
	s.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case exists:
		return nil, fmt.Errorf("%s: %w", conf.Name, ErrExists)
	case hold != nil:
		return nil, fmt.Errorf("%w: %w", ErrPaused, hold)
	}
	p := &Preview{Site: conf, Delay: time.Duration(conf.Rules.DelayMillis) * time.Millisecond}
	allowed, err := scope.Addresses(&conf.Rules)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := p.usual(s.Crawl.View()); err != nil {
		return nil, err
	}
	short, cancel := context.WithTimeout(fetch.Allow(ctx, allowed), previewTime)
	defer cancel()
	if err := p.look(short, s.Crawl, s.Now()); err != nil && ctx.Err() == nil && short.Err() != nil {
		return p, nil // it took too long
	} else if err != nil {
		return nil, err
	}
	return p, nil
}

// usual sums up what documents of other sites took.
func (p *Preview) usual(v *store.View) error {
	n := 0
	var failed error
	err := v.SitesFrom(1, func(s *store.Site) bool {
		var c *store.Counters
		if c, failed = v.Counters(s.ID); failed == nil {
			p.Fetched, p.Bytes = p.Fetched+int(c.Fetches), p.Bytes+c.Bytes
		}
		n++
		return failed == nil && n < 100
	})
	if err != nil {
		return err
	}
	return failed
}

// look asks for robots.txt and the lists that it names.
func (p *Preview) look(ctx context.Context, c *crawl.Crawl, now time.Time) error {
	start, err := scope.Normalise(p.Site.URL, p.Site.Rules.IgnoreParams)
	if err != nil {
		return err
	}
	origin := scope.Origin(start)
	p.Robots = Robots{URL: origin + "/robots.txt"}
	p.Robots.Problem = fmt.Sprintf("no answer within %v", previewTime) // where it is that, and else nobody gets p
	turn, err := c.Turn(ctx, origin, &p.Site.Rules)
	if errors.Is(err, crawl.ErrLeftAlone) {
		p.Robots.Problem = err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	r, o, err := c.Client().Robots(ctx, origin, &fetch.Request{Follows: func(url string) bool { return !c.Elsewhere(store.HostOf(url)) }}, nil)
	if err != nil {
		turn.End(nil, 0)
		return err
	}
	defer o.Release()
	obeyed, gap := p.Site.Rules.Robots != "ignore", time.Duration(0)
	if obeyed {
		gap = r.CrawlDelay()
	}
	turn.End(o, gap)
	p.Robots.Problem, p.Robots.Status, p.Robots.Allowed, p.Robots.Delay = "", r.Status, !obeyed || r.Allowed(start), r.CrawlDelay()
	p.Delay = max(p.Delay, gap)
	if r.Unreachable() {
		p.Robots.Problem = fetch.Unreachable(o)
		return nil
	}
	waiting := r.Sitemaps()
	if len(waiting) == 0 {
		waiting = []string{origin + "/sitemap.xml"}
	}
	rules := p.Site.Rules
	rules.Within = p.Site.Name
	sc, err := scope.New(&rules)
	if err != nil {
		return err
	}
	had, pages := map[string]bool{}, map[string]bool{}
	for ; len(waiting) > 0; waiting = waiting[1:] {
		p.Left = len(waiting)
		u := waiting[0]
		if had[u] || obeyed && store.HostOf(u) == store.HostOf(start) && !r.Allowed(u) {
			continue
		}
		had[u] = true
		if len(p.Lists) == previewLists {
			break
		}
		asks := gap
		if store.HostOf(u) != store.HostOf(start) {
			asks = 0
		}
		more, err := p.list(ctx, c, sc, u, asks, pages, now.Add(-recently).Unix())
		if err != nil {
			return err
		}
		waiting = append(waiting, more...)
		p.Left = len(waiting) - 1
	}
	return nil
}

// list reads a list at a host with a crawl delay, counts the pages that it names and that were not counted, those since a
// time apart, and returns the lists that it names.
func (p *Preview) list(ctx context.Context, c *crawl.Crawl, sc *scope.Scope, u string, gap time.Duration, pages map[string]bool, since store.Time) (lists []string, err error) {
	turn, err := c.Turn(ctx, u, &p.Site.Rules)
	if errors.Is(err, crawl.ErrLeftAlone) {
		p.Lists = append(p.Lists, List{URL: u, Problem: err.Error()})
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o, err := c.Client().Fetch(ctx, &fetch.Request{URL: u, Any: true})
	turn.End(o, gap)
	if err != nil {
		return nil, err
	}
	defer o.Release()
	l := List{URL: u, Status: o.Status}
	defer func() { p.Lists = append(p.Lists, l) }()
	if o.Class != fetch.OK {
		l.Problem = o.Reason
		if l.Problem == "" {
			l.Problem = fmt.Sprintf("answered %d", o.Status)
		}
		return nil, nil
	}
	d, err := sitemap.Parse(o.Body, u, o.ContentType)
	if err != nil {
		l.Problem = "it is no list of URLs"
		return nil, nil
	}
	l.Kind, l.Entries = d.Kind.String(), len(d.Entries)
	if d.Cut || o.Truncated() || d.Problem != nil {
		l.Problem = "it was not read to its end"
	}
	for i := range d.Entries {
		e := &d.Entries[i]
		if e.Sitemap {
			lists = append(lists, e.URL)
			continue
		}
		norm, err := scope.Normalise(e.URL, p.Site.Rules.IgnoreParams)
		if err != nil || !sc.Contains(norm) || sc.Skip(store.NewDoc(norm, 0)) != "" {
			continue
		}
		l.Ours++
		if pages[norm] {
			continue
		}
		pages[norm] = true
		p.URLs++
		if at := max(e.Modified, e.Published); at != 0 {
			p.Dated++
			if at >= since {
				p.Recent++
			}
		}
	}
	return lists, nil
}
