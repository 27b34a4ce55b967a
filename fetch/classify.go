package fetch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"forage/fetch/link"
)

// smallBody is how much is read of a body that serves only to tell what kind of answer this is.
const smallBody = 16 << 10

// classify fills o from the status, the header and as much of the body as the answer deserves, and
// as comes before end.
func (c *Client) classify(ctx context.Context, r *Request, o *Outcome, body io.Reader, end time.Time) {
	if o.wait != nil && !o.wait.Stop() { // the body is cut off, in this moment
		o.Class, o.Reason, o.Status, o.Header, o.Wire = Timeout, lateReason(r), 0, "", 0
		return
	}
	o.ContentType = o.Header.Get("Content-Type")
	o.ETag = o.Header.Get("ETag")
	o.LastModified = o.Header.Get("Last-Modified")
	o.Kind = kindOf(o.ContentType)
	switch s := o.Status; {
	case s == 429:
		o.Class = TooManyRequests
	case s == 304 && (r.ETag != "" || r.LastModified != ""):
		o.Class = NotModified
		return
	case s == 304:
		o.Class, o.Reason = Malformed, "304 to a request without conditions"
		return
	case s == 204 || s == 205:
		o.Class = NoContent
		return
	case s >= 200 && s < 300:
		o.Class = OK
	case s >= 300 && s < 400:
		o.redirect()
		c.drain(o, body)
		return
	case s == 404:
		o.Class = NotFound
	case s == 410:
		o.Class = Gone
	case s >= 400 && s < 500:
		o.Class = ClientError
	case s >= 500 && s < 600:
		o.Class = ServerError
	default:
		o.Class, o.Reason = Malformed, fmt.Sprintf("status %d", s)
		return
	}
	if o.Class != OK {
		o.RetryAfter = retryAfter(o.Header, time.Now())
		if n := c.readBody(ctx, r, o, body, smallBody, end); o.blockedBy(n) {
			o.Class = Blocked
		}
		o.Body, o.Cut, o.Undecoded = nil, Whole, false
		return
	}
	limit := c.cfg.MaxBody
	if r.MaxBody > 0 {
		limit = min(limit, r.MaxBody)
	}
	if o.ContentType != "" && o.Kind == Other && !r.Any {
		o.Class, o.Reason = NotHTML, "content type "+o.ContentType
		return // the body is not read: the connection is closed instead
	}
	b := c.readBody(ctx, r, o, body, limit, end)
	if o.Class != OK {
		return
	}
	o.Body = b
	if o.blockedBy(b) {
		o.Class, o.Body = Blocked, nil
	}
}

// redirect sets the target, or makes o a client error if there is none to go to.
func (o *Outcome) redirect() {
	loc := o.Header.Get("Location")
	switch o.Status {
	case 301, 302, 303, 307, 308:
	default:
		loc = ""
	}
	if loc == "" {
		o.Class, o.Reason = ClientError, fmt.Sprintf("status %d without a target", o.Status)
		return
	}
	base, err := link.NewBase(o.URL)
	if err == nil {
		loc, err = base.Reference(escapeBytes(loc))
	}
	if err != nil {
		o.Class, o.Reason = ClientError, "redirects to no page: "+err.Error()
		return
	}
	o.Class, o.Location = Redirect, loc
	o.Permanent = o.Status == 301 || o.Status == 308
}

// escapeBytes percent-encodes a header's bytes beyond ASCII where they are no UTF-8: the
// server means those bytes.
func escapeBytes(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b []byte
	for i := range len(s) {
		if s[i] >= 0x80 {
			b = fmt.Appendf(b, "%%%02X", s[i])
		} else {
			b = append(b, s[i])
		}
	}
	return string(b)
}

// drain reads a short rest, so that the connection can be used again.
func (c *Client) drain(o *Outcome, body io.Reader) {
	n, _ := io.CopyN(io.Discard, body, smallBody)
	o.Wire += n
}

// kindOf tells how a document of this Content-Type is read.
func kindOf(contentType string) Kind {
	t, _, _ := strings.Cut(contentType, ";")
	t = strings.ToLower(strings.Trim(t, " \t"))
	switch t {
	case "text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml":
		return HTML
	case "application/xml", "text/xml", "application/rss+xml", "application/atom+xml", "application/rdf+xml":
		return XML
	case "application/json", "application/feed+json", "text/json":
		return JSON
	case "text/plain":
		return Text
	case "image/svg+xml":
		return Other
	}
	if strings.HasSuffix(t, "+xml") {
		return XML
	}
	return Other
}

// KindOf tells how a crawl reads a document that was sent with a content type, "" for none, and
// begins with the bytes of body.
func KindOf(contentType string, body []byte) Kind {
	kind := kindOf(contentType)
	if contentType != "" && kind == Other {
		return Other // without a look at the bytes: they are not even asked for
	}
	kind, _ = sniff(contentType, kind, body[:min(len(body), sniffLen)])
	return kind
}

// IsPage reports whether a body of this kind is read as a page: HTML, and XML that says early on
// that it is XHTML.
func (k Kind) IsPage(body []byte) bool {
	return k == HTML || k == XML && bytes.Contains(body[:min(len(body), 1024)], []byte("http://www.w3.org/1999/xhtml"))
}

// sniffLen is how many bytes decide where the type is absent or plainly wrong.
const sniffLen = 1445

// sniff returns the kind that the first bytes of a body show. Declared types are believed
// unless the bytes are plainly those of an image, a film, an archive or the like.
func sniff(declared string, kind Kind, head []byte) (Kind, string) {
	t := bytes.TrimLeft(head, "\t\n\f\r \ufeff")
	if declared != "" && (len(t) == 0 || t[0] == '<' || t[0] == '{') {
		return kind, ""
	}
	typ := http.DetectContentType(head)
	switch {
	case strings.HasPrefix(typ, "image/"), strings.HasPrefix(typ, "video/"), strings.HasPrefix(typ, "audio/"),
		strings.HasPrefix(typ, "font/"), typ == "application/pdf", typ == "application/zip", typ == "application/x-gzip",
		typ == "application/x-rar-compressed", typ == "application/wasm", typ == "application/ogg",
		typ == "application/postscript", typ == "application/vnd.ms-fontobject":
		return Other, typ
	case typ == "application/octet-stream":
		if bytes.IndexByte(head, '<') < 0 { // markup in an unknown encoding has some
			return Other, typ
		}
		return kind, ""
	}
	if declared != "" {
		return kind, ""
	}
	if k := kindOf(typ); k != Text {
		return k, typ
	}
	// Text: a fragment of HTML is more likely than a plain text that nobody labelled.
	if len(t) > 0 && t[0] == '<' {
		return HTML, typ
	}
	return Text, typ
}
