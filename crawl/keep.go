package crawl

import (
	"errors"
	"hash/fnv"

	"forage/graph"
	"forage/retain"
	"forage/store"
)

// A keeper bounds the pages whose links and validators the store keeps. Package retain
// decides which, from the links of everything fetched; feeds and sitemaps are always kept.
type keeper struct {
	*retain.Keeper
	hosts bool // links count once a host, not once a page
}

// openKeeper takes the decision up where the last run left it, and brings it together with what
// the store holds: a run may have been killed, or have kept everything.
func (e *engine) openKeeper() error {
	if e.cfg.MaxKept <= 0 {
		return nil
	}
	sites, err := e.db.Sites()
	if err != nil {
		return err
	}
	k := &keeper{hosts: len(sites) > 1}
	state, err := e.db.Kept()
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err == nil {
		// A state that cannot be read, or of another size, is made anew from the links.
		if k.Keeper, err = retain.Restore(state); err == nil && k.Config().Pages != e.cfg.MaxKept {
			k.Keeper = nil
		}
	}
	fresh := k.Keeper == nil
	if fresh {
		if k.Keeper, err = retain.NewKeeper(retain.KeeperConfig{Pages: e.cfg.MaxKept}); err != nil {
			return err
		}
	}
	e.keeper = k
	var held []*store.Doc
	have := map[graph.Node]bool{}
	if err := e.db.Docs(func(d *store.Doc) bool {
		if d.IsPage() && d.LinksOf != 0 {
			held = append(held, &store.Doc{ID: d.ID, URL: d.URL, LinksOf: d.LinksOf})
			have[d.ID] = true
		}
		return true
	}); err != nil {
		return err
	}
	if fresh {
		for _, d := range held {
			links, err := e.db.Links(d)
			if err != nil {
				return err
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
		if err := e.place(d.ID, nil); err != nil {
			return err
		}
		if i%10000 == 9999 {
			if err := e.db.Commit(); err != nil {
				return err
			}
		}
	}
	return nil
}

// bound counts the links of d, which was just fetched, and lets retain decide on it.
func (e *engine) bound(d *store.Doc, links []store.Link) {
	if e.keeper == nil {
		return
	}
	e.keeper.votes(d, links)
	if d.IsPage() {
		e.fail(e.place(d.ID, d))
	}
}

// place asks for a place for a page and evicts what has to go. d is the page's document where the
// caller will put it once more.
func (e *engine) place(id graph.Node, d *store.Doc) error {
	out, full := e.keeper.Fetched(id)
	if !full {
		return nil
	}
	if d == nil || out != id {
		var err error
		if d, err = e.db.Doc(out); err != nil {
			return err
		}
	}
	return e.db.Evict(d)
}

// votes counts the links of a page to others of its site. In a store of several sites a host
// has one vote a page, so that it cannot vote for itself a thousand times; in that of one site
// each page has.
func (k *keeper) votes(d *store.Doc, links []store.Link) {
	source := uint64(d.ID)
	if k.hosts {
		h := fnv.New64a()
		h.Write([]byte(hostOf(d.URL)))
		source = h.Sum64()
	}
	for _, l := range links {
		if !l.Off && l.To != d.ID {
			k.Vote(source, l.To)
		}
	}
}

// save stores the decision; the end of a cycle ends a round of it.
func (k *keeper) save(db *store.DB, ended bool) error {
	if k == nil {
		return nil
	}
	if ended {
		k.EndRound()
	}
	state, err := k.AppendBinary(nil)
	if err != nil {
		return err
	}
	return db.PutKept(state)
}
