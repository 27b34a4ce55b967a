package lab

import (
	"bytes"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Figure is one or more panels: up to three side by side, more in a square.
type Figure struct{ Panels []Panel }

// A Panel is one plot.
type Panel struct {
	Title, X, Y string
	LogX, LogY  bool // points at or below 0 are left out of a logarithmic axis
	Series      []Series
}

// A Series is a line, or points where Points is set.
type Series struct {
	Name   string
	X, Y   []float64 // same length
	Points bool
}

// The size of one panel, of the part of it that names the series, and of the space around it.
const (
	panelWidth  = 6.5 * vg.Inch
	panelHeight = 4.2 * vg.Inch
	legendWidth = 1 * vg.Inch // at least, for panels of one width
	margin      = 0.15 * vg.Inch
)

// palette are the colours of Okabe and Ito, which the colour-blind tell apart as well.
var palette = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{0, 158, 115, 255}, color.RGBA{204, 121, 167, 255},
	color.RGBA{86, 180, 233, 255}, color.RGBA{230, 159, 0, 255}, color.RGBA{0, 0, 0, 255},
}

func (f *Figure) svg() ([]byte, error) {
	columns := len(f.Panels)
	if columns > 3 {
		columns = int(math.Ceil(math.Sqrt(float64(columns))))
	}
	rows := (len(f.Panels) + columns - 1) / columns
	c := vgsvg.New(panelWidth*vg.Length(columns), panelHeight*vg.Length(rows))
	whole := draw.New(c)
	for i, panel := range f.Panels {
		p, err := panel.plot()
		if err != nil {
			return nil, err
		}
		at := vg.Point{X: panelWidth * vg.Length(i%columns), Y: panelHeight * vg.Length(rows-1-i/columns)}
		area := vg.Rectangle{Min: at, Max: at.Add(vg.Point{X: panelWidth, Y: panelHeight})}
		legend := p.Legend
		p.Legend = plot.NewLegend()
		legend.Left, legend.Padding = true, vg.Points(3)
		canvas := draw.Crop(draw.Canvas{Canvas: whole.Canvas, Rectangle: area}, margin, -margin, margin, -margin)
		width := max(legendWidth, legend.Rectangle(canvas).Size().X)
		p.Draw(draw.Crop(canvas, 0, -width-margin, 0, 0))
		legend.Draw(draw.Crop(canvas, panelWidth-2*margin-width, 0, 0, -2*margin))
	}
	var b bytes.Buffer
	_, err := c.WriteTo(&b)
	return b.Bytes(), err
}

func (panel *Panel) plot() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = panel.Title, panel.X, panel.Y
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	if panel.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	if panel.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	for i, s := range panel.Series {
		var xy plotter.XYs
		for j := range s.X {
			if panel.LogX && s.X[j] <= 0 || panel.LogY && s.Y[j] <= 0 {
				continue
			}
			xy = append(xy, plotter.XY{X: s.X[j], Y: s.Y[j]})
		}
		if len(xy) == 0 {
			continue
		}
		line, points, err := plotter.NewLinePoints(xy)
		if err != nil {
			return nil, err
		}
		line.Color, line.Dashes = palette[i%len(palette)], plotutil.Dashes(i/len(palette))
		points.Color, points.Shape, points.Radius = palette[i%len(palette)], plotutil.Shape(i), vg.Points(2)
		if s.Points {
			p.Add(points)
			p.Legend.Add(s.Name, points)
		} else {
			p.Add(line, points)
			p.Legend.Add(s.Name, line, points)
		}
	}
	extent(&p.X, panel.LogX)
	extent(&p.Y, panel.LogY)
	return p, nil
}

// extent gives an axis without data, or with a single value, something to show, and begins one
// that begins near 0 there.
func extent(a *plot.Axis, log bool) {
	switch {
	case !log && a.Min > 0 && a.Min < a.Max/2 && !math.IsInf(a.Max, 0):
		a.Min = 0
	case math.IsInf(a.Min, 0) || math.IsInf(a.Max, 0):
		a.Min, a.Max = 1, 10
	case a.Min == a.Max && a.Min == 0:
		a.Min, a.Max = -1, 1
	case a.Min == a.Max:
		a.Min, a.Max = a.Min-math.Abs(a.Min)/10, a.Max+math.Abs(a.Max)/10
	}
}
