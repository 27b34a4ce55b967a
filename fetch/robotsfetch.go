package fetch

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"forage/fetch/robots"
	"forage/fetch/use"
)

// RobotsAge is how long rules may be used before they are fetched again [RFC 9309, 2.4].
const RobotsAge = 24 * time.Hour

// MaxRobots is how many bytes of a robots.txt are read.
const MaxRobots = robots.MaxSize

// robotsRedirects is how many redirects of a robots.txt are followed [RFC 9309, 2.3.1.2].
const robotsRedirects = 5

// Robots are the rules of one origin (scheme, host and port). It is immutable. Everything but
// the agent can be kept in a store: ReadRobots makes the same rules of it again.
type Robots struct {
	Status  int       // of the last answer; 0: there was none
	Body    []byte    // as read, at most robots.MaxSize; nil unless Status is 2xx
	Fetched time.Time // no rules after RobotsAge

	agent string
	file  *robots.File // nil: everything is disallowed
}

// ReadRobots returns the rules that an answer to robots.txt means [RFC 9309, 2.3.1]: 2xx the
// rules of body; 4xx none, so that all is allowed; 429, any other status and no answer at all
// (0) disallow everything, until a later answer. agent is a user agent or a product token.
func ReadRobots(agent string, status int, body []byte, fetched time.Time) *Robots {
	r := &Robots{Status: status, Fetched: fetched, agent: robots.Token(agent)}
	switch {
	case status >= 200 && status < 300:
		r.Body = body
		r.file = robots.Parse(body)
	case status >= 400 && status < 500 && status != http.StatusTooManyRequests:
		r.file = new(robots.File)
	}
	return r
}

// Unreachable reports whether everything is disallowed because there was no proper answer.
// The URLs are to be kept: a later answer may allow them.
func (r *Robots) Unreachable() bool { return r.file == nil }

// Unreachable tells, for people, why the last answer to a request for robots.txt is none that
// rules could be read from.
func Unreachable(o *Outcome) string {
	if o.Status != 0 && !(o.Class == Redirect && o.Reason != "") {
		return fmt.Sprintf("answers with status %d, so nothing may be fetched", o.Status)
	}
	return cmp.Or(o.Reason, o.Class.String())
}

// Allowed reports whether url, as it will be sent, may be fetched.
func (r *Robots) Allowed(url string) bool { return r.file != nil && r.file.Allowed(r.agent, url) }

// Said is what the Content-Usage and Content-Signal lines say of the use of url, as it is sent.
func (r *Robots) Said(url string) use.Said {
	if r.file == nil {
		return use.Said{}
	}
	usage, signal := r.file.Preferences(r.agent, url)
	return use.Said{Usage: use.Clean(usage...), Signal: use.Clean(signal...)}
}

// CrawlDelay returns the delay between requests that the rules ask for, at most
// robots.MaxDelay; 0 means none.
func (r *Robots) CrawlDelay() time.Duration {
	if r.file == nil {
		return 0
	}
	return r.file.CrawlDelay(r.agent)
}

// Sitemaps returns the URLs of the Sitemap lines, as they stand there.
func (r *Robots) Sitemaps() []string {
	if r.file == nil {
		return nil
	}
	return r.file.Sitemaps
}

// Robots fetches the rules of an origin, such as https://example.org:8443. It follows up to
// five redirects, guarded as any request; what they lead to counts for this origin only. The
// Outcome is that of the last request: it tells why rules are Unreachable and what the host
// asks for (RetryAfter). Of like Wait, Exchange and Follows count, for each of the requests; after each of them
// answered is called with what Fetch returned, unless it is nil. The error is ctx's own, or a *NotPermittedError.
func (c *Client) Robots(ctx context.Context, origin string, like *Request, answered func(*Outcome, error)) (*Robots, *Outcome, error) {
	var chain Chain
	url := strings.TrimSuffix(origin, "/") + "/robots.txt"
	for {
		o, err := c.Fetch(ctx, &Request{URL: url, Any: true, MaxBody: MaxRobots, Wait: like.Wait, Exchange: like.Exchange})
		if answered != nil {
			answered(o, err)
		}
		if err != nil {
			return nil, o, err
		}
		if o.Class == Redirect && chain.Hops() < robotsRedirects {
			if url = chain.Next(o); url != "" {
				if like.Follows == nil || like.Follows(url) {
					continue
				}
				o.Reason = "redirects to " + url + ", which is not asked for"
				return ReadRobots(c.cfg.UserAgent, 0, nil, time.Now()), o, nil
			}
		}
		return c.RobotsOf(o, time.Now()), o, nil
	}
}

// RobotsOf returns the rules that the last answer to a request for robots.txt means: one that is a redirect
// leads nowhere.
func (c *Client) RobotsOf(o *Outcome, fetched time.Time) *Robots {
	status := o.Status
	switch o.Class {
	case OK:
		// A file that broke off may lack the rule that matters.
		if o.Cut != Whole && o.Cut != CutLong || o.Undecoded {
			status = 0
		}
	case NoContent, NotFound, Gone, ClientError, ServerError, TooManyRequests:
	case Redirect, RedirectLoop, TooManyRedirects:
		// A robots.txt that cannot be reached by redirects is as good as none.
		status = http.StatusNotFound
	default: // no answer, a challenge page, nonsense
		status = 0
	}
	return ReadRobots(c.cfg.UserAgent, status, o.Body, fetched)
}
