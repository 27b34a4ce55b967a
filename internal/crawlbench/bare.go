package main

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/net/html"
)

// A list is the bare loop's queue: each URL once, by its hash.
type list struct {
	mu      sync.Mutex
	some    *sync.Cond
	urls    []string
	seen    map[uint64]struct{}
	pending int // in urls or being fetched
}

func (l *list) add(urls []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range urls {
		h := xxhash.Sum64String(u)
		if _, ok := l.seen[h]; !ok {
			l.seen[h] = struct{}{}
			l.urls = append(l.urls, u)
			l.pending++
			l.some.Signal()
		}
	}
}

func (l *list) next() (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.urls) == 0 && l.pending > 0 {
		l.some.Wait()
	}
	if l.pending == 0 {
		return "", false
	}
	u := l.urls[0]
	l.urls = l.urls[1:]
	return u, true
}

func (l *list) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending--; l.pending == 0 {
		l.some.Broadcast()
	}
}

// bare fetches everything at its host that base leads to, and keeps nothing but the hashes of URLs.
func bare(base string, parallel int) error {
	l := &list{seen: map[uint64]struct{}{}}
	l.some = sync.NewCond(&l.mu)
	l.add([]string{base})
	client := &http.Client{Transport: &http.Transport{MaxIdleConns: parallel, MaxIdleConnsPerHost: parallel, ReadBufferSize: 16 << 10}}
	errs := make(chan error, parallel)
	for range parallel {
		go func() {
			for {
				u, ok := l.next()
				if !ok {
					errs <- nil
					return
				}
				links, err := fetchLinks(client, u)
				if err != nil {
					errs <- err
					return
				}
				l.add(links)
				l.done()
			}
		}()
	}
	for range parallel {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

func fetchLinks(client *http.Client, u string) ([]string, error) {
	resp, err := client.Get(u)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(u)
	if err != nil {
		return nil, err
	}
	var links []string
	for z := html.NewTokenizer(bytes.NewReader(body)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return links, nil
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			if string(name) != "a" {
				continue
			}
			for more {
				var key, value []byte
				if key, value, more = z.TagAttr(); string(key) != "href" {
					continue
				}
				if t, err := base.Parse(string(value)); err == nil && t.Host == base.Host {
					t.Fragment = ""
					links = append(links, t.String())
				}
			}
		}
	}
}
