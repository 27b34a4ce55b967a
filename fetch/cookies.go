package fetch

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"
)

// Cookies are the cookies of a file that the operator exported from a browser. They go to the
// hosts that the file names and nowhere else. Cookies that servers set are never kept.
type Cookies struct{ all []cookie }

type cookie struct {
	domain      string // lower case, without a leading dot
	sub, secure bool   // for subdomains too; for https only
	path        string
	name, value string
}

// Limits of a cookie file [RFC 6265, 6.1].
const (
	maxCookie  = 4096
	maxCookies = 3000
)

// ReadCookies reads a file in Netscape's format, seven fields with tabs between them a line:
// domain, TRUE for subdomains too, path, TRUE for https only, expiry in seconds since the
// epoch (0: none), name, value. Cookies that expired before now are left out. Errors name the
// line, never the value.
func ReadCookies(r io.Reader, now time.Time) (*Cookies, error) {
	c := new(Cookies)
	s := bufio.NewScanner(r)
	for n := 1; s.Scan(); n++ {
		line, _ := strings.CutPrefix(s.Text(), "#HttpOnly_")
		line = strings.TrimSuffix(line, "\r")
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) == 6 {
			f = append(f, "")
		}
		if len(f) != 7 {
			return nil, fmt.Errorf("line %d: want 7 fields with tabs between them, got %d", n, len(f))
		}
		expiry, err := strconv.ParseFloat(f[4], 64)
		domain := strings.ToLower(strings.TrimPrefix(f[0], "."))
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: want an expiry in seconds, got %q", n, f[4])
		case domain == "" || strings.ContainsAny(domain, "/ ;"):
			return nil, fmt.Errorf("line %d: want a host, got %q", n, f[0])
		case !strings.HasPrefix(f[2], "/"):
			return nil, fmt.Errorf("line %d: want a path that starts with /, got %q", n, f[2])
		case !validField(f[5], f[6]) || strings.ContainsAny(f[6], ";"):
			return nil, fmt.Errorf("line %d: cookie %q has a byte that cannot be sent", n, f[5])
		case len(f[5])+len(f[6]) > maxCookie:
			return nil, fmt.Errorf("line %d: cookie %q is over %d bytes", n, f[5], maxCookie)
		case len(c.all) == maxCookies:
			return nil, fmt.Errorf("line %d: more than %d cookies", n, maxCookies)
		}
		if expiry > 0 && expiry < float64(now.Unix()) {
			continue
		}
		// A cookie for a public suffix, such as com, never goes to the names below it.
		suffix, _ := publicsuffix.PublicSuffix(domain)
		sub := strings.EqualFold(f[1], "TRUE") && suffix != domain
		c.all = append(c.all, cookie{domain, sub, strings.EqualFold(f[3], "TRUE"), f[2], f[5], f[6]})
	}
	return c, s.Err()
}

// header returns the value of the Cookie field for u, "" if there is none. c may be nil.
func (c *Cookies) header(u *url.URL) string {
	if c == nil {
		return ""
	}
	host := strings.ToLower(u.Hostname())
	path := cmp.Or(u.Opaque, u.EscapedPath(), "/")
	var b strings.Builder
	for i := range c.all {
		k := &c.all[i]
		if k.secure && u.Scheme != "https" || !k.covers(host) || !pathMatch(path, k.path) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		b.WriteString(k.name)
		b.WriteByte('=')
		b.WriteString(k.value)
	}
	return b.String()
}

// covers reports whether k goes to host.
func (k *cookie) covers(host string) bool {
	if host == k.domain {
		return true
	}
	return k.sub && strings.HasSuffix(host, k.domain) && host[len(host)-len(k.domain)-1] == '.'
}

// pathMatch is path-match of [RFC 6265, 5.1.4].
func pathMatch(path, cookie string) bool {
	return strings.HasPrefix(path, cookie) &&
		(len(path) == len(cookie) || strings.HasSuffix(cookie, "/") || path[len(cookie)] == '/')
}
