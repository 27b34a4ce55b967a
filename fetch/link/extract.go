package link

import (
	"bytes"
	"errors"
	"html"
	"math"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/nlnwa/whatwg-url/url"

	"forage/fetch/use"
	"forage/simhash"
)

// An Extractor reads pages, one after another, and keeps its room from one to the next: the
// links of a page cost one allocation for all their URLs. It is not safe for concurrent use;
// the zero Extractor is ready.
type Extractor struct {
	s     scanner
	page  Page
	self  string // identity of the page
	base  Base
	stack []open
	refs  []ref    // of links, in page order
	media []ref    // of embeds
	needs []need   // of requisites
	urls  []byte   // the identities, one after another
	ends  []int    // where each of them ends in urls; -1: no URL
	attrs []byte   // unescaped attribute values
	text  []byte   // the decoded body
	spare []byte   // a URL as given
	docs  dateRank // where Published comes from

	actions  bool             // Options.Actions
	paths    bool             // Options.Paths
	requires bool             // Options.Requisites
	room     func(int64) bool // Options.Room
	sketches bool             // Options.Simhash
	sketch   simhash.Sketch
	taken    int64 // what it was called with
	full     bool  // it has returned false
	block    block // the run of text that is being read, see layout.go
	latest   int   // index in refs of the link that its text was in last
	longest  [2]block
	rows     []rowSoFar

	baseSeen  bool
	svg       int // open svg elements
	inert     int // open template elements, whose content is not part of the page
	anchor    int // index in refs of the anchor whose text is being read, -1: none
	moved     int // index in refs of the meta refresh that may make the page a stub, -1: none
	titleSeen bool
	titleNow  bool      // the next raw text is the title
	scriptLD  bool      // the next raw text is JSON-LD
	styleNow  bool      // the next raw text is CSS of which the requisites are wanted
	agent     string    // robots rules for it count
	header    use.Rules // of X-Robots-Tag
	licenses  [][]byte  // what rel=license leads to, yet to be resolved
}

// A ref is a reference that is yet to be resolved: a base may come after it.
type ref struct {
	url         []byte
	given       string
	kind        Kind
	nofollow    bool
	action      bool
	place       uint32
	node        int32
	row         int32 // in Extractor.rows, from 1: it is an item there; 0: of none
	start, stop int
}

// Extract reads one page with a new Extractor. URL in o must be absolute; where it is not,
// only absolute links are found.
func Extract(body []byte, o Options) *Page { return new(Extractor).Extract(body, o) }

// Extract reads body, the page that o tells of. The Page is good until the next call; body
// must not change until then. Cost O(len(body)) time; memory for the links, the deepest
// nesting, and the body again where it is not in UTF-8.
func (x *Extractor) Extract(body []byte, o Options) *Page {
	x.reset()
	p := &x.page
	x.base = Base{}
	x.self = ""
	if id, err := Parse(o.URL); err == nil {
		x.self = id
		x.base.set(id)
	}
	x.actions, x.paths, x.room, x.requires = o.Actions, o.Paths, o.Room, o.Requisites
	if x.sketches = o.Simhash; o.Simhash {
		x.sketch.Reset()
	}
	p.Charset, p.text, x.base.enc = x.decode(body, o.ContentType)
	x.agent = o.Agent
	for _, v := range o.Robots {
		x.header.AddHeader(v, o.Agent)
	}
	for _, v := range o.Links {
		x.linkHeader(v)
	}
	x.s = scanner{b: p.text}
	x.scan(o.Embeds)
	if x.anchor >= 0 {
		x.refs[x.anchor].stop = len(p.text)
	}
	x.breakText()
	rules := x.header | p.Said.Rules
	p.NoFollow, p.NoIndex = rules&use.NoFollow != 0, rules&use.NoIndex != 0
	x.resolve(o)
	x.resolveNeeds()
	x.resolveLicenses()
	x.layOut()
	if o.Simhash {
		p.Simhash = x.sketch.Sum()
	}
	return p
}

func (x *Extractor) reset() {
	p := &x.page
	*p = Page{Links: p.Links[:0], Embeds: p.Embeds[:0], Requisites: p.Requisites[:0], nodes: p.nodes[:0], Refresh: -1, Layout: Layout{Rows: p.Layout.Rows[:0]}}
	x.stack, x.refs, x.media, x.needs, x.urls, x.ends, x.attrs = x.stack[:0], x.refs[:0], x.media[:0], x.needs[:0], x.urls[:0], x.ends[:0], x.attrs[:0]
	x.baseSeen, x.svg, x.inert, x.anchor, x.moved = false, 0, 0, -1, -1
	x.titleSeen, x.titleNow, x.scriptLD, x.styleNow = false, false, false, false
	x.block, x.latest, x.longest, x.rows = block{}, -1, [2]block{}, x.rows[:0]
	x.docs = noDate
	x.header, x.licenses = 0, x.licenses[:0]
	x.taken, x.full = 0, false
}

// What a page may have taken, and how large it may be, for its Extractor to keep its memory.
const (
	keepsMost = 2 << 20
	keepsText = 256 << 10
)

// Shrink gives back memory that the latest page took and ordinary ones do not need, its body included,
// which the Extractor refers to. The Page is good no longer.
func (x *Extractor) Shrink() {
	if x.taken > keepsMost || len(x.page.text) > keepsText {
		*x = Extractor{}
	}
}

// value returns attribute a of the current tag with its character references resolved.
func (x *Extractor) value(a int) []byte {
	v := x.s.attr(a)
	if v == nil {
		return nil
	}
	if n := len(x.attrs) + len(v); n > cap(x.attrs) && n > fewBytes {
		n = max(n, 2*cap(x.attrs))
		if !x.take(int64(n)) {
			return nil
		}
		x.attrs = append(make([]byte, 0, n), x.attrs...)
	}
	var text []byte
	x.attrs, text = unescapeAttr(x.attrs, v)
	return text
}

// What any page may take without asking.
const (
	fewLinks = 512
	fewBytes = 64 << 10
)

// take asks for n bytes more.
func (x *Extractor) take(n int64) bool {
	x.taken += n
	if x.full = x.full || x.room != nil && !x.room(x.taken); x.full {
		x.page.Truncated = true
	}
	return !x.full
}

func (x *Extractor) scan(embeds bool) {
	s := &x.s
	for {
		switch s.next() {
		case endOfInput:
			return
		case rawToken:
			x.rawText(s.words())
		case textToken:
			x.words(s.words())
		case endToken:
			if !inline(s.tag) {
				x.breakText()
			}
			x.endTag()
		case startToken:
			x.startTag(embeds)
		}
	}
}

func (x *Extractor) rawText(text []byte) {
	switch {
	case x.titleNow:
		if !x.titleSeen {
			x.titleSeen = true
			// Enough for maxText bytes, were each a character reference.
			x.page.Title = collapse(html.UnescapeString(string(text[:min(len(text), 16*maxText)])))
		}
	case x.scriptLD:
		x.published(ldDate(text), ldRank)
	case x.styleNow:
		x.styles(text)
	}
	x.titleNow, x.scriptLD, x.styleNow = false, false, false
}

func (x *Extractor) endTag() {
	x.titleNow, x.scriptLD, x.styleNow = false, false, false
	switch x.s.tag {
	case tagA:
		x.closeAnchor()
	case tagSVG:
		x.svg = max(x.svg-1, 0)
	case tagTemplate:
		x.inert = max(x.inert-1, 0)
	}
	x.pop()
}

// closeAnchor ends the anchor that is open where the current tag starts.
func (x *Extractor) closeAnchor() {
	if x.anchor >= 0 {
		x.refs[x.anchor].stop = x.s.at
		x.anchor = -1
	}
}

func (x *Extractor) startTag(embeds bool) {
	s := &x.s
	x.titleNow, x.scriptLD, x.styleNow = false, false, false
	if !inline(s.tag) {
		x.breakText()
	}
	if s.tag == tagTemplate && (x.inert > 0 || !s.has(attrShadow)) {
		x.inert++
	}
	x.push()
	if x.inert > 0 {
		return
	}
	switch s.tag {
	case tagInput, tagTextarea, tagSelect:
		x.field()
	}
	if x.requires {
		x.require()
	}
	switch s.tag {
	case tagA:
		x.closeAnchor()
		href := attrHref
		if !s.has(attrHref) {
			if href = attrXlinkHref; !s.has(href) {
				return
			}
		}
		if x.link(href, Anchor, x.noFollow(href)) {
			x.anchor = len(x.refs) - 1
			x.refs[x.anchor].start = s.pos
			x.refs[x.anchor].action = x.actions && x.declared()
		}
	case tagArea:
		x.link(attrHref, Anchor, x.noFollow(attrHref))
	case tagFrame, tagIframe:
		x.link(attrSrc, Frame, false)
	case tagLink:
		x.linkElement(embeds)
	case tagMeta:
		x.meta()
	case tagBase:
		if !x.baseSeen && s.has(attrHref) {
			x.baseSeen = true
			// Of another scheme than http, it is ignored: so says the standard of data: and
			// javascript:, and nothing could be fetched with others.
			ref := string(x.value(attrHref))
			var id string
			var err error
			if x.base.url == "" {
				id, err = Parse(ref)
			} else {
				plain := x.base
				plain.enc = nil
				id, err = plain.Resolve(ref)
			}
			if err == nil && len(id) <= MaxBase {
				x.base.set(id)
			}
		}
	case tagTitle:
		x.titleNow = x.svg == 0
	case tagSVG:
		x.svg++
	case tagStyle:
		x.styleNow = x.requires
	case tagScript:
		switch t := s.attr(attrType); {
		case equalFold(bytes.TrimSpace(t), "application/ld+json"):
			x.scriptLD = true
		case runs(t):
			x.page.Scripts++
		}
		if embeds {
			x.embed(attrSrc)
		}
	case tagImg, tagSource, tagVideo, tagAudio, tagEmbed, tagTrack, tagObject, tagInput:
		if embeds {
			x.embed(attrSrc)
			x.embed(attrPoster)
			x.srcset(attrSrcset)
			if s.tag == tagObject {
				x.embed(attrData)
			}
		}
	}
}

// noFollow reports whether the current tag, with a reference in attribute a, has rel=nofollow, and notes a
// license.
func (x *Extractor) noFollow(a int) bool {
	rel := x.s.attr(attrRel)
	if len(rel) == 0 {
		return false
	}
	if hasToken(rel, "license") {
		x.license(x.value(a))
	}
	return hasToken(rel, "nofollow")
}

// maxLicenses is how many references to licenses of one page are looked at.
const maxLicenses = 16

// license notes a reference to a license.
func (x *Extractor) license(url []byte) {
	if len(x.licenses) < maxLicenses && len(bytes.TrimSpace(url)) > 0 {
		x.licenses = append(x.licenses, url)
	}
}

// resolveLicenses resolves what license noted; what is no URL is passed over.
func (x *Extractor) resolveLicenses() {
	for _, ref := range x.licenses {
		var id string
		var err error
		if x.base.url == "" {
			id, err = Parse(string(ref))
		} else {
			id, err = x.base.Resolve(string(ref))
		}
		if err == nil {
			x.page.Said.AddLicense(id)
		}
	}
}

// link notes the reference in attribute a of the current tag.
func (x *Extractor) link(a int, k Kind, nofollow bool) bool {
	if !x.s.has(a) {
		return false
	}
	url := x.value(a)
	if isRoute(url) {
		x.page.Routes++
		if trimmed := bytes.TrimSpace(url); trimmed[0] == '#' {
			return false
		}
	}
	if len(x.refs) >= MaxLinks { // no place is made for a link that is not taken
		x.page.Truncated = true
		return false
	}
	place, node := x.here()
	return x.add(ref{url: url, kind: k, nofollow: nofollow, place: place, node: node})
}

func (x *Extractor) add(r ref) bool {
	n := len(x.refs)
	if n >= MaxLinks || x.full {
		x.page.Truncated = true
		return false
	}
	if n >= fewLinks && n&(n-1) == 0 && !x.take(int64(n)*linkSize) { // as many again
		return false
	}
	x.refs = append(x.refs, r)
	return true
}

// isRoute reports whether the fragment of url is a route of a script: #! or #/.
func isRoute(url []byte) bool {
	i := bytes.IndexByte(url, '#')
	return i >= 0 && i+1 < len(url) && (url[i+1] == '!' || url[i+1] == '/')
}

func (x *Extractor) linkElement(embeds bool) {
	s := &x.s
	if !s.has(attrHref) && !s.has(attrImageSrcset) {
		return
	}
	rel := x.value(attrRel)
	if hasToken(rel, "license") {
		x.license(x.value(attrHref))
	}
	kind, ok := relKind(rel, s.attr(attrType), s.attr(attrHref), s.attr(attrTitle))
	if ok {
		x.link(attrHref, kind, hasToken(rel, "nofollow"))
		return
	}
	if embeds {
		for _, r := range []string{"stylesheet", "icon", "preload", "modulepreload", "apple-touch-icon", "mask-icon", "manifest"} {
			if hasToken(rel, r) {
				x.embed(attrHref)
				x.srcset(attrImageSrcset)
				return
			}
		}
	}
}

// relKind returns what kind of link a link element or Link header with these parameters is.
func relKind(rel, typ, href, title []byte) (Kind, bool) {
	has := func(t string) bool { return hasToken(rel, t) }
	switch {
	case len(rel) == 0:
		return 0, false
	case has("canonical"):
		return Canonical, true
	case has("stylesheet"):
		return 0, false
	case has("sitemap"):
		return Sitemap, true
	case has("feed"):
		return Feed, true
	case has("amphtml"):
		return Alternate, true
	case has("alternate"):
		switch t := strings.ToLower(string(mediaType(typ))); t {
		case "", "text/html", "application/xhtml+xml":
			return Alternate, true
		case "application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json", "application/xml", "text/xml", "application/rss", "application/x.atom+xml", "application/x-atom+xml", "text/rss", "text/atom":
			return Feed, true
		case "application/json":
			// A feed of version 1.0, or some other data.
			feed := []byte("feed")
			return Feed, bytes.Contains(bytes.ToLower(href), feed) || bytes.Contains(bytes.ToLower(title), feed)
		}
		return 0, false
	case has("next"), has("prev"), has("previous"), has("first"), has("last"), has("start"), has("up"), has("index"), has("contents"):
		return Rel, true
	}
	return 0, false
}

// mediaType returns a media type without its parameters.
func mediaType(t []byte) []byte {
	t, _, _ = bytes.Cut(t, []byte{';'})
	return bytes.TrimSpace(t)
}

// hasToken reports whether list, separated by white space, has token t, which is in lower case.
func hasToken(list []byte, t string) bool {
	for len(list) >= len(t) {
		i := 0
		for i < len(list) && !isSpace(list[i]) {
			i++
		}
		if equalFold(list[:i], t) {
			return true
		}
		for i < len(list) && isSpace(list[i]) {
			i++
		}
		list = list[i:]
	}
	return false
}

func (x *Extractor) meta() {
	s := &x.s
	if !s.has(attrContent) {
		return
	}
	if s.has(attrHTTPEquiv) {
		if !equalFold(x.value(attrHTTPEquiv), "refresh") || x.page.Refresh >= 0 {
			return
		}
		content := x.value(attrContent)
		delay, url, ok := ParseRefresh(string(content[:min(len(content), 2*MaxURL)])) // a longer URL is refused
		if !ok {
			return
		}
		counts := !x.within(tagNoscript)
		if counts {
			x.page.Refresh = delay
		}
		if url != "" {
			if isRoute([]byte(url)) {
				x.page.Routes++
			}
			place, node := x.here()
			if x.add(ref{url: []byte(url), kind: Refresh, place: place, node: node}) && counts && delay <= maxMove {
				x.moved = len(x.refs) - 1
			}
		}
		return
	}
	key := x.value(attrName)
	if len(key) == 0 {
		if key = x.value(attrProperty); len(key) == 0 {
			key = x.value(attrItemprop)
		}
	}
	switch {
	case equalFold(key, "robots"):
		x.page.Said.Rules.Add(string(x.value(attrContent)))
	case equalFold(key, "tdm-reservation"):
		x.page.Said.TDM = max(x.page.Said.TDM, use.ParseReservation(string(x.value(attrContent))))
	case equalFold(key, "tdm-policy"):
		if x.page.Said.Policy == "" {
			x.page.Said.Policy = use.CleanURL(string(x.value(attrContent)))
		}
	case equalFold(key, "article:published_time"):
		x.published(string(x.value(attrContent)), metaRank)
	case equalFold(key, "datepublished"):
		x.published(string(x.value(attrContent)), itemRank)
	case x.agent != "" && equalFold(key, strings.ToLower(x.agent)):
		x.page.Said.Rules.Add(string(x.value(attrContent)))
	}
}

func (x *Extractor) embed(a int) {
	if v := x.value(a); len(bytes.TrimSpace(v)) > 0 {
		x.addEmbed(v)
	}
}

func (x *Extractor) addEmbed(url []byte) {
	if len(x.media) >= MaxLinks {
		x.page.Truncated = true
		return
	}
	x.media = append(x.media, ref{url: url})
}

func (x *Extractor) srcset(a int) {
	if v := x.s.attr(a); v != nil {
		for _, u := range ParseSrcset(string(x.value(a))) {
			x.addEmbed([]byte(u))
		}
	}
}

// resolve turns the references into links and embeds, as many as have URLs of MaxURLs bytes in all.
func (x *Extractor) resolve(o Options) {
	p := &x.page
	most := 0 // bytes of URLs
	for i := range x.refs {
		most += len(x.base.url) + 3*len(x.refs[i].url)
	}
	if most = min(most, MaxURLs+MaxURL); most > fewBytes && !x.take(3*int64(most)) { // as they are put together, and as they are given out
		x.refs, x.media = x.refs[:0], x.media[:0]
	}
	given := 0
	for i := range x.refs {
		if len(x.urls)+given > MaxURLs {
			x.refs, x.media, p.Truncated = x.refs[:i], x.media[:0], true
			break
		}
		r := &x.refs[i]
		r.given = x.one(r.url, o.IgnoreParams)
		given += len(r.given)
	}
	for i := range x.media {
		if len(x.urls)+given > MaxURLs {
			x.media, p.Truncated = x.media[:i], true
			break
		}
		x.one(x.media[i].url, nil)
	}
	all := string(x.urls)
	url := func(i int) string {
		from := 0
		if i > 0 {
			from = x.ends[i-1]
		}
		return all[from:x.ends[i]]
	}
	for i := range x.refs {
		u := url(i)
		if u == "" {
			continue
		}
		r := &x.refs[i]
		if r.row > 0 {
			row := &x.rows[r.row-1]
			if row.Digest += xxhash.Sum64String(u); u != x.self {
				row.Links++
			}
		}
		p.Links = append(p.Links, Link{URL: u, Given: r.given, Kind: r.kind, NoFollow: r.nofollow || p.NoFollow, Action: r.action, Place: r.place, node: r.node, start: r.start, stop: r.stop})
		if l := &p.Links[len(p.Links)-1]; o.Actions && !l.Action && l.stop-l.start <= maxActionText {
			l.Action = isActionText(p.Text(l))
		}
		if r.kind == Canonical && p.Canonical == "" {
			p.Canonical = u
		}
		if i == x.moved && u != DropParams(x.self, o.IgnoreParams) {
			p.Moved = u
		}
	}
	for i := range x.media {
		if u := url(len(x.refs) + i); u != "" {
			p.Embeds = append(p.Embeds, u)
		}
	}
}

// one appends the identity of ref to urls, nothing where it is no URL to be fetched, and
// returns the URL as given where that differs.
func (x *Extractor) one(ref []byte, ignore []string) (given string) {
	defer func() { x.ends = append(x.ends, len(x.urls)) }()
	start := len(x.urls)
	base := &x.base
	if base.url == "" {
		base = nil
	}
	out, ok := fast(x.urls, base, ref, asIdentity)
	if ok {
		x.urls = out
		if bytes.IndexByte(ref, '%') >= 0 && bytes.IndexByte(out[start:], '%') >= 0 {
			if as, ok := fast(x.spare[:0], base, ref, asReference); ok {
				if x.spare = as; !bytes.Equal(as, out[start:]) {
					given = string(as)
				}
			}
		}
		if len(ignore) > 0 && bytes.IndexByte(out[start:], '?') >= 0 {
			whole := string(out[start:])
			if id := DropParams(whole, ignore); id != whole {
				x.urls = append(out[:start], id...)
				if given == "" {
					given = whole
				}
			}
		}
		return given
	}
	if otherScheme(ref) {
		return ""
	}
	// Its escapes may have to change: the standard's own algorithm tells from what to what.
	var u *url.Url
	var err error
	if base != nil {
		u, err = base.parse(string(ref))
	} else {
		u, err = parse(string(ref), nil)
	}
	if err == nil {
		given, err = reference(u, string(ref))
	}
	if err != nil {
		if !errors.Is(err, ErrScheme) {
			x.page.Bad++
		}
		return ""
	}
	id := DropParams(unescape(given), ignore)
	if x.urls = append(x.urls, id...); id == given {
		return ""
	}
	return given
}

// otherSchemes begin references that are not fetched, whatever follows.
var otherSchemes = [...]string{"javascript:", "mailto:", "data:", "tel:", "blob:", "about:", "file:///"}

// otherScheme reports whether ref plainly has a scheme that is not fetched, such as mailto:
// or a data: URL of megabytes.
func otherScheme(ref []byte) bool {
	i := 0
	for i < len(ref) && ref[i] <= ' ' {
		i++
	}
	for _, s := range otherSchemes {
		if len(ref)-i >= len(s) && equalFold(ref[i:i+len(s)], s) {
			return true
		}
	}
	return false
}

// ParseRefresh reads the content of a meta refresh: seconds before, and what then, empty for
// the page itself. ok is false where the standard ignores it.
func ParseRefresh(content string) (delay int, url string, ok bool) {
	space := func() {
		for content != "" && isSpace(content[0]) {
			content = content[1:]
		}
	}
	space()
	digits := 0
	for digits < len(content) && '0' <= content[digits] && content[digits] <= '9' {
		digits++
	}
	if digits == 0 && (content == "" || content[0] != '.') {
		return 0, "", false
	}
	if digits > 0 {
		var err error
		if delay, err = strconv.Atoi(content[:digits]); err != nil {
			delay = math.MaxInt32
		}
	}
	delay = min(delay, math.MaxInt32)
	content = strings.TrimLeft(content[digits:], "0123456789.")
	if content == "" {
		return delay, "", true
	}
	if c := content[0]; c != ';' && c != ',' && !isSpace(c) {
		return 0, "", false
	}
	space()
	if content != "" && (content[0] == ';' || content[0] == ',') {
		content = content[1:]
	}
	space()
	if content == "" {
		return delay, "", true
	}
	whole := content
	if len(content) >= 3 && strings.EqualFold(content[:3], "url") {
		content = content[3:]
		space()
		if content == "" || content[0] != '=' {
			return delay, clean(whole), true
		}
		content = content[1:]
		space()
	}
	if content != "" && (content[0] == '"' || content[0] == '\'') {
		q := content[:1]
		content = content[1:]
		content, _, _ = strings.Cut(content, q)
	}
	return delay, clean(content), true
}

// clean drops what the URL parser would drop: tabs, line ends, white space around.
func clean(url string) string {
	return strings.Trim(strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(url), " \f")
}

// ParseSrcset returns the URLs of a srcset attribute, those of candidates that the standard
// drops apart.
func ParseSrcset(v string) (urls []string) {
	space := func(c byte) bool { return isSpace(c) }
	i := 0
	for {
		for i < len(v) && (space(v[i]) || v[i] == ',') {
			i++
		}
		if i == len(v) {
			return urls
		}
		start := i
		for i < len(v) && !space(v[i]) {
			i++
		}
		url := v[start:i]
		if trimmed := strings.TrimRight(url, ","); trimmed != url {
			urls = append(urls, trimmed)
			continue
		}
		// The descriptors, up to a comma outside of parentheses.
		var words []string
		word, depth := i, 0
		end := func() {
			if word < i {
				words = append(words, v[word:i])
			}
			word = i + 1
		}
		for ; i < len(v); i++ {
			switch c := v[i]; {
			case depth > 0:
				if c == ')' {
					depth = 0
				}
				continue
			case c == '(':
				depth = 1
				continue
			case space(c):
				end()
				continue
			case c != ',':
				continue
			}
			break
		}
		end()
		i++
		if descriptors(words) {
			urls = append(urls, url)
		}
		i = min(i, len(v))
	}
}

// descriptors reports whether the words after a URL of a srcset are right.
func descriptors(words []string) bool {
	var width, density, height bool
	for _, w := range words {
		num, unit := w[:len(w)-1], w[len(w)-1]
		switch unit {
		case 'w', 'h':
			n, err := strconv.ParseUint(num, 10, 31)
			if err != nil || n == 0 && unit == 'w' || unit == 'w' && (width || density) || unit == 'h' && (height || density) {
				return false
			}
			width = width || unit == 'w'
			height = height || unit == 'h'
		case 'x':
			f, err := strconv.ParseFloat(num, 64)
			if err != nil || f < 0 || width || density || height {
				return false
			}
			density = true
		default:
			return false
		}
	}
	return !height || width
}
