package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"forage/archive"
	"forage/crawl"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/export"
	"forage/fetch"
	"forage/fetch/use"
	"forage/internal/race"
	"forage/store"
	"forage/text"
)

// A fickle site has pages that come, change, vanish, come back, lead away, repeat others, and ask not to be used.
type fickle struct {
	mu    sync.Mutex
	pages []string // how each is: see answer
	serve int
}

const fickleWays = 12

// step changes a share of the pages.
func (f *fickle) step(r *rand.Rand, share float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.serve++
	for i := range f.pages {
		if r.Float64() < share {
			f.pages[i] = fmt.Sprint(r.IntN(fickleWays), " ", f.serve, " ", r.IntN(len(f.pages)))
		}
	}
}

// way is how a page is: a kind of answer, when it became that, another page.
func (f *fickle) way(path string) (kind, version, other int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, err := strconv.Atoi(strings.TrimPrefix(path, "/p"))
	if err != nil || i >= len(f.pages) || f.pages[i] == "" {
		return 0, 0, 0, false
	}
	fmt.Sscan(f.pages[i], &kind, &version, &other)
	return kind, version, other, true
}

// says is what a page says where it is one.
func says(path string, version int) string {
	return fmt.Sprintf("What %s has to say is of version %d, and nothing else is like it %d %s.", path, version, version*7919, strings.Repeat(path+" ", 5))
}

func (f *fickle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html")
	page := func(head, body string) {
		text := "<html lang=en><title>Page " + r.URL.Path + "</title>" + head + "<main><p>" + body + "</main>"
		h.Set("ETag", fmt.Sprintf(`"%x"`, text))
		if r.Header.Get("If-None-Match") == h.Get("ETag") {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		io.WriteString(w, text)
	}
	if r.URL.Path == "/" {
		f.mu.Lock()
		defer f.mu.Unlock()
		for i, p := range f.pages {
			if p != "" {
				fmt.Fprintf(w, "<p><a href=/p%d>page %d</a>", i, i)
			}
		}
		return
	}
	kind, version, other, ok := f.way(r.URL.Path)
	if !ok {
		http.NotFound(w, r)
		return
	}
	switch body := says(r.URL.Path, version); kind {
	case 4:
		http.NotFound(w, r)
	case 5:
		w.WriteHeader(http.StatusGone)
	case 6:
		http.Redirect(w, r, "/p"+strconv.Itoa(other), http.StatusMovedPermanently)
	case 7:
		h.Set("Content-Type", "application/pdf")
		io.WriteString(w, "%PDF-1.7 and so on")
	case 8: // the same body at several addresses
		h.Set("ETag", `"same"`)
		io.WriteString(w, "<title>Same</title><main><p>"+says("everybody", version/3)+"</main>")
	case 9: // names another one, which may be there or not
		page(fmt.Sprintf("<link rel=canonical href=/p%d>", other), body)
	case 10:
		page("<meta name=robots content=noindex>", body)
	case 11:
		http.Error(w, "not now", http.StatusForbidden)
	default:
		page("", body)
	}
}

// applied reads what an export wrote, by URL. As an increment it is applied to what was there.
func applied(t *testing.T, b []byte, to map[string]string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		var row map[string]any
		if err := json.Unmarshal(s.Bytes(), &row); err != nil {
			t.Fatalf("%v: %s", err, s.Text())
		}
		url := row["url"].(string)
		gone := row["gone"] == true
		if before, twice := seen[url]; twice && !(gone && before == "gone") {
			t.Errorf("%s is told twice: %s", url, b)
		}
		if gone {
			seen[url] = "gone"
			delete(to, url)
			continue
		}
		delete(row, "change") // an increment has it alone
		line, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		seen[url], to[url] = "there", string(line)
	}
	return to
}

// A subscriber has what was exported, and follows by increments.
type subscriber struct {
	since store.Cycle
	at    time.Time // instead, if it is set
	pages map[string]string
}

// TestIncrements: whoever applies increments has what a full export has, whatever becomes of the pages, wherever their text is, and though cycles are
// interrupted, rules change, and not every page is fetched.
func TestIncrements(t *testing.T) {
	race.Skip(t)
	seeds := uint64(3) // one of each of the three settings
	if os.Getenv("FORAGE_LONG") != "" {
		seeds = 60
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			increments(t, rand.New(rand.NewPCG(seed, 16)), seed)
		})
	}
}

func increments(t *testing.T, r *rand.Rand, seed uint64) {
	site := &fickle{pages: make([]string, 30)}
	site.step(r, .5)
	web := httptest.NewServer(site)
	defer web.Close()
	dir := t.TempDir()
	cfg := crawl.Config{Dir: filepath.Join(dir, "store"), Delay: -1, Fetch: fetch.Config{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}}
	if seed%3 != 1 {
		cfg.Texts = &crawl.Texts{Folder: filepath.Join(dir, "texts"), Respect: use.RespectNoArchive}
	}
	if seed%3 != 0 {
		cfg.Archive = &crawl.Archive{Folder: filepath.Join(dir, "warc"), Dedupe: archive.All}
	}
	var subscribers []*subscriber
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	told, gone := uint64(0), uint64(0)
	for step := range 24 {
		now = now.Add(24 * time.Hour)
		cfg.At = now
		c, err := crawl.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		opt := crawl.Options{Textless: r.IntN(6) == 0}
		if r.IntN(5) == 0 {
			opt.MaxTotal = int64(1 + r.IntN(20))
		}
		ruled := step == 0 || r.IntN(6) == 0
		switch full := r.IntN(3) > 0; {
		case ruled: // rules change now and then
			rules := store.Rules{Scope: "host"}
			if step > 0 && r.IntN(2) == 0 {
				rules.Exclude = []string{fmt.Sprintf("/p%d", r.IntN(3)+1)}
			}
			_, err = c.Run(t.Context(), []scope.Seed{{URL: web.URL + "/", Rules: rules}}, opt)
		case full:
			_, err = c.Revisit(t.Context(), plan.Plan{Full: true, Text: "all"}, opt)
		default:
			_, err = c.Revisit(t.Context(), plan.Plan{Budget: func(int) int { return 6 }, Text: "6"}, opt)
		}
		if err != nil {
			t.Fatal(err)
		}
		v := c.DB().Snapshot()
		written := func(since store.Cycle) ([]byte, export.TextsWritten) {
			t.Helper()
			what := export.Texts{Format: text.Markdown, Since: since, Note: func(s string) { t.Error(s) }}
			if seed%2 == 0 {
				what.Keep = func(d *store.Doc) bool { return !use.RespectNoIndex.LeavesOut(use.Parse(d.Use)) }
			}
			for of, to := range map[store.Archive]**archive.Reader{store.Texts: &what.Kept, store.Answers: &what.Archive} {
				state, err := v.Archive(of)
				if errors.Is(err, store.ErrNotFound) {
					continue
				}
				if err == nil {
					*to, err = archive.NewReader("", state)
				}
				if err != nil {
					t.Fatal(err)
				}
				defer (*to).Close()
			}
			var b bytes.Buffer
			w, err := export.TextLines(v, export.Target{To: &b}, what)
			if err != nil {
				t.Fatal(err)
			}
			return b.Bytes(), w
		}
		b, w := written(0)
		full := applied(t, b, map[string]string{})
		if len(full) != int(w.Pages) || w.Gone != 0 {
			t.Fatalf("%d lines, %+v", len(full), w)
		}
		for url, line := range full { // what is told was said once, by that page
			path := strings.TrimPrefix(url, web.URL)
			if kind, version, _, ok := site.way(path); ok && kind < 4 && strings.Contains(line, `"Page `+path+`"`) && strings.Contains(line, "of version "+strconv.Itoa(version)+",") && !strings.Contains(line, strings.TrimSpace(says(path, version))) && !strings.Contains(line, "What everybody") {
				t.Errorf("step %d: %s: %s", step, url, line)
			}
		}
		subscribers = append(subscribers, &subscriber{w.Next, time.Time{}, maps.Clone(full)}, &subscriber{0, now.Add(time.Hour), maps.Clone(full)})
		for i, f := range subscribers {
			if i < len(subscribers)-2 && r.IntN(3) == 0 {
				continue // it comes later
			}
			since := f.since
			if !f.at.IsZero() {
				if since, err = v.TextsSince(f.at.Unix()); err != nil {
					t.Fatal(err)
				}
			}
			b, w := written(since)
			applied(t, b, f.pages)
			told, gone = told+w.Pages, gone+w.Gone
			for url := range f.pages {
				if full[url] != f.pages[url] {
					t.Errorf("step %d, since %d: %s\nfollowed: %s\n    full: %s", step, since, url, f.pages[url], full[url])
				}
			}
			for url := range full {
				if f.pages[url] == "" {
					t.Errorf("step %d, since %d: %s is missing", step, since, url)
				}
			}
			if t.Failed() {
				t.FailNow()
			}
			if f.since = w.Next; !f.at.IsZero() {
				f.at = now.Add(time.Hour)
			}
			if again, _ := written(w.Next); i == len(subscribers)-2 && len(again) > 0 && !ruled && closed(t, v) { // rules may have changed between two cycles
				t.Errorf("step %d, since %d: nothing has happened, and it tells\n%s", step, w.Next, again)
			}
		}
		if err := errors.Join(v.Close(), c.Close()); err != nil {
			t.Fatal(err)
		}
		site.step(r, .25)
	}
	if told < 500 || gone < 100 {
		t.Errorf("only %d pages and %d gone were told of", told, gone)
	}
}

// closed reports whether no cycle is open.
func closed(t *testing.T, v *store.View) bool {
	t.Helper()
	all := true
	if err := v.Cycles(0, func(c *store.CycleRecord) bool { all = all && c.Ended != 0; return true }); err != nil {
		t.Fatal(err)
	}
	return all
}
