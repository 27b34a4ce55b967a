package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"forage/crawl"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/internal/linesort"
	"forage/store"
	"forage/warc"
)

// A Listing is what lists of URLs, or indexes of archives, know of. It is crawl.Sightings.
type Listing struct {
	*tally
	rules *scope.Directory
	lines *linesort.Lines // of all URLs, see mention

	mu sync.Mutex // for rules, lines

	next   func() (string, bool)
	stop   func()
	failed error   // of lines
	ahead  mention // the first of the next URL
	ready  bool    // there is one
	roots  []*crawl.Sighting
	of     *store.Rules // of the site that it is at
}

var _ crawl.Sightings = (*Listing)(nil)

// What a line says of a URL. The order is that in which those of one URL are read.
const (
	wasPage  = 'a' // it was a page, feed or sitemap then
	wasSeen  = 'b' // it was there, as it had been before: nobody says as what
	wasOther = 'c' // it was there, and nothing that a crawl reads
	isKnown  = 'd' // somebody knows of it
)

// A mention is what one line says of a URL.
type mention struct {
	within string // of the site
	root   bool   // it is the front page of the host that the site is called by
	url    string
	what   byte
	at     int64 // seconds since the epoch; 0: not known
}

// append appends the line, with its end. Mentions of a URL come together, those of its roots before others of a site.
func (m *mention) append(b []byte) []byte {
	rank := byte('1')
	if m.root {
		rank = '0'
	}
	b = append(append(append(b, m.within...), 0, rank), m.url...)
	b = append(b, 0, m.what)
	if m.at != 0 {
		const digits = 11
		var text [digits]byte
		s := strconv.AppendInt(text[:0], m.at, 10)
		for range digits - len(s) {
			b = append(b, '0')
		}
		b = append(b, s...)
	}
	return append(b, '\n')
}

func parseMention(line string) (m mention, err error) {
	var rest, tail string
	m.within, rest, _ = strings.Cut(strings.TrimSuffix(line, "\n"), "\x00")
	m.url, tail, _ = strings.Cut(rest, "\x00")
	if len(m.url) < 2 || tail == "" {
		return m, fmt.Errorf("a line of the sorted list cannot be read: %q", line)
	}
	m.root, m.url, m.what = m.url[0] == '0', m.url[1:], tail[0]
	if tail = tail[1:]; tail != "" {
		m.at, err = strconv.ParseInt(tail, 10, 64)
	}
	return m, err
}

const wantURLs = "a list of URLs, one a line"

// URLFiles reports the first of the files that is not there or no list of URLs, as a *FileError. Stdin is the standard input.
func URLFiles(paths []string) error { return checkTexts(paths, checkURLs) }

func checkURLs(t *textFile) error {
	return t.check(wantURLs, func(line string) bool {
		line = cleanURL(line)
		return line != "" && scope.CheckURL(line) == nil
	})
}

// cleanURL is the URL that a line of a list names; "": none, it is empty or a remark. What follows a tab is passed over, as lists of seeds have rules there.
func cleanURL(line string) string {
	line = strings.TrimPrefix(line, "\ufeff")
	if strings.HasPrefix(line, "#") {
		return ""
	}
	line, _, _ = strings.Cut(line, "\t")
	return strings.TrimSpace(line)
}

// OpenURLs reads lists of URLs, which are URLFiles, and sorts them. Lines that are no URL are told of, and left out. Errors: of the files, of ctx. Time: that
// of unpacking and of some 10 µs a line. Memory: 32 MiB, and 64 KiB for each 16 MiB of different lines.
func OpenURLs(ctx context.Context, files []string, rules *scope.Directory, opt Options) (*Listing, error) {
	return openListing(ctx, files, rules, opt, checkURLs, func() func(line string) (mention, bool, string, error) {
		return func(line string) (m mention, ok bool, left string, err error) {
			m.url, m.what = cleanURL(line), isKnown
			return m, m.url != "", "", nil
		}
	})
}

const wantIndex = "an index of an archive, CDXJ or CDX"

// IndexFiles reports the first of the files that is not there or no index, as a *FileError. Stdin is the standard input.
func IndexFiles(paths []string) error { return checkTexts(paths, checkIndex) }

func checkIndex(t *textFile) error {
	var r warc.LineReader
	head := true
	return t.check(wantIndex, func(line string) bool {
		_, ok, err := r.Read(line)
		head = head && err == nil
		return ok || head && strings.TrimSpace(line) != "" && line[0] != '#' // a header is one, too, where nothing else comes before it
	})
}

// OpenIndexes reads indexes of archives, which are IndexFiles, and sorts what they have: what was there, and when it was first. Captures
// that show no document, such as errors and images, are left out. Otherwise as OpenURLs.
func OpenIndexes(ctx context.Context, files []string, rules *scope.Directory, opt Options) (*Listing, error) {
	return openListing(ctx, files, rules, opt, checkIndex, func() func(line string) (mention, bool, string, error) {
		var r warc.LineReader
		return func(line string) (m mention, ok bool, left string, err error) {
			s, ok, err := r.Read(line)
			if !ok || err != nil {
				return m, false, "", err
			}
			m, left = mentionOf(&s)
			if left == "" && (s.Time.Unix() <= 0 || s.Time.Unix() >= 1e11) {
				return m, false, "", fmt.Errorf("%s is no date of a capture", s.Time.Format(time.RFC3339))
			}
			return m, true, left, nil
		}
	})
}

// mentionOf returns what a line of an index says of its URL; left says why that is nothing.
func mentionOf(s *warc.Sighting) (m mention, left string) {
	m = mention{url: s.URL, at: s.Time.Unix()}
	scheme, _, _ := strings.Cut(s.URL, ":")
	revisit := s.MIME == warc.MIMERevisit
	ok := len(s.Status) == 3 && s.Status[0] == '2'
	switch {
	case !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https"):
		return m, "captures of other protocols than HTTP"
	case s.Method != "":
		return m, "captures of other requests than GET"
	case revisit && (s.Status == "" || s.Status == "304" || ok):
		m.what = wasSeen
	case len(s.Status) == 3 && s.Status[0] == '3' && s.Status != "304":
		m.what, m.at = isKnown, 0 // an address that led elsewhere; what is there, nobody saw
	case s.Status == "304":
		m.what = wasSeen
	case !ok:
		return m, "captures of errors, or without a status"
	case s.MIME == "" || s.MIME == "unk" || fetch.KindOf(s.MIME, nil) != fetch.Other:
		m.what = wasPage
	default:
		m.what = wasOther
	}
	return m, ""
}

// openListing reads files: of each a function of its own makes mentions of the lines.
func openListing(ctx context.Context, files []string, rules *scope.Directory, opt Options, check func(*textFile) error, reader func() func(line string) (m mention, ok bool, left string, err error)) (_ *Listing, err error) {
	t, err := newTally(files, opt)
	if err != nil {
		return nil, err
	}
	l := &Listing{tally: t, rules: rules, lines: linesort.New(opt.Scratch, held)}
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	if err := each(ctx, len(files), runtime.GOMAXPROCS(0), func(ctx context.Context, i int) error {
		return l.read(ctx, files[i], check, reader())
	}); err != nil {
		return nil, err
	}
	l.tally.end()
	l.next, l.stop = iter.Pull(func(yield func(string) bool) {
		if err := l.lines.Each(func(line []byte) error {
			if !yield(string(line)) {
				return errStopped
			}
			return nil
		}); err != nil && err != errStopped {
			l.failed = err
		}
	})
	if err := l.advance(); err != nil {
		return nil, err
	}
	return l, nil
}

// read takes in the lines of a file.
func (l *Listing) read(ctx context.Context, path string, check func(*textFile) error, mentionIn func(line string) (mention, bool, string, error)) error {
	f, err := l.openCounted(ctx, path)
	if err != nil {
		return err
	}
	defer f.close()
	if path == Stdin { // the others were looked at
		if err := check(f); err != nil {
			return err
		}
	}
	var last mention // as it was put in line, with the URL that the line had in url
	var line []byte
	given := ""
	err = f.each(func(number int64, text []byte, err error) error {
		var m mention
		ok, left := false, ""
		if err == nil {
			m, ok, left, err = mentionIn(string(text))
		}
		if ok || err != nil {
			l.tally.read()
		}
		if err == nil && (!ok || left != "") {
			if left != "" {
				l.leave(left)
			}
			return nil
		}
		if err == nil && m.url != given { // indexes have the captures of a URL one after another
			was := m.url
			if m, err = l.describe(m); err == nil {
				given = was
			}
		} else if err == nil {
			if m.within, m.root, m.url = last.within, last.root, last.url; m.what == last.what && (m.at == 0 || m.at >= last.at) {
				return nil // nothing that the line before did not say
			}
		}
		if err != nil {
			l.broken(fmt.Sprintf("%s:%d", path, number), err)
			return nil
		}
		if m.url == "" {
			l.leave("captures of robots.txt")
			given = ""
			return nil
		}
		last = m
		line = m.append(line[:0])
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.lines.Add(line)
	})
	var broken *lineError
	if errors.As(err, &broken) && ctx.Err() == nil { // truncated, or damaged: what came before is good
		l.broken(path, err)
		return nil
	}
	return cmp.Or(ctx.Err(), err)
}

// describe fills in to which site a URL belongs. m.url is "" then where it is no document of it.
func (l *Listing) describe(m mention) (mention, error) {
	url, err := scope.Normalise(m.url, nil)
	if err == nil && !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") || err != nil || store.HostOf(url) == "" {
		return m, cmp.Or(scope.CheckURL(m.url), fmt.Errorf("%.200q cannot be crawled", m.url))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	rules, err := l.rules.Rules(url, nil)
	if err != nil {
		return m, err
	}
	if len(rules.IgnoreParams) > 0 {
		if url, err = scope.Normalise(url, rules.IgnoreParams); err != nil {
			return m, err
		}
	}
	path := scope.Path(url)
	if m.within, m.url = rules.Within, url; path == "/robots.txt" {
		m.url = ""
	}
	m.root = path == "/" && store.HostOf(url) == rules.Within
	return m, nil
}

// Close removes what was put on disk.
func (l *Listing) Close() {
	if l.stop != nil {
		l.stop()
	}
	l.lines.Close()
}

// advance goes on to the next line.
func (l *Listing) advance() (err error) {
	line, ok := l.next()
	if l.ready = ok; ok {
		l.ahead, err = parseMention(line)
		return err
	}
	return l.failed
}

// one sums up the mentions of the next URL; nil: it is nothing that a crawl reads.
func (l *Listing) one() (*crawl.Sighting, error) {
	m := l.ahead
	var first [isKnown + 1]int64 // by what
	var is [isKnown + 1]bool
	for l.ready && l.ahead.url == m.url && l.ahead.within == m.within {
		if what := l.ahead.what; what <= isKnown && !is[what] { // the earliest comes first
			is[what], first[what] = true, l.ahead.at
		}
		if err := l.advance(); err != nil {
			return nil, err
		}
	}
	at := int64(0)
	switch {
	case is[wasPage] && is[wasSeen]:
		at = min(first[wasPage], first[wasSeen])
	case is[wasPage]:
		at = first[wasPage]
	case is[wasOther]:
		l.leave("URLs of what is no page, feed or sitemap")
		return nil, nil
	case is[wasSeen]:
		at = first[wasSeen]
	}
	if l.of == nil || l.of.Within != m.within {
		var err error
		if l.of, err = l.rules.Rules(m.url, nil); err != nil {
			return nil, err
		}
	}
	s := &crawl.Sighting{Rules: l.of, URL: m.url, Root: m.root}
	if at != 0 {
		s.At = time.Unix(at, 0).UTC()
	}
	return s, nil
}

// Next returns the next URL.
func (l *Listing) Next() (*crawl.Sighting, error) {
	for {
		if len(l.roots) > 0 {
			s := l.roots[0]
			l.roots = l.roots[1:]
			return s, nil
		}
		if !l.ready {
			return nil, cmp.Or(l.failed, io.EOF)
		}
		within, root := l.ahead.within, l.ahead.root
		s, err := l.one()
		if err != nil {
			return nil, err
		}
		if !root {
			if s == nil {
				continue
			}
			return s, nil
		}
		// A site has one or two roots: that which an archive saw as a page is its seed, rather than one that led there.
		var roots []*crawl.Sighting
		for {
			if s != nil {
				if roots = append(roots, s); len(roots) > 1 && roots[0].At.IsZero() && !s.At.IsZero() {
					roots[0], roots[len(roots)-1] = roots[len(roots)-1], roots[0]
				}
			}
			if !l.ready || !l.ahead.root || l.ahead.within != within {
				break
			}
			if s, err = l.one(); err != nil {
				return nil, err
			}
		}
		for i, s := range roots {
			s.Root = i == 0
		}
		l.roots = roots
	}
}
