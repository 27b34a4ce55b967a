package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOwnerIsNoLink: what a store is locked with is not somebody's file that it links to.
func TestOwnerIsNoLink(t *testing.T) {
	dir := t.TempDir()
	withPages(t, dir)
	victim := filepath.Join(t.TempDir(), "letter.txt")
	link := filepath.Join(dir, "owner")
	if err := errors.Join(os.WriteFile(victim, []byte("Dear all"), 0o644), os.Remove(link), os.Symlink(victim, link)); err != nil {
		t.Fatal(err)
	}
	for _, opt := range []Options{{}, {ReadOnly: true}} {
		if db, err := Open(dir, opt); err == nil || !strings.Contains(err.Error(), link+" is a symbolic link") {
			t.Errorf("with %+v: %v, %v", opt, db, err)
		}
	}
	if text, err := os.ReadFile(victim); string(text) != "Dear all" {
		t.Errorf("the file linked to holds %q, %v", text, err)
	}
}
