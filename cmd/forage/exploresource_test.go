package main

import (
	"bytes"
	"context"
	"encoding/csv"
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
	"sync/atomic"
	"testing"

	"forage/graph"
)

// api serves a graph as an API with pages of 5 and writes its description; every 7th request
// is refused for a moment, node 13 is gone.
func api(t *testing.T, g *graph.CSR) (description string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1)%7 == 0 {
			w.Header().Set("X-RateLimit-Remaining", "0")
			w.Header().Set("X-RateLimit-Reset", "0.001")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		v, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/u/n"))
		if err != nil || v >= g.NumNodes() || v == 13 {
			http.NotFound(w, r)
			return
		}
		all := g.Successors(graph.Node(v))
		from, _ := strconv.Atoi(r.URL.Query().Get("after"))
		page := all[min(from, len(all)):min(from+5, len(all))]
		out := struct {
			Total int              `json:"total"`
			Users []map[string]any `json:"users"`
			Next  *int             `json:"next"`
		}{Total: len(all), Users: []map[string]any{}}
		for _, u := range page {
			out.Users = append(out.Users, map[string]any{"name": fmt.Sprintf("n%d", u), "even": u%2 == 0})
		}
		if from+5 < len(all) {
			next := from + 5
			out.Next = &next
		}
		json.NewEncoder(w).Encode(out)
	}))
	t.Cleanup(s.Close)
	description = filepath.Join(t.TempDir(), "api.json")
	text := fmt.Sprintf(`{"url": "%s/u/{id}?after={cursor}", "neighbours": "/users", "id": "/name", "next": "/next", "degree": "/total", "neighbour_attributes": {"even": "/even"}}`, s.URL)
	if err := os.WriteFile(description, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return description, requests
}

func forage(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(context.Background(), &out, &errs, args); code != want {
		t.Fatalf("forage %s: exit %d, want %d: %s", strings.Join(args, " "), code, want, errs.String())
	}
	return out.String(), errs.String()
}

// table reads a table of a collection without its times.
func table(t *testing.T, dir string) [][]string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "nodes.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		rows[i] = slices.Delete(rows[i], 3, 4)
	}
	return rows
}

func TestExploreSource(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var arcs []graph.Arc
	for v := graph.Node(1); v < 200; v++ {
		arcs = append(arcs, graph.Arc{From: v, To: graph.Node(r.IntN(int(v)))}, graph.Arc{From: v, To: graph.Node(r.IntN(20))})
	}
	description, _ := api(t, graph.FromArcs(200, arcs).Undirected())
	for _, policy := range []string{"learned", "de", "bfs", "rw"} {
		t.Run(policy, func(t *testing.T) {
			whole, parts := t.TempDir(), t.TempDir()
			with := func(dir string, budget int) []string {
				return []string{"explore", "--source", description, "--start", "n0", "--policy", policy, "--budget", strconv.Itoa(budget), "-o", dir, "--json", "--seed", "4"}
			}
			stdout, _ := forage(t, 0, with(whole, 60)...)
			var got map[string]any
			if err := json.Unmarshal([]byte(stdout), &got); err != nil {
				t.Fatal(err)
			}
			for key, want := range map[string]any{"policy": policy, "run": 1.0, "start": "n0", "queries": 60.0, "nodes": nil, "oracle": nil, "regret": nil} {
				if v, ok := got[key]; !ok || v != want {
					t.Errorf("%s = %v, want %v", key, v, want)
				}
			}
			rows := table(t, whole)
			if int(got["observed"].(float64)) != len(rows)-1 {
				t.Errorf("observed %v, nodes.csv has %d", got["observed"], len(rows)-1)
			}
			for _, row := range rows[1:] {
				if row[1] == "complete" && row[3] != row[4] {
					t.Errorf("%v: declared and listed degree differ", row)
				}
				if (row[0] == "n13" && row[1] != "open") != (row[1] == "vanished") {
					t.Errorf("%v: only n13 vanished", row)
				}
			}
			// de takes the budget into its plan; the others go on as if never stopped.
			if policy != "de" {
				forage(t, 0, with(parts, 25)...)
				_, stderr := forage(t, 0, with(parts, 60)...)
				if !strings.Contains(stderr, "holds 25 queries already") {
					t.Errorf("stderr: %s", stderr)
				}
				if again := table(t, parts); !slices.EqualFunc(rows, again, slices.Equal) {
					t.Errorf("stopped and gone on: the table differs")
				}
			}
		})
	}
}

func TestExploreSourceBadInput(t *testing.T) {
	description, _ := api(t, graph.FromArcs(3, []graph.Arc{{From: 0, To: 1}}).Undirected())
	dir := filepath.Join(t.TempDir(), "out")
	args := func(more ...string) []string {
		return append([]string{"explore", "--source", description, "-o", dir}, more...)
	}
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{args("--start", "n0", "--budget", "10%"), 2, "nobody knows how many nodes there are"},
		{args("--start", "n0"), 2, "wants a budget"},
		{args("--budget", "5"), 2, "wants --start ID"},
		{args("--start", "n0", "--budget", "0"), 2, "at least 1 query"},
		{args("--start", "n0", "--budget", "5", "--policy", "med"), 2, "the oracle knows"},
		{args("--start", "n0", "--budget", "5", "--runs", "2"), 2, "explored once"},
		{args("--start", "n0", "--budget", "5", "--pseudonymize", "missing.key"), 2, "missing.key"},
		{[]string{"explore", "--source", "missing.json", "--start", "a", "--budget", "5", "-o", dir}, 2, "the presets are"},
		{[]string{"explore", "--source", "mastodon", "--start", "a", "--budget", "5", "-o", dir}, 2, "needs a host"},
		{[]string{"explore", "--source", description, "--start", "n0", "--budget", "5"}, 2, "wants -o DIR"},
	} {
		if _, stderr := forage(t, tt.code, tt.args...); !strings.Contains(stderr, tt.want) {
			t.Errorf("forage %s: %q, want %q", strings.Join(tt.args, " "), stderr, tt.want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("forage %s left a folder", strings.Join(tt.args, " "))
		}
	}
	// A wrong pointer is named, and nothing is left.
	text, err := os.ReadFile(description)
	if err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(t.TempDir(), "wrong.json")
	if err := os.WriteFile(wrong, bytes.Replace(text, []byte(`"/users"`), []byte(`"/friends"`), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	_, stderr := forage(t, 2, "explore", "--source", wrong, "--start", "n0", "--budget", "5", "-o", dir)
	if !strings.Contains(stderr, `"/friends" points at nothing: the object there has next, total, users`) {
		t.Errorf("wrong pointer: %s", stderr)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a wrong pointer left a folder")
	}
	// A start that does not exist, and a graph that ends before the budget.
	_, stderr = forage(t, 0, args("--start", "n99", "--budget", "5")...)
	if !strings.Contains(stderr, "the start node is vanished") {
		t.Errorf("missing start: %s", stderr)
	}
	_, stderr = forage(t, 2, args("--start", "n0", "--budget", "5")...)
	if !strings.Contains(stderr, "other settings") {
		t.Errorf("another start in the same folder: %s", stderr)
	}
	_, stderr = forage(t, 0, "explore", "--source", description, "-o", dir+"2", "--start", "n0", "--budget", "5")
	if !strings.Contains(stderr, "all 2 nodes that can be reached are queried") {
		t.Errorf("a graph smaller than the budget: %s", stderr)
	}
}

func TestExploreSourceExpiredToken(t *testing.T) {
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n++; n > 3 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `["a%d", "b%d"]`, n, n)
	}))
	defer s.Close()
	dir := t.TempDir()
	description := filepath.Join(t.TempDir(), "api.json")
	os.WriteFile(description, []byte(`{"url": "`+s.URL+`/{id}", "auth": {"env": "EXPLORE_TOKEN"}}`), 0o644)
	_, stderr := forage(t, 1, "explore", "--source", description, "--start", "x", "--budget", "10", "-o", dir)
	if !strings.Contains(stderr, "EXPLORE_TOKEN") || !strings.Contains(stderr, "3 queries are kept") {
		t.Errorf("expired token: %s", stderr)
	}
	if rows := table(t, dir); len(rows) != 8 {
		t.Errorf("%d rows of nodes, want the header and 7", len(rows))
	}
	n = -100 // a new token
	forage(t, 0, "explore", "--source", description, "--start", "x", "--budget", "10", "-o", dir, "--json")
}

// TestExploreSourceCosts: lists come in pages of 5. A hub lists 100 and declares it, most of
// them known to all hubs; the others list 5. A budget of requests is not spent on hubs, one of
// queries is.
func TestExploreSourceCosts(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		from, _ := strconv.Atoi(r.URL.Query().Get("after"))
		degree := func(v int) int {
			if v%4 == 3 {
				return 100
			}
			return 5
		}
		type user struct {
			ID     string `json:"id"`
			Degree int    `json:"degree"`
		}
		page := struct {
			Users []user `json:"users"`
			Next  int    `json:"next,omitempty"`
		}{Users: []user{}}
		for i := from; i < from+5; i++ {
			u := 1000 + 15*v + i // a tree
			if i >= 15 {
				u = 900 + i // what all hubs know
			}
			page.Users = append(page.Users, user{strconv.Itoa(u), degree(u)})
		}
		if from+5 < degree(v) {
			page.Next = from + 5
		}
		json.NewEncoder(w).Encode(page)
	}))
	defer s.Close()
	description := filepath.Join(t.TempDir(), "api.json")
	text := `{"url": "` + s.URL + `/{id}?after={cursor}", "neighbours": "/users", "id": "/id", "next": "/next", "neighbour_degree": "/degree"}`
	if err := os.WriteFile(description, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	perQuery := func(budget ...string) float64 {
		args := append([]string{"explore", "--source", description, "--start", "0", "-o", t.TempDir(), "--json"}, budget...)
		stdout, _ := forage(t, 0, args...)
		var got struct{ Queries, Requests float64 }
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatal(err)
		}
		return got.Requests / got.Queries
	}
	requests, queries := perQuery("--budget-requests", "300"), perQuery("--budget", "30")
	if t.Logf("%.1f and %.1f requests a query", requests, queries); requests > 3 || queries < 6 {
		t.Errorf("%.1f requests a query where they are counted, %.1f where not; want at most 3, at least 6", requests, queries)
	}
}
