package lab

import (
	"maps"
	"slices"
	"sort"

	"forage/graph"
	"forage/revisit"
	"forage/snap"
)

// The weeks in which publications count, and the days after them in which a crawl goes on, so that
// every page that counts has four weeks to be found.
const (
	delayWeeks = 22
	delayTail  = 28
)

// Seconds.
const (
	hour = 60 * 60
	day  = 24 * hour
)

// publications are what a history of commits says was published in the weeks that count. A page is
// published when it is first reachable from what a crawler that misses nothing knows: the seeds,
// the lists that robots.txt names, and whatever was reachable before. A redirect stub is no page.
type publications struct {
	first    int64         // time of the first crawl: the morning before the weeks that count
	counted  int64         // the last moment at which a publication counts
	end      int64         // the last moment at which a cycle begins
	allSeeds bool          // the first crawl starts from all pages: / leads to less than half of them
	at       []int64       // by document: when it was published; 0: it was there, or is no page, or never was
	size     map[int64]int // of each publication that counts, by its time: its pages
	start    int           // documents reachable at the first crawl
	pages    int           // published until end
}

// counts reports whether v is a page whose publication counts.
func (p *publications) counts(v int) bool { return p.at[v] != 0 && p.at[v] <= p.counted }

// findPublications follows a history through the weeks in which it publishes most often.
func findPublications(h *snap.History) *publications {
	n := len(h.URLs)
	p := &publications{first: busiest(h), at: make([]int64, n), size: make(map[int64]int)}
	p.counted = p.first + delayWeeks*7*day
	p.end = p.counted + delayTail*day
	s := h.Start()
	h.Advance(s, p.first)
	known, page := make([]bool, n), make([]bool, n)
	reach := func(from []snap.ID) []snap.ID { return reachable(s, from, known) }
	p.allSeeds = fewFromHome(h, s)
	reach(p.seeds(h))
	reach(named(h, s))
	for v := range known {
		if known[v] {
			p.start++
			page[v] = discoverable(s, snap.ID(v))
		}
	}
	// Documents link only to documents that are there, so that what is reachable grows only by
	// what known documents that changed link to.
	for s.K+1 < len(h.Snapshots) && h.Snapshots[s.K+1].Time <= p.end {
		h.Step(s)
		fresh := reach(named(h, s))
		for i := range h.Snapshots[s.K].Changes {
			c := &h.Snapshots[s.K].Changes[i]
			if known[c.ID] && s.Alive[c.ID] {
				fresh = append(append(fresh, c.ID), reach(s.Links[c.ID])...)
			}
		}
		for _, v := range fresh {
			if !discoverable(s, v) || page[v] {
				continue
			}
			page[v], p.at[v] = true, s.Time
			p.pages++
			if s.Time <= p.counted {
				p.size[s.Time]++
			}
		}
	}
	return p
}

// fewFromHome reports whether / leads to less than half of the pages, through pages.
func fewFromHome(h *snap.History, s *snap.State) bool {
	pages, lists := 0, make([]bool, len(h.URLs))
	for v, alive := range s.Alive {
		lists[v] = alive && !s.Flag[v].IsPage()
		if alive && !lists[v] {
			pages++
		}
	}
	home := slices.Index(h.URLs, "/")
	return home < 0 || 2*len(reachable(s, []snap.ID{snap.ID(home)}, lists)) < pages
}

// seeds returns what the first crawl starts from; what is not there then may be among it.
func (p *publications) seeds(h *snap.History) []snap.ID {
	var out []snap.ID
	if i := slices.Index(h.URLs, "/"); i >= 0 {
		out = append(out, snap.ID(i))
	}
	if p.allSeeds {
		for v := range h.NumPages() {
			out = append(out, snap.ID(v))
		}
	}
	return out
}

// busiest returns the morning, 3:17 UTC, before the weeks in which most snapshots add documents
// never seen before that are no lists; of equal ones the latest.
func busiest(h *snap.History) int64 {
	seen := make([]bool, len(h.URLs))
	var times []int64 // of such snapshots
	for k, s := range h.Snapshots {
		fresh := false
		for _, c := range s.Changes {
			if c.Op == snap.Added && c.Flag.IsPage() && !seen[c.ID] {
				seen[c.ID], fresh = true, true
			}
		}
		if k > 0 && fresh {
			times = append(times, s.Time)
		}
	}
	after := func(t int64) int { return sort.Search(len(times), func(i int) bool { return times[i] > t }) }
	most, at := -1, int64(0)
	for _, s := range h.Snapshots {
		if n := after(s.Time+delayWeeks*7*day) - after(s.Time); n >= most {
			most, at = n, s.Time
		}
	}
	return at - at%day + day + 3*hour + 17*60
}

// reachable returns what is there and reachable from documents through documents that are not in
// known, which it adds to known.
func reachable(s *snap.State, from []snap.ID, known []bool) []snap.ID {
	var out []snap.ID
	visit := func(ids []snap.ID) {
		for _, v := range ids {
			if s.Alive[v] && !known[v] {
				known[v] = true
				out = append(out, v)
			}
		}
	}
	visit(from)
	for i := 0; i < len(out); i++ {
		visit(s.Links[out[i]])
	}
	return out
}

// discoverable reports whether v is a page to be discovered: no list, no redirect stub.
func discoverable(s *snap.State, v snap.ID) bool { return s.Flag[v] == snap.Page }

// usual are the well-known places. A feed there need not be named in robots.txt, so that a crawler
// finds it by a link or not at all.
var usual = []string{"/sitemap.xml", "/sitemap_index.xml", "/sitemap.xml.gz", "/sitemap.txt", "/feed.xml", "/atom.xml", "/rss.xml",
	"/index.xml", "/feed/", "/feed/index.xml", "/feed", "/feed.json"}

// named returns the well-known lists that robots.txt names: all sitemaps, and what lies at no
// usual place, of which nobody would know otherwise. A history does not tell them apart.
func named(h *snap.History, s *snap.State) []snap.ID {
	var out []snap.ID
	for _, v := range s.WellKnown {
		if s.Alive[v] && (s.Flag[v] == snap.Sitemap || !slices.Contains(usual, h.URLs[v])) {
			out = append(out, v)
		}
	}
	return out
}

// cycles returns the times of the cycles of a plan that begins one every gap seconds.
func (p *publications) cycles(gap int64) []int64 {
	var out []int64
	for t := p.first + gap; t <= p.end; t += gap {
		out = append(out, t)
	}
	return out
}

// siteAt returns the site as it stands at the first crawl and at each of these times: what
// setting B calls weeks. Where nothing changed in between they share their slices. The well-known
// documents are those that robots.txt names.
func (p *publications) siteAt(h *snap.History, times []int64) *site {
	n := len(h.URLs)
	out := &site{name: h.Site, urls: make([]string, n), pages: h.NumPages(), home: graph.None, allSeeds: p.allSeeds, kind: make([]revisit.Kind, n)}
	for v, u := range h.URLs {
		out.urls[v] = revisit.Readable(u)
		if u == "/" {
			out.home = graph.Node(v)
		}
	}
	s, at := h.Start(), -1
	var last week
	for _, t := range append([]int64{p.first}, times...) {
		h.Advance(s, t)
		if s.K != at {
			next := week{alive: slices.Clone(s.Alive), links: make([][]graph.Node, n), ver: make([]int32, n),
				dated: &dated{slices.Clone(s.Published), make([]map[snap.ID]int64, n)}}
			for v := range n {
				next.ver[v] = int32(s.Version[v])
				if !s.Alive[v] {
					continue
				}
				switch s.Flag[v] {
				case snap.Feed:
					out.kind[v] = revisit.Feed
				case snap.Sitemap:
					out.kind[v] = revisit.Sitemap
				}
				if at >= 0 && last.alive[v] && last.ver[v] == next.ver[v] {
					next.links[v], next.dated.lists[v] = last.links[v], last.dated.lists[v]
				} else {
					next.links[v], next.dated.lists[v] = nodes(s.Links[v]), maps.Clone(s.Dates[v])
				}
			}
			next.well = nodes(named(h, s))
			last, at = next, s.K
		}
		last.time = t
		out.weeks = append(out.weeks, last)
	}
	return out
}

func nodes(ids []snap.ID) []graph.Node {
	out := make([]graph.Node, len(ids))
	for i, v := range ids {
		out[i] = graph.Node(v)
	}
	return out
}
