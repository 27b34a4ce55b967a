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

// TestTemplates groups paths: those of one line are of one template, and no others.
func TestTemplates(t *testing.T) {
	var templates Templates
	known := make(map[int32]int)
	for line, paths := range [][]string{
		{"/2019/05/a.html", "/2020/11/b.html", "/1/2/3.html"},
		{"/2019/05/a/", "/2020/11/b/"},
		{"/2019/05/a", "/2020/11/b", "/2020/11/v1.2", "/2020/11/release-1.10.0", "/2020/11/a.longest"},
		{"/2019/05/a.htm"},
		{"/a.html", "/b.html?x=1.5"},
		{"/"},
		{"/a/", "/b/"},
		{"/blog/a.html"},
	} {
		for _, path := range paths {
			n := templates.Of(HTML, path)
			if got, ok := known[n]; ok && got != line {
				t.Errorf("%s is of the template of line %d, want %d", path, got, line)
			}
			if path != paths[0] && n != templates.Of(HTML, paths[0]) {
				t.Errorf("%s is not of the template of %s", path, paths[0])
			}
			known[n] = line
		}
	}
	if templates.Of(Feed, "/a.html") == templates.Of(HTML, "/a.html") {
		t.Error("a feed is of the template of pages")
	}
}
