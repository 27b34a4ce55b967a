package main

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"forage/graph"
	"forage/store"
)

// TestPageJSON: appendJSON writes what encoding/json does, of every field, set or not.
func TestPageJSON(t *testing.T) {
	p := &page{}
	for _, full := range []bool{false, true} {
		if full {
			v := reflect.ValueOf(p).Elem()
			for i := range v.NumField() {
				switch f := v.Field(i); f.Kind() {
				case reflect.String:
					f.SetString(fmt.Sprintf("%d \"<ü\u202e", i))
				case reflect.Interface:
					f.Set(reflect.ValueOf([]any{fmt.Sprint("a", i), 404}[i%2]))
				case reflect.Uint32:
					f.SetUint(uint64(i) + 1<<31)
				default:
					f.SetInt(int64(i) - 100)
				}
			}
		}
		var want bytes.Buffer
		if err := printJSON(&want, p); err != nil {
			t.Fatal(err)
		}
		if got := string(p.appendJSON(nil)) + "\n"; got != want.String() {
			t.Errorf("appendJSON:\n%s\nwant\n%s", got, &want)
		}
	}
}

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
	for i := range longestPath + 2 {
		d := store.NewDoc(fmt.Sprintf("http://a.test/%d", i), 1)
		if i > 0 {
			d.FoundOn = graph.Node(i - 1)
		}
		_, err := db.Add(d)
		must(err)
	}
	must(db.Commit())
	for i, cut := range map[int]bool{longestPath: false, longestPath + 1: true} {
		e, err := explain(&db.View, fmt.Sprint("http://a.test/", i))
		must(err)
		first := fmt.Sprint("http://a.test/", i-longestPath)
		var b bytes.Buffer
		must(e.print(&b))
		if e.PathCut != cut || len(e.Path) != longestPath || e.Path[0] != first || bytes.Contains(b.Bytes(), []byte("path      the last 100 pages of it\n")) != cut {
			t.Errorf("page %d: cut %v, path of %d from %s; want %v, %d, %s\n%s", i, e.PathCut, len(e.Path), e.Path[0], cut, longestPath, first, &b)
		}
	}
	must(errors.Join(db.Close()))
}
