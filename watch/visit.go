package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"forage/crawl"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/revisit"
	"forage/store"
)

// visit begins a visit of a site. mu is held.
func (s *Service) visit(ctx context.Context, w *site, now time.Time, visits chan<- error) {
	ctx, cancel := context.WithCancel(ctx)
	w.end = cancel
	s.out++
	name, first, full := w.Name, w.first || w.more || !w.applied, w.full
	seed := scope.Seed{URL: w.URL, Rules: w.Rules}
	budget := w.When.Budget.of
	switch {
	case w.When.Every == 0: // what has come together
		n := max(1, int(w.credit+1e-6))
		budget = func(int) int { return n }
	case s.config.Limits.FetchesPerDay > 0:
		n := max(1, int(w.credit+1e-6))
		of := budget
		budget = func(known int) int { return min(of(known), n) }
	}
	p := plan.Plan{Sites: []string{name}, Policy: w.Policy, Period: w.Period, Budget: budget, Text: w.When.Budget.String(), MaxNew: w.MaxNew, CheckGone: w.CheckGone, Coverage: w.Coverage, Full: full}
	if w.Coverage > 0 {
		p.Text = fmt.Sprintf("%g%% of what is new, at most %s", 100*w.Coverage, p.Text)
	}
	if w.When.Every == 0 {
		p.Day = w.When.Budget.N
	}
	if full {
		p.Budget, p.Text = nil, "all"
	}
	opt := crawl.Options{Log: s.Log, Unarchived: w.Unarchived, Textless: w.Textless, Requisites: w.Requisites}
	was := visited{began: now, rules: seed.Rules, first: first, more: w.more && !w.first, full: full}
	if w.more = false; !was.more { // else what is asked for, or due, comes after
		w.asked, w.full = false, false
	}
	go func() { // Reload may change what w says while this runs
		defer cancel()
		var r *crawl.Result
		var err error
		if first {
			r, err = s.Crawl.Run(ctx, []scope.Seed{seed}, opt)
		} else {
			r, err = s.Crawl.Revisit(ctx, p, opt)
		}
		was.called = ctx.Err() != nil
		visits <- s.ended(w, r, err, was)
	}()
}

// A visited site is what a visit was.
type visited struct {
	began       time.Time
	rules       store.Rules
	first, full bool
	more        bool // it went on with a first visit that had ended
	called      bool // it was interrupted by the service
}

// ended takes in how a visit went. Its error is that of a store that is broken.
func (s *Service) ended(w *site, r *crawl.Result, err error, was visited) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now()
	w.end, s.visited = nil, true
	w.earn(now)
	switch {
	case errors.Is(err, crawl.ErrHandedBack):
		return nil
	case errors.Is(err, plan.ErrNoSite): // it failed meanwhile, or was never finished
		w.first = true
	case err != nil:
		return err
	case r.Interrupted && was.called && was.more:
		w.more, w.goesOn = true, now
		return nil
	case r.Interrupted && was.called:
		w.asked, w.full = true, was.full // it goes on as soon as it may
		return nil
	case was.first:
		rec, err := s.Crawl.View().SiteNamed(w.Name)
		if err != nil {
			return err
		}
		w.id, w.applied, w.first = rec.ID, rulesEqual(&was.rules, &w.Rules), isFirst(rec)
		w.gap = min(max(2*w.gap, leastGap), mostGap)
		w.goesOn = now.Add(w.gap)
	default:
		w.credit -= float64(r.Refetched + r.Waited)
		if r.NewPages > 0 && w.When.Every == 0 && s.sites[w.Name] == w { // else it was removed meanwhile
			if err := s.learn(w, now); err != nil {
				return err
			}
		}
	}
	w.skipped += int64(w.When.Skipped(was.began, now, Phase(w.Name, w.When.Every)))
	w.last = now
	return nil
}

// learn notes that something new was found at a site by now. mu is held.
func (s *Service) learn(w *site, now time.Time) error {
	w.rhythm.Saw(revisit.Time(w.last.Unix()), revisit.Time(now.Unix()))
	k, rhythm := s.kept[w.Name], w.rhythm
	k.Rhythm = &rhythm
	return s.put(map[string]kept{w.Name: k})
}

// A spent is how many fetches a visit took.
type spent struct {
	at time.Time
	n  int
}

// creditAfter is what is left of a budget for a day after the visits of the last one, the latest first.
func creditAfter(past []spent, rate float64, rhythm *revisit.Rhythm, now time.Time) float64 {
	if len(past) == 0 {
		return 0
	}
	slices.Reverse(past)
	w := site{rate: rate, rhythm: *rhythm, credited: past[0].at}
	w.credit = float64(past[0].n) // it had as much then
	for _, p := range past {
		w.earn(p.at)
		w.credit -= float64(p.n)
	}
	w.earn(now)
	return w.credit
}

// wants is how many fetches a day a site takes if nothing limits it.
func (w *site) wants(known int) float64 {
	if w.When.Every == 0 {
		return float64(w.When.Budget.N)
	}
	return float64(w.When.Budget.of(known)) * float64(day) / float64(w.When.Every)
}

// share gives each site its fetches a day: what it wants, or, where that is more than fetches_per_day over all sites,
// what it is expected to find most with; over those of other services, too, where there is Allot. mu is held. O(sites, the fetches of their latest cycles).
func (s *Service) share(now time.Time) error {
	v, total := s.Crawl.View(), 0.
	all := make([]*site, 0, len(s.sites))
	for _, name := range sortedKeys(s.sites) {
		w := s.sites[name]
		known := 0
		if w.id != 0 && w.When.Budget.Share > 0 {
			c, err := v.Counters(w.id)
			if err != nil {
				return err
			}
			known = int(c.Documents())
		}
		w.earn(now)
		w.rate = w.wants(known)
		total += w.rate
		all = append(all, w)
	}
	limit := s.config.Limits.FetchesPerDay
	if limit == 0 || s.Allot == nil && total <= float64(limit) {
		return nil
	}
	past, sum, days := make([][][]int, len(all)), 0., 0.
	for i, w := range all {
		if w.id == 0 {
			continue
		}
		cycles, err := plan.Finds(v, w.id)
		if err != nil {
			return err
		}
		past[i] = perDay(cycles, int(w.rate))
		for _, d := range past[i] {
			days++
			for _, n := range d {
				sum += float64(n)
			}
		}
	}
	usual := 1. // new pages a day of a site of which nothing is known
	if days > 0 {
		usual = sum / days
	}
	claims := make([]revisit.Claim, len(all))
	for i, w := range all {
		claims[i] = revisit.Claim{Gain: revisit.Expect(past[i], usual).Gain, Max: max(1, int(w.rate))}
	}
	if s.Allot != nil {
		if limit = s.Allot(revisit.DemandOf(claims)); total <= float64(limit) {
			return nil
		}
	}
	given, _ := revisit.Share(limit, claims)
	for i, w := range all {
		w.rate = float64(given[i])
		w.credit = min(w.credit, max(1, w.rate))
	}
	return nil
}

// perDay puts the fetches of cycles, oldest first, together into those of whole days of n fetches. What is left of
// the oldest is left out, unless it is all that there is.
func perDay(cycles [][]int, n int) (days [][]int) {
	var all []int
	for _, c := range cycles {
		all = append(all, c...)
	}
	if n < 1 || len(all) == 0 {
		return nil
	}
	if len(all) <= n {
		return [][]int{all}
	}
	for at := len(all) % n; at < len(all); at += n {
		days = append(days, all[at:at+n])
	}
	return days
}
