package inspect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"forage/fetch/link"
	"forage/fetch/robots"
	"forage/internal/printable"
)

// A Kind is a kind of question.
type Kind string

// The kinds.
const (
	Robots  Kind = "robots"
	Links   Kind = "links"
	URL     Kind = "url"
	Sitemap Kind = "sitemap"
	Charset Kind = "charset"
)

// document returns a document of a question: its text or, when it is not UTF-8, base64.
func document(text string, b64 []byte) []byte {
	if b64 != nil {
		return b64
	}
	return []byte(text)
}

// answers returns what answers a line of a kind: the questions are objects with the fields of the
// struct that the answer takes.
func (i *Inspector) answers(kind Kind) func(line []byte) (any, error) {
	switch kind {
	case Robots:
		return ask(func(q struct {
			Robots     string
			B64        []byte `json:"robots_b64"`
			Agent, URL string
		}) any {
			return i.Robots(robots.Parse(document(q.Robots, q.B64)), q.Agent, q.URL)
		})
	case Links:
		return ask(func(q struct {
			HTML    string
			B64     []byte `json:"html_b64"`
			Base    string
			Type    string `json:"content_type"`
			Headers map[string][]string
		}) any {
			h := http.Header{}
			for k, vs := range q.Headers {
				for _, v := range vs {
					h.Add(k, v)
				}
			}
			return i.Links(document(q.HTML, q.B64), link.Options{URL: q.Base, ContentType: q.Type, Links: h.Values("Link"), Robots: h.Values("X-Robots-Tag")}, false)
		})
	case URL:
		return ask(func(q struct{ URL, Base string }) any { return i.URL(q.URL, q.Base) })
	case Sitemap:
		return ask(func(q struct {
			Body string
			B64  []byte `json:"body_b64"`
			URL  string
			Type string `json:"content_type"`
		}) any {
			a, err := i.Sitemap(document(q.Body, q.B64), q.URL, q.Type)
			if err != nil {
				a.Kind, a.Problem = "none", err.Error()
			}
			return a
		})
	case Charset:
		return ask(func(q struct {
			HTML string
			B64  []byte `json:"html_b64"`
			Type string `json:"content_type"`
		}) any {
			return i.Charset(document(q.HTML, q.B64), q.Type)
		})
	}
	panic("inspect: there is no kind " + string(kind))
}

func ask[Q any](answer func(Q) any) func(line []byte) (any, error) {
	return func(line []byte) (any, error) {
		var q Q
		if err := json.Unmarshal(line, &q); err != nil {
			return nil, err
		}
		return answer(q), nil
	}
}

// A BatchError tells of lines of a batch that are no JSON object of their kind. They have been
// answered, with an error.
type BatchError struct {
	Line int   // the first of them, from 1
	Err  error // what is wrong with it
	More int   // how many others there are
}

func (e *BatchError) Error() string {
	text := fmt.Sprintf("%d: want a JSON object a line: %v", e.Line, e.Err)
	if e.More > 0 {
		text += fmt.Sprintf(" (and %d more lines)", e.More)
	}
	return text
}

func (e *BatchError) Unwrap() error { return e.Err }

// Batch answers questions of one kind, a JSON object a line, with a line each, in order; empty
// lines are passed over. A line that does not parse is answered with an object whose error tells
// why, so that answers and lines stay together, and in the end a *BatchError is returned. It panics
// if there is no such kind.
func (i *Inspector) Batch(kind Kind, in io.Reader, out io.Writer) error {
	r, w := bufio.NewReaderSize(in, 1<<16), bufio.NewWriter(out)
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	answer := i.answers(kind)
	var bad *BatchError
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			a, wrong := answer(line)
			if wrong != nil {
				a = map[string]any{"error": wrong.Error()}
				if bad == nil {
					bad = &BatchError{Line: n, Err: wrong}
				} else {
					bad.More++
				}
			}
			text.Reset()
			if err := enc.Encode(a); err != nil {
				return err
			}
			if _, err := w.Write(printable.JSON(text.Bytes())); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if bad != nil {
		return bad
	}
	return nil
}
