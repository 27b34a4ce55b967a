package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestRepairLongCommit: a commit of more than the database holds at once is read out of the log of a damaged store.
func TestRepairLongCommit(t *testing.T) {
	dir := t.TempDir()
	withPages(t, dir)
	db, err := Open(dir, Options{MemTable: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(addPage(db, "http://a/table"), db.Commit(), db.db.Flush())
	const pages = 30_000
	for i := range pages {
		err = errors.Join(err, addPage(db, fmt.Sprint("http://a/log/", i)))
	}
	if err := errors.Join(err, db.Commit(), db.Close()); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "documents", "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	b, err := os.ReadFile(tables[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/3] ^= 4
	if err := os.WriteFile(tables[0], b, 0o666); err != nil {
		t.Fatal(err)
	}
	if db, err = Open(dir, Options{MustExist: true, Repair: func(Problem) {}}); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Repair(func(Problem) {}); err != nil {
		t.Fatal(err)
	}
	if p := problems(t, &db.View); len(p) > 0 {
		t.Errorf("after the repair: %q", p)
	}
	for _, i := range []int{0, pages - 1} {
		if _, err := db.Find(fmt.Sprint("http://a/log/", i)); err != nil {
			t.Errorf("page %d of the log: %v", i, err)
		}
	}
}
