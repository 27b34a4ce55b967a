package link

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
)

func body(t *testing.T, plain, b64 string) []byte {
	if b64 == "" {
		return []byte(plain)
	}
	b, err := base64.StdEncoding.DecodeString(b64)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func set(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return slices.Compact(s)
}

func TestLinks(t *testing.T) {
	type T struct {
		ID, HTML                       string
		B64                            string `json:"html_b64"`
		Base                           string
		Type                           string `json:"content_type"`
		Links, Embeds, Nofollow, Never []string
		Headers                        map[string][]string
	}
	cases(t, "links.jsonl", 9, func(c T) {
		p := Extract(body(t, c.HTML, c.B64), Options{URL: c.Base, ContentType: c.Type, Robots: c.Headers["X-Robots-Tag"], Embeds: true})
		var links, nofollow []string
		for _, l := range p.Links {
			links = append(links, l.URL)
			if l.NoFollow {
				nofollow = append(nofollow, l.URL)
			}
		}
		if !slices.Equal(set(links), set(c.Links)) {
			t.Errorf("%s: links %q, want %q", c.ID, links, c.Links)
		}
		if !slices.Equal(set(nofollow), set(c.Nofollow)) {
			t.Errorf("%s: nofollow %q, want %q", c.ID, nofollow, c.Nofollow)
		}
		if c.Embeds != nil && !slices.Equal(set(p.Embeds), set(c.Embeds)) {
			t.Errorf("%s: embeds %q, want %q", c.ID, p.Embeds, c.Embeds)
		}
	})
}

func TestRefresh(t *testing.T) {
	type T struct {
		Content string
		Delay   *int
		URL     *string
	}
	cases(t, "metarefresh.jsonl", 9, func(c T) {
		delay, url, ok := ParseRefresh(c.Content)
		if ok != (c.Delay != nil) || ok && delay != *c.Delay || c.URL != nil && url != *c.URL || c.URL == nil && url != "" {
			t.Errorf("ParseRefresh(%q) = %d, %q, %v", c.Content, delay, url, ok)
		}
	})
}

func TestSrcset(t *testing.T) {
	type T struct {
		Srcset string
		URLs   []string
	}
	cases(t, "srcset.jsonl", 9, func(c T) {
		if got := ParseSrcset(c.Srcset); !slices.Equal(got, c.URLs) {
			t.Errorf("ParseSrcset(%q) = %q, want %q", c.Srcset, got, c.URLs)
		}
	})
}

func TestCharset(t *testing.T) {
	type T struct {
		ID, HTML, Encoding string
		B64                string `json:"html_b64"`
		Type               string `json:"content_type"`
	}
	cases(t, "charset.jsonl", 9, func(c T) {
		if got := Charset(body(t, c.HTML, c.B64), c.Type); !strings.EqualFold(got, c.Encoding) {
			t.Errorf("%s: %s, want %s", c.ID, got, c.Encoding)
		}
	})
}
