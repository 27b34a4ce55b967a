package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"forage/crawl"
	"forage/internal/machine"
	"forage/revisit"
	"forage/store"
)

// Options are what a Service works with.
type Options struct {
	Crawl  *crawl.Crawl // that fetches; the Service is the only one to begin runs, but for commands of other processes
	Dir    string       // of the store, where the room on the disk is looked at
	Config *Config
	Now    func() time.Time // nil: the machine's
	Log    *slog.Logger     // nil: none

	// Allot, where limits.fetches_per_day hold for the sites of other services, too, is told what these sites would do with fetches in a day,
	// and returns how many they have. Reshare has it asked again. nil: the limit is theirs alone.
	Allot func(revisit.Demand) int
}

// A Service watches sites: it has them visited for the first time, and again whenever they are due, many at the same
// time. What it is told by its methods is kept in the store, and goes on from there after a kill at any moment. They
// may be called by several goroutines.
type Service struct {
	Options
	wake chan struct{} // holds a token while something has changed

	mu     sync.Mutex
	config *Config
	sites  map[string]*site
	kept   map[string]kept // what the store has, by name; "": all sites
	out    int             // visits under way, of which Run has not heard yet
	began  time.Time       // the service
	hold   error           // nothing is fetched for want of room; nil: there is some
	ending bool            // nothing begins any more
	seen   time.Time       // the latest time that was looked at
	shared time.Time       // when rates were shared out last

	visited bool      // something was, since sites to adopt were looked for
	growing bool      // they are looked for
	looked  time.Time // when they were last
}

// A kept record is what the store has of a site, or of all.
type kept struct {
	Settings json.RawMessage `json:"settings,omitempty"` // of a site that is in no file
	Paused   bool            `json:"paused,omitempty"`
	Rhythm   *revisit.Rhythm `json:"rhythm,omitempty"` // of a site with a budget for a day where something new was found
}

// none reports whether there is nothing to keep.
func (k *kept) none() bool { return k.Settings == nil && !k.Paused && k.Rhythm == nil }

// A site is one that is watched.
type site struct {
	Site
	settings json.RawMessage // of one that is in no file; nil: it is in the file
	id       store.SiteID    // 0: the store does not have it yet
	asked    bool            // a cycle was asked for
	full     bool            // of all documents
	first    bool            // its first visit has not ended
	more     bool            // it had, and has more to fetch: other sites led to it since
	goesOn   time.Time       // when that may be fetched
	gap      time.Duration   // from one such time to the next
	applied  bool            // the store has its rules
	last     time.Time       // when its latest visit ended
	due      time.Time
	rate     float64   // fetches a day
	credit   float64   // fetches that are left of it
	credited time.Time // when that was
	rhythm   revisit.Rhythm
	end      func() // ends the visit that is under way; nil: none is
	late     int64
	skipped  int64
}

// A Status is how a site is.
type Status struct {
	Site
	Settings json.RawMessage // as they were given to Add; nil: it is in the file
	Paused   bool            // by Pause, or all are
	Running  bool
	Due      time.Time // zero: it is not known
	Late     int64     // visits that began more than lateness after they were due, since the start
	Skipped  int64     // occasions left out as the visit before was still running
}

// The errors of a Service, which what it returns wraps.
var (
	ErrNotFound = errors.New("no such site is watched")
	ErrExists   = errors.New("the site is watched already")
	ErrReadOnly = errors.New("the site is in the configuration file")
	ErrRunning  = errors.New("a cycle of the site is running")
	ErrInvalid  = errors.New("settings that do not work")
	ErrPaused   = errors.New("nothing is fetched at present")
)

const (
	maxVisits    = 256              // at the same time: each holds what is known of its site in memory
	lateness     = 5 * time.Second  // what begins later than this after it was due is late
	lookInterval = time.Second      // between two looks at the room on the disk
	shareEvery   = time.Hour        // rates are shared out anew so often
	dropInterval = time.Hour        // events that are too old are dropped so often
	dropAtOnce   = 10_000           // so many in one window
	leastGap     = 10 * time.Second // between the times that a first visit goes on; it doubles from one to the next
	mostGap      = time.Hour
)

// New makes a Service of what the configuration and the store say. O(sites, their cycles of the last day).
func New(o Options) (*Service, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Service{Options: o, wake: make(chan struct{}, 1), config: o.Config, kept: map[string]kept{}, sites: map[string]*site{}, seen: o.Now(), began: o.Now(), visited: true}
	var failed error
	err := o.Crawl.View().Watched(func(name string, b []byte) bool {
		var k kept
		if failed = json.Unmarshal(b, &k); failed != nil {
			failed = fmt.Errorf("what the store has of watching %q: %w", name, failed)
		}
		s.kept[name] = k
		return failed == nil
	})
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	return s, s.settle(o.Config)
}

// settle brings the sites in line with a configuration and what the store keeps, or changes nothing: the error is that of
// the store. mu is held, or nobody else is there.
func (s *Service) settle(c *Config) error {
	want := map[string]*site{}
	for _, conf := range c.Sites {
		want[conf.Name] = &site{Site: conf}
	}
	for name, k := range s.kept {
		if k.Settings == nil || want[name] != nil { // the file has the say
			continue
		}
		conf, err := c.Site(k.Settings)
		if err != nil {
			s.Log.Warn("a site is not watched, its settings do not work with the defaults of the file", "site", name, "error", err)
			continue
		}
		want[name] = &site{Site: conf, settings: k.Settings}
	}
	if err := s.loadNew(want); err != nil {
		return err
	}
	for name, fresh := range want {
		have := s.sites[name]
		if have == nil {
			continue
		}
		have.applied = have.applied && rulesEqual(&have.Rules, &fresh.Rules)
		if have.end != nil && !slices.EqualFunc(s.config.optOut, c.optOut, func(a, b optOut) bool { return a.pattern == b.pattern }) && !rulesEqual(&have.Rules, &fresh.Rules) {
			have.end() // what is in line may not be fetched any more; it goes on by the new rules
		}
		have.Site, have.settings = fresh.Site, fresh.settings
		want[name] = have
	}
	for name, have := range s.sites {
		if want[name] == nil && have.end != nil {
			have.end()
		}
	}
	s.config, s.sites, s.shared = c, want, time.Time{}
	return nil
}

// loadNew reads from the store how those sites are that are not watched yet.
func (s *Service) loadNew(want map[string]*site) (err error) {
	v := s.Crawl.DB().Snapshot()
	defer func() { err = errors.Join(err, v.Close()) }()
	for name, w := range want {
		if s.sites[name] != nil {
			continue
		}
		if err := s.load(v, w); err != nil {
			return fmt.Errorf("site %s: %w", name, err)
		}
	}
	return nil
}

// load reads how a site is from the store.
func (s *Service) load(v *store.View, w *site) error {
	now := s.Now()
	w.first, w.credited = true, now
	if k := s.kept[w.Name]; k.Rhythm != nil {
		w.rhythm = *k.Rhythm
	}
	rec, err := v.SiteNamed(w.Name)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	w.id, w.first, w.applied = rec.ID, isFirst(rec), rulesEqual(&rec.Rules, &w.Rules)
	open := false
	var past []spent
	if err := v.SiteCyclesBack(rec.ID, func(c *store.CycleRecord) bool {
		if c.Kind == store.Import { // nothing was fetched
			return true
		}
		if w.last.IsZero() {
			open = c.Ended == 0
			w.last = time.Unix(cmp.Or(c.Ended, c.At), 0)
		}
		if c.Kind == store.Revisit && c.Ended != 0 {
			past = append(past, spent{time.Unix(c.At, 0), int(c.Refetched + c.Waited)})
		}
		return c.At > now.Add(-day).Unix()
	}); err != nil {
		return err
	}
	if w.last.After(now) { // the clock was set back
		w.last = now
	}
	w.first = w.first || open && rec.LastCycle == rec.FirstCycle
	if w.more, err = crawl.Unfinished(v, rec); err != nil {
		return err
	}
	w.asked = open // what was interrupted goes on at once
	w.rate = float64(w.When.Budget.N)
	w.credit = creditAfter(past, w.rate, &w.rhythm, now)
	return nil
}

// isFirst reports whether the first visit of a site is not over.
func isFirst(rec *store.Site) bool {
	return rec.CrawledAt == 0 || rec.State == store.SiteFailed || rec.State != store.SiteDone && rec.LastCycle == rec.FirstCycle
}

// rulesEqual reports whether a site has the rules that it is to have.
func rulesEqual(have, want *store.Rules) bool {
	a, b := *have, *want
	a.Within, b.Within = "", ""
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// Run watches until ctx ends. Then what is under way is interrupted, with its state saved, and Run returns when all of
// it has ended. The error is that of a store that is broken.
func (s *Service) Run(ctx context.Context) error {
	visits := make(chan error)
	var dropped, looked time.Time
	var broken error
	for broken == nil && ctx.Err() == nil {
		now := s.Now()
		s.mu.Lock()
		s.setBack(now)
		if now.Sub(looked) >= lookInterval {
			looked = now
			broken = s.look(now)
		}
		if s.shared.IsZero() || now.Sub(s.shared) >= shareEvery {
			s.shared = now
			broken = errors.Join(broken, s.share(now))
		}
		var next time.Time
		if broken == nil {
			next = s.begin(ctx, now, visits)
			s.grow(ctx, now, visits)
		}
		keep := s.config.Limits.KeepEvents
		s.mu.Unlock()
		if keep > 0 && now.Sub(dropped) >= dropInterval {
			dropped = now
			broken = errors.Join(broken, s.dropEvents(now.Add(-keep)))
		}
		wait := min(max(next.Sub(now), 0), s.idle(now))
		timer := time.NewTimer(wait)
		select {
		case err := <-visits:
			broken = errors.Join(broken, s.heard(err))
		case <-s.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	s.mu.Lock()
	for _, w := range s.sites {
		if w.end != nil {
			w.end()
		}
	}
	s.mu.Unlock()
	for s.underWay() > 0 {
		broken = errors.Join(broken, s.heard(<-visits))
	}
	return broken
}

// Finish has no visit begin any more, and returns when all that are under way have ended, with their state saved: requests may go on to their end,
// which Run cuts off when its context ends. The Crawl is of no use afterwards but to be read and closed.
func (s *Service) Finish() {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	s.Crawl.HandBack()
}

// idle is how long Run sleeps at most.
func (s *Service) idle(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.config.Limits.MinFree > 0 || s.hold != nil || s.out > 0 {
		return lookInterval
	}
	if s.Crawl.Shares() { // other stores may lead to sites whose first visit has ended
		return leastGap
	}
	return time.Minute // the clock may be set
}

// heard notes that a visit has ended.
func (s *Service) heard(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out--
	return err
}

func (s *Service) underWay() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out
}

// Reshare has fetches_per_day shared out anew, because what Allot returns has changed.
func (s *Service) Reshare() {
	s.mu.Lock()
	s.shared = time.Time{}
	s.mu.Unlock()
	s.stir()
}

// stir has Run look at what has changed.
func (s *Service) stir() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// setBack sees to it that a clock that is set back keeps nothing waiting until it has caught up. mu is held.
func (s *Service) setBack(now time.Time) {
	if now.Before(s.seen.Add(-time.Second)) {
		for _, w := range s.sites {
			if w.last.After(now) {
				w.last = now
			}
			if w.credited.After(now) {
				w.credited = now
			}
			if w.goesOn.After(now) {
				w.goesOn = now
			}
		}
		s.shared = time.Time{}
	}
	s.seen = now
}

// begin begins the visits that are due, and returns when the next one is. mu is held. O(sites).
func (s *Service) begin(ctx context.Context, now time.Time, visits chan<- error) (next time.Time) {
	next = never
	if s.hold != nil || s.ending || s.kept[""].Paused {
		return next
	}
	for _, name := range s.Crawl.Unfinished() {
		if w := s.sites[name]; w != nil && !w.more {
			w.more = true
			if w.goesOn.Before(now) {
				w.goesOn = now
			}
		}
	}
	var ready []*site
	for _, w := range s.sites {
		if w.end != nil || s.kept[w.Name].Paused {
			continue
		}
		if w.due = s.due(w, now); !w.due.After(now) {
			ready = append(ready, w)
		} else if w.due.Before(next) {
			next = w.due
		}
	}
	slices.SortFunc(ready, func(a, b *site) int { return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.Name, b.Name)) })
	for _, w := range ready {
		if s.out >= maxVisits {
			break // the end of a visit wakes
		}
		if w.When.Every > 0 && s.config.Limits.FetchesPerDay > 0 && !w.first && !w.more && !w.asked && w.credit < 1 {
			w.last = now // its share has nothing for this occasion
			continue
		}
		if now.Sub(w.due) > lateness && !w.asked && w.due.After(s.began) {
			w.late++
		}
		s.visit(ctx, w, now, visits)
	}
	return next
}

// due is when a site is to be visited. mu is held.
func (s *Service) due(w *site, now time.Time) time.Time {
	switch {
	case w.asked:
		return now
	case w.id == 0 && w.last.IsZero():
		return w.When.Window.Next(now)
	}
	w.earn(now)
	due := w.When.Due(w.last, Phase(w.Name, w.When.Every), w.rate, w.credit-w.rate*w.days(w.last, now), &w.rhythm)
	if w.more && w.goesOn.Before(due) {
		due = w.goesOn
	}
	if !due.After(now) { // it may have been missed, and the window be closed
		if open := w.When.Window.Next(now); open.After(now) {
			return open
		}
	}
	return due
}

// earn credits what has come together of a budget for a day: at most that of one day.
func (w *site) earn(now time.Time) {
	if now.After(w.credited) {
		w.credit = min(w.credit+w.rate*w.days(w.credited, now), max(1, w.rate))
		w.credited = now
	}
}

// days is how much of a day's budget comes together between two times, in days.
func (w *site) days(from, to time.Time) float64 {
	if w.When.Every > 0 {
		return to.Sub(from).Hours() / 24
	}
	return w.rhythm.Between(revisit.Time(from.Unix()), revisit.Time(to.Unix())) // of whole seconds, none twice
}

// Reload has another configuration hold from now on. Visits under way end as they began. The error is of the store;
// the old configuration stays in force.
func (s *Service) Reload(c *Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.stir()
	return s.settle(c)
}

// look sees whether there is room on the disk, and tells where that has changed. mu is held.
func (s *Service) look(now time.Time) error {
	hold := s.Crawl.Full()
	if hold != nil {
		s.Crawl.LookForRoom() // the visit that would may have been ended
	}
	if least := s.config.Limits.MinFree; hold == nil && least > 0 {
		if s.hold != nil {
			least += least / 16 // so that it does not go to and fro
		}
		if free := machine.FreeDisk(s.Dir); free > 0 && free < least {
			hold = fmt.Errorf("%d MiB are free on the disk of the store, min_free wants %d MiB", free>>20, s.config.Limits.MinFree>>20)
		}
	}
	was := s.hold
	s.hold = hold
	switch {
	case was == nil && hold != nil:
		if s.Crawl.Full() == nil { // else what is under way waits, and needs nothing
			s.endVisits("")
		}
		s.Log.Warn("paused", "reason", hold)
		return s.tell(now, store.WatchPaused, "", hold.Error())
	case was != nil && hold == nil:
		s.Log.Warn("goes on") // as loud as "paused"
		return s.tell(now, store.WatchResumed, "", was.Error())
	}
	return nil
}

// tell writes an event.
func (s *Service) tell(now time.Time, t store.EventType, site, why string) error {
	return s.Crawl.Write(func(db *store.DB) error {
		db.PutEvent(&store.Event{Type: t, At: now.Unix(), Site: site, Reason: why})
		return nil
	})
}

// endVisits interrupts the visit of a site, or of all for "". mu is held.
func (s *Service) endVisits(name string) {
	for _, w := range s.sites {
		if w.end != nil && (name == "" || w.Name == name) {
			w.end()
		}
	}
}

// dropEvents drops events from before a time.
func (s *Service) dropEvents(before time.Time) error {
	for {
		n := 0
		if err := s.Crawl.Write(func(db *store.DB) (err error) { n, err = db.DropEvents(before.Unix(), dropAtOnce); return err }); err != nil || n < dropAtOnce {
			return err
		}
	}
}

// Sites tells how all sites are, by name.
func (s *Service) Sites() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Status, 0, len(s.sites))
	for _, name := range slices.Sorted(maps.Keys(s.sites)) {
		all = append(all, s.status(s.sites[name]))
	}
	return all
}

// Site tells how a site is. Error: ErrNotFound.
func (s *Service) Site(name string) (Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.named(name)
	if err != nil {
		return Status{}, err
	}
	return s.status(w), nil
}

func (s *Service) named(name string) (*site, error) {
	if w := s.sites[name]; w != nil {
		return w, nil
	}
	return nil, fmt.Errorf("%s: %w", name, ErrNotFound)
}

func (s *Service) status(w *site) Status {
	st := Status{Site: w.Site, Settings: w.settings, Paused: s.kept[w.Name].Paused || s.kept[""].Paused, Running: w.end != nil, Late: w.late, Skipped: w.skipped}
	if w.end == nil && !st.Paused && s.hold == nil {
		if st.Due = s.due(w, s.Now()); st.Due.Equal(never) {
			st.Due = time.Time{}
		}
	}
	return st
}

// State tells whether all sites are paused by Pause, and why nothing can be fetched; nil: it can.
func (s *Service) State() (paused bool, wait error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept[""].Paused, s.hold
}

// put brings a record to the disk, and then into force. mu is held.
func (s *Service) put(records map[string]kept) error {
	if err := s.Crawl.Write(func(db *store.DB) error {
		for name, k := range records {
			if k.none() {
				if err := db.DropWatched(name); err != nil {
					return err
				}
				continue
			}
			b, err := json.Marshal(k)
			if err == nil {
				err = db.PutWatched(name, b)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	maps.Copy(s.kept, records)
	return nil
}

// Add watches further sites, all of them or none, and keeps them in the store. settings are JSON objects with the keys of a
// site of the file. Errors: ErrInvalid, ErrExists.
func (s *Service) Add(settings []json.RawMessage) ([]Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	records, names := map[string]kept{}, []string{}
	for _, text := range settings {
		conf, err := s.config.Site(text)
		if err != nil {
			return nil, err
		}
		if _, twice := records[conf.Name]; twice || s.sites[conf.Name] != nil {
			return nil, fmt.Errorf("%s: %w", conf.Name, ErrExists)
		}
		records[conf.Name] = kept{Settings: text}
		names = append(names, conf.Name)
	}
	if err := s.put(records); err != nil {
		return nil, err
	}
	if err := s.settle(s.config); err != nil {
		return nil, err
	}
	s.stir()
	all := make([]Status, len(names))
	for i, name := range names {
		all[i] = s.status(s.sites[name])
	}
	return all, nil
}

// Change gives a site other settings in place of those that it has. Errors: ErrNotFound; ErrReadOnly; ErrInvalid, also
// where they would make it another site.
func (s *Service) Change(name string, settings json.RawMessage) (Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.own(name)
	if err != nil {
		return Status{}, err
	}
	conf, err := s.config.Site(settings)
	if err != nil {
		return Status{}, err
	}
	if conf.Name != name {
		return Status{}, fmt.Errorf("%w: they are of %s, not of %s", ErrInvalid, conf.Name, name)
	}
	if err := s.put(map[string]kept{name: {Settings: settings, Paused: s.kept[name].Paused, Rhythm: s.kept[name].Rhythm}}); err != nil {
		return Status{}, err
	}
	if err := s.settle(s.config); err != nil {
		return Status{}, err
	}
	s.stir()
	return s.status(w), nil
}

// own returns a site that is in no file.
func (s *Service) own(name string) (*site, error) {
	w, err := s.named(name)
	if err == nil && w.settings == nil {
		err = fmt.Errorf("%s: %w", name, ErrReadOnly)
	}
	return w, err
}

// Remove watches a site no more; what is known of it stays in the store. What is under way ends. Errors: ErrNotFound,
// ErrReadOnly.
func (s *Service) Remove(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.own(name); err != nil {
		return err
	}
	if err := s.put(map[string]kept{name: {}}); err != nil {
		return err
	}
	delete(s.kept, name)
	return s.settle(s.config)
}

// Cycle has a site visited now: of its old documents those that the policy names, or all. Errors: ErrNotFound; ErrRunning
// where a visit is under way or asked for, or the site is paused.
func (s *Service) Cycle(name string, full bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.named(name)
	switch {
	case err != nil:
		return err
	case s.kept[name].Paused || s.kept[""].Paused:
		return fmt.Errorf("%s is paused: %w", name, ErrRunning)
	case w.end != nil || w.asked:
		return fmt.Errorf("%s: %w", name, ErrRunning)
	}
	w.asked, w.full = true, full
	s.stir()
	return nil
}

// Pause has nothing fetched of a site, or of any for "", until Resume, across restarts. Error: ErrNotFound.
func (s *Service) Pause(name string) error { return s.pause(name, true) }

// Resume ends a Pause. Error: ErrNotFound.
func (s *Service) Resume(name string) error { return s.pause(name, false) }

func (s *Service) pause(name string, paused bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name != "" {
		if _, err := s.named(name); err != nil {
			return err
		}
	}
	k := s.kept[name]
	if k.Paused == paused {
		return nil
	}
	k.Paused = paused
	if err := s.put(map[string]kept{name: k}); err != nil {
		return err
	}
	now, what := s.Now(), store.WatchResumed
	if paused {
		what = store.WatchPaused
		s.endVisits(name)
	}
	s.stir()
	return s.tell(now, what, name, "by hand")
}
