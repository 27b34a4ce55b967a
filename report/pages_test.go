package report

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"forage/graph"
	"forage/simhash"
	"forage/store"
)

// TestPageJSON: AppendJSON writes what encoding/json does, of every field, set or not.
func TestPageJSON(t *testing.T) {
	p := &Page{}
	for _, full := range []bool{false, true} {
		if full {
			v := reflect.ValueOf(p).Elem()
			for i := range v.NumField() {
				switch f := v.Field(i); f.Kind() {
				case reflect.String:
					f.SetString(fmt.Sprintf("%d \"<ü\u202e", i))
				case reflect.Pointer:
					f.Set(reflect.New(f.Type().Elem()))
					switch f := f.Elem(); f.Kind() {
					case reflect.Struct:
						*p.Use = anyUse
					case reflect.String:
						f.SetString(fmt.Sprintf("%d \"<ü\u202e", i))
					default:
						f.SetInt(404)
					}
				case reflect.Uint32:
					f.SetUint(uint64(i) + 1<<31)
				default:
					f.SetInt(int64(i) - 100)
				}
			}
		}
		var want bytes.Buffer
		if err := WriteJSON(&want, p); err != nil {
			t.Fatal(err)
		}
		if got := string(p.AppendJSON(nil)) + "\n"; got != want.String() {
			t.Errorf("AppendJSON:\n%s\nwant\n%s", got, &want)
		}
	}
}

// TestUseJSON: the same of what is said of the use, and NewUse reads what package use writes.
func TestUseJSON(t *testing.T) {
	for _, text := range []string{
		"", "header robots noindex\n", "page robots nofollow\n", "page robots noarchive\nheader tdm 1\n", "page tdm 0\nheader tdm 1\nheader policy https://ex.test/?\"\u202e\n",
		"header usage train-ai=n\nrobots.txt usage <x>\nrobots.txt signal ai-train=no\n", "page license https://a.test/\npage license https://b.test/\n", "other place\n",
	} {
		p := &Page{Use: NewUse(text)}
		if (p.Use == nil) != (text == "") {
			t.Errorf("%q is read as %+v", text, p.Use)
		}
		var want bytes.Buffer
		if err := WriteJSON(&want, p); err != nil {
			t.Fatal(err)
		}
		if got := string(p.AppendJSON(nil)) + "\n"; got != want.String() {
			t.Errorf("AppendJSON:\n%s\nwant\n%s", got, &want)
		}
	}
	u := NewUse("header robots noindex\nheader tdm 0\npage robots noarchive\npage tdm 1\npage policy https://ex.test/p\npage license https://ex.test/l\nrobots.txt signal ai-train=no\n")
	want := []string{"noindex", "noarchive", "tdm-reservation: 1", "tdm-policy: https://ex.test/p", "robots.txt: Content-Signal: ai-train=no", "license: https://ex.test/l"}
	if got := u.Lines(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// anyUse says all that there is to be said.
var anyUse = *NewUse("header robots noindex,nofollow,noarchive\nheader tdm 1\nheader policy p\nheader usage u\nrobots.txt usage u\nrobots.txt signal s\npage license l\npage license m\n")

// anyStore makes a store of three sites with documents of all sorts.
func anyStore(t *testing.T, r *rand.Rand) *store.DB {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := store.Open(t.TempDir(), store.Options{})
	must(err)
	t.Cleanup(func() { must(db.Close()) })
	for i := range 3 {
		must(db.AddSite(&store.Site{Name: fmt.Sprintf("%c.test", 'a'+i), State: store.SiteDone, FirstCycle: 1}))
	}
	for i := range 300 {
		site := store.SiteID(1 + r.IntN(3))
		d := store.NewDoc(fmt.Sprintf("http://%c.test/%d", 'a'+site-1, i), site)
		d.State = []store.State{store.Fetched, store.Fetched, store.Fetched, store.Skipped, store.Queued}[r.IntN(5)]
		if d.State != store.Queued {
			d.Kind = store.Kind(r.IntN(6))
		}
		if r.IntN(3) > 0 {
			d.Kind = store.Page
		}
		d.Class, d.New, d.Cycle, d.Reason = store.Class(r.IntN(5)), store.Novelty(r.IntN(3)), store.Cycle(1+r.IntN(5)), []string{"", "robots"}[r.IntN(2)]
		d.Simhash = uint64(r.IntN(4))*0x123456789abcdef ^ 1<<r.IntN(64)&-uint64(r.IntN(2)) ^ 1<<r.IntN(64)
		d.Discovered, d.FirstSeen, d.Depth = 1, store.Time(r.IntN(100)), r.IntN(3)
		if i > 0 && r.IntN(4) == 0 {
			d.DuplicateOf, d.Stands = graph.Node(r.IntN(i)), r.IntN(3) == 0
		}
		if i > 0 && r.IntN(4) == 0 {
			d.MovedFrom, d.Moved, d.MovedIn = graph.Node(r.IntN(i)), store.Time(r.IntN(100)), store.Cycle(r.IntN(5))
		}
		if r.IntN(3) == 0 {
			d.Changed, d.Changes = store.Time(1+r.IntN(100)), 1
		}
		if r.IntN(3) == 0 {
			d.Gone, d.GoneIn = store.Time(1+r.IntN(100)), store.Cycle(1+r.IntN(5))
		}
		_, err := db.Add(d)
		must(err)
		for c := range store.Cycle(r.IntN(5)) {
			d.Visits++
			must(db.PutVisit(d, store.Visit{Cycle: c + 1, Status: 200, Digest: uint64(1 + r.IntN(2))}))
		}
	}
	must(db.Commit())
	return db
}

// anySelection makes a selection of all that can be asked for, mostly of little.
func anySelection(r *rand.Rand) *Selection {
	some := func(n int) bool { return r.IntN(n) == 0 }
	since := func() *Since {
		switch r.IntN(6) {
		case 0:
			return &Since{Cycle: store.Cycle(1 + r.IntN(5))}
		case 1:
			return &Since{Time: store.Time(r.IntN(100))}
		}
		return nil
	}
	sel := &Selection{New: since(), Changed: since(), Gone: since(), Moved: since(), Unknown: some(2), Duplicates: some(3), All: some(3), Excluded: some(3)}
	if some(3) {
		sel.Site = fmt.Sprintf("%c.test", 'a'+r.IntN(3))
	}
	if some(3) {
		sel.Kind = Kinds[r.IntN(len(Kinds))]
	}
	if some(3) {
		sel.Match = regexp.MustCompile(`[13579]$`)
	}
	return sel
}

// TestNear: the first page of those before it in the list of its site that differ in few bits, whatever else is selected.
func TestNear(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2))
	db := anyStore(t, r)
	want, found := map[string]string{}, 0
	var listed []*store.Doc
	if err := db.Docs(func(d *store.Doc) bool {
		if !d.IsListed() {
			return true
		}
		at := func(d *store.Doc) string {
			if d.Stands {
				other, err := db.Doc(d.DuplicateOf)
				if err != nil {
					t.Fatal(err)
				}
				return other.URL
			}
			return d.URL
		}
		clone := *d
		listed = append(listed, &clone)
		for _, o := range listed[:len(listed)-1] {
			if o.Site == d.Site && d.Simhash != 0 && o.Simhash != 0 && simhash.Near(o.Simhash, d.Simhash) {
				want[at(d)+" "+d.URL] = at(o)
				found++
				break
			}
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if found < 50 {
		t.Fatalf("%d pages say nearly the same: hardly any", found)
	}
	for range 200 {
		sel := anySelection(r)
		if sel.Duplicates, sel.All = false, false; sel.Kind == "duplicate" {
			sel.Kind = ""
		}
		if err := sel.Pages(&db.View, false, func(p *Page) error {
			fetched, near := p.URL, ""
			if p.FetchedAs != nil {
				fetched = *p.FetchedAs
			}
			if p.Near != nil {
				near = *p.Near
			}
			if near != want[p.URL+" "+fetched] && p.LeftOut == nil {
				t.Errorf("%+v: %s is near %q, want %q", sel, p.URL, near, want[p.URL+" "+fetched])
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestParts: the parts of a list are, one after another, the pages of it, each once, wherever it was cut. Pages gives
// new ones that are content first.
func TestParts(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	db := anyStore(t, r)
	listed := 0
	for range 500 {
		sel := anySelection(r)
		var want, got []string
		if err := sel.Pages(&db.View, false, func(p *Page) error {
			p.Near = nil // parts do not look for that
			want = append(want, string(p.AppendJSON(nil)))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		limit, look := 1+r.IntN(50), 1+r.IntN(100)
		for place := (&Place{}); place != nil; {
			text := place.String()
			from, err := ParsePlace(text)
			if err != nil || from != *place {
				t.Fatalf("ParsePlace(%s) = %v, %v", text, from, err)
			}
			looked := 0
			part, next, err := sel.Part(&db.View, from, limit, func(n int) bool { looked = n; return n >= look })
			if err != nil || len(part) > limit || looked > look {
				t.Fatalf("a part of %d after %d were looked at, want %d, %d; %v", len(part), looked, limit, look, err)
			}
			for _, p := range part {
				got = append(got, string(p.AppendJSON(nil)))
			}
			place = next
		}
		listed += len(want)
		if sel.New != nil {
			slices.Sort(want)
			slices.Sort(got)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%+v: parts of %d and %d documents give\n%s\nwant\n%s", sel, limit, look, got, want)
		}
	}
	if listed < 5000 {
		t.Errorf("%d pages were listed in all: hardly any", listed)
	}
	if _, _, err := (&Selection{Site: "z.test"}).Part(&db.View, Place{}, 1, func(int) bool { return false }); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a part of a site that is not there: %v", err)
	}
	for _, text := range []string{"", "1", "000000010000000", "00000001000000002", "000000010000000G", "000000010000000A", "-000000100000000", "0x00000100000000"} {
		if p, err := ParsePlace(text); err == nil {
			t.Errorf("ParsePlace(%q) = %v", text, p)
		}
	}
}
