package metrics

import (
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"forage/crawl"
)

// Several are the metrics of several stores that share a loop: what is of a store has the label partition, what is of the loop is there once.
type Several struct {
	*page
	counts func() crawl.Counts
}

// NewSeveral returns metrics of no store yet. counts are those of the loop.
func NewSeveral(counts func() crawl.Counts, log *slog.Logger) (*Several, error) {
	p, err := newPage(log)
	s := &Several{p, counts}
	if err == nil {
		err = p.registry.Register(s)
	}
	return s, err
}

// Describe implements prometheus.Collector.
func (s *Several) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range ofLoop {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (s *Several) Collect(ch chan<- prometheus.Metric) { collectLoop(ch, s.counts()) }

// Add shows a store, too, until remove is called; when that has returned nothing of it is being read. What m is made of but its store is that of a service.
func (s *Several) Add(m *Metrics, partition string) (remove func(), err error) {
	r := prometheus.WrapRegistererWith(prometheus.Labels{"partition": partition}, s.registry)
	c := &part{m: m}
	if err := r.Register(c); err != nil {
		return nil, err
	}
	return func() {
		r.Unregister(c)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.gone = true
	}, nil
}

// A part shows what is of a store.
type part struct {
	m    *Metrics
	mu   sync.Mutex
	gone bool
}

// Describe implements prometheus.Collector.
func (p *part) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range ofStore {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (p *part) Collect(ch chan<- prometheus.Metric) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		p.m.collectStore(ch)
	}
}
