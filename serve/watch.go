package serve

import (
	"context"
	"errors"
	"strings"
	"time"

	"forage/report"
)

// A Watch looks after the sites. Its methods may be called by several goroutines at once, and return soon:
// what takes long goes on after they have returned. Names are those of sites in the store; "" is none.
type Watch interface {
	// Sites returns the sites that are watched, by name.
	Sites() []Site

	// Site returns one of them. Error: ErrNotFound.
	Site(name string) (Site, error)

	// Add watches further sites, all of them or none, and keeps them in the store. It returns them in the same order.
	// Errors: ErrInvalid; ErrExists for one that is watched already.
	Add(ctx context.Context, sites []Settings) ([]Site, error)

	// Preview looks at a site as Add would watch it, by its robots.txt and the lists that this names; it takes as
	// long as the delays between these requests. Errors: ErrInvalid, ErrExists, ErrPaused.
	Preview(ctx context.Context, s Settings) (*Preview, error)

	// Change gives a site other settings in place of those that it has.
	// Errors: ErrNotFound, ErrReadOnly, ErrInvalid, also where its URL would be that of another site.
	Change(ctx context.Context, name string, s Settings) (Site, error)

	// Remove watches a site no more; what is known of it stays in the store. Errors: ErrNotFound, ErrReadOnly.
	Remove(ctx context.Context, name string) error

	// Cycle begins a cycle at a site now, of old documents as its settings say, or of all that are known.
	// Errors: ErrNotFound; ErrRunning where one is under way, or the site is paused.
	Cycle(ctx context.Context, name string, full bool) error

	// Pause has nothing more fetched of a site, or of all for "", until Resume, across restarts. A site that is
	// paused may be paused. Error: ErrNotFound.
	Pause(ctx context.Context, name string) error
	Resume(ctx context.Context, name string) error

	// Reload reads the configuration file again. Error: a *FileError, and what holds is what held before.
	Reload(ctx context.Context) error

	// Hosts tells how the hosts stand that are asked in cycles under way, by name: up to limit of those after a name.
	Hosts(after string, limit int) []*report.Asked

	// State tells how the service is.
	State() State
}

// A FileError tells what is wrong in the configuration file: each mistake, with its place.
type FileError struct{ Mistakes []string }

func (e *FileError) Error() string { return strings.Join(e.Mistakes, "\n") }

// The errors of a Watch, which what it returns wraps. Its text is for who asked.
var (
	ErrNotFound = errors.New("no such site is watched")
	ErrExists   = errors.New("the site is watched already")
	ErrReadOnly = errors.New("the site is in the configuration file")
	ErrRunning  = errors.New("a cycle of the site is running")
	ErrInvalid  = errors.New("settings that do not work")
	ErrPaused   = errors.New("nothing is fetched at present")
)

// Settings say what a site is and how it is watched, with the keys and the notation of forage.yaml. Zero values
// stand for its defaults.
type Settings struct {
	URL      string   `json:"url" doc:"where the site starts" maxLength:"8192"`
	Budget   string   `json:"budget,omitempty" doc:"old documents to fetch: 10/day leaves open when, 5 or 5% are those of one cycle" maxLength:"64"`
	Every    string   `json:"every,omitempty" doc:"a cycle each 6h, 90m, 1d" maxLength:"64"`
	Window   string   `json:"window,omitempty" doc:"when it may be fetched: 06:00-23:00 Europe/Berlin" maxLength:"128"`
	Scope    string   `json:"scope,omitempty" doc:"host, domain or prefix" maxLength:"64"`
	Include  []string `json:"include,omitempty" nullable:"false" doc:"regular expressions of which one must match a URL" maxItems:"100"`
	Exclude  []string `json:"exclude,omitempty" nullable:"false" doc:"regular expressions that leave a URL out" maxItems:"100"`
	MaxPages int      `json:"max_pages,omitempty" minimum:"0" doc:"pages to fetch at most; 0: no limit"`
	MaxDepth int      `json:"max_depth,omitempty" minimum:"-1" doc:"links from the start; -1: the start alone; 0: no limit"`
	Delay    string   `json:"delay,omitempty" doc:"least gap between two requests: 1.5s" maxLength:"64"`
}

// A Site is one that is watched.
type Site struct {
	Name     string // as in the store
	Settings Settings
	ReadOnly bool      // it stands in the configuration file
	Paused   bool      // by Pause, or all are
	Running  bool      // a cycle, or its first visit, is under way
	Due      time.Time // when the next cycle is to begin; zero: it is not known
	Late     int64     // cycles that began more than 5 s after they were due, since the service started
	Skipped  int64     // cycles left out because the one before was still running, since the service started
}

// A Preview is what a site says of itself before it is watched.
type Preview struct {
	Name          string        // it would have
	Scope         string        // host, domain or prefix
	Robots        string        // URL of its robots.txt
	RobotsStatus  int           // 0: there was no answer
	RobotsProblem string        // why nothing may be fetched for want of it; "": it may
	Allowed       bool          // the start of the site, by robots.txt
	Delay         time.Duration // between two requests: that of the settings, or what robots.txt asks for
	Lists         []PreviewList
	Left          int   // lists that were not looked at
	URLs          int   // pages of the site that the lists name; 0: it is not known
	Dated, Recent int   // of these, those with a date, and with one of the last 30 days
	Usual         int64 // bytes of a document, at the sites that are known; 0: there are none
}

// A PreviewList is a sitemap or feed.
type PreviewList struct {
	URL     string
	Kind    string // "": none was read
	Entries int
	Ours    int    // that belong to the site
	Problem string // "": it was read whole
}

// A State is how the service is.
type State struct {
	Paused bool  // nothing is fetched of any site, by Pause("")
	Wait   error // why nothing is fetched at present, such as that there is no room on the disk; nil: it is
}
