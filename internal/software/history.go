package software

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Start is when every site is visited first: what is dated before it was there.
var Start = time.Date(2026, 3, 2, 6, 0, 0, 0, time.UTC)

// Week is the time in which a site changes as Config says.
const Week = 7 * 24 * time.Hour

// An item is what a content page is about: a post, an article, a ticket, a product, a file. It
// keeps its number through renames. Times are seconds since the epoch.
type item struct {
	n         int // from 1, by time of publication
	published int64
	names     []name  // ascending by time, the first from its publication on
	edits     []int64 // ascending
	deleted   int64   // 0: never
	gone      ending
	moved     ending // what becomes of the URL of an earlier name
	seed      uint64 // of its text, and of what else it has
}

type name struct {
	since int64
	words []string // lower case
}

// An ending is what an address answers when what was there has gone or moved, in software that
// leaves that to its configuration.
type ending uint8

const (
	notFound ending = iota // 404
	removed                // 410
	soft                   // 200, and a text that says so
	redirected
)

func (it *item) lives(now int64) bool {
	return it.published <= now && (it.deleted == 0 || it.deleted > now)
}

// name returns the words of the name that it has at a time, and which of its names that is.
func (it *item) name(now int64) ([]string, int) {
	i := len(it.names) - 1
	for i > 0 && it.names[i].since > now {
		i--
	}
	return it.names[i].words, i
}

func (it *item) title(now int64) string {
	w, _ := it.name(now)
	return strings.ToUpper(w[0][:1]) + w[0][1:] + " " + strings.Join(w[1:], " ")
}

// slug is the name in the form sep joins, as in "/a-word-and-more/".
func (it *item) slug(now int64, sep string) string {
	w, _ := it.name(now)
	return strings.Join(w, sep)
}

// revision counts the edits up to a time.
func (it *item) revision(now int64) int {
	n, _ := slices.BinarySearch(it.edits, now+1)
	return n
}

// touched is when it was last changed, up to a time.
func (it *item) touched(now int64) int64 {
	t := it.published
	if r := it.revision(now); r > 0 {
		t = it.edits[r-1]
	}
	for _, n := range it.names {
		if n.since <= now {
			t = max(t, n.since)
		}
	}
	return t
}

// chance is a source for what the item has for good, such as its tags. Each salt is a sequence
// of its own.
func (it *item) chance(salt uint64) *rand.Rand { return rand.New(rand.NewPCG(it.seed, salt)) }

// paragraphs is its text after so many edits: each edit replaces one paragraph.
func (it *item) paragraphs(revision int) []string {
	r := it.chance(1)
	out := make([]string, 3+r.IntN(3))
	for i := range out {
		out[i] = sentences(r, 2+r.IntN(3))
	}
	for k := 1; k <= revision; k++ {
		e := it.chance(uint64(1000 + k))
		out[e.IntN(len(out))] = sentences(e, 2+e.IntN(3))
	}
	return out
}

// related are the items that the text of one links to at a time, of all items by number: mostly
// older ones, and newer ones only where it was edited after they were published. Some may be deleted
// by then.
func related(items []*item, it *item, now int64) []*item {
	r := it.chance(6)
	var out []*item
	add := func(to *item) {
		if to != it && to.published <= now && !slices.Contains(out, to) {
			out = append(out, to)
		}
	}
	for range 2 + r.IntN(5) {
		add(items[r.IntN(max(1, it.n-1))])
	}
	touched := it.touched(now)
	for _, to := range items[it.n:] {
		if to.published > touched {
			break
		}
		if to.chance(7).IntN(it.n+1) < 2 {
			add(to)
		}
	}
	return out
}

// A Config says how large a site is and how it changes. The zero value of a field means the
// default that Kinds gives for the kind, -1 none; where that gives -1, there is none.
type Config struct {
	Pages     int // content pages at Start
	Weeks     int // in which it changes
	Published int // content pages each week
	Deleted   int // of those there were at Start
	Renamed   int
	Edited    int
	Seed      uint64
}

// newHistory makes the items of a site. Items of before Start were published over two years and
// edited now and then; of them the weeks delete, rename and edit some, each at most once by the
// first two.
func newHistory(c Config) []*item {
	r := rand.New(rand.NewPCG(c.Seed, 7))
	start, week := Start.Unix(), int64(Week/time.Second)
	var items []*item
	used := map[string]bool{}
	words := func() []string {
		for {
			w := make([]string, 2+r.IntN(3))
			for i := range w {
				w[i] = vocabulary[r.IntN(len(vocabulary))]
			}
			if key := strings.Join(w, " "); !used[key] {
				used[key] = true
				return w
			}
		}
	}
	publish := func(at int64) {
		items = append(items, &item{published: at, names: []name{{at, words()}}, seed: r.Uint64()})
	}
	const before = 2 * 365 * 24 * 3600
	for range c.Pages {
		publish(start - 3600 - r.Int64N(before))
	}
	old := slices.Clone(items)
	for _, it := range old {
		for range r.IntN(4) {
			it.edits = append(it.edits, it.published+1+r.Int64N(start-it.published-1))
		}
	}
	r.Shuffle(len(old), func(i, j int) { old[i], old[j] = old[j], old[i] })
	take := func() *item {
		it := old[0]
		old = old[1:]
		return it
	}
	for k := range c.Weeks {
		begin := start + int64(k)*week
		// Not in the last hours: what is published is a while old when the week is over.
		within := func() int64 { return begin + 3600 + r.Int64N(week-6*3600) }
		for range c.Published {
			publish(within())
		}
		for i := range min(c.Deleted, len(old)) {
			it := take()
			it.deleted, it.gone = within(), ending(i%3)
		}
		for i := range min(c.Renamed, len(old)) {
			it := take()
			it.names = append(it.names, name{within(), words()})
			it.moved = []ending{redirected, notFound}[(i+k)%2]
		}
		for range min(c.Edited, len(old)) {
			it := old[r.IntN(len(old))]
			it.edits = append(it.edits, within())
		}
	}
	slices.SortFunc(items, func(a, b *item) int { return cmp.Compare(a.published, b.published) })
	for i, it := range items {
		it.n = i + 1
		slices.Sort(it.edits)
	}
	return items
}

// A state is a site at a time.
type state struct {
	now   int64
	items []*item // all that were published, by number
	live  []*item // newest first
}

func newState(items []*item, now int64) *state {
	st := &state{now: now}
	for _, it := range items {
		if it.published <= now {
			st.items = append(st.items, it)
			if it.lives(now) {
				st.live = append(st.live, it)
			}
		}
	}
	slices.Reverse(st.live)
	return st
}

// named returns the item that has, or in the past had, a name, and whether it has it now.
func (st *state) named(slug, sep string) (it *item, now bool) {
	for _, i := range st.items {
		for k, n := range i.names {
			if n.since <= st.now && strings.Join(n.words, sep) == slug {
				_, at := i.name(st.now)
				return i, k == at
			}
		}
	}
	return nil, false
}

// numbered returns the item with a number, nil for none.
func (st *state) numbered(n int) *item {
	if n < 1 || n > len(st.items) {
		return nil
	}
	return st.items[n-1]
}

// where returns the live items for which keep holds, newest first.
func (st *state) where(keep func(*item) bool) []*item {
	var out []*item
	for _, it := range st.live {
		if keep(it) {
			out = append(out, it)
		}
	}
	return out
}

// vocabulary are the words of all texts, which mean nothing.
var vocabulary = func() []string {
	r := rand.New(rand.NewPCG(1, 2))
	const consonants, vowels = "bcdfghklmnprstvz", "aeiou"
	seen := map[string]bool{}
	var out []string
	for len(out) < 800 {
		var w []byte
		for range 2 + r.IntN(2) {
			w = append(w, consonants[r.IntN(len(consonants))], vowels[r.IntN(len(vowels))])
		}
		if s := string(w); !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}()

func sentences(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		for i := range 6 + r.IntN(9) {
			w := vocabulary[r.IntN(len(vocabulary))]
			if i == 0 {
				w = strings.ToUpper(w[:1]) + w[1:]
			} else {
				b.WriteByte(' ')
			}
			b.WriteString(w)
		}
		b.WriteString(". ")
	}
	return strings.TrimSpace(b.String())
}
