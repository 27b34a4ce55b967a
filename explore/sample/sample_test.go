package sample

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"forage/explore"
	"forage/graph"
	"forage/source"
)

// ring is a ring of n nodes with chords.
func ring(n int) *graph.CSR {
	var arcs []graph.Arc
	for v := range n {
		arcs = append(arcs, graph.Arc{From: graph.Node(v), To: graph.Node((v + 1) % n)}, graph.Arc{From: graph.Node(v), To: graph.Node(v * 7 % n)})
	}
	return graph.FromArcs(n, arcs).Undirected()
}

func TestKeepAndRead(t *testing.T) {
	dir := t.TempDir()
	keep := func(policy string) string {
		to := filepath.Join(dir, policy)
		if err := Keep(to, &explore.Trial{Graph: ring(60), Seed: 1, Run: 1, Budget: 30}, policy, "ring"); err != nil {
			t.Fatal(err)
		}
		return to
	}
	s, policy, err := Read(keep("rw"), false)
	if err != nil || policy != "rw" || s.Uniform || len(s.Steps) < 30 {
		t.Fatalf("Read = %+v, %q, %v", s, policy, err)
	}
	for i := 1; i < len(s.Steps); i++ {
		if a, b := s.Steps[i-1], s.Steps[i]; a.Node != b.Node && !s.Linked(a.Node, b.Node) {
			t.Errorf("step %d from %d to %d: no link", i, a.Node, b.Node)
		}
	}
	if s, _, err := Read(keep("mhrw"), false); err != nil || !s.Uniform {
		t.Errorf("mhrw: %+v, %v", s, err)
	}
	bfs := keep("bfs")
	if _, _, err := Read(bfs, false); !errors.As(err, new(*BiasError)) {
		t.Errorf("Read(bfs) = %v, want a *BiasError", err)
	}
	if s, _, err := Read(bfs, true); err != nil || !s.Uniform || len(s.Steps) != 30 {
		t.Errorf("Read(bfs, biased) = %+v, %v", s, err)
	}
	if _, _, err := Read(dir, false); !errors.Is(err, ErrNoManifest) {
		t.Errorf("Read of a folder without a sample: %v", err)
	}
	if err := os.WriteFile(filepath.Join(bfs, "nodes.csv"), []byte("node,state\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Read(bfs, true); err == nil || !strings.Contains(err.Error(), "nodes.csv:1: want the columns") {
		t.Errorf("Read with other columns: %v", err)
	}
}

// live opens an exploration of a server that lists the neighbours in g.
func live(t *testing.T, g *graph.CSR, dir string, queries, requests int) *Live {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := strconv.Atoi(r.URL.Path[1:])
		if err != nil || v >= g.NumNodes() {
			http.NotFound(w, r)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"ids": g.Successors(graph.Node(v))})
	}))
	t.Cleanup(s.Close)
	d, err := source.ReadDescription([]byte(fmt.Sprintf(`{"url": "%s/{id}", "neighbours": "/ids", "id": ""}`, s.URL)), "")
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(Config{
		Dir: dir, Source: "ring", Start: "0", Policy: "bfs", Seed: 1, Budget: queries, Warn: func(text string) { t.Log(text) },
		Client: source.Client{Description: d, HTTP: HTTPClient(d, nil), MaxRequests: requests},
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestLiveGoesOn: an exploration in two sessions ends as one in one session, in queries and
// requests; a spent budget stays spent.
func TestLiveGoesOn(t *testing.T) {
	g := ring(60)
	once, parts := filepath.Join(t.TempDir(), "once"), filepath.Join(t.TempDir(), "parts")
	order := func(dir string, queries, requests, want int) []string {
		l := live(t, g, dir, queries, requests)
		defer l.Close()
		if err := l.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if l.Queries() != want || l.Requests() != want {
			t.Errorf("%d queries, %d requests, want %d", l.Queries(), l.Requests(), want)
		}
		if err := l.Write(true); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
			var r source.Record
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, r.ID)
		}
		return ids
	}
	want := order(once, 20, 0, 20)
	order(parts, 8, 0, 8)
	order(parts, 0, 12, 12)
	order(parts, 0, 12, 12)
	if got := order(parts, 20, 0, 20); !slices.Equal(got, want) {
		t.Errorf("in parts %v, at once %v", got, want)
	}
}

func TestLiveDiscard(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	l := live(t, ring(5), dir, 3, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Run(ctx); !errors.Is(err, context.Canceled) || l.Queries() != 0 {
		t.Errorf("Run = %v after %d queries", err, l.Queries())
	}
	l.Discard()
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder is left")
	}
	l = live(t, ring(5), t.TempDir(), 3, 0)
	l.Discard()
	if _, err := os.Stat(l.c.Dir); err != nil {
		t.Error("a folder that was there is gone")
	}
}
