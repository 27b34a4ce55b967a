package document

import (
	"regexp"
	"slices"

	"forage/store"
)

// Sizes by which pages are told apart, in bytes of text. They are definitions; what they come to
// on generated sites of several kinds is in the test of the classes.
const (
	paragraph = 80  // a block of so much is there to be read
	little    = 300 // a page of less, without a paragraph, says nothing by itself
	minItems  = 3   // of a list
)

// Class says what a page is for, by its layout alone. repeats is how many other pages are known
// to have one of its rows as it is, as all have a menu: that makes none of them a list. O(rows).
//
//   - redirect: it leads away by meta refresh.
//   - list: at least as much of its text is in a row of links, from the first to the last of
//     them, as is not, and twice as much as stands in front of it; or it begins with the title of
//     another page; or two thirds of its text is in links. So are front pages of blogs,
//     archives, categories, tables of contents, histories, search results.
//   - form: it has fields to be filled in, and next to nothing to be read, or wants to be in no
//     index: logins, editors, reports.
//   - content: everything else.
func (c *Content) Class(repeats func(row uint64) int) store.Class {
	l := &c.Layout
	if c.Stub {
		return store.RedirectPage
	}
	linked := l.Linked // in links that other pages have not
	for i := range l.Rows {
		r := &l.Rows[i]
		n := repeats(r.Digest)
		switch {
		case r.Links >= minItems && r.Text+r.Between >= max(l.Text-r.Between, 2*r.Before) && n < maxRepeats,
			r.Links > 0 && r.Titles && r.Before*4 <= l.Text && n == 0:
			return store.ListPage
		case n >= maxRepeats:
			linked -= r.Text
		}
	}
	if len(c.Links) > 0 && linked >= max(2*l.Text, little) {
		return store.ListPage
	}
	if l.Fields >= 2 && (c.NoIndex || l.Longest < paragraph && l.Text < little) {
		return store.FormPage
	}
	return store.ContentPage
}

// notFound finds the words by which pages say that what was there is not, in their titles.
var notFound = regexp.MustCompile(`(?i)\b(404|410|gone|deleted|removed|no longer|not? (be )?found|not exist|not available|nothing here)\b`)

// SaysGone reports whether a title says that what was there is not. It is a hint only, for pages
// that lists have dropped.
func SaysGone(title string) bool { return notFound.MatchString(title) }

// SaysGone reports whether the title of the page does.
func (c *Content) SaysGone() bool { return c.Kind == store.Page && SaysGone(c.Title) }

// maxRepeats is on how many other pages a row of a list may stand, as where two tags have the
// same posts; a menu stands on more.
const maxRepeats = 3

// Rows remembers which rows of links pages have in common.
type Rows struct {
	Common []uint64       // that stand on more than maxRepeats pages, at most maxCommon
	seen   map[uint64]int // pages by row, maxRows at most
}

const (
	maxCommon = 32
	maxRows   = 1 << 12
)

// Counts returns what Learn took in: each row as often as it was seen.
func (r *Rows) Counts() (rows []uint64) {
	for row, n := range r.seen {
		for range n {
			rows = append(rows, row)
		}
	}
	slices.Sort(rows)
	return rows
}

// Count takes in what Counts returned.
func (r *Rows) Count(rows []uint64) {
	for _, row := range rows {
		r.see(row)
	}
}

// Repeats is how many pages are known to have a row, by its digest.
func (r *Rows) Repeats(row uint64) int {
	if slices.Contains(r.Common, row) {
		return maxRepeats + 1
	}
	return r.seen[row]
}

// Learn takes in the rows of a page. Where there is no room, rows that were not seen before are
// passed over: menus are on the first pages.
func (r *Rows) Learn(c *Content) {
	for i := range c.Layout.Rows {
		r.see(c.Layout.Rows[i].Digest)
	}
}

func (r *Rows) see(row uint64) {
	n, known := r.seen[row]
	if !known && len(r.seen) >= maxRows {
		return
	}
	if r.seen == nil {
		r.seen = map[uint64]int{}
	}
	if r.seen[row] = n + 1; n+1 == maxRepeats+1 && len(r.Common) < maxCommon && !slices.Contains(r.Common, row) {
		r.Common = append(r.Common, row)
	}
}
