package export

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"forage/archive"
	"forage/crawl/document"
	"forage/fetch"
	"forage/graph"
	"forage/internal/atomicfile"
	"forage/internal/printable"
	"forage/store"
	"forage/text"
	"forage/warc"
)

// Texts tell what of the texts of pages is written, and where it comes from.
type Texts struct {
	Format text.Format
	Site   *store.Site           // alone; nil: all
	Keep   func(*store.Doc) bool // of the pages; asked once at most for each. nil: all

	Since store.Cycle // what there was to tell before that cycle is left out, and what is gone since is told; 0: all there is

	Kept    *archive.Reader   // the texts that crawls kept; nil: there are none
	Archive *archive.Reader   // the answers that they kept, for what has no text there; nil: there are none
	Note    func(text string) // told what of these cannot be read
}

// TextsWritten tells what was written of texts.
type TextsWritten struct {
	Written
	Pages   uint64      // with their text
	Gone    uint64      // that are told to be gone
	Without uint64      // of which there is no text
	Next    store.Cycle // the first cycle that may add something to this: that since which the next increment is
}

// A FormatError says that a text is kept in another format than the one that is asked for.
type FormatError struct {
	URL        string
	Kept, Want text.Format
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("the text of %s is kept as %s, and its page is in no archive from which %s could be made", e.URL, e.Kept, e.Want)
}

// TextLines writes what pages say as JSON, a line for each page that lists have and that is there, by number; docs/text.md tells the keys. With Since
// it is an increment: applied to what was written when that cycle was the first that might add something, it gives what is written now. Where there
// is no text of a page, its latest body is looked for in the archive, and read as the crawl reads it.
//
// v must be a snapshot, or of a store that nobody writes to. The same store makes the same bytes. Memory: a text, and the page that it is made of.
// Errors: those of v and of the files, and *FormatError.
func TextLines(v *store.View, to Target, what Texts) (w TextsWritten, err error) {
	err = to.create(&w.Written, false, func(to io.Writer) error {
		out := bufio.NewWriterSize(to, 1<<16)
		var line []byte
		if err := what.each(v, &w, func(r *textRow) error {
			line = append(r.appendJSON(line[:0]), '\n')
			_, err := out.Write(line)
			return err
		}); err != nil {
			return err
		}
		return out.Flush()
	})
	w.Records = w.Pages + w.Gone
	return w, err
}

const (
	maxTexts       = 4 << 20  // bytes of texts that a table takes at once
	textGroupBytes = 16 << 20 // of a row group: its one large column is held in pieces that grow to twice of that
)

// TextTable is TextLines for a new folder with the table text, as Parquet. Memory: besides, what a table takes. Errors: besides, one that wraps
// fs.ErrExist where the folder is there and not empty.
func TextTable(v *store.View, dir string, what Texts) (w TextsWritten, err error) {
	err = atomicfile.CreateFolder(dir, func(part string) error {
		t, err := newTable[textRow](part, "text")
		if err != nil {
			return err
		}
		defer t.discard()
		t.most = textGroupBytes
		held := 0
		if err := what.each(v, &w, func(r *textRow) error {
			err := t.add(*r)
			if held += len(r.Text); len(t.batch) == 0 {
				held = 0
			} else if err == nil && held > maxTexts {
				held, err = 0, t.settle()
			}
			return err
		}); err != nil {
			return err
		}
		return t.close(&w.Written)
	})
	return w, err
}

// textRow is a page with its text, or one that is gone.
type textRow struct {
	URL       string `parquet:"url"`
	Site      string `parquet:"site,dict"`
	Change    string `parquet:"change,dict,optional"`
	Title     string `parquet:"title,optional"`
	Lang      string `parquet:"lang,dict,optional"`
	Kind      string `parquet:"kind,dict,optional"`
	Text      string `parquet:"text,optional"`
	Digest    string `parquet:"digest,optional"`
	FirstSeen int64  `parquet:"first_seen,timestamp(millisecond:utc),optional"`
	Changed   int64  `parquet:"changed,timestamp(millisecond:utc),optional"`
	Published int64  `parquet:"published,timestamp(millisecond:utc),optional"`
	Gone      bool   `parquet:"gone"`
	GoneSince int64  `parquet:"gone_since,timestamp(millisecond:utc),optional"`
	Why       string `parquet:"why,dict,optional"`
}

// appendJSON appends the row as an object.
func (r *textRow) appendJSON(b []byte) []byte {
	text := func(key, s string) {
		b = append(append(append(b, `,"`...), key...), `":`...)
		b = printable.AppendString(b, s)
	}
	null := func(key, s string) {
		if s != "" {
			text(key, s)
			return
		}
		b = append(append(append(b, `,"`...), key...), `":null`...)
	}
	stamp := func(key string, ms int64) {
		if ms == 0 {
			null(key, "")
			return
		}
		text(key, time.UnixMilli(ms).UTC().Format(time.RFC3339))
	}
	b = printable.AppendString(append(b, `{"url":`...), r.URL)
	text("site", r.Site)
	if r.Gone {
		b = append(b, `,"gone":true`...)
		stamp("gone_since", r.GoneSince)
		text("why", r.Why)
		return append(b, '}')
	}
	if r.Change != "" {
		text("change", r.Change)
	}
	null("title", r.Title)
	null("lang", r.Lang)
	text("kind", r.Kind)
	text("text", r.Text)
	null("digest", r.Digest)
	stamp("first_seen", r.FirstSeen)
	stamp("changed", r.Changed)
	stamp("published", r.Published)
	return append(b, '}')
}

// texts is one call of TextLines or TextTable.
type texts struct {
	Texts
	v    *store.View
	c    *store.Cursor
	w    *TextsWritten
	row  func(*textRow) error
	name map[store.SiteID]string
	told map[uint64]bool // files that cannot be read
	lost bool            // what the text of the page is in cannot be read

	reader text.Reader
	client *fetch.Client
	answer *bufio.Reader
}

// each calls row for each row, in order. A row is good until the next one, but not what is in it.
func (what Texts) each(v *store.View, w *TextsWritten, row func(*textRow) error) (err error) {
	x := &texts{Texts: what, v: v, c: v.Cursor(), w: w, row: row, name: map[store.SiteID]string{}, told: map[uint64]bool{}}
	defer x.c.Close()
	if w.Next, err = v.TextsSince(0); err != nil {
		return err
	}
	var failed error
	docs := x.c.Docs
	if x.Site != nil {
		docs = func(yield func(*store.Doc) bool) error { return x.c.SiteDocs(x.Site.ID, yield) }
	}
	err = docs(func(d *store.Doc) bool {
		failed = x.doc(d)
		return failed == nil
	})
	return errors.Join(err, failed)
}

// textIn is the cycle from which on there may be something else to tell of a document.
func textIn(d *store.Doc) store.Cycle {
	if d.TextIn == 0 && d.Kind == store.Page { // a release wrote it that did not know, and each fetch may have changed it
		return d.FetchedIn
	}
	return d.TextIn
}

// doc writes what there is to tell of a document.
func (x *texts) doc(d *store.Doc) error {
	if x.Since != 0 && textIn(d) < x.Since {
		return nil
	}
	url := valid(d.URL)
	if d.Stands { // whatever is told of d is told of the one that it stands for, if anything is
		of, err := x.v.Doc(d.DuplicateOf)
		if err != nil {
			return fmt.Errorf("document %d: %w", d.DuplicateOf, err)
		}
		if err := x.gone(d, url, "duplicate"); err != nil {
			return err
		}
		if of.IsListed() {
			return nil
		}
		url = valid(of.URL)
	}
	if !d.Shown() {
		if d.StandIn != graph.None {
			return nil // that one is told of
		}
		return x.gone(d, url, whyGone(d))
	}
	if x.Keep != nil && !x.Keep(d) {
		return x.gone(d, url, "asked not to")
	}
	said, err := x.text(d)
	if err != nil {
		return err
	}
	if said == nil {
		if x.w.Without++; x.lost { // there may be one, and whoever has an older one keeps that
			return nil
		}
		return x.gone(d, url, "no text")
	}
	site, err := x.site(d.Site)
	if err != nil {
		return err
	}
	r := textRow{
		URL: url, Site: site, Title: valid(d.Title), Lang: said.Lang, Kind: d.KindText(), Text: valid(said.Text), Digest: digest(d.Digest),
		FirstSeen: millis(d.FirstSeen), Changed: millis(d.Changed), Published: millis(d.Published),
	}
	if x.Since != 0 {
		if r.Change = "changed"; d.Cycle >= x.Since {
			r.Change = "new"
		}
	}
	x.w.Pages++
	return x.row(&r)
}

// whyGone is why texts do not tell of a document.
func whyGone(d *store.Doc) string {
	switch {
	case d.LeftOut():
		return "left out"
	case d.IsPage() && d.Repeats():
		return "duplicate"
	case d.Gone != 0:
		return "gone"
	case d.Status/100 == 3:
		return "redirect"
	}
	return "no page"
}

// gone tells that a page is gone, in an increment.
func (x *texts) gone(d *store.Doc, url, why string) error {
	if x.Since == 0 {
		return nil
	}
	site, err := x.site(d.Site)
	if err != nil {
		return err
	}
	x.w.Gone++
	return x.row(&textRow{URL: url, Site: site, Gone: true, GoneSince: millis(d.Gone), Why: why})
}

// site is the name of a site.
func (x *texts) site(id store.SiteID) (string, error) {
	if name, ok := x.name[id]; ok {
		return name, nil
	}
	s, err := x.v.Site(id)
	if err != nil {
		return "", fmt.Errorf("site %d: %w", id, err)
	}
	x.name[id] = valid(s.Name)
	return x.name[id], nil
}

// A said is the text of a page.
type said struct{ Lang, Text string }

// text returns the text of a page, as it was last seen, nil where there is none.
func (x *texts) text(d *store.Doc) (*said, error) {
	x.lost = false
	var other *FormatError
	if x.Kept != nil {
		t, err := x.kept(d)
		if t == nil || err != nil {
			return x.made(d, err)
		}
		if t.Format == x.Format.MediaType() {
			return &said{t.Lang, t.Text}, nil
		}
		have := text.Markdown
		if t.Format == text.Plain.MediaType() {
			have = text.Plain
		}
		other = &FormatError{d.URL, have, x.Format}
	}
	s, err := x.made(d, nil)
	if s == nil && err == nil && other != nil {
		return nil, other
	}
	return s, err
}

// kept reads the text that was kept; nil: there is none of the body that the page was last seen with.
func (x *texts) kept(d *store.Doc) (*archive.Text, error) {
	at, err := x.v.Text(d.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t, err := x.Kept.Text(archive.Place(at))
	if err != nil {
		return nil, x.unread(x.Kept.Folder, at, 0, err)
	}
	if t.Body != d.Digest {
		return nil, nil
	}
	return t, nil
}

// unread tells, once for each file, what of it cannot be read. Other errors it returns.
func (x *texts) unread(folder string, at store.Capture, which uint64, err error) error {
	var format *warc.FormatError
	if !errors.As(err, &format) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	x.lost = true
	if file := uint64(at.File)<<1 | which; !x.told[file] {
		x.told[file] = true
		x.Note(fmt.Sprintf("%s, file %d: %v", folder, at.File, err))
	}
	return nil
}

// made makes the text of a page from its latest body in the archive; nil: that is not there.
func (x *texts) made(d *store.Doc, err error) (*said, error) {
	if x.Archive == nil || err != nil {
		return nil, err
	}
	at, err := x.v.Capture(d.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rec, err := x.Archive.Answer(archive.Place(at))
	if err == nil && rec.Type != warc.Response {
		err = &warc.FormatError{Offset: at.Offset, Reason: "the record is no answer"}
	}
	if err != nil {
		return nil, x.unread(x.Archive.Folder, at, 1, err)
	}
	o, err := x.take(d, rec)
	if err != nil {
		return nil, x.unread(x.Archive.Folder, at, 1, err)
	}
	defer o.Release()
	if o.Class != fetch.OK || document.Hash(o.Body) != d.Digest {
		return nil, nil
	}
	p := x.reader.Read(o.Body, text.Options{URL: rec.URI(), ContentType: o.ContentType, Language: o.Header.Get("Content-Language"), Format: x.Format})
	return &said{p.Lang, p.Text}, nil
}

// take reads an answer of the archive as the crawl did, as far as it did.
func (x *texts) take(d *store.Doc, rec *warc.Record) (o *fetch.Outcome, err error) {
	if x.client == nil {
		if x.client, err = fetch.New(fetch.Config{MaxBody: maxPage}); err != nil {
			return nil, err
		}
		x.answer = bufio.NewReaderSize(nil, 64<<10)
	}
	x.answer.Reset(rec)
	head, err := warc.ReadHead(x.answer)
	if err != nil {
		return nil, &warc.FormatError{Offset: rec.Offset, Reason: err.Error()}
	}
	var fields strings.Builder
	for _, f := range head.Fields {
		fmt.Fprintf(&fields, "%s: %s\r\n", f.Name, strings.ReplaceAll(f.Value, "\r", " "))
	}
	status, _ := strconv.Atoi(head.Status)
	return x.client.Take(context.Background(), &fetch.Request{URL: rec.URI(), MaxBody: max(d.Bytes, 1), Any: true},
		&fetch.Answer{Status: status, Header: fetch.Header(fields.String()), Body: head.Body(x.answer)})
}

// maxPage is how many bytes a page may have: more than a crawl takes of one, which counts.
const maxPage = 1 << 30
