package scope

import (
	"cmp"
	"slices"
	"strings"
)

// A Name is a part of a URL that may be what tells a page from others of its kind: Before + Text +
// After is the URL.
type Name struct{ Before, Text, After string }

// Names returns the parts of a URL that may be its name: the values of its query, the longest first,
// then the last segment of its path; of each what stands behind the last colon or slash, without
// what looks like an extension. O(length), but for the order.
func Names(url string) []Name {
	path, query, _ := strings.Cut(url, "?")
	var all []Name
	add := func(from, to int) {
		for _, sep := range []string{"/", ":", "%2F", "%2f", "%3A", "%3a"} {
			if i := strings.LastIndex(url[from:to], sep); i >= 0 {
				from += i + len(sep)
			}
		}
		if i := strings.LastIndexByte(url[from:to], '.'); i > 0 && to-from-i <= maxExtension {
			to = from + i
		}
		if from < to {
			all = append(all, Name{url[:from], url[from:to], url[to:]})
		}
	}
	for from := len(path) + 1; from < len(path)+1+len(query); {
		to := from
		for to < len(url) && url[to] != '&' && url[to] != ';' {
			to++
		}
		if i := strings.IndexByte(url[from:to], '='); i >= 0 {
			add(from+i+1, to)
		}
		from = to + 1
	}
	slices.SortStableFunc(all, func(a, b Name) int { return cmp.Compare(len(b.Text), len(a.Text)) })
	if at := len(Origin(url)); len(strings.Trim(path[at:], "/")) > 0 {
		add(at, len(strings.TrimRight(path, "/")))
	}
	return all
}

// maxExtension is the length of what counts as an extension, with its point.
const maxExtension = 6

// MadeUp returns the URL with a name that nothing should have, of the same kind as the one it has:
// a number for a number, else letters. The same key gives the same one.
func (n Name) MadeUp(key uint64) string {
	number := strings.Trim(n.Text, "0123456789") == ""
	b := []byte("9")
	for i := range 11 {
		digit := byte(key >> (4 * i) % 10)
		switch {
		case !number:
			b = append(b, "bcdfghjklm"[digit])
		case i < min(8, len(n.Text)+2): // so that it is no larger than numbers of 32 bits can be
			b = append(b, '0'+digit)
		}
	}
	if !number {
		b = b[1:]
	}
	return n.Before + string(b) + n.After
}

// Template is the URL without the name.
func (n Name) Template() string { return n.Before + "*" + n.After }
