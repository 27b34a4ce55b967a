package export

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"forage/graph"
	"forage/simhash"
	"forage/store"
)

// schemas are those of the tables, by name.
var schemas = map[string]*parquet.Schema{
	"sites": parquet.SchemaOf(siteRow{}), "pages": parquet.SchemaOf(pageRow{}), "links": parquet.SchemaOf(linkRow{}), "visits": parquet.SchemaOf(visitRow{}),
	"cycles": parquet.SchemaOf(cycleRow{}), "refetches": parquet.SchemaOf(refetchRow{}), "events": parquet.SchemaOf(eventRow{}), "captures": parquet.SchemaOf(captureRow{}),
}

// TestTablesDocumented: docs/tables.md has each column, in order, with its type, and says what null means of those that may be.
func TestTablesDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/tables.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string][]string{}
	line := regexp.MustCompile("^\\| `([a-z0-9_]+)` \\| ([a-z0-9 ]+) \\| ?(.*?) ?\\| .*\\|$|^\\| `")
	name := ""
	for _, l := range strings.Split(string(text), "\n") {
		if s, ok := strings.CutPrefix(l, "## "); ok {
			name = s
		}
		if m := line.FindStringSubmatch(l); m != nil {
			told[name] = append(told[name], fmt.Sprint(m[1], " ", m[2], " ", m[3] != ""))
		}
	}
	types := map[string]string{"STRING": "text", "INT(32,true)": "int32", "INT(64,true)": "int64", "INT(32,false)": "uint32", "INT(64,false)": "uint64", "BOOLEAN": "boolean", "TIMESTAMP(isAdjustedToUTC=true,unit=MILLIS)": "time"}
	for table, schema := range schemas {
		var want []string
		for _, f := range schema.Fields() {
			is, element := "", parquet.Node(f)
			if !f.Leaf() {
				is, element = "list of ", f.Fields()[0].Fields()[0]
			}
			word, ok := types[element.Type().String()]
			if !ok {
				t.Errorf("%s: %s has the type %s", table, f.Name(), element.Type())
			}
			want = append(want, fmt.Sprint(f.Name(), " ", is, word, " ", f.Optional()))
		}
		if !slices.Equal(told[table], want) {
			for i := range max(len(want), len(told[table])) {
				at := func(all []string) string { return append(all, make([]string, i+1)...)[i] }
				if at(want) != at(told[table]) {
					t.Errorf("%s: docs/tables.md tells %q, want %q (name, type, may be null)", table, at(told[table]), at(want))
				}
			}
		}
	}
	if len(told) != len(schemas) {
		t.Errorf("docs/tables.md has %d tables, want %d", len(told), len(schemas))
	}
}

// anyStore makes a store of three sites, in four cycles, with documents of all sorts; broken: with texts that are no UTF-8.
func anyStore(t *testing.T, seed uint64, broken bool) *store.DB {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(seed, 16))
	text := func(s string) string {
		if broken && r.IntN(2) == 0 {
			return s + "\xff\xc3(\x00é"
		}
		return s
	}
	db, err := store.Open(t.TempDir(), store.Options{})
	must(err)
	t.Cleanup(func() { must(db.Close()) })
	for i := range 3 {
		must(db.AddSite(&store.Site{Name: fmt.Sprintf("%c.test", 'a'+i), State: store.SiteDone, FirstCycle: 1, Seeds: []string{text("http://a.test/")}, Reason: text("")}))
	}
	cycles := store.Cycle(4)
	for c := range cycles {
		rec := &store.CycleRecord{Site: store.SiteID(1 + r.IntN(3)), Kind: store.Revisit, Limit: r.IntN(4) - 1, At: 1000 * int64(c+1), Ended: 1000*int64(c+1) + 900, Policy: text("best")}
		if r.IntN(4) == 0 {
			rec.Ended = 0
		}
		must(db.OpenCycle(rec))
		db.PutEvent(&store.Event{Type: store.WatchPaused, At: rec.At + 500, Reason: text("disk")})
		must(db.Commit())
	}
	n := 20 + r.IntN(400)
	for i := range n {
		d := store.NewDoc(fmt.Sprintf("http://%c.test/%d", 'a'+i%3, i), store.SiteID(1+i%3))
		d.Discovered, d.Cycle, d.Depth = 1000, 1+store.Cycle(r.IntN(4)), r.IntN(3)
		d.Discovered = 1000*int64(d.Cycle) + int64(r.IntN(900))
		if i > 0 {
			d.FoundOn, d.Via = graph.Node(r.IntN(i)), store.ViaAnchor
		}
		if i > 0 && r.IntN(4) == 0 {
			d.DuplicateOf, d.Stands = graph.Node(r.IntN(i)), r.IntN(3) == 0
		}
		if i > 0 && r.IntN(5) == 0 {
			d.MovedFrom, d.Moved, d.MovedIn = graph.Node(r.IntN(i)), 1000+int64(r.IntN(4000)), 1+store.Cycle(r.IntN(4))
		}
		d.New, d.Title, d.ContentType = store.Novelty(r.IntN(3)), text("title"), text("text/html")
		_, err := db.Add(d)
		must(err)
	}
	must(db.Commit())
	for i := range n {
		d, err := db.Doc(graph.Node(i))
		must(err)
		for c := d.Cycle; c <= cycles; c++ {
			if r.IntN(3) == 0 {
				continue
			}
			d.State, d.Kind, d.Status, d.Class = []store.State{store.Fetched, store.Fetched, store.Skipped}[r.IntN(3)], store.Kind(1+r.IntN(5)), 200, store.Class(r.IntN(5))
			d.FetchedIn, d.LastFetched, d.Digest, d.Bytes = c, 1000*int64(c)+int64(r.IntN(900)), uint64(r.IntN(3)), int64(r.IntN(1000))
			d.FirstSeen = max(d.FirstSeen, d.LastFetched)
			d.Simhash = uint64(r.IntN(4))*0x123456789abcdef ^ 1<<r.IntN(64)&-uint64(r.IntN(2)) ^ 1<<r.IntN(64)
			if d.UseKnown = r.IntN(3) > 0; d.UseKnown && r.IntN(2) == 0 {
				d.Use = "header robots noindex\nheader usage " + text("train-ai=n") + "\npage license https://l.test/\npage tdm 1\n"
			}
			d.Visits++
			var links []store.Link
			for range r.IntN(10) {
				links = append(links, store.Link{To: graph.Node(r.IntN(n)), Kind: store.ViaAnchor, Place: uint32(r.IntN(3)), NoFollow: r.IntN(4) == 0, Off: r.IntN(4) == 0})
			}
			if r.IntN(2) == 0 {
				_, err = db.PutLinks(d, c, links)
				must(err)
			}
			must(db.PutVisit(d, store.Visit{Cycle: c, At: d.LastFetched, Status: d.Status, Digest: d.Digest, Bytes: d.Bytes}))
			if d.Visits > 1 {
				must(db.PutRefetch(d.Site, c, &store.Refetch{Order: i, Page: d.ID, At: d.LastFetched, Status: 200, Gained: []graph.Node{graph.Node(r.IntN(n)), graph.Node(r.IntN(n))}, Led: []graph.Node{d.ID}}))
			}
			must(db.Commit())
		}
	}
	must(db.Sync())
	return db
}

// inTable reads a table that was written.
func inTable[T any](t *testing.T, dir, name string) []T {
	t.Helper()
	rows, err := parquet.ReadFile[T](filepath.Join(dir, name+".parquet"))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return rows
}

// content is what tables hold, row by row. walk gathers what Parquet is to write, by a walk through the store record by record.
type content struct {
	pages, links, visits, cycles, refetches, events []string
	near                                            int // pages that say nearly what an earlier one does
}

func walk(t *testing.T, v *store.View, what Tables) (n content) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	since := func(c store.Cycle, at store.Time) bool { return c >= what.Cycle && at >= what.Time }
	has := func(id graph.Node) bool {
		d, err := v.Doc(id)
		must(err)
		return what.Keep == nil || what.Keep(d)
	}
	list := func(all []graph.Node) (out []graph.Node) {
		for _, id := range all {
			if has(id) {
				out = append(out, id)
			}
		}
		return out
	}
	var listed []*store.Doc
	must(v.Docs(func(d *store.Doc) bool {
		if !has(d.ID) {
			return true
		}
		near := -1
		if d.IsListed() && d.Simhash != 0 {
			for _, o := range listed {
				if o.Site == d.Site && simhash.Near(o.Simhash, d.Simhash) {
					near = int(o.ID)
					break
				}
			}
			clone := *d
			listed = append(listed, &clone)
		}
		if since(d.Cycle, d.Discovered) || since(d.FetchedIn, d.LastFetched) || since(d.MovedIn, d.Moved) {
			n.pages = append(n.pages, fmt.Sprintln(d.ID, valid(d.URL), d.Status, valid(d.Title), d.FoundOn != graph.None && has(d.FoundOn), d.Simhash, near))
			if near >= 0 {
				n.near++
			}
		}
		told := false
		must(v.Visits(d, func(x store.Visit) bool {
			if since(x.Cycle, x.At) {
				n.visits = append(n.visits, fmt.Sprintln(d.ID, x.Cycle, x.At*1000, x.Status, digest(x.Digest), x.Bytes))
				told = told || x.Cycle == d.LinksOf
			}
			return true
		}))
		if !told {
			return true
		}
		links, err := v.Links(d)
		must(err)
		for i, l := range links {
			if has(l.To) {
				n.links = append(n.links, fmt.Sprintln(d.ID, i, l.To, l.Kind, l.NoFollow, l.Off, l.Place, d.LinksOf))
			}
		}
		return true
	}))
	began := what.Time
	if what.Cycle != 0 {
		began = math.MaxInt64
	}
	sites, err := v.Sites()
	must(err)
	must(v.Cycles(0, func(c *store.CycleRecord) bool {
		if c.Cycle == what.Cycle {
			began = c.At
		}
		if since(c.Cycle, c.Ended) || c.Ended == 0 {
			n.cycles = append(n.cycles, fmt.Sprintln(sites[c.Site-1].Name, c.Cycle, c.At*1000, c.Ended*1000))
		}
		return true
	}))
	for _, s := range sites {
		for c := store.Cycle(1); c < 10; c++ {
			must(v.Refetches(s.ID, c, func(f *store.Refetch) bool {
				if has(f.Page) && since(c, f.At) {
					n.refetches = append(n.refetches, fmt.Sprintln(s.Name, c, f.Page, f.Order, list(f.Gained), list(f.Led)))
				}
				return true
			}))
		}
	}
	must(v.Events(0, func(e *store.Event) bool {
		recent := since(e.Cycle, e.At) || e.Cycle == 0 && e.At >= began
		if recent && (e.Doc == graph.None || has(e.Doc)) {
			n.events = append(n.events, fmt.Sprintln(e.Seq, e.Type, valid(e.Title), valid(e.Reason)))
		}
		return true
	}))
	return n
}

// written is what Parquet has written, as walk has it.
func written(t *testing.T, dir string) (n content) {
	t.Helper()
	for _, r := range inTable[pageRow](t, dir, "pages") {
		near := -1
		if r.Near != nil {
			near = int(*r.Near)
			n.near++
		}
		n.pages = append(n.pages, fmt.Sprintln(r.Page, r.URL, r.Status, r.Title, r.FoundOn != nil, r.Simhash, near))
	}
	for _, r := range inTable[linkRow](t, dir, "links") {
		n.links = append(n.links, fmt.Sprintln(r.From, r.Position, r.To, r.Kind, r.NoFollow, r.Outside, r.Place, r.Cycle))
	}
	for _, r := range inTable[visitRow](t, dir, "visits") {
		n.visits = append(n.visits, fmt.Sprintln(r.Page, r.Cycle, r.At, r.Status, r.Digest, r.Bytes))
	}
	for _, r := range inTable[cycleRow](t, dir, "cycles") {
		n.cycles = append(n.cycles, fmt.Sprintln(r.Site, r.Cycle, r.Began, r.Ended))
	}
	for _, r := range inTable[refetchRow](t, dir, "refetches") {
		n.refetches = append(n.refetches, fmt.Sprintln(r.Site, r.Cycle, r.Page, r.Position, r.Gained, r.Led))
	}
	for _, r := range inTable[eventRow](t, dir, "events") {
		n.events = append(n.events, fmt.Sprintln(r.Seq, r.Type, r.Title, r.Reason))
	}
	return n
}

// TestParquet compares tables of stores by chance with a naive walk through them.
func TestParquet(t *testing.T) {
	rows := content{}
	for seed := range uint64(6) {
		db := anyStore(t, seed, seed%2 == 1)
		for i, what := range []Tables{
			{}, {Cycle: 3}, {Time: 3300}, {Cycle: 9}, {Keep: func(d *store.Doc) bool { return d.ID%3 > 0 }}, {Cycle: 2, Keep: func(d *store.Doc) bool { return d.ID%2 > 0 }},
		} {
			dir := filepath.Join(t.TempDir(), "tables")
			asked := map[graph.Node]int{}
			counted := what
			if what.Keep != nil {
				counted.Keep = func(d *store.Doc) bool { asked[d.ID]++; return what.Keep(d) }
			}
			w, err := Parquet(&db.View, dir, counted)
			if err != nil {
				t.Fatal(err)
			}
			for id, n := range asked {
				if n != 1 {
					t.Fatalf("Keep was asked %d times for %d", n, id)
				}
			}
			want, got := walk(t, &db.View, what), written(t, dir)
			if want.pages == nil != (what.Cycle == 9) {
				t.Errorf("store %d, %d: there are %d pages", seed, i, len(want.pages))
			}
			x, y := reflect.ValueOf(want), reflect.ValueOf(got)
			all := 3 // sites
			for f := range x.NumField() {
				a, b := fmt.Sprint(x.Field(f)), fmt.Sprint(y.Field(f))
				if a != b {
					t.Errorf("store %d, %d: %s:\n%.2000s\nwant\n%.2000s", seed, i, x.Type().Field(f).Name, b, a)
				}
				if x.Field(f).Kind() == reflect.Slice {
					all += x.Field(f).Len()
				}
			}
			if w.Records != uint64(all) {
				t.Errorf("%d records, want %d", w.Records, all)
			}
			if i == 0 {
				rows.near += got.near
				rows.links, rows.events, rows.refetches = append(rows.links, got.links...), append(rows.events, got.events...), append(rows.refetches, got.refetches...)
			}
		}
	}
	if rows.near < 100 || len(rows.links) < 1000 || len(rows.events) < 100 || len(rows.refetches) < 200 {
		t.Errorf("%d near-duplicates, %d links, %d events, %d refetches in all: hardly any", rows.near, len(rows.links), len(rows.events), len(rows.refetches))
	}
}

// TestParquetColumns: each column of a page has its own value, and null where there is none.
func TestParquetColumns(t *testing.T) {
	n := func(id graph.Node) *uint32 {
		if id == graph.None {
			return nil
		}
		v := uint32(id)
		return &v
	}
	d := store.NewDoc("http://a.test/x", 1)
	d.ID, d.New = 3, store.MaybeNew
	if got, want := newPageRow(d, "a.test", n), (pageRow{Page: 3, URL: "http://a.test/x", Site: "a.test", State: "queued", Via: "seed"}); !reflect.DeepEqual(got, want) {
		t.Errorf("a page that is queued: %+v\nwant %+v", got, want)
	}
	*d = store.Doc{
		ID: 4, URL: "http://a.test/y", Site: 1, State: store.Fetched, Kind: store.Page, Class: store.ListPage, Reason: "why", Status: 200, Discovered: 10, FirstSeen: 11, Cycle: 2, FoundOn: 0,
		Via: store.ViaFeed, Depth: 5, New: store.IsNew, Title: "T", Canonical: "C", ContentType: "text/html", Digest: 0xab, Bytes: 12, Truncated: true, Published: 13, LastMod: 14, LastFetched: 15,
		Changed: 16, Gone: 17, DuplicateOf: 7, Stands: true, Moved: 18, MovedFrom: 9, Visits: 19, Changes: 20, FetchedIn: 21, LinksOf: 22, Evicted: true, Seed: true, NoFollow: true,
		UseKnown: true, Use: "header robots noarchive\npage tdm 1\npage policy P\nheader usage U\nrobots.txt usage V\nrobots.txt signal W\npage license L\npage license M\n",
	}
	bytes, one := int64(12), int32(1)
	want := pageRow{
		Page: 4, URL: "http://a.test/y", Site: "a.test", Type: "page", Kind: "list", Listed: true, State: "fetched", Reason: "why", New: &yes, Discovered: 10000, FirstSeen: 11000, Cycle: 2, FoundOn: n(0),
		Via: "feed", Depth: 5, Seed: true, OnlyNoFollow: true, Status: 200, Title: "T", Canonical: "C", ContentType: "text/html", Digest: "00000000000000ab", Bytes: &bytes, Truncated: true,
		Published: 13000, LastMod: 14000, LastFetched: 15000, FetchedIn: 21, Visits: 19, Changes: 20, Changed: 16000, Gone: 17000, Moved: 18000, MovedFrom: n(9), StandsFor: n(7), LinksCycle: 22, Evicted: true,
		useColumns: useColumns{NoIndex: &no, NoFollow: &no, NoArchive: &yes, TDMReservation: &one, TDMPolicy: "P", Usage: "U", RobotsUsage: "V", RobotsSignal: "W", Licenses: []string{"L", "M"}},
	}
	if got := newPageRow(d, "a.test", n); !reflect.DeepEqual(got, want) {
		t.Errorf("a page: %+v\nwant %+v", got, want)
	}
	if d.Stands = false; newPageRow(d, "", n).StandsFor != nil || *newPageRow(d, "", n).DuplicateOf != 7 {
		t.Error("a copy of another page stands for it")
	}
}

// TestParquetSame: the same store makes the same bytes, all strings are UTF-8, and what is there stays.
func TestParquetSame(t *testing.T) {
	db := anyStore(t, 7, true)
	archive := t.TempDir()
	anArchive(t, archive, []string{"b.warc.gz", "a.warc.gz"}, 50)
	what := Tables{Archive: folder(archive), Note: func(text string) { t.Error(text) }}
	parent := t.TempDir()
	one, two := filepath.Join(parent, "one"), filepath.Join(parent, "two")
	for _, dir := range []string{one, two} {
		if _, err := Parquet(&db.View, dir, what); err != nil {
			t.Fatal(err)
		}
	}
	files, err := os.ReadDir(one)
	if err != nil || len(files) != len(schemas) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	broken := 0
	for _, f := range files {
		a, err := os.ReadFile(filepath.Join(one, f.Name()))
		b, err2 := os.ReadFile(filepath.Join(two, f.Name()))
		if err := errors.Join(err, err2); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s is another the second time, %v", f.Name(), err)
		}
		file, err := parquet.OpenFile(bytes.NewReader(a), int64(len(a)))
		if err != nil {
			t.Fatal(err)
		}
		rows := parquet.NewReader(file)
		for row := make([]parquet.Row, 1); ; {
			n, err := rows.ReadRows(row)
			for _, r := range row[:n] {
				for _, v := range r {
					if v.Kind() == parquet.ByteArray && !utf8.Valid(v.ByteArray()) {
						t.Errorf("%s: %q", f.Name(), v.ByteArray())
					}
					if v.Kind() == parquet.ByteArray && bytes.Contains(v.ByteArray(), []byte("\ufffd")) {
						broken++
					}
				}
			}
			if err != nil {
				break
			}
		}
	}
	if broken < 100 {
		t.Errorf("%d texts were no UTF-8: hardly any", broken)
	}
	if _, err := Parquet(&db.View, one, what); !errors.Is(err, fs.ErrExist) {
		t.Errorf("into a folder that holds something: %v", err)
	}
	what.Archive = folder(filepath.Join(parent, "nowhere"))
	if _, err := Parquet(&db.View, filepath.Join(parent, "three"), what); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of an archive that is not there: %v", err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) != 2 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestParquetEmpty: of a store without documents there are all tables, without rows.
func TestParquetEmpty(t *testing.T) {
	db, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	dir := t.TempDir() // empty: it is taken
	w, err := Parquet(&db.View, dir, Tables{})
	if err != nil || w.Records != 0 {
		t.Fatal(w, err)
	}
	if got := written(t, dir); !reflect.DeepEqual(got, content{}) || len(inTable[siteRow](t, dir, "sites")) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestTableParts: a table is cut into files, and those into row groups, of the size that it may have, and nothing is lost.
func TestTableParts(t *testing.T) {
	dir := t.TempDir()
	x, err := newTable[visitRow](dir, "visits")
	if err != nil {
		t.Fatal(err)
	}
	x.limit = 4 << 20
	r := rand.New(rand.NewPCG(1, 2))
	const n = 1_000_000
	for i := range uint32(n) {
		digits := ""
		if i > n/3 {
			digits = digest(r.Uint64())
		}
		if err := x.add(visitRow{Page: i, Digest: digits}); err != nil {
			t.Fatal(err)
		}
	}
	var w Written
	if err := x.close(&w); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "visits*.parquet"))
	if err != nil || len(files) < 3 || filepath.Base(files[0]) != "visits-0002.parquet" || w.Records != n {
		t.Fatalf("%q, %+v, %v", files, w, err)
	}
	slices.SortFunc(files, func(a, b string) int {
		return strings.Compare(strings.Replace(a, "visits.", "visits-0001.", 1), strings.Replace(b, "visits.", "visits-0001.", 1))
	})
	next, size, full := uint32(0), int64(0), false
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
		file, err := parquet.OpenFile(f, info.Size())
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range file.RowGroups() {
			full = full || g.NumRows() == rowGroup
			if g.NumRows() > rowGroup {
				t.Errorf("%s: a row group of %d", path, g.NumRows())
			}
		}
		f.Close()
		rows, err := parquet.ReadFile[visitRow](path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r.Page != next {
				t.Fatalf("%s: %d comes after %d", path, r.Page, next)
			}
			next++
		}
		if info.Size() > x.limit {
			t.Errorf("%s has %d bytes", path, info.Size())
		}
	}
	if next != n || size != w.Bytes || !full {
		t.Errorf("%d rows, %d bytes, full row groups %v, want %d, %d", next, size, full, n, w.Bytes)
	}
}

// TestCaptures: the captures are the lines of the CDXJ, and what an index of others cannot be read for is told.
func TestCaptures(t *testing.T) {
	db := anyStore(t, 1, false)
	archive := t.TempDir()
	anArchive(t, archive, []string{"b.warc.gz", "below/a.warc.gz"}, 50)
	if err := errors.Join(os.WriteFile(filepath.Join(archive, "c.warc.gz"), nil, 0o666), os.WriteFile(filepath.Join(archive, "c.cdxj"), []byte(strings.Join([]string{
		`test,a)/0 20200101000000 {"url": "http://a.test/0", "mime": "warc/revisit", "digest": "sha1:X", "length": "5", "offset": "6", "filename": "c.warc.gz"}`,
		`test,a:81)/x 20200101000001 {"url": "http://u:p@A.test:81/x?y", "mime": "text/html", "status": "404", "length": 5, "offset": 600000000000, "filename": "c.warc.gz", "x": 1}`,
		`test,a)/ 20209901000000 {"url": "http://a.test/", "length": "5", "offset": "6", "filename": "c.warc.gz"}`,
		`test,a)/ 20200101000000 {"url": "http://a.test/", "offset": "6", "filename": "c.warc.gz"}`,
		`test,a)/ 20200101000000 {"url": "http://a.test/", "length": "-5", "offset": "6", "filename": "c.warc.gz"}`,
		`test,a)/ 20200101000000 {`, `!meta {"x": 1}`, "\xff\x00", "",
	}, "\n")), 0o666)); err != nil {
		t.Fatal(err)
	}
	read := func(what Tables, notes int) []captureRow {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "tables")
		told := 0
		what.Archive, what.Note = folder(archive), func(string) { told++ }
		if _, err := Parquet(&db.View, dir, what); err != nil {
			t.Fatal(err)
		}
		if told != notes {
			t.Errorf("%d notes, want %d", told, notes)
		}
		return inTable[captureRow](t, dir, "captures")
	}
	all := read(Tables{}, 6)
	if len(all) != 102 || !slices.IsSortedFunc(all, func(a, b captureRow) int { return strings.Compare(a.SURTKey, b.SURTKey) }) {
		t.Errorf("%d captures", len(all))
	}
	host := hostColumns{Host: "a.test", TLD: "test", Second: "a", RegistrySuffix: "test", RegisteredDomain: "a.test", PrivateSuffix: "test", PrivateDomain: "a.test", Reversed: "test.a"}
	want := []captureRow{
		{
			SURTKey: "test,a)/0", URL: "http://a.test/0", hostColumns: host, Protocol: "http", Path: "/0", Time: 1577836800000, Digest: "X", MIME: "warc/revisit", Filename: "c.warc.gz", Offset: 6, Length: 5,
			Subset: "crawldiagnostics",
		},
		{
			SURTKey: "test,a:81)/x", URL: "http://u:p@A.test:81/x?y", hostColumns: host, Protocol: "http", Port: 81, Path: "/x", Query: "y", Time: 1577836801000, Status: 404, MIME: "text/html", Detected: "text/html",
			Filename: "c.warc.gz", Offset: 600000000000, Length: 5, Subset: "crawldiagnostics",
		},
	}
	if got := all[100:]; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if first := all[0]; first.Subset != "warc" || first.Status != 200 || first.Host != "example.org" || first.Length == 0 || len(first.Digest) != 32 || !strings.HasPrefix(first.SURTKey, "org,example)/") {
		t.Errorf("%+v", first)
	}
	if got := read(Tables{Time: 1577836801}, 6); !reflect.DeepEqual(got, want[1:]) {
		t.Errorf("since a second later: %+v", got)
	}
	if got := read(Tables{Cycle: 9}, 6); len(got) != 0 {
		t.Errorf("since a cycle that has not been: %+v", got)
	}
	if got := read(Tables{Keep: func(d *store.Doc) bool { return d.URL != "http://a.test/0" }}, 6); len(got) != 101 || got[100].URL != want[1].URL {
		t.Errorf("without a document: %d", len(got))
	}
}

// TestCaptureColumns: what is told of a URL, a host and a file.
func TestCaptureColumns(t *testing.T) {
	for url, want := range map[string]captureRow{
		"http://[::1]:80/":                 {Protocol: "http", hostColumns: hostColumns{Host: "[::1]"}, Port: 80, Path: "/"},
		"dns:a.test":                       {},
		"http://":                          {Protocol: "http"},
		"HTTPS://a@b@c?x@d#e":              {Protocol: "https", hostColumns: hostColumns{Host: "c"}, Query: "x@d"},
		"https://É.test":                   {Protocol: "https", hostColumns: hostColumns{Host: "é.test"}},
		"http://a.test:x/b/c?d=e?f#g?h":    {Protocol: "http", hostColumns: hostColumns{Host: "a.test"}, Path: "/b/c", Query: "d=e?f"},
		"http://a.test/#x?y":               {Protocol: "http", hostColumns: hostColumns{Host: "a.test"}, Path: "/"},
		"http://u:p@A.test:8080/x@y:z?q=@": {Protocol: "http", hostColumns: hostColumns{Host: "a.test"}, Port: 8080, Path: "/x@y:z", Query: "q=@"},
	} {
		var got captureRow
		if got.split(url); got != want {
			t.Errorf("%s is split into %+v, want %+v", url, got, want)
		}
	}
	for host, want := range map[string]string{ // last parts, registry suffix, registered domain, private suffix, private domain, reversed
		"www.example.co.uk":    "uk co example www  | co.uk example.co.uk co.uk example.co.uk uk.co.example.www",
		"a.b.c.example.org":    "org example c b a | org example.org org example.org org.example.c.b.a",
		"foo.blogspot.com":     "com blogspot foo   | com blogspot.com blogspot.com foo.blogspot.com com.blogspot.foo",
		"x.y.s3.amazonaws.com": "com amazonaws s3 y x | com amazonaws.com s3.amazonaws.com y.s3.amazonaws.com com.amazonaws.s3.y.x",
		"co.uk":                "uk co    | co.uk  co.uk  uk.co",
		"localhost":            "localhost     | localhost  localhost  localhost",
		"127.0.0.1":            "     |     ",
		"[::1]":                "     |     ",
		"":                     "     |     ",
	} {
		c := newHostColumns(host)
		got := strings.Join([]string{c.TLD, c.Second, c.Third, c.Fourth, c.Fifth, "|", c.RegistrySuffix, c.RegisteredDomain, c.PrivateSuffix, c.PrivateDomain, c.Reversed}, " ")
		if got != want || c.Host != host {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
	for name, want := range map[string]string{
		"forage-20261124-1a2b3c4d-00012.warc.gz": "forage-20261124-1a2b3c4d", "CC/x/CC-MAIN-2018-05-00001.warc": "CC-MAIN-2018-05", "a.warc.gz": "", "a-b.warc.gz": "", "": "",
	} {
		if got := crawlOf(name); got != want {
			t.Errorf("%s is of %q, want %q", name, got, want)
		}
	}
}

// TestDuckDB: DuckDB reads the tables, each column by its name without quotes, joins lose nothing, and queries that were written for
// Common Crawl's index run.
func TestDuckDB(t *testing.T) {
	python := os.Getenv("FORAGE_PYTHON")
	if python == "" {
		python = "python3"
	}
	if err := exec.Command(python, "-c", "import duckdb, pytz").Run(); err != nil {
		t.Skipf("needs the Python packages duckdb and pytz (FORAGE_PYTHON names an interpreter that has them): %v", err)
	}
	db := anyStore(t, 11, true)
	archive, dir := t.TempDir(), filepath.Join(t.TempDir(), "tables")
	anArchive(t, archive, []string{"a.warc.gz"}, 50)
	if _, err := Parquet(&db.View, dir, Tables{Archive: folder(archive), Note: func(text string) { t.Error(text) }}); err != nil {
		t.Fatal(err)
	}
	n := walk(t, &db.View, Tables{})
	pages, listed := 0, 0
	if err := db.Docs(func(d *store.Doc) bool {
		if d.IsPage() {
			pages++
		}
		if d.IsListed() {
			listed++
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	queries := []string{
		"select count(*) from pages where type = 'page' and state <> 'skipped'", fmt.Sprint(pages),
		"select count(*) from pages where listed", fmt.Sprint(listed),
		"select sum(pages) from sites", fmt.Sprint(pages),
		"select count(*) from links l join pages f on f.page = l.from_page join pages t on t.page = l.to_page", fmt.Sprint(len(n.links)),
		"select count(*) from visits v join pages using (page)", fmt.Sprint(len(n.visits)),
		"select count(*) from refetches r join cycles c using (cycle)", fmt.Sprint(len(n.refetches)),
		"select count(*) from (select unnest(gained) as page from refetches) join pages using (page)", fmt.Sprint(2 * len(n.refetches)),
		"select count(*) from events", fmt.Sprint(len(n.events)),
		"select count(*) from pages p join pages f on f.page = p.found_on", fmt.Sprint(len(n.pages) - 1),
		"select typeof(last_fetched) from pages limit 1", "TIMESTAMP WITH TIME ZONE",
		"select epoch(max(time)) = max(epoch(time)) and epoch(max(time)) < 5000 from visits", "True",
		// https://commoncrawl.org/columnar-index
		"SELECT COUNT(*) AS count, url_host_name FROM captures WHERE fetch_status = 200 AND content_mime_type = 'text/html' GROUP BY url_host_name ORDER BY count DESC", "50",
		"SELECT COUNT(*) FROM (SELECT url, warc_filename, warc_record_offset, warc_record_length FROM captures WHERE url_host_name = 'example.org' AND url_surtkey LIKE 'org,example)/%')", "50",
		"SELECT year(min(fetch_time)) FROM captures WHERE content_digest IS NOT NULL", "2001",
	}
	for name, schema := range schemas {
		var columns []string
		for _, f := range schema.Fields() {
			columns = append(columns, "max("+f.Name()+")")
		}
		queries = append(queries, "select count(*) from (select "+strings.Join(columns, ", ")+" from "+name+") where false", "0")
	}
	program := `
import duckdb, sys
db = duckdb.connect()
for name in sys.argv[2].split():
    db.execute(f"create view {name} as from '{sys.argv[1]}/{name}*.parquet'")
for q in sys.argv[3:]:
    print(db.execute(q).fetchall()[0][0])
`
	names := slices.Collect(func(yield func(string) bool) {
		for name := range schemas {
			if !yield(name) {
				return
			}
		}
	})
	args := []string{"-c", program, dir, strings.Join(names, " ")}
	var want []string
	for i := 0; i < len(queries); i += 2 {
		args, want = append(args, queries[i]), append(want, queries[i+1])
	}
	out, err := exec.Command(python, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for i, got := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if got != want[i] {
			t.Errorf("%s\n%s, want %s", queries[2*i], got, want[i])
		}
	}
}
