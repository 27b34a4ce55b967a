package archive

import (
	"crypto/sha1"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forage/warc"
)

// beside reads the folder as of the last commit, while it is written to.
func (h *history) beside() {
	h.t.Helper()
	r, err := NewReader("", h.state)
	if err != nil {
		h.t.Fatal(err)
	}
	defer r.Close()
	files, err := r.Files()
	if err != nil {
		h.t.Fatal(err)
	}
	if missing := r.Missing(files); missing != nil {
		h.t.Errorf("%q are missing", missing)
	}
	var have, want []string
	for _, f := range files {
		w, err := f.Open()
		if err != nil {
			h.t.Fatal(err)
		}
		var lines []string
		if err := warc.Index(io.NewSectionReader(w, 0, f.Size), f.Name, func(e *warc.Entry) error {
			have = append(have, e.URL+" sha1:"+e.Digest)
			lines = append(lines, string(e.Append(nil)))
			return nil
		}, func(err error) error { return err }); err != nil {
			h.t.Fatalf("%s: %v", f.Name, err)
		}
		w.Close()
		index, n, err := f.Lines()
		if err != nil {
			h.t.Fatal(err)
		}
		if index != nil {
			text, err := io.ReadAll(io.NewSectionReader(index, 0, n))
			index.Close()
			got := strings.SplitAfter(string(text), "\n")
			slices.Sort(lines)
			slices.Sort(got)
			if err != nil || !slices.Equal(got[1:], lines) { // the first one is what follows the last line
				h.t.Errorf("%s: %v, the index has %q, want %q", f.Name, err, got, lines)
			}
		}
	}
	for _, k := range h.kept {
		d := warc.Digest(sha1.Sum([]byte(k.body)))
		want = append(want, k.uri+" "+d.String())
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		h.t.Fatalf("beside: %d answers, want %d\n%q\n%q", len(have), len(want), have, want)
	}
	for d, at := range h.known {
		rec, err := r.Answer(at)
		if err != nil {
			h.t.Fatal(err)
		}
		block, err := io.ReadAll(rec)
		_, body, _ := strings.Cut(string(block), "\r\n\r\n")
		if err != nil || sha1.Sum([]byte(body)) != [20]byte(d) {
			h.t.Errorf("%v at %v: %q, %v", d, at, body, err)
		}
	}
}

// TestReader: whole files are read of any folder, others only of the store that writes them, and what is missing is told.
func TestReader(t *testing.T) {
	h := newHistory(t, 1, Config{Folder: t.TempDir(), Limit: 1})
	h.a.finish = (*file).finish // not as histories may have it
	for _, uri := range []string{"http://a.test/1", "http://a.test/2", "http://a.test/3"} {
		h.append(uri, uri, h.record(uri, uri))
		h.commit()
	}
	h.a.closing.Wait()
	h.beside()
	names := func(folder string, state []byte) (all, missing []string) {
		r, err := NewReader(folder, state)
		if err != nil {
			t.Fatal(err)
		}
		files, err := r.Files()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			all = append(all, f.Name[len(f.Name)-len("1.warc.gz"):])
		}
		return all, r.Missing(files)
	}
	if all, missing := names(h.cfg.Folder, nil); !slices.Equal(all, []string{"1.warc.gz", "2.warc.gz"}) || missing != nil {
		t.Errorf("of strangers: %q, %q", all, missing)
	}
	all, missing := names("", h.state)
	if !slices.Equal(all, []string{"1.warc.gz", "2.warc.gz", "3.warc.gz"}) || missing != nil {
		t.Errorf("of the store: %q, %q", all, missing)
	}
	if err := os.Remove(filepath.Join(h.cfg.Folder, h.a.name(2))); err != nil {
		t.Fatal(err)
	}
	if _, missing := names("", h.state); !slices.Equal(missing, []string{h.a.name(2)}) {
		t.Errorf("missing: %q", missing)
	}
	if all, missing := names(t.TempDir(), h.state); len(all)+len(missing) > 0 {
		t.Errorf("elsewhere: %q, %q", all, missing)
	}
	r, err := NewReader("", h.state)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Answer(Place{File: 2}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a file that is gone: %v", err)
	}
	if _, err := NewReader("", []byte("{}")); err == nil {
		t.Error("{} is taken for a state")
	}
	if err := h.a.Close(); err != nil {
		t.Fatal(err)
	}
}
