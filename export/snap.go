package export

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"forage/graph"
	"forage/internal/atomicfile"
	"forage/snap"
	"forage/store"
)

// Snap writes the history of one site as SNAP2, a snapshot for each cycle that got all it was
// to fetch and was not condensed: what condensed ones saw is in the first snapshot after them.
// In a cycle that fetched only some of the documents the others stand as they were last
// seen, so that only snapshots of full recrawls are the whole truth. Documents of other
// origins than that of the site's first seed have no place in the format and are left out,
// with the links to them; HTTP redirects become redirect stubs.
func Snap(v *store.View, site *store.Site, path string) (w Written, err error) {
	h, err := History(v, site)
	if err != nil {
		return w, fmt.Errorf("history of %s: %w", site.Name, err)
	}
	if err := atomicfile.Create(path, func(to io.Writer) error { return snap.Write(to, h) }); err != nil {
		return w, err
	}
	w.Records = uint64(len(h.Snapshots))
	return w, w.add(path)
}

// A life is what the history needs of one document, and how it stood in the latest cycle that
// was asked for.
type life struct {
	id     graph.Node
	path   string
	flag   snap.Flag
	well   bool
	visits []store.Visit // of later cycles
	links  []version     // from later cycles on; the first one first

	alive   bool   // the latest answer was one of a document that is there
	changed bool   // the cycle saw another body than the fetch before
	digest  uint64 // of the latest body; 0: none
	to      []graph.Node
}

type version struct {
	since store.Cycle
	to    []graph.Node
}

// live takes a document on to a later cycle.
func (l *life) live(c store.Cycle) {
	l.changed = false
	for ; len(l.visits) > 0 && l.visits[0].Cycle <= c; l.visits = l.visits[1:] {
		x := &l.visits[0]
		l.alive = x.Status >= 200 && x.Status < 400
		if x.Digest != 0 {
			l.changed = x.Cycle == c && l.digest != 0 && x.Digest != l.digest
			l.digest = x.Digest
		}
	}
	for ; len(l.links) > 0 && l.links[0].since <= c; l.links = l.links[1:] {
		l.to = l.links[0].to
	}
}

// History makes the history of a site in memory.
func History(v *store.View, site *store.Site) (*snap.History, error) {
	if len(site.Seeds) == 0 {
		return nil, fmt.Errorf("it has no seed: %w", io.ErrUnexpectedEOF)
	}
	base, err := url.Parse(site.Seeds[0])
	if err != nil {
		return nil, err
	}
	origin := base.Scheme + "://" + base.Host
	lives, err := readLives(v, site, origin)
	if err != nil {
		return nil, err
	}
	// Pages come before feeds and sitemaps; home is the first.
	slices.SortStableFunc(lives, func(a, b *life) int {
		rank := func(l *life) int {
			switch {
			case !l.flag.IsPage():
				return 2
			case l.path == "/":
				return 0
			}
			return 1
		}
		return rank(a) - rank(b)
	})
	h := snap.New(site.Name, origin+"/")
	last := graph.Node(0)
	for _, l := range lives {
		last = max(last, l.id)
	}
	number := make([]snap.ID, int(last)+1) // by document: its place in lives + 1; 0: it has none
	for i, l := range lives {
		number[l.id] = snap.ID(i) + 1
		h.URLs = append(h.URLs, l.path)
	}
	var at *snap.State
	err = v.SiteCycles(site.ID, func(c *store.CycleRecord) bool {
		if !c.Done {
			return true
		}
		var docs []snap.Document
		var well []snap.ID
		for _, l := range lives {
			l.live(c.Cycle)
		}
		for i, l := range lives {
			if !l.alive {
				continue
			}
			d := snap.Document{ID: snap.ID(i), Flag: l.flag, Changed: l.changed}
			for _, to := range l.to {
				if int(to) >= len(number) || number[to] == 0 {
					continue
				}
				if u := number[to] - 1; lives[u].alive && u != d.ID {
					d.Links = append(d.Links, u)
				}
			}
			slices.Sort(d.Links)
			d.Links = slices.Compact(d.Links)
			docs = append(docs, d)
			if l.well {
				well = append(well, d.ID)
			}
		}
		at, err = h.Append(at, c.At, fmt.Sprint("cycle ", c.Cycle), docs, well)
		return err == nil
	})
	return h, err
}

// readLives reads what once answered 2xx or redirects at the origin.
func readLives(v *store.View, site *store.Site, origin string) ([]*life, error) {
	var lives []*life
	var failed error
	cursor := v.Cursor()
	defer cursor.Close()
	err := cursor.SiteDocs(site.ID, func(d *store.Doc) bool {
		path, ok := strings.CutPrefix(d.URL, origin)
		if !ok || !strings.HasPrefix(path, "/") || d.LeftOut() {
			return true
		}
		l := &life{id: d.ID, path: path, well: d.IsList() && d.FoundOn == graph.None}
		switch d.Kind {
		case store.Page:
		case store.Redirect:
			l.flag = snap.Redirect
		case store.Feed:
			l.flag = snap.Feed
		case store.Sitemap:
			l.flag = snap.Sitemap
		default:
			return true
		}
		if failed = cursor.Visits(d, func(x store.Visit) bool { l.visits = append(l.visits, x); return true }); failed != nil {
			return false
		}
		failed = cursor.LinkHistory(d.ID, func(c store.Cycle, links []store.Link) bool {
			x := version{since: c}
			for _, k := range links {
				x.to = append(x.to, k.To)
				if k.Kind == store.ViaRefresh && l.flag == snap.Page {
					l.flag = snap.Redirect
				}
			}
			l.links = append(l.links, x)
			return true
		})
		slices.Reverse(l.links) // the store tells the latest first
		lives = append(lives, l)
		return failed == nil
	})
	if failed != nil {
		return nil, failed
	}
	return lives, err
}
