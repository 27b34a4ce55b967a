package ingest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forage/crawl"
	"forage/crawl/scope"
	"forage/internal/race"
	"forage/snap"
	"forage/store"
)

// A closer is captures that are closed.
type closer interface {
	crawl.Captures
	Close()
}

// A cutOff ends the import that reads it after so many captures.
type cutOff struct {
	closer
	left   int
	cancel func()
}

func (c *cutOff) Next() (*crawl.Capture, error) {
	if c.left--; c.left < 0 {
		c.cancel()
	}
	return c.closer.Next()
}

// TestInterruptedCaptures: an import of an archive, or of a history, that is interrupted goes on in the cycle that it was in, and comes to what one
// comes to that is not.
func TestInterruptedCaptures(t *testing.T) {
	h := snap.Blog(rand.New(rand.NewPCG(7, 8)), 4)
	h.Base = "https://x.test/"
	history := saved(t, h)
	var archive strings.Builder
	for round := range 3 {
		for i := range 60 {
			at := time.Unix(1_500_000_000+int64(round)*2_000_000+int64(i)*60, 0).UTC().Format(time.RFC3339)
			links := []string{"/", fmt.Sprintf("/%d", i+1)}
			if i == 0 {
				links = append(links, fmt.Sprintf("/round-%d", round))
			}
			url := fmt.Sprintf("https://y.test/%d", i)
			if i == 0 {
				url = "https://y.test/"
			}
			archive.WriteString(record("response", url, at, "", page(fmt.Sprint("page ", i, " ", round/2), links...)))
		}
	}
	warcs := written(t, "x.warc", archive.String())
	for kind, open := range map[string]func(*scope.Directory, Options) (closer, error){
		"snap": func(rules *scope.Directory, opt Options) (closer, error) {
			return OpenHistories(t.Context(), []string{history}, rules, opt)
		},
		"warc": func(rules *scope.Directory, opt Options) (closer, error) {
			return OpenArchive(t.Context(), []string{warcs}, rules, opt)
		},
	} {
		t.Run(kind, func(t *testing.T) {
			// take imports until so many captures were read, and reports whether that was the end.
			take := func(dir string, most int) bool {
				c := openCrawl(t, config(dir))
				defer closed(t, c)
				rules, err := scope.NewDirectory(c.View(), hosts)
				if err != nil {
					t.Fatal(err)
				}
				from, err := open(rules, Options{Scratch: filepath.Join(dir, "scratch")})
				if err != nil {
					t.Fatal(err)
				}
				defer from.Close()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r, err := c.Import(ctx, &cutOff{from, most, cancel}, crawl.Options{})
				if err != nil {
					t.Fatal(err)
				}
				return !r.Interrupted
			}
			once, often := t.TempDir(), t.TempDir()
			if !take(once, 1<<30) {
				t.Fatal("interrupted")
			}
			n := 0
			for most := 40; !take(often, most); most += 90 {
				n++
			}
			if n < 2 {
				t.Errorf("interrupted %d times", n)
			}
			if a, b := told(t, often), told(t, once); a != b {
				t.Errorf("what was interrupted differs:\n%s", differences(a, b))
			}
		})
	}
}

// TestKilledImport: an import that ends at any of its commits, as a kill ends it, goes on, and comes to what one comes to that does not.
func TestKilledImport(t *testing.T) {
	race.Skip(t)
	h := snap.Blog(rand.New(rand.NewPCG(7, 8)), 2)
	h.Base = "https://x.test/"
	history := saved(t, h)
	var archive strings.Builder
	for round := range 3 {
		for i := range 4 {
			at := time.Unix(1_500_000_000+int64(round)*2_000_000+int64(i)*60, 0).UTC().Format(time.RFC3339)
			archive.WriteString(record("response", fmt.Sprintf("https://y.test/%d", i), at, "", page(fmt.Sprint("page ", i, " ", round/2), "/", fmt.Sprintf("/%d", i+1))))
		}
	}
	warcs := written(t, "x.warc", archive.String())
	for kind, take := range map[string]func(dir string, watch func(*store.DB)){
		"snap": func(dir string, watch func(*store.DB)) { importHistoryWatched(t, dir, watch, history) },
		"warc": func(dir string, watch func(*store.DB)) { importWARCWatched(t, dir, watch, warcs) },
	} {
		t.Run(kind, func(t *testing.T) {
			once := t.TempDir()
			var cut []string
			take(once, func(db *store.DB) {
				db.KeepArchive(store.Texts, func() ([]byte, error) { // asked before each commit
					cut = append(cut, filepath.Join(t.TempDir(), "store"))
					_, err := db.Backup(t.Context(), cut[len(cut)-1])
					return nil, err
				}, func() {})
			})
			want, cycles := told(t, once), lastCycle(t, once)
			if cycles < 3 || len(cut) < 2*cycles {
				t.Fatalf("%d cycles, %d commits", cycles, len(cut))
			}
			for i, dir := range cut {
				take(dir, func(*store.DB) {})
				if got := told(t, dir); got != want {
					t.Fatalf("what ended before commit %d of %d differs:\n%s", i, len(cut), differences(got, want))
				}
				if n := lastCycle(t, dir); n != cycles {
					t.Fatalf("what ended before commit %d of %d has %d cycles, want %d", i, len(cut), n, cycles)
				}
			}
		})
	}
}

// lastCycle is how many cycles a store has had.
func lastCycle(t *testing.T, dir string) int {
	t.Helper()
	db, err := store.Open(dir, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	last, err := db.LastCycle()
	if err != nil {
		t.Fatal(err)
	}
	return int(last)
}
