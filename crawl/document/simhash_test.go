package document

import (
	"fmt"
	"math/bits"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"forage/fetch"
	"forage/internal/software"
	"forage/simhash"
)

// ask returns what a site answers for a path.
func ask(t testing.TB, s *software.Site, path string) *fetch.Outcome {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	if w.Code != 200 {
		t.Fatalf("%s: status %d", path, w.Code)
	}
	return &fetch.Outcome{URL: "http://example.com" + path, Kind: fetch.HTML, ContentType: w.Header().Get("Content-Type"), Body: w.Body.Bytes()}
}

// A spread is how many pairs differ in how many bits.
type spread [65]int

func (s *spread) String() string {
	var b strings.Builder
	for d, n := range s {
		if n > 0 {
			fmt.Fprintf(&b, " %d:%d", d, n)
		}
	}
	return strings.TrimSpace(b.String())
}

// near is how many pairs are, and of how many.
func (s *spread) near() (near, all int) {
	for d, n := range s {
		if all += n; d <= simhash.Distance {
			near += n
		}
	}
	return near, all
}

// TestNearDuplicates goes by sites of common software: no two of their content pages say nearly the same, but most pages of a blog
// at which one is to answer to a comment say nearly what the page itself does.
func TestNearDuplicates(t *testing.T) {
	t.Parallel()
	for _, k := range software.Kinds {
		if k.Full.Pages < 0 {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			s, err := software.New(k.Name, software.Config{})
			if err != nil {
				t.Fatal(err)
			}
			var r Reader
			var strange, same spread
			var prints []uint64
			short := 0
			for _, path := range s.Content(software.Start) {
				o := ask(t, s, path)
				c := r.Read(o, Options{URL: o.URL, Simhash: true})
				if c.Simhash == 0 {
					short++
					continue
				}
				for _, print := range prints {
					strange[bits.OnesCount64(c.Simhash^print)]++
				}
				prints = append(prints, c.Simhash)
				answer := slices.IndexFunc(c.Links, func(l Link) bool { return strings.Contains(l.URL, "replytocom=") })
				if len(prints)%3 == 0 && answer >= 0 {
					o := ask(t, s, strings.TrimPrefix(c.Links[answer].URL, "http://example.com"))
					same[bits.OnesCount64(c.Simhash^r.Read(o, Options{URL: o.URL, Simhash: true}).Simhash)]++
				}
			}
			t.Logf("%d content pages, %d too short; bits that two of them differ in, and how many pairs: %s", len(prints), short, &strange)
			if near, _ := strange.near(); near > 0 {
				t.Errorf("%d pairs of content pages are near", near)
			}
			if near, all := same.near(); all > 0 {
				t.Logf("of %d pages to answer at, %d are near the page: %s", all, near, &same)
				if near*3 < all*2 {
					t.Errorf("%d of %d pages to answer at are near the page", near, all)
				}
			} else if strings.HasPrefix(k.Name, "wordpress") {
				t.Error("no page to answer at")
			}
		})
	}
}

// BenchmarkRead reads the content pages of a site, one after another.
func BenchmarkRead(b *testing.B) {
	for _, kind := range []string{"wordpress", "docs", "shop"} {
		s, err := software.New(kind, software.Config{})
		if err != nil {
			b.Fatal(err)
		}
		var pages []*fetch.Outcome
		size := 0
		for _, path := range s.Content(software.Start) {
			pages = append(pages, ask(b, s, path))
			size += len(pages[len(pages)-1].Body)
		}
		for _, sum := range []bool{false, true} {
			b.Run(fmt.Sprintf("site=%s/kB=%d/simhash=%t", kind, size/len(pages)/1000, sum), func(b *testing.B) {
				var r Reader
				for i := 0; b.Loop(); i++ {
					o := pages[i%len(pages)]
					r.Read(o, Options{URL: o.URL, Simhash: sum})
				}
			})
		}
	}
}
