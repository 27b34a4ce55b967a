package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"forage/crawl"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/store"
	"forage/webhook"
)

// calendar is the machine's clock on another day.
type calendar struct{}

var today atomic.Int64

func (calendar) Now() time.Time                         { return time.Now() }
func (calendar) Wall() time.Time                        { return time.Unix(1_700_000_000+86400*today.Load(), 0) }
func (calendar) After(d time.Duration) <-chan time.Time { return time.After(d) }

// newMetrics returns metrics of a new store, and a crawl that owns it.
func newMetrics(t testing.TB, targets ...webhook.Target) (*Metrics, *crawl.Crawl) {
	t.Helper()
	cfg := crawl.Config{Dir: t.TempDir(), Delay: -1, Clock: calendar{}, Fetch: fetch.Config{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}}
	cr, err := crawl.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cr.Close() })
	hooks, err := webhook.New(webhook.Options{DB: cr.DB(), Write: cr.Write}, targets)
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(Options{Crawl: cr, Webhooks: hooks, Visits: func(yield func(string, int64, int64)) {
		yield("site0000.test", 3, 4)
		yield("nowhere.test", 1, 1)
		yield("site0999.test", 5, 6)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return m, cr
}

// scrape returns what is shown, by name and labels.
func scrape(t testing.TB, m *Metrics) (text string, values map[string]string) {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	text, values = w.Body.String(), map[string]string{}
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, text)
	}
	for line := range strings.Lines(text) {
		if i := strings.LastIndexByte(line, ' '); line[0] != '#' && i > 0 {
			values[line[:i]] = strings.TrimSpace(line[i:])
		}
	}
	return text, values
}

// TestMetrics crawls a site, visits it again, and looks at what is counted.
func TestMetrics(t *testing.T) {
	posts := 3
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		switch _, err := fmt.Sscanf(r.URL.Path, "/post/%d", &n); {
		case r.URL.Path == "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<!doctype html><title>home</title><p>The posts of this blog.")
			for i := range posts {
				fmt.Fprintf(w, "<p><a href=/post/%d>post %d</a>", i, i)
			}
		case err == nil && n < posts:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<!doctype html><title>post %d</title><p>%s<a href=/>home</a>", n, strings.Repeat(fmt.Sprintf("Of subject %d much is to be said. ", n), 5))
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	m, cr := newMetrics(t, webhook.Target{Name: "team", URL: "http://a.test/"})
	url := site.URL + "/"
	if _, err := cr.Run(t.Context(), []scope.Seed{{URL: url, Rules: store.Rules{Scope: "host"}}}, crawl.Options{}); err != nil {
		t.Fatal(err)
	}
	posts = 5
	today.Add(1)
	if _, err := cr.Revisit(t.Context(), plan.Plan{Sites: []string{strings.TrimPrefix(site.URL, "http://")}, Budget: func(int) int { return 4 }, Text: "4"}, crawl.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := m.cover(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, v := scrape(t, m)
	label := fmt.Sprintf(`{site="%s"}`, strings.TrimPrefix(site.URL, "http://"))
	for name, want := range map[string]string{
		"forage_new_pages" + label: "2", "forage_pages" + label: "6", "forage_queue" + label: "0", "forage_sites": "1",
		`forage_events_total{type="page.new"}`: "2", `forage_events_total{type="site.ready"}`: "1", "forage_last_event": "4",
		`forage_deliveries_total{result="accepted",webhook="team"}`: "0", `forage_webhook_behind{webhook="team"}`: "4",
		`forage_discovery_delay_seconds_bucket{le="43200"}`: "0", `forage_discovery_delay_seconds_bucket{le="86400"}`: "2", "forage_discovery_delay_seconds_sum": "172800", "forage_requests": "0",
		`forage_cycles_late_total{site="other"}`: "9", `forage_cycles_skipped_total{site="other"}`: "11",
	} {
		if v[name] != want {
			t.Errorf("%s is %q, want %s", name, v[name], want)
		}
	}
	// The crawl's own counts of answers and bytes are those of the store.
	s, err := cr.View().SiteNamed(strings.TrimPrefix(site.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := cr.View().Counters(s.ID)
	if err != nil {
		t.Fatal(err)
	}
	n, documents := cr.Counts(), int64(0)
	for _, k := range n.Documents {
		documents += k
	}
	if documents != c.Fetches || n.Documents[fetch.OK] == 0 || n.Bytes < c.Bytes || n.Bytes == 0 {
		t.Errorf("counted %d answers and %d bytes, the store has %d and %d", documents, n.Bytes, c.Fetches, c.Bytes)
	}
	others := int64(0)
	for _, k := range n.Others {
		others += k
	}
	headers := n.Header.Each(func(time.Duration, int64) {})
	if all := n.Loop.Each(func(time.Duration, int64) {}); all != documents+others || headers != all || n.Header.Sum <= 0 || n.Loop.Sum <= 0 {
		t.Errorf("%d answers, %d of others, %d times, %d of them of headers, %v and %v", documents, others, all, headers, n.Header.Sum, n.Loop.Sum)
	}
	if v[`forage_fetches_total{outcome="ok",what="document"}`] != fmt.Sprint(n.Documents[fetch.OK]) || v["forage_site_fetches_total"+label] != fmt.Sprint(c.Fetches) {
		t.Errorf("shown: %s", text)
	}
	if v["forage_store_bytes"] == "" || v["forage_store_bytes"] == "0" || v["forage_coverage_ratio"+label] == "" || v["go_goroutines"] == "" {
		t.Errorf("shown: %s", text)
	}
	if strings.Contains(text, "://") || strings.Contains(text, "/post") {
		t.Errorf("a URL is shown: %s", text)
	}
	if _, again := scrape(t, m); again[`forage_events_total{type="page.new"}`] != "2" {
		t.Error("events are counted twice")
	}

	// All that is described is shown, and the other way round.
	p := prometheus.NewPedanticRegistry()
	if err := p.Register(m); err != nil {
		t.Fatal(err)
	}
	families, err := p.Gather()
	if err != nil {
		t.Error(err)
	}
	if len(families) != len(ofLoop)+len(ofStore) {
		t.Errorf("%d families are shown, %d are described", len(families), len(ofLoop)+len(ofStore))
	}
	if err := cr.DB().EndReads(); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	if m.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil)); w.Code != http.StatusInternalServerError {
		t.Errorf("of a store that is closed: status %d", w.Code)
	}
}

// TestBounds: of 1,000 sites 200 have labels of their own, what is shown is small, and nothing is left out of the sums.
func TestBounds(t *testing.T) {
	m, cr := newMetrics(t)
	fill(t, cr, 1000)
	text, v := scrape(t, m)
	labels := map[string]bool{}
	for _, l := range regexp.MustCompile(`site="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		labels[l[1]] = true
	}
	if len(labels) != maxSites+1 || !labels["site0000.test"] || !labels["site0199.test"] || labels["site0200.test"] || !labels[other] {
		t.Errorf("%d labels", len(labels))
	}
	if len(text) > 1<<20 {
		t.Errorf("%d bytes are shown", len(text))
	}
	if v[`forage_site_fetches_total{site="site0007.test"}`] != "1000" || v[`forage_site_fetches_total{site="other"}`] != "800000" || v["forage_sites"] != "1000" {
		t.Error("the counts of sites are wrong")
	}
	if v[`forage_cycles_late_total{site="site0000.test"}`] != "3" || v[`forage_cycles_late_total{site="other"}`] != "6" {
		t.Error("the counts of cycles are wrong")
	}
	t.Logf("%d bytes are shown", len(text))
}

// TestPrefix: sites whose names are URLs, two of one host, have labels that are none.
func TestPrefix(t *testing.T) {
	m, cr := newMetrics(t)
	if err := cr.Write(func(db *store.DB) (err error) {
		for i, name := range []string{"https://example.test/blog/", "https://example.test/~someone/secret/", "http://example.test:8080/"} {
			s := &store.Site{Name: name, Rules: store.Rules{Scope: "prefix"}, State: store.SiteDone}
			err = errors.Join(err, db.AddSite(s), db.Count(s.ID, int64(i)+1, 1000, 0))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := m.cover(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, v := scrape(t, m)
	for label, want := range map[string]string{"example.test#1": "1", "example.test#2": "2", "example.test:8080#3": "3"} {
		if got := v[`forage_site_fetches_total{site="`+label+`"}`]; got != want {
			t.Errorf("%s has %q fetches, want %s", label, got, want)
		}
	}
	if strings.Contains(text, "://") || strings.Contains(text, "secret") {
		t.Errorf("a URL is shown: %s", text)
	}
}

// fill adds sites of 1,000 fetches each, and events, to a store.
func fill(t testing.TB, cr *crawl.Crawl, sites int) {
	t.Helper()
	if err := cr.Write(func(db *store.DB) (err error) {
		for i := range sites {
			s := &store.Site{Name: fmt.Sprintf("site%04d.test", i), Rules: store.Rules{Scope: "host"}, State: store.SiteDone}
			err = errors.Join(err, db.AddSite(s), db.Count(s.ID, 1000, 1_000_000, 3))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkScrape collects the metrics of 1,000 sites, between two of which nothing has happened or 1,000 events have.
func BenchmarkScrape(b *testing.B) {
	for _, events := range []int{0, 1000} {
		b.Run(fmt.Sprintf("sites=1000/events=%d", events), func(b *testing.B) {
			m, cr := newMetrics(b)
			fill(b, cr, 1000)
			size := 0
			for b.Loop() {
				if events > 0 {
					b.StopTimer()
					if err := cr.Write(func(db *store.DB) error {
						for range events {
							db.PutEvent(&store.Event{Type: store.SiteFine, At: 1_700_000_000, Site: "site0000.test"})
						}
						return nil
					}); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				w := httptest.NewRecorder()
				m.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
				size = w.Body.Len()
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}

// TestRunEnds: what works out coverage ends with its context.
func TestRunEnds(t *testing.T) {
	m, _ := newMetrics(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { m.Run(ctx); close(done) }()
	cancel()
	<-done
}

// TestDashboard: the dashboard asks for metrics and labels that there are.
func TestDashboard(t *testing.T) {
	b, err := os.ReadFile("../deploy/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	m, cr := newMetrics(t, webhook.Target{Name: "team", URL: "http://a.test/"})
	fill(t, cr, 1)
	text, _ := scrape(t, m)
	names := map[string]bool{"forage_coverage_ratio": true, "forage_fetches_total": true} // not before something was fetched
	for _, n := range regexp.MustCompile(`(?m)^([a-z_]+)[ {]`).FindAllStringSubmatch(text, -1) {
		names[n[1]] = true
	}
	used := map[string]bool{}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			found := regexp.MustCompile(`\b(forage|go|process)_[a-z_]+`).FindAllString(target.Expr, -1)
			if len(found) == 0 {
				t.Errorf("%s asks for none: %s", p.Title, target.Expr)
			}
			for _, name := range found {
				if used[name] = true; !names[name] {
					t.Errorf("%s asks for %s, which there is not", p.Title, name)
				}
			}
		}
	}
	for _, desc := range slices.Concat(ofLoop, ofStore) {
		name := regexp.MustCompile(`fqName: "([a-z_]+)"`).FindStringSubmatch(desc.String())[1]
		if !used[name] && !used[name+"_bucket"] {
			t.Errorf("the dashboard shows nothing of %s", name)
		}
	}
}
