package document

import (
	"strings"

	"forage/fetch"
	"forage/fetch/link"
)

// IsSheet reports whether the body of o, which was asked for as a style sheet, is to be read as one: it says that it is, or not what it is.
func IsSheet(o *fetch.Outcome) bool {
	t, _, _ := strings.Cut(o.ContentType, ";")
	switch strings.ToLower(strings.TrimSpace(t)) {
	case "text/css", "", "text/plain", "application/octet-stream", "application/x-css":
		return true
	}
	return false
}

// Sheet reads the body of o, a style sheet, for what it needs. O(bytes).
func Sheet(o *fetch.Outcome, url string) *Content {
	c := &Content{Digest: Hash(o.Body), Bytes: int64(len(o.Body)), Requisites: link.SheetRequisites(o.Body, url)}
	c.Use.Header = o.Said()
	return c
}

// Needs returns what the document needs to look right; c may be nil.
func (c *Content) Needs() []link.Requisite {
	if c == nil {
		return nil
	}
	return c.Requisites
}
