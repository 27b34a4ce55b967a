package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"forage/crawl"
	"forage/fetch"
	"forage/fetch/fetchtest"
	"forage/internal/race"
	"forage/revisit"
	"forage/store"
)

// lan is a network in memory.
var lan = fetchtest.New()

// A blog is a site whose home page links to its posts.
type blog struct {
	*httptest.Server
	mu    sync.Mutex
	posts int
	homes []time.Time // when the home page was asked for
	slow  time.Duration
	down  bool
	gone  int // a post that is not there any more; 0: none
	apart int // posts beyond these, to which nothing leads
}

func newBlog(t *testing.T, posts int) *blog {
	b := &blog{posts: posts}
	b.Server = lan.Server("127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		posts, slow, down, gone, apart := b.posts, b.slow, b.down, b.gone, b.apart
		if r.URL.Path == "/" {
			b.homes = append(b.homes, time.Now())
		}
		b.mu.Unlock()
		time.Sleep(slow)
		n := 0
		switch _, err := fmt.Sscanf(r.URL.Path, "/post/%d", &n); {
		case down:
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<!doctype html><title>home</title><p>The posts of this blog.")
			for i := range posts {
				if gone > 0 && i == gone {
					continue
				}
				fmt.Fprintf(w, "<p><a href=/post/%d>post %d</a>", i, i)
			}
		case err == nil && n < posts+apart && (n == 0 || n != gone):
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<!doctype html><title>post %d</title><p>%s<a href=/>home</a>", n, strings.Repeat(fmt.Sprintf("Of subject %d much is to be said. ", n), 5))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(b.Close)
	return b
}

func (b *blog) name() string { return strings.TrimPrefix(b.URL, "http://") }

func (b *blog) set(change func(*blog)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(b)
}

// looks returns how often the home page was asked for since a time.
func (b *blog) looks(since time.Time) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, at := range b.homes {
		if !at.Before(since) {
			n++
		}
	}
	return n
}

// A watcher is a Service that runs.
type watcher struct {
	*Service
	t    *testing.T
	dir  string
	stop func()
}

func configOf(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse("forage.yaml", []byte(text), environment)
	if err != nil {
		t.Fatal(err)
	}
	c.Each(func(s *Site) { s.Rules.AllowPrivate, s.Rules.DelayMillis = []string{"127.0.0.0/8"}, 0 })
	return c
}

// begin starts a Service on the store in dir.
func begin(t *testing.T, dir, text string, options ...func(*Options)) *watcher {
	t.Helper()
	c, err := crawl.Open(crawl.Config{Dir: dir, Delay: -1, Fetch: fetch.Config{Dial: lan.Dial, Lookup: lan.Lookup, AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Crawl: c, Dir: dir, Config: configOf(t, text)}
	for _, change := range options {
		change(&opt)
	}
	s, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	w := &watcher{Service: s, t: t, dir: dir}
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := c.View().Check(func(p store.Problem) { t.Error(p) }); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(w.stop)
	return w
}

// events returns the events of some types, as words.
func (w *watcher) events(types ...store.EventType) (all []string) {
	w.t.Helper()
	if err := w.Crawl.View().Events(0, func(e *store.Event) bool {
		if slices.Contains(types, e.Type) {
			all = append(all, strings.TrimSpace(fmt.Sprint(e.Type, " ", e.Site, e.URL[strings.LastIndexByte(e.URL, '/')+1:], " ", e.Reason)))
		}
		return true
	}); err != nil {
		w.t.Fatal(err)
	}
	return all
}

func (w *watcher) news() int { return len(w.events(store.PageNew)) }

// TestService watches a site by each kind of schedule, over a restart, and finds each post once.
func TestService(t *testing.T) {
	for _, schedule := range []string{"every: 6h, budget: 5", "budget: 10/day", "budget: 10/day, window: 06:00-18:00 Europe/Berlin", "every: 1h, budget: 5%"} {
		t.Run(schedule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBlog(t, 5)
				dir, conf := t.TempDir(), fmt.Sprintf("sites: [{url: %s/, %s}]", b.URL, schedule)
				w := begin(t, dir, conf)
				time.Sleep(8 * time.Hour) // a window may be closed when it begins
				if got := w.events(store.SiteReady, store.PageNew); !slices.Equal(got, []string{"site.ready " + b.name()}) {
					t.Fatalf("told %q by the first visit", got)
				}
				for d := range 3 {
					b.set(func(b *blog) { b.posts += 2 })
					from := time.Now()
					time.Sleep(day)
					if got := w.news(); got != 2*(d+1) {
						t.Errorf("day %d: %d new pages, want %d", d, got, 2*(d+1))
					}
					if n := b.looks(from); n < 1 || n > 24 {
						t.Errorf("day %d: %d looks at the home page", d, n)
					}
					if d == 1 {
						w.stop()
						w = begin(t, dir, conf)
					}
				}
				if st := w.Sites()[0]; st.Late != 0 || st.Skipped != 0 || st.Running || st.Due.Before(time.Now()) {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

// spent returns the fetches of revisits by site.
func (w *watcher) spent() map[string]int64 {
	w.t.Helper()
	got := map[string]int64{}
	for _, s := range w.Sites() {
		rec, err := w.Crawl.View().SiteNamed(s.Name)
		if err != nil {
			w.t.Fatal(err)
		}
		if err := w.Crawl.View().SiteCycles(rec.ID, func(c *store.CycleRecord) bool {
			if c.Kind == store.Revisit {
				got[s.Name] += c.Refetched
			}
			return true
		}); err != nil {
			w.t.Fatal(err)
		}
	}
	return got
}

// TestBudget spends budgets for a day, not more.
func TestBudget(t *testing.T) {
	race.Skip(t)
	synctest.Test(t, func(t *testing.T) {
		a, b := newBlog(t, 40), newBlog(t, 40)
		w := begin(t, t.TempDir(), fmt.Sprintf("sites: [{url: %s/, budget: 24/day}, {url: %s/, every: 2h, budget: 3}]", a.URL, b.URL))
		time.Sleep(time.Hour)
		time.Sleep(4 * day)
		got := w.spent()
		if n := got[a.name()]; n > 97 || n < 84 {
			t.Errorf("%d fetches in 4 days of 24", n)
		}
		if n := got[b.name()]; n > 147 || n < 130 {
			t.Errorf("%d fetches in 48 visits of 3", n)
		}
		c := configOf(t, fmt.Sprintf("limits: {fetches_per_day: 20}\nsites: [{url: %s/, budget: 24/day}, {url: %s/, every: 2h, budget: 3}]", a.URL, b.URL))
		if err := w.Reload(c); err != nil {
			t.Fatal(err)
		}
		before := got[a.name()] + got[b.name()]
		time.Sleep(4 * day)
		got = w.spent()
		if n := got[a.name()] + got[b.name()] - before; n > 80+60 || n < 60 {
			t.Errorf("%d fetches in 4 days of 20", n)
		}
	})
}

// TestAllotted spends what is allotted to a service, whatever the limit says, from the moment on that it changes.
func TestAllotted(t *testing.T) {
	race.Skip(t)
	synctest.Test(t, func(t *testing.T) {
		a, b := newBlog(t, 40), newBlog(t, 40)
		var allotted atomic.Int64
		var demand atomic.Int64
		w := begin(t, t.TempDir(), fmt.Sprintf("limits: {fetches_per_day: 1}\nsites: [{url: %s/, budget: 24/day}, {url: %s/, every: 2h, budget: 3}]", a.URL, b.URL), func(o *Options) {
			o.Allot = func(d revisit.Demand) int {
				demand.Store(int64(d.Total()))
				return int(allotted.Load())
			}
		})
		time.Sleep(2 * day) // of first visits, and what a site may have put by
		before := int64(0)
		for _, tt := range []struct{ allotted, least, most int64 }{{0, 0, 0}, {20, 40, 100}, {1000, 4*60 - 40, 4*60 + 10}, {0, 0, 60}, {0, 0, 0}} {
			allotted.Store(tt.allotted)
			w.Reshare()
			time.Sleep(4 * day)
			got := w.spent()
			n := got[a.name()] + got[b.name()]
			if n-before < tt.least || n-before > tt.most {
				t.Errorf("%d fetches in 4 days of %d allotted, want %d to %d", n-before, tt.allotted, tt.least, tt.most)
			}
			before = n
		}
		if n := demand.Load(); n != 24+36 {
			t.Errorf("a demand of %d fetches a day, want 60", n)
		}
	})
}

// TestFinish ends a service while a request is under way: it goes on to its end, and nothing begins after it.
func TestFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		srv := lan.Server("127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/":
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, "<!doctype html><title>home</title><a href=/slow>slow</a>")
			case "/slow":
				asked++
				time.Sleep(20 * time.Second)
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, "<!doctype html><title>slow</title><a href=/more>more</a>")
			default:
				http.NotFound(w, r)
			}
		}))
		t.Cleanup(srv.Close)
		w := begin(t, t.TempDir(), fmt.Sprintf("sites: [{url: %s/, every: 1s, budget: 5}]", srv.URL))
		time.Sleep(10 * time.Second)
		began := time.Now()
		w.Finish()
		if took := time.Since(began); asked != 1 || took > 11*time.Second || took < 5*time.Second {
			t.Errorf("asked %d times, ended after %v", asked, took)
		}
		time.Sleep(time.Minute)
		for path, want := range map[string]store.State{"/slow": store.Fetched, "/more": store.Queued} {
			id, err := w.Crawl.View().Find(srv.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			if d, err := w.Crawl.View().Doc(id); err != nil || d.State != want {
				t.Errorf("%s is %v, want %v, %v", path, d.State, want, err)
			}
		}
	})
}

// TestReloadFails: where a site cannot be read from the store the old configuration stays in force, for all sites.
func TestReloadFails(t *testing.T) {
	dir := t.TempDir()
	c, err := crawl.Open(crawl.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	old := "sites: ["
	for i := range 20 {
		old += fmt.Sprintf("{url: http://s%d.test/, budget: 7/day}, ", i)
	}
	s, err := New(Options{Crawl: c, Dir: dir, Config: configOf(t, old+"]"), Now: func() time.Time { return time.Unix(1e9, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	before := s.Sites()
	if err := c.DB().EndReads(); err != nil {
		t.Fatal(err)
	}
	err = s.Reload(configOf(t, strings.ReplaceAll(old, "7/day", "9/day")+"{url: http://new.test/}]"))
	if !errors.Is(err, store.ErrClosed) || !strings.Contains(err.Error(), "new.test") {
		t.Errorf("Reload = %v", err)
	}
	if after := s.Sites(); !reflect.DeepEqual(after, before) {
		t.Errorf("the sites are\n%+v\nafter it, and were\n%+v", after, before)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestReloadMeanwhile: another configuration holds from the moment that a visit has begun, which does not look at it: the race
// detector would tell.
func TestReloadMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlog(t, 3)
		c, err := crawl.Open(crawl.Config{Dir: t.TempDir(), Delay: -1, Fetch: fetch.Config{Dial: lan.Dial, Lookup: lan.Lookup, AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
		if err != nil {
			t.Fatal(err)
		}
		conf := fmt.Sprintf("sites: [{url: %s/, budget: 12/day}]", b.URL)
		s, err := New(Options{Crawl: c, Config: configOf(t, conf)})
		if err != nil {
			t.Fatal(err)
		}
		visits := make(chan error, 1)
		s.mu.Lock()
		s.visit(t.Context(), s.sites[b.name()], time.Now(), visits)
		err = s.settle(configOf(t, conf))
		s.mu.Unlock()
		if err := errors.Join(err, <-visits, c.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestRhythm: a site with a budget for a day that publishes at noon is looked at most often there, also after a restart,
// and its budget is spent as before.
func TestRhythm(t *testing.T) {
	race.Skip(t)
	synctest.Test(t, func(t *testing.T) {
		b := newBlog(t, 3)
		dir, conf := t.TempDir(), fmt.Sprintf("sites: [{url: %s/, budget: 12/day}]", b.URL)
		time.Sleep(time.Until(time.Now().Truncate(day).Add(day)))
		w := begin(t, dir, conf)
		for range 10 {
			time.Sleep(12 * time.Hour)
			b.set(func(b *blog) { b.posts++ })
			time.Sleep(12 * time.Hour)
		}
		w.mu.Lock()
		knew := w.sites[b.name()].rhythm
		w.mu.Unlock()
		w.stop()
		w = begin(t, dir, conf)
		w.mu.Lock()
		if knows := w.sites[b.name()].rhythm; knows != knew {
			t.Errorf("after a restart the rhythm is %v, not %v", knows, knew)
		}
		w.mu.Unlock()
		from := time.Now()
		time.Sleep(5 * day)
		var noon, night, all int64
		if err := w.Crawl.View().SiteCycles(1, func(c *store.CycleRecord) bool {
			if at := time.Unix(c.At, 0).UTC(); !at.Before(from) {
				all += c.Refetched
				switch h := at.Hour(); {
				case h >= 10 && h < 16:
					noon += c.Refetched
				case h >= 22 || h < 4:
					night += c.Refetched
				}
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if noon < night*3/2 || night < 5 {
			t.Errorf("in 5 days %d fetches around noon, %d around midnight", noon, night)
		}
		if all > 61 || all < 55 {
			t.Errorf("%d fetches in 5 days of 12", all)
		}
	})
}

// TestGone: a post that is taken off is told as gone, though a visit spends a single fetch and each finds new pages.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlog(t, 6)
		w := begin(t, t.TempDir(), fmt.Sprintf("sites: [{url: %s/, budget: 12/day}]", b.URL))
		publish := func(hours int) {
			for range hours {
				time.Sleep(time.Hour)
				b.set(func(b *blog) { b.posts += 3 })
			}
		}
		publish(24)
		b.set(func(b *blog) { b.gone = 4 })
		publish(24)
		if gone := w.events(store.PageGone); len(gone) != 1 || gone[0] != "page.gone "+b.name()+"4" {
			t.Errorf("gone: %q", gone)
		}
		if n := w.news(); n < 100 {
			t.Errorf("%d new pages meanwhile, want most of 144", n)
		}
	})
}

// TestSkipped: what is still running when due again is skipped and counted, and comes at the next occasion.
func TestSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, other := newBlog(t, 3), newBlog(t, 3)
		w := begin(t, t.TempDir(), fmt.Sprintf("sites: [{url: %s/, every: 1m, budget: 2}, {url: %s/, every: 1m, budget: 2}]", b.URL, other.URL))
		time.Sleep(10 * time.Minute)
		b.set(func(b *blog) { b.slow = 50 * time.Second }) // a visit takes up to two minutes
		before, looks := w.Sites(), other.looks(time.Time{})
		time.Sleep(time.Hour)
		b.set(func(b *blog) { b.slow = 0 })
		for i, s := range w.Sites() {
			n := s.Skipped - before[i].Skipped
			if s.Name == b.name() && (n < 15 || n > 45) || s.Name == other.name() && n != 0 {
				t.Errorf("%s: %d occasions skipped", s.Name, n)
			}
		}
		if n := other.looks(time.Time{}) - looks; n < 55 {
			t.Errorf("%d looks at the other site in an hour", n)
		}
	})
}

// TestGoesOn has the first visit of a site go on where others lead to pages of it after its end: soon, then less and less often, over a
// restart, and beside the visits that are due. What is new is told, what may be old is not; where the first visit was cut nothing goes on.
func TestGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, cut := newBlog(t, 5), newBlog(t, 5)
		for Phase(b.name(), day) < 6*time.Hour { // the first visit that is due comes after all this
			b = newBlog(t, 5)
		}
		b.set(func(b *blog) { b.apart = 100 })
		cut.set(func(b *blog) { b.apart = 100 })
		dir := t.TempDir()
		conf := fmt.Sprintf("sites: [{url: %s/, every: 24h, budget: 1}, {url: %s/, every: 24h, budget: 1, first-budget: 3}]", b.URL, cut.URL)
		w := begin(t, dir, conf)
		time.Sleep(10 * time.Second)
		began := time.Now()
		receive := func(b *blog, n int, maybeOld bool) {
			t.Helper()
			r, err := w.Crawl.Receive(t.Context(), []crawl.Received{{URL: fmt.Sprintf("%s/post/%d", b.URL, n), Via: store.ViaAnchor, MaybeOld: maybeOld}}, nil)
			if err != nil || r.Added != 1 {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		fetched := func(b *blog, n int) bool {
			t.Helper()
			id, err := w.Crawl.View().Find(fmt.Sprintf("%s/post/%d", b.URL, n))
			if err != nil {
				t.Fatal(err)
			}
			d, err := w.Crawl.View().Doc(id)
			if err != nil {
				t.Fatal(err)
			}
			return d.State == store.Fetched
		}
		receive(b, 10, true)
		receive(cut, 10, true)
		time.Sleep(time.Minute + leastGap) // a store that shares no web is looked at each minute
		if !fetched(b, 10) || fetched(cut, 10) {
			t.Errorf("fetched %v, want it, and %v where the first visit was cut, want it not", fetched(b, 10), fetched(cut, 10))
		}
		receive(b, 11, true)
		if time.Sleep(leastGap / 2); fetched(b, 11) {
			t.Error("it went on without a gap")
		}
		w.stop()
		w = begin(t, dir, conf)
		time.Sleep(time.Second)
		if !fetched(b, 11) {
			t.Error("a restart forgot it")
		}
		for n := range 20 {
			receive(b, 20+n, true)
			time.Sleep(10 * time.Minute)
		}
		receive(b, 50, false)
		receive(b, 51, true)
		if time.Sleep(day); !fetched(b, 39) || !fetched(b, 50) || !fetched(b, 51) {
			t.Error("not all was fetched")
		}
		rec, err := w.Crawl.View().SiteNamed(b.name())
		if err != nil {
			t.Fatal(err)
		}
		first, other := 0, 0
		if err := w.Crawl.View().SiteCycles(rec.ID, func(c *store.CycleRecord) bool {
			if c.Kind == store.FirstVisit {
				first++
			} else {
				other++
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if first < 6 || first > 18 || other < 1 || other > 2 {
			t.Errorf("the first visit came in %d parts, and there were %d others; want a part whenever twice as long has gone by, up to an hour, and another visit a day", first, other)
		}
		got := w.events(store.SiteReady, store.PageNew)
		slices.SortFunc(got[:2], func(a, b string) int { return len(a) - len(b) }) // side by side
		if !slices.Equal(got, []string{"site.ready " + b.name(), "site.ready " + cut.name() + " stopped by --budget", "page.new " + b.name() + "50"}) {
			t.Errorf("told %q", got)
		}
		if n := b.looks(began); n < 1 || n > 3 {
			t.Errorf("%d looks at the home page, want those of the visits that are due", n)
		}
	})
}

// TestMissed: what was missed while nobody watched is made up once, also where the clock was set back.
func TestMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlog(t, 3)
		dir, conf := t.TempDir(), fmt.Sprintf("sites: [{url: %s/, every: 1h, budget: 1}]", b.URL)
		w := begin(t, dir, conf)
		time.Sleep(3 * time.Hour)
		w.stop()
		time.Sleep(10*time.Hour + 20*time.Minute)
		from := time.Now()
		w = begin(t, dir, conf)
		time.Sleep(time.Second)
		visits := func() (n int) {
			if err := w.Crawl.View().SiteCycles(1, func(c *store.CycleRecord) bool {
				if c.At >= from.Unix() {
					n++
				}
				return true
			}); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := visits(); n != 1 {
			t.Errorf("%d visits at once, want 1", n)
		}
		time.Sleep(3 * time.Hour)
		if n := visits(); n < 3 || n > 4 {
			t.Errorf("%d visits, want one more for each hour", n)
		}
		// What the store says may lie ahead of the clock: it is an interval later at most that a visit comes.
		w.mu.Lock()
		w.seen = w.seen.Add(1000 * time.Hour)
		for _, s := range w.sites {
			s.last, s.credited = s.last.Add(1000*time.Hour), s.credited.Add(1000*time.Hour)
		}
		w.mu.Unlock()
		was := visits()
		time.Sleep(2 * time.Hour)
		if n := visits() - was; n < 1 || n > 2 {
			t.Errorf("%d visits in two hours after the clock was set back", n)
		}
	})
}

// TestPause has a site, and all, rest over a restart, tells of it, and lets them go on.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newBlog(t, 3), newBlog(t, 3)
		dir, conf := t.TempDir(), fmt.Sprintf("sites: [{url: %s/, every: 1h, budget: 2}, {url: %s/, every: 1h, budget: 2}]", a.URL, b.URL)
		w := begin(t, dir, conf)
		time.Sleep(2 * time.Hour)
		rests := func(name string, want ...*blog) {
			t.Helper()
			if err := w.Pause(name); err != nil {
				t.Fatal(err)
			}
			if err := w.Pause(name); err != nil { // once more changes nothing
				t.Fatal(err)
			}
			w.stop()
			w = begin(t, dir, conf)
			from := time.Now()
			time.Sleep(5 * time.Hour)
			for _, b := range []*blog{a, b} {
				n := b.looks(from)
				if rests := slices.Contains(want, b); rests != (n == 0) {
					t.Errorf("pause of %q: %d looks at %s", name, n, b.name())
				}
			}
			if err := w.Cycle(want[0].name(), false); !errors.Is(err, ErrRunning) {
				t.Errorf("a cycle of what rests: %v", err)
			}
			if err := w.Resume(name); err != nil {
				t.Fatal(err)
			}
			from = time.Now()
			time.Sleep(2 * time.Hour)
			if a.looks(from) == 0 || b.looks(from) == 0 {
				t.Errorf("after the pause of %q not all go on", name)
			}
		}
		rests(a.name(), a)
		rests("", a, b)
		want := []string{"watch.paused " + a.name() + " by hand", "watch.resumed " + a.name() + " by hand", "watch.paused  by hand", "watch.resumed  by hand"}
		if got := w.events(store.WatchPaused, store.WatchResumed); !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
		if err := errors.Join(w.Pause("none.test")); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
	})
}

// TestSites adds, changes and removes sites while they are being crawled, reloads the file, and loses none.
func TestSites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file, added := newBlog(t, 3), newBlog(t, 30)
		added.set(func(b *blog) { b.slow = 10 * time.Second })
		dir, conf := t.TempDir(), fmt.Sprintf("defaults: {every: 1h, budget: 2}\nsites: [{url: %s/}]", file.URL)
		w := begin(t, dir, conf)
		settings := func(format string, args ...any) json.RawMessage { return json.RawMessage(fmt.Sprintf(format, args...)) }
		for text, want := range map[string]error{
			`{}`: ErrInvalid, `{"url": "x"}`: ErrInvalid, `{"url": "http://a.test/", "budgte": "5"}`: ErrInvalid, `[`: ErrInvalid, ``: ErrInvalid,
			`{"url": "` + file.URL + `/"}`: ErrExists,
		} {
			if _, err := w.Add([]json.RawMessage{settings(`{"url": %q}`, added.URL+"/"), settings("%s", text)}); !errors.Is(err, want) || len(w.Sites()) != 1 {
				t.Errorf("Add(%s): %v, want %v", text, err, want)
			}
		}
		got, err := w.Add([]json.RawMessage{settings(`{"url": %q, "exclude": ["/post/7"]}`, added.URL+"/")})
		if err != nil || len(got) != 1 || got[0].Name != added.name() || got[0].When.Every != time.Hour {
			t.Fatalf("Add: %+v, %v", got, err)
		}
		time.Sleep(5 * time.Second)
		if st, err := w.Site(added.name()); err != nil || !st.Running || st.Settings == nil {
			t.Errorf("%+v, %v; want it to run", st, err)
		}
		if err := w.Cycle(added.name(), false); !errors.Is(err, ErrRunning) {
			t.Errorf("a cycle beside its first visit: %v", err)
		}
		if _, err := w.Change(added.name(), settings(`{"url": %q, "every": "10m", "budget": 1}`, added.URL+"/")); err != nil {
			t.Error(err)
		}
		if _, err := w.Change(added.name(), settings(`{"url": %q}`, file.URL+"/")); !errors.Is(err, ErrInvalid) {
			t.Errorf("a change to another site: %v", err)
		}
		for _, err := range []error{w.Remove(file.name()), func() error { _, err := w.Change(file.name(), settings(`{}`)); return err }()} {
			if !errors.Is(err, ErrReadOnly) {
				t.Errorf("%v, want %v", err, ErrReadOnly)
			}
		}
		w.stop()
		w = begin(t, dir, conf)
		time.Sleep(3 * time.Hour)
		if st, err := w.Site(added.name()); err != nil || st.When.Every != 10*time.Minute {
			t.Errorf("after a restart: %+v, %v", st, err)
		}
		if n, err := w.Crawl.View().SiteNamed(added.name()); err != nil || n.State != store.SiteDone || len(n.Rules.Exclude) > 0 {
			t.Errorf("%+v, %v; want it visited by its new rules", n, err)
		}
		if err := w.Cycle(added.name(), true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second)
		if err := w.Remove(added.name()); err != nil { // while it is crawled
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		from := time.Now()
		if err := w.Reload(configOf(t, fmt.Sprintf("sites: [{url: %s/, budget: 48/day}]", file.URL))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(day)
		if n := added.looks(from); n > 0 || len(w.Sites()) != 1 {
			t.Errorf("%d looks at a site that was removed; %+v", n, w.Sites())
		}
		if n := file.looks(from); n < 10 {
			t.Errorf("%d looks at the site of the file in a day", n)
		}
		if _, err := w.Crawl.View().SiteNamed(added.name()); err != nil {
			t.Errorf("what is known of it: %v", err)
		}
	})
}

// TestTrouble: a site that is down from the start is tried again, and its first visit is made when it is up.
func TestTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlog(t, 3)
		b.set(func(b *blog) { b.down = true })
		w := begin(t, t.TempDir(), fmt.Sprintf("sites: [{url: %s/, every: 1h, budget: 2}]", b.URL))
		time.Sleep(5 * time.Hour)
		b.set(func(b *blog) { b.down = false })
		time.Sleep(5 * time.Hour)
		if got := w.events(store.SiteReady); len(got) != 1 {
			t.Errorf("told %q", got)
		}
		b.set(func(b *blog) { b.posts = 5 })
		time.Sleep(3 * time.Hour)
		if w.news() != 2 {
			t.Errorf("%d new pages, want 2", w.news())
		}
	})
}

// TestEventsDropped: events are kept as long as the file says.
func TestEventsDropped(t *testing.T) {
	race.Skip(t)
	synctest.Test(t, func(t *testing.T) {
		b := newBlog(t, 3)
		w := begin(t, t.TempDir(), fmt.Sprintf("limits: {keep_events: 2d}\nsites: [{url: %s/, every: 1h, budget: 2}]", b.URL))
		time.Sleep(day)
		b.set(func(b *blog) { b.posts = 5 })
		time.Sleep(36 * time.Hour)
		if first, last, err := w.Crawl.View().EventsKept(); err != nil || first != 2 || last != 4 { // the home page has changed, too
			t.Errorf("events %d to %d are kept, %v", first, last, err)
		}
		time.Sleep(2 * day)
		if first, last, err := w.Crawl.View().EventsKept(); err != nil || first != 5 || last != 4 {
			t.Errorf("events %d to %d are kept, %v", first, last, err)
		}
	})
}

// TestMinFree: nothing is fetched while less is free on the disk than the file wants.
func TestMinFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlog(t, 3)
		conf := fmt.Sprintf("limits: {min_free: 1000000TiB}\nsites: [{url: %s/, every: 1h, budget: 2}]", b.URL)
		w := begin(t, t.TempDir(), conf)
		time.Sleep(5 * time.Hour)
		if _, wait := w.State(); wait == nil || b.looks(time.Time{}) > 0 {
			t.Errorf("%d looks, %v", b.looks(time.Time{}), wait)
		}
		if err := w.Reload(configOf(t, strings.Replace(conf, "1000000TiB", "1", 1))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Hour)
		if _, wait := w.State(); wait != nil || b.looks(time.Time{}) < 4 {
			t.Errorf("%d looks, %v", b.looks(time.Time{}), wait)
		}
		got := w.events(store.WatchPaused, store.WatchResumed)
		if len(got) != 2 || !strings.Contains(got[0], "min_free") || !strings.HasPrefix(got[1], "watch.resumed") {
			t.Errorf("told %q", got)
		}
	})
}
