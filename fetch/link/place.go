package link

import (
	"slices"
	"strings"
)

// The place of a link is its path in the tree of elements, each with its name, class and id.
// The tree is never built: the scanner's tags move a stack, and each entry carries the hash of
// the path down to it. Where paths are asked for, the entries above a link are kept, as nodes.

// Bounds of the stack, so that hostile nesting costs neither memory nor time.
const (
	maxDepth  = 512 // deeper elements have the place of their ancestor at this depth
	maxUnwind = 64  // an end tag closes one of this many open elements
)

// An open element.
type open struct {
	tag    name
	in     tags   // for the path, and its text
	hash   uint32 // of the path down to it, where hashed
	node   int32  // in nodes, -1: not kept
	hashed bool   // most elements have no link in them
	zone   zone   // what its content stands in
}

// tags are the parts of a start tag as they stand.
type tags struct{ label, class, id span }

// A node is an open element that some link has above it.
type node struct {
	parent int32 // -1: none
	tags
}

const (
	tagBr     name = 'b' | 'r'<<8
	tagCol    name = 'c' | 'o'<<8 | 'l'<<16
	tagHr     name = 'h' | 'r'<<8
	tagParam  name = 'p' | 'a'<<8 | 'r'<<16 | 'a'<<24 | 'm'<<32
	tagWbr    name = 'w' | 'b'<<8 | 'r'<<16
	tagLi     name = 'l' | 'i'<<8
	tagP      name = 'p'
	tagTr     name = 't' | 'r'<<8
	tagTd     name = 't' | 'd'<<8
	tagTh     name = 't' | 'h'<<8
	tagDt     name = 'd' | 't'<<8
	tagDd     name = 'd' | 'd'<<8
	tagOption name = 'o' | 'p'<<8 | 't'<<16 | 'i'<<24 | 'o'<<32 | 'n'<<40
)

// push enters the element of the scanner's start tag, if it can have content.
func (x *Extractor) push() {
	s := &x.s
	switch s.tag {
	case tagArea, tagBase, tagBr, tagCol, tagEmbed, tagHr, tagImg, tagInput, tagLink, tagMeta, tagParam, tagSource, tagTrack, tagWbr, tagFrame:
		return
	case tagLi, tagP, tagTr, tagTd, tagTh, tagDt, tagDd, tagOption:
		// These often lack their end tags: the next one of the kind ends the one before.
		if n := len(x.stack); n > 0 && siblings(x.stack[n-1].tag, s.tag) {
			x.stack = x.stack[:n-1]
		}
	}
	if len(x.stack) >= maxDepth {
		return
	}
	var z zone
	if n := len(x.stack); n > 0 {
		z = x.stack[n-1].zone
	}
	in := tags{label: s.label, class: s.attrAt(attrClass), id: s.attrAt(attrID)}
	x.stack = append(x.stack, open{tag: s.tag, node: -1, in: in, zone: z.in(s.tag)})
}

// path returns the hash of the path down to the innermost open element, of which there is one.
func (x *Extractor) path() uint32 {
	i, h := len(x.stack), uint32(2166136261)
	for i > 0 && !x.stack[i-1].hashed {
		i--
	}
	if i > 0 {
		h = x.stack[i-1].hash
	}
	for ; i < len(x.stack); i++ {
		o := &x.stack[i]
		h = mix(h, uint64(o.tag))
		if class := o.in.class.in(x.s.b); class != nil {
			h = mixText(mix(h, '.'), class)
		}
		if id := o.in.id.in(x.s.b); id != nil {
			h = mixText(mix(h, '#'), id)
		}
		o.hash, o.hashed = h, true
	}
	return h
}

func siblings(a, b name) bool {
	cell := func(n name) bool { return n == tagTd || n == tagTh }
	term := func(n name) bool { return n == tagDt || n == tagDd }
	return a == b || cell(a) && cell(b) || term(a) && term(b)
}

// within reports whether an element of this name is open.
func (x *Extractor) within(tag name) bool {
	return slices.ContainsFunc(x.stack, func(o open) bool { return o.tag == tag })
}

// pop leaves the innermost open element named as the scanner's end tag, and those inside it.
func (x *Extractor) pop() {
	for i, n := len(x.stack)-1, 0; i >= 0 && n < maxUnwind; i, n = i-1, n+1 {
		if x.stack[i].tag == x.s.tag {
			x.stack = x.stack[:i]
			return
		}
	}
}

// mix and mixText are FNV-1a over words and bytes.
func mix(h uint32, v uint64) uint32 {
	z := (uint64(h)<<32 | uint64(h)) ^ v
	z *= 0x9e3779b97f4a7c15
	return uint32(z>>32) ^ uint32(z)
}

// mixText takes a run of digits for one zero: numbered ids and classes are one place.
func mixText(h uint32, b []byte) uint32 {
	for i, c := range b {
		if '0' <= c && c <= '9' {
			if i > 0 && '0' <= b[i-1] && b[i-1] <= '9' {
				continue
			}
			c = '0'
		}
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}

// here returns the place that the scanner is at.
func (x *Extractor) here() (place uint32, at int32) {
	n := len(x.stack)
	if n == 0 {
		return 1, -1
	}
	place = max(x.path(), 1)
	if !x.paths {
		return place, -1
	}
	i := n
	for i > 0 && x.stack[i-1].node < 0 {
		i--
	}
	parent := int32(-1)
	if i > 0 {
		parent = x.stack[i-1].node
	}
	for ; i < n; i++ {
		x.page.nodes = append(x.page.nodes, node{parent: parent, tags: x.stack[i].in})
		parent = int32(len(x.page.nodes) - 1)
		x.stack[i].node = parent
	}
	return place, parent
}

// Path returns the place of l as text, such as "html/body/ul.nav/li#first/a", from the
// outermost element to the link's own. Elements with omitted tags are not filled in. Without
// Options.Paths it is "".
func (p *Page) Path(l *Link) string {
	var parts []string
	for at := l.node; at >= 0; at = p.nodes[at].parent {
		n := &p.nodes[at]
		part := strings.ToLower(string(n.label.in(p.text)))
		for _, c := range strings.Fields(attrText(n.class.in(p.text))) {
			part += "." + c
		}
		if id := n.id.in(p.text); len(id) > 0 {
			part += "#" + attrText(id)
		}
		parts = append(parts, part)
	}
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return strings.Join(parts, "/")
}
