package yield

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Canonicals learns how the URLs of a site's copies are made of the URLs that they name as canonical,
// so that an original can be tried which only copies lead to: /shoes/red/p-12 and /sale/p-12 of /p-12.
// Begin with Fetched; Guess says what the canonical URL of a page is before that is fetched. The zero
// Canonicals is ready; it holds at most maxForms forms of at most maxRoutes templates. What it knows
// does not depend on the order in which it was told, until a bound is reached.
//
// A URL and its canonical one give a form: the canonical URL in which each segment and each value that
// the URL has too stands for that place. Of the pages of a template enough[0] have to have the same form,
// and next to none another one, none at all, or nothing at the URL that was guessed.
type Canonicals struct {
	routes map[string]*route // by template
	buf    []byte
}

// A route is what the pages of a template named as canonical.
type route struct {
	pages int            // and guesses at which there was none
	forms map[string]int // how many of them have each form; nil: all are their own
}

const (
	maxRoutes = 1 << 10
	maxForms  = 4
	maxPlace  = 200 // segments that a form may refer to
)

// In a form fromEnd and a byte stand for the segment of the URL that has this place, counted from the
// end, and valueOf, a name and endOf for the value of a parameter. None of them can stand in a URL.
const (
	fromEnd = '\x01'
	valueOf = '\x02'
	endOf   = '\x03'
)

func (c *Canonicals) route(url string, grow bool) *route {
	path, query, _ := strings.Cut(url, "?")
	c.buf = appendTemplate(c.buf[:0], path, query)
	r := c.routes[string(c.buf)]
	if r == nil && grow && len(c.routes) < maxRoutes {
		if c.routes == nil {
			c.routes = map[string]*route{}
		}
		r = new(route)
		c.routes[string(c.buf)] = r
	}
	return r
}

// Fetched notes that there was a page at url, and which URL it names as its own; "": none, or url. Both are
// as Site has them.
func (c *Canonicals) Fetched(url, canonical string) {
	r := c.route(url, true)
	if r == nil {
		return
	}
	r.pages++
	if canonical == "" || canonical == url {
		return
	}
	f := form(url, canonical)
	if _, ok := r.forms[f]; f == "" || !ok && len(r.forms) >= maxForms {
		return
	}
	if r.forms == nil {
		r.forms = map[string]int{}
	}
	r.forms[f]++
}

// Missed notes that there was no page at the URL that was guessed for url.
func (c *Canonicals) Missed(url string) {
	if r := c.route(url, false); r != nil {
		r.pages++
	}
}

// Guess returns the URL that a page at url would name as canonical; ok=false: nobody knows, or it
// would be url.
func (c *Canonicals) Guess(url string) (canonical string, ok bool) {
	r := c.route(url, false)
	if r == nil || r.forms == nil {
		return "", false
	}
	most := slices.MaxFunc(slices.Collect(maps.Keys(r.forms)), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.forms[a], r.forms[b]), strings.Compare(a, b))
	})
	if n := r.forms[most]; n < enough[0] || (r.pages-n)*8 > n {
		return "", false
	}
	canonical, ok = fill(most, url)
	return canonical, ok && canonical != url
}

// form returns the form of a URL and its canonical one, of which fill makes the second again; "": they have
// nothing in common.
func form(url, canonical string) string {
	if strings.ContainsAny(url+canonical, "\x01\x02\x03") {
		return ""
	}
	path, query, _ := strings.Cut(url, "?")
	segments := strings.Split(path, "/")
	b, common := make([]byte, 0, len(canonical)), false
	// part appends a segment or a value, by the last place where the URL has it.
	part := func(text, name string) {
		if text == "" {
			return
		}
		if name != "" && value(query, name) == text {
			b, common = append(append(append(b, valueOf), name...), endOf), true
			return
		}
		for k := range min(len(segments), maxPlace) {
			if segments[len(segments)-1-k] == text {
				b, common = append(b, fromEnd, byte(k+' ')), true
				return
			}
		}
		for rest := query; rest != ""; {
			var n, v string
			if n, v, rest = param(rest); v == text && n != "" {
				b, common = append(append(append(b, valueOf), n...), endOf), true
				return
			}
		}
		b = append(b, text...)
	}
	path, query2, has := strings.Cut(canonical, "?")
	for i, text := range strings.Split(path, "/") {
		if i > 0 {
			b = append(b, '/')
		}
		part(text, "")
	}
	for sep := byte('?'); has && query2 != ""; sep = '&' {
		n, v, rest := param(query2)
		if b = append(append(b, sep), n...); v != "" {
			b = append(b, '=')
			part(v, n)
		}
		query2 = rest
	}
	if again, ok := fill(string(b), url); !common || !ok || again != canonical {
		return "" // or it has separators, or empty values, of its own
	}
	return string(b)
}

// value returns the value of a query's first parameter of that name, "" if it has none.
func value(query, name string) string {
	for query != "" {
		var n, v string
		if n, v, query = param(query); n == name {
			return v
		}
	}
	return ""
}

// fill puts the parts of a URL into a form; ok=false: it lacks one.
func fill(form, url string) (canonical string, ok bool) {
	path, query, _ := strings.Cut(url, "?")
	segments := strings.Split(path, "/")
	var b strings.Builder
	for i := 0; i < len(form); i++ {
		text := ""
		switch form[i] {
		default:
			b.WriteByte(form[i])
			continue
		case fromEnd:
			i++
			if k := int(form[i] - ' '); k < len(segments) {
				text = segments[len(segments)-1-k]
			}
		case valueOf:
			n := strings.IndexByte(form[i:], endOf)
			text = value(query, form[i+1:i+n])
			i += n
		}
		if text == "" {
			return "", false
		}
		b.WriteString(text)
	}
	return b.String(), true
}
