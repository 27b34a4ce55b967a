package serve

import (
	"errors"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"forage/chart"
	"forage/internal/printable"
	"forage/report"
	"forage/store"
)

const (
	siteHubs     = 10
	siteCycles   = 15      // in the table
	shownGroups  = 30      // of URLs that are left out
	shownRobots  = 8 << 10 // bytes
	fewDocuments = 20_000  // of a site of so many it is counted why documents wait or failed
)

// A sitePage is what the page of a site shows.
type sitePage struct {
	*siteRecord
	Known     bool // the store has it
	Counts    *report.SiteCounts
	What, Why string
	Overdue   bool
	Days      template.HTML
	Table     []dayRow
	From      string // the first day that is counted
	Timeline  template.HTML
	Cycles    []*cycleRow
	Older     string
	Latest    []*eventRow

	*report.Insight
	Trend     template.HTML
	TrendRows []coverageRow
	Curve     template.HTML
	CurveRows []curveRow
	Measured  measured
	Looks     []lookRow
	Week      template.HTML
	Dated     int
	Delays    template.HTML
	DelayRows []delayRow
	Timed     int

	Robots   []*robotsRow
	LeftOut  []store.LeftOut
	MoreOut  int
	Waiting  map[string]int
	ManyDocs bool
	Troubles []*report.Event
}

type cycleRow struct {
	*report.SiteCycle
	Kind string
}

type coverageRow struct {
	At               time.Time
	Share, Low, High float64
}

type curveRow struct {
	PerDay    string
	Day, Week float64
}

// measured is what was found within a day and a week, at what was fetched.
type measured struct {
	PerDay    float64
	Known     bool // Day and Week are
	Day, Week float64
}

type lookRow struct {
	Name string
	report.Looks
	Bar template.HTML
}

type delayRow struct {
	Name        string
	Known, Most int
}

type robotsRow struct {
	*store.Robots
	Text string
	Cut  bool
}

// uiSite is the page of a site.
func (s *server) uiSite(r *http.Request, f *uiFrame) (string, error) {
	name := r.PathValue("site")
	f.Title, f.Here = name, "sites"
	site, err := s.Watch.Site(name)
	if err != nil {
		return "", err
	}
	before := uint64(0)
	if text := r.URL.Query().Get("before"); text != "" {
		if before, err = strconv.ParseUint(text, 10, 32); err != nil || before == 0 {
			return "", huma.Error400BadRequest("before: want the number of a cycle")
		}
	}
	p := &sitePage{}
	f.Page = p
	return "site", s.read(func(v *store.View) error {
		if p.siteRecord, err = newSiteRecord(v, &site); err != nil {
			return err
		}
		p.Overdue = isOverdue(&site, f.Now)
		k, err := v.SiteNamed(name)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		p.Known = true
		return s.fillSite(v, f, p, k, store.Cycle(before))
	})
}

// fillSite reads what the store has of a site.
func (s *server) fillSite(v *store.View, f *uiFrame, p *sitePage, k *store.Site, before store.Cycle) (err error) {
	c, err := v.Counters(k.ID)
	if err != nil {
		return err
	}
	p.What, p.Why = trouble(k, c)
	if p.Counts, err = report.NewSiteCounts(v, k); err != nil {
		return err
	}
	p.LeftOut = p.Counts.LeftOutGroups[:min(len(p.Counts.LeftOutGroups), shownGroups)]
	p.MoreOut = len(p.Counts.LeftOutGroups) - len(p.LeftOut)
	if p.Insight, err = s.insights.of(k, func() (*report.Insight, error) { return report.NewInsight(v, k.ID, siteHubs) }); err != nil {
		return err
	}
	p.insight(f.Now)
	if err := s.tallied(v, f, func(t *tally) { p.counted(t, k.Name, f.Now) }); err != nil {
		return err
	}
	cycles, more, err := report.Cycles(v, k, before, siteCycles)
	if err != nil {
		return err
	}
	for _, c := range cycles {
		p.Cycles = append(p.Cycles, &cycleRow{c, cycleKinds[store.CycleKind(c.Kind)]})
	}
	if more {
		p.Older = fmt.Sprintf("%s?before=%d#cycles", s.At+sitePath(k.Name), cycles[len(cycles)-1].Cycle.Cycle)
	}
	if err := p.timeline(v, k, f.Now); err != nil {
		return err
	}
	sel := eventFilter{types: map[store.EventType]bool{store.PageNew: true}, site: k.Name}
	latest, _, err := sel.back(v, 0, 5)
	if err != nil {
		return err
	}
	p.Latest = eventRows(latest)
	if err := p.robots(v, k); err != nil {
		return err
	}
	if p.ManyDocs = c.Known() > fewDocuments; !p.ManyDocs && c.Queued()+c.State[store.Failed] > 0 {
		p.Waiting, err = v.Waiting(k.ID)
	}
	return err
}

// cycleKinds are cycles as people call them.
var cycleKinds = map[store.CycleKind]string{store.FirstVisit: "first visit", store.Revisit: "visit", store.FullRecrawl: "full recrawl", store.Import: "import"}

// counted makes the charts of what is counted by days.
func (p *sitePage) counted(t *tally, name string, now time.Time) {
	st := t.sites[name]
	if st == nil {
		st = &siteTally{}
	}
	days, counts := st.days.latest(overviewDays, now)
	p.Days, p.Table = daysChart(days, counts, "New pages a day, and fetches of old documents"), dayRows(days, counts)
	p.From = time.Unix(int64(t.from)*86400, 0).UTC().Format("2 January")
	p.Dated, p.Timed = st.dated, st.timed
	heat := chart.Heat{Name: "New pages by the hour in which they appeared", Rows: []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}, Columns: make([]string, 24)}
	for h := 0; h < 24; h += 6 {
		heat.Columns[h] = fmt.Sprintf("%d h", h)
	}
	for d := range 7 {
		row := make([]float64, 24)
		for h := range row {
			row[h] = float64(st.week[d*24+h])
		}
		heat.Cells = append(heat.Cells, row)
	}
	heat.Title = func(r, c int) string {
		return fmt.Sprintf("%s %d–%d h: %s", heat.Rows[r], c, c+1, chart.Count(math.Round(heat.Cells[r][c]*10)/10))
	}
	p.Week = svg(heat.SVG())
	cols := chart.Columns{Name: "New pages by their delay", Height: 130}
	for i := range st.known {
		row := delayRow{delayName(i), st.known[i], st.most[i]}
		cols.Bars = append(cols.Bars, chart.Bar{Label: row.Name, Value: float64(row.Known), More: float64(row.Most), Title: fmt.Sprintf("%s: %d for certain, %d at most", row.Name, row.Known, row.Most)})
		p.DelayRows = append(p.DelayRows, row)
	}
	p.Delays = svg(cols.SVG())
	if st.timed > 0 {
		share := 1.
		if p.Insight != nil && p.Discovery != nil && p.Discovery.Coverage != nil {
			share = *p.Discovery.Coverage
		}
		p.Measured.Known, p.Measured.Day, p.Measured.Week = true, share*st.day/float64(st.timed), share*st.week7/float64(st.timed)
	}
	p.curve()
}

// delayName is the name of a column of the histogram.
func delayName(i int) string {
	if i == len(delays) {
		return "more"
	}
	return []string{"1 min", "10 min", "1 h", "6 h", "1 d", "3 d", "7 d", "30 d"}[i]
}

// insight makes the charts of what the past says.
func (p *sitePage) insight(now time.Time) {
	if len(p.Insight.Cycles) == 0 {
		return
	}
	first, last := p.Insight.Cycles[0].At, p.Insight.Cycles[len(p.Insight.Cycles)-1].At
	x := func(t store.Time) float64 {
		if last == first {
			return .5
		}
		return float64(t-first) / float64(last-first)
	}
	band := chart.Series{}
	for _, c := range p.Insight.Trend {
		band.X, band.Y = append(band.X, x(c.At)), append(band.Y, c.Share)
		band.Low, band.High = append(band.Low, c.Low), append(band.High, c.High)
		if !math.IsNaN(c.Share) {
			p.TrendRows = append(p.TrendRows, coverageRow{time.Unix(c.At, 0).UTC(), c.Share, c.Low, c.High})
		}
	}
	if len(p.TrendRows) > 0 {
		plot := chart.Plot{Name: "Coverage with its interval of 95%", Max: 1, Value: chart.Percent, Series: []chart.Series{band}, Ticks: timeTicks(first, last)}
		p.Trend = svg(plot.SVG())
	}
	most := 0.
	rows := []lookRow{{Name: "chosen", Looks: p.Chosen}, {Name: "audits", Looks: p.Audits}}
	for _, l := range p.ByGap {
		name := fmt.Sprintf("%d–%d cycles ago", l.Least, l.Most)
		switch {
		case l.Least == l.Most:
			name = "1 cycle ago"
		case l.Most == 0:
			name = fmt.Sprintf("%d or more ago", l.Least)
		}
		rows = append(rows, lookRow{Name: name, Looks: l})
	}
	for _, row := range rows {
		if row.Fetches > 0 {
			most = max(most, row.High)
		}
	}
	for i, row := range rows {
		if row.Fetches == 0 && i > 1 {
			continue
		}
		if row.Fetches > 0 {
			class := ""
			if i == 1 {
				class = "late"
			}
			row.Bar = svg(chart.Span(fmt.Sprintf("%s: %.2f, from %.2f to %.2f", row.Name, row.Mean, row.Low, row.High), class, row.Low, row.Mean, row.High, most))
		}
		p.Looks = append(p.Looks, row)
	}
}

// curve makes the curve that decides the budget: what fetches a day find within a day and a week.
func (p *sitePage) curve() {
	if p.Insight == nil || p.Timely == nil || p.Discovery == nil || p.Discovery.Found == 0 {
		return
	}
	p.Measured.PerDay = p.PerDay
	least, most := .1, 10.
	for most < 4*p.PerDay || most < 100 && p.Timely.Share(most) < .98 {
		most *= 10
	}
	x := func(f float64) float64 { return math.Log(f/least) / math.Log(most/least) }
	day, week := chart.Series{Class: "day"}, chart.Series{Class: "week"}
	for i := range 61 {
		f := least * math.Pow(most/least, float64(i)/60)
		day.X, day.Y = append(day.X, x(f)), append(day.Y, p.Timely.Share(f))
		week.X, week.Y = append(week.X, x(f)), append(week.Y, p.Timely.Share(7*f))
	}
	plot := chart.Plot{Name: "Expected share of the new pages found within a day and within a week, by fetches of old documents a day", Max: 1, Value: chart.Percent, Series: []chart.Series{week, day}}
	for f := least; f <= most*1.001; f *= 10 {
		plot.Ticks = append(plot.Ticks, chart.Tick{X: x(f), Label: chart.Count(f)})
	}
	for f := 1.; f <= most*1.001; f *= 10 {
		for _, m := range []float64{1, 3} {
			if m*f <= most*1.001 {
				p.CurveRows = append(p.CurveRows, curveRow{chart.Count(m * f), p.Timely.Share(m * f), p.Timely.Share(7 * m * f)})
			}
		}
	}
	if p.PerDay > 0 {
		plot.At, plot.AtName = min(max(x(p.PerDay), .002), .998), fmt.Sprintf("now: %s a day", chart.Count(math.Round(p.PerDay*10)/10))
		if p.Measured.Known {
			plot.Dots = []chart.Dot{
				{X: plot.At, Y: p.Measured.Week, Class: "week", Title: "found within a week: " + chart.Percent(p.Measured.Week)},
				{X: plot.At, Y: p.Measured.Day, Class: "day", Title: "found within a day: " + chart.Percent(p.Measured.Day)},
			}
		}
	}
	p.Curve = svg(plot.SVG())
}

// timeTicks are a few days below a chart from first to last.
func timeTicks(first, last store.Time) (ticks []chart.Tick) {
	if last <= first {
		return nil
	}
	layout, parts := "2 Jan", int64(4)
	if last-first < 3*86400 {
		layout, parts = "2 Jan 15:04", 2 // longer: on a phone there is room for so many
	}
	had := ""
	for i := range parts + 1 {
		at := first + (last-first)*i/parts
		if text := time.Unix(at, 0).UTC().Format(layout); text != had {
			ticks, had = append(ticks, chart.Tick{X: float64(i) / float64(parts), Label: text}), text
		}
	}
	return ticks
}

// timelineCycles is how many cycles the timeline has.
const timelineCycles = 90

// timeline shows the latest cycles when they began.
func (p *sitePage) timeline(v *store.View, k *store.Site, now time.Time) error {
	var cycles []*store.CycleRecord
	if err := v.SiteCyclesBack(k.ID, func(c *store.CycleRecord) bool {
		cycles = append(cycles, c)
		return len(cycles) < timelineCycles
	}); err != nil || len(cycles) == 0 {
		return err
	}
	first, last := cycles[len(cycles)-1].At, max(now.Unix(), cycles[0].At)
	t := chart.Timeline{Name: "Cycles, by when they began and the new pages that they found", Ticks: timeTicks(first, last)}
	for i := len(cycles) - 1; i >= 0; i-- {
		c := cycles[i]
		m := chart.Mark{Value: float64(c.New)}
		if last > first {
			m.X = float64(c.At-first) / float64(last-first)
		}
		switch {
		case c.Kind == store.FirstVisit:
			m.Class = "first"
		case c.Fetched > 0 && c.Errors*2 > c.Fetched, c.Fetched == 0 && c.Errors > 0:
			m.Class = "bad"
		case c.Kind == store.FullRecrawl:
			m.Class = "full"
		}
		m.Title = fmt.Sprintf("%s %d, %s: %s, %s fetched", cycleKinds[c.Kind], c.Cycle, time.Unix(c.At, 0).UTC().Format("2006-01-02 15:04"), plural(c.New, "new page", "new pages"), plural(c.Refetched, "old document", "old documents"))
		if c.Errors > 0 {
			m.Title += fmt.Sprintf(", %d failed", c.Errors)
		}
		t.Marks = append(t.Marks, m)
	}
	p.Timeline = svg(t.SVG())
	return nil
}

// robots reads the robots.txt in force, of the origins of the seeds.
func (p *sitePage) robots(v *store.View, k *store.Site) error {
	had := map[string]bool{}
	for _, seed := range k.Seeds {
		u, err := url.Parse(seed)
		if err != nil {
			continue
		}
		o := origin(u)
		if had[o] || len(had) == 5 {
			continue
		}
		had[o] = true
		rec, err := v.Robots(o)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		text := strings.ToValidUTF8(string(rec.Body[:min(len(rec.Body), shownRobots)]), "\ufffd")
		p.Robots = append(p.Robots, &robotsRow{rec, printable.Lines(text), len(rec.Body) > shownRobots})
	}
	return nil
}
