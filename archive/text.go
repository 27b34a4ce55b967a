package archive

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"forage/warc"
)

// A Text is what a page says, as a folder of texts has it.
type Text struct {
	URL    string
	Date   time.Time // of the answer
	Format string    // text/markdown or text/plain
	Lang   string    // a language tag; "": not known
	Body   uint64    // digest of the body that it was made of, as of document.Hash
	Text   string
}

// The fields of a record that are no fields of WARC.
const (
	langField = "Content-Language"
	bodyField = "X-Body-Digest"
	bodyHash  = "xxh64:"
)

// Convert makes the record of a text. Errors: as Record. O(bytes).
func (a *Archive) Convert(t *Text) (_ *Group, err error) {
	w := <-a.writers
	defer func() { a.writers <- w }()
	g := &Group{archive: a, buffer: buffer{folder: a.cfg.Folder}}
	w.Reset(&g.buffer)
	fields := warc.Fields{{Name: "Content-Type", Value: t.Format + "; charset=utf-8"}, {Name: bodyField, Value: fmt.Sprintf("%s%016x", bodyHash, t.Body)}}
	if t.Lang != "" {
		fields = append(fields, warc.Field{Name: langField, Value: t.Lang})
	}
	if err := w.Convert(&warc.Converted{URI: t.URL, Date: t.Date, Fields: fields, Text: []byte(t.Text)}); err != nil {
		g.Drop()
		return nil, err
	}
	g.size = w.Written()
	return g, nil
}

// maxText is how many bytes of a text are read: more than Convert is ever given.
const maxText = 256 << 20

// Text reads the text at a place. Errors: as Answer, and that it is no text.
func (r *Reader) Text(at Place) (*Text, error) {
	rec, err := r.Answer(at)
	if err != nil {
		return nil, err
	}
	format, _, _ := strings.Cut(rec.Fields.Get("Content-Type"), ";")
	hash := rec.Fields.Get(bodyField)
	if rec.Type != warc.Conversion || len(hash) <= len(bodyHash) || rec.Left() > maxText {
		return nil, &warc.FormatError{Offset: at.Offset, Reason: "the record is no text of a page"}
	}
	t := &Text{URL: rec.URI(), Format: format, Lang: rec.Fields.Get(langField)}
	if t.Body, err = strconv.ParseUint(hash[len(bodyHash):], 16, 64); err != nil {
		return nil, &warc.FormatError{Offset: at.Offset, Reason: fmt.Sprintf("%s: %q", bodyField, hash)}
	}
	if t.Date, err = rec.Date(); err != nil {
		return nil, &warc.FormatError{Offset: at.Offset, Reason: err.Error()}
	}
	b, err := io.ReadAll(rec)
	t.Text = string(b)
	return t, err
}
