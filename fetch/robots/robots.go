// Package robots reads robots.txt and tells which URLs an agent may fetch (RFC 9309).
//
// Parse never fails: what cannot be understood is passed over, as the RFC wants. Where the
// RFC leaves room, the package does as Google's matcher does, against whose tests and those
// of other matchers it is held: misspelt keys, missing colons, over-long lines, an Allow of
// an index page, agents as prefixes of letters, "-" and "_".
//
// Matching works on bytes and costs O(rules + length of patterns and path): a pattern is cut
// at its stars and the pieces are looked for from left to right, without going back.
package robots

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// Limits of what is read.
const (
	MaxSize  = 500 << 10  // bytes of a file; the rest is not read
	maxLine  = 2083*8 - 1 // bytes of a line; the rest is not read
	MaxDelay = 300 * time.Second
)

// A File is a parsed robots.txt. It is immutable and safe for concurrent use. The zero File
// allows everything.
type File struct {
	Sitemaps []string // values of Sitemap lines, in order, as they stand there

	groups []group
	says   bool // some group has preferences
}

// A group is a run of User-agent lines with the rules that follow.
type group struct {
	agents []string // product tokens in lower case; "*" for all
	rules  []rule
	delay  time.Duration // of Crawl-delay; -1: none
	prefs  []preference
}

// A preference is a Content-Usage or Content-Signal line: what it says of the use of paths.
type preference struct {
	rule
	signal bool // Content-Signal
	text   string
}

// A rule allows or disallows paths.
type rule struct {
	allow  bool
	length int      // octets of the pattern: the longest match wins
	pieces []string // between the stars
	end    bool     // the pattern ends in $
}

// Parse reads the first MaxSize bytes of body.
func Parse(body []byte) *File {
	if len(body) > MaxSize {
		body = body[:MaxSize]
	}
	p := parser{f: new(File)}
	body = trimBOM(body)
	for len(body) > 0 {
		i := bytes.IndexAny(body, "\r\n")
		if i < 0 {
			i = len(body)
		}
		line := body[:i]
		if len(line) > maxLine {
			line = line[:maxLine]
		}
		p.line(line)
		body = body[min(i+1, len(body)):]
	}
	return p.f
}

// trimBOM drops a UTF-8 byte order mark, also one that is cut short.
func trimBOM(b []byte) []byte {
	const bom = "\xef\xbb\xbf"
	for i := range len(bom) {
		if i >= len(b) || b[i] != bom[i] {
			return b[i:]
		}
	}
	return b[len(bom):]
}

type parser struct {
	f      *File
	ruled  bool // a rule has been read since the last User-agent line
	inside bool // a User-agent line has been read
}

func (p *parser) line(line []byte) {
	key, value, ok := split(line)
	if !ok {
		return
	}
	switch kindOf(key) {
	case agentKey:
		if !p.inside || p.ruled {
			p.f.groups = append(p.f.groups, group{delay: -1})
			p.inside, p.ruled = true, false
		}
		g := &p.f.groups[len(p.f.groups)-1]
		if value != "" && value[0] == '*' && (len(value) == 1 || isSpace(value[1])) {
			g.agents = append(g.agents, "*")
		} else {
			g.agents = append(g.agents, Token(value))
		}
	case allowKey:
		p.rule(true, value)
	case disallowKey:
		p.rule(false, value)
	case delayKey:
		if s, err := strconv.ParseFloat(value, 64); err == nil && s >= 0 && p.inside {
			if g := &p.f.groups[len(p.f.groups)-1]; g.delay < 0 {
				g.delay = time.Duration(min(s, MaxDelay.Seconds()) * float64(time.Second))
			}
		}
	case usageKey, signalKey:
		p.preference(kindOf(key) == signalKey, value)
	case sitemapKey:
		if value != "" {
			p.f.Sitemaps = append(p.f.Sitemaps, value)
		}
	}
}

func (p *parser) rule(allow bool, pattern string) {
	if !p.inside {
		return
	}
	p.ruled = true
	g := &p.f.groups[len(p.f.groups)-1]
	pattern = escape(pattern)
	g.rules = append(g.rules, newRule(allow, pattern))
	// Allowing /dir/index.html allows /dir/ too.
	if slash := strings.LastIndexByte(pattern, '/'); allow && slash >= 0 && strings.HasPrefix(pattern[slash:], "/index.htm") {
		g.rules = append(g.rules, newRule(true, pattern[:slash+1]+"$"))
	}
}

// preference takes in a line "/path preferences", or one without a path, which is for all paths. It ends no run of
// User-agent lines, as lines do not that other crawlers do not know: which group holds for whom must not depend on it.
func (p *parser) preference(signal bool, value string) {
	if !p.inside || value == "" {
		return
	}
	path := ""
	if value[0] == '/' || value[0] == '*' {
		i := strings.IndexAny(value, " \t")
		if i < 0 {
			return
		}
		path, value = value[:i], strings.TrimLeft(value[i:], " \t")
	}
	g := &p.f.groups[len(p.f.groups)-1]
	g.prefs = append(g.prefs, preference{newRule(true, escape(path)), signal, value})
	p.f.says = true
}

func newRule(allow bool, pattern string) rule {
	r := rule{allow: allow, length: len(pattern)}
	if strings.HasSuffix(pattern, "$") {
		r.end, pattern = true, pattern[:len(pattern)-1]
	}
	r.pieces = strings.Split(pattern, "*")
	return r
}

// split cuts a line into key and value at the colon, or, where there is none, at the white
// space between two words.
func split(line []byte) (key, value string, ok bool) {
	if i := bytes.IndexByte(line, 0); i >= 0 { // as the model, in which lines end so
		line = line[:i]
	}
	if i := bytes.IndexByte(line, '#'); i >= 0 {
		line = line[:i]
	}
	line = trim(line)
	if i := bytes.IndexByte(line, ':'); i >= 0 {
		key, value = string(trim(line[:i])), string(trim(line[i+1:]))
	} else {
		i := bytes.IndexAny(line, " \t")
		if i < 0 {
			return "", "", false
		}
		rest := bytes.TrimLeft(line[i:], " \t")
		if bytes.ContainsAny(rest, " \t") {
			return "", "", false
		}
		key, value = string(trim(line[:i])), string(trim(rest))
	}
	return key, value, key != ""
}

func trim(b []byte) []byte { return bytes.Trim(b, " \t\n\v\f\r") }

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

type keyKind int

const (
	otherKey keyKind = iota
	agentKey
	allowKey
	disallowKey
	sitemapKey
	delayKey
	usageKey
	signalKey
)

var keys = []struct {
	prefix string
	kind   keyKind
}{
	{"user-agent", agentKey}, {"useragent", agentKey}, {"user agent", agentKey},
	{"allow", allowKey},
	{"disallow", disallowKey}, {"dissallow", disallowKey}, {"dissalow", disallowKey},
	{"disalow", disallowKey}, {"diasllow", disallowKey}, {"disallaw", disallowKey},
	{"sitemap", sitemapKey}, {"site-map", sitemapKey},
	{"crawl-delay", delayKey}, {"crawldelay", delayKey},
	{"content-usage", usageKey}, {"content-signal", signalKey},
}

func kindOf(key string) keyKind {
	for _, k := range keys {
		if len(key) >= len(k.prefix) && strings.EqualFold(key[:len(k.prefix)], k.prefix) {
			return k.kind
		}
	}
	return otherKey
}

// Token returns the product token that a User-Agent line, or the value of a User-agent line of
// robots.txt, starts with, in lower case: letters, "-" and "_".
func Token(s string) string {
	i := 0
	for i < len(s) && (s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z' || s[i] == '-' || s[i] == '_') {
		i++
	}
	return strings.ToLower(s[:i])
}

const hex = "0123456789ABCDEF"

// escape percent-encodes bytes beyond ASCII and writes escapes in upper case, as URLs have
// them when they are asked for.
func escape(s string) string {
	plain := true
	for i := range len(s) {
		if s[i] >= 0x80 || s[i] == '%' {
			plain = false
		}
	}
	if plain {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			b.WriteString(strings.ToUpper(s[i : i+3]))
			i += 2
		case c >= 0x80:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

// Allowed reports whether agent, a product token such as forage, may fetch url. The URL's path
// and query are matched as they stand: the caller has them percent-encoded. Of the rules of
// all groups for the agent, or without one of all groups for "*", the longest that matches
// decides, Allow where two are equally long. Cost O(groups + length of the rules that hold for
// the agent + rules × length of url), no allocation but for a URL without a path.
func (f *File) Allowed(agent, url string) bool {
	path := pathOf(url)
	own := f.names(agent)
	allow, disallow := -1, -1
	for i := range f.groups {
		g := &f.groups[i]
		if !g.holds(agent, own) {
			continue
		}
		for k := range g.rules {
			r := &g.rules[k]
			longest := &disallow
			if r.allow {
				longest = &allow
			}
			if r.length > *longest && r.matches(path) {
				*longest = r.length
			}
		}
	}
	return disallow <= 0 || allow >= disallow
}

// Preferences returns what the Content-Usage and the Content-Signal lines for agent say of url, which is matched as
// in Allowed: of each, the lines with the longest path that matches, all of them where several are as long, in order
// and as they stand there; none where none matches [draft-ietf-aipref-attach, 5]. Cost O(1) where the file has
// no such line, else as Allowed.
func (f *File) Preferences(agent, url string) (usage, signal []string) {
	if !f.says {
		return nil, nil
	}
	path := pathOf(url)
	own := f.names(agent)
	longest := [2]int{-1, -1}
	var found [2][]string
	for i := range f.groups {
		g := &f.groups[i]
		if len(g.prefs) == 0 || !g.holds(agent, own) {
			continue
		}
		for k := range g.prefs {
			p, of := &g.prefs[k], 0
			if p.signal {
				of = 1
			}
			if p.length < longest[of] || !p.matches(path) {
				continue
			}
			if p.length > longest[of] {
				longest[of], found[of] = p.length, nil
			}
			found[of] = append(found[of], p.text)
		}
	}
	return found[0], found[1]
}

// CrawlDelay returns the Crawl-delay for agent, at most MaxDelay, 0 where there is none.
func (f *File) CrawlDelay(agent string) time.Duration {
	own := f.names(agent)
	for i := range f.groups {
		if g := &f.groups[i]; g.delay >= 0 && g.holds(agent, own) {
			return g.delay
		}
	}
	return 0
}

// names reports whether some group is for agent by name.
func (f *File) names(agent string) bool {
	for i := range f.groups {
		if f.groups[i].holds(agent, true) {
			return true
		}
	}
	return false
}

// holds reports whether the group is for agent, by name, or else as one for all.
func (g *group) holds(agent string, byName bool) bool {
	name := "*"
	if byName {
		name = agent
	}
	for _, a := range g.agents {
		if strings.EqualFold(a, name) {
			return true
		}
	}
	return false
}

// pathOf returns the path, parameters and query of a URL, "/" where it has none.
func pathOf(url string) string {
	if i := strings.IndexByte(url, 0); i >= 0 {
		url = url[:i]
	}
	start := 0
	if strings.HasPrefix(url, "//") {
		start = 2
	}
	early := strings.IndexAny(url[start:], "/?;")
	from := start
	if scheme := strings.Index(url[start:], "://"); scheme >= 0 && (early < 0 || early >= scheme) {
		from = start + scheme + 3
	}
	i := strings.IndexAny(url[from:], "/?;")
	if i < 0 {
		return "/"
	}
	i += from
	end := len(url)
	if h := strings.IndexByte(url[start:], '#'); h >= 0 {
		if end = start + h; end < i {
			return "/"
		}
	}
	if url[i] != '/' {
		return "/" + url[i:end]
	}
	return url[i:end]
}

// matches reports whether the rule's pattern is a prefix of path, or with $ all of it.
func (r *rule) matches(path string) bool {
	rest, ok := strings.CutPrefix(path, r.pieces[0])
	if !ok {
		return false
	}
	pieces := r.pieces[1:]
	if len(pieces) == 0 {
		return !r.end || rest == ""
	}
	last := len(pieces) - 1
	if !r.end {
		last = len(pieces)
	}
	for _, p := range pieces[:last] {
		i := strings.Index(rest, p)
		if i < 0 {
			return false
		}
		rest = rest[i+len(p):]
	}
	return !r.end || strings.HasSuffix(rest, pieces[last])
}
