package archive

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"forage/warc"
)

// A Group is the records of one answer, ready to be appended. Who does not append it drops it.
type Group struct {
	Digest   warc.Digest // of the body
	Original *Place      // of the answer that has the body; nil: this one does
	Holds    bool        // a body, whole: others may refer to it

	buffer
	archive *Archive
	size    int64
	entry   *warc.Entry // nil: the index has no place for it
	in      *file       // that it must be appended to; nil: any
}

// A writer makes records, and reads those that they refer to.
type writer struct {
	*warc.Writer
	before *warc.Reader
}

// Record makes the records of an answer. Where its body is in the archive, by what Config.Known says, and Config.Dedupe
// permits it, that is a revisit. last, for an answer that says that nothing has changed, is where the body was seen last. Digest and Original of c are filled in.
// Errors: of c.Body, and of a file for what does not fit in memory. O(bytes); memory: inMemory at most, and a writer's.
func (a *Archive) Record(c *warc.Capture, last *Place) (_ *Group, err error) {
	w := <-a.writers
	defer func() { a.writers <- w }()
	g := &Group{archive: a, buffer: buffer{folder: a.cfg.Folder}}
	defer func() {
		if err != nil {
			g.Drop()
		}
	}()
	if c.Digest, err = w.Sum(c.Body, c.Size); err != nil {
		return nil, err
	}
	g.Digest = c.Digest
	if last != nil {
		g.refer(w, c, *last, warc.NotModified)
	} else if c.Size > 0 && c.Truncated == "" && a.cfg.Dedupe != Off && a.cfg.Known != nil {
		if at, err := a.cfg.Known(c.Digest); err == nil {
			g.refer(w, c, at, warc.SamePayload)
		}
	}
	g.Holds = c.Original == nil && c.Size > 0 && c.Truncated == ""
	w.Reset(&g.buffer)
	first, err := w.Capture(c)
	if err != nil {
		return nil, err
	}
	g.size = w.Written()
	if g.entry, err = c.Entry(); err != nil {
		g.entry, err = nil, nil // it can be read, but not looked up
	} else {
		g.entry.Length = first
	}
	return g, nil
}

// Refers reports whether an answer that is recorded now may refer to one at a place: whether an answer without a body will do.
func (a *Archive) Refers(at Place) bool {
	switch a.cfg.Dedupe {
	case Off:
		return false
	case File:
		a.mu.Lock()
		defer a.mu.Unlock()
		n := len(a.open)
		return n > 0 && a.open[n-1].number == at.File
	}
	path := filepath.Join(a.cfg.Folder, a.name(at.File))
	info, err := os.Stat(path + openSuffix)
	if err != nil {
		info, err = os.Stat(path)
	}
	return err == nil && info.Size() > at.Offset // else it was cut, as by an older copy of the store
}

// refer makes a capture refer to an answer at a place, if there is one with the same body, that may be referred to.
func (g *Group) refer(w *writer, c *warc.Capture, at Place, profile string) {
	a := g.archive
	if a.cfg.Dedupe == Off {
		return
	}
	o := a.original(w.before, at)
	if o == nil || profile == warc.SamePayload && o.Digest != c.Digest {
		return
	}
	if a.cfg.Dedupe == File {
		a.mu.Lock()
		defer a.mu.Unlock()
		n := len(a.open)
		if n == 0 || a.open[n-1].number != at.File {
			return
		}
		g.in = a.open[n-1]
		g.in.waiting++
	}
	o.Profile = profile
	c.Original, g.Original = o, &at
}

// original reads what the record at a place says of itself; nil: there is none that holds an answer.
func (a *Archive) original(rd *warc.Reader, at Place) *warc.Original {
	path := filepath.Join(a.cfg.Folder, a.name(at.File))
	f, err := os.Open(path + openSuffix)
	if err != nil {
		if f, err = os.Open(path); err != nil {
			return nil
		}
	}
	defer f.Close()
	rd.Reset(io.NewSectionReader(f, at.Offset, math.MaxInt64-at.Offset))
	rec, err := rd.Next()
	if err != nil || rec.Type != warc.Response {
		return nil
	}
	date, err := rec.Date()
	if err != nil || rec.URI() == "" {
		return nil
	}
	digest, err := warc.ParseDigest(rec.Fields.Get("WARC-Payload-Digest"))
	if err != nil {
		return nil
	}
	return &warc.Original{URI: rec.URI(), Date: date.Truncate(time.Millisecond), Digest: digest}
}

// Drop gives up a group that will not be appended.
func (g *Group) Drop() {
	if g == nil {
		return
	}
	g.archive.mu.Lock()
	defer g.archive.mu.Unlock()
	g.drop()
}

// drop frees what the group holds. The archive's mu is held.
func (g *Group) drop() {
	g.close()
	if g.in != nil {
		g.in.waiting--
		g.in = nil
	}
}
