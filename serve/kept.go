package serve

import (
	"errors"
	"sync"

	"forage/store"
)

// A kept is what was worked out of sites, each until it has another cycle, of as many as maxKept. Whoever asks for what
// is being worked out waits for it.
type kept[T any] struct {
	mu   sync.Mutex
	made map[store.SiteID]*keptOf[T]
}

// A keptOf is of one state of a site. what and err are set when done is closed.
type keptOf[T any] struct {
	cycle store.Cycle
	at    store.Time
	done  chan struct{}
	what  T
	err   error // nothing is kept then
}

// maxKept bounds of how many sites something is kept.
const maxKept = 64

// of returns what is kept of a site, and makes it where nothing is, or has gone by since: once, however many ask for it
// at the same time. All of them get the error of work, and the next one to ask has it done again. Who gets it does not change it.
func (k *kept[T]) of(site *store.Site, work func() (T, error)) (T, error) {
	k.mu.Lock()
	have := k.made[site.ID]
	if have != nil && have.cycle == site.LastCycle && have.at == site.CrawledAt {
		k.mu.Unlock()
		<-have.done
		return have.what, have.err
	}
	if k.made == nil {
		k.made = map[store.SiteID]*keptOf[T]{}
	}
	if have == nil && len(k.made) >= maxKept {
		for id := range k.made { // any of them
			delete(k.made, id)
			break
		}
	}
	fresh := &keptOf[T]{cycle: site.LastCycle, at: site.CrawledAt, done: make(chan struct{}), err: errUnmade}
	k.made[site.ID] = fresh
	k.mu.Unlock()
	defer func() { // where work panics too: nobody is to wait for good
		if fresh.err != nil {
			k.mu.Lock()
			if k.made[site.ID] == fresh {
				delete(k.made, site.ID)
			}
			k.mu.Unlock()
		}
		close(fresh.done)
	}()
	fresh.what, fresh.err = work()
	return fresh.what, fresh.err
}

// errUnmade is the error of what was never worked out.
var errUnmade = errors.New("what is told of a site was not worked out")
