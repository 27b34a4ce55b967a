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
	f.Add([]byte("User-agent: *\nContent-Usage: /a* train-ai=n\nContent-Signal: ai-train=no\n"), "/a/b")
	f.Fuzz(func(t *testing.T, body []byte, url string) {
		file := Parse(body)
		file.Allowed("forage", url)
		if d := file.CrawlDelay("forage"); d < 0 || d > MaxDelay {
			t.Fatalf("delay %v", d)
		}
		usage, signal := file.Preferences("forage", url)
		for _, p := range append(usage, signal...) {
			if p == "" || strings.ContainsAny(p, "\r\n#") {
				t.Fatalf("preference %q", p)
			}
		}
	})
}

// TestPreferences: of the lines of the group that holds, those with the longest path that matches; first the example of the draft.
func TestPreferences(t *testing.T) {
	const draft = "User-Agent: *\nAllow: /\nDisallow: /never/\nContent-Usage: / train-ai=n\nContent-Usage: /ai-ok/ train-ai=y\n\nUser-Agent: ExampleBot\nAllow: /\nContent-Usage: / train-ai=y\n"
	for _, c := range []struct{ body, agent, path, want string }{
		{draft, "forage", "/test", "train-ai=n|"},
		{draft, "forage", "/ai-ok/test", "train-ai=y|"},
		{draft, "examplebot", "/test", "train-ai=y|"},
		{"User-agent: *\nContent-Signal: search=yes, ai-train=no # why\nAllow: /", "forage", "/", "|search=yes, ai-train=no"},
		{"User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /a train-ai=y\n", "forage", "/b", "train-ai=n|"},
		{"User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /a train-ai=y\n", "forage", "/ab", "train-ai=y|"},
		{"User-agent: *\ncontent-usage :/a\ttrain-ai=y\nCONTENT-USAGE: /a train-ai=n\n", "forage", "/a", "train-ai=y;train-ai=n|"},
		{"User-agent: *\nContent-Signal: /*.pdf$ ai-train=no\nContent-Signal: /%c3%bc search=no", "forage", "/x.pdf", "|ai-train=no"},
		{"User-agent: *\nContent-Signal: /*.pdf$ ai-train=no\nContent-Signal: /%c3%bc search=no", "forage", "/%C3%BC", "|search=no"},
		{"User-agent: other\nContent-Usage: train-ai=n\nUser-agent: forage\nDisallow:", "forage", "/", "train-ai=n|"}, // one group: see parser.preference
		{"User-agent: other\nDisallow:\nContent-Usage: train-ai=n\nUser-agent: forage\nDisallow:", "forage", "/", "|"},
		{"User-agent: forage\nDisallow:\nUser-agent: *\nContent-Usage: train-ai=n", "forage", "/", "|"},
		{"User-agent: forage\nContent-Usage: / a=n\nAllow: /\nUser-agent: forage\nContent-Usage: / b=n", "forage", "/", "a=n;b=n|"},
		{"Content-Usage: train-ai=n\nUser-agent: *\nDisallow: /x", "forage", "/", "|"},
		{"User-agent: *\nContent-Usage: /\nContent-Usage:\nContent-Signal: /a", "forage", "/a", "|"},
		{"", "forage", "/", "|"},
	} {
		f := Parse([]byte(c.body))
		usage, signal := f.Preferences(c.agent, "http://ex.test"+c.path)
		if got := strings.Join(usage, ";") + "|" + strings.Join(signal, ";"); got != c.want {
			t.Errorf("%q: %s may use %s by %q, want %q", c.body, c.agent, c.path, got, c.want)
		}
	}
}

// TestPreferencesChangeNoRule: without its Content-Usage and Content-Signal lines a file allows the same.
func TestPreferencesChangeNoRule(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 4))
	lines := []string{"User-agent: *", "User-agent: forage", "User-agent: b", "Disallow: /", "Disallow: /a", "Allow: /a/b", "Disallow: /*c$", "Crawl-delay: 3", "Content-Usage: /a train-ai=n", "Content-Signal: ai-train=no"}
	for range 2000 {
		var with, without []string
		for range r.IntN(12) {
			l := lines[r.IntN(len(lines))]
			if with = append(with, l); !strings.HasPrefix(l, "Content-") {
				without = append(without, l)
			}
		}
		f, g := Parse([]byte(strings.Join(with, "\n"))), Parse([]byte(strings.Join(without, "\n")))
		for _, path := range []string{"/", "/a", "/a/b", "/c", "/a/c"} {
			if url := "http://ex.test" + path; f.Allowed("forage", url) != g.Allowed("forage", url) || f.CrawlDelay("forage") != g.CrawlDelay("forage") {
				t.Fatalf("%q tells of %s otherwise than %q", with, path, without)
			}
		}
	}
}
