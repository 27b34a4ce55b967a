package use

import (
	"reflect"
	"strings"
	"testing"
)

// TestRules: directives mean what the documentation of search engines says, in any case and order.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		list string
		want Rules
	}{
		{"", 0}, {"all", 0}, {"index, follow", 0}, {"noindex", NoIndex}, {"NoIndex , NOFOLLOW", NoIndex | NoFollow},
		{"none", NoIndex | NoFollow}, {"noarchive", NoArchive}, {"nocache", NoArchive}, {"none,noarchive", NoIndex | NoFollow | NoArchive},
		{"all, noindex", NoIndex}, {"noindex, index", NoIndex}, {"no index", 0}, {"max-snippet:-1, noarchive", NoArchive},
		{"nosnippet, noimageindex, notranslate", 0}, {"unavailable_after: 25 Jun 2010 15:00:00 PST", 0},
	} {
		var got, again Rules
		got.Add(c.list)
		if again.Add(got.String()); got != c.want || again != got {
			t.Errorf("%q: %s, want %s; written and read again %s", c.list, got, c.want, again)
		}
	}
}

// TestReadHeader: fields in any case and repeated; rules for others do not count.
func TestReadHeader(t *testing.T) {
	long := strings.Repeat("a=y, ", 300) + "train-ai=n"
	for _, c := range []struct {
		name, head string
		want       Said
	}{
		{"nothing", "Content-Type: text/html\r\nX-Powered-By: x\r\nTransfer-Encoding: chunked\r\n", Said{}},
		{"rules", "X-Robots-Tag: noindex\r\nx-robots-tag: noarchive, nofollow\r\n", Said{Rules: NoIndex | NoFollow | NoArchive}},
		{"for us", "X-Robots-Tag: Forage: noindex, noarchive\r\n", Said{Rules: NoIndex | NoArchive}},
		{"for another", "X-Robots-Tag: otherbot: noindex\r\nX-Robots-Tag: foragebot: noarchive\r\n", Said{}},
		{"for all", "X-Robots-Tag: *: noarchive\r\n", Said{Rules: NoArchive}},
		{"joined", "X-Robots-Tag: otherbot: noindex, nofollow, FORAGE:noarchive, another: nofollow\r\n", Said{Rules: NoArchive}},
		{"joined, first for all", "X-Robots-Tag: noindex, otherbot: noarchive\r\n", Said{Rules: NoIndex}},
		{"a date with a comma", "X-Robots-Tag: unavailable_after: Friday, 25-Jun-10 15:00:00 PST, noarchive\r\n", Said{Rules: NoArchive}},
		{"with a value", "X-Robots-Tag: unavailable_after: 25 Jun 2010 15:00:00 PST, noindex\r\nX-Robots-Tag: max-snippet:0, noarchive\r\n", Said{Rules: NoIndex | NoArchive}},
		{"usage", "content-usage:  train-ai=n,\tsearch=y \r\n", Said{Usage: "train-ai=n, search=y"}},
		{"usage twice", "Content-Usage: train-ai=n\r\nContent-Usage: search=y\r\n", Said{Usage: "train-ai=n, search=y"}},
		{"usage too long", "Content-Usage: " + long + "\r\n", Said{Usage: strings.TrimSuffix(strings.Repeat("a=y, ", 205), ", ")}},
		{"reserved", "TDM-Reservation: 1\r\nTDM-Policy: https://ex.test/tdm.json\r\n", Said{TDM: Reserved, Policy: "https://ex.test/tdm.json"}},
		{"not reserved", "tdm-reservation: 0\n", Said{TDM: NotReserved}},
		{"contradiction", "tdm-reservation: 1\r\ntdm-reservation: 0\r\n", Said{TDM: Reserved}},
		{"nonsense", "tdm-reservation: yes\r\nX-Robots-Tag\r\n: noindex\r\n\r\n", Said{}},
		{"policy of any length", "tdm-policy: https://ex.test/" + strings.Repeat("a", 3000) + "\r\n", Said{}},
	} {
		if got := ReadHeader(c.head, "forage"); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	head := "Date: Mon, 23 Nov 2026 00:00:00 GMT\r\nContent-Type: text/html; charset=utf-8\r\nX-Powered-By: x\r\nCache-Control: max-age=0\r\n"
	if n := testing.AllocsPerRun(100, func() { ReadHeader(head, "forage") }); n != 0 {
		t.Errorf("a head that says nothing costs %v allocations", n)
	}
}

// TestReserves: who reserves the right to mine, and who does not.
func TestReserves(t *testing.T) {
	for _, c := range []struct {
		name string
		u    Use
		want bool
	}{
		{"nothing", Use{}, false},
		{"header", Use{Header: Said{TDM: Reserved}}, true},
		{"page", Use{Page: Said{TDM: Reserved}}, true},
		{"the page gives free", Use{Header: Said{TDM: Reserved}, Page: Said{TDM: NotReserved}}, false},
		{"the page reserves", Use{Header: Said{TDM: NotReserved}, Page: Said{TDM: Reserved}}, true},
		{"a policy alone", Use{Page: Said{Policy: "https://ex.test/"}}, false},
		{"usage", Use{Header: Said{Usage: "search=y, train-ai=n"}}, true},
		{"usage allowed", Use{Header: Said{Usage: "train-ai=y"}}, false},
		{"search alone", Use{Robots: Said{Usage: "search=n", Signal: "search=no"}}, false},
		{"by robots.txt", Use{Robots: Said{Usage: "TRAIN-AI = N;exact"}}, true},
		{"a signal", Use{Robots: Said{Signal: "search=yes,ai-train=no"}}, true},
		{"signals allow", Use{Robots: Said{Signal: "search=yes, ai-input=yes, ai-train=yes"}}, false},
		{"noindex", Use{Page: Said{Rules: NoIndex | NoArchive}}, false},
	} {
		if got := c.u.Reserves(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestRespect: each word leaves out what it names, and nothing else.
func TestRespect(t *testing.T) {
	said := map[string]*Use{
		"": {}, "noindex": {Header: Said{Rules: NoIndex}}, "noarchive": {Page: Said{Rules: NoArchive}}, "tdm": {Page: Said{TDM: Reserved}},
		"nofollow": {Page: Said{Rules: NoFollow}},
	}
	for _, list := range []string{"", "noindex", "noarchive", "tdm", "noindex,noarchive", "noindex,noarchive,tdm"} {
		r, err := ParseRespect(list)
		if err != nil || r.String() != list {
			t.Errorf("%q is read as %q: %v", list, r, err)
		}
		for name, u := range said {
			if got, want := r.LeavesOut(u), name != "" && strings.Contains(","+list+",", ","+name+","); got != want {
				t.Errorf("respecting %q leaves out %q: %v", list, name, got)
			}
		}
	}
	for _, bad := range []string{",", "nofollow", "noindex,", "noindex tdm", "TDM"} {
		if _, err := ParseRespect(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// TestNotModified: what a 304 says replaces the same of before, and nothing else.
func TestNotModified(t *testing.T) {
	u := Use{Header: Said{Rules: NoIndex | NoArchive, Usage: "train-ai=n", TDM: Reserved, Policy: "https://ex.test/p"}, Page: Said{Rules: NoFollow}}
	was := u.String()
	if u.NotModified(ReadHeader("ETag: x\r\n", "forage")); u.String() != was {
		t.Errorf("a silent 304 made of\n%sthis:\n%s", was, u.String())
	}
	u.NotModified(ReadHeader("X-Robots-Tag: noarchive\r\ntdm-reservation: 0\r\n", "forage"))
	if want := "header robots noarchive\nheader tdm 0\nheader usage train-ai=n\npage robots nofollow\n"; u.String() != want {
		t.Errorf("got\n%swant\n%s", u.String(), want)
	}
}

// FuzzUse: whatever stands in a header or a page, what is kept of it is bounded, in lines, and survives being
// written and read.
func FuzzUse(f *testing.F) {
	f.Add("X-Robots-Tag: forage: none\r\nContent-Usage: train-ai=n\r\ntdm-policy: a b\r\n", "noarchive", " 1 ", "https://ex.test/l\n")
	f.Add("content-usage: \xff,\x00 a=n\rb\r\ntdm-reservation: 1", "max-snippet:1", "0", "\x00\u2028")
	f.Add("tdm-policy: "+strings.Repeat("p", 2*maxText-1)+"\xff\r\n", "", "", strings.Repeat("l ", maxText))
	f.Fuzz(func(t *testing.T, head, list, tdm, license string) {
		u := &Use{Header: ReadHeader(head, "forage"), Robots: Said{Usage: Clean(head, list), Signal: Clean(list)}}
		u.Page.Rules.Add(list)
		u.Page.TDM, u.Page.Policy = ParseReservation(tdm), CleanURL(license)
		u.Page.AddLicense(license)
		u.Page.AddLicense(license + "x")
		text := u.String()
		if len(text) > 3*(2*maxText+2*3*2*maxText) {
			t.Fatalf("%d bytes are kept", len(text))
		}
		again := Parse(text)
		if again.String() != text || !reflect.DeepEqual(again, u) {
			t.Fatalf("%+v\nwritten as\n%sis read as\n%+v", u, text, again)
		}
		for _, r := range []Respect{0, RespectNoIndex, RespectNoArchive, RespectTDM} {
			if r.LeavesOut(again) != r.LeavesOut(u) || r == 0 && r.LeavesOut(u) {
				t.Fatalf("respect %s", r)
			}
		}
		Parse(head) // anything
	})
}
