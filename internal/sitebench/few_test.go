package main

import (
	"context"
	"sync"
	"testing"

	"forage/internal/software"
)

// behind are the kinds of which the default policy fetches fewer content pages than the order of discovery, how many at most, and why.
var behind = map[string]struct {
	by  int
	why string
}{
	"blog": {3, "its sitemap names every post at once, which only shows when the tags, the archive and their later pages were tried, one of each"},
}

// TestFew: of a site of each kind a first visit of 60 fetches by the default policy fetches at least as many content pages as one in the
// order of discovery, a third more in all, and knows of as many within 5%. The prices of the policy were chosen on another seed.
func TestFew(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	var mu sync.Mutex
	var sum, order few
	t.Run("kinds", func(t *testing.T) {
		for _, k := range software.Kinds {
			if !taken(k.Name) {
				continue
			}
			t.Run(k.Name, func(t *testing.T) {
				t.Parallel()
				visit := func(policy string) few {
					r, err := visitFew(context.Background(), k.Name, software.Config{Seed: 2}, policy, 60)
					if err != nil {
						t.Fatal(err)
					}
					return r
				}
				got, bfs := visit(""), visit("bfs")
				b := behind[k.Name]
				switch {
				case got.fetched < bfs.fetched-b.by:
					t.Errorf("%d content pages fetched, in the order of discovery %d", got.fetched, bfs.fetched)
				case b.by > 0 && got.fetched >= bfs.fetched:
					t.Errorf("%d content pages fetched, in the order of discovery %d, so that no reason is needed any more: %s", got.fetched, bfs.fetched, b.why)
				}
				mu.Lock()
				defer mu.Unlock()
				sum.fetched, sum.known = sum.fetched+got.fetched, sum.known+got.known
				order.fetched, order.known = order.fetched+bfs.fetched, order.known+bfs.known
			})
		}
	})
	if 3*sum.fetched < 4*order.fetched || 100*sum.known < 95*order.known {
		t.Errorf("%+v in all, in the order of discovery %+v", sum, order)
	}
}
