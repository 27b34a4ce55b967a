package watch

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"forage/retain"
	"forage/revisit"
	"time"

	"forage/store"
	"forage/webhook"
)

func environment(name string) (string, bool) {
	v, ok := map[string]string{"SECRET": "whsec_YTpi", "TOKEN": "t"}[name]
	return v, ok
}

// TestParse reads a file that has every key.
func TestParse(t *testing.T) {
	c, err := Parse("forage.yaml", []byte(`listen: 0.0.0.0:80
public_url: https://forage.example/f
public: true
adopt: 12
tokens: {read: [$TOKEN-0123456789abcd, r2-0123456789abcd], write: w$TOKEN-0123456789abcd}
limits: {fetches_per_day: 200000, bandwidth: 2MiB/s, min_free: 1GiB, keep_events: 90d}
warc: {dir: /srv/warc, dedupe: file, http2: true, respect: [tdm, noindex]}
text: {dir: /srv/text, format: text, respect: tdm}
webhooks:
  - {name: team, url: https://hooks.example/f, secret: $SECRET, sites: [news.example], types: [page.new], header: {Authorization: Bearer $TOKEN}}
  - name: chat
    url: https://chat.example/$SECRET
    template: |
      {"text": {{json .title}}}
    allow-private: [10.1.0.0/16, 127.0.0.1]
    secret: [MDEy, $SECRET]
sites:
  - url: https://blog.example/
  - {url: https://News.example/, budget: 200/day, window: 06:00-23:00 Europe/Berlin, exclude: ['/tag/'], header: {Cookie: "a=$TOKEN"}, warc: false, text: false}
  - url: https://docs.example/v2/
    every: 6h
    budget: 5
    scope: prefix
    include: /v2/
    max-pages: 100
    max_depth: 0
    first-budget: 7
    delay: 0
    all: true
    ignore-params: utm_*
    policy: history
    period: 4
    max-new: 0
    check-gone: 10%
    robots: ignore
  - {url: https://shop.example/, every: 1d, budget: 5%, allow-private: [10.1.0.0/16], contact: https://else.example/}
defaults:
  budget: 10/day
  contact: https://example.org/bot
  exclude: /print/
  allow-private: 127.0.0.0/8
  delay: 2s
  user-agent: ua
  parallel: 9
  timeout: 10s
  max-body: 1MiB
  proxy: http://u:$TOKEN@proxy.example:1/
  cookies: jar
  max-kept-pages: 1000
  keep-rule: indegree
`), environment)
	if err != nil {
		t.Fatal(err)
	}
	site := func(name, url string, change func(*Site)) Site {
		s := Site{Name: name, URL: url, Policy: "best", MaxNew: 1000, CheckGone: .25, When: When{Budget: Budget{N: 10, PerDay: true}},
			Rules: store.Rules{Scope: "host", DelayMillis: 2000, Exclude: []string{"/print/"}, AllowPrivate: []string{"127.0.0.0/8"}}}
		change(&s)
		return s
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	if d := &c.defaults; d.Rules.Exclude[0] != "/print/" || d.When.Budget.N != 10 || d.MaxNew != 1000 {
		t.Errorf("defaults %+v", d)
	}
	c.defaults = Site{}
	fields := c.Sites[1].Fields
	c.Sites[1].Fields = nil
	if len(fields) != 1 || fields[0].Host != "news.example" || fields[0].Name != "Cookie" || fields[0].Value != "a=t" {
		t.Errorf("fields %+v", fields)
	}
	respect, tdm := "tdm,noindex", "tdm"
	want := &Config{
		Listen: "0.0.0.0:80", PublicURL: "https://forage.example/f/", Public: true, Tokens: Tokens{[]string{"t-0123456789abcd", "r2-0123456789abcd"}, []string{"wt-0123456789abcd"}},
		Limits:  Limits{200000, 2 << 20, 1 << 30, 90 * day},
		Fetch:   Fetch{"https://example.org/bot", "ua", 9, 10 * time.Second, 1 << 20, "http://u:t@proxy.example:1/", "jar", 1000, retain.KeepInDegree},
		Archive: Archive{"/srv/warc", "file", true, &respect},
		Texts:   Texts{"/srv/text", "text", &tdm},
		Adopt:   12,
		Webhooks: []webhook.Target{
			{Name: "team", URL: "https://hooks.example/f", Secrets: []string{"whsec_YTpi"}, Sites: []string{"news.example"}, Types: []store.EventType{store.PageNew}, Header: map[string]string{"Authorization": "Bearer t"}},
			{Name: "chat", URL: "https://chat.example/$SECRET", Template: "{\"text\": {{json .title}}}\n", Secrets: []string{"MDEy", "whsec_YTpi"},
				Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("127.0.0.1/32")}},
		},
		Sites: []Site{
			site("blog.example", "https://blog.example/", func(*Site) {}),
			site("news.example", "https://News.example/", func(s *Site) {
				s.Unarchived, s.Textless = true, true
				s.When = When{Budget: Budget{N: 200, PerDay: true}, Window: Window{6 * time.Hour, 23 * time.Hour, berlin}}
				s.Rules.Exclude = append(s.Rules.Exclude, "/tag/")
			}),
			site("https://docs.example/v2/", "https://docs.example/v2/", func(s *Site) {
				s.When = When{Every: 6 * time.Hour, Budget: Budget{N: 5}}
				r := &s.Rules
				r.Scope, r.Include, r.MaxPages, r.MaxDepth, r.Budget, r.DelayMillis, r.All = "prefix", []string{"/v2/"}, 100, -1, 7, 0, true
				r.IgnoreParams, r.Robots, r.Contact = []string{"utm_*"}, "ignore", "https://example.org/bot"
				s.Policy, s.Period, s.MaxNew, s.CheckGone = "history", 4, 0, .1
			}),
			site("shop.example", "https://shop.example/", func(s *Site) {
				s.When = When{Every: day, Budget: Budget{Share: .05}}
				s.Rules.AllowPrivate = append(s.Rules.AllowPrivate, "10.1.0.0/16")
			}),
		},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("Parse:\n%+v\nwant\n%+v", c, want)
	}
	if c, err := Parse("f", nil, environment); err != nil || c.Listen != "127.0.0.1:8080" || len(c.Sites) != 0 {
		t.Errorf("an empty file: %+v, %v", c, err)
	}
}

// TestParseBad has every kind of mistake told with its place.
func TestParseBad(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"listen: 127.0.0.1:8080\nsites:\n  - url: https://a.example/\n    budgte: 5/day", "4:5: budgte: unknown key (did you mean budget?)"},
		{"sites:\n  - {budgte: 1}", "2:6: budgte: unknown key (did you mean budget?)"},
		{"lisen: x", "1:1: lisen: unknown key (did you mean listen?)"},
		{"nothing-like-it: x", "1:1: nothing-like-it: unknown key"},
		{"defaults:\n  url: https://a.example/", "2:3: defaults: url: unknown key"},
		{"limits: {fetches-per-day: many}", "1:27: limits: fetches-per-day: want a whole number of at least 0, got \"many\""},
		{"limits: {fetches_per_day: 1, fetches-per-day: 2}", "1:30: limits: fetches-per-day: is there twice"},
		{"limits: 5", "1:9: limits: want keys and values, got \"5\""},
		{"limits: {bandwidth: 2MiB}", "1:21: limits: bandwidth: want bytes a second such as 2MiB/s, got \"2MiB\""},
		{"limits: {min_free: much}", "1:20: limits: min_free: want a size such as 64MiB or 2GiB, got \"much\""},
		{"limits: {keep_events: 90}", "1:23: limits: keep_events: want a time such as 90d, 6h or 1.5s, got \"90\""},
		{"limits: {keep_events: -1h}", "1:23: limits: keep_events: want a time such as 90d, 6h or 1.5s, got \"-1h\""},
		{"limits: {keep_events: 99999999999999d}", "1:23: limits: keep_events: want a time such as 90d, 6h or 1.5s, got \"99999999999999d\""},
		{"warc: {dedupe: file}", "1:7: warc: want dir: the folder of the archive"},
		{"warc: {dir: a, dedupe: twice}", "1:24: warc: dedupe: want all, file, off, got \"twice\""},
		{"warc: {dir: a, respect: [tdm, nofollow]}", "1:31: warc: respect: want a list of noindex, noarchive, tdm, got \"nofollow\""},
		{"sites:\n  - {url: 'https://a.example/', warc: /srv}", "2:39: warc: want true or false, got \"/srv\""},
		{"text: {format: text}", "1:7: text: want dir: the folder of the texts"},
		{"text: {dir: a, format: html}", "1:24: text: format: want markdown, text, got \"html\""},
		{"sites:\n  - {url: 'https://a.example/', text: 1}", "2:39: text: want true or false, got \"1\""},
		{"adopt: -1", "1:8: adopt: want a whole number of at least 0, got \"-1\""},
		{"adopt: many", "1:8: adopt: want a whole number of at least 0, got \"many\""},
		{"public: yes", "1:9: public: want true or false, got \"yes\""},
		{"public_url: /x", "1:13: public_url: want a URL such as https://forage.example/"},
		{"listen: 8080", "1:9: listen: want an address and a port such as 127.0.0.1:8080"},
		{"listen: example.org:80", "1:9: listen: example.org is no address"},
		{"listen: [a, b]", "1:9: listen: want a value, got a list"},
		{"listen: &x 127.0.0.1:1", "1:9: listen: want a value, got an anchor or alias, which are not read here"},
		{"listen: !!str x", "1:9: listen: want a value, got a tag, which is not read here"},
		{"listen:", "1:9: listen: want a value, got nothing"},
		{"sites: 5", "1:8: want a list, got \"5\""},
		{"sites:\n  - https://a.example/", "2:5: want keys and values, got \"https://a.example/\""},
		{"sites:\n  - {budget: 5/day}", "2:5: want the url of the site"},
		{"sites:\n  - url: a.example", "2:10: url: \"a.example\" is no URL; did you mean https://a.example ?"},
		{"sites:\n  - {url: https://a.example/}\n  - {url: 'http://A.example/x'}", "3:5: duplicate site: a.example is on line 2 already"},
		{"sites:\n  - {url: https://a.example/, budget: 5}", "2:39: budget: want 5/day, or how often: every: 6h"},
		{"sites:\n  - {url: https://a.example/, every: 6h}", "2:38: every: want a budget for each visit beside it, such as 5"},
		{"sites:\n  - {url: https://a.example/, every: 6h, budget: 5/day}", "2:50: budget: want a number of fetches for each visit beside every, or 5/day without it"},
		{"sites:\n  - {url: https://a.example/, coverage: 90%}", "2:41: coverage: want every: how often, and the most that a visit may fetch beside it: budget: 100%"},
		{"sites:\n  - {url: https://a.example/, every: 6h, budget: 100%, coverage: 100%}", "2:66: coverage: want a share of what is new above 0% and below 100%, such as 90%"},
		{"sites:\n  - {url: https://a.example/, every: 6h, budget: 9, coverage: 90%, policy: index}", "2:63: coverage: want a policy that says what it expects, best; index does not"},
		{"defaults: {keep-rule: indegree}", "1:23: keep-rule says how max-kept-pages chooses: give that, too"},
		{"defaults: {every: 6h}", "1:19: every: want a budget for each visit beside it, such as 5"},
		{"defaults: {budget: 5}\nsites: [{url: https://a.example/}]", "2:9: want every: how often, beside the budget of defaults"},
		{"defaults: {budget: 0/day}", "1:20: defaults: budget: want fetches such as 10/day, or 10 or 5% beside every, got \"0/day\""},
		{"defaults: {budget: 5/week}", "1:20: defaults: budget: want fetches such as 10/day, or 10 or 5% beside every, got \"5/week\""},
		{"defaults: {budget: 0%, every: 1h}", "1:20: defaults: budget: want more than 0%"},
		{"defaults: {every: soon, budget: 5}", "1:19: defaults: every: want a time such as 90d, 6h or 1.5s, got \"soon\""},
		{"defaults: {window: 06:00}", "1:20: defaults: window: want hours such as 06:00-23:00 Europe/Berlin, got \"06:00\""},
		{"defaults: {window: 06:00-25:00}", "1:20: defaults: window: want a time of the day such as 06:00, got \"25:00\""},
		{"defaults: {window: 6-23:00}", "1:20: defaults: window: want a time of the day such as 06:00, got \"6\""},
		{"defaults: {window: 06:00-06:00 UTC}", "1:20: defaults: window: want a beginning and an end that differ, got \"06:00-06:00\""},
		{"defaults: {window: 06:00-23:00 Europe/Berln}", "1:20: defaults: window: there is no time zone \"Europe/Berln\"; one is Europe/Berlin"},
		{"defaults: {window: 06:00-23:00 Local}", "1:20: defaults: window: want the name of a zone such as Europe/Berlin, got \"Local\""},
		{"defaults: {exclude: '('}", "1:21: defaults: exclude: "},
		{"defaults: {scope: hots}", "1:19: defaults: scope: want host, domain, prefix, got \"hots\" (did you mean host?)"},
		{"defaults: {allow-private: everything}", "1:27: defaults: allow-private: want a range of addresses such as 10.0.0.0/8, got \"everything\""},
		{"defaults: {robots: obay}", "1:20: defaults: robots: want obey, ignore, got \"obay\" (did you mean obey?)"},
		{"sites: [{url: https://a.example/, robots: ignore}]", "1:43: robots: ignore needs contact: whoever wonders must be able to ask"},
		{"defaults: {policy: bset}", "1:20: defaults: policy: "},
		{"defaults: {delay: -1s}", "1:19: defaults: delay: want a time such as 90d, 6h or 1.5s, got \"-1s\""},
		{"defaults: {check-gone: 5}", "1:24: defaults: check-gone: want a share such as 25%, got \"5\""},
		{"defaults: {parallel: 0}", "1:22: defaults: parallel: want a whole number of at least 1, got \"0\""},
		{"tokens:\n  read: [0123456789abcdef, 0123456789abcde]", "2:28: tokens: read: want a token of at least 16 characters, this one has 15"},
		{"tokens: {write: $TOKEN}", "1:17: tokens: write: want a token of at least 16 characters, this one has 1"},
		{"tokens: {read: $NONE}", "1:16: tokens: read: not in the environment: $NONE"},
		{"webhooks: [{name: a, url: https://a.example/, secret: $NONE}]", "1:55: secret: not in the environment: $NONE"},
		{"webhooks: [{name: a, url: https://a.example/, secret: [MDEy, whsec_plain text]}]", "1:55: secret: want whsec_ and bytes in base64"},
		{"webhooks: [{name: a b, url: https://a.example/}]", "1:19: name: want a name of up to 64 letters"},
		{"webhooks: [{name: a, url: ftp://a.example/}]", "1:27: url: "},
		{"webhooks: [{name: a, url: https://a.example/, template: '{{.titel}}'}]", "1:57: template: "},
		{"webhooks: [{name: a, url: https://a.example/, allow-private: here}]", "1:62: allow-private: want a range"},
		{"webhooks: [{name: a, url: https://a.example/, text: html}]", "1:53: text: want markdown, text, got \"html\""},
		{"webhooks: [{name: a, url: https://a.example/, text: text}]", "1:12: text: no texts are kept that could be sent: want text: {dir: FOLDER, format: text} at the top"},
		{"text: t\nwebhooks: [{name: a, url: https://a.example/, text: text}]", "2:12: text: texts are kept as markdown: want text: markdown, or format: text where they are kept"},
		{"text: t\nsites: [{url: https://a.example/, text: false}]\nwebhooks: [{name: a, url: https://a.example/, text: markdown}]", "3:12: text: of none of its sites texts are kept"},
		{"webhooks: [{name: a}]", "1:12: want name and url of the webhook"},
		{"webhooks: [{name: a, url: https://a.example/, types: page.nwe}]", "1:54: types: want page.new, "},
		{"webhooks: [{name: a, url: https://a.example/, sites: [b.example]}]", "1:12: sites: b.example is not watched"},
		{"webhooks: [{name: a, url: https://a.example/}, {name: a, url: https://a.example/}]", "1:48: duplicate webhook: a"},
		{"webhooks: [{name: a, url: https://a.example/, header: {a b: c}}]", "1:56: header: a b: is no name of a header field"},
		{"webhooks: [{name: a, url: https://a.example/, header: {a: \"b\\nc\"}}]", "1:59: header: a: want a value of one line"},
		{"a: [1", "1:4: sequence end token ']' not found"},
		{"listen: x:1\nlisten: y:1", "2:1: mapping key \"listen\" already defined at [1:1]"},
		{"public: true\n---\npublic: true", "3:1: want one document in the file"},
		{"- 1", "1:1: want keys and values, got a list"},
		{"? [1]\n: 2", "2:1: found an invalid key for this map"},
	} {
		_, err := Parse("dir/forage.yaml", []byte(c.text), environment)
		var e *Error
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), "dir/forage.yaml:"+c.want) || strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("Parse(%q) = %v, want %s", c.text, err, c.want)
		}
	}
}

// TestParseAll: all mistakes are told, in the order of the file.
func TestParseAll(t *testing.T) {
	_, err := Parse("f", []byte("webhooks: [{nam: a}]\nlimits: {min_free: x}\nsites:\n  - {url: x}\ndefaults: {delay: x}\n"), environment)
	var lines []string
	for _, l := range strings.Split(fmt.Sprint(err), "\n") {
		lines = append(lines, strings.SplitN(l, ": ", 2)[0])
	}
	if want := []string{"f:1:13", "f:2:20", "f:4:11", "f:5:19"}; !slices.Equal(lines, want) {
		t.Errorf("%v, want %v", lines, want)
	}
}

// FuzzParse: no file makes it panic; what is accepted can be watched, and errors have a place in the file.
func FuzzParse(f *testing.F) {
	f.Add([]byte("sites:\n  - {url: https://a.example/, budget: 5%, every: 6h, window: 22:00-06:00 Europe/Berlin}\n"))
	f.Add([]byte("tokens: {read: [a, $b]}\nwebhooks: [{name: a, url: https://a.example/, header: {a: b}}]"))
	f.Add([]byte("a: &b [*b, !!x {<<: *b}]\n? |\n x\n: - 1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("f", data, environment)
		if err != nil {
			for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
				var at *Error
				if !errors.As(e, &at) || at.Line < 1 || at.Column < 1 || at.Text == "" {
					t.Fatalf("%#v", e)
				}
			}
			return
		}
		names := map[string]bool{}
		for _, s := range c.Sites {
			w := &s.When
			if s.Name == "" || names[s.Name] || w.Every < 0 || (w.Every == 0) != w.Budget.PerDay || w.Budget.of(1000) < 1 {
				t.Fatalf("%+v", s)
			}
			names[s.Name] = true
			if now := time.Unix(1700000000, 0); w.Due(now, Phase(s.Name, w.Every), float64(w.Budget.N), 0, &revisit.Rhythm{}).Before(now) {
				t.Fatalf("%+v is due in the past", s)
			}
		}
	})
}
