package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Many hosts: each is an address of its own in 127.0.0.0/8, all of them answered by one listener,
// with a small site each whose pages form a tree. Silent hosts share their addresses with the ones
// that answer, on another port. The server notes when requests come and when answers leave, host by
// host, since politeness is what a server sees of it.

// A silence is how a host fails to answer.
const (
	silenceAccept = "accept" // it takes the connection and says nothing
	silenceDrop   = "drop"   // it drops each attempt to connect
)

// A load says what the hosts have and how they are crawled.
type load struct {
	hosts    int
	perHost  int           // pages of each
	delay    time.Duration // between requests to one
	parallel int
	silent   int    // hosts that do not answer, beside the others
	silence  string // silenceAccept or silenceDrop
	limit    time.Duration
}

// A hostLog is what the server saw of a host.
type hostLog struct {
	mu       sync.Mutex
	out      int
	requests int
	pages    map[uint64]int
	first    time.Time
	last     time.Time     // when the latest answer left
	least    time.Duration // from an answer to the next request
	idle     time.Duration // the longest of these
	together int           // requests at the same time, at most
}

// seen is what the server tells when all is over. Times are those of its own process; a gap runs
// from the end of an answer to the next request of the host.
type seen struct {
	Hosts       int // that were asked at all
	Requests    int // robots.txt, sitemaps and made-up paths included
	Pages       int // that were asked for
	Repeated    int // requests for a page that had been asked for
	Connections int
	Resumed     int // connections that resumed a session of TLS
	Most        int // requests that one host got, the most of all
	Together    int // requests at one host at the same time, at most
	First, Last time.Time
	Least       time.Duration // gap, over all hosts
	Idle        time.Duration // the longest gap, over all hosts
	CPU         time.Duration // of the server
}

// hosts is the server.
type hosts struct {
	perHost     uint64
	logs        []hostLog
	connections atomic.Int64
	resumed     atomic.Int64
}

// hostAddr is the address of the i-th host.
func hostAddr(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(1 + i>>16), byte(i >> 8), byte(i)})
}

func hostNumber(a netip.Addr) int {
	b := a.As4()
	return int(b[1]-1)<<16 | int(b[2])<<8 | int(b[3])
}

// listenAll listens at all addresses of the machine, on a port of its own.
func listenAll() (net.Listener, error) { return net.Listen("tcp4", "0.0.0.0:0") }

// listenDeaf listens like listenAll and never accepts: the line of connections to be accepted is
// full, so that the system drops what wants to connect.
func listenDeaf() (port int, err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{}), syscall.Listen(fd, 0)); err != nil {
		return 0, err
	}
	sa, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	port = sa.(*syscall.SockaddrInet4).Port
	for range 8 { // those that come to wait stay open until the process ends
		if _, err := net.DialTimeout("tcp4", fmt.Sprint("127.0.0.1:", port), 200*time.Millisecond); err != nil {
			return port, nil
		}
	}
	return 0, errors.New("the system queues connections without end")
}

// serveHosts serves l until SIGTERM. The first line that it prints is the port of the hosts, the second
// that of those that are silent; the last tells what it saw. A certificate is that of secure.
func serveHosts(l load, certificate string) error {
	s := &hosts{perHost: uint64(l.perHost), logs: make([]hostLog, l.hosts)}
	ln, err := listenAll()
	if err != nil {
		return err
	}
	port := ln.Addr().(*net.TCPAddr).Port
	if ln, _, err = secure(ln, certificate); err != nil {
		return err
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	silent := 0
	if l.silence == silenceDrop {
		if silent, err = listenDeaf(); err != nil {
			return err
		}
	} else {
		mute, err := listenAll()
		if err != nil {
			return err
		}
		silent = mute.Addr().(*net.TCPAddr).Port
		go func() {
			for {
				if _, err := mute.Accept(); err != nil { // the connection stays open, unanswered
					return
				}
			}
		}()
	}
	fmt.Printf("%d\n%d\n", port, silent)
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			s.connections.Add(1)
			go s.serve(nc)
		}
	}()
	<-end
	ln.Close()
	return json.NewEncoder(os.Stdout).Encode(s.seen())
}

// serve answers the requests of a connection.
func (s *hosts) serve(nc net.Conn) {
	defer nc.Close()
	if tc, ok := nc.(*tls.Conn); ok {
		if tc.Handshake() != nil {
			return
		}
		if tc.ConnectionState().DidResume {
			s.resumed.Add(1)
		}
	}
	i := hostNumber(nc.LocalAddr().(*net.TCPAddr).AddrPort().Addr().Unmap())
	if i < 0 || i >= len(s.logs) {
		return
	}
	h := &s.logs[i]
	r := bufio.NewReaderSize(nc, 1<<10)
	var body, out []byte
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		page, ok := pageNumber(line, s.perHost)
		h.asked(page, ok)
		for {
			if line, err = r.ReadSlice('\n'); err != nil {
				return
			}
			if len(line) <= 2 {
				break
			}
		}
		if body = body[:0]; ok {
			body = s.page(body, page)
			out = append(out[:0], "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: "...)
		} else {
			out = append(out[:0], "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: "...)
		}
		out = strconv.AppendInt(out, int64(len(body)), 10)
		out = append(append(out, "\r\n\r\n"...), body...)
		h.answered()
		if _, err := nc.Write(out); err != nil {
			return
		}
	}
}

// page appends page i of a host, which leads to two more.
func (s *hosts) page(b []byte, i uint64) []byte {
	b = fmt.Appendf(b, "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><title>Page %d</title></head>\n<body><main><h1>Page %d</h1>\n<p>What page %d says is said nowhere else.</p>\n", i, i, mix(i))
	for k := 2*i + 1; k <= 2*i+2 && k < s.perHost; k++ {
		b = fmt.Appendf(b, "<p><a href=\"/p/%d\">number %d</a></p>\n", k, k)
	}
	return append(b, "</main></body></html>\n"...)
}

// asked notes a request.
func (h *hostLog) asked(page uint64, ok bool) {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.requests == 0 {
		h.first = now
	}
	h.requests++
	h.out++
	h.together = max(h.together, h.out)
	if !h.last.IsZero() && h.out == 1 {
		gap := now.Sub(h.last)
		if h.least == 0 || gap < h.least {
			h.least = max(gap, 1)
		}
		h.idle = max(h.idle, gap)
	}
	if ok {
		if h.pages == nil {
			h.pages = map[uint64]int{}
		}
		h.pages[page]++
	}
}

// answered notes that an answer is about to leave.
func (h *hostLog) answered() {
	h.mu.Lock()
	h.out--
	h.last = time.Now()
	h.mu.Unlock()
}

// seen sums up.
func (s *hosts) seen() (all seen) {
	for i := range s.logs {
		h := &s.logs[i]
		h.mu.Lock()
		if h.requests > 0 {
			all.Hosts++
			if all.First.IsZero() || h.first.Before(all.First) {
				all.First = h.first
			}
			if h.last.After(all.Last) {
				all.Last = h.last
			}
		}
		all.Requests += h.requests
		for _, n := range h.pages {
			all.Pages++
			all.Repeated += n - 1
		}
		all.Most = max(all.Most, h.requests)
		all.Together = max(all.Together, h.together)
		if h.least > 0 && (all.Least == 0 || h.least < all.Least) {
			all.Least = h.least
		}
		all.Idle = max(all.Idle, h.idle)
		h.mu.Unlock()
	}
	all.Connections, all.Resumed = int(s.connections.Load()), int(s.resumed.Load())
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err == nil {
		all.CPU = time.Duration(use.Utime.Nano() + use.Stime.Nano())
	}
	return all
}

// benchHosts crawls the hosts of l with program, once, and prints what the server saw of it. seeds is
// the file that lists them, certificate that of secure.
func benchHosts(l load, self, program, seeds, store, certificate string) error {
	server := exec.Command(self, "-part", "hosts", "-hosts", fmt.Sprint(l.hosts), "-perhost", fmt.Sprint(l.perHost), "-silence", l.silence, certificate)
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	var ports [2]int
	for i := range ports {
		if !lines.Scan() {
			return errors.Join(errors.New("the hosts did not start"), server.Wait())
		}
		if ports[i], err = strconv.Atoi(lines.Text()); err != nil {
			return err
		}
	}
	scheme := "http"
	if certificate != "" {
		scheme = "https"
	}
	var text bytes.Buffer
	for i := range l.silent { // first, so that they have their turn first
		fmt.Fprintf(&text, "%s://%s:%d/\n", scheme, hostAddr(i), ports[1])
	}
	for i := range l.hosts {
		fmt.Fprintf(&text, "%s://%s:%d/\n", scheme, hostAddr(i), ports[0])
	}
	if err := os.WriteFile(seeds, text.Bytes(), 0o644); err != nil {
		return err
	}
	args := []string{"crawl", "--dir", store, "--seeds", seeds, "--delay", l.delay.String(), "--parallel", fmt.Sprint(l.parallel), "--allow-private", "127.0.0.0/8", "--json"}
	if l.limit > 0 {
		args = append(args, "--time-limit", l.limit.String())
	}
	crawler := exec.Command(program, args...)
	var stderr strings.Builder
	crawler.Stderr = &stderr
	began := time.Now()
	failed := crawler.Run()
	wall := time.Since(began)
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	var s seen
	if lines.Scan() {
		err = json.Unmarshal(lines.Bytes(), &s)
	}
	if err := errors.Join(err, server.Wait()); err != nil {
		return fmt.Errorf("the hosts: %w", err)
	}
	if failed != nil && l.silent == 0 {
		text := stderr.String()
		return fmt.Errorf("%s: %w: %s", filepath.Base(program), failed, text[:min(len(text), 4<<10)])
	}
	use := crawler.ProcessState
	cpu := use.UserTime() + use.SystemTime()
	var memory int64
	if ru, ok := use.SysUsage().(*syscall.Rusage); ok {
		memory = ru.Maxrss << 10 // Linux counts KiB
	}
	span := s.Last.Sub(s.First)
	ideal := time.Duration(max(0, s.Most-1)) * l.delay
	row := func(name, format string, args ...any) { fmt.Printf("%-28s %s\n", name, fmt.Sprintf(format, args...)) }
	row("hosts asked", "%d of %d", s.Hosts, l.hosts)
	row("pages", "%d of %d, %d asked for again", s.Pages, l.hosts*l.perHost, s.Repeated)
	row("requests", "%d, at most %d at a host, %d at a time", s.Requests, s.Most, s.Together)
	row("connections", "%d, %d resumed a session", s.Connections, s.Resumed)
	row("first request after", "%.2f s", s.First.Sub(began).Seconds())
	row("span", "%.2f s (%.1f requests a second)", span.Seconds(), float64(s.Requests)/max(span.Seconds(), 1e-3))
	if ideal > 0 {
		row("span that delays need", "%.2f s, ratio %.3f", ideal.Seconds(), span.Seconds()/ideal.Seconds())
	}
	row("least gap at a host", "%.4f s (delay %s)", s.Least.Seconds(), l.delay)
	row("longest gap at a host", "%.2f s", s.Idle.Seconds())
	row("wall", "%.2f s", wall.Seconds())
	row("CPU of the crawler", "%.2f s, %.0f µs a request", cpu.Seconds(), float64(cpu.Microseconds())/float64(max(1, s.Requests)))
	row("CPU of the server", "%.2f s on %d processors", s.CPU.Seconds(), runtime.NumCPU())
	row("memory", "%.0f MB", float64(memory)/1e6)
	if s.Pages < l.hosts*l.perHost && l.limit == 0 {
		return fmt.Errorf("%d of %d pages were asked for", s.Pages, l.hosts*l.perHost)
	}
	return nil
}

// check returns what is wrong with a load.
func (l *load) check() error {
	switch {
	case l.perHost < 1 || l.silent < 0:
		return errors.New("-perhost wants at least 1, -silent 0 or more")
	case max(l.hosts, l.silent) > 250<<16:
		return errors.New("-hosts: there are not so many addresses")
	case l.silence != silenceAccept && l.silence != silenceDrop:
		return fmt.Errorf("-silence %q: want %s or %s", l.silence, silenceAccept, silenceDrop)
	}
	return nil
}
