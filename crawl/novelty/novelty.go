// Package novelty says which pages are new, which are gone, and which have moved. A page is new
// when it came to be after the site's first visit, and the crawl says so only where it knows:
//
//   - no: the first visit found it, or found a link to it;
//   - yes: an old page gained a link to it since its previous fetch, or a new page links to it;
//   - unknown: the same, but the first visit was partial, or left out URLs that look like it, so that
//     the page may have been there all along. Then it is new if what a document that was read
//     before has gained shows it (Gained), or a date of its own. Nor is a page new that repeats
//     what others say. Or a budgeted cycle found it as a stub, a page that leads away by
//     meta refresh: what may be new is its target, and that an address leads elsewhere now does
//     not show that anything was published. When it is a page of its own, it is new. In a full
//     recrawl new means not known before, so that stubs count like any page.
//
// A page is gone when it says so (Gone), and looked at for that when a list has dropped it (Dropped),
// or all lists that were read together (Sights).
// One that has come to another URL (Match) has moved, and is not new.
//
// The functions judge records of the store, and change no more than those they are given.
package novelty

import "forage/store"

// Of returns what is known of a document when a link to it is found in cycle c: by is
// the document with the link, nil for robots.txt and for URLs given by hand.
func Of(s *store.Site, c store.Cycle, by *store.Doc) store.Novelty {
	says := store.IsNew
	switch {
	case by == nil:
	case by.Site != s.ID:
		says = Told(by)
	case by.New == store.IsNew, by.Stub:
	case by.New == store.MaybeNew:
		says = store.MaybeNew
	case by.Cycle < c && by.LinksOf == 0 && !by.Evicted:
		says = store.MaybeNew // its earlier fetches failed: nobody knows what it linked to then
	}
	return By(s, c, says)
}

// By is Of where a link says of a document that it is new, or may be, as far as the site does not know better.
func By(s *store.Site, c store.Cycle, says store.Novelty) store.Novelty {
	switch {
	case c <= s.FirstCycle:
		return store.NotNew
	case s.Partial:
		return store.MaybeNew
	}
	return says
}

// Told is what a link by a document of another site says of what it leads to.
func Told(by *store.Doc) store.Novelty {
	switch {
	case by.New == store.IsNew, by.Stub:
		return store.IsNew
	case by.New == store.MaybeNew, by.LinksOf == 0: // where it was fetched for the first time its link may be old
		return store.MaybeNew
	}
	return store.IsNew
}

// Answered notes that d answers as a page or list, first for the first time, and as a stub or not,
// in a budgeted cycle or not. It reports whether that says of d if it is new. firstVisit is when
// the first visit of the site began.
func Answered(d *store.Doc, first, stub, budgeted bool, firstVisit store.Time) bool {
	switch {
	case first:
		if d.New = dated(d, firstVisit); d.New == store.IsNew && stub && budgeted {
			d.New, d.Stub = store.MaybeNew, true
		}
		return true
	case d.Stub && !stub:
		d.New, d.Stub = store.IsNew, false
		return true
	}
	return false
}

// Looks at a page that would be new but asks not to be listed.
const (
	maxLooks  = 6      // fetches in all
	firstLook = 86_400 // seconds until the second; each time twice as long until the next
	Listed    = 1 << 7 // Doc.Unlisted of a page that was listed in the end
)

// Unlisted notes that d, as a page that is there to be read, asks not to be listed, or does so no
// more, told if it is to be told of now. The site does not want it listed, so that it is not new, as
// forms and lists are not that software makes for any query. But some software asks so of pages of
// the first days, against spam, and such a page is new once it does not. It reports whether that is
// so, or told.
func Unlisted(d *store.Doc, noIndex, told bool) bool {
	waits := d.Unlisted > 0 && d.Unlisted < maxLooks
	switch {
	case noIndex && told && d.New == store.IsNew:
		if d.New = store.NotNew; d.Class == store.ContentPage {
			d.Unlisted = 1
		}
	case noIndex && waits:
		d.Unlisted++
	case !noIndex && waits:
		d.Unlisted, d.New = Listed, store.IsNew
		return true
	}
	return told
}

// DueUnlisted reports whether it is time to look whether d asks to be listed by now.
func DueUnlisted(d *store.Doc, now store.Time) bool {
	return d.Unlisted > 0 && d.Unlisted < maxLooks && now-d.LastFetched >= firstLook<<(d.Unlisted-1)
}

// dated decides an unknown newness by the page's date of publication, or by a date of change
// that lies before the first visit.
func dated(d *store.Doc, firstVisit store.Time) store.Novelty {
	switch {
	case d.New != store.MaybeNew:
	case d.Published != 0 && d.Published >= firstVisit:
		return store.IsNew
	case d.Published != 0, d.LastMod != 0 && d.LastMod < firstVisit:
		return store.NotNew
	}
	return d.New
}

// Gone notes an answer of 404 or 410 in cycle c, or a page that says the same. A document is gone
// at 410, or at 404 in two cycles while the site's root answers, or in one where a list has
// dropped it; the root is not gone because of a 404 of its own. What its links led to is not
// touched: that is fetched and judged by itself.
func Gone(d *store.Doc, status int, c store.Cycle, now store.Time, rootAnswers bool) {
	if d.GoneIn != c {
		d.GoneCycles++
		d.GoneIn = c
	}
	if d.Gone == 0 && (status == 410 || (d.GoneCycles >= 2 || d.Dropped > 0) && rootAnswers) {
		d.Gone = now
	}
	if d.Gone != 0 {
		Clear(d)
	}
}

// Back notes that d answers.
func Back(d *store.Doc) {
	d.Gone, d.GoneCycles, d.GoneIn = 0, 0, 0
	Clear(d)
}
