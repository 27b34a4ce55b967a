// Package metrics shows what a service does to Prometheus.
//
// New makes a handler for /metrics. Counters begin with the process, gauges are read of the store when they are asked for, but for
// what takes long, which Run works out now and then. No label holds a URL: a site of
// scope prefix, whose name is one, is shown by its host and its number. At most 200 sites have a label of their own, those
// that the store has known longest; the others are summed as "other".
package metrics

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"forage/crawl"
	"forage/crawl/plan"
	"forage/fetch"
	"forage/store"
	"forage/webhook"
)

// Options say what is shown.
type Options struct {
	Crawl    *crawl.Crawl
	Visits   func(yield func(site string, late, skipped int64)) // how often visits of each site that is watched began late, and were left out
	Webhooks *webhook.Sender
	Log      *slog.Logger // nil: none
}

const (
	maxSites   = 200 // with a label of their own
	other      = "other"
	maxEvents  = 5000            // looked at in one answer
	coverEvery = 5 * time.Minute // coverage is worked out so often
)

// Metrics collects what is shown.
type Metrics struct {
	Options
	*page

	mu     sync.Mutex // held while metrics are collected
	seq    uint64     // of the last event that was counted
	events map[store.EventType]int64
	delays delays
	sites  map[string]coverage // those with a label of their own, by name
}

// labelOf is what a site is called: its name, or, where that is a URL, its host and number.
func labelOf(s *store.Site) string {
	if !strings.Contains(s.Name, "://") {
		return s.Name
	}
	return fmt.Sprintf("%s#%d", store.HostOf(s.Name), s.ID)
}

// A coverage is that of a site after a cycle.
type coverage struct {
	label string
	last  store.Cycle
	share float64 // below 0: it is not known
}

// New returns metrics of a service. Run goes with them.
func New(o Options) (*Metrics, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := &Metrics{Options: o, seq: o.Crawl.DB().LastEvent(), events: map[store.EventType]int64{}, sites: map[string]coverage{}}
	var err error
	if m.page, err = newPage(o.Log); err == nil {
		err = m.registry.Register(m)
	}
	return m, err
}

// A page shows what is registered.
type page struct {
	registry *prometheus.Registry
	log      *slog.Logger
}

// newPage shows what is of the process.
func newPage(log *slog.Logger) (*page, error) {
	r := prometheus.NewRegistry()
	return &page{r, log}, errors.Join(r.Register(collectors.NewGoCollector()), r.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})))
}

// ServeHTTP answers with all metrics as text. It is not promhttp that does, which would make the program 0.3 MB larger.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	families, err := p.registry.Gather()
	var text bytes.Buffer
	for _, f := range families {
		if err == nil {
			_, err = expfmt.MetricFamilyToText(&text, f)
		}
	}
	if err != nil {
		p.log.Warn("metrics cannot be collected", "error", err)
		http.Error(w, "metrics cannot be collected: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
	w.Write(text.Bytes())
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("forage_"+name, help, labels, nil)
}

var (
	fetches  = desc("fetches_total", "Answers to requests, by what came of them.", "what", "outcome")
	received = desc("received_bytes_total", "Bytes received with answers.")
	seconds  = desc("fetch_seconds", "Time of a request by phase: header to the end of the header block, body from there on, loop all that is waited for besides.", "phase")
	hosts    = desc("hosts", "Hosts by what they wait for: ready for their turn, crowded for others at their address.", "state")
	requests = desc("requests", "Requests under way.")

	siteFetches = desc("site_fetches_total", "Answers to requests for documents of a site, ever.", "site")
	siteErrors  = desc("site_errors_total", "Fetches of a site that failed, ever.", "site")
	siteBytes   = desc("site_received_bytes_total", "Bytes received of a site, ever.", "site")
	queue       = desc("queue", "Documents that wait to be fetched.", "site")
	pages       = desc("pages", "Pages known.", "site")
	newPages    = desc("new_pages", "Pages that are new since the first visit.", "site")
	gonePages   = desc("gone_pages", "Pages that are gone.", "site")
	covered     = desc("coverage_ratio", "Share of the new pages found since the last full recrawl, as estimated.", "site")
	late        = desc("cycles_late_total", "Cycles that began more than 5 s after they were due.", "site")
	skipped     = desc("cycles_skipped_total", "Cycles left out as the one before was still running.", "site")

	happened  = desc("events_total", "Events told of.", "type")
	lastEvent = desc("last_event", "Number of the last event.")
	delay     = desc("discovery_delay_seconds", "New pages by how long they can have been there: since the last look that did not show them.")

	deliveries = desc("deliveries_total", "Attempts to deliver an event to a webhook that were accepted or failed, and events given up.", "webhook", "result")
	behind     = desc("webhook_behind", "Events from the first one that a webhook did not get to the last.", "webhook")

	size      = desc("store_bytes", "What the database takes on the disk.")
	siteCount = desc("sites", "Sites known.")
)

var ofLoop = []*prometheus.Desc{fetches, received, seconds, hosts, requests}

var ofStore = []*prometheus.Desc{
	siteFetches, siteErrors, siteBytes, queue, pages, newPages, gonePages, covered, late, skipped,
	happened, lastEvent, delay, deliveries, behind, size, siteCount,
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range append(ofLoop[:len(ofLoop):len(ofLoop)], ofStore...) {
		ch <- d
	}
}

// A sender sends a figure.
type sender func(d *prometheus.Desc, t prometheus.ValueType, v float64, labels ...string)

func sendTo(ch chan<- prometheus.Metric) sender {
	return func(d *prometheus.Desc, t prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, t, v, labels...)
	}
}

const count, gauge = prometheus.CounterValue, prometheus.GaugeValue

// Collect implements prometheus.Collector. O(sites + new events).
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	collectLoop(ch, m.Crawl.Counts())
	m.collectStore(ch)
}

// collectLoop shows what is of all stores that share a loop.
func collectLoop(ch chan<- prometheus.Metric, n crawl.Counts) {
	send := sendTo(ch)
	for what, by := range map[string]*[64]int64{"document": &n.Documents, "requisite": &n.Requisites, "other": &n.Others} {
		for class, n := range by {
			if n > 0 {
				send(fetches, count, float64(n), what, fetch.Class(class).String())
			}
		}
	}
	send(received, count, float64(n.Bytes))
	for phase, t := range map[string]*crawl.Times{"header": &n.Header, "body": &n.Body, "loop": &n.Loop} {
		below := map[float64]uint64{}
		all := t.Each(func(bound time.Duration, n int64) { below[bound.Seconds()] = uint64(n) })
		ch <- prometheus.MustNewConstHistogram(seconds, uint64(all), t.Sum.Seconds(), below, phase)
	}
	send(hosts, gauge, float64(n.Hosts), "known")
	send(hosts, gauge, float64(n.Ready), "ready")
	send(hosts, gauge, float64(n.Crowded), "crowded")
	send(requests, gauge, float64(n.Out))
}

// collectStore shows what is of a store.
func (m *Metrics) collectStore(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	send := sendTo(ch)
	db := m.Crawl.DB()
	send(size, gauge, float64(db.Size()))
	send(lastEvent, gauge, float64(db.LastEvent()))
	if m.Webhooks != nil {
		m.Webhooks.Counts(func(name string, c webhook.Counts, n uint64) {
			send(deliveries, count, float64(c.Delivered), name, "accepted")
			send(deliveries, count, float64(c.Failed), name, "failed")
			send(deliveries, count, float64(c.Dead), name, "given_up")
			send(behind, gauge, float64(n), name)
		})
	}

	v := db.Snapshot()
	err := errors.Join(m.collectSites(v, send), m.countEvents(v), v.Close())
	if err != nil {
		ch <- prometheus.NewInvalidMetric(size, err)
	}
	for _, t := range store.EventTypes {
		send(happened, count, float64(m.events[t]), string(t))
	}
	ch <- prometheus.MustNewConstHistogram(delay, m.delays.all, m.delays.sum, m.delays.below())
}

// collectSites shows what is of sites.
func (m *Metrics) collectSites(v *store.View, send sender) error {
	type sums struct {
		fetches, errors, bytes, queued, pages, new, gone, late, skipped int64
	}
	by := map[string]*sums{}
	of := func(name string) *sums {
		label := other
		if c, own := m.sites[name]; own {
			label = c.label
		}
		if by[label] == nil {
			by[label] = new(sums)
		}
		return by[label]
	}
	known := 0
	var failed error
	err := v.SitesFrom(0, func(s *store.Site) bool {
		if known++; known <= maxSites {
			if _, ok := m.sites[s.Name]; !ok {
				m.sites[s.Name] = coverage{label: labelOf(s), share: -1}
			}
		}
		var c *store.Counters
		if c, failed = v.Counters(s.ID); failed != nil {
			return false
		}
		n := of(s.Name)
		n.fetches += c.Fetches
		n.errors += c.Errors
		n.bytes += c.Bytes
		n.queued += c.Queued()
		n.pages += c.Distinct
		n.new += c.New
		n.gone += c.Gone
		return true
	})
	m.Visits(func(name string, late, skipped int64) {
		n := of(name)
		n.late += late
		n.skipped += skipped
	})
	const count, gauge = prometheus.CounterValue, prometheus.GaugeValue
	send(siteCount, gauge, float64(known))
	for name, n := range by {
		send(siteFetches, count, float64(n.fetches), name)
		send(siteErrors, count, float64(n.errors), name)
		send(siteBytes, count, float64(n.bytes), name)
		send(queue, gauge, float64(n.queued), name)
		send(pages, gauge, float64(n.pages), name)
		send(newPages, gauge, float64(n.new), name)
		send(gonePages, gauge, float64(n.gone), name)
		send(late, count, float64(n.late), name)
		send(skipped, count, float64(n.skipped), name)
	}
	for _, c := range m.sites {
		if c.share >= 0 && c.label != other { // of that it would be one of many
			send(covered, gauge, c.share, c.label)
		}
	}
	return errors.Join(err, failed)
}

// countEvents counts what came since the last time. Where that is much the rest is counted the next time.
func (m *Metrics) countEvents(v *store.View) error {
	n := 0
	return v.Events(m.seq, func(e *store.Event) bool {
		m.seq = e.Seq
		m.events[e.Type]++
		if e.Type == store.PageNew && e.PreviousLook != 0 {
			m.delays.add(float64(e.At - e.PreviousLook))
		}
		n++
		return n < maxEvents
	})
}

// delayBounds are upper bounds of delays of discovery, in seconds.
var delayBounds = [...]float64{60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400, 30 * 86400}

// delays is a histogram of them.
type delays struct {
	n   [len(delayBounds) + 1]uint64
	all uint64
	sum float64
}

func (d *delays) add(s float64) {
	i := 0
	for i < len(delayBounds) && s > delayBounds[i] {
		i++
	}
	d.n[i]++
	d.all++
	d.sum += s
}

func (d *delays) below() map[float64]uint64 {
	below, n := map[float64]uint64{}, uint64(0)
	for i, b := range delayBounds {
		n += d.n[i]
		below[b] = n
	}
	return below
}

// Run works out the coverage of sites that have had a cycle since, until ctx ends.
func (m *Metrics) Run(ctx context.Context) {
	t := time.NewTicker(coverEvery)
	defer t.Stop()
	for {
		if err := m.cover(ctx); err != nil && !errors.Is(err, store.ErrClosed) {
			m.Log.Warn("coverage cannot be worked out", "error", err)
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// cover works out the coverage of the sites that have a label of their own.
func (m *Metrics) cover(ctx context.Context) error {
	var sites []*store.Site
	v := m.Crawl.DB().Snapshot()
	err := v.SitesFrom(0, func(s *store.Site) bool { sites = append(sites, s); return len(sites) < maxSites })
	for _, s := range sites {
		if ctx.Err() != nil || err != nil {
			break
		}
		m.mu.Lock()
		was, ok := m.sites[s.Name]
		m.mu.Unlock()
		if ok && was.last == s.LastCycle {
			continue
		}
		var d *plan.Discovery
		if d, err = plan.Discovered(v, s.ID, 0); err != nil {
			break
		}
		c := coverage{labelOf(s), s.LastCycle, -1}
		if d.Cycles > 0 && !math.IsNaN(d.Coverage.Share) {
			c.share = d.Coverage.Share
		}
		m.mu.Lock()
		m.sites[s.Name] = c
		m.mu.Unlock()
	}
	return errors.Join(err, v.Close())
}
