package explore

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"forage/graph"
)

func TestReadURL(t *testing.T) {
	for url, want := range map[string]pageURL{
		"/":                             {kind: "/*/", template: "/*/", depth: 1, length: 1, flags: endsInSlash},
		"/about.html":                   {kind: "/*.html", template: "/*.html", depth: 1, length: 11},
		"/blog/2019/03/a-title/":        {kind: "blog/#/#/*/", template: "*/#/#/*/", depth: 4, length: 22, flags: endsInSlash},
		"/blog/page/2/":                 {kind: "blog/page/#/", template: "*/*/#/", depth: 3, length: 13, flags: endsInSlash | isNumber | isPaged},
		"/page2.html":                   {kind: "/*.html", template: "/*.html", depth: 1, length: 11, flags: isPaged | seemsList},
		"/docs/v1.2/Archive.html":       {kind: "docs/v#.#/*.html", template: "*/*/*.html", depth: 3, length: 23, flags: seemsList},
		"/index.php?p=3&lang2=en":       {kind: "/index.php&p&lang#=en", template: "/*.php&p&lang#", depth: 1, length: 23, flags: seemsList},
		"/view.php?id=7&do=Talk:Birds":  {kind: "/view.php&id&do=Talk:", template: "/*.php&id&do", depth: 1, length: 28},
		"/?p=a.git;a=log;h=0f":          {kind: "/&p&a=log&h", template: "/*&p&a&h", depth: 1, length: 20},
		"/wiki/Category:Birds":          {kind: "wiki/Category:*", template: "*/*", depth: 2, length: 20, flags: seemsList},
		"/?paged=2":                     {kind: "/&paged", template: "/*&paged", depth: 1, length: 9, flags: isPaged},
		"http://site.example/a/b":       {kind: "a/*", template: "*/*", depth: 2, length: 4},
		"https://site.example":          {kind: "/*", template: "/*", depth: 1},
		"/redirect?to=http://b.example": {kind: "/redirect&to=http:", template: "/*&to", depth: 1, length: 29},
	} {
		if got := readURL(url); got != want {
			t.Errorf("readURL(%q) = %+v, want %+v", url, got, want)
		}
	}
}

// A madeSite numbers pages as they are linked to. It has their directories, by number.
type madeSite []string

func (s *madeSite) link(dir string) Link {
	v := len(*s)
	*s = append(*s, dir)
	return Link{To: graph.Node(v), URL: fmt.Sprintf("/%s/%c%c%c", dir, 'a'+v/676%26, 'a'+v/26%26, 'a'+v%26)}
}

// TestBestFindsTheArchive: a site whose menu leads to pages that show nothing new, and whose archive, which nothing but what it
// brings tells from the menu, leads to posts.
func TestBestFindsTheArchive(t *testing.T) {
	p := newBest(Config{Rand: rand.New(rand.NewPCG(1, 2))})
	site := madeSite{""}
	p.ObserveLinks(graph.None, []Link{{To: 0, URL: "/"}})
	archive := 0
	for range 100 {
		v, ok := p.Next()
		if !ok {
			t.Fatal("nothing left")
		}
		var links []Link
		switch {
		case v == 0:
			for range 200 {
				links = append(links, site.link("section"))
			}
			for range 5 {
				links = append(links, site.link("monthly"))
			}
		case site[v] == "monthly":
			archive++
			for range 9 {
				links = append(links, site.link("article"))
			}
			links = append(links, site.link("monthly"))
		}
		p.ObserveLinks(v, links)
	}
	if archive < 80 {
		t.Errorf("%d of 99 queries went to the archive", archive)
	}
}

// TestBestDoubts: of two kinds that bring as many new pages, the one whose pages are worth a fetch is queried.
func TestBestDoubts(t *testing.T) {
	p := newBest(Config{})
	site := madeSite{""}
	facet := func() Link {
		l := site.link("facets")
		l.Doubt = 1
		return l
	}
	p.ObserveLinks(graph.None, []Link{{To: 0, URL: "/"}})
	wrong := 0
	for range 60 {
		v, _ := p.Next()
		links := []Link{}
		for range 8 {
			switch {
			case v == 0:
				links = append(links, facet(), site.link("topics"))
			case site[v] == "facets":
				links = append(links, facet())
			default:
				links = append(links, site.link("topics"))
			}
		}
		if site[v] == "facets" {
			wrong++
		}
		p.ObserveLinks(v, links)
	}
	if wrong > 5 {
		t.Errorf("%d of 60 queries went where only doubtful pages are", wrong)
	}
}

// TestBestContent: with few queries left, and more articles known than these, articles are queried and not the pages that lead to still
// more of them; without a budget it is the other way round.
func TestBestContent(t *testing.T) {
	crawl := func(budget int) (articles, found int) {
		p := newBest(Config{Budget: budget})
		site := madeSite{""}
		p.ObserveLinks(graph.None, []Link{{To: 0, URL: "/"}})
		for range 60 {
			v, ok := p.Next()
			if !ok {
				t.Fatal("nothing left")
			}
			var links []Link
			if v == 0 || site[v] == "years" {
				for range 5 {
					links = append(links, site.link("articles"))
				}
				links = append(links, site.link("years"), site.link("years"))
			}
			if site[v] == "articles" {
				articles++
			}
			p.ObserveContent(v, site[v] == "articles")
			p.ObserveLinks(v, links)
		}
		return articles, len(site)
	}
	few, least := crawl(60)
	none, most := crawl(0)
	if few < 20 || least < 60 || none > few/4 || 2*most < 3*least {
		t.Errorf("with a budget %d articles and %d pages found, without %d and %d", few, least, none, most)
	}
}

// TestBestMoreOfTheirKind: pages that bring nothing but more of their kind, as where each has the number of a session, are left for what is
// content.
func TestBestMoreOfTheirKind(t *testing.T) {
	p := newBest(Config{Budget: 40})
	site := madeSite{""}
	link := func(page string) Link {
		l := site.link(page)
		l.URL = fmt.Sprintf("/%s?visit=%da", page, l.To)
		return l
	}
	p.ObserveLinks(graph.None, []Link{{To: 0, URL: "/"}})
	wrong := 0
	for range 40 {
		v, _ := p.Next()
		var links []Link
		for range 10 {
			links = append(links, link("cart"))
		}
		if site[v] != "cart" {
			links = append(links, link("goods"), link("goods"))
		} else {
			wrong++
		}
		p.ObserveContent(v, v != 0 && site[v] != "cart")
		p.ObserveLinks(v, links)
	}
	if wrong > 5 {
		t.Errorf("%d of 40 queries went to carts", wrong)
	}
}

// scan is the choice of pages.next as it is defined: a look at each open page.
func (p *pages) scan() (choice graph.Node, ok bool) {
	top := math.Inf(-1)
	find, content := p.prices()
	for i := range p.kinds {
		var ofKind, ofTemplate pageVector
		p.kinds[i].features(&ofKind, kindSeen)
		p.templates[p.kinds[i].template].features(&ofTemplate, templateSeen)
		first, most := graph.None, math.Inf(-1)
		for _, v := range p.kinds[i].open.Items {
			var x pageVector
			p.ofPage(&x, v)
			if s := p.w.dot(&x); s > most || s == most && v < first {
				first, most = v, s
			}
		}
		s := p.w.dot(&ofKind) + p.w.dot(&ofTemplate) + p.kinds[i].effect.mean(p.templates[p.kinds[i].template].effect.mean(0)) + most
		if value := float64(find*math.Expm1(s)) + float64(content*p.content(&p.kinds[i])); first != graph.None && value > top {
			choice, top, ok = first, value, true
		}
	}
	return choice, ok
}

// TestBestAgainstScan: the first pages of each kind are enough, and no score is stale. Addresses and answers are random, several
// queries are under way at once, and some pages are queried that the policy did not name, or are left out.
func TestBestAgainstScan(t *testing.T) {
	seeds := uint64(16)
	if os.Getenv("FORAGE_LONG") != "" {
		seeds = 400
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 8))
			n, dirs := 50+r.IntN(1500), 1+r.IntN(2*maxKinds)
			links := make([][]Link, n)
			url := func(v int) string { return fmt.Sprintf("/%c%c/%d/p%d", 'a'+v%dirs/26%26, 'a'+v%dirs%26, v%3, v) }
			for v := range links {
				for range r.IntN(12) {
					to := r.IntN(n)
					links[v] = append(links[v], Link{To: graph.Node(to), URL: url(to), Doubt: float64(r.IntN(2))})
				}
			}
			p := newBest(Config{Budget: r.IntN(2) * n})
			answered := make([]bool, n)
			answer := func(v graph.Node) {
				answered[v] = true
				if r.IntN(2) == 0 {
					p.ObserveContent(v, r.IntN(3) > 0)
				}
				if r.IntN(20) == 0 {
					p.Observe(v, nil)
				} else {
					p.ObserveLinks(v, links[v])
				}
			}
			p.ObserveLinks(graph.None, []Link{{To: 0, URL: "/"}})
			var out []graph.Node
			for range n {
				if v := graph.Node(r.IntN(n)); r.IntN(30) == 0 && !answered[v] && int(v) < len(p.pages.seen) && p.pages.seen[v] == open {
					answer(v)
				}
				want, okWant := p.pages.scan()
				v, ok := p.Next()
				if ok != okWant || ok && v != want {
					t.Fatalf("Next() = %d, %v; looking at all pages %d, %v", v, ok, want, okWant)
				}
				if ok {
					out = append(out, v)
				} else if len(out) == 0 {
					break
				}
				for len(out) > 0 && (!ok || len(out) > 3 || r.IntN(2) == 0) {
					i := r.IntN(len(out))
					v, out[i] = out[i], out[len(out)-1]
					out = out[:len(out)-1]
					if !answered[v] {
						answer(v)
					}
				}
			}
		})
	}
}

// BenchmarkBest crawls a site of so many pages, with as many kinds as are kept apart.
func BenchmarkBest(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("pages=%d", n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			links := make([][]Link, n)
			for v := range links {
				for range 20 {
					to := r.IntN(n)
					links[v] = append(links[v], Link{To: graph.Node(to), URL: fmt.Sprintf("/%c%c/p%d", 'a'+to%1200/26%26, 'a'+to%1200%26, to)})
				}
			}
			queries := 0
			for b.Loop() {
				p := newBest(Config{})
				p.ObserveLinks(graph.None, []Link{{To: 0, URL: "/"}})
				for {
					v, ok := p.Next()
					if !ok {
						break
					}
					p.ObserveLinks(v, links[v])
					queries++
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(queries), "µs/query")
		})
	}
}
