package crawl

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"forage/crawl/plan"
	"forage/internal/race"
	"forage/internal/software"
	"forage/store"
)

// A blog has posts, each with a text of its own, a front page and archives of ten, and a sitemap of
// all that robots.txt names.
type blog struct {
	*web
	posts []string // paths, the newest first
}

func newBlog(t *testing.T, n int) *blog {
	b := &blog{web: newWeb(t)}
	b.pages["/robots.txt"] = plain("Sitemap: http://HOST/sitemap.xml\n")
	for i := range n {
		b.publish(fmt.Sprintf("/post-%d", i))
	}
	b.update()
	return b
}

func (b *blog) text(about string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, `<title>Blog</title><p>This is the blog, and this stands on all of its pages as it is.<p>What is to be said about %s is said here, and nowhere else.<p>At %s<a href=/>home</a>`, about, r.URL.Path)
	}
}

func (b *blog) publish(path string) {
	b.set(path, b.text(path))
	b.posts = append([]string{path}, b.posts...)
}

// rename gives a post another path, and has the old one answer with h.
func (b *blog) rename(from, to string, h http.HandlerFunc) {
	b.set(to, b.text(from))
	b.posts[slices.Index(b.posts, from)] = to
	b.set(from, h)
}

func (b *blog) remove(path string, h http.HandlerFunc) {
	b.posts = slices.DeleteFunc(b.posts, func(p string) bool { return p == path })
	b.set(path, h)
}

// update makes the lists anew.
func (b *blog) update() {
	for at, n := 0, 0; at < len(b.posts); at, n = at+10, n+1 {
		some := slices.Clone(b.posts[at:min(at+10, len(b.posts))])
		path := fmt.Sprintf("/archive/%d", n)
		if n == 0 {
			path = "/"
		}
		b.set(path, page("posts", append(some, fmt.Sprintf("/archive/%d", n+1))...))
	}
	b.set("/sitemap.xml", urlset(b.posts...))
}

// TestGoneAndMoved deletes two posts of 60 and renames two: within two cycles of ten fetches all
// four are told, the renamed ones as moved and not as new, and what was published as new.
func TestGoneAndMoved(t *testing.T) {
	b := newBlog(t, 60)
	c := open(t, func(cfg *Config) { cfg.Parallel = 4 })
	b.crawl(t, c, store.Rules{})
	b.remove("/post-20", status(404))
	b.remove("/post-31", status(410))
	b.rename("/post-25", "/renamed", redirect(301, "/renamed"))
	b.rename("/post-40", "/named-anew", status(404))
	for i := range 3 {
		b.publish(fmt.Sprintf("/new-%d", i))
	}
	b.update()
	var fresh, moved int64
	p := budgeted(10)
	p.Policy, p.CheckGone = "feeds-first", .25 // so that the sitemap is read
	for range 2 {
		r := b.revisit(t, c, p)
		fresh, moved = fresh+r.NewPages, moved+r.Moved
		if r.Refetched > 10 {
			t.Errorf("cycle %d: %d old documents with a budget of 10", r.Cycle, r.Refetched)
		}
	}
	if fresh != 3 || moved != 2 {
		t.Errorf("%d new pages and %d moved ones, want 3 and 2", fresh, moved)
	}
	for _, path := range []string{"/post-20", "/post-31", "/post-40"} {
		if d := b.doc(t, c, path); d.Gone == 0 {
			t.Errorf("%s is not gone: %+v", path, d)
		}
	}
	for to, from := range map[string]string{"/renamed": "/post-25", "/named-anew": "/post-40"} {
		if d := b.doc(t, c, to); d.Moved == 0 || d.MovedFrom != b.doc(t, c, from).ID || d.New != store.NotNew {
			t.Errorf("%s: moved %d from %d, new %v", to, d.Moved, d.MovedFrom, d.New)
		}
	}
	if got := pagesOf(t, c.View(), func(d *store.Doc) bool { return d.New == store.IsNew }); differ(got, map[string]bool{"/new-0": true, "/new-1": true, "/new-2": true}) != "" {
		t.Errorf("new are %v", got)
	}
	if got := pagesOf(t, c.View(), func(d *store.Doc) bool { return d.Gone != 0 }); len(got) != 3 {
		t.Errorf("gone are %v", got)
	}
}

// TestChecksOutweigh deletes posts of a blog that publishes next to nothing: looks at them are worth more
// than documents of which the policy expects less, and so are not bound by their share of the budget.
func TestChecksOutweigh(t *testing.T) {
	b := newBlog(t, 60)
	c := open(t, func(cfg *Config) { cfg.Parallel, cfg.At = 1, software.Start })
	b.crawl(t, c, store.Rules{})
	for range 3 {
		c.cfg.At = c.cfg.At.Add(software.Week)
		b.revisit(t, c, budgeted(10))
	}
	removed := []string{"/post-20", "/post-25", "/post-31", "/post-38", "/post-44", "/post-50"}
	for _, path := range removed {
		b.remove(path, status(404))
	}
	b.publish("/new")
	b.update()
	p := budgeted(10)
	p.CheckGone = .1 // one of ten
	c.cfg.At = c.cfg.At.Add(software.Week)
	if r := b.revisit(t, c, p); r.NewPages != 1 || r.Refetched > 10 {
		t.Errorf("%d new pages with %d fetches, want 1 with 10 at most", r.NewPages, r.Refetched)
	}
	for _, path := range removed {
		if d := b.doc(t, c, path); d.Gone == 0 {
			t.Errorf("%s is not gone", path)
		}
	}
}

// TestMovedLater renames a post where the cycle has no fetch left to look at the old address: until
// that is looked at nobody can tell, and it is told as moved then, or as new if both are there.
func TestMovedLater(t *testing.T) {
	for _, copied := range []bool{false, true} {
		t.Run(fmt.Sprint("copied=", copied), func(t *testing.T) {
			b := newBlog(t, 30)
			c := open(t, nil)
			b.crawl(t, c, store.Rules{})
			old := b.text("/post-15")
			b.rename("/post-15", "/renamed", status(404))
			if copied {
				b.set("/post-15", old)
			}
			b.update()
			some := budgeted(6)
			some.CheckGone = .01        // none of six
			some.Policy = "feeds-first" // which does not say that its documents are worth less
			for range 4 {               // until it has looked at the sitemap
				if r := b.revisit(t, c, some); r.NewPages != 0 || r.Moved != 0 {
					t.Errorf("cycle %d tells %d new pages and %d moved ones", r.Cycle, r.NewPages, r.Moved)
				} else if r.Unknown == 1 {
					break
				}
			}
			if d := b.doc(t, c, "/renamed"); d.New != store.MaybeNew || d.MovedFrom != b.doc(t, c, "/post-15").ID {
				t.Fatalf("/renamed is new: %v, from %d", d.New, int32(d.MovedFrom))
			}
			p := budgeted(10)
			p.CheckGone = .5
			r := b.revisit(t, c, p)
			d := b.doc(t, c, "/renamed")
			if copied && (r.NewPages != 1 || r.Moved != 0 || d.New != store.IsNew || d.Cycle != r.Cycle) || !copied && (r.NewPages != 0 || r.Moved != 1 || d.New != store.NotNew) {
				t.Errorf("%d new pages, %d moved ones; /renamed is new: %v", r.NewPages, r.Moved, d.New)
			}
		})
	}
}

// TestMovedUnseen renames a post at a site where no fetch is ever left to look at the old address: after
// a week the new one is told as new, once. When the old one is found gone after all, it has moved.
func TestMovedUnseen(t *testing.T) {
	b := newBlog(t, 30)
	c := open(t, func(cfg *Config) { cfg.At = software.Start })
	b.crawl(t, c, store.Rules{})
	b.rename("/post-15", "/renamed", status(404))
	b.update()
	var told []int64
	for range 24 {
		c.cfg.At = c.cfg.At.Add(software.Week / 7)
		p := budgeted(2)
		p.CheckGone, p.Policy = .01, "feeds-first"
		if told = append(told, b.revisit(t, c, p).NewPages); told[len(told)-1] > 0 {
			break
		}
	}
	d := b.doc(t, c, "/renamed")
	if n := len(told); n < 7 || told[n-1] != 1 || d.New != store.IsNew {
		t.Fatalf("told new, day by day: %v", told)
	}
	c.cfg.At = c.cfg.At.Add(software.Week / 7)
	p := budgeted(10)
	p.CheckGone = .5
	if r := b.revisit(t, c, p); r.NewPages != 0 || r.Moved != 1 || b.doc(t, c, "/renamed").New != store.NotNew {
		t.Errorf("%d new pages, %d moved ones", r.NewPages, r.Moved)
	}
}

// TestWindows publishes at a blog of which nothing is ever gone: what falls off the front page, the
// archives is not suspected, and not one fetch goes to it. The weeks pass on a clock of the test's:
// what a policy chooses follows from the times of its cycles.
func TestWindows(t *testing.T) {
	fetched := func(share float64) (asked []string) {
		b := newBlog(t, 60)
		c := open(t, func(cfg *Config) { cfg.Parallel, cfg.At = 1, software.Start })
		b.crawl(t, c, store.Rules{})
		for week := range 5 {
			c.cfg.At = c.cfg.At.Add(software.Week)
			for i := range week + 1 {
				b.publish(fmt.Sprintf("/new-%d-%d", week, i))
			}
			b.update()
			p := budgeted(8)
			p.CheckGone = share
			r := b.revisit(t, c, p)
			if r.NewPages != int64(week+1) || r.Moved != 0 {
				t.Errorf("week %d: %d new pages, %d moved ones", week, r.NewPages, r.Moved)
			}
			var rows []*store.Refetch
			if err := c.View().Refetches(1, r.Cycle, func(f *store.Refetch) bool { rows = append(rows, f); return true }); err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(rows, func(a, b *store.Refetch) int { return a.Order - b.Order })
			for _, f := range rows {
				d, err := c.View().Doc(f.Page)
				if err != nil {
					t.Fatal(err)
				}
				if d.Dropped > 0 {
					t.Errorf("week %d: %s is suspected", week, d.URL)
				}
				asked = append(asked, d.URL[len(b.URL):])
			}
		}
		return asked
	}
	if with, without := fetched(.5), fetched(0); !slices.Equal(with, without) {
		t.Errorf("with a share for pages that are gone\n%q, without\n%q", with, without)
	}
}

// TestSoftGone: a page that answers as the site does for what is not there is gone, and one that
// says so in its title, if a list has dropped it.
func TestSoftGone(t *testing.T) {
	b := newBlog(t, 20)
	c := open(t, nil)
	b.crawl(t, c, store.Rules{})
	b.remove("/post-5", page("Not found"))
	b.remove("/post-7", page("Another one"))
	b.update()
	for range 2 {
		p := budgeted(8)
		p.Policy, p.CheckGone = "feeds-first", .5
		b.revisit(t, c, p)
	}
	if gone, there := b.doc(t, c, "/post-5"), b.doc(t, c, "/post-7"); gone.Gone == 0 || gone.Title != "Blog" || there.Gone != 0 {
		t.Errorf("/post-5 is gone: %d, %q; /post-7: %d", gone.Gone, gone.Title, there.Gone)
	}
}

// TestSoftGoneNotHome: a home page, or a seed, whose title comes to say that something is not there is
// not gone, though a list that named it does no more.
func TestSoftGoneNotHome(t *testing.T) {
	b := newBlog(t, 20)
	b.set("/sitemap.xml", urlset(append(b.posts, "/", "/post-3")...))
	c := open(t, nil)
	seeds := append(b.seed("/", store.Rules{}), b.seed("/post-3", store.Rules{})...)
	if _, err := c.Run(t.Context(), seeds, Options{}); err != nil {
		t.Fatal(err)
	}
	b.remove("/post-3", page("Not found"))
	b.update()
	b.set("/", page("Not found", b.posts...))
	for range 2 {
		b.revisit(t, c, plan.Plan{Full: true})
		for _, path := range []string{"/", "/post-3"} {
			d := b.doc(t, c, path)
			d.Dropped++ // as if one more list had dropped it
			if d.Gone != 0 {
				t.Errorf("%s is gone", path)
			}
			if err := c.db.Put(d); err != nil {
				t.Fatal(err)
			}
		}
		b.set("/", page("Not found, either", b.posts...))
		b.set("/post-3", page("Not found, either"))
	}
}

// TestFullRecrawlTellsMoved: a full recrawl pairs what has gone with what has come, too.
func TestFullRecrawlTellsMoved(t *testing.T) {
	b := newBlog(t, 30)
	c := open(t, nil)
	b.crawl(t, c, store.Rules{})
	b.rename("/post-15", "/renamed", status(410))
	b.rename("/post-3", "/elsewhere", redirect(301, "/elsewhere"))
	b.publish("/new")
	b.update()
	r := b.revisit(t, c, plan.Plan{Full: true})
	if r.NewPages != 1 || r.Moved != 2 || b.doc(t, c, "/renamed").MovedFrom != b.doc(t, c, "/post-15").ID {
		t.Errorf("%d new pages, %d moved ones", r.NewPages, r.Moved)
	}
}

// TestSoftwareSites revisits sites as common software serves them, after first visits that were
// cut, with ten fetches a week: what was published, deleted and renamed is told within two weeks,
// nothing is told as new that was there, and nothing that lies behind what is new is followed to
// an end that it does not have.
func TestSoftwareSites(t *testing.T) {
	race.Skip(t)
	for _, test := range []struct {
		kind                string
		cut                 int64   // fetches of the first visit
		published, departed float64 // shares told, at least
		requests            int     // of a revisit, at most
	}{
		{"wordpress", 400, 1, 1, 60},
		{"mediawiki", 120, 0, 0, 60}, // which documents the policy chooses there is not for this test
		{"cgit", 400, 0, 0, 150},     // each commit has pages of its own
		{"mantis", 600, 1, .6, 60},   // no sitemap, and what was deleted answers 200
	} {
		t.Run(test.kind, func(t *testing.T) {
			t.Parallel()
			site, err := software.New(test.kind, software.Config{Pages: 80, Weeks: 4, Published: 3, Deleted: 1, Renamed: 1, Edited: 3, Seed: 3})
			if err != nil {
				t.Fatal(err)
			}
			w := newWeb(t)
			w.other = site.ServeHTTP
			dir := t.TempDir()
			at := software.Start
			visit := func(do func(c *Crawl) *Result) *Result {
				t.Helper()
				site.At(at)
				cfg := local(dir)
				cfg.At = at
				c, err := Open(cfg)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				return do(c)
			}
			visit(func(c *Crawl) *Result { return w.crawlWith(t, c, store.Rules{}, Options{MaxTotal: test.cut}) })
			fresh, departed := map[string]bool{}, map[string]time.Time{}
			for range site.Weeks() {
				at = at.Add(software.Week)
				before := w.total()
				visit(func(c *Crawl) *Result {
					p := budgeted(10)
					p.MaxNew, p.CheckGone = 1000, .25
					r := w.revisit(t, c, p)
					if n := w.total() - before; n > test.requests || r.Refetched+r.Waited > 10 {
						t.Errorf("%s: %d requests, %d old documents, %d that waited", at.Format(time.DateOnly), n, r.Refetched, r.Waited)
					}
					if err := c.View().Docs(func(d *store.Doc) bool {
						path := strings.TrimPrefix(d.URL, w.URL)
						if d.New == store.IsNew && d.Cycle == r.Cycle && d.IsListed() {
							fresh[path] = true
						}
						if d.GoneIn == r.Cycle && d.Gone == at.Unix() {
							departed[path] = at
						}
						if d.MovedIn == r.Cycle {
							from, err := c.View().Doc(d.MovedFrom)
							if err != nil {
								t.Error(err)
								return false
							}
							departed[strings.TrimPrefix(from.URL, w.URL)] = at
						}
						return true
					}); err != nil {
						t.Fatal(err)
					}
					return r
				})
			}
			var told, all, left, gone float64
			for _, change := range site.Changes(software.Start, at) {
				switch change.What {
				case software.Published:
					if all++; fresh[change.To] {
						told++
					}
				case software.Deleted, software.Renamed:
					if change.Time.After(at.Add(-software.Week)) {
						continue // there is a week more
					}
					left++
					if when, ok := departed[change.From]; ok && when.Sub(change.Time) <= 2*software.Week {
						gone++
					}
				}
			}
			if told < test.published*all || gone < test.departed*left {
				t.Errorf("%v of %v published pages told, %v of %v that left their address", told, all, gone, left)
			}
			t.Logf("%v of %v published pages told, %v of %v that left their address", told, all, gone, left)
			for _, path := range site.Content(software.Start) {
				if fresh[path] {
					t.Errorf("%s was told as new, and was there", path)
				}
			}
		})
	}
}
