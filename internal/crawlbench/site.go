package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
)

// A site makes its pages from their numbers: page 0 is /, page i is /p/i. Links lead to four
// children in a tree, so that everything is reachable, and to other pages by chance. The server
// speaks just enough HTTP to cost little beside a crawler.
type site struct {
	pages  uint64
	links  int
	text   [64][]byte // between two links
	served atomic.Int64
}

func newSite(pages uint64, size, links int) *site {
	s := &site{pages: pages, links: links}
	words := []string{"the", "of", "page", "new", "links", "and", "crawl", "site", "found", "old", "cover", "seed", "again", "budget", "host", "change"}
	per := max(0, size-200)/max(1, links) - 40
	for i := range s.text {
		b := []byte("<p>")
		for x := uint64(i); len(b) < per; x = mix(x) {
			b = append(append(b, words[x%uint64(len(words))]...), ' ')
			if x%41 == 0 {
				b = append(b, "<em>so</em> "...)
			}
		}
		s.text[i] = append(b, "</p>\n"...)
	}
	return s
}

// serveSite serves s on loopback until SIGTERM, over https where a file is named for the
// certificate, which is made for the purpose.
func serveSite(s *site, certificate string) error {
	return untilTerm(certificate, nil, func(l net.Listener) {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(nc)
		}
	}, s.served.Load)
}

// untilTerm serves on loopback until SIGTERM. It prints the URL first, how many pages were served last.
func untilTerm(certificate string, protocols []string, serve func(net.Listener), served func() int64) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	l, scheme, err := secure(l, certificate, protocols...)
	if err != nil {
		return err
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	fmt.Printf("%s://%s\n", scheme, l.Addr())
	go serve(l)
	<-end
	l.Close()
	fmt.Printf("served %d\n", served())
	return nil
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// target returns where the k-th link of page i leads.
func (s *site) target(i uint64, k int) uint64 {
	if t := 4*i + 1 + uint64(k); k < 4 && t < s.pages {
		return t
	}
	return mix(i<<8|uint64(k)) % s.pages
}

func (s *site) page(b []byte, i uint64) []byte {
	b = fmt.Appendf(b, "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><title>Page %d</title></head>\n<body><main class=text><h1>Page %d</h1>\n", i, i)
	b = append(strconv.AppendUint(append(b, "<p>On "...), mix(i), 36), ".</p>\n"...) // else a crawl could leave out rows of pages that say the same
	for k := range s.links {
		b = append(b, s.text[(i+uint64(k))%uint64(len(s.text))]...)
		t := s.target(i, k)
		b = append(b, "<div class=more><a href=\"/"...)
		if t > 0 { // each page has one URL
			b = strconv.AppendUint(append(b, "p/"...), t, 10)
		}
		b = append(b, "\">number "...)
		b = strconv.AppendUint(b, t, 10)
		b = append(b, "</a></div>\n"...)
	}
	return append(b, "</main></body></html>\n"...)
}

func (s *site) serve(nc net.Conn) {
	defer nc.Close()
	r := bufio.NewReaderSize(nc, 4<<10)
	var body, out []byte
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		id, ok := pageNumber(line, s.pages)
		for {
			if line, err = r.ReadSlice('\n'); err != nil {
				return
			}
			if len(line) <= 2 {
				break
			}
		}
		if ok {
			body = s.page(body[:0], id)
			s.served.Add(1)
			out = append(out[:0], "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: "...)
		} else {
			body = body[:0]
			out = append(out[:0], "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: "...)
		}
		out = strconv.AppendInt(out, int64(len(body)), 10)
		out = append(out, "\r\n\r\n"...)
		out = append(out, body...)
		if _, err := nc.Write(out); err != nil {
			return
		}
	}
}

// pageNumber reads the page's number off a request line: 0 is /, i is /p/i.
func pageNumber(line []byte, pages uint64) (uint64, bool) {
	_, rest, _ := bytes.Cut(line, []byte(" "))
	path, _, _ := bytes.Cut(rest, []byte(" "))
	if string(path) == "/" {
		return 0, true
	}
	digits, ok := bytes.CutPrefix(path, []byte("/p/"))
	n, err := strconv.ParseUint(string(digits), 10, 64)
	return n, ok && err == nil && n < pages
}
