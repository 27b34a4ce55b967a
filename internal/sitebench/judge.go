package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"forage/crawl"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/fetch/fetchtest"
	"forage/internal/software"
	"forage/store"
)

// A trial says how a site is crawled: a first visit at software.Start, then a cycle each week,
// one more than the weeks in which the site changes, so that each change is looked for twice.
type trial struct {
	kind   string
	config software.Config
	first  int64 // requests after which the first visit is cut; 0: none
	budget int   // of each later cycle
	most   int64 // requests after which such a cycle is cut; 0: none
	// log is told, if there is one, where requests went and each thing that was told or missed.
	log func(format string, a ...any)
}

// A report is what came of a trial. Content pages are those of the site, whatever the crawl takes
// for content.
type report struct {
	Kind     string `json:"kind"`
	Content  int    `json:"content"`  // content pages at the first visit
	Ended    bool   `json:"ended"`    // the first visit, by itself
	Failed   bool   `json:"failed"`   // the first visit: no page could be fetched
	Requests int64  `json:"requests"` // of the first visit
	Listed   int    `json:"listed"`   // pages after it
	Found    int    `json:"found"`    // content pages of which at least one address is listed

	Published int   `json:"published"`    // content pages, in all weeks
	ToldNew   int   `json:"told_new"`     // of these, in one of the two cycles after
	FalseNew  int   `json:"false_new"`    // addresses told new at which something was before the first visit
	OtherNew  int   `json:"other_new"`    // addresses told new that are no content: lists, forms, copies
	Away      int   `json:"away"`         // content pages deleted or renamed that the first visit had found
	ToldAway  int   `json:"told_away"`    // of these, told gone or moved by one of the two cycles after
	MovedNew  int   `json:"moved_new"`    // of the renamed, told new under the new address
	FalseGone int   `json:"false_gone"`   // addresses told gone that answer
	Revisit   int64 `json:"revisit"`      // requests of a later cycle, on average
	RevisitTo int64 `json:"revisit_most"` // of the one with most
}

// perPage is requests of the first visit per content page found; 0 where none was.
func (r *report) perPage() float64 { return ratio(r.Requests, r.Found) }

func ratio[A, B int | int64](a A, b B) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// What forage revisit does where nobody says otherwise.
const (
	maxNew    = 1000
	checkGone = .25
)

// judge runs a trial in a store of its own, which is removed again.
func judge(ctx context.Context, tr trial) (_ *report, err error) {
	site, err := software.New(tr.kind, tr.config)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "forage-software-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var requests atomic.Int64
	var broken atomic.Value // error
	var mu sync.Mutex
	asked := map[string]int{} // since the last cycle, by group of URLs
	groups := func(cycle string) {
		if tr.log == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, g := range slices.SortedFunc(maps.Keys(asked), func(a, b string) int { return cmp.Or(asked[b]-asked[a], strings.Compare(a, b)) }) {
			tr.log("%s\trequests\t%d\t%s", cycle, asked[g], g)
		}
		clear(asked)
	}
	network := fetchtest.New()
	web := network.Server("127.0.0.1:80", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if tr.log != nil {
			mu.Lock()
			asked[group(r.URL)]++
			mu.Unlock()
		}
		defer func() {
			if p := recover(); p != nil { // net/http would only log it
				broken.Store(fmt.Errorf("the site cannot answer %s: %v", r.URL, p))
				panic(http.ErrAbortHandler)
			}
		}()
		site.ServeHTTP(w, r)
	}))
	defer web.Close()
	j := &run{site: site, dir: dir, network: network, base: "http://" + tr.kind + ".test", log: tr.log}
	if j.log == nil {
		j.log = func(string, ...any) {}
	}
	j.report = &report{Kind: tr.kind, Content: len(site.Content(software.Start))}

	// The first visit.
	if err := j.cycle(software.Start, func(c *crawl.Crawl) error {
		r, err := c.Run(ctx, []scope.Seed{{URL: j.base + "/"}}, crawl.Options{MaxTotal: tr.first})
		if err != nil {
			return err
		}
		j.report.Requests, j.report.Ended, j.report.Failed = requests.Load(), r.Cut == "" && !r.Interrupted, len(r.Failed) > 0
		return j.afterFirst(c.View())
	}); err != nil {
		return nil, fmt.Errorf("first visit: %w", err)
	}

	groups("first visit")
	weeks := site.Weeks()
	var total int64
	for week := 1; week <= weeks+1; week++ {
		now := software.Start.Add(time.Duration(week) * software.Week)
		requests.Store(0)
		if err := j.cycle(now, func(c *crawl.Crawl) error {
			r, err := c.Revisit(ctx, plan.Plan{Budget: func(int) int { return tr.budget }, Text: fmt.Sprint(tr.budget), MaxNew: maxNew, CheckGone: checkGone}, crawl.Options{MaxTotal: tr.most})
			if j.report.Failed && errors.Is(err, plan.ErrNoSite) {
				r = &crawl.Result{} // the first visit has left nothing
			} else if err != nil {
				return err
			}
			return j.afterWeek(c.View(), r.Cycle, now)
		}); err != nil {
			return nil, fmt.Errorf("week %d: %w", week, err)
		}
		groups(fmt.Sprint("week ", week))
		total += requests.Load()
		j.report.RevisitTo = max(j.report.RevisitTo, requests.Load())
	}
	j.report.Revisit = total / int64(weeks+1)
	if err, ok := broken.Load().(error); ok {
		return nil, err
	}
	return j.report, ctx.Err()
}

// A run is a trial under way.
type run struct {
	site    *software.Site
	dir     string
	network *fetchtest.Network
	base    string
	report  *report
	log     func(format string, a ...any)

	told    map[int]bool           // published content pages that were told new
	found   map[int]bool           // content pages, by number, that the first visit found
	pending []software.Change      // of these, what was deleted or renamed and not told
	since   map[string]store.Cycle // addresses told new, and when
	away    map[string]bool        // addresses told gone or moved
}

// cycle opens the store at a time, for one command.
func (j *run) cycle(now time.Time, do func(*crawl.Crawl) error) error {
	j.site.At(now)
	// One request after another, so that a trial comes out the same twice.
	c, err := crawl.Open(crawl.Config{Dir: j.dir, At: now, Parallel: 1, Delay: -1,
		Fetch: fetch.Config{Dial: j.network.Dial, Lookup: j.network.Lookup, AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	if err != nil {
		return err
	}
	err = do(c)
	if e := c.Close(); err == nil {
		err = e
	}
	return err
}

// listed calls visit with each page that 'forage pages' lists.
func listed(v *store.View, visit func(d *store.Doc) error) error {
	var failed error
	err := v.SiteDocs(1, func(d *store.Doc) bool {
		if !d.IsListed() {
			return true
		}
		if d.Stands { // it is listed as the page that it stands for
			of, err := v.Doc(d.DuplicateOf)
			if err != nil {
				failed = err
				return false
			}
			d.URL = of.URL
		}
		failed = visit(d)
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return err
}

// ask tells what the address of a document answers at a time.
func (j *run) ask(t time.Time, url string) (software.Look, error) {
	if !strings.HasPrefix(url, j.base) {
		return software.Look{Status: http.StatusNotFound}, nil // another site
	}
	return j.site.Ask(t, url)
}

func (j *run) afterFirst(v *store.View) error {
	j.told, j.found, j.since, j.away = map[int]bool{}, map[int]bool{}, map[string]store.Cycle{}, map[string]bool{}
	err := listed(v, func(d *store.Doc) error {
		j.report.Listed++
		look, err := j.ask(software.Start, d.URL)
		if look.Page != 0 {
			j.found[look.Page] = true
		}
		return err
	})
	j.report.Found = len(j.found)
	for _, path := range j.site.Content(software.Start) {
		if look, err := j.ask(software.Start, j.base+path); err == nil && !j.found[look.Page] {
			j.log("first visit\tnot found\t%s", path)
		}
	}
	return err
}

// afterWeek compares what a cycle tells with what happened.
func (j *run) afterWeek(v *store.View, cycle store.Cycle, now time.Time) error {
	before := now.Add(-software.Week)
	since := before // of what may be told new now
	if before.After(software.Start) {
		since = before.Add(-software.Week)
	}
	published, renamed := map[int]bool{}, map[int]bool{}
	for _, c := range j.site.Changes(since, now) {
		if c.What == software.Published {
			published[c.Page] = true
			if c.Time.After(before) {
				j.report.Published++
			}
		}
	}
	for _, c := range j.site.Changes(before, now) {
		switch c.What {
		case software.Deleted, software.Renamed:
			if j.found[c.Page] {
				j.pending = append(j.pending, c)
				j.report.Away++
				renamed[c.Page] = c.What == software.Renamed
			}
		}
	}
	var gone []string
	err := listed(v, func(d *store.Doc) error {
		if d.Moved != 0 {
			from, err := v.Doc(d.MovedFrom)
			if err != nil {
				return err
			}
			if !j.away[from.URL] {
				j.away[from.URL] = true
				gone = append(gone, from.URL)
			}
		}
		if d.Gone != 0 {
			if !j.away[d.URL] {
				j.away[d.URL] = true
				gone = append(gone, d.URL)
				if look, err := j.ask(now, d.URL); err != nil {
					return err
				} else if look.Status == http.StatusOK && look.Page != 0 {
					j.report.FalseGone++
					j.log("cycle %d\tfalse gone\t%s", cycle, d.URL)
				}
			}
		}
		if d.New != store.IsNew || d.Cycle < cycle || j.since[d.URL] != 0 {
			return nil
		}
		j.since[d.URL] = cycle
		look, err := j.ask(now, d.URL)
		if err != nil {
			return err
		}
		then, err := j.ask(software.Start, d.URL)
		switch {
		case err != nil:
			return err
		case published[look.Page]:
			if j.told[look.Page] {
				j.report.OtherNew++ // a copy
			} else {
				j.report.ToldNew++
			}
			j.told[look.Page] = true
			j.log("cycle %d\ttold new\t%s", cycle, d.URL)
		case renamed[look.Page]:
			j.report.MovedNew++
			j.log("cycle %d\tmoved as new\t%s", cycle, d.URL)
		case then.HTML:
			j.report.FalseNew++
			j.log("cycle %d\tfalse new\t%s", cycle, d.URL)
		default:
			j.report.OtherNew++
			j.log("cycle %d\tother new\t%s", cycle, d.URL)
		}
		return nil
	})
	for _, c := range j.site.Changes(since, before) {
		if c.What == software.Published && !j.told[c.Page] {
			j.log("cycle %d\tnot told new\t%s", cycle, c.To)
		}
	}
	// What happened in this week or in the one before may be told now.
	var left []software.Change
	for _, c := range j.pending {
		away, err := j.shown(c, gone)
		switch {
		case err != nil:
			return err
		case away:
			j.report.ToldAway++
		case c.Time.After(before):
			left = append(left, c)
		default:
			j.log("cycle %d\tnot told %s\t%s\t%s", cycle, c.What, c.From, c.To)
		}
	}
	j.pending = left
	return err
}

// shown reports whether one of the addresses showed the page of a change before it happened.
func (j *run) shown(c software.Change, addresses []string) (bool, error) {
	for _, u := range addresses {
		look, err := j.ask(c.Time.Add(-time.Second), u)
		if err != nil || look.Page == c.Page {
			return true, err
		}
	}
	return false, nil
}

var (
	number = regexp.MustCompile(`[0-9]+`)
	object = regexp.MustCompile(`[0-9a-f]{32,}`)
)

// group is what a URL has in common with others: its first folder, how deep it is, the names of its
// parameters, and what it says to do.
func group(u *url.URL) string {
	path := number.ReplaceAllString(object.ReplaceAllString(u.Path, "H"), "N")
	if s := strings.Split(path, "/"); len(s) > 2 {
		for i := range s[2:] {
			if s[i+2] != "" && s[i+2] != "feed" && s[i+2] != "page" && s[i+2] != "N" {
				s[i+2] = "*"
			}
		}
		path = strings.Join(s, "/")
	}
	if title, ok := strings.CutPrefix(path, "/index.php/"); ok && title != "" {
		path = "/index.php/*"
	}
	q, _ := url.ParseQuery(strings.ReplaceAll(u.RawQuery, ";", "&"))
	var names []string
	for _, k := range slices.Sorted(maps.Keys(q)) {
		if k == "a" || k == "do" || k == "action" || k == "feed" {
			k += "=" + q.Get(k)
		}
		names = append(names, k)
	}
	if len(names) > 0 {
		path += "?" + strings.Join(names, "&")
	}
	return path
}
