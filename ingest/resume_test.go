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
	"forage/snap"
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
