package fetch

import (
	"context"
	"io"
	"os"
	"time"
)

// An Answer is one that is here already, as an archive has it.
type Answer struct {
	Status int
	Header Header    // without the status line
	Body   io.Reader // as it was sent, but without chunks; nil: none
	Cut    Cut       // why Body is not whole, by what whoever has it knows
}

// Take says what came of a request by an answer that is here already, as Fetch does by one that comes: nothing is sent, no
// address is looked at. Of r count URL, Any, MaxBody, Buffer and Stream; an answer of 304 is taken to be one to a request with
// conditions. The error is ctx's own. Memory as Fetch.
func (c *Client) Take(ctx context.Context, r *Request, a *Answer) (*Outcome, error) {
	o := &Outcome{URL: r.URL, room: c.room}
	if _, err := parseURL(r.URL); err != nil {
		o.Class, o.Reason = BadURL, err.Error()
		return o, ctx.Err()
	}
	o.Status, o.Header, o.Wire = a.Status, a.Header, int64(len(a.Header))
	body := a.Body
	if body == nil {
		body = failing{io.EOF}
	}
	switch a.Cut { // it ends as it did when it came
	case CutTime:
		body = io.MultiReader(body, failing{os.ErrDeadlineExceeded})
	case CutShort, CutRoom:
		body = io.MultiReader(body, failing{io.ErrUnexpectedEOF})
	}
	asked := *r
	if asked.ETag, asked.LastModified = "", ""; o.Status == 304 {
		asked.ETag = `""`
	}
	c.classify(ctx, &asked, o, body, time.Time{})
	if o.Class == OK && o.Cut == Whole && a.Cut == CutLong {
		o.Cut = CutLong
	}
	err := ctx.Err()
	if err != nil {
		o.Body = nil
	}
	if o.Body == nil && !(o.streamed && err == nil) {
		o.Release()
	}
	return o, err
}
