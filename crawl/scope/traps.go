package scope

import (
	"fmt"
	"strings"
)

const (
	maxURL     = 2048 // bytes of a URL
	maxRepeats = 4    // times that a row of path segments may follow itself
)

// Traps counts what a cycle puts off or cuts, by the reason that people are told.
type Traps struct {
	cut map[string]int
}

// maxPatterns bounds the reasons that are told: what a site makes up may differ each time.
const maxPatterns = 1000

// NewTraps returns one that has nothing to tell.
func NewTraps() *Traps { return new(Traps) }

// Cut returns how many URLs were cut, by reason.
func (t *Traps) Cut() map[string]int { return t.cut }

// Tell counts a URL that was cut, or put off.
func (t *Traps) Tell(why string) {
	if t.cut == nil {
		t.cut = map[string]int{}
	}
	if len(t.cut) < maxPatterns || t.cut[why] > 0 {
		t.cut[why]++
	}
}

// Suspect returns why a page at this URL is not taken for one with something of its own, whatever
// it says: servers that resolve references wrongly make ever longer URLs of them. "" if it is.
// Both bounds are far above what real sites have: of the pages of the histories that we test with,
// none reaches them.
func Suspect(url string) string {
	if len(url) > maxURL {
		return fmt.Sprintf("longer than %d bytes", maxURL)
	}
	path, _, _ := strings.Cut(url, "?")
	if row := repeats(path); row != "" {
		return "path repeats " + row
	}
	if segment := crowds(path); segment != "" {
		return "path has /" + segment + " again and again"
	}
	return ""
}

// crowds returns a segment that the path has more than maxRepeats times, "" if there is none.
func crowds(path string) string {
	if strings.Count(path, "/") < 2*maxRepeats {
		return ""
	}
	s := strings.Split(path, "/")[3:]
	for i, segment := range s {
		n := 1
		for _, other := range s[:i] {
			if other == segment {
				n++
			}
		}
		if n > maxRepeats && segment != "" {
			return segment
		}
	}
	return ""
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
