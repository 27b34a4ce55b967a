package yield

import (
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// Params learns which parameters of a site's URLs do not change the page: numbers of sessions and
// visits, marks of campaigns, a comment that is to be answered. It compares pages whose URLs differ in
// one parameter alone, and heeds which parameters a page's canonical URL goes without. Begin with
// Fetched. The zero Params is ready; it holds at most maxPairs pages and maxNames names.
//
// A parameter is left out once pages under several URLs without it, enough[0], were the same with
// it as without or with another value, and next to none was not. A name that is known for numbers of
// sessions, and nothing else, needs fewer and may change numbers in the text: its pages count
// visits. It is taken back once a fourth of what was seen since speaks against it.
type Params struct {
	names  map[string]*evidence
	pages  map[uint64]uint64 // by hash of a URL without a parameter, and its name: a hash of the page, and counted, isText
	held   []uint64          // the keys of pages, as a ring: what is noted first is forgotten first
	oldest int               // of held, once it is full

	sessions bool              // a name is known for numbers of sessions: shapes of texts are noted too
	earlier  map[uint64]uint64 // as pages, of what earlier cycles fetched: what it said
}

// An evidence is what speaks for and against a parameter.
type evidence struct {
	seen, same, other int
	ignored           bool
	doubted           bool // it is ignored, but there were pages whose bodies differ
}

// The lowest bits of a hash in Params.pages.
const (
	counted = 1 // the URL without the parameter has been counted among those with the same page
	isText  = 2 // the hash is of the text, not of the body
	bits    = counted | isText
)

const (
	maxPairs = 1 << 14
	maxNames = 256
)

// shapes stands in keys of Params.pages for a name, which it is none of, where the hash is of the text
// without its numbers.
const shapes = "="

// enough is how many URLs have to have the same page with and without a parameter, and a
// parameter that is known for sessions.
var enough = [2]int{4, 1}

// sessions are names of parameters that only carry the number of a session.
var sessions = []string{"jsessionid", "phpsessid", "aspsessionid", "sessionid", "session_id", "session-id", "sid", "cfid", "cftoken", "zenid", "oscsid"}

func isSession(name string) bool {
	name = strings.ToLower(name)
	return slices.Contains(sessions, name) || strings.HasPrefix(name, "aspsessionid")
}

// A Page is what is compared of the page at a URL.
type Page struct {
	Digest    uint64 // of the body
	Text      Text   // no blocks: not known
	Canonical string // the URL that it names as its own; "": none
	Leads     bool   // it led to something first
}

// Ignore has parameters ignored that were learned before.
func (p *Params) Ignore(names []string) {
	for _, n := range names {
		if e := p.evidence(n); e != nil {
			e.same, e.ignored = max(e.same, enough[0]), true
		}
	}
}

func (p *Params) evidence(name string) *evidence {
	e := p.names[name]
	if e == nil && name != "" && len(name) <= maxText && len(p.names) < maxNames {
		if p.names == nil {
			p.names, p.pages = map[string]*evidence{}, map[uint64]uint64{}
		}
		e = new(evidence)
		p.names[name] = e
		p.sessions = p.sessions || isSession(name)
	}
	return e
}

// Fetched compares a page with others, and reports whether it changed which parameters do not count.
// url is without host, as the URLs of the canonical. O(length of the URL, for each parameter).
func (p *Params) Fetched(url string, g Page) (changed bool) {
	text := g.Digest &^ bits
	if len(g.Text.Blocks) > 0 {
		h := xxhash.New()
		for _, b := range g.Text.Blocks {
			h.Write([]byte{byte(b), byte(b >> 8), byte(b >> 16), byte(b >> 24), byte(b >> 32), byte(b >> 40), byte(b >> 48), byte(b >> 56)})
		}
		text = h.Sum64()&^bits | isText
	}
	all := namesOf(url)
	if p.pages == nil && len(all) == 0 {
		return false
	}
	p.note("", url, text)
	shape := g.Text.Shape&^bits | isText
	if g.Text.Shape != 0 && p.sessions {
		p.note(shapes, url, shape)
	}
	for i, name := range all {
		if slices.Contains(all[:i], name) {
			continue
		}
		e := p.evidence(name)
		if e == nil {
			continue
		}
		e.seen++
		without, mine, of := Without(url, name), text, ""
		if isSession(name) && g.Text.Shape != 0 {
			mine, of = shape, shapes
		}
		plain, known := p.pages[key(of, without)]
		body, read := p.pages[key("", without)]
		other, met := p.pages[key(name, without)]
		canonical := g.Canonical != "" && !g.Leads && dropped(url, g.Canonical, name)
		like := func(a, b uint64) bool { return a|counted == b|counted }
		unlike := func(a, b uint64) bool { // bodies that differ say nothing where texts have shown that the parameter does not count
			if e.ignored && a&b&isText == 0 {
				e.doubted = e.doubted || a != counted
				return false
			}
			return (a^b)&isText == 0 && !like(a, b)
		}
		same := canonical || met && like(other, mine) || known && like(plain, mine) || read && (like(body, text) || like(body, g.Digest&^bits))
		switch {
		case same && other&counted == 0:
			e.same++
			p.note(name, without, mine|counted)
		case same:
		case met && unlike(other, mine), known && unlike(plain, mine), g.Canonical == url:
			e.other++
		}
		if (!met || other == counted) && !same { // of a page that was only met nothing is known to compare
			p.note(name, without, mine|other)
		}
		need := enough[0]
		if isSession(name) {
			need = enough[1]
		}
		was := e.ignored
		if e.ignored {
			e.ignored = e.other*4 <= e.same
		} else {
			e.ignored = e.same >= need && e.other*8 <= e.same
		}
		changed = changed || was != e.ignored
	}
	return changed
}

// Needed takes back a parameter: the site insists on it.
func (p *Params) Needed(name string) {
	if e := p.evidence(name); e != nil {
		e.same, e.other, e.ignored = 0, 1000, false
	}
}

// Ignored returns the parameters that do not change pages, in alphabetical order.
func (p *Params) Ignored() []string {
	var out []string
	for name, e := range p.names {
		if e.ignored {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Open reports whether the texts of all pages are to be compared: of some parameter it is not known yet
// whether it counts.
func (p *Params) Open() bool {
	for _, e := range p.names {
		if e.seen >= 2 && e.seen < 200 && (!e.ignored || e.doubted) && e.other < 8 {
			return true
		}
	}
	return false
}

// Met notes that there was a page at url, whose names are parameters that do not count.
func (p *Params) Met(url string, names []string) {
	for _, n := range names {
		if without := Without(url, n); without != url && p.evidence(n) != nil {
			p.note(n, without, counted)
		}
	}
}

// Earlier notes what a page at url said that an earlier cycle fetched, as a hash that pages with the same
// text have in common. Two that differ in the value of a parameter and in what they said speak for that
// parameter: of thousands of pages that a first visit compared nothing else is left, and the few that a later
// one fetches may happen to be the same. It holds at most maxPairs pages, until Learned.
func (p *Params) Earlier(url string, says uint64, ignored []string) {
	for _, n := range namesOf(url) {
		if slices.Contains(ignored, n) {
			continue
		}
		e, k := p.evidence(n), key(n, Without(url, n))
		if p.earlier == nil {
			p.earlier = map[uint64]uint64{}
		}
		switch other, met := p.earlier[k]; {
		case e == nil:
		case met && other != says:
			e.other++
		case !met && len(p.earlier) < maxPairs:
			p.earlier[k] = says
		}
	}
}

// Learned is called after all that Earlier is to be told of.
func (p *Params) Learned() { p.earlier = nil }

// Has reports whether there was a page whose URL differs from url in the value of one of these
// parameters alone.
func (p *Params) Has(url string, names []string) bool {
	for _, n := range names {
		if without := Without(url, n); without != url {
			if _, ok := p.pages[key(n, without)]; ok {
				return true
			}
		}
	}
	return false
}

func (p *Params) note(name, url string, text uint64) {
	if p.pages == nil {
		return
	}
	k := key(name, url)
	if _, known := p.pages[k]; !known {
		if len(p.held) < maxPairs {
			p.held = append(p.held, k)
		} else {
			delete(p.pages, p.held[p.oldest])
			p.held[p.oldest] = k
			p.oldest = (p.oldest + 1) % maxPairs
		}
	}
	p.pages[k] = text
}

func key(name, url string) uint64 { return xxhash.Sum64String(name + " " + url) }

// dropped reports whether the canonical URL of a page is its own without some parameters, and name
// is one of these.
func dropped(url, canonical, name string) bool {
	if slices.Contains(namesOf(canonical), name) {
		return false
	}
	for _, n := range namesOf(url) {
		if !slices.Contains(namesOf(canonical), n) {
			url = Without(url, n)
		}
	}
	return url == canonical
}

// namesOf returns the names of a URL's parameters, in its path too.
func namesOf(url string) (names []string) {
	path, query, _ := strings.Cut(url, "?")
	for strings.IndexByte(path, ';') >= 0 && len(names) < maxParams {
		segment, rest, _ := strings.Cut(path, "/")
		if _, name := cutParam(segment); name != "" {
			names = append(names, name)
		}
		path = rest
	}
	for query != "" && len(names) < maxParams {
		var name string
		if name, _, query = param(query); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// Without returns a URL without a parameter, in its path or query. O(length).
func Without(url, name string) string {
	path, query, has := strings.Cut(url, "?")
	for from := 0; ; {
		i := strings.IndexByte(path[from:], ';')
		if i < 0 {
			break
		}
		i += from
		end := i + 1
		for end < len(path) && path[end] != ';' && path[end] != '/' {
			end++
		}
		if n, _, _ := strings.Cut(path[i+1:end], "="); n == name {
			path = path[:i] + path[end:]
		} else {
			i = end
		}
		from = i
	}
	if !has {
		return path
	}
	var out strings.Builder
	for at := 0; at <= len(query); {
		end := at
		for end < len(query) && query[end] != '&' && query[end] != ';' {
			end++
		}
		if n, _, _ := strings.Cut(query[at:end], "="); n != name {
			if out.Len() > 0 {
				out.WriteByte(query[at-1])
			}
			out.WriteString(query[at:end])
		}
		at = end + 1
	}
	if out.Len() == 0 {
		return path
	}
	return path + "?" + out.String()
}
