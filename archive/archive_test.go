package archive

import (
	"bytes"
	"crypto/sha1"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"forage/internal/race"
	"forage/warc"
)

var day = time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)

// An answered is an answer that was appended.
type answered struct {
	uri  string
	body string
	g    *Group
}

// A history is an archive, and what a store would know of it.
type history struct {
	t      *testing.T
	cfg    Config
	rng    *rand.Rand
	a      *Archive
	state  []byte
	known  map[warc.Digest]Place // as of the last commit
	fresh  map[warc.Digest]Place // since
	kept   []answered            // as of the last commit
	lately []answered
}

func newHistory(t *testing.T, seed uint64, cfg Config) *history {
	h := &history{t: t, rng: rand.New(rand.NewPCG(seed, 16)), known: map[warc.Digest]Place{}, fresh: map[warc.Digest]Place{}}
	cfg.Now, cfg.Random = func() time.Time { return day }, rand.NewChaCha8([32]byte{byte(seed)})
	cfg.Known = func(d warc.Digest) (Place, error) {
		if p, ok := h.known[d]; ok {
			return p, nil
		}
		return Place{}, fs.ErrNotExist
	}
	h.cfg = cfg
	h.open()
	return h
}

func (h *history) open() {
	h.t.Helper()
	var err error
	if h.a, err = Open(h.cfg, h.state); err != nil {
		h.t.Fatal(err)
	}
	if h.rng.IntN(2) == 0 { // files that are full wait for their names
		h.a.finish = func(*file) error { return syscall.ENOSPC }
	}
	state, err := h.a.Flush()
	if err != nil {
		h.t.Fatal(err)
	}
	if state != nil {
		h.state = state
		h.a.Committed()
	}
}

func (h *history) record(uri, body string) *Group {
	h.t.Helper()
	g, err := h.a.Record(&warc.Capture{
		URI: uri, Date: day, Request: []byte("GET / HTTP/1.1\r\n\r\n"), Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"),
		Body: strings.NewReader(body), Size: int64(len(body)), Metadata: warc.Fields{{Name: "via", Value: uri}},
	}, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return g
}

func (h *history) append(uri, body string, g *Group) {
	h.t.Helper()
	at, err := h.a.Append(g)
	if err != nil {
		h.t.Fatal(err)
	}
	if g.Holds {
		h.fresh[g.Digest] = at
	}
	h.lately = append(h.lately, answered{uri, body, g})
}

func (h *history) commit() {
	h.t.Helper()
	state, err := h.a.Flush()
	if err != nil {
		h.t.Fatal(err)
	}
	if state != nil {
		h.state = state
		h.a.Committed()
	}
	for d, p := range h.fresh {
		h.known[d] = p
	}
	clear(h.fresh)
	h.kept = append(h.kept, h.lately...)
	h.lately = nil
}

// kill leaves the archive as a process that dies does, in the midst of a write.
func (h *history) kill() {
	h.t.Helper()
	h.a.closing.Wait() // what goes on in the background would be another process
	for i, f := range h.a.open {
		if i == len(h.a.open)-1 && h.rng.IntN(2) == 0 {
			if _, err := f.warc.WriteAt([]byte("\x1f\x8b half a member"), f.size); err != nil {
				h.t.Fatal(err)
			}
		}
		f.close()
	}
	h.a.lock.Close()
	clear(h.fresh)
	h.lately = nil
	h.open()
}

// check reads the folder.
func (h *history) check() {
	h.t.Helper()
	if err := h.a.Close(); err != nil {
		h.t.Fatal(err)
	}
	type found struct{ file, uri, body, refers string }
	var got []found
	where := map[string]string{} // payload → file of a response that has it
	entries, err := os.ReadDir(h.cfg.Folder)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(h.cfg.Folder, e.Name())
		switch {
		case e.Name() == ".forage.lock" || strings.HasSuffix(path, indexSuffix):
			continue
		case !strings.HasSuffix(path, warcSuffix):
			h.t.Fatalf("%s is left", e.Name())
		}
		data, err := os.ReadFile(path)
		if err != nil {
			h.t.Fatal(err)
		}
		groups := 0
		r := warc.NewReader(bytes.NewReader(data))
		for {
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				h.t.Fatalf("%s: %v", e.Name(), err)
			}
			block, err := io.ReadAll(rec)
			if err != nil {
				h.t.Fatal(err)
			}
			_, body, _ := strings.Cut(string(block), "\r\n\r\n")
			switch rec.Type {
			case warc.Warcinfo:
				if rec.Offset != 0 || rec.Fields.Get("WARC-Filename") != e.Name() {
					h.t.Errorf("%s, byte %d: %v", e.Name(), rec.Offset, rec.Fields)
				}
			case warc.Response:
				groups++
				got = append(got, found{e.Name(), rec.URI(), body, ""})
				where[rec.Fields.Get("WARC-Payload-Digest")+" "+rec.URI()] = e.Name()
			case warc.Revisit:
				groups++
				digest := rec.Fields.Get("WARC-Payload-Digest")
				file, ok := where[digest+" "+rec.Fields.Get("WARC-Refers-To-Target-URI")]
				if !ok || h.cfg.Dedupe == Off || h.cfg.Dedupe == File && file != e.Name() {
					h.t.Errorf("%s: %s is to be like what %q has", e.Name(), rec.URI(), file)
				}
				got = append(got, found{e.Name(), rec.URI(), "", digest})
			}
		}
		if h.cfg.Limit > 0 && int64(len(data)) > h.cfg.Limit && groups > 1 && h.cfg.Dedupe != File {
			h.t.Errorf("%s has %d bytes for %d answers", e.Name(), len(data), groups)
		}
		var lines []string
		if err := warc.Index(bytes.NewReader(data), e.Name(), func(e *warc.Entry) error {
			lines = append(lines, string(e.Append(nil)))
			return nil
		}, func(err error) error { return err }); err != nil {
			h.t.Fatal(err)
		}
		slices.Sort(lines)
		index, err := os.ReadFile(indexOf(path))
		if err != nil || string(index) != strings.Join(lines, "") {
			h.t.Errorf("%s: %v\n%s\nwant\n%s", indexOf(path), err, index, strings.Join(lines, ""))
		}
	}
	var have, want []string
	for _, f := range got {
		if f.refers == "" {
			d := warc.Digest(sha1.Sum([]byte(f.body)))
			f.refers = d.String()
		}
		have = append(have, f.uri+" "+f.refers)
	}
	for _, k := range h.kept {
		d := warc.Digest(sha1.Sum([]byte(k.body)))
		want = append(want, k.uri+" "+d.String())
	}
	if h.cfg.Dedupe == File { // what refers to one in a file that is full goes there
		slices.Sort(have)
		slices.Sort(want)
	}
	if !slices.Equal(have, want) {
		h.t.Fatalf("%d answers, want %d\n%q\n%q", len(have), len(want), have, want)
	}
}

// TestHistories has archives written, committed and killed at random: what was committed is there, once and in order, and nothing else is.
func TestHistories(t *testing.T) {
	seeds := 20
	if os.Getenv("FORAGE_LONG") != "" {
		seeds = 1000
	}
	for seed := range uint64(race.Fewer(seeds)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := newHistory(t, seed, Config{Folder: t.TempDir(), Limit: 20_000, Dedupe: []Dedupe{All, File, Off}[seed%3]})
			type pending struct {
				uri, body string
				g         *Group
			}
			var wait []pending
			for i := range 150 {
				switch n := h.rng.IntN(20); {
				case n < 9:
					size := h.rng.IntN(3000)
					if h.rng.IntN(40) == 0 {
						size = 2 * inMemory
					}
					body := make([]byte, size)
					chance := rand.NewChaCha8([32]byte{byte(h.rng.IntN(12))}) // one of twelve, cut somewhere
					chance.Read(body)
					if h.rng.IntN(3) > 0 {
						body = fmt.Appendf(nil, "page %d", h.rng.IntN(12))
					}
					uri := fmt.Sprintf("http://a.test/%d", i)
					wait = append(wait, pending{uri, string(body), h.record(uri, string(body))})
				case n < 16:
					for _, p := range wait {
						h.append(p.uri, p.body, p.g)
					}
					wait = wait[:0]
				case n < 17 && len(wait) > 0:
					wait[0].g.Drop()
					wait = wait[1:]
				case n < 18:
					h.commit()
				case n < 19:
					h.commit()
					h.beside()
				default:
					for _, p := range wait {
						p.g.Drop()
					}
					wait = wait[:0]
					h.kill()
				}
			}
			for _, p := range wait {
				p.g.Drop()
			}
			if h.rng.IntN(2) == 0 {
				h.commit()
			}
			h.check()
		})
	}
}

// TestPowerCut: what was committed and is gone is told, and the rest are whole records.
func TestPowerCut(t *testing.T) {
	h := newHistory(t, 1, Config{Folder: t.TempDir()})
	for i := range 5 {
		uri := fmt.Sprintf("http://a.test/%d", i)
		h.append(uri, uri, h.record(uri, uri))
	}
	h.commit()
	f := h.a.open[0]
	if err := f.warc.Truncate(f.size - 100); err != nil { // in the last metadata record
		t.Fatal(err)
	}
	f.close()
	h.a.lock.Close()
	var told bytes.Buffer
	h.cfg.Log = slog.New(slog.NewTextHandler(&told, nil))
	h.open()
	h.check()
	if !strings.Contains(told.String(), "lacks what was written last") {
		t.Errorf("told: %q", &told)
	}
}

// TestKilledWhileClosing: a file that is full belongs to the archive while it waits for its name, and whatever a kill leaves of that.
func TestKilledWhileClosing(t *testing.T) {
	for _, left := range []string{"nothing done", "a half index", "a name and the open index"} {
		t.Run(left, func(t *testing.T) {
			h := newHistory(t, 1, Config{Folder: t.TempDir(), Limit: 1})
			begun, end := make(chan *file, 1), make(chan bool)
			h.a.finish = func(f *file) error {
				begun <- f
				<-end
				return nil // it is dead
			}
			for i := range 3 {
				uri := fmt.Sprintf("http://a.test/%d", i)
				h.append(uri, uri, h.record(uri, uri))
				if i > 0 {
					h.commit()
				}
			}
			f := <-begun
			if h.state, _ = h.a.Flush(); h.state != nil {
				t.Error("nothing was appended, and there is another state")
			}
			h.state, _ = json.Marshal(h.a.state)
			switch left {
			case "a half index":
				if err := os.WriteFile(filepath.Join(h.cfg.Folder, "."+filepath.Base(indexOf(f.path))+".123.tmp"), []byte("half"), 0o600); err != nil {
					t.Fatal(err)
				}
			case "a name and the open index":
				copied, err := os.ReadFile(indexOf(f.path) + openSuffix)
				if err := errors.Join(err, f.finish(), os.WriteFile(indexOf(f.path)+openSuffix, copied, 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			for _, f := range h.a.open {
				f.close()
			}
			h.a.lock.Close()
			close(end)
			h.a.closing.Wait()
			h.open()
			if open, _ := filepath.Glob(filepath.Join(h.cfg.Folder, "*.open")); len(open) > 0 {
				t.Errorf("left open: %q", open)
			}
			if left, _ := filepath.Glob(filepath.Join(h.cfg.Folder, ".*.tmp")); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
			h.check()
		})
	}
}

// TestFullWhileClosing: where there is no room for the index of a file that is full, that is made later.
func TestFullWhileClosing(t *testing.T) {
	h := newHistory(t, 1, Config{Folder: t.TempDir(), Limit: 1})
	full := true
	h.a.finish = func(f *file) error {
		if full {
			return &fs.PathError{Op: "write", Path: f.path, Err: syscall.ENOSPC}
		}
		return f.finish()
	}
	for i := range 6 {
		uri := fmt.Sprintf("http://a.test/%d", i)
		h.append(uri, uri, h.record(uri, uri))
		h.commit()
		h.a.closing.Wait()
		if full = i < 3; !full && i > 4 && len(h.a.open) > 2 {
			t.Errorf("%d files are open", len(h.a.open))
		}
	}
	h.check()
}

// TestFinishAgain: what could not be brought to the disk after a file had its name is done by the next try.
func TestFinishAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a"+warcSuffix)
	f, err := newFile(path, 1, true)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.finish(); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); err != nil || len(left) != 2 {
		t.Errorf("%q, %v, want the file and its index", left, err)
	}
}

// TestUnknownCommit: where nobody knows whether the last state is on the disk, the next one who opens the archive goes by what the store says.
func TestUnknownCommit(t *testing.T) {
	h := newHistory(t, 1, Config{Folder: t.TempDir()})
	h.append("http://a.test/1", "one", h.record("http://a.test/1", "one"))
	h.commit()
	h.append("http://a.test/2", "two", h.record("http://a.test/2", "two"))
	if _, err := h.a.Flush(); err != nil { // and the commit fails
		t.Fatal(err)
	}
	if err := h.a.Close(); err != nil {
		t.Fatal(err)
	}
	h.lately = nil
	h.open()
	h.check()
}

// TestInUse: of two that write to a folder one is refused.
func TestInUse(t *testing.T) {
	h := newHistory(t, 1, Config{Folder: t.TempDir()})
	var used *InUseError
	if _, err := Open(h.cfg, nil); !errors.As(err, &used) {
		t.Errorf("the second one: %v", err)
	}
	if err := Writable(h.cfg.Folder); !errors.As(err, &used) {
		t.Errorf("Writable says of it: %v", err)
	}
	if err := h.a.Close(); err != nil {
		t.Fatal(err)
	}
	h.open()
	h.check()
}

// TestRefers: an answer may refer to one that is there, not to one in a file that was deleted, or cut before it, as by an older copy of the store.
func TestRefers(t *testing.T) {
	h := newHistory(t, 1, Config{Folder: t.TempDir()})
	var at []Place
	for i := range 2 {
		p, err := h.a.Append(h.record(fmt.Sprintf("http://a.test/%d", i), fmt.Sprint("body", i)))
		if err != nil {
			t.Fatal(err)
		}
		at = append(at, p)
	}
	refers := func(first, second bool) {
		t.Helper()
		if got := [2]bool{h.a.Refers(at[0]), h.a.Refers(at[1])}; got != [2]bool{first, second} {
			t.Errorf("Refers() = %v, want %v and %v", got, first, second)
		}
	}
	refers(true, true)
	h.commit()
	if err := h.a.Close(); err != nil {
		t.Fatal(err)
	}
	h.open()
	refers(true, true)
	path := filepath.Join(h.cfg.Folder, h.a.name(at[0].File))
	if err := os.Truncate(path, at[1].Offset); err != nil {
		t.Fatal(err)
	}
	refers(true, false)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	refers(false, false)
}

// TestFolderError: a folder that cannot be made is told as that, and a new one is taken by nobody after it was looked at.
func TestFolderError(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "file", "below")
	var folder *FolderError
	if err := Writable(at); !errors.As(err, &folder) || folder.Folder != at {
		t.Errorf("Writable(%s) = %v", at, err)
	}
	if _, err := Open(Config{Folder: at}, nil); !errors.As(err, &folder) || folder.Folder != at {
		t.Errorf("Open(%s) = %v", at, err)
	}
	free := filepath.Join(dir, "a", "b")
	if err := Writable(free); err != nil {
		t.Fatal(err)
	}
	newHistory(t, 1, Config{Folder: free})
}

// TestMoved: a folder that was moved is still the same archive; another folder is not.
func TestMoved(t *testing.T) {
	dir := t.TempDir()
	h := newHistory(t, 1, Config{Folder: filepath.Join(dir, "a")})
	h.append("http://a.test/1", "body", h.record("http://a.test/1", "body"))
	h.commit()
	if err := h.a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	h.cfg.Folder = filepath.Join(dir, "b")
	h.open()
	g := h.record("http://a.test/2", "body")
	if g.Original == nil {
		t.Error("what is in the folder that was moved is not found")
	}
	h.append("http://a.test/2", "body", g)
	h.commit()
	if r, err := NewReader("", h.state); err != nil || r.Folder != h.cfg.Folder {
		t.Errorf("folder %+v, %v", r, err)
	}
	h.check()

	// it is moved after a kill
	h.open()
	h.append("http://a.test/3", "more", h.record("http://a.test/3", "more"))
	h.commit()
	for _, f := range h.a.open {
		f.close()
	}
	h.a.lock.Close()
	var told bytes.Buffer
	h.cfg.Log = slog.New(slog.NewTextHandler(&told, nil))
	if err := os.Rename(h.cfg.Folder, filepath.Join(dir, "d")); err != nil {
		t.Fatal(err)
	}
	h.cfg.Folder = filepath.Join(dir, "d")
	h.open()
	if r, err := NewReader("", h.state); err != nil || r.Folder != h.cfg.Folder {
		t.Errorf("folder %+v, %v", r, err)
	}
	h.check()
	if told.Len() > 0 {
		t.Errorf("told: %s", &told)
	}

	h.cfg.Folder = filepath.Join(dir, "c")
	h.open()
	if g := h.record("http://a.test/3", "body"); g.Original != nil {
		t.Error("an answer refers to one that is not in the folder")
	} else {
		g.Drop()
	}
	h.kept = nil
	h.append("http://a.test/4", "here", h.record("http://a.test/4", "here"))
	h.commit()
	h.check()
	if names := h.missing(); len(names) > 0 {
		t.Errorf("what is in another folder is missing: %q", names)
	}
}

// missing returns the files that a reader of the last state misses.
func (h *history) missing() []string {
	h.t.Helper()
	r, err := NewReader("", h.state)
	if err != nil {
		h.t.Fatal(err)
	}
	files, err := r.Files()
	if err != nil {
		h.t.Fatal(err)
	}
	return r.Missing(files)
}

// TestDeletedByHand: where a file was deleted, its bodies are stored once more, and Missing tells.
func TestDeletedByHand(t *testing.T) {
	h := newHistory(t, 1, Config{Folder: t.TempDir()})
	h.append("http://a.test/1", "body", h.record("http://a.test/1", "body"))
	h.commit()
	if err := h.a.Close(); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"*" + warcSuffix, "*" + indexSuffix} {
		files, _ := filepath.Glob(filepath.Join(h.cfg.Folder, pattern))
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.kept = nil
	h.open()
	h.append("http://a.test/2", "body", h.record("http://a.test/2", "body"))
	h.commit()
	h.check()
	if names := h.missing(); len(names) != 1 || names[0] != h.a.name(1) {
		t.Errorf("missing: %q", names)
	}
}

// TestNotModified: an answer that says that nothing has changed refers to the one that has the body.
func TestNotModified(t *testing.T) {
	h := newHistory(t, 1, Config{Folder: t.TempDir()})
	g := h.record("http://a.test/1", "body")
	at, err := h.a.Append(g)
	if err != nil {
		t.Fatal(err)
	}
	h.commit()
	same := &warc.Capture{URI: "http://a.test/1", Date: day.Add(time.Hour), Head: []byte("HTTP/1.1 304 Not Modified\r\n\r\n"), Body: strings.NewReader("")}
	r, err := h.a.Record(same, &at)
	if err != nil {
		t.Fatal(err)
	}
	if o := same.Original; o == nil || o.Profile != warc.NotModified || o.URI != "http://a.test/1" || !o.Date.Equal(day) || o.Digest != g.Digest || r.Holds {
		t.Errorf("%+v", o)
	}
	r.Drop()
	same.Original = nil
	if r, err = h.a.Record(same, &Place{File: 9}); err != nil || same.Original != nil {
		t.Errorf("of a file that is not there: %+v, %v", same.Original, err)
	}
	r.Drop()
	if err := h.a.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestBadState(t *testing.T) {
	for _, state := range []string{"", "{}", `{"folder":"/x"}`, "\x00"} {
		if _, err := Open(Config{Folder: t.TempDir()}, []byte(state)); err == nil {
			t.Errorf("%q is taken for a state", state)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Config{Folder: file}, nil); err == nil {
		t.Error("a file is taken for a folder")
	}
	if _, err := ParseDedupe("some"); err == nil {
		t.Error("some")
	}
}
