package link

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nlnwa/whatwg-url/url"
	"golang.org/x/text/encoding"
)

// ErrScheme is wrapped by the error for a URL that is not of http or https.
var ErrScheme = errors.New("not an http or https URL")

// ErrNoURL is wrapped by the error for what is no URL at all.
var ErrNoURL = errors.New("not a URL")

// MaxURL is the length in bytes beyond which a URL is refused, as it came and as it is asked for.
const MaxURL = 8192

// MaxBase is the length in bytes beyond which what a document gives for the base of its references is
// none: a short page must not make long URLs of many short references. 2,048 is what search engines
// and the sitemap protocol allow a URL.
const MaxBase = 2048

// Parse returns the identity of an absolute URL: two URLs are one where it is the same. It is
// the URL as a browser would ask for it (WHATWG), without fragment, user and password, escapes
// in upper case and those of unreserved characters decoded. Nothing else is merged, because a
// server may tell it apart. Parse(Parse(u)) is Parse(u). Errors wrap ErrScheme or ErrNoURL.
func Parse(raw string) (string, error) {
	var room [256]byte
	if out, ok := fast(room[:0], nil, raw, asIdentity); ok {
		if string(out) == raw {
			return raw, nil
		}
		return string(out), nil
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
	if len(raw) > MaxURL {
		return nil, tooLong(raw)
	}
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
	href, err := reference(u, raw)
	return unescape(href), err
}

// reference returns a parsed URL without fragment, user and password.
func reference(u *url.Url, raw string) (string, error) {
	if p := u.Protocol(); p != "http:" && p != "https:" {
		return "", fmt.Errorf("%w: %q", ErrScheme, shorten(raw))
	}
	if u.Username() != "" || u.Password() != "" {
		u.SetUsername("")
		u.SetPassword("")
	}
	href := u.Href(true)
	if len(href) > MaxURL {
		return "", tooLong(href)
	}
	return href, nil
}

func tooLong(url string) error {
	return fmt.Errorf("%w: %q: longer than %d bytes", ErrNoURL, shorten(url), MaxURL)
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
		case i+2 >= len(s) || class[s[i+1]]&isHex == 0 || class[s[i+2]]&isHex == 0:
			bare = len(b)
			b = append(b, '%')
		default:
			c := unhex(s[i+1])<<4 | unhex(s[i+2])
			if class[c]&isUnreserved != 0 && !(class[c]&isHex != 0 && bare >= len(b)-2) {
				b = append(b, c)
			} else {
				b = append(b, '%', upperHex[c>>4], upperHex[c&15])
			}
			i += 2
		}
	}
	return string(b)
}

const upperHex = "0123456789ABCDEF"

// encodeQuery writes the characters of ref's query that are not ASCII in the document's own
// encoding, percent-encoded, as links of old documents want it. What the encoding does not have
// becomes a character reference.
func encodeQuery(ref string, enc encoding.Encoding) string {
	q := strings.IndexByte(ref, '?')
	if q < 0 {
		return ref
	}
	end := len(ref)
	if h := strings.IndexByte(ref, '#'); h >= 0 {
		if h < q {
			return ref
		}
		end = h
	}
	if ascii([]byte(ref[q:end])) {
		return ref
	}
	out := []byte(ref[:q])
	e := enc.NewEncoder()
	for _, r := range ref[q:end] {
		if r < 0x80 {
			out = append(out, byte(r))
			continue
		}
		e.Reset()
		bytes, err := e.Bytes([]byte(string(r)))
		if err != nil {
			out = fmt.Appendf(out, "%%26%%23%d%%3B", r)
			continue
		}
		for _, c := range bytes {
			out = append(out, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(append(out, ref[end:]...))
}

// A Base is what relative references are resolved against. It is safe for concurrent use.
type Base struct {
	url    string // identity
	scheme string // http or https
	origin int    // length of scheme, host and port in url
	path   int    // length of url without the query
	dir    int    // length of url up to the last slash of the path

	enc encoding.Encoding // of the document's queries; nil is UTF-8
}

// NewBase returns a base for references in the document at rawURL. Errors are those of Parse.
func NewBase(rawURL string) (*Base, error) {
	u, err := Parse(rawURL)
	if err != nil {
		return nil, err
	}
	b := new(Base)
	b.set(u)
	return b, nil
}

// set makes u, an identity, the base.
func (b *Base) set(u string) {
	b.url, b.scheme = u, "http"
	host := len("http://")
	if u[4] == 's' {
		b.scheme = "https"
		host++
	}
	b.origin = host + strings.IndexByte(u[host:], '/')
	b.path = len(u)
	if q := strings.IndexByte(u, '?'); q >= 0 {
		b.path = q
	}
	b.dir = strings.LastIndexByte(u[:b.path], '/') + 1
}

// URL returns the identity of the base.
func (b *Base) URL() string { return b.url }

// Resolve returns the identity of a reference. Errors wrap ErrScheme or ErrNoURL.
func (b *Base) Resolve(ref string) (string, error) {
	var room [256]byte
	if out, ok := fast(room[:0], b, ref, asIdentity); ok {
		return string(out), nil
	}
	return b.resolveSlow(ref)
}

func (b *Base) resolveSlow(ref string) (string, error) {
	u, err := b.parse(ref)
	if err != nil {
		return "", err
	}
	return identity(u, ref)
}

// Reference returns the URL that a reference resolves to as a browser asks for it, without
// fragment, user and password, before identity is taken. Errors wrap ErrScheme or ErrNoURL.
func (b *Base) Reference(ref string) (string, error) {
	var room [256]byte
	if out, ok := fast(room[:0], b, ref, asReference); ok {
		return string(out), nil
	}
	u, err := b.parse(ref)
	if err != nil {
		return "", err
	}
	return reference(u, ref)
}

func (b *Base) parse(ref string) (*url.Url, error) {
	base, err := parse(b.url, nil)
	if err != nil {
		return nil, err
	}
	if b.enc != nil {
		ref = encodeQuery(ref, b.enc)
	}
	return parse(ref, base)
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
