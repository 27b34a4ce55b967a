package export

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net/url"
	"slices"
	"strings"

	"forage/graph"
	"forage/snap"
	"forage/store"
)

// Snap writes the history of one site as SNAP2, a snapshot for each cycle that got all it was
// to fetch and was not condensed: what condensed ones saw is in the first snapshot after them.
// In a cycle that fetched only some of the documents the others stand as they were last
// seen, so that only snapshots of full recrawls are the whole truth. Documents of other
// origins than that of the site's first seed have no place in the format and are left out,
// with the links to them. A page is a redirect stub in the snapshots in which it answered with a redirect by
// HTTP, or one of its links was a refresh.
//
// v must be a snapshot, or of a store that nobody writes to: Snap reads the documents three times, and
// the links once. Memory: 4 bytes for each URL of the store, some 25 for each document of the site, 8 for each
// time that one came or went, all links that one document ever had, and 32 MiB; what later snapshots changed is
// beyond that in a temporary file beside the one that is written.
//
// Errors: the site has no seed, a cycle began before the one before it, and those of v and of the files.
func Snap(v *store.View, site *store.Site, to Target, keep func(*store.Doc) bool) (w Written, err error) {
	h, err := newHistory(v, site, keep)
	if err != nil {
		return w, fmt.Errorf("history of %s: %w", site.Name, err)
	}
	w.Records = uint64(len(h.cycles))
	err = to.create(&w, true, func(out io.Writer) error {
		later := newStreams(2*len(h.cycles), to.beside())
		defer later.close()
		return h.write(out, later)
	})
	return w, err
}

// A life is what the history needs of one document, and how it stood in the latest cycle that
// was asked for.
type life struct {
	visits []store.Visit // of later cycles
	links  []version     // from later cycles on; the first one first

	alive     bool   // the latest answer was one of a document that is there
	changed   bool   // the body is another one than in the cycle before that was asked for
	redirects bool   // the latest answer was a redirect by HTTP
	digest    uint64 // of the latest body; 0: none
	version          // of the links
}

type version struct {
	since     store.Cycle
	to        []graph.Node
	refreshes bool // one of the links is that of a refresh
}

// live takes a document on to a later cycle.
func (l *life) live(c store.Cycle) {
	before := l.digest
	for ; len(l.visits) > 0 && l.visits[0].Cycle <= c; l.visits = l.visits[1:] {
		x := &l.visits[0]
		l.alive = x.Status >= 200 && x.Status < 400
		if x.Status != 304 {
			l.redirects = x.Status >= 300 && x.Status < 400
		}
		if x.Digest != 0 {
			l.digest = x.Digest
		}
	}
	l.changed = before != 0 && l.digest != before
	for ; len(l.links) > 0 && l.links[0].since <= c; l.links = l.links[1:] {
		l.version = l.links[0]
	}
}

// flag returns the flag of the document in the cycle; is tells whether it is a page, as history.of does.
func (l *life) flag(is snap.Flag) snap.Flag {
	switch {
	case !is.IsPage():
		return is
	case l.redirects || l.refreshes:
		return snap.Redirect
	}
	return snap.Page
}

// A history is what is known of a site before its links are read: which documents it has, how they
// are numbered, and in which snapshots each of them was there.
type history struct {
	v      *store.View
	site   *store.Site
	origin string
	cycles []moment // a snapshot each

	entries []entry      // by document of the store
	size    int          // documents of the history
	home    graph.Node   // graph.None: there is none
	others  []graph.Node // feeds and sitemaps
	well    []snap.ID    // documents that are known without a link, ascending

	begin []uint32 // by document of the history, and one more: where its turns begin
	turns []uint32 // snapshots in which a document came or went, by turns; nothing is there before the first
}

// An entry is what must be known of the document that a link leads to: 0 where that is not in the
// history, else (number there + 1) << 1, and bit 0 where it is there in all snapshots. Links lead anywhere, so
// that each look is a miss of the processor's cache: an entry is as small as it can be.
type entry uint32

func entryOf(id snap.ID, stays bool) entry {
	e := (entry(id) + 1) << 1
	if stays {
		e++
	}
	return e
}

func (e entry) id() snap.ID { return snap.ID(e>>1) - 1 }
func (e entry) stays() bool { return e&1 != 0 }

type moment struct {
	cycle store.Cycle
	at    store.Time
}

// newHistory reads what documents there are and when they were there.
func newHistory(v *store.View, site *store.Site, keep func(*store.Doc) bool) (*history, error) {
	if len(site.Seeds) == 0 {
		return nil, errors.New("it has no seed")
	}
	base, err := url.Parse(site.Seeds[0])
	if err != nil {
		return nil, err
	}
	h := &history{v: v, site: site, origin: base.Scheme + "://" + base.Host, home: graph.None}
	late := store.Cycle(0)
	err = v.SiteCycles(site.ID, func(c *store.CycleRecord) bool {
		if c.Kind == store.Import {
			return true
		}
		if n := len(h.cycles); c.Done && n > 0 && c.At < h.cycles[n-1].at {
			late = c.Cycle
		}
		if c.Done {
			h.cycles = append(h.cycles, moment{c.Cycle, c.At})
		}
		return late == 0
	})
	if err != nil {
		return nil, err
	}
	if late != 0 {
		n := len(h.cycles)
		return nil, fmt.Errorf("cycle %d began at %d, before the one before it at %d", late, h.cycles[n-1].at, h.cycles[n-2].at)
	}
	n, err := v.NumURLs()
	if err != nil {
		return nil, err
	}
	h.entries = make([]entry, n)
	if err := h.readDocs(keep); err != nil {
		return nil, err
	}
	return h, nil
}

// readDocs takes in what once answered 2xx or redirects at the origin: pages come before feeds and
// sitemaps, home is the first.
func (h *history) readDocs(keep func(*store.Doc) bool) error {
	var ids []graph.Node // in the order of the store, as turns and ends
	var turns, ends []uint32
	var well []graph.Node
	var failed error
	cursor := h.v.Cursor()
	defer cursor.Close()
	var m memory
	err := cursor.SiteDocs(h.site.ID, func(d *store.Doc) bool {
		path, flag, ok := h.of(d)
		if !ok || keep != nil && !keep(d) {
			return true
		}
		ids = append(ids, d.ID)
		switch {
		case !flag.IsPage():
			h.others = append(h.others, d.ID)
		case path == "/":
			h.home = d.ID
		}
		if d.IsList() && d.FoundOn == graph.None {
			well = append(well, d.ID)
		}
		var l life
		if l.visits, failed = m.readVisits(cursor, d); failed != nil {
			return false
		}
		for len(l.visits) > 0 {
			s := h.snapshot(l.visits[0].Cycle)
			if s == len(h.cycles) {
				break
			}
			was := l.alive
			if l.live(h.cycles[s].cycle); l.alive != was {
				turns = append(turns, uint32(s))
			}
		}
		ends = append(ends, uint32(len(turns)))
		return true
	})
	if failed != nil {
		return failed
	}
	if err != nil {
		return err
	}
	h.number(ids, turns, ends)
	for _, id := range well {
		h.well = append(h.well, h.entries[id].id())
	}
	slices.Sort(h.well)
	return nil
}

// number makes entries, begin and turns of what readDocs found.
func (h *history) number(ids []graph.Node, turns, ends []uint32) {
	h.size = len(ids)
	h.begin = make([]uint32, h.size+1)
	h.turns = make([]uint32, len(turns))
	next := [...]snap.ID{1, snap.ID(h.size - len(h.others))}
	if h.home == graph.None {
		next[0] = 0
	}
	others := h.others
	begin := uint32(0)
	for i, id := range ids {
		var n snap.ID
		switch {
		case id == h.home:
		case len(others) > 0 && others[0] == id:
			n, others = next[1], others[1:]
			next[1]++
		default:
			n = next[0]
			next[0]++
		}
		of := turns[begin:ends[i]]
		begin = ends[i]
		h.entries[id] = entryOf(n, len(of) == 1 && of[0] == 0)
		h.begin[n+1] = uint32(len(of))
	}
	for n := range h.size {
		h.begin[n+1] += h.begin[n]
	}
	begin = 0
	for i, id := range ids {
		copy(h.turnsOf(h.entries[id].id()), turns[begin:ends[i]])
		begin = ends[i]
	}
}

// of returns the path of a document and whether it is a page, a feed or a sitemap; of a page
// life.flag tells whether it leads away. Not ok: it is not in the history.
func (h *history) of(d *store.Doc) (path string, flag snap.Flag, ok bool) {
	path, ok = strings.CutPrefix(d.URL, h.origin)
	if !ok || !strings.HasPrefix(path, "/") || d.LeftOut() || int(d.ID) >= len(h.entries) {
		return "", 0, false
	}
	switch d.Kind {
	case store.Page, store.Redirect:
	case store.Feed:
		flag = snap.Feed
	case store.Sitemap:
		flag = snap.Sitemap
	default:
		return "", 0, false
	}
	return path, flag, true
}

// snapshot returns the first snapshot that shows what happened in a cycle, the number of snapshots
// if none does.
func (h *history) snapshot(c store.Cycle) int {
	s, _ := slices.BinarySearchFunc(h.cycles, c, func(m moment, c store.Cycle) int { return cmp.Compare(m.cycle, c) })
	return s
}

// turnsOf returns the snapshots in which a document came or went.
func (h *history) turnsOf(id snap.ID) []uint32 { return h.turns[h.begin[id]:h.begin[id+1]] }

// alive reports whether a document is there in a snapshot.
func (h *history) alive(id snap.ID, s int) bool {
	there := false
	for _, t := range h.turnsOf(id) {
		if t > uint32(s) {
			break
		}
		there = !there
	}
	return there
}

// docs calls yield for each document of the history in the order of their numbers. The Doc is
// valid during the call.
func (h *history) docs(yield func(d *store.Doc) error) error {
	one := func(id graph.Node) error {
		d, err := h.v.Doc(id)
		if err != nil {
			return err
		}
		return yield(d)
	}
	if h.home != graph.None {
		if err := one(h.home); err != nil {
			return err
		}
	}
	cursor := h.v.Cursor()
	defer cursor.Close()
	var failed error
	err := cursor.SiteDocs(h.site.ID, func(d *store.Doc) bool {
		if e := h.entry(d.ID); e != 0 && d.ID != h.home && h.isPage(e.id()) {
			failed = yield(d)
		}
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	if err != nil {
		return err
	}
	for _, id := range h.others {
		if err := one(id); err != nil {
			return err
		}
	}
	return nil
}

// write writes the history. The first snapshot goes out as the documents are read; of each later
// one two streams wait until then, of what went and of what came or changed.
func (h *history) write(to io.Writer, later *streams) error {
	out := snap.NewWriter(to, snap.New(h.site.Name, h.origin+"/"), h.size)
	if err := h.urls(out); err != nil {
		return err
	}
	heads := h.heads()
	if len(heads) > 0 {
		out.Snapshot(&heads[0])
		if err := h.changes(out, later); err != nil {
			return err
		}
	}
	for s := 1; s < len(heads); s++ {
		out.Snapshot(&heads[s])
		if err := later.writeTo(out, 2*s, 2*s+1); err != nil {
			return err
		}
	}
	return out.Close()
}

// urls writes the paths of all documents.
func (h *history) urls(out *snap.Writer) error {
	cursor := h.v.Cursor()
	defer cursor.Close()
	one := func(id graph.Node) error {
		u, err := cursor.URL(id)
		out.URL(strings.TrimPrefix(u, h.origin))
		return err
	}
	if h.home != graph.None {
		if err := one(h.home); err != nil {
			return err
		}
	}
	for i, e := range h.entries {
		if id := graph.Node(i); e != 0 && id != h.home && h.isPage(e.id()) {
			if err := one(id); err != nil {
				return err
			}
		}
	}
	for _, id := range h.others {
		if err := one(id); err != nil {
			return err
		}
	}
	return nil
}

// heads makes all snapshots without their changes.
func (h *history) heads() []snap.Snapshot {
	heads := make([]snap.Snapshot, len(h.cycles))
	for id := range snap.ID(h.size) {
		for i, s := range h.turnsOf(id) {
			of := &heads[s].Docs
			if h.isPage(id) {
				of = &heads[s].Pages
			}
			*of += 1 - 2*(i&1) // it comes, it goes, it comes
		}
	}
	var before []snap.ID
	for s := range heads {
		x := &heads[s]
		x.Time, x.Commit = h.cycles[s].at, fmt.Sprint("cycle ", h.cycles[s].cycle)
		if s > 0 {
			x.Pages += heads[s-1].Pages
			x.Docs += heads[s-1].Docs
		}
		well := []snap.ID{}
		for _, id := range h.well {
			if h.alive(id, s) {
				well = append(well, id)
			}
		}
		if !slices.Equal(well, before) {
			x.WellKnown = well
		}
		before = well
	}
	return heads
}

// changes writes those of the first snapshot to first and those of later ones to later.
func (h *history) changes(first io.Writer, later *streams) error {
	cursor := h.v.Cursor()
	defer cursor.Close()
	var m memory
	due := make([]uint64, (len(h.cycles)+63)/64)
	mark := func(s int) {
		if s < len(h.cycles) {
			due[s/64] |= 1 << (s % 64)
		}
	}
	var before, links []snap.ID
	var line []byte
	return h.docs(func(d *store.Doc) error {
		id := h.entry(d.ID).id()
		if len(h.turnsOf(id)) == 0 {
			return nil
		}
		var l life
		var err error
		if l.visits, err = m.readVisits(cursor, d); err != nil {
			return err
		}
		if l.links, err = m.readLinks(cursor, d); err != nil {
			return err
		}
		_, is, _ := h.of(d)
		for i := range l.visits {
			mark(h.snapshot(l.visits[i].Cycle))
		}
		for _, x := range l.links {
			mark(h.snapshot(x.since))
			for _, to := range x.to {
				if e := h.entry(to); e != 0 && !e.stays() {
					for _, s := range h.turnsOf(e.id()) {
						mark(int(s))
					}
				}
			}
		}
		was, wasFlag := false, snap.Page
		before = before[:0]
		for w := range due {
			for ; due[w] != 0; due[w] &= due[w] - 1 {
				s := w*64 + bits.TrailingZeros64(due[w])
				l.live(h.cycles[s].cycle)
				c := snap.Change{ID: id, Flag: l.flag(is)}
				stream := 2*s + 1
				links = links[:0]
				if l.alive {
					links = h.linksIn(s, id, l.to, links)
				}
				switch {
				case !l.alive && !was:
					continue
				case !l.alive:
					c.Op = snap.Gone
					stream = 2 * s
				case !was:
					c.Op, c.Gain = snap.Added, links
				case c.Flag != wasFlag || !slices.Equal(links, before):
					c.Op, c.Drop, c.Gain = snap.Links, snap.Difference(before, links), snap.Difference(links, before)
				case l.changed:
					c.Op = snap.Content
				default:
					continue
				}
				was, wasFlag = l.alive, c.Flag
				before, links = links, before
				line = c.Append(line[:0])
				if s == 0 {
					_, err = first.Write(line)
				} else {
					err = later.add(stream, line)
				}
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// isPage reports whether a document is a page rather than a feed or sitemap.
func (h *history) isPage(id snap.ID) bool { return int(id) < h.size-len(h.others) }

// entry returns that of a document of the store, which may be younger than the history.
func (h *history) entry(id graph.Node) entry {
	if int(id) >= len(h.entries) {
		return 0
	}
	return h.entries[id]
}

// linksIn appends to links the numbers of those documents that are there in a snapshot, ascending,
// each once, without the one that links to them.
func (h *history) linksIn(s int, from snap.ID, to []graph.Node, links []snap.ID) []snap.ID {
	for _, node := range to {
		e := h.entry(node)
		if id := e.id(); e != 0 && id != from && (e.stays() || h.alive(id, s)) {
			links = append(links, id)
		}
	}
	slices.Sort(links)
	return slices.Compact(links)
}

// memory is what visits and links of a document are read into, and then those of the next one.
type memory struct {
	visits  []store.Visit
	links   []version
	targets []graph.Node
}

// readVisits reads the visits of a document. They are valid until the next call.
func (m *memory) readVisits(cursor *store.Cursor, d *store.Doc) ([]store.Visit, error) {
	m.visits = m.visits[:0]
	err := cursor.Visits(d, func(x store.Visit) bool { m.visits = append(m.visits, x); return true })
	return m.visits, err
}

// readLinks reads all versions of a document's links, the first one first. They are valid until the
// next call.
func (m *memory) readLinks(cursor *store.Cursor, d *store.Doc) ([]version, error) {
	m.links, m.targets = m.links[:0], m.targets[:0]
	err := cursor.LinkHistory(d.ID, func(c store.Cycle, links []store.Link) bool {
		x := version{since: c}
		begin := len(m.targets)
		for i := range links {
			m.targets = append(m.targets, links[i].To)
			x.refreshes = x.refreshes || links[i].Kind == store.ViaRefresh
		}
		x.to = m.targets[begin:]
		m.links = append(m.links, x)
		return true
	})
	slices.Reverse(m.links) // the store tells the latest first
	return m.links, err
}
