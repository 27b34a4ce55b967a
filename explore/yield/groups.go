package yield

import (
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// The groups of a URL:
//
//   - its template: the path with * for each segment, # for numbers and dates, ~ for hashes, the
//     extension kept, rows of segments that repeat themselves taken once, eight segments at most,
//     and the names of the parameters in alphabetical order;
//   - each of its first three segments, and the last one, by place and text;
//   - each name of a parameter, numbers in it apart;
//   - each parameter with its value, unless that is a number or a hash, or is long;
//   - prefixes up to a colon, of the last segment and of values: Special:, User_talk:.
//
// Texts that the site has once only are not made groups of: names of pages are.
const (
	maxSet      = 20 // groups of a URL
	maxSegments = 8  // of a template
	places      = 3  // segments that make groups by their place
	maxParams   = 6  // that are looked at
	maxText     = 32 // bytes of a text that makes a group
)

// The first byte of a key's text, and how the group is called.
const (
	byTemplate = 't'
	byPlace    = 'p' // and the place: 1, 2, 3, or l for the last
	byName     = 'n'
	byValue    = 'v'
	byPrefix   = 'x'
)

// find returns the groups of url that are known. Of the latest url they are kept as long as no group
// is made: Rank, Crowded and Take ask for one after another.
func (s *Site) find(url string) set {
	if url != s.latest || url == "" {
		s.latest, s.of = url, s.read(url, false)
	}
	return s.of
}

// read reads the groups off url; grow: those that are not known are made.
func (s *Site) read(url string, grow bool) (t set) {
	path, query, _ := strings.Cut(url, "?")
	t.add(s.template(path, query, grow))
	rest, text := strings.Trim(path, "/"), ""
	params := strings.IndexByte(path, ';') >= 0 // most have none
	for n := 1; rest != ""; n++ {
		more := false
		text, rest, more = strings.Cut(rest, "/")
		if params {
			var name string
			text, name = cutParam(text)
			t.add(s.literal(byName, 0, name, "", grow))
		}
		if n <= places {
			t.add(s.literal(byPlace, byte('0'+n), text, "", grow))
		}
		if !more {
			if n > 1 {
				t.add(s.literal(byPlace, 'l', text, "", grow))
			}
			t.add(s.prefix(text, grow))
		}
	}
	for n := 0; query != "" && n < maxParams; n++ {
		var name, value string
		name, value, query = param(query)
		t.add(s.literal(byName, 0, name, "", grow))
		if value != "" && classOf(value) == '*' {
			t.add(s.literal(byValue, 0, name, value, grow))
			t.add(s.prefix(value, grow))
		}
	}
	return t
}

// param cuts the first parameter off a query. Some servers separate them by semicolons.
func param(query string) (name, value, rest string) {
	if i := strings.IndexAny(query, "&;"); i >= 0 {
		query, rest = query[:i], query[i+1:]
	}
	name, value, _ = strings.Cut(query, "=")
	return name, value, rest
}

// cutParam cuts the parameter off a segment that has one, as in /page;jsessionid=1.
func cutParam(segment string) (text, name string) {
	text, name, found := strings.Cut(segment, ";")
	if found {
		name, _, _ = strings.Cut(name, "=")
	}
	return text, name
}

// literal returns the group of a text at a place, -1 for none. Numbers in names are taken alike.
func (s *Site) literal(kind, place byte, text, value string, grow bool) int32 {
	if text == "" || len(text)+len(value) > maxText || kind == byPlace && classOf(text) != '*' {
		return -1
	}
	b := append(s.buf[:0], kind, place)
	if kind == byName {
		b = appendMasked(b, text)
	} else {
		b = append(b, text...)
	}
	if kind == byValue {
		b = append(append(b, '='), value...)
	}
	s.buf = b
	return s.group(b, grow, kind != byName)
}

// prefix returns the group of what stands before a colon in text, -1 for none.
func (s *Site) prefix(text string, grow bool) int32 {
	i := strings.IndexByte(text, ':')
	if i < 0 {
		if i = strings.Index(text, "%3A"); i < 0 {
			return -1
		}
	}
	if i < 2 || i > maxText {
		return -1
	}
	s.buf = append(append(append(s.buf[:0], byPrefix), text[:i]...), ':')
	return s.group(s.buf, grow, true)
}

// group returns the number of the group with this key, -1 where there is none, or no room. rare:
// the text may be one that the site has only once.
func (s *Site) group(text []byte, grow, rare bool) int32 {
	key := xxhash.Sum64(text)
	if id, ok := s.number[key]; ok {
		return id
	}
	if !grow {
		return -1
	}
	if s.number == nil {
		s.number, s.once = map[uint64]int32{}, map[uint64]struct{}{}
	}
	if rare {
		if _, ok := s.once[key]; !ok {
			if len(s.once) >= maxOnce {
				clear(s.once)
			}
			s.once[key] = struct{}{}
			return -1
		}
		delete(s.once, key)
	}
	if len(s.groups)-len(s.free) >= maxGroups && !s.makeRoom() {
		return -1
	}
	g := group{key: key, name: nameOf(text)}
	id := int32(len(s.groups))
	if n := len(s.free); n > 0 {
		id, s.free = s.free[n-1], s.free[:n-1]
		s.groups[id] = g
	} else {
		s.groups = append(s.groups, g)
	}
	s.number[key] = id
	s.latest = "" // it may belong to this one, too
	return id
}

// makeRoom forgets the groups of which nothing was fetched, or, where these are few, that never
// brought anything bad. It reports whether there is room. It is called once in maxGroups/8
// groups at most, or finds none to forget: then all that is left speaks against something.
func (s *Site) makeRoom() bool {
	for _, idle := range []func(*group) bool{
		func(g *group) bool { return g.fetched == 0 },
		func(g *group) bool { return g.bad < 1 },
	} {
		for id := range s.groups {
			if g := &s.groups[id]; g.key != 0 && g.out == 0 && idle(g) {
				delete(s.number, g.key)
				*g = group{}
				s.free = append(s.free, int32(id))
			}
		}
		if len(s.free) >= maxGroups/8 {
			return true
		}
	}
	return len(s.free) > 0
}

// nameOf calls a group as people are told, from the text of its key.
func nameOf(text []byte) string {
	switch kind := text[0]; kind {
	case byTemplate:
		return string(text[1:])
	case byPlace:
		if text[1] == 'l' {
			return "…/" + string(text[2:])
		}
		return strings.Repeat("/*", int(text[1]-'1')) + "/" + string(text[2:]) + "…"
	case byName:
		return "?" + string(text[2:]) + "="
	case byValue:
		return "?" + string(text[2:])
	}
	return string(text[1:]) + "…"
}

// template returns the group of a URL's template.
func (s *Site) template(path, query string, grow bool) int32 {
	s.buf = appendTemplate(append(s.buf[:0], byTemplate), path, query)
	return s.group(s.buf, grow, false)
}

// appendTemplate appends the template of a URL.
func appendTemplate(b []byte, path, query string) []byte {
	n, last := 0, ""
	for rest, more := strings.TrimPrefix(path, "/"), true; more && n <= maxSegments; {
		var text string
		text, rest, more = strings.Cut(rest, "/")
		text, name := cutParam(text)
		switch {
		case text == last && text != "":
			continue
		case n == maxSegments:
			b = append(b, "/…"...)
		case text == "":
			b = append(b, '/')
		default:
			b = append(b, '/', classOf(text))
			if ext := strings.LastIndexByte(text, '.'); !more && ext > 0 && len(text)-ext <= 6 && letters(text[ext+1:]) {
				b = append(b, text[ext:]...)
			}
			if name != "" {
				b = append(appendMasked(append(b, ';'), name[:min(len(name), maxText)]), '=')
			}
		}
		last = text
		n++
	}
	if query != "" {
		var names [maxParams]string
		k := 0
		for ; query != "" && k < maxParams; k++ {
			names[k], _, query = param(query)
		}
		slices.Sort(names[:k])
		b = append(b, '?')
		for i, name := range names[:k] {
			if i > 0 && name == names[i-1] {
				continue
			}
			if i > 0 {
				b = append(b, '&')
			}
			if len(name) > maxText {
				name = "…"
			}
			b = append(appendMasked(b, name), '=')
		}
	}
	return b
}

// appendMasked appends a name, with # for each number in it, ~ for a hash.
func appendMasked(b []byte, name string) []byte {
	if classOf(name) == '~' {
		return append(b, '~')
	}
	for i := 0; i < len(name); i++ {
		if !digit(name[i]) {
			b = append(b, name[i])
		} else if i == 0 || !digit(name[i-1]) {
			b = append(b, '#')
		}
	}
	return b
}

// classOf tells what a segment or value looks like: # a number or date, ~ a hash, * a text.
func classOf(text string) byte {
	digits, hex, others := 0, 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case digit(c):
			digits++
		case c == '-' || c == '_' || c == '.' || c == ',' || c == ':':
			if i == 0 && c != '-' {
				others++
			}
		case 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F':
			hex++
		default:
			others++
		}
	}
	switch {
	case others == 0 && hex == 0 && digits > 0:
		return '#'
	case others == 0 && hex+digits == len(text) && len(text) >= 7 && digits > 0:
		return '~'
	}
	return '*'
}

// Hashes calls visit with each segment and value of a URL that is a hash, and so stands for one thing
// alone: an object of Git, a session.
func Hashes(url string, visit func(hash string)) {
	path, query, _ := strings.Cut(url, "?")
	for segment := range strings.SplitSeq(path, "/") {
		if text, _ := cutParam(segment); classOf(text) == '~' {
			visit(text)
		}
	}
	for query != "" {
		var value string
		if _, value, query = param(query); classOf(value) == '~' {
			visit(value)
		}
	}
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func letters(text string) bool {
	for i := 0; i < len(text); i++ {
		if c := text[i] | 0x20; (c < 'a' || c > 'z') && !digit(text[i]) {
			return false
		}
	}
	return text != ""
}
