package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"forage/archive"
	"forage/store"
	"forage/text"
)

// kept makes a store of pages and what they say, by path, as Markdown.
func kept(t *testing.T, pages ...[2]string) (*store.DB, *archive.Reader) {
	t.Helper()
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := store.Open(filepath.Join(dir, "store"), store.Options{})
	must(err)
	t.Cleanup(func() { db.Close() })
	a, err := archive.Open(archive.Config{Folder: filepath.Join(dir, "texts"), Texts: true}, nil)
	must(err)
	t.Cleanup(func() { a.Close() })
	db.KeepArchive(store.Texts, a.Flush, a.Committed)
	site := &store.Site{Name: "x.test", Seeds: []string{"https://x.test/"}, Rules: store.Rules{Scope: "host", Within: "x.test"}}
	must(db.AddSite(site))
	c := &store.CycleRecord{Site: site.ID, At: 100}
	must(db.OpenCycle(c))
	for i, p := range pages {
		d := store.NewDoc("https://x.test"+p[0], site.ID)
		d.Kind, d.State, d.Status, d.Title, d.Digest = store.Page, store.Fetched, 200, "Title \xff of "+p[0], uint64(i+1)
		d.FirstSeen, d.LastFetched, d.Cycle, d.FetchedIn = 1_700_000_000, 1_700_000_000, c.Cycle, c.Cycle
		_, err := db.Add(d)
		must(err)
		g, err := a.Convert(&archive.Text{URL: d.URL, Date: time.Unix(d.LastFetched, 0), Format: text.Markdown.MediaType(), Lang: "en", Body: d.Digest, Text: p[1]})
		must(err)
		at, err := a.Append(g)
		must(err)
		must(db.PutText(d.ID, store.Capture(at)))
	}
	c.Ended = 200
	must(db.PutCycle(c))
	must(db.Sync())
	state, err := db.Archive(store.Texts)
	must(err)
	r, err := archive.NewReader("", state)
	must(err)
	t.Cleanup(func() { r.Close() })
	return db, r
}

// TestTextTable: a table has the rows that there are lines of, also of texts that are more than it takes at once; and both are the same bytes each time.
func TestTextTable(t *testing.T) {
	long := strings.Repeat("Füße und mehr. ", maxTexts/20)
	db, r := kept(t, [2]string{"/", "# Home\n\nIt says \"this\"."}, [2]string{"/a", long}, [2]string{"/b", long + "b"}, [2]string{"/c", ""}, [2]string{"/d", long + "d"})
	for _, since := range []store.Cycle{0, 1} {
		what := Texts{Format: text.Markdown, Since: since, Kept: r, Note: func(s string) { t.Error(s) }}
		var lines bytes.Buffer
		w, err := TextLines(&db.View, Target{To: &lines}, what)
		if err != nil || w.Records != 5 || w.Pages != 5 || w.Next != 2 || w.Bytes != int64(lines.Len()) {
			t.Fatalf("%+v, %v", w, err)
		}
		var tables [2][]byte
		for i := range tables {
			dir := filepath.Join(t.TempDir(), "t.parquet")
			w, err := TextTable(&db.View, dir, what)
			if err != nil || w.Records != 5 {
				t.Fatalf("%+v, %v", w, err)
			}
			if tables[i], err = os.ReadFile(filepath.Join(dir, "text.parquet")); err != nil {
				t.Fatal(err)
			}
			if _, err := TextTable(&db.View, dir, what); !errors.Is(err, fs.ErrExist) {
				t.Errorf("over another: %v", err)
			}
		}
		if !bytes.Equal(tables[0], tables[1]) {
			t.Error("two exports differ")
		}
		rows, err := parquet.Read[textRow](bytes.NewReader(tables[0]), int64(len(tables[0])))
		if err != nil {
			t.Fatal(err)
		}
		s := bufio.NewScanner(&lines)
		s.Buffer(nil, 10*maxTexts)
		n := 0
		for ; s.Scan(); n++ {
			if line := string(rows[n].appendJSON(nil)); line != s.Text() || !json.Valid([]byte(line)) {
				t.Errorf("row %.300q, line %.300q", line, s.Text())
			}
		}
		if n != 5 || !strings.Contains(rows[0].Title, "\ufffd") || rows[2].Text != long+"b" {
			t.Errorf("%d lines, row %.300v", n, rows[0])
		}
	}
}

// TestTextFormat: what is kept in another format is not taken for what is asked for.
func TestTextFormat(t *testing.T) {
	db, r := kept(t, [2]string{"/", "# Home"})
	path := filepath.Join(t.TempDir(), "text.jsonl")
	_, err := TextLines(&db.View, File(path), Texts{Format: text.Plain, Kept: r})
	var of *FormatError
	if !errors.As(err, &of) || of.Kept != text.Markdown || of.Want != text.Plain || of.URL != "https://x.test/" {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is left: %v", err)
	}
}
