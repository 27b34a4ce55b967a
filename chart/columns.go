package chart

import "math"

// Columns are bars of equal width. A line over them has a scale of its own, which is written at the right.
type Columns struct {
	Name   string // says what is seen
	Height int    // pixels; 0: 150
	Bars   []Bar
	Line   []float64 // one for each bar; NaN: nothing is known; nil: no line
}

// A Bar is one of Columns.
type Bar struct {
	Label string // below it; "": nothing
	Title string // to who points at it
	Value float64
	More  float64 // on top of it, of another class
}

// SVG returns the chart. O(bars).
func (c *Columns) SVG() string {
	height := c.Height
	if height == 0 {
		height = 150
	}
	var d drawing
	d.begin("columns", c.Name, height)
	most, peak := 0., 0.
	for i := range c.Bars {
		most = max(most, c.Bars[i].Value+c.Bars[i].More)
	}
	for _, v := range c.Line {
		if !math.IsNaN(v) {
			peak = max(peak, v)
		}
	}
	s, over := scale{Nice(most), height}, scale{Nice(peak), height}
	d.grid(s, Count)
	if c.Line != nil {
		for _, v := range []float64{over.max, over.max / 2} {
			d.text("tick over", 1, int(over.y(v))-3, "end", Count(v))
		}
	}
	w := 1 / float64(max(1, len(c.Bars)))
	for i := range c.Bars {
		b := &c.Bars[i]
		x := float64(i) * w
		d.f("<g>")
		d.title(b.Title)
		if b.Title != "" {
			d.f(`<rect class="hit" x="%s" y="0" width="%s" height="%d"/>`, pct(x), pct(w), height-foot)
		}
		base := s.y(0)
		for _, part := range []struct {
			class string
			value float64
		}{{"bar", b.Value}, {"part", b.More}} {
			if part.value > 0 {
				high := max(s.y(0)-s.y(part.value), 1.5) // what is there is seen
				base -= high
				d.f(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, part.class, pct(x+w*.14), num(base), pct(w*.72), num(high))
			}
		}
		d.f("</g>")
		if b.Label != "" {
			d.below(x+w/2, height, b.Label)
		}
	}
	for _, part := range runs(c.Line) {
		var points []point
		for i := part.from; i < part.to; i++ {
			points = append(points, point{(float64(i) + .5) * w, over.y(c.Line[i])})
		}
		if len(points) == 1 { // a line of one point is not seen
			points = []point{{points[0].x - w/2, points[0].y}, {points[0].x + w/2, points[0].y}}
		}
		d.path("line over", height, points, false)
	}
	return d.end()
}

// places are some that follow each other.
type places struct{ from, to int }

// runs are the parts of a line that are known.
func runs(line []float64) []places {
	var all []places
	for i, v := range line {
		switch {
		case math.IsNaN(v):
		case i > 0 && !math.IsNaN(line[i-1]):
			all[len(all)-1].to = i + 1
		default:
			all = append(all, places{i, i + 1})
		}
	}
	return all
}

// Spark returns bars without words, as high as a line of text.
func Spark(name string, values []float64) string {
	const height = 18
	var d drawing
	d.begin("spark", name, height)
	most := 0.
	for _, v := range values {
		most = max(most, v)
	}
	w := 1 / float64(max(1, len(values)))
	for i, v := range values {
		h := 1.
		class := "none"
		if v > 0 {
			class = "bar"
			h = max(2, v/most*(height-1))
		}
		d.f(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, pct((float64(i)+.1)*w), num(height-h), pct(w*.8), num(h))
	}
	return d.end()
}

// Heat is a grid of numbers, the darker the larger.
type Heat struct {
	Name    string
	Rows    []string              // what stands before each
	Columns []string              // what stands below each; "": nothing
	Cells   [][]float64           // by row and column
	Title   func(r, c int) string // nil: none
}

// levels of a Heat, for which the stylesheet has classes heat0 … heat5; 0 stands for nothing.
const levels = 5

// SVG returns the grid. O(cells).
func (h *Heat) SVG() string {
	const row, left = 18, .09
	height := row*len(h.Rows) + foot
	var d drawing
	d.begin("heat", h.Name, height)
	most := 0.
	for _, cells := range h.Cells {
		for _, v := range cells {
			most = max(most, v)
		}
	}
	w := (1 - left) / float64(max(1, len(h.Columns)))
	for r, cells := range h.Cells {
		d.text("tick", 0, r*row+row-5, "start", h.Rows[r])
		for c, v := range cells {
			level := 0
			if v > 0 {
				level = min(levels, 1+int(v/most*levels*(1-1e-9)))
			}
			d.f(`<rect class="heat%d" x="%s" y="%d" width="%s" height="%d"`, level, pct(left+float64(c)*w), r*row, pct(w*.92), row-2)
			if level == 0 || h.Title == nil {
				d.WriteString("/>")
				continue
			}
			d.WriteString(">")
			d.title(h.Title(r, c))
			d.WriteString("</rect>")
		}
	}
	for c, label := range h.Columns {
		if label != "" {
			d.text("tick", left+(float64(c)+.5)*w, height-4, "middle", label)
		}
	}
	return d.end()
}
