package link

import (
	"strings"
	"unicode/utf8"
)

// Classes of bytes, as bits of class.
const (
	inPath       = 1 << iota // stands in a path as it is, "/" and "." apart
	inQuery                  // stands in a query as it is
	inHost                   // in hosts that need no work
	isHex                    // digits of escapes
	isUnreserved             // of RFC 3986: never escaped in an identity
)

var class = func() (t [256]uint8) {
	for c := range 256 {
		b := byte(c)
		letter := 'a' <= b|0x20 && b|0x20 <= 'z'
		digit := '0' <= b && b <= '9'
		if letter || digit || strings.IndexByte("-_~!$&'()*+,;=:@", b) >= 0 {
			t[c] |= inPath
		}
		if letter || digit || strings.IndexByte("-._~!$&()*+,;=:@/?", b) >= 0 {
			t[c] |= inQuery
		}
		if 'a' <= b && b <= 'z' || digit || b == '-' || b == '.' {
			t[c] |= inHost
		}
		if digit || 'a' <= b|0x20 && b|0x20 <= 'f' {
			t[c] |= isHex
		}
		if letter || digit || strings.IndexByte("-._~", b) >= 0 {
			t[c] |= isUnreserved
		}
	}
	return t
}()

// A form tells which escapes a URL is written with.
type form bool

const (
	asIdentity  form = false // those of an identity
	asReference form = true  // those that it came with, as Base.Reference
)

// fast appends the identity of ref against base to dst, as Base.Resolve defines it, or without a
// base that of the absolute URL ref; or, as f says, the URL with its escapes as they stand. It knows the usual forms only (http and https, plain
// hosts) and returns ok=false and dst as it was where the standard's own algorithm has
// to decide. One pass over ref, no allocation if dst has room. A fuzz test holds it to the
// slow way.
func fast[T string | []byte](dst []byte, base *Base, ref T, f form) (out []byte, ok bool) {
	most := 3 * len(ref) // each byte an escape
	if base != nil {
		most += len(base.url)
	}
	if most > MaxURL {
		return dst, false
	}
	i, n := 0, len(ref)
	for i < n && ref[i] <= ' ' {
		i++
	}
	for n > i && ref[n-1] <= ' ' {
		n--
	}
	ref = ref[i:n]
	n = len(ref)
	start := len(dst)
	out = dst
	i = 0
	var root int // where the path starts in out
	switch {
	case n > 7 && string(ref[:7]) == "http://":
		i = 7
		if out, i, ok = authority(append(out, "http://"...), ref, i, "http"); !ok {
			return dst, false
		}
		root = len(out)
	case n > 8 && string(ref[:8]) == "https://":
		i = 8
		if out, i, ok = authority(append(out, "https://"...), ref, i, "https"); !ok {
			return dst, false
		}
		root = len(out)
	case base == nil:
		return dst, false
	case n == 0 || ref[0] == '#':
		return append(out, base.url...), true
	case ref[0] == '?':
		return query(dst, append(out, base.url[:base.path]...), base, ref, f)
	case ref[0] == '/' && n > 1 && ref[1] == '/':
		out = append(append(out, base.scheme...), "://"...)
		if out, i, ok = authority(out, ref, 2, base.scheme); !ok {
			return dst, false
		}
		root = len(out)
	case ref[0] == '/':
		out = append(out, base.url[:base.origin]...)
		root = len(out)
	default:
		for j := 0; j < n && ref[j] != '/' && ref[j] != '?' && ref[j] != '#'; j++ {
			if ref[j] == ':' {
				return dst, false
			}
		}
		out = append(out, base.url[:base.dir]...)
		root = start + base.origin
	}

	// The path: segment by segment, "." and ".." worked off.
	if len(out) == root {
		out = append(out, '/')
		if i < n && ref[i] == '/' {
			i++
		}
	}
	segment := len(out) // where the segment starts in out
	for {
		run := i
		for i < n && class[ref[i]]&inPath != 0 {
			i++
		}
		out = append(out, ref[run:i]...)
		if i < n && ref[i] == '.' {
			out = append(out, '.')
			i++
			continue
		}
		if i < n && ref[i] != '/' && ref[i] != '?' && ref[i] != '#' {
			used := 0
			if out, used = escaped(out, ref[i:], f); used == 0 {
				return dst, false
			}
			i += used
			continue
		}
		// The segment ends here.
		dots := false
		if l := len(out) - segment; l > 0 && l <= 2 && out[segment] == '.' && out[len(out)-1] == '.' {
			dots = true
			out = out[:segment]
			if l == 2 && segment-1 > root {
				segment--
				for out[segment-1] != '/' {
					segment--
				}
				out = out[:segment]
			}
		}
		if i == n || ref[i] == '#' {
			return out, true
		}
		if ref[i] == '?' {
			return query(dst, out, base, ref[i:], f)
		}
		if i++; !dots {
			out = append(out, '/')
			segment = len(out)
		}
	}
}

// query appends ref, which starts with "?".
func query[T string | []byte](dst, out []byte, base *Base, ref T, f form) ([]byte, bool) {
	out = append(out, '?')
	for i, n := 1, len(ref); ; {
		run := i
		for i < n && class[ref[i]]&inQuery != 0 {
			i++
		}
		out = append(out, ref[run:i]...)
		if i == n || ref[i] == '#' {
			return out, true
		}
		if ref[i] >= utf8.RuneSelf && base != nil && base.enc != nil {
			return dst, false
		}
		used := 0
		if out, used = escaped(out, ref[i:], f); used == 0 {
			return dst, false
		}
		i += used
	}
}

// escaped appends what ref starts with, of a path or query: an escape, a space, or a character
// beyond ASCII. It returns how many bytes that was, 0 for anything else.
func escaped[T string | []byte](out []byte, ref T, f form) ([]byte, int) {
	switch c := ref[0]; {
	case c == ' ':
		return append(out, "%20"...), 1
	case c == '%':
		if len(ref) < 3 || class[ref[1]]&isHex == 0 || class[ref[2]]&isHex == 0 || class[unhex(ref[1])<<4|unhex(ref[2])]&isUnreserved != 0 {
			return out, 0
		}
		if f == asReference {
			return append(out, ref[:3]...), 3
		}
		return append(out, '%', upper(ref[1]), upper(ref[2])), 3
	case c >= utf8.RuneSelf:
		var b [utf8.UTFMax]byte
		r, size := utf8.DecodeRune(b[:copy(b[:], ref)])
		if r == utf8.RuneError {
			return out, 0
		}
		for _, c := range b[:size] {
			out = append(out, '%', upperHex[c>>4], upperHex[c&15])
		}
		return out, size
	}
	return out, 0
}

// authority appends host and port, which start at ref[i], and returns where they end.
func authority[T string | []byte](out []byte, ref T, i int, scheme string) ([]byte, int, bool) {
	start := i
	n := len(ref)
	for i < n && class[ref[i]]&inHost != 0 {
		i++
	}
	if !plainHost(ref[start:i]) {
		return out, 0, false
	}
	if i < n && ref[i] == ':' {
		port, digits := 0, i+1
		for i++; i < n && '0' <= ref[i] && ref[i] <= '9' && port <= 65535; i++ {
			port = 10*port + int(ref[i]-'0')
		}
		if i == digits || ref[digits] == '0' || port > 65535 || scheme == "http" && port == 80 || scheme == "https" && port == 443 {
			return out, 0, false
		}
	}
	if i < n && ref[i] != '/' && ref[i] != '?' && ref[i] != '#' {
		return out, 0, false
	}
	return append(out, ref[start:i]...), i, true
}

// plainHost reports whether host, of bytes inHost, is its own canonical form: labels of
// letters, digits and inner hyphens, no punycode, and a last label that starts with a letter;
// or a dotted quad.
func plainHost[T string | []byte](host T) bool {
	n := len(host)
	if n == 0 || n > 253 {
		return false
	}
	label := 0
	for i := 0; i <= n; i++ {
		if i < n && host[i] != '.' {
			continue
		}
		l := i - label
		if l == 0 || l > 63 || host[label] == '-' || host[i-1] == '-' || l > 3 && host[label+2] == '-' && host[label+3] == '-' {
			return false
		}
		if i < n {
			label = i + 1
		}
	}
	if 'a' <= host[label] && host[label] <= 'z' {
		return true
	}
	// A dotted quad without leading zeros.
	dots, value, digits := 0, 0, 0
	for i := 0; i < n; i++ {
		switch c := host[i]; {
		case c == '.':
			dots++
			value, digits = 0, 0
		case c < '0' || c > '9' || digits > 0 && value == 0:
			return false
		default:
			value = 10*value + int(c-'0')
			if digits++; value > 255 {
				return false
			}
		}
	}
	return dots == 3
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 0x20
	}
	return c
}
