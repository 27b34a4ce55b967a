package crawl

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"forage/crawl/scope"
	"forage/explore/yield"
	"forage/internal/race"
	"forage/internal/software"
	"forage/store"
)

// known is what is known of the groups of a site's URLs, in their order. What is under way is left
// out: whoever goes on begins with nothing.
func (w *worth) known() (groups []string) {
	site := reflect.ValueOf(&w.site).Elem()
	all := site.FieldByName("groups")
	for i := range all.Len() {
		groups = append(groups, underWay.ReplaceAllString(fmt.Sprintf("%+v", all.Index(i)), ""))
	}
	for _, n := range w.left {
		groups = append(groups, fmt.Sprintf("%+v", *n))
	}
	slices.Sort(groups[all.Len():])
	copies := reflect.ValueOf(&w.copies).Elem().FieldByName("routes")
	for _, template := range copies.MapKeys() {
		groups = append(groups, fmt.Sprintf("%s %+v", template, copies.MapIndex(template).Elem()))
	}
	slices.Sort(groups[all.Len()+len(w.left):])
	return append(groups, fmt.Sprint(site.FieldByName("once")), fmt.Sprint(w.told, w.unlisted, w.nofollow))
}

var underWay = regexp.MustCompile(` out:\d+`)

// A reopened compares, at the end of each cycle of a first visit, what was learned with what is
// learned anew from the store.
type reopened struct {
	visit
	t        *testing.T
	cycle    *cycle
	compared int
}

func (v *reopened) conclude(counts *store.Counters, whole bool) {
	v.visit.conclude(counts, whole)
	v.compared++
	c := *v.cycle
	c.crawl().save()
	c.worth = worth{}
	if err := c.learnAll(func(*store.Doc) {}); err != nil {
		v.t.Error(err)
	}
	live, anew := v.cycle.worth.known(), c.worth.known()
	if len(live) != len(anew) {
		v.t.Errorf("%d groups, %d learned anew", len(live), len(anew))
		return
	}
	wrong := 0
	for i, is := range anew {
		if is != live[i] {
			if wrong++; wrong <= 3 {
				v.t.Errorf("learned anew\n%.400s\nand it was\n%.400s", is, live[i])
			}
		}
	}
	if wrong > 0 {
		v.t.Errorf("%d of %d groups differ", wrong, len(live))
	}
}

// TestLearnedAnew: what is known of the yield of a site's URLs is the same once it is learned anew from
// the store, wherever the visit was interrupted, and however often. Each kind of site is cut at one of three places, with
// FORAGE_SITES=all at each.
func TestLearnedAnew(t *testing.T) {
	race.Skip(t)
	t.Parallel()
	for i, kind := range []string{"wordpress", "mediawiki", "shop", "shop-visit", "dokuwiki", "cgit", "docs"} {
		for k, cut := range []int64{30, 170, 700} {
			if i%3 != k && os.Getenv("FORAGE_SITES") != "all" {
				continue
			}
			t.Run(fmt.Sprint(kind, " cut=", cut), func(t *testing.T) {
				t.Parallel()
				site, err := software.New(kind, software.Config{Pages: 30, Seed: uint64(cut)})
				if err != nil {
					t.Fatal(err)
				}
				c := openLoopback(t, 4)
				v := &reopened{t: t}
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					done := make(chan bool)
					c.loop.do(func() {
						defer close(done)
						if s := c.sites[1]; s != nil && s.cycle != v.cycle {
							v.cycle, v.visit = s.cycle, s.cycle.visit
							s.cycle.visit = v
						}
					})
					<-done
					site.ServeHTTP(w, r)
				}))
				t.Cleanup(srv.Close)
				for range 3 {
					if _, err := c.Run(t.Context(), []scope.Seed{{URL: srv.URL + "/"}}, Options{MaxTotal: cut}); err != nil {
						t.Fatal(err)
					}
				}
				if v.compared == 0 {
					t.Error("nothing was compared")
				}
			})
		}
	}
}

// TestPast compares the order in which events are told with that of a sorted list of those that are known,
// with URLs of all lengths.
func TestPast(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var p past
	var want []event
	for step := range 5000 {
		if r.IntN(5) < 3 {
			long := []int{5, 50, 2000, maxURL - 1, maxURL, maxURL + 1, 2 * pieceSize}[min(6, r.IntN(7)*r.IntN(7)*r.IntN(7)/30)]
			e := event{at: uint32(step + r.IntN(500)), url: strings.Repeat("x", r.IntN(long+1)), left: r.IntN(2) == 0, o: yield.Outcome(r.IntN(8))}
			want = append(want, e)
			p.add(e)
			continue
		}
		slices.SortStableFunc(want, func(a, b event) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.url, b.url), cmp.Compare(a.o, b.o))
		})
		n := uint32(step + r.IntN(100))
		e, ok := p.next(n)
		if ok != (len(want) > 0 && want[0].at <= n) {
			t.Fatalf("step %d: an event is there: %t", step, ok)
		}
		if ok {
			if is := want[0]; e.at != is.at || e.url != is.url || e.o != is.o {
				t.Fatalf("step %d: event at %d of %d bytes, want that at %d of %d", step, e.at, len(e.url), is.at, len(is.url))
			}
			want = want[1:]
		}
	}
	for _, in := range p.pieces {
		if in.uses == 0 && in.b == nil && len(p.pieces) > len(want)+1 {
			t.Fatal("pieces are kept that nothing is in")
		}
	}
}
