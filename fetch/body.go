package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// readBody reads and decodes at most limit bytes of body into the request's buffer, notes in
// o how that went, and returns the bytes. A body that turns out to be of a type that we do
// not read is left after its first bytes.
func (c *Client) readBody(ctx context.Context, r *Request, o *Outcome, body io.Reader, limit int64, end time.Time) []byte {
	m := &meter{r: body}
	defer func() { o.Wire += m.n }()
	hold := func(n int64) bool { return c.room.hold(ctx, o, n, end) }
	stream := r.Stream
	if o.Class != OK {
		stream = nil
	}
	most := limit
	if stream != nil {
		most = max(limit, MaxStream)
	}
	d, err := decode(m, o.Header.Values("Content-Encoding"), most, limit, hold)
	switch {
	case err == ErrNoRoom:
		o.Class, o.Cut, o.Reason = Broken, CutRoom, "the body was "+CutRoom.String()
		return nil
	case err != nil:
		o.Class, o.Reason = Malformed, err.Error()
		return nil
	}
	defer d.close()
	b := r.Buffer[:0]
	if cap(b) == 0 {
		b = make([]byte, 0, 16<<10)
	}
	sniffed := r.Any || o.Class != OK
	for {
		if len(b) == cap(b) {
			n := grown(int64(cap(b)), limit)
			if !hold(d.holds + n) {
				o.Cut = CutRoom
				break
			}
			b = append(make([]byte, 0, n), b...)
		}
		n, err := d.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if !sniffed && (len(b) >= sniffLen || err != nil) {
			sniffed = true
			kind, found := sniff(o.ContentType, o.Kind, b[:min(len(b), sniffLen)])
			o.Kind = kind
			if kind == Other && len(b) > 0 {
				o.Class, o.Reason = NotHTML, "content type "+found+" by its first bytes"
				return nil
			}
		}
		if stream != nil && (len(b) >= sniffLen || err != nil) {
			read, long := stream(o, b)
			if stream = nil; read != nil && !o.blockedBy(b) {
				if !long {
					most = limit
				}
				rest := &counted{r: d, left: most - int64(len(b)), err: err}
				o.streamed, o.reading, o.end = true, int64(cap(b))+d.holds, end
				read(io.MultiReader(bytes.NewReader(b), rest))
				o.reading, o.end = 0, time.Time{}
				switch {
				case rest.long:
					o.Cut = CutLong
				case rest.err != nil && rest.err != io.EOF:
					o.cut(m.err)
				}
				o.Undecoded = d.raw
				o.tellCut(len(b) > 0)
				return nil
			}
		}
		if int64(len(b)) > limit {
			b, o.Cut = b[:limit], CutLong
			break
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			o.cut(m.err)
			break
		}
	}
	hold(int64(cap(b))) // and nothing for decoding any more
	o.Undecoded = d.raw
	o.tellCut(len(b) > 0)
	return b
}

// cut notes that a body broke off, by what the connection said last.
func (o *Outcome) cut(err error) {
	o.Cut = CutShort
	if timedOut(err) {
		o.Cut = CutTime
	}
}

// tellCut says why a body is not whole, and that there is no answer where none of it came.
func (o *Outcome) tellCut(some bool) {
	if o.Cut != CutShort && o.Cut != CutTime && o.Cut != CutRoom {
		return
	}
	o.Reason = "the body was " + o.Cut.String()
	if !some && o.Class == OK {
		o.Class = Broken
		if o.Cut == CutTime {
			o.Class = Timeout
		}
	}
}

// A counted reader ends after so many bytes, and remembers whether there were more and what broke.
type counted struct {
	r    io.Reader
	left int64
	err  error // what the next call returns; nil: it reads on
	long bool
}

func (c *counted) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left+1)])
	if c.left -= int64(n); c.left < 0 {
		n, err, c.long = n-1, io.EOF, true
	}
	c.err = err
	return n, err
}

func timedOut(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}

// grown is what a buffer of n bytes grows to. Steps of four keep both copies of a large body well
// below twice its size, and stop at one byte over the limit, which shows that there was more.
func grown(n, limit int64) int64 { return max(min(n*4, limit+1), n+1) }

// A meter counts the bytes that pass and remembers how the stream ended.
type meter struct {
	r   io.Reader
	n   int64
	err error // io.EOF, or what broke
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.n += int64(n)
	if err != nil {
		m.err = err
	}
	return n, err
}
