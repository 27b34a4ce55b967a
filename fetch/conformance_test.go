package fetch

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"

	"forage/internal/shared"
)

// A caseLine is a line of a conformance file of servers: what the server does and what we must do.
type caseLine struct {
	ID, Server, Expect, Measure, Level string
}

// cases runs a test for each line of a conformance file. Those that concern other packages
// are named in elsewhere, with the package that tests them; a line that is in neither fails.
func cases(t *testing.T, file string, tests map[string]func(*testing.T), elsewhere map[string]string) {
	f, err := os.Open(shared.Path(t, "conformance", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		var c caseLine
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		n++
		test, ok := tests[c.ID]
		if where := elsewhere[c.ID]; !ok && where == "" {
			t.Errorf("%s: no test for case %s: %s -> %s", file, c.ID, c.Server, c.Expect)
		}
		if ok {
			t.Run(c.ID, func(t *testing.T) {
				t.Logf("server: %s; expect: %s; measure: %s", c.Server, c.Expect, c.Measure)
				test(t)
			})
		}
	}
	if n < len(tests)+len(elsewhere) {
		t.Errorf("%s has %d cases, we have %d tests and %d elsewhere", file, n, len(tests), len(elsewhere))
	}
}

// A tcpServer hands each connection to a function, to speak HTTP as badly as it likes.
type tcpServer struct {
	url   string
	host  string
	conns atomic.Int64
}

func serveTCP(t testing.TB, handle func(nc net.Conn)) *tcpServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &tcpServer{url: "http://" + l.Addr().String(), host: l.Addr().String()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			go func() {
				defer nc.Close()
				handle(nc)
			}()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return s
}

// readRequest reads one request and returns its lines; nil at the end of the connection.
func readRequest(r *bufio.Reader) []string {
	var lines []string
	for {
		l, err := r.ReadString('\n')
		if err != nil {
			return nil
		}
		if len(l) <= 2 {
			return lines
		}
		lines = append(lines, l[:len(l)-2])
	}
}

// says is a handler that reads a request, writes text, and ends the connection.
func says(text string) func(net.Conn) {
	return func(nc net.Conn) {
		readRequest(bufio.NewReader(nc))
		io.WriteString(nc, text)
	}
}

func answer(body string, fields ...string) string {
	s := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	for _, f := range fields {
		s += f + "\r\n"
	}
	return s + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}
