package warc

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// ErrNoKey says that a text is no URL that an index could have.
var ErrNoKey = errors.New("no URL that has a key")

var (
	numeric = regexp.MustCompile(`^(?:[1-9][0-9]*(?:\.[0-9]+){0,3}|0[0-7]*(?:\.[0-7]+){0,3})$`)
	inPath  = []*regexp.Regexp{
		regexp.MustCompile(`(?i)^(.*/)((?:\((?:[a-z]\([0-9a-z]{24}\))+\)/))([^?]+\.aspx.*)$`),
		regexp.MustCompile(`(?i)^(.*/)(\([0-9a-z]{24}\)/)([^?]+\.aspx.*)$`),
	}
	inQuery = []*regexp.Regexp{
		regexp.MustCompile(`(?i)^(.*)(?:jsessionid=[0-9a-z]{32})(?:&(.*))?$`),
		regexp.MustCompile(`(?i)^(.*)(?:phpsessid=[0-9a-z]{32})(?:&(.*))?$`),
		regexp.MustCompile(`(?i)^(.*)(?:sid=[0-9a-z]{32})(?:&(.*))?$`),
		regexp.MustCompile(`(?i)^(.*)(?:aspsessionid[a-z]{8}=[a-z]{24})(?:&(.*))?$`),
		regexp.MustCompile(`(?i)^(.*)(?:cfid=[^&]+&cftoken=[^&]+)(?:&(.*))?$`),
	}
)

// Key returns what an index of an archive files a URL under: its SURT (sort-friendly URI reordering transform), such as
// org,example)/a?b=c for http://www.Example.org:80/A/?b=c. URLs that differ in case, in www., in a session number, or in the order
// of parameters have one key. The rules are those of the Internet Archive's Wayback, as the Python package surt 0.3 has
// them, which pywb uses. The error is ErrNoKey. O(len(url)), for a few escapes of escapes.
func Key(url string) (string, error) {
	if strings.HasPrefix(url, "filedesc") {
		return url, nil
	}
	url = strings.Trim(url, " \t\n\r\v\f")
	if strings.ContainsAny(url, "\n\r\t") {
		url = strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(url)
	}
	if url == "" {
		return "", ErrNoKey
	}
	if schemeOf(url) == "" {
		url = "http://" + url
	}
	scheme, authority, path, query := split(lastScheme(url))
	host, port, err := hostPort(authority)
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(scheme, "http") && host == "" && path != "" {
		var rest string
		host, rest, _ = strings.Cut(strings.TrimLeft(path, "/"), "/")
		path = "/" + rest
	}
	switch s := strings.ToLower(scheme); {
	case s == "http" && port == 80, s == "https" && port == 443:
		port = 0
	}
	host, path = canonicalHost(host), unescape(path)
	var b strings.Builder
	if host == "" {
		b.WriteString(scheme + ":")
	} else {
		path = withoutDots(path)
		if scheme != "dns" {
			host = withoutWWW(host)
		}
		labels := strings.Split(host, ".")
		slices.Reverse(labels)
		b.WriteString(strings.Join(labels, ","))
		if port != 0 {
			b.WriteString(":" + strconv.Itoa(port))
		}
		b.WriteByte(')')
	}
	path = strings.ToLower(escape(path))
	for _, r := range inPath {
		if strings.Contains(path, ".aspx") {
			path = r.ReplaceAllString(path, "$1$3")
		}
	}
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	query = sortedQuery(escape(unescape(query)))
	b.WriteString(path)
	if query != "" {
		if path == "" {
			b.WriteByte('/')
		}
		b.WriteString("?" + query)
	}
	return b.String(), nil
}

// schemeOf returns the scheme of a URL, "" where it has none.
func schemeOf(url string) string {
	for i := range len(url) {
		switch c := url[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return url[:i]
		default:
			return ""
		}
	}
	return ""
}

// lastScheme takes away all but the last http:// or https:// that a URL begins with.
func lastScheme(url string) string {
	for {
		scheme := schemeOf(url)
		if scheme != "http" && scheme != "https" || !strings.HasPrefix(url[len(scheme):], "://") {
			return url
		}
		rest := url[len(scheme)+len("://"):]
		if !strings.HasPrefix(rest, "http://") && !strings.HasPrefix(rest, "https://") {
			return url
		}
		url = rest
	}
}

// split takes a URL apart, as RFC 2396 has it in appendix B. What stands after # is left out.
func split(url string) (scheme, authority, path, query string) {
	url, _, _ = strings.Cut(url, "#")
	if scheme = schemeOf(url); scheme != "" {
		url = url[len(scheme)+1:]
	}
	url, query, _ = strings.Cut(url, "?")
	if rest, ok := strings.CutPrefix(url, "//"); ok {
		end := strings.IndexByte(rest, '/')
		if end < 0 {
			end = len(rest)
		}
		return scheme, rest[:end], rest[end:], query
	}
	return scheme, "", url, query
}

// withoutWWW takes away the www., or the like of www2., that a host begins with.
func withoutWWW(host string) string {
	if rest, ok := strings.CutPrefix(host, "www"); ok {
		if rest, ok = strings.CutPrefix(strings.TrimLeft(rest, "0123456789"), "."); ok {
			return rest
		}
	}
	return host
}

// hostPort takes an authority apart. port is 0 where there is none.
func hostPort(authority string) (host string, port int, err error) {
	authority = strings.TrimRight(authority, ":")
	hostinfo := authority[strings.LastIndexByte(authority, '@')+1:]
	host, digits, _ := strings.Cut(hostinfo, ":")
	if _, bracketed, ok := strings.Cut(hostinfo, "["); ok {
		var rest string
		host, rest, _ = strings.Cut(bracketed, "]")
		_, digits, _ = strings.Cut(rest, ":")
	}
	if digits != "" {
		n, err := strconv.ParseUint(digits, 10, 16)
		if err != nil {
			return "", 0, ErrNoKey
		}
		port = int(n)
	}
	return host, port, nil
}

// canonicalHost returns a host as it is compared: in lower case, by its ASCII name, and addresses as four numbers.
func canonicalHost(host string) string {
	host = unescape(host)
	if strings.ContainsFunc(host, func(r rune) bool { return r >= 0x80 }) && !strings.Contains(host, "..") && host[0] != '.' { // no label is empty
		if ascii, err := idna.Punycode.ToASCII(strings.ToLower(strings.ToValidUTF8(host, ""))); err == nil {
			host = ascii
		}
	}
	host = strings.Trim(strings.ReplaceAll(host, "..", "."), ".")
	if host != "" && strings.Trim(host, "0123456789.") == "" && (numeric.MatchString(host) || !strings.Contains(host, ".")) {
		if a, ok := address(host); ok {
			return a
		}
	}
	return strings.ToLower(escape(asciiLower(host)))
}

// asciiLower is strings.ToLower for text in any encoding.
func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}

// address reads an address of IPv4 as old programs do: of one to four numbers, of which the last fills what is left, and that are octal
// after a 0. A single number may be too large, and counts modulo 2^32.
func address(host string) (string, bool) {
	parts := strings.Split(host, ".")
	if len(parts) == 1 {
		var n uint32
		for _, d := range host {
			n = n*10 + uint32(d-'0')
		}
		return quad(n), true
	}
	var n uint32
	for i, p := range parts {
		base, room := 10, 8
		if len(p) > 1 && p[0] == '0' {
			base = 8
		}
		if i == len(parts)-1 {
			room = 8 * (5 - len(parts))
		}
		v, err := strconv.ParseUint(p, base, room)
		if err != nil {
			return "", false
		}
		n = n<<room | uint32(v)
	}
	return quad(n), true
}

func quad(n uint32) string {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	return netip.AddrFrom4(b).String()
}

// withoutDots resolves . and .. in a path, and takes double slashes for one.
func withoutDots(path string) string {
	if path == "" {
		return "/"
	}
	var kept []string
	for _, p := range strings.Split(path, "/")[1:] {
		switch {
		case p == ".":
		case p == ".." && len(kept) > 0:
			kept = kept[:len(kept)-1]
		default:
			kept = append(kept, p)
		}
	}
	var b strings.Builder
	b.WriteByte('/')
	for i, p := range kept {
		if b.WriteString(p); p != "" && i < len(kept)-1 {
			b.WriteByte('/')
		}
	}
	return b.String()
}

// sortedQuery takes session numbers out of a query, and sorts its parameters.
func sortedQuery(query string) string {
	if lower := strings.ToLower(query); strings.Contains(lower, "sid=") || strings.Contains(lower, "sessionid") || strings.Contains(lower, "cfid=") {
		for _, r := range inQuery {
			query = r.ReplaceAllString(query, "$1$2")
		}
	}
	if query = strings.ToLower(query); len(query) <= 1 {
		return query
	}
	args := strings.Split(query, "&")
	slices.SortStableFunc(args, func(a, b string) int {
		x, xv, xok := strings.Cut(a, "=")
		y, yv, yok := strings.Cut(b, "=")
		if xok != yok && x == y {
			if xok {
				return 1
			}
			return -1
		}
		return cmp.Or(strings.Compare(x, y), strings.Compare(xv, yv))
	})
	return strings.Join(args, "&")
}

// unescape resolves percent-encoded bytes, and those that this makes, until there are no more.
func unescape(s string) string {
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			return s
		}
		b := make([]byte, 0, len(s))
		for i := 0; i < len(s); i++ {
			if s[i] == '%' && i+2 < len(s) {
				if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil && s[i+1] != '+' && s[i+1] != '-' {
					b = append(b, byte(v))
					i += 2
					continue
				}
			}
			b = append(b, s[i])
		}
		if len(b) == len(s) {
			return s
		}
		s = string(b)
	}
}

// escape percent-encodes what is not printable ASCII, and the signs # and %.
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	plain := func(c byte) bool { return c > ' ' && c < 0x7f && c != '#' && c != '%' }
	if !slices.ContainsFunc([]byte(s), func(c byte) bool { return !plain(c) }) {
		return s
	}
	var b bytes.Buffer
	for i := range len(s) {
		if c := s[i]; plain(c) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}
