package chart

import (
	"encoding/xml"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what charts look like to testdata")

// hostile is text that must stay text.
const hostile = `</title><script>alert(1)</script>"'&`

// drawn are charts of each kind, of usual and of odd data.
func drawn() map[string]string {
	nan := math.NaN()
	heat := Heat{Name: "hours", Rows: []string{"Mon", "Tue"}, Columns: []string{"0 h", "", ""}, Cells: [][]float64{{0, 1, 2}, {3, 4, 10}}, Title: func(r, c int) string { return hostile }}
	return map[string]string{
		"columns": (&Columns{Name: "new pages", Bars: []Bar{{"1 Jan", "1 Jan: 3", 3, 0}, {"", hostile, 0, 0}, {hostile, "", 1200, 300}}, Line: []float64{5, nan, 40}}).SVG(),
		"no days": (&Columns{Name: hostile}).SVG(),
		"plot": (&Plot{Name: "share", Max: 1, Value: Percent, At: .7, AtName: "now: 6 a day",
			Series: []Series{{Name: "within a day", Class: "day", X: []float64{0, .5, 1}, Y: []float64{0, .5, .9}, Low: []float64{0, .25, .5}, High: []float64{.5, .75, 1}}, {X: []float64{0, .5, 1}, Y: []float64{nan, .5, nan}}},
			Dots:   []Dot{{.7, .6, "day", hostile}}, Ticks: []Tick{{0, "0.1"}, {.5, "1"}, {1, "10"}}}).SVG(),
		"empty plot": (&Plot{Name: "share"}).SVG(),
		"timeline":   (&Timeline{Name: "cycles", Marks: []Mark{{0, 0, "first", "first visit"}, {.5, 12, "", hostile}, {1, 3, "bad", ""}}, Ticks: []Tick{{0, "1 Jan"}}}).SVG(),
		"heat":       heat.SVG(),
		"span":       Span("a look", "late", .1, .3, .9, 1),
		"spark":      Spark("14 days", []float64{0, 1, 5, 0}),
	}
}

// TestGolden compares with what was looked at.
func TestGolden(t *testing.T) {
	for name, got := range drawn() {
		path := filepath.Join("testdata", strings.ReplaceAll(name, " ", "_")+".svg")
		if *update {
			if err := os.WriteFile(path, []byte(got+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got+"\n" != string(want) {
			t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		}
	}
}

// TestText checks that charts are well-formed, carry no style and no script of their own, and keep text text.
func TestText(t *testing.T) {
	for name, got := range drawn() {
		d, said := xml.NewDecoder(strings.NewReader(got)), 0
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v in %s", name, err, got)
			}
			switch token := token.(type) {
			case xml.StartElement:
				if slices.Contains([]string{"script", "style", "a", "foreignObject", "image", "use"}, token.Name.Local) {
					t.Errorf("%s has an element %s", name, token.Name.Local)
				}
				for _, a := range token.Attr {
					if a.Name.Local == "style" || a.Name.Local == "href" || strings.HasPrefix(a.Name.Local, "on") {
						t.Errorf("%s has an attribute %s", name, a.Name.Local)
					}
					if strings.ContainsAny(a.Value, "<") && a.Name.Local != "aria-label" || strings.Contains(a.Value, "NaN") {
						t.Errorf("%s: %s=%q", name, a.Name.Local, a.Value)
					}
				}
			case xml.CharData:
				if strings.Contains(string(token), hostile) {
					said++
				}
			}
		}
		if strings.Contains(got, "<script") {
			t.Errorf("%s: %s", name, got)
		}
		if want := map[string]int{"columns": 2, "plot": 1, "timeline": 1, "heat": 5}[name]; said != want {
			t.Errorf("%s says the hostile text %d times, want %d", name, said, want)
		}
	}
}

func TestNice(t *testing.T) {
	for _, tt := range []struct{ x, want float64 }{{0, 1}, {-3, 1}, {math.NaN(), 1}, {math.Inf(1), 1}, {.3, .5}, {1, 1}, {1.1, 2}, {3, 5}, {6, 10}, {100, 100}, {101, 200}} {
		if got := Nice(tt.x); got != tt.want {
			t.Errorf("Nice(%g) = %g, want %g", tt.x, got, tt.want)
		}
	}
}

func TestCount(t *testing.T) {
	for _, tt := range []struct {
		v    float64
		want string
	}{{0, "0"}, {.25, "0.25"}, {999, "999"}, {1000, "1k"}, {1250, "1.3k"}, {2e6, "2M"}, {3.04e9, "3G"}} {
		if got := Count(tt.v); got != tt.want {
			t.Errorf("Count(%g) = %s, want %s", tt.v, got, tt.want)
		}
	}
}
