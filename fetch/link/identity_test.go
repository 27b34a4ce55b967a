package link

import (
	"bufio"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"forage/internal/race"
	"forage/internal/shared"
)

// cases calls run with every line of a conformance file.
func cases[C any](t *testing.T, name string, least int, run func(c C)) {
	t.Helper()
	f, err := os.Open(shared.Path(t, "conformance", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for ; s.Scan(); n++ {
		var c C
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatalf("%s:%d: %v", name, n+1, err)
		}
		run(c)
	}
	if n < least {
		t.Errorf("%s has %d cases, want at least %d", name, n, least)
	}
}

func TestIdentityPairs(t *testing.T) {
	cases(t, "identity_pairs.jsonl", 24, func(c struct {
		A, B, Why string
		Same      bool
	}) {
		a, err := Parse(c.A)
		if err != nil {
			t.Errorf("%s: Parse(%q): %v", c.Why, c.A, err)
		}
		b, err := Parse(c.B)
		if err != nil {
			t.Errorf("%s: Parse(%q): %v", c.Why, c.B, err)
		}
		if (a == b) != c.Same {
			t.Errorf("%s: %q is %q, %q is %q: same %v, want %v", c.Why, c.A, a, c.B, b, a == b, c.Same)
		}
	})
}

func TestReferences(t *testing.T) {
	cases(t, "resolve.jsonl", 8, func(c struct{ In, Out, Base string }) {
		b, err := NewBase(c.Base)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := b.Reference(c.In); err != nil || got != c.Out {
			t.Errorf("Reference(%q, %q) = %q, %v, want %q", c.Base, c.In, got, err, c.Out)
		}
		want, err := Parse(c.Out)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := b.Resolve(c.In); err != nil || got != want {
			t.Errorf("Resolve(%q, %q) = %q, %v, want %q", c.Base, c.In, got, err, want)
		}
	})
}

func TestParse(t *testing.T) {
	for raw, want := range map[string]string{
		"http://user:secret@ex.test/a#frag":  "http://ex.test/a",
		"HTTP://EX.test/%7ea/../b/./c?q=%7e": "http://ex.test/b/c?q=~",
		"http://ex.test/a/..":                "http://ex.test/",
		"http://ex.test/a/.":                 "http://ex.test/a/",
		"http://ex.test/%2e%2e/x":            "http://ex.test/x",
		"http://ex.test:65536/":              "",
		"http://ex.test:0080/":               "http://ex.test/",
		"https://ex.test:80":                 "https://ex.test:80/",
		"http://256.0.0.1/":                  "",
		"http://127.1/":                      "http://127.0.0.1/",
		"http://ex.test/?a='b'":              "http://ex.test/?a=%27b%27",
		"http://ex.test/100%":                "http://ex.test/100%",
		"http://ex.test?x":                   "http://ex.test/?x",
		"ftp://ex.test/":                     "",
		"mailto:a@b.test":                    "",
		"/relative":                          "",
		"":                                   "",
		"http://":                            "",
	} {
		got, err := Parse(raw)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Parse(%q) = %q, %v, want %q", raw, got, err, want)
		}
		if err != nil && !errors.Is(err, ErrScheme) && !errors.Is(err, ErrNoURL) {
			t.Errorf("Parse(%q): %v wraps neither ErrScheme nor ErrNoURL", raw, err)
		}
	}
}

// slow is Resolve without the fast path: the oracle.
func slow(base, ref string) (string, error) {
	return (&Base{url: base}).resolveSlow(ref)
}

func checkEqual(t *testing.T, base, ref string) {
	t.Helper()
	b, err := NewBase(base)
	if err != nil {
		return
	}
	want, wantErr := slow(b.URL(), ref)
	got, err := b.Resolve(ref)
	if got != want || (err == nil) != (wantErr == nil) {
		t.Fatalf("Resolve(%q, %q) = %q, %v; the slow path says %q, %v", base, ref, got, err, want, wantErr)
	}
	if fastRef, ok := fast(nil, b, ref, asReference); ok {
		u, err := b.parse(ref)
		if err != nil {
			t.Fatalf("Reference(%q, %q) = %q; the slow path refuses: %v", base, ref, fastRef, err)
		}
		if slowRef, err := reference(u, ref); err != nil || slowRef != string(fastRef) {
			t.Fatalf("Reference(%q, %q) = %q; the slow path says %q, %v", base, ref, fastRef, slowRef, err)
		}
	}
	if err == nil {
		if again, err := Parse(got); err != nil || again != got {
			t.Fatalf("Parse(%q) = %q, %v: not idempotent", got, again, err)
		}
	}
}

var refs = []string{
	"a", "/a/b", "../x", "./", "..", "/a/../../b/.", "?q=1", "?q=a%20b", "#f", "", "//h.test/x", "//h.test:80", "http://h.test", "https://h.test:443/a#b",
	"http:x", "a:b", "x/y:z", "/%41%2f%2F", "a%2e%2e/b", "/a b", "\\x", "/x?y#z", "http://127.0.0.1:8080/p/1", "http://1.2.3/", "http://xn--bcher-kva.test/", "http://a--b.test/",
	"http://h_x.test/", "https://h.test/a/%E4%B8%AD?x=%e4", "/a//b", "//", "/..", "/.", "/...", "/.a", "/a/..b", "/a/b?c/../d", "/a|b^c", "/a'b?c'd", ";p=1", "@", "/%", "/%4", "/%zz", "\t/a\n", " a ", "/ü/中?ü=é", "a b?c d#e f", "/%e4%B8?%e4", "/\xff", "/%c3%bc/../x",
}

func TestFastPathAgainstSlow(t *testing.T) {
	bases := []string{"http://ex.test/", "https://ex.test/a/b/c.html?q=1", "http://127.0.0.1:19871/p/0", "http://ex.test/a/%C3%A9/b%20c/d", "http://ex.test/a|b/c"}
	for _, base := range bases {
		for _, ref := range refs {
			checkEqual(t, base, ref)
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	pieces := append(strings.Split("a b . .. / // ? # % %2F %2e %41 : ; @ & = ' http:// https:// h.test 1.2.3.4 :80 :443 é \\ ~ -", " "), "index.html", "dir/", "/../", "/./")
	n := 60_000
	if os.Getenv("FORAGE_LONG") != "" {
		n = 5_000_000
	}
	for range race.Fewer(n) {
		var ref strings.Builder
		for range 1 + r.IntN(6) {
			ref.WriteString(pieces[r.IntN(len(pieces))])
		}
		checkEqual(t, bases[r.IntN(len(bases))], ref.String())
	}
}

// TestFiles: what is passed over as a file by its beginning is what the standard's own algorithm takes for a
// URL of another scheme, whatever follows.
func TestFiles(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	pieces := append(refs, "/", "//", "[", "]", "%", ":", "@", "\\", "x", "..", "?", "#", "|", "C:", "\t", "é", "\xff", "<")
	for range race.Fewer(20_000) {
		ref := []string{"", " ", "\x00\n"}[r.IntN(3)] + "file:///"
		if r.IntN(4) == 0 {
			ref = strings.ToUpper(ref)
		}
		for range r.IntN(4) {
			ref += pieces[r.IntN(len(pieces))]
		}
		if !otherScheme([]byte(ref)) {
			t.Fatalf("%q is not passed over", ref)
		}
		if got, err := slow("http://ex.test/a/b?c", ref); !errors.Is(err, ErrScheme) {
			t.Fatalf("%q is %q, %v; want %v", ref, got, err, ErrScheme)
		}
	}
}

func FuzzResolve(f *testing.F) {
	for _, ref := range refs {
		f.Add("http://ex.test/a/b?c", ref)
	}
	f.Fuzz(checkEqual)
}

// A URL has at most MaxURL bytes, also when its escapes, or those of its base, are counted.
func TestMaxURL(t *testing.T) {
	const host = "http://h.test/"
	longest := host + strings.Repeat("x", MaxURL-len(host))
	if got, err := Parse(longest); err != nil || got != longest {
		t.Errorf("Parse of %d bytes: %d bytes, %v", MaxURL, len(got), err)
	}
	base, err := NewBase(host + strings.Repeat("d", MaxURL/2) + "/")
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{longest + "x", host + strings.Repeat("é", MaxURL/4), strings.Repeat("r", MaxURL/2), strings.Repeat("é", 700)} {
		got, err := base.Resolve(ref)
		if !errors.Is(err, ErrNoURL) {
			t.Errorf("Resolve(%.20q…): %d bytes, %v", ref, len(got), err)
		}
		if got, err := base.Reference(ref); !errors.Is(err, ErrNoURL) {
			t.Errorf("Reference(%.20q…): %d bytes, %v", ref, len(got), err)
		}
	}
}

func TestDropParams(t *testing.T) {
	patterns := []string{"utm_*", "fbclid"}
	for in, want := range map[string]string{
		"http://x.test/":                          "http://x.test/",
		"http://x.test/?a=1&utm_source=x&b=2":     "http://x.test/?a=1&b=2",
		"http://x.test/?utm_source=x&fbclid=y":    "http://x.test/",
		"http://x.test/?utm=1&fbclid2=2&fbclid":   "http://x.test/?utm=1&fbclid2=2",
		"http://x.test/?a&&b":                     "http://x.test/?a&&b",
		"http://x.test/utm_source=x?xutm_source=": "http://x.test/utm_source=x?xutm_source=",
	} {
		if got := DropParams(in, patterns); got != want {
			t.Errorf("DropParams(%q) = %q, want %q", in, got, want)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	base, err := NewBase("http://127.0.0.1:8080/p/17")
	if err != nil {
		b.Fatal(err)
	}
	for _, ref := range []string{"/p/12345", "../x.html", "https://ex.test/a?b=c", "/a b"} {
		b.Run("ref="+strings.ReplaceAll(ref, "/", "|"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := base.Resolve(ref); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
