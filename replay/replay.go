// Package replay serves the history of a site over HTTP, version by version, so that a
// crawler meets the site as it was: the pages with their links, feeds and sitemaps in their
// own formats, redirect stubs, what is gone, validators that change when a document does.
//
// A Server is an http.Handler. POST /-/replay?at=K switches it to snapshot K, GET /-/replay
// tells where it stands and what it has served. It is safe for concurrent use.
package replay

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"forage/snap"
	"forage/snap/render"
)

// Control is the path of the server's own page; it is never a document's.
const Control = "/-/replay"

// A Server serves one history.
type Server struct {
	history *snap.History
	site    *render.Site
	byPath  map[string]snap.ID // by canonical path

	mu sync.Mutex // for switching versions
	at atomic.Pointer[snap.State]

	requests, documents atomic.Int64
}

// New returns a server of h that stands at snapshot at. With lastmod its sitemaps tell when
// each page last changed. It returns an error when h has no snapshot at.
func New(h *snap.History, at int, lastmod bool) (*Server, error) {
	s := &Server{history: h, site: render.New(h), byPath: map[string]snap.ID{}}
	s.site.LastMod = lastmod
	for id := range h.URLs {
		s.byPath[s.site.Path(snap.ID(id))] = snap.ID(id)
	}
	return s, s.Switch(at)
}

// Switch moves the server to snapshot k.
func (s *Server) Switch(k int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.history.Snapshots); k < 0 || k >= n {
		return fmt.Errorf("there is no snapshot %d: the history has %d, numbered from 0", k, n)
	}
	s.at.Store(s.history.At(k))
	return nil
}

// Counts is what GET /-/replay tells.
type Counts struct {
	At        int    `json:"at"`
	Snapshots int    `json:"snapshots"`
	Site      string `json:"site"`
	Requests  int64  `json:"requests"`         // all but those of this page
	Documents int64  `json:"documents_served"` // pages, feeds and sitemaps given, or confirmed by a 304
}

// Counts tells where the server stands and what it has served.
func (s *Server) Counts() Counts {
	return Counts{s.at.Load().K, len(s.history.Snapshots), s.history.Site, s.requests.Load(), s.documents.Load()}
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The path as sent: Go's parsed one has lost which bytes were escaped.
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if strings.Contains(path, "://") {
		path = r.URL.EscapedPath()
	}
	if path == Control {
		s.control(w, r)
		return
	}
	s.requests.Add(1)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	v := s.at.Load()
	id, ok := s.byPath[render.Path(path)]
	switch {
	case ok && v.Alive[id]:
		s.document(w, r, v, id)
	case path == "/robots.txt":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Write(s.site.Robots(v, "http://"+r.Host))
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		k, err := strconv.Atoi(r.URL.Query().Get("at"))
		if err != nil {
			http.Error(w, fmt.Sprintf("want ?at=K with the number of a snapshot, got %q", r.URL.Query().Get("at")), http.StatusBadRequest)
			return
		}
		if err := s.Switch(k); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(s.Counts())
}

// document answers with a document, or 304 where the request's validators still hold.
func (s *Server) document(w http.ResponseWriter, r *http.Request, v *snap.State, id snap.ID) {
	if r.Method == http.MethodGet {
		s.documents.Add(1)
	}
	etag, modified := s.site.Version(v, id)
	h := w.Header()
	h.Set("ETag", etag)
	h.Set("Last-Modified", modified.Format(http.TimeFormat))
	if sameVersion(r, etag, modified) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	contentType, body := s.site.Document(v, id, "http://"+r.Host)
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodGet {
		w.Write(body)
	}
}

// sameVersion evaluates If-None-Match, and without it If-Modified-Since (RFC 9110, §13.2.2).
func sameVersion(r *http.Request, etag string, modified time.Time) bool {
	if match := r.Header.Get("If-None-Match"); match != "" {
		for m := range strings.SplitSeq(match, ",") {
			if m = strings.TrimSpace(m); m == "*" || strings.TrimPrefix(m, "W/") == etag {
				return true
			}
		}
		return false
	}
	since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
	return err == nil && !modified.After(since)
}
