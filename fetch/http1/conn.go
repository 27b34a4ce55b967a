package http1

import (
	"bufio"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// A conn is a connection to one origin.
type conn struct {
	net.Conn       // what is read and written: TLS, or the connection itself
	wire     *wire // what TLS reads and writes; nil without
	client   *Client
	key      origin
	sys      syscall.RawConn // for a look without reading; nil where that cannot be had
	*work                    // nil while no request uses the connection
	answer   Answer
	body     body
	stop     func() bool // has ctx leave the connection alone; false: it has ended it
	alive    bool        // the answer lets the connection live on
	answered bool        // there was a valid status line to the present request
	dry      bool        // no more is read for the present answer than what is here

	// of the pool
	since        time.Time
	older, newer *conn
}

// A work is what a connection needs while it is used. An idle one has none.
type work struct {
	br   *bufio.Reader
	head []byte
	sent []byte
}

const mostHead = 64 << 10 // bytes of a header block that a work keeps

var works = sync.Pool{New: func() any { return &work{br: bufio.NewReaderSize(nil, 16<<10)} }}

func newConn(c *Client, key origin, nc net.Conn) *conn {
	cn := &conn{Conn: nc, client: c, key: key}
	cn.answer.Addr = nc.RemoteAddr()
	if sc, ok := nc.(syscall.Conn); ok && canLook {
		if rc, err := sc.SyscallConn(); err == nil {
			cn.sys = rc
		}
	}
	return cn
}

// begin has the connection ready for a request; end, which may come without, has it hold nothing.
func (cn *conn) begin() {
	if cn.work == nil {
		cn.work = works.Get().(*work)
		cn.br.Reset(reader{cn})
	}
}

func (cn *conn) end() {
	if w := cn.work; w != nil {
		cn.work, cn.answer.Sent, cn.body = nil, nil, body{}
		if w.br.Reset(nil); cap(w.head) > mostHead {
			w.head = nil
		}
		works.Put(w)
	}
}

func (cn *conn) close() {
	cn.end()
	cn.Conn.Close()
}

// abort ends the connection below what another goroutine may be doing with it.
func (cn *conn) abort() {
	if cn.wire != nil {
		cn.wire.Close()
	} else {
		cn.Conn.Close()
	}
}

// A reader is what the bytes of answers come from.
type reader struct{ cn *conn }

// Read tells an end that TLS has told from one that anybody on the way can bring about. Package tls
// takes both for the same between two records.
func (r reader) Read(p []byte) (int, error) {
	if r.cn.dry {
		return 0, errDry
	}
	n, err := r.cn.Conn.Read(p)
	if err == io.EOF && r.cn.wire != nil && r.cn.wire.ended {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// A wire is the connection below TLS.
type wire struct {
	net.Conn
	ended bool // the connection has ended
	dry   bool // nothing is read from it for the time being
}

// NetConn is the connection that the dialer made.
func (w *wire) NetConn() net.Conn { return w.Conn }

func (w *wire) Read(p []byte) (int, error) {
	if w.dry {
		return 0, errDry
	}
	n, err := w.Conn.Read(p)
	if err == io.EOF {
		w.ended = true
	}
	return n, err
}

// errDry is a deadline to package tls, which goes on afterwards as if nothing had been.
var errDry net.Error = dry{}

type dry struct{}

func (dry) Error() string   { return "nothing is read now" }
func (dry) Timeout() bool   { return true }
func (dry) Temporary() bool { return true }

// quiet reports whether an idle connection is open and nothing has come on it, in records of TLS that
// were read together with the last one neither. A server that closed it, or said something that nobody
// asked for, must not answer the next request there.
func (cn *conn) quiet(age time.Duration) bool {
	if cn.sys == nil {
		if age >= freshFor {
			return false
		}
	} else if !nothingCame(cn.sys) {
		return false
	}
	if cn.wire == nil {
		return true
	}
	var b [1]byte
	cn.wire.dry = true
	n, err := cn.Conn.Read(b[:])
	cn.wire.dry = false
	return n == 0 && err == error(errDry)
}

// reusable reports whether the next answer would start at the next byte.
func (cn *conn) reusable() bool {
	// What is here already may be the rest: a small body that nobody wanted, or the last
	// chunk, before which a decoder stopped. Nothing is waited for: where the line before a chunk has come
	// in part, that could last until Request.End, and ctx ends nothing any more.
	cn.dry = true
	defer func() { cn.dry = false }()
	for cn.alive && cn.body.left != 0 && cn.br.Buffered() > 0 {
		if _, err := cn.body.Read(cn.head[:cap(cn.head)]); err != nil {
			break
		}
	}
	return cn.alive && cn.body.left == 0 && cn.br.Buffered() == 0
}

// exchange sends the request, which is in cn.sent, and reads the header block of the answer, until wait.
// An error means that there was none.
func (cn *conn) exchange(r *Request, maxHeader int64, wait time.Time) error {
	cn.answered = false
	if _, err := cn.Write(cn.sent); err != nil {
		return err
	}
	h, err := cn.readHead(maxHeader)
	if err != nil {
		return err
	}
	cn.answer = Answer{Status: h.status, Head: h.block, Fields: h.fields, Wire: h.wire, Sent: cn.sent, Addr: cn.answer.Addr, cn: cn}
	cn.frame(h)
	if !wait.Equal(r.End) {
		return cn.SetReadDeadline(r.End)
	}
	return nil
}
