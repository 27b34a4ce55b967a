package fetch

import (
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
	d, err := decode(m, o.Header.Values("Content-Encoding"), limit, hold)
	switch {
	case err == errNoRoom:
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
		if int64(len(b)) > limit {
			b, o.Cut = b[:limit], CutLong
			break
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			o.Cut = CutShort
			if timedOut(m.err) {
				o.Cut = CutTime
			}
			break
		}
	}
	hold(int64(cap(b))) // and nothing for decoding any more
	o.Undecoded = d.raw
	if o.Cut == CutShort || o.Cut == CutTime || o.Cut == CutRoom {
		o.Reason = "the body was " + o.Cut.String()
		if len(b) == 0 && o.Class == OK {
			o.Class = Broken
			if o.Cut == CutTime {
				o.Class = Timeout
			}
		}
	}
	return b
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
