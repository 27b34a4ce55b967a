package main

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
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// An ear hears by one way of events that tell of new pages.
type ear struct {
	mu    sync.Mutex
	waits []time.Duration // from the answer of a page until its event was heard
}

// heard takes in the JSON of an event.
func (e *ear) heard(w *web, event []byte) (url string) {
	var x struct{ Type, URL string }
	if json.Unmarshal(event, &x) != nil || x.Type != "page.new" {
		return ""
	}
	if d, ok := w.since(x.URL); ok {
		e.mu.Lock()
		e.waits = append(e.waits, d)
		e.mu.Unlock()
	}
	return x.URL
}

// rounds is a thousand sites that are due each minute and publish all the time: how late visits begin, and how soon what
// they find is told.
func (b *bench) rounds() error {
	sites := b.Size(1000)
	w, err := newWeb(sites, 100)
	if err != nil {
		return err
	}
	defer w.stop()
	var stream, poll, feed, hook ear
	hooks, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	receiver := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		hook.heard(w, body)
	})}
	go receiver.Serve(hooks)
	defer receiver.Close()
	conf := config(w, "every: 60s, budget: 10") + fmt.Sprintf("webhooks:\n  - {name: bench, url: 'http://%s/', types: [page.new]}\n", hooks.Addr())
	s, err := b.start(filepath.Join(b.tmp, "rounds"), conf)
	if err != nil {
		return err
	}
	defer s.cmd.Process.Kill()
	if err := s.ready(sites, 10*time.Minute); err != nil {
		// Visits follow one another: that some run is as it should be.
		all, e := s.sites()
		for _, x := range all {
			if x.State != "done" && x.State != "crawling" {
				return errors.Join(err, e, fmt.Errorf("%s is %q", x.Site, x.State))
			}
		}
	}
	lateness := func() (late, visits int, err error) {
		all, err := s.sites()
		for _, x := range all {
			late += x.Late
		}
		text, e := s.get("/api/v1/status")
		var status struct{ Cycles int }
		return late, status.Cycles, errors.Join(err, e, json.Unmarshal(text, &status))
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var wg sync.WaitGroup
	urls := make(chan string, 1000)
	wg.Go(func() { b.listen(ctx, s, w, &stream, urls) })
	wg.Go(func() { b.poll(ctx, s, w, &poll) })
	wg.Go(func() { // the feed is asked for as soon as the stream has told
		for {
			select {
			case <-ctx.Done():
				return
			case url := <-urls:
				if text, err := s.get("/feed.json?limit=100"); err == nil && bytes.Contains(text, []byte(url+`"`)) {
					if d, ok := w.since(url); ok {
						feed.mu.Lock()
						feed.waits = append(feed.waits, d)
						feed.mu.Unlock()
					}
				}
			}
		}
	})
	var same atomic.Int64
	const asking = 10 * time.Second
	time.Sleep(5 * time.Second)
	late0, visits0, err := lateness()
	if err != nil {
		return err
	}
	before, err := s.use()
	if err != nil {
		return err
	}
	began, published := time.Now(), 0
	for time.Since(began) < 150*time.Second {
		w.publish(published*7919%sites, 1)
		published++
		time.Sleep(150 * time.Millisecond)
	}
	took := time.Since(began)
	after, err1 := s.use()
	late, visits, err2 := lateness()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	what := fmt.Sprintf("%d sites each minute: ", sites)
	n := visits - visits0
	b.Tell(what+"visits a minute", float64(n)/took.Minutes(), "", 0)
	b.Tell(what+"begun more than 5 s late", 100*float64(late-late0)/float64(n), "%", 5)
	b.Tell(what+"of a core", 100*(after.cpu-before.cpu).Seconds()/took.Seconds(), "%", 0)
	b.Tell(what+"memory", float64(after.resident)/1e6, "MB", 0)
	// Unchanged feeds, while it goes on as before.
	var readers sync.WaitGroup
	end := time.Now().Add(asking)
	for range 4 {
		readers.Go(func() {
			tag := ""
			for time.Now().Before(end) {
				r, err := http.NewRequest("GET", s.base+"/feed.atom", nil)
				if err != nil {
					return
				}
				r.Header.Set("If-None-Match", tag)
				answer, err := http.DefaultClient.Do(r)
				if err != nil {
					return
				}
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
				if tag = answer.Header.Get("ETag"); answer.StatusCode == http.StatusNotModified {
					same.Add(1)
				}
			}
		})
	}
	readers.Wait()
	time.Sleep(2 * time.Second)
	cancel()
	for _, way := range []struct {
		name string
		ear  *ear
	}{{"stream", &stream}, {"API", &poll}, {"feed", &feed}, {"webhook", &hook}} {
		way.ear.mu.Lock()
		b.Tell(fmt.Sprintf("answer to event by %s, p99 of %d", way.name, len(way.ear.waits)), quantile(way.ear.waits, .99), "s", 1)
		way.ear.mu.Unlock()
	}
	b.Tell(what+"unchanged feeds a second", float64(same.Load())/asking.Seconds(), "", -2000)
	took, err = s.stop()
	b.Tell(what+"stop", took.Seconds(), "s", 5)
	wg.Wait()
	return err
}

// listen hears of events by Server-Sent Events.
func (b *bench) listen(ctx context.Context, s *service, w *web, e *ear, urls chan<- string) {
	r, err := http.NewRequestWithContext(ctx, "GET", s.base+"/api/v1/events/stream", nil)
	if err != nil {
		return
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	for lines := bufio.NewReader(answer.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if url := e.heard(w, []byte(data)); url != "" {
				select {
				case urls <- url:
				default: // the feed is behind: it is asked for less often
				}
			}
		}
	}
}

// poll hears of events by asking for them.
func (b *bench) poll(ctx context.Context, s *service, w *web, e *ear) {
	after := uint64(0)
	for ctx.Err() == nil {
		text, err := s.get(fmt.Sprintf("/api/v1/events?after=%d&wait=10s&limit=1000", after))
		if err != nil {
			return
		}
		var part struct{ Events []json.RawMessage }
		if json.Unmarshal(text, &part) != nil {
			return
		}
		for _, event := range part.Events {
			var x struct{ Seq uint64 }
			if json.Unmarshal(event, &x) == nil {
				after = x.Seq
			}
			e.heard(w, event)
		}
	}
}
