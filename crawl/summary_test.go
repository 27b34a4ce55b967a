package crawl

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"

	"forage/graph"
	"forage/internal/race"
	"forage/internal/software"
	"forage/store"
)

// everything is what a cycle has learned, and its summary, but for what keeps what pages said first: the
// bounds of the site, and what speaks against parameters.
func (c *cycle) everything(s *summary) []string {
	w := &c.worth
	w.told = 0 // what is told no more does not count where it is worked out anew
	watched := slices.DeleteFunc(s.watched, func(id graph.Node) bool {
		d, err := c.crawl().doc(id)
		return err != nil || !c.watches(d, s.since)
	})
	all := append(w.known(), fmt.Sprint(watched), fmt.Sprint(s.waiting), fmt.Sprint(s.moved), fmt.Sprint(s.listed, s.vain))
	params := w.params // held is in the order in which documents were fetched where that was in this cycle
	names := reflect.ValueOf(&params).Elem().FieldByName("names")
	for _, name := range slices.Sorted(maps.Keys(toMap(names))) {
		all = append(all, name+" "+against.ReplaceAllString(toMap(names)[name], ""))
	}
	return append(all, fmt.Sprint(w.out), fmt.Sprint(w.hashes), fmt.Sprintf("%+v", c.bounds.names))
}

var against = regexp.MustCompile(` other:\d+`)

// toMap returns what a map of names to pointers holds, as text.
func toMap(v reflect.Value) map[string]string {
	m := map[string]string{}
	for _, k := range v.MapKeys() {
		m[k.String()] = fmt.Sprintf("%+v", v.MapIndex(k).Elem())
	}
	return m
}

// asOf returns a budgeted cycle of the site that would begin now, and has learned nothing. It writes no
// summary.
func (c *Crawl) asOf(t *testing.T, id store.SiteID) *cycle {
	t.Helper()
	rec, err := c.db.Site(id)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.site(rec)
	if err != nil {
		t.Fatal(err)
	}
	cy := &cycle{site: s, rec: &store.CycleRecord{Site: id, Kind: store.Revisit, Cycle: rec.LastCycle + 1}, resumed: true}
	cy.unlearn()
	return cy
}

// TestSummary has what a cycle goes by brought up to date from the store, and worked out anew, after cycles
// of sites that change, of which every other is interrupted: both are the same. How often it was worked out
// anew is counted, since it is to be kept. It takes three kinds of sites, with FORAGE_SITES=all six. At sites where documents are left out, put in line and left out again,
// what is worked out anew is not quite what it was, and none of these.
func TestSummary(t *testing.T) {
	race.Skip(t)
	kinds := []string{"wordpress", "mantis", "trac"}
	if os.Getenv("FORAGE_SITES") == "all" {
		kinds = append(kinds, "mediawiki", "cgit", "dokuwiki")
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			site, err := software.New(kind, software.Config{Pages: 60, Weeks: 6, Published: 3, Deleted: 1, Renamed: 1, Edited: 3, Seed: 5})
			if err != nil {
				t.Fatal(err)
			}
			w := newWeb(t)
			w.other = site.ServeHTTP
			dir, at, kept := t.TempDir(), software.Start, 0
			visit := func(do func(c *Crawl)) {
				t.Helper()
				site.At(at)
				cfg := local(dir)
				cfg.At = at
				c, err := Open(cfg)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				do(c)
			}
			compare := func(c *Crawl) {
				t.Helper()
				old, _, err := c.db.Summary(1)
				if err != nil {
					t.Fatal(err)
				}
				cy := c.asOf(t, 1)
				since, err := cy.sinceLately()
				if err != nil {
					t.Fatal(err)
				}
				s, err := cy.recall(since)
				if err != nil {
					t.Fatal(err)
				}
				if old > 0 && !s.anew {
					kept++
				}
				anew := c.asOf(t, 1)
				fresh := &summary{since: since}
				if err := c.db.SiteDocs(1, func(d *store.Doc) bool { anew.learn(d); fresh.know(anew, d, 1); return true }); err != nil {
					t.Fatal(err)
				}
				anew.learned()
				if cy.worth.told < anew.worth.told {
					t.Errorf("%s: %d were told, and %d anew", at.Format(time.DateOnly), cy.worth.told, anew.worth.told)
				}
				wrong := 0
				want := anew.everything(fresh)
				for i, is := range cy.everything(s) {
					if i >= len(want) || is != want[i] {
						if wrong++; wrong <= 3 {
							t.Errorf("%s: kept\n%.300s\nand anew\n%.300s", at.Format(time.DateOnly), is, want[min(i, len(want)-1)])
						}
					}
				}
				for _, s := range c.sites {
					c.release(s)
				}
			}
			visit(func(c *Crawl) { w.crawlWith(t, c, store.Rules{}, Options{MaxTotal: 300}) })
			for week := range site.Weeks() {
				at = at.Add(software.Week)
				p := budgeted(10)
				p.MaxNew, p.CheckGone = 1000, .25
				if week%2 == 1 {
					visit(func(c *Crawl) {
						if _, err := c.Revisit(t.Context(), p, Options{MaxTotal: 6}); err != nil {
							t.Fatal(err)
						}
						compare(c)
					})
				}
				visit(func(c *Crawl) {
					w.revisit(t, c, p)
					compare(c)
				})
			}
			t.Logf("%d of %d were kept", kept, site.Weeks()*3/2)
			if kept < site.Weeks()*2/3 { // in which order answers come makes some difference
				t.Errorf("only %d of %d were kept", kept, site.Weeks()*3/2)
			}
		})
	}
}

// TestSummaryLayout: what is appended is read again, and nothing else is taken for it.
func TestSummaryLayout(t *testing.T) {
	w := newWeb(t)
	w.other = func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, "<title>%s</title><a href=/a>a</a> <a href='/b?x=1'>b</a>", r.URL)
	}
	c := openSound(t, local(t.TempDir()))
	w.crawl(t, c, store.Rules{})
	cy := c.asOf(t, 1)
	s, err := cy.recall(0)
	if err != nil {
		t.Fatal(err)
	}
	s.watched, s.waiting, s.moved, s.listed, s.vain = []graph.Node{1, 7}, []graph.Node{2, math.MaxUint32 - 1}, map[graph.Node]int{3: 1, 9: 2}, 4, 5
	k := &cy.worth
	k.texts, k.hashes = map[uint32]struct{}{5: {}, 6: {}}, map[uint64]struct{}{7: {}}
	k.leave("/x/", 1)
	k.leave("/x/", 2)
	k.nofollow = map[graph.Node]bool{2: true}
	cy.bounds.kinds = map[string]*kind{"/#": {seen: map[uint64]bool{8: true}, empty: 3, alone: 4}}
	cy.bounds.seen, cy.bounds.most = 1, 4
	k.params.Earlier("/b?x=1", 77, nil)
	b := s.append(cy)
	read := func(b []byte) (*cycle, *summary, error) {
		other, s := c.asOf(t, 1), new(summary)
		return other, s, s.set(other, b)
	}
	other, again, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(again.append(other), b) {
		t.Error("what was read is not what was appended")
	}
	for i := range b {
		bad := slices.Clone(b)
		bad[i] ^= 1
		if _, _, err := read(bad); err == nil {
			t.Fatalf("byte %d of %d may be another", i, len(b))
		}
		if _, _, err := read(b[:i]); err == nil {
			t.Fatalf("%d of %d bytes are enough", i, len(b))
		}
	}
	other = c.asOf(t, 1)
	other.site.SameParams = []string{"sid"}
	if err := new(summary).set(other, b); err == nil {
		t.Error("it is taken for one with other parameters")
	}
	other.site.SameParams = nil
}
