package revisit

import (
	"cmp"
	"strconv"
	"strings"
)

// Templates numbers the templates of a site: documents of one kind whose paths have the same
// directory, once runs of digits are masked, and the same extension, as /2019/05/a.html and
// /2020/11/b.html have. A site that is rebuilt with other extensions, or with none, has other
// templates. The zero value is ready.
type Templates struct{ number map[string]int32 }

// Of returns the template of a document, a new number for a new one.
func (t *Templates) Of(kind Kind, path string) int32 {
	var b strings.Builder
	b.WriteByte('0' + byte(kind))
	digits := false
	for _, c := range []byte(directory(path)) {
		if c >= '0' && c <= '9' {
			if !digits {
				b.WriteByte('#')
			}
			digits = true
			continue
		}
		digits = false
		b.WriteByte(c)
	}
	b.WriteString(extension(path))
	if t.number == nil {
		t.number = make(map[string]int32)
	}
	n, ok := t.number[b.String()]
	if !ok {
		n = int32(len(t.number))
		t.number[b.String()] = n
	}
	return n
}

// Lists numbers the lists of a site that go on over numbered pages, as /news/page/2/ and
// /tags/go/3.html do. The zero value is ready.
type Lists struct{ number map[string]int32 }

// Of returns the list of a page, 0 for none, and the page's number in it. The number must be
// the last part of the path, alone or after "page", without leading zeros.
func (l *Lists) Of(kind Kind, path string) (list int32, number int) {
	if kind != HTML {
		return 0, 0
	}
	end := len(strings.TrimSuffix(path, "/"))
	if dot := strings.LastIndexByte(path[:end], '.'); dot > strings.LastIndexByte(path[:end], '/') {
		end = dot
	}
	start := end
	for start > 0 && digit(path[start-1]) {
		start--
	}
	stem := strings.TrimSuffix(strings.TrimSuffix(path[:start], "-"), "page")
	if start == end || path[start] == '0' || !strings.HasSuffix(stem, "/") {
		return 0, 0
	}
	number, err := strconv.Atoi(path[start:end])
	if err != nil {
		return 0, 0
	}
	if l.number == nil {
		l.number = make(map[string]int32)
	}
	name := path[:start] + "#" + path[end:]
	if l.number[name] == 0 {
		l.number[name] = int32(len(l.number)) + 1
	}
	return l.number[name], number
}

// IsDense reports whether pages of one list whose largest number is this may well be one list:
// years, which leave gaps below, are not.
func IsDense(number, pages int) bool { return number <= 2*pages+1 }

// Depth returns how many directories stand in a path: 0 for /a.html and /a/, 1 for /b/a.html.
func Depth(path string) int { return max(0, strings.Count(directory(path), "/")-1) }

// directory returns the part of a path up to the last slash that something follows, so that
// /b/a/, which a static host answers with /b/a/index.html, lies beside /b/a.html.
func directory(path string) string {
	path = strings.TrimSuffix(path, "/")
	return path[:strings.LastIndexByte(path, '/')+1]
}

// extension returns the extension of a path's last part, "/" if it ends with a slash, and
// nothing where what follows the last dot is not a short run of letters.
func extension(path string) string {
	path, _, _ = strings.Cut(path, "?")
	if strings.HasSuffix(path, "/") {
		return "/"
	}
	path = path[strings.LastIndexByte(path, '/')+1:]
	dot := strings.LastIndexByte(path, '.')
	if dot < 0 || len(path)-dot > 6 || strings.ContainsFunc(path[dot+1:], func(c rune) bool { return (c|0x20) < 'a' || (c|0x20) > 'z' }) {
		return ""
	}
	return path[dot:]
}

// Readable decodes the escapes of a path that stand for letters beyond ASCII, so that pages
// with such names are in the order of their letters.
func Readable(path string) string {
	if strings.IndexByte(path, '%') < 0 {
		return path
	}
	b := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) {
			if c, err := strconv.ParseUint(path[i+1:i+3], 16, 8); err == nil && c >= 0x80 {
				b = append(b, byte(c))
				i += 2
				continue
			}
		}
		b = append(b, path[i])
	}
	return string(b)
}

// naturally compares paths with runs of digits as numbers, so that /9/ comes before /10/.
func naturally(a, b string) int {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	for i > 0 && digit(a[i-1]) { // the run that they differ in, from its start
		i--
	}
	x, y := a[i:], b[i:]
	for x != "" && y != "" {
		if digit(x[0]) && digit(y[0]) {
			var m, n string
			m, x = number(x)
			n, y = number(y)
			if c := cmp.Or(cmp.Compare(len(m), len(n)), cmp.Compare(m, n)); c != 0 {
				return c
			}
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// number splits the run of digits that begins s, without leading zeros, from the rest.
func number(s string) (run, rest string) {
	i := 0
	for i < len(s) && digit(s[i]) {
		i++
	}
	return strings.TrimLeft(s[:i], "0"), s[i:]
}

// IsIndex reports whether the last part of a path is a name that lists of pages go by, as
// /blog/ and /archive.html do.
func IsIndex(path string) bool {
	path = strings.TrimSuffix(path, "/")
	path = path[strings.LastIndexByte(path, '/')+1:]
	if i := strings.LastIndexByte(path, '.'); i > 0 {
		path = path[:i]
	}
	switch strings.ToLower(path) {
	case "all", "archiv", "archive", "archives", "archivo", "articles", "blog", "blogs", "categories", "changelog", "changes",
		"contents", "docs", "events", "history", "index", "latest", "list", "log", "new", "news", "posts", "press", "publications",
		"recent", "releases", "release", "series", "stories", "tag", "tags", "topics", "updates", "weblog", "writing", "downloads", "download", "category", "author", "authors", "sitemap", "toc", "files", "pages", "section", "sections", "whatsnew", "notes":
		return true
	}
	return false
}
