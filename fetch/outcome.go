package fetch

import (
	"net/netip"
	"time"
)

// A Class says what became of a request. Every class is a normal outcome: it is counted and
// stored. The numbers are stored too, so they never change.
type Class uint8

const (
	Unknown          Class = iota // not asked yet
	OK                            // 2xx with a body of a type that we read
	NotModified                   // 304 to a conditional request
	Redirect                      // 3xx with a usable Location
	Disallowed                    // robots.txt forbids it; set by the caller
	Gone                          // 410
	NotFound                      // 404
	ClientError                   // other 4xx
	ServerError                   // 5xx
	TooManyRequests               // 429
	Blocked                       // a challenge or rate-limit page, whatever its status
	NotHTML                       // 2xx of a type that we do not read
	NoContent                     // 204, 205
	TooLarge                      // the header block is over Config.MaxHeader
	Malformed                     // no valid HTTP answer, or one that may hide another
	BadURL                        // not an absolute http or https URL with a host
	BadPort                       // a port that belongs to another protocol
	PrivateAddress                // the address guard refused to connect
	DNS                           // the host has no address, or its name server does not answer
	Refused                       // the connection was refused, or there is no route
	Timeout                       // no answer in time
	Broken                        // the connection ended before the answer did
	TLS                           // no trusted TLS connection
	RedirectLoop                  // a redirect to a URL of its own chain; set by Chain
	TooManyRedirects              // more than MaxRedirects; set by Chain
	numClasses
)

var classNames = [numClasses]string{
	"unknown", "ok", "not_modified", "redirect", "disallowed", "gone", "not_found", "client_error",
	"server_error", "too_many_requests", "blocked", "not_html", "no_content", "too_large", "malformed",
	"bad_url", "bad_port", "private_address", "dns", "refused", "timeout", "broken", "tls",
	"redirect_loop", "too_many_redirects",
}

// String returns the name of c as output and metrics show it, such as not_found.
func (c Class) String() string {
	if c < numClasses {
		return classNames[c]
	}
	return "invalid"
}

// Answered reports whether the server answered with a status.
func (c Class) Answered() bool { return c >= OK && c <= NoContent && c != Disallowed || c.chain() }

func (c Class) chain() bool { return c == RedirectLoop || c == TooManyRedirects }

// Overloaded reports whether the host asks for fewer requests: 429, 503, a challenge page.
// The status tells 503 from other server errors.
func (o *Outcome) Overloaded() bool {
	return o.Class == TooManyRequests || o.Class == Blocked || o.Status == 503
}

// Transient reports whether the same request may well succeed later: the URL is kept.
func (o *Outcome) Transient() bool {
	switch o.Class {
	case ServerError, TooManyRequests, Blocked, DNS, Refused, Timeout, Broken:
		return true
	}
	return false
}

// A Cut says why a body is not whole.
type Cut uint8

const (
	Whole    Cut = iota // all of it is there
	CutLong             // longer than MaxBody
	CutTime             // the time was over
	CutShort            // the connection or the encoding broke off
	CutRoom             // there was no room for it all the time, see Config.MaxHeld
)

func (c Cut) String() string {
	return [...]string{"whole", "too long", "timed out", "broken off", "cut: too many large answers at once"}[c]
}

// A Kind groups media types by how a document is read.
type Kind uint8

const (
	Other Kind = iota // not read
	HTML              // text/html, application/xhtml+xml
	XML               // feeds, sitemaps
	JSON              // JSON feeds
	Text              // text/plain
)

// An Outcome is what one request came to. Strings and slices belong to the caller, but Body
// lies in the buffer that the request brought, if there was room, and is good until Release.
type Outcome struct {
	Class  Class
	Status int    // 0: no answer
	Reason string // for people: why this class; empty where the status says it all

	URL       string // as requested
	Location  string // Redirect: the absolute target, without fragment
	Permanent bool   // Redirect: 301 or 308

	Header      Header // the header block as it came
	ContentType string // as sent; empty if absent
	Kind        Kind   // by ContentType, or by the first bytes where it is absent or plainly wrong
	Body        []byte // decoded; empty unless the Class is OK, and where Request.Stream has read it
	Cut         Cut    // why Body is not whole
	Undecoded   bool   // Content-Encoding did not fit the bytes; Body holds them raw

	ETag         string        // verbatim; of a 304 too
	LastModified string        // verbatim
	RetryAfter   time.Duration // asked for by Retry-After, at most MaxRetryAfter; 0: not or not usably

	Addr    netip.AddrPort // the address used; invalid if there was no connection, or a proxy's
	Took    time.Duration  // from the request to the end of the header block
	Elapsed time.Duration  // from the request to the end
	Wire    int64          // bytes of header block and body, as transferred

	wait *time.Timer // ends Request.Wait; nil: there is none

	streamed bool      // Body went to what Request.Stream returned
	reading  int64     // bytes that reading takes while that goes on
	end      time.Time // of that; zero: none

	room *room // of the client
	held int64 // bytes of it, beyond the little that o has to itself; r.mu guards it while o waits
}

// Truncated reports whether Body is only a prefix.
func (o *Outcome) Truncated() bool { return o.Cut != Whole }

// BrokeOff reports whether Body ends where it does by accident: the next fetch may bring more of the same. That of
// a body that is too long ends at the same place again.
func (o *Outcome) BrokeOff() bool { return o.Cut != Whole && o.Cut != CutLong }
