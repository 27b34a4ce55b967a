package fetch

import (
	"context"
	"time"
)

// largeBody is how much of a body is read before it needs a place among the large ones: fewer
// of these are held at once than there are requests. It is a size that grow steps on.
const largeBody = 1 << 20

// enter waits for a place for a large body, at most until end. A place is for all that a body
// may come to, taken once: nobody who has some of what he needs waits for the rest, so that
// there is no deadlock. Places are given in the order of asking.
func (c *Client) enter(ctx context.Context, o *Outcome, end time.Time) bool {
	select {
	case c.large <- struct{}{}:
	default:
		t := time.NewTimer(time.Until(end))
		defer t.Stop()
		select {
		case c.large <- struct{}{}:
		case <-t.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
	o.place = c.large
	return true
}

// Release gives Body up. Of large bodies the client holds as many at once as Config.MaxHeld
// allows, from when they are read until they are released: others wait for that, and are cut
// when it takes too long. More calls, and calls for small bodies, do nothing.
func (o *Outcome) Release() {
	o.Body = nil
	if o.place != nil {
		<-o.place
		o.place = nil
	}
}
