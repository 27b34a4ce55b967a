// Package lease decides when a process may contact the hosts of a partition. It is pure: it knows numbers and times, and neither a
// clock nor a network.
//
// Each partition has one owner at a time, by a lease that a group confirms (package group; a broker of Kafka's protocol keeps it).
// The group numbers its generations. In each it gives every partition to one member at most, and a member hears from it
// in two ways: it is given partitions in a new generation (Joined), or its heartbeat is answered in the one that it knows (Confirmed).
//
// Who has claimed a partition, one after another, stands in a place where all see it (package checkpoint): each claim is of the next epoch,
// and succeeds for one process alone; whoever has claimed it writes there, too, that he has ended.
//
// No two processes contact the hosts of a partition within a delay of each other, whatever dies, is stopped for how long,
// or is late, by these rules:
//
//   - who is given a partition looks which epoch is the latest (Saw), and contacts nobody before it is ready: when the lease of whoever may have it,
//     the longest request and the delay are over, from then on. Or, where the one of that epoch says that he has ended, the delay.
//   - and not before he has claimed the epoch after that one (Claimed). If somebody else has, he looks again, and waits anew.
//   - a lease ends Term after the heartbeat was sent that was confirmed last, not after the answer came: the group may
//     have given the partition away as soon as it had answered.
//   - what a member had in the generation before it has without a break. What it had in an earlier one somebody else may have had
//     meanwhile, and may not know yet that he has no more.
//
// Times are those of a clock that runs on while the process, or its machine, is stopped, and that nobody sets. model_test.go
// checks all this over every state that two processes, a partition and a group can come to.
package lease

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// An Instant is a time since the machine started, as CLOCK_BOOTTIME of Linux tells it.
type Instant = time.Duration

// Terms are the same for all processes of a group.
type Terms struct {
	Term    time.Duration // of a lease, from when a heartbeat was sent that the group confirmed
	Longest time.Duration // a request takes, from its first byte on
	Delay   time.Duration // between two requests to a host at least, as nobody asks for more
}

// Wait is how long who is given a partition waits where nobody says that he has ended. Clocks of two machines may run apart
// by a part in a hundred.
func (t Terms) Wait() time.Duration { return t.Term + t.Term/100 + t.Longest + t.Delay }

// A hold is a partition that a member was given.
type hold struct {
	seen    bool // the latest epoch is known
	epoch   int64
	ready   Instant
	claimed bool // the epoch after it is this process's, which may work from then on
}

// A Lost partition is one that a member has no more.
type Lost struct {
	Partition int32
	Epoch     int64 // that the member had claimed, and writes of that it has ended as soon as it has; 0: none
}

// A Lease is what one process may do. The zero value of all but terms may do nothing. It is not safe for use by several goroutines.
type Lease struct {
	terms      Terms
	generation int32 // that it was given its partitions in; 0: none
	until      Instant
	holds      map[int32]hold
}

// New returns the lease of a process that is in no group yet.
func New(t Terms) *Lease { return &Lease{terms: t, holds: map[int32]hold{}} }

// Joined notes that the group has given the process these partitions in a generation, in answer to what it sent at sent. It returns
// which it did not have before, and which it has no more, in ascending order.
func (l *Lease) Joined(sent Instant, generation int32, partitions []int32) (gained []int32, lost []Lost) {
	unbroken := generation == l.generation+1
	had := l.holds
	l.generation, l.until, l.holds = generation, sent+l.terms.Term, map[int32]hold{}
	for _, p := range slices.Sorted(slices.Values(partitions)) {
		if h, ok := had[p]; ok && unbroken {
			l.holds[p] = h
			delete(had, p)
			continue
		}
		l.holds[p] = hold{}
		gained = append(gained, p)
	}
	return gained, lostOf(had)
}

// Confirmed notes that the group has answered a heartbeat, sent at sent in a generation, and that this is still the group's.
func (l *Lease) Confirmed(sent Instant, generation int32) {
	if generation == l.generation && generation != 0 {
		l.until = max(l.until, sent+l.terms.Term)
	}
}

// Expelled notes that the process is no member any more, and returns what it has lost.
func (l *Lease) Expelled() []Lost {
	had := l.holds
	l.generation, l.until, l.holds = 0, 0, map[int32]hold{}
	return lostOf(had)
}

func lostOf(had map[int32]hold) (lost []Lost) {
	for _, p := range slices.Sorted(maps.Keys(had)) {
		h := had[p]
		o := Lost{Partition: p}
		if h.claimed {
			o.Epoch = h.epoch + 1
		}
		lost = append(lost, o)
	}
	return lost
}

// Saw notes which epoch of a partition is the latest, 0 where there is none, and whether its owner says that he has ended. It was read
// after the process was given the partition, and before now. It may be told of again and again.
func (l *Lease) Saw(p int32, now Instant, epoch int64, ended bool) {
	h, ok := l.holds[p]
	if !ok || h.claimed {
		return
	}
	if !h.seen || h.epoch != epoch {
		h = hold{seen: true, epoch: epoch, ready: now + l.terms.Wait()}
	}
	if ended || epoch == 0 {
		h.ready = min(h.ready, now+l.terms.Delay)
	}
	l.holds[p] = h
}

// Claim returns which epoch of a partition is to be claimed, and from when on; ok=false: none is, as it is not the process's, was claimed, or
// the latest epoch is not known.
func (l *Lease) Claim(p int32) (epoch int64, from Instant, ok bool) {
	h, ok := l.holds[p]
	if !ok || !h.seen || h.claimed {
		return 0, 0, false
	}
	return h.epoch + 1, h.ready, true
}

// Claimed notes that the process has claimed an epoch of a partition, and returns whether it may work from now on. It may not where the lease has
// ended meanwhile: somebody else may have the partition by now, and the wait was for owners before him. Then it looks again which epoch is
// the latest: the one that it claimed.
func (l *Lease) Claimed(p int32, now Instant, epoch int64) (ok bool) {
	h, held := l.holds[p]
	if !held || !h.seen || h.epoch+1 != epoch || now < h.ready || now >= l.until {
		return false
	}
	h.claimed = true
	l.holds[p] = h
	return true
}

// Superseded notes that somebody else has claimed a later epoch of a partition, and that the process starts over with it.
func (l *Lease) Superseded(p int32) {
	if _, ok := l.holds[p]; ok {
		l.holds[p] = hold{}
	}
}

// Partitions returns those of the process, ascending, whether they are ready or not.
func (l *Lease) Partitions() []int32 { return slices.Sorted(maps.Keys(l.holds)) }

// Until is when the lease ends unless it is confirmed once more.
func (l *Lease) Until() Instant { return l.until }

// Reasons why a host must not be contacted, which the errors of May wrap.
var (
	ErrNotOwned = errors.New("the partition belongs to another process")
	ErrNotReady = errors.New("the partition may still be in use by the process that had it")
	ErrExpired  = errors.New("the lease has ended, as no heartbeat was confirmed")
)

// May returns nil if the hosts of a partition may be contacted at now: a request that is begun then may take as long as the longest.
func (l *Lease) May(p int32, now Instant) error {
	h, ok := l.holds[p]
	switch {
	case !ok:
		return fmt.Errorf("partition %d: %w", p, ErrNotOwned)
	case !h.claimed:
		return fmt.Errorf("partition %d: %w", p, ErrNotReady)
	case now >= l.until:
		return fmt.Errorf("partition %d: %w for %v", p, ErrExpired, now-l.until+l.terms.Term)
	}
	return nil
}
