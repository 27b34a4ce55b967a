package crawl

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/net/html"

	"forage/fetch"
	"forage/store"
)

func hash(b []byte) uint64 { return xxhash.Sum64(b) }

type content struct {
	kind      store.Kind
	digest    uint64
	shape     uint64
	bytes     int64
	cut       bool
	title     string
	canonical string
	published store.Time
	scripts   bool
	dropped   int
	links     []foundLink
}

type foundLink struct {
	url, given         string
	kind               store.LinkKind
	nofollow, main     bool
	place              uint32
	lastMod, published store.Time
}

func normalise(u string, ignore []string) (string, error) {
	p, err := url.Parse(u)
	if err != nil {
		return "", err
	}
	p.Fragment = ""
	return p.String(), nil
}

func read(j *job) *content {
	b := j.out.Body
	c := &content{kind: store.Other, digest: hash(b), bytes: int64(len(b))}
	base, _ := url.Parse(j.url)
	add := func(h string, k store.LinkKind) {
		if r, err := base.Parse(strings.TrimSpace(h)); err == nil && (r.Scheme == "http" || r.Scheme == "https") {
			r.Fragment = ""
			c.links = append(c.links, foundLink{url: r.String(), kind: k})
		}
	}
	t := bytes.TrimSpace(b)
	switch {
	case bytes.Contains(t[:min(500, len(t))], []byte("<urlset")), bytes.Contains(t[:min(500, len(t))], []byte("<sitemapindex")):
		c.kind = store.Sitemap
		for _, p := range strings.Split(string(t), "<loc>")[1:] {
			u, _, _ := strings.Cut(p, "</loc>")
			add(html.UnescapeString(u), store.ViaSitemap)
		}
	case bytes.Contains(t[:min(500, len(t))], []byte("<rss")), bytes.Contains(t[:min(500, len(t))], []byte("<feed")):
		c.kind = store.Feed
		for _, p := range strings.Split(string(t), "<link>")[1:] {
			u, _, _ := strings.Cut(p, "</link>")
			add(html.UnescapeString(u), store.ViaFeed)
		}
		for _, p := range strings.Split(string(t), "<link href=\"")[1:] {
			u, _, _ := strings.Cut(p, "\"")
			add(html.UnescapeString(u), store.ViaFeed)
		}
	case j.out.Kind == fetch.Text && !bytes.Contains(t, []byte("<")):
		c.kind = store.Sitemap
		for _, l := range strings.Fields(string(t)) {
			add(l, store.ViaSitemap)
		}
	case j.out.Kind == fetch.HTML:
		c.kind = store.Page
		z := html.NewTokenizer(bytes.NewReader(b))
		for {
			tt := z.Next()
			if tt == html.ErrorToken {
				break
			}
			if tt != html.StartTagToken && tt != html.SelfClosingTagToken {
				continue
			}
			tok := z.Token()
			at := map[string]string{}
			for _, a := range tok.Attr {
				at[a.Key] = a.Val
			}
			switch tok.Data {
			case "a", "area":
				if at["href"] != "" {
					add(at["href"], store.ViaAnchor)
				}
			case "link":
				if at["rel"] == "alternate" || at["rel"] == "sitemap" {
					add(at["href"], store.ViaFeedLink)
				}
			case "meta":
				if strings.EqualFold(at["http-equiv"], "refresh") {
					if _, u, ok := strings.Cut(at["content"], "url="); ok {
						add(u, store.ViaRefresh)
					}
				}
			}
		}
	}
	return c
}
