package node

import (
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A lag remembers how long the latest records took from the log into the store.
type lag struct {
	mu   sync.Mutex
	last [1000]time.Duration
	n    int // ever
}

// note notes records that have just been committed. What waited while nobody had the partition counts, too.
func (l *lag) note(records []*kgo.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range records {
		l.last[l.n%len(l.last)] = max(0, time.Since(r.Timestamp))
		l.n++
	}
}

// p99 returns what 99 in 100 of the latest thousand took at most; 0: there were none.
func (l *lag) p99() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(l.n, len(l.last))
	if n == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(l.last[:n]))[(n-1)*99/100]
}
