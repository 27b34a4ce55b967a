package yield

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func words(text string) Text {
	var t Text
	for _, w := range strings.Fields(text) {
		h := key("", w)
		t.Blocks = append(t.Blocks, h)
		if strings.IndexFunc(w, func(r rune) bool { return r >= '0' && r <= '9' }) < 0 {
			t.Shape = t.Shape*31 + h
		}
	}
	return t
}

// TestParams has sites show which of their parameters count.
func TestParams(t *testing.T) {
	for _, test := range []struct {
		name string
		page func(n int, see func(url string, p Page))
		want []string
		most int // pages until it is known
	}{
		{"sessions that nobody knows", func(n int, see func(string, Page)) {
			see(fmt.Sprintf("/p%d?visit=%da", n/2, n), Page{Digest: uint64(4 * n), Text: words(fmt.Sprint("page ", n/2))})
		}, []string{"visit"}, 10},
		{"sessions whose pages count visits", func(n int, see func(string, Page)) {
			see(fmt.Sprintf("/p%d?a=%[1]d;sid=%[2]da", n/2, n), Page{Digest: uint64(4 * n), Text: words(fmt.Sprint("page visit ", n))})
		}, []string{"sid"}, 6},
		{"sessions in the path", func(n int, see func(string, Page)) {
			see(fmt.Sprintf("/p%d;jsessionid=%da?a=%[1]d", n/2, n), Page{Digest: uint64(4 * n), Text: words("page")})
		}, []string{"jsessionid"}, 6},
		{"campaigns, by canonicals", func(n int, see func(string, Page)) {
			see(fmt.Sprintf("/p%d?utm_source=a&utm_medium=b&id=%[1]d", n), Page{Digest: uint64(4 * n), Canonical: fmt.Sprintf("/p%d?id=%[1]d", n)})
		}, []string{"utm_medium", "utm_source"}, 5},
		{"with and without", func(n int, see func(string, Page)) {
			see(fmt.Sprintf("/p%d", n), Page{Digest: uint64(4 * n)})
			see(fmt.Sprintf("/p%d?ref=x", n), Page{Digest: uint64(4 * n)})
		}, []string{"ref"}, 5},
		{"one page alone", func(n int, see func(string, Page)) {
			see(fmt.Sprintf("/p?visit=%d", n), Page{Digest: 4, Text: words("page")})
		}, nil, 0},
		{"pages of a list", func(n int, see func(string, Page)) {
			see(fmt.Sprintf("/l%d?page=%d", n%5, n), Page{Digest: uint64(4 * n), Text: words(fmt.Sprint("page ", n))})
		}, nil, 0},
		{"pages of a list that name the first as canonical, and lead on", func(n int, see func(string, Page)) {
			see(fmt.Sprintf("/l%d?page=%d", n%5, n), Page{Digest: uint64(4 * n), Canonical: fmt.Sprintf("/l%d", n%5), Leads: true})
		}, nil, 0},
		{"a view that counts sometimes", func(n int, see func(string, Page)) {
			see(fmt.Sprintf("/p%d", n), Page{Digest: uint64(4 * n)})
			see(fmt.Sprintf("/p%d?view=x", n), Page{Digest: uint64(4*n + 4*(n%2))})
		}, nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p Params
			known := 0
			for n := range 40 {
				test.page(n, func(url string, g Page) { p.Fetched(url, g) })
				if known == 0 && len(p.Ignored()) == len(test.want) {
					known = n + 1
				}
			}
			if got := p.Ignored(); !reflect.DeepEqual(got, test.want) {
				t.Errorf("ignored %v, want %v", got, test.want)
			}
			if test.want != nil && known > test.most {
				t.Errorf("known after %d pages, want %d", known, test.most)
			}
		})
	}
}

// TestParamsTakenBack: what was learned is undone when the evidence turns.
func TestParamsTakenBack(t *testing.T) {
	var p Params
	p.Ignore([]string{"lang"})
	page := func(n int, lang string) Page {
		g := Page{Digest: uint64(4*n + 400*len(lang))}
		if p.Open() {
			g.Text = words(fmt.Sprint("page ", n, lang))
		}
		return g
	}
	for n := range 10 {
		p.Fetched(fmt.Sprintf("/p%d", n), page(n, ""))
		changed := p.Fetched(fmt.Sprintf("/p%d?lang=de", n), page(n, "de"))
		if changed != (len(p.Ignored()) == 0) {
			t.Fatalf("changed %t, ignored %v", changed, p.Ignored())
		}
		if changed {
			return
		}
	}
	t.Error("it is not taken back")
}

// TestParamsKept: a parameter that was found not to count is not taken back as bodies differ, of pages whose
// texts are the same, or are but for the numbers in them where it is one for sessions.
func TestParamsKept(t *testing.T) {
	for _, test := range []struct{ name, text string }{{"ref", "page"}, {"sid", "page visit %d"}} {
		var p Params
		p.Ignore([]string{test.name})
		fetches := 0
		fetch := func(url string) {
			g := Page{Digest: uint64(8 * fetches)}
			if fetches++; p.Open() {
				g.Text = words(strings.ReplaceAll(test.text, "%d", fmt.Sprint(fetches)))
			}
			p.Fetched(url, g)
		}
		p.Met("/p0?"+test.name+"=5", []string{test.name}) // in an earlier cycle
		for n := range 10 {
			for _, query := range []string{"", "?" + test.name + "=1", "?" + test.name + "=2"} {
				fetch(fmt.Sprintf("/p%d%s", n, query))
			}
			if got := p.Ignored(); len(got) != 1 {
				t.Fatalf("%s: ignored after %d fetches are %v", test.name, fetches, got)
			}
		}
	}
}

func TestWithout(t *testing.T) {
	for _, test := range []struct{ url, name, want string }{
		{"/a?b=1&c=2&d=3", "b", "/a?c=2&d=3"},
		{"/a?b=1&c=2&d=3", "c", "/a?b=1&d=3"},
		{"/a?b=1;c=2;d=3", "d", "/a?b=1;c=2"},
		{"/a?b=1", "b", "/a"},
		{"/a;s=1/b;t=2?c=3", "s", "/a/b;t=2?c=3"},
		{"/a;s=1;t=2", "s", "/a;t=2"},
		{"/a?b&b=2&c", "b", "/a?c"},
		{"/a", "b", "/a"},
	} {
		if got := Without(test.url, test.name); got != test.want {
			t.Errorf("Without(%s, %s) = %s, want %s", test.url, test.name, got, test.want)
		}
	}
}

// FuzzParams has what Without returns be without the parameter, and all else stay.
func FuzzParams(f *testing.F) {
	f.Add("/a;s=1/b?c=2&d;e", "c")
	f.Add("/?;&=;", "")
	f.Add("/?0&&", "c")
	f.Fuzz(func(t *testing.T, url, name string) {
		got := Without(url, name)
		if again := Without(got, name); again != got {
			t.Errorf("Without(%q, %q) = %q, then %q", url, name, got, again)
		}
		if len(got) > len(url) {
			t.Errorf("Without(%q, %q) = %q is longer", url, name, got)
		}
		var p Params
		for i := range 10 {
			p.Fetched(url, Page{Digest: uint64(i % 3), Canonical: got})
		}
		for _, n := range p.Ignored() {
			if n == "" {
				t.Error("a parameter without a name is ignored")
			}
		}
	})
}

// TestLateParam: a parameter that shows up after more pages than are held is learned all the same.
func TestLateParam(t *testing.T) {
	var p Params
	for i := range uint64(2 * maxPairs) {
		p.Fetched(fmt.Sprintf("/page?id=%d", i), Page{Digest: (i + 1) << 8})
	}
	if len(p.pages) != maxPairs || len(p.held) != maxPairs {
		t.Errorf("%d pages are held, %d keys, want %d", len(p.pages), len(p.held), maxPairs)
	}
	for i := range uint64(8) {
		for _, ref := range []string{"", "&ref=a", "&ref=b"} {
			p.Fetched(fmt.Sprintf("/late?id=%d%s", i, ref), Page{Digest: (i + 1) << 40})
		}
	}
	if got := p.Ignored(); !reflect.DeepEqual(got, []string{"ref"}) {
		t.Errorf("ignored are %q, want ref", got)
	}
}

// TestEarlier: a parameter that told pages apart in an earlier cycle counts, though the few pages of a later
// one are the same with it as without.
func TestEarlier(t *testing.T) {
	later := func(p *Params) {
		for n := range 8 {
			p.Fetched(fmt.Sprintf("/tree%d", n), Page{Digest: uint64(4 * n)})
			p.Fetched(fmt.Sprintf("/tree%d?id=x", n), Page{Digest: uint64(4 * n)})
		}
	}
	var p Params
	if later(&p); len(p.Ignored()) != 1 {
		t.Fatalf("ignored are %q", p.Ignored())
	}
	p = Params{}
	for n := range 8 {
		p.Earlier(fmt.Sprintf("/commit?id=%d", n), uint64(n), nil)
		p.Earlier(fmt.Sprintf("/page%d?ref=%[1]d", n), uint64(n), nil)
		p.Earlier(fmt.Sprintf("/page?sid=%d", n), uint64(n), []string{"sid"})
	}
	p.Learned()
	if later(&p); len(p.Ignored()) != 0 {
		t.Errorf("ignored are %q, though /commit?id= had another text with each value", p.Ignored())
	}
	for name, want := range map[string]int{"id": 7, "ref": 0} {
		if e := p.names[name]; e == nil || e.other < want || want == 0 && e.other > 0 {
			t.Errorf("%s: %+v, want %d that speak for it", name, e, want)
		}
	}
	if p.names["sid"] != nil {
		t.Error("what does not count is looked at again")
	}
	if p.earlier != nil {
		t.Error("what was learned from is kept")
	}
}
