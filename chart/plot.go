package chart

import "math"

// A Plot is lines over an axis, with bands, and dots.
type Plot struct {
	Name   string
	Height int                  // pixels; 0: 170
	Max    float64              // of the values; 0: as high as they are
	Value  func(float64) string // writes one; nil: Count
	Series []Series
	Dots   []Dot
	Ticks  []Tick
	At     float64 // a line from top to bottom stands there; 0: none does
	AtName string
}

// A Series is a line, from left to right. Where Low and High are given they are a band around it.
type Series struct {
	Name  string    // written at its end; "": nothing
	Class string    // of the stylesheet, beside "line"
	X     []float64 // shares of the width, ascending
	Y     []float64 // NaN: not known
	Low   []float64
	High  []float64
}

// A Dot is one point.
type Dot struct {
	X, Y  float64
	Class string
	Title string
}

// A Tick is a word below the axis.
type Tick struct {
	X     float64
	Label string
}

// SVG returns the chart. O(points).
func (p *Plot) SVG() string {
	height, most, label := p.Height, p.Max, p.Value
	if height == 0 {
		height = 170
	}
	if label == nil {
		label = Count
	}
	if most == 0 {
		for _, s := range p.Series {
			for _, ys := range [][]float64{s.Y, s.High} {
				for _, y := range ys {
					if !math.IsNaN(y) {
						most = max(most, y)
					}
				}
			}
		}
		for _, dot := range p.Dots {
			most = max(most, dot.Y)
		}
		most = Nice(most)
	}
	var d drawing
	d.begin("plot", p.Name, height)
	sc := scale{most, height}
	for i := range p.Series {
		s := &p.Series[i]
		if s.Low == nil {
			continue
		}
		for _, part := range runs(s.Low) {
			var around []point
			for i := part.from; i < part.to; i++ {
				around = append(around, point{s.X[i], sc.y(s.High[i])})
			}
			for i := part.to - 1; i >= part.from; i-- {
				around = append(around, point{s.X[i], sc.y(s.Low[i])})
			}
			d.path("band "+s.Class, height, around, true)
		}
	}
	d.grid(sc, label)
	if p.At > 0 {
		d.f(`<line class="at" x1="%s" x2="%[1]s" y1="%d" y2="%s"/>`, pct(p.At), head, num(sc.y(0)))
		anchor, x := "start", p.At+.01
		if p.At > .6 {
			anchor, x = "end", p.At-.01
		}
		d.text("tick at", x, height-foot-5, anchor, p.AtName)
	}
	for i := range p.Series {
		s := &p.Series[i]
		for _, part := range runs(s.Y) {
			var points []point
			for i := part.from; i < part.to; i++ {
				points = append(points, point{s.X[i], sc.y(s.Y[i])})
			}
			d.path("line "+s.Class, height, points, false)
		}
		if n := len(s.X); s.Name != "" && n > 0 && !math.IsNaN(s.Y[n-1]) {
			d.text("tick series "+s.Class, 1, int(sc.y(s.Y[n-1]))+14, "end", s.Name)
		}
	}
	for _, dot := range p.Dots {
		d.f(`<circle class="dot %s" cx="%s" cy="%s" r="4">`, dot.Class, pct(dot.X), num(sc.y(dot.Y)))
		d.title(dot.Title)
		d.f("</circle>")
	}
	for _, t := range p.Ticks {
		d.below(t.X, height, t.Label)
	}
	return d.end()
}

// A Timeline is what happened when: each mark stands at its time, as high as it counts.
type Timeline struct {
	Name   string
	Height int // pixels; 0: 120
	Marks  []Mark
	Ticks  []Tick
}

// A Mark is something that happened.
type Mark struct {
	X     float64 // share of the width
	Value float64 // 0: it is seen on the base line only
	Class string  // of the stylesheet
	Title string
}

// SVG returns the chart. O(marks).
func (t *Timeline) SVG() string {
	height := t.Height
	if height == 0 {
		height = 120
	}
	most := 0.
	for _, m := range t.Marks {
		most = max(most, m.Value)
	}
	var d drawing
	d.begin("timeline", t.Name, height)
	s := scale{Nice(most), height}
	d.grid(s, Count)
	for _, m := range t.Marks {
		x := min(max(m.X, .004), .996)
		d.f("<g>")
		d.title(m.Title)
		if m.Value > 0 {
			y := min(s.y(m.Value), s.y(0)-2)
			d.f(`<line class="stem %s" x1="%s" x2="%[2]s" y1="%s" y2="%s"/>`, m.Class, pct(x), num(y), num(s.y(0)))
		}
		d.f(`<circle class="dot %s" cx="%s" cy="%s" r="3"/></g>`, m.Class, pct(x), num(s.y(max(0, m.Value))))
	}
	for _, tick := range t.Ticks {
		d.below(tick.X, height, tick.Label)
	}
	return d.end()
}

// Span returns an interval with its middle, on a scale from 0 to most, as high as a line of text.
func Span(name, class string, low, mid, high, most float64) string {
	const height = 14
	if !(most > 0) {
		most = 1
	}
	at := func(v float64) string { return pct(.01 + .98*min(max(v/most, 0), 1)) }
	var d drawing
	d.begin("span", name, height)
	d.f(`<line class="grid" x1="0" x2="100%%" y1="7" y2="7"/><line class="stem %s" x1="%s" x2="%s" y1="7" y2="7"/><circle class="dot %[1]s" cx="%[4]s" cy="7" r="3.5"/>`,
		class, at(low), at(high), at(mid))
	return d.end()
}
