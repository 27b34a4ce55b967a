package export

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"forage/graph"
	"forage/snap"
	"forage/store"
)

// TestHistory compares what is written with the history made whole in memory: of sites whose
// documents of all kinds come, go, change and are linked to at random, in cycles of which some were
// condensed or interrupted.
func TestHistory(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		db, site := random(t, r)
		want, err := naive(&db.View, site)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := snap.Write(&text, want); err != nil {
			t.Fatal(err)
		}
		h, err := newHistory(&db.View, site, nil)
		if err != nil {
			t.Fatal(err)
		}
		later := newStreams(2*len(h.cycles), filepath.Join(t.TempDir(), "x"))
		later.held = r.IntN(1000)
		var got bytes.Buffer
		if err := h.write(&got, later); err != nil {
			t.Fatal(err)
		}
		later.close()
		if !bytes.Equal(got.Bytes(), text.Bytes()) {
			t.Fatalf("seed %d: the history is\n%s\nwant\n%s", seed, unzip(t, &got), unzip(t, &text))
		}
		if _, err := snap.Read(&got, "got"); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if left, err := filepath.Glob(filepath.Join(filepath.Dir(later.path), "*")); err != nil || len(left) > 0 {
			t.Fatalf("%v is left, %v", left, err)
		}
	}
}

func unzip(t *testing.T, b io.Reader) string {
	z, err := gzip.NewReader(b)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// random is a store with a site of up to 60 documents and 12 cycles, and another site beside it.
func random(t *testing.T, r *rand.Rand) (*store.DB, *store.Site) {
	t.Helper()
	db, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	sites := []*store.Site{
		{Name: "x.test", Seeds: []string{"https://x.test/"}, Rules: store.Rules{Scope: "host", Within: "x.test"}},
		{Name: "y.test", Seeds: []string{"https://y.test/"}, Rules: store.Rules{Scope: "host", Within: "y.test"}},
	}
	for _, s := range sites {
		must(db.AddSite(s))
	}
	kinds := []store.Kind{store.Page, store.Page, store.Page, store.Redirect, store.Feed, store.Sitemap, store.Unseen}
	home := r.IntN(30)
	var docs []*store.Doc
	for i := range 10 + r.IntN(50) {
		d := &store.Doc{URL: fmt.Sprint("https://x.test/", i), Site: sites[0].ID, Kind: kinds[r.IntN(len(kinds))], State: store.Fetched,
			FoundOn: graph.None, DuplicateOf: graph.None, StandIn: graph.None, MovedFrom: graph.None}
		if i == home {
			d.URL = "https://x.test/"
		}
		if r.IntN(3) > 0 {
			d.FoundOn = 0
		}
		switch r.IntN(12) {
		case 0:
			d.URL = fmt.Sprint("https://www.x.test/", i)
		case 1:
			d.State = store.Skipped
		case 2:
			d.Site, d.URL = sites[1].ID, fmt.Sprint("https://y.test/", i)
		}
		_, err := db.Add(d)
		must(err)
		docs = append(docs, d)
	}
	cycles := 1 + store.Cycle(r.IntN(12))
	often := 1 + r.IntN(4)
	for c := store.Cycle(1); c <= cycles; c++ {
		for _, d := range docs {
			if r.IntN(often) > 0 {
				continue
			}
			status := []int{200, 200, 200, 200, 301, 404, 503}[r.IntN(7)]
			digest := 1 + r.Uint64N(3)
			if status >= 400 {
				digest = 0
			}
			if digest != 0 && r.IntN(2) == 0 {
				var links []store.Link
				for range r.IntN(6) {
					kind := store.ViaAnchor
					if r.IntN(20) == 0 {
						kind = store.ViaRefresh
					}
					links = append(links, store.Link{To: graph.Node(r.IntN(len(docs))), Kind: kind})
				}
				slices.SortFunc(links, func(a, b store.Link) int { return cmp.Compare(a.To, b.To) })
				links = slices.CompactFunc(links, func(a, b store.Link) bool { return a.To == b.To })
				_, err := db.PutLinks(d, c, links)
				must(err)
			}
			must(db.PutVisit(d, store.Visit{Cycle: c, At: int64(c) * 100, Status: status, Digest: digest}))
			must(db.Put(d))
		}
		must(db.Commit())
	}
	for c := store.Cycle(1); c <= cycles; c++ {
		if r.IntN(4) == 0 {
			must(db.OpenCycle(&store.CycleRecord{Site: sites[1].ID, At: int64(c) * 100, Ended: int64(c)*100 + 50, Done: true}))
			continue // no snapshot of x.test: as condensed
		}
		must(db.OpenCycle(&store.CycleRecord{Site: sites[0].ID, At: int64(c) * 100, Ended: int64(c)*100 + 50, Done: r.IntN(5) > 0}))
	}
	must(db.Sync())
	return db, sites[0]
}

// A whole is a document of naive.
type whole struct {
	life
	id   graph.Node
	path string
	is   snap.Flag
	well bool
}

// naive makes the history of a site in memory, a snapshot from all documents after another.
func naive(v *store.View, site *store.Site) (*snap.History, error) {
	if len(site.Seeds) == 0 {
		return nil, errors.New("it has no seed")
	}
	base, err := url.Parse(site.Seeds[0])
	if err != nil {
		return nil, err
	}
	origin := base.Scheme + "://" + base.Host
	lives, err := readWholes(v, site, origin)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(lives, func(a, b *whole) int {
		rank := func(l *whole) int {
			switch {
			case !l.is.IsPage():
				return 2
			case l.path == "/":
				return 0
			}
			return 1
		}
		return rank(a) - rank(b)
	})
	h := snap.New(site.Name, origin+"/")
	last := graph.Node(0)
	for _, l := range lives {
		last = max(last, l.id)
	}
	number := make([]snap.ID, int(last)+1) // by document: its place in lives + 1; 0: it has none
	for i, l := range lives {
		number[l.id] = snap.ID(i) + 1
		h.URLs = append(h.URLs, l.path)
	}
	var at *snap.State
	err = v.SiteCycles(site.ID, func(c *store.CycleRecord) bool {
		if !c.Done {
			return true
		}
		var docs []snap.Document
		var well []snap.ID
		for _, l := range lives {
			l.live(c.Cycle)
		}
		for i, l := range lives {
			if !l.alive {
				continue
			}
			d := snap.Document{ID: snap.ID(i), Flag: l.flag(l.is), Changed: l.changed}
			for _, to := range l.to {
				if int(to) >= len(number) || number[to] == 0 {
					continue
				}
				if u := number[to] - 1; lives[u].alive && u != d.ID {
					d.Links = append(d.Links, u)
				}
			}
			slices.Sort(d.Links)
			d.Links = slices.Compact(d.Links)
			docs = append(docs, d)
			if l.well {
				well = append(well, d.ID)
			}
		}
		at, err = h.Append(at, c.At, fmt.Sprint("cycle ", c.Cycle), docs, well)
		return err == nil
	})
	return h, err
}

// readWholes reads what once answered 2xx or redirects at the origin.
func readWholes(v *store.View, site *store.Site, origin string) ([]*whole, error) {
	var lives []*whole
	var failed error
	cursor := v.Cursor()
	defer cursor.Close()
	err := cursor.SiteDocs(site.ID, func(d *store.Doc) bool {
		path, ok := strings.CutPrefix(d.URL, origin)
		if !ok || !strings.HasPrefix(path, "/") || d.LeftOut() {
			return true
		}
		l := &whole{id: d.ID, path: path, well: d.IsList() && d.FoundOn == graph.None}
		switch d.Kind {
		case store.Page, store.Redirect:
		case store.Feed:
			l.is = snap.Feed
		case store.Sitemap:
			l.is = snap.Sitemap
		default:
			return true
		}
		if failed = cursor.Visits(d, func(x store.Visit) bool { l.visits = append(l.visits, x); return true }); failed != nil {
			return false
		}
		failed = cursor.LinkHistory(d.ID, func(c store.Cycle, links []store.Link) bool {
			x := version{since: c}
			for _, k := range links {
				x.to = append(x.to, k.To)
				x.refreshes = x.refreshes || k.Kind == store.ViaRefresh
			}
			l.links = append(l.links, x)
			return true
		})
		slices.Reverse(l.links) // the store tells the latest first
		lives = append(lives, l)
		return failed == nil
	})
	if failed != nil {
		return nil, failed
	}
	return lives, err
}

// TestStubs: a page is a redirect stub in the snapshots in which it led away, by HTTP or a refresh, and
// in no others.
func TestStubs(t *testing.T) {
	db, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	site := &store.Site{Name: "x.test", Seeds: []string{"https://x.test/"}, Rules: store.Rules{Scope: "host", Within: "x.test"}}
	must(db.AddSite(site))
	home := []store.Link{{To: 0, Kind: store.ViaAnchor}}
	stub := []store.Link{{To: 0, Kind: store.ViaRefresh}}
	type answer struct {
		status int
		links  []store.Link
	}
	for _, tt := range []struct {
		path    string
		kind    store.Kind
		answers [4]answer
	}{
		{"/", store.Page, [4]answer{{200, nil}, {304, nil}, {304, nil}, {200, nil}}},
		{"/moves", store.Page, [4]answer{{200, home}, {301, home}, {304, nil}, {200, home}}},
		{"/was-moved", store.Page, [4]answer{{302, home}, {200, home}, {404, nil}, {301, home}}},
		{"/refreshes", store.Page, [4]answer{{200, stub}, {200, home}, {304, nil}, {200, stub}}},
		{"/redirect", store.Redirect, [4]answer{{301, home}, {301, home}, {404, nil}, {308, home}}},
		{"/feed", store.Feed, [4]answer{{200, home}, {301, home}, {200, stub}, {200, home}}},
	} {
		d := store.NewDoc("https://x.test"+tt.path, site.ID)
		d.Kind, d.State = tt.kind, store.Fetched
		_, err := db.Add(d)
		must(err)
		for i, a := range tt.answers {
			c := store.Cycle(i + 1)
			if a.links != nil {
				_, err := db.PutLinks(d, c, a.links)
				must(err)
			}
			must(db.PutVisit(d, store.Visit{Cycle: c, At: int64(c) * 100, Status: a.status}))
			must(db.Commit())
		}
	}
	for c := range int64(4) {
		must(db.OpenCycle(&store.CycleRecord{Site: site.ID, At: 100 + c*100, Ended: 150 + c*100, Done: true}))
	}
	must(db.Sync())
	path := filepath.Join(t.TempDir(), "x.snap.gz")
	if _, err := Snap(&db.View, site, File(path), nil); err != nil {
		t.Fatal(err)
	}
	h, err := snap.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	const p, r, f = snap.Page, snap.Redirect, snap.Feed
	want := [][]snap.Flag{{p, p, r, r, r, f}, {p, r, p, p, r, f}, {p, r, p, p, p, f}, {p, p, r, r, r, f}} // what is gone has none
	for k := range want {
		if got := h.At(k).Flag; !slices.Equal(got, want[k]) {
			t.Errorf("snapshot %d: flags %q, want %q", k, got, want[k])
		}
	}
}
