package warc

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// MIMERevisit is what an index has in place of the media type of a revisit.
const MIMERevisit = "warc/revisit"

// A Sighting is what a line of an index says of one capture, as far as it is needed to know what was there, and when.
type Sighting struct {
	URL    string
	Time   time.Time // UTC
	MIME   string    // as in Entry.MIME; "": not known
	Status string    // "": not known
	Method string    // of the request; "": GET
}

// A LineReader reads the lines of one index. The zero value is ready: a line may be of CDXJ, with or without key and time before
// its object, or of CDX, whose columns a header tells. Without a header lines of CDX have those of the common formats with 11, 9 or 7 of them.
type LineReader struct {
	separator byte
	columns   int // 0: there was no header
	url, time, mime, status,
	key int // columns, -1: there is none
}

// Of the header of CDX [https://archive.org/web/researcher/cdx_legend.php]: the letters of columns that tell something here.
const (
	columnURL, columnTime, columnMIME, columnStatus, columnKey = "a", "b", "m", "s", "N"
)

// Read reads a line, without its end. ok=false without an error: it is empty, a header, or a remark. What is returned shares memory with the
// line. O(len(line)).
func (r *LineReader) Read(line string) (s Sighting, ok bool, err error) {
	switch {
	case strings.TrimSpace(line) == "":
		return s, false, nil
	case line[0] == '!' || line[0] == '@' || line[0] == '#': // headers of CDXJ
		return s, false, nil
	case len(line) > 4 && line[1:4] == "CDX" && line[4] == line[0] || strings.HasPrefix(line, "CDX "):
		return s, false, r.header(line)
	}
	if i := strings.IndexByte(line, '{'); i == 0 || i > 0 && line[i-1] == ' ' && strings.Count(line[:i], " ") == 2 {
		s, err = readObject(line[:i], line[i:])
	} else {
		s, err = r.columnsOf(line)
	}
	return s, err == nil, err
}

// header takes in the header of a file of CDX: its first byte separates columns.
func (r *LineReader) header(line string) error {
	separator := byte(' ')
	if line[0] != 'C' {
		separator, line = line[0], line[1:]
	}
	names := strings.Split(strings.TrimRight(line, " \t"), string([]byte{separator}))[1:]
	h := LineReader{separator: separator, columns: len(names), url: -1, time: -1, mime: -1, status: -1, key: -1}
	for i, name := range names {
		switch name {
		case columnURL:
			h.url = i
		case columnTime:
			h.time = i
		case columnMIME:
			h.mime = i
		case columnStatus:
			h.status = i
		case columnKey:
			h.key = i
		}
	}
	if h.url < 0 || h.time < 0 {
		return fmt.Errorf("the header %.60q names no column a (the URL) or no b (the date)", line)
	}
	*r = h
	return nil
}

// columnsOf reads a line of CDX.
func (r *LineReader) columnsOf(line string) (s Sighting, err error) {
	h := r
	if h.columns == 0 {
		h = &LineReader{separator: ' ', url: 2, time: 1, mime: 3, status: 4}
		switch n := strings.Count(line, " ") + 1; n {
		case 7, 9, 11:
			h.columns = n
		default:
			return s, fmt.Errorf("want a key, a date and {, or 11 columns of CDX, got %.60q", line)
		}
	}
	n, at := 0, ""
	key := ""
	for rest, more := line, true; more; n++ {
		var field string
		if i := strings.IndexByte(rest, h.separator); i >= 0 {
			field, rest = rest[:i], rest[i+1:]
		} else {
			field, more = rest, false
		}
		if field == "-" {
			field = ""
		}
		switch n {
		case h.url:
			s.URL = field
		case h.time:
			at = field
		case h.mime:
			s.MIME = field
		case h.status:
			s.Status = field
		case h.key:
			key = field
		}
	}
	if n != h.columns {
		return s, fmt.Errorf("want %d columns, got %d: %.60q", h.columns, n, line)
	}
	return s.finish(key, at)
}

// readObject reads a line of CDXJ: before is its key and date, each with a blank behind; "": the object has them.
func readObject(before, object string) (s Sighting, err error) {
	var key, at string
	field := func(name, value string) {
		switch name {
		case "url":
			s.URL = value
		case "mime":
			s.MIME = value
		case "status":
			s.Status = value
		case "method":
			s.Method = value
		case "urlkey":
			key = value
		case "timestamp":
			at = value
		}
	}
	if !plainObject(object, field) {
		var all map[string]json.RawMessage
		if err := json.Unmarshal([]byte(object), &all); err != nil {
			return s, fmt.Errorf("the object behind key and date is no JSON: %w", err)
		}
		for name, raw := range all {
			var value any
			if err := json.Unmarshal(raw, &value); err != nil {
				return s, err
			}
			switch v := value.(type) {
			case string:
				field(name, v)
			case float64: // a status
				field(name, string(raw))
			}
		}
	}
	if s.Status == "-" {
		s.Status = ""
	}
	if s.MIME == "-" {
		s.MIME = ""
	}
	if before != "" {
		key, at, _ = strings.Cut(before[:len(before)-1], " ")
	}
	return s.finish(key, at)
}

// plainObject calls field for each member of an object that has no members but strings, and no escapes in them, as nearly all lines
// are. false: it is another one, or none; field may have been called.
func plainObject(s string, field func(name, value string)) bool {
	text := func() (string, bool) {
		s = strings.TrimLeft(s, " \t")
		if s == "" || s[0] != '"' {
			return "", false
		}
		for i := 1; i < len(s); i++ {
			switch c := s[i]; {
			case c == '"':
				v := s[1:i]
				s = s[i+1:]
				return v, true
			case c == '\\' || c < ' ' || c >= 0x80: // what is no UTF-8 is as encoding/json has it
				return "", false
			}
		}
		return "", false
	}
	next := func(c byte) bool {
		s = strings.TrimLeft(s, " \t")
		if s == "" || s[0] != c {
			return false
		}
		s = s[1:]
		return true
	}
	if !next('{') {
		return false
	}
	for {
		name, ok := text()
		if !ok || !next(':') {
			return false
		}
		value, ok := text()
		if !ok {
			return false
		}
		field(name, value)
		if next(',') {
			continue
		}
		return next('}') && strings.TrimRight(s, " \t\r") == ""
	}
}

// finish checks what every line has.
func (s *Sighting) finish(key, at string) (_ Sighting, err error) {
	if s.URL == "" {
		return *s, errors.New("the line names no URL")
	}
	if s.Time, err = parseStamp(at); err != nil {
		return *s, err
	}
	if s.Method == "" && strings.Contains(key, "__wb_method=") { // as pywb has them, lower case
		_, s.Method, _ = strings.Cut(key, "__wb_method=")
		s.Method, _, _ = strings.Cut(s.Method, "&")
	}
	if s.Method = strings.ToUpper(s.Method); s.Method == http.MethodGet {
		s.Method = ""
	}
	return *s, nil
}

// parseStamp reads a date as indexes have it: YYYYMMDDhhmmss, which may be cut short, or have milliseconds, or a date of WARC.
func parseStamp(text string) (time.Time, error) {
	const full = "00000101000000" // what stands for what is cut off
	if n := len(text); n >= 4 && n <= 17 && n != 15 && n != 16 && strings.Trim(text, "0123456789") == "" {
		if n < len(full) {
			if n%2 != 0 {
				return time.Time{}, fmt.Errorf("%q is no date: want YYYYMMDDhhmmss", text)
			}
			text += full[n:]
		}
		number := func(from, to int) (v int) {
			for _, c := range text[from:to] {
				v = v*10 + int(c-'0')
			}
			return v
		}
		year, month, day, hour, minute, second := number(0, 4), number(4, 6), number(6, 8), number(8, 10), number(10, 12), number(12, 14)
		t := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
		if t.Month() != time.Month(month) || t.Day() != day || hour > 23 || minute > 59 || second > 60 {
			return time.Time{}, fmt.Errorf("%q is no date: want YYYYMMDDhhmmss", text)
		}
		return t, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC(), nil
	}
	return time.Time{}, fmt.Errorf("%q is no date: want YYYYMMDDhhmmss", text)
}
