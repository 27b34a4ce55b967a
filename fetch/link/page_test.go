package link

import (
	"bytes"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"forage/fetch/use"
	"forage/internal/race"
)

const at = "http://ex.test/dir/page.html"

// listed writes links as "kind url", nofollow ones with "!".
func listed(p *Page) (out []string) {
	for i := range p.Links {
		l := &p.Links[i]
		mark := ""
		if l.NoFollow {
			mark = "!"
		}
		out = append(out, l.Kind.String()+mark+" "+strings.TrimPrefix(l.URL, "http://ex.test"))
	}
	return out
}

func TestKinds(t *testing.T) {
	for html, want := range map[string][]string{
		`<frameset><frame src=a><frame src="about:blank"></frameset>`:                                                           {"frame /dir/a"},
		`<link rel="next" href=2><link rel="Prev" href=0><link rel=stylesheet href=s.css><link rel=next>`:                       {"rel /dir/2", "rel /dir/0"},
		`<link rel="shortcut icon" href=i><link rel="alternate stylesheet" href=s><link rel=canonical href=/c>`:                 {"canonical /c"},
		`<link rel=alternate type="application/rss+xml; charset=utf-8" href=/f><link rel=alternate hreflang=de href=/de>`:       {"feed /f", "alternate /de"},
		`<link rel=alternate type="application/json+oembed" href=/o><link rel=alternate type=application/json href=/wp-json/1>`: nil,
		`<link rel=alternate type=application/json href=/feed.json><link rel=feed href=/f2><link rel=sitemap href=/s.xml>`:      {"feed /feed.json", "feed /f2", "sitemap /s.xml"},
		`<link rel=amphtml href=/amp><link rel="amphtml alternate" type=text/css href=/amp2>`:                                   {"alternate /amp", "alternate /amp2"},
		`<a rel="noopener NoFollow" href=a></a><a href=b rel=follow></a>`:                                                       {"anchor! /dir/a", "anchor /dir/b"},
		`<a name=x>no</a><a href>empty</a><svg><a xlink:href=s></a></svg>`:                                                      {"anchor /dir/page.html", "anchor /dir/s"},
		`<template><a href=t></a><template></template><a href=t2></a></template><a href=x></a>`:                                 {"anchor /dir/x"},
		`<div><template shadowrootmode=open><a href=t></a></template></div>`:                                                    {"anchor /dir/t"},
		`<a href=x></a><base href=/b/><base href=/c/><a href=y></a>`:                                                            {"anchor /b/x", "anchor /b/y"},
		`<template><base href=/b/></template><a href=x></a>`:                                                                    {"anchor /dir/x"},
		`<meta http-equiv=refresh content="0;url='/a'"><meta http-equiv=refresh content="0;url=/b">`:                            {"refresh /a"},
		`<meta name=robots content="NOARCHIVE, none"><a href=x></a>`:                                                            {"anchor! /dir/x"},
		`<meta name=otherbot content=nofollow><a href=x></a>`:                                                                   {"anchor /dir/x"},
		`<meta name=Forage content=nofollow><a href=x></a>`:                                                                     {"anchor! /dir/x"},
		`<form action=/post method=post><input type=image src=/i></form><button formaction=/p>`:                                 nil,
	} {
		if got := listed(Extract([]byte(html), Options{URL: at, Agent: "forage"})); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", html, got, want)
		}
	}
}

// TestLongBase: what is over 2,048 bytes is no base, and the first one counts all the same.
func TestLongBase(t *testing.T) {
	const host = "http://ex.test"
	for n, want := range map[int]string{MaxBase: "", MaxBase + 1: "/dir/"} {
		base := "/" + strings.Repeat("b", n-len(host)-2) + "/"
		if want == "" {
			want = base
		}
		p := Extract([]byte(`<base href="`+base+`"><base href=/c/><a href=x></a>`), Options{URL: at})
		if len(p.Links) != 1 || p.Links[0].URL != host+want+"x" {
			t.Errorf("with a base of %d bytes: %.200q", n, listed(p))
		}
	}
}

// TestMoved: which meta refreshes make their page a redirect stub.
func TestMoved(t *testing.T) {
	for html, want := range map[string]string{
		`<meta http-equiv=refresh content="0; url=/new">`:                                                                                     "http://ex.test/new",
		`<META HTTP-EQUIV="Refresh" CONTENT="5;URL='http://o.test/new?utm_x=1'">`:                                                             "http://o.test/new",
		`<meta http-equiv=refresh content="10; url=new"><base href=/b/>`:                                                                      "http://ex.test/b/new",
		`<meta http-equiv=refresh content="11; url=/new">`:                                                                                    "", // it is there to be read
		`<meta http-equiv=refresh content="0">`:                                                                                               "", // it reloads
		`<meta http-equiv=refresh content="0; url=page.html#top">`:                                                                            "",
		`<meta http-equiv=refresh content="0; url=?utm_x=2">`:                                                                                 "",
		`<meta http-equiv=refresh content="0; url=javascript:go()">`:                                                                          "",
		`<noscript><meta http-equiv=refresh content="0; url=/plain"></noscript>`:                                                              "",
		`<noscript><meta http-equiv=refresh content="0; url=/plain"></noscript><meta http-equiv=refresh content="0; url=/new">`:               "http://ex.test/new",
		`<meta http-equiv=refresh content="60; url=/slow"><meta http-equiv=refresh content="0; url=/new">`:                                    "", // the first one counts
		`<template><meta http-equiv=refresh content="0; url=/new"></template><!--<meta http-equiv=refresh content="0; url=/new">-->`:          "",
		`<a href=/other></a><meta http-equiv=refresh content="0; url=/new">` + strings.Repeat(`<a href=/other></a>`, 3):                       "http://ex.test/new",
		`<svg></svg><p><meta http-equiv=refresh content="1; url=/new"></p><link rel=canonical href=/new><a href=/new>click here</a>`:          "http://ex.test/new",
		`<meta http-equiv=refresh content="0; url=/dir/page.html?utm_x=3"><meta http-equiv=refresh content="0; url=/not-looked-at-any-more">`: "",
	} {
		if got := Extract([]byte(html), Options{URL: at, IgnoreParams: []string{"utm_*"}}).Moved; got != want {
			t.Errorf("%s: moved to %q, want %q", html, got, want)
		}
	}
}

func TestHeaders(t *testing.T) {
	p := Extract([]byte(`<a href=x>`), Options{URL: at, Agent: "forage", Links: []string{
		`</2>; rel="next"; title="a, b; \"c\"", <3>;rel=prev`, `</style.css>; rel=stylesheet`, `</other>; rel=next; anchor="/else"`, `<http://o.test/c>; rel="canonical"`, `broken`, `</f>; rel=alternate; type="application/atom+xml"`,
	}})
	if got, want := listed(p), []string{"rel /2", "rel /dir/3", "canonical http://o.test/c", "feed /f", "anchor /dir/x"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if p.Canonical != "http://o.test/c" {
		t.Errorf("canonical %q", p.Canonical)
	}
	for v, want := range map[string][2]bool{ // nofollow, noindex
		"nofollow": {true, false}, "noindex, nofollow": {true, true}, "otherbot: none": {}, "Forage: none": {true, true},
		"unavailable_after: 25 Jun 2030 15:00:00 PST": {}, "max-snippet: 5, nofollow": {true, false}, "noarchive, unavailable_after: x": {},
	} {
		if p := Extract(nil, Options{URL: at, Agent: "forage", Robots: []string{v}}); [2]bool{p.NoFollow, p.NoIndex} != want {
			t.Errorf("X-Robots-Tag %q: nofollow, noindex %v %v, want %v", v, p.NoFollow, p.NoIndex, want)
		}
	}
}

// TestSaid: what a page says of its use, in elements and Link headers; Said.Rules has none of X-Robots-Tag.
func TestSaid(t *testing.T) {
	for body, want := range map[string]use.Said{
		`<p>text`: {},
		`<meta name=robots content="noindex, NoArchive">`:                                                           {Rules: use.NoIndex | use.NoArchive},
		`<META NAME="Forage" CONTENT="none">`:                                                                       {Rules: use.NoIndex | use.NoFollow},
		`<meta name=googlebot content=noindex><meta name=forage2 content=none>`:                                     {},
		`<meta name=robots content=noindex><meta name=forage content=nocache>`:                                      {Rules: use.NoIndex | use.NoArchive},
		`<meta name=robots content="max-snippet:-1, max-image-preview:large, noarchive">`:                           {Rules: use.NoArchive},
		`<template><meta name=robots content=none></template><!--<meta name=robots content=none>-->`:                {},
		`<meta name="tdm-reservation" content="1"><meta name="tdm-policy" content=" https://p.test/a&amp;b ">`:      {TDM: use.Reserved, Policy: "https://p.test/a&b"},
		`<meta name=tdm-reservation content=0><meta name=TDM-Reservation content=1>`:                                {TDM: use.Reserved},
		`<meta name=tdm-reservation content=yes><meta name=tdm-reservation>`:                                        {},
		`<a rel="license nofollow" href=by><link rel=LICENSE href=/l><area rel=license href=//x.test/#y>`:           {Licenses: []string{"http://ex.test/dir/by", "http://ex.test/l", "http://x.test/"}},
		`<a rel=license href=l><base href=/b/><a rel=license href=l#1><a rel=license><a rel=license href="">`:       {Licenses: []string{"http://ex.test/b/l"}},
		`<link rel=license href=javascript:0><link rel=license href="http://[">`:                                    {},
		`<link rel=license href=1>` + strings.Repeat(`<link rel=license href=1>`, 20) + `<link rel=license href=2>`: {Licenses: []string{"http://ex.test/dir/1"}},
	} {
		p := Extract([]byte(body), Options{URL: at, Agent: "forage", Robots: []string{"nofollow"}})
		if !reflect.DeepEqual(p.Said, want) {
			t.Errorf("%.80s: %+v, want %+v", body, p.Said, want)
		}
		if noIndex := want.Rules&use.NoIndex != 0; !p.NoFollow || p.NoIndex != noIndex {
			t.Errorf("%.80s: nofollow, noindex %v %v, want true %v", body, p.NoFollow, p.NoIndex, noIndex)
		}
	}
	p := Extract(nil, Options{URL: at, Links: []string{`</cc>; rel="license", <x>; rel=license; anchor="/other"`}})
	if want := []string{"http://ex.test/cc"}; !slices.Equal(p.Said.Licenses, want) {
		t.Errorf("licenses of headers %q, want %q", p.Said.Licenses, want)
	}
}

func TestGiven(t *testing.T) {
	for href, want := range map[string][2]string{
		"/a":            {"http://ex.test/a", ""},
		"../%7ea/%c3":   {"http://ex.test/~a/%C3", "http://ex.test/%7ea/%c3"},
		"/%c3?%e4#x":    {"http://ex.test/%C3?%E4", "http://ex.test/%c3?%e4"},
		"/%C3":          {"http://ex.test/%C3", ""},
		"/ü":            {"http://ex.test/%C3%BC", ""},
		"/x?utm_a=1&b":  {"http://ex.test/x?b", "http://ex.test/x?utm_a=1&b"},
		"//u:p@h.test/": {"http://h.test/", ""},
	} {
		p := Extract([]byte(`<a href="`+href+`">`), Options{URL: at, IgnoreParams: []string{"utm_*"}})
		if len(p.Links) != 1 || p.Links[0].URL != want[0] || p.Links[0].Given != want[1] {
			t.Errorf("%s: %+v, want %q", href, p.Links, want)
		}
	}
	if p := Extract([]byte(`<a href="http:/h.test/%7e">`), Options{}); len(p.Links) != 1 || p.Links[0].URL != "http://h.test/~" || p.Links[0].Given != "http://h.test/%7e" {
		t.Errorf("without a base: %+v", p.Links)
	}
}

func TestPage(t *testing.T) {
	p := Extract([]byte(`<!DOCTYPE html><title> A &amp; B
  &lt;b&gt; </title><svg><title>no</title></svg><title>no</title>
<meta itemprop=datePublished content="2020-01-01"><script type="application/ld+json">{"x":"datePublished","datePublished" : "2021-02-03T04:05:06+01:00"}</script>
<script>var a</script><script type=module src=m.js></script><script type="text/x-template"><a href=no></script>
<link rel=canonical href="/c?x=1#f"><link rel=canonical href=/d>
<a href="#!/route">r</a><a href="#/route">r</a><a href="/app#!/x">r</a><a href="http://[bad">b</a><a href="http://a b/">b</a><a href="javascript:x">j</a>`), Options{URL: at, ContentType: "text/html;charset=UTF-8"})
	if p.Title != "A & B <b>" {
		t.Errorf("title %q", p.Title)
	}
	if p.Canonical != "http://ex.test/c?x=1" {
		t.Errorf("canonical %q", p.Canonical)
	}
	if want := time.Date(2021, 2, 3, 3, 5, 6, 0, time.UTC); !p.Published.Equal(want) {
		t.Errorf("published %v, want %v", p.Published, want)
	}
	if p.Scripts != 2 || p.Routes != 3 || p.Bad != 2 || p.Charset != "utf-8" || p.Refresh != -1 || !p.NeedsScript() {
		t.Errorf("scripts %d, routes %d, bad %d, charset %s, refresh %d, needs script %v", p.Scripts, p.Routes, p.Bad, p.Charset, p.Refresh, p.NeedsScript())
	}
	if got, want := listed(p), []string{"canonical /c?x=1", "canonical /d", "anchor /app"}; !slices.Equal(got, want) {
		t.Errorf("links %q, want %q", got, want)
	}
	if p := Extract([]byte(`<meta property="article:published_time" content="2019-01-01"><script type=application/ld+json>{"datePublished":"2020-01-01"}</script>`), Options{}); p.Published.Year() != 2019 {
		t.Errorf("published %v", p.Published)
	}
}

func TestTextAndPlace(t *testing.T) {
	p := Extract([]byte(`<html><body class="x y"><nav id=top><ul>
<li class=item1><a href=1>One &amp; <b> two</b><img alt="three
 four"></a>
<li class=item2><a class=k href=2>Five<a href=3>six</a></ul></nav>
<p>para<p>para <a href=4>seven`), Options{URL: at, Paths: true})
	want := [][2]string{
		{"One & two three four", "html/body.x.y/nav#top/ul/li.item1/a"},
		{"Five", "html/body.x.y/nav#top/ul/li.item2/a.k"},
		{"six", "html/body.x.y/nav#top/ul/li.item2/a.k/a"},
		{"seven", "html/body.x.y/p/a"},
	}
	if len(p.Links) != len(want) {
		t.Fatalf("%d links", len(p.Links))
	}
	for i := range p.Links {
		l := &p.Links[i]
		if text, path := p.Text(l), p.Path(l); text != want[i][0] || path != want[i][1] {
			t.Errorf("link %d: %q at %s, want %q", i, text, path, want[i])
		}
	}
	same := Extract([]byte(`<ul class=n><li id=post-12><a href=1></a></li><li id=post-7><a href=2></a></li></ul><ul><li><a href=3></a></ul>`), Options{URL: at})
	a, b, c := same.Links[0].Place, same.Links[1].Place, same.Links[2].Place
	if a != b || a == c || a == 0 || c == 0 {
		t.Errorf("places %x %x of one list, %x of another", a, b, c)
	}
}

func TestEncodings(t *testing.T) {
	for _, c := range []struct{ body, contentType, want, title string }{
		{"<title>\xe9</title><a href=\"/\xe9?\xe9\">", "text/html; charset=latin1", "http://ex.test/%C3%A9?%E9", "é"},
		{"<meta charset=shift_jis><title>\x93\xfa</title><a href=\"?\x93\xfa\">", "", "http://ex.test/dir/page.html?%93%FA", "日"},
		{"<meta charset=iso-8859-2><a href=\"?&#x20ac;\">", "", "http://ex.test/dir/page.html?%26%238364%3B", ""},
		{"<a href=\"?\xc3\xbc\">", "text/html; charset=nonsense", "http://ex.test/dir/page.html?%C3%BC", ""},
		{"\x1b$B", "text/html; charset=iso-2022-kr", "", ""},
		{"+ADw-a href=x+AD4-", "text/html; charset=utf-7", "", ""},
	} {
		p := Extract([]byte(c.body), Options{URL: at, ContentType: c.contentType})
		got := ""
		if len(p.Links) > 0 {
			got = p.Links[0].URL
		}
		if got != c.want || p.Title != c.title {
			t.Errorf("%q: link %q, title %q, want %q, %q", c.body, got, p.Title, c.want, c.title)
		}
	}
}

// Bodies of 4 MiB made to be read again and again. Each is read in some hundredth of a second;
// were it not linear, the test would meet its time-out.
func TestHostileBodies(t *testing.T) {
	size := 4 << 20
	if race.Enabled {
		size = 1 << 20 // room for MaxLinks
	}
	fill := func(s string) []byte { return bytes.Repeat([]byte(s), size/len(s)) }
	var x Extractor
	for _, c := range []struct {
		name  string
		body  []byte
		links int
	}{
		{"deep", fill("<div>"), 0},
		{"deep links", fill("<div><a href=/x>"), MaxLinks},
		{"unmatched ends", append(fill("<b>"), fill("</i>")...), 0},
		{"less-than signs", fill("<"), 0},
		{"open comments", fill("<!--"), 0},
		{"comment ends", append([]byte("<!--"), fill("-")...), 0},
		{"escaped scripts", fill("<script><!--<script>"), 0},
		{"short scripts", fill("<script><!--</script>"), 0},
		{"open quotes", fill("<a href=\"'"), 0},
		{"attributes", append(append([]byte("<a "), fill("a b=c ")...), "href=x>"...), 1},
		{"one attribute", append(append([]byte("<a href=x title=\""), fill("x")...), "\">"...), 1},
		{"references", append(append([]byte("<a href=\"x?"), fill("&a")...), "\">"...), 0},
		{"amps", append(append([]byte("<a title=\""), fill("&amp;")...), "\" href=x>"...), 1},
		{"NULs", fill("\x00<a\x00 href=\x00>"), 0},
		{"long URL", append(append([]byte("<a href=\""), fill("../")...), "\">"...), 0},
		{"at signs", append(append([]byte("<a href=\"http://"), fill("@")...), "\">"...), 0},
		{"srcset", append(append([]byte("<img srcset=\""), fill("a 1x,(")...), "\"><a href=x>"...), 1},
		{"metas", fill("<meta name=robots content=nofollow>"), 0},
		{"base", append(fill("<base href=y>"), "<a href=x>"...), 1},
		{"titles", fill("<title>"), 0},
		{"templates", append(fill("<template>"), "<a href=x>"...), 0},
		{"utf-16", append([]byte("\xff\xfe"), fill("<\x00")...), 0},
	} {
		p := x.Extract(c.body, Options{URL: at, Embeds: true, Paths: true})
		if len(p.Links) != c.links {
			t.Errorf("%s: %d links, want %d", c.name, len(p.Links), c.links)
		}
		if c.links == MaxLinks && !p.Truncated {
			t.Errorf("%s: not marked as cut", c.name)
		}
		for i := 0; i < len(p.Links); i += 1 + len(p.Links)/3 {
			p.Text(&p.Links[i])
			p.Path(&p.Links[i])
		}
	}
}

// A page that has been read costs the next one nothing: one string for all URLs, one for the
// title, and two for the page's own URL.
func TestAllocations(t *testing.T) {
	page := benchPage()
	var x Extractor
	o := Options{URL: "http://127.0.0.1:8101/p/7", ContentType: "text/html; charset=utf-8"}
	x.Extract(page, o)
	if n := testing.AllocsPerRun(50, func() { x.Extract(page, o) }); n > 5 {
		t.Errorf("%v allocations a page", n)
	}
}

// TestURLBudget: the URLs of a page take 4 MiB at most, whatever it makes them of, and a page with as
// many links as are taken is whole where these are as long as URLs are.
func TestURLBudget(t *testing.T) {
	anchors := strings.Repeat("<a href=a>x</a>", MaxLinks)
	base := "<base href=\"/" + strings.Repeat("b", 2000) + "/\">"
	ordinary := "<base href=\"/" + strings.Repeat("b", 60) + "/\">"
	for name, c := range map[string]struct {
		body  string
		whole bool
	}{
		"ordinary":         {ordinary + anchors, true},
		"base":             {base + anchors, false},
		"directory":        {anchors, false}, // the URL of the page itself is long
		"given":            {strings.Repeat("<a href=\""+strings.Repeat("%7e", 100)+"\">x</a>", 20_000), false},
		"embeds":           {base + strings.Repeat("<img src=a>", MaxLinks), false},
		"links and embeds": {base + strings.Repeat("<a href=a>x</a>", 1000) + strings.Repeat("<img src=a>", MaxLinks), false},
	} {
		at := at
		if name == "directory" {
			at = "http://ex.test/" + strings.Repeat("d", 8000) + "/"
		}
		p := Extract([]byte(c.body), Options{URL: at, Embeds: true})
		n := 0
		for i := range p.Links {
			n += len(p.Links[i].URL) + len(p.Links[i].Given)
		}
		for _, u := range p.Embeds {
			n += len(u)
		}
		if n > MaxURLs+2*MaxURL || !c.whole && n < MaxURLs-2*MaxURL || p.Truncated == c.whole || c.whole && len(p.Links) != MaxLinks {
			t.Errorf("%s: %d links and %d embeds, %d bytes of URLs, cut: %v", name, len(p.Links), len(p.Embeds), n, p.Truncated)
		}
	}
}

// TestRoomOfPage: no page takes more memory than it asked for, beyond a little, and an ordinary one
// asks for none. Where there is no room it is cut.
func TestRoomOfPage(t *testing.T) {
	const few = 3 << 20 / 2
	escaped := strings.Repeat("&amp;", 1000)
	for name, body := range map[string]string{
		"ordinary":   strings.Repeat("<p>some text <a href=some/path/of/a/page>x</a>", 400),
		"links":      strings.Repeat("<a href=a>x</a>", MaxLinks),
		"base":       "<base href=\"/" + strings.Repeat("b", 2000) + "/\">" + strings.Repeat("<a href=a>x</a>", MaxLinks),
		"nested":     strings.Repeat("<i>"+strings.Repeat("<b>", 60)+"<a href=x></i>", 10_000),
		"references": strings.Repeat("<a href=\"?"+escaped+"\">x</a>", 1000),
		"encoded":    "<meta charset=euc-jp>" + strings.Repeat("\xa4\xa4", 2<<20),
		"legacy":     "<meta charset=windows-1252>" + strings.Repeat("\x80", 6<<20),
		"refreshes":  strings.Repeat("<noscript><meta http-equiv=refresh content='0;url=/"+strings.Repeat("r", 5000)+"'></noscript>", 1000),
	} {
		o := Options{URL: at, ContentType: "text/html", Actions: true}
		var asked int64
		o.Room = func(n int64) bool {
			if n <= asked {
				t.Errorf("%s: asks for %d bytes after %d", name, n, asked)
			}
			asked = n
			return true
		}
		b := []byte(body)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		x := new(Extractor)
		p := x.Extract(b, o)
		runtime.GC()
		runtime.ReadMemStats(&after)
		if live := int64(after.HeapAlloc) - int64(before.HeapAlloc); live > asked+few {
			t.Errorf("%s: %d bytes are held, %d were asked for", name, live, asked)
		}
		if (asked > 0) == (name == "ordinary") {
			t.Errorf("%s: %d bytes asked for", name, asked)
		}
		links, cut := len(p.Links), p.Truncated
		runtime.KeepAlive(b)
		o.Room = func(n int64) bool { return false }
		if p := Extract(b, o); name == "ordinary" && (p.Truncated || len(p.Links) != links) || name != "ordinary" && (!p.Truncated || len(p.Links) > fewLinks) {
			t.Errorf("%s: without room %d links of %d, cut: %v; with room cut: %v", name, len(p.Links), links, p.Truncated, cut)
		}
		if x.Shrink(); (len(x.page.text) > 0) != (name == "ordinary") {
			t.Errorf("%s: the Extractor keeps %d bytes of text", name, len(x.page.text))
		}
	}
}
