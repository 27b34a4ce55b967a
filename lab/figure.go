package lab

import (
	"bytes"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Figure is one or more panels side by side.
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

// panelWidth and panelHeight are the size of one panel.
const (
	panelWidth  = 6 * vg.Inch
	panelHeight = 4.2 * vg.Inch
)

func (f *Figure) svg() ([]byte, error) {
	c := vgsvg.New(panelWidth*vg.Length(len(f.Panels)), panelHeight)
	for i, panel := range f.Panels {
		p, err := panel.plot()
		if err != nil {
			return nil, err
		}
		whole := draw.New(c)
		left := panelWidth * vg.Length(i)
		p.Draw(draw.Canvas{Canvas: whole.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: left}, Max: vg.Point{X: left + panelWidth, Y: panelHeight}}})
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
		line.Color, line.Dashes = plotutil.Color(i), plotutil.Dashes(i/7)
		points.Color, points.Shape, points.Radius = plotutil.Color(i), plotutil.Shape(i), vg.Points(2)
		if s.Points {
			p.Add(points)
			p.Legend.Add(s.Name, points)
		} else {
			p.Add(line, points)
			p.Legend.Add(s.Name, line, points)
		}
	}
	extent(&p.X)
	extent(&p.Y)
	return p, nil
}

// extent gives an axis without data, or with a single value, something to show.
func extent(a *plot.Axis) {
	switch {
	case math.IsInf(a.Min, 0) || math.IsInf(a.Max, 0):
		a.Min, a.Max = 1, 10
	case a.Min == a.Max && a.Min == 0:
		a.Min, a.Max = -1, 1
	case a.Min == a.Max:
		a.Min, a.Max = a.Min-math.Abs(a.Min)/10, a.Max+math.Abs(a.Max)/10
	}
}
