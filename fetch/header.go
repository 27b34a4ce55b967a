package fetch

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"forage/fetch/use"
)

// A Header is a block of header lines, each "Name: value\r\n", as the server sent them (of
// HTTP/2, and through a proxy: rebuilt from what net/http tells, sorted by name).
type Header string

// Get returns the first value of name, or "". The name's case does not matter. O(len(h)).
func (h Header) Get(name string) string {
	for s := string(h); s != ""; {
		var line string
		line, s = cutLine(s)
		if v, ok := field(line, name); ok {
			return v
		}
	}
	return ""
}

// Values returns all values of name in order.
func (h Header) Values(name string) []string {
	var vs []string
	for s := string(h); s != ""; {
		var line string
		line, s = cutLine(s)
		if v, ok := field(line, name); ok {
			vs = append(vs, v)
		}
	}
	return vs
}

func cutLine(s string) (line, rest string) {
	i := strings.IndexByte(s, '\n')
	if i < 0 {
		return s, ""
	}
	return strings.TrimSuffix(s[:i], "\r"), s[i+1:]
}

// field returns the value of line if it is a field called name.
func field(line, name string) (string, bool) {
	if len(line) <= len(name) || line[len(name)] != ':' || !strings.EqualFold(line[:len(name)], name) {
		return "", false
	}
	return strings.Trim(line[len(name)+1:], " \t"), true
}

func headerOf(h http.Header) Header {
	var b strings.Builder
	h.Write(&b) // a Builder never fails
	return Header(b.String())
}

// MaxRetryAfter is the longest wait that a server may ask for.
const MaxRetryAfter = 24 * time.Hour

// retryAfter reads Retry-After: seconds, or a date that is compared with the server's own
// Date where there is one, because clocks differ. Anything else, and the past, is 0.
func retryAfter(h Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if v == "" {
		return 0
	}
	var d time.Duration
	if n, err := strconv.ParseUint(v, 10, 64); err == nil {
		d = time.Duration(min(n, uint64(MaxRetryAfter/time.Second))) * time.Second
	} else if isDigits(v) { // more than 64 bits
		d = MaxRetryAfter
	} else if t, err := http.ParseTime(v); err == nil {
		if date, err := http.ParseTime(h.Get("Date")); err == nil {
			now = date
		}
		d = t.Sub(now)
	}
	return max(0, min(d, MaxRetryAfter))
}

// MaxAge returns for how long the answer may be kept by what its Cache-Control says [RFC 9111,
// 5.2.2]: max-age, or 0 for no-cache and no-store. ok=false: it says neither.
func (o *Outcome) MaxAge() (age time.Duration, ok bool) {
	for _, v := range o.Header.Values("Cache-Control") {
		for directive := range strings.SplitSeq(v, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
			switch value = strings.Trim(value, `"`); strings.ToLower(name) {
			case "no-cache", "no-store":
				return 0, true
			case "max-age":
				switch n, err := strconv.ParseUint(value, 10, 31); {
				case err == nil:
					age, ok = time.Duration(n)*time.Second, true
				case isDigits(value): // more than 68 years
					age, ok = math.MaxInt32*time.Second, true
				}
			}
		}
	}
	return age, ok
}

// Said is what the header says of the use of the document.
func (o *Outcome) Said() use.Said { return use.ReadHeader(string(o.Header), AgentToken) }

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
