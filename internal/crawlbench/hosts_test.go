package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The server of many hosts answers each at its own address, and counts what each is asked for.
func TestHosts(t *testing.T) {
	for i := range 1 << 17 {
		if n := hostNumber(hostAddr(i)); n != i {
			t.Fatalf("hostNumber(hostAddr(%d)) = %d", i, n)
		}
	}
	ln, err := listenAll()
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	s := &hosts{perHost: 3, logs: make([]hostLog, 300)}
	done := make(chan bool)
	go func() {
		for range 2 {
			nc, err := ln.Accept()
			if err != nil {
				break
			}
			s.connections.Add(1)
			go s.serve(nc)
		}
		close(done)
	}()
	port := ln.Addr().(*net.TCPAddr).Port
	get := func(host int, path string) (int, string) {
		resp, err := http.Get(fmt.Sprintf("http://%s:%d%s", hostAddr(host), port, path))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	if status, body := get(299, "/"); status != 200 || !strings.Contains(body, `"/p/1"`) || !strings.Contains(body, `"/p/2"`) {
		t.Errorf("the first page: %d, %s", status, body)
	}
	for path, want := range map[string]int{"/p/2": 200, "/p/3": 404, "/robots.txt": 404} {
		if status, _ := get(299, path); status != want {
			t.Errorf("%s: status %d, want %d", path, status, want)
		}
	}
	get(7, "/")
	get(7, "/")
	<-done
	got := s.seen()
	if got.Hosts != 2 || got.Requests != 6 || got.Pages != 3 || got.Repeated != 1 || got.Connections != 2 || got.Most != 4 || got.Together != 1 {
		t.Errorf("seen() = %+v", got)
	}
}

// Over https each host has a certificate of its own, by one authority, and sessions are counted.
func TestHostsSecure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "certificate.pem")
	ln, err := listenAll()
	if err != nil {
		t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	ln, scheme, err := secure(ln, file)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	s := &hosts{perHost: 3, logs: make([]hostLog, 300)}
	go func() {
		for nc, err := ln.Accept(); err == nil; nc, err = ln.Accept() {
			go s.serve(nc)
		}
	}()
	root, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(root) {
		t.Fatal("no certificate in the file")
	}
	conf := &tls.Config{RootCAs: pool, ClientSessionCache: tls.NewLRUClientSessionCache(10)}
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true}}
	for _, h := range []int{0, 1, 299, 0} {
		resp, err := c.Get(fmt.Sprintf("%s://%v:%d/", scheme, hostAddr(h), port))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if got := s.seen(); got.Hosts != 3 || got.Requests != 4 || got.Resumed != 1 {
		t.Errorf("seen() = %+v", got)
	}
}

// A gap runs from the end of an answer to the next request.
func TestHostLog(t *testing.T) {
	var h hostLog
	h.asked(0, true)
	h.answered()
	if h.least != 0 || h.requests != 1 {
		t.Errorf("after one request the least gap is %v", h.least)
	}
	h.last = h.last.Add(-time.Minute)
	h.asked(1, true)
	h.asked(1, true)
	h.answered()
	if h.least < time.Minute || h.idle < h.least || h.together != 2 || h.pages[1] != 2 {
		t.Errorf("after a minute: %+v", &h)
	}
}

// What connects to a deaf port gets no answer.
func TestListenDeaf(t *testing.T) {
	port, err := listenDeaf()
	if err != nil {
		t.Skip(err)
	}
	c, err := net.DialTimeout("tcp4", fmt.Sprintf("%s:%d", hostAddr(5), port), 50*time.Millisecond)
	if err == nil {
		c.Close()
		t.Error("it takes connections")
	}
}
