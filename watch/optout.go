package watch

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"forage/crawl/scope"
	"forage/store"
)

// An optOut is what is never to be fetched, whatever a site says: a host with those below it, or what begins
// with a URL, by http and https.
type optOut struct {
	text    string // as it was given
	host    string // without a port
	pattern string // of URLs, as of exclude
}

// parseOptOut reads example.org, or https://example.org/private/.
func parseOptOut(text string) (o optOut, err error) {
	o.text = text
	if !strings.Contains(text, "://") {
		u, err := scope.Normalise("http://"+text+"/", nil)
		if err != nil || strings.ContainsAny(text, "/?#@ \t*") || store.HostOf(u) == "" {
			return o, fmt.Errorf("want a host such as example.org, with those below it, or what URLs begin with such as https://example.org/private/, got %q", text)
		}
		host := store.HostOf(u)
		o.host = bareHost(host)
		port := `(?::\d+)?`
		if o.host != host { // one port alone
			port = ""
		}
		o.pattern = `^https?://(?:[^/?#]*[.@])?` + regexp.QuoteMeta(host) + port + `(?:[/?#]|$)`
		return o, nil
	}
	if err := scope.CheckURL(text); err != nil {
		return o, err
	}
	u, err := scope.Normalise(text, nil)
	if err != nil {
		return o, err
	}
	o.host = bareHost(store.HostOf(u))
	_, rest, _ := strings.Cut(u, "://")
	o.pattern = `^https?://` + regexp.QuoteMeta(rest)
	return o, nil
}

// bareHost is a host without its port.
func bareHost(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		return host[:i]
	}
	return host
}

// concerns reports whether a site may lead there: only such patterns are tried on its URLs.
func (o *optOut) concerns(site string) bool {
	if _, err := netip.ParseAddr(strings.Trim(o.host, "[]")); err == nil {
		return o.host == site
	}
	return ending(o.host) == ending(site)
}

// ending is the last two labels of a host, which hosts of one owner have in common, and those of some others.
func ending(host string) string {
	if i := strings.LastIndexByte(host, '.'); i >= 0 {
		return host[strings.LastIndexByte(host[:i], '.')+1:]
	}
	return host
}

// keepOut has a site leave out what is never to be fetched. The error is of a site that is so itself.
func (c *Config) keepOut(s *Site) error {
	u, err := scope.Normalise(s.URL, s.Rules.IgnoreParams)
	if err != nil {
		return err
	}
	for i := range c.optOut {
		o := &c.optOut[i]
		if !s.Requisites && !o.concerns(bareHost(store.HostOf(u))) { // what pages need may be anywhere
			continue
		}
		re, err := regexp.Compile(o.pattern)
		if err != nil {
			return err
		}
		if re.MatchString(u) {
			return fmt.Errorf("%s is not to be watched: opt_out has %s", s.URL, o.text)
		}
		s.Rules.Exclude = append(s.Rules.Exclude, o.pattern)
	}
	return nil
}
