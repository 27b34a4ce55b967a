package serve

import (
	"bytes"
	"context"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"crypto/sha256"

	"github.com/danielgtaylor/huma/v2"

	"forage/store"
)

// The web UI: pages for people at the same address, made by the server. They are complete without a script; what
// there is of one shows events as they come. Each page is a file of its own here, and a template of the same name in the
// folder ui. What was crawled is text in them: html/template escapes it, plain cleans and cuts it, and only
// what begins with http:// or https:// becomes a link.

//go:embed ui
var uiFiles embed.FS

// uiPolicy is the Content-Security-Policy of pages: nothing but what the service itself has, and no script or style in
// a page's own text.
const uiPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// uiPages returns the templates by name, each with the frame around it. They are read at the first page: every command
// starts with this package, and hardly any shows one.
var uiPages = sync.OnceValue(func() map[string]*template.Template {
	frame := template.Must(template.New("frame.html").Funcs(uiFuncs).Funcs(atFuncs("")).ParseFS(uiFiles, "ui/frame.html", "ui/parts.html"))
	pages := map[string]*template.Template{}
	for _, name := range []string{"overview", "sites", "site", "pages", "hosts", "url", "add", "login", "error", "partitions"} {
		pages[name] = template.Must(template.Must(frame.Clone()).ParseFS(uiFiles, "ui/"+name+".html"))
	}
	return pages
})

// atFuncs are what templates call that leads to other pages of a service at a path.
func atFuncs(at string) template.FuncMap {
	return template.FuncMap{
		"at":   func() template.URL { return template.URL(at) },
		"part": func() string { return partAt(at) },
		"site": func(name string) template.URL { return template.URL(at + sitePath(name)) },
	}
}

// partAt names the partition whose path at is; "": it is no such path.
func partAt(at string) string {
	if n, err := strconv.Atoi(strings.TrimPrefix(at, "/partition-")); err == nil && PartitionPath(int32(n)) == at {
		return "Partition " + strconv.Itoa(n)
	}
	return ""
}

// template returns a template: a copy, which leads to where the service is. One that was executed cannot be copied.
func (s *server) template(name string) *template.Template {
	s.cloning.Lock()
	defer s.cloning.Unlock()
	t := s.atPath[name]
	if t == nil {
		if s.atPath == nil {
			s.atPath = map[string]*template.Template{}
		}
		t = template.Must(uiPages()[name].Clone()).Funcs(atFuncs(s.At))
		s.atPath[name] = t
	}
	return t
}

// uiAssets are the files beside the pages, by their path.
var uiAssets = func() map[string]*uiAsset {
	all := map[string]*uiAsset{}
	for name, kind := range map[string]string{"style.css": "text/css; charset=utf-8", "live.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"} {
		b, err := uiFiles.ReadFile("ui/" + name)
		if err != nil {
			panic(err) // they are in the binary
		}
		sum := sha256.Sum256(b)
		all[name] = &uiAsset{kind, b, hex.EncodeToString(sum[:6])}
	}
	return all
}()

// A uiAsset is a file that pages refer to with its sum, so that a browser may keep it.
type uiAsset struct {
	kind string
	body []byte
	sum  string
}

// A uiFrame is what stands around each page.
type uiFrame struct {
	Title     string
	Here      string // the part of the service that it belongs to
	Notice    string // what has just been done
	Paused    bool
	Wait      string // why nothing is fetched
	MayWrite  bool
	Several   bool   // it is of several stores
	Elsewhere string // the page at the address of another process
	LoggedIn  bool
	Last      uint64 // the last event there is: the script asks for those after it
	Live      bool   // the page shows events as they come
	Again     bool   // what is counted is not complete, and the page asks for itself again
	Version   string
	Now       time.Time
	Page      any
}

// ui registers the pages.
func (s *server) ui(mux *http.ServeMux) {
	pages := map[string]func(r *http.Request, f *uiFrame) (name string, err error){
		"GET /{$}":          s.uiOverview,
		"GET /sites":        s.uiSites,
		"GET /sites/{site}": s.uiSite,
		"GET /pages":        s.uiNewPages,
		"GET /hosts":        s.uiHosts,
		"GET /url":          s.uiURL,
		"GET /add":          s.uiAdd,
		"POST /add":         s.uiPreview,
		"GET /login":        s.uiLogin,
	}
	for pattern, page := range pages {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.page(w, r, page) })
	}
	for act, do := range uiActs {
		mux.HandleFunc("POST /sites/{site}/"+act, func(w http.ResponseWriter, r *http.Request) { s.act(w, r, act, do) })
	}
	mux.HandleFunc("POST /sites", s.addByForm)
	mux.HandleFunc("POST /pause", func(w http.ResponseWriter, r *http.Request) { s.actOnAll(w, r, "paused", s.Watch.Pause) })
	mux.HandleFunc("POST /resume", func(w http.ResponseWriter, r *http.Request) { s.actOnAll(w, r, "resumed", s.Watch.Resume) })
	mux.HandleFunc("GET /pages.csv", s.uiExport)
	mux.HandleFunc("GET /pages.jsonl", s.uiExport)
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("POST /logout", s.logout)
	mux.HandleFunc("GET /ui/{name}", asset)
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) {
		r.SetPathValue("name", "icon.svg")
		asset(w, r)
	})
}

// asset answers with a file.
func asset(w http.ResponseWriter, r *http.Request) {
	a := uiAssets[r.PathValue("name")]
	if a == nil {
		writeProblem(w, http.StatusNotFound, "there is nothing at this path")
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("ETag", `"`+a.sum+`"`)
	if r.URL.Query().Get("v") == a.sum {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if hasTag(r.Header.Get("If-None-Match"), `"`+a.sum+`"`) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Write(a.body)
}

// page answers with a page, or with one that tells why there is none.
func (s *server) page(w http.ResponseWriter, r *http.Request, page func(*http.Request, *uiFrame) (string, error)) {
	f := s.frame(r)
	name, err := page(r, f)
	status := http.StatusOK
	if err != nil {
		name = "error"
		status = uiError(w.Header(), f, err)
	}
	s.write(w, f, name, status)
}

// frame is what stands around a page that answers r.
func (s *server) frame(r *http.Request) *uiFrame {
	who := visitorOf(r.Context())
	if s.DB == nil { // of several
		return &uiFrame{Several: true, MayWrite: who.write, LoggedIn: who.cookie, Version: s.Version, Now: s.Now().UTC()}
	}
	st := s.Watch.State()
	f := &uiFrame{Paused: st.Paused, MayWrite: who.write, LoggedIn: who.cookie, Last: s.DB.LastEvent(), Version: s.Version, Now: s.Now().UTC(), Notice: uiNotices[r.URL.Query().Get("said")]}
	if st.Wait != nil {
		f.Wait = st.Wait.Error()
	}
	return f
}

// uiError makes a page of an error, whose headers it sets in h.
func uiError(h http.Header, f *uiFrame, err error) (status int) {
	status, said := refusal(h, err)
	f.Title, f.Live, f.Again = http.StatusText(status), false, false
	f.Page = struct {
		Status int
		Text   string
	}{status, plain(said)}
	return status
}

// write writes a page, whole or not at all.
func (s *server) write(w http.ResponseWriter, f *uiFrame, name string, status int) {
	var b bytes.Buffer
	if err := s.template(name).ExecuteTemplate(&b, "frame.html", f); err != nil {
		s.Log.Error("a page", "name", name, "error", err)
		writeProblem(w, http.StatusInternalServerError, err.Error())
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", uiPolicy)
	h.Set("Cache-Control", "no-store") // who goes back sees what is
	w.WriteHeader(status)
	if _, err := w.Write(b.Bytes()); err != nil {
		s.Log.Debug("a page was cut off", "error", err)
	}
}

// uiNotices are what is said when something was done, by the word in the address.
var uiNotices = map[string]string{
	"added":   "The site is watched from now on. Its first visit begins at once, or when its window opens.",
	"paused":  "Nothing more is fetched until it is resumed.",
	"resumed": "It goes on.",
	"begun":   "A visit begins now.",
	"full":    "A visit to every known document begins now.",
	"removed": "The site is watched no more. What is known of it stays in the store.",
	"in":      "You are logged in.",
}

// uiActs are what forms do with a site, by the last part of their path.
var uiActs = map[string]func(s *server, ctx context.Context, name string, form url.Values) (said string, err error){
	"pause": func(s *server, ctx context.Context, name string, _ url.Values) (string, error) {
		return "paused", s.Watch.Pause(ctx, name)
	},
	"resume": func(s *server, ctx context.Context, name string, _ url.Values) (string, error) {
		return "resumed", s.Watch.Resume(ctx, name)
	},
	"visit": func(s *server, ctx context.Context, name string, form url.Values) (string, error) {
		if form.Get("full") != "" {
			return "full", s.Watch.Cycle(ctx, name, true)
		}
		return "begun", s.Watch.Cycle(ctx, name, false)
	},
	"remove": func(s *server, ctx context.Context, name string, form url.Values) (string, error) {
		if form.Get("sure") == "" {
			return "", huma.Error400BadRequest("say that you are sure: tick the box beside the button")
		}
		return "removed", s.Watch.Remove(ctx, name)
	},
}

// act does what a form asks for, and leads to where it shows.
func (s *server) act(w http.ResponseWriter, r *http.Request, act string, do func(*server, context.Context, string, url.Values) (string, error)) {
	name := r.PathValue("site")
	err := r.ParseForm()
	if err != nil {
		err = huma.Error400BadRequest("the form cannot be read: " + err.Error())
	}
	said := ""
	if err == nil {
		said, err = do(s, r.Context(), name, r.PostForm)
	}
	if err != nil {
		s.page(w, r, func(*http.Request, *uiFrame) (string, error) { return "", err })
		return
	}
	to := s.At + sitePath(name)
	if act == "remove" {
		to = s.At + "/sites"
	}
	http.Redirect(w, r, to+"?said="+said, http.StatusSeeOther)
}

// actOnAll is act for all sites.
func (s *server) actOnAll(w http.ResponseWriter, r *http.Request, said string, do func(context.Context, string) error) {
	if err := do(r.Context(), ""); err != nil {
		s.page(w, r, func(*http.Request, *uiFrame) (string, error) { return "", err })
		return
	}
	http.Redirect(w, r, s.At+"/?said="+said, http.StatusSeeOther)
}

// sitePath is the path of the page of a site.
func sitePath(name string) string { return "/sites/" + url.PathEscape(name) }

// tallied calls f with what is counted by days, and says whether it is complete.
func (s *server) tallied(v *store.View, f *uiFrame, use func(t *tally)) error {
	t := s.tally
	t.mu.Lock()
	defer t.mu.Unlock()
	share, err := t.follow(v, f.Now)
	if err != nil {
		return fmt.Errorf("counting by days: %w", err)
	}
	f.Again = f.Again || share < 1
	use(t)
	return nil
}

// cut shortens text to a number of characters.
func cut(text string, n int) string {
	runes := 0
	for i := range text {
		if runes++; runes > n {
			return strings.TrimRight(text[:i], " ") + "…"
		}
	}
	return text
}
