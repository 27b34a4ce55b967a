// Package chart draws small charts as SVG, to stand in a page of HTML.
//
// Start with Columns (bars of equal width, with a line over them), Plot (lines with bands, dots), Timeline (what
// happened when), Heat (a grid), Span (an interval in a line of text) and Spark (bars without words). Each is plain
// data with a method SVG. The same data makes the same bytes.
//
// A chart is as wide as what it stands in, and its letters are as large there as elsewhere: positions from left to
// right are shares of the width, and only lines, which know no shares, are stretched. It has no style of its own and
// runs no script: colours come from the classes of the page's stylesheet. What is seen is said too: each chart has a
// name, each mark a title, and whatever text it is given is escaped.
package chart

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// Heights in pixels: what is above the highest value, and what the words below take.
const (
	head = 16
	foot = 18
)

// A drawing is an SVG that is written from its head to its end.
type drawing struct{ strings.Builder }

// begin writes the head of a chart.
func (d *drawing) begin(class, name string, height int) {
	d.f(`<svg class="chart %s" role="img" aria-label="%s" width="100%%" height="%d">`, class, html.EscapeString(name), height)
}

func (d *drawing) end() string {
	d.WriteString("</svg>")
	return d.String()
}

func (d *drawing) f(format string, args ...any) { fmt.Fprintf(&d.Builder, format, args...) }

// title writes what is shown of a mark to who points at it.
func (d *drawing) title(text string) {
	if text != "" {
		d.f("<title>%s</title>", html.EscapeString(text))
	}
}

// num is a number with as few digits as are seen.
func num(x float64) string {
	return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64)
}

// pct is a share of the width.
func pct(share float64) string { return num(share*100) + "%" }

// text writes a word at a share of the width, which stays inside of the chart.
func (d *drawing) text(class string, x float64, y int, anchor, text string) {
	d.f(`<text class="%s" x="%s" y="%d" text-anchor="%s">%s</text>`, class, pct(x), y, anchor, html.EscapeString(text))
}

// below writes a word below the chart.
func (d *drawing) below(x float64, height int, text string) {
	anchor := "middle"
	switch {
	case x < .04:
		anchor = "start"
	case x > .96:
		anchor = "end"
	}
	d.text("tick", x, height-4, anchor, text)
}

// A scale maps values from 0 to max to heights.
type scale struct {
	max    float64
	height int // of the chart
}

func (s scale) y(v float64) float64 {
	plot := float64(s.height - head - foot)
	return head + plot*(1-min(max(v/s.max, 0), 1))
}

// Nice returns the least number that is not below x, of 1, 2 and 5 times powers of ten; 1 for 0.
func Nice(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 0) {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*p >= x*(1-1e-9) {
			return m * p
		}
	}
	return 10 * p
}

// grid writes lines at the half and the whole of a scale, with what they stand for.
func (d *drawing) grid(s scale, label func(float64) string) {
	base := s.y(0)
	for _, v := range []float64{s.max, s.max / 2} {
		d.f(`<line class="grid" x1="0" x2="100%%" y1="%s" y2="%[1]s"/>`, num(s.y(v)))
		d.text("tick", 0, int(s.y(v))-3, "start", label(v))
	}
	d.f(`<line class="base" x1="0" x2="100%%" y1="%s" y2="%[1]s"/>`, num(base))
}

// path writes a line through points, in a part of the drawing that is stretched to its width.
func (d *drawing) path(class string, height int, points []point, closed bool) {
	if len(points) == 0 {
		return
	}
	d.f(`<svg viewBox="0 0 1000 %d" preserveAspectRatio="none" width="100%%" height="%[1]d"><path class="%s" d="`, height, class)
	for i, p := range points {
		d.f("%c%s %s", "ML"[min(i, 1)], num(p.x*1000), num(p.y))
	}
	if closed {
		d.WriteByte('Z')
	}
	d.WriteString(`"/></svg>`)
}

// A point is a share of the width, and a height in pixels.
type point struct{ x, y float64 }

// Count is a number for people: 950, 1.2k, 30M.
func Count(v float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= u.size {
			return strconv.FormatFloat(math.Round(v/u.size*10)/10, 'f', -1, 64) + u.name
		}
	}
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}

// Percent is a share for people.
func Percent(v float64) string { return strconv.FormatFloat(math.Round(v*100), 'f', -1, 64) + "%" }
