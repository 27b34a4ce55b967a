// Package scope decides which URLs belong to a site, and which of these its rules leave out.
//
// Start with New, which compiles the rules of a site into a Scope; Contains and Skip judge URLs
// and documents. Suspect tells URLs that references resolved wrongly make, ReadSeeds reads lists
// of URLs to start from. The package sees normalised URLs only (see Normalise), and touches
// neither network nor store.
package scope

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"forage/fetch/link"
	"forage/store"
)

// Outside is why documents outside of the scope of their site are not fetched.
const Outside = "scope"

// TooFar is why documents are not fetched to which too many links lead from a seed.
const TooFar = "depth"

// Kinds are the kinds of scope that a site can have; the first is the default.
var Kinds = []string{"host", "domain", "prefix"}

// A Scope decides which URLs belong to a site and which of these its rules leave out. All
// URLs are normalised. It does not change, and several goroutines may use it.
type Scope struct {
	kind, within     string
	include, exclude []*regexp.Regexp
	maxDepth         int
	elsewhere        func(host string) bool // nil: no host is
}

// New compiles rules. The error names the rule that is wrong.
func New(r *store.Rules) (*Scope, error) {
	s := &Scope{kind: r.Scope, within: r.Within, maxDepth: r.MaxDepth}
	for _, list := range []struct {
		rule string
		text []string
		into *[]*regexp.Regexp
	}{{"include", r.Include, &s.include}, {"exclude", r.Exclude, &s.exclude}} {
		for _, t := range list.text {
			re, err := regexp.Compile(t)
			if err != nil {
				return nil, fmt.Errorf("%s %q: %w", list.rule, t, err)
			}
			*list.into = append(*list.into, re)
		}
	}
	return s, nil
}

// Without returns s without the hosts of which elsewhere is true, host:port as in URLs: documents there are skipped, whoever gave them.
// nil: no host is.
func (s *Scope) Without(elsewhere func(host string) bool) *Scope {
	if elsewhere == nil {
		return s
	}
	less := *s
	less.elsewhere = elsewhere
	return &less
}

// Addresses returns the ranges of addresses that rules allow although they are not public.
func Addresses(r *store.Rules) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range r.AllowPrivate {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("addresses that are not public: %w", err)
		}
		all = append(all, p)
	}
	return all, nil
}

// Within returns the name of the site of a scope around url: its host (and port, unless it is
// the scheme's own), its registered domain, or the URL up to the last slash.
func Within(kind, url string) (string, error) {
	host := store.HostOf(url)
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
	return "", fmt.Errorf("scope %q: want one of %s", kind, strings.Join(Kinds, ", "))
}

// Domain returns the registered domain of a host, without a port: what somebody has who may name as many hosts
// below it as they like. Of an address it is the host itself.
func Domain(host string) string {
	if name, _ := cutPort(host); name != host {
		if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err != nil {
			host = name
		}
	}
	domain, _ := Within("domain", "http://"+host+"/") // the error is of another kind of scope
	return domain
}

// Contains reports whether url lies within the scope, whatever the rules say of it.
func (s *Scope) Contains(url string) bool {
	switch s.kind {
	case "prefix":
		return strings.HasPrefix(url, s.within)
	case "domain":
		host := store.HostOf(url)
		return host == s.within || len(host) > len(s.within) && strings.HasSuffix(host, s.within) && host[len(host)-len(s.within)-1] == '.'
	}
	return store.HostOf(url) == s.within
}

// Skip returns why a document is not fetched under the rules, "" if it is.
func (s *Scope) Skip(d *store.Doc) string {
	switch {
	case s.elsewhere != nil && s.elsewhere(store.HostOf(d.URL)):
		return store.ReasonElsewhere
	case d.Seed:
		return ""
	case !s.Contains(d.URL):
		return Outside
	}
	if s.Excludes(d.URL) {
		return "exclude"
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
		return TooFar
	}
	return ""
}

// Counts reports whether it matters how many links lead from a seed to a document.
func (s *Scope) Counts() bool { return s.maxDepth > 0 }

// Excludes reports whether url is never to be fetched for the site, whatever it is.
func (s *Scope) Excludes(url string) bool {
	return slices.ContainsFunc(s.exclude, func(re *regexp.Regexp) bool { return re.MatchString(url) })
}

// IsAction reports whether d seems to be something that is done when it is fetched: a link called
// it so, or its URL does.
func IsAction(d *store.Doc) bool { return d.Action || link.IsAction(d.URL) }

// Origin returns scheme, host and port of a normalised URL.
func Origin(url string) string {
	i := strings.Index(url, "://")
	if i < 0 {
		return ""
	}
	for j := i + 3; j < len(url); j++ {
		switch url[j] {
		case '/', '?', '#':
			return url[:j]
		}
	}
	return url
}

// Path returns path and query of a normalised URL.
func Path(url string) string { return url[len(Origin(url)):] }

// Hostname returns a host without its port and without the brackets of an IPv6 address.
func Hostname(host string) string {
	name, _ := cutPort(host)
	if len(name) > 1 && name[0] == '[' {
		name = name[1 : len(name)-1]
	}
	return name
}

// Normalise returns the identity of a URL without the query parameters that do not count.
func Normalise(url string, ignore []string) (string, error) {
	id, err := link.Parse(url)
	if err != nil || len(ignore) == 0 {
		return id, err
	}
	return link.DropParams(id, ignore), nil
}

func cutPort(host string) (name, port string) {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		return host[:i], host[i:]
	}
	return host, ""
}
