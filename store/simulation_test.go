package store

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"forage/graph"
	"forage/internal/race"
)

var seed = flag.Uint64("seed", 0, "seed of the random tests; 0: one for each run, printed when they fail")

// A model is what a store should hold: the naive version of it.
type model struct {
	docs  map[graph.Node]Doc
	links map[graph.Node][]Link
	cost  map[SiteID]int64
	was   map[graph.Node]Doc  // at the last commit
	news  map[graph.Node]bool // told as new
	told  []string            // events, without their numbers
	quiet Cycle               // nothing that it saw is news
	history
}

func (m *model) clone() *model {
	return &model{maps.Clone(m.docs), maps.Clone(m.links), maps.Clone(m.cost), maps.Clone(m.was), maps.Clone(m.news), slices.Clone(m.told), m.quiet, m.history.clone()}
}

// commit has the model tell what is true now and was not at the last commit, and returns a copy.
func (m *model) commit() *model {
	for id, d := range m.docs {
		was, had := m.was[id]
		listed := func(d *Doc) bool {
			return d.Kind == Page && d.State != Skipped && (d.DuplicateOf == graph.None || d.Stands)
		}
		had = had && listed(&was)
		tell := func(t EventType, c Cycle) { m.told = append(m.told, fmt.Sprint(t, " ", d.URL, " ", c)) }
		switch isNew := listed(&d) && d.New == IsNew; {
		case !listed(&d):
		case isNew && !(had && was.New == IsNew):
			if !m.news[id] {
				m.news[id] = true
				tell(PageNew, d.Cycle)
			}
		case d.Moved != 0 && !(listed(&was) && d.Moved == was.Moved):
			tell(PageMoved, d.MovedIn)
		case !had || d.FetchedIn <= m.quiet || was.Gone != 0 && d.Gone != 0:
		case d.Gone != 0:
			tell(PageGone, d.GoneIn)
		case d.Changed != was.Changed:
			tell(PageChanged, d.FetchedIn)
		}
	}
	m.was = maps.Clone(m.docs)
	return m.clone()
}

// eventsText is the events of a store in the form of model.told, whether they are on the disk or not.
func eventsText(t *testing.T, v *View) []string {
	t.Helper()
	all := *v
	all.known = nil
	var told []string
	if err := all.Events(0, func(e *Event) bool {
		told = append(told, fmt.Sprint(e.Type, " ", e.URL, " ", e.Cycle))
		if e.Seq != uint64(len(told)) || e.Site == "" {
			t.Fatalf("event %d is number %d of site %q", len(told), e.Seq, e.Site)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return told
}

// text is the model as text, for comparison.
func (m *model) text() string {
	var b strings.Builder
	queue := map[string][]graph.Node{}
	counts := map[SiteID]*Counters{}
	for _, id := range slices.Sorted(maps.Keys(m.docs)) {
		d := m.docs[id]
		d.was, d.stored = tally{}, false
		fmt.Fprintf(&b, "%+v %v\n", d, m.links[id])
		if d.State == Queued {
			k := fmt.Sprint(d.Site, " ", HostOf(d.URL))
			queue[k] = append(queue[k], id)
		}
		if counts[d.Site] == nil {
			counts[d.Site] = &Counters{Fetches: m.cost[d.Site]}
		}
		counts[d.Site].count(d.tally(), 1)
	}
	for _, k := range slices.Sorted(maps.Keys(queue)) {
		fmt.Fprintf(&b, "%s: %v\n", k, queue[k])
	}
	for _, s := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%d: %+v\n", s, *counts[s])
	}
	fmt.Fprintln(&b, strings.Join(slices.Sorted(slices.Values(m.told)), "\n"))
	return b.String() + m.history.text()
}

// text is what a view shows, in the form of model.text.
func text(t *testing.T, v *View) string {
	t.Helper()
	var b strings.Builder
	sites := map[SiteID]bool{}
	if err := v.Docs(func(d *Doc) bool {
		links, err := v.Links(d)
		if err != nil {
			t.Fatal(err)
		}
		clean := *d
		clean.was, clean.stored = tally{}, false
		fmt.Fprintf(&b, "%+v %v\n", clean, links)
		sites[d.Site] = true
		if id, err := v.Find(d.URL); id != d.ID || err != nil {
			t.Fatalf("Find(%s) = %d, %v, want %d", d.URL, id, err, d.ID)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	var hosts []string
	for s := range SiteID(3) {
		if err := v.QueueHosts(s, func(host string) bool {
			var list []graph.Node
			for last, more := graph.None, true; more; { // in pieces of three, as a crawl loads them
				n := 0
				if err := v.Queue(s, host, last, func(id graph.Node) bool {
					list, last = append(list, id), id
					n++
					return n < 3
				}); err != nil {
					t.Fatal(err)
				}
				more = n == 3
			}
			hosts = append(hosts, fmt.Sprint(s, " ", host, ": ", list))
			return true
		}); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(hosts)
	for _, h := range hosts {
		fmt.Fprintln(&b, h)
	}
	for _, s := range slices.Sorted(maps.Keys(sites)) {
		c, err := v.Counters(s)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%d: %+v\n", s, *c)
	}
	fmt.Fprintln(&b, strings.Join(slices.Sorted(slices.Values(eventsText(t, v))), "\n"))
	h := readHistory(t, v, origins)
	return b.String() + h.text()
}

func problems(t *testing.T, v *View) []string {
	t.Helper()
	var all []string
	if err := v.Check(func(p Problem) { all = append(all, p.Text) }); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSimulation runs random operations on a store and on the model, crashes and reopens the
// store now and then, and compares. After a crash the store holds what it held at some
// commit, at the earliest the one before the last Sync. Every run has other seeds, two of them; with FORAGE_CRASH=1
// a hundred.
func TestSimulation(t *testing.T) {
	first, seeds := *seed, 2
	if first == 0 {
		first = uint64(os.Getpid())
	}
	if os.Getenv("FORAGE_CRASH") != "" {
		seeds = 100
	}
	for n := range uint64(max(2, race.Fewer(seeds))) {
		s := first*100 + n
		t.Run(fmt.Sprintf("seed=%d", s), func(t *testing.T) {
			t.Parallel()
			simulate(t, rand.New(rand.NewPCG(s, 1)))
		})
	}
}

func simulate(t *testing.T, r *rand.Rand) {
	fsys := vfs.NewCrashableMem()
	open := func() *DB {
		db, err := Open("crawl", Options{FS: fsys, MemTable: 64 << 10})
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	db := open()
	for _, name := range []string{"a.test", "b.test"} {
		if err := db.AddSite(&Site{Name: name, Rules: Rules{Scope: "host", Within: name}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
	now := &model{map[graph.Node]Doc{}, map[graph.Node][]Link{}, map[SiteID]int64{}, nil, map[graph.Node]bool{}, nil, 0, newHistory("a.test", "b.test")}
	committed := []*model{now.clone()} // the models at the commits since the last sync
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	pick := func() *Doc {
		d, err := db.Doc(graph.Node(r.IntN(len(now.docs))))
		must(err)
		return d
	}
	steps := 600
	if race.Enabled { // the database looks at itself all the time then
		steps = 150
	}
	for step := range steps {
		switch op := r.IntN(28); {
		case op >= 21:
			now.act(t, db, r, len(now.docs))
		case op == 20:
			must(db.Commit())
			committed = append(committed, now.commit())
			now.history.condense(t, db, SiteID(1+r.IntN(len(now.names))), r.IntN(6))
			committed = append(committed, now.commit())
		case op < 6 || len(now.docs) == 0:
			d := &Doc{URL: fmt.Sprintf("http://%c.test/%d", 'a'+r.IntN(2), r.IntN(300)), FoundOn: graph.None, DuplicateOf: graph.None, StandIn: graph.None, MovedFrom: graph.None, Discovered: int64(step)}
			d.Site = SiteID(1 + d.URL[7] - 'a')
			added, err := db.Add(d)
			must(err)
			if old, known := now.docs[d.ID]; known == added || known && old.URL != d.URL {
				t.Fatalf("Add(%s) = %v, number %d, which is %q", d.URL, added, d.ID, old.URL)
			}
			if added {
				now.docs[d.ID] = *d
			}
		case op < 11:
			d := pick()
			d.State, d.Kind, d.New = State(r.IntN(int(numStates))), Kind(r.IntN(int(numKinds))), Novelty(r.IntN(3))
			d.Title = strings.Repeat("x", r.IntN(200))
			d.Gone, d.Changed, d.Moved, d.FetchedIn = int64(r.IntN(2)), int64(r.IntN(3)), int64(r.IntN(2)), Cycle(r.IntN(3))
			if r.IntN(4) == 0 {
				d.DuplicateOf = graph.Node(r.IntN(len(now.docs)))
			}
			if r.IntN(4) == 0 {
				must(db.Move(d, 3-d.Site))
			} else {
				must(db.Put(d))
			}
			now.docs[d.ID] = *d
		case op < 14:
			d := pick()
			var links []Link
			for range r.IntN(5) {
				links = append(links, Link{To: graph.Node(r.IntN(len(now.docs))), Kind: ViaAnchor})
			}
			_, err := db.PutLinks(d, Cycle(1+step), links)
			if errors.Is(err, ErrNotFound) { // its links are of this window: readable after Commit
				must(db.Commit())
				committed = append(committed, now.commit())
				_, err = db.PutLinks(d, Cycle(1+step), links)
			}
			must(err)
			now.docs[d.ID], now.links[d.ID] = *d, links
		case op < 15:
			must(db.Count(1, 3, 0, 0))
			now.cost[1] += 3
		case op < 18:
			must(db.Commit())
			committed = append(committed, now.commit())
			if got, want := text(t, &db.View), now.text(); got != want {
				t.Fatalf("step %d: the store holds\n%s\nwant\n%s", step, got, want)
			}
		case op < 19:
			must(db.Sync())
			committed = []*model{now.commit()}
		case r.IntN(3) == 0:
			must(db.Close())
			db = open()
			committed = []*model{now.commit()}
		case r.IntN(2) == 0:
			crashed := fsys.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 25 * r.IntN(5), RNG: rand.New(rand.NewPCG(r.Uint64(), 1))})
			must(db.Close())
			fsys = crashed
			db = open()
			got, i := text(t, &db.View), len(committed)-1
			for i >= 0 && committed[i].text() != got {
				i--
			}
			if i < 0 {
				t.Fatalf("step %d: after a crash the store holds what it held at no commit:\n%s\nat the last:\n%s", step, got, committed[len(committed)-1].text())
			}
			now = committed[i].clone()
			committed = []*model{now.clone()}
			if p := problems(t, &db.View); len(p) != 0 {
				t.Fatalf("step %d: after a crash: %q", step, p)
			}
		}
	}
	must(db.Sync())
	now.commit()
	if got, want := text(t, &db.View), now.text(); got != want {
		t.Fatalf("at the end the store holds\n%s\nwant\n%s", got, want)
	}
	if p := problems(t, &db.View); len(p) != 0 {
		t.Fatalf("at the end: %q", p)
	}
	must(db.Close())
}

// TestRepair breaks one key after another: Check must see it, Repair must mend it, and no
// document other than the broken one may be lost.
func TestRepair(t *testing.T) {
	fsys := vfs.NewMem()
	db, err := Open("crawl", Options{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := errors.Join(db.AddSite(&Site{Name: "a.test"}), db.OpenCycle(&CycleRecord{Site: 1, Kind: FirstVisit})); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		d := &Doc{URL: fmt.Sprintf("http://a.test/%d", i), Site: 1, FoundOn: graph.None, DuplicateOf: graph.None, StandIn: graph.None, MovedFrom: graph.None}
		if _, err := db.Add(d); err != nil {
			t.Fatal(err)
		}
		if i < 3 {
			d.State, d.Kind = Fetched, Page
			if _, err := db.PutLinks(d, 1, []Link{{To: 0}}); err != nil {
				t.Fatal(err)
			}
			if _, err := db.FirstBody(1, uint64(i+1), d.ID); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(db.PutVisit(d, Visit{Cycle: 1, Status: 200}), db.PutRefetch(1, 1, &Refetch{Page: d.ID}), db.PutNewcomer(d, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(db.PutHost(&Host{Origin: "http://a.test"}), db.PutRobots(&Robots{Origin: "http://a.test", Status: 404}), db.PutRecord(1, 0, []byte("start")), db.PutState(1, 0, []byte("state"))); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		c := &CycleRecord{Site: 1, Kind: Revisit, At: 1, Ended: 2}
		if err := errors.Join(db.OpenCycle(c), db.PutRefetch(1, c.Cycle, &Refetch{Page: 0}), db.PutRecord(1, c.Cycle, []byte("record"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(db.Sync(), db.Condense(1, 2), db.Sync()); err != nil {
		t.Fatal(err)
	}
	if p := problems(t, &db.View); len(p) != 0 {
		t.Fatalf("before anything is broken: %q", p)
	}
	var keys [][]byte
	if err := db.scan([]byte{}, []byte{0}, func(k, _ []byte) error {
		keys = append(keys, slices.Clone(k))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(keys) < 50 {
		t.Fatalf("%d keys", len(keys))
	}
	for _, k := range keys {
		for _, what := range []string{"dropped", "garbled"} {
			old, err := db.get(k)
			if errors.Is(err, ErrNotFound) {
				continue // a repair dropped it
			}
			if what == "dropped" {
				err = errors.Join(err, db.db.Delete(k, nil))
			} else {
				err = errors.Join(err, db.db.Set(k, []byte("\xff\xff\xff\xff\xff"), nil))
			}
			if err != nil {
				t.Fatal(err)
			}
			seen := len(problems(t, &db.View))
			if _, err := db.Repair(func(Problem) {}); err != nil {
				t.Fatalf("%s %q: %v", what, k, err)
			}
			if p := problems(t, &db.View); len(p) != 0 {
				t.Fatalf("%s %q: after the repair (%d problems before): %q", what, k, seen, p)
			}
			// What no other record can tell is lost without a trace: these tables stand alone.
			alone := strings.IndexByte("vhonbzxrt", k[0]) >= 0 && what == "dropped" || strings.IndexByte("qdw", k[0]) >= 0 || string(k) == "mnext" || string(k) == "mcommits"
			if seen == 0 && !alone {
				t.Errorf("%s %q: nobody noticed (it was %x)", what, k, old)
			}
			docs := 0
			if err := db.Docs(func(*Doc) bool { docs++; return true }); err != nil {
				t.Fatal(err)
			}
			if lost := k[0] == tableDoc && what == "dropped"; docs != 6 && !lost {
				t.Fatalf("%s %q: %d documents left", what, k, docs)
			}
		}
	}
}

func TestFolders(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "none"), Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "letter.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(other, Options{}); !errors.Is(err, ErrNotStore) {
		t.Errorf("a folder with other things: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "new", "folder")
	db, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var inUse *InUseError
	if _, err := Open(dir, Options{}); !errors.As(err, &inUse) || inUse.PID != os.Getpid() {
		t.Errorf("a second writer: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // readers share
		v, err := Open(dir, Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
	}
}

func TestNewerFormat(t *testing.T) {
	fsys := vfs.NewMem()
	db, err := Open("crawl", Options{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.db.Set(metaKey("format"), []byte("99"), pebble.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("crawl", Options{FS: fsys}); err == nil || !strings.Contains(err.Error(), "newer forage") {
		t.Errorf("a store of a newer version opens with %v", err)
	}
}

// TestDecoded counts the documents that are decoded, by the store and what it shows.
func TestDecoded(t *testing.T) {
	db, err := Open("crawl", Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	d := &Doc{URL: "http://a/", Site: 1, FoundOn: graph.None, DuplicateOf: graph.None, StandIn: graph.None, MovedFrom: graph.None}
	if _, err := db.Add(d); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Put(d), db.Commit()); err != nil {
		t.Fatal(err)
	}
	v := db.Snapshot()
	defer v.Close()
	for i, read := range []func() error{
		func() error { return nil },
		func() error { _, err := db.Doc(d.ID); return err },
		func() error { _, err := v.Doc(d.ID); return err },
		func() error { return v.Docs(func(*Doc) bool { return true }) },
		func() error { return db.SiteDocs(1, func(*Doc) bool { return true }) },
	} {
		if err := read(); err != nil || db.Decoded() != int64(i) {
			t.Errorf("after %d reads: Decoded = %d, %v", i, db.Decoded(), err)
		}
	}
}

// TestEvict gives up all links of a document: those of earlier cycles, and those of this window.
func TestEvict(t *testing.T) {
	db, err := Open("crawl", Options{FS: vfs.NewMem()})
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
	must(db.AddSite(&Site{Name: "a"}))
	d := &Doc{URL: "http://a/", Site: 1, Title: "t", ETag: "e", FoundOn: graph.None, DuplicateOf: graph.None, StandIn: graph.None, MovedFrom: graph.None}
	_, err = db.Add(d)
	must(err)
	for c := range Cycle(3) {
		must(db.Commit())
		_, err := db.PutLinks(d, c+1, []Link{{To: d.ID, Place: uint32(c)}})
		must(err)
	}
	must(errors.Join(db.Evict(d), db.Commit()))
	if got, err := db.Doc(d.ID); err != nil || !got.Evicted || got.LinksOf != 0 || got.Title != "" || got.ETag != "" {
		t.Errorf("evicted: %+v, %v", got, err)
	}
	must(db.LinkHistory(d.ID, func(c Cycle, l []Link) bool { t.Errorf("links of cycle %d are left: %v", c, l); return true }))
	if p := problems(t, &db.View); len(p) != 0 {
		t.Errorf("%q", p)
	}
}
