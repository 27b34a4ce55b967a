package lab

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// A Figure is one or more panels: up to three side by side, more in a square.
type Figure struct{ Panels []Panel }

// A Panel is one plot.
type Panel struct {
	Title, X, Y string
	LogX, LogY  bool // points at or below 0 are left out of a logarithmic axis
	Series      []Series
}

// A Series is a line, or points where Points is set. What is no number is left out, and interrupts the line.
type Series struct {
	Name   string
	X, Y   []float64 // same length
	Points bool
}

// The size of one panel in pixels, of the space around its axes, and of letters.
const (
	panelWidth  = 620
	panelHeight = 400
	spaceLeft   = 66
	spaceTop    = 34
	spaceBelow  = 46
	spaceRight  = 14
	letters     = 12
	letterWidth = 6.3 // of sans-serif, on average and a little more
)

// palette are the colours of Okabe and Ito, which the colour-blind tell apart as well.
var palette = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"}

// dashes are of the lines that have the colours of others.
var dashes = []string{"", ` stroke-dasharray="6 3"`, ` stroke-dasharray="2 2"`, ` stroke-dasharray="8 2 2 2"`}

// marks are the shapes of points, around the origin.
var marks = []string{
	`<circle r="2.6"/>`, `<path d="M-2.4-2.4h4.8v4.8h-4.8z"/>`, `<path d="M0-3.2 2.9 2H-2.9z"/>`, `<path d="M0-3.3 3.3 0 0 3.3-3.3 0z"/>`,
	`<path d="M-2.6-2.6 2.6 2.6M-2.6 2.6 2.6-2.6"/>`, `<path d="M-3 0H3M0-3V3"/>`, `<circle r="2.4" fill="none"/>`,
}

// svg draws the figure. The same data makes the same bytes.
func (f *Figure) svg() []byte {
	columns := max(1, len(f.Panels))
	if columns > 3 {
		columns = int(math.Ceil(math.Sqrt(float64(columns))))
	}
	rows := (len(f.Panels) + columns - 1) / columns
	var d drawing
	d.f(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="%d">`+"\n",
		panelWidth*columns, panelHeight*rows, letters)
	d.f(`<rect width="100%%" height="100%%" fill="#fff"/>` + "\n")
	for i := range f.Panels {
		d.f(`<g transform="translate(%d %d)">`+"\n", panelWidth*(i%columns), panelHeight*(i/columns))
		f.Panels[i].draw(&d)
		d.f("</g>\n")
	}
	d.f("</svg>\n")
	return []byte(d.String())
}

// A drawing is an SVG that is written.
type drawing struct{ strings.Builder }

func (d *drawing) f(format string, args ...any) { fmt.Fprintf(&d.Builder, format, args...) }

// text writes a word. anchor is start, middle or end; more are further attributes.
func (d *drawing) text(x, y float64, anchor, more, text string) {
	d.f(`<text x="%s" y="%s" text-anchor="%s"%s>%s</text>`+"\n", pixels(x), pixels(y), anchor, more, html.EscapeString(text))
}

// pixels is a coordinate, to a tenth.
func pixels(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) }

func (panel *Panel) draw(d *drawing) {
	longest := 0
	for _, s := range panel.Series {
		longest = max(longest, len([]rune(s.Name)))
	}
	legend := 30 + letterWidth*float64(longest)
	x := panel.axis(true, spaceLeft, panelWidth-spaceRight-legend)
	y := panel.axis(false, panelHeight-spaceBelow, spaceTop)
	d.text((x.from+x.to)/2, 18, "middle", ` font-weight="bold"`, panel.Title)
	d.text((x.from+x.to)/2, panelHeight-8, "middle", "", panel.X)
	middle := pixels((y.from + y.to) / 2)
	d.text(14, (y.from+y.to)/2, "middle", ` transform="rotate(-90 14 `+middle+`)"`, panel.Y)
	for _, t := range x.ticks() {
		d.f(`<path d="M%s %sV%s" stroke="#ddd"/>`, pixels(x.at(t)), pixels(y.from), pixels(y.to))
		d.text(x.at(t), y.from+16, "middle", "", tickText(t))
	}
	for _, t := range y.ticks() {
		d.f(`<path d="M%s %sH%s" stroke="#ddd"/>`, pixels(x.from), pixels(y.at(t)), pixels(x.to))
		d.text(x.from-6, y.at(t)+4, "end", "", tickText(t))
	}
	d.f(`<path d="M%s %sV%sH%s" fill="none" stroke="#555"/>`+"\n", pixels(x.from), pixels(y.to), pixels(y.from), pixels(x.to))
	row := y.to + 4
	for i := range panel.Series {
		s, colour, mark := &panel.Series[i], palette[i%len(palette)], marks[i%len(marks)]
		var line, points strings.Builder
		move, any := "M", false
		for j := range s.X {
			if !x.shows(s.X[j]) || !y.shows(s.Y[j]) {
				move = "M"
				continue
			}
			at := pixels(x.at(s.X[j])) + " " + pixels(y.at(s.Y[j]))
			line.WriteString(move + at)
			fmt.Fprintf(&points, `<g transform="translate(%s)">%s</g>`, at, mark)
			move, any = "L", true
		}
		if !any {
			continue
		}
		stroke := fmt.Sprintf(`<path d="%%s" fill="none" stroke="%s"%s/>`, colour, dashes[i/len(palette)%len(dashes)])
		if !s.Points {
			d.f(stroke, line.String())
		}
		d.f(`<g fill="%s" stroke="%[1]s">%s</g>`+"\n", colour, points.String())
		if !s.Points {
			d.f(stroke, fmt.Sprintf("M%s %sh20", pixels(x.to+8), pixels(row)))
		}
		d.f(`<g fill="%s" stroke="%[1]s" transform="translate(%s %s)">%s</g>`, colour, pixels(x.to+18), pixels(row), mark)
		d.text(x.to+32, row+4, "start", "", s.Name)
		row += letters + 5
	}
}

// An axis maps values from min to max to pixels.
type axis struct {
	min, max float64 // min < max
	log      bool    // then 0 < min
	from, to float64
}

// axis is one that has room for all series. One without data, or with a single value, has something to show,
// and one that begins near 0 begins there.
func (panel *Panel) axis(isX bool, from, to float64) *axis {
	a := &axis{math.Inf(1), math.Inf(-1), map[bool]bool{true: panel.LogX, false: panel.LogY}[isX], from, to}
	for i := range panel.Series {
		s := &panel.Series[i]
		for j := range s.X {
			x, y := s.X[j], s.Y[j]
			if !finite(x) || !finite(y) || panel.LogX && x <= 0 || panel.LogY && y <= 0 {
				continue
			}
			if !isX {
				x = y
			}
			a.min, a.max = min(a.min, x), max(a.max, x)
		}
	}
	switch {
	case a.min > a.max:
		a.min, a.max = 1, 10
	case !a.log && a.min > 0 && a.min < a.max/2:
		a.min = 0
	case a.min == a.max && a.min == 0:
		a.min, a.max = -1, 1
	case a.min == a.max:
		part := math.Abs(a.min) / 10
		a.min, a.max = a.min-part, a.max+part
	}
	return a
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// shows reports whether a value has a place on the axis.
func (a *axis) shows(v float64) bool { return finite(v) && (!a.log || v > 0) }

// at is the pixel of a value.
func (a *axis) at(v float64) float64 {
	low, high := a.min, a.max
	if a.log {
		v, low, high = math.Log(v), math.Log(low), math.Log(high)
	}
	return a.from + (a.to-a.from)*(v-low)/(high-low)
}

// ticks are the values that are written at an axis, ascending: some six; of a logarithmic one powers of ten where it spans two of
// them or more.
func (a *axis) ticks() (all []float64) {
	const most = 7
	if a.log && a.max/a.min >= 100 {
		first, last := int(math.Ceil(math.Log10(a.min)-1e-9)), int(math.Floor(math.Log10(a.max)+1e-9))
		step := (last-first)/most + 1
		for e := first; e <= last; e += step {
			all = append(all, math.Pow10(e))
		}
		return all
	}
	rough := (a.max - a.min) / (most - 1)
	unit := math.Pow(10, math.Floor(math.Log10(rough)))
	step := 10 * unit
	for _, nice := range []float64{1, 2, 5} {
		if nice*unit >= rough*(1-1e-9) {
			step = nice * unit
			break
		}
	}
	first := math.Ceil(a.min/step - 1e-9)
	for n := range 3 * most { // of large values that are close to each other a step may change nothing
		i := first + float64(n)
		if !(i*step <= a.max+step*1e-9) {
			break
		}
		if v := i*step + 0; a.shows(v) && (len(all) == 0 || v > all[len(all)-1]) { // 0 and not -0
			all = append(all, v)
		}
	}
	return all
}

// tickText writes a value as short as it can be, without the digits by which sums of steps are off.
func tickText(v float64) string {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 9, 64), 64)
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if len(text) > 7 {
		text = strconv.FormatFloat(v, 'g', -1, 64)
	}
	return text
}
