package ingest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"forage/crawl"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/internal/linesort"
	"forage/store"
	"forage/warc"
)

// WARCFiles returns the WARC files that paths name, of folders all that are in them and below, and reports what is none of that kind: the
// error is a *FileError, or says that a file is not there. A record of each is read.
func WARCFiles(paths []string) (files []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return nil, err
		case !info.IsDir():
			files = append(files, path)
			continue
		}
		some := 0
		if err := filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && (strings.HasSuffix(file, ".warc") || strings.HasSuffix(file, ".warc.gz")) {
				files = append(files, file)
				some++
			}
			return err
		}); err != nil {
			return nil, err
		}
		if some == 0 {
			return nil, &FileError{path, errors.New("there is no WARC file in this folder")}
		}
	}
	for _, path := range files {
		if err := isWARC(path); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func isWARC(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = warc.NewReader(f).Next()
	var format *warc.FormatError
	switch {
	case err == io.EOF:
		return &FileError{path, errors.New("the file is empty")}
	case errors.As(err, &format):
		return &FileError{path, fmt.Errorf("want a WARC file, plain or compressed by gzip: %w", err)}
	case err != nil:
		return &FileError{path, err}
	}
	return nil
}

// An Archive is what WARC files have of answers by HTTP. It is crawl.Captures.
type Archive struct {
	*tally
	files []string
	rules *scope.Directory
	lines *linesort.Lines // of all captures, by site and date: see mark
	refs  *linesort.Lines // of bodies, and of the captures that refer to them, by what they have in common

	mu   sync.Mutex // for rules, lines, refs
	refd bool       // some captures refer to others

	next   func() (string, bool)
	stop   func()
	failed error  // of lines
	within string // the site that next is at
	seeds  []string
	asked  map[string]*store.Rules // by what an archive of ours says of its site

	readers sync.Pool // of *opened
}

var _ crawl.Captures = (*Archive)(nil)

// OpenArchive reads WARC files, which are WARCFiles, to find out which captures they have, of which sites. Records that are no answer by HTTP, or
// cannot be read, are left out. Errors: of the files, of ctx. Time: that of unpacking all. Memory: 32 MiB, and 64 KiB for each 16 MiB of lines,
// of which a capture has some 300 bytes.
func OpenArchive(ctx context.Context, files []string, rules *scope.Directory, opt Options) (_ *Archive, err error) {
	t, err := newTally(files, opt)
	if err != nil {
		return nil, err
	}
	a := &Archive{
		tally: t, files: slices.Clone(files), rules: rules, asked: map[string]*store.Rules{},
		lines: linesort.New(opt.Scratch, held), refs: linesort.New(opt.Scratch, held),
	}
	a.readers.New = func() any { return &opened{rd: warc.NewReader(nil), block: bufio.NewReaderSize(nil, 4<<10)} }
	defer func() {
		if err != nil {
			a.Close()
		}
	}()
	// Files of one archive have names in the order in which they were written.
	slices.SortStableFunc(a.files, func(x, y string) int { return cmp.Compare(filepath.Base(x), filepath.Base(y)) })
	if err := each(ctx, len(a.files), runtime.GOMAXPROCS(0), func(ctx context.Context, i int) error { return a.index(ctx, i) }); err != nil {
		return nil, err
	}
	a.tally.end()
	if err := a.resolve(); err != nil {
		return nil, err
	}
	a.next, a.stop = iter.Pull(func(yield func(string) bool) {
		if err := a.lines.Each(func(line []byte) error {
			if !yield(string(line)) {
				return errStopped
			}
			return nil
		}); err != nil && err != errStopped {
			a.failed = err
		}
	})
	return a, nil
}

var errStopped = errors.New("nobody wants more")

// Close removes what was put on disk.
func (a *Archive) Close() {
	if a.stop != nil {
		a.stop()
	}
	a.lines.Close()
	a.refs.Close()
}

// A place is where a record is.
type place struct {
	file          int
	offset, index int64 // of the member, and of the record in it
	length        int64 // of the member; 0: not known
}

// A mark is what is kept of a capture until it is taken in.
type mark struct {
	within string // of its site
	at     int64  // milliseconds since the epoch
	order  int64  // the same, but that what an archive of ours has in an order stays in it: answers are in that in which they were taken in
	place
	url, scope                    string
	cycle, visit, role, via, link string
	ok                            bool
	kind                          byte // 'r' response, 's' the body is that of another answer, 'n' nothing had changed
}

// append appends the line of a capture, without its end: fields are separated by NUL, and no field has one, or a line end. Those of a
// site come together, by date, and what was written first comes first.
func (m *mark) append(b []byte) []byte {
	b = fmt.Appendf(b, "%s\x001%016x%06x%012x%06x\x00", m.within, m.order, m.file, m.offset, m.index)
	ok := "0"
	if m.ok {
		ok = "1"
	}
	for _, s := range [...]string{strconv.FormatInt(m.at, 36), strconv.FormatInt(m.length, 36), string(m.kind), ok, m.url, m.scope, m.cycle, m.visit, m.role, m.via, m.link} {
		b = append(append(b, s...), 0)
	}
	return b
}

// appendPlace appends a place to a line.
func (p *place) append(b []byte) []byte {
	return fmt.Appendf(b, "%x %x %x %x", p.file, p.offset, p.index, p.length)
}

func parsePlace(s string) (p place, err error) {
	if s != "" {
		_, err = fmt.Sscanf(s, "%x %x %x %x", &p.file, &p.offset, &p.index, &p.length)
	}
	return p, err
}

// oneLine takes from a text what no line of ours may have.
func oneLine(s string) string {
	if strings.ContainsAny(s, "\x00\n\r") {
		s = strings.NewReplacer("\x00", "", "\n", "", "\r", "").Replace(s)
	}
	return s
}

// An indexer reads one file.
type indexer struct {
	*Archive
	file  int
	path  string
	rd    *warc.Reader
	block *bufio.Reader

	ours   bool   // forage wrote it
	name   string // of the archive that it is of
	latest int64  // of the dates so far, where it is ours
	wait   []waiting
	seeded map[string]bool // sites of which a seed was told
	line   []byte
}

// A waiting is a capture whose metadata may come yet: behind it, after other records of the same answer.
type waiting struct {
	mark
	id   string // of the record
	ref  string // key of its body; "": none
	said warc.Fields
}

// mostWaiting is how many captures may lie between one and what is said of it.
const mostWaiting = 16

// index reads a file.
func (a *Archive) index(ctx context.Context, i int) error {
	f, err := os.Open(a.files[i])
	if err != nil {
		return err
	}
	defer f.Close()
	x := &indexer{Archive: a, file: i, path: a.files[i], rd: warc.NewReader(&counted{ctx, f, a.tally}), block: bufio.NewReaderSize(nil, 4<<10), seeded: map[string]bool{}}
	for {
		rec, err := x.rd.Next()
		if err == nil {
			a.read()
			err = x.record(rec)
		}
		if ctx.Err() != nil { // which may look like a broken record
			return ctx.Err()
		}
		var format *warc.FormatError
		switch {
		case err == nil:
		case err == io.EOF:
			return x.flush(0)
		case errors.As(err, &format):
			a.broken(x.path, err)
		case errors.Is(err, warc.ErrARC):
			return &FileError{x.path, err}
		default:
			return fmt.Errorf("%s: %w", x.path, err)
		}
	}
}

// record takes in a record.
func (x *indexer) record(rec *warc.Record) error {
	switch rec.Type {
	case warc.Warcinfo:
		said, err := fields(rec)
		if err != nil {
			return err
		}
		x.ours = strings.HasPrefix(said.Get("software"), "forage/")
		// forage-DATE-ARCHIVE-NUMBER.warc.gz
		if x.name = oneLine(rec.Fields.Get("WARC-Filename")); strings.Count(x.name, "-") > 1 {
			x.name = x.name[:strings.LastIndexByte(x.name, '-')]
		}
		x.latest = 0
		return nil
	case warc.Response, warc.Revisit:
		return x.capture(rec)
	case warc.Metadata:
		to := rec.Fields.Get("WARC-Concurrent-To")
		i := slices.IndexFunc(x.wait, func(w waiting) bool { return w.id == to })
		if i < 0 || to == "" {
			return nil
		}
		said, err := fields(rec)
		x.wait[i].said = said
		return err
	case warc.Request:
	default:
		x.leave(fmt.Sprintf("%s records", cmp.Or(oneLine(rec.Type), "unnamed")))
	}
	return nil
}

// mostSaid is how many bytes are read of what is said of a capture.
const mostSaid = 64 << 10

// fields reads a block of lines NAME: VALUE.
func fields(rec *warc.Record) (f warc.Fields, err error) {
	b, err := io.ReadAll(io.LimitReader(rec, mostSaid))
	for line := range bytes.Lines(b) {
		if name, value, ok := strings.Cut(strings.TrimRight(string(line), "\r\n"), ":"); ok {
			f = append(f, warc.Field{Name: name, Value: strings.TrimSpace(value)})
		}
	}
	return f, err
}

// capture takes in a response or revisit.
func (x *indexer) capture(rec *warc.Record) error {
	format := func(err error) error { return &warc.FormatError{Offset: rec.Offset, Reason: err.Error()} }
	uri := rec.URI()
	if scheme, _, _ := strings.Cut(uri, ":"); !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		x.leave("records of other protocols than HTTP")
		return nil
	}
	w := waiting{mark: mark{place: place{file: x.file, offset: rec.Offset, index: int64(rec.Index)}, kind: 'r', url: uri}, id: rec.Fields.Get("WARC-Record-ID")}
	date, err := rec.Date()
	if err != nil {
		return format(err)
	}
	if w.at = date.UnixMilli(); w.at <= 0 {
		return format(fmt.Errorf("WARC-Date %s is before there was a web", date))
	}
	x.block.Reset(rec)
	if rec.Type == warc.Response || rec.Left() > 0 {
		head, err := warc.ReadHead(x.block)
		if err != nil {
			var broken *warc.FormatError
			if errors.As(err, &broken) {
				return err
			}
			x.leave("records without an answer by HTTP")
			return nil
		}
		contentType := head.Fields.Get("Content-Type")
		w.ok = len(head.Status) == 3 && head.Status[0] == '2' && (contentType == "" || fetch.KindOf(contentType, nil) != fetch.Other)
	}
	digest := strings.ToLower(oneLine(rec.Fields.Get("WARC-Payload-Digest")))
	if digest == "" && rec.Type == warc.Response {
		digest = refOf(uri, rec.Fields.Get("WARC-Date"))
	}
	if rec.Type == warc.Revisit {
		if w.kind = 's'; strings.Contains(rec.Fields.Get("WARC-Profile"), "not-modified") {
			w.kind = 'n'
		} else if digest == "" {
			digest = refOf(rec.Fields.Get("WARC-Refers-To-Target-URI"), rec.Fields.Get("WARC-Refers-To-Date"))
		}
	}
	if w.kind != 'n' {
		w.ref = digest
	}
	if err := rec.Close(); err != nil { // it is not whole
		return err
	}
	if rec.Index == 0 {
		w.length = rec.Stored()
	}
	if x.wait = append(x.wait, w); len(x.wait) > mostWaiting {
		return x.flush(mostWaiting)
	}
	return nil
}

// refOf is what an answer is known by that has no digest.
func refOf(uri, date string) string { return oneLine(uri + " " + date) }

// flush adds the captures that waited for what is said of them, all but the last few.
func (x *indexer) flush(keep int) error {
	n := max(0, len(x.wait)-keep)
	for i := range x.wait[:n] {
		if err := x.add(&x.wait[i]); err != nil {
			return err
		}
	}
	x.wait = slices.Delete(x.wait, 0, n)
	return nil
}

// add adds a capture.
func (x *indexer) add(w *waiting) error {
	x.Archive.mu.Lock()
	defer x.Archive.mu.Unlock()
	if x.ours && oneLine(w.said.Get("role")) == "requisite" {
		x.leave("captures of what pages need to look right")
		return nil
	}
	if err := x.describe(w); err != nil {
		x.leave("captures of URLs that cannot be crawled")
		return nil
	}
	x.line = w.append(x.line[:0])
	line := x.line
	if w.ref != "" {
		kind := byte('1')
		if w.kind == 's' {
			kind, x.refd = '2', true
		}
		ref := append(append([]byte(w.ref), 0, kind), 0)
		if w.kind == 's' {
			return x.refs.Add(append(append(ref, line...), '\n'))
		}
		if err := x.refs.Add(append(w.place.append(ref), '\n')); err != nil {
			return err
		}
	}
	x.line = append(line, '\n')
	return x.lines.Add(x.line)
}

// describe fills in what follows from what is said of a capture. mu is held. The error says that its URL cannot be crawled.
func (x *indexer) describe(w *waiting) error {
	url, err := scope.Normalise(w.url, nil)
	if err == nil {
		err = scope.CheckURL(url)
	}
	if err != nil {
		return err
	}
	w.order = w.at
	var as *store.Rules
	if x.ours {
		ms, _ := strconv.ParseInt(w.said.Get("fetchTimeMs"), 10, 32)
		w.at += max(ms, 0) // when it was there
		x.latest = max(x.latest, w.at)
		w.order = x.latest
		if c := w.said.Get("cycle"); c != "" {
			w.cycle, w.visit = oneLine(x.name+" "+c), oneLine(w.said.Get("visit"))
		}
		w.role = oneLine(w.said.Get("role"))
		as = x.siteOf(url, w.said.Get("site"))
	}
	rules, err := x.rules.Rules(url, as)
	if err != nil {
		return err
	}
	if w.url, err = scope.Normalise(url, rules.IgnoreParams); err != nil {
		return err
	}
	if kind, origin, ok := strings.Cut(w.role, " "); ok { // the rules of another site are none of its business
		at, err := scope.Normalise(origin+"/", nil)
		if err != nil || kind != "robots" || scope.Origin(at) != origin {
			w.role = ""
		} else if of, err := x.rules.Rules(at, x.siteOf(at, w.said.Get("site"))); err != nil || of.Within != rules.Within {
			w.role = ""
		}
	}
	w.within, w.scope = rules.Within, rules.Scope
	if via, err := scope.Normalise(w.said.Get("via"), rules.IgnoreParams); err == nil && w.said.Get("via") != "" {
		w.via, w.link = via, w.said.Get("link")
		if _, ok := store.ParseLinkKind(w.link); !ok {
			w.link = hop(w.said.Get("hopsFromSeed")).String()
		}
	}
	rank := byte('1')
	if w.role == "seed" {
		rank = '0'
	} else if scope.Path(w.url) != "/" || x.seeded[w.within] {
		return nil
	}
	if len(x.seeded) >= 1<<12 {
		clear(x.seeded)
	}
	x.seeded[w.within] = true
	return x.lines.Add(fmt.Appendf(nil, "%s\x000%c%016x %s\n", w.within, rank, w.at, w.url))
}

// hop is what the letter of a step means, as Heritrix has it.
func hop(hops string) store.LinkKind {
	switch {
	case strings.HasSuffix(hops, "R"):
		return store.ViaRedirect
	case strings.HasSuffix(hops, "M"):
		return store.ViaSitemap
	}
	return store.ViaAnchor
}

// siteOf returns the rules of the site that an archive of ours says a URL is of, such as "domain example.org"; nil: it does not say. mu is held.
func (a *Archive) siteOf(url, said string) *store.Rules {
	rules, ok := a.asked[said]
	if !ok {
		kind, within, _ := strings.Cut(said, " ")
		if slices.Contains(scope.Kinds, kind) && within != "" && oneLine(within) == within {
			r := a.rules.Defaults()
			r.Scope, r.Within = kind, within
			rules = &r
		}
		if len(a.asked) >= 1<<12 {
			clear(a.asked)
		}
		a.asked[strings.Clone(said)] = rules
	}
	if rules == nil {
		return nil
	}
	sc, err := scope.New(rules)
	if own, e := scope.Within(rules.Scope, url); err != nil || !sc.Contains(url) || e != nil || rules.Scope != "prefix" && own != rules.Within {
		return nil
	}
	return rules
}

// resolve adds the captures that refer to others, each with where the body is that it has.
func (a *Archive) resolve() error {
	if !a.refd {
		return nil
	}
	var ref, body []byte
	return a.refs.Each(func(line []byte) error {
		i := bytes.IndexByte(line, 0)
		if !bytes.Equal(line[:i], ref) {
			ref, body = append(ref[:0], line[:i]...), body[:0]
		}
		rest := line[i+3:]
		if line[i+1] == '1' {
			if len(body) == 0 {
				body = append(body, rest...)
			}
			return nil
		}
		whole := append(bytes.Clone(rest[:len(rest)-1]), body...)
		if len(body) == 0 {
			whole = append(whole, '\n')
		}
		return a.lines.Add(whole)
	})
}

// mostSeeds is how many seeds a site is given.
const mostSeeds = 1000

// Next returns the next capture.
func (a *Archive) Next() (*crawl.Capture, error) {
	for {
		line, ok := a.next()
		if !ok {
			return nil, cmp.Or(a.failed, io.EOF)
		}
		within, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\x00")
		if within != a.within {
			a.within, a.seeds = within, nil
		}
		if rest[0] == '0' {
			a.seed(rest)
			continue
		}
		return a.captureOf(within, rest[1:])
	}
}

// seed takes in a line that names a seed of the site: those that are given by hand, or the first page at its root.
func (a *Archive) seed(rest string) {
	_, url, _ := strings.Cut(rest, " ")
	if rest[1] == '1' && len(a.seeds) > 0 || len(a.seeds) >= mostSeeds || slices.Contains(a.seeds, url) {
		return
	}
	a.seeds = append(a.seeds, url)
}

// captureOf makes a capture of its line.
func (a *Archive) captureOf(within, rest string) (*crawl.Capture, error) {
	f := strings.Split(rest, "\x00")
	if len(f) != 13 {
		return nil, fmt.Errorf("a line of the index cannot be read: %q", rest)
	}
	var at place
	var order int64
	if _, err := fmt.Sscanf(f[0], "%16x%6x%12x%6x", &order, &at.file, &at.offset, &at.index); err != nil {
		return nil, fmt.Errorf("a line of the index cannot be read: %q: %w", rest, err)
	}
	ms, err1 := strconv.ParseInt(f[1], 36, 64)
	length, err2 := strconv.ParseInt(f[2], 36, 64)
	body, err3 := parsePlace(f[12])
	at.length = length
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("a line of the index cannot be read: %q: %w", rest, err)
	}
	rules, err := a.rules.Named(within)
	if err != nil {
		return nil, err
	}
	if rules == nil {
		r := a.rules.Defaults()
		r.Scope, r.Within = f[6], within
		rules = &r
	}
	c := &crawl.Capture{Rules: rules, Seeds: a.seeds, URL: f[5], At: millis(ms), OK: f[4] == "1", Cycle: f[7], Visit: store.CycleKind(f[8]), Role: f[9], Via: f[10]}
	c.Link, _ = store.ParseLinkKind(f[11])
	switch kind := f[3]; {
	case kind == "s" && f[12] == "":
		c.Open = func() (*fetch.Answer, func(), error) { return nil, nil, nil }
	case kind == "n" && c.Cycle != "":
		c.Open = func() (*fetch.Answer, func(), error) { return a.unchanged(at) }
	case kind == "s":
		c.Open = func() (*fetch.Answer, func(), error) { return a.same(at, body) }
	default:
		c.Open = func() (*fetch.Answer, func(), error) { return a.answer(at) }
	}
	return c, nil
}

// An opened is a record that is being read.
type opened struct {
	file  *os.File
	rd    *warc.Reader
	block *bufio.Reader
	rec   *warc.Record
	head  *warc.Head // nil: the record has none
}

// open opens a record. Whoever gets it closes it.
func (a *Archive) open(p place) (_ *opened, err error) {
	f, err := os.Open(a.files[p.file])
	if err != nil {
		return nil, err
	}
	o := a.readers.Get().(*opened)
	o.file, o.head = f, nil
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", a.files[p.file], err)
			a.close(o)
		}
	}()
	length := p.length
	if length == 0 {
		length = math.MaxInt64 - p.offset
	}
	o.rd.Reset(io.NewSectionReader(f, p.offset, length))
	for i := int64(0); i <= p.index; i++ {
		if o.rec, err = o.rd.Next(); err != nil {
			return nil, err
		}
	}
	o.block.Reset(o.rec)
	if o.rec.Type == warc.Response || o.rec.Left() > 0 {
		o.head, err = warc.ReadHead(o.block)
	}
	return o, err
}

func (a *Archive) close(o *opened) {
	o.file.Close()
	o.file, o.rec, o.head = nil, nil, nil
	a.readers.Put(o)
}

// answer returns the answer of a record.
func (a *Archive) answer(p place) (*fetch.Answer, func(), error) {
	o, err := a.open(p)
	if err != nil {
		return nil, nil, err
	}
	if o.head == nil { // a revisit that says no more than that nothing had changed
		a.close(o)
		return nil, nil, nil
	}
	return answerOf(o.head, o), func() { a.close(o) }, nil
}

// mostBehind is how many records behind one are looked at for what is said of it: an archive of ours has it behind the request.
const mostBehind = 3

// unchanged returns the answer of a revisit of an archive of ours by which nothing had changed: its head, of which validators may be new, is in
// the metadata.
func (a *Archive) unchanged(p place) (_ *fetch.Answer, done func(), err error) {
	p.length = 0 // what comes behind it is needed, too
	o, err := a.open(p)
	if err != nil {
		return nil, nil, err
	}
	defer a.close(o)
	id := o.rec.Fields.Get("WARC-Record-ID")
	if o.head != nil {
		answer := answerOf(o.head, o)
		answer.Body = nil // there is none, and the file is closed
		return answer, func() {}, nil
	}
	for range mostBehind {
		rec, err := o.rd.Next()
		if err != nil {
			break // whatever is wrong with that, nothing had changed
		}
		if rec.Type != warc.Metadata || rec.Fields.Get("WARC-Concurrent-To") != id {
			continue
		}
		said, err := fields(rec)
		if err != nil {
			break
		}
		var b strings.Builder
		for _, f := range said {
			if strings.EqualFold(f.Name, "head") && !strings.HasPrefix(f.Value, "HTTP/") {
				b.WriteString(f.Value + "\r\n")
			}
		}
		return &fetch.Answer{Status: 304, Header: fetch.Header(b.String())}, func() {}, nil
	}
	return nil, nil, nil
}

// same returns an answer with the body of another one, and, where it has no head of its own, with that.
func (a *Archive) same(p, body place) (*fetch.Answer, func(), error) {
	own, err := a.open(p)
	if err != nil {
		return nil, nil, err
	}
	head := own.head
	a.close(own)
	o, err := a.open(body)
	if err != nil {
		return nil, nil, err
	}
	if o.head == nil {
		a.close(o)
		return nil, nil, nil
	}
	if head == nil {
		head = o.head
	}
	// How the body is encoded, the head says that came with it.
	f := slices.DeleteFunc(slices.Clone(head.Fields), func(f warc.Field) bool { return encodes(f.Name) })
	for _, field := range o.head.Fields {
		if encodes(field.Name) {
			f = append(f, field)
		}
	}
	return answerOf(&warc.Head{Status: head.Status, Fields: f}, o), func() { a.close(o) }, nil
}

func encodes(name string) bool {
	return strings.EqualFold(name, "Content-Encoding") || strings.EqualFold(name, "Transfer-Encoding")
}

// answerOf makes an answer of a head and the body of a record.
func answerOf(head *warc.Head, o *opened) *fetch.Answer {
	status, _ := strconv.Atoi(head.Status)
	var b strings.Builder
	for _, f := range head.Fields {
		b.WriteString(f.Name)
		b.WriteString(": ")
		b.WriteString(strings.ReplaceAll(f.Value, "\r", " "))
		b.WriteString("\r\n")
	}
	return &fetch.Answer{Status: status, Header: fetch.Header(b.String()), Body: head.Body(o.block), Cut: cutOf(o.rec.Fields.Get("WARC-Truncated"))}
}

// cutOf is what a word of the WARC format says of a body that is not whole.
func cutOf(word string) fetch.Cut {
	switch strings.ToLower(word) {
	case "":
		return fetch.Whole
	case "length":
		return fetch.CutLong
	case "time":
		return fetch.CutTime
	}
	return fetch.CutShort
}
