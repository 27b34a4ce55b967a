package lab

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestFigure: what is drawn is XML, the same for the same data, and names each series once; what cannot be drawn is left out.
func TestFigure(t *testing.T) {
	var many []Series
	for i := range 30 {
		many = append(many, Series{Name: fmt.Sprintf("series %d", i), X: []float64{1, 2, 3}, Y: []float64{float64(i), 2, 5}})
	}
	f := &Figure{Panels: []Panel{
		{Title: "<one> & \"two\"", X: "hours", Y: "share", LogX: true, Series: []Series{
			{Name: "a<b", X: []float64{0, 1, 10, 1000}, Y: []float64{.1, .2, math.NaN(), .9}},
			{Name: "points", X: []float64{1, 100}, Y: []float64{.3, .4}, Points: true},
			{Name: "nothing", X: []float64{-1}, Y: []float64{1}},
		}},
		{Title: "empty"},
		{Title: "one value", LogY: true, Series: []Series{{Name: "c", X: []float64{0}, Y: []float64{7}}}},
		{Title: "many", Series: many},
	}}
	svg := string(f.svg())
	if svg != string(f.svg()) {
		t.Error("the same data makes other bytes")
	}
	texts := map[string]int{}
	for d, in := xml.NewDecoder(strings.NewReader(svg)), false; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			in = x.Name.Local == "text"
			for _, a := range x.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("%s has %s=%q", x.Name.Local, a.Name.Local, a.Value)
				}
			}
		case xml.CharData:
			if in {
				texts[string(x)]++
			}
		case xml.EndElement:
			in = false
		}
	}
	for _, want := range []string{`<one> & "two"`, "a<b", "points", "hours", "share", "empty", "one value", "c", "series 0", "series 29"} {
		if texts[want] != 1 {
			t.Errorf("%q is written %d times", want, texts[want])
		}
	}
	if texts["nothing"] > 0 {
		t.Error("a series that has no point to draw is named")
	}
	// The line of a<b is interrupted where there is no number: it moves twice.
	if n := strings.Count(svg[strings.Index(svg, "share"):strings.Index(svg, "a&lt;b")], `fill="none" stroke="#0072b2"`); n != 2 {
		t.Errorf("%d lines of the first colour before its name, want the line and its sample", n)
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		a    axis
		want string
	}{
		{axis{min: 0, max: 1}, "0 0.2 0.4 0.6 0.8 1"},
		{axis{min: 0, max: 0.3}, "0 0.05 0.1 0.15 0.2 0.25 0.3"},
		{axis{min: -1, max: 1}, "-1 -0.5 0 0.5 1"},
		{axis{min: 3, max: 1234}, "500 1000"},
		{axis{min: 1, max: 1000, log: true}, "1 10 100 1000"},
		{axis{min: 0.02, max: 4e9, log: true}, "0.1 10 1000 100000 1e+07 1e+09"},
		{axis{min: 3, max: 25, log: true}, "5 10 20"},
		{axis{min: 1, max: 71, log: true}, "1 2 5 10 20 50"},
		{axis{min: 6.3, max: 7.7, log: true}, "6.5 7 7.5"},
		{axis{min: 1e16, max: 1e16 + 4}, "1e+16 1e+16 1e+16"}, // a step of one changes nothing there
	} {
		var got []string
		for _, v := range c.a.ticks() {
			got = append(got, tickText(v))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%v to %v: %s, want %s", c.a.min, c.a.max, s, c.want)
		}
	}
}

// TestAxisBegins: a linear axis begins at 0 unless a value is below that, however close to each other the values are.
func TestAxisBegins(t *testing.T) {
	for _, c := range []struct {
		values []float64
		log    bool
		want   float64
	}{
		{[]float64{.6, .61, .9}, false, 0}, {[]float64{7}, false, 0}, {[]float64{-2, 5}, false, -2}, {[]float64{.6, .9}, true, .6},
	} {
		p := Panel{LogY: c.log, Series: []Series{{X: make([]float64, len(c.values)), Y: c.values}}}
		if a := p.axis(false, 0, 1); a.min != c.want {
			t.Errorf("values %v, logarithmic %v: the axis begins at %v, want %v", c.values, c.log, a.min, c.want)
		}
	}
}

// TestFigureRoom: every text lies in the picture, however long names are and however many.
func TestFigureRoom(t *testing.T) {
	long := "a name of a series that is as long as those of some tables are, or longer, α = 11/4"
	var many []Series
	for i := range 60 {
		many = append(many, Series{Name: fmt.Sprintf("%d: %s", i, long), X: []float64{1, 2e6}, Y: []float64{float64(i), 123456}})
	}
	bars := Series{Name: "bars", X: []float64{0, 1, 2}, Y: []float64{3, 4, 5}}
	f := &Figure{Panels: []Panel{
		{Title: long + long, X: long + long, Y: long, Series: many},
		{Title: "t", Y: "y", Labels: []string{"1", "2–5", "more than a thousand pages of the site"}, Series: []Series{bars}},
	}}
	svg := string(f.svg())
	type element struct {
		X         float64 `xml:"x,attr"`
		Y         float64 `xml:"y,attr"`
		Anchor    string  `xml:"text-anchor,attr"`
		Transform string  `xml:"transform,attr"`
		Text      string  `xml:",chardata"`
	}
	var doc struct {
		Width  float64 `xml:"width,attr"`
		Height float64 `xml:"height,attr"`
		Panels []struct {
			Text []element `xml:"text"`
		} `xml:"g"`
	}
	if err := xml.Unmarshal([]byte(svg), &doc); err != nil {
		t.Fatal(err)
	}
	width := doc.Width / 2
	seen := 0
	for _, p := range doc.Panels {
		for _, e := range p.Text {
			seen++
			w := textWidth(e.Text)
			before := map[string]float64{"start": 0, "middle": w / 2, "end": w}[e.Anchor]
			from, to := e.X-before, e.X-before+w
			limit := width
			if e.Transform != "" { // upwards
				from, to = e.Y+before-w, e.Y+before
				limit = doc.Height
			}
			if from < 0 || to > limit {
				t.Errorf("%q is from %.0f to %.0f of %.0f", e.Text, from, to, limit)
			}
			if e.Y > doc.Height {
				t.Errorf("%q is at %.0f of %.0f", e.Text, e.Y, doc.Height)
			}
		}
	}
	if seen < 70 {
		t.Errorf("%d texts, want those of 60 series and 3 bars at least", seen)
	}
	if bars := strings.Count(svg, `z" fill="#0072b2"`); bars != 4 {
		t.Errorf("%d bars, want three and that of the legend", bars)
	}
}

// TestAxis: values lie where they should between the ends.
func TestAxis(t *testing.T) {
	log := axis{min: 1, max: 10_000, log: true, from: 100, to: 500}
	var got []float64
	for _, v := range []float64{1, 10, 100, 10_000} {
		got = append(got, math.Round(log.at(v)))
	}
	if want := []float64{100, 200, 300, 500}; !slices.Equal(got, want) {
		t.Errorf("logarithmic: %v, want %v", got, want)
	}
	down := axis{min: 0, max: 8, from: 360, to: 40}
	if down.at(2) != 280 || down.at(8) != 40 {
		t.Errorf("downwards: %v, %v", down.at(2), down.at(8))
	}
}
