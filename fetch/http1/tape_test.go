package http1

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// A tape is a connection of which the other end says what it is going to say whatever it hears, in
// pieces of the sizes of cuts, which are repeated; nil: all at once. Then it ends.
type tape struct {
	said  []byte
	cuts  []byte
	i     int
	heard bytes.Buffer
}

func (t *tape) Read(p []byte) (int, error) {
	if len(t.said) == 0 {
		return 0, io.EOF
	}
	if len(t.cuts) > 0 {
		p = p[:min(len(p), int(t.cuts[t.i%len(t.cuts)])+1)]
		t.i++
	}
	n := copy(p, t.said)
	t.said = t.said[n:]
	return n, nil
}

func (t *tape) Write(p []byte) (int, error)      { return t.heard.Write(p) }
func (t *tape) Close() error                     { return nil }
func (t *tape) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (t *tape) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (t *tape) SetDeadline(time.Time) error      { return nil }
func (t *tape) SetReadDeadline(time.Time) error  { return nil }
func (t *tape) SetWriteDeadline(time.Time) error { return nil }

// A heard is what the client made of what a tape said.
type heard struct {
	status       int
	head, fields string
	body         string
	err          error // instead of an answer
	bodyErr      error // that the body ended with; nil: all of it came
	again        bool  // the connection may be used again
}

// how says an outcome in a word.
func (h heard) how() string {
	var format *FormatError
	var size HeaderSizeError
	switch err := cmpErr(h.err, h.bodyErr); {
	case err == nil:
		return "whole"
	case errors.As(err, &format):
		return "malformed"
	case errors.As(err, &size):
		return "too large"
	case err == io.ErrUnexpectedEOF:
		return "cut"
	default:
		return err.Error()
	}
}

func (h heard) String() string {
	return fmt.Sprintf("status %d, head %q, fields %q, body %q, errors %v, %v, again %t", h.status, h.head, h.fields, h.body, h.err, h.bodyErr, h.again)
}

func cmpErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// play has the client read what a tape says; of a body most bytes.
func play(said []byte, cuts []byte, most int64) (h heard) {
	t := &tape{said: said, cuts: cuts}
	c := New(Config{MaxHeader: 1 << 16, Dial: func(context.Context, string, string) (net.Conn, error) { return t, nil }})
	defer c.Close()
	a, err := c.Do(context.Background(), &Request{Host: "h.test", Target: "/"})
	if err != nil {
		return heard{err: err}
	}
	h = heard{status: a.Status, head: a.Head, fields: a.Fields}
	body, err := io.ReadAll(io.LimitReader(a, most))
	h.body, h.bodyErr = string(body), err
	cn := a.cn
	h.again = cn.stop() && cn.reusable() && len(t.said) == 0 // what is still to come is found when the connection is to be used again
	a.Close()
	if want := "GET / HTTP/1.1\r\nHost: h.test\r\n\r\n"; t.heard.String() != want {
		h.err = fmt.Errorf("the server heard %q, want %q", t.heard.String(), want)
	}
	return h
}
