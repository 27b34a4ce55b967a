package export

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"forage/archive"
	"forage/internal/linesort"
	"forage/store"
	"forage/warc"
)

// A Package says what WACZ writes.
type Package struct {
	From     *archive.Reader
	Site     *store.Site           // alone; nil: all
	Keep     func(*store.Doc) bool // of the documents that the store knows; asked once for each. nil: all
	Software string                // that writes it
	Note     func(text string)     // told what of the archive cannot be read
}

// WACZ writes an archive as a single file, of which browsers replay pages (WACZ 1.1.1, https://specs.webrecorder.net/wacz/1.1.1/): its WARC
// files as they are, an index in blocks that are compressed each by itself, a list of pages, and what all of these are. What is left out by Site or Keep is in none of
// them, except what is the same as something that is kept, and stands for it. v, unless it is nil, tells which captures are pages, and what they are called; where that is not
// its archive, others that answered with HTML are pages, too.
//
// v must be a snapshot, or of a store that nobody writes to. The same archive and store make the same bytes. Memory: as CDXJ takes; with Site or Keep, 12 bytes
// for each capture that is the same as one of another URL. Errors: those of v and of the files; two files of one name; where there is no WARC file at all.
func WACZ(v *store.View, to Target, what Package) (w Written, err error) {
	files, err := warcFiles(what.From, what.Note)
	if err != nil {
		return w, err
	}
	names := map[string]bool{}
	for _, f := range files {
		if names[f.Name] {
			return w, fmt.Errorf("two files in %s are called %s: an index could not tell them apart", what.From.Folder, f.Name)
		}
		names[f.Name] = true
	}
	x := &wacz{Package: what, v: v, w: &w, own: v != nil && what.From.Own(files), lines: linesort.New(to.beside(), held), rest: newStreams(2, to.beside())}
	defer x.lines.Close()
	defer x.rest.close()
	err = to.create(&w, true, func(out io.Writer) error {
		x.zip = zip.NewWriter(out)
		if err := x.write(files); err != nil {
			return err
		}
		return x.zip.Close()
	})
	return w, err
}

// wacz is one call of WACZ.
type wacz struct {
	Package
	v     *store.View
	own   bool // the store has written the archive
	w     *Written
	zip   *zip.Writer
	lines *linesort.Lines // of the index
	rest  *streams        // what is known when the index is written: see idxStream, pageStream

	latest    time.Time // of all captures
	begun     time.Time // of the WARC file that was begun last
	resources []resource

	left     docSet          // documents that Keep leaves out
	refers   map[uint64]bool // hashes of captures that are left out by themselves, and kept as what others refer to
	verdicts map[string]bool // of recent URLs
	pages    pageList
}

// The numbers of streams.
const (
	idxStream = iota
	pageStream
)

// A resource is a file of the package, as datapackage.json tells of it.
type resource struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Hash  string `json:"hash"`
	Bytes int64  `json:"bytes"`

	out io.Writer
	sum hash.Hash
}

func (r *resource) Write(p []byte) (int, error) {
	r.sum.Write(p)
	n, err := r.out.Write(p)
	r.Bytes += int64(n)
	return n, err
}

// begin begins a file of the package, that was made at a time.
func (x *wacz) begin(path string, at time.Time, method uint16) (*resource, error) {
	name := strings.Map(func(r rune) rune { // as data packages want it
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, strings.ToLower(path[strings.LastIndexByte(path, '/')+1:]))
	for n, base := 2, name; slices.ContainsFunc(x.resources, func(r resource) bool { return r.Name == name }); n++ {
		name = fmt.Sprintf("%d-%s", n, base)
	}
	r := &resource{Name: name, Path: path, sum: sha256.New()}
	if first := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC); at.Before(first) { // a zip knows nothing earlier
		at = first
	}
	var err error
	r.out, err = x.zip.CreateHeader(&zip.FileHeader{Name: path, Method: method, Modified: at.UTC().Truncate(time.Second)})
	return r, err
}

// end ends it.
func (x *wacz) end(r *resource) {
	r.Hash = "sha256:" + hex.EncodeToString(r.sum.Sum(nil))
	x.resources = append(x.resources, *r)
}

func (x *wacz) write(files []archive.WARC) error {
	copyFile := x.copyWhole
	if x.Site != nil || x.Keep != nil {
		var err error
		if x.left, err = x.readLeft(); err != nil {
			return err
		}
		copyFile = x.copySome
		x.refers, x.verdicts = map[uint64]bool{}, map[string]bool{}
		for _, f := range files {
			if err := x.readReferred(&f); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
		}
	}
	for _, f := range files {
		if err := copyFile(&f); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if err := x.index(); err != nil {
		return err
	}
	if err := x.stream("indexes/index.idx", idxStream); err != nil {
		return err
	}
	if err := x.stream("pages/pages.jsonl", pageStream); err != nil {
		return err
	}
	return x.describe()
}

// readLeft asks Keep.
func (x *wacz) readLeft() (docSet, error) {
	if x.v == nil {
		return nil, nil
	}
	return leftOut(x.v, x.Keep, x.Site)
}

// copyWhole adds a file as it is.
func (x *wacz) copyWhole(f *archive.WARC) error {
	if err := captures(f, x.lines, x.w, x.Note); err != nil {
		return err
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	r, err := x.beginWARC(f, in)
	if err != nil {
		return err
	}
	n, err := io.Copy(r, io.NewSectionReader(in, 0, f.Size))
	if err == nil && n != f.Size {
		err = fmt.Errorf("it ends after %d bytes of %d", n, f.Size)
	}
	if err != nil {
		return err
	}
	x.end(r)
	return nil
}

// beginWARC begins a WARC file, made when its first record says.
func (x *wacz) beginWARC(f *archive.WARC, in io.ReaderAt) (*resource, error) {
	var at time.Time
	rec, err := warc.NewReader(io.NewSectionReader(in, 0, f.Size)).Next()
	var format *warc.FormatError
	if err == nil {
		at, _ = rec.Date()
	} else if err != io.EOF && !errors.As(err, &format) {
		return nil, err
	}
	if at.After(x.begun) {
		x.begun = at
	}
	return x.begin("archive/"+f.Name, at, zip.Store)
}

// records calls each with the records of a file, until it returns an error, and tells what cannot be read if tell is set.
func (x *wacz) records(f *archive.WARC, tell bool, each func(in io.ReaderAt, rec *warc.Record) error) error {
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	for r := warc.NewReader(io.NewSectionReader(in, 0, f.Size)); ; {
		rec, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = each(in, rec)
		}
		var format *warc.FormatError
		switch {
		case err == nil:
		case !errors.As(err, &format):
			return err
		case tell:
			x.Note(fmt.Sprintf("%s: %v", in.Name(), err))
		}
	}
}

// readReferred finds out which captures of a file are what others refer to that are kept.
func (x *wacz) readReferred(f *archive.WARC) error {
	return x.records(f, false, func(_ io.ReaderAt, rec *warc.Record) error {
		if rec.Type != warc.Revisit {
			return nil
		}
		of := rec.Fields.Get("WARC-Refers-To-Target-URI")
		if of == "" || of == rec.URI() {
			return nil
		}
		if has, err := x.has(rec.URI()); err != nil || !has {
			return err
		}
		has, err := x.has(of)
		if err == nil && !has {
			x.refers[captureHash(of, rec.Fields.Get("WARC-Refers-To-Date"))] = true
		}
		return err
	})
}

// copySome adds what is to be kept of a file, record by record.
func (x *wacz) copySome(f *archive.WARC) error {
	var out *resource
	var info *warc.Record // that the file begins with, yet to be written
	var kept string       // number of the latest capture that is kept for others
	copyRecord := func(in io.ReaderAt, rec *warc.Record) (at int64, err error) {
		at = out.Bytes
		n, err := io.Copy(out, io.NewSectionReader(in, rec.Offset, rec.Stored()))
		if err == nil && n != rec.Stored() {
			err = io.ErrUnexpectedEOF
		}
		return at, err
	}
	err := x.records(f, true, func(in io.ReaderAt, rec *warc.Record) error {
		uri := rec.URI()
		keep := uri == ""
		if !keep {
			var err error
			if keep, err = x.has(uri); err != nil {
				return err
			}
		}
		id := rec.Fields.Get("WARC-Record-ID")
		switch {
		case keep:
		case rec.Type == warc.Response && x.refers[captureHash(uri, rec.Fields.Get("WARC-Date"))]:
			keep, kept = true, id
		case id != "" && kept == rec.Fields.Get("WARC-Concurrent-To"):
			keep = kept != ""
		}
		if !keep {
			return nil
		}
		e, err := rec.Entry()
		if err == nil {
			err = rec.Close()
		}
		if err != nil {
			return err
		}
		if rec.Index > 0 {
			return &warc.FormatError{Offset: rec.Offset, Reason: "its member has several records, and cannot be kept in part"}
		}
		if out == nil && rec.Type == warc.Warcinfo {
			info = rec
			return nil
		}
		if out == nil {
			if out, err = x.beginWARC(f, in); err != nil {
				return err
			}
			if info != nil {
				if _, err := copyRecord(in, info); err != nil {
					return err
				}
			}
		}
		at, err := copyRecord(in, rec)
		if err != nil || e == nil {
			return err
		}
		e.Filename, e.Offset = f.Name, at
		x.w.Records++
		return x.lines.Add(e.Append(nil))
	})
	if err != nil || out == nil {
		return err
	}
	x.end(out)
	return nil
}

// captureHash tells captures apart: by URL and date, whose fractions of a second are not in all records of it.
func captureHash(uri, date string) uint64 {
	sum := sha256.Sum256([]byte(uri + " " + date[:min(len(date), len("2006-01-02T15:04:05"))]))
	return uint64(sum[0])<<56 | uint64(sum[1])<<48 | uint64(sum[2])<<40 | uint64(sum[3])<<32 | uint64(sum[4])<<24 | uint64(sum[5])<<16 | uint64(sum[6])<<8 | uint64(sum[7])
}

// manyVerdicts is of how many URLs it is known at once whether they are kept.
const manyVerdicts = 1 << 12

// has reports whether captures of a URL are kept. What the store does not know, as a robots.txt, is of a site if that has its host.
func (x *wacz) has(uri string) (bool, error) {
	if is, ok := x.verdicts[uri]; ok {
		return is, nil
	}
	d, err := x.doc(uri)
	if err != nil {
		return false, err
	}
	is := true
	switch {
	case d == nil && x.Site != nil:
		is = slices.ContainsFunc(x.Site.Seeds, func(seed string) bool { return store.HostOf(seed) == store.HostOf(uri) })
	case d != nil && x.Site != nil && d.Site != x.Site.ID:
		is = false
	case d != nil:
		is = !x.left.has(d.ID)
	}
	if len(x.verdicts) >= manyVerdicts {
		clear(x.verdicts)
	}
	x.verdicts[uri] = is
	return is, nil
}

// doc returns the document of a URL, nil where the store does not know it.
func (x *wacz) doc(uri string) (*store.Doc, error) {
	if x.v == nil {
		return nil, nil
	}
	id, err := x.v.Find(uri)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return x.v.Doc(id)
}

// blockLines is how many lines of the index are compressed together: as many as others have.
const blockLines = 1024

// index writes the index, and makes the lists that follow from it.
func (x *wacz) index() error {
	r, err := x.begin("indexes/index.cdx.gz", x.begun, zip.Store)
	if err != nil {
		return err
	}
	if err := x.rest.add(pageStream, []byte(`{"format": "json-pages-1.0", "id": "pages", "title": "Pages"}`+"\n")); err != nil {
		return err
	}
	if err := x.rest.add(idxStream, []byte(`!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}`+"\n")); err != nil {
		return err
	}
	var (
		block, packed bytes.Buffer
		first         string // key and time of the block's first line
		n             int
		z             = gzip.NewWriter(&packed)
	)
	flush := func() error {
		if n == 0 {
			return nil
		}
		packed.Reset()
		z.Reset(&packed)
		if _, err := z.Write(block.Bytes()); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		sum := sha256.Sum256(packed.Bytes())
		line := fmt.Sprintf("%s {\"offset\": %d, \"length\": %d, \"digest\": \"sha256:%x\"}\n", first, r.Bytes, packed.Len(), sum)
		n = 0
		block.Reset()
		if _, err := r.Write(packed.Bytes()); err != nil {
			return err
		}
		return x.rest.add(idxStream, []byte(line))
	}
	if err := x.lines.Each(func(line []byte) error {
		c, err := parseCapture(string(line))
		if err != nil {
			x.Note(fmt.Sprintf("a line of an index is left out: %v", err))
			return nil
		}
		if at := time.UnixMilli(c.Time); at.After(x.latest) {
			x.latest = at
		}
		if err := x.pages.add(&c, x.page); err != nil {
			return err
		}
		if n == 0 {
			key, rest, _ := bytes.Cut(line, []byte(" "))
			stamp, _, _ := bytes.Cut(rest, []byte(" "))
			first = string(key) + " " + string(stamp)
		}
		block.Write(line)
		if n++; n == blockLines {
			return flush()
		}
		return nil
	}); err != nil {
		return err
	}
	if err := errors.Join(x.pages.flush(x.page), flush()); err != nil {
		return err
	}
	x.end(r)
	return nil
}

// A pageList picks pages from captures that come in the order of their keys.
type pageList struct {
	key string
	of  map[string]*captured // by URL: those of this key
}

// captured is what the captures of a URL come to.
type captured struct {
	url  string
	last int64 // milliseconds since the epoch: of the latest that shows it; 0: none
	html bool  // one was HTML
}

// add takes in a capture. page is called with what those of a key come to, when all are known.
func (p *pageList) add(c *captureRow, page func(*captured) error) error {
	if c.SURTKey != p.key {
		if err := p.flush(page); err != nil {
			return err
		}
		p.key = c.SURTKey
	}
	revisit := c.MIME == "warc/revisit"
	if c.Status != 200 && !revisit {
		return nil
	}
	u := p.of[c.URL]
	if u == nil {
		if p.of == nil {
			p.of = map[string]*captured{}
		}
		u = &captured{url: c.URL}
		p.of[c.URL] = u
	}
	u.last = max(u.last, c.Time)
	u.html = u.html || c.MIME == "text/html" || c.MIME == "application/xhtml+xml"
	return nil
}

func (p *pageList) flush(page func(*captured) error) error {
	for _, url := range slices.Sorted(maps.Keys(p.of)) {
		if err := page(p.of[url]); err != nil {
			return err
		}
	}
	clear(p.of)
	return nil
}

// A waczPage is a line of pages.jsonl.
type waczPage struct {
	ID    string `json:"id"`
	URL   string `json:"url"`
	Time  string `json:"ts"`
	Title string `json:"title,omitempty"`
}

// page adds a page to the list, if it is one.
func (x *wacz) page(c *captured) error {
	if x.Site != nil || x.Keep != nil {
		if has, err := x.has(c.url); err != nil || !has { // it is there for others
			return err
		}
	}
	d, err := x.doc(c.url)
	if err != nil {
		return err
	}
	p := waczPage{URL: c.url, Time: time.UnixMilli(c.last).UTC().Format(time.RFC3339)}
	switch {
	case d == nil && (x.own || !c.html || strings.HasSuffix(c.url, "/robots.txt")), d != nil && !d.IsListed():
		return nil
	case d != nil:
		p.ID, p.Title = strconv.Itoa(int(d.ID)), valid(d.Title)
	default:
		p.ID = strconv.FormatUint(captureHash(c.url, ""), 16)
	}
	line, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return x.rest.add(pageStream, append(line, '\n'))
}

// stream writes one of rest.
func (x *wacz) stream(path string, number int) error {
	r, err := x.begin(path, x.latest, zip.Deflate)
	if err != nil {
		return err
	}
	if err := x.rest.writeTo(r, number); err != nil {
		return err
	}
	x.end(r)
	return nil
}

// describe writes datapackage.json, and its digest.
func (x *wacz) describe() error {
	p := struct {
		Profile   string     `json:"profile"`
		Version   string     `json:"wacz_version"`
		Title     string     `json:"title,omitempty"`
		MainPage  string     `json:"mainPageUrl,omitempty"`
		Created   string     `json:"created"`
		Software  string     `json:"software,omitempty"`
		Resources []resource `json:"resources"`
	}{Profile: "data-package", Version: "1.1.1", Created: x.latest.UTC().Format(time.RFC3339), Software: x.Software, Resources: x.resources}
	if x.latest.IsZero() {
		p.Created = time.Unix(0, 0).UTC().Format(time.RFC3339)
	}
	site, err := x.site()
	if err != nil {
		return err
	}
	if site != nil {
		p.Title = valid(site.Name)
		if len(site.Seeds) > 0 {
			p.MainPage = valid(site.Seeds[0])
		}
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	sum, err := json.MarshalIndent(map[string]string{"path": "datapackage.json", "hash": fmt.Sprintf("sha256:%x", sha256.Sum256(text))}, "", "  ")
	if err != nil {
		return err
	}
	for _, f := range []struct {
		path string
		text []byte
	}{{"datapackage.json", text}, {"datapackage-digest.json", append(sum, '\n')}} {
		r, err := x.begin(f.path, x.latest, zip.Deflate)
		if err != nil {
			return err
		}
		if _, err := r.Write(f.text); err != nil {
			return err
		}
	}
	return nil
}

// site is the one that all of it is of; nil: there are several, or it is not known.
func (x *wacz) site() (s *store.Site, err error) {
	if x.Site != nil || x.v == nil {
		return x.Site, nil
	}
	n := 0
	err = x.v.SitesFrom(0, func(one *store.Site) bool {
		s = one
		n++
		return n < 2
	})
	if n != 1 {
		s = nil
	}
	return s, err
}
