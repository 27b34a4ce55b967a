package scope

import (
	"fmt"
	"hash/maphash"
	"strings"
)

// Bounds of what a site may make up. They are far above what real sites have: of the pages
// of the 26 histories that we test with, none is cut.
const (
	maxURL      = 2048 // bytes of a URL
	maxRepeats  = 4    // times that a row of path segments may follow itself
	MaxQueries  = 2000 // different query strings of one path
	maxSessions = 3    // different session numbers of one URL
	trackedURLs = 1 << 16
)

// Traps recognises URLs that a site makes up without end. It counts in memory, bounded; a
// cycle of discovery learns first what the site is known to have.
type Traps struct {
	seed    maphash.Seed
	queries map[uint64]int // by path
	cut     map[string]int // URLs cut, by the pattern that people are told
}

// maxPatterns bounds the patterns that are told: what a site makes up may differ each time.
const maxPatterns = 1000

// NewTraps returns one that has met no URL.
func NewTraps() *Traps {
	return &Traps{seed: maphash.MakeSeed(), queries: map[uint64]int{}, cut: map[string]int{}}
}

// Cut returns how many URLs were cut, by the pattern that people are told.
func (t *Traps) Cut() map[string]int { return t.cut }

// Tell counts a URL that was cut, or put off, for a reason of the caller's.
func (t *Traps) Tell(why string) {
	if len(t.cut) < maxPatterns || t.cut[why] > 0 {
		t.cut[why]++
	}
}

// Check returns the pattern that a new URL continues beyond its bounds, "" if none. Every URL
// is to be given once.
func (t *Traps) Check(url string) string {
	why := t.pattern(url)
	if why != "" {
		t.Tell(why)
	}
	return why
}

// Learn counts a URL that is known from earlier cycles. Of a URL with a session number no
// further variant is taken then: it would be discovered anew in every cycle.
func (t *Traps) Learn(url string) {
	path, query, hasQuery := strings.Cut(url, "?")
	if clean, name := withoutSession(path, query); name != "" {
		if len(t.queries) < trackedURLs {
			t.queries[maphash.String(t.seed, clean+" "+name)] = maxSessions
		}
	} else if hasQuery {
		t.count(path)
	}
}

func (t *Traps) pattern(url string) string {
	if len(url) > maxURL {
		return "URLs longer than " + fmt.Sprint(maxURL) + " bytes"
	}
	path, query, hasQuery := strings.Cut(url, "?")
	if row := repeats(path); row != "" {
		return "path repeats " + row
	}
	if clean, name := withoutSession(path, query); name != "" {
		if t.count(clean+" "+name) > maxSessions {
			return "session numbers in " + name
		}
		return ""
	}
	if hasQuery && t.count(path) > MaxQueries {
		return "query strings of " + path
	}
	return ""
}

// count counts a key and returns how often it was counted. Where the table is full, unknown
// keys count from 0 each time: a trap that needs more paths than that is bounded by depth.
func (t *Traps) count(key string) int {
	h := maphash.String(t.seed, key)
	n, ok := t.queries[h]
	if !ok && len(t.queries) >= trackedURLs {
		return 0
	}
	t.queries[h] = n + 1
	return n + 1
}

// repeats returns the row of up to four segments that ends the path more than maxRepeats
// times in a row, "" if there is none.
func repeats(path string) string {
	if strings.Count(path, "/") < maxRepeats+3 {
		return ""
	}
	s := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for n := 1; n <= 4; n++ {
		// The last segment may be the page's own name.
		for _, end := range []int{len(s), len(s) - 1} {
			rows := 1
			for i := end - 2*n; i >= 3 && equal(s[i:i+n], s[end-n:end]); i -= n {
				rows++
			}
			if rows > maxRepeats {
				return "/" + strings.Join(s[end-n:end], "/")
			}
		}
	}
	return ""
}

func equal(a, b []string) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// sessionNames are names of parameters that only carry the number of a session.
var sessionNames = []string{"jsessionid", "phpsessid", "aspsessionid", "sessionid", "session_id", "session-id", "sid", "cfid", "cftoken", "zenid", "oscsid"}

// withoutSession returns the URL without the number of a session, and the name of its
// parameter; name is "" where there is none.
func withoutSession(path, query string) (clean, name string) {
	if i := strings.IndexByte(path, ';'); i >= 0 {
		param, _, _ := strings.Cut(path[i+1:], "=")
		if isSession(param) {
			return path[:i] + "?" + query, strings.ToLower(param)
		}
	}
	var rest []string
	for _, p := range strings.Split(query, "&") {
		key, _, _ := strings.Cut(p, "=")
		if isSession(key) {
			name = strings.ToLower(key)
		} else {
			rest = append(rest, p)
		}
	}
	return path + "?" + strings.Join(rest, "&"), name
}

func isSession(name string) bool {
	if len(name) < 3 {
		return false
	}
	name = strings.ToLower(name)
	for _, s := range sessionNames {
		if name == s {
			return true
		}
	}
	return strings.HasPrefix(name, "aspsessionid")
}
