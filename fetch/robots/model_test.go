package robots

import (
	"math/rand/v2"
	"strings"
	"testing"

	"forage/internal/race"
)

// model decides as Google's robotstxt does, one line after another with its state, matching
// with the set of all positions reached: slow, and nothing is kept from file to file.
type model struct {
	agent, path                       string
	global, specific, ever, separator bool
	best                              [2][2]int // by allow/disallow, global/specific
}

func modelAllowed(body, agent, url string) bool {
	m := model{agent: agent, path: pathOf(url), best: [2][2]int{{-1, -1}, {-1, -1}}}
	for i := 0; i < 3 && body != ""; i++ {
		if body[0] != "\xef\xbb\xbf"[i] {
			break
		}
		body = body[1:]
	}
	for _, line := range strings.Split(strings.ReplaceAll(body, "\r", "\n"), "\n") {
		m.line(line[:min(len(line), 2083*8-1)])
	}
	const allow, disallow, all, own = 0, 1, 0, 1
	if m.best[allow][own] > 0 || m.best[disallow][own] > 0 {
		return m.best[disallow][own] <= m.best[allow][own]
	}
	if m.ever {
		return true
	}
	return m.best[disallow][all] <= max(m.best[allow][all], 0)
}

const white = " \t\n\v\f\r"

func (m *model) line(line string) {
	line, _, _ = strings.Cut(line, "\x00")
	line, _, _ = strings.Cut(line, "#")
	line = strings.Trim(line, white)
	key, value, ok := strings.Cut(line, ":")
	if !ok {
		i := strings.IndexAny(line, " \t")
		if i < 0 {
			return
		}
		key, value = line[:i], strings.TrimLeft(line[i:], " \t")
		if strings.ContainsAny(value, " \t") {
			return
		}
	}
	key, value = strings.ToLower(strings.Trim(key, white)), strings.Trim(value, white)
	is := func(names ...string) bool {
		for _, n := range names {
			if strings.HasPrefix(key, n) {
				return true
			}
		}
		return false
	}
	switch {
	case key == "":
	case is("user-agent", "useragent", "user agent"):
		if m.separator {
			m.specific, m.global, m.separator = false, false, false
		}
		if value != "" && value[0] == '*' && (len(value) == 1 || strings.IndexByte(white, value[1]) >= 0) {
			m.global = true
			return
		}
		end := 0
		for end < len(value) && strings.IndexByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_", value[end]) >= 0 {
			end++
		}
		if strings.EqualFold(value[:end], m.agent) {
			m.ever, m.specific = true, true
		}
	case is("allow"):
		m.rule(0, escape(value))
	case is("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"):
		m.rule(1, escape(value))
	}
}

func (m *model) rule(kind int, pattern string) {
	if !m.global && !m.specific {
		return
	}
	m.separator = true
	if !reaches(m.path, pattern) {
		if slash := strings.LastIndexByte(pattern, '/'); kind == 0 && slash >= 0 && strings.HasPrefix(pattern[slash:], "/index.htm") {
			m.rule(0, pattern[:slash+1]+"$")
		}
		return
	}
	who := 0
	if m.specific {
		who = 1
	}
	m.best[kind][who] = max(m.best[kind][who], len(pattern))
}

// reaches matches by keeping every prefix of path that the pattern so far can stand for.
func reaches(path, pattern string) bool {
	at := []int{0}
	for i := range len(pattern) {
		c := pattern[i]
		if c == '$' && i+1 == len(pattern) {
			return at[len(at)-1] == len(path)
		}
		var next []int
		if c == '*' {
			for p := at[0]; p <= len(path); p++ {
				next = append(next, p)
			}
		} else {
			for _, p := range at {
				if p < len(path) && path[p] == c {
					next = append(next, p+1)
				}
			}
		}
		if at = next; len(at) == 0 {
			return false
		}
	}
	return true
}

func TestAgainstModel(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 309))
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	agents := []string{"forage", "foo", "Foo Bar", "bot1", "", "*", "for"}
	keys := []string{"User-agent", "user-agent ", "useragent", "User agent", "USER-AGENTS", "Allow", "allow", "Disallow", "disallow", "Disalow", "dissallow", "Sitemap", "Crawl-delay", "Noindex", "", "Allowed", "desallow"}
	values := []string{"*", "* x", "*x", "forage", "FORAGE/1.0", "foo", "foo bar", "bot1", "for", "1", "/", "/a", "/a/", "/a*", "/*b", "/a$", "/*$", "$", "*", "/a/index.html", "/index.htm?x", "/%c3%bc", "/ü", "/a?b", "a", "/a#b", "", "/\x00x", "/a b", "/%6", "/$a"}
	urls := []string{"http://x.test/", "http://x.test", "http://x.test/a", "/a/b", "http://x.test/a/?b", "http://x.test?b", "http://x.test/%C3%BC", "http://x.test/ü", "http://x.test/a#b", "//x.test/a/", "x.test;a", "http://x.test/index.html", "/a/index.htm", "", "http://x.test#/a", "/$a"}
	for range race.Fewer(200_000) {
		var b strings.Builder
		b.WriteString(pick("", "", "", "\xef\xbb\xbf", "\xef", "\xef\xbb"))
		for range r.IntN(10) {
			b.WriteString(pick(keys...) + pick(":", ":", ":", ": ", " : ", " ", "", "\t") + pick(values...) + pick("\n", "\n", "\r\n", "\r", " \n", "#c\n"))
		}
		agent, url := pick(agents...), pick(urls...)
		if got, want := Parse([]byte(b.String())).Allowed(agent, url), modelAllowed(b.String(), agent, url); got != want {
			t.Fatalf("Allowed(%q, %q) = %v, want %v, of\n%q", agent, url, got, want, b.String())
		}
	}
}

func TestLongLines(t *testing.T) {
	for _, n := range []int{2083*8 - 20, 2083*8 - 11, 2083 * 8, 40_000} {
		body := "user-agent: a\ndisallow: /" + strings.Repeat("x", n) + "/qux\n"
		for _, url := range []string{"http://h/" + strings.Repeat("x", n), "http://h/" + strings.Repeat("x", n) + "/qux", "http://h/fux"} {
			if got, want := Parse([]byte(body)).Allowed("a", url), modelAllowed(body, "a", url); got != want {
				t.Errorf("a line of %d: %v, want %v", n, got, want)
			}
		}
	}
}

func FuzzAgainstModel(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /a*b$\nAllow: /index.html\n", "forage", "http://x.test/a/b")
	f.Add("\xef\xbb\xbfuseragent foo\rdisalow /\xfc\nallow:/%fc", "FOO", "//x/%FC?a#b")
	f.Fuzz(func(t *testing.T, body, agent, url string) {
		if len(body) > 1<<16 || len(url) > 1<<12 {
			return
		}
		if got, want := Parse([]byte(body)).Allowed(agent, url), modelAllowed(body, agent, url); got != want {
			t.Fatalf("Allowed(%q, %q) = %v, want %v, of\n%q", agent, url, got, want, body)
		}
	})
}

// Patterns made to be tried again and again end at once; going back would take until the test's
// own time is over.
func TestHostilePatterns(t *testing.T) {
	var b strings.Builder
	b.WriteString("user-agent: *\n")
	for b.Len() < MaxSize-20_000 {
		b.WriteString("disallow: /" + strings.Repeat("*a", 8000) + "*b$\n")
	}
	f := Parse([]byte(b.String()))
	for range 20 {
		if !f.Allowed("a", "http://h/"+strings.Repeat("a", 60_000)) {
			t.Fatal("disallowed by patterns that want a b")
		}
	}
	if f.Allowed("a", "http://h/"+strings.Repeat("a", 60_000)+"b") {
		t.Fatal("allowed")
	}
}

func BenchmarkAllowed(b *testing.B) {
	f := Parse([]byte("User-agent: x\nDisallow: /\n\nUser-agent: *\n" + strings.Repeat("Disallow: /cgi-bin/\nDisallow: /*?sort=\nAllow: /a/*/b$\n", 10)))
	b.ReportAllocs()
	for b.Loop() {
		if !f.Allowed("forage", "http://127.0.0.1:8101/p/12345") {
			b.Fatal("disallowed")
		}
	}
}
