package crawl

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"forage/archive"
	"forage/crawl/plan"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/fetch/use"
	"forage/internal/race"
	"forage/replay"
	"forage/snap"
	"forage/store"
	"forage/warc"
)

// A said answer is one that a server gave, or that an archive has of it.
type saidAnswer struct {
	path, status string
	body         string // as it was sent, without chunks
}

// oddWeb is a server that answers in each way that HTTP knows, and keeps what it said.
type oddWeb struct {
	url string

	mu   sync.Mutex
	said []saidAnswer
	sent []string // header fields of requests
}

func newOddWeb(t *testing.T) *oddWeb {
	o := new(oddWeb)
	links := []string{"chunks", "gzip", "old", "moved", "gone", "cut", "endless", "early", "large", "kept-out", "kept-out-head", "empty", "twin", "image", "long", "no-type", "chunks-cut"}
	var home strings.Builder
	for _, l := range links {
		fmt.Fprintf(&home, "<a href='/%s'>%s</a>", l, l)
	}
	noise := make([]byte, 600<<10) // more than is held in memory, as are its records
	for i := range noise {
		noise[i] = "abcdefghijklmnopqrstuvwxyzABCDEF"[rand.IntN(32)]
	}
	large := "<title>large</title>" + string(noise)
	raw := func(w http.ResponseWriter, text string) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(conn, text)
		conn.Close()
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, status, body := r.URL.Path, "200", "<title>"+r.URL.Path+"</title>a page"
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		write := func() {
			code, _ := strconv.Atoi(status)
			w.WriteHeader(code)
			io.WriteString(w, body)
		}
		switch path {
		case "/":
			body = home.String()
			write()
		case "/robots.txt":
			status, body = "302", ""
			h.Set("Location", "/rules")
			write()
		case "/rules":
			h.Set("Content-Type", "text/plain")
			body = "User-agent: *\nDisallow: /forbidden\n"
			write()
		case "/chunks":
			for part := range strings.SplitSeq(body, " ") {
				io.WriteString(w, part)
				http.NewResponseController(w).Flush()
			}
			body = strings.ReplaceAll(body, " ", "")
		case "/gzip":
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			io.WriteString(z, body)
			z.Close()
			body = b.String()
			h.Set("Content-Encoding", "gzip")
			write()
		case "/old":
			h.Set("ETag", `"1"`)
			if r.Header.Get("If-None-Match") != "" {
				status, body = "304", ""
			}
			write()
		case "/moved":
			status, body = "301", "it is there"
			h.Set("Location", "/chunks")
			write()
		case "/gone":
			status = "404"
			write()
		case "/cut":
			body = "<title>cut</title>"
			raw(w, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100\r\n\r\n"+body)
		case "/chunks-cut":
			body = "<title>cut</title>"
			raw(w, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n12\r\n"+body+"\r\n50\r\n")
		case "/endless":
			raw(w, "HTTP/1.0 200 fine\nContent-Type:text/html\n\n"+body)
		case "/early":
			h.Set("Link", "</style.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			write()
		case "/large":
			body = large
			write()
		case "/kept-out":
			body += "<meta name=robots content=noarchive>"
			write()
		case "/kept-out-head":
			h.Set("X-Robots-Tag", "forage: noarchive")
			write()
		case "/empty":
			status, body = "204", ""
			w.WriteHeader(http.StatusNoContent)
		case "/twin":
			body = "<title>/chunks</title>apage"
			write()
		case "/image":
			h.Set("Content-Type", "image/png")
			body = "\x89PNG\r\n\x1a\n"
			write()
		case "/long": // more than --max-body
			body = strings.Repeat("long ", 400<<10)
			write()
			body = body[:1<<20]
		case "/no-type":
			delete(h, "Content-Type")
			h["Content-Type"] = nil
			write()
		default:
			status = "404"
			write()
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.said = append(o.said, saidAnswer{path, status, body})
		o.sent = append(o.sent, fmt.Sprint(r.Header))
	}))
	t.Cleanup(web.Close)
	o.url = web.URL
	return o
}

// archivedIn reads what an archive has: answers, whose bodies may be in others, and the files. Each other rule of the format that readers
// rely on is checked, too.
func archivedIn(t *testing.T, folder string) (all []saidAnswer, files []string, text string) {
	t.Helper()
	bodies := map[string]string{} // by URL and date
	files, err := filepath.Glob(filepath.Join(folder, "*.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	if open, _ := filepath.Glob(filepath.Join(folder, "*.open")); len(open) > 0 {
		t.Errorf("left open: %q", open)
	}
	var b strings.Builder
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		ids, still := map[string]bool{}, map[string]int{} // of answers that have no head of their own: where they are in all
		for r := warc.NewReader(f); ; {
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			block, err := io.ReadAll(rec)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s\r\n%.2000s\r\n", rec.Fields, block)
			ids[rec.Fields.Get("WARC-Record-ID")] = true
			if to := rec.Fields.Get("WARC-Concurrent-To"); (to == "") == (rec.Type == warc.Request || rec.Type == warc.Metadata) || to != "" && !ids[to] {
				t.Errorf("%s: a %s record is joined to %q", path, rec.Type, to)
			}
			if i, ok := still[rec.Fields.Get("WARC-Concurrent-To")]; ok && rec.Type == warc.Metadata {
				_, head, _ := strings.Cut(string(block), "head: HTTP/1.1 ")
				all[i].status = head[:3]
			}
			if rec.Type != warc.Response && rec.Type != warc.Revisit {
				continue
			}
			head, body, _ := strings.Cut(string(block), "\r\n\r\n")
			if !strings.Contains(string(block), "\r\n\r\n") {
				head, body, _ = strings.Cut(string(block), "\n\n")
			}
			switch rec.Type {
			case warc.Response:
				bodies[rec.URI()+" "+rec.Fields.Get("WARC-Date")] = body
			case warc.Revisit:
				var ok bool
				if body, ok = bodies[rec.Fields.Get("WARC-Refers-To-Target-URI")+" "+rec.Fields.Get("WARC-Refers-To-Date")]; !ok {
					t.Errorf("%s: a revisit refers to what is not there: %s", path, rec.Fields)
				}
			}
			_, status, _ := strings.Cut(head+"    ", " ")
			if rec.Fields.Get("WARC-Profile") == warc.NotModified {
				still[rec.Fields.Get("WARC-Record-ID")] = len(all)
				if len(block) > 0 {
					t.Errorf("a page that has not changed would be read as %q", block)
				}
			}
			_, p, _ := strings.Cut(strings.TrimPrefix(rec.URI(), "http://"), "/")
			all = append(all, saidAnswer{"/" + p, status[:3], body})
		}
		f.Close()
	}
	return all, files, b.String()
}

// sorted is a list without the order in which answers came.
func sortedAnswers(all []saidAnswer) (lines []string) {
	for _, a := range all {
		lines = append(lines, fmt.Sprintf("%s %s %d %x", a.path, a.status, len(a.body), archiveHash(a.body)))
	}
	slices.Sort(lines)
	return lines
}

func archiveHash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// TestArchive crawls a site that answers in all ways, and comes back: the archive has each answer as it was given, once, and other
// people's programs read it.
func TestArchive(t *testing.T) {
	t.Parallel()
	o := newOddWeb(t)
	dir := t.TempDir()
	cfg := loopback(filepath.Join(dir, "store"))
	cfg.Fetch.MaxBody = 1 << 20
	cfg.Fetch.Fields = []fetch.SiteField{{Host: strings.TrimPrefix(o.url, "http://"), Name: "Authorization", Value: "Bearer hunter2"}}
	cfg.Archive = &Archive{Folder: filepath.Join(dir, "warc"), Respect: use.RespectNoArchive, Info: warc.Fields{{Name: "software", Value: "test"}}}
	for cycle := range 3 {
		c, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if cycle == 0 {
			_, err = c.Run(t.Context(), []scope.Seed{{URL: o.url + "/"}}, Options{})
		} else {
			_, err = c.Revisit(t.Context(), plan.Plan{Full: true, Text: "all"}, Options{})
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	all, files, text := archivedIn(t, cfg.Archive.Folder)
	for i := range all {
		if all[i].status == "304" { // what it refers to
			all[i].body = ""
		}
	}
	want := slices.DeleteFunc(o.said, func(a saidAnswer) bool { return strings.HasPrefix(a.path, "/kept-out") })
	if got, want := strings.Join(sortedAnswers(all), "\n"), strings.Join(sortedAnswers(want), "\n"); got != want {
		t.Errorf("the archive has\n%s\nthe server said\n%s", got, want)
	}
	if !strings.Contains(strings.Join(o.sent, ""), "hunter2") || strings.Contains(text, "hunter2") {
		t.Error("the secret was not sent, or is in the archive")
	}
	for what, n := range map[string]int{
		"WARC-Truncated: length": 1, "WARC-Truncated: disconnect": 2, "X-Crawler-Transfer-Encoding: chunked": 1, "server-not-modified": 2, "identical-payload-digest": 10,
		"hopsFromSeed: LR": 0, "via: " + o.url + "/\r\n": 10, "link: a\r\n": 10, "cycle: 3": 10, "WARC-IP-Address: 127.0.0.1": 20, "103 Early": -1,
	} {
		if got := strings.Count(text, what); n < 0 && got > 0 || got < n {
			t.Errorf("%q is there %d times, want %d", what, got, n)
		}
	}
	if len(files) != 3 {
		t.Errorf("%d files: %q", len(files), files)
	}
	validate(t, files)
}

// TestArchiveRefers: an answer that says that nothing has changed refers to the body that the page has, whatever cycles were not archived, or
// left it out; where the archive does not have that, or each answer is to stand for itself, the page is asked for whole.
func TestArchiveRefers(t *testing.T) {
	t.Parallel()
	var body, tag, head string
	var asked []string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/" {
			w.Header().Set("ETag", tag)
			if head != "" {
				w.Header().Set("X-Robots-Tag", head)
			}
			asked = append(asked, cmp.Or(r.Header.Get("If-None-Match"), "whole"))
			if r.Header.Get("If-None-Match") == tag {
				w.WriteHeader(304)
				return
			}
			io.WriteString(w, body)
			return
		}
		w.WriteHeader(404)
	}))
	defer web.Close()
	dir := t.TempDir()
	cfg := loopback(filepath.Join(dir, "store"))
	kept := &Archive{Folder: filepath.Join(dir, "warc"), Respect: use.RespectNoArchive}
	all := *kept
	all.Respect = 0
	off, file := all, all
	off.Dedupe, file.Dedupe = archive.Off, archive.File
	var want []saidAnswer
	for i, step := range []struct {
		archive *Archive
		body    string
		head    string
		asked   string // with this validator
		kept    string // the body that the archive has of it; "": it was left out
	}{
		{kept, "one", "", "whole", "one"},
		{nil, "two", "", `"one"`, ""},
		{kept, "two", "", "whole", "two"},
		{kept, "two", "", `"two"`, "two"},
		{nil, "two", "", `"two"`, ""},
		{kept, "two", "", `"two"`, "two"},
		{kept, "three", "noarchive", `"two"`, ""},
		{kept, "three", "noarchive", `"three"`, ""},
		{&all, "three", "noarchive", "whole", "three"},
		{&all, "three", "noarchive", `"three"`, "three"},
		{&off, "three", "", "whole", "three"},
		{&file, "three", "", "whole", "three"}, // it begins a file
	} {
		body, tag, head, asked = "<title>"+step.body+"</title>", strconv.Quote(step.body), step.head, nil
		cfg.Archive = step.archive
		c, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			_, err = c.Run(t.Context(), []scope.Seed{{URL: web.URL + "/"}}, Options{})
		} else {
			_, err = c.Revisit(t.Context(), plan.Plan{Full: true, Text: "all"}, Options{})
		}
		if err := errors.Join(err, c.Close()); err != nil {
			t.Fatal(err)
		}
		if len(asked) != 1 || asked[0] != step.asked {
			t.Errorf("step %d asked %q, want %q", i, asked, step.asked)
		}
		if step.kept != "" {
			status := "200"
			if step.asked == tag {
				status = "304"
			}
			want = append(want, saidAnswer{"/", status, "<title>" + step.kept + "</title>"})
		}
	}
	got, _, _ := archivedIn(t, kept.Folder)
	got = slices.DeleteFunc(got, func(a saidAnswer) bool { return a.path != "/" })
	if !slices.Equal(got, want) {
		t.Errorf("the archive has %v\nwant %v", got, want)
	}
}

// TestArchiveBrokenOff: a page that asked not to be kept, and breaks off before it says so, is left out; and what is recorded is dated as all
// else is.
func TestArchiveBrokenOff(t *testing.T) {
	t.Parallel()
	whole := true
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		begin, end := "<title>page</title>"+strings.Repeat("<p>some text", 200), "<meta name=robots content=noarchive>"
		switch {
		case r.URL.Path == "/":
			io.WriteString(w, "<a href=/p>p</a>")
		case r.URL.Path != "/p":
			w.WriteHeader(404)
		case whole:
			io.WriteString(w, end+begin)
		default:
			w.Header().Set("Content-Length", strconv.Itoa(len(begin+end)))
			io.WriteString(w, begin)
		}
	}))
	defer web.Close()
	dir := t.TempDir()
	cfg := loopback(filepath.Join(dir, "store"))
	cfg.At = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	cfg.Archive = &Archive{Folder: filepath.Join(dir, "warc"), Respect: use.RespectNoArchive}
	c, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context(), []scope.Seed{{URL: web.URL + "/"}}, Options{}); err != nil {
		t.Fatal(err)
	}
	whole = false
	if _, err := c.Revisit(t.Context(), plan.Plan{Full: true, Text: "all"}, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	all, _, text := archivedIn(t, cfg.Archive.Folder)
	for _, a := range all {
		if a.path == "/p" {
			t.Errorf("%s is kept, %d bytes", a.path, len(a.body))
		}
	}
	if n := strings.Count(text, "WARC-Date: "); n < 9 || strings.Count(text, "WARC-Date: 2030-01-01T00:00:00.000Z") != n {
		t.Errorf("not all of %d records are of the time that was given:\n%s", n, text)
	}
}

// TestArchivesHops: what a worker knows of the way to the documents of one store is nothing for those of another.
func TestArchivesHops(t *testing.T) {
	t.Parallel()
	blocks, free := make(chan bool), make(chan bool)
	links := map[string]string{"/": "/block /1", "/1": "/2", "/2": "/3", "/3": "", "/w": "/p /q /r", "/p": "/p/1", "/q": "/q/1", "/r": "/r/1"}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/block" {
			close(blocks)
			<-free
		}
		to, ok := links[r.URL.Path]
		if !ok && strings.Count(r.URL.Path, "/") < 2 {
			w.WriteHeader(404)
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title>", r.URL.Path)
		for l := range strings.FieldsSeq(to) {
			fmt.Fprintf(w, "<a href=%s>", l)
		}
	}))
	defer web.Close()
	dir := t.TempDir()
	cfg := loopback("")
	cfg.Parallel = 2
	l, err := NewLoop(cfg)
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) *Crawl {
		cfg := cfg
		cfg.Loop, cfg.Dir, cfg.Archive = l, filepath.Join(dir, name), &Archive{Folder: filepath.Join(dir, name+"-warc")}
		c, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	a, b := at("a"), at("b")
	ended := make(chan error)
	go func() {
		_, err := a.Run(t.Context(), []scope.Seed{{URL: web.URL + "/"}}, Options{})
		ended <- err
	}()
	<-blocks
	if _, err := b.Run(t.Context(), []scope.Seed{{URL: web.URL + "/w"}}, Options{}); err != nil {
		t.Error(err)
	}
	close(free)
	if err := errors.Join(<-ended, a.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
	_, _, text := archivedIn(t, filepath.Join(dir, "b-warc"))
	if strings.Count(text, "hopsFromSeed: L\r\n") != 3 || strings.Count(text, "hopsFromSeed: LL\r\n") != 3 || strings.Contains(text, "hopsFromSeed: LLL") {
		t.Errorf("three pages are a link from the seed, three two:\n%s", text)
	}
}

// validate has other people's programs read WARC files, where they are there.
func validate(t *testing.T, files []string) {
	t.Helper()
	for _, f := range files {
		if out, err := exec.Command("gzip", "-t", f).CombinedOutput(); err != nil {
			t.Errorf("gzip: %s: %v %s", f, err, out)
		}
	}
	if exe := os.Getenv("FORAGE_PYTHON"); exe != "" {
		if out, err := exec.Command(exe, append([]string{"-m", "warcio.cli", "check"}, files...)...).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("warcio: %v %s", err, out)
		}
	} else {
		t.Log("warcio has not read it: FORAGE_PYTHON names no interpreter that has it")
	}
	if jar := os.Getenv("FORAGE_JWARC"); jar != "" {
		if out, err := exec.Command("java", append([]string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-jar", jar, "validate"}, files...)...).CombinedOutput(); err != nil {
			t.Errorf("jwarc: %v %s", err, out)
		}
	} else {
		t.Log("jwarc has not read it: FORAGE_JWARC names no jar")
	}
}

// TestKillArchive kills crawls that keep an archive: it has as many answers of each document as the store knows of, whatever was under
// way, and no file has a broken end.
func TestKillArchive(t *testing.T) {
	race.Skip(t)
	if testing.Short() {
		t.Skip("starts many processes")
	}
	t.Parallel()
	h := snap.Blog(rand.New(rand.NewPCG(1, 2)), 10)
	server, err := replay.New(h, len(h.Snapshots)-1, false)
	if err != nil {
		t.Fatal(err)
	}
	k := newKiller(t, server)
	root, _ := scratch(t)
	r := rand.New(rand.NewPCG(16, 7))
	once := int64(0)
	var files []string // of all rounds, for others to read at once
	for round, done := 0, 0; done < kills(); round++ {
		dir, folder := filepath.Join(root, fmt.Sprint(round)), filepath.Join(root, fmt.Sprint(round, "-warc"))
		env := []string{"FORAGE_TEST_DIR=" + dir, "FORAGE_TEST_ARCHIVE=" + folder}
		if once == 0 { // how many answers a calm one takes
			if k.run(t, never, 0, env...) {
				t.Fatal("the crawl nobody killed was killed")
			}
			once = server.Counts().Documents
		}
		here := 0
		for once > 0 && round > 0 && k.run(t, moment(r, once, here), late(r), env...) {
			here++
			done++
		}
		agrees(t, dir, folder)
		textsAgree(t, dir, folder+"-texts")
		for _, folder := range []string{folder, folder + "-texts"} {
			whole, err := filepath.Glob(filepath.Join(folder, "*.warc.gz"))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, whole...)
		}
		t.Logf("%d kills in this crawl", here)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	validate(t, files)
}

// agrees compares an archive with its store.
func agrees(t *testing.T, dir, folder string) {
	t.Helper()
	all, _, _ := archivedIn(t, folder)
	got := map[string]int{}
	for _, a := range all {
		got[a.path]++
	}
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Check(func(p store.Problem) { t.Error(p) }); err != nil {
		t.Fatal(err)
	}
	docs := 0
	if err := db.Docs(func(d *store.Doc) bool {
		_, path, _ := strings.Cut(strings.TrimPrefix(d.URL, "http://"), "/")
		if n := got["/"+path]; n != d.Visits {
			t.Errorf("%s: %d answers in the archive, %d in the store", d.URL, n, d.Visits)
		}
		docs += d.Visits
		if at, err := db.Capture(d.ID); (err == nil) != (d.Status == 200) {
			t.Errorf("%s, %v: %+v, %v", d.URL, d.Kind, at, err)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if docs < 20 {
		t.Errorf("%d documents", docs)
	}
}
