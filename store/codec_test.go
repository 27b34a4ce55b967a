package store

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"forage/graph"
)

// fill sets every exported field of v to something that is not zero.
func fill(v reflect.Value, r *rand.Rand) {
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(string([]byte{byte('a' + r.IntN(26)), 0xc3, byte(r.Uint32())}))
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int, reflect.Int64:
			f.SetInt(1 + r.Int64N(1<<40))
		case reflect.Uint8:
			f.SetUint(1 + r.Uint64N(2))
		case reflect.Uint32:
			f.SetUint(1 + r.Uint64N(1<<32-2))
		case reflect.Uint64:
			f.SetUint(r.Uint64() | 1)
		case reflect.Array:
			for i := range f.Len() {
				f.Index(i).SetUint(1 + r.Uint64N(1<<32-2))
			}
		case reflect.Slice:
			if f.Type().Elem().Kind() == reflect.Uint8 {
				f.SetBytes([]byte("bytes"))
			} else {
				f.Set(reflect.ValueOf([]graph.Node{5, 0, 1<<32 - 2, 7}))
			}
		}
	}
}

func TestDocKeepsEveryField(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		d := new(Doc)
		fill(reflect.ValueOf(d).Elem(), r)
		d.stored, d.was = true, d.tally()
		got, err := decodeDoc(d.ID, d.encode())
		if err != nil || !reflect.DeepEqual(got, d) {
			t.Fatalf("decodeDoc(encode) = %+v, %v, want %+v", got, err, d)
		}
	}
	empty := &Doc{URL: "http://a/", FoundOn: graph.None, DuplicateOf: graph.None, StandIn: graph.None, MovedFrom: graph.None}
	if got, err := decodeDoc(0, empty.encode()); err != nil || got.FoundOn != graph.None || got.DuplicateOf != graph.None {
		t.Errorf("an empty document comes back as %+v, %v", got, err)
	}
}

func TestRecordsKeepEveryField(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	var (
		re Refetch
		h  Host
		v  Visit
		cy CycleRecord
		pa PastCycles
		ro Robots
	)
	fill(reflect.ValueOf(&re).Elem(), r)
	fill(reflect.ValueOf(&h).Elem(), r)
	fill(reflect.ValueOf(&v).Elem(), r)
	fill(reflect.ValueOf(&cy).Elem(), r)
	fill(reflect.ValueOf(&pa).Elem(), r)
	fill(reflect.ValueOf(&ro).Elem(), r)
	pa.resume = 7
	if got, err := decodeRefetch(re.Page, refetchFields.Encode(&re)); err != nil || !reflect.DeepEqual(*got, re) {
		t.Errorf("refetch: %+v, %v, want %+v", got, err, re)
	}
	if got, err := decodeHost(h.Origin, hostFields.Encode(&h)); err != nil || !reflect.DeepEqual(*got, h) {
		t.Errorf("host: %+v, %v, want %+v", got, err, h)
	}
	if got, err := decodeVisit(v.Cycle, visitFields.Encode(&v)); err != nil || got != v {
		t.Errorf("visit: %+v, %v, want %+v", got, err, v)
	}
	if got, err := decodeCycle(cy.Site, cy.Cycle, cycleFields.Encode(&cy)); err != nil || *got != cy {
		t.Errorf("cycle: %+v, %v, want %+v", got, err, cy)
	}
	if got, err := decodePast(1, pastFields.Encode(&pa)); err != nil || *got != pa {
		t.Errorf("past cycles: %+v, %v, want %+v", got, err, pa)
	}
	if got, err := decodeRobots(ro.Origin, robotsFields.Encode(&ro)); err != nil || !reflect.DeepEqual(*got, ro) {
		t.Errorf("robots.txt: %+v, %v, want %+v", got, err, ro)
	}
	var c Counters
	for i := range c.State {
		c.State[i] = r.Int64()
	}
	for i := range c.Kind {
		c.Kind[i] = -r.Int64()
	}
	c.New, c.Gone, c.Fetches, c.Bytes, c.Errors, c.Distinct = 1, 2, 3, 4, 5, 6
	if got, err := decodeCounters(counterFields.Encode(&c)); err != nil || *got != c {
		t.Errorf("counters: %+v, %v, want %+v", got, err, c)
	}
}

// TestRefetchOfOldStores: fields that are no longer kept are passed over, and of most fetches the gap
// is not known.
func TestRefetchOfOldStores(t *testing.T) {
	want := Refetch{Page: 3, Order: 2, At: 5, Status: 200, Found: []graph.Node{7}, Led: []graph.Node{7}}
	b := refetchFields.Encode(&want)
	b = append(b, 12<<1, 1, 13<<1|1, 1, 7)
	got, err := decodeRefetch(3, b)
	if err != nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("refetch: %+v, %v, want %+v", got, err, want)
	}
}

// TestCheckRefetch: a fetch that names documents which are not there is reported and mended.
func TestCheckRefetch(t *testing.T) {
	db, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := &Site{Name: "a", FirstCycle: 1}
	d := &Doc{URL: "http://a/", State: Fetched, Kind: Page, FoundOn: graph.None, DuplicateOf: graph.None, StandIn: graph.None, MovedFrom: graph.None}
	if err := db.AddSite(s); err != nil {
		t.Fatal(err)
	}
	d.Site = s.ID
	if _, err := db.Add(d); err != nil {
		t.Fatal(err)
	}
	good := Refetch{Page: d.ID, Status: 200, Gap: 1, Found: []graph.Node{d.ID}, Led: []graph.Node{d.ID}}
	bad := good
	bad.Led = []graph.Node{d.ID, 77}
	for c, r := range []Refetch{good, bad} {
		if err := db.OpenCycle(&CycleRecord{Site: s.ID, Kind: Revisit}); err != nil {
			t.Fatal(err)
		}
		if err := db.PutRefetch(s.ID, Cycle(c+1), &r); err != nil {
			t.Fatal(err)
		}
	}
	var problems []string
	if n, err := db.Repair(func(p Problem) { problems = append(problems, p.Text) }); n != 1 || err != nil {
		t.Fatalf("Repair = %d, %v: %q", n, err, problems)
	}
	got, err := db.Refetch(d, 2)
	if err != nil || !reflect.DeepEqual(*got, good) {
		t.Errorf("after Repair: %+v, %v, want %+v", got, err, good)
	}
}

func TestLinksKeepEverything(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	for n := range 60 {
		links := make([]Link, n)
		for i := range links {
			links[i] = Link{To: graph.Node(r.Uint32N(1<<32 - 1)), Kind: LinkKind(r.IntN(int(numLinkKinds))), NoFollow: r.IntN(2) == 0, Off: r.IntN(2) == 0, Place: r.Uint32() >> (8 * r.IntN(5) % 32)}
			if i > 0 && r.IntN(2) == 0 {
				links[i].Place = links[i-1].Place
			}
		}
		got, err := decodeLinks(appendLinks(nil, links))
		if err != nil || !slices.Equal(got, links) {
			t.Fatalf("decodeLinks(appendLinks(%v)) = %v, %v", links, got, err)
		}
	}
}

// FuzzRecords feeds bytes that nobody wrote: an error is right, a panic is not, and what was
// read comes back the same when it is written again.
func FuzzRecords(f *testing.F) {
	d := &Doc{URL: "http://a/", State: Fetched, Kind: Page, Title: "t", FoundOn: 3, DuplicateOf: graph.None, StandIn: graph.None, MovedFrom: graph.None}
	f.Add(d.encode())
	f.Add(appendLinks(nil, []Link{{To: 3, Kind: ViaAnchor, Place: 9}, {To: 1}}))
	f.Add(refetchFields.Encode(&Refetch{Gained: []graph.Node{1, 2}, Order: 2}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if d, err := decodeDoc(1, b); err == nil {
			again, err := decodeDoc(1, d.encode())
			if err != nil || !reflect.DeepEqual(again, d) {
				t.Errorf("document %+v comes back as %+v, %v", d, again, err)
			}
		}
		if l, err := decodeLinks(b); err == nil {
			again, err := decodeLinks(appendLinks(nil, l))
			if err != nil || !slices.Equal(again, l) {
				t.Errorf("links %v come back as %v, %v", l, again, err)
			}
		}
		decodeRefetch(1, b)
		decodeHost("x", b)
		decodeVisit(1, b)
		decodeCycle(1, 1, b)
		decodePast(1, b)
		decodeRobots("x", b)
		decodePack(b)
		decodeCounters(b)
	})
}
