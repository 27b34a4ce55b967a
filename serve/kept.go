package serve

import (
	"sync"

	"forage/store"
)

// A kept is what was worked out of sites, each until it has another cycle, of as many as maxKept.
type kept[T any] struct {
	mu   sync.Mutex
	made map[store.SiteID]keptOf[T]
}

type keptOf[T any] struct {
	cycle store.Cycle
	at    store.Time
	what  T
}

// maxKept bounds of how many sites something is kept.
const maxKept = 64

// of returns what is kept of a site, and makes it where nothing is, or has gone by since. Who gets it does not change it.
func (k *kept[T]) of(site *store.Site, work func() (T, error)) (T, error) {
	k.mu.Lock()
	have, ok := k.made[site.ID]
	k.mu.Unlock()
	if ok && have.cycle == site.LastCycle && have.at == site.CrawledAt {
		return have.what, nil
	}
	fresh, err := work()
	if err != nil {
		return fresh, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made == nil {
		k.made = map[store.SiteID]keptOf[T]{}
	}
	if _, ok := k.made[site.ID]; !ok && len(k.made) >= maxKept {
		for id := range k.made { // any of them
			delete(k.made, id)
			break
		}
	}
	k.made[site.ID] = keptOf[T]{site.LastCycle, site.CrawledAt, fresh}
	return fresh, nil
}
