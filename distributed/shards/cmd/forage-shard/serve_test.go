package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"forage/distributed/shards/topics"
)

// ask asks a process over HTTP, and returns the status and what it answers. Redirects are not followed.
func (tr *trial) ask(method, to string, body string, header ...string) (int, string) {
	tr.t.Helper()
	r, err := http.NewRequestWithContext(tr.t.Context(), method, to, strings.NewReader(body))
	if err != nil {
		tr.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	c := &http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	a, err := c.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		return 0, err.Error()
	}
	return a.StatusCode, cmp.Or(a.Header.Get("Location"), string(b))
}

// TestServe asks two processes for what they have, adds sites by way of them, and asks on while one ends and its partitions go to the other.
func TestServe(t *testing.T) {
	tr := newTrial(t, 12, 20, 0)
	tr.more = []string{"--listen", "127.0.0.1:0"}
	tr.start("a")
	tr.start("b")
	at := map[string]string{} // addresses, each with a slash at its end
	tr.await("divided", func(all []topics.Status) bool {
		n := map[string]int{}
		for _, s := range all {
			if s.State != "crawls" || s.Address == "" {
				return false
			}
			n[s.Owner]++
			at[s.Owner] = s.Address
		}
		return n["a"] == 3 && n["b"] == 3
	})
	a, b := at["a"], at["b"]

	// Sites go where they belong, whoever is asked.
	var list strings.Builder
	for i := range tr.web.hosts - 1 {
		fmt.Fprintln(&list, tr.web.url(i, 0))
	}
	if status, said := tr.ask("POST", a+"api/v1/sites", list.String(), "Content-Type", "text/uri-list"); status != 201 {
		t.Fatalf("adding sites: %d %s", status, said)
	}
	last := tr.web.hosts - 1
	form := url.Values{"url": {tr.web.url(last, 0)}, "budget": {"7/day"}}
	status, to := tr.ask("POST", b+"sites", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Origin", strings.TrimSuffix(b, "/"))
	if status != 303 || !strings.HasPrefix(to, "/partition-") || !strings.HasSuffix(to, "/sites/"+url.PathEscape(tr.web.host(last))+"?said=added") {
		t.Errorf("adding a site by the form: %d %s", status, to)
	}
	for body, want := range map[string]int{`{"url": "no url"}`: 400, `{"url": "http://a.test/", "budget": "x"}`: 400, `{"uri": "http://a.test/"}`: 400} {
		if status, said := tr.ask("POST", a+"api/v1/sites", body, "Content-Type", "application/json"); status != want {
			t.Errorf("adding %s: %d %s, want %d", body, status, said, want)
		}
	}
	tr.await("crawled", tr.crawled)

	owner := map[int32]string{}
	for _, s := range tr.status() {
		owner[s.Partition] = s.Owner
	}
	for i := range tr.web.hosts {
		p := topics.Partition(tr.web.host(i), int32(tr.partitions))
		for name, base := range at {
			for _, path := range []string{"api/v1/sites/%s", "sites/%s", "api/v1/pages?site=%s", "api/v1/explain?url=http://%s/", "url?url=http://%s/"} {
				path = fmt.Sprintf(path, url.PathEscape(tr.web.host(i)))
				status, said := tr.ask("GET", base+path, "")
				if owner[p] == name && (status != 200 || !strings.Contains(said, tr.web.host(i))) {
					t.Errorf("%s, which has it: %s: %d %.200s", name, path, status, said)
				}
				if owner[p] != name && (status != 404 || !strings.Contains(said, "is in process "+owner[p]+", at "+at[owner[p]])) {
					t.Errorf("%s, which does not have it: %s: %d %.200s", name, path, status, said)
				}
			}
			var site struct{ Settings struct{ Budget string } }
			if _, said := tr.ask("GET", base+"api/v1/sites/"+url.PathEscape(tr.web.host(i)), ""); i == last && owner[p] == name && (json.Unmarshal([]byte(said), &site) != nil || site.Settings.Budget != "7/day") {
				t.Errorf("settings that were given are not those of the site: %s", said)
			}
		}
	}
	// What is of all: each site is in one list, and in one partition's figures.
	var names []string
	for _, base := range at {
		after := ""
		for {
			var l struct {
				Sites []struct{ Site string }
				Next  *string
			}
			if status, said := tr.ask("GET", base+"api/v1/sites?limit=2&after="+url.QueryEscape(after), ""); status != 200 || json.Unmarshal([]byte(said), &l) != nil || !slices.IsSortedFunc(l.Sites, func(a, b struct{ Site string }) int { return cmp.Compare(a.Site, b.Site) }) {
				t.Fatalf("sites: %d %s", status, said)
			}
			for _, s := range l.Sites {
				names = append(names, s.Site)
			}
			if l.Next == nil {
				break
			}
			after = *l.Next
		}
		status, said := tr.ask("GET", base, "")
		if status != 200 || strings.Count(said, ">this one<") != 3 || !strings.Contains(said, `href="/partition-0000`) {
			t.Errorf("the overview: %d %s", status, said)
		}
		status, said = tr.ask("GET", base+"metrics", "")
		if status != 200 || strings.Count(said, "\nforage_sites{") != 3 || strings.Count(said, "\nforage_requests ") != 1 {
			t.Errorf("metrics: %d %s", status, said)
		}
		for path, want := range map[string]int{"healthz": 200, "readyz": 200, "partition-00099/": 404, "partition-0/": 404, "none": 404, "api/v1/events": 404, "ui/style.css": 200} {
			if status, said := tr.ask("GET", base+path, ""); status != want {
				t.Errorf("%s: %d %.100s, want %d", path, status, said, want)
			}
		}
		if status, said := tr.ask("GET", base+"metrics", "", "X-Forwarded-For", "1.2.3.4"); status != 403 {
			t.Errorf("through a proxy: %d %.100s", status, said)
		}
	}
	slices.Sort(names)
	if len(names) != tr.web.hosts || len(slices.Compact(names)) != tr.web.hosts {
		t.Errorf("%d sites are listed, want %d: %q", len(names), tr.web.hosts, names)
	}
	var mine int32 = -1 // a partition of a's with a site
	for p, name := range owner {
		if name == "a" {
			mine = p
		}
	}
	for _, path := range []string{"", "sites", "pages", "hosts", "add", "feed.atom", "api/v1/openapi.json", "api/v1/events", "api/v1/status"} {
		status, said := tr.ask("GET", fmt.Sprintf("%spartition-%05d/%s", a, mine, path), "")
		if status != 200 {
			t.Errorf("of a partition: %s: %d %.200s", path, status, said)
		}
		if strings.Contains(said, `href="/sites`) || strings.Contains(said, `href="/pages`) {
			t.Errorf("%s leads out of the partition: %s", path, said)
		}
	}

	// One ends: its partitions are asked for all the while, of both.
	stopped := make(chan struct{})
	asked := make(chan map[int]int)
	go func() {
		got := map[int]int{}
		for {
			select {
			case <-stopped:
				asked <- got
				return
			default:
			}
			for _, path := range []string{"partition-%05d/", "partition-%05d/api/v1/status", "partition-%05d/api/v1/events?limit=1000"} {
				status, _ := tr.ask("GET", b+fmt.Sprintf(path, mine), "")
				got[status]++
				status, _ = tr.ask("GET", a+fmt.Sprintf(path, mine), "")
				if status != 0 { // it listens
					got[status]++
				}
			}
			tr.ask("GET", a+"metrics", "")
		}
	}()
	tr.stop("a", syscall.SIGTERM)
	tr.await("handed over", func(all []topics.Status) bool {
		return !slices.ContainsFunc(all, func(s topics.Status) bool { return s.Owner != "b" || s.State != "crawls" })
	})
	close(stopped)
	got := <-asked
	for status := range got {
		if status != 200 && status != 404 && status != 503 {
			t.Errorf("while partitions move: %v answers by status", got)
		}
	}
	if status, said := tr.ask("GET", fmt.Sprintf("%spartition-%05d/", b, mine), ""); status != 200 {
		t.Errorf("after the hand-over: %d %s", status, said)
	}
	tr.stop("b", syscall.SIGTERM)
	for name, p := range tr.processes {
		if text := p.text(); strings.Contains(text, "panic") || strings.Contains(text, "cannot be collected") {
			t.Errorf("%s: %s", name, text)
		}
	}
}
