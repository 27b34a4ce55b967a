package snap

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// week is the time between two snapshots of Blog, in seconds.
const week = 7 * 24 * 3600

// Blog makes the history of a small site that does not exist, for demos and tests: a blog
// with monthly archives, tags and a feed, beside a manual that grows without telling the
// feed. Snapshot 0 has some 200 pages; each later one, a week apart, adds a few posts, most
// weeks a page of the manual, and now and then takes one away. The same r gives the same
// history.
func Blog(r *rand.Rand, weeks int) *History {
	b := &blog{h: New("blog", "https://blog.example/"), ids: map[string]ID{}, r: r}
	for range 150 {
		b.post()
	}
	for range 30 {
		b.manualPage()
	}
	type plan struct{ posts, manual int }
	plans := make([]plan, weeks)
	for k := range plans {
		plans[k] = plan{2 + r.IntN(4), r.IntN(3)}
	}
	// The URL table lists pages before feeds, so all pages get their numbers first.
	posts, manual := len(b.posts), len(b.manual)
	for _, p := range plans {
		for range p.posts {
			b.post()
		}
		for range p.manual {
			b.manualPage()
		}
	}
	b.number()
	var at *State
	for k := 0; k <= weeks; k++ {
		if k > 0 {
			posts, manual = posts+plans[k-1].posts, manual+plans[k-1].manual
		}
		var err error
		at, err = b.h.Append(at, 1_700_000_000+int64(k)*week, fmt.Sprint("week ", k), b.snapshot(posts, manual, k), []ID{b.ids["/feed.xml"]})
		if err != nil {
			panic(err) // a bug of this file
		}
	}
	return b.h
}

type blog struct {
	h      *History
	r      *rand.Rand
	posts  []post
	manual []string // paths
	ids    map[string]ID
}

type post struct {
	path, month, tag string
}

func (b *blog) post() {
	n := len(b.posts)
	month := fmt.Sprintf("/%d/%02d/", 2020+n/60, 1+n/5%12)
	b.posts = append(b.posts, post{fmt.Sprintf("%spost-%d.html", month, n), month, fmt.Sprintf("/tags/%s/", tags[b.r.IntN(len(tags))])})
}

func (b *blog) manualPage() {
	n := len(b.manual)
	b.manual = append(b.manual, fmt.Sprintf("/manual/%s/page-%d.html", tags[n%4], n))
}

var tags = []string{"frontier", "robots", "links", "feeds", "sitemaps", "archives", "politeness", "covers"}

// number fills the URL table and ids: pages first, then the feed.
func (b *blog) number() {
	paths := []string{"/", "/archive/", "/manual/", "/about.html"}
	for _, t := range tags {
		paths = append(paths, "/tags/"+t+"/")
	}
	for _, t := range tags[:4] {
		paths = append(paths, "/manual/"+t+"/")
	}
	for _, p := range b.posts {
		paths = append(paths, p.month, p.path)
	}
	paths = append(append(paths, b.manual...), "/feed.xml")
	for _, p := range paths {
		if _, ok := b.ids[p]; !ok {
			b.ids[p] = ID(len(b.h.URLs))
			b.h.URLs = append(b.h.URLs, p)
		}
	}
}

// snapshot returns the documents of week k, with the first posts and manual pages there.
func (b *blog) snapshot(posts, manual, k int) []Document {
	links := map[string][]string{}
	link := func(from string, to ...string) {
		for _, t := range to {
			if t != from {
				links[from] = append(links[from], t)
			}
		}
	}
	link("/", "/archive/", "/manual/", "/about.html", "/feed.xml")
	link("/about.html", "/")
	for i := range posts {
		p := b.posts[i]
		link("/archive/", p.month)
		link(p.month, p.path, "/archive/")
		link(p.path, "/", p.tag, p.month)
		link("/", p.tag)
		link(p.tag, "/")
		if i > 0 {
			link(p.path, b.posts[i-1].path)
			link(b.posts[i-1].path, p.path)
		}
		if i >= posts-8 {
			link("/", p.path)
			link("/feed.xml", p.path)
		}
		if i >= posts-60 {
			link(p.tag, p.path)
		}
	}
	link("/feed.xml", "/")
	for i := range manual {
		if i%10 == 9 && i < 5*k {
			continue // taken away after a while
		}
		m := b.manual[i]
		section := "/manual/" + tags[i%4] + "/"
		link("/manual/", section)
		link(section, m, "/manual/")
		link(m, section)
	}
	var docs []Document
	for _, from := range slices.SortedFunc(maps.Keys(links), func(x, y string) int { return int(b.ids[x]) - int(b.ids[y]) }) {
		d := Document{ID: b.ids[from]}
		if from == "/feed.xml" {
			d.Flag = Feed
		}
		for _, t := range links[from] {
			d.Links = append(d.Links, b.ids[t])
		}
		slices.Sort(d.Links)
		d.Links = slices.Compact(d.Links)
		docs = append(docs, d)
	}
	return docs
}
