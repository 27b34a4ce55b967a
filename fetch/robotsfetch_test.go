package fetch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"forage/fetch/robots"
	"forage/internal/shared"
)

// A robotsCase is a line of robots_fetch.jsonl.
type robotsCase struct {
	ID, Level string
	Responses []struct {
		Status  int
		Body    string
		Headers map[string]string
		Hops    int    `json:"redirect_hops"`
		To      string `json:"redirect_to"`
		Fault   string
		Gen     string `json:"body_gen"`
		Final   *struct {
			Status int
			Body   string
			Type   string `json:"content_type"`
		}
	}
	Expect struct {
		Fetch, Never []string
		Retry        bool
		Kept         bool   `json:"urls_kept_queued"`
		RetryAfter   int    `json:"robots_retry_after_s"`
		NoConnection string `json:"no_connection_to"`
		MinGap       int    `json:"min_gap_s"`
		MaxDecoded   int    `json:"max_decompressed"`
		MaxGrowth    int64  `json:"rss_growth_max_mb"`
	}
}

// TestRobotsFetch answers /robots.txt on loopback as each case says, and asks what is allowed.
func TestRobotsFetch(t *testing.T) {
	f, err := os.Open(shared.Path(t, "conformance", "robots_fetch.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		var c robotsCase
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if len(c.Responses) != 1 {
			t.Fatalf("%s: %d responses", c.ID, len(c.Responses))
		}
		n++
		t.Run(c.ID, func(t *testing.T) { c.run(t) })
	}
	if n < 22 {
		t.Errorf("%d cases, want at least 22", n)
	}
}

func (c *robotsCase) run(t *testing.T) {
	resp := c.Responses[0]
	cfg := Config{UserAgent: "forage/9 (+x)"}
	if strings.HasSuffix(resp.Fault, "-timeout") {
		cfg.Timeout = 300 * time.Millisecond
	}
	client := newClient(t, cfg)
	var zeros []byte
	if resp.Gen != "" {
		zeros = encode(t, "gzip", make([]byte, 64<<20))
	}
	var asked atomic.Int64
	var base string
	final := func(w http.ResponseWriter) {
		if resp.Final.Type != "" {
			w.Header().Set("Content-Type", resp.Final.Type)
		}
		w.WriteHeader(resp.Final.Status)
		io.WriteString(w, resp.Final.Body)
	}
	other := serve(t, func(w http.ResponseWriter, r *http.Request) { final(w) })
	stop := make(chan struct{})
	defer close(stop)
	base = serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		for k, v := range resp.Headers {
			w.Header().Set(k, v)
		}
		hop := 0
		fmt.Sscanf(r.URL.Path, "/hop/%d", &hop)
		switch {
		case resp.Fault == "read-timeout":
			select {
			case <-stop:
			case <-r.Context().Done():
			}
		case resp.Fault == "reset-mid-body":
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "User-agent: *\n")
			w.(http.Flusher).Flush()
			nc, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			nc.(*net.TCPConn).SetLinger(0)
			nc.Close()
		case hop < resp.Hops:
			http.Redirect(w, r, fmt.Sprintf("/hop/%d", hop+1), http.StatusFound)
		case resp.Hops > 0 || resp.To != "" && r.URL.Path == resp.To:
			final(w)
		case resp.To != "":
			http.Redirect(w, r, strings.Replace(resp.To, "http://other.test", other, 1), http.StatusFound)
		case resp.Gen != "":
			for range 16 {
				if _, err := w.Write(zeros); err != nil {
					return
				}
			}
		default:
			w.WriteHeader(resp.Status)
			io.WriteString(w, resp.Body)
		}
	})
	origin := base
	if strings.HasPrefix(resp.Fault, "dns") {
		origin = "http://no-such-host.test"
		client.dialer.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			if resp.Fault == "dns-timeout" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return nil, errors.New("no name server")
		}}
	}
	var rules *Robots
	var o *Outcome
	grown := peakGrowth(t, func() {
		var err error
		if rules, o, err = client.Robots(t.Context(), origin, new(Request), nil); err != nil {
			t.Fatal(err)
		}
	})
	for _, path := range c.Expect.Fetch {
		if !rules.Allowed(origin + path) {
			t.Errorf("%s is not allowed (status %d, %v)", path, rules.Status, o.Class)
		}
	}
	for _, path := range c.Expect.Never {
		if rules.Allowed(origin + path) {
			t.Errorf("%s is allowed (status %d, %v)", path, rules.Status, o.Class)
		}
	}
	if (c.Expect.Retry || c.Expect.Kept || c.Expect.RetryAfter > 0) && !rules.Unreachable() {
		t.Error("the rules stand; want them unreachable, to be asked for again")
	}
	if got := int(o.RetryAfter.Seconds()); got != c.Expect.RetryAfter {
		t.Errorf("wait %d s, want %d", got, c.Expect.RetryAfter)
	}
	if c.Expect.NoConnection != "" && (o.Class != PrivateAddress || o.Addr.IsValid()) {
		t.Errorf("%v at %v, want no connection", o.Class, o.Addr)
	}
	if c.Expect.MinGap > 0 && rules.CrawlDelay() != time.Duration(c.Expect.MinGap)*time.Second {
		t.Errorf("crawl delay %v", rules.CrawlDelay())
	}
	if c.Expect.MaxDecoded > 0 && (len(rules.Body) > c.Expect.MaxDecoded || grown > c.Expect.MaxGrowth<<20) {
		t.Errorf("%d bytes, memory +%d MiB", len(rules.Body), grown>>20)
	}
	if c.ID == "redirect-into-disallowed" && rules.Allowed(origin+"/private") {
		t.Error("the target of the redirect is allowed")
	}
	// What a store keeps makes the same rules again.
	again := ReadRobots("Forage/2", rules.Status, bytes.Clone(rules.Body), rules.Fetched)
	for _, path := range append(c.Expect.Fetch, c.Expect.Never...) {
		if again.Allowed(origin+path) != rules.Allowed(origin+path) {
			t.Errorf("%s differs after a restart", path)
		}
	}
}

// More than the file's limit is neither read nor fatal, and more redirects mean no rules.
func TestRobotsLimits(t *testing.T) {
	var sent atomic.Int64
	rule := bytes.Repeat([]byte("Disallow: /private\n"), 500)
	s := serveTCP(t, endless(&sent, "HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\nUser-agent: *\n", rule, 100<<20))
	r, o, err := newClient(t, Config{}).Robots(t.Context(), s.url, new(Request), nil)
	if err != nil || len(r.Body) != robots.MaxSize || o.Wire > 1<<20 || r.Allowed(s.url+"/private/x") || !r.Allowed(s.url+"/ok") {
		t.Errorf("100 MiB: %d bytes read, %d on the wire, %v", len(r.Body), o.Wire, err)
	}
	base := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) })
	if r, o, _ := newClient(t, Config{}).Robots(t.Context(), base, new(Request), nil); !r.Allowed(base + "/ok") {
		t.Errorf("endless redirects: %v", o.Class)
	}
}
