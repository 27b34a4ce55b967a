package ledger

import (
	"forage/graph"
	"forage/store"
)

// Unchanged returns the documents of which a dated list, just fetched, tells that they have not
// changed since they were fetched last. links are those of the list; nil: it was not modified.
//
// Whether what lists tell is true is for package revisit to find out.
func (l *Ledger) Unchanged(list *store.Doc, links []store.Link) ([]graph.Node, error) {
	var same []graph.Node
	if links == nil {
		var err error
		if links, err = l.book.DB.Links(list); err != nil {
			return nil, err
		}
	}
	for _, k := range links {
		if k.Off {
			continue
		}
		d, err := l.book.Doc(k.To)
		if err != nil {
			return nil, err
		}
		if d.Alive() && d.Reason == "" && d.FetchedIn != l.rec.Cycle && d.LastMod != 0 && before(d.LastMod, d.LastFetched) {
			same = append(same, d.ID)
		}
	}
	return same, nil
}

// before reports whether a change at a time that a list gives was over by then. Midnight, in
// whatever time zone, stands for a day, which ends within 36 hours of it.
func before(lastMod, then store.Time) bool {
	const quarter, day = 15 * 60, 24 * 60 * 60
	if lastMod%quarter == 0 {
		lastMod += day + day/2
	}
	return lastMod <= then
}
