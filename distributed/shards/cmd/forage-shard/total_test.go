package main

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"forage/distributed/shards/topics"
)

// documents is how many requests were made for documents: all but those for robots.txt, and for what no site has, by which one sees how a server says so.
func (w *web) documents() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for url, c := range w.count {
		if path := url[strings.LastIndexByte(url, '/'):]; path != "/robots.txt" && len(path) < 20 {
			n += c
		}
	}
	return n
}

// TestMaxTotal has three processes spend a number of fetches, one of which is killed: no more are made, and no fewer but for those that the killed one had.
// With a higher number they go on.
func TestMaxTotal(t *testing.T) {
	tr := newTrial(t, 20, 300, 5*time.Millisecond)
	const most = 400
	names := []string{"a", "b", "c"}
	limit := func(n int) { tr.more = []string{"--max-total", fmt.Sprint(n)} }
	limit(most)
	tr.begin(names...)
	tr.addAll()
	tr.await("under way", func([]topics.Status) bool { return tr.web.documents() > most/4 })
	tr.stop("b", syscall.SIGKILL)
	tr.start("b")
	spent := func(n int64) func([]topics.Status) bool {
		return func(all []topics.Status) bool {
			for _, s := range all {
				if s.State != "crawls" || s.Taken == nil || s.MaxTotal != n || *s.Taken < n {
					return false
				}
			}
			return !slices.ContainsFunc(names, func(name string) bool {
				return !strings.Contains(tr.processes[name].text(), fmt.Sprintf("max-total %d\n", n))
			})
		}
	}
	tr.await("spent", spent(most))
	first := tr.web.documents()
	if lost := 2 * (1 + most/64); first > most || first < most-lost {
		t.Errorf("%d documents were asked for, want %d, and up to %d fewer for the process that was killed", first, most, lost)
	}
	if want := fmt.Sprintf("%d of --max-total %d are taken\n", most, most); !strings.HasSuffix(tr.command("status"), want) {
		t.Errorf("status says\n%s\nwant %s at its end", tr.command("status"), want)
	}
	for _, name := range names {
		tr.stop(name, syscall.SIGTERM)
	}
	if n := tr.web.documents(); n != first {
		t.Errorf("%d documents were asked for when all was spent, and %d later", first, n)
	}

	limit(most + 50)
	for _, name := range names {
		tr.start(name)
	}
	tr.await("spent again", spent(most+50))
	for _, name := range names {
		tr.stop(name, syscall.SIGTERM)
	}
	if n := tr.web.documents(); n != first+50 {
		t.Errorf("%d documents were asked for with 50 more, want %d", n, first+50)
	}
	if err := tr.web.politeness(tr.delay); err != nil {
		t.Error(err)
	}
}
