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

func TestWriteGivesBackWhatWasRead(t *testing.T) {
	h, err := Read(zipped(small), "small")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, h); err != nil {
		t.Fatal(err)
	}
	if got := unzipped(t, &b); got != small {
		t.Errorf("Write gives\n%s\nwant\n%s", got, small)
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
	for name, tt := range map[string]struct{ old, new, want string }{
		"no magic":            {"SNAP2", "SNAP1", "x:1: want a line SNAP2"},
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
	} {
		if !strings.Contains(small, tt.old) {
			t.Fatalf("%s: %q is not in the text", name, tt.old)
		}
		_, err := Read(zipped(strings.Replace(small, tt.old, tt.new, 1)), "x")
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

func TestRealHistories(t *testing.T) {
	names, _ := filepath.Glob(filepath.Join(shared.Path(t, "data", "sites"), "*.snap.gz"))
	if len(names) < 26 {
		t.Fatalf("%d histories, want at least 26", len(names))
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
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
			for how, h := range map[string]*History{"read": h, "rebuilt": rebuild(t, h)} {
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
