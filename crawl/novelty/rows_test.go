package novelty

import (
	"slices"
	"testing"

	"forage/graph"
	"forage/store"
)

// list is a row of links to documents, each named by a letter, at one place.
func list(kind store.LinkKind, place uint32, names string) []store.Link {
	var links []store.Link
	for _, c := range names {
		links = append(links, store.Link{To: graph.Node(c), Kind: kind, Place: place})
	}
	return links
}

func names(ids []graph.Node) string {
	var s string
	for _, id := range ids {
		s += string(rune(id))
	}
	return s
}

// TestRows: what the changes of a list say of its pages. Capitals were not known before.
func TestRows(t *testing.T) {
	for _, c := range []struct {
		what            string
		old, now        string
		gained, dropped string
		sitemap         bool
	}{
		{"nothing", "abcdef", "abcdef", "", "", false},
		{"new in front, the last falls off", "abcdef", "XYabcd", "XY", "", false},
		{"new behind", "abcdef", "abcdefX", "X", "", false},
		{"new in the middle, by the alphabet", "abcdef", "abcXde", "X", "f", false},
		{"one taken out, an older one comes into view", "abcdef", "abcefg", "", "d", false},
		{"the first taken out, an older one comes into view", "abcdef", "bcdefg", "", "a", false},
		{"one taken out, one that was never seen comes into view", "abcdef", "abcefX", "", "d", false},
		{"the first falls off a list that grows behind", "abcdef", "bcdefX", "", "", false},
		{"the last taken out of a list with room", "abcd", "abc", "", "d", false},
		{"one taken out of a list with room, two new behind", "abcd", "acdXY", "XY", "b", false},
		{"all is new", "abcd", "WXYZ", "", "", false},
		{"most has gone", "abcdef", "Xab", "", "", false},
		{"another order, as of what is read most", "abcdefgh", "hgfedXcb", "", "", false},
		{"one moved to the front, as where it was edited", "abcdef", "Xfabcde", "X", "", false},
		{"a sitemap in order of time, one taken out", "abcdef", "abdefX", "X", "c", true},
		{"a sitemap in no order", "abcdef", "fXdbac", "X", "e", true},
	} {
		kind := store.ViaAnchor
		if c.sitemap {
			kind = store.ViaSitemap
		}
		// A menu, which stays, stands beside the list; it has another place.
		menu := list(store.ViaAnchor, 1, "1234567")
		old, now := append(list(kind, 2, c.old), menu...), append(list(kind, 2, c.now), menu...)
		known := func(to graph.Node) bool { return to >= 'a' }
		if got := names(Gained(old, now)); got != c.gained {
			t.Errorf("%s: %s gained %q, want %q", c.what, c.now, got, c.gained)
		}
		if got := names(Dropped(old, now, known)); got != c.dropped {
			t.Errorf("%s: %s dropped %q, want %q", c.what, c.now, got, c.dropped)
		}
	}
}

// TestRowsApart: what a page links to elsewhere is not dropped, a row of its own is new where the
// rest of the page has stayed, and links off the site are none of its.
func TestRowsApart(t *testing.T) {
	two := func(a, b string) []store.Link { return append(list(0, 1, a), list(0, 2, b)...) }
	if got := names(Dropped(two("abcd", "xyz"), two("acd", "xbyz"), func(graph.Node) bool { return true })); got != "" {
		t.Errorf("%q dropped that stand in another row now", got)
	}
	if got := names(Gained(two("abcd", ""), two("abcd", "XY"))); got != "XY" {
		t.Errorf("%q of a row XY gained", got)
	}
	if got := names(Gained(two("abcd", ""), two("a", "XY"))); got != "" {
		t.Errorf("%q gained by a page of which nothing has stayed", got)
	}
	off := list(0, 1, "abcX")
	off[3].Off = true
	if got := names(Gained(list(0, 1, "abc"), off)); got != "" {
		t.Errorf("%q gained off the site", got)
	}
}

// TestMatch pairs pages that are gone with those that have their content.
func TestMatch(t *testing.T) {
	doc := func(id graph.Node, digest uint64, title string, p ...uint32) *store.Doc {
		d := &store.Doc{ID: id, Digest: digest, Title: title, DuplicateOf: graph.None}
		copy(d.Passages[:], p)
		return d
	}
	type docs = []*store.Doc
	for _, c := range []struct {
		what                string
		gone, fresh, others docs
		want                []graph.Node // pairs, one number after another
	}{
		{"a text", docs{doc(1, 11, "a", 5, 6)}, docs{doc(2, 12, "b", 7), doc(3, 13, "c", 9, 6)}, nil, []graph.Node{1, 3}},
		{"the body, of which there are copies", docs{doc(1, 11, "")}, docs{doc(2, 11, ""), doc(3, 11, "")}, nil, []graph.Node{1, 2}},
		{"a title, without texts", docs{doc(1, 11, "a")}, docs{doc(2, 12, "a")}, nil, []graph.Node{1, 2}},
		{"a title is not enough where there are texts", docs{doc(1, 11, "a", 5)}, docs{doc(2, 12, "a", 6)}, nil, nil},
		{"what all pages say", docs{doc(1, 11, "a", 5)}, docs{doc(2, 12, "b", 5)}, docs{doc(3, 13, "c", 5)}, nil},
		{"what several new pages say", docs{doc(1, 11, "a", 5)}, docs{doc(2, 12, "b", 5), doc(3, 13, "c", 5)}, nil, nil},
		{"what several pages said that are gone", docs{doc(1, 11, "a", 5), doc(4, 14, "d", 5)}, docs{doc(2, 12, "b", 5)}, nil, nil},
		{"each once", docs{doc(1, 11, "a", 5, 6)}, docs{doc(2, 12, "b", 5), doc(3, 13, "c", 6)}, nil, []graph.Node{1, 2}},
		{"nothing is nothing", docs{doc(1, 0, "")}, docs{doc(2, 0, "")}, nil, nil},
	} {
		var got []graph.Node
		for _, p := range Match(c.gone, c.fresh, c.others) {
			got = append(got, p.Gone.ID, p.Now.ID)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

// TestGone: one 404 is enough of a page that a list has dropped, if the site is there.
func TestGone(t *testing.T) {
	for _, c := range []struct {
		dropped, status, cycles int
		root, gone              bool
	}{
		{0, 404, 1, true, false}, {0, 404, 2, true, true}, {0, 404, 2, false, false}, {0, 410, 1, false, true},
		{1, 404, 1, true, true}, {1, 404, 1, false, false},
	} {
		d := &store.Doc{Dropped: c.dropped}
		for n := range c.cycles {
			Gone(d, c.status, store.Cycle(n+2), 100, c.root)
		}
		if (d.Gone != 0) != c.gone || c.gone && d.Dropped != 0 {
			t.Errorf("%+v: gone %d, dropped %d", c, d.Gone, d.Dropped)
		}
	}
}

// TestSights: of lists that are read together only that is missing which none of them names, though they
// name what stood beside it.
func TestSights(t *testing.T) {
	for _, c := range []struct {
		what  string
		lists [][2]string // before and now
		want  string
	}{
		{"a window that moved on", [][2]string{{"abcdef", "XYabcd"}}, ""},
		{"and the page of the list behind it", [][2]string{{"abcdef", "XYabcd"}, {"ghijkl", "efghij"}}, ""},
		{"of which one is gone that was pushed there", [][2]string{{"abcdefgh", "UVWXYZab"}, {"ijklmnop", "cdfghijk"}}, "e"},
		{"one that came to the front of another page", [][2]string{{"abcdef", "iabcde"}, {"ghijkl", "fghjkl"}}, ""},
		{"two beside each other", [][2]string{{"abcdef", "abef"}}, "cd"},
		{"the last one", [][2]string{{"abcdef", "abcde"}}, ""},
		{"a window that moved on, of which another list names some", [][2]string{{"abcdefgh", "XYZUVWab"}, {"ceg", "ceg"}}, ""},
		{"a list that is read for the first time", [][2]string{{"abcdef", "abdef"}, {"", "c"}}, ""},
		{"a copy stands for its page", [][2]string{{"abcdef", "abdef"}, {"", "C"}}, ""},
	} {
		var s Sights
		for _, l := range c.lists {
			s.Read(list(store.ViaAnchor, 2, l[0]), list(store.ViaAnchor, 2, l[1]), func(id graph.Node) graph.Node {
				if id == 'C' {
					return 'c'
				}
				return id
			})
		}
		if got := names(s.Missing()); got != c.want {
			t.Errorf("%s: %q is missing, want %q", c.what, got, c.want)
		}
	}
	var s Sights
	if s.Lost(list(store.ViaAnchor, 2, "abc"), list(store.ViaAnchor, 3, "ca")); !s.HasLost('b') || s.HasLost('a') || s.HasLost('c') {
		t.Error("a link is lost where no place of the document has it")
	}
}

// TestMatchCopies: copies of a new page do not make its texts those of several pages, and a page has not
// moved to a copy of its own.
func TestMatchCopies(t *testing.T) {
	doc := func(id, of graph.Node, p uint32) *store.Doc {
		return &store.Doc{ID: id, DuplicateOf: of, Digest: uint64(id), Passages: [2]uint32{p}}
	}
	gone := doc(1, graph.None, 5)
	if got := Match([]*store.Doc{gone}, []*store.Doc{doc(3, 2, 5), doc(2, graph.None, 5), doc(4, 2, 5)}, nil); len(got) != 1 || got[0].Now.ID != 2 {
		t.Errorf("%+v", got)
	}
	if got := Match([]*store.Doc{gone}, []*store.Doc{doc(3, 1, 5)}, nil); len(got) != 0 {
		t.Errorf("moved to a copy: %+v", got)
	}
	same := doc(3, 1, 5)
	if same.Digest = gone.Digest; len(Match([]*store.Doc{gone}, []*store.Doc{same}, nil)) != 1 {
		t.Error("not moved to where all of it is")
	}
}
