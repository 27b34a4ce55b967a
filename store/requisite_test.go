package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"forage/graph"
)

// waiting is what waits at a host, as text.
func waiting(t *testing.T, v *View, site SiteID, host string, after *Requisite) (all []string) {
	t.Helper()
	if err := v.Requisites(site, host, after, func(r *Requisite) bool {
		all = append(all, fmt.Sprint(r.Page, " ", r.URL, " ", r.Sheet, " ", r.Steps, " ", r.Tries))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRequisites(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	one, two := &Site{Name: "a.example"}, &Site{Name: "b.example"}
	for _, s := range []*Site{one, two} {
		if err := db.AddSite(s); err != nil {
			t.Fatal(err)
		}
	}
	sheet := &Requisite{URL: "http://a.example/s.css", Page: 3, Sheet: true, Steps: "E"}
	font := &Requisite{URL: "http://cdn.example/f.woff", Page: 2, Steps: "EE"}
	image := &Requisite{URL: "http://a.example/i.png", Page: 1, Steps: "ER"}
	for _, r := range []*Requisite{sheet, font, image} {
		for want := range 2 { // the second time it is known, in the window
			if added, err := db.AddRequisite(one.ID, r); err != nil || added != (want == 0) {
				t.Fatalf("%s: added %v, %v", r.URL, added, err)
			}
		}
	}
	if added, err := db.AddRequisite(two.ID, &Requisite{URL: font.URL, Page: 9, Steps: "E"}); err != nil || added {
		t.Errorf("another site may want it again: %v, %v", added, err)
	}
	for _, bad := range []*Requisite{{URL: "no URL", Steps: "E"}, {URL: "http://a.example/x"}} {
		if _, err := db.AddRequisite(one.ID, bad); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	if err := db.CountRequisites(one.ID, 2, 700); err != nil {
		t.Fatal(err)
	}
	if err := db.Commit(); err != nil {
		t.Fatal(err)
	}
	db.wanted = nil // what is known is on the disk
	if added, err := db.AddRequisite(one.ID, sheet); err != nil || added {
		t.Errorf("added again: %v, %v", added, err)
	}
	if got, want := waiting(t, &db.View, one.ID, "a.example", nil), []string{"1 http://a.example/i.png false ER 0", "3 http://a.example/s.css true E 0"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := waiting(t, &db.View, one.ID, "a.example", image), []string{"3 http://a.example/s.css true E 0"}; !slices.Equal(got, want) {
		t.Errorf("behind the first %q, want %q", got, want)
	}
	hosts := map[string]int{}
	if err := db.RequisiteHosts(one.ID, func(host string, n int) bool { hosts[host] = n; return true }); err != nil || !maps.Equal(hosts, map[string]int{"a.example": 2, "cdn.example": 1}) {
		t.Errorf("%v, %v", hosts, err)
	}
	n := 0
	if err := db.RequisiteHosts(one.ID, func(string, int) bool { n++; return false }); err != nil || n != 1 {
		t.Errorf("%d hosts, %v", n, err)
	}
	sheet.Tries = 2
	for _, err := range []error{db.PutRequisite(one.ID, sheet), db.DropRequisite(one.ID, image), db.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if db, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if got, want := waiting(t, &db.View, one.ID, "a.example", nil), []string{"3 http://a.example/s.css true E 2"}; !slices.Equal(got, want) {
		t.Errorf("after the next start %q, want %q", got, want)
	}
	if added, err := db.AddRequisite(one.ID, image); err != nil || added {
		t.Errorf("what is done is wanted again: %v, %v", added, err)
	}
	if c, err := db.Counters(one.ID); err != nil || c.Requisites != 2 || c.RequisiteBytes != 700 || c.Bytes != 700 || c.Fetches != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	if err := db.Check(func(p Problem) { t.Error(p.Text) }); err != nil {
		t.Error(err)
	}
}

// What is wrong in the tables of requisites is found, and dropped by a repair.
func TestRequisitesAreChecked(t *testing.T) {
	db, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := &Site{Name: "a.example"}
	good := &Requisite{URL: "http://a.example/a", Page: graph.Node(1), Steps: "E"}
	if err := db.AddSite(s); err != nil {
		t.Fatal(err)
	}
	if _, err := db.AddRequisite(s.ID, good); err != nil {
		t.Fatal(err)
	}
	for k, val := range map[string][]byte{
		string(requisiteKey(s.ID, &Requisite{URL: "http://a.example/b"})): requisiteFields.Encode(&Requisite{URL: "http://a.example/c", Steps: "E"}),
		string(requisiteKey(s.ID, &Requisite{URL: "http://a.example/d"})): requisiteFields.Encode(&Requisite{URL: "http://a.example/d"}),
		string(requisiteKey(s.ID, &Requisite{URL: "http://a.example/e"})): {0xff},
		string(requisiteKey(99, good)):                                    requisiteFields.Encode(good),
		string(key(tableRequisite, 1)):                                    nil,
		string(key(tableKnown, 1)):                                        nil,
		string(knownKey(RequisiteHash{})):                                 {1},
	} {
		if err := db.set([]byte(k), val); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Sync(); err != nil {
		t.Fatal(err)
	}
	var found []string
	if err := db.Check(func(p Problem) { found = append(found, p.Text) }); err != nil || len(found) != 7 {
		t.Errorf("%d problems: %s, %v", len(found), strings.Join(found, "\n"), err)
	}
	if n, err := db.Repair(func(Problem) {}); err != nil || n != 7 {
		t.Errorf("repaired %d, %v", n, err)
	}
	if err := db.Check(func(p Problem) { t.Errorf("after the repair: %s", p.Text) }); err != nil {
		t.Error(err)
	}
	if got := waiting(t, &db.View, s.ID, "a.example", nil); len(got) != 1 {
		t.Errorf("after the repair %q wait", got)
	}
}
