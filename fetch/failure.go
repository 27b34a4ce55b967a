package fetch

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"forage/fetch/http1"
)

// A failure is an error whose class we know.
type failure struct {
	class  Class
	reason string
}

func (e *failure) Error() string { return e.reason }

// fail sets the class and reason of a request that got no answer.
func (c *Client) fail(o *Outcome, err error) {
	o.Class, o.Reason = classify(err), err.Error()
	var (
		own *failure
		dns *net.DNSError
		op  *net.OpError
	)
	switch { // the part that tells something
	case errors.As(err, &own):
		o.Reason = own.reason
	case errors.As(err, &dns):
		o.Reason = dns.Name + ": " + dns.Err
	case errors.As(err, &op) && op.Addr != nil && op.Op == "dial":
		o.Reason = op.Addr.String() + ": " + strings.TrimPrefix(op.Err.Error(), "connect: ")
	}
	if p := c.cfg.Proxy; p != nil && p.User != nil { // never tell the proxy's secret
		if pw, ok := p.User.Password(); ok && pw != "" {
			o.Reason = strings.ReplaceAll(o.Reason, pw, "xxxxx")
		}
	}
}

// classify maps the errors of a connection to classes.
func classify(err error) Class {
	var (
		g    *failure
		bad  *http1.FormatError
		size http1.HeaderSizeError
		dns  *net.DNSError
		cert *tls.CertificateVerificationError
		rec  tls.RecordHeaderError
		al   tls.AlertError
		hn   x509.HostnameError
		ua   x509.UnknownAuthorityError
		ne   net.Error
		text = err.Error()
	)
	switch {
	case errors.As(err, &g):
		return g.class
	case errors.As(err, &bad):
		return Malformed
	case errors.As(err, &size):
		return TooLarge
	case errors.As(err, &dns):
		return DNS
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &ne) && ne.Timeout():
		return Timeout // of a handshake too
	case errors.As(err, &cert), errors.As(err, &rec), errors.As(err, &al), errors.As(err, &hn), errors.As(err, &ua),
		strings.Contains(text, "tls: "), strings.Contains(text, "x509: "):
		return TLS
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return Refused
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return Broken
	case strings.Contains(text, "server response headers exceeded"), strings.Contains(text, "header list"):
		return TooLarge
	case errors.Is(err, bufio.ErrTooLong), strings.Contains(text, "malformed"), strings.Contains(text, "invalid"),
		strings.Contains(text, "bad Content-Length"), strings.Contains(text, "transfer encoding"), strings.Contains(text, "multiple"):
		return Malformed
	}
	return Broken
}
