package link

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/nlnwa/whatwg-url/url"
)

// ErrScheme is wrapped by the error for a URL that is not of http or https.
var ErrScheme = errors.New("not an http or https URL")

// ErrNoURL is wrapped by the error for what is no URL at all.
var ErrNoURL = errors.New("not a URL")

// Parse returns the identity of an absolute URL: two URLs are one where it is the same. It is
// the URL as a browser would ask for it (WHATWG), without fragment, user and password, escapes
// in upper case and those of unreserved characters decoded. Nothing else is merged, because a
// server may tell it apart. Parse(Parse(u)) is Parse(u). Errors wrap ErrScheme or ErrNoURL.
func Parse(raw string) (string, error) {
	if s, ok := parseClean(raw); ok {
		return s, nil
	}
	u, err := parse(raw, nil)
	if err != nil {
		return "", err
	}
	return identity(u, raw)
}

var parser = url.NewParser(url.WithAcceptInvalidCodepoints())

// parse is WHATWG's parser; base may be nil. The library wants valid UTF-8, and there are
// inputs that make it panic: to us they are no URLs.
func parse(raw string, base *url.Url) (u *url.Url, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %q: %v", ErrNoURL, shorten(raw), p)
		}
	}()
	u, err = parser.BasicParser(strings.ToValidUTF8(raw, "\uFFFD"), base, nil, url.NoState)
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", ErrNoURL, shorten(raw), err)
	}
	return u, nil
}

// identity returns the identity of a parsed URL.
func identity(u *url.Url, raw string) (string, error) {
	if p := u.Protocol(); p != "http:" && p != "https:" {
		return "", fmt.Errorf("%w: %q", ErrScheme, shorten(raw))
	}
	if u.Username() != "" || u.Password() != "" {
		u.SetUsername("")
		u.SetPassword("")
	}
	return unescape(u.Href(true)), nil
}

// shorten cuts a URL for a message.
func shorten(s string) string {
	if len(s) > 100 {
		return strings.ToValidUTF8(s[:100], "") + "…"
	}
	return s
}

// unescape decodes the escapes of unreserved characters and writes the others in upper case.
// An escape whose character would become part of another one, as in %%341, stays.
func unescape(s string) string {
	first := strings.IndexByte(s, '%')
	if first < 0 {
		return s
	}
	b := append(make([]byte, 0, len(s)), s[:first]...)
	bare := -3 // where in b the last % stands that begins no escape
	for i := first; i < len(s); i++ {
		switch {
		case s[i] != '%':
			b = append(b, s[i])
		case i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]):
			bare = len(b)
			b = append(b, '%')
		default:
			c := unhex(s[i+1])<<4 | unhex(s[i+2])
			if class[c]&unreserved != 0 && !(isHex(c) && bare >= len(b)-2) {
				b = append(b, c)
			} else {
				b = append(b, '%', upperHex[c>>4], upperHex[c&15])
			}
			i += 2
		}
	}
	return string(b)
}

// escapeStays reports whether an escape with these two characters is its own identity.
func escapeStays(a, b byte) bool {
	return isUpperHex(a) && isUpperHex(b) && class[unhex(a)<<4|unhex(b)]&unreserved == 0
}

const upperHex = "0123456789ABCDEF"

func isUpperHex(c byte) bool { return '0' <= c && c <= '9' || 'A' <= c && c <= 'F' }
func isHex(c byte) bool      { return isUpperHex(c) || 'a' <= c && c <= 'f' }

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}

// class tells of each byte what the fast path may do with it.
var class [256]uint8

const (
	unreserved = 1 << iota // RFC 3986: stands for itself everywhere
	pathByte               // WHATWG leaves it alone in a path
	queryByte              // and in a query
	hostByte               // of a host that is its own normal form
)

var _ = func() bool {
	for c := range 128 {
		b := byte(c)
		switch {
		case 'a' <= b && b <= 'z', '0' <= b && b <= '9':
			class[c] = unreserved | pathByte | queryByte | hostByte
		case 'A' <= b && b <= 'Z', b == '_', b == '~':
			class[c] = unreserved | pathByte | queryByte
		case b == '-', b == '.':
			class[c] = unreserved | pathByte | queryByte | hostByte
		case strings.IndexByte("/!$&()*+,;=:@", b) >= 0:
			class[c] = pathByte | queryByte
		case b == '?':
			class[c] = queryByte
		case b == '\'':
			class[c] = pathByte
		}
	}
	return true
}()

// cleanTail reports whether s, a path with or without a query, is its own identity but for dot
// segments: WHATWG parsing and unescape leave every byte of it alone. It tells whether there is
// anything that looks like a dot segment.
func cleanTail(s string) (ok, dots bool) {
	want := uint8(pathByte)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if class[c]&want != 0 {
			if c == '.' && want == pathByte && (i == 0 || s[i-1] == '/') {
				dots = true
			}
			continue
		}
		switch {
		case c == '?' && want == pathByte:
			want = queryByte
		case c == '%' && i+2 < len(s) && escapeStays(s[i+1], s[i+2]):
			i += 2
		default:
			return false, false
		}
	}
	return true, dots
}

// parseClean is Parse for URLs that are, but for a fragment, a default port, dot segments or
// an empty path, their own identity; ok is false for all others.
func parseClean(raw string) (_ string, ok bool) {
	scheme := len("http://")
	if !strings.HasPrefix(raw, "http://") {
		if !strings.HasPrefix(raw, "https://") {
			return "", false
		}
		scheme = len("https://")
	}
	if i := strings.IndexByte(raw, '#'); i >= 0 {
		raw = raw[:i]
	}
	end := scheme
	for end < len(raw) && class[raw[end]]&hostByte != 0 {
		end++
	}
	if !cleanHost(raw[scheme:end]) {
		return "", false
	}
	tail := end
	if end < len(raw) && raw[end] == ':' {
		tail++
		for tail < len(raw) && '0' <= raw[tail] && raw[tail] <= '9' {
			tail++
		}
		port := raw[end+1 : tail]
		if len(port) == 0 || len(port) > 4 || port[0] == '0' {
			if len(port) != 5 || port[0] == '0' || port > "65535" {
				return "", false
			}
		}
		if port == "80" && scheme == len("http://") || port == "443" && scheme == len("https://") {
			return "", false
		}
	}
	if tail == len(raw) {
		return raw + "/", true
	}
	if raw[tail] != '/' {
		return "", false
	}
	clean, dots := cleanTail(raw[tail:])
	if !clean {
		return "", false
	}
	if dots {
		return raw[:tail] + removeDots(raw[tail:]), true
	}
	return raw, true
}

// cleanHost reports whether a host of hostBytes is its own normal form: a dotted quad, or
// labels of which the last has a letter and none may need IDNA.
func cleanHost(h string) bool {
	if h == "" || h[0] == '.' || h[len(h)-1] == '.' || strings.Contains(h, "..") || strings.Contains(h, "--") {
		return false
	}
	last := h[strings.LastIndexByte(h, '.')+1:]
	if '0' <= last[0] && last[0] <= '9' {
		a, err := netip.ParseAddr(h)
		return err == nil && a.Is4()
	}
	for label := range strings.SplitSeq(h, ".") {
		if label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	return true
}

// removeDots resolves the segments "." and ".." of a path, which may be followed by a query.
func removeDots(s string) string {
	path, query := s, ""
	if i := strings.IndexByte(s, '?'); i >= 0 {
		path, query = s[:i], s[i:]
	}
	out := make([]byte, 0, len(s))
	for path != "" {
		// path starts with a slash.
		end := strings.IndexByte(path[1:], '/') + 1
		if end == 0 {
			end = len(path)
		}
		segment, last := path[1:end], end == len(path)
		path = path[end:]
		switch segment {
		case ".":
		case "..":
			for len(out) > 0 {
				out = out[:len(out)-1]
				if len(out) == 0 || out[len(out):cap(out)][0] == '/' {
					break
				}
			}
		default:
			out = append(append(out, '/'), segment...)
			continue
		}
		if last {
			out = append(out, '/')
		}
	}
	return string(append(out, query...))
}

// A Base is what relative references are resolved against. It is safe for concurrent use.
type Base struct {
	url    string // identity
	origin string // scheme://host:port
	dir    string // path up to and with its last slash
	path   string
	clean  bool // resolving by concatenation is right
}

// NewBase returns a base for references in the document at rawURL. Errors are those of Parse.
func NewBase(rawURL string) (*Base, error) {
	u, err := Parse(rawURL)
	if err != nil {
		return nil, err
	}
	b := &Base{url: u}
	slash := strings.IndexByte(u[len("https://"):], '/') + len("https://")
	b.origin, b.path = u[:slash], u[slash:]
	if i := strings.IndexByte(b.path, '?'); i >= 0 {
		b.path = b.path[:i]
	}
	b.dir = b.path[:strings.LastIndexByte(b.path, '/')+1]
	b.clean, _ = cleanTail(b.path)
	return b, nil
}

// URL returns the identity of the base.
func (b *Base) URL() string { return b.url }

// Resolve returns the identity of a reference that stands in a document in UTF-8. Errors wrap
// ErrScheme or ErrNoURL.
func (b *Base) Resolve(ref string) (string, error) {
	if s, ok := b.resolveClean(ref); ok {
		return s, nil
	}
	u, err := b.parse(ref)
	if err != nil {
		return "", err
	}
	return identity(u, ref)
}

// Reference returns the URL that a reference resolves to as a browser has it, without
// fragment, before identity is taken. Errors wrap ErrScheme or ErrNoURL.
func (b *Base) Reference(ref string) (string, error) {
	u, err := b.parse(ref)
	if err != nil {
		return "", err
	}
	if _, err := identity(u, ref); err != nil {
		return "", err
	}
	return u.Href(true), nil
}

func (b *Base) parse(ref string) (*url.Url, error) {
	base, err := parse(b.url, nil)
	if err != nil {
		return nil, err
	}
	return parse(ref, base)
}

// resolveClean is Resolve for references whose bytes are their own identity.
func (b *Base) resolveClean(ref string) (_ string, ok bool) {
	if strings.HasPrefix(ref, "http") {
		if s, ok := parseClean(ref); ok {
			return s, true
		}
	}
	if i := strings.IndexByte(ref, '#'); i >= 0 {
		ref = ref[:i]
	}
	if ref == "" {
		return b.url, true
	}
	if !b.clean {
		return "", false
	}
	// A colon before any slash or query may end a scheme.
	if i := strings.IndexAny(ref, ":/?"); i >= 0 && ref[i] == ':' {
		return "", false
	}
	switch {
	case strings.HasPrefix(ref, "//"):
		scheme := b.origin[:strings.IndexByte(b.origin, ':')+1]
		return parseClean(scheme + ref)
	case ref[0] == '/':
		clean, dots := cleanTail(ref)
		if !clean {
			return "", false
		}
		if dots {
			ref = removeDots(ref)
		}
		return b.origin + ref, true
	case ref[0] == '?':
		for i := 1; i < len(ref); i++ {
			if c := ref[i]; c == '%' && i+2 < len(ref) && escapeStays(ref[i+1], ref[i+2]) {
				i += 2
			} else if class[c]&queryByte == 0 {
				return "", false
			}
		}
		return b.origin + b.path + ref, true
	}
	clean, dots := cleanTail(ref)
	if !clean {
		return "", false
	}
	if dots {
		return b.origin + removeDots(b.dir+ref), true
	}
	return b.origin + b.dir + ref, true
}

// DropParams returns a URL without the query parameters that match one of the patterns: names,
// or prefixes that end in *, such as utm_*.
func DropParams(u string, patterns []string) string {
	i := strings.IndexByte(u, '?')
	if i < 0 || len(patterns) == 0 {
		return u
	}
	var kept []string
	dropped := false
	for param := range strings.SplitSeq(u[i+1:], "&") {
		name, _, _ := strings.Cut(param, "=")
		if matchesParam(name, patterns) {
			dropped = true
		} else {
			kept = append(kept, param)
		}
	}
	switch {
	case !dropped:
		return u
	case len(kept) == 0:
		return u[:i]
	}
	return u[:i+1] + strings.Join(kept, "&")
}

func matchesParam(name string, patterns []string) bool {
	for _, p := range patterns {
		if prefix, ok := strings.CutSuffix(p, "*"); ok && strings.HasPrefix(name, prefix) || name == p {
			return true
		}
	}
	return false
}
