package scope

import (
	"forage/graph"
	"forage/store"
)

// A list may name any number of URLs that are not there. So a first visit keeps count, for each
// list that nothing but robots.txt or a page led to, of what only it and the lists that it
// names led to: while less than a twentieth of that answers, the rest is put off until nothing
// else is left to be fetched. Nothing is dropped, as a list may be wrong in parts. An explorer's
// order and cycles of discovery, which follow what is new at once, are not changed.
const (
	MinTried   = 100  // answers before a list is doubted
	minAnswers = 1000 // answers before all lists of a site together are
	minShare   = 20   // one in so many must be there
	Untried    = 10   // lists read of an index of which less than MinTried URLs have been tried
)

// A trial counts what came of the URLs of a list.
type trial struct {
	url                 string // of the list
	tried, there, lists int
}

func (t *trial) failed(least int) bool { return t.tried >= least && t.there*minShare < t.tried }

// Lists holds the trials of a site's lists. The zero value has met none.
type Lists struct {
	Doc     func(graph.Node) (*store.Doc, error) // what is known of a document
	Over    bool                                 // nothing else is left: nothing is put off any more
	Suspect bool                                 // a list has named little that is there so far

	root   map[graph.Node]graph.Node // list by list: the one that led to it in the end
	trials map[graph.Node]*trial     // by root
	all    trial
}

// Listed reports whether a list alone led to d.
func Listed(d *store.Doc) bool {
	return (d.Via == store.ViaSitemap || d.Via == store.ViaFeed) && d.FoundOn != graph.None
}

// trial returns the count that d belongs to; nil: none. O(1), O(depth) for a list's first URL.
func (l *Lists) trial(d *store.Doc) (*trial, error) {
	if !Listed(d) {
		return nil, nil
	}
	if l.trials == nil {
		l.root, l.trials = map[graph.Node]graph.Node{}, map[graph.Node]*trial{}
	}
	root, ok := l.root[d.FoundOn]
	if !ok {
		root = d.FoundOn
		for {
			by, err := l.Doc(root)
			if err != nil {
				return nil, err
			}
			if !Listed(by) || by.FoundOn >= root { // a document has a higher number than what led to it
				break
			}
			root = by.FoundOn
		}
		l.root[d.FoundOn] = root
	}
	t := l.trials[root]
	if t == nil {
		d, err := l.Doc(root)
		if err != nil {
			return nil, err
		}
		t = &trial{url: d.URL}
		l.trials[root] = t
	}
	return t, nil
}

// Tried counts the answer to a request for d.
func (l *Lists) Tried(d *store.Doc) error {
	t, err := l.trial(d)
	if t == nil {
		return err
	}
	if d.IsList() {
		t.lists++
		return nil
	}
	t.tried++
	l.all.tried++
	if d.Alive() && d.Kind != store.Soft404 || d.Kind == store.Redirect {
		t.there++
		l.all.there++
	}
	l.Suspect = l.Suspect || t.failed(1)
	return nil
}

// Doubt returns why d, which is to be fetched, is better put off, for people; "" if it is not.
func (l *Lists) Doubt(d *store.Doc) (why string, err error) {
	if l.Over {
		return "", nil
	}
	t, err := l.trial(d)
	if t == nil || !t.failed(MinTried) && !l.all.failed(minAnswers) && !(d.Main && t.lists >= Untried && t.tried < MinTried) {
		return "", err
	}
	return "little of what " + t.url + " lists is there: the rest is fetched after all else", nil
}
