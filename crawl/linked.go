package crawl

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"forage/adopt"
	"forage/crawl/scope"
	"forage/graph"
	"forage/store"
)

// linked are the hosts that belong to no site, and that pages of sites link to, and the sites that were such hosts.
type linked struct {
	candidates []adopt.Candidate // by host, which is the name
	starts     []*store.Doc      // by candidate: where its first visit starts
	adopted    []adopt.Adopted
}

// votes reports whether by a link of that kind somebody tells readers of another site: it is not built into a page, and leads to no
// other address of the same page.
func votes(l *store.Link) bool {
	switch l.Kind {
	case store.ViaAnchor, store.ViaRefresh, store.ViaRedirect, store.ViaFeed:
		return l.Off && !l.NoFollow
	}
	return false
}

// starts reports whether the first visit of a site may start with d, as far as d itself tells.
func starts(d *store.Doc) bool {
	return stray(d) && !scope.IsAction(d) && (strings.HasPrefix(d.URL, "http://") || strings.HasPrefix(d.URL, "https://"))
}

// readLinked reads all documents of v, with the links that they had last. may reports whether a site may start with a document.
// O(documents + links); memory: 8 bytes a document, and some for each host without a site that is linked to.
func readLinked(v *store.View, may func(*store.Doc) (bool, error)) (*linked, error) {
	r := linkedReader{v: v, domains: map[string]int{}}
	err := r.readAdopted()
	if err == nil {
		err = r.readHosts()
	}
	if err == nil && len(r.hosts) > 0 {
		if err = r.readLinks(); err == nil {
			err = r.settle(may)
		}
	}
	return &r.linked, err
}

// A linkedReader is what readLinked has read.
type linkedReader struct {
	linked
	v       *store.View
	domains map[string]int         // numbers of registered domains
	sites   map[store.SiteID]int32 // places of the adopted ones
	of      []int32                // by document that starts a host: 1 + the place of that; of an adopted site: -1 - its place; else 0
	links   []int32                // by document that starts a host: links to it
	hosts   []*strayHost
	voters  []map[int]bool // by adopted site
}

// A strayHost is a host that belongs to no site.
type strayHost struct {
	name   string
	domain int
	docs   []graph.Node
	voters map[int]bool
}

// domain returns the number of the registered domain of a URL.
func (r *linkedReader) domain(url string) int {
	name := scope.Domain(store.HostOf(url))
	i, ok := r.domains[name]
	if !ok {
		i = len(r.domains)
		r.domains[strings.Clone(name)] = i
	}
	return i
}

// readAdopted reads the sites that were adopted.
func (r *linkedReader) readAdopted() error {
	sites, err := r.v.Adopted()
	if err != nil {
		return err
	}
	r.adopted, r.voters = make([]adopt.Adopted, len(sites)), make([]map[int]bool, len(sites))
	r.sites = make(map[store.SiteID]int32, len(sites))
	for i, s := range sites {
		a := &r.adopted[i]
		r.sites[s.ID] = int32(i)
		a.Over = visited(s)
		if a.Fetches, a.Pages, err = r.v.FirstVisits(s.ID); err != nil {
			return err
		}
		a.Domain = r.domain(s.Seeds[0])
	}
	return nil
}

// readHosts finds the hosts that belong to no site.
func (r *linkedReader) readHosts() error {
	n, err := r.v.NumURLs()
	if err != nil {
		return err
	}
	r.of, r.links = make([]int32, n), make([]int32, n)
	places := map[string]int32{}
	return r.v.Docs(func(d *store.Doc) bool {
		if i, ok := r.sites[d.Site]; ok {
			r.of[d.ID] = -1 - i
		}
		if !starts(d) {
			return true
		}
		name := store.HostOf(d.URL)
		h, ok := places[name]
		if !ok {
			h = int32(len(r.hosts))
			name = strings.Clone(name)
			places[name] = h
			r.hosts = append(r.hosts, &strayHost{name: name, domain: r.domain(d.URL), voters: map[int]bool{}})
		}
		r.of[d.ID] = 1 + h
		r.hosts[h].docs = append(r.hosts[h].docs, d.ID)
		return true
	})
}

// readLinks counts the links of all documents.
func (r *linkedReader) readLinks() error {
	c := r.v.Cursor()
	var failed error
	err := c.Docs(func(d *store.Doc) bool {
		if d.DuplicateOf != graph.None {
			return true
		}
		var links []store.Link
		if links, failed = c.Links(d); failed != nil {
			return false
		}
		own := -1
		for i := range links {
			to := links[i].To
			if int(to) >= len(r.of) || r.of[to] == 0 || !votes(&links[i]) {
				continue
			}
			if own < 0 {
				own = r.domain(d.URL)
			}
			r.count(to, own)
		}
		return true
	})
	return errors.Join(err, failed, c.Close())
}

// count counts a link from a domain.
func (r *linkedReader) count(to graph.Node, from int) {
	if i := r.of[to]; i < 0 {
		if a := -1 - i; r.adopted[a].Domain != from {
			if r.voters[a] == nil {
				r.voters[a] = map[int]bool{}
			}
			r.voters[a][from] = true
		}
	} else if h := r.hosts[i-1]; h.domain != from {
		h.voters[from] = true
		r.links[to]++
	}
}

// settle makes candidates of the hosts that are linked to.
func (r *linkedReader) settle(may func(*store.Doc) (bool, error)) error {
	for i, v := range r.voters {
		r.adopted[i].Voters = slices.Sorted(maps.Keys(v))
	}
	slices.SortFunc(r.hosts, func(a, b *strayHost) int { return cmp.Compare(a.name, b.name) })
	for _, h := range r.hosts {
		start, links, err := r.start(h, may)
		if err != nil {
			return err
		}
		if start != nil {
			r.candidates = append(r.candidates, adopt.Candidate{Name: h.name, Domain: h.domain, Voters: slices.Sorted(maps.Keys(h.voters)), Links: links})
			r.starts = append(r.starts, start)
		}
	}
	return nil
}

// start returns the document of a host that most pages link to, of those that may be the start, then the one with the shortest
// URL; nil: there is none. links are those to all of them.
func (r *linkedReader) start(h *strayHost, may func(*store.Doc) (bool, error)) (start *store.Doc, links int, err error) {
	for _, id := range h.docs {
		n := r.links[id]
		links += int(n)
		if n == 0 || start != nil && n < r.links[start.ID] {
			continue
		}
		d, err := r.v.Doc(id)
		if err != nil {
			return nil, 0, err
		}
		if start != nil && n == r.links[start.ID] && cmp.Or(cmp.Compare(len(d.URL), len(start.URL)), cmp.Compare(d.URL, start.URL)) > 0 {
			continue
		}
		ok, err := may(d)
		if err != nil {
			return nil, 0, err
		}
		if ok {
			start = d
		}
	}
	return start, links, nil
}
