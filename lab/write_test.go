package lab

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	r := &Result{Columns: []string{"a", "b"}, Figure: &Figure{Panels: []Panel{
		{Title: "log", LogX: true, LogY: true, Series: []Series{{Name: "s", X: []float64{0, 1, 10}, Y: []float64{1, 2, 3}}}},
		{Title: "flat", Series: []Series{{Name: "s", X: []float64{1}, Y: []float64{0}, Points: true}}},
		{Title: "empty", LogY: true},
	}}}
	r.Add("x", 0.5)
	r.Add(nil, math.NaN())
	r.Notef("%d rows", 2)
	if err := r.Write(dir, "t"); err != nil {
		t.Fatal(err)
	}
	first := map[string]string{}
	for _, ext := range []string{".csv", ".json", ".svg"} {
		b, err := os.ReadFile(filepath.Join(dir, "t"+ext))
		if err != nil {
			t.Fatal(err)
		}
		first[ext] = string(b)
	}
	if want := "a,b\nx,0.5\n,\n"; first[".csv"] != want {
		t.Errorf("csv = %q, want %q", first[".csv"], want)
	}
	var doc struct {
		Rows  []map[string]any
		Notes []string
	}
	if err := json.Unmarshal([]byte(first[".json"]), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Rows) != 2 || doc.Rows[0]["b"] != 0.5 || doc.Rows[1]["b"] != nil || doc.Notes[0] != "2 rows" {
		t.Errorf("json = %+v", doc)
	}
	if !strings.Contains(first[".svg"], "<svg") {
		t.Errorf("no svg: %.100s", first[".svg"])
	}
	if err := r.Write(dir, "t"); err != nil {
		t.Fatal(err)
	}
	again, _ := os.ReadFile(filepath.Join(dir, "t.svg"))
	if string(again) != first[".svg"] {
		t.Error("the same result gives another figure")
	}
	names, _ := os.ReadDir(dir)
	if len(names) != 3 {
		t.Errorf("%d files, want 3", len(names))
	}
}
