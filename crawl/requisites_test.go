package crawl

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/store"
)

// typed answers with a body of a type.
func typed(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		fmt.Fprint(w, body)
	}
}

// markup is a page that says just that.
func markup(body string) http.HandlerFunc { return typed("text/html", body) }

// A dressed site needs things of its own host and of another one.
type dressed struct{ site, cdn *web }

func newDressed(t *testing.T) dressed {
	d := dressed{newWeb(t), newWeb(t)}
	for path, h := range map[string]http.HandlerFunc{
		"/":         markup(`<title>home</title>at home<link rel=stylesheet href=/s.css><a href=/one>1</a><a href=/two>2</a><img src=/i.png><img src="` + d.cdn.URL + `/private/no.png">`),
		"/one":      markup(`<title>one</title>this is one<link rel=stylesheet href=/s.css><script src="` + d.cdn.URL + `/x.js"></script><img src=/moved.png>`),
		"/two":      markup(`<title>two</title>this is two<img src=/gone.png srcset="/i.png 2x"><style>b{background:url(/fails.png)}</style>`),
		"/s.css":    typed("text/css", `@import "deep.css"; a{background:url(/bg.png)} @font-face{src:url(`+d.cdn.URL+`/f.woff2)}`),
		"/deep.css": typed("text/css; charset=utf-8", `@import "s.css"; i{background:url("deep.png")}`),
		"/i.png":    typed("image/png", "an image"), "/bg.png": typed("image/png", "a background"), "/deep.png": typed("image/png", "a deep one"),
		"/moved.png": redirect(302, d.cdn.URL+"/there.png"),
		"/gone.png":  status(404), "/fails.png": status(500),
	} {
		d.site.set(path, h)
	}
	for path, h := range map[string]http.HandlerFunc{
		"/robots.txt": plain("User-agent: *\nDisallow: /private/\n"),
		"/x.js":       typed("text/javascript", "1"), "/f.woff2": typed("font/woff2", "a font"), "/there.png": typed("image/png", "it is here"), "/private/no.png": typed("image/png", "no"),
		"/later.png": typed("image/png", "later"),
	} {
		d.cdn.set(path, h)
	}
	return d
}

// asks are how often a server was asked for what is no page, by path.
func (w *web) asks() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	asks := map[string]int{}
	for path, n := range w.asked {
		if strings.Contains(path, ".") && path != "/robots.txt" && path != "/sitemap.xml" {
			asks[path] = n
		}
	}
	return asks
}

func inFolder(folder string) func(*Config) {
	return func(cfg *Config) { cfg.Archive = &Archive{Folder: folder} }
}

// What pages need is fetched once, of both hosts, by the rules of each, and nothing else of a crawl is as it would not be without.
func TestRequisites(t *testing.T) {
	d := newDressed(t)
	folder := t.TempDir()
	bare := newDressed(t)
	without := bare.site.crawl(t, open(t, inFolder(t.TempDir())), store.Rules{})

	cfg := local(t.TempDir())
	inFolder(folder)(&cfg)
	c, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := d.site.crawlWith(t, c, store.Rules{}, Options{Requisites: true})
	wantSite := map[string]int{"/s.css": 1, "/deep.css": 1, "/i.png": 1, "/bg.png": 1, "/deep.png": 1, "/moved.png": 1, "/gone.png": 1, "/fails.png": fetches}
	wantCDN := map[string]int{"/x.js": 1, "/f.woff2": 1, "/there.png": 1}
	if got := d.site.asks(); !maps.Equal(got, wantSite) {
		t.Errorf("the site was asked for %v, want %v", got, wantSite)
	}
	if got := d.cdn.asks(); !maps.Equal(got, wantCDN) {
		t.Errorf("the other host was asked for %v, want %v", got, wantCDN)
	}
	if n := d.cdn.count("/robots.txt"); n != 1 {
		t.Errorf("its robots.txt was asked for %d times", n)
	}
	if n := d.cdn.count("/sitemap.xml"); n != 0 {
		t.Errorf("its sitemap was asked for")
	}
	if want := int64(7 + fetches + 3); r.Requisites.Fetched != want || r.Requisites.Bytes <= 0 || r.Requisites.Bytes >= r.Bytes {
		t.Errorf("%+v of %d bytes, want %d fetched", r.Requisites, r.Bytes, want)
	}
	if r.Fetched != without.Fetched || r.Pages != without.Pages || r.Known != without.Known || r.Documents != without.Documents || r.Errors != without.Errors || r.NewPages != without.NewPages {
		t.Errorf("with requisites %+v\nwithout %+v", r, without)
	}
	if without.Requisites != (Requisites{}) || len(bare.site.asks()) > 0 || bare.cdn.total() > 0 {
		t.Errorf("requisites that nobody wants: %+v", without.Requisites)
	}
	if _, err := c.View().Find(d.site.URL + "/i.png"); err == nil {
		t.Error("an image is a document")
	}

	// Nothing is fetched twice, whatever comes back; what a page newly needs is.
	d.site.set("/one", markup(`<title>one</title>this is one, changed<img src=/i.png><img src="`+d.cdn.URL+`/later.png"><a href=/three>3</a>`))
	d.site.set("/three", markup(`<title>three</title>this is three<img src=/three.png><img src=/i.png>`))
	d.site.set("/three.png", typed("image/png", "of three"))
	wantSite["/three.png"], wantCDN["/later.png"] = 1, 1
	for i, p := range []plan.Plan{{Full: true, Text: "all"}, {Full: true, Text: "all"}, {Policy: "best", Budget: func(int) int { return 3 }, Text: "3"}} {
		r, err := c.Revisit(context.Background(), p, Options{Requisites: true})
		if err != nil {
			t.Fatal(err)
		}
		if want := int64(2); i == 0 && (r.Requisites.Fetched != want || r.NewPages != 1) || i > 0 && r.Requisites.Fetched != 0 {
			t.Errorf("cycle %d: %+v, %d new pages", i, r.Requisites, r.NewPages)
		}
		if i == 2 && r.Refetched > 3 {
			t.Errorf("%d documents for a budget of 3", r.Refetched)
		}
	}
	if got := d.site.asks(); !maps.Equal(got, wantSite) {
		t.Errorf("the site was asked for %v, want %v", got, wantSite)
	}
	if got := d.cdn.asks(); !maps.Equal(got, wantCDN) {
		t.Errorf("the other host was asked for %v, want %v", got, wantCDN)
	}
	site, err := c.View().SiteNamed(strings.TrimPrefix(d.site.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	counts, err := c.View().Counters(site.ID)
	if err != nil || counts.Requisites != int64(7+fetches+3+2) {
		t.Errorf("%d requisites in the store, %v", counts.Requisites, err)
	}
	if err := c.View().RequisiteHosts(site.ID, func(host string, n int) bool { t.Errorf("%d wait at %s", n, host); return true }); err != nil {
		t.Error(err)
	}

	// The archive has each of them, with what led to it.
	if err := c.View().Check(func(p store.Problem) { t.Error(p) }); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	all, _, text := archivedIn(t, folder)
	got := map[string]int{}
	for _, a := range all {
		if strings.Contains(a.path, ".") && a.path != "/robots.txt" && a.path != "/sitemap.xml" {
			got[a.path]++
		}
	}
	want := maps.Clone(wantSite)
	maps.Copy(want, wantCDN)
	if !maps.Equal(got, want) {
		t.Errorf("the archive has %v, want %v", got, want)
	}
	if n := strings.Count(text, "role: requisite\r\n"); n != len(want)+fetches-1+2 {
		t.Errorf("%d records say that they are of requisites, want %d and a robots.txt, again in a full recrawl", n, len(want)+fetches-1)
	}
	for _, hops := range []string{"E", "EE", "LE", "LER"} {
		if !strings.Contains(text, "hopsFromSeed: "+hops+"\r\n") {
			t.Errorf("none has hops %s", hops)
		}
	}
}

// Requisites count in limits of requests, and not in those of pages: at the former a crawl is interrupted, and goes on.
func TestRequisitesAndLimits(t *testing.T) {
	d := newDressed(t)
	c := open(t, inFolder(t.TempDir()))
	r := d.site.crawlWith(t, c, store.Rules{}, Options{Requisites: true, MaxTotal: 8})
	if n := r.Fetched + r.Requisites.Fetched; n != 8 || r.Cut != "--max-total" || r.Requisites.Fetched == 0 {
		t.Errorf("%d documents and %d requisites, stopped by %q", r.Fetched, r.Requisites.Fetched, r.Cut)
	}
	cycle := r.Cycle
	r = d.site.crawlWith(t, c, store.Rules{}, Options{Requisites: true})
	tries := d.site.asks()["/fails.png"] // what was tried before the interruption is tried anew
	if r.Cycle != cycle || r.Cut != "" || r.Interrupted || r.Requisites.Fetched != int64(7+tries+3) || tries < fetches || tries >= 2*fetches {
		t.Errorf("it went on with %+v after %d tries of what fails", r, tries)
	}
	if got := d.site.asks(); got["/s.css"] != 1 || got["/deep.png"] != 1 || got["/i.png"] != 1 || d.cdn.asks()["/f.woff2"] != 1 {
		t.Errorf("asked for %v and %v", got, d.cdn.asks())
	}
	if r = d.site.crawlWith(t, c, store.Rules{}, Options{Requisites: true}); len(r.Finished) != 1 {
		t.Errorf("it is not finished: %+v", r)
	}

	for name, rules := range map[string]store.Rules{"--max-pages": {MaxPages: 1}, "--budget": {Budget: 2}} {
		d := newDressed(t)
		c := open(t, inFolder(t.TempDir()))
		r := d.site.crawlWith(t, c, rules, Options{Requisites: true})
		if asks := d.site.asks(); asks["/s.css"] != 1 || asks["/deep.png"] != 1 || asks["/i.png"] != 1 || d.cdn.asks()["/f.woff2"] != 1 {
			t.Errorf("%s: asked for %v and %v: %+v", name, asks, d.cdn.asks(), r)
		}
		if name == "--max-pages" && (r.Pages != 1 || r.Interrupted) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// A host that cannot be asked keeps nobody from anything, and is tried in a few cycles.
func TestRequisitesOfADeadHost(t *testing.T) { synctest.Test(t, requisitesOfADeadHost) } // it waits between tries

func requisitesOfADeadHost(t *testing.T) {
	w := newWeb(t)
	dead := newWeb(t)
	dead.other = status(503)
	w.set("/", markup(`<title>home</title>at home<img src="`+dead.URL+`/a.png"><img src="`+dead.URL+`/b.png"><img src=/c.png><a href=/one>1</a>`))
	w.set("/one", page("one"))
	w.set("/c.png", typed("image/png", "c"))
	dead.set("/robots.txt", status(503))
	c := open(t, inFolder(t.TempDir()))
	r, err := c.Run(context.Background(), []scope.Seed{{URL: w.URL + "/"}}, Options{Requisites: true, MaxTime: time.Minute})
	if err != nil || r.Requisites.Fetched != 1 || r.Pages != 2 || len(r.Failed) > 0 || r.Cut != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	site, err := c.View().SiteNamed(strings.TrimPrefix(w.URL, "http://"))
	if err != nil || site.State != store.SiteDone {
		t.Errorf("%+v, %v", site, err)
	}
	waits := func() (n int) {
		if err := c.View().RequisiteHosts(site.ID, func(_ string, k int) bool { n += k; return true }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for i := 1; i < maxHostTries; i++ {
		if n := waits(); n != 2 {
			t.Fatalf("after cycle %d %d wait", i, n)
		}
		if r, err := c.Revisit(context.Background(), plan.Plan{Full: true, Text: "all"}, Options{Requisites: true}); err != nil || r.Cut != "" {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if n := waits(); n != 0 {
		t.Errorf("in the end %d wait", n)
	}
}

// TestKillRequisites kills crawls that fetch what pages need: all of it is in the archive in the end, of each as many answers as the
// server gave to whoever was there to take them in.
func TestKillRequisites(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	t.Parallel()
	const pages = 12
	mux := http.NewServeMux()
	want := map[string]bool{"/s.css": true, "/bg.png": true}
	for i := range pages {
		want[fmt.Sprintf("/a%d.png", i)], want[fmt.Sprintf("/b%d.png", i)] = true, true
		body := fmt.Sprintf(`<title>%d</title>page %d<link rel=stylesheet href=/s.css><img src=/a%d.png><img src=/b%d.png><a href=/p%d>next</a>`, i, i, i, i, (i+1)%pages)
		mux.HandleFunc(fmt.Sprintf("/p%d", i), markup(body))
	}
	mux.HandleFunc("/{$}", markup(`<title>home</title>at home<a href=/p0>0</a><a href=/p6>6</a>`))
	mux.HandleFunc("/s.css", typed("text/css", "a{background:url(bg.png)}"))
	for path := range want {
		if path != "/s.css" {
			mux.HandleFunc(path, typed("image/png", "the image "+path))
		}
	}
	k := newKiller(t, mux)
	root, _ := scratch(t)
	r := rand.New(rand.NewPCG(16, 8))
	killed := 0
	for round := 0; killed < kills(); round++ {
		dir, folder := filepath.Join(root, fmt.Sprint(round)), filepath.Join(root, fmt.Sprint(round, "-warc"))
		here := 0
		for k.run(t, moment(r, 45, here), late(r), "FORAGE_TEST_DIR="+dir, "FORAGE_TEST_ARCHIVE="+folder, "FORAGE_TEST_REQUISITES=1") {
			here++
		}
		killed += here
		all, files, _ := archivedIn(t, folder)
		validate(t, files)
		got := map[string]int{}
		for _, a := range all {
			got[a.path]++
		}
		for path := range want {
			if got[path] != 1 {
				t.Errorf("%d kills: %s is in the archive %d times", here, path, got[path])
			}
		}
		db, err := store.Open(dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Check(func(p store.Problem) { t.Error(p) }); err != nil {
			t.Fatal(err)
		}
		cycles := allCycles(t, &db.View)
		if len(cycles) != 1 || !cycles[0].Done || cycles[0].Requisites != int64(len(want)) {
			t.Errorf("%d kills: %d cycles, the first %+v", here, len(cycles), cycles[0])
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
