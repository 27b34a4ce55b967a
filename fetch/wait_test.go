package fetch

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"forage/fetch/fetchtest"
)

// Request.Wait ends a request to a host that takes no connection, or takes it and says nothing, and none of
// which the answer has begun.
func TestWait(t *testing.T) {
	for _, test := range []struct {
		name, url string
		deaf      bool // no connection is taken
		answer    func(w http.ResponseWriter)
		wait      time.Duration
		class     Class
		took      time.Duration
	}{
		{name: "deaf", url: "http://127.0.0.1:8080/", deaf: true, wait: 5 * time.Second, class: Timeout, took: 5 * time.Second},
		{name: "deaf, with the limits of Config", url: "http://127.0.0.1:8080/", deaf: true, class: Timeout, took: 10 * time.Second},
		{name: "deaf, over TLS", url: "https://127.0.0.1:8080/", deaf: true, wait: 5 * time.Second, class: Timeout, took: 5 * time.Second},
		{name: "mute", url: "http://127.0.0.1:8080/", answer: func(http.ResponseWriter) { time.Sleep(time.Hour) }, wait: 5 * time.Second, class: Timeout, took: 5 * time.Second},
		{name: "mute, with the limits of Config", url: "http://127.0.0.1:8080/", answer: func(http.ResponseWriter) { time.Sleep(time.Hour) }, class: Timeout, took: 30 * time.Second},
		{name: "longer than others wait", url: "http://127.0.0.1:8080/", answer: func(http.ResponseWriter) { time.Sleep(time.Hour) }, wait: time.Minute, class: Timeout, took: 30 * time.Second},
		{name: "late", url: "http://127.0.0.1:8080/", answer: func(w http.ResponseWriter) { time.Sleep(4 * time.Second) }, wait: 5 * time.Second, class: OK, took: 4 * time.Second},
		{name: "slow body", url: "http://127.0.0.1:8080/", answer: func(w http.ResponseWriter) {
			for range 20 {
				io.WriteString(w, strings.Repeat("x", 4<<10))
				w.(http.Flusher).Flush()
				time.Sleep(time.Second)
			}
		}, wait: 5 * time.Second, class: OK, took: 20 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := fetchtest.New()
				if test.deaf {
					l, err := network.Listen("127.0.0.1:8080")
					if err != nil {
						t.Fatal(err)
					}
					defer l.Close()
				} else {
					s := network.Server("127.0.0.1:8080", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						w.Header().Set("Content-Type", "text/html")
						test.answer(w)
					}))
					defer s.Close()
				}
				c := newClient(t, Config{Dial: network.Dial, Lookup: network.Lookup})
				defer c.Close()
				start := time.Now()
				o, err := c.Fetch(t.Context(), &Request{URL: test.url, Wait: test.wait})
				if took := time.Since(start); err != nil || o.Class != test.class || took != test.took || !o.Transient() && o.Class != OK {
					t.Errorf("Fetch = %v (%s), %v after %v; want %v after %v", o.Class, o.Reason, err, took, test.class, test.took)
				}
				o.Release()
			})
		})
	}
}
