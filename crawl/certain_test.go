package crawl

import (
	"crypto/sha1"
	"fmt"
	"strings"
	"testing"

	"forage/store"
)

// A repository of certain_test.go is what a front end of Git shows: commits, each of one file, which
// has an address in each of them.
type repository struct{ commits int }

func (r repository) id(n int) string { return fmt.Sprintf("%x", sha1.Sum(fmt.Append(nil, n))) }

// words are those of a text of its own, with a name.
func (r repository) words(kind string, n int) string {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "%s%c%c%c ", kind, 'a'+n/26%26, 'a'+n%26, 'a'+i%26)
	}
	return b.String()
}

// publish puts the pages of the repository on a web: the latest commits come first, and only those of the
// first visit have their files elsewhere, too.
func (r repository) publish(w *web, files int) {
	var log, links []string
	for n := r.commits - 1; n >= 0; n-- {
		id, file := r.id(n), page(r.words("f", n))
		w.set("/commit/?id="+id, page(r.words("c", n), fmt.Sprintf("/tree/f%d?id=%s", n, id), "/diff/?id="+id, "/patch/?id="+id))
		w.set("/diff/?id="+id, page(r.words("c", n)))
		w.set("/patch/?id="+id, page(r.words("c", n)))
		w.set(fmt.Sprintf("/tree/f%d?id=%s", n, id), file)
		w.set(fmt.Sprintf("/tree/f%d", n), file)
		log = append(log, "/commit/?id="+id)
		if n < files {
			links = append(links, fmt.Sprintf("/tree/f%d", n))
		}
	}
	w.set("/", page("log", append(log, links...)...))
}

// TestCertainlyNew: what has the name of a commit that nobody knew is new, though others that look like it
// were copies, so that they are left out; and of that some is tried, within the budget.
func TestCertainlyNew(t *testing.T) {
	const before, budget = 60, 4
	w := newWeb(t)
	r := repository{before}
	r.publish(w, before)
	c := open(t, func(cfg *Config) { cfg.Parallel = 1 })
	w.crawl(t, c, store.Rules{})
	left := 0
	for n := range before {
		if d := w.doc(t, c, fmt.Sprintf("/tree/f%d?id=%s", n, r.id(n))); d.State == store.Skipped {
			left++
		}
	}
	if left < before/2 {
		t.Fatalf("%d of %d copies are left out", left, before)
	}

	r.commits += 6
	r.publish(w, before)
	asked := w.total()
	w.revisit(t, c, budgeted(budget))
	for n := before; n < r.commits; n++ {
		if d := w.doc(t, c, fmt.Sprintf("/tree/f%d?id=%s", n, r.id(n))); d.New != store.IsNew || d.Kind != store.Page {
			t.Errorf("the file of commit %d is a %v, new %v", n, d.Kind, d.New)
		}
	}
	for n := range before {
		if d := w.doc(t, c, fmt.Sprintf("/tree/f%d?id=%s", n, r.id(n))); d.New == store.IsNew {
			t.Errorf("the file of commit %d is new, which the first visit knew", n)
		}
	}
	vain := 0
	for n := before; n < r.commits; n++ {
		vain += w.count("/diff/?id="+r.id(n)) + w.count("/patch/?id="+r.id(n))
	}
	if vain > budget {
		t.Errorf("%d copies were tried with a budget of %d", vain, budget)
	}
	t.Logf("%d requests, %d copies tried, %d left out by the first visit", w.total()-asked, vain, left)
}
