package source

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"forage/graph"
)

var settings = Settings{"start": "annamaria", "seed": 1}

func records() []Record {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return []Record{
		{"annamaria", at, Answer{State: Complete, Declared: 2, Requests: 1, Neighbours: []Neighbour{{"bobadilla", 7, map[string]string{"name": "Bob Barker"}}, {"cyprianus", -1, nil}}}},
		{"cyprianus", at, Answer{State: Vanished, Declared: -1, Requests: 1, Warning: "404"}},
	}
}

func collect(t *testing.T, dir string, key []byte) {
	t.Helper()
	c, old, err := OpenCollection(dir, key, settings)
	if err != nil || len(old) != 0 {
		t.Fatal(err, old)
	}
	defer c.Close()
	for _, r := range records() {
		if _, err := c.Append(&r); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Write(map[string]int{"version": 1}, []Step{{0, 0, 2}, {0, 0, 2}}); err != nil {
		t.Fatal(err)
	}
}

func TestCollection(t *testing.T) {
	dir := t.TempDir()
	collect(t, dir, nil)
	for name, want := range map[string]string{
		"nodes.csv":    "node,state,order,time,declared,listed,name\nannamaria,complete,1,2026-01-02T03:04:05Z,2,2,\nbobadilla,open,,,7,,Bob Barker\ncyprianus,vanished,2,2026-01-02T03:04:05Z,,0,\n",
		"arcs.csv.zst": "source,target\nannamaria,bobadilla\nannamaria,cyprianus\n",
		"walk.csv":     "step,walker,node,degree\n0,0,annamaria,2\n1,0,annamaria,2\n",
	} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".zst") {
			z, _ := zstd.NewReader(nil)
			if b, err = z.DecodeAll(b, nil); err != nil {
				t.Fatal(err)
			}
		}
		if string(b) != want {
			t.Errorf("%s = %q, want %q", name, b, want)
		}
	}
}

func TestCollectionGoesOn(t *testing.T) {
	dir := t.TempDir()
	collect(t, dir, nil)
	path := filepath.Join(dir, "journal.jsonl")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"id":"bobadilla","ti`) // cut short
	f.Close()
	c, old, err := OpenCollection(dir, nil, settings)
	if err != nil || !reflect.DeepEqual(old, records()) {
		t.Fatalf("records %v, %v", old, err)
	}
	for i := range old {
		c.Enter(&old[i])
	}
	if c.Number("bobadilla") != graph.Node(1) || c.Observed() != 3 || c.Queries() != 2 {
		t.Errorf("bobadilla has number %d of %d, %d queries", c.Number("bobadilla"), c.Observed(), c.Queries())
	}
	if _, err := c.Append(&Record{ID: "bobadilla", Answer: Answer{State: Complete}}); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if _, old, err := OpenCollection(dir, nil, settings); err != nil || len(old) != 3 {
		t.Errorf("%d records, %v; want 3", len(old), err)
	}
	if _, _, err := OpenCollection(dir, nil, Settings{"start": "bobadilla", "seed": 1}); err == nil || !strings.Contains(err.Error(), "other settings") {
		t.Errorf("with another start: %v", err)
	}
	if _, _, err := OpenCollection(dir, []byte("0123456789abcdef"), settings); err == nil {
		t.Error("an open journal was taken for an encrypted one")
	}
}

func TestPseudonyms(t *testing.T) {
	dir, again, other := t.TempDir(), t.TempDir(), t.TempDir()
	collect(t, dir, []byte("0123456789abcdef"))
	collect(t, again, []byte("0123456789abcdef"))
	collect(t, other, []byte("another key 1234"))
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		if strings.HasSuffix(e.Name(), ".zst") {
			z, _ := zstd.NewReader(nil)
			b, _ = z.DecodeAll(b, nil)
		}
		for _, name := range []string{"annamaria", "bobadilla", "Bob Barker", "cyprianus"} { // too long to occur in ciphertext by chance
			if bytes.Contains(b, []byte(name)) {
				t.Errorf("%s shows %q", e.Name(), name)
			}
		}
	}
	column := func(dir string) string {
		b, _ := os.ReadFile(filepath.Join(dir, "nodes.csv"))
		rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows[1][0]
	}
	if column(dir) != column(again) || column(dir) == column(other) {
		t.Errorf("pseudonyms %s, %s with the same key, %s with another", column(dir), column(again), column(other))
	}
	if _, old, err := OpenCollection(dir, []byte("0123456789abcdef"), settings); err != nil || !reflect.DeepEqual(old, records()) {
		t.Errorf("records %v, %v", old, err)
	}
	if _, _, err := OpenCollection(dir, []byte("another key 1234"), settings); err == nil {
		t.Error("opened with another key")
	}
}
