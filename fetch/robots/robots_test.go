package robots

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"forage/internal/shared"
)

// TestConformance runs the cases of Google's robots_test.cc, crawler-commons and others.
func TestConformance(t *testing.T) {
	f, err := os.Open(shared.Path(t, "conformance", "robots.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ran := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		var c struct {
			Robots, Agent, URL, Source, Level string
			Allow                             bool
		}
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		got := Parse([]byte(c.Robots)).Allowed(c.Agent, c.URL)
		switch c.Level {
		case "rfc", "google", "consensus", "caller-encodes":
			ran++
			if got != c.Allow {
				t.Errorf("%s (%s): Allowed(%q, %q) = %v, want %v, of\n%s", c.Source, c.Level, c.Agent, c.URL, got, c.Allow, c.Robots)
			}
		default:
			if got != c.Allow {
				t.Logf("%s (%s): Allowed(%q, %q) = %v, not %v, of\n%s", c.Source, c.Level, c.Agent, c.URL, got, c.Allow, c.Robots)
			}
		}
	}
	if ran < 170 {
		t.Errorf("%d cases ran", ran)
	}
}

// naive matches a pattern by a regular expression.
func naive(pattern, path string) bool {
	re := "^"
	end := strings.HasSuffix(pattern, "$")
	for _, piece := range strings.SplitAfter(strings.TrimSuffix(pattern, "$"), "*") {
		re += regexp.QuoteMeta(strings.TrimSuffix(piece, "*"))
		if strings.HasSuffix(piece, "*") {
			re += ".*"
		}
	}
	if end {
		re += "$"
	}
	return regexp.MustCompile("(?s)" + re).MatchString(path)
}

func TestMatchesAgainstNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func(alphabet string, n int) string {
		b := make([]byte, r.IntN(n))
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		return string(b)
	}
	for range 50_000 {
		pattern, path := "/"+word("ab*/$", 8), "/"+word("ab/$", 12)
		rule := newRule(false, pattern)
		if got, want := rule.matches(path), naive(pattern, path); got != want {
			t.Fatalf("pattern %q matches %q: %v, want %v", pattern, path, got, want)
		}
	}
}

// A pattern full of stars against a path that nearly matches must not go back and forth: the
// nanoseconds a byte are the same for every number of stars.
func BenchmarkMatch(b *testing.B) {
	for _, stars := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("stars=%d", stars), func(b *testing.B) {
			rule := newRule(false, "/"+strings.Repeat("*a", stars)+"*b$")
			path := "/" + strings.Repeat("a", 4*stars)
			for b.Loop() {
				rule.matches(path)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(path)), "ns/byte")
		})
	}
}

func TestCrawlDelayAndSitemaps(t *testing.T) {
	f := Parse([]byte("\xef\xbb\xbfSitemap: https://x.test/a.xml\nUser-agent: a\nCrawl-delay: 2.5\nDisallow: /x\nUser-agent: b\nUser-agent: *\ncrawl-delay: 1000\nsite-map: /b.xml # relative\nUser-agent: c\nDisallow:\nCrawl-delay: -1\n"))
	for agent, want := range map[string]time.Duration{"a": 2500 * time.Millisecond, Token("A/1.0 (x)"): 2500 * time.Millisecond, "b": MaxDelay, "z": MaxDelay, "c": 0} {
		if agent == "c" {
			want = MaxDelay // it stands in one group with b and *, for no rule came between
		}
		if got := f.CrawlDelay(agent); got != want {
			t.Errorf("CrawlDelay(%q) = %v, want %v", agent, got, want)
		}
	}
	if len(f.Sitemaps) != 2 || f.Sitemaps[0] != "https://x.test/a.xml" || f.Sitemaps[1] != "/b.xml" {
		t.Errorf("Sitemaps = %q", f.Sitemaps)
	}
	if f := Parse(nil); !f.Allowed("a", "/") || f.CrawlDelay("a") != 0 {
		t.Error("an empty file forbids")
	}
}

func TestSizeLimit(t *testing.T) {
	head := "User-agent: *\n"
	fill := strings.Repeat("#\n", (MaxSize-len(head))/2)
	if Parse([]byte(head+fill[:len(fill)-40]+"Disallow: /a\n")).Allowed("x", "/a") {
		t.Error("a rule within the limit does not count")
	}
	if !Parse([]byte(head+fill+"Disallow: /a\n")).Allowed("x", "/a") {
		t.Error("a rule beyond the limit counts")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /a*b$\nAllow: /index.html\n"), "/a/b")
	f.Fuzz(func(t *testing.T, body []byte, url string) {
		file := Parse(body)
		file.Allowed("forage", url)
		if d := file.CrawlDelay("forage"); d < 0 || d > MaxDelay {
			t.Fatalf("delay %v", d)
		}
	})
}
