// Package crawl is the engine: the only place where decisions meet effects. It asks package
// frontier whose turn it is, has package fetch fetch, reads what came (crawl/document), writes
// it to the store, and follows what is new.
//
// Start with Open, which takes the store of a folder. Crawl.Run visits sites for the first time,
// or goes on where that was interrupted; Crawl.Revisit carries out a plan.Plan: a cycle of
// discovery at each of its sites. Both may be called from several goroutines at once, and each
// returns the Result of its own sites, leaving a store that is good however it ends. While they
// run, View shows the store to others, and Add, Pause, Resume and Stop steer.
//
// Each site goes its own way. It opens a cycle, the next number of the store, works until
// nothing is left to be done in it, and closes it, while others open and close theirs: a site
// whose host is slow, silent or paused holds up itself alone. What a cycle does is a visit: a
// first visit in the order of discovery (first.go) or in that of an explorer (ordered.go), a
// budgeted cycle (budgeted.go) or a full recrawl (full.go).
//
// One goroutine, the Loop, decides and writes; a pool of workers fetches and parses. A Loop may
// serve several stores. The way of one URL: discover.go gives it a number and a place in a
// backlog; backlog.go offers it to the frontier when its host's turn comes near; loop.go hands
// it to a worker; answer.go takes in what came and hands its links to discover.go.
package crawl

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"forage/archive"
	"forage/crawl/keep"
	"forage/crawl/ledger"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/graph"
	"forage/retain"
	"forage/store"
)

// Config says what to open and how to fetch. The zero value of a field means the default.
type Config struct {
	Dir     string          // the store
	At      time.Time       // the clock of the records; zero: that of the loop
	MaxKept int             // pages of which links and validators are kept; 0: all
	Keep    retain.KeepRule // what these are chosen by; "": the default
	Small   bool            // little is read and written, see store.Options.Small
	Cache   *store.Cache    // memory shared with other stores, see store.Options.Cache; nil: one of its own
	Archive *Archive        // what is fetched is kept there; nil: nowhere
	Texts   *Texts          // and there what its pages say; nil: nowhere
	Loop    *Loop           // that does the work, shared with other stores; nil: one of its own, made of the rest

	// AskedUntil is until when others may have asked the hosts of this store without its knowing, as it is a copy of one that they went on with: delays,
	// those that hosts ask for too, count from then. Zero: nobody did.
	AskedUntil time.Time

	// Elsewhere reports whether a host, or host:port, as in URLs, belongs to another store: it is never contacted by this crawl, and documents there
	// that become known are skipped, and written down for that store (store.DB.PutOutgoing), which takes them in by Receive. It must give the same answer
	// for the life of the store, and is called from several goroutines. nil: no host does.
	Elsewhere func(host string) bool

	// Spend is asked before each request for a document or a requisite, between answers, by the loop: 0 lets it be made, and counts it; else nothing is asked of the host
	// for that long. Those of Loop alone are asked where that is given. nil: all may be made.
	Spend func() time.Duration

	Fetch    fetch.Config  // how single requests are made
	Parallel int           // requests at once over all hosts; 0: 64
	Delay    time.Duration // least gap between two requests to a host, even where its site asks for less; 0: DefaultDelay; below 0: what sites ask for alone
	Clock    Clock         // nil: the machine's
}

// DefaultDelay is the least gap between two requests to a host for who asks for no other: a
// program that sets nothing is polite.
const DefaultDelay = time.Second

// Options are those of one call of Run or Revisit. The zero value sets no limit.
type Options struct {
	Policy     string                    // Run: explorer that orders first visits, or bfs, the order of discovery; "": best at sites with a small Rules.Budget or Rules.MaxPages, else bfs
	MaxTotal   int64                     // answers, those to requests for requisites included; 0: no limit
	MaxTime    time.Duration             // 0: no limit
	Begin      func(*plan.Outlook) error // Revisit: is told what to expect before anything is fetched; its error ends the call
	Allow      []netip.Prefix            // addresses to be asked although they are not public, beside those of each site's rules
	Unarchived bool                      // nothing of it goes to Config.Archive
	Textless   bool                      // nor to Config.Texts
	Requisites bool                      // what pages need to look right is fetched for Config.Archive, each once
	Progress   func(Progress)            // called by the loop now and then; must not block
	Skipped    io.Writer                 // where URLs that are not fetched are listed, with reasons; nil: nowhere
	Log        *slog.Logger              // warnings; nil: none
}

// A Progress is what a person who waits wants to know.
type Progress struct {
	Elapsed time.Duration
	Fetched int64 // answers in this run
	Pages   int64 // pages answered for the first time in this run, duplicates left out
	Queued  int64 // documents in line, over all sites of the run
	Sites   int   // of the run that have not begun yet
	Hosts   int   // hosts with something to fetch
	Out     int   // requests under way
	Wait    time.Duration
}

// A Result tells what the cycles came to that a run worked in. A cycle that an earlier run began
// and this one went on with counts as a whole.
type Result struct {
	Cycle       store.Cycle   // the lowest of Cycles; where there are none, the latest of the sites
	Cycles      []store.Cycle // ascending
	Sites       int
	Fetched     int64   // answers to requests for documents
	Refetched   int64   // of these, of old documents
	Pages       int64   // pages that answered for the first time, duplicates included
	Copies      int64   // of these, duplicates
	Known       int64   // pages of the sites in the store, duplicates left out
	Documents   int64   // pages, duplicates included, feeds and sitemaps of the sites in the store
	Duplicates  int64   // of these, pages that are duplicates
	NewPages    int64   // pages that are new for certain, duplicates left out
	Content     int64   // of these, pages that are there to be read
	Unknown     int64   // pages of which nobody knows whether they are new
	Moved       int64   // pages found to be others at a new URL
	Waited      int64   // documents that waited from an earlier cycle, fetched within the budget
	Foreseen    float64 // new pages expected of old documents fetched, in cycles that were to find a share of what is new
	Unseen      float64 // the same of the others, when these cycles ended
	Over        int64   // new documents left for the next cycle, as plan.Plan.MaxNew were followed
	Bytes       int64
	Requisites  Requisites
	Errors      int64
	Failed      []FailedSite
	Shells      []string        // names of sites that answer every path with the same page
	Finished    []*store.Site   // sites that had nothing left to be fetched from the start
	Adopted     []Adopted       // sites that Grow visited for the first time
	Refused     []store.Refusal // sites that Grow did not adopt
	Interrupted bool            // by the context or Stop: the state is saved, the same call goes on
	Cut         string          // what else ended the run before its end: --max-total, --time-limit, …
	Seconds     float64         // of this run

	answers int64 // to requests for documents in this run
}

// Requisites tell what was fetched because pages need it to look right.
type Requisites struct {
	Fetched int64 `json:"fetched"` // answers, which are not of those to requests for documents
	Bytes   int64 `json:"bytes"`   // received with them; they are of all bytes
}

// A FailedSite is a site of which no page could be fetched, or that could not be begun.
type FailedSite struct {
	Site   string `json:"site"`
	Reason string `json:"reason"`
}

// Overhead is old documents fetched per new page, and false where there is none.
func (r *Result) Overhead() (float64, bool) {
	if r.NewPages == 0 {
		return 0, false
	}
	return float64(r.Refetched) / float64(r.NewPages), true
}

// Coverage estimates the share of the new pages that the cycles found which were to find a share, and false where
// there was none.
func (r *Result) Coverage() (float64, bool) {
	if all := r.Foreseen + r.Unseen; all > 0 {
		return r.Foreseen / all, true
	}
	return 0, false
}

// A Crawl owns a store and works on it. Everything but cfg, db and loop belongs to the goroutine
// of the loop.
type Crawl struct {
	cfg      Config
	db       *store.DB
	loop     *Loop
	archive  *archive.Archive // nil: none is written
	texts    *archive.Archive // the same
	archives bool             // the store has an archive of answers, that another process may have written

	sites   map[store.SiteID]*site // that the runs work on
	within  map[string][]*site     // the same by the host or domain of their scope
	coming  map[string][]*arrival  // sites of runs that have not begun, by the same
	parking parking
	runs    []*run
	touched []*cycle                  // these may have changed since the last commit
	inHand  map[graph.Node]*store.Doc // documents in line by name or under way; nil: not read yet
	book    ledger.Book               // accounts of cycles of discovery
	keeper  *keep.Keeper              // nil: all pages are kept
	intake  *intake                   // the import that is under way; nil: none is
	paused  bool
	dated   time.Time             // of the answer that is being taken in, where it was given before, see import.go; zero: it is now
	full    atomic.Pointer[error] // there is no room on the disk: nothing is handed out; nil: there is
	looked  time.Time             // when that was found out
	closing bool                  // no run may begin any more
	more    unfinished            // sites whose first visit has more to fetch than it had when it ended
	growing sync.Mutex            // held by Adopt, which any goroutine may call: two that count sites side by side would adopt too many
	growths []*growth             // calls of Grow under way, also between their runs
	err     error                 // the store is broken
}

// Open opens or makes the store of cfg.Dir. Its errors are those of store.Open, of archive.Open, and of a
// cfg.Fetch that cannot work.
func Open(cfg Config) (*Crawl, error) {
	if cfg.Loop == nil {
		l, err := NewLoop(cfg)
		if err != nil {
			return nil, err
		}
		cfg.Loop = l
	}
	if err := store.Exists(cfg.Dir); errors.Is(err, fs.ErrNotExist) { // none is made that would have no archive
		for _, folder := range cfg.folders() {
			if err := archive.Writable(folder); err != nil {
				return nil, err
			}
		}
	}
	db, err := store.Open(cfg.Dir, store.Options{WaitForRoom: true, Small: cfg.Small, Cache: cfg.Cache})
	if err != nil {
		return nil, err
	}
	c := newCrawl(cfg, db)
	if err := c.openArchives(); err != nil {
		return nil, errors.Join(err, c.closeArchives(), db.Close())
	}
	return c, nil
}

// newCrawl returns a crawl that owns db, with the loop of cfg.
func newCrawl(cfg Config, db *store.DB) *Crawl {
	c := &Crawl{
		cfg: cfg, db: db, loop: cfg.Loop, sites: map[store.SiteID]*site{}, within: map[string][]*site{}, coming: map[string][]*arrival{}, inHand: map[graph.Node]*store.Doc{}, parking: newParking(),
	}
	c.book = ledger.Book{DB: db, Doc: c.doc, Now: c.now}
	return c
}

// View shows what is committed, also while the crawl runs.
func (c *Crawl) View() *store.View { return &c.db.View }

// Held is how many bytes are held of answers at present, as fetch.Client.Held.
func (c *Crawl) Held() int64 { return c.loop.client.Held() }

// Client is what the crawl fetches with. Who asks a host by it does so in a Turn.
func (c *Crawl) Client() *fetch.Client { return c.loop.client }

// DB is the store of the crawl, for those that read it beside the crawl.
func (c *Crawl) DB() *store.DB { return c.db }

// Close ends the runs that are under way as HandBack does, and gives the store free.
func (c *Crawl) Close() error {
	c.HandBack()
	ended := make(chan struct{})
	c.loop.do(func() {
		for _, t := range slices.Clone(c.loop.turns) {
			if t.crawl == c {
				t.refuse(ErrHandedBack)
			}
		}
		if c.err == nil {
			c.err = ErrHandedBack // whose turn it still is writes nothing
		}
		close(ended)
	})
	<-ended
	if c.archive != nil || c.texts != nil {
		_ = c.db.Sync() // so that they know what was committed; db.Close returns the error, too
	}
	return errors.Join(c.closeArchives(), c.db.Close())
}

// Run visits the sites of the seeds for the first time, or goes on where it was interrupted:
// what waits is fetched, what was fetched is not. It returns when nothing is left, or when
// ctx ends; then Result.Interrupted is set and the same call goes on later. A site that is
// being visited already is waited for. Errors: a seed that is no URL, rules that do not work,
// ErrElsewhere, what the store says, ErrHandedBack.
func (c *Crawl) Run(ctx context.Context, seeds []scope.Seed, opt Options) (*Result, error) {
	good, err := c.checkSeeds(ctx, seeds)
	switch {
	case err != nil && ctx.Err() != nil:
		return &Result{Interrupted: true}, nil
	case err != nil:
		return nil, err
	}
	return c.execute(ctx, opt, func(r *run) error { return r.visit(good) })
}

// Revisit carries out a plan: a cycle of discovery at each of its sites, or what was interrupted
// of one. At each site the policy names an old document, it is fetched, everything new that it
// leads to is followed to the end, and the policy hears of it before it names the next. A full
// recrawl fetches all known documents at once. A site that is being visited already is waited
// for where the plan names it, and left out where it does not and this is its first visit.
// Errors: plan.ErrNoSite, an unknown policy, what the store says, ErrHandedBack.
func (c *Crawl) Revisit(ctx context.Context, p plan.Plan, opt Options) (*Result, error) {
	return c.execute(ctx, opt, func(r *run) error { return r.revisit(p) })
}

// ErrHandedBack is returned by a run that the owner of the store gave up because it ends: its
// state is saved, and the same call by whoever opens the store next goes on with it.
var ErrHandedBack = errors.New("the owner of the store has ended")

// now is the time that is recorded.
func (c *Crawl) now() store.Time {
	if !c.dated.IsZero() {
		return c.dated.Unix()
	}
	return c.wall().Unix()
}

// fail notes that the store, or the program, is broken: all runs of the crawl end with the first
// such error. Nothing more is written.
func (c *Crawl) fail(err error) {
	if err != nil && c.err == nil {
		c.err = err
		for _, r := range slices.Clone(c.runs) {
			r.stop("", false)
			r.cancel()
		}
	}
}

// doc returns what is known of a document. While one is in hand all get the same Doc: what one
// changes and puts, the others see, and its record is decoded once on its way.
func (c *Crawl) doc(id graph.Node) (*store.Doc, error) {
	if d := c.inHand[id]; d != nil {
		return d, nil
	}
	return c.db.Doc(id)
}

// siteOf returns the site that url belongs to, among those that the runs work on; nil if there
// is none.
func (c *Crawl) siteOf(url string) *site {
	c.come(url)
	name := store.HostOf(url)
	for {
		for p := c.parking.within(name); p != nil; p = c.parking.within(name) {
			c.unpark(p)
		}
		for _, s := range c.within[name] {
			if s.scope.Contains(url) {
				return s
			}
		}
		i := 0
		for i < len(name) && name[i] != '.' {
			i++
		}
		if i == len(name) {
			return nil
		}
		name = name[i+1:]
	}
}
