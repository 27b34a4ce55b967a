package inspect

import (
	"fmt"
	"slices"
	"strings"
)

// Printable escapes what would move the cursor or turn the text around on a terminal: control
// characters, and marks of direction.
func Printable(s string) string {
	hidden := func(r rune) bool {
		return r < ' ' || 0x7f <= r && r < 0xa0 || 0x200b <= r && r <= 0x200f || 0x2028 <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069 || r == 0xfeff || r == 0xfffd
	}
	if !slices.ContainsFunc([]rune(s), hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
