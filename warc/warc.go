// Package warc reads and writes web archives: files of the WARC format, version 1.1 [ISO 28500:2017], compressed or not.
//
// Reader reads the records of one file, those of others too. Writer writes records, each a gzip member of its own, and Capture is all
// of them that one answer of a server comes to. Index tells what of a file can be found again, as lines of a CDXJ file,
// whose keys Key makes. The package opens no file, and time and chance are arguments.
package warc

import (
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Types of records [6].
const (
	Warcinfo     = "warcinfo"
	Response     = "response"
	Resource     = "resource"
	Request      = "request"
	Metadata     = "metadata"
	Revisit      = "revisit"
	Conversion   = "conversion"
	Continuation = "continuation"
)

// Profiles of revisits [6.7]: the payload is that of an earlier answer, or the server said that nothing had changed.
const (
	SamePayload = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
	NotModified = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
)

// A Field is one line of a header.
type Field struct{ Name, Value string }

// Fields are lines of a header, in order. Names are compared without regard to case.
type Fields []Field

// Get returns the first value of name, "" where there is none.
func (f Fields) Get(name string) string {
	for i := range f {
		if strings.EqualFold(f[i].Name, name) {
			return f[i].Value
		}
	}
	return ""
}

// String returns the lines, each with CRLF. A control character in a value would end its line, or a reader: it becomes a blank.
func (f Fields) String() string { return string(f.append(nil)) }

func (f Fields) append(b []byte) []byte {
	for i := range f {
		b = append(append(b, f[i].Name...), ": "...)
		b = append(b, strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return ' '
			}
			return r
		}, f[i].Value)...)
		b = append(b, "\r\n"...)
	}
	return b
}

// ErrARC says that a file is of the format that WARC replaced. Nothing of it is read: tools that convert it are many.
var ErrARC = errors.New("this is an ARC file, the format before WARC: convert it first, as 'warcio recompress' does")

// A FormatError says where a file is not as the format wants it.
type FormatError struct {
	Offset int64 // in the file: of the record, or of the member that it is in
	Reason string
}

func (e *FormatError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Reason) }

// A Digest is the SHA-1 of some bytes.
type Digest [20]byte

// String returns the digest as WARC has it, such as sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ.
func (d Digest) String() string { return "sha1:" + base32.StdEncoding.EncodeToString(d[:]) }

// ParseDigest reads what String returns. Errors: another algorithm, or none.
func ParseDigest(s string) (d Digest, err error) {
	name, value, _ := strings.Cut(s, ":")
	if !strings.EqualFold(name, "sha1") || len(value) != 32 {
		return d, fmt.Errorf("want sha1: and 32 characters of base32, got %.60q", s)
	}
	_, err = base32.StdEncoding.Decode(d[:], []byte(strings.ToUpper(value)))
	return d, err
}

// dateFormat has milliseconds: a page may be fetched twice a second.
const dateFormat = "2006-01-02T15:04:05.000Z"

func date(t time.Time) string { return t.UTC().Format(dateFormat) }

// parseDate reads a WARC-Date, which may lack the time of the day, or have any number of digits after the second.
func parseDate(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z", "2006-01-02", "2006-01", "2006", "20060102150405"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("WARC-Date %q is no date", s)
}
