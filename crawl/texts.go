package crawl

import (
	"log/slog"
	"sync"

	"forage/archive"
	"forage/fetch"
	"forage/fetch/use"
	"forage/store"
	"forage/text"
	"forage/warc"
)

// Texts says where what pages say is kept, and how. Folder is needed.
type Texts struct {
	Folder  string
	Format  text.Format // "": Markdown
	Limit   int64       // bytes of a file; 0: archive.DefaultLimit
	Respect use.Respect
	Info    warc.Fields  // what each file tells of the crawl
	Log     *slog.Logger // nil: none
}

// longBody is what a body has to be for its text to be made alone: it may take ten times as much memory for a moment.
const longBody = 1 << 20

var oneLong sync.Mutex

// text makes the record of what a page says, unless its body is as it was.
func (w *worker) text(j *job) {
	r, o, c := &j.recording, j.out, j.content
	if r.texts == nil || r.err != nil || o.Class != fetch.OK || c == nil || c.Kind != store.Page || o.BrokeOff() {
		return
	}
	crawl := j.cycle.crawl()
	if c.Digest == r.digest {
		if _, err := crawl.db.Text(j.id); err == nil {
			return
		}
	}
	cfg := crawl.cfg.Texts
	if cfg.Respect.LeavesOut(said(o, c, r.use, r.robots)) {
		return
	}
	if len(o.Body) > longBody {
		oneLong.Lock()
		defer oneLong.Unlock()
	}
	p := w.texts.Read(o.Body, text.Options{URL: o.URL, ContentType: o.ContentType, Language: o.Header.Get("Content-Language"), Format: cfg.Format})
	r.text, r.err = r.texts.Convert(&archive.Text{
		URL: o.URL, Date: crawl.began(j.at, o.Elapsed), Format: cfg.Format.MediaType(), Lang: p.Lang, Body: c.Digest, Text: p.Text,
	})
}
