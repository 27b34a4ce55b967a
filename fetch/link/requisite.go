package link

import "bytes"

// A Requisite is what a page needs to look right: an image, style sheet, script or font. Media that are played, frames and manifests
// are none.
type Requisite struct {
	URL   string // identity
	Sheet bool   // it is asked for as a style sheet, which may need more: see SheetRequisites
}

// SheetRequisites returns what a style sheet at url needs, each once, as many as MaxLinks. O(bytes).
func SheetRequisites(css []byte, url string) (all []Requisite) {
	id, err := Parse(url)
	if err != nil {
		return nil
	}
	var base Base
	base.set(id)
	n := 0
	seen := map[string]bool{id: true}
	StyleRefs(css, func(ref []byte, sheet bool) bool {
		if !otherScheme(ref) {
			if u, err := base.Resolve(string(ref)); err == nil && !seen[u] {
				seen[u] = true
				n += len(u)
				all = append(all, Requisite{u, sheet})
			}
		}
		return len(all) < MaxLinks && n < MaxURLs
	})
	return all
}

// require notes what the element of the current start tag needs.
func (x *Extractor) require() {
	s := &x.s
	if s.has(attrStyle) {
		x.styles(x.value(attrStyle))
	}
	switch s.tag {
	case tagImg, tagImage, tagFeImage:
		x.need(attrSrc)
		x.need(attrHref) // of SVG
		x.need(attrXlinkHref)
		x.needSrcset(attrSrcset)
	case tagUse:
		x.need(attrHref)
		x.need(attrXlinkHref)
	case tagSource:
		x.needSrcset(attrSrcset) // that of a picture; src is media
	case tagVideo:
		x.need(attrPoster)
	case tagInput:
		if equalFold(s.attr(attrType), "image") {
			x.need(attrSrc)
		}
	case tagObject, tagEmbed:
		if t := mediaType(s.attr(attrType)); len(t) > 6 && equalFold(t[:6], "image/") {
			x.need(attrSrc)
			x.need(attrData)
		}
	case tagScript:
		if runs(s.attr(attrType)) {
			x.need(attrSrc)
		}
	case tagLink:
		x.needLink()
	case tagBody, tagTable, tagThead, tagTbody, tagTfoot, tagTr, tagTh, tagTd:
		x.need(attrBackground)
	}
}

// runs reports whether a script of this type may run.
func runs(typ []byte) bool {
	if len(typ) == 0 || hasToken(typ, "module") {
		return true
	}
	typ = bytes.ToLower(typ)
	return bytes.Contains(typ, []byte("javascript")) || bytes.Contains(typ, []byte("ecmascript"))
}

// needLink notes what a link element has the page load.
func (x *Extractor) needLink() {
	s := &x.s
	rel := x.value(attrRel)
	has := func(t string) bool { return hasToken(rel, t) }
	switch {
	case len(rel) == 0:
	case has("stylesheet"):
		if t := mediaType(s.attr(attrType)); len(t) == 0 || equalFold(t, "text/css") {
			x.needRef(x.value(attrHref), true)
		}
	case has("icon"), has("apple-touch-icon"), has("apple-touch-icon-precomposed"), has("mask-icon"), has("modulepreload"):
		x.need(attrHref)
	case has("preload"):
		switch as := s.attr(attrAs); {
		case equalFold(as, "style"):
			x.needRef(x.value(attrHref), true)
		case equalFold(as, "image"), equalFold(as, "script"), equalFold(as, "font"):
			x.need(attrHref)
			x.needSrcset(attrImageSrcset)
		}
	}
}

// styles notes what CSS in the page needs.
func (x *Extractor) styles(css []byte) {
	StyleRefs(css, func(ref []byte, sheet bool) bool {
		if !otherScheme(ref) {
			x.needRef(bytes.Clone(ref), sheet)
		}
		return !x.full && len(x.needs) < MaxLinks
	})
}

// need notes the reference in attribute a of the current tag, if it has one that leads out of the page.
func (x *Extractor) need(a int) { x.needRef(x.value(a), false) }

func (x *Extractor) needSrcset(a int) {
	if x.s.has(a) {
		for _, u := range ParseSrcset(string(x.value(a))) {
			x.needRef([]byte(u), false)
		}
	}
}

func (x *Extractor) needRef(url []byte, sheet bool) {
	if url = bytes.TrimSpace(url); len(url) == 0 || url[0] == '#' || otherScheme(url) {
		return
	}
	n := len(x.needs)
	if n >= MaxLinks || x.full || n >= fewLinks && n&(n-1) == 0 && !x.take(int64(n)*linkSize) {
		x.page.Truncated = true
		return
	}
	x.needs = append(x.needs, need{url, sheet})
}

// A need is a requisite that is yet to be resolved.
type need struct {
	url   []byte
	sheet bool
}

// resolveNeeds makes requisites of what was noted, each once, as many as have URLs of MaxURLs bytes in all.
func (x *Extractor) resolveNeeds() {
	if len(x.needs) == 0 {
		return
	}
	p := &x.page
	at := make(map[string]int, len(x.needs))
	n := 0
	for _, r := range x.needs {
		start := len(x.urls)
		x.one(r.url, nil)
		u := x.urls[start:]
		if i, known := at[string(u)]; known {
			p.Requisites[i].Sheet = p.Requisites[i].Sheet || r.sheet
			continue
		}
		if len(u) == 0 || string(u) == x.self {
			continue
		}
		if n += len(u); n > MaxURLs || 3*n > fewBytes && 3*(n-len(u)) <= fewBytes && !x.take(3*MaxURLs/8) {
			p.Truncated = true
			return
		}
		id := string(u)
		at[id] = len(p.Requisites)
		p.Requisites = append(p.Requisites, Requisite{id, r.sheet})
	}
}
