package text

// An element is what is known of a tag: which one it is, as far as that matters, and what it does.
type element struct {
	id      id
	does    action
	variant variant
}

// An id tells elements apart that end each other.
type id uint8

const (
	none id = iota
	navID
	headerID
	footerID
	asideID
	formID
	landmark // article, main: what is in them is about their own content
	list
	item
	quote
	preformatted
	heading
	table
	row
	cell
	caption
	anchor
	strong
	emphasis
	code
	dropped // what has no text for readers
	titleID
)

// A variant tells elements of an id apart: of a heading it is the level, 1 to 6.
type variant uint8

const (
	ordered variant = 1 // list
	head    variant = 1 // cell
	root    variant = 1 // of what breaks blocks: html
)

type action uint8

const (
	through   action = iota // text goes through it
	breaks                  // it begins and ends blocks, and is not remembered
	contains                // the same; its end also ends what was left open in it
	opens                   // it is remembered until it ends
	lineBreak               // br
	ruleLine                // hr
	picture                 // img
	rawText                 // what comes next is no text
	baseHref
)

// elements are those that do something, by tag.
var elements = func() map[string]element {
	m := map[string]element{}
	put := func(id id, does action, tags ...string) {
		for _, t := range tags {
			m[t] = element{id: id, does: does}
		}
	}
	put(none, breaks, "p", "address", "dl", "dt", "dd", "fieldset", "legend", "figure", "figcaption", "details", "summary", "center", "hgroup",
		"dialog", "search", "body", "html", "frameset", "dir", "optgroup", "thead", "tbody", "tfoot", "colgroup", "head", "listing", "multicol")
	put(none, contains, "div", "section")
	put(landmark, opens, "article", "main")
	put(navID, opens, "nav")
	put(headerID, opens, "header")
	put(footerID, opens, "footer")
	put(asideID, opens, "aside")
	put(formID, opens, "form")
	put(list, opens, "ul", "ol", "menu")
	put(item, opens, "li")
	put(quote, opens, "blockquote")
	put(preformatted, opens, "pre")
	put(heading, opens, "h1", "h2", "h3", "h4", "h5", "h6")
	put(table, opens, "table")
	put(row, opens, "tr")
	put(cell, opens, "td", "th")
	put(caption, opens, "caption")
	put(anchor, opens, "a")
	put(strong, opens, "strong", "b")
	put(emphasis, opens, "em", "i")
	put(code, opens, "code", "kbd", "samp", "tt")
	put(dropped, opens, "svg", "canvas", "audio", "video", "object", "template", "select", "datalist", "button", "noscript")
	put(titleID, rawText, "title")
	put(none, rawText, "script", "style", "iframe", "noembed", "noframes", "textarea", "plaintext", "xmp")
	put(none, lineBreak, "br")
	put(none, ruleLine, "hr")
	put(none, picture, "img")
	put(none, baseHref, "base")
	for t, v := range map[string]variant{"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6, "ol": ordered, "th": head, "html": root} {
		e := m[t]
		e.variant = v
		m[t] = e
	}
	return m
}()

func (i id) inline() bool    { return i >= anchor && i <= code }
func (i id) structure() bool { return i >= list && i <= caption }
