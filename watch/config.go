package watch

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"forage/crawl/scope"
	"forage/fetch"
	"forage/fetch/use"
	"forage/internal/units"
	"forage/retain"
	"forage/revisit"
	"forage/revisit/paper"
	"forage/store"
	"forage/text"
	"forage/webhook"
)

// A Config is what a file such as this one says:
//
//	listen: 127.0.0.1:8080
//	limits: {fetches_per_day: 200000, keep_events: 90d}
//	defaults: {budget: 10/day, contact: https://example.org/bot}
//	sites:
//	  - url: https://blog.example/
//	  - {url: https://news.example/, budget: 200/day, window: 06:00-23:00 Europe/Berlin, exclude: ['/tag/']}
//	  - {url: https://docs.example/, every: 6h, budget: 5}
//
// The zero value of a field means that the file says nothing of it.
type Config struct {
	Listen    string // host:port
	PublicURL string // where readers find the service, if not at Listen; ends with /
	Public    bool   // who has no token may read
	Tokens    Tokens
	Limits    Limits
	Fetch     Fetch
	Archive   Archive
	Texts     Texts
	Adopt     int              // sites that are adopted at most, see crawl.Growth; 0: none
	Sites     []Site           // in the order of the file; no two have one name
	Webhooks  []webhook.Target // no two have one name

	defaults Site // of sites that are in no file
	optOut   []optOut
}

// Tokens let their holders in.
type Tokens struct {
	Read  []string
	Write []string // these may read, too
}

// Limits hold over all sites. 0: no limit.
type Limits struct {
	FetchesPerDay int           // of old documents
	Bandwidth     int64         // bytes a second
	MinFree       int64         // bytes that are to stay free on the disk of the store
	KeepEvents    time.Duration // older ones are dropped
}

// Fetch is how requests are made, to whatever site. It holds from the start of the process to its end.
type Fetch struct {
	Contact   string
	UserAgent string
	Parallel  int
	Timeout   time.Duration
	MaxBody   int64
	Proxy     string
	Cookies   string          // a file
	MaxKept   int             // pages of which links and validators are kept
	Keep      retain.KeepRule // what these are chosen by; "": the default
}

// Archive is where each answer is kept as it came; Folder "": nowhere. It holds from the start of the process to its end.
type Archive struct {
	Folder  string
	Dedupe  string // all, file, off; "": the default
	HTTP2   bool
	Respect *string // a list as of use.ParseRespect; nil: the default
}

// Texts is where what pages say is kept; Folder "": nowhere. It holds from the start of the process to its end.
type Texts struct {
	Folder  string
	Format  string  // markdown, text; "": the default
	Respect *string // a list as of use.ParseRespect; nil: the default
}

// A Site says what is watched, and how.
type Site struct {
	Name       string // as in the store, see scope.Within
	URL        string
	Rules      store.Rules
	When       When
	Policy     string // of revisits
	Period     int    // every Nth visit fetches every known document; 0: none
	MaxNew     int    // new documents that a visit follows; 0: no limit
	CheckGone  float64
	Coverage   float64           // of what is new, at which a visit ends; 0: at its budget
	Fields     []fetch.SiteField // for its host
	Unarchived bool              // nothing of it is kept in the archive
	Textless   bool              // nor among the texts
	Requisites bool              // what its pages need is fetched for the archive
}

// An Error tells what is wrong in a file, and where.
type Error struct {
	File         string
	Line, Column int // from 1
	Text         string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text) }

// Parse reads a configuration. file is its name, for errors; env tells the value of a variable of the
// environment, which secrets, tokens and values of header fields name by $NAME. The error joins an *Error for
// each thing that is wrong, in the order of the file.
func Parse(file string, data []byte, env func(name string) (string, bool)) (*Config, error) {
	r := &reader{file: file, env: env}
	c := &Config{Listen: "127.0.0.1:8080"}
	if root := r.parse(data); root != nil {
		c.read(r, root)
	}
	if len(r.errs) == 0 {
		return c, nil
	}
	slices.SortStableFunc(r.errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	all := make([]error, len(r.errs))
	for i, e := range r.errs {
		all[i] = e
	}
	return nil, errors.Join(all...)
}

// Each changes all sites, those that are added later included.
func (c *Config) Each(change func(*Site)) {
	change(&c.defaults)
	for i := range c.Sites {
		s := &c.Sites[i]
		had := s.Requisites
		if change(s); s.Requisites && !had { // they may be anywhere
			for j := range c.optOut {
				if pattern := c.optOut[j].pattern; !slices.Contains(s.Rules.Exclude, pattern) {
					s.Rules.Exclude = append(s.Rules.Exclude, pattern)
				}
			}
		}
	}
}

// read takes over what the file says.
func (c *Config) read(r *reader, root ast.Node) {
	defaults := siteKeys{Site: Site{
		Rules: store.Rules{Scope: scope.Kinds[0], DelayMillis: 1000}, When: When{Budget: Budget{N: 10, PerDay: true}},
		Policy: revisit.Default, MaxNew: 1000, CheckGone: .25,
	}}
	var sites, hooks ast.Node
	r.mapping(root, map[string]func(ast.Node){
		"listen":     func(n ast.Node) { r.text(n, &c.Listen, checkListen) },
		"public_url": func(n ast.Node) { r.text(n, &c.PublicURL, func(s string) error { return c.setPublic(s) }) },
		"public":     func(n ast.Node) { r.yes(n, &c.Public) },
		"adopt":      func(n ast.Node) { r.number(n, 0, &c.Adopt) },
		"tokens": func(n ast.Node) {
			r.mapping(n, map[string]func(ast.Node){
				"read":  func(n ast.Node) { c.Tokens.Read = r.tokens(n) },
				"write": func(n ast.Node) { c.Tokens.Write = r.tokens(n) },
			})
		},
		"limits": func(n ast.Node) {
			l := &c.Limits
			r.mapping(n, map[string]func(ast.Node){
				"fetches_per_day": func(n ast.Node) { r.number(n, 0, &l.FetchesPerDay) },
				"bandwidth": func(n ast.Node) {
					r.value(n, func(s string) (err error) { l.Bandwidth, err = parseBandwidth(s); return err })
				},
				"min_free": func(n ast.Node) {
					r.value(n, func(s string) (err error) { l.MinFree, err = parseSize(s); return err })
				},
				"keep_events": func(n ast.Node) { r.duration(n, &l.KeepEvents) },
			})
		},
		"warc": func(n ast.Node) {
			a := &c.Archive
			if t := n.Type(); t != ast.MappingType && t != ast.MappingValueType {
				r.text(n, &a.Folder, nil)
				return
			}
			r.mapping(n, map[string]func(ast.Node){
				"dir": func(n ast.Node) { r.text(n, &a.Folder, nil) },
				"dedupe": func(n ast.Node) {
					r.text(n, &a.Dedupe, func(s string) error { return oneOf(s, []string{"all", "file", "off"}) })
				},
				"http2":   func(n ast.Node) { r.yes(n, &a.HTTP2) },
				"respect": func(n ast.Node) { a.Respect = r.respect(n) },
			})
			if a.Folder == "" {
				r.errorf(n, "want dir: the folder of the archive")
			}
		},
		"text": func(n ast.Node) {
			x := &c.Texts
			if t := n.Type(); t != ast.MappingType && t != ast.MappingValueType {
				r.text(n, &x.Folder, nil)
				return
			}
			r.mapping(n, map[string]func(ast.Node){
				"dir":     func(n ast.Node) { r.text(n, &x.Folder, nil) },
				"format":  func(n ast.Node) { r.text(n, &x.Format, func(s string) error { return oneOf(s, textFormats) }) },
				"respect": func(n ast.Node) { x.Respect = r.respect(n) },
			})
			if x.Folder == "" {
				r.errorf(n, "want dir: the folder of the texts")
			}
		},
		"opt_out": func(n ast.Node) {
			var all []string
			r.texts(n, &all, func(s string) error {
				o, err := parseOptOut(s)
				c.optOut = append(c.optOut, o)
				return err
			})
		},
		"defaults": func(n ast.Node) { r.mapping(n, defaults.keys(r, &c.Fetch)) },
		"sites":    func(n ast.Node) { sites = n },
		"webhooks": func(n ast.Node) { hooks = n },
	})
	if defaults.everyAt != nil && defaults.When.Budget.PerDay {
		r.errorf(defaults.everyAt, "every: want a budget for each visit beside it, such as 5")
	}
	if defaults.keepAt != nil && c.Fetch.MaxKept == 0 {
		r.errorf(defaults.keepAt, "keep-rule says how max-kept-pages chooses: give that, too")
	}
	c.defaults = defaults.Site
	places := map[string]ast.Node{}
	for _, n := range r.list(sites) {
		keys := siteKeys{Site: defaults.Site}
		keys.Rules.Include, keys.Rules.Exclude = slices.Clone(keys.Rules.Include), slices.Clone(keys.Rules.Exclude)
		s, ok := keys.read(r, n)
		if !ok {
			continue
		}
		if first, twice := places[s.Name]; twice {
			r.errorf(n, "duplicate site: %s is on line %d already", s.Name, first.GetToken().Position.Line)
			continue
		}
		if err := c.keepOut(&s); err != nil {
			r.errorf(n, "%v", err)
			continue
		}
		places[s.Name] = n
		c.Sites = append(c.Sites, s)
	}
	names := map[string]bool{}
	for _, n := range r.list(hooks) {
		h, ok := readWebhook(r, n)
		if !ok {
			continue
		}
		if names[h.Name] {
			r.errorf(n, "duplicate webhook: %s", h.Name)
			continue
		}
		names[h.Name] = true
		if err := c.checkText(&h); err != nil {
			r.errorf(n, "%v", err)
		}
		for _, s := range h.Sites {
			if places[s] == nil {
				r.errorf(n, "sites: %s is not watched%s", s, meant(s, sortedKeys(places)))
			}
		}
		c.Webhooks = append(c.Webhooks, h)
	}
}

// checkText returns an error where a webhook wants texts that nothing keeps. Events tell of what was fetched before: nothing is fetched for them.
func (c *Config) checkText(h *webhook.Target) error {
	if h.Text == "" {
		return nil
	}
	kept := text.Format(cmp.Or(c.Texts.Format, string(text.Markdown)))
	switch {
	case c.Texts.Folder == "":
		return fmt.Errorf("text: no texts are kept that could be sent: want text: {dir: FOLDER, format: %s} at the top of the file", h.Text)
	case h.Text != kept:
		return fmt.Errorf("text: texts are kept as %s: want text: %s, or format: %s where they are kept", kept, kept, h.Text)
	case len(c.Sites) > 0 && !slices.ContainsFunc(c.Sites, func(s Site) bool {
		return !s.Textless && (len(h.Sites) == 0 || slices.Contains(h.Sites, s.Name))
	}):
		return errors.New("text: of none of its sites texts are kept: they say text: false")
	}
	return nil
}

// respect reads a list of what is left out.
func (r *reader) respect(n ast.Node) *string {
	var words []string
	r.texts(n, &words, func(s string) error { _, err := use.ParseRespect(s); return err })
	list := strings.Join(words, ",")
	return &list
}

// textFormats are how text is written.
var textFormats = []string{string(text.Markdown), string(text.Plain)}

func (c *Config) setPublic(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return errors.New("want a URL such as https://forage.example/")
	}
	c.PublicURL = strings.TrimSuffix(s, "/") + "/"
	return nil
}

func checkListen(s string) error {
	host, port, err := net.SplitHostPort(s)
	if n, e := strconv.Atoi(port); err != nil || e != nil || n < 0 || n > 65535 {
		return errors.New("want an address and a port such as 127.0.0.1:8080")
	}
	if _, err := netip.ParseAddr(host); host != "" && host != "localhost" && err != nil {
		return fmt.Errorf("%s is no address", host)
	}
	return nil
}

// siteKeys is what is said of a site, or of all sites.
type siteKeys struct {
	Site
	everyAt, budgetAt, ignoreAt, coverageAt, requisitesAt, keepAt ast.Node // where these stand; nil: nowhere
}

// keys are those of a site. Where f is not nil they are those of all sites, and what holds for all that the
// process fetches is put there.
func (k *siteKeys) keys(r *reader, f *Fetch) map[string]func(ast.Node) {
	rules := &k.Rules
	keys := map[string]func(ast.Node){
		"budget": func(n ast.Node) { k.budgetAt = n; r.value(n, k.When.Budget.set) },
		"every": func(n ast.Node) {
			k.everyAt = n
			r.duration(n, &k.When.Every)
		},
		"window": func(n ast.Node) {
			r.value(n, func(s string) (err error) { k.When.Window, err = ParseWindow(s); return err })
		},
		"scope": func(n ast.Node) {
			r.text(n, &rules.Scope, func(s string) error { return oneOf(s, scope.Kinds) })
		},
		"include":       func(n ast.Node) { r.texts(n, &rules.Include, checkPattern) },
		"exclude":       func(n ast.Node) { r.texts(n, &rules.Exclude, checkPattern) },
		"all":           func(n ast.Node) { r.yes(n, &rules.All) },
		"max_pages":     func(n ast.Node) { r.number(n, 0, &rules.MaxPages) },
		"first_budget":  func(n ast.Node) { r.number(n, 0, &rules.Budget) },
		"ignore_params": func(n ast.Node) { r.texts(n, &rules.IgnoreParams, nil) },
		"allow_private": func(n ast.Node) { r.texts(n, &rules.AllowPrivate, checkRange) },
		"max_depth": func(n ast.Node) {
			depth := 0
			if r.number(n, -1, &depth); depth == 0 {
				rules.MaxDepth = -1 // the seeds alone
			} else {
				rules.MaxDepth = max(depth, 0)
			}
		},
		"delay": func(n ast.Node) {
			var d time.Duration
			r.value(n, func(s string) (err error) {
				if zero, e := time.ParseDuration(s); s != "0" && (e != nil || zero != 0) {
					d, err = parseDuration(s)
				}
				return err
			})
			rules.DelayMillis = d.Milliseconds()
		},
		"robots": func(n ast.Node) {
			r.value(n, func(s string) error {
				k.ignoreAt = nil
				if rules.Robots = ""; s == "ignore" {
					rules.Robots, k.ignoreAt = s, n
				}
				return oneOf(s, []string{"obey", "ignore"})
			})
		},
		"contact": func(n ast.Node) {
			r.text(n, &rules.Contact, nil)
			if f != nil {
				f.Contact = rules.Contact
			}
		},
		"policy": func(n ast.Node) {
			r.text(n, &k.Policy, func(s string) error { _, err := paper.New(s, revisit.Config{}); return err })
		},
		"period":  func(n ast.Node) { r.number(n, 1, &k.Period) },
		"max_new": func(n ast.Node) { r.number(n, 0, &k.MaxNew) },
		"warc": func(n ast.Node) {
			kept := true
			r.yes(n, &kept)
			k.Unarchived = !kept
		},
		"requisites": func(n ast.Node) {
			k.requisitesAt = n
			r.value(n, func(s string) (err error) { k.Requisites, err = ParseRequisites(s); return err })
		},
		"coverage": func(n ast.Node) {
			k.coverageAt = n
			r.value(n, func(s string) (err error) {
				if k.Coverage, err = parseShare(s); err == nil && !(k.Coverage > 0 && k.Coverage < 1) {
					err = errors.New("want a share of what is new above 0% and below 100%, such as 90%")
				}
				return err
			})
		},
		"text": func(n ast.Node) {
			kept := true
			r.yes(n, &kept)
			k.Textless = !kept
		},
		"check_gone": func(n ast.Node) {
			r.value(n, func(s string) (err error) { k.CheckGone, err = parseShare(s); return err })
		},
	}
	if f == nil {
		keys["url"] = func(n ast.Node) { r.text(n, &k.URL, scope.CheckURL) }
		keys["header"] = func(n ast.Node) {
			header := r.header(n)
			for _, name := range slices.Sorted(maps.Keys(header)) {
				k.Fields = append(k.Fields, fetch.SiteField{Name: name, Value: header[name]})
			}
		}
		return keys
	}
	keys["user_agent"] = func(n ast.Node) { r.text(n, &f.UserAgent, nil) }
	keys["parallel"] = func(n ast.Node) { r.number(n, 1, &f.Parallel) }
	keys["timeout"] = func(n ast.Node) { r.duration(n, &f.Timeout) }
	keys["max_body"] = func(n ast.Node) {
		r.value(n, func(s string) (err error) { f.MaxBody, err = parseSize(s); return err })
	}
	keys["proxy"] = func(n ast.Node) { f.Proxy = r.secret(n) }
	keys["cookies"] = func(n ast.Node) { r.text(n, &f.Cookies, nil) }
	keys["max_kept_pages"] = func(n ast.Node) { r.number(n, 0, &f.MaxKept) }
	keys["keep_rule"] = func(n ast.Node) {
		k.keepAt = n
		r.value(n, func(s string) (err error) { f.Keep, err = retain.ParseKeepRule(s); return err })
	}
	return keys
}

// read reads what the file says of one site. ok=false: it is wrong, which has been noted.
func (k *siteKeys) read(r *reader, n ast.Node) (s Site, ok bool) {
	before := len(r.errs)
	r.mapping(n, k.keys(r, nil))
	if k.URL == "" && len(r.errs) == before {
		r.errorf(n, "want the url of the site")
	}
	switch w := &k.When; {
	case k.budgetAt != nil && w.Budget.PerDay && k.everyAt != nil:
		r.errorf(k.budgetAt, "budget: want a number of fetches for each visit beside every, or %s without it", w.Budget)
	case w.Budget.PerDay && k.everyAt != nil:
		r.errorf(k.everyAt, "every: want a budget for each visit beside it, such as 5")
	case w.Budget.PerDay:
		w.Every = 0
	case w.Every == 0 && k.budgetAt != nil:
		r.errorf(k.budgetAt, "budget: want %s/day, or how often: every: 6h", w.Budget)
	case w.Every == 0 && len(r.errs) == before:
		r.errorf(n, "want every: how often, beside the budget of defaults")
	}
	if k.Coverage > 0 {
		at := cmp.Or(k.coverageAt, n)
		if k.When.Budget.PerDay {
			r.errorf(at, "coverage: want every: how often, and the most that a visit may fetch beside it: budget: 100%%")
		}
		if p, err := paper.New(k.Policy, revisit.Config{}); err == nil {
			if _, ok := p.(revisit.Forecaster); !ok {
				r.errorf(at, "coverage: want a policy that says what it expects, best; %s does not", k.Policy)
			}
		}
	}
	if k.Requisites && k.Unarchived && k.requisitesAt != nil {
		r.errorf(k.requisitesAt, "requisites: page is for an archive, and warc: false keeps the site out of it")
	}
	if k.Rules.Robots == "" {
		k.Rules.Contact = "" // the record of the site has it for this alone
	} else if k.Rules.Contact == "" {
		r.errorf(cmp.Or(k.ignoreAt, n), "robots: ignore needs contact: whoever wonders must be able to ask")
	}
	if len(r.errs) > before {
		return s, false
	}
	if err := k.complete(); err != nil {
		r.errorf(n, "%v", err)
		return s, false
	}
	return k.Site, true
}

// ParseRequisites reads page or none: whether what pages need to look right is fetched.
func ParseRequisites(s string) (page bool, err error) {
	return s == "page", oneOf(s, []string{"page", "none"})
}

// Site reads a site as the API has it: a JSON object with the keys of the file, whose defaults hold. The error wraps
// ErrInvalid.
func (c *Config) Site(settings []byte) (Site, error) {
	r := &reader{file: "settings", env: func(string) (string, bool) { return "", false }}
	keys := siteKeys{Site: c.defaults}
	keys.Rules.Include, keys.Rules.Exclude = slices.Clone(keys.Rules.Include), slices.Clone(keys.Rules.Exclude)
	if root := r.parse(settings); root == nil && len(r.errs) == 0 {
		return Site{}, fmt.Errorf("%w: want the url of the site", ErrInvalid)
	} else if root != nil {
		if s, ok := keys.read(r, root); ok {
			if err := c.keepOut(&s); err != nil {
				return Site{}, fmt.Errorf("%w: %w", ErrInvalid, err)
			}
			return s, nil
		}
	}
	return Site{}, fmt.Errorf("%w: %s", ErrInvalid, r.errs[0].Text)
}

// complete fills in what follows from URL and rules.
func (s *Site) complete() error {
	u, err := scope.Normalise(s.URL, s.Rules.IgnoreParams)
	if err == nil {
		s.Name, err = scope.Within(s.Rules.Scope, u)
	}
	if err == nil {
		err = scope.CheckRules(s.Rules)
	}
	for i := range s.Fields {
		s.Fields[i].Host = store.HostOf(u)
	}
	return err
}

func readWebhook(r *reader, n ast.Node) (h webhook.Target, ok bool) {
	before := len(r.errs)
	var types, ranges []string
	r.mapping(n, map[string]func(ast.Node){
		"name": func(n ast.Node) { r.text(n, &h.Name, webhook.CheckName) },
		"url":  func(n ast.Node) { r.text(n, &h.URL, scope.CheckURL) },
		"secret": func(n ast.Node) {
			before := len(r.errs)
			h.Secrets = r.secrets(n)
			for _, s := range h.Secrets {
				if err := webhook.CheckSecret(s); err != nil && len(r.errs) == before {
					r.errorf(n, "%v", err)
				}
			}
		},
		"text":          func(n ast.Node) { r.text(n, (*string)(&h.Text), func(s string) error { return oneOf(s, textFormats) }) },
		"template":      func(n ast.Node) { r.text(n, &h.Template, webhook.CheckTemplate) },
		"sites":         func(n ast.Node) { r.texts(n, &h.Sites, nil) },
		"header":        func(n ast.Node) { h.Header = r.header(n) },
		"allow_private": func(n ast.Node) { r.texts(n, &ranges, checkRange) },
		"types": func(n ast.Node) {
			r.texts(n, &types, func(s string) error {
				var known []string
				for _, t := range store.EventTypes {
					known = append(known, string(t))
				}
				return oneOf(s, known)
			})
		},
	})
	for _, t := range types {
		h.Types = append(h.Types, store.EventType(t))
	}
	if len(r.errs) > before {
		return h, false
	}
	if h.Name == "" || h.URL == "" {
		r.errorf(n, "want name and url of the webhook")
		return h, false
	}
	var err error
	if h.Allow, err = fetch.ParseRanges(ranges); err != nil {
		r.errorf(n, "%v", err)
	}
	return h, err == nil
}

// A Budget is how many old documents may be fetched again.
type Budget struct {
	N      int
	Share  float64 // of the documents known, above 0 to 1, instead of N
	PerDay bool    // N are for a day; else they are for a visit
}

func (b Budget) String() string {
	switch {
	case b.Share > 0:
		return strconv.FormatFloat(100*b.Share, 'g', -1, 64) + "%"
	case b.PerDay:
		return strconv.Itoa(b.N) + "/day"
	}
	return strconv.Itoa(b.N)
}

// set reads 10/day, 10, 5%.
func (b *Budget) set(text string) error {
	number, perDay := strings.CutSuffix(text, "/day")
	if strings.HasSuffix(text, "%") {
		share, err := parseShare(text)
		if err == nil && share == 0 {
			err = errors.New("want more than 0%")
		}
		*b = Budget{Share: share}
		return err
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return fmt.Errorf("want fetches such as 10/day, or 10 or 5%% beside every, got %q", text)
	}
	*b = Budget{N: n, PerDay: perDay}
	return nil
}

// of is the budget of a visit to a site that has so many documents.
func (b Budget) of(known int) int {
	if b.Share > 0 {
		return max(1, int(b.Share*float64(known)))
	}
	return b.N
}

func parseShare(text string) (float64, error) {
	number, ok := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if !ok && text == "0" {
		return 0, nil
	}
	if !ok || err != nil || !(v >= 0 && v <= 100) {
		return 0, fmt.Errorf("want a share such as 25%%, got %q", text)
	}
	return v / 100, nil
}

func parseSize(text string) (int64, error) {
	var s units.Size
	err := s.Set(text)
	return int64(s), err
}

func parseBandwidth(text string) (int64, error) {
	size, ok := strings.CutSuffix(text, "/s")
	n, err := parseSize(size)
	if !ok || err != nil || n == 0 {
		return 0, fmt.Errorf("want bytes a second such as 2MiB/s, got %q", text)
	}
	return n, nil
}

// parseDuration reads 90d, 6h, 1.5s: above 0.
func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		if n, err = strconv.Atoi(days); n > 36500 {
			n = 0
		}
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("want a time such as 90d, 6h or 1.5s, got %q", text)
	}
	return d, nil
}

func checkPattern(s string) error { return scope.CheckRules(store.Rules{Include: []string{s}}) }

func checkRange(s string) error {
	if _, err := netip.ParsePrefix(s); err != nil {
		if _, err := netip.ParseAddr(s); err != nil {
			return fmt.Errorf("want a range of addresses such as 10.0.0.0/8, got %q", s)
		}
	}
	return nil
}

func oneOf(s string, names []string) error {
	if slices.Contains(names, s) {
		return nil
	}
	return fmt.Errorf("want %s, got %q%s", strings.Join(names, ", "), s, meant(s, names))
}
