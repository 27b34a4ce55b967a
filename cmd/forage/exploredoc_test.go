package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"forage/graph"
	"forage/internal/race"
	"forage/source"
)

// An instance answers as a live API does, at the times of a clock that stands still but for the waits of who asks.
type instance struct {
	g        *graph.CSR
	mu       sync.Mutex // one request at a time
	now      time.Time
	asked    []time.Time
	agents   map[string]bool
	most     int // requests in 5 minutes; more are refused
	refused  int
	hidden   graph.Node // its lists are empty
	gone     graph.Node
	requests map[string]int // by path
}

// pass lets time pass and returns what it is then.
func (s *instance) pass(d time.Duration) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
	return s.now
}

// hubs is a network of n nodes, in which each is linked to an earlier one and to one of the first ten.
func hubs(n int) *graph.CSR {
	r := rand.New(rand.NewPCG(1, 1))
	var arcs []graph.Arc
	for v := graph.Node(1); int(v) < n; v++ {
		arcs = append(arcs, graph.Arc{From: v, To: graph.Node(r.IntN(int(v)))}, graph.Arc{From: v, To: graph.Node(r.IntN(10))})
	}
	return graph.FromArcs(n, arcs).Undirected()
}

// words splits a line as a shell does, as far as documents need it: at spaces outside of double quotes.
func words(line string) (all []string) {
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}

func (s *instance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, s.now)
	s.agents[r.UserAgent()] = true
	s.requests[r.URL.Path]++
	window := s.now.Truncate(5 * time.Minute) // they are counted from one multiple of that to the next
	recent := len(s.asked) - slices.IndexFunc(s.asked, func(t time.Time) bool { return !t.Before(window) })
	w.Header().Set("X-RateLimit-Limit", strconv.Itoa(s.most))
	w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(max(0, s.most-recent)))
	w.Header().Set("X-RateLimit-Reset", window.Add(5*time.Minute).UTC().Format(time.RFC3339))
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if recent > s.most {
		s.refused++
		http.Error(w, `{"error":"Too many requests"}`, http.StatusTooManyRequests)
		return
	}
	switch {
	case r.URL.Path == "/w/api.php":
		s.article(w, r)
	case strings.HasPrefix(r.URL.Path, "/api/v1/accounts/"):
		s.account(w, r)
	default:
		http.NotFound(w, r)
	}
}

// account answers as Mastodon does. Accounts are numbered from 1.
func (s *instance) account(w http.ResponseWriter, r *http.Request) {
	id, list, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/v1/accounts/"), "/")
	n, err := strconv.Atoi(id)
	v := graph.Node(n - 1)
	if err != nil || n < 1 || n > s.g.NumNodes() || v == s.gone {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error":"Record not found"}`)
		return
	}
	tell := func(v graph.Node) map[string]any {
		k := len(s.g.Successors(v))
		return map[string]any{"id": fmt.Sprint(v + 1), "username": fmt.Sprintf("u%d", v+1), "acct": fmt.Sprintf("u%d", v+1), "display_name": "U", "created_at": "2016-03-16T00:00:00.000Z", "followers_count": k, "following_count": k}
	}
	if list == "" {
		json.NewEncoder(w).Encode(tell(v))
		return
	}
	all := s.g.Successors(v)
	if v == s.hidden {
		all = nil
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	from, _ := strconv.Atoi(r.URL.Query().Get("max_id"))
	if limit < 1 || limit > 80 {
		limit = 40
	}
	end := min(from+limit, len(all))
	page := []any{}
	for _, u := range all[min(from, end):end] {
		page = append(page, tell(u))
	}
	if end < len(all) {
		w.Header().Set("Link", fmt.Sprintf(`<https://%s%s?limit=%d&max_id=%d>; rel="next", <https://%s%s?limit=%d&since_id=1>; rel="prev"`, r.Host, r.URL.Path, limit, end, r.Host, r.URL.Path, limit))
	}
	json.NewEncoder(w).Encode(page)
}

// article answers as MediaWiki does.
func (s *instance) article(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	title := func(v graph.Node) string {
		if v == 0 {
			return "Web crawler"
		}
		return fmt.Sprintf("Article %d", v)
	}
	var v int
	if t := q.Get("titles"); t != title(0) {
		if _, err := fmt.Sscanf(t, "Article %d", &v); err != nil || graph.Node(v) == s.gone {
			fmt.Fprintf(w, `{"batchcomplete":"","query":{"pages":{"-1":{"ns":0,"title":%q,"missing":""}}}}`, t)
			return
		}
	}
	all := s.g.Successors(graph.Node(v))
	from := 0
	if at := q.Get("plcontinue"); at != "" {
		fmt.Sscanf(at, fmt.Sprintf("%d|0|%%d", v), &from)
	}
	end := min(from+50, len(all))
	links := []any{}
	for _, u := range all[from:end] {
		links = append(links, map[string]any{"ns": 0, "title": title(u)})
	}
	out := map[string]any{"query": map[string]any{"pages": map[string]any{strconv.Itoa(100 + v): map[string]any{"pageid": 100 + v, "ns": 0, "title": title(graph.Node(v)), "links": links}}}}
	if end < len(all) {
		out["continue"] = map[string]string{"plcontinue": fmt.Sprintf("%d|0|%d", v, end), "continue": "||"}
	} else {
		out["batchcomplete"] = ""
	}
	json.NewEncoder(w).Encode(out)
}

// TestExploreDoc runs the lines of docs/explore.md in their order, with an instance on loopback in the place of the
// hosts named there, and looks at the times of its requests and at the files.
func TestExploreDoc(t *testing.T) {
	race.Skip(t)
	text, err := os.ReadFile("../../docs/explore.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	explored := 0
	for line := range strings.Lines(string(text)) {
		line, ok := strings.CutPrefix(line, "    forage ")
		if !ok {
			continue
		}
		args := words(os.Expand(strings.TrimSpace(line), func(string) string { return "2500" }))
		var out, errs bytes.Buffer
		if !slices.Contains(args, "--source") {
			if code := run(context.Background(), &out, &errs, args); code != 0 || out.Len() == 0 && args[1] != "convert" {
				t.Fatalf("forage %s: exit %d: %s", line, code, &errs)
			}
			continue
		}
		explored++
		api := &instance{g: hubs(3000), now: time.Unix(1_700_000_000, 0), agents: map[string]bool{}, most: 300, hidden: 20, gone: 21, requests: map[string]int{}}
		web := httptest.NewTLSServer(api)
		i := slices.Index(args, "--source") + 1
		preset, host, _ := strings.Cut(args[i], ":")
		args[i] = preset + ":" + strings.TrimPrefix(web.URL, "https://")
		c := &call{args: args, api: func(c *source.Client) {
			trusted := x509.NewCertPool()
			trusted.AddCert(web.Certificate())
			c.HTTP.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: trusted}
			c.Now = func() time.Time { return api.pass(0) }
			c.Sleep = func(ctx context.Context, d time.Duration) error {
				api.pass(d)
				return ctx.Err()
			}
		}}
		code := run(context.WithValue(context.Background(), callKey{}, c), &out, &errs, args)
		web.Close()
		if code != 0 {
			t.Fatalf("forage %s: exit %d: %s", line, code, &errs)
		}
		for i := 1; i < len(api.asked); i++ {
			if gap := api.asked[i].Sub(api.asked[i-1]); gap < time.Second {
				t.Fatalf("%s: requests %d and %d are %v apart; want 1s", host, i, i+1, gap)
			}
		}
		took := api.asked[len(api.asked)-1].Sub(api.asked[0])
		if api.refused > 0 || took > time.Duration(len(api.asked)+5)*time.Second {
			t.Errorf("%s: %d of %d requests refused, in %v", host, api.refused, len(api.asked), took)
		}
		for path, n := range api.requests {
			if preset == "mastodon" && !strings.HasSuffix(path, "ing") && !strings.HasSuffix(path, "ers") && n > 1 {
				t.Errorf("%s was asked for %d times", path, n)
			}
		}
		if len(api.agents) != 1 || !strings.Contains(fmt.Sprint(api.agents), "+https://example.org/me") {
			t.Errorf("%s: user agents %v; want one with the contact", host, api.agents)
		}
		dir := args[slices.Index(args, "-o")+1]
		states := map[string]int{}
		for _, row := range table(t, dir)[1:] {
			states[row[1]]++
		}
		for _, name := range []string{"manifest.json", "journal.jsonl", "arcs.csv.zst"} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
		switch {
		case slices.Contains(args, "--budget-requests"):
			if len(api.asked) != 600 || states["complete"] < 50 || states["truncated"] == 0 {
				t.Errorf("%s: %d requests, nodes %v; want 600, and some of both", host, len(api.asked), states)
			}
		case preset == "mastodon":
			if n := states["complete"] + states["hidden"] + states["vanished"]; n != 200 || states["truncated"] > 0 {
				t.Errorf("%s: nodes %v; want 200 queried, with whole lists", host, states)
			}
		default:
			if n := states["complete"] + states["vanished"]; n != 20 {
				t.Errorf("%s: nodes %v; want 20 queried", host, states)
			}
		}
	}
	for _, name := range source.Presets() {
		if !strings.Contains(string(text), "\n| `"+name) {
			t.Errorf("docs/explore.md has no row for %s", name)
		}
	}
	if explored != 3 {
		t.Errorf("docs/explore.md explores %d live graphs, want 3", explored)
	}
}
