package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestOpen(t *testing.T) {
	dir := scratch(t)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for where, want := range map[string]string{
		filepath.Join(dir, "none"): "no such folder", file: "no folder", "ftp://host/x": "ftp:// is not known",
	} {
		var unusable *UnusableError
		if _, err := Open(t.Context(), where); !errors.As(err, &unusable) || unusable.Where != where || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", where, err, want)
		}
	}
	if b, err := Open(t.Context(), dir); b != Folder(dir) || err != nil {
		t.Errorf("%v, %v", b, err)
	}
}

// listed returns the names of a bucket's files, in order.
func listed(ctx context.Context, t *testing.T, b Bucket, prefix string) (names []string) {
	t.Helper()
	if err := b.List(ctx, prefix, func(name string) bool { names = append(names, name); return true }); err != nil {
		t.Errorf("list %q: %v", prefix, err)
	}
	slices.Sort(names)
	return names
}

// TestIn: what is in a part of a bucket is there alone, under its shorter name.
func TestIn(t *testing.T) {
	all := Folder(scratch(t))
	part := In(In(all, "a"), "b")
	if got := listed(t.Context(), t, part, ""); got != nil {
		t.Errorf("it is empty, and has %v", got)
	}
	for _, b := range []Bucket{part, In(all, "a"), In(all, "a/bc"), all} {
		if err := errors.Join(b.Create(t.Context(), "one", []byte("1")), b.Put(t.Context(), "d/two", 1, strings.NewReader("2"))); err != nil {
			t.Fatal(err)
		}
	}
	for prefix, want := range map[string][]string{"": {"d/two", "one"}, "d": {"d/two"}, "d/": {"d/two"}, "o": {"one"}, "d/twoo": nil, "x/": nil} {
		if got := listed(t.Context(), t, part, prefix); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", prefix, got, want)
		}
	}
	if got := listed(t.Context(), t, all, "a/b"); !slices.Equal(got, []string{"a/b/d/two", "a/b/one", "a/bc/d/two", "a/bc/one"}) {
		t.Errorf("%v", got)
	}
	if b, err := Load(t.Context(), part, "d/two"); string(b) != "2" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if err := part.Delete(t.Context(), "one"); err != nil {
		t.Error(err)
	}
	if _, err := Load(t.Context(), all, "a/b/one"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
