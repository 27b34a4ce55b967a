package crawl

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/store"
)

// adoptedAtMost is how many sites the killed crawl of TestKillGrow may adopt.
const adoptedAtMost = 5

// TestKillGrow kills a crawl that grows again and again, and goes on with it: it adopts no more than it may, none is lost, and each
// is told of once.
func TestKillGrow(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts processes")
	}
	const n = 8
	var servers [n]*httptest.Server
	links := map[int][]int{0: {1, 2, 3}, 1: {4, 5}, 2: {4}, 4: {6, 7}}
	var mu sync.Mutex
	left, kill := 0, func() {}
	for i := range n {
		servers[i] = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			if left--; left == 0 {
				kill()
			}
			mu.Unlock()
			if r.URL.Path != "/" && r.URL.Path != "/a" && r.URL.Path != "/b" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, "<!doctype html><title>%d%s</title><p>This is %s of host %d.<a href=/a>a</a><a href=/b>b</a>", i, r.URL.Path, r.URL.Path, i)
			for _, to := range links[i] {
				fmt.Fprintf(w, `<a href="%s/">x</a>`, servers[to].URL)
			}
		}))
		defer servers[i].Close()
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, _ := scratch(t)
	r := rand.New(rand.NewPCG(17, 0))
	kills := 0
	for {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "FORAGE_TEST_CRAWL="+servers[0].URL+"/", "FORAGE_TEST_DIR="+dir, fmt.Sprint("FORAGE_TEST_ADOPT=", adoptedAtMost))
		var msg strings.Builder
		cmd.Stderr = &msg
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		after := late(r)
		left, kill = 1+r.IntN(6+2*kills), func() { time.AfterFunc(after, func() { cmd.Process.Kill() }) }
		mu.Unlock()
		err := cmd.Wait()
		if err == nil {
			break
		}
		if cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("the crawl failed: %v %s", err, msg.String())
		}
		kills++
	}
	c := openSound(t, loopback(dir))
	sites, err := c.View().Adopted()
	if err != nil {
		t.Fatal(err)
	}
	var adopted, told []string
	for _, s := range sites {
		adopted = append(adopted, s.Name)
		counts, err := c.View().Counters(s.ID)
		if err != nil || counts.Pages() != 3 || !s.Ready || s.State != store.SiteDone {
			t.Errorf("site %s is %s with %d pages, ready: %t, %v; want 3 pages", s.Name, s.State, counts.Pages(), s.Ready, err)
		}
	}
	if err := c.View().Events(0, func(e *store.Event) bool {
		if e.Type == store.SiteAdopted {
			told = append(told, e.Site)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if len(adopted) != adoptedAtMost || !slices.Equal(adopted, told) {
		t.Errorf("after %d kills %q are adopted, and %q told of; want %d", kills, adopted, told, adoptedAtMost)
	}
	t.Logf("%d kills", kills)
	if kills == 0 {
		t.Error("nothing was killed")
	}
}

// TestEndNotWritten goes on with a first visit that was killed when all was fetched and only its end was not written yet.
func TestEndNotWritten(t *testing.T) {
	var asked atomic.Int32 // for the one page
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			asked.Add(1)
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>all there is</title><p>A page that leads nowhere.")
	}))
	defer srv.Close()
	dir, _ := scratch(t)
	visit := func() *Result {
		t.Helper()
		c, err := Open(loopback(dir))
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Run(t.Context(), []scope.Seed{{URL: srv.URL + "/"}}, Options{})
		if err == nil {
			err = c.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	visit()

	db, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	site, err := db.SiteNamed(store.HostOf(srv.URL))
	if err != nil {
		t.Fatal(err)
	}
	rec, err := plan.Latest(&db.View, site.ID)
	if err != nil {
		t.Fatal(err)
	}
	site.State, site.CrawledAt, site.Ready = store.SiteCrawling, 0, false
	rec.Ended, rec.Done = 0, false
	if err := errors.Join(db.PutSite(site), db.PutCycle(rec), db.Commit(), db.Close()); err != nil {
		t.Fatal(err)
	}

	visit()
	if n := asked.Load(); n != 1 {
		t.Errorf("the page was fetched %d times, want once", n)
	}
	if r := visit(); len(r.Finished) != 1 {
		t.Errorf("visited once more, %d sites were finished before; want 1", len(r.Finished))
	}
	c := openSound(t, loopback(dir))
	site, err = c.View().SiteNamed(site.Name)
	if err != nil || site.State != store.SiteDone || !site.Ready || site.CrawledAt == 0 {
		t.Errorf("the site is %s, ready: %t, crawled at %d, %v; want it done", site.State, site.Ready, site.CrawledAt, err)
	}
}
