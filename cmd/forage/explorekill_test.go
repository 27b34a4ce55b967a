package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestExploreSourceKill kills a live exploration again and again, and interrupts it: the server
// holds every 20th request until that is done. What was collected stays, no query that was
// answered is asked again, and the end is that of an exploration that nobody disturbed.
func TestExploreSourceKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	const every, queries = 20, 80
	var mu sync.Mutex
	asked := map[string]int{} // by request
	total := 0
	held := make(chan string) // requests that are not answered
	disturb := true
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.RequestURI()]++
		total++
		hold := disturb && total%every == 0
		mu.Unlock()
		if hold {
			held <- r.URL.RequestURI()
			<-r.Context().Done()
			return
		}
		v, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		out := struct {
			IDs  []int `json:"ids"`
			Next int   `json:"next,omitempty"`
		}{IDs: []int{(7*v + page) % 500, (3*v + 11*page + 1) % 500}}
		if page < v%3 {
			out.Next = page + 1
		}
		json.NewEncoder(w).Encode(out)
	}))
	defer s.Close()
	description := filepath.Join(t.TempDir(), "api.json")
	if err := os.WriteFile(description, []byte(`{"url": "`+s.URL+`/{id}?page={cursor}", "neighbours": "/ids", "id": "", "next": "/next"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	args := func(dir string) []string {
		return []string{"explore", "--source", description, "--start", "1", "--budget", fmt.Sprint(queries), "-o", dir, "--json"}
	}
	dir := t.TempDir()
	journal := func() []string {
		text, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
	answered := 0
	for round := 0; ; round++ {
		cmd := exec.Command("forage", args(dir)...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case under := <-held:
			before := journal()
			if len(before)-1 < answered {
				t.Fatalf("round %d: %d queries are kept, there were %d", round, len(before)-1, answered)
			}
			answered = len(before) - 1
			signal, code := os.Kill, -1
			if round%2 == 1 {
				signal, code = os.Interrupt, exitInterrupted
			}
			cmd.Process.Signal(signal)
			<-ended
			if got := cmd.ProcessState.ExitCode(); got != code {
				t.Fatalf("round %d, %v: exit %d, want %d: %s", round, signal, got, code, stderr.String())
			}
			if after := journal(); !slices.Equal(before, after) {
				t.Fatalf("round %d, %v: the journal has %d lines, had %d", round, signal, len(after), len(before))
			}
			// Of the node under way the pages are asked for again.
			node, _, _ := strings.Cut(under, "?")
			mu.Lock()
			for uri := range asked {
				if path, _, _ := strings.Cut(uri, "?"); path == node {
					delete(asked, uri)
				}
			}
			mu.Unlock()
			continue
		case err := <-ended:
			if err != nil {
				t.Fatalf("round %d: %v: %s", round, err, stderr.String())
			}
		}
		if round < 3 {
			t.Fatalf("disturbed %d times only", round)
		}
		break
	}
	for uri, n := range asked {
		if n != 1 {
			t.Errorf("%s was asked for %d times", uri, n)
		}
	}
	disturb = false
	whole := t.TempDir()
	forage(t, 0, args(whole)...)
	if !slices.EqualFunc(table(t, whole), table(t, dir), slices.Equal) {
		t.Error("the table differs from that of an exploration that nobody disturbed")
	}
}
