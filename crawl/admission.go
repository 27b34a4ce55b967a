package crawl

// maxNewcomers is how many hosts of a domain are made acquaintance with at once on a first visit.
// Hosts share what may be asked, each in its turn: if all that become known had a turn, a
// domain that makes up names without end would leave none for its real hosts.
const maxNewcomers = 16

// An admission counts the hosts of a cycle that were asked and have answered nothing yet, and
// keeps those that wait until one of them has.
type admission struct {
	newcomers int
	queue     []*host
}

// A newcomer is the part of a host that its admission needs.
type newcomer struct {
	via   *cycle // counts it among its newcomers; nil: none does
	waits bool   // it waits to be admitted, and is not asked
}

// admit has a host that is new to a cycle take part, or wait. Hosts that an earlier run asked,
// and may have to leave alone for long, do not count.
func (l *Loop) admit(c *cycle, h *host) {
	switch {
	case c.site.Rules.Scope != "domain" || !c.visit.manner().admits || h.stored.NotBefore != 0 || h.via != nil || h.waits:
	case c.newcomers < maxNewcomers:
		c.newcomers++
		h.via = c
	default:
		h.waits = true
		c.admission.queue = append(c.admission.queue, h)
	}
}

// acquainted notes that a host has answered, or will not be asked: the next one takes part.
func (l *Loop) acquainted(h *host) {
	c := h.via
	if c == nil {
		return
	}
	h.via = nil
	if c.newcomers--; len(c.admission.queue) > 0 {
		next := c.admission.queue[0]
		c.admission.queue = c.admission.queue[1:]
		next.waits = false
		l.admit(c, next)
		l.wake(next)
	}
}
