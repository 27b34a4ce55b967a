package report

import (
	"errors"
	"fmt"

	"forage/retain"
	"forage/store"
)

// Totals are what is told of a whole store.
type Totals struct {
	Sites   int     `json:"sites"`
	Pages   int64   `json:"pages" doc:"that lists of pages have"`
	Queued  int64   `json:"queued"`
	Cycles  int     `json:"cycles"`
	Running bool    `json:"running"`
	Waits   *string `json:"waits" doc:"why the running crawl fetches nothing"`

	Documents  int64 `json:"documents" doc:"pages, feeds and sitemaps"`
	Duplicates int64 `json:"duplicates" doc:"pages that repeat others, and are not listed"`

	Kept *Kept `json:"kept" doc:"null: there is no limit to the pages whose links are kept"`
}

// A Status is all that is told of a store.
type Status struct {
	Totals
	BySite  []SiteStatus `json:"by_site"`
	ByCycle []*Cycle     `json:"by_cycle"` // the latest ones, the first of them first
	Growth  *Growth      `json:"growth"`   // null: no site was adopted, or asked whether it may be
}

// Kept tells of the pages whose links and validators are kept.
type Kept struct {
	_        struct{} `nullable:"true"`
	Limit    int      `json:"limit"`
	Kept     int      `json:"kept"`
	Rule     string   `json:"rule" doc:"what they are chosen by"`
	Core     *int     `json:"core" doc:"kept for the last ten rounds; null: there were fewer"`
	Turnover float64  `json:"turnover" doc:"share that the last round replaced"`
	Evicted  int      `json:"evicted" doc:"in all"`
	Rounds   int      `json:"rounds"`
	Annealed bool     `json:"annealed" doc:"a page needs a lead of one vote now"`
}

// Requisites are images, styles, scripts and fonts that were fetched for an archive.
type Requisites struct {
	Fetched int64 `json:"fetched" doc:"answers, which are none of fetches"`
	Bytes   int64 `json:"bytes" doc:"of all bytes"`
}

// SiteCounts are what is told of a site without a look at its documents.
type SiteCounts struct {
	Site       string     `json:"site"`
	State      string     `json:"state"`
	Reason     *string    `json:"reason"`
	Pages      int64      `json:"pages"`
	New        int64      `json:"new"`
	Gone       int64      `json:"gone"`
	Feeds      int64      `json:"feeds_and_sitemaps"`
	Known      int64      `json:"known"`
	Queued     int64      `json:"queued"`
	Failed     int64      `json:"failed"`
	Skipped    int64      `json:"skipped"`
	Actions    int64      `json:"actions" doc:"of these, links that look like actions where forage is logged in"`
	LeftOut    int64      `json:"left_out" doc:"of these, what was fetched before the rule came, and the URLs of left_out_groups"`
	Fetches    int64      `json:"fetches"`
	Errors     int64      `json:"errors"`
	Bytes      int64      `json:"bytes"`
	Requisites Requisites `json:"requisites" doc:"what was fetched because pages need it to look right"`
	Crawled    *string    `json:"crawled" format:"date-time"`
	Documents  int64      `json:"documents"`
	Duplicates int64      `json:"duplicates"`
	Partial    *string    `json:"partial" doc:"why the first visit did not see all"`
	Adopted    *Adoption  `json:"adopted" doc:"null: somebody named it"`
	NeedsJS    bool       `json:"needs_javascript"`
	Shell      bool       `json:"shell" doc:"every path answers with the same page"`
	Traps      []string   `json:"traps" nullable:"false"`
	SameParams []string   `json:"same_params" nullable:"false" doc:"parameters that do not change the page, and are left out of URLs"`
	// LeftOutGroups are URLs that are not fetched because others like them brought nothing.
	LeftOutGroups []store.LeftOut `json:"left_out_groups" nullable:"false"`

	ShellText string `json:"-"` // for people, where Shell is set
	RuledOut  int64  `json:"-"` // of LeftOut, those that rules leave out
}

// A SiteStatus is all that is told of a site.
type SiteStatus struct {
	SiteCounts
	// Waiting counts the queued and failed documents by the reason that holds them back.
	Waiting   map[string]int `json:"waiting"`
	Discovery *Discovery     `json:"discovery"` // null: no cycle has visited it again
}

// shownCycles is how many of the latest cycles a Status tells of.
const shownCycles = 100

// NewStatus returns all that is told of a store, with up to so many hubs of each site. It reads every document of a
// site where some wait or have failed: O(documents, fetches of the latest cycles).
func NewStatus(v *store.View, hubs int) (*Status, error) {
	sites, err := v.Sites()
	if err != nil {
		return nil, err
	}
	s := &Status{BySite: []SiteStatus{}, ByCycle: []*Cycle{}}
	if err := s.Totals.begin(v); err != nil {
		return nil, err
	}
	for _, site := range sites {
		c, err := v.Counters(site.ID)
		if err != nil {
			return nil, err
		}
		s.Totals.add(c)
		row := SiteStatus{SiteCounts: *newSiteCounts(site, c), Waiting: map[string]int{}}
		if row.Queued+row.Failed > 0 {
			if row.Waiting, err = v.Waiting(site.ID); err != nil {
				return nil, err
			}
		}
		if row.Discovery, err = NewDiscovery(v, site.ID, hubs); err != nil {
			return nil, fmt.Errorf("site %s: %w", site.Name, err)
		}
		s.BySite = append(s.BySite, row)
	}
	if s.Growth, err = NewGrowth(v); err != nil {
		return nil, err
	}
	s.ByCycle, err = latestCycles(v, sites)
	return s, err
}

// NewTotals returns what is told of a whole store. O(sites).
func NewTotals(v *store.View) (*Totals, error) {
	t := new(Totals)
	if err := t.begin(v); err != nil {
		return nil, err
	}
	sites, err := v.Sites()
	if err != nil {
		return nil, err
	}
	for _, site := range sites {
		c, err := v.Counters(site.ID)
		if err != nil {
			return nil, err
		}
		t.add(c)
	}
	return t, nil
}

// begin sets what no site is needed for.
func (t *Totals) begin(v *store.View) error {
	last, err := v.LastCycle()
	if err != nil {
		return err
	}
	t.Cycles = int(last)
	t.Kept, err = newKept(v)
	return err
}

// add counts a site.
func (t *Totals) add(c *store.Counters) {
	t.Sites++
	t.Pages += c.Distinct
	t.Documents += c.Documents()
	t.Duplicates += c.Duplicates()
	t.Queued += c.Queued()
}

func newKept(v *store.View) (*Kept, error) {
	state, err := v.Kept()
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	k, err := retain.Restore(state)
	if err != nil {
		return nil, err
	}
	s := k.Stats()
	told := &Kept{
		Limit: k.Limit(), Kept: s.Kept, Rule: string(k.Rule()), Turnover: float64(s.Swapped) / float64(k.Limit()),
		Evicted: s.Evicted, Rounds: s.Rounds, Annealed: s.Annealed,
	}
	if s.Rounds >= retain.CoreRounds {
		told.Core = &s.Core
	}
	return told, nil
}

// NewSiteCounts returns what is told of a site without a look at its documents. O(1).
func NewSiteCounts(v *store.View, site *store.Site) (*SiteCounts, error) {
	c, err := v.Counters(site.ID)
	if err != nil {
		return nil, err
	}
	return newSiteCounts(site, c), nil
}

func newSiteCounts(site *store.Site, c *store.Counters) *SiteCounts {
	row := &SiteCounts{
		Site: site.Name, State: string(site.State), Reason: null(site.Reason),
		Pages: c.Distinct, Documents: c.Documents(), Duplicates: c.Duplicates(), New: c.New, Gone: c.Gone, Feeds: c.Kind[store.Feed] + c.Kind[store.Sitemap], Known: c.Known(),
		Queued: c.Queued(), Failed: c.State[store.Failed], Skipped: c.State[store.Skipped], LeftOut: c.LeftOut, Actions: c.Actions,
		Fetches: c.Fetches, Errors: c.Errors, Bytes: c.Bytes, Requisites: Requisites{c.Requisites, c.RequisiteBytes}, Crawled: stamp(site.CrawledAt),
		Partial: null(site.PartialWhy), Adopted: newAdoption(site.Adopted), NeedsJS: site.NeedsJS, Shell: site.Shell(c), Traps: append([]string{}, site.Traps...),
		SameParams: append([]string{}, site.SameParams...), LeftOutGroups: append([]store.LeftOut{}, site.LeftOut...),
		ShellText: site.ShellText(), RuledOut: c.LeftOut,
	}
	for _, g := range site.LeftOut {
		row.LeftOut += g.URLs
	}
	if site.Partial && row.Partial == nil {
		row.Partial = null("the first visit did not see all of it")
	}
	return row
}
