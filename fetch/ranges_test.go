package fetch

import (
	"net/netip"
	"slices"
	"testing"
)

func TestParseRanges(t *testing.T) {
	got, err := ParseRanges([]string{"10.0.0.0/8", "::1", "127.0.0.1"})
	want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("127.0.0.1/32")}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("ParseRanges = %v, %v, want %v", got, err, want)
	}
	for _, text := range []string{"", "localhost", "10.0.0.0/33"} {
		if _, err := ParseRanges([]string{text}); err == nil {
			t.Errorf("ParseRanges(%q): no error", text)
		}
	}
}
