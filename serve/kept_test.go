package serve

import (
	"errors"
	"testing"

	"forage/store"
)

// TestKept: what was worked out of a site stands until it has another cycle, or that one has ended, and for no more sites
// than are kept.
func TestKept(t *testing.T) {
	var k kept[int]
	made := 0
	get := func(site store.Site, want int) {
		t.Helper()
		if got, err := k.of(&site, func() (int, error) { made++; return made, nil }); got != want || err != nil {
			t.Errorf("site %d after cycle %d: %d, %v, want %d", site.ID, site.LastCycle, got, err, want)
		}
	}
	get(store.Site{ID: 1, LastCycle: 3, CrawledAt: 5}, 1)
	get(store.Site{ID: 1, LastCycle: 3, CrawledAt: 5}, 1)
	get(store.Site{ID: 2, LastCycle: 3, CrawledAt: 5}, 2)
	get(store.Site{ID: 1, LastCycle: 4, CrawledAt: 5}, 3)
	get(store.Site{ID: 1, LastCycle: 4, CrawledAt: 6}, 4)
	get(store.Site{ID: 1, LastCycle: 4, CrawledAt: 6}, 4)
	if _, err := k.of(&store.Site{ID: 3}, func() (int, error) { return 0, errors.New("broken") }); err == nil {
		t.Error("an error is kept back")
	}
	get(store.Site{ID: 3}, 5)
	for id := range store.SiteID(2 * maxKept) {
		get(store.Site{ID: 10 + id}, 6+int(id))
	}
	if len(k.made) != maxKept {
		t.Errorf("%d are kept, want %d", len(k.made), maxKept)
	}
}
