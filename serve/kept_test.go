package serve

import (
	"errors"
	"testing"
	"testing/synctest"

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

// TestKeptOnce: what many ask for at the same time is worked out once, and again after an error or a panic, which hold nobody up.
func TestKeptOnce(t *testing.T) {
	broken := errors.New("broken")
	for name, work := range map[string]func() (int, error){
		"value": func() (int, error) { return 7, nil },
		"error": func() (int, error) { return 0, broken },
		"panic": func() (int, error) { panic(broken) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var k kept[int]
				site := &store.Site{ID: 1}
				times, hold := 0, make(chan struct{})
				for range 5 {
					go func() {
						defer func() { recover() }()
						got, err := k.of(site, func() (int, error) {
							times++
							<-hold
							return work()
						})
						if name == "value" && (got != 7 || err != nil) || name != "value" && err == nil {
							t.Errorf("%d, %v", got, err)
						}
					}()
				}
				synctest.Wait() // all of them wait: one for hold, the others for that one
				close(hold)
				synctest.Wait()
				if times != 1 {
					t.Errorf("it was worked out %d times", times)
				}
				got, err := k.of(site, func() (int, error) { return 8, nil })
				if want := map[bool]int{true: 7, false: 8}[name == "value"]; got != want || err != nil {
					t.Errorf("asked again: %d, %v, want %d", got, err, want)
				}
			})
		})
	}
}
