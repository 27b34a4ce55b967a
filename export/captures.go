package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"forage/internal/linesort"
	"forage/store"
)

// captureRow has the names and types of the columns of Common Crawl's index, but that offsets and lengths have 64 bits.
type captureRow struct {
	SURTKey string `parquet:"url_surtkey"`
	URL     string `parquet:"url"`
	hostColumns
	Protocol string `parquet:"url_protocol,dict,optional"`
	Port     int32  `parquet:"url_port,optional"`
	Path     string `parquet:"url_path,optional"`
	Query    string `parquet:"url_query,optional"`
	Time     int64  `parquet:"fetch_time,timestamp(millisecond:utc)"`
	Status   int32  `parquet:"fetch_status,optional"`
	Redirect string `parquet:"fetch_redirect,dict,optional"`
	Digest   string `parquet:"content_digest,optional"`
	MIME     string `parquet:"content_mime_type,dict,optional"`
	Detected string `parquet:"content_mime_detected,dict,optional"`
	Charset  string `parquet:"content_charset,dict,optional"`
	Language string `parquet:"content_languages,dict,optional"`
	Cut      string `parquet:"content_truncated,dict,optional"`
	Filename string `parquet:"warc_filename,dict"`
	Offset   int64  `parquet:"warc_record_offset"`
	Length   int64  `parquet:"warc_record_length"`
	Segment  string `parquet:"warc_segment,dict,optional"`
	Crawl    string `parquet:"crawl,dict,optional"`
	Subset   string `parquet:"subset,dict"`
}

// hostColumns tell of a host what its name does.
type hostColumns struct {
	Host             string `parquet:"url_host_name,dict,optional"`
	TLD              string `parquet:"url_host_tld,dict,optional"`
	Second           string `parquet:"url_host_2nd_last_part,dict,optional"`
	Third            string `parquet:"url_host_3rd_last_part,dict,optional"`
	Fourth           string `parquet:"url_host_4th_last_part,dict,optional"`
	Fifth            string `parquet:"url_host_5th_last_part,dict,optional"`
	RegistrySuffix   string `parquet:"url_host_registry_suffix,dict,optional"`
	RegisteredDomain string `parquet:"url_host_registered_domain,dict,optional"`
	PrivateSuffix    string `parquet:"url_host_private_suffix,dict,optional"`
	PrivateDomain    string `parquet:"url_host_private_domain,dict,optional"`
	Reversed         string `parquet:"url_host_name_reversed,dict,optional"`
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
	var host hostColumns // of the capture before: lines are in the order of hosts
	if err := l.Each(func(line []byte) error {
		r, err := parseCapture(string(line))
		if r.Host != host.Host {
			host = newHostColumns(r.Host)
		}
		r.hostColumns = host
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
		SURTKey: valid(key), URL: e.URL, Time: at.UnixMilli(), Digest: strings.TrimPrefix(e.Digest, "sha1:"), MIME: e.MIME, Filename: e.Filename,
		Offset: int64(*e.Offset), Length: int64(*e.Length), Crawl: crawlOf(e.Filename), Subset: "crawldiagnostics",
	}
	if e.MIME != "warc/revisit" {
		r.Detected = e.MIME
	}
	if e.Status > 0 && e.Status < 1000 {
		r.Status = int32(e.Status)
	}
	r.split(e.URL)
	switch {
	case r.Path == "/robots.txt":
		r.Subset = "robotstxt"
	case r.Status == 200:
		r.Subset = "warc"
	}
	return r, nil
}

// split takes a URL apart.
func (r *captureRow) split(url string) {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return
	}
	r.Protocol = strings.ToLower(scheme)
	rest, _, _ = strings.Cut(rest, "#")
	end := strings.IndexAny(rest, "/?\\")
	if end < 0 {
		end = len(rest)
	}
	host := rest[strings.LastIndexByte(rest[:end], '@')+1 : end]
	r.Path, r.Query, _ = strings.Cut(rest[end:], "?")
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		if port, err := strconv.ParseUint(host[i+1:], 10, 16); err == nil {
			r.Port = int32(port)
		}
		host = host[:i]
	}
	r.Host = strings.ToLower(host)
}

// crawlOf returns what the names of the files of one archive begin with: NAME of NAME-00001.warc.gz; "" where that cannot be told.
func crawlOf(filename string) string {
	name, _, _ := strings.Cut(filename[strings.LastIndexByte(filename, '/')+1:], ".warc")
	i := strings.LastIndexByte(name, '-')
	if i < 0 || strings.Trim(name[i+1:], "0123456789") != "" {
		return ""
	}
	return name[:i]
}

// newHostColumns takes a host apart. Of an address there is no more to tell than that.
func newHostColumns(host string) hostColumns {
	c := hostColumns{Host: host}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil || host == "" {
		return c
	}
	name := strings.Trim(host, ".")
	parts := strings.Split(name, ".")
	slices.Reverse(parts)
	c.Reversed = strings.Join(parts, ".")
	for i, p := range []*string{&c.TLD, &c.Second, &c.Third, &c.Fourth, &c.Fifth} {
		if i < len(parts) {
			*p = parts[i]
		}
	}
	under := func(suffix string) string { // with the label before it; "": there is none
		rest, ok := strings.CutSuffix(name, "."+suffix)
		if !ok {
			return ""
		}
		return rest[strings.LastIndexByte(rest, '.')+1:] + "." + suffix
	}
	suffix, icann := publicsuffix.PublicSuffix(name)
	c.PrivateSuffix, c.PrivateDomain = suffix, under(suffix)
	for !icann { // what somebody else registers names under: the suffix of that
		_, parent, ok := strings.Cut(suffix, ".")
		if !ok {
			break
		}
		suffix, icann = publicsuffix.PublicSuffix(parent)
	}
	c.RegistrySuffix, c.RegisteredDomain = suffix, under(suffix)
	return c
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
