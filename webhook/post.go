package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"forage/fetch"
	"forage/internal/printable"
)

// attemptTime is how long an attempt takes at most, in all.
const attemptTime = 15 * time.Second

// A poster makes requests to one target.
type poster struct {
	target *Target
	agent  string
	keys   [][]byte
	client *http.Client
}

// newPoster returns a poster. dial is that of tests; nil: to public addresses and those that are allowed.
func newPoster(t *Target, agent string, dial func(context.Context, string, string) (net.Conn, error)) (*poster, error) {
	keys, err := keysOf(t.Secrets)
	if err != nil {
		return nil, err
	}
	if dial == nil {
		dial = fetch.Dialer(t.Allow).DialContext
	}
	return &poster{t, agent, keys, &http.Client{
		// No proxy: it would connect for us, wherever that is.
		Transport:     &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// post sends a body once.
func (p *poster) post(ctx context.Context, id string, body []byte) Attempt {
	start := time.Now()
	res := Attempt{At: start.UTC(), Event: id}
	var err error
	res.Status, res.retryAfter, err = p.attempt(ctx, id, start.Unix(), body)
	res.Took = time.Since(start)
	res.Millis = res.Took.Milliseconds()
	if err != nil {
		res.Error = printable.Text(err.Error())
	}
	return res
}

func (p *poster) attempt(ctx context.Context, id string, now int64, body []byte) (status int, retryAfter time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, attemptTime, fmt.Errorf("no answer within %v", attemptTime))
	defer cancel()
	defer func() {
		if cause := context.Cause(ctx); cause != nil && err != nil {
			err = cause
		}
	}()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.target.URL, bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", p.agent)
	for name, value := range p.target.Header {
		if strings.EqualFold(name, "Host") {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	r.Header.Set("webhook-id", id)
	r.Header.Set("webhook-timestamp", strconv.FormatInt(now, 10))
	if len(p.keys) > 0 {
		r.Header.Set("webhook-signature", sign(p.keys, id, now, body))
	}
	res, err := p.client.Do(r)
	if err != nil {
		if of := (*url.Error)(nil); errors.As(err, &of) { // it repeats the URL, which may be secret
			err = of.Err
		}
		return 0, 0, err
	}
	defer res.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(res.Body, 16<<10)) // so that the connection can be used again; the status says it all
	if res.StatusCode/100 == 2 {
		return res.StatusCode, 0, nil
	}
	if s := res.Header.Get("Retry-After"); s != "" {
		if n, e := strconv.Atoi(s); e == nil {
			retryAfter = time.Duration(min(max(n, 0), 1<<20)) * time.Second
		} else if at, e := http.ParseTime(s); e == nil {
			retryAfter = max(time.Until(at), 0)
		}
	}
	why := "it answered " + res.Status
	switch line, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n"); {
	case res.StatusCode/100 == 3:
		why += ", and redirects are not followed"
	case line != "":
		why += ": " + line[:min(len(line), 200)]
	}
	return res.StatusCode, retryAfter, errors.New(why)
}
