package crawl

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/graph"
	"forage/internal/machine"
	"forage/internal/race"
	"forage/replay"
	"forage/snap"
	"forage/store"
)

// TestMain: the test's program is also the crawl that gets killed.
func TestMain(m *testing.M) {
	leastSummary, mostBehind = 0, 3 // each site has a summary, and some are behind
	if url := os.Getenv("FORAGE_TEST_CRAWL"); url != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		cfg := loopback(os.Getenv("FORAGE_TEST_DIR"))
		cfg.Delay = 2 * time.Millisecond
		if os.Getenv("FORAGE_TEST_POLICY") != "" {
			cfg.At = revisited
		}
		if folder := os.Getenv("FORAGE_TEST_ARCHIVE"); folder != "" {
			cfg.Archive = &Archive{Folder: folder, Limit: 100_000}
			cfg.Texts = &Texts{Folder: folder + "-texts", Limit: 10_000}
		}
		c, err := Open(cfg)
		if err == nil {
			if policy := os.Getenv("FORAGE_TEST_POLICY"); policy != "" {
				_, err = c.Revisit(ctx, planned(policy), Options{})
			} else {
				var r *Result
				r, err = c.Run(ctx, []scope.Seed{{URL: url}}, Options{Requisites: os.Getenv("FORAGE_TEST_REQUISITES") != ""})
				if most, _ := strconv.Atoi(os.Getenv("FORAGE_TEST_ADOPT")); err == nil {
					_, err = c.Grow(ctx, Growth{Most: most}, Options{}, r)
				}
			}
		}
		if err == nil {
			err = c.Close()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// revisited is when the cycles of planned are: what policies choose depends on the time.
var revisited = time.Date(2038, 1, 1, 0, 0, 0, 0, time.UTC)

// planned is a cycle of 40 documents by a policy, or, for "full", a full recrawl, or, for
// "shared", one of 15 documents over all sites.
func planned(policy string) plan.Plan {
	switch policy {
	case "full":
		return plan.Plan{Full: true, Text: "all"}
	case "shared":
		return plan.Plan{Total: 15, Min: 1, Text: "of 15"}
	}
	return plan.Plan{Policy: policy, Budget: func(int) int { return 40 }, Text: "40"}
}

// scratch returns a folder and how many documents a kill may lose of a crawl into it. They wait
// behind the disk's sync, some milliseconds or, beside other work, a tenth of a second: the
// folder is in memory where the system has one there, with room.
func scratch(t *testing.T) (dir string, loss int64) {
	t.Helper()
	const memory = "/dev/shm"
	if machine.FreeDisk(memory) < 1<<30 { // all tests here take 0.1 GB
		return t.TempDir(), 100
	}
	dir, err := os.MkdirTemp(memory, "forage-kill")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir, 16
}

// contents is all of a store that does not depend on when and in which order things came.
func contents(t *testing.T, v *store.View) string {
	t.Helper()
	urls := map[graph.Node]string{}
	if err := v.Docs(func(d *store.Doc) bool { urls[d.ID] = d.URL; return true }); err != nil {
		t.Fatal(err)
	}
	var lines []string
	if err := v.Docs(func(d *store.Doc) bool {
		links, err := v.Links(d)
		if err != nil {
			t.Fatal(err)
		}
		var to []string
		for _, l := range links {
			to = append(to, fmt.Sprint(urls[l.To], l.Kind, l.NoFollow))
		}
		lines = append(lines, fmt.Sprint(d.URL, d.State, d.Kind, d.Status, d.Reason, d.Digest, d.Bytes, d.New, d.Cycle, d.Visits, d.DuplicateOf == graph.None, to))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestKill kills a crawl with SIGKILL at random moments, again and again, until it gets to
// its end. The store must then equal that of a crawl that nobody disturbed, and no finished
// document may have been fetched again: only what was under way or not yet on its way to the
// disk, some documents a kill, may be.
func TestKill(t *testing.T) {
	race.Skip(t)
	if testing.Short() {
		t.Skip("starts many processes")
	}
	t.Parallel()
	kills := kills()
	h := snap.Blog(rand.New(rand.NewPCG(1, 2)), 40)
	server, err := replay.New(h, len(h.Snapshots)-1, false)
	if err != nil {
		t.Fatal(err)
	}
	k := newKiller(t, server)
	run := func(dir string, after int, late time.Duration) (killed bool) {
		t.Helper()
		return k.run(t, after, late, "FORAGE_TEST_DIR="+dir)
	}
	root, loss := scratch(t)
	calm := filepath.Join(root, "calm")
	if run(calm, never, 0) {
		t.Fatal("the crawl nobody killed was killed")
	}
	once := server.Counts().Documents
	want := view(t, calm)
	r := rand.New(rand.NewPCG(uint64(kills), 7))
	done := 0
	for round := 0; done < kills; round++ {
		dir := filepath.Join(root, fmt.Sprint(round))
		before, here := server.Counts().Documents, 0
		for run(dir, moment(r, once, here), late(r)) {
			done++
			here++
			if here%5 == 0 {
				view(t, dir) // a store is good after every kill
			}
		}
		if got := view(t, dir); got != want {
			t.Fatalf("after %d kills the store differs from that of a calm crawl:\n%s", here, firstDifference(got, want))
		}
		if served := server.Counts().Documents - before; served > once+loss*int64(here) {
			t.Errorf("%d kills: %d documents served, %d in a calm crawl", here, served, once)
		}
		t.Logf("%d kills in this crawl, %d documents served, %d in a calm crawl", here, server.Counts().Documents-before, once)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// A killer starts processes that crawl a server, and kills them with SIGKILL after so many
// requests: how fast the machine is does not matter.
type killer struct {
	url string

	mu   sync.Mutex
	left int           // requests until the process is killed
	late time.Duration // it is killed so long after the last of them
	kill func()
}

// never is after more requests than any process makes.
const never = 1 << 30

func newKiller(t *testing.T, h http.Handler) *killer {
	k := &killer{left: never}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.asked()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	k.url = web.URL
	return k
}

func (k *killer) asked() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left--; k.left == 0 {
		time.AfterFunc(k.late, k.kill)
	}
}

// run starts a process and reports whether it was killed. After 0 requests it is killed while it
// opens its store, or soon after.
func (k *killer) run(t *testing.T, after int, late time.Duration, env ...string) (killed bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(append(os.Environ(), "FORAGE_TEST_CRAWL="+k.url+"/"), env...)
	var msg bytes.Buffer
	cmd.Stderr = &msg
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() { cmd.Process.Kill() }
	k.mu.Lock()
	k.left, k.late, k.kill = after, late, kill
	k.mu.Unlock()
	if after == 0 {
		timer := time.AfterFunc(5*late, kill)
		defer timer.Stop()
	}
	err = cmd.Wait()
	if err != nil && cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("the crawl failed: %v %s", err, msg.Bytes())
	}
	return err != nil
}

// moment is after how many requests a process is killed: now and then while it opens its store,
// else within the first half of what a calm one makes, later after each kill, so that it comes
// to its end.
func moment(r *rand.Rand, once int64, kills int) int {
	if r.IntN(8) == 0 && kills < 20 {
		return 0
	}
	return 1 + int((0.05+0.4*r.Float64()+0.02*float64(kills))*float64(once))
}

// late is how long after a request a process is killed: anywhere between it and the next ones.
func late(r *rand.Rand) time.Duration { return time.Duration(r.Int64N(int64(10 * time.Millisecond))) }

// kills is how many kills a test goes through: FORAGE_KILLS, as 'make kill' sets it, or 6.
func kills() int {
	if n, err := strconv.Atoi(os.Getenv("FORAGE_KILLS")); err == nil {
		return n
	}
	return 6
}

// view opens, checks and reads the store of a crawl that does not run.
func view(t *testing.T, dir string) string {
	t.Helper()
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.View.Check(func(p store.Problem) { t.Error(p) }); err != nil {
		t.Fatal(err)
	}
	return contents(t, &db.View)
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "got  " + g[i] + "\nwant " + w[i]
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// TestKillRevisit kills cycles of discovery, budgeted and full, with SIGKILL and goes on with
// them. The cycle keeps its number, asks for no more than what was under way twice, and the
// store, the cycle's own counts included, equals that of a cycle that nobody disturbed.
func TestKillRevisit(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	t.Parallel()
	for _, policy := range []string{"full", "od-win", "index", "best"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			server, err := replay.New(snap.Blog(rand.New(rand.NewPCG(1, 2)), 20), 0, false)
			if err != nil {
				t.Fatal(err)
			}
			k := newKiller(t, server)
			root, loss := scratch(t)
			first := filepath.Join(root, "first")
			c, err := Open(loopback(first))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Run(context.Background(), []scope.Seed{{URL: k.url + "/"}}, Options{}); err != nil {
				t.Fatal(err)
			}
			for k := 1; k < 3; k++ { // so that policies have something to go by
				if err := server.Switch(k); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Revisit(context.Background(), plan.Plan{Full: true, Text: "all"}, Options{}); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			if err := server.Switch(12); err != nil {
				t.Fatal(err)
			}
			run := func(dir string, after int, late time.Duration) (killed bool) {
				t.Helper()
				return k.run(t, after, late, "FORAGE_TEST_DIR="+dir, "FORAGE_TEST_POLICY="+policy)
			}
			begin := func(name string) string {
				dir := filepath.Join(root, name)
				if err := os.CopyFS(dir, os.DirFS(first)); err != nil {
					t.Fatal(err)
				}
				return dir
			}
			calm := begin("calm")
			before := server.Counts().Documents
			if run(calm, never, 0) {
				t.Fatal("the cycle nobody killed was killed")
			}
			once := server.Counts().Documents - before
			want := cycles(t, calm) + view(t, calm)
			r := rand.New(rand.NewPCG(5, 7))
			killed := 0
			for round := range 1 + kills()/20 {
				dir, here := begin(fmt.Sprint(round)), 0
				before := server.Counts().Documents
				for run(dir, moment(r, once, here), late(r)) {
					here++
					if ended(t, dir) {
						break // killed at its very end
					}
				}
				killed += here
				if got := cycles(t, dir) + view(t, dir); got != want {
					t.Fatalf("after %d kills the store differs from that of a calm cycle:\n%s", here, firstDifference(got, want))
				}
				if served := server.Counts().Documents - before; served > once+loss*int64(here) {
					t.Errorf("%d kills: %d documents served, %d in a calm cycle", here, served, once)
				}
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%d kills", killed)
		})
	}
}

// ended reports whether the cycle that is killed, the fourth, has ended.
func ended(t *testing.T, dir string) bool {
	t.Helper()
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all := allCycles(t, &db.View)
	return len(all) == 4 && all[3].Ended != 0
}

// cycles is what a store without times tells of its cycles.
func cycles(t *testing.T, dir string) string {
	t.Helper()
	db, err := store.Open(dir, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var b strings.Builder
	for _, c := range allCycles(t, &db.View) {
		fmt.Fprintln(&b, "\ncycle", c.Cycle, c.Kind, c.Policy, c.Budget, c.Ended != 0, c.Fetched, c.Refetched, c.New, c.Pages, c.Done)
		if c.Kind == store.FullRecrawl {
			continue // in no order
		}
		if err := db.Refetches(1, c.Cycle, func(r *store.Refetch) bool {
			fmt.Fprintln(&b, r.Order, r.Page, r.Status, r.Gained, r.Lost, r.Found, r.Led, r.Gap)
			return true
		}); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// allCycles are the cycles of a store, by number.
func allCycles(t *testing.T, v *store.View) (all []*store.CycleRecord) {
	t.Helper()
	if err := v.Cycles(0, func(c *store.CycleRecord) bool {
		all = append(all, c)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return all
}
