package explore

import (
	"math"
	"strings"
)

// pageURL is what the address of a page tells of it before it is fetched.
type pageURL struct {
	kind     string // its directory, with # for numbers, and the shape of its last segment, or the name of a program with what its parameters say to do
	template string // the same with * for each name
	depth    uint8  // segments, at most 255
	length   uint16 // bytes, at most 65535
	flags    pageFlags
}

type pageFlags uint8

const (
	endsInSlash pageFlags = 1 << iota
	isNumber              // its last segment is one
	isPaged               // it is a later page of a list, as /page/2
	isSitemap             // see Link.Sitemap
	seemsList             // its last segment is called as lists are
)

// listWords are what the last segments of lists are called on sites in English, as software makes them everywhere.
var listWords = []string{"archive", "sitemap", "index", "posts", "blog", "news", "page", "tag", "categor", "toc", "content", "articles", "docs", "list"}

// readURL reads an address, of which the path and what follows counts.
func readURL(url string) pageURL {
	if i := strings.Index(url, "://"); i >= 0 && !strings.HasPrefix(url, "/") {
		url = url[i+3:]
		url = url[max(0, strings.IndexByte(url+"/", '/')):]
	}
	path, query, _ := strings.Cut(url, "?")
	path = strings.Trim(path, "/")
	slash := strings.LastIndexByte(path, '/')
	dir, last := path[:max(0, slash)], path[slash+1:]
	p := pageURL{depth: uint8(min(math.MaxUint8, 1+strings.Count(path, "/"))), length: uint16(min(math.MaxUint16, len(url)))}
	end := "*"
	if last != "" && strings.Trim(last, "0123456789") == "" {
		p.flags |= isNumber
		end = "#"
	}
	if strings.HasSuffix(url, "/") {
		p.flags |= endsInSlash
		end += "/"
	}
	lower := strings.ToLower(url)
	if paged(lower) {
		p.flags |= isPaged
	}
	name := strings.ToLower(last)
	for _, w := range listWords {
		if strings.Contains(name, w) {
			p.flags |= seemsList
			break
		}
	}
	dot := strings.LastIndexByte(last, '.')
	if dot > 0 && len(last)-dot <= 6 {
		end += last[dot:]
	}
	ofKind := end
	if query != "" { // it is a program, or a page that does several things
		ofKind = numbered(last)
	} else if i := strings.IndexByte(last, ':'); i > 0 { // as in Category:Birds
		ofKind = last[:i+1] + end
	}
	for rest := query; rest != ""; {
		var text string
		if i := strings.IndexAny(rest, "&;"); i >= 0 {
			text, rest = rest[:i], rest[i+1:]
		} else {
			text, rest = rest, ""
		}
		name, value, _ := strings.Cut(text, "=")
		name = "&" + numbered(name)
		end += name
		ofKind += name
		if isWord(value) {
			ofKind += "=" + value
		} else if i := strings.IndexByte(value, ':'); i > 0 {
			ofKind += "=" + value[:i+1]
		}
	}
	p.kind = numbered(dir) + "/" + ofKind
	p.template = names(dir) + "/" + end
	return p
}

// isWord reports whether a value of a parameter is one of those by which software says what to do: few, and short words.
func isWord(value string) bool {
	return value != "" && len(value) <= 16 && strings.Trim(value, "abcdefghijklmnopqrstuvwxyz_") == ""
}

// paged reports whether a page number follows the word page.
func paged(lower string) bool {
	for {
		i := strings.Index(lower, "page")
		if i < 0 {
			return false
		}
		lower = lower[i+4:]
		next := strings.TrimPrefix(lower, "d") // ?paged=2
		if next != "" && strings.IndexByte("/=-", next[0]) >= 0 {
			next = next[1:]
		}
		if next != "" && '0' <= next[0] && next[0] <= '9' {
			return true
		}
	}
}

// numbered replaces each number by #.
func numbered(text string) string {
	if !strings.ContainsAny(text, "0123456789") {
		return text
	}
	var b strings.Builder
	within := false
	for i := range len(text) {
		digit := '0' <= text[i] && text[i] <= '9'
		switch {
		case !digit:
			b.WriteByte(text[i])
		case !within:
			b.WriteByte('#')
		}
		within = digit
	}
	return b.String()
}

// names replaces each segment by #, if it is a number, or *.
func names(dir string) string {
	if dir == "" {
		return ""
	}
	var b strings.Builder
	for i, s := range strings.Split(dir, "/") {
		if i > 0 {
			b.WriteByte('/')
		}
		if strings.Trim(s, "0123456789") == "" {
			b.WriteByte('#')
		} else {
			b.WriteByte('*')
		}
	}
	return b.String()
}
