package sitemap

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// text reads a sitemap of one absolute URL a line. The first line that is not empty decides
// whether it is one.
func (p *parser) text(r io.Reader) {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4096), 1<<16)
	for s.Scan() {
		line := strings.Trim(s.Text(), "\ufeff \t\r")
		if line == "" {
			continue
		}
		if !absolute(line) {
			if p.doc.Kind == None {
				return
			}
			p.doc.Rejected++
			continue
		}
		p.doc.Kind = Sitemap
		if !p.add(line, p.base, Entry{}) {
			return
		}
	}
	p.doc.Problem = s.Err()
}

// maxJSON is how many bytes of a JSON feed are read: its values are not streamed, and items hold all of
// an article.
const maxJSON = 16 << 20

// json reads a JSON Feed (jsonfeed.org, versions 1 and 1.1), an item at a time.
func (p *parser) json(r io.Reader) {
	in := &asking{r: r, p: p}
	d := json.NewDecoder(io.LimitReader(in, maxJSON))
	var version, home, next string
	listed := false
	p.doc.Kind = Feed // so that references may be relative
	err := members(d, '{', func(key string) error {
		switch strings.ToLower(key) {
		case "version":
			return d.Decode(&version)
		case "home_page_url":
			return d.Decode(&home)
		case "next_url":
			return d.Decode(&next)
		case "items":
			listed = true
			return members(d, '[', func(string) error { return p.item(d) })
		}
		var other json.RawMessage
		return d.Decode(&other)
	})
	if err != errFull {
		p.doc.Problem = err
	}
	items := p.doc.Entries
	if p.doc.Entries = nil; !listed || !strings.Contains(version, "jsonfeed.org") && home == "" {
		p.doc.Kind, p.doc.Cut, p.doc.Rejected = None, false, 0
		return
	}
	p.add(home, p.base, Entry{})
	p.add(next, p.base, Entry{})
	p.doc.Entries = append(p.doc.Entries, items...)
}

// errFull is that no more entries are taken.
var errFull = errors.New("full")

// item reads an item of a JSON feed.
func (p *parser) item(d *json.Decoder) error {
	var i struct {
		ID        json.RawMessage `json:"id"`
		URL       string          `json:"url"`
		Published string          `json:"date_published"`
		Modified  string          `json:"date_modified"`
	}
	if err := d.Decode(&i); err != nil {
		return err
	}
	e := Entry{LastMod: i.Modified, Published: ParseTime(i.Published)}
	more := p.add(i.URL, p.base, e)
	var id string
	if json.Unmarshal(i.ID, &id) == nil && id != i.URL && absolute(id) {
		more = more && p.add(id, p.base, e)
	}
	if !more {
		return errFull
	}
	return nil
}

// members calls each for the members of an object or array, as open says, which d comes to next, with
// the key of those of an object. each reads the value.
func members(d *json.Decoder, open json.Delim, each func(key string) error) error {
	if t, err := d.Token(); err != nil {
		return err
	} else if t != open {
		return fmt.Errorf("want %v, got %v", open, t)
	}
	for d.More() {
		key := ""
		if open == '{' {
			t, err := d.Token()
			if err != nil {
				return err
			}
			key, _ = t.(string)
		}
		if err := each(key); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// An asking reader has room made for what a decoder keeps of what it reads: the value that it is at,
// twice while its buffer grows, and a copy of it.
type asking struct {
	r io.Reader
	p *parser
}

func (a *asking) Read(b []byte) (int, error) {
	n, err := a.r.Read(b)
	if !a.p.take(3 * int64(n)) {
		a.p.doc.Cut = true
		return 0, errFull
	}
	return n, err
}
