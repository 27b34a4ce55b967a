package http1

import (
	"fmt"
	"net"
	"strings"
)

// An origin is where connections lead to.
type origin struct {
	tls  bool
	addr string // host:port
}

func originOf(r *Request) origin {
	addr := strings.TrimSuffix(r.Host, ":")
	colon := strings.LastIndexByte(addr, ':')
	if colon < 0 || strings.HasSuffix(addr, "]") {
		port := "80"
		if r.TLS {
			port = "443"
		}
		addr = net.JoinHostPort(strings.Trim(addr, "[]"), port)
	}
	return origin{r.TLS, addr}
}

// append appends the request's bytes to b. What could end a line is an error.
func (r *Request) append(b []byte) ([]byte, error) {
	b = append(b, "GET "...)
	for i := range len(r.Target) {
		if ch := r.Target[i]; ch <= ' ' || ch >= 0x7f {
			b = fmt.Appendf(b, "%%%02X", ch)
		} else {
			b = append(b, ch)
		}
	}
	if r.Target == "" {
		b = append(b, '/')
	}
	var err error
	field := func(name, value string) bool {
		if name == "" || strings.ContainsAny(name, "\r\n\x00: ") || strings.ContainsAny(value, "\r\n\x00") {
			err = fmt.Errorf("header field %q cannot be sent", name)
			return false
		}
		b = append(b, "\r\n"...)
		b = append(b, name...)
		b = append(b, ": "...)
		b = append(b, value...)
		return true
	}
	b = append(b, " HTTP/1.1"...)
	if field("Host", strings.TrimSuffix(r.Host, ":")) && r.Fields != nil {
		r.Fields(field)
	}
	return append(b, "\r\n\r\n"...), err
}
