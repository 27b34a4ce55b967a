// Package shared finds the data that lies beside the project, for tests.
package shared

import (
	"os"
	"path/filepath"
	"testing"
)

// Path returns the path of a file or folder of the data beside the project: below
// FORAGE_SHARED, by default ../shared seen from the module's root. Where it is absent the
// test is skipped, or fails when FORAGE_SHARED_REQUIRED is set, as it is in CI.
func Path(t testing.TB, elem ...string) string {
	t.Helper()
	dir := os.Getenv("FORAGE_SHARED")
	if dir == "" {
		dir = filepath.Join(Root(t), "..", "shared")
	}
	path := filepath.Join(append([]string{dir}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("FORAGE_SHARED_REQUIRED") != "" {
			t.Fatalf("the data beside the project is required here: %v", err)
		}
		t.Skipf("needs data that is not in the repository: %v (FORAGE_SHARED names its folder)", err)
	}
	return path
}

// Root returns the folder of the module's go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = up
	}
}
