package render

import "strings"

const (
	upperHex   = "0123456789ABCDEF"
	unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	// plain stands for itself in a path: unreserved characters, sub-delims, ":", "@" and "/"
	// of RFC 3986, and the three that browsers leave alone.
	plain = unreserved + "!$&'()*+,;=:@/[]|"
)

// Path returns the form under which a path is served and looked up: escapes of
// unreserved characters decoded, others in upper case, every byte outside plain escaped.
// Paths that differ only in how they escape the same bytes are one.
func Path(path string) string {
	var b strings.Builder
	b.Grow(len(path))
	for i := 0; i < len(path); i++ {
		c, escaped := path[i], false
		if c == '%' && i+2 < len(path) {
			hi, lo := strings.IndexByte(upperHex, upper(path[i+1])), strings.IndexByte(upperHex, upper(path[i+2]))
			if hi >= 0 && lo >= 0 {
				c, escaped = byte(hi<<4|lo), true
				i += 2
			}
		}
		keep := plain
		if escaped {
			keep = unreserved
		}
		if strings.IndexByte(keep, c) >= 0 || c == '%' && !escaped {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(upperHex[c>>4])
		b.WriteByte(upperHex[c&15])
	}
	return b.String()
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'f' {
		return c - 'a' + 'A'
	}
	return c
}
