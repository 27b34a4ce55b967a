package export

import (
	"errors"
	"math"
	"slices"

	"forage/archive"
	"forage/graph"
	"forage/internal/atomicfile"
	"forage/store"
)

// Tables tell what Parquet writes. The zero value is all that a store has.
type Tables struct {
	Keep func(*store.Doc) bool // of the documents; asked once for each. nil: all

	// What came to be known before is left out, if one of these is set:
	Cycle store.Cycle // in cycles before this one
	Time  store.Time  // before this time; not asked where Cycle is set

	Archive *archive.Reader   // nil: there are no captures
	Note    func(text string) // told what of the archive cannot be read
}

// Parquet writes the tables of a store to a new folder, as Parquet: sites, pages, links, visits, cycles, refetches and events, and with
// an archive captures. docs/tables.md tells what is in them. Documents for which Keep is false are in none of them, and no row leads to one.
//
// v must be a snapshot, or of a store that nobody writes to. The folder is there whole or not at all; the same store
// makes the same bytes. Memory: the names of the sites, what tables take, 44 bytes a page for
// which of them say nearly the same, with Keep a bit a document, and with an archive what CDXJ takes. Errors: one
// that wraps fs.ErrExist where dir is there and not empty; those of v, of the files and of CDXJ.
func Parquet(v *store.View, dir string, what Tables) (w Written, err error) {
	err = atomicfile.CreateFolder(dir, func(part string) error {
		x := &tables{Tables: what, v: v, folder: part, w: &w}
		return x.write()
	})
	if err != nil {
		return Written{}, err
	}
	return w, nil
}

// tables is one call of Parquet.
type tables struct {
	Tables
	v      *store.View
	folder string
	w      *Written

	names []string // of the sites, by number
	left  docSet   // documents that Keep leaves out
	near  []pair   // pages that say nearly what an earlier one does, by their numbers
}

func (x *tables) write() error {
	var err error
	if x.left, err = leftOut(x.v, x.Keep, nil); err != nil {
		return err
	}
	if err := x.sites(); err != nil {
		return err
	}
	if err := x.documents(); err != nil {
		return err
	}
	if err := x.cycles(); err != nil {
		return err
	}
	if err := x.refetches(); err != nil {
		return err
	}
	if err := x.events(); err != nil {
		return err
	}
	if x.Archive == nil {
		return nil
	}
	return x.captures()
}

// has reports whether a document is in the tables, as far as Keep decides.
func (x *tables) has(id graph.Node) bool { return !x.left.has(id) }

// node is the number of a document as a column that may be null has it.
func (x *tables) node(id graph.Node) *uint32 {
	if id == graph.None || !x.has(id) {
		return nil
	}
	n := uint32(id)
	return &n
}

// nodes returns those of all that are in the tables. It may be all.
func (x *tables) nodes(all []graph.Node) []graph.Node {
	if x.left == nil {
		return all
	}
	return slices.DeleteFunc(all, func(id graph.Node) bool { return !x.has(id) })
}

// began is from when on what has a time and no cycle is told.
func (x *tables) began() (at store.Time, err error) {
	if x.Cycle == 0 {
		return x.Time, nil
	}
	at = math.MaxInt64 // there has been no such cycle
	err = x.v.Cycles(x.Cycle, func(c *store.CycleRecord) bool {
		at = c.At
		return false
	})
	return at, err
}

// recent reports whether what happened in a cycle, at a time, is to be told.
func (x *tables) recent(c store.Cycle, at store.Time) bool {
	if x.Cycle != 0 {
		return c >= x.Cycle
	}
	return x.Time == 0 || at >= x.Time
}

// recentDoc is recent for a document: it was found, fetched, or told to have moved.
func (x *tables) recentDoc(d *store.Doc) bool {
	return x.recent(d.Cycle, d.Discovered) || x.recent(d.FetchedIn, d.LastFetched) || x.recent(d.MovedIn, d.Moved)
}

// sites writes all sites, and keeps their names.
func (x *tables) sites() error {
	t, err := newTable[siteRow](x.folder, "sites")
	if err != nil {
		return err
	}
	defer t.discard()
	var failed error
	err = x.v.SitesFrom(0, func(s *store.Site) bool {
		for len(x.names) <= int(s.ID) {
			x.names = append(x.names, "")
		}
		x.names[s.ID] = valid(s.Name)
		failed = x.site(t, s)
		return failed == nil
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	return t.close(x.w)
}

func (x *tables) site(t *table[siteRow], s *store.Site) error {
	counters, err := x.v.Counters(s.ID)
	if err != nil {
		return err
	}
	past, err := x.v.PastCycles(s.ID)
	if err != nil {
		return err
	}
	return t.add(newSiteRow(s, counters, past.Cycles))
}

// name is that of a site.
func (x *tables) name(id store.SiteID) string {
	if int(id) < len(x.names) {
		return x.names[id]
	}
	return ""
}

// documents writes pages, links and visits, each document once.
func (x *tables) documents() error {
	pages, err := newTable[pageRow](x.folder, "pages")
	if err != nil {
		return err
	}
	defer pages.discard()
	links, err := newTable[linkRow](x.folder, "links")
	if err != nil {
		return err
	}
	defer links.discard()
	visits, err := newTable[visitRow](x.folder, "visits")
	if err != nil {
		return err
	}
	defer visits.discard()
	if err := x.findNear(); err != nil {
		return err
	}
	c := x.v.Cursor()
	defer c.Close()
	var failed error
	err = c.Docs(func(d *store.Doc) bool {
		if !x.has(d.ID) {
			return true
		}
		var linksAt store.Time
		if x.recentDoc(d) {
			row := newPageRow(d, x.name(d.Site), x.node)
			row.Near = x.nearPage(d.ID)
			failed = pages.add(row)
		}
		if failed == nil {
			linksAt, failed = x.visits(visits, c, d)
		}
		if failed == nil && x.recent(d.LinksOf, linksAt) {
			failed = x.links(links, c, d)
		}
		return failed == nil
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	for _, close := range []func(*Written) error{pages.close, links.close, visits.close} {
		if err := close(x.w); err != nil {
			return err
		}
	}
	return nil
}

// visits writes the visits of a document, and returns when the one was that its links are of.
func (x *tables) visits(t *table[visitRow], c *store.Cursor, d *store.Doc) (linksAt store.Time, err error) {
	linksAt = math.MaxInt64 // where that is not known, they are told
	var failed error
	err = c.Visits(d, func(v store.Visit) bool {
		if v.Cycle == d.LinksOf {
			linksAt = v.At
		}
		if x.recent(v.Cycle, v.At) {
			failed = t.add(newVisitRow(d, v))
		}
		return failed == nil
	})
	return linksAt, errors.Join(err, failed)
}

// links writes the links of a document, in their order.
func (x *tables) links(t *table[linkRow], c *store.Cursor, d *store.Doc) error {
	links, err := c.Links(d)
	if err != nil {
		return err
	}
	for i, l := range links {
		if !x.has(l.To) {
			continue
		}
		if err := t.add(linkRow{
			From: uint32(d.ID), Position: int32(i), To: uint32(l.To), Kind: l.Kind.String(), NoFollow: l.NoFollow, Outside: l.Off, Place: l.Place, Cycle: int32(d.LinksOf),
		}); err != nil {
			return err
		}
	}
	return nil
}

// cycles writes those that were not condensed, by their numbers.
func (x *tables) cycles() error {
	t, err := newTable[cycleRow](x.folder, "cycles")
	if err != nil {
		return err
	}
	defer t.discard()
	var failed error
	err = x.v.Cycles(0, func(c *store.CycleRecord) bool {
		if c.Ended == 0 || x.recent(c.Cycle, c.Ended) {
			failed = t.add(newCycleRow(c, x.name(c.Site)))
		}
		return failed == nil
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	return t.close(x.w)
}

// refetches writes those of cycles that were not condensed, by site, cycle and page.
func (x *tables) refetches() error {
	t, err := newTable[refetchRow](x.folder, "refetches")
	if err != nil {
		return err
	}
	defer t.discard()
	for id, name := range x.names {
		var failed error
		err := x.v.RefetchesFrom(store.SiteID(id), x.Cycle, func(c store.Cycle, f *store.Refetch) bool {
			if x.has(f.Page) && x.recent(c, f.At) {
				failed = t.add(newRefetchRow(c, f, name, x.nodes))
			}
			return failed == nil
		})
		if err := errors.Join(err, failed); err != nil {
			return err
		}
	}
	return t.close(x.w)
}

// events writes those that are kept, by their numbers.
func (x *tables) events() error {
	t, err := newTable[eventRow](x.folder, "events")
	if err != nil {
		return err
	}
	defer t.discard()
	from, err := x.began()
	if err != nil {
		return err
	}
	var failed error
	err = x.v.Events(0, func(e *store.Event) bool {
		recent := x.recent(e.Cycle, e.At) || e.Cycle == 0 && e.At >= from
		if recent && (e.Doc == graph.None || x.has(e.Doc)) {
			failed = t.add(newEventRow(e))
		}
		return failed == nil
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	return t.close(x.w)
}
