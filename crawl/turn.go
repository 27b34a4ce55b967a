package crawl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"forage/fetch"
	"forage/frontier"
	"forage/store"
)

// ErrLeftAlone is returned by Turn for a host that is not asked now, whoever wants to; what it is wrapped in says why.
var ErrLeftAlone = errors.New("the host is left alone")

// A Turn is the turn of a host at which it is asked by somebody who is no cycle, as to look at a site before it is
// crawled.
type Turn struct {
	crawl *Crawl
	host  *host
	delay time.Duration
	taken bool       // the request may be under way
	given chan error // tells Turn that it is, or why it is not
}

// Turn waits until the host of a URL may be asked: like all requests of cycles, it comes no sooner after the one before
// than the host, its address and the delay of rules allow, but it goes before those that wait. Who has it makes one
// request, and calls End. Errors: that of ctx, ErrLeftAlone, ErrHandedBack, that of a store that cannot be read or written.
func (c *Crawl) Turn(ctx context.Context, url string, rules *store.Rules) (*Turn, error) {
	l := c.loop
	t := &Turn{crawl: c, delay: max(time.Duration(rules.DelayMillis)*time.Millisecond, l.cfg.Delay), given: make(chan error, 1)}
	name, obeys := store.HostOf(url), rules.Robots != "ignore"
	if c.Elsewhere(name) {
		return nil, fmt.Errorf("%s: %w: %w", name, ErrLeftAlone, ErrElsewhere)
	}
	l.do(func() {
		if c.err != nil {
			t.given <- c.err
			return
		}
		t.host = l.host(name)
		fresh := t.host.unasked()
		t.host.turns = append(t.host.turns, t)
		l.turns = append(l.turns, t)
		if fresh {
			if err := t.host.restore(c, obeys, time.Time{}); err != nil {
				t.refuse(err)
				return
			}
		}
		l.setDelay(t.host)
	})
	select {
	case err := <-t.given:
		if err != nil {
			return nil, err
		}
		return t, nil
	case <-ctx.Done():
		l.do(func() {
			switch {
			case t.taken:
				t.end(frontier.Answer{}, 0)
			case slices.Contains(l.turns, t):
				t.refuse(ctx.Err())
			}
		})
		return nil, ctx.Err()
	}
}

// End gives the turn back: with the answer, nil for none, and with the crawl delay that the host is known to ask for. It must be called before
// the answer is released.
func (t *Turn) End(o *fetch.Outcome, crawlDelay time.Duration) {
	a, crawl := frontier.Answer{}, t.crawl
	if o == nil {
		crawl.loop.do(func() { t.end(a, crawlDelay) })
		return
	}
	a, addr := answerOf(o), o.Addr
	crawl.loop.do(func() {
		if addr.IsValid() {
			crawl.loop.queue.SetAddr(t.host.id, addr.Addr().Unmap())
		}
		t.end(a, crawlDelay)
	})
}

// end is End, in the loop.
func (t *Turn) end(a frontier.Answer, crawlDelay time.Duration) {
	l, h := t.crawl.loop, t.host
	l.queue.Release(h.id, l.clock.Now(), a)
	if crawlDelay > h.crawlDelay {
		h.crawlDelay = crawlDelay
		l.queue.SetCrawlDelay(h.id, crawlDelay)
	}
	t.leave()
}

// refuse ends a turn that was not taken.
func (t *Turn) refuse(why error) {
	l := t.crawl.loop
	l.turns = slices.DeleteFunc(l.turns, func(o *Turn) bool { return o == t })
	t.leave()
	t.given <- why
}

// leave takes the turn off its host.
func (t *Turn) leave() {
	h := t.host
	h.turns = slices.DeleteFunc(h.turns, func(o *Turn) bool { return o == t })
	t.crawl.loop.part(h, t.crawl)
}

// giveTurns gives those their turn who wait for that of a host and whose it is. It returns when the next one is due,
// zero: that takes the end of a request first.
func (l *Loop) giveTurns(now time.Time) (next time.Time) {
	for _, t := range slices.Clone(l.turns) {
		h := t.host
		if st := l.queue.State(h.id); st.Paused {
			t.refuse(fmt.Errorf("%s: %w: %s", h.name, ErrLeftAlone, st.Reason))
			continue
		}
		due, ok := l.queue.Take(h.id, now)
		switch {
		case ok:
			l.turns = slices.DeleteFunc(l.turns, func(o *Turn) bool { return o == t })
			t.take()
		case !due.IsZero() && (next.IsZero() || due.Before(next)):
			next = due
		}
	}
	return next
}

// take lets the request begin.
func (t *Turn) take() {
	h, l := t.host, t.crawl.loop
	t.taken, h.strange = true, false
	if err := h.sending(t.crawl, t.delay); err != nil {
		t.taken = false
		l.queue.Release(h.id, l.clock.Now(), frontier.Answer{})
		t.leave()
		t.given <- err
		return
	}
	t.given <- nil
}
