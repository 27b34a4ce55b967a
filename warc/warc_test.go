package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
)

var day = time.Date(2026, 11, 23, 12, 30, 15, 250e6, time.UTC)

// chance gives the same bytes each time.
func chance() io.Reader { return rand.NewChaCha8([32]byte{1}) }

// aCapture is of a page that was sent in chunks.
func aCapture(t testing.TB, w *Writer, url, body string) *Capture {
	t.Helper()
	c := &Capture{
		URI: url, Date: day, IP: netip.MustParseAddr("192.0.2.1"), Body: strings.NewReader(body), Size: int64(len(body)), Chunked: true,
		Request:  []byte("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"),
		Head:     []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"),
		Metadata: Fields{{"hopsFromSeed", "L"}, {"fetchTimeMs", "12"}},
	}
	var err error
	if c.Digest, err = w.Sum(c.Body, c.Size); err != nil {
		t.Fatal(err)
	}
	return c
}

// anArchive is a file with a warcinfo, two answers of which the second had the same body, one that had not changed, and one that was cut.
func anArchive(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, chance())
	if err := w.Info("a.warc.gz", day, Fields{{"software", "forage"}, {"robots", "classic"}}); err != nil {
		t.Fatal(err)
	}
	first := aCapture(t, w, "http://example.org/", "<title>one</title>")
	same := aCapture(t, w, "http://example.org/same", "<title>one</title>")
	same.Original = &Original{first.URI, first.Date, first.Digest, SamePayload}
	still := aCapture(t, w, "http://example.org/", "")
	still.Date, still.Head, still.Chunked = day.Add(time.Hour), []byte("HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n"), false
	still.Original = &Original{first.URI, first.Date, first.Digest, NotModified}
	cut := aCapture(t, w, "https://example.org/long", strings.Repeat("x", 100_000))
	cut.Truncated, cut.Protocol, cut.Request, cut.Metadata = "length", "h2", nil, nil
	for _, c := range []*Capture{first, same, still, cut} {
		if _, err := w.Capture(c); err != nil {
			t.Fatal(err)
		}
	}
	if int(w.Written()) != b.Len() {
		t.Errorf("%d bytes written, it says %d", b.Len(), w.Written())
	}
	return b.Bytes()
}

// all reads a file to its end; errors of format are counted.
func all(t testing.TB, file []byte) (records []string, broken []error) {
	t.Helper()
	rd := NewReader(bytes.NewReader(file))
	for range 1000 {
		r, err := rd.Next()
		var format *FormatError
		switch {
		case err == io.EOF:
			return records, broken
		case errors.As(err, &format), errors.Is(err, ErrARC):
			broken = append(broken, err)
			continue
		case err != nil:
			t.Fatal(err)
		}
		block, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil {
			broken = append(broken, err)
			continue
		}
		records = append(records, fmt.Sprintf("%d+%d %s %s %q", r.Offset, r.Index, r.Type, r.URI(), block[:min(len(block), 400)]))
	}
	t.Fatal("the file has no end")
	return nil, nil
}

func TestGolden(t *testing.T) {
	file := anArchive(t)
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(strings.Replace(string(plain), strings.Repeat("x", 100_000), "[100,000 times x]", 1), "\r\n", "\n")
	const name = "testdata/archive.golden"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(name, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the file is other than %s (UPDATE=1 writes it):\n%s", name, got)
	}
	compressed, broken := all(t, file)
	uncompressed, alsoBroken := all(t, plain)
	if len(broken)+len(alsoBroken) > 0 || len(compressed) != 11 || len(uncompressed) != 11 {
		t.Fatalf("%d and %d records: %v, %v", len(compressed), len(uncompressed), broken, alsoBroken)
	}
	for i := range compressed {
		_, a, _ := strings.Cut(compressed[i], " ")
		_, b, _ := strings.Cut(uncompressed[i], " ")
		if a != b {
			t.Errorf("record %d is %s, and not compressed %s", i, a, b)
		}
	}
}

// TestOffsets: each record can be read by itself from where it was said to begin.
func TestOffsets(t *testing.T) {
	file := anArchive(t)
	rd, at := NewReader(bytes.NewReader(file)), int64(0)
	for {
		r, err := rd.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if r.Offset != at {
			t.Errorf("a record begins at %d, the one before ended at %d", r.Offset, at)
		}
		at += r.Stored()
		one, err := NewReader(bytes.NewReader(file[r.Offset:at])).Next()
		if err != nil || one.Fields.Get("WARC-Record-ID") != r.Fields.Get("WARC-Record-ID") {
			t.Errorf("at %d: %v, %v", r.Offset, one, err)
		}
	}
	if at != int64(len(file)) {
		t.Errorf("the records end at %d of %d", at, len(file))
	}
}

const plainRecord = "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: <http://a/>\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n"

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.String()
}

func TestStrangers(t *testing.T) {
	one := zipped(plainRecord)
	for _, c := range []struct {
		name, file string
		records    int
		broken     string // of the first error, $ being its end; "": none
	}{
		{"empty", "", 0, ""},
		{"plain", plainRecord + plainRecord, 2, ""},
		{"plain, bare line feeds", strings.ReplaceAll(plainRecord, "\r", "") + plainRecord, 2, ""},
		{"plain, no line ends at the end", strings.TrimRight(plainRecord, "\r\n"), 1, ""},
		{"members", one + one + one, 3, ""},
		{"members of two records", zipped(plainRecord+plainRecord) + one, 3, ""},
		{"blank lines between members", zipped(plainRecord+"\r\n\r\n") + "\r\n" + one, 2, ""},
		{"a continued line", strings.Replace(plainRecord, "http://a/>\r\n", "http://a/\r\n  >\r\n", 1), 1, ""},
		{"a cut member", one + one[:len(one)-9], 1, "the compressed data is damaged or cut: unexpected EOF$"},
		{"a cut checksum", one + one[:len(one)-3], 1, "the compressed data is damaged or cut: unexpected EOF$"},
		{"a damaged member", one + one[:20] + "\xff\xff\xff" + one[23:], 1, "the compressed data is damaged"},
		{"a damaged member before others", one + one[:20] + "\xff\xff\xff" + one[23:] + one + one, 3, fmt.Sprintf("; it goes on at byte %d$", 2*len(one))},
		{"a cut member before others", one + one[:len(one)-9] + one + one, 3, fmt.Sprintf("; it goes on at byte %d$", 2*len(one)-9)},
		{"a member cut in its header", one + one[:5] + one, 2, fmt.Sprintf("; it goes on at byte %d$", len(one)+5)},
		{"members of something else after damage", one[:len(one)-9] + zipped("<html>") + one, 1, fmt.Sprintf("; it goes on at byte %d$", len(one)-9+len(zipped("<html>")))},
		{"Content-Length too large", zipped(strings.Replace(plainRecord, ": 3", ": 30", 1)) + one, 1, "it ends 23 bytes before its Content-Length says"},
		{"Content-Length too small", zipped(strings.Replace(plainRecord, ": 3", ": 2", 1)) + one, 1, "the record goes on after its Content-Length"},
		{"plain, Content-Length too small", strings.Replace(plainRecord, ": 3", ": 2", 1) + plainRecord, 0, "the record goes on after its Content-Length; what follows is not read"},
		{"no Content-Length", zipped(strings.Replace(plainRecord, "Content-Length", "Length", 1)) + one, 1, `Content-Length "" is no number`},
		{"a negative length", strings.Replace(plainRecord, ": 3", ": -3", 1), 0, `Content-Length "-3" is no number`},
		{"a line without a colon", zipped("WARC/1.0\r\nnonsense\r\n\r\n") + one, 1, "want NAME: VALUE"},
		{"no WARC", "<html>", 0, "the header is cut"},
		{"another format", "PK\x03\x04\nabc", 0, "want a record of WARC"},
		{"ARC", "filedesc://a.arc 0.0.0.0 20000101000000 text/plain 9\n", 0, "ARC file"},
		{"compressed ARC", zipped("filedesc://a.arc 0.0.0.0 20000101000000 text/plain 9\n"), 0, "ARC file"},
		{"a header of 2 MiB", zipped("WARC/1.0\r\nX: "+strings.Repeat("x", 2<<20)+"\r\n\r\n") + one, 1, "the header has more than"},
		{"a line of 900 kB", zipped(strings.Replace(plainRecord, "resource", "resource\r\nX: "+strings.Repeat("x", 900_000), 1)), 1, ""},
		{"NUL in a header", zipped(strings.Replace(plainRecord, "http://a/", "http://a/\x00", 1)), 1, ""},
	} {
		records, broken := all(t, []byte(c.file))
		if len(records) != c.records {
			t.Errorf("%s: %d records, want %d: %v", c.name, len(records), c.records, records)
		}
		if (len(broken) > 0) != (c.broken != "") || len(broken) > 0 && !strings.Contains(broken[0].Error()+"$", c.broken) {
			t.Errorf("%s: %v, want %q", c.name, broken, c.broken)
		}
	}
}

// TestDamagedPipe: what cannot seek ends with the damage, which is said.
func TestDamagedPipe(t *testing.T) {
	one := zipped(plainRecord)
	rd := NewReader(io.MultiReader(strings.NewReader(one+one[:20]+"\xff\xff\xff"+one[23:]), strings.NewReader(one)))
	if _, err := rd.Next(); err != nil {
		t.Fatal(err)
	}
	var broken error
	for {
		_, err := rd.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			broken = errors.Join(broken, err)
		}
	}
	if broken == nil || !strings.HasSuffix(broken.Error(), "; what follows is not read") {
		t.Errorf("%v, want that what follows is not read", broken)
	}
}

// TestOverAndOver: a file of members that each take all that follows for their own is given up before it is read as often as it has members.
func TestOverAndOver(t *testing.T) {
	block := make([]byte, 1<<20)
	head := append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 0, 5, 0, 0xfa, 0xff}, "WARC/"...) // a stored block that is not the last
	for i := 0; i+len(head) < len(block); i += 64 {
		copy(block[i:], head)
	}
	file := &countingSeeker{ReadSeeker: bytes.NewReader(bytes.Repeat(block, 16))}
	rd := NewReader(file)
	for {
		if _, err := rd.Next(); err == io.EOF {
			break
		}
	}
	if file.n > 400<<20 {
		t.Errorf("%d bytes were read of a file of 16 MiB", file.n)
	}
}

type countingSeeker struct {
	io.ReadSeeker
	n int64
}

func (c *countingSeeker) Read(p []byte) (int, error) {
	n, err := c.ReadSeeker.Read(p)
	c.n += int64(n)
	return n, err
}

// TestLong: a record of 3 GiB takes no more memory than a short one.
func TestLong(t *testing.T) {
	const size = 3 << 30
	head := fmt.Sprintf("WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: %d\r\n\r\n", int64(size))
	rd := NewReader(io.MultiReader(strings.NewReader(head), io.LimitReader(zeros{}, size), strings.NewReader("\r\n\r\n"+plainRecord)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, kind := range []string{Resource, Resource} {
		r, err := rd.Next()
		if err != nil || r.Type != kind {
			t.Fatal(r, err)
		}
	}
	if _, err := rd.Next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 1<<20 {
		t.Errorf("%d bytes were allocated", after.TotalAlloc-before.TotalAlloc)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestCut: of a file that was cut anywhere the records before are read, as they are, and nothing else.
func TestCut(t *testing.T) {
	file := anArchive(t)
	whole, _ := all(t, file)
	for n := 0; n <= len(file); n++ {
		records, broken := all(t, file[:n])
		if !slices.Equal(records, whole[:len(records)]) || len(broken) > 1 {
			t.Fatalf("cut after %d bytes: %d records, %v", n, len(records), broken)
		}
		if len(broken) == 0 && len(records) < len(whole) {
			if _, after := all(t, file[n:]); len(after) > 0 {
				t.Errorf("cut after %d bytes, within a record, and nobody says so", n)
			}
		}
	}
}

func TestIndex(t *testing.T) {
	var lines []byte
	err := Index(bytes.NewReader(anArchive(t)), "a.warc.gz", func(e *Entry) error { lines = e.Append(lines); return nil }, func(err error) error { return err })
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(string(lines)), "\n")
	if len(got) != 4 || !strings.HasPrefix(got[0], `org,example)/ 20261123123015 {"url": "http://example.org/", "mime": "text/html", "status": "200", "digest": "`) ||
		!strings.HasPrefix(got[1], `org,example)/same 20261123123015 {"url": "http://example.org/same", "mime": "warc/revisit", "digest": "`) {
		t.Errorf("%s", lines)
	}
	var told []error
	file := zipped(plainRecord+plainRecord) + zipped(strings.Replace(plainRecord, "http://a/", "http://a:x/", 1)) + zipped(strings.Replace(plainRecord, ": 3", ": 4", 1))
	err = Index(strings.NewReader(file), "b", func(*Entry) error { t.Error("an entry of what cannot be found"); return nil }, func(err error) error { told = append(told, err); return nil })
	if err != nil || len(told) < 3 {
		t.Errorf("%v, told %v", err, told)
	}
}

// TestTools has other people's programs read a file: warcio checks digests, jwarc all, gzip the members, pywb indexes it.
func TestTools(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.warc.gz")
	if err := os.WriteFile(path, anArchive(t), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Run("gzip", func(t *testing.T) {
		if out, err := exec.Command("gzip", "-t", path).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("warcio", func(t *testing.T) {
		exe := python(t, "warcio")
		if out, err := exec.Command(exe, "-m", "warcio.cli", "check", "-v", path).CombinedOutput(); err != nil || bytes.Contains(out, []byte("failed")) {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("jwarc", func(t *testing.T) {
		jar := os.Getenv("FORAGE_JWARC")
		if jar == "" {
			t.Skip("needs jwarc (FORAGE_JWARC names its jar)")
		}
		if out, err := exec.Command("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-jar", jar, "validate", "-v", path).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("pywb", func(t *testing.T) {
		exe := python(t, "pywb")
		want, err := exec.Command(exe, "-c", "from pywb.indexer.cdxindexer import main; main()", "-j", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var got []byte
		if err := Index(f, "a.warc.gz", func(e *Entry) error { got = e.Append(got); return nil }, func(err error) error { return err }); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("we write\n%s, pywb\n%s", got, want)
		}
	})
}

// FuzzReader: no file makes the reader panic, loop, or read a block that is not announced.
func FuzzReader(f *testing.F) {
	f.Add([]byte(plainRecord))
	f.Add([]byte(zipped(plainRecord + plainRecord)))
	f.Add(anArchive(f))
	f.Fuzz(func(t *testing.T, file []byte) {
		rd := NewReader(bytes.NewReader(file))
		at := int64(-1)
		for range len(file) + 2 {
			r, err := rd.Next()
			if err == io.EOF {
				if _, err := rd.Next(); err != io.EOF {
					t.Fatalf("after the end: %v", err)
				}
				return
			}
			if err != nil {
				continue
			}
			if r.Offset < at || r.Offset >= int64(len(file)) {
				t.Fatalf("a record at %d after one at %d, of %d bytes", r.Offset, at, len(file))
			}
			at = r.Offset
			n := r.Left()
			if m, err := io.Copy(io.Discard, r); err == nil && m != n {
				t.Fatalf("%d bytes of %d", m, n)
			}
			ReadHead(bufio.NewReader(bytes.NewReader(file)))
		}
		t.Fatal("more records than bytes")
	})
}

// FuzzCapture: whatever a server sends, what was written can be read again.
func FuzzCapture(f *testing.F) {
	f.Add("http://a/", []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), []byte("body"), true)
	f.Add("http://a/\r\nX: y", []byte("HTTP/1.0 200\n\n"), []byte(""), false)
	f.Fuzz(func(t *testing.T, url string, head, body []byte, chunked bool) {
		var b bytes.Buffer
		w := NewWriter(&b, chance())
		if _, err := w.Capture(&Capture{URI: url, Date: day, Head: head, Body: bytes.NewReader(body), Size: int64(len(body)), Chunked: chunked, Request: head}); err != nil {
			t.Fatal(err)
		}
		rd := NewReader(&b)
		r, err := rd.Next()
		if err != nil {
			t.Fatal(err)
		}
		block, err := io.ReadAll(r)
		if err != nil || !bytes.HasSuffix(block, body) || !chunked && !bytes.Equal(block, append(slices.Clip(head), body...)) {
			t.Errorf("%q, %v", block, err)
		}
		if _, err := rd.Next(); err != nil && len(head) > 0 {
			t.Errorf("the request: %v", err)
		}
	})
}

// BenchmarkCapture writes what a page of 10 kB comes to.
func BenchmarkCapture(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var page strings.Builder
	for page.Len() < 10_000 {
		fmt.Fprintf(&page, `<p class="text">%s <a href="/page/%d">page %d</a></p>`+"\n", strings.Repeat("lorem ipsum dolor "[rng.IntN(9):], 1+rng.IntN(3)), rng.IntN(1e6), rng.IntN(1e6))
	}
	w := NewWriter(io.Discard, chance())
	body := []byte(page.String())
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		r := bytes.NewReader(body)
		c := Capture{
			URI: "http://example.org/page/1", Date: day, Body: r, Size: int64(len(body)),
			Request:  []byte("GET /page/1 HTTP/1.1\r\nHost: example.org\r\nUser-Agent: forage/1.0\r\nAccept: text/html\r\n\r\n"),
			Head:     []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 10000\r\nServer: nginx\r\n\r\n"),
			Metadata: Fields{{"hopsFromSeed", "L"}, {"fetchTimeMs", "12"}, {"via", "http://example.org/"}},
		}
		var err error
		if c.Digest, err = w.Sum(r, c.Size); err != nil {
			b.Fatal(err)
		}
		if _, err := w.Capture(&c); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(w.Written())/float64(b.N), "B/page")
}

// TestBody: chunks that are there are taken out, and what only seems to have some stays.
func TestBody(t *testing.T) {
	for _, c := range []struct{ head, body, want, broken string }{
		{"", "abc", "abc", ""},
		{"Transfer-Encoding: chunked", "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", "abcde", ""},
		{"transfer-encoding: gzip, Chunked", "3\nabc\n0\n\n", "abc", ""},
		{"Transfer-Encoding: chunked", "<p>3</p>\r\n", "<p>3</p>\r\n", ""},
		{"Transfer-Encoding: chunked", "no end", "no end", ""},
		{"Transfer-Encoding: chunked", "", "", ""},
		{"Transfer-Encoding: chunked", "9\r\nabc", "abc", "unexpected EOF"},
		{"X-Crawler-Transfer-Encoding: chunked", "3\r\nabc", "3\r\nabc", ""},
	} {
		block := bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\n" + c.head + "\r\n\r\n" + c.body))
		if c.head == "" {
			block = bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\n\r\n" + c.body))
		}
		h, err := ReadHead(block)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(h.Body(block))
		if (err == nil) != (c.broken == "") || err != nil && err.Error() != c.broken || string(got) != c.want {
			t.Errorf("%s, %q: %q, %v, want %q, %s", c.head, c.body, got, err, c.want, c.broken)
		}
	}
}

// TestReset: a reader reads one file after another as a new one does, wherever it stopped in the one before.
func TestReset(t *testing.T) {
	file := anArchive(t)
	rd := NewReader(strings.NewReader("nonsense"))
	for range 3 {
		rd.Next()
	}
	for stop := range 5 {
		rd.Reset(bytes.NewReader(file))
		for range stop {
			if _, err := rd.Next(); err != nil {
				t.Fatal(err)
			}
		}
		rd.Reset(bytes.NewReader(file))
		want, _ := all(t, file)
		for i := range want {
			r, err := rd.Next()
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%d+%d %s %s ", r.Offset, r.Index, r.Type, r.URI()); !strings.HasPrefix(want[i], got) {
				t.Errorf("record %d after %d: %s, want %s", i, stop, got, want[i])
			}
		}
	}
}
