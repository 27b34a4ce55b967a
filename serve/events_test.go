package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"forage/report"
	"forage/store"
	"forage/text"
)

type list struct {
	Events     []json.RawMessage
	Next, Last uint64
}

// told returns events as forage events prints them.
func told(t *testing.T, db *store.DB, after uint64) (all []string) {
	t.Helper()
	if err := db.View.Events(after, func(e *store.Event) bool {
		var b bytes.Buffer
		if err := report.WriteJSON(&b, report.NewEvent(e)); err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.TrimSpace(b.String()))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestEvents pages through the events of a site that was crawled, in parts of several sizes and kinds: together
// they are what the store has, byte for byte as it is printed.
func TestEvents(t *testing.T) {
	b := newBlog(t)
	for range 4 {
		b.next(t)
	}
	db := b.crawl.DB()
	want := told(t, db, 0)
	if len(want) < 10 {
		t.Fatalf("%d events", len(want))
	}
	srv := serving(t, Options{DB: db})
	for _, limit := range []int{1, 7, 1000} {
		for _, kind := range []string{"", "page.new", "page.changed", "site.fine"} {
			filter := ""
			if kind != "" {
				filter = "&type=" + kind
			}
			var got []string
			for after := uint64(0); ; {
				l := get[list](t, fmt.Sprintf("%s/api/v1/events?after=%d&limit=%d%s", srv.URL, after, limit, filter))
				if len(l.Events) > limit {
					t.Fatalf("%d events, limit %d", len(l.Events), limit)
				}
				for _, e := range l.Events {
					got = append(got, string(e))
				}
				if l.Last != uint64(len(want)) || l.Next < after {
					t.Fatalf("after %d: next %d, last %d of %d", after, l.Next, l.Last, len(want))
				}
				if after = l.Next; after == l.Last {
					break
				}
			}
			chosen := slices.DeleteFunc(slices.Clone(want), func(e string) bool { return !strings.Contains(e, `"type":"`+kind) })
			if !slices.Equal(got, chosen) {
				t.Errorf("limit %d, type %q: %d events, want %d", limit, kind, len(got), len(chosen))
			}
		}
	}
	both := get[list](t, srv.URL+"/api/v1/events?type=page.new&type=site.ready&limit=1000&site="+strings.TrimPrefix(b.url, "http://"))
	if n := len(both.Events); n == 0 || n >= len(want) {
		t.Errorf("two types: %d of %d events", n, len(want))
	}
	if l := get[list](t, srv.URL+"/api/v1/events?site=other.test"); len(l.Events) != 0 || l.Events == nil || l.Next != l.Last {
		t.Errorf("events of a site that there is not: %+v", l)
	}
}

// TestEventTexts: events have texts where they are asked for and kept, in answers that are not longer for that than they may be, and in streams.
func TestEventTexts(t *testing.T) {
	b := newBlog(t)
	b.next(t)
	db := b.crawl.DB()
	want := told(t, db, 0)
	var asked []text.Format
	srv := serving(t, Options{DB: db, Text: func(of *store.Event, as text.Format, to *report.Event) error {
		asked = append(asked, as)
		said := strings.Repeat("x", maxTexts/2)
		to.Text = &said
		return nil
	}})
	if l := get[list](t, srv.URL+"/api/v1/events"); len(l.Events) != len(want) || len(asked) > 0 {
		t.Errorf("%d events, asked %v", len(l.Events), asked)
	}
	n := 0
	for after := uint64(0); after < uint64(len(want)); {
		l := get[struct {
			Events []report.Event
			Next   uint64
		}](t, fmt.Sprintf("%s/api/v1/events?text=markdown&after=%d", srv.URL, after))
		if len(l.Events) == 0 || len(l.Events) > 2 || l.Events[0].Text == nil {
			t.Fatalf("after %d: %d events", after, len(l.Events))
		}
		n, after = n+len(l.Events), l.Next
	}
	if n != len(want) || len(asked) != n || asked[0] != text.Markdown {
		t.Errorf("%d events of %d, asked %v", n, len(want), asked)
	}
	res, err := http.Get(srv.URL + "/api/v1/events?text=html")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 422 {
		t.Errorf("status %d", res.StatusCode)
	}
}

// TestEventsBadInput asks for events in ways that do not work.
func TestEventsBadInput(t *testing.T) {
	db, s := newStore(t)
	tellReady(t, db, s.Name, 5)
	if _, err := db.DropEvents(1_800_000_000, 3); err != nil {
		t.Fatal(err)
	}
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
	srv := serving(t, Options{DB: db})
	for path, status := range map[string]int{
		"/events?after=6":                           400,
		"/events?after=1":                           410,
		"/events?after=3":                           200,
		"/events":                                   200,
		"/events?after=-1":                          422,
		"/events?after=x":                           422,
		"/events?limit=0":                           422,
		"/events?limit=1001":                        422,
		"/events?wait=soon":                         422,
		"/events?wait=-1s":                          422,
		"/events?type=page.old":                     422,
		"/events?afer=3":                            422,
		"/events/stream?after=6":                    400,
		"/events/stream?after=1":                    410,
		"/events/stream?after=x":                    422,
		"/events/stream?type=x":                     422,
		"/events/stream?after=99999999999999999999": 400,
	} {
		a := ask(t, "GET", srv.URL+"/api/v1"+path, "")
		if status == 200 {
			if a.status != 200 {
				t.Errorf("%s: %d %s", path, a.status, a.body)
			}
			continue
		}
		if p := wantProblem(t, path, a, status); status == 410 && p.First != 4 {
			t.Errorf("%s: first is %d, want 4: %s", path, p.First, a.body)
		}
	}
	wantProblem(t, "Last-Event-ID", ask(t, "GET", srv.URL+"/api/v1/events/stream", "", "Last-Event-ID: 1"), 410)
	wantProblem(t, "Last-Event-ID", ask(t, "GET", srv.URL+"/api/v1/events/stream", "", "Last-Event-ID: page"), 400)
}

// TestEventsWait: a request that waits is answered by the first event that it asks for, and by nothing before.
func TestEventsWait(t *testing.T) {
	db, s := newStore(t)
	tellReady(t, db, s.Name, 3)
	ending := make(chan struct{})
	srv := serving(t, Options{DB: db, Streams: 2, Ending: ending})
	answers := make(chan list)
	var asked sync.WaitGroup
	for range 2 {
		asked.Go(func() { answers <- get[list](t, srv.URL+"/api/v1/events?after=3&wait=1m&type=site.fine") })
	}
	// Both wait when a third one is refused.
	for {
		a := ask(t, "GET", srv.URL+"/api/v1/events?after=3&wait=1ns", "")
		if a.status == 503 {
			wantProblem(t, "one too many", a, 503)
			if a.header.Get("Retry-After") == "" {
				t.Error("503 without Retry-After")
			}
			break
		}
		if a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	wantProblem(t, "one too many", ask(t, "GET", srv.URL+"/api/v1/events/stream", ""), 503)
	if l := get[list](t, srv.URL+"/api/v1/events?after=0&wait=1m"); len(l.Events) != 3 { // what is there needs no wait
		t.Errorf("%d events, want 3", len(l.Events))
	}
	tellReady(t, db, s.Name, 2)
	db.PutEvent(&store.Event{Type: store.SiteFine, At: 1, Site: s.Name})
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if l := <-answers; len(l.Events) != 1 || l.Next != 6 {
			t.Errorf("%s, next %d; want event 6", l.Events, l.Next)
		}
	}
	asked.Wait()
	asked.Go(func() { answers <- get[list](t, srv.URL+"/api/v1/events?after=6&wait=1m") })
	close(ending)
	if l := <-answers; len(l.Events) != 0 || l.Next != 6 {
		t.Errorf("%s, next %d when the service ends; want none, 6", l.Events, l.Next)
	}
}

// A deadlined writer keeps until when it may write.
type deadlined struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (d *deadlined) SetWriteDeadline(t time.Time) error { d.until = t; return nil }

// What was waited for can still be written after the longest wait.
func TestWaitIsWritten(t *testing.T) {
	db, _ := newStore(t)
	ending := make(chan struct{})
	close(ending)
	h, err := New(Options{DB: db, Watch: &watched{}, Public: true, Ending: ending})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	w := &deadlined{ResponseRecorder: httptest.NewRecorder()}
	h.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/events?wait=1m", nil))
	if w.Code != 200 || w.until.Before(start.Add(maxWait+writeTimeout)) {
		t.Errorf("%d, may be written for %v", w.Code, w.until.Sub(start))
	}
}

// A streamed event is one of a stream.
type streamedEvent struct{ id, event, data string }

// readStream passes on the events of a stream, and its comments as events without an id.
func readStream(t *testing.T, url string, header ...string) (events chan streamedEvent, leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("GET %s: %d, %s", url, res.StatusCode, res.Header.Get("Content-Type"))
	}
	events = make(chan streamedEvent)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(events)
		defer res.Body.Close()
		var e streamedEvent
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "id":
				e.id = value
			case "event":
				e.event = value
			case "data":
				e.data = value
			case "":
				if value != "" { // a comment
					e.event = value
				}
				if e != (streamedEvent{}) {
					select {
					case events <- e:
					case <-ctx.Done():
						return
					}
				}
				e = streamedEvent{}
			}
		}
	})
	leave = func() { cancel(); reading.Wait() }
	t.Cleanup(leave)
	return events, leave
}

// TestStream reads a stream from its beginning, from the middle and from its end, while events come.
func TestStream(t *testing.T) {
	db, s := newStore(t)
	tellReady(t, db, s.Name, 2*streamed+10) // more than is read at once
	srv := serving(t, Options{DB: db})
	fromStart, _ := readStream(t, srv.URL+"/api/v1/events/stream?after=0")
	again, _ := readStream(t, srv.URL+"/api/v1/events/stream?after=0", "Last-Event-ID: 205")
	fromNow, _ := readStream(t, srv.URL+"/api/v1/events/stream")
	fine, _ := readStream(t, srv.URL+"/api/v1/events/stream?after=0&type=site.fine")
	hostile := "<script>\u202e\u2028\r\n\n data: x\n\n"
	db.PutEvent(&store.Event{Type: store.SiteFine, At: 1, Site: s.Name, Reason: hostile})
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
	want := told(t, db, 0)
	for from, stream := range map[int]chan streamedEvent{0: fromStart, 205: again, len(want) - 1: fromNow} {
		for i := from; i < len(want); i++ {
			e := <-stream
			kind := store.SiteReady
			if i == len(want)-1 {
				kind = store.SiteFine
			}
			if e.id != fmt.Sprint(i+1) || e.event != string(kind) || e.data != want[i] {
				t.Fatalf("from %d: event %+v, want %d %s %s", from, e, i+1, kind, want[i])
			}
		}
	}
	e := <-fine
	if e.data != want[len(want)-1] {
		t.Errorf("event %+v, want %s", e, want[len(want)-1])
	}
	var back struct{ Reason string }
	if err := json.Unmarshal([]byte(e.data), &back); err != nil || back.Reason != hostile {
		t.Errorf("reason %q, %v; want %q", back.Reason, err, hostile)
	}
}

// TestStreamLives: who reads a stream on which nothing happens gets signs of life; who goes leaves room for
// another, and all go when the service ends.
func TestStreamLives(t *testing.T) {
	db, _ := newStore(t)
	ending := make(chan struct{})
	srv := serving(t, Options{DB: db, Streams: 1, Heartbeat: 1, Ending: ending})
	stream, leave := readStream(t, srv.URL+"/api/v1/events/stream")
	for range 3 {
		if e := <-stream; e.event != "still here" {
			t.Fatalf("%+v, want a sign of life", e)
		}
	}
	wantProblem(t, "a second reader", ask(t, "GET", srv.URL+"/api/v1/events/stream", ""), 503)
	leave()
	for ask(t, "GET", srv.URL+"/api/v1/events?wait=1ns", "").status == 503 { // until that is noticed
	}
	stream, _ = readStream(t, srv.URL+"/api/v1/events/stream")
	close(ending)
	for range stream { // it ends
	}
}
