package link

import (
	"bytes"
	"strings"
	"time"
)

// A dateRank tells how much a date of publication is worth, by where it stands.
type dateRank int

const (
	noDate   dateRank = iota
	itemRank          // meta itemprop=datePublished
	ldRank            // JSON-LD
	metaRank          // article:published_time
)

// published takes text for the page's date if it is one, and no better one is known.
func (x *Extractor) published(text string, rank dateRank) {
	if rank <= x.docs {
		return
	}
	if t, ok := ParseTime(text); ok {
		x.page.Published, x.docs = t, rank
	}
}

// ldDate returns the first "datePublished" of a JSON-LD script.
func ldDate(b []byte) string {
	for {
		i := bytes.Index(b, []byte(`"datePublished"`))
		if i < 0 {
			return ""
		}
		b = b[i+len(`"datePublished"`):]
		rest := bytes.TrimLeft(b, " \t\r\n")
		if len(rest) == 0 || rest[0] != ':' {
			continue
		}
		rest = bytes.TrimLeft(rest[1:], " \t\r\n")
		if len(rest) == 0 || rest[0] != '"' {
			continue
		}
		if end := bytes.IndexByte(rest[1:], '"'); end >= 0 {
			return string(rest[1 : 1+end])
		}
		return ""
	}
}

var layouts = []string{
	time.RFC3339Nano,
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04:05Z0700",
	"2006-01-02T15:04:05",
	"2006-01-02T15:04",
	"2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05 -0700",
	"2006-01-02 15:04:05",
	"2006-01-02 15:04",
	"2006-01-02",
	"2006-01",
	"2006",
	time.RFC1123Z,
	time.RFC1123,
	"Mon, 2 Jan 2006 15:04:05 -0700",
	"Mon, 2 Jan 2006 15:04:05 MST",
	"2 Jan 2006 15:04:05 -0700",
	"2 Jan 2006 15:04:05 MST",
	"Mon, 2 Jan 06 15:04:05 -0700",
	"Mon, 2 Jan 06 15:04:05 MST",
	time.ANSIC,
}

// ParseTime reads a date as feeds, sitemaps and pages write it: W3C, RFC 3339, RFC 822, parts
// left out taken for their first, zones left out for UTC. Years beyond 1970…9999 are refused.
func ParseTime(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	if len(s) < 4 || len(s) > 64 {
		return time.Time{}, false
	}
	for _, l := range layouts {
		if t, err := time.Parse(l, s); err == nil {
			if t = t.UTC(); t.Year() < 1970 || t.Year() > 9999 {
				return time.Time{}, false
			}
			return t, true
		}
	}
	return time.Time{}, false
}
