package serve

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"forage/chart"
	"forage/report"
	"forage/store"
)

const (
	overviewDays   = 30
	overviewNeeds  = 20 // sites that need a person
	overviewEvents = 15
	overdue        = 10 * time.Minute // a visit that is so late does not come by itself
	sitesShown     = 50
	sparkDays      = 14
)

// A need is a site that needs a person.
type need struct {
	Site string
	What string // in a word
	Why  string
}

// uiOverview is the first page.
func (s *server) uiOverview(r *http.Request, f *uiFrame) (string, error) {
	f.Title, f.Here, f.Live = "Overview", "overview", true
	page := struct {
		Sites    int
		Today    dayCount
		Week     dayCount
		Running  int
		Due      time.Time // the next visit
		Needs    []need
		MoreNeed int
		Days     template.HTML
		Table    []dayRow
		Latest   []*eventRow
	}{}
	f.Page = &page
	return "overview", s.read(func(v *store.View) error {
		sites := s.Watch.Sites()
		page.Sites = len(sites)
		for i := range sites {
			if sites[i].Running {
				page.Running++
			}
			if due := sites[i].Due; !due.IsZero() && (page.Due.IsZero() || due.Before(page.Due)) {
				page.Due = due
			}
		}
		err := s.needs(v, sites, f.Now, func(n need) {
			if len(page.Needs) < overviewNeeds {
				page.Needs = append(page.Needs, n)
			} else {
				page.MoreNeed++
			}
		})
		if err != nil {
			return err
		}
		if err := s.tallied(v, f, func(t *tally) {
			days, counts := t.days.latest(overviewDays, f.Now)
			page.Days, page.Table = daysChart(days, counts, "New pages a day, and fetches of old documents"), dayRows(days, counts)
			page.Today = counts[len(counts)-1]
			for _, c := range counts[len(counts)-7:] {
				page.Week.add(&c)
			}
		}); err != nil {
			return err
		}
		sel := eventFilter{types: map[store.EventType]bool{store.PageNew: true}}
		latest, _, err := sel.back(v, 0, overviewEvents)
		page.Latest = eventRows(latest)
		return err
	})
}

func (c *dayCount) add(o *dayCount) {
	c.news, c.old, c.fetched, c.failed = c.news+o.news, c.old+o.old, c.fetched+o.fetched, c.failed+o.failed
}

// The counts as templates read them.
func (c dayCount) New() int64     { return c.news }
func (c dayCount) Old() int64     { return c.old }
func (c dayCount) Fetched() int64 { return c.fetched }
func (c dayCount) Failed() int64  { return c.failed }

// A dayRow is a day of a table.
type dayRow struct {
	Day string
	dayCount
}

// dayRows are the days with something to tell, the latest first.
func dayRows(days []int32, counts []dayCount) (rows []dayRow) {
	for i := len(days) - 1; i >= 0; i-- {
		if counts[i] != (dayCount{}) {
			rows = append(rows, dayRow{time.Unix(int64(days[i])*86400, 0).UTC().Format("2006-01-02"), counts[i]})
		}
	}
	return rows
}

// daysChart shows days: new pages as columns, fetches of old documents as a line.
func daysChart(days []int32, counts []dayCount, name string) template.HTML {
	c := chart.Columns{Name: name}
	for i, d := range days {
		b := chart.Bar{Value: float64(counts[i].news), Title: fmt.Sprintf("%s: %s, %s", dayText(d), plural(counts[i].news, "new page", "new pages"), plural(counts[i].old, "old document fetched", "old documents fetched"))}
		if left := len(days) - 1 - i; left%7 == 0 {
			b.Label = dayText(d)
		}
		c.Bars = append(c.Bars, b)
		c.Line = append(c.Line, float64(counts[i].old))
	}
	return svg(c.SVG())
}

// needs tells which sites need a person, the gravest first of each kind of trouble.
func (s *server) needs(v *store.View, sites []Site, now time.Time, yield func(need)) error {
	known := map[string]*store.Site{}
	if err := v.SitesFrom(1, func(k *store.Site) bool { known[k.Name] = k; return true }); err != nil {
		return err
	}
	var late, odd []need
	for i := range sites {
		site := &sites[i]
		k := known[site.Name]
		if k != nil {
			var c *store.Counters
			if k.CatchAll { // for no others they tell of trouble
				var err error
				if c, err = v.Counters(k.ID); err != nil && !errors.Is(err, store.ErrNotFound) {
					return err
				}
			}
			if what, why := trouble(k, c); what != "" {
				n := need{site.Name, what, why}
				if what == "needs JavaScript" || what == "one page" {
					odd = append(odd, n)
				} else {
					yield(n)
				}
				continue
			}
		}
		if isOverdue(site, now) {
			late = append(late, need{site.Name, "overdue", "due " + span(now.Sub(site.Due)) + " ago, and has not begun"})
		}
	}
	for _, n := range append(late, odd...) {
		yield(n)
	}
	return nil
}

// isOverdue reports whether a visit should have begun.
func isOverdue(site *Site, now time.Time) bool {
	return !site.Running && !site.Paused && !site.Due.IsZero() && now.Sub(site.Due) > overdue
}

// trouble is what is wrong with a site as the store has it; "": nothing.
func trouble(k *store.Site, c *store.Counters) (what, why string) {
	switch {
	case k.State == store.SiteFailed:
		return "failing", k.Reason
	case k.State == store.SitePaused && k.Reason != "":
		return "blocked", k.Reason
	case k.Trouble != "":
		return "blocked", k.Trouble
	case c != nil && k.Shell(c):
		return "one page", k.ShellText()
	case k.NeedsJS:
		return "needs JavaScript", "its pages have scripts but next to no links"
	}
	return "", ""
}

// A siteRow is a site in the list.
type siteRow struct {
	*siteRecord
	What  string // what is wrong
	Spark template.HTML
	Week  int64 // new pages
}

// uiSites is the list of sites.
func (s *server) uiSites(r *http.Request, f *uiFrame) (string, error) {
	f.Title, f.Here = "Sites", "sites"
	q := r.URL.Query()
	page := struct {
		Q, Show, After string
		Sites          []*siteRow
		Next           string
		All            int
	}{Q: q.Get("q"), Show: q.Get("show"), After: q.Get("after")}
	f.Page = &page
	return "sites", s.read(func(v *store.View) error {
		all := s.Watch.Sites()
		page.All = len(all)
		wrong := map[string]string{}
		if err := s.needs(v, all, f.Now, func(n need) { wrong[n.Site] = n.What }); err != nil {
			return err
		}
		for i := range all {
			site := &all[i]
			switch {
			case site.Name <= page.After && page.After != "":
				continue
			case page.Q != "" && !strings.Contains(strings.ToLower(site.Name), strings.ToLower(page.Q)):
				continue
			case page.Show == "needs" && wrong[site.Name] == "", page.Show == "paused" && !site.Paused, page.Show == "running" && !site.Running:
				continue
			}
			if len(page.Sites) == sitesShown {
				page.Next = page.Sites[sitesShown-1].Site
				break
			}
			rec, err := newSiteRecord(v, site)
			if err != nil {
				return err
			}
			page.Sites = append(page.Sites, &siteRow{siteRecord: rec, What: wrong[site.Name]})
		}
		return s.tallied(v, f, func(t *tally) {
			for _, row := range page.Sites {
				counts := make([]dayCount, sparkDays)
				if st := t.sites[row.Site]; st != nil {
					_, counts = st.days.latest(sparkDays, f.Now)
				}
				values := make([]float64, len(counts))
				for i, c := range counts {
					values[i] = float64(c.news)
					if i >= len(counts)-7 {
						row.Week += c.news
					}
				}
				row.Spark = svg(chart.Spark(fmt.Sprintf("New pages a day in the last %d days", sparkDays), values))
			}
		})
	})
}

// An eventRow is an event in a list.
type eventRow struct {
	*report.Event
	Title string // never empty
}

func eventRows(events []*store.Event) []*eventRow {
	rows := make([]*eventRow, len(events))
	for i, e := range events {
		rows[i] = &eventRow{report.NewEvent(e), cut(entryTitle(e), 120)}
	}
	return rows
}
