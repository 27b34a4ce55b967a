package main

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"forage/graph"
	"forage/report"
	"forage/store"
)

// TestLongPath: explain says so where it does not show all of the path.
func TestLongPath(t *testing.T) {
	db, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(db.AddSite(&store.Site{Name: "a.test", Rules: store.Rules{Scope: "host", Within: "a.test"}}))
	for i := range report.LongestPath + 2 {
		d := store.NewDoc(fmt.Sprintf("http://a.test/%d", i), 1)
		if i > 0 {
			d.FoundOn = graph.Node(i - 1)
		}
		_, err := db.Add(d)
		must(err)
	}
	must(db.Commit())
	for i, cut := range map[int]bool{report.LongestPath: false, report.LongestPath + 1: true} {
		e, err := explain(&db.View, fmt.Sprint("http://a.test/", i))
		must(err)
		first := fmt.Sprint("http://a.test/", i-report.LongestPath)
		var b bytes.Buffer
		must(printExplanation(&b, e))
		if e.PathCut != cut || len(e.Path) != report.LongestPath || e.Path[0] != first || bytes.Contains(b.Bytes(), []byte("path      the last 100 pages of it\n")) != cut {
			t.Errorf("page %d: cut %v, path of %d from %s; want %v, %d, %s\n%s", i, e.PathCut, len(e.Path), e.Path[0], cut, report.LongestPath, first, &b)
		}
	}
	must(errors.Join(db.Close()))
}
