package snap

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"forage/internal/race"
	"forage/internal/shared"
)

const small = "SNAP2\tx\to/n\tmain\t.\thttps://x.test/\n" +
	"U\t4\n/\n/a\n/b\n/feed.xml\n" +
	"S\t0\t100\tc0\t2\t1\nW 3\n+0 1\n+1 r 0\n+3 f 0 1\n" +
	"S\t1\t200\tc1\t2\t1\n-1\n*0 -1 2\n+2\n*3 f -1 2\n" +
	"S\t2\t200\tc2\t3\t0\nW\n-3\n+1 2\n~2\n" +
	"E\n"

// dated is a site that publishes /b, then takes /a down.
const dated = "SNAP3\tx\to/n\tmain\t.\thttps://x.test/\n" +
	"U\t4\n/\n/a\n/b\n/feed.xml\n" +
	"S\t0\t100\tc0\t2\t1\nW 3\n+0 1 3\n+1 0\nP 1 50\n+3 f 0 1\nL 3 0:60 1:50\n" +
	"S\t1\t200\tc1\t3\t1\n*0 2\n+2\nP 2 -86400\n*3 f 2\nL 3 0:- 1:150 2:200\n" +
	"S\t2\t300\tc2\t2\t1\n-1\n*0 -1\n*3 f -1\n" +
	"S\t3\t400\tc3\t2\t1\n~3\nL 3 0:390\n" +
	"E\n"

func zipped(text string) *bytes.Buffer {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return &b
}

func unzipped(t *testing.T, r io.Reader) string {
	t.Helper()
	z, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReadWalk(t *testing.T) {
	h, err := Read(zipped(small), "small")
	if err != nil {
		t.Fatal(err)
	}
	if h.NumPages() != 3 {
		t.Errorf("NumPages() = %d, want 3", h.NumPages())
	}
	s := h.At(1)
	if want := [][]ID{{2}, nil, nil, {0, 2}}; !reflect.DeepEqual(s.Links, want) {
		t.Errorf("At(1).Links = %v, want %v", s.Links, want)
	}
	if want := []int{1, 1, 1, 1}; !reflect.DeepEqual(s.Version, want) {
		t.Errorf("At(1).Version = %v, want %v", s.Version, want)
	}
	if want := []ID{3}; !reflect.DeepEqual(s.WellKnown, want) {
		t.Errorf("At(1).WellKnown = %v, want %v", s.WellKnown, want)
	}
	s = h.At(2)
	if len(s.WellKnown) != 0 || s.Alive[3] || !s.Alive[1] || s.Version[2] != 2 || s.Flag[1] != Page {
		t.Errorf("At(2) = %+v", s)
	}
}

// TestDates: dates stand until they are stated anew, taken back, or lose their link.
func TestDates(t *testing.T) {
	h, err := Read(zipped(dated), "dated")
	if err != nil {
		t.Fatal(err)
	}
	if !h.Dated {
		t.Error("Dated = false")
	}
	for k, want := range []struct {
		published []int64
		dates     map[ID]int64
	}{
		{[]int64{0, 50, 0, 0}, map[ID]int64{0: 60, 1: 50}},
		{[]int64{0, 50, -86400, 0}, map[ID]int64{1: 150, 2: 200}},
		{[]int64{0, 0, -86400, 0}, map[ID]int64{2: 200}},
		{[]int64{0, 0, -86400, 0}, map[ID]int64{0: 390, 2: 200}},
	} {
		s := h.At(k)
		if !reflect.DeepEqual(s.Published, want.published) || !reflect.DeepEqual(s.Dates[3], want.dates) {
			t.Errorf("At(%d): published %v, dates %v, want %v, %v", k, s.Published, s.Dates[3], want.published, want.dates)
		}
	}
}

// TestDated tells the two formats apart by the first line, whatever follows, and refuses what is neither.
func TestDated(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       bool
	}{{"weekly", small, false}, {"commits", dated, true}, {"cut short", dated[:strings.Index(dated, "U\t")], true}} {
		path := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(path, zipped(c.text).Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := Dated(path); err != nil || got != c.want {
			t.Errorf("Dated(%s) = %v, %v, want %v", c.name, got, err, c.want)
		}
	}
	for _, text := range []string{"SNAP9\tx\to/n\tmain\t.\thttps://x.test/\n", ""} {
		path := filepath.Join(t.TempDir(), "bad")
		if err := os.WriteFile(path, zipped(text).Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		var syntax *SyntaxError
		if _, err := Dated(path); !errors.As(err, &syntax) || syntax.Line != 1 {
			t.Errorf("Dated(%q): %v, want an error of line 1", text, err)
		}
	}
	if _, err := Dated(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestAdvance(t *testing.T) {
	h, err := Read(zipped(dated), "dated")
	if err != nil {
		t.Fatal(err)
	}
	s := h.Start()
	for _, step := range []struct {
		time int64
		k    int
	}{{99, -1}, {100, 0}, {299, 1}, {150, 1}, {1000, 3}, {2000, 3}} {
		if h.Advance(s, step.time); s.K != step.k {
			t.Errorf("Advance to %d: snapshot %d, want %d", step.time, s.K, step.k)
		}
	}
}

func TestWriteGivesBackWhatWasRead(t *testing.T) {
	for _, text := range []string{small, dated} {
		h, err := Read(zipped(text), "small")
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := Write(&b, h); err != nil {
			t.Fatal(err)
		}
		if got := unzipped(t, &b); got != text {
			t.Errorf("Write gives\n%s\nwant\n%s", got, text)
		}
	}
}

// rebuild appends the states of h one by one to a new history.
func rebuild(t *testing.T, h *History) *History {
	t.Helper()
	out := &History{Site: h.Site, Repo: h.Repo, Ref: h.Ref, Root: h.Root, Base: h.Base, URLs: h.URLs}
	var at *State
	h.Walk(func(s *State) bool {
		content := map[ID]bool{}
		for _, c := range h.Snapshots[s.K].Changes {
			content[c.ID] = c.Op == Content
		}
		var docs []Document
		for id, alive := range s.Alive {
			if alive {
				docs = append(docs, Document{ID(id), s.Flag[id], s.Links[id], content[ID(id)]})
			}
		}
		var err error
		if at, err = out.Append(at, s.Time, h.Snapshots[s.K].Commit, docs, s.WellKnown); err != nil {
			t.Fatal(err)
		}
		return true
	})
	return out
}

func TestAppendRebuilds(t *testing.T) {
	h, err := Read(zipped(small), "small")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, rebuild(t, h)); err != nil {
		t.Fatal(err)
	}
	if got := unzipped(t, &b); got != small {
		t.Errorf("rebuilt:\n%s\nwant\n%s", got, small)
	}
}

func TestReadRefuses(t *testing.T) {
	refuses(t, small, map[string]struct{ old, new, want string }{
		"no magic":            {"SNAP2", "SNAP1", "x:1: want a line SNAP2 or SNAP3"},
		"no count":            {"U\t4", "U\tfour", "x:2: want U and"},
		"relative path":       {"\n/a\n", "\na\n", "x:4: want a URL path"},
		"path twice":          {"\n/a\n", "\n/\n", "x:4: the path"},
		"unknown document":    {"+1 r 0", "+9 r 0", "x:10: document 9 is outside"},
		"unknown target":      {"+1 r 0", "+1 r 7", "x:10: document 7 is outside"},
		"target not there":    {"+1 r 0", "+1 r 2", "document 1 links to 2, which is not there"},
		"target gone":         {"*0 -1 2", "*0 2", "document 0 links to 1, which is gone"},
		"drops what is not":   {"*0 -1 2", "*0 -1 -2", "drops the link to 2"},
		"gains what is":       {"*0 -1 2", "*0 1 2", "gains the link to 1"},
		"added twice":         {"*0 -1 2", "+0 2", "there already"},
		"gone twice":          {"-1\n*0 -1 2", "-2\n*0 -1 2", "not there"},
		"order":               {"+0 1\n+1 r 0", "+1 r 0\n+0 1", "gone documents come first"},
		"gone late":           {"-1\n*0 -1 2", "*0 -1 2\n-1", "gone documents come first"},
		"links do not ascend": {"+3 f 0 1", "+3 f 1 0", "links ascend"},
		"new drops":           {"+3 f 0 1", "+3 f -0 1", "cannot drop"},
		"time runs back":      {"S\t1\t200", "S\t1\t99", "time 99 comes after 100"},
		"snapshot number":     {"S\t1\t200", "S\t2\t200", "want S, 1"},
		"count":               {"c1\t2\t1", "c1\t3\t1", "2 pages and 1 feeds and sitemaps, stated 3 and 1"},
		"no end":              {"E\n", "", "ends before its E line"},
		"text after end":      {"E\n", "E\nmore\n", "text after the E line"},
		"unknown line":        {"~2", "!2", "want a line that starts with"},
		"change before any S": {"S\t0\t100\tc0\t2\t1\n", "", "want a snapshot's S line"},
		"content with links":  {"~2", "~2 1", "want nothing after"},
		"dates":               {"~2\n", "~2\nL 3 1:50\n", "want a line that starts with"},
	})
}

func TestReadRefusesDates(t *testing.T) {
	refuses(t, dated, map[string]struct{ old, new, want string }{
		"of another":              {"P 1 50", "P 0 50", "x:11: P 0 is not below a change of 0"},
		"before any change":       {"W 3\n", "W 3\nP 0 50\n", "x:9: P 0 is not below"},
		"twice":                   {"P 1 50\n", "P 1 50\nP 1 51\n", "follows another line of dates"},
		"of a list itself":        {"L 3 0:60 1:50", "P 3 50", "only a page that is added"},
		"of a page that was":      {"*0 2\n", "*0 2\nP 0 70\n", "only a page that is added"},
		"by a page":               {"+1 0\nP 1 50", "+1 0\nL 1 0:50", "only feeds and sitemaps"},
		"of what is gone":         {"-1\n", "-1\nL 1 0:50\n", "only feeds and sitemaps"},
		"no time":                 {"P 1 50", "P 1", "want P, a document and a time"},
		"time zero":               {"P 1 50", "P 1 0", "want a time in seconds"},
		"no colon":                {"0:60", "60", "a colon and a time"},
		"not linked":              {"0:60 1:50", "0:60 1:50 2:70", "date of 2, to which it does not link"},
		"not ascending":           {"0:60 1:50", "1:50 0:60", "targets ascend"},
		"taken back before given": {"L 3 0:60 1:50", "L 3 0:- 1:50", "takes back the date of 0"},
		"link dropped":            {"*3 f -1\n", "*3 f -1\nL 3 1:90\n", "date of 1, to which it does not link"},
	})
}

// refuses checks that Read refuses text with each of the replacements.
func refuses(t *testing.T, text string, replace map[string]struct{ old, new, want string }) {
	t.Helper()
	for name, tt := range replace {
		if !strings.Contains(text, tt.old) {
			t.Fatalf("%s: %q is not in the text", name, tt.old)
		}
		_, err := Read(zipped(strings.Replace(text, tt.old, tt.new, 1)), "x")
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func TestReadRefusesTruncatedGzip(t *testing.T) {
	whole := zipped(small).Bytes()
	for cut := range whole {
		if _, err := Read(bytes.NewReader(whole[:cut]), "x"); err == nil {
			t.Errorf("the first %d of %d bytes read without error", cut, len(whole))
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(small)
	f.Add(dated)
	f.Fuzz(func(t *testing.T, text string) {
		h, err := Read(zipped(text), "x")
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := Write(&b, h); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&b, "again")
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if !reflect.DeepEqual(h, again) {
			t.Fatalf("read %+v, written and read again %+v", h, again)
		}
	})
}

// TestRealHistories: each third history of the data beside the project, with FORAGE_SITES=all each, is the same once it is
// read and written.
func TestRealHistories(t *testing.T) {
	names, _ := filepath.Glob(filepath.Join(shared.Path(t, "data", "sites"), "*.snap.gz"))
	if len(names) < 26 {
		t.Fatalf("%d histories, want at least 26", len(names))
	}
	dated, _ := filepath.Glob(filepath.Join(shared.Path(t, "data", "sites3"), "*.snap.gz"))
	if len(dated) < 52 {
		t.Fatalf("%d histories of commits, want at least 52", len(dated))
	}
	names = append(names, dated...)
	for i, name := range names {
		if i%3 != 0 && os.Getenv("FORAGE_SITES") != "all" {
			continue
		}
		t.Run(filepath.Base(filepath.Dir(name))+"/"+filepath.Base(name), func(t *testing.T) {
			if info, err := os.Stat(name); race.Enabled && err == nil && info.Size() > 50<<10 {
				t.Skip("only computes: short histories do under the race detector")
			}
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			want := unzipped(t, f)
			h, err := Open(name)
			if err != nil {
				t.Fatal(err)
			}
			written := map[string]*History{"read": h}
			if !h.Dated {
				written["rebuilt"] = rebuild(t, h)
			}
			for how, h := range written {
				var b bytes.Buffer
				if err := Write(&b, h); err != nil {
					t.Fatal(err)
				}
				if got := unzipped(t, &b); got != want {
					t.Errorf("%s and written, the text differs", how)
				}
			}
		})
	}
}
