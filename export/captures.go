package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"forage/internal/linesort"
	"forage/store"
)

// captureRow has the names and types of the columns of Common Crawl's index, but that offsets and lengths have 64 bits.
type captureRow struct {
	SURTKey  string `parquet:"url_surtkey"`
	URL      string `parquet:"url"`
	Host     string `parquet:"url_host_name,dict,optional"`
	Time     int64  `parquet:"fetch_time,timestamp(millisecond:utc)"`
	Status   int32  `parquet:"fetch_status,optional"`
	Digest   string `parquet:"content_digest,optional"`
	MIME     string `parquet:"content_mime_type,dict,optional"`
	Filename string `parquet:"warc_filename,dict"`
	Offset   int64  `parquet:"warc_record_offset"`
	Length   int64  `parquet:"warc_record_length"`
}

// captures writes the index of the archive, in the order of CDXJ. A capture of a document that is left out is left out.
func (x *tables) captures() error {
	t, err := newTable[captureRow](x.folder, "captures")
	if err != nil {
		return err
	}
	defer t.discard()
	from, err := x.began()
	if err != nil {
		return err
	}
	l := linesort.New(filepath.Join(x.folder, "captures"), held)
	defer l.Close()
	switch err := archived(x.Archive, l, new(Written), x.Note); {
	case errors.Is(err, errNoWARC): // yet
		x.Note(fmt.Sprintf("%v: captures has no rows", err))
	case err != nil:
		return err
	}
	if err := l.Each(func(line []byte) error {
		r, err := parseCapture(string(line))
		if err != nil {
			x.Note(fmt.Sprintf("a line of an index is left out: %v", err))
			return nil
		}
		if r.Time/1000 < from {
			return nil
		}
		if has, err := x.hasURL(r.URL); err != nil || !has {
			return err
		}
		return t.add(r)
	}); err != nil {
		return err
	}
	return t.close(x.w)
}

// hasURL is has for a URL, true where the store does not know that.
func (x *tables) hasURL(url string) (bool, error) {
	if x.left == nil {
		return true, nil
	}
	id, err := x.v.Find(url)
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	return err == nil && x.has(id), err
}

// parseCapture reads a line of CDXJ, by whomever it was written.
func parseCapture(line string) (r captureRow, err error) {
	bad := func(what string) (captureRow, error) {
		return captureRow{}, fmt.Errorf("want KEY YYYYMMDDhhmmss {JSON}, have %s in %q", what, line[:min(len(line), 200)])
	}
	key, rest, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
	stamp, text, _ := strings.Cut(rest, " ")
	at, err := time.Parse("20060102150405", stamp)
	if err != nil {
		return bad("the time " + strconv.Quote(stamp))
	}
	var e struct {
		URL, MIME, Digest, Filename string
		Status                      numeral
		Length, Offset              *numeral
	}
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return bad(err.Error())
	}
	if e.Offset == nil || *e.Offset < 0 || e.Length == nil || *e.Length < 0 || e.URL == "" || e.Filename == "" {
		return bad("no offset, length, url or filename")
	}
	r = captureRow{
		SURTKey: valid(key), URL: e.URL, Host: hostOf(e.URL), Time: at.UnixMilli(), Digest: strings.TrimPrefix(e.Digest, "sha1:"), MIME: e.MIME, Filename: e.Filename,
		Offset: int64(*e.Offset), Length: int64(*e.Length),
	}
	if e.Status > 0 && e.Status < 1000 {
		r.Status = int32(e.Status)
	}
	return r, nil
}

// A numeral is a number, of which JSON has the text or the number itself; -1: it is none.
type numeral int64

func (n *numeral) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseInt(strings.Trim(string(b), `"`), 10, 64)
	if err != nil {
		v = -1
	}
	*n = numeral(v)
	return nil
}

// hostOf returns the host of a URL in lower case, "" where it has none.
func hostOf(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(rest, "/?#\\"); i >= 0 {
		rest = rest[:i]
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	if i := strings.LastIndexByte(rest, ':'); i >= 0 && !strings.HasSuffix(rest, "]") {
		rest = rest[:i]
	}
	return strings.ToLower(rest)
}
