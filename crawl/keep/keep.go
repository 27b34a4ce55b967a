// Package keep bounds the pages whose links and validators a store keeps. Package retain decides
// which, from the links of everything fetched; this one brings its decisions into the store.
//
// Start with Open. A nil Keeper keeps all pages. Its methods are for the goroutine that writes
// to the store.
package keep

import (
	"cmp"
	"errors"
	"hash/fnv"

	"forage/graph"
	"forage/retain"
	"forage/store"
)

// A Keeper decides which pages keep their links and validators; feeds and sitemaps always do.
type Keeper struct {
	retain.Buffer
	db    *store.DB
	doc   func(graph.Node) (*store.Doc, error)
	hosts bool // links count once a host, not once a page
}

// Open takes the decision up where the last run left it, and brings it together with what the
// store holds: a run may have been killed, or have kept everything. It returns nil for pages = 0,
// which keeps all. doc tells what is known of a document; rule "" is the default. O(pages of the store).
func Open(db *store.DB, doc func(graph.Node) (*store.Doc, error), pages int, rule retain.KeepRule) (*Keeper, error) {
	if pages <= 0 {
		return nil, nil
	}
	rule = cmp.Or(rule, retain.KeepRules()[0])
	sites, err := db.Sites()
	if err != nil {
		return nil, err
	}
	k := &Keeper{db: db, doc: doc, hosts: len(sites) > 1}
	state, err := db.Kept()
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if err == nil {
		// A state that cannot be read, of another size, or by another rule, is made anew from the links.
		if b, err := retain.Restore(state); err == nil && b.Limit() == pages && b.Rule() == rule {
			k.Buffer = b
		}
	}
	fresh := k.Buffer == nil
	if fresh {
		if k.Buffer, err = retain.NewBuffer(rule, pages); err != nil {
			return nil, err
		}
	}
	var held []*store.Doc
	have := map[graph.Node]bool{}
	if err := db.Docs(func(d *store.Doc) bool {
		if d.IsPage() && d.LinksOf != 0 {
			held = append(held, &store.Doc{ID: d.ID, URL: d.URL, LinksOf: d.LinksOf})
			have[d.ID] = true
		}
		return true
	}); err != nil {
		return nil, err
	}
	if fresh {
		for _, d := range held {
			links, err := db.Links(d)
			if err != nil {
				return nil, err
			}
			k.votes(d, links)
		}
	}
	for _, v := range k.Pages(nil) {
		if !have[v] {
			k.Forget(v)
		}
	}
	for i, d := range held {
		if err := k.place(d.ID, nil); err != nil {
			return nil, err
		}
		if i%10000 == 9999 {
			if err := db.Commit(); err != nil {
				return nil, err
			}
		}
	}
	return k, nil
}

// Linked counts the links of d, which was just fetched, and has the decision on it made.
func (k *Keeper) Linked(d *store.Doc, links []store.Link) error {
	if k == nil {
		return nil
	}
	k.votes(d, links)
	if d.IsPage() {
		return k.place(d.ID, d)
	}
	return nil
}

// place asks for a place for a page and evicts what has to go. d is the page's document where the
// caller will put it once more.
func (k *Keeper) place(id graph.Node, d *store.Doc) error {
	out, full := k.Fetched(id)
	if !full {
		return nil
	}
	if d == nil || out != id {
		var err error
		if d, err = k.doc(out); err != nil {
			return err
		}
	}
	return k.db.Evict(d)
}

// votes counts the links of a page to others of its site. In a store of several sites a host
// has one vote a page, so that it cannot vote for itself a thousand times; in that of one site
// each page has.
func (k *Keeper) votes(d *store.Doc, links []store.Link) {
	source := uint64(d.ID)
	if k.hosts {
		h := fnv.New64a()
		h.Write([]byte(store.HostOf(d.URL)))
		source = h.Sum64()
	}
	for _, l := range links {
		if !l.Off && l.To != d.ID {
			k.Vote(source, l.To)
		}
	}
}

// links returns how the links of kept pages are read: those to other pages of the site. A page is what
// has answered as one and is not gone, since nothing else can be kept.
func (k *Keeper) links() retain.Links {
	isPage := map[graph.Node]bool{} // each target is looked up once
	return func(v graph.Node, to []graph.Node) ([]graph.Node, error) {
		d, err := k.doc(v)
		if err != nil {
			return nil, err
		}
		links, err := k.db.Links(d)
		if err != nil {
			return nil, err
		}
		for _, l := range links {
			if l.Off || l.To == v {
				continue
			}
			page, known := isPage[l.To]
			if !known {
				target, err := k.doc(l.To)
				if err != nil && !errors.Is(err, store.ErrNotFound) { // a repair may have lost it
					return nil, err
				}
				page = err == nil && target.IsPage() && target.Gone == 0
				isPage[l.To] = page
			}
			if page {
				to = append(to, l.To)
			}
		}
		return to, nil
	}
}

// Save stores the decision. ended: the work that it was about has come to its end, which ends a
// round of it.
func (k *Keeper) Save(ended bool) error {
	if k == nil {
		return nil
	}
	if ended {
		if _, err := k.EndRound(k.links()); err != nil {
			return err
		}
	}
	state, err := k.AppendBinary(nil)
	if err != nil {
		return err
	}
	return k.db.PutKept(state)
}
