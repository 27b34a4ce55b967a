package revisit

import "testing"

// TestLists names the list and the number of paths; an empty name means that the page is of
// no list.
func TestLists(t *testing.T) {
	var lists Lists
	names := map[int32]string{0: ""}
	for _, c := range []struct {
		path   string
		kind   Kind
		list   string
		number int
	}{
		{"/news/page/2/", HTML, "news", 2},
		{"/news/page/10/", HTML, "news", 10},
		{"/news/page/2", HTML, "news without a slash", 2},
		{"/tags/go/3.html", HTML, "go", 3},
		{"/tags/go/page3.html", HTML, "go, another name", 3},
		{"/tags/go/page-4.html", HTML, "go, a third", 4},
		{"/tags/go/4.html", HTML, "go", 4},
		{"/2019/", HTML, "years", 2019},
		{"/2020/05/", HTML, "", 0},
		{"/post-2.html", HTML, "", 0},
		{"/homepage2.html", HTML, "", 0},
		{"/page/", HTML, "", 0},
		{"/", HTML, "", 0},
		{"/99999999999999999999/", HTML, "", 0},
		{"/news/page/2/", Feed, "", 0},
	} {
		list, number := lists.Of(c.kind, c.path)
		if name, ok := names[list]; !ok {
			names[list] = c.list
		} else if name != c.list {
			t.Errorf("%s is of list %q, want %q", c.path, name, c.list)
		}
		if number != c.number {
			t.Errorf("%s has number %d, want %d", c.path, number, c.number)
		}
	}
	if len(names) != 7 {
		t.Errorf("%d lists, want 6", len(names)-1)
	}
}
