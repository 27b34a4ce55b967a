package crawl

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"

	"forage/store"
)

// TestDurableSteering crashes the machine after each call that steers: when it returns, what was
// asked for is on the disk.
func TestDurableSteering(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, other := newWeb(t), newWeb(t)
		w.tree("/", 4)
		other.tree("/", 2)
		release := w.hold("/1", page("/1"))
		files := vfs.NewCrashableMem()
		db, err := store.Open("crawl", store.Options{FS: files})
		if err != nil {
			t.Fatal(err)
		}
		cfg := local("crawl")
		cfg.Parallel = 1 // what is added waits
		if cfg.Loop, err = NewLoop(cfg); err != nil {
			t.Fatal(err)
		}
		c := newCrawl(cfg, db)
		done := begin(func() (*Result, error) { return c.Run(context.Background(), w.seed("/", store.Rules{}), Options{}) })
		if !under(done) {
			t.Fatal("the run has ended")
		}
		crash := func(check func(v *store.View)) {
			t.Helper()
			db, err := store.Open("crawl", store.Options{FS: files.CrashClone(vfs.CrashCloneCfg{})})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if err := db.View.Check(func(p store.Problem) { t.Error(p) }); err != nil {
				t.Fatal(err)
			}
			check(&db.View)
		}
		state := func(want store.SiteState) {
			t.Helper()
			crash(func(v *store.View) {
				if s, err := v.Site(1); err != nil || s.State != want {
					t.Errorf("after a crash the site is %v, %v; want %v", s.State, err, want)
				}
			})
		}
		added := []string{w.URL + "/added", w.URL + "/added too", other.URL + "/"}
		if err := c.Add(added); err != nil {
			t.Fatal(err)
		}
		crash(func(v *store.View) {
			for _, u := range []string{w.URL + "/added", w.URL + "/added%20too", other.URL + "/"} {
				id, err := v.Find(u)
				if err != nil {
					t.Errorf("after a crash %s is %v", u, err)
					continue
				}
				if d, err := v.Doc(id); err != nil || d.State != store.Queued {
					t.Errorf("after a crash %s is %+v, %v", u, d, err)
				}
			}
		})
		name := store.HostOf(w.URL)
		if err := c.Pause(name); err != nil {
			t.Fatal(err)
		}
		state(store.SitePaused)
		if err := c.Resume(name); err != nil {
			t.Fatal(err)
		}
		state(store.SiteCrawling)
		close(release)
		if r := good(t, done); r.Known != 8 {
			t.Errorf("%+v; want 5 pages and 3", r)
		}
		state(store.SiteDone)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
