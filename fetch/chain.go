package fetch

import (
	"fmt"
	"slices"
)

// MaxRedirects is how many redirects a chain may have.
const MaxRedirects = 10

// A Chain is the list of URLs of one chain of redirects, the first request's first. Fetch
// never follows a redirect: the caller does, after it checked the target as it would check
// any link (scope, robots, politeness), with a Chain to end loops. The zero value is ready.
type Chain struct{ urls []string }

// Next returns where o redirects to, and adds the hop. If the target was in the chain before,
// or the chain is full, it returns "" and changes o's class to RedirectLoop or
// TooManyRedirects. It returns "" for outcomes that are no redirect.
func (c *Chain) Next(o *Outcome) string {
	if o.Class != Redirect {
		return ""
	}
	if len(c.urls) == 0 {
		c.urls = append(c.urls, o.URL)
	}
	switch {
	case slices.Contains(c.urls, o.Location):
		o.Class, o.Reason = RedirectLoop, "redirects back to "+o.Location
		return ""
	case len(c.urls) > MaxRedirects:
		o.Class, o.Reason = TooManyRedirects, fmt.Sprintf("more than %d redirects", MaxRedirects)
		return ""
	}
	c.urls = append(c.urls, o.Location)
	return o.Location
}

// Hops returns the number of redirects followed.
func (c *Chain) Hops() int { return max(0, len(c.urls)-1) }
