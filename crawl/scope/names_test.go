package scope

import (
	"slices"
	"testing"
)

func TestNames(t *testing.T) {
	for url, want := range map[string][]string{
		"http://a.test/":                                  nil,
		"http://a.test/2024/a-post/":                      {"http://a.test/2024/*/"},
		"http://a.test/a/thing.html":                      {"http://a.test/a/*.html"},
		"http://a.test/view.php?id=16":                    {"http://a.test/view.php?id=*", "http://a.test/*.php?id=16"},
		"http://a.test/doku.php?id=space:some_page":       {"http://a.test/doku.php?id=space:*", "http://a.test/*.php?id=space:some_page"},
		"http://a.test/?p=x.git;a=blob;f=a/longer.c;hb=H": {"http://a.test/?p=x.git;a=blob;f=a/*.c;hb=H", "http://a.test/?p=x.git;a=*;f=a/longer.c;hb=H", "http://a.test/?p=*.git;a=blob;f=a/longer.c;hb=H", "http://a.test/?p=x.git;a=blob;f=a/longer.c;hb=*"},
		"http://a.test/x?q=&b":                            {"http://a.test/*?q=&b"},
		"http://a.test/x?q=a%3Ab%2Fcd":                    {"http://a.test/x?q=a%3Ab%2F*", "http://a.test/*?q=a%3Ab%2Fcd"},
	} {
		var got []string
		for _, n := range Names(url) {
			got = append(got, n.Template())
			if n.Before+n.Text+n.After != url || n.MadeUp(12345) == url {
				t.Errorf("%s: %+v, made up %s", url, n, n.MadeUp(12345))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	for name, want := range map[string]string{"16": "96365", "123456789": "963650181", "a-page": "jfjhbclcbbb"} {
		if got := (Name{Text: name}).MadeUp(0x12345678); got != want {
			t.Errorf("for %s %s is made up, want %s", name, got, want)
		}
	}
}
