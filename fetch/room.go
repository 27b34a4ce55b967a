package fetch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Bounds of what answers hold in memory.
const (
	littleInAll = 32 << 20  // bytes that all answers may have to themselves, at Config.Parallel of them
	leastLittle = 64 << 10  // bytes that one has to itself at least
	mostLittle  = 512 << 10 // and at most: nine in ten pages of the web are smaller
)

// A room is the memory that the answers of a client hold at once, in two parts. Each has a little to
// itself, so that ordinary pages never wait. What they need beyond they share. Who needs more than
// there is left waits, in the order of asking, holding what it has; so that all of them cannot wait for
// each other, the first in line may take whatever it needs while nobody else does. Hence at most what
// is shared and the needs of one are held.
type room struct {
	little int64 // bytes that each answer has to itself

	shared int64 // bytes that they share

	mu    sync.Mutex
	left  int64    // of these; below 0 by what one has taken beyond
	alone *Outcome // takes what it needs; nil: nobody does
	line  []*waiter
}

type waiter struct {
	o       *Outcome
	n       int64
	granted chan struct{}
}

func newRoom(shared int64, parallel int) *room {
	return &room{shared: shared, left: shared, little: min(max(littleInAll/int64(parallel), leastLittle), mostLittle)}
}

// hold has o hold n bytes in all, as soon as there is room. ok=false: ctx or the time ended before, and
// o holds what it did. A zero end is none. Less than before is granted at once.
func (r *room) hold(ctx context.Context, o *Outcome, n int64, end time.Time) (ok bool) {
	more := max(0, n-r.little) - o.held
	if more == 0 {
		return true
	}
	r.mu.Lock()
	if more < 0 || o == r.alone || len(r.line) == 0 && more <= r.left {
		r.take(o, more)
		r.mu.Unlock()
		return true
	}
	w := &waiter{o, more, make(chan struct{})}
	r.line = append(r.line, w)
	r.serve()
	r.mu.Unlock()
	var over <-chan time.Time
	if !end.IsZero() {
		t := time.NewTimer(time.Until(end))
		defer t.Stop()
		over = t.C
	}
	select {
	case <-w.granted:
		return true
	case <-over:
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.line, w); i >= 0 {
		r.line = slices.Delete(r.line, i, i+1)
		r.serve() // those behind may need less
		return false
	}
	return true // granted meanwhile
}

// take moves n bytes from what is left to o; below 0, back. The caller has mu.
func (r *room) take(o *Outcome, n int64) {
	o.held += n
	r.left -= n
	if n < 0 {
		if o == r.alone && r.left >= 0 {
			r.alone = nil
		}
		r.serve()
	}
}

// serve grants what can be granted to those in line. The caller has mu.
func (r *room) serve() {
	for len(r.line) > 0 {
		w := r.line[0]
		switch {
		case w.n <= r.left:
		case r.alone == nil:
			r.alone = w.o
		default:
			return
		}
		r.line = slices.Delete(r.line, 0, 1)
		w.o.held += w.n
		r.left -= w.n
		close(w.granted)
	}
}

// ErrNoRoom is returned by Outcome.Hold while a body is read as it comes: the time for that is over.
var ErrNoRoom = errors.New("too many large answers at once")

// Hold tells how many bytes the answer takes from here on: Body, and what the caller has made of it
// and is going to make. Beyond a little that each answer has to itself it waits until there is room
// for more, see Config.MaxHeld. It returns ctx's error where that ends before, or ErrNoRoom.
//
// The caller must not wait for other answers while it holds more than that little.
func (o *Outcome) Hold(ctx context.Context, n int64) error {
	if o.room == nil || o.room.hold(ctx, o, o.reading+n, o.end) {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrNoRoom
}

// Held is how many bytes all answers hold at present, but for the little that each one has to itself.
func (c *Client) Held() int64 {
	c.room.mu.Lock()
	defer c.room.mu.Unlock()
	return c.room.shared - c.room.left
}

// Large reports whether the answer holds more than the little that each one has to itself.
func (o *Outcome) Large() bool { return o.held > 0 }

// Release gives up Body, and all that the answer holds. More calls do nothing.
func (o *Outcome) Release() {
	o.Body = nil
	if o.held > 0 {
		o.room.hold(context.Background(), o, 0, time.Time{})
	}
}
