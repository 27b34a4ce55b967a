package crawl

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"forage/adopt"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/graph"
	"forage/store"
)

// everything is a plan of which the budget is whatever there is.
var everything = plan.Plan{Policy: "round-robin", Budget: func(n int) int { return n }, Text: "100%"}

// apart opens a store to which all hosts but those of own belong elsewhere.
func apart(t *testing.T, own ...*web) *Crawl {
	t.Helper()
	return open(t, func(cfg *Config) {
		cfg.Elsewhere = func(host string) bool {
			return !slices.ContainsFunc(own, func(w *web) bool { return store.HostOf(w.URL) == host })
		}
	})
}

// outbox returns what waits in the outbox of a store.
func outbox(t *testing.T, c *Crawl) (all []store.Outgoing) {
	t.Helper()
	if err := c.DB().Sync(); err != nil {
		t.Fatal(err)
	}
	if err := c.View().Outgoing(0, func(o *store.Outgoing) bool { all = append(all, *o); return true }); err != nil {
		t.Fatal(err)
	}
	return all
}

// carry gives what waits in the outbox of one store to another, and drops it.
func carry(t *testing.T, from, to *Crawl) (n int) {
	t.Helper()
	var found []Received
	last := uint64(0)
	for _, o := range outbox(t, from) {
		found = append(found, Received{URL: o.URL, From: o.From, Via: o.Via, NoFollow: o.NoFollow, At: o.At, Depth: o.Depth, MaybeOld: o.MaybeOld})
		last = o.Seq
	}
	r, err := to.Receive(t.Context(), found, nil)
	if err != nil || r.Added+r.LeftOut+r.Known != len(found) {
		t.Fatalf("%d received: %+v, %v", len(found), r, err)
	}
	if err := from.Write(func(db *store.DB) error { return db.DropOutgoing(last) }); err != nil {
		t.Fatal(err)
	}
	if left := outbox(t, from); len(left) > 0 {
		t.Fatalf("dropped, and there is still %+v", left)
	}
	return len(found)
}

// states is what a store says of all documents at some hosts.
func states(t *testing.T, v *store.View, at ...*web) string {
	t.Helper()
	var lines []string
	if err := v.Docs(func(d *store.Doc) bool {
		if !slices.ContainsFunc(at, func(w *web) bool { return store.HostOf(w.URL) == store.HostOf(d.URL) }) {
			return true
		}
		if d.Kind == store.Unseen && d.Main { // how often it is asked for goes by the number of cycles
			return true
		}
		from := ""
		if d.FoundOn != graph.None {
			by, err := v.Doc(d.FoundOn)
			if err != nil {
				t.Fatal(err)
			}
			from = by.URL
		}
		lines = append(lines, fmt.Sprint(d.URL, " ", d.State, " ", d.Reason, " ", d.Kind, " new ", d.New, " ", d.Status, " ", d.Digest, " via ", d.Via, " from ", from, " ", d.NoFollow, " depth ", d.Depth, " copy ", d.DuplicateOf != graph.None))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// twoSites are sites that link to each other in all ways.
func twoSites(t *testing.T) (a, b *web) {
	a, b = newWeb(t), newWeb(t)
	body := func(w *web, path, html string) {
		w.set(path, func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/html")
			io.WriteString(rw, "<!doctype html><title>"+path+"</title><p>What "+path+" says."+strings.NewReplacer("{a}", a.URL, "{b}", b.URL).Replace(html))
		})
	}
	body(a, "/", `<a href=/1>1</a><a href={b}/from-a>x</a><a href={b}/out/1>out</a><link rel=alternate type="application/rss+xml" href=/feed>`)
	body(a, "/1", `<a href=/2>2</a><a href={b}/from-a-too rel=nofollow>x</a><a href=/away>away</a><a href={b}/>home</a>`)
	body(a, "/2", `<a href={b}/chain/1>x</a><img src={b}/logo.png>`)
	body(a, "/back", `<a href={b}/chain/2>x</a>`)
	a.set("/away", redirect(http.StatusFound, b.URL+"/moved-here"))
	a.set("/feed", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/rss+xml")
		fmt.Fprintf(rw, `<rss version="2.0"><channel><item><link>%s/in-a-feed</link></item></channel></rss>`, b.URL)
	})
	body(b, "/", `<a href=/own>own</a>`)
	for _, path := range []string{"/own", "/from-a-too", "/out/1", "/moved-here", "/in-a-feed", "/never"} {
		body(b, path, "")
	}
	body(b, "/from-a", `<a href=/deep>deep</a>`)
	body(b, "/deep", `<a href={a}/1>1</a>`)
	body(b, "/chain/1", `<a href={a}/back>back</a>`)
	body(b, "/chain/2", `<a href=/chain/3>3</a>`)
	body(b, "/chain/3", "")
	return a, b
}

// TestElsewhere: two stores that split the hosts of two sites, each with the outbox of the other, come to what one store
// comes to: in first visits, whichever comes first, and when one site gains a link to a new page of the other.
func TestElsewhere(t *testing.T) {
	for _, first := range []string{"a", "b"} {
		t.Run(first+" first", func(t *testing.T) {
			a, b := twoSites(t)
			rules := store.Rules{Exclude: []string{"/out/"}}
			seeds := func(ws ...*web) (all []scope.Seed) {
				for _, w := range ws {
					all = append(all, scope.Seed{URL: w.URL + "/", Rules: rules})
				}
				return all
			}
			run := func(c *Crawl, ws ...*web) {
				t.Helper()
				if r, err := c.Run(t.Context(), seeds(ws...), Options{}); err != nil || r.Interrupted || r.Errors > 0 {
					t.Fatalf("%+v, %v", r, err)
				}
			}
			one := open(t, nil)
			run(one, a, b)
			at := apart(t, a)
			bt := apart(t, b)
			order := []struct {
				c, other *Crawl
				w        *web
			}{{at, bt, a}, {bt, at, b}}
			if first == "b" {
				slices.Reverse(order)
			}
			for _, o := range order {
				run(o.c, o.w)
			}
			for rounds := 0; carry(t, at, bt)+carry(t, bt, at) > 0; rounds++ {
				for _, o := range order {
					run(o.c, o.w)
				}
				if rounds > 10 {
					t.Fatal("it does not end")
				}
			}
			compare := func() {
				t.Helper()
				for _, o := range order {
					if got, want := states(t, o.c.View(), o.w), states(t, one.View(), o.w); got != want {
						t.Errorf("the store of %s has\n%s\nwant\n%s", o.w.URL, got, want)
					}
				}
			}
			compare()
			if n := a.count("/logo.png") + b.count("/logo.png") + b.count("/never"); n > 0 {
				t.Errorf("%d requests that nobody should have made", n)
			}

			// A page of a that is known gains a link to a new page of b, which leads to another one, and back to one of a.
			a.set("/2", page("2", b.URL+"/chain/1", b.URL+"/news"))
			b.set("/news", page("news", "/news/more", a.URL+"/answer"))
			b.set("/news/more", page("more news", "/"))
			a.set("/answer", page("answer", "/"))
			revisit := func(c *Crawl) {
				t.Helper()
				if r, err := c.Revisit(t.Context(), everything, Options{}); err != nil || r.Interrupted {
					t.Fatalf("%+v, %v", r, err)
				}
			}
			for range 3 {
				revisit(one)
			}
			for range 3 {
				for _, o := range order {
					revisit(o.c)
				}
				carry(t, at, bt)
				carry(t, bt, at)
			}
			compare()
			for _, path := range []string{"/news", "/news/more"} {
				if d := b.doc(t, bt, path); d.New != store.IsNew || d.State != store.Fetched {
					t.Errorf("%s: %+v", path, d)
				}
			}
			told := 0
			if err := bt.View().Events(0, func(e *store.Event) bool {
				if e.Type == store.PageNew && e.URL == b.URL+"/news" {
					if told++; e.FoundOn != a.URL+"/2" {
						t.Errorf("found on %q", e.FoundOn)
					}
				}
				return true
			}); err != nil || told != 1 {
				t.Errorf("told %d times, %v", told, err)
			}
		})
	}
}

// TestElsewhereIsNotAsked: a host that belongs to another store gets no request, whatever leads there, also where it is
// within the scope of a site, or was in line before.
func TestElsewhereIsNotAsked(t *testing.T) {
	a, b := twoSites(t)
	a.set("/robots.txt", plain("User-agent: *\nAllow: /\nSitemap: "+b.URL+"/sitemap-of-a.xml\n"))
	dir := t.TempDir()
	cfg := local(dir)
	c, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Write(func(db *store.DB) error { // it waits since hosts were not split
		s := &store.Site{Name: store.HostOf(a.URL), Rules: store.Rules{Scope: "host", Within: store.HostOf(a.URL)}, State: store.SiteCrawling, FirstCycle: 1, LastCycle: 1}
		if err := db.AddSite(s); err != nil {
			return err
		}
		_, err := db.Add(store.NewDoc(b.URL+"/waits", s.ID))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Elsewhere = func(host string) bool { return host == store.HostOf(b.URL) }
	cfg.Archive = &Archive{Folder: t.TempDir()}
	c = openSound(t, cfg)
	if _, err := c.Run(t.Context(), []scope.Seed{{URL: a.URL + "/"}}, Options{Requisites: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context(), []scope.Seed{{URL: b.URL + "/"}}, Options{}); !errors.Is(err, ErrElsewhere) {
		t.Errorf("a seed there: %v", err)
	}
	if _, err := c.Revisit(t.Context(), plan.Plan{Full: true, Text: "all"}, Options{}); err != nil {
		t.Error(err)
	}
	if d := b.doc(t, c, "/waits"); d.State != store.Skipped || d.Reason != store.ReasonElsewhere {
		t.Errorf("what waited is %v, %q", d.State, d.Reason)
	}
	if _, err := c.Turn(t.Context(), b.URL+"/", new(store.Rules)); !errors.Is(err, ErrLeftAlone) || !errors.Is(err, ErrElsewhere) {
		t.Errorf("a turn there: %v", err)
	}
	seeds, refused, err := c.Adopt(t.Context(), Growth{Most: adopt.MostSilent}, Options{})
	if len(seeds)+len(refused) > 0 || err != nil {
		t.Errorf("adopted %v, refused %v, %v", seeds, refused, err)
	}
	// A robots.txt that leads there has no rules that anybody knows.
	a.set("/robots.txt", redirect(http.StatusFound, b.URL+"/robots.txt"))
	if r, o, err := c.Client().Robots(t.Context(), a.URL, &fetch.Request{Follows: c.follows}, nil); err != nil || !r.Unreachable() {
		t.Errorf("%+v, %+v, %v", r, o, err)
	}
	if n := b.total(); n > 0 {
		t.Errorf("it was asked for %v", b.asked)
	}
	var got []string
	for i, o := range outbox(t, c) {
		if o.Seq != uint64(i+1) || o.At == 0 {
			t.Errorf("%+v", o)
		}
		got = append(got, fmt.Sprint(strings.TrimPrefix(o.URL, b.URL), " ", o.Via, " from ", strings.TrimPrefix(o.From, a.URL), " ", o.NoFollow, " ", o.MaybeOld))
	}
	slices.Sort(got)
	want := []string{
		"/ a from /1 false true", "/chain/1 a from /2 false true", "/from-a a from / false true", "/from-a-too a from /1 true true",
		"/in-a-feed feed from /feed false true", "/moved-here redirect from /away false true", "/out/1 a from / false true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("outbox\n%q, want\n%q", got, want)
	}
}

// TestReceive: what is received is in line at once where a cycle is open; what belongs to no site, is none, or is
// left out is counted; keep is told once for all, and where it fails nothing is received.
func TestReceive(t *testing.T) {
	w, other := newWeb(t), newWeb(t)
	w.pages["/"] = page("home", "/slow")
	entered, release := make(chan bool), make(chan bool)
	w.set("/slow", func(rw http.ResponseWriter, r *http.Request) {
		close(entered)
		<-release
		page("slow")(rw, r)
	})
	w.set("/x?b=1", page("x"))
	w.set("/followed", page("followed", "/behind"))
	w.set("/behind", page("behind"))
	c := apart(t, w, other)
	done := begin(func() (*Result, error) {
		return c.Run(t.Context(), w.seed("/", store.Rules{Exclude: []string{"/no/"}, IgnoreParams: []string{"sid"}}), Options{})
	})
	<-entered
	found := []Received{
		{URL: w.URL + "/x?sid=9&b=1", From: "http://far.test/page", Via: store.ViaAnchor, At: 7, Depth: 3},
		{URL: w.URL + "/followed", From: "http://far.test/page", Via: store.ViaAnchor},
		{URL: w.URL + "/followed", From: "http://far.test/other", Via: store.ViaFeed},
		{URL: w.URL + "/no/x", Via: store.ViaAnchor},
		{URL: w.URL + "/", Via: store.ViaAnchor},
		{URL: "no URL"},
		{URL: "http://far.test/", Via: store.ViaAnchor},
		{URL: other.URL + "/y", From: "http://far.test/page", Via: store.ViaAnchor},
	}
	failure := errors.New("no")
	if r, err := c.Receive(t.Context(), found, func(*store.DB) error { return failure }); err != failure || r.Added > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := c.View().Find(w.URL + "/followed"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("it was received although keep failed: %v", err)
	}
	kept := 0
	r, err := c.Receive(t.Context(), found, func(db *store.DB) error { kept++; return db.PutWatched("log", []byte("8")) })
	if err != nil || r.Added != 2 || r.LeftOut != 1 || r.Known != 2 || r.Refused != 2 || len(r.NoSite) != 1 || r.NoSite[0] != found[7] || kept != 1 {
		t.Errorf("%+v, %v, kept %d times", r, err, kept)
	}
	close(release)
	if res := good(t, done); res.Pages != 5 { // of the same visit
		t.Errorf("%+v", res)
	}
	d := w.doc(t, c, "/x?b=1")
	by, err := c.View().Doc(d.FoundOn)
	if err != nil || by.URL != "http://far.test/page" || by.Reason != store.ReasonElsewhere || d.Depth != 3 || d.Discovered != 7 || d.New != store.NotNew || d.Given == "" {
		t.Errorf("%+v, found on %+v, %v", d, by, err)
	}
	if len(outbox(t, c)) > 0 {
		t.Error("what came from there goes back")
	}
	// Nothing runs: it waits for the next cycle, and is new in that.
	w.set("/later", page("later"))
	if r, err := c.Receive(t.Context(), []Received{{URL: w.URL + "/later", Via: store.ViaAnchor}}, nil); err != nil || r.Added != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if d := w.doc(t, c, "/later"); d.State != store.Queued || d.New != store.IsNew {
		t.Errorf("%+v", d)
	}
	res := w.revisit(t, c, plan.Plan{Policy: "round-robin", Budget: func(int) int { return 1 }, Text: "1"})
	if res.NewPages != 1 || w.count("/later") != 1 {
		t.Errorf("%+v, asked for %d times", res, w.count("/later"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Receive(ctx, found, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestToldByOwn: what another store found, which could not tell whether it is new, is new where a page of its own site newly leads to it, and
// is followed beyond the budget as all that is new.
func TestToldByOwn(t *testing.T) {
	w := newWeb(t)
	w.pages["/"] = page("home", "/a")
	for _, path := range []string{"/a", "/early", "/behind", "/old"} {
		w.set(path, page(path))
	}
	w.set("/post", page("post", "/behind"))
	c := apart(t, w)
	receive := func(paths ...string) {
		t.Helper()
		var found []Received
		for _, path := range paths {
			found = append(found, Received{URL: w.URL + path, From: "http://far.test/", Via: store.ViaAnchor, MaybeOld: true})
		}
		if r, err := c.Receive(t.Context(), found, nil); err != nil || r.Added != len(paths) {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	w.crawl(t, c, store.Rules{})
	receive("/early")
	one := plan.Plan{Policy: "round-robin", Budget: func(int) int { return 1 }, Text: "1"}
	w.revisit(t, c, one) // "/", then "/a"
	receive("/post", "/old")
	w.set("/", page("home", "/a", "/early", "/post"))
	var pages int64
	for range 2 {
		pages += w.revisit(t, c, one).NewPages
	}
	if n := [3]int{w.count("/early"), w.count("/post"), w.count("/behind")}; pages != 3 || n != [3]int{1, 1, 1} {
		t.Errorf("%d new pages, want 3, /early, /post and /behind, which were asked for %v times", pages, n)
	}
	if d := w.doc(t, c, "/old"); d.State != store.Queued || d.New != store.MaybeNew {
		t.Errorf("%+v", d)
	}
	if err := c.View().Check(func(p store.Problem) { t.Error(p) }); err != nil {
		t.Error(err)
	}
}

// TestLeaveTo: what a site's links lead to at another site of the same store, on which nobody works, waits for its next cycle, as it would if
// another store had found it.
func TestLeaveTo(t *testing.T) {
	a, b := newWeb(t), newWeb(t)
	b.pages["/"] = page("home", "/known")
	b.set("/known", page("known"))
	for _, path := range []string{"/hidden?y=1", "/no/x", "/later"} {
		b.set(path, page(path))
	}
	a.pages["/"] = page("a", b.URL+"/hidden?sid=3&y=1", b.URL+"/hidden?y=1", b.URL+"/known", b.URL+"/no/x", b.URL+"/cart?add-to-cart=3", "/2")
	a.set("/2", page("2"))
	c := apart(t, a, b)
	b.crawl(t, c, store.Rules{Exclude: []string{"/no/"}, IgnoreParams: []string{"sid"}})
	a.crawl(t, c, store.Rules{})
	d := b.doc(t, c, "/hidden?y=1")
	if by, err := c.View().Doc(d.FoundOn); err != nil || by.URL != a.URL+"/" || d.State != store.Queued || d.Given == "" || d.Depth != 1 {
		t.Errorf("%+v, found on %+v, %v", d, by, err)
	}
	site, err := c.View().SiteNamed(strings.TrimPrefix(b.URL, "http://"))
	if err != nil || d.Site != site.ID {
		t.Errorf("it is of site %d, want %+v, %v", d.Site, site, err)
	}
	if d := b.doc(t, c, "/no/x"); d.State != store.Skipped || d.Site != site.ID {
		t.Errorf("%+v", d)
	}
	if b.count("/hidden?y=1") > 0 {
		t.Error("it was asked for by a visit of the other site")
	}
	a.set("/2", page("2", b.URL+"/later"))
	all := plan.Plan{Policy: "round-robin", Budget: func(n int) int { return n + 10 }, Text: "all"} // what waits, too
	for _, w := range []*web{a, b} {
		all.Sites = []string{strings.TrimPrefix(w.URL, "http://")}
		w.revisit(t, c, all)
	}
	for _, path := range []string{"/hidden?y=1", "/later"} {
		if d := b.doc(t, c, path); d.State != store.Fetched || b.count(path) != 1 {
			t.Errorf("%s %s %s, asked for %d times", d.URL, d.State, d.Reason, b.count(path))
		}
	}
	if b.count("/no/x")+b.count("/cart?add-to-cart=3") > 0 {
		t.Error("what is not to be fetched was")
	}
	if len(outbox(t, c)) > 0 {
		t.Error("something waits for another store")
	}
	if err := c.View().Check(func(p store.Problem) { t.Error(p) }); err != nil {
		t.Error(err)
	}
}

// TestReceiveSurvives cuts the power at any moment of crawls that send out and receive: each store has a URL in its outbox for each document
// elsewhere, and has received exactly what the number says that it keeps beside.
func TestReceiveSurvives(t *testing.T) {
	const batches, size = 30, 7
	w := newWeb(t)
	var sent []string
	for i := range 40 {
		links := []string{fmt.Sprintf("/%d", 2*i+1), fmt.Sprintf("/%d", 2*i+2)}
		for k := range 3 {
			links = append(links, fmt.Sprintf("http://far%d.test/%d", i, k))
			sent = append(sent, links[len(links)-1])
		}
		path := fmt.Sprintf("/%d", i)
		w.set(path, page(path, links...))
	}
	entered := make(chan bool)
	w.set("/", func(rw http.ResponseWriter, r *http.Request) {
		close(entered)
		page("home", "/0")(rw, r)
	})
	w.other = page("received", "http://far0.test/0")
	files := vfs.NewCrashableMem()
	db, err := store.Open("crawl", store.Options{FS: files, MemTable: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	cfg := local("crawl")
	cfg.Elsewhere = func(host string) bool { return host != store.HostOf(w.URL) }
	if cfg.Loop, err = NewLoop(cfg); err != nil {
		t.Fatal(err)
	}
	c := newCrawl(cfg, db)
	r := rand.New(rand.NewPCG(19, 3))
	var mu sync.Mutex
	var cuts []*vfs.MemFS
	cut := func() {
		mu.Lock()
		defer mu.Unlock()
		cuts = append(cuts, files.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 25 * r.IntN(5), RNG: rand.New(rand.NewPCG(r.Uint64(), 1))}))
	}
	done := begin(func() (*Result, error) { return c.Run(t.Context(), w.seed("/", store.Rules{}), Options{}) })
	<-entered // there is the site
	name := func(batch, k int) string { return fmt.Sprintf("%s/received/%d/%d", w.URL, batch, k) }
	for batch := range batches {
		var found []Received
		for k := range size {
			found = append(found, Received{URL: name(batch, k), From: "http://far0.test/0", Via: store.ViaAnchor})
		}
		if _, err := c.Receive(t.Context(), found, func(db *store.DB) error {
			cut()
			return db.PutWatched("log", binary.BigEndian.AppendUint32(nil, uint32(batch+1)))
		}); errors.Is(err, ErrHandedBack) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		cut()
	}
	good(t, done)
	cut()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	cut()
	partly := 0
	for i, files := range cuts {
		db, err := store.Open("crawl", store.Options{FS: files})
		if errors.Is(err, store.ErrUnfinished) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := db.View.Check(func(p store.Problem) { t.Error(p) }); err != nil {
			t.Fatal(err)
		}
		applied := 0
		if err := db.Watched(func(_ string, b []byte) bool { applied = int(binary.BigEndian.Uint32(b)); return true }); err != nil {
			t.Fatal(err)
		}
		if 0 < applied && applied < batches {
			partly++
		}
		for batch := range batches {
			for k := range size {
				if _, err := db.Find(name(batch, k)); (err == nil) != (batch < applied) {
					t.Errorf("cut %d: %d batches were applied, and document %d of batch %d is %v", i, applied, k, batch, err)
				}
			}
		}
		waits := map[string]int{}
		if err := db.Outgoing(0, func(o *store.Outgoing) bool { waits[o.URL]++; return true }); err != nil {
			t.Fatal(err)
		}
		for _, url := range sent {
			id, err := db.Find(url)
			travels := false
			if err == nil {
				d, err := db.Doc(id)
				if err != nil {
					t.Fatal(err)
				}
				travels = d.Travels()
			}
			if n := waits[url]; n > 1 || (n == 1) != travels {
				t.Errorf("cut %d: %s waits %d times in the outbox, its document: %v, travels %v", i, url, n, err, travels)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if partly == 0 {
		t.Error("no cut fell between two batches")
	}
}
