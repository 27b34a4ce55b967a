// Package serve is the service over HTTP: what a store holds, and what is done with its sites.
//
// New makes a handler of a store and of a Watch, which looks after the sites. It reads the store by
// snapshots that live no longer than it takes to read what is answered: no reader, however slow, holds one.
// What could be long is given out in parts, each with the cursor of the next. Errors are
// problem details (RFC 9457).
//
// Who may ask is decided in one place, guard.go. Nothing that was crawled becomes markup: it is data in JSON,
// and escaped in XML.
package serve

import (
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"forage/report"
	"forage/store"
	"forage/webhook"
)

// Options say what is served, and to whom. The zero value of a field means the default.
type Options struct {
	DB      *store.DB
	Watch   Watch
	Version string // of the program

	PublicURL string  // where readers find the service, ends with /; "": at the Host that they name
	At        string  // path below which the handler is, such as /partition-00007, which requests come without; "": none
	Loopback  bool    // only this machine reaches the service: no token is wanted where there are none, but Host is checked
	Public    bool    // who has no token may read
	Tokens    []Token // who has one of these may read, or write too

	Webhooks *webhook.Sender // nil: there are none
	Metrics  http.Handler    // of /metrics; nil: there is none
	Text     webhook.Text    // of events; nil: they have none

	Streams   int              // readers that wait for events at the same time; 0: 256
	Readers   int              // who read the store at the same time; 0: 64
	Heartbeat time.Duration    // between two signs of life to who reads a stream; 0: 15 s
	Listing   time.Duration    // how long one answer looks at a list that must be searched; 0: 50 ms
	Ending    <-chan struct{}  // closed when the service ends: nobody waits any longer; nil: it does not
	Log       *slog.Logger     // nil: none
	Now       func() time.Time // the clock that pages go by; nil: the machine's
}

// The limits of a request. What a handler reads of the store is bounded by it.
const (
	maxHeader    = 112 << 10 // what is 8192 characters long has its own answer where it must be shorter, whatever they are
	maxBody      = 1 << 20   // 10,000 sites as a list
	readTimeout  = 30 * time.Second
	writeTimeout = 30 * time.Second // for what is written at once: a reader that takes none for so long is dropped
)

type server struct {
	Options
	last     atomic.Pointer[lastEvent]
	streams  chan struct{} // holds one for each reader that waits
	readers  chan struct{} // holds one for each reader that reads the store
	looks    chan struct{} // holds one for each site that is looked at before it is added
	changes  sync.Mutex    // held from reading settings to writing them changed
	tally    *tally        // what pages tell by days
	insights kept[*report.Insight]
	found    kept[*report.Discovery] // with as many hubs as are told of

	cloning sync.Mutex // guards atPath
	atPath  map[string]*template.Template
}

// New returns a handler of all paths of the service. The error is that of a PublicURL which is none, or of an empty token.
func New(o Options) (*Store, error) {
	if o.Streams == 0 {
		o.Streams = 256
	}
	if o.Readers == 0 {
		o.Readers = 64
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = 15 * time.Second
	}
	if o.Listing == 0 {
		o.Listing = 50 * time.Millisecond
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &server{Options: o, streams: make(chan struct{}, o.Streams), readers: make(chan struct{}, o.Readers), looks: make(chan struct{}, maxLooks), tally: newTally()}
	mux := http.NewServeMux()
	s.api(mux)
	s.feeds(mux)
	s.ui(mux)
	s.health(mux)
	if o.Metrics != nil {
		mux.Handle("GET /metrics", o.Metrics)
	}
	g, err := newGuard(&o, problems(mux))
	if err != nil {
		return nil, err
	}
	return &Store{g, s}, nil
}

// A Store is the handler of a store.
type Store struct {
	*guard
	server *server
}

// Server returns a server with the limits of the service.
func Server(h http.Handler) *http.Server {
	return &http.Server{Handler: h, MaxHeaderBytes: maxHeader, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: readTimeout, IdleTimeout: 2 * time.Minute}
}

// api registers the operations under /api/v1, from which /api/v1/openapi.json is made.
func (s *server) api(mux *http.ServeMux) {
	config := huma.DefaultConfig("forage", s.Version)
	config.Info.Description = "What a store of forage holds, and what is done with its sites. Times are RFC 3339. A list has a cursor, next, where there may be more."
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "/api/v1/openapi", "", ""
	config.CreateHooks = nil // no $schema in answers
	config.RejectUnknownQueryParameters = true
	json := huma.Format{Marshal: report.WriteJSON, Unmarshal: huma.DefaultJSONFormat.Unmarshal}
	config.Formats = map[string]huma.Format{"application/json": json, "json": json}
	api := humago.New(mux, config)
	s.events(api)
	s.sites(api)
	s.foundAt(api)
	s.pages(api)
	s.status(api)
	s.webhooks(api)
	describeProblems(api.OpenAPI())
}

// describeProblems has the document say of every operation what it answers where it cannot do what it should: those with
// answers of their own lack that.
func describeProblems(doc *huma.OpenAPI) {
	problem := &huma.Response{
		Description: "What is wrong: 400, 404, 409, 413, 415 and 422 with what was asked for, 503 with a time to come back in Retry-After",
		Content:     map[string]*huma.MediaType{"application/problem+json": {Schema: doc.Components.Schemas.Schema(reflect.TypeFor[huma.ErrorModel](), true, "")}},
	}
	for _, path := range doc.Paths {
		for _, op := range []*huma.Operation{path.Get, path.Post, path.Patch, path.Delete} {
			if op != nil {
				op.Responses["default"] = problem
			}
		}
	}
}

// maxQueued is how long a reader waits for others to have read.
var maxQueued = 2 * time.Second // a constant but for a test

// read runs f on what is committed now. It refuses to as take does.
func (s *server) read(f func(*store.View) error) error {
	return s.take(func() error {
		v := s.DB.Snapshot()
		return problem(errors.Join(f(v), v.Close()))
	})
}

// take runs f, which reads. It refuses to where too many read at the same time, each of whom holds what it
// is about to answer.
func (s *server) take(f func() error) error {
	select {
	case s.readers <- struct{}{}:
	default:
		late := time.NewTimer(maxQueued)
		defer late.Stop()
		select {
		case s.readers <- struct{}{}:
		case <-late.C:
			return tooMany(fmt.Sprintf("%d readers at the same time are too many", cap(s.readers)), "2")
		}
	}
	defer func() { <-s.readers }()
	return f()
}

// tooMany refuses what may be asked again after so many seconds.
func tooMany(why, seconds string) error {
	return huma.ErrorWithHeaders(huma.Error503ServiceUnavailable(why), http.Header{"Retry-After": {seconds}})
}

// problem is err as an answer.
func problem(err error) error {
	var said huma.StatusError
	var headed huma.HeadersError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &headed):
		return err
	case errors.As(err, &said):
		return said
	case errors.Is(err, store.ErrClosed):
		return tooMany("the service ends", "10")
	case errors.Is(err, ErrPaused):
		return tooMany(err.Error(), "60")
	case errors.Is(err, ErrNotFound), errors.Is(err, store.ErrNotFound):
		return huma.Error404NotFound(err.Error())
	case errors.Is(err, ErrExists), errors.Is(err, ErrReadOnly), errors.Is(err, ErrRunning):
		return huma.Error409Conflict(err.Error())
	case errors.Is(err, ErrInvalid):
		return huma.Error400BadRequest(err.Error())
	}
	return huma.Error500InternalServerError(err.Error())
}

// writeError answers with an error, as the API does.
func writeError(w http.ResponseWriter, err error) {
	status, text := refusal(w.Header(), err)
	writeProblem(w, status, text)
}

// refusal is the status and the text of an error, whose headers it sets in h.
func refusal(h http.Header, err error) (status int, text string) {
	err = problem(err)
	status, text = http.StatusInternalServerError, err.Error()
	var said huma.StatusError
	if errors.As(err, &said) {
		status, text = said.GetStatus(), said.Error()
	}
	var headed huma.HeadersError
	if errors.As(err, &headed) {
		maps.Copy(h, headed.GetHeaders())
	}
	return status, text
}

// writeProblem answers with an error.
func writeProblem(w http.ResponseWriter, status int, detail string) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	report.WriteJSON(w, &huma.ErrorModel{Title: http.StatusText(status), Status: status, Detail: detail})
}

// problems has what mux says of paths and methods that it does not know be said as problem details.
func problems(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		said := unsaid{header: http.Header{}, status: http.StatusNotFound}
		h.ServeHTTP(&said, r)
		switch said.status {
		case http.StatusMethodNotAllowed:
			w.Header().Set("Allow", said.header.Get("Allow"))
			writeProblem(w, said.status, r.Method+" is not possible here")
		default:
			writeProblem(w, http.StatusNotFound, "there is nothing at this path")
		}
	})
}

// unsaid is an answer that nobody gets.
type unsaid struct {
	header http.Header
	status int
}

func (u *unsaid) Header() http.Header         { return u.header }
func (u *unsaid) Write(b []byte) (int, error) { return len(b), nil }
func (u *unsaid) WriteHeader(status int)      { u.status = status }

// origin is the scheme and the host of a URL.
func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }
