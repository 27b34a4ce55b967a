package main

import (
	"compress/gzip"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// A folder serves its HTML with gzip, and nothing else.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"index.html": "<p>front", "a/b.html": "<p>b", "a/c.txt": "c"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := readFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path string
		want string // "": not there
	}{{"/", "<p>front"}, {"/index.html", "<p>front"}, {"/a/b.html", "<p>b"}, {"/a/", ""}, {"/a/c.txt", ""}, {"/../x", ""}} {
		w := httptest.NewRecorder()
		f.ServeHTTP(w, httptest.NewRequest("GET", test.path, nil))
		if test.want == "" {
			if w.Code != 404 {
				t.Errorf("%s: status %d, want 404", test.path, w.Code)
			}
			continue
		}
		z, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Fatalf("%s: %v", test.path, err)
		}
		if b, err := io.ReadAll(z); err != nil || string(b) != test.want {
			t.Errorf("%s: %q, %v, want %q", test.path, b, err, test.want)
		}
	}
	if n := f.served.Load(); n != 3 {
		t.Errorf("%d pages served, want 3", n)
	}
}
