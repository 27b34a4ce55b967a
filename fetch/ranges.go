package fetch

import (
	"fmt"
	"net/netip"
)

// ParseRanges reads ranges of addresses such as 10.0.0.0/8, or single addresses, as
// Config.AllowPrivate and Dialer take them.
func ParseRanges(texts []string) ([]netip.Prefix, error) {
	var ranges []netip.Prefix
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			a, err := netip.ParseAddr(text)
			if err != nil {
				return nil, fmt.Errorf("%q: want a range of addresses such as 10.0.0.0/8", text)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		ranges = append(ranges, p)
	}
	return ranges, nil
}
