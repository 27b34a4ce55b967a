package yield

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fetch has a URL seen and fetched.
func fetch(s *Site, url string, o Outcome) {
	s.See(url)
	s.Take(1, url)
	s.Fetched(url, o)
	s.Drop(1)
}

// until fetches URLs of a form, each with the outcome, until they are stopped, and returns how
// many it took.
func until(t *testing.T, s *Site, form string, o Outcome) int {
	t.Helper()
	for n := range 1000 {
		url := fmt.Sprintf(form, n)
		if s.See(url); s.Rank(url, false) == Stopped {
			return n
		}
		s.Take(1, url)
		s.Fetched(url, o)
		s.Drop(1)
	}
	t.Fatalf("%s is not stopped after 1000 fetches", form)
	return 0
}

// TestStopped has what software makes up stopped after some twenty fetches, and tells of it.
func TestStopped(t *testing.T) {
	for _, test := range []struct {
		name, form string
		outcome    Outcome
		least      int
		most       int
		group      string
	}{
		{"reply links", "/2021/03/post-%d/?replytocom=7", Canonical, 12, 30, "?replytocom="},
		{"feeds of posts", "/post-%d/feed/", OldList, 12, 30, "…/feed"},
		{"edit forms", "/index.php?title=Page%d&action=edit", NoIndex, 25, 50, "/*.php?action=&title="},
		{"special pages", "/index.php/Special:Links/Page%d", NoIndex, 25, 50, "/*.php/*/*"},
		{"blobs at commits", "/repo/blob/%06xa0/main.c", Duplicate, 12, 30, "/*/*/~/*.c"},
		{"dead links", "/old/page-%d.html", Missing, 500, 900, "/*/*.html"},
		{"a calendar", "/calendar?day=%d", Alike, 400, 700, "/*?day="},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s Site
			n := until(t, &s, test.form, test.outcome)
			if n < test.least || n > test.most {
				t.Errorf("%s is stopped after %d fetches, want %d to %d", test.form, n, test.least, test.most)
			}
			url := fmt.Sprintf(test.form, 5000)
			s.See(url)
			stop, ok := s.Stopped(url)
			if !ok || stop.Fetched != n || stop.Seen != n+2 || stop.Mostly != test.outcome || !stop.All {
				t.Errorf("Stopped(%s) = %+v, %t", url, stop, ok)
			}
			if !strings.Contains(strings.ReplaceAll(stop.Group, "…", ""), strings.ReplaceAll(test.group, "…", "")) && stop.Seen != n+2 {
				t.Errorf("the group is called %q, want %q", stop.Group, test.group)
			}
		})
	}
}

// TestBlame mixes pages with what their software makes of each: that is stopped, and the pages
// never are, though they share all but one of their groups.
func TestBlame(t *testing.T) {
	for _, test := range []struct {
		name, good string
		bad        []string
	}{
		{"query-string wiki", "/doku.php?id=page%d", []string{
			"/doku.php?id=page%d&do=edit", "/doku.php?id=page%d&do=revisions", "/doku.php?id=page%d&do=backlink", "/doku.php?id=page%d&rev=1637%d", "/doku.php?id=page%d&do=login"}},
		{"MediaWiki", "/index.php/Page_%d", []string{
			"/index.php?title=Page_%d&action=edit", "/index.php?title=Page_%d&action=history", "/index.php?title=Page_%d&oldid=%d", "/index.php/Special:WhatLinksHere/Page_%d",
			"/index.php/User_talk:Name%d"}},
		{"WordPress", "/2021/03/04/post-%d/", []string{"/2021/03/04/post-%d/feed/", "/2021/03/04/post-%d/?replytocom=%d", "/?p=%d"}},
		{"git", "/repo/tree/file%d.c", []string{"/repo/tree/file%d.c?id=a0b1c2%d", "/repo/log/file%d.c", "/repo/blame/file%d.c?id=a0b1c2%d", "/repo/plain/file%d.c"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s Site
			wasted := 0
			for n := range 400 {
				good := fmt.Sprintf(test.good, n)
				if r := s.Rank(good, false); r > Later || r == Later && n > 20 {
					t.Fatalf("page %d has rank %d", n, r)
				}
				fetch(&s, good, Content)
				for _, form := range test.bad {
					bad := fmt.Sprintf(form, slices.Repeat([]any{n}, strings.Count(form, "%d"))...)
					if s.Rank(bad, false) == Stopped {
						s.See(bad)
						continue
					}
					wasted++
					fetch(&s, bad, Canonical)
				}
			}
			if most := 30 * len(test.bad); wasted > most {
				t.Errorf("%d fetches were wasted, want at most %d", wasted, most)
			}
			t.Logf("%d fetches wasted on %d kinds", wasted, len(test.bad))
		})
	}
}

// TestRunsDry has facets of a shop lead to its products at first, and to nothing more then.
func TestRunsDry(t *testing.T) {
	var s Site
	for n := range 40 {
		fetch(&s, fmt.Sprintf("/shop/c%d?color=red&page=%d", n, n), Leads)
	}
	for n := range 200 {
		fetch(&s, fmt.Sprintf("/product/p%d", n), Content)
	}
	if n := until(t, &s, "/shop/c%d?color=red&page=1", Repeat); n < 20 || n > 120 {
		t.Errorf("facets that ran dry are stopped after %d fetches", n)
	}
	if r := s.Rank("/product/other", false); r != First {
		t.Errorf("a product has rank %d", r)
	}
}

// TestUnknownFirst: what nobody has tried goes before what has brought little, and only a few
// fetches of it are under way at once until one has brought something.
func TestUnknownFirst(t *testing.T) {
	var s Site
	for n := range 8 {
		fetch(&s, fmt.Sprintf("/bad/a%d?x=1", n), Duplicate)
	}
	if bad, fresh := s.Rank("/bad/b?x=2", false), s.Rank("/other/b/?y=2", false); bad <= fresh {
		t.Errorf("ranks %d of the bad, %d of the unknown", bad, fresh)
	}
	expect := func(url string) float64 { t := s.find(url); return s.expect(&t) }
	if bad, fresh := expect("/bad/b?x=2"), expect("/other/b/?y=2"); bad >= fresh {
		t.Errorf("expected %.2f of the bad, %.2f of the unknown", bad, fresh)
	}
	key := uint32(0)
	s.See("/new/x?z=1")
	for ; !s.Crowded("/new/x?z=1") && key < 100; key++ {
		s.Take(key, fmt.Sprintf("/new/x?z=%d", key))
	}
	if key != trial {
		t.Errorf("%d under way at once, want %d", key, trial)
	}
	s.Fetched("/new/x?z=0", Content)
	s.Fetched("/new/x?z=1", Content)
	if s.Crowded("/new/x?z=1") {
		t.Error("what has brought something waits")
	}
}

// TestChances: what something vouches for is fetched a few times though its group is stopped, and
// the first success opens the group.
func TestChances(t *testing.T) {
	var s Site
	until(t, &s, "/a%d?x=1", Duplicate)
	n := uint32(0)
	for ; s.Rank("/b?x=1", true) != Stopped; n++ {
		if n == 2 {
			break
		}
		s.Take(n, "/b?x=1")
		s.Fetched("/b?x=1", Duplicate)
		s.Drop(n)
	}
	if r := s.Rank("/b?x=1", true); r == Stopped {
		t.Fatalf("no third chance: rank %d", r)
	}
	if s.Rank("/b?x=1", false) != Stopped {
		t.Error("what nothing vouches for has chances")
	}
	closed := s
	closed.groups = slices.Clone(s.groups)
	closed.Fetched("/b?x=1", Duplicate)
	if r := closed.Rank("/b?x=1", true); r != Stopped {
		t.Errorf("rank %d after three chances", r)
	}
	s.Fetched("/b?x=1", Content)
	if r := s.Rank("/c?x=2", false); r == Stopped {
		t.Error("a success does not open the group")
	}
}

// TestBounds: whatever a site makes up, what is known of it stays bounded, and plain groups stay.
func TestBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s Site
	word := func() string { return fmt.Sprintf("w%c%c%c", 'a'+r.IntN(26), 'a'+r.IntN(26), 'a'+r.IntN(26)) }
	for range 100_000 {
		url := "/" + word() + "/" + word() + "?" + word() + "=" + word() + "&" + word() + "=" + word()
		o := Outcome(1 + r.IntN(int(numOutcomes)-1))
		fetch(&s, url, o)
		if len(s.groups) > maxGroups || len(s.once) > maxOnce || len(s.number)+len(s.free) != len(s.groups) {
			t.Fatalf("%d groups, %d free, %d numbers, %d seen once", len(s.groups), len(s.free), len(s.number), len(s.once))
		}
	}
}

// naive is the template of a URL worked out by regular expressions.
func naive(url string) string {
	path, query, _ := strings.Cut(url, "?")
	class := func(text string) string {
		switch {
		case regexp.MustCompile(`^-?[0-9._,:-]*$`).MatchString(text) && regexp.MustCompile(`[0-9]`).MatchString(text) && !regexp.MustCompile(`^[_.,:]`).MatchString(text):
			return "#"
		case regexp.MustCompile(`^[0-9a-fA-F]{7,}$`).MatchString(text) && regexp.MustCompile(`[0-9]`).MatchString(text):
			return "~"
		}
		return "*"
	}
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	var out strings.Builder
	kept := 0
	for i, text := range segments {
		text, name, _ := strings.Cut(text, ";")
		name, _, _ = strings.Cut(name, "=")
		before := ""
		if i > 0 {
			before, _, _ = strings.Cut(segments[i-1], ";")
		}
		if i > 0 && text != "" && text == before {
			continue
		}
		if kept == maxSegments {
			out.WriteString("/…")
			break
		}
		out.WriteString("/")
		if text != "" {
			out.WriteString(class(text))
			if i == len(segments)-1 {
				out.WriteString(regexp.MustCompile(`[^.]?(\.[A-Za-z0-9]{1,5})?$`).FindStringSubmatch(" " + text[1:])[1])
			}
			if len(name) > maxText {
				name = name[:maxText]
			}
			switch {
			case name == "":
			case class(name) == "~":
				out.WriteString(";~=")
			default:
				out.WriteString(";" + regexp.MustCompile(`[0-9]+`).ReplaceAllString(name, "#") + "=")
			}
		}
		kept++
	}
	if query == "" {
		return out.String()
	}
	params := regexp.MustCompile(`[&;]`).Split(query, -1)
	if params[len(params)-1] == "" {
		params = params[:len(params)-1]
	}
	var names []string
	for _, p := range params[:min(len(params), maxParams)] {
		name, _, _ := strings.Cut(p, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for i, name := range names {
		switch {
		case len(name) > maxText:
			name = "…"
		case class(name) == "~":
			name = "~"
		default:
			name = regexp.MustCompile(`[0-9]+`).ReplaceAllString(name, "#")
		}
		names[i] = name + "="
	}
	return out.String() + "?" + strings.Join(names, "&")
}

func templateOf(url string) string {
	var s Site
	path, query, _ := strings.Cut(url, "?")
	return s.templateName(path, query)
}

func (s *Site) templateName(path, query string) string {
	return s.groups[s.template(path, query, true)].name
}

func TestTemplate(t *testing.T) {
	for url, want := range map[string]string{
		"/":                                "/",
		"/about":                           "/*",
		"/2021/03/04/hello-world/":         "/#/#/#/*/",
		"/index.php?title=A&action=edit":   "/*.php?action=&title=",
		"/?s=x;page=2":                     "/?page=&s=",
		"/r/commit/0a1b2c3d4e":             "/*/*/~",
		"/a/a/a/b/":                        "/*/*/",
		"/f?filter[12]=x&filter[13]=y":     "/*?filter[#]=&filter[#]=",
		"/a/b/c/d/e/f/g/h/i/j":             "/*/*/*/*/*/*/*/*/…",
		"/tree/main.c":                     "/*/*.c",
		"/p;jsessionid=a5/q":               "/*;jsessionid=/*",
		"/2021-03-04":                      "/#",
		"/d?0123456789abcdef0123456789abc": "/*?~=",
	} {
		if got := templateOf(url); got != want {
			t.Errorf("the template of %s is %q, want %q", url, got, want)
		}
		if got := naive(url); got != want {
			t.Errorf("naive(%s) = %q, want %q", url, got, want)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	for _, url := range []string{"/", "/a/b/?c=d", "/x.php?a[1]=2;b", "/1/2-3/a0b1c2d3/a/a/a", "//", "/a?&&=;", "/.html", "/a?b=c&b=d"} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		if !strings.HasPrefix(url, "/") || strings.IndexFunc(url, func(r rune) bool { return r < '!' || r > '~' }) >= 0 {
			t.Skip()
		}
		if got, want := templateOf(url), naive(url); got != want {
			t.Errorf("the template of %q is %q, want %q", url, got, want)
		}
	})
}

// FuzzSite tells a Site anything in any order: its counts stay counts, what it says fits
// together, and the same calls give the same answers.
func FuzzSite(f *testing.F) {
	f.Add([]byte("/a?b=c\x00\x01/a?b=d\x00\x02/e/f\x03\x04"))
	f.Fuzz(func(t *testing.T, data []byte) {
		play := func() (s Site) {
			for i, part := range strings.Split(string(data), "\x00") {
				url := "/" + strings.Trim(part, "/")
				key := uint32(len(part) % 5)
				switch o := Outcome((i + len(part)) % int(numOutcomes)); i % 4 {
				case 0:
					s.See(url)
				case 1:
					s.Take(key, url)
				case 2:
					s.Fetched(url, o)
				case 3:
					s.Drop(key)
				}
				stop, stopped := s.Stopped(url)
				if rank := s.Rank(url, false); (rank == Stopped) != stopped || stop.Fetched < 0 {
					t.Fatalf("rank %d of %q, Stopped says %+v, %t", rank, url, stop, stopped)
				}
				groups := s.find(url)
				if p := s.expect(&groups); !(p > 0 && p <= 1) {
					t.Fatalf("expected yield %g of %q", p, url)
				}
			}
			out := 0
			for i := range s.groups {
				g := &s.groups[i]
				if g.good < 0 || g.bad < 0 || math.IsNaN(g.good+g.bad) {
					t.Fatalf("group %+v", g)
				}
				out += int(g.out)
			}
			under := 0
			for _, u := range s.under {
				under += u.n
			}
			if out != under {
				t.Fatalf("%d groups have fetches under way, want %d", out, under)
			}
			return s
		}
		if a, b := play(), play(); !reflect.DeepEqual(a.groups, b.groups) {
			t.Error("the same calls give other groups")
		}
	})
}

// TestRead compares texts as crawls meet them.
func TestRead(t *testing.T) {
	block := func(h, words int) uint64 { return uint64(h)*0x9e3779b97f4a7c15&^0xff | uint64(words) }
	var chrome []uint64
	for i := range 20 {
		chrome = append(chrome, block(1000+i, 3))
	}
	page := func(own int, blocks ...uint64) Text {
		return Text{append(slices.Clone(chrome), blocks...), uint64(own) * 0xc2b2ae3d27d4eb4f}
	}
	var s Site
	for _, test := range []struct {
		url  string
		text Text
		want Outcome
	}{
		{"/l?s=1", page(1, block(1, 10), block(2, 10)), Content},
		{"/l?s=2", page(2, block(2, 10), block(1, 10)), Repeat}, // another order
		{"/l?s=3", page(3, block(2, 10), block(3, 5)), Repeat},
		{"/l?s=4", page(4, block(4, 30)), Content},
		{"/l?s=5", page(4, block(5, 30)), Alike},
		{"/c/a0b1c2d3", page(6, block(4, 30)), Repeat},
	} {
		if got := s.Read(test.text); got != test.want {
			t.Errorf("Read(%s) = %v, want %v", test.url, got, test.want)
		}
	}
	if len(s.texts) > 1<<10 {
		t.Errorf("%d places for some texts", len(s.texts))
	}
	for i := range 10 * maxSeen {
		s.remember(uint64(i+1) * 0x9e3779b97f4a7c15)
	}
	if len(s.texts) > maxSeen {
		t.Errorf("%d places, want at most %d", len(s.texts), maxSeen)
	}
}

// TestRemember: what is met again is known again as long as the table has room for it.
func TestRemember(t *testing.T) {
	var s Site
	const n = maxSeen / 4
	again := 0
	for pass := range 2 {
		for i := range n {
			if s.remember(uint64(i+1) * 0x9e3779b97f4a7c15) {
				if again++; pass == 0 {
					t.Fatalf("hash %d is known before it was met", i)
				}
			}
		}
	}
	if again < n*999/1000 {
		t.Errorf("%d of %d hashes are known when they are met again", again, n)
	}
	// What is met all the time stays, whatever comes once.
	for i := range 10 * maxSeen {
		s.remember(uint64(i+1) * 0xc2b2ae3d27d4eb4f)
		if !s.remember(0x9e3779b97f4a7c15) {
			t.Fatalf("a hash that is met all the time is forgotten after %d others", i)
		}
	}
}

func TestDoubts(t *testing.T) {
	for url, want := range map[string]bool{"/a?b=c": true, "/r/0a1b2c3d/f": true, "/a;sid=1/b": true, "/cal/2021/4": false, "/a/b": false} {
		if got := Doubts(url); got != want {
			t.Errorf("Doubts(%s) = %t", url, got)
		}
	}
}

func BenchmarkSite(b *testing.B) {
	var urls []string
	for n := range 10_000 {
		urls = append(urls, fmt.Sprintf("/2021/%02d/some-post-%d/", n%12, n), fmt.Sprintf("/index.php?title=Page_%d&action=edit&n=%d", n, n))
	}
	b.ReportAllocs()
	var s Site
	for i := 0; b.Loop(); i++ {
		url := urls[i%len(urls)]
		s.See(url)
		s.Rank(url, false)
		s.Take(1, url)
		s.Fetched(url, Content)
		s.Drop(1)
	}
}

// TestFind: the groups that are kept of the latest URL are those that it has, whatever was made or
// forgotten since.
func TestFind(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s Site
	name := func() string {
		return string(rune('a'+r.IntN(26))) + string(rune('a'+r.IntN(26))) + string(rune('a'+r.IntN(26)))
	}
	urls, asked := []string{"/a/b?c=d"}, ""
	for range 20_000 {
		url := urls[r.IntN(len(urls))]
		switch r.IntN(4) {
		case 0:
			url = "/" + name() + "/" + name() + "?" + name() + "=" + name()
			s.See(url)
			urls[r.IntN(len(urls))] = url
			urls = append(urls, url)[:min(len(urls)+1, 100)]
		case 1:
			s.Fetched(url, Duplicate)
		default:
			for _, url := range []string{asked, url} {
				if got, want := s.find(url), s.read(url, false); got != want {
					t.Fatalf("%s is of %v, want %v", url, got, want)
				}
			}
			asked = url
		}
	}
}

// TestPartial: a URL may be one that nobody has seen where its group is stopped, or has brought
// little and has URLs that are left out; not where another of its groups has.
func TestPartial(t *testing.T) {
	var s Site
	for n := range 30 {
		fetch(&s, fmt.Sprintf("/post-%d/", n), Content)
	}
	until(t, &s, "/post-%d/feed/", OldList)
	if !s.Partial("/post-31/feed/") || s.Partial("/post-31/") {
		t.Errorf("a feed: %v, want true; a post: %v, want false", s.Partial("/post-31/feed/"), s.Partial("/post-31/"))
	}
	fetch(&s, "/post-100/feed/", Content) // they are opened again, and still poor
	if s.Rank("/post-31/feed/", false) == Stopped {
		t.Fatal("feeds are stopped still")
	}
	if s.Partial("/post-31/feed/") {
		t.Error("a feed may be one that nobody has seen, though none is left out")
	}
	s.LeaveOut("/post-29/feed/")
	if !s.Partial("/post-31/feed/") || s.Partial("/post-31/") {
		t.Errorf("one left out: a feed: %v, want true; a post: %v, want false", s.Partial("/post-31/feed/"), s.Partial("/post-31/"))
	}
}

func TestHashes(t *testing.T) {
	for url, want := range map[string][]string{
		"/repo/tree/main.c?id=0a1b2c3d4e&id2=5f6a7b8c": {"0a1b2c3d4e", "5f6a7b8c"},
		"/r/0a1b2c3d/f;sid=1?p=tool.git;h=5f6a7b8c":    {"0a1b2c3d", "5f6a7b8c"},
		"/2021/03/04/deadbeef?n=12345678":              nil, // a date, a word, a number
	} {
		var got []string
		if Hashes(url, func(h string) { got = append(got, h) }); !slices.Equal(got, want) {
			t.Errorf("Hashes(%s) gives %q, want %q", url, got, want)
		}
	}
}

// TestDoubt: what software makes many of for one page counts for little until a page of its kind had something of its own, and what a group
// has shown counts for more than that.
func TestDoubt(t *testing.T) {
	var s Site
	doubt := func(url string) float64 { return s.Doubt(url, s.Rank(url, false)) }
	for n := range 60 {
		s.See(fmt.Sprint("/?p=", n))
		s.See(fmt.Sprint("/?replytocom=", n))
		s.See(fmt.Sprint("/page/", n))
	}
	if got := doubt("/page/1"); got != 0 {
		t.Errorf("a path that nothing speaks against: %v, want 0", got)
	}
	if a, b := doubt("/?p=1"), doubt("/?replytocom=1"); a != b || a != Later.Doubt() {
		t.Errorf("parameters of which nothing is known: %v and %v, want %v", a, b, Later.Doubt())
	}
	s.Fetched("/?p=2", Content)
	if a, b := doubt("/?p=1"), doubt("/?replytocom=1"); a != 0 || b != Later.Doubt() {
		t.Errorf("of one there was a page: %v and %v, want 0 and %v", a, b, Later.Doubt())
	}
	for n := range 40 {
		s.Fetched(fmt.Sprint("/?replytocom=", n), Duplicate)
	}
	if got := doubt("/?replytocom=50"); got != 1 {
		t.Errorf("of a stopped group: %v, want 1", got)
	}
	last := -1.0
	for r := First; r < NumRanks; r++ {
		if r.Doubt() <= last {
			t.Errorf("rank %d has doubt %v, after %v", r, r.Doubt(), last)
		}
		last = r.Doubt()
	}
}
