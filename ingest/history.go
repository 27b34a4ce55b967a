package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"forage/crawl"
	"forage/crawl/scope"
	"forage/fetch"
	"forage/snap"
	"forage/snap/render"
	"forage/store"
)

// everyDated is how far apart, in seconds, the snapshots of a history by commits are that are taken in, as a crawl comes back now and then:
// with each commit of a site most documents stay as they are, and all of them would be a visit.
const everyDated = 7 * 24 * 3600

// HistoryFiles reports the first of the files that is not there or no history of a site, as a *FileError. All are read.
func HistoryFiles(ctx context.Context, paths []string) error {
	_, err := histories(ctx, paths)
	return err
}

// A historyFile is a history as far as it has to be known before it is its turn.
type historyFile struct {
	path string
	root string // the front page, normalised
}

func histories(ctx context.Context, paths []string) (all []historyFile, err error) {
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, err := snap.Open(path)
		var syntax *snap.SyntaxError
		switch {
		case errors.As(err, &syntax):
			return nil, &FileError{path, fmt.Errorf("line %d: %w", syntax.Line, syntax.Err)}
		case err != nil:
			return nil, err
		case len(h.Snapshots) == 0:
			return nil, &FileError{path, errors.New("the history has no snapshot")}
		case h.Snapshots[0].Time <= 0:
			return nil, &FileError{path, fmt.Errorf("the first snapshot has the time %d: want seconds since 1970", h.Snapshots[0].Time)}
		}
		root, err := scope.Normalise(h.Base, nil)
		if err == nil {
			err = scope.CheckURL(root)
		}
		if err != nil {
			return nil, &FileError{path, fmt.Errorf("the base URL of the history cannot be crawled: %w", err)}
		}
		all = append(all, historyFile{path, root})
	}
	return all, nil
}

// A Histories is what histories of sites have of documents. It is crawl.Captures: each snapshot is a visit that fetched all documents.
// Their bodies are as package render writes them.
type Histories struct {
	*tally
	ctx   context.Context
	rules *scope.Directory
	files []historyFile // that are still to come
	now   *historian    // of the one that it is at; nil: none
}

var _ crawl.Captures = (*Histories)(nil)

// OpenHistories returns the captures of histories, which are HistoryFiles. Errors: of the files, of ctx; two of one site. Time: that of reading
// all. Memory: that of one history, and of its documents at one time.
func OpenHistories(ctx context.Context, files []string, rules *scope.Directory, opt Options) (*Histories, error) {
	t, err := newTally(files, opt)
	if err != nil {
		return nil, err
	}
	all, err := histories(ctx, files)
	if err != nil {
		return nil, err
	}
	h := &Histories{tally: t, ctx: ctx, rules: rules, files: all}
	within := map[string]string{}
	for _, f := range all {
		rules, err := rules.Rules(f.root, nil)
		if err != nil {
			return nil, err
		}
		if other, ok := within[rules.Within]; ok {
			return nil, &FileError{f.path, fmt.Errorf("it is of the site %s, as %s is: import one", rules.Within, other)}
		}
		within[rules.Within] = f.path
	}
	return h, nil
}

// Close is there as other kinds have it.
func (h *Histories) Close() {}

// Next returns the next capture.
func (h *Histories) Next() (*crawl.Capture, error) {
	for {
		if h.now == nil {
			if len(h.files) == 0 {
				return nil, io.EOF
			}
			next := h.files[0]
			h.files = h.files[1:]
			var err error
			if h.now, err = h.open(next); err != nil {
				return nil, err
			}
		}
		if c := h.now.next(); c != nil {
			h.tally.read()
			return c, nil
		}
		h.now = nil
	}
}

// A historian tells the history of a site.
type historian struct {
	of     *Histories
	h      *snap.History
	site   *render.Site
	rules  *store.Rules
	origin string
	urls   []string // by document; "": it is none of the site
	seeds  []string
	home   snap.ID // the first seed
	every  int64

	state *snap.State
	taken int       // the snapshot that was told of before; -1: none
	was   []bool    // by document: it was told of
	known []bool    // by document: it is in all
	all   []snap.ID // documents in the order in which they became known

	due []snap.ID // of this snapshot, in order
	at  time.Time
	top []*crawl.Capture // to come before due
}

// open begins the history of a file.
func (hs *Histories) open(file historyFile) (*historian, error) {
	f, err := os.Open(file.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h, err := snap.Read(&counted{hs.ctx, f, hs.tally}, file.path)
	if err != nil {
		return nil, err
	}
	n := len(h.URLs)
	x := &historian{of: hs, h: h, site: render.New(h), origin: scope.Origin(file.root), urls: make([]string, n), state: h.Start(), taken: -1, was: make([]bool, n), known: make([]bool, n)}
	x.site.Dated = true
	if h.Dated {
		x.every = everyDated
	}
	if x.rules, err = hs.rules.Rules(file.root, nil); err != nil {
		return nil, err
	}
	sc, err := scope.New(x.rules)
	if err != nil {
		return nil, err
	}
	ids := map[string]snap.ID{}
	for id := range h.URLs {
		url, err := scope.Normalise(x.origin+x.site.Path(snap.ID(id)), x.rules.IgnoreParams)
		if _, twice := ids[url]; err != nil || twice || !sc.Contains(url) {
			hs.leave("documents outside of the site, or with the URL of another one")
			continue
		}
		x.urls[id], ids[url] = url, snap.ID(id)
	}
	// The front page, if the history has it: of an origin, or of the folder that the base URL names.
	for _, url := range []string{x.origin + "/", file.root} {
		if id, ok := ids[url]; ok {
			x.seeds, x.home = []string{url}, id
			break
		}
	}
	return x, nil
}

// next returns the next capture; nil: there are no more.
func (x *historian) next() *crawl.Capture {
	for {
		if len(x.top) > 0 {
			c := x.top[0]
			x.top = x.top[1:]
			return c
		}
		if len(x.due) > 0 {
			id := x.due[0]
			x.due = x.due[1:]
			return x.document(id)
		}
		if !x.step() {
			return nil
		}
	}
}

// step goes on to the next snapshot that is told of: of several with one time, or closer together than every, the last one.
func (x *historian) step() bool {
	all := x.h.Snapshots
	if x.state.K+1 >= len(all) {
		return false
	}
	until := all[x.state.K+1].Time
	if x.taken >= 0 && x.every > 0 {
		until = min(max(until, all[x.taken].Time+x.every), all[len(all)-1].Time)
	}
	x.h.Advance(x.state, until)
	x.at = time.Unix(x.state.Time, 0).UTC()
	x.due = x.order()
	x.robots()
	return true
}

// order returns all documents that are, or were, there: those that are known as they became known, then others, as links of these lead to them.
func (x *historian) order() []snap.ID {
	s := x.state
	add := func(id snap.ID) {
		if !x.known[id] && s.Alive[id] && x.urls[id] != "" {
			x.known[id] = true
			x.all = append(x.all, id)
		}
	}
	if x.seeds != nil {
		add(x.home)
	}
	for _, id := range s.WellKnown {
		add(id)
	}
	next := 0 // nothing leads to what is not known when this comes to its end
	for i := 0; ; i++ {
		for ; i == len(x.all) && next < len(s.Alive); next++ {
			add(snap.ID(next))
		}
		if i == len(x.all) {
			return slices.Clone(x.all)
		}
		for _, to := range s.Links[x.all[i]] { // what is gone has none
			add(to)
		}
	}
}

// robots tells of the robots.txt, which names documents to which nothing leads.
func (x *historian) robots() {
	body := x.site.Robots(x.state, x.origin)
	c := x.capture(x.origin + "/robots.txt")
	c.Role = "robots " + x.origin
	c.Open = func() (*fetch.Answer, func(), error) {
		return answerWith(200, "text/plain; charset=utf-8", "", time.Time{}, body)
	}
	x.top = append(x.top, c)
}

// capture returns what all captures of the snapshot have.
func (x *historian) capture(url string) *crawl.Capture {
	c := &crawl.Capture{Rules: x.rules, Seeds: x.seeds, URL: url, At: x.at, Cycle: fmt.Sprint("snapshot ", x.state.K), Visit: store.FullRecrawl}
	if x.taken < 0 {
		c.Visit = store.FirstVisit
	}
	return c
}

// document tells of a document.
func (x *historian) document(id snap.ID) *crawl.Capture {
	s, c := x.state, x.capture(x.urls[id])
	if x.seeds != nil && id == x.home {
		c.Role = "seed"
	}
	was := x.was[id]
	switch {
	case !s.Alive[id]:
		c.Open = func() (*fetch.Answer, func(), error) {
			return answerWith(404, "text/plain; charset=utf-8", "", time.Time{}, nil)
		}
	case was && s.Version[id] <= x.taken: // as it was
		c.OK = true
		c.Open = func() (*fetch.Answer, func(), error) { return nil, nil, nil }
	default:
		contentType, body := x.site.Document(s, id, x.origin)
		etag, modified := x.site.Version(s, id)
		c.OK = true
		c.Open = func() (*fetch.Answer, func(), error) { return answerWith(200, contentType, etag, modified, body) }
		x.was[id] = true
	}
	if len(x.due) == 0 {
		x.taken = s.K
	}
	return c
}

// answerWith is an answer of a server that tells no more than that.
func answerWith(status int, contentType, etag string, modified time.Time, body []byte) (*fetch.Answer, func(), error) {
	var b strings.Builder
	fmt.Fprintf(&b, "Content-Type: %s\r\n", contentType)
	if etag != "" {
		fmt.Fprintf(&b, "ETag: %s\r\nLast-Modified: %s\r\n", etag, modified.Format("Mon, 02 Jan 2006 15:04:05 GMT"))
	}
	return &fetch.Answer{Status: status, Header: fetch.Header(b.String()), Body: bytes.NewReader(body)}, func() {}, nil
}
