package serve

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"forage/report"
	"forage/store"
)

// A Partition is one of the stores that several processes share among them.
type Partition struct {
	Partition int32  `json:"partition"`
	Path      string `json:"path,omitempty" doc:"below which it is served here; absent: another process has it, or nobody"`
	Owner     string `json:"owner,omitempty" doc:"the process that has it; absent: nobody yet"`
	Address   string `json:"address,omitempty" doc:"where that process serves what it has; absent: it does not, or it is not known"`
	State     string `json:"state" doc:"crawls, ended or none, as its owner said last"`
	At        string `json:"at,omitempty" doc:"when that was"`
	Sites     int64  `json:"sites"`
	Pages     int64  `json:"pages"`
	Queued    int64  `json:"queued"`
}

// Partitions are the stores of which this process has some. Its methods may be called by several goroutines at once.
type Partitions interface {
	// All returns all partitions, by number, as their owners said last. Path is left out.
	All(ctx context.Context) []Partition
	// Of returns to which partition a site belongs, by its name.
	Of(site string) int32
	// Here returns which partitions this process has now, by number.
	Here() []int32
	// Store returns what answers for a partition, made by New with the path of the partition as At. nil: this process does not have it now.
	Store(partition int32) *Store
}

// PartitionPath is the path below which a partition is served.
func PartitionPath(p int32) string { return fmt.Sprintf("/partition-%05d", p) }

// several serves the partitions that a process has: each with all that New serves, below its path; what names a site, or a URL, at the
// paths that New has, too; and an overview.
type several struct {
	*server
	parts Partitions
}

// NewPartitions returns a handler of the partitions that this process has. Options say to whom, as to New; what they say of a store is left out. The error is that of New.
func NewPartitions(o Options, parts Partitions) (http.Handler, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &several{&server{Options: o}, parts}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { s.page(w, r, s.overview) })
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) { s.page(w, r, s.uiLogin) })
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("POST /logout", s.logout)
	mux.HandleFunc("GET /ui/{name}", asset)
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) {
		r.SetPathValue("name", "icon.svg")
		asset(w, r)
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) { sayOK(w) })
	mux.HandleFunc("GET /readyz", s.ready)
	if o.Metrics != nil {
		mux.Handle("GET /metrics", o.Metrics)
	}
	mux.HandleFunc("GET /api/v1/partitions", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		report.WriteJSON(w, map[string]any{"partitions": s.all(r.Context())})
	})
	s.lists(mux)
	elsewhere := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, known := mux.Handler(r); known != "" {
			mux.ServeHTTP(w, r)
			return
		}
		s.notHere(w, r)
	})
	g, err := newGuard(&o, elsewhere)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := s.route(r); h != nil {
			h.ServeHTTP(w, r)
			return
		}
		g.ServeHTTP(w, r)
	}), nil
}

// route returns what answers a request in place of what is of all partitions: the partition in whose path it is, or to which the site or the URL that it names
// belongs. nil: nothing. Each of them has a guard of its own.
func (s *several) route(r *http.Request) http.Handler {
	p, below, ok := s.names(r)
	if !ok {
		if !adds[r.Method+" "+r.URL.Path] {
			return nil
		}
		for _, one := range s.parts.Here() { // any of them: where a site goes is looked up for each
			if h := s.parts.Store(one); h != nil {
				return h
			}
		}
		return nil
	}
	h := s.parts.Store(p)
	switch {
	case h == nil:
		return nil
	case below == "":
		return h
	}
	return http.StripPrefix("/"+below, h)
}

// adds are the requests by which sites are added, and looked at.
var adds = map[string]bool{"POST /api/v1/sites": true, "POST /sites": true, "GET /add": true}

// names returns the partition that a request names, by a site or URL, or by its path: below is the first part of that then.
func (s *several) names(r *http.Request) (p int32, below string, ok bool) {
	path := r.URL.EscapedPath()
	first, _, more := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if text, is := strings.CutPrefix(first, "partition-"); is && more {
		if n, err := strconv.ParseInt(text, 10, 32); err == nil && PartitionPath(int32(n)) == "/"+first {
			if name, ok := siteIn(strings.TrimPrefix(path, "/"+first)); ok {
				return s.parts.Of(name), first, true // it may have been added from the pages of another partition
			}
			return int32(n), first, true
		}
	}
	if name, ok := siteIn(path); ok {
		return s.parts.Of(name), "", true
	}
	switch r.URL.Path {
	case "/url", "/api/v1/explain", "/pages", "/pages.csv", "/pages.jsonl", "/api/v1/pages", "/api/v1/events", "/api/v1/events/stream":
	default:
		return 0, "", false
	}
	q := r.URL.Query()
	if u := q.Get("url"); u != "" {
		if !strings.Contains(u, "://") {
			u = "https://" + u
		}
		return s.parts.Of(store.HostOf(u)), "", true
	}
	if sites := q["site"]; len(sites) > 0 && sites[0] != "" && !s.apart(sites) {
		return s.parts.Of(sites[0]), "", true
	}
	return 0, "", false
}

// apart reports whether sites are of more than one partition.
func (s *several) apart(sites []string) bool {
	return slices.ContainsFunc(sites, func(site string) bool { return s.parts.Of(site) != s.parts.Of(sites[0]) })
}

// siteIn returns the site that an escaped path names.
func siteIn(path string) (name string, ok bool) {
	for _, prefix := range []string{"/api/v1/sites/", "/sites/"} {
		if rest, is := strings.CutPrefix(path, prefix); is {
			name, _, _ := strings.Cut(rest, "/")
			name, err := url.PathUnescape(name)
			return name, err == nil && name != ""
		}
	}
	return "", false
}

// all returns all partitions.
func (s *several) all(ctx context.Context) []Partition {
	all := s.parts.All(ctx)
	for i := range all {
		if s.parts.Store(all[i].Partition) != nil {
			all[i].Path = PartitionPath(all[i].Partition) + "/"
		}
	}
	return all
}

// notHere says who has what a request asks for.
func (s *several) notHere(w http.ResponseWriter, r *http.Request) {
	address, err := s.missing(r)
	if isPage(r) {
		s.page(w, r, func(_ *http.Request, f *uiFrame) (string, error) {
			if address != "" {
				f.Elsewhere = strings.TrimSuffix(address, "/") + r.URL.RequestURI()
			}
			return "", err
		})
		return
	}
	writeError(w, err)
}

// missing says why there is no answer. address: where the process is that has one.
func (s *several) missing(r *http.Request) (address string, err error) {
	p, _, ok := s.names(r)
	if !ok {
		if sites := r.URL.Query()["site"]; len(sites) > 0 && s.apart(sites) {
			return "", huma.Error400BadRequest("these sites are of several partitions: ask for one at a time")
		}
		if adds[r.Method+" "+r.URL.Path] {
			return "", tooMany("this process has no partition at present", "10")
		}
		return "", huma.Error404NotFound("there is nothing at this path: the partitions of this process are at /api/v1/partitions, and the API of each below its path")
	}
	all := s.parts.All(r.Context())
	if int(p) >= len(all) {
		return "", huma.Error404NotFound(fmt.Sprintf("there is no partition %d: the crawl has %d", p, len(all)))
	}
	one := all[p]
	switch {
	case one.Owner == "" || one.State == "ended":
		return "", tooMany(fmt.Sprintf("partition %d is in no process at present", p), "10")
	case one.Address == "":
		return "", huma.Error404NotFound(fmt.Sprintf("partition %d is in process %s, whose address is not known", p, one.Owner))
	}
	return one.Address, huma.Error404NotFound(fmt.Sprintf("partition %d is in process %s, at %s", p, one.Owner, one.Address))
}

// ready tells whether the process can do its work.
func (s *several) ready(w http.ResponseWriter, r *http.Request) {
	select {
	case <-s.Ending:
		writeProblem(w, http.StatusServiceUnavailable, "the service ends")
		return
	default:
	}
	for _, p := range s.parts.Here() {
		if h := s.parts.Store(p); h != nil {
			if wait := h.server.Watch.State().Wait; wait != nil {
				writeProblem(w, http.StatusServiceUnavailable, fmt.Sprintf("partition %d: %v", p, wait))
				return
			}
		}
	}
	sayOK(w)
}

// A partitionsPage is the overview.
type partitionsPage struct {
	All                  []Partition
	Here                 int
	Sites, Pages, Queued int64 // of all
}

func (s *several) overview(r *http.Request, f *uiFrame) (string, error) {
	p := &partitionsPage{All: s.all(r.Context())}
	for _, one := range p.All {
		p.Sites, p.Pages, p.Queued = p.Sites+one.Sites, p.Pages+one.Pages, p.Queued+one.Queued
		if one.Path != "" {
			p.Here++
		}
	}
	f.Title, f.Here, f.Page = "Partitions", "partitions", p
	return "partitions", nil
}

// lists registers the list of the sites that are watched in all partitions of this process.
func (s *several) lists(mux *http.ServeMux) {
	config := huma.DefaultConfig("forage", s.Version)
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", ""
	config.CreateHooks = nil
	config.RejectUnknownQueryParameters = true
	json := huma.Format{Marshal: report.WriteJSON, Unmarshal: huma.DefaultJSONFormat.Unmarshal}
	config.Formats = map[string]huma.Format{"application/json": json, "json": json}
	huma.Register(humago.New(mux, config), huma.Operation{OperationID: "list-sites", Method: "GET", Path: "/api/v1/sites"}, s.listSites)
}

func (s *several) listSites(ctx context.Context, in *listSitesIn) (*struct{ Body *siteList }, error) {
	l := &siteList{Sites: []*siteRecord{}}
	more := false
	for _, p := range s.parts.Here() {
		h := s.parts.Store(p)
		if h == nil {
			continue // it has just been handed over
		}
		out, err := h.server.listSites(ctx, in)
		if err != nil {
			return nil, err
		}
		l.Sites, more = append(l.Sites, out.Body.Sites...), more || out.Body.Next != nil
	}
	slices.SortFunc(l.Sites, func(a, b *siteRecord) int { return cmp.Compare(a.Site, b.Site) })
	if len(l.Sites) > in.Limit {
		l.Sites, more = l.Sites[:in.Limit], true
	}
	if more && len(l.Sites) > 0 {
		l.Next = &l.Sites[len(l.Sites)-1].Site
	}
	return &struct{ Body *siteList }{l}, nil
}
