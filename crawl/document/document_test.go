package document

import (
	"fmt"
	"slices"
	"testing"
)

// TestShapes checks which bodies are recognised by what a probe showed.
func TestShapes(t *testing.T) {
	t.Parallel()
	const body = `<title>%s</title><p>There is no %s here</p><meta content="%s"><a href="deeper/page">x</a>`
	answer := func(url, last, path, token string) []uint64 {
		return shapes(fmt.Appendf(nil, body, last, path, token), url)
	}
	probe := answer("http://a.test/0123456789abcdef01234567", "0123456789abcdef01234567", "/0123456789abcdef01234567", "Zq3J5q0aVb7sK2mP")
	like := probe[len(probe)-1]
	for _, test := range []struct {
		name   string
		shapes []uint64
		want   bool
	}{
		{"what it repeats of its URL", answer("http://a.test/lost/thing", "thing", "/lost/thing", "Zq3J5q0aVb7sK2mP"), true},
		{"a query", answer("http://a.test/thing?a=1", "thing", "/thing", "Zq3J5q0aVb7sK2mP"), true},
		{"another token", answer("http://a.test/lost/thing", "thing", "/lost/thing", "o5Xw81Yc_0Lr6TtEe+u9"), true},
		{"a token that is too short", answer("http://a.test/lost/thing", "thing", "/lost/thing", "o5Xw81Y"), false},
		{"a word", answer("http://a.test/lost/thing", "thing", "/lost/thing", "internationalisation"), false},
		{"a number", answer("http://a.test/lost/thing", "thing", "/lost/thing", "1234567890123456789"), false},
		{"a title of its own", answer("http://a.test/lost/thing", "A thing", "/lost/thing", "Zq3J5q0aVb7sK2mP"), false},
	} {
		if got := slices.Contains(test.shapes, like); got != test.want {
			t.Errorf("%s: recognised %t, want %t", test.name, got, test.want)
		}
	}
	// A segment that is a word of the page: the path alone tells.
	got := shapes([]byte(`<p>There is no /lost/page here</p><a href="deeper/page">x</a>`), "http://a.test/lost/page")
	want := shapes([]byte(`<p>There is no /0123456789abcdef01234567 here</p><a href="deeper/page">x</a>`), "http://a.test/0123456789abcdef01234567")
	if !slices.Contains(got, want[len(want)-1]) {
		t.Errorf("shapes %x, want one to be %x", got, want[len(want)-1])
	}
}
