package crawl

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"golang.org/x/net/publicsuffix"

	"forage/store"
)

// reasonScope is why documents outside of the scope of their site are not fetched.
const reasonScope = "scope"

// Scopes are the kinds of scope that a site can have.
var Scopes = []string{"host", "domain", "prefix"}

// A scope decides which URLs belong to a site and which of these its rules leave out. All
// URLs are normalised.
type scope struct {
	kind, within     string
	include, exclude []*regexp.Regexp
	maxDepth         int
}

// newScope compiles rules. The error names the rule that is wrong.
func newScope(r *store.Rules) (*scope, error) {
	s := &scope{kind: r.Scope, within: r.Within, maxDepth: r.MaxDepth}
	for _, list := range []struct {
		flag string
		text []string
		into *[]*regexp.Regexp
	}{{"--include", r.Include, &s.include}, {"--exclude", r.Exclude, &s.exclude}} {
		for _, t := range list.text {
			re, err := regexp.Compile(t)
			if err != nil {
				return nil, fmt.Errorf("%s %q: %w", list.flag, t, err)
			}
			*list.into = append(*list.into, re)
		}
	}
	return s, nil
}

// within returns the name of the site of a scope around url: its host (and port, unless it is
// the scheme's own), its registered domain, or the URL up to the last slash.
func within(kind, url string) (string, error) {
	host := hostOf(url)
	switch kind {
	case "host":
		return host, nil
	case "domain":
		name, port := cutPort(host)
		if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
			return host, nil // an address has no domain
		}
		d, err := publicsuffix.EffectiveTLDPlusOne(strings.TrimSuffix(name, "."))
		if err != nil {
			return host, nil // a name without a public suffix, or one that is a suffix itself
		}
		return d + port, nil
	case "prefix":
		if i := strings.IndexAny(url, "?#"); i >= 0 {
			url = url[:i]
		}
		return url[:strings.LastIndexByte(url, '/')+1], nil
	}
	return "", fmt.Errorf("scope %q: want one of %s", kind, strings.Join(Scopes, ", "))
}

// contains reports whether url lies within the scope, whatever the rules say of it.
func (s *scope) contains(url string) bool {
	switch s.kind {
	case "prefix":
		return strings.HasPrefix(url, s.within)
	case "domain":
		host := hostOf(url)
		return host == s.within || len(host) > len(s.within) && strings.HasSuffix(host, s.within) && host[len(host)-len(s.within)-1] == '.'
	}
	return hostOf(url) == s.within
}

// skip returns why a document is not fetched under the rules, "" if it is.
func (s *scope) skip(d *store.Doc) string {
	switch {
	case d.Seed:
		return ""
	case !s.contains(d.URL):
		return reasonScope
	}
	for _, re := range s.exclude {
		if re.MatchString(d.URL) {
			return "exclude"
		}
	}
	if len(s.include) > 0 {
		ok := false
		for _, re := range s.include {
			if re.MatchString(d.URL) {
				ok = true
				break
			}
		}
		// Lists of URLs are no pages of the site: they are read for what they list.
		if !ok && !d.Main && d.Via != store.ViaFeedLink {
			return "include"
		}
	}
	if s.maxDepth != 0 && d.Depth > max(s.maxDepth, 0) {
		return "depth"
	}
	return ""
}

// hostOf returns host and port of a normalised URL: the port is there only where it is not
// the scheme's own.
func hostOf(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// originOf returns scheme, host and port of a normalised URL.
func originOf(url string) string {
	i := strings.Index(url, "://")
	if i < 0 {
		return ""
	}
	if j := strings.IndexAny(url[i+3:], "/?#"); j >= 0 {
		return url[:i+3+j]
	}
	return url
}

// pathOf returns path and query of a normalised URL.
func pathOf(url string) string { return url[len(originOf(url)):] }

func cutPort(host string) (name, port string) {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		return host[:i], host[i:]
	}
	return host, ""
}
