package labels

import (
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Host returns the host of a URL, lower case, without port; what is no URL is returned as it is.
func Host(name string) string {
	u, err := url.Parse(name)
	if err != nil {
		return name
	}
	return strings.ToLower(u.Hostname())
}

// Domain returns the domain that a host was registered under, or the host where there is none.
func Domain(host string) string {
	if d, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return d
	}
	return host
}

// knownSuffix reports whether a host ends in a public suffix that is listed.
func knownSuffix(host string) bool {
	_, icann := publicsuffix.PublicSuffix(host)
	return icann
}

// reverse turns the labels of a host round.
func reverse(host string) string {
	parts := strings.Split(host, ".")
	slices.Reverse(parts)
	return strings.Join(parts, ".")
}
