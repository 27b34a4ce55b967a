package serve

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"forage/report"
	"forage/store"
)

// A described API is a document of OpenAPI, to which answers are held.
type described struct {
	Paths map[string]map[string]struct {
		Responses map[string]struct {
			Content map[string]struct{ Schema map[string]any }
		}
	}
	Components struct{ Schemas map[string]map[string]any }
}

// differs tells what of a value is not as a schema says, with the way to it; "": nothing. It knows of JSON Schema what is
// used here.
func (d *described) differs(at string, schema map[string]any, v any) string {
	if ref, ok := schema["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/components/schemas/")
		if d.Components.Schemas[name] == nil {
			return fmt.Sprintf("%s: no schema %s", at, ref)
		}
		return d.differs(at, d.Components.Schemas[name], v)
	}
	if schema["type"] == nil { // anything
		return ""
	}
	types, ok := schema["type"].([]any)
	if !ok {
		types = []any{schema["type"]}
	}
	is := map[bool]string{true: "boolean"}[v == true || v == false]
	switch x := v.(type) {
	case nil:
		is = "null"
	case string:
		is = "string"
		if schema["format"] == "date-time" {
			if _, err := time.Parse(time.RFC3339, x); err != nil {
				return fmt.Sprintf("%s: %v", at, err)
			}
		}
	case float64:
		if is = "number"; x == float64(int64(x)) && slices.Contains(types, any("integer")) {
			is = "integer"
		}
	case []any:
		is = "array"
		for i, item := range x {
			if text := d.differs(fmt.Sprintf("%s[%d]", at, i), schema["items"].(map[string]any), item); text != "" {
				return text
			}
		}
	case map[string]any:
		is = "object"
		properties, _ := schema["properties"].(map[string]any)
		for key, item := range x {
			p, ok := properties[key].(map[string]any)
			if !ok {
				return fmt.Sprintf("%s has %q, which the document does not", at, key)
			}
			if text := d.differs(at+"."+key, p, item); text != "" {
				return text
			}
		}
		required, _ := schema["required"].([]any)
		for _, key := range required {
			if _, ok := x[key.(string)]; !ok {
				return fmt.Sprintf("%s lacks %q", at, key)
			}
		}
		if len(properties) == 0 {
			return fmt.Sprintf("%s: the document tells nothing of it", at)
		}
	}
	if !slices.Contains(types, any(is)) {
		return fmt.Sprintf("%s is of type %s, want one of %v", at, is, types)
	}
	return ""
}

// TestOpenAPI: the document has every operation, and what is answered is as it says, problems too.
func TestOpenAPI(t *testing.T) {
	b := newBlog(t)
	b.next(t)
	b.next(t)
	db := b.crawl.DB()
	sites, err := db.Sites()
	if err != nil || len(sites) != 1 {
		t.Fatal(sites, err)
	}
	host := sites[0].Name
	w := &watched{sites: []Site{{Name: host, Settings: Settings{URL: b.url + "/"}, Due: time.Unix(1_700_000_000, 0)}, {Name: "new.test"}}}
	w.asked = []*report.Asked{{Host: host, Next: time.Now().Add(time.Hour), Failures: 2}}
	srv := serving(t, Options{DB: db, Watch: w, Webhooks: sending(t, db, 410)})
	doc := get[described](t, srv.URL+"/api/v1/openapi.json")
	if v := get[struct{ OpenAPI string }](t, srv.URL+"/api/v1/openapi.json").OpenAPI; !strings.HasPrefix(v, "3.1") {
		t.Errorf("OpenAPI %q", v)
	}
	check := func(method, path, query string, status int) {
		t.Helper()
		at := strings.NewReplacer("{site}", url.PathEscape(host), "{name}", "team").Replace(path) + query
		a := ask(t, strings.ToUpper(method), srv.URL+at, "")
		if a.status != status {
			t.Errorf("%s %s: %d %s, want %d", method, at, a.status, a.body, status)
			return
		}
		key := fmt.Sprint(status)
		if _, ok := doc.Paths[path][method].Responses[key]; !ok {
			key = "default"
		}
		said, ok := doc.Paths[path][method].Responses[key].Content[a.header.Get("Content-Type")]
		if !ok {
			t.Errorf("%s %s: the document has no answer %d of %s", method, at, status, a.header.Get("Content-Type"))
			return
		}
		var body any
		if err := json.Unmarshal(a.body, &body); err != nil {
			t.Fatal(err)
		}
		if text := doc.differs("answer", said.Schema, body); text != "" {
			t.Errorf("%s %s: %s", method, at, text)
		}
		for key, x := range body.(map[string]any) {
			if list, ok := x.([]any); ok && len(list) == 0 && query != "?empty" {
				t.Errorf("%s %s: %s is empty", method, at, key)
			}
		}
	}
	page := ""
	if err := (&report.Selection{New: &report.Since{Cycle: 2}}).Pages(&db.View, true, func(p *report.Page) error { page = p.URL; return nil }); err != nil || page == "" {
		t.Fatalf("no new page: %v", err)
	}
	check("get", "/api/v1/events", "", 200)
	check("get", "/api/v1/sites", "", 200)
	check("get", "/api/v1/sites/{site}", "", 200)
	check("get", "/api/v1/sites/{site}/cycles", "", 200)
	check("get", "/api/v1/sites/{site}/hubs", "", 200)
	check("get", "/api/v1/sites/{site}/coverage", "", 200)
	check("get", "/api/v1/pages", "?all_documents=true&duplicates=true", 200)
	check("get", "/api/v1/explain", "?url="+url.QueryEscape(page), 200)
	check("get", "/api/v1/hosts", "", 200)
	check("get", "/api/v1/status", "", 200)
	check("post", "/api/v1/sites/{site}/pause", "", 200)
	check("post", "/api/v1/sites/{site}/resume", "", 200)
	check("post", "/api/v1/sites/{site}/cycles", "", 202)
	check("post", "/api/v1/sites/{site}/cycles", "", 409)
	check("post", "/api/v1/pause", "", 200)
	check("post", "/api/v1/resume", "", 200)
	check("post", "/api/v1/reload", "", 200)
	check("get", "/api/v1/webhooks", "", 200)
	check("get", "/api/v1/webhooks/{name}", "", 200)
	check("post", "/api/v1/webhooks/{name}/test", "", 200)
	check("get", "/api/v1/webhooks/{name}", "", 200)
	check("post", "/api/v1/webhooks/{name}/enable", "", 200)
	w.reload = &FileError{[]string{"forage.yaml:1:1: wrong", "forage.yaml:2:1: wrong too"}}
	check("post", "/api/v1/reload", "", 422)
	check("get", "/api/v1/pages", "?limit=0", 422)
	check("get", "/api/v1/pages", "?after=x", 422)
	check("get", "/api/v1/pages", "?site=none.test", 404)
	host = "new.test" // which the store does not have yet
	check("get", "/api/v1/sites/{site}", "", 200)
	host = "none.test"
	check("get", "/api/v1/sites/{site}/cycles", "", 404)
	n := 0
	for path, ops := range doc.Paths {
		if !strings.HasPrefix(path, "/api/v1/") {
			t.Errorf("the document has %s", path)
		}
		for method, op := range ops {
			n++
			if op.Responses["default"].Content["application/problem+json"].Schema == nil {
				t.Errorf("%s %s: the document has no problems", method, path)
			}
		}
	}
	for _, op := range []string{"get /api/v1/events/stream", "post /api/v1/sites", "patch /api/v1/sites/{site}", "delete /api/v1/sites/{site}"} {
		method, path, _ := strings.Cut(op, " ")
		if _, ok := doc.Paths[path][method]; !ok {
			t.Errorf("the document lacks %s", op)
		}
	}
}

// TestLists reads lists part by part, and asks for what cannot be.
func TestLists(t *testing.T) {
	b := newBlog(t)
	for range 3 {
		b.few(t, 6)
	}
	db := b.crawl.DB()
	for i := range 5 {
		name := fmt.Sprintf("h%d.test", i)
		if err := db.PutHost(&store.Host{Origin: name, Failures: i, NotBefore: time.Now().Add(time.Hour).UnixMilli() * int64(i%2)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
	sites, err := db.Sites()
	if err != nil {
		t.Fatal(err)
	}
	name := sites[0].Name
	w := &watched{sites: []Site{{Name: name}, {Name: "new.test"}}, asked: []*report.Asked{{Host: "h2x.test"}, {Host: "h4.test", LeftAlone: "answers nothing", Pending: 7}, {Host: "i.test"}}}
	srv := serving(t, Options{DB: db, Watch: w, Listing: time.Minute})
	api := srv.URL + "/api/v1/"
	site := api + "sites/" + url.PathEscape(name)

	type list struct {
		Pages  []struct{ URL, New string }
		Cycles []struct {
			Cycle int
			Kind  string
		}
		Hosts []struct {
			Host       string
			Until, Why *string
			Pending    int
		}
		Next any
	}
	all := func(at, cursor string, limit int, each func(*list) int) {
		t.Helper()
		for next, parts := any(nil), 0; ; parts++ {
			u := fmt.Sprintf("%s&limit=%d", at, limit)
			if next != nil {
				u += fmt.Sprintf("&%s=%s", cursor, url.QueryEscape(fmt.Sprint(next)))
			}
			l := get[list](t, u)
			if n := each(&l); n > limit || n == 0 && l.Next != nil || parts > 1000 {
				t.Fatalf("%s: a part of %d with next %v", u, n, l.Next)
			}
			if next = l.Next; next == nil {
				return
			}
		}
	}
	var want []string
	for _, query := range []string{"duplicates=true", "new_since=2", "kind=list", "match=post-%5Cd%2B", "gone_since=1", "all_documents=true&site=" + url.QueryEscape(name)} {
		q, _ := url.ParseQuery(query)
		in := listPagesIn{NewSince: since(q.Get("new_since")), GoneSince: since(q.Get("gone_since")), Kind: q.Get("kind"), Match: q.Get("match"), Duplicates: q.Has("duplicates"), AllDocuments: q.Has("all_documents")}
		sel, err := in.selection()
		if err != nil {
			t.Fatal(err)
		}
		want = want[:0]
		var lines []string // of forage pages --json
		if err := sel.Pages(&db.View, false, func(p *report.Page) error {
			want, lines = append(want, p.URL), append(lines, string(p.AppendJSON(nil)))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if a := ask(t, "GET", api+"pages?limit=1000&"+query, ""); sel.New == nil && string(a.body) != `{"pages":[`+strings.Join(lines, ",")+`],"next":null}`+"\n" {
			t.Errorf("%s: %s, the command has %s", query, a.body, lines)
		}
		for _, limit := range []int{1, 3, 1000} {
			var got []string
			all(api+"pages?"+query, "after", limit, func(l *list) int {
				for _, p := range l.Pages {
					got = append(got, p.URL)
				}
				return len(l.Pages)
			})
			if sel.New != nil { // Pages has content first
				slices.Sort(got)
				slices.Sort(want)
			}
			if !slices.Equal(got, want) || len(want) == 0 && query != "gone_since=1" {
				t.Errorf("%s by %d: %q, want %q", query, limit, got, want)
			}
		}
	}
	for _, limit := range []int{1, 3, 100} {
		var cycles []int
		all(site+"/cycles?", "before", limit, func(l *list) int {
			for _, c := range l.Cycles {
				cycles = append(cycles, c.Cycle)
			}
			return len(l.Cycles)
		})
		if !slices.Equal(cycles, []int{4, 3, 2, 1}) {
			t.Errorf("cycles by %d: %v", limit, cycles)
		}
		var hosts, waiting []string
		all(api+"hosts?", "after", limit, func(l *list) int {
			for _, h := range l.Hosts {
				hosts = append(hosts, h.Host)
			}
			return len(l.Hosts)
		})
		all(api+"hosts?waiting=true", "after", limit, func(l *list) int {
			for _, h := range l.Hosts {
				waiting = append(waiting, h.Host)
				if h.Why == nil || (h.Until == nil) != (h.Host == "h4.test") || (h.Pending == 7) != (h.Host == "h4.test") {
					t.Errorf("a host that waits: %+v", h)
				}
			}
			return max(1, len(l.Hosts)) // a part of those that wait may be empty
		})
		if !slices.Equal(hosts, []string{"h0.test", "h1.test", "h2.test", "h2x.test", "h3.test", "h4.test", "i.test"}) || !slices.Equal(waiting, []string{"h1.test", "h3.test", "h4.test"}) {
			t.Errorf("hosts by %d: %q, of which wait %q", limit, hosts, waiting)
		}
	}
	hubs := get[struct {
		Cycles, Found int
		Hubs          []report.Hub
	}](t, site+"/hubs?limit=1")
	if hubs.Cycles != 3 || hubs.Found == 0 || len(hubs.Hubs) != 1 || hubs.Hubs[0].Led == 0 || hubs.Hubs[0].LastFetched == nil {
		t.Errorf("hubs: %+v", hubs)
	}
	d, err := report.NewDiscovery(&db.View, sites[0].ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := get[report.Estimate](t, site+"/coverage"); got.Cycles != 3 || got.Found == 0 || !reflect.DeepEqual(got, d.Estimate) {
		t.Errorf("coverage: %+v, want %+v", got, d.Estimate)
	}
	if l := get[list](t, api+"sites/new.test/cycles"); len(l.Cycles) != 0 || l.Next != nil {
		t.Errorf("cycles of a site that the store does not have: %+v", l)
	}
	if got := get[report.Estimate](t, api+"sites/new.test/coverage"); got.Cycles != 0 || got.Coverage != nil {
		t.Errorf("coverage of a site that the store does not have: %+v", got)
	}
	e := get[explanation](t, api+"explain?url="+url.QueryEscape(b.url+"/"))
	if e.State != "fetched" || len(e.Visits) < 2 || e.VisitsCut {
		t.Errorf("the home page: %+v", e)
	}
	if e := get[explanation](t, api+"explain?url=http://none.test/"); e.State != "unknown" {
		t.Errorf("a page that nobody knows: %+v", e)
	}
	if e := get[explanation](t, api+"explain?url=mailto:a@b.test"); e.State != "unknown" || !strings.Contains(e.Reason, "no URL that can be fetched") {
		t.Errorf("what is no URL: %+v", e)
	}
	for path, status := range map[string]int{
		"pages?new_since=x": 422, "pages?gone_since=2026-13-01": 422, "pages?match=(": 422, "pages?kind=x": 422, "pages?after=1": 422, "pages?site=none.test": 404, "pages?new-since=2": 422, "pages?duplicates=maybe": 422,
		"explain": 422, "explain?url=": 422, "sites/none.test/hubs": 404, "sites/none.test/coverage": 404, "sites/new.test/hubs?limit=101": 422,
		"status?after=-1": 422, "status?after=x": 422, "hosts?limit=0": 422,
	} {
		wantProblem(t, path, ask(t, "GET", api+path, ""), status)
	}
	w.reload = &FileError{[]string{"forage.yaml:1:1: wrong"}}
	if a := ask(t, "POST", api+"reload", ""); a.status != 422 || !strings.Contains(string(a.body), "forage.yaml:1:1: wrong") {
		t.Errorf("reload of a wrong file: %d %s", a.status, a.body)
	}
}

// TestStatus: the figures are those of forage status, and the sites come in parts.
func TestStatus(t *testing.T) {
	db, s := newStore(t)
	publish(t, db, s, "http://a.test/1", nil)
	for _, name := range []string{"c.test", "b.test"} {
		addSite(t, db, name)
	}
	if err := db.PutRefusal(&store.Refusal{Host: "d.test", At: 1, From: "http://a.test/1", Why: "robots.txt forbids /"}); err != nil {
		t.Fatal(err)
	}
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
	w := &watched{}
	srv := serving(t, Options{DB: db, Watch: w})
	type part struct {
		Sites, Pages, Cycles int
		Running, Paused      bool
		Waits                *string
		Growth               struct {
			Sites   int
			Refused []struct{ Host, Reason string }
		}
		BySite []struct{ Site string } `json:"by_site"`
		Next   *int
	}
	var names []string
	for after := 0; ; {
		p := get[part](t, fmt.Sprint(srv.URL, "/api/v1/status?limit=2&after=", after))
		if p.Sites != 3 || p.Pages != 1 || !p.Running || p.Paused || p.Waits != nil {
			t.Errorf("%+v", p)
		}
		if g := p.Growth; g.Sites != 0 || len(g.Refused) != 1 || g.Refused[0].Host != "d.test" || g.Refused[0].Reason != "robots.txt forbids /" {
			t.Errorf("growth %+v", g)
		}
		for _, s := range p.BySite {
			names = append(names, s.Site)
		}
		if p.Next == nil {
			break
		}
		after = *p.Next
	}
	if !slices.Equal(names, []string{"a.test", "c.test", "b.test"}) {
		t.Errorf("sites %q", names)
	}
	w.set(State{Wait: fmt.Errorf("the disk is full")})
	if a := ask(t, "POST", srv.URL+"/api/v1/pause", ""); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if p := get[part](t, srv.URL+"/api/v1/status"); !p.Paused || p.Waits == nil || *p.Waits != "the disk is full" {
		t.Errorf("%+v", p)
	}
}

// TestTooManyReaders: who comes while too many read is told to come back.
func TestTooManyReaders(t *testing.T) {
	defer func(was time.Duration) { maxQueued = was }(maxQueued)
	maxQueued = 0
	db, _ := newStore(t)
	s := &server{Options: Options{DB: db, Watch: &watched{}, Now: time.Now, Log: slog.New(slog.DiscardHandler)}, readers: make(chan struct{}, 1)}
	if err := s.read(func(*store.View) error {
		err := s.read(func(*store.View) error { t.Error("a second one reads"); return nil })
		if err == nil {
			t.Error("a second one is not refused")
		}
		w := httptest.NewRecorder() // an answer that has not begun tells so, too
		s.uiExport(w, httptest.NewRequest("GET", "/pages.csv", nil))
		if r := w.Result(); r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Content-Disposition") != "" {
			t.Errorf("a file of pages is answered %d, %v", r.StatusCode, r.Header)
		}
		return nil
	}); err != nil {
		t.Errorf("the first one: %v", err)
	}
}
