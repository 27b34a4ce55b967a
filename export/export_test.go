package export

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"forage/graph"
	"forage/graph/arcs"
	"forage/snap"
	"forage/store"
)

// small is a store of one site after two cycles: /gone was there in the first only, /new
// came in the second, home changed, the feed names /new.
func small(t *testing.T) *store.DB {
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
	site := &store.Site{Name: "x.test", Seeds: []string{"https://x.test/"}, Rules: store.Rules{Scope: "host", Within: "x.test"}}
	must(db.AddSite(site))
	type version struct {
		cycle  store.Cycle
		status int
		digest uint64
		links  []store.Link
	}
	ids := map[string]graph.Node{}
	add := func(path string, kind store.Kind, state store.State, foundOn graph.Node, versions ...version) {
		d := &store.Doc{URL: "https://x.test" + path, Site: site.ID, Kind: kind, State: state, FoundOn: foundOn, DuplicateOf: graph.None, StandIn: graph.None, MovedFrom: graph.None}
		if path[0] != '/' {
			d.URL = path
		}
		_, err := db.Add(d)
		must(err)
		ids[path] = d.ID
		for _, v := range versions {
			if v.status == 200 {
				_, err := db.PutLinks(d, v.cycle, v.links)
				must(err)
			}
			must(db.PutVisit(d, store.Visit{Cycle: v.cycle, At: int64(v.cycle) * 100, Status: v.status, Digest: v.digest}))
			must(db.Put(d))
			must(db.Commit())
		}
	}
	to := func(ids ...graph.Node) (out []store.Link) {
		for _, id := range ids {
			out = append(out, store.Link{To: id, Kind: store.ViaAnchor})
		}
		return out
	}
	add("/", store.Page, store.Fetched, graph.None, version{1, 200, 1, to(1, 2, 3, 5)}, version{2, 200, 2, to(4, 3)})
	add("/gone", store.Page, store.Fetched, 0, version{1, 200, 3, to(0)}, version{2, 404, 0, nil})
	add("/stub", store.Page, store.Fetched, 0, version{1, 200, 4, []store.Link{{To: 0, Kind: store.ViaRefresh}}})
	add("/feed.xml", store.Feed, store.Fetched, graph.None, version{1, 200, 5, to(0)}, version{2, 200, 6, to(0, 4)})
	add("/new", store.Page, store.Fetched, 0, version{2, 200, 7, to(0, 4)})
	add("https://other.test/", store.Page, store.Fetched, 0, version{1, 200, 8, to(0)})
	add("/waits", store.Unseen, store.Queued, 0)
	for c := store.Cycle(1); c <= 2; c++ {
		must(db.OpenCycle(&store.CycleRecord{Site: site.ID, At: int64(c) * 100, Ended: int64(c)*100 + 50, Done: true}))
	}
	must(db.Sync())
	return db
}

func TestSnap(t *testing.T) {
	db := small(t)
	site, err := db.Site(1)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.snap.gz")
	w, err := Snap(&db.View, site, File(path), nil)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || w != (Written{2, info.Size()}) {
		t.Errorf("Snap = %+v, %v", w, err)
	}
	h, err := snap.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"/", "/gone", "/stub", "/new", "/feed.xml"}; !reflect.DeepEqual(h.URLs, want) {
		t.Fatalf("URLs = %v, want %v", h.URLs, want)
	}
	first, second := h.At(0), h.At(1)
	if want := [][]snap.ID{{1, 2, 4}, {0}, {0}, nil, {0}}; !reflect.DeepEqual(first.Links, want) {
		t.Errorf("links in the first snapshot: %v, want %v", first.Links, want)
	}
	if want := [][]snap.ID{{3, 4}, nil, {0}, {0}, {0, 3}}; !reflect.DeepEqual(second.Links, want) {
		t.Errorf("links in the second snapshot: %v, want %v", second.Links, want)
	}
	if want := []snap.Flag{snap.Page, snap.Page, snap.Redirect, snap.Page, snap.Feed}; !reflect.DeepEqual(second.Flag, want) {
		t.Errorf("flags: %v, want %v", second.Flag, want)
	}
	if first.Time != 100 || second.Time != 200 || !reflect.DeepEqual(second.WellKnown, []snap.ID{4}) {
		t.Errorf("times %d, %d, well known %v", first.Time, second.Time, second.WellKnown)
	}
}

// TestLive takes documents through some of their cycles and compares with what all visits and
// versions up to each cycle tell: a body that changed in between is one that changed.
func TestLive(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 5))
		var l life
		var visits []store.Visit
		var links []version
		for c := store.Cycle(1); c < 30; c++ {
			if r.IntN(3) == 0 {
				links = append(links, version{since: c, to: []graph.Node{graph.Node(c)}})
			}
			if r.IntN(2) == 0 {
				visits = append(visits, store.Visit{Cycle: c, Status: []int{200, 301, 404, 503}[r.IntN(4)], Digest: r.Uint64N(4)})
			}
		}
		l.visits, l.links = visits, links
		before := uint64(0)
		for c := store.Cycle(1); c < 30; c += 1 + store.Cycle(r.IntN(3)) {
			l.live(c)
			alive, last := false, uint64(0)
			var to []graph.Node
			for _, x := range visits {
				if x.Cycle <= c {
					alive = x.Status < 400
					if x.Digest != 0 {
						last = x.Digest
					}
				}
			}
			for _, x := range links {
				if x.since <= c {
					to = x.to
				}
			}
			changed := before != 0 && last != before
			before = last
			if l.alive != alive || l.changed != changed || !reflect.DeepEqual(l.to, to) {
				t.Fatalf("seed %d, cycle %d: alive %v, changed %v, links %v; want %v, %v, %v", seed, c, l.alive, l.changed, l.to, alive, changed, to)
			}
		}
	}
}

func TestGraph(t *testing.T) {
	db := small(t)
	for _, ext := range []string{"", ".gz", ".zst"} {
		path := filepath.Join(t.TempDir(), "g.tsv"+ext)
		names := File(LabelsPath(path))
		w, err := Graph(&db.View, File(path), &names, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		g, err := arcs.Load(path, arcs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := graph.FromArcs(6, []graph.Arc{{From: 0, To: 4}, {From: 0, To: 3}, {From: 1, To: 0}, {From: 2, To: 0}, {From: 3, To: 0}, {From: 3, To: 4}, {From: 4, To: 0}, {From: 4, To: 4}, {From: 5, To: 0}})
		if !reflect.DeepEqual(g, want) || w.Records != want.NumArcs() || w.Bytes == 0 {
			t.Errorf("Graph wrote %v (%+v), want %v", g, w, want)
		}
		labels, err := arcs.Open(filepath.Join(filepath.Dir(path), "g.tsv.urls"+ext))
		if err != nil {
			t.Fatal(err)
		}
		for i, u := range []string{"https://x.test/", "https://x.test/gone"} {
			var id int
			var url string
			if _, err := fmt.Fscanln(labels, &id, &url); err != nil || id != i || url != u {
				t.Errorf("label %d = %d %s, %v, want %s", i, id, url, err, u)
			}
		}
		labels.Close()
	}
}

func TestURLs(t *testing.T) {
	db := small(t)
	path := filepath.Join(t.TempDir(), "urls")
	for all, want := range map[bool]uint64{false: 5, true: 7} {
		w, err := URLs(&db.View, File(path), all, nil)
		if err != nil || w.Records != want {
			t.Errorf("URLs(all %v) = %+v, %v, want %d", all, w, err, want)
		}
	}
	if _, err := URLs(&db.View, File(filepath.Join(t.TempDir(), "no", "folder")), true, nil); err == nil {
		t.Error("a folder that is not there was written to")
	}
}

// TestFetchedOnly compares the graph of what was fetched with that of all documents, of which the
// others are taken out.
func TestFetchedOnly(t *testing.T) {
	db := small(t)
	for _, d := range []store.Doc{
		{URL: "https://x.test/waits2", State: store.Queued},
		{URL: "https://x.test/lost", State: store.Fetched, Status: 404},
		{URL: "https://x.test/excluded", State: store.Skipped, Kind: store.Page},
		{URL: "https://x.test/later", State: store.Fetched, Kind: store.Page},
	} {
		d.Site, d.FoundOn, d.DuplicateOf = 1, graph.None, graph.None
		if _, err := db.Add(&d); err != nil {
			t.Fatal(err)
		}
		if d.Kind == store.Page {
			var all []store.Link
			for to := range d.ID {
				all = append(all, store.Link{To: to})
			}
			if _, err := db.PutLinks(&d, 3, all); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := db.Commit(); err != nil {
		t.Fatal(err)
	}
	var want []graph.Arc
	var urls []string
	number := map[graph.Node]graph.Node{}
	if err := db.Docs(func(d *store.Doc) bool {
		if d.State == store.Fetched && d.Kind != store.Unseen {
			number[d.ID] = graph.Node(len(urls))
			urls = append(urls, d.URL)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Docs(func(d *store.Doc) bool {
		links, err := db.Links(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range links {
			from, ok := number[d.ID]
			if to, too := number[l.To]; ok && too {
				want = append(want, graph.Arc{From: from, To: to})
			}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "g.tsv")
	labels := File(LabelsPath(path))
	w, err := Graph(&db.View, File(path), &labels, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := arcs.Load(path, arcs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if all := graph.FromArcs(len(urls), want); !reflect.DeepEqual(g, all) || w.Records != all.NumArcs() {
		t.Errorf("Graph wrote %v (%+v), want %v", g, w, all)
	}
	names, err := os.ReadFile(path + ".urls")
	text := ""
	for i, u := range urls {
		text += fmt.Sprintf("%d\t%s\n", i, u)
	}
	if err != nil || string(names) != text || len(urls) != 7 {
		t.Errorf("names %q, %v, want %q", names, err, text)
	}
}
