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

// A Panel is one plot. A linear axis of values that are not negative begins at 0.
type Panel struct {
	Title, X, Y string
	LogX, LogY  bool     // points at or below 0 are left out of a logarithmic axis
	Labels      []string // of X = 0, 1, …: the panel is a bar chart; nil: it is not
	Series      []Series
}

// A Series is a line, points where Points is set, or the bars of a bar chart. What is no number is left out, and interrupts the line.
type Series struct {
	Name   string
	X, Y   []float64 // same length
	Points bool
	// Model is set where the series is what is expected of the one before it: a line in the colour of that, without marks and without a
	// name of its own.
	Model bool
}

// Sizes in pixels: of the part of a panel between its axes, of the space around that, and of letters.
const (
	plotWidth  = 430
	plotHeight = 320
	spaceTop   = 34
	spaceBelow = 46
	spaceEdge  = 14
	letters    = 12
	legendRow  = letters + 5
	legendSign = 32 // before the name of a series
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
	all := make([]layout, len(f.Panels))
	width, height := 0., 0.
	for i := range f.Panels {
		all[i] = f.Panels[i].layout()
		width, height = max(width, all[i].width), max(height, all[i].height)
	}
	width, height = math.Ceil(width), math.Ceil(height)
	var d drawing
	d.f(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="DejaVu Sans, Verdana, sans-serif" font-size="%d">`+"\n",
		int(width)*columns, int(height)*rows, letters)
	d.f(`<rect width="100%%" height="100%%" fill="#fff"/>` + "\n")
	for i := range f.Panels {
		d.f(`<g transform="translate(%d %d)">`+"\n", int(width)*(i%columns), int(height)*(i/columns))
		f.Panels[i].draw(&d, &all[i])
		d.f("</g>\n")
	}
	d.f("</svg>\n")
	return []byte(d.String())
}

// A layout is where the parts of a panel are.
type layout struct {
	x, y                *axis
	title, nameX, nameY float64   // the middle of each
	columns             []float64 // of the legend: where each begins
	turned              bool      // the labels of bars are written upwards
	width, height       float64
}

// layout gives every text of a panel the room that it takes.
func (panel *Panel) layout() (l layout) {
	left := 0.
	l.y = panel.axis(false, plotHeight+spaceTop, spaceTop)
	for _, t := range l.y.ticks() {
		left = max(left, textWidth(tickText(t)))
	}
	left += 2*spaceEdge + letters // the name of the axis is beside the numbers
	l.x = panel.axis(true, left, left+plotWidth)
	l.height = spaceTop + plotHeight + spaceBelow
	widest := 0.
	for _, label := range panel.Labels {
		widest = max(widest, textWidth(label))
	}
	if l.turned = widest+4 > plotWidth/float64(max(1, len(panel.Labels))); l.turned {
		l.height += widest
	}
	l.height = max(l.height, textWidth(panel.Y)+2*spaceEdge)
	right := l.x.to + spaceEdge
	names := panel.names()
	const most = plotHeight / legendRow
	for i := 0; i < len(names); i += most {
		widest := 0.
		for _, name := range names[i:min(i+most, len(names))] {
			widest = max(widest, textWidth(name))
		}
		l.columns = append(l.columns, right)
		right += legendSign + widest + spaceEdge
	}
	title, name := 1.08*textWidth(panel.Title), textWidth(panel.X) // the title is bold
	l.width = max(right, title+2*spaceEdge, name+2*spaceEdge)
	l.title = placed((l.x.from+l.x.to)/2, title, l.width)
	l.nameX = placed((l.x.from+l.x.to)/2, name, l.width)
	l.nameY = placed((l.y.from+l.y.to)/2, textWidth(panel.Y), l.height)
	return l
}

// placed is where the middle of a text of that width is, as near to where it should be as the width or height of the panel allows.
func placed(wanted, text, size float64) float64 {
	return max(spaceEdge+text/2, min(wanted, size-spaceEdge-text/2))
}

// names are those of the series that are drawn and have one, in the order of the legend.
func (panel *Panel) names() (all []string) {
	for i := range panel.Series {
		if s := &panel.Series[i]; !s.Model && panel.drawn(s) {
			all = append(all, s.Name)
		}
	}
	return all
}

// drawn reports whether there is a point of s to draw.
func (panel *Panel) drawn(s *Series) bool {
	for i := range s.X {
		if panel.shows(s.X[i], s.Y[i]) {
			return true
		}
	}
	return false
}

// shows reports whether a point has a place in the panel.
func (panel *Panel) shows(x, y float64) bool {
	return finite(x) && finite(y) && (!panel.LogX || x > 0) && (!panel.LogY || y > 0)
}

// textWidth is how wide a text is at most, in the widest of the fonts without serifs that programs take.
func textWidth(text string) (pixels float64) {
	for _, c := range text {
		pixels += letters * letterWidth(c)
	}
	return pixels
}

// letterWidth is the width of a letter of DejaVu Sans, as a share of the size of letters.
func letterWidth(c rune) float64 {
	for _, w := range []struct {
		width   float64
		letters string
	}{
		{.36, "'ijlIJ ,./:;\\|f-"}, {.46, "t()[]!r\"·′₁⁴"}, {.56, "*_`sz?cL‖ε–"}, {.64, "kFvxyPaoTYebdghnpquES0123456789${}αγδλΣ"}, {.79, "KAVBRXZCUHNDG&OQΔ"},
	} {
		if strings.ContainsRune(w.letters, c) {
			return w.width
		}
	}
	return 1
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

func (panel *Panel) draw(d *drawing, l *layout) {
	x, y := l.x, l.y
	d.text(l.title, 18, "middle", ` font-weight="bold"`, panel.Title)
	d.text(l.nameX, l.height-8, "middle", "", panel.X)
	d.text(spaceEdge, l.nameY, "middle", fmt.Sprintf(` transform="rotate(-90 %d %s)"`, spaceEdge, pixels(l.nameY)), panel.Y)
	for _, t := range y.ticks() {
		d.f(`<path d="M%s %sH%s" stroke="#ddd"/>`, pixels(x.from), pixels(y.at(t)), pixels(x.to))
		d.text(x.from-6, y.at(t)+4, "end", "", tickText(t))
	}
	for i, label := range panel.Labels {
		at := x.at(float64(i))
		if l.turned {
			d.text(at+4, y.from+8, "end", fmt.Sprintf(` transform="rotate(-90 %s %s)"`, pixels(at+4), pixels(y.from+8)), label)
		} else {
			d.text(at, y.from+16, "middle", "", label)
		}
	}
	if panel.Labels == nil {
		for _, t := range x.ticks() {
			d.f(`<path d="M%s %sV%s" stroke="#ddd"/>`, pixels(x.at(t)), pixels(y.from), pixels(y.to))
			d.text(x.at(t), y.from+16, "middle", "", tickText(t))
		}
	}
	d.f(`<path d="M%s %sV%sH%s" fill="none" stroke="#555"/>`+"\n", pixels(x.from), pixels(y.to), pixels(y.from), pixels(x.to))
	colour, named := -1, 0
	for i := range panel.Series {
		s := &panel.Series[i]
		if !s.Model {
			colour++
		}
		if !panel.drawn(s) {
			continue
		}
		look := look{colour: palette[max(0, colour)%len(palette)], dash: dashes[max(0, colour)/len(palette)%len(dashes)],
			mark: marks[(max(0, colour)+max(0, colour)/len(palette))%len(marks)]}
		if panel.Labels != nil {
			panel.bars(d, l, s, i, look)
		} else {
			panel.lines(d, l, s, look)
		}
		if s.Model {
			continue
		}
		const most = plotHeight / legendRow
		at, row := l.columns[named/most], y.to+4+float64(legendRow*(named%most))
		named++
		if panel.Labels != nil {
			d.f(`<path d="M%s %sh20v10h-20z" fill="%s"/>`, pixels(at), pixels(row-5), look.colour)
		} else {
			if !s.Points {
				d.f(look.stroke(), fmt.Sprintf("M%s %sh20", pixels(at), pixels(row)))
			}
			d.f(`<g fill="%s" stroke="%[1]s" transform="translate(%s %s)">%s</g>`, look.colour, pixels(at+10), pixels(row), look.mark)
		}
		d.text(at+legendSign-6, row+4, "start", "", s.Name)
	}
}

// A look is how a series is told from others.
type look struct{ colour, dash, mark string }

// stroke is a line, whose path is to be filled in.
func (l look) stroke() string {
	return fmt.Sprintf(`<path d="%%s" fill="none" stroke="%s"%s/>`, l.colour, l.dash)
}

// lines draws a series as a line, points, or both.
func (panel *Panel) lines(d *drawing, l *layout, s *Series, look look) {
	var line, points strings.Builder
	move := "M"
	for j := range s.X {
		if !panel.shows(s.X[j], s.Y[j]) {
			move = "M"
			continue
		}
		at := pixels(l.x.at(s.X[j])) + " " + pixels(l.y.at(s.Y[j]))
		line.WriteString(move + at)
		fmt.Fprintf(&points, `<g transform="translate(%s)">%s</g>`, at, look.mark)
		move = "L"
	}
	if !s.Points {
		d.f(look.stroke(), line.String())
	}
	if !s.Model {
		d.f(`<g fill="%s" stroke="%[1]s">%s</g>`+"\n", look.colour, points.String())
	}
}

// bars draws the ith series of a bar chart, beside the others.
func (panel *Panel) bars(d *drawing, l *layout, s *Series, i int, look look) {
	width := .8 / float64(len(panel.Series))
	for j := range s.X {
		if !panel.shows(s.X[j], s.Y[j]) {
			continue
		}
		from := s.X[j] - .4 + width*float64(i)
		d.f(`<path d="M%s %sV%sH%sV%[2]sz" fill="%[5]s"/>`, pixels(l.x.at(from)), pixels(l.y.at(max(0, l.y.min))), pixels(l.y.at(s.Y[j])), pixels(l.x.at(from+width)), look.colour)
	}
	d.f("\n")
}

// An axis maps values from min to max to pixels.
type axis struct {
	min, max float64 // min < max
	log      bool    // then 0 < min
	from, to float64
}

// axis is one that has room for all series: a linear one of values that are not negative from 0 on. One without data, or with a single
// value, has something to show.
func (panel *Panel) axis(isX bool, from, to float64) *axis {
	a := &axis{math.Inf(1), math.Inf(-1), map[bool]bool{true: panel.LogX, false: panel.LogY}[isX], from, to}
	for i := range panel.Series {
		s := &panel.Series[i]
		for j := range s.X {
			x, y := s.X[j], s.Y[j]
			if !panel.shows(x, y) {
				continue
			}
			if !isX {
				x = y
			}
			a.min, a.max = min(a.min, x), max(a.max, x)
		}
	}
	switch {
	case isX && panel.Labels != nil:
		a.min, a.max = -.5, float64(len(panel.Labels))-.5
	case a.min > a.max:
		a.min, a.max = 1, 10
	case !a.log && a.min > 0:
		a.min = 0
	case a.min == a.max && a.min == 0:
		a.min, a.max = -1, 1
		if panel.Labels != nil {
			a.min = 0
		}
	case a.min == a.max:
		part := math.Abs(a.min) / 10
		a.min, a.max = a.min-part, a.max+part
	}
	return a
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// at is the pixel of a value.
func (a *axis) at(v float64) float64 {
	low, high := a.min, a.max
	if a.log {
		v, low, high = math.Log(v), math.Log(low), math.Log(high)
	}
	return a.from + (a.to-a.from)*(v-low)/(high-low)
}

// ticks are the values that are written at an axis, ascending: some six; of a logarithmic one powers of ten where it spans two of
// them or more, else these with twice and five times as much where that makes three.
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
	if a.log {
		for e := math.Floor(math.Log10(a.min)); e <= math.Log10(a.max); e++ {
			for _, m := range []float64{1, 2, 5} {
				if v := m * math.Pow(10, e); v >= a.min*(1-1e-9) && v <= a.max*(1+1e-9) {
					all = append(all, v)
				}
			}
		}
		if len(all) > 2 {
			return all
		}
		all = nil
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
		if v := i*step + 0; finite(v) && (!a.log || v > 0) && (len(all) == 0 || v > all[len(all)-1]) { // 0 and not -0
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
