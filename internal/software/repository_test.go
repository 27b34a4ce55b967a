package software

import (
	neturl "net/url"
	"regexp"
	"testing"
	"time"
)

// latest finds the first commit that a log links to.
var latest = regexp.MustCompile(`commit[^"' ]*(id|h)=[0-9a-f]{40}`)

// TestFolderID: what names the contents of a folder changes when a file of it does, and only then.
func TestFolderID(t *testing.T) {
	s, err := New("gitweb", Config{})
	if err != nil {
		t.Fatal(err)
	}
	g := newRepository(s.items)
	names, changes := map[string]bool{}, 1
	const path = "hibi"
	for i, k := range g.commits {
		f := fileName(k.it, k.time)
		if !under(f, path) {
			if i > 0 && g.folderID(path, k.time) != g.folderID(path, k.time-1) {
				t.Fatalf("a commit to %s gives %s another name", f, path)
			}
		} else if changes++; g.folderID(path, k.time) == g.folderID(path, k.time-1) {
			t.Fatalf("a commit to %s leaves %s its name", f, path)
		}
		names[g.folderID(path, k.time)] = true
	}
	if changes < 10 || len(names) > changes {
		t.Errorf("%d changes give %d names", changes, len(names))
	}
	if later := Start.Add(100 * 52 * Week).Unix(); g.folderID(path, later) != g.folderID(path, later+3600) {
		t.Error("an hour gives it another name")
	}
}

// TestBranches: a branch that was left behind stays where it is.
func TestBranches(t *testing.T) {
	for _, kind := range []string{"cgit", "gitweb"} {
		s, err := New(kind, Config{})
		if err != nil {
			t.Fatal(err)
		}
		url := "/tool/log/?h=" + branch(1)
		if kind == "gitweb" {
			url = gwURL("shortlog", "h", "refs/heads/"+branch(1))
		}
		var at [2]string
		for i := range at {
			st := newState(s.items, Start.Add(time.Duration(i)*3*Week).Unix())
			u, err := neturl.Parse(url)
			if err != nil {
				t.Fatal(err)
			}
			at[i] = latest.FindString(s.server.answer(st, newRequest(u, "http://site.test", "", 0)).body)
		}
		if at[0] == "" || at[0] != at[1] {
			t.Errorf("%s: the latest commit of a branch is %q, and %q three weeks later", kind, at[0], at[1])
		}
	}
}
