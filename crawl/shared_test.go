package crawl

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/store"
)

// A watch counts the requests for documents at several servers, and interrupts a run when one
// comes that it is told to stop at.
type watch struct {
	mu    sync.Mutex
	asked int
	left  int // requests until the run is interrupted; 0: it is not
	stop  func()
}

func (o *watch) over(w *web) {
	inner := w.Config.Handler
	w.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			inner.ServeHTTP(rw, r)
			return
		}
		o.mu.Lock()
		o.asked++
		o.left--
		cut := o.left == 0
		o.mu.Unlock()
		if cut {
			o.stop()
			<-r.Context().Done() // not answered for certain
			return
		}
		inner.ServeHTTP(rw, r)
	})
}

// next is told how a run is interrupted, and at which request.
func (o *watch) next(left int, stop func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left, o.stop = left, stop
}

func (o *watch) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.asked
}

// TestInterruptedShare interrupts a cycle whose budget three sites share, again and again, by
// the context and by SIGKILL, and goes on with it. It stays the same cycle with the same
// shares; each site spends its own, in the same order, and finds the same pages as without any
// interruption; and only what was under way, one request a site, is asked for again. A kill also
// loses what was not yet on its way to the disk.
func TestInterruptedShare(t *testing.T) {
	o := new(watch)
	var webs []*web
	var homes [][]string
	for i := range 3 {
		w := newWebBy(t, httptest.NewServer)
		o.over(w)
		var links []string
		for k := range 12 {
			p := fmt.Sprintf("/p%d", k)
			links = append(links, p)
			w.pages[p] = page(fmt.Sprint("page ", i, k))
		}
		w.pages["/"] = page("home", links...)
		webs, homes = append(webs, w), append(homes, links)
	}
	fresh := func(n int) { // the first site has four new pages a cycle, the second one, the third none
		for i, many := range []int{4, 1, 0} {
			for k := range many {
				p := fmt.Sprintf("/new%d-%d", n, k)
				homes[i] = append([]string{p}, homes[i]...)
				webs[i].set(p, page(fmt.Sprint("new ", i, n, k)))
			}
			webs[i].set("/", page("home", homes[i]...))
		}
	}
	root := t.TempDir()
	first := filepath.Join(root, "first")
	c, err := Open(loopback(first))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range webs {
		w.crawl(t, c, store.Rules{})
	}
	for n := range 3 {
		fresh(n)
		webs[0].revisit(t, c, plan.Plan{Budget: func(int) int { return 4 }, Text: "4"})
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	fresh(3)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	byContext := func(dir string, left int) bool {
		cfg := loopback(dir)
		cfg.Delay, cfg.At = 2*time.Millisecond, revisited // as the process that is killed
		c, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		o.next(left, cancel)
		r, err := c.Revisit(ctx, planned("shared"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Interrupted
	}
	bySignal := func(dir string, left int) bool {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "FORAGE_TEST_CRAWL="+webs[0].URL+"/", "FORAGE_TEST_DIR="+dir, "FORAGE_TEST_POLICY=shared")
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		o.next(left, func() { cmd.Process.Kill() })
		err := cmd.Wait()
		if err != nil && cmd.ProcessState.ExitCode() != -1 {
			t.Fatal(err)
		}
		return err != nil
	}
	begin := func(name string) string {
		dir := filepath.Join(root, name)
		if err := os.CopyFS(dir, os.DirFS(first)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	calm, before := begin("calm"), o.count()
	if byContext(calm, 0) {
		t.Fatal("the cycle nobody interrupted was interrupted")
	}
	want := shares(t, calm)
	once := o.count() - before
	if once < 15+5 || strings.Count(want, "5 old") != 3 || strings.Count(want, "ended true") != 3 {
		t.Fatalf("%d requests without interruption:\n%s", once, want)
	}
	for _, test := range []struct {
		name string
		run  func(dir string, left int) (interrupted bool)
		lost int // requests made again for each interruption
	}{{"context", byContext, 3}, {"kill", bySignal, 6}} {
		for _, after := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s after %d", test.name, after), func(t *testing.T) {
				dir := begin(fmt.Sprint(test.name, after))
				before, times := o.count(), 0
				for test.run(dir, after+2*times) {
					times++
				}
				if got := shares(t, dir); got != want {
					t.Errorf("after %d interruptions:\n%s\nwant\n%s", times, got, want)
				}
				if n := o.count() - before; n > once+test.lost*times {
					t.Errorf("%d requests with %d interruptions, %d without", n, times, once)
				}
				if times < 3 {
					t.Errorf("interrupted %d times", times)
				}
			})
		}
	}
	t.Run("one site alone", func(t *testing.T) {
		// It goes on with its own share, though nobody else asks for the rest now.
		dir := begin("alone")
		if !byContext(dir, 4) {
			t.Fatal("not interrupted")
		}
		c, err := Open(loopback(dir))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		p := planned("shared")
		p.Sites = []string{webs[0].URL}
		r := webs[0].revisit(t, c, p)
		sc, err := c.View().Cycle(1, r.Cycle)
		own := fmt.Sprintf("\nsite 1: budget %d, %d old, ", sc.Limit, sc.Refetched)
		if err != nil || r.Cycle != 13 || !sc.Done || !strings.Contains(want, own) {
			t.Errorf("cycle %d, %+v, %v; want cycle 13 as\n%s", r.Cycle, sc, err, want)
		}
	})
}

// shares tells what each site got and did in the last cycle of a store.
func shares(t *testing.T, dir string) string {
	t.Helper()
	db, err := store.Open(dir, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var b strings.Builder
	sites, err := db.Sites()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sites {
		c, err := plan.Latest(&db.View, s.ID)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "\nsite %d: budget %d, %d old, %d new, done %v, ended %v:", s.ID, c.Limit, c.Refetched, c.Pages, c.Done, c.Ended != 0)
		rows := map[int]string{}
		if err := db.Refetches(s.ID, c.Cycle, func(r *store.Refetch) bool {
			d, err := db.Doc(r.Page)
			if err != nil {
				t.Fatal(err)
			}
			rows[r.Order] = fmt.Sprint(" ", scope.Path(d.URL), ":", len(r.Found))
			return true
		}); err != nil {
			t.Fatal(err)
		}
		for i := range len(rows) {
			b.WriteString(rows[i])
		}
		var found []string
		visits := 0
		if err := db.SiteDocs(s.ID, func(d *store.Doc) bool {
			visits += int(d.Visits)
			if d.Cycle == c.Cycle && d.IsPage() {
				found = append(found, scope.Path(d.URL))
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(found)
		fmt.Fprint(&b, found, visits, " answers")
	}
	return b.String()
}

// TestTouched: after an answer a run looks at the site that it came from, not at all of them.
func TestTouched(t *testing.T) {
	c := open(t, nil)
	var seeds []scope.Seed
	for i := range 50 {
		seeds = append(seeds, scope.Seed{URL: fmt.Sprintf("http://host%d.test/", i)})
	}
	seeds, err := c.checkSeeds(t.Context(), seeds)
	if err != nil {
		t.Fatal(err)
	}
	sites, err := c.addSeeds(seeds, strays{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r := &run{crawl: c, over: true, res: new(Result), opt: Options{Log: slog.New(slog.DiscardHandler)}}
	for _, rec := range sites { // as the loop does, which does not run
		if err := r.visitOnce(rec); err != nil {
			t.Fatal(err)
		}
	}
	c.commit()
	fetched := func(cy *cycle) int64 {
		rec, err := c.db.View.Cycle(cy.site.ID, cy.rec.Cycle)
		if err != nil {
			t.Fatal(err)
		}
		return rec.Fetched
	}
	for _, cy := range r.cycles {
		if got := fetched(cy); got != 0 {
			t.Errorf("site %s: the cycle has %d answers, want 0", cy.site.Name, got)
		}
	}
	for range 2 {
		r.cycles[7].rec.Fetched++
		r.cycles[7].touch()
	}
	if len(c.touched) != 1 {
		t.Errorf("a commit looks at %d cycles, want one", len(c.touched))
	}
	c.commit()
	if got := fetched(r.cycles[7]); got != 2 || len(c.touched) != 0 || c.err != nil {
		t.Errorf("%d answers stored, %d cycles left to look at, %v; want 2, 0, no error", got, len(c.touched), c.err)
	}
	for _, cy := range r.cycles {
		cy.windUp("", true)
		cy.close()
	}
}
