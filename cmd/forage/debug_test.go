package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestProfiles: the list names profiles that there are, and each is served.
func TestProfiles(t *testing.T) {
	srv := httptest.NewServer(profiles())
	defer srv.Close()
	get := func(path string) (int, string) {
		t.Helper()
		res, err := http.Get(srv.URL + "/debug/pprof/" + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	_, list := get("")
	for line := range strings.Lines(list) {
		path := strings.Replace(strings.TrimSpace(line), "seconds=30", "seconds=1", 1)
		if status, text := get(path); status != http.StatusOK || text == "" {
			t.Errorf("%s: status %d, %d bytes", path, status, len(text))
		}
	}
	if _, text := get("heap"); !strings.HasPrefix(text, "\x1f\x8b") {
		t.Error("a profile for the tool is not what that reads")
	}
	if status, _ := get("none"); status != http.StatusNotFound {
		t.Errorf("a profile that is none: status %d", status)
	}
	if strings.Count(list, "\n") < 5 {
		t.Errorf("the list is %s", list)
	}
}
