package warc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestKey(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"http://www.Example.org:80/A/?b=c", "org,example)/a?b=c"},
		{"http://example.org", "org,example)/"},
		{"https://example.org:443/x", "org,example)/x"},
		{"https://example.org:80/x", "org,example:80)/x"},
		{"http://user:pw@example.org/", "org,example)/"},
		{"http://www3.example.org/a//b/../c/./d/", "org,example)/a/c/d"},
		{"http://example.org/?b=2&a=1&a&a=", "org,example)/?a&a=&a=1&b=2"},
		{"http://example.org/?", "org,example)/"},
		{"http://example.org/x#frag", "org,example)/x"},
		{"http://example.org/%7Ejo/%2541%20b", "org,example)/~jo/a%20b"},
		{"http://example.org/a?PHPSESSID=0123456789abcdef0123456789abcdef&x=1", "org,example)/a?x=1"},
		{"http://example.org/(S(0123456789abcdefghijklmn))/p.aspx", "org,example)/p.aspx"},
		{"http://127.0.0.1:8080/", "1,0,0,127:8080)/"},
		{"http://2130706433/", "1,0,0,127)/"},
		{"http://0177.0.0.1/", "1,0,0,127)/"},
		{"http://bücher.example/ü", "example,xn--bcher-kva)/%c3%bc"},
		{"https://https://example.org/x", "org,example)/x"},
		{"example.org/x", "org,example)/x"},
		{"mailto:a@b.c", "mailto:a@b.c"},
		{"dns:www.example.org", "dns:www.example.org"},
		{"http://[::1]:99/", "::1:99)/"},
	} {
		if got, err := Key(c.url); got != c.want || err != nil {
			t.Errorf("Key(%q) = %q, %v; want %q", c.url, got, err, c.want)
		}
	}
	for _, url := range []string{"", " ", "http://a:b/", "http://a:99999/"} {
		if got, err := Key(url); !errors.Is(err, ErrNoKey) {
			t.Errorf("Key(%q) = %q, %v; want ErrNoKey", url, got, err)
		}
	}
}

// python returns an interpreter that has a module, or skips the test.
func python(t *testing.T, module string) string {
	t.Helper()
	exe := os.Getenv("FORAGE_PYTHON")
	if exe == "" {
		exe = "python3"
	}
	if err := exec.Command(exe, "-c", "import "+module).Run(); err != nil {
		t.Skipf("needs the Python package %s (FORAGE_PYTHON names an interpreter that has it): %v", module, err)
	}
	return exe
}

// TestKeyOfSurt compares keys with those of the Python package surt, on URLs put together from what is hard.
func TestKeyOfSurt(t *testing.T) {
	exe := python(t, "surt")
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	var urls []string
	for range 20000 {
		url := pick("http://", "https://", "HTTP://", "ftp://", "", "http:/", "http:////", "https://http://", " http://") +
			pick("", "", "u:p@", "@") +
			pick("example.org", "www.Example.org", "www2.a.example", "EXAMPLE..org.", "1.2.3.4", "127.1", "0300.0250.1", "16909060", "256.1.1.1", "%65xample.org", "a_b.c", "www.", "", "xn--bcher-kva.de") +
			pick("", "", ":80", ":443", ":8080", ":", ":0") +
			pick("", "/")
		for range rng.IntN(4) {
			url += pick("a", "B", ".", "..", "", "%2e%2E", "%2F", "a b", "é", "%C3%A9", "%e9", "%", "%zz", "%25%34%31", "x;y=1", "(S(0123456789abcdefghijklmn))", "(0123456789abcdefghijklmn)", "p.aspx", "a+b", "~", "\"<>", "{|}\\^`", "[", "\t") + "/"
		}
		url += pick("", "", "i.html", "x.ASPX")
		if rng.IntN(2) == 0 {
			url += "?"
			for range rng.IntN(4) {
				url += pick("", "a", "A=1", "a=", "b=2", "b=10", "=", "sid=0123456789abcdef0123456789abcdef", "jsessionid=0123456789ABCDEF0123456789ABCDEF", "cfid=1&cftoken=2", "ASPSESSIONIDABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX", "q=%26%3d", "q=a b", "é=1") + pick("&", "&", "", "&&")
			}
		}
		urls = append(urls, url+pick("", "", "#f", "#", "?"))
	}
	in, err := json.Marshal(urls)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-c", `
import sys, json, surt
for u in json.load(sys.stdin):
    try: print(json.dumps(surt.surt(u)))
    except Exception as e: print("null")
`)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines, bad, keys := bufio.NewScanner(bytes.NewReader(out)), 0, 0
	for _, url := range urls {
		if !lines.Scan() {
			t.Fatal("too few lines")
		}
		var want *string
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		got, err := Key(url)
		if want == nil {
			continue // what surt cannot read pywb leaves out
		}
		if keys++; got != *want && bad < 20 {
			bad++
			t.Errorf("Key(%q) = %q, %v; surt says %q", url, got, err, *want)
		}
	}
	if keys < 15000 {
		t.Errorf("only %d URLs have a key", keys)
	}
}

func FuzzKey(f *testing.F) {
	f.Add("http://example.org/a?b")
	f.Fuzz(func(t *testing.T, url string) {
		key, err := Key(url)
		if err != nil {
			return
		}
		if strings.HasPrefix(url, "filedesc") {
			return
		}
		if strings.ContainsAny(key, " \n\r\t\x00") {
			t.Errorf("Key(%q) = %q would end its place in a line", url, key)
		}
	})
}

func ExampleKey() {
	key, _ := Key("http://www.example.org/News/?page=2&lang=en")
	fmt.Println(key)
	// Output: org,example)/news?lang=en&page=2
}
