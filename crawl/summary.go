package crawl

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"forage/crawl/ledger"
	"forage/crawl/novelty"
	"forage/explore/yield"
	"forage/graph"
	"forage/store"
)

// A summary is what a budgeted cycle needs to know of all documents of a site. At a large site it is kept
// in the store (store.DB.PutSummary), with what cycle.learn knows by then: the next cycle reads the documents
// that have changed since, and those that the summary names. What is kept and brought up to date is what
// would be worked out anew, but that of pages which said something else when they were fetched
// again, the bounds and texts of the site and its parameters keep what they said first. What cannot be brought up to date
// is worked out anew: see update.
type summary struct {
	watched []graph.Node // documents that each cycle looks at, ascending: see watches
	waiting []graph.Node // documents of the first visit that wait in the queue, ascending
	moved   map[graph.Node]int
	listed  int // see unlisted
	vain    int

	anew  bool        // it was worked out anew
	since store.Cycle // documents that went away before it are not looked at any more
}

// summaryVersion changes when something else is made of the documents of a site, or in another layout.
const summaryVersion = 1

// Sites of fewer documents are gone through in each cycle: that takes less than to write a summary.
var leastSummary int64 = 10_000

// mostBehind is how many documents may have changed since the summary of a site was written: to look at
// so many takes some hundredth of a second.
var mostBehind = 1_000

var errSummary = errors.New("the summary cannot be brought up to date")

// basis is a hash of what the learning of documents goes by, other than these.
func (c *cycle) basis() uint64 {
	s := c.site
	b, err := json.Marshal([]any{summaryVersion, s.Rules, s.SameParams, s.NeededParams, s.FirstCycle, s.Seeds, c.repeats(), c.worth.off})
	c.crawl().fail(err)
	return xxhash.Sum64(b)
}

// recall brings up to date what is kept of the site, or works it out anew, for a cycle that begins, or
// goes on. since is the first cycle in which it counts that a document went away. Everything is committed. O(documents changed since), or O(documents of the site).
func (c *cycle) recall(since store.Cycle) (*summary, error) {
	db, id := c.crawl().db, c.site.ID
	counts, err := db.Counters(id)
	if err != nil {
		return nil, err
	}
	large := counts.Known() >= leastSummary
	from, kept, err := db.Summary(id)
	if err != nil {
		return nil, err
	}
	s := &summary{since: since}
	behind := math.MaxInt
	if from > 0 && large && s.set(c, kept) == nil {
		behind, err = c.update(s, from)
	}
	if from == 0 || errors.Is(err, errSummary) || behind == math.MaxInt && err == nil {
		*s = summary{since: since, anew: true}
		c.unlearn()
		err = db.SiteDocs(id, func(d *store.Doc) bool {
			c.learn(d)
			s.know(c, d, 1)
			return c.crawl().err == nil
		})
	}
	if err != nil {
		return nil, err
	}
	c.relive(math.MaxUint32)
	// Of a cycle that goes on some documents are not counted yet that the next one has to count.
	if large && !c.resumed && behind > mostBehind {
		err = db.PutSummary(id, s.append(c))
	}
	c.worth.params.Learned()
	return s, err
}

// unlearn forgets what was learned.
func (c *cycle) unlearn() {
	c.worth, c.bounds = worth{off: c.site.Rules.All}, bounds{}
	c.worth.params.Ignore(c.site.SameParams)
}

// update takes in what has changed since a summary was written, which holds documents below from. It
// returns how many documents that is, or errSummary.
func (c *cycle) update(s *summary, from graph.Node) (behind int, err error) {
	db, id := c.crawl().db, c.site.ID
	var failed error
	err = db.Changed(id, func(was *store.Doc) bool {
		var d *store.Doc
		if d, failed = db.Doc(was.ID); failed != nil {
			return false
		}
		behind++
		if failed = c.relearn(was, d); failed == nil {
			s.know(c, was, -1)
			s.know(c, d, 1)
		}
		return failed == nil
	})
	if err = errors.Join(err, failed); err != nil {
		return behind, err
	}
	return behind, db.SiteDocsFrom(id, from, func(d *store.Doc) bool {
		behind++
		c.learn(d)
		s.know(c, d, 1)
		return c.crawl().err == nil
	})
}

// A lesson is what learn takes in of a document that it cannot take back.
type lesson struct {
	seen      bool
	event     event
	canonical string
	read      bool
}

func (c *cycle) lesson(d *store.Doc) (l lesson) {
	group, stopped := strings.CutPrefix(d.Reason, store.StoppedReason)
	stopped = stopped && d.State == store.Skipped
	if d.State == store.Skipped && !stopped && (isRule(d.Reason) || d.Visits > 0) {
		return l
	}
	l.seen, l.read = true, d.Visits > 0
	l.event = event{left: stopped, o: brought(d), url: group}
	if l.event.left || l.event.o != yield.None {
		l.event.at = max(d.Learned, 1) // of an earlier release
	}
	if d.State == store.Fetched {
		switch {
		case d.Kind == store.Page:
			l.canonical = "=" + d.Canonical
		case d.Via == store.ViaCanonical:
			l.canonical = "!" + d.Given
		}
	}
	return l
}

// relearn takes in that a document is not what it was when it was learned. It returns errSummary where
// that changes what can be added to, but not taken back.
func (c *cycle) relearn(was, d *store.Doc) error {
	w := &c.worth
	a, b := c.lesson(was), c.lesson(d)
	switch {
	case was.Site != d.Site, was.URL != d.URL, a.seen != b.seen, was.Seed != d.Seed && (a.read || b.read), a.read && !b.read, a.canonical != "" && a.canonical != b.canonical:
		return errSummary
	case !a.seen:
		return nil
	}
	if was.NoFollow != d.NoFollow {
		if d.NoFollow {
			return errSummary
		}
		delete(w.nofollow, d.ID)
	}
	if !a.read && b.read {
		w.params.Met(c.place(d.URL), c.site.SameParams)
		c.bound(d)
		if d.Kind == store.Page && d.Passages[0] != 0 {
			w.params.Earlier(c.place(d.URL), says(d), c.site.SameParams)
		}
	}
	if b.read && d.Kind == store.Page && c.repeats() {
		w.remember(d)
	}
	if w.off {
		return nil
	}
	if a.canonical == "" && b.canonical != "" {
		c.learnCanonical(d)
	}
	switch {
	case a.event == b.event && was.Learned == d.Learned, a.event.at == 0 && b.event.at == 0:
		return nil
	case a.event.left:
		w.unleave(was)
		if !b.event.left {
			w.site.Readmit(c.place(d.URL))
		}
	case a.event.at > 0: // what it brought is not what it had brought
		return errSummary
	}
	switch {
	case b.event.left:
		w.leave(b.event.url, d.ID)
		if a.event.left {
			w.told = max(w.told, d.Learned)
			return nil
		}
	case b.event.at == 0:
		return nil
	}
	if d.Learned == 0 {
		return errSummary
	}
	w.unlisted = w.unlisted || b.event.o == yield.NoIndex && d.Seed
	w.past.add(event{at: d.Learned, url: c.place(d.URL), left: b.event.left, o: b.event.o})
	return nil
}

// unleave takes leave back.
func (w *worth) unleave(d *store.Doc) {
	group := strings.TrimPrefix(d.Reason, store.StoppedReason)
	if n := w.leftOut(group); n.URLs > 1 {
		n.URLs--
	} else {
		delete(w.left, group)
	}
	delete(w.out, d.ID)
}

// watches reports whether each cycle is to look at a document: it may be gone, or have moved, or come to be
// listed, or was found to be new and waits.
func (c *cycle) watches(d *store.Doc, since store.Cycle) bool {
	old := ledger.IsOld(d, c.rec.Cycle)
	return novelty.Supposed(d) || d.IsPage() && d.Gone != 0 && d.GoneIn >= since || d.State == store.Queued && d.Cycle > c.site.FirstCycle && !hearsay(d) ||
		old && (d.Dropped > 0 || d.Unlisted > 0 && d.Unlisted < novelty.Listed)
}

// know takes in a document, or, by -1, takes it back. They come in ascending order, but for those that are
// taken in for others that are taken back.
func (s *summary) know(c *cycle, d *store.Doc, by int) {
	if d.MovedFrom != graph.None && d.Moved != 0 {
		if s.moved == nil {
			s.moved = map[graph.Node]int{}
		}
		if s.moved[d.MovedFrom] += by; s.moved[d.MovedFrom] == 0 {
			delete(s.moved, d.MovedFrom)
		}
	}
	if ledger.IsOld(d, c.rec.Cycle) {
		listed, vain := looks(d)
		s.listed += by * listed
		s.vain += by * vain
	}
	since := s.since
	if by < 0 { // it may have counted then
		since = 0
	}
	switch {
	case c.watches(d, since):
		s.watched = change(s.watched, d.ID, by)
	case d.State == store.Queued:
		s.waiting = change(s.waiting, d.ID, by)
	}
}

// change adds a number to an ascending list, or takes it out. O(1) at the end.
func change(list []graph.Node, id graph.Node, by int) []graph.Node {
	if by > 0 && (len(list) == 0 || list[len(list)-1] < id) {
		return append(list, id)
	}
	switch i, found := slices.BinarySearch(list, id); {
	case by > 0 && !found:
		list = slices.Insert(list, i, id)
	case by < 0 && found:
		list = slices.Delete(list, i, i+1)
	}
	return list
}

// append appends the summary with what the cycle has learned, before params.Learned: a checksum, the basis,
// then, in uvarints where nothing else is said, and lists as in package yield:
//
//	watched and waiting, ascending, as differences; moved: number, count; listed, vain
//	told, unlisted; nofollow, ascending; groups left out: name, numbers ascending
//	hashes and texts
//	groups, params and canonicals; names, segments; kinds: template, empty, alone, hashes; seen, most; near: hash, count
func (s *summary) append(c *cycle) []byte {
	w, k := &c.worth, &c.bounds
	b := binary.LittleEndian.AppendUint64(make([]byte, 8, 1<<16), c.basis())
	b = appendAscending(appendAscending(b, s.watched), s.waiting)
	b = binary.AppendUvarint(b, uint64(len(s.moved)))
	for _, id := range slices.Sorted(maps.Keys(s.moved)) {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(id)), uint64(s.moved[id]))
	}
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(s.listed)), uint64(s.vain))
	b = binary.AppendUvarint(b, uint64(w.told))
	b = append(b, 0)
	if w.unlisted {
		b[len(b)-1] = 1
	}
	b = appendAscending(b, slices.Sorted(maps.Keys(w.nofollow)))
	b = appendAscending(b, slices.Sorted(maps.Keys(w.out)))
	groups := slices.Sorted(maps.Keys(w.left))
	b = binary.AppendUvarint(b, uint64(len(groups)))
	for _, g := range groups {
		b = binary.AppendUvarint(appendText(b, g), uint64(w.left[g].URLs))
	}
	b = appendHashes(b, slices.Sorted(maps.Keys(w.hashes)))
	texts := slices.Sorted(maps.Keys(w.texts))
	b = binary.AppendUvarint(b, uint64(len(texts)))
	for _, t := range texts {
		b = binary.LittleEndian.AppendUint32(b, t)
	}
	b = w.copies.AppendState(w.params.AppendState(w.site.AppendState(b)))
	b = k.segments.AppendState(k.names.AppendState(b))
	kinds := slices.Sorted(maps.Keys(k.kinds))
	b = binary.AppendUvarint(b, uint64(len(kinds)))
	for _, template := range kinds {
		kind := k.kinds[template]
		b = binary.AppendUvarint(binary.AppendUvarint(appendText(b, template), uint64(kind.empty)), uint64(kind.alone))
		b = appendHashes(b, slices.Sorted(maps.Keys(kind.seen)))
	}
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(k.seen)), uint64(k.most))
	b = binary.AppendUvarint(b, uint64(len(k.near)))
	for _, h := range slices.Sorted(maps.Keys(k.near)) {
		b = binary.AppendUvarint(binary.LittleEndian.AppendUint64(b, h), uint64(k.near[h]))
	}
	binary.LittleEndian.PutUint64(b, xxhash.Sum64(b[8:]))
	return b
}

// set reads what append appended, in a cycle that has learned nothing. After an error, which is errSummary,
// unlearn must follow.
func (s *summary) set(c *cycle, b []byte) error {
	if len(b) < 16 || binary.LittleEndian.Uint64(b) != xxhash.Sum64(b[8:]) || binary.LittleEndian.Uint64(b[8:]) != c.basis() {
		return errSummary
	}
	w, k := &c.worth, &c.bounds
	r := &summaryReader{b: b[16:]}
	s.watched, s.waiting = r.ascending(), r.ascending()
	if n := r.count(2); n > 0 {
		s.moved = make(map[graph.Node]int, n)
		for range n {
			id := graph.Node(r.uvarint())
			s.moved[id] = int(r.uvarint())
		}
	}
	s.listed, s.vain = int(r.uvarint()), int(r.uvarint())
	w.told = uint32(r.uvarint())
	w.unlisted = r.uvarint() == 1
	w.nofollow, w.out = setOf(r.ascending()), setOf(r.ascending())
	for range r.count(2) {
		group := r.text()
		w.leftOut(group).URLs = int64(r.uvarint())
	}
	if all := r.hashes(); len(all) > 0 {
		w.hashes = make(map[uint64]struct{}, len(all))
		for _, h := range all {
			w.hashes[h] = struct{}{}
		}
	}
	if n := r.count(4); n > 0 {
		w.texts = make(map[uint32]struct{}, n)
		for t := r.take(uint64(4 * n)); len(t) >= 4; t = t[4:] {
			w.texts[binary.LittleEndian.Uint32(t)] = struct{}{}
		}
	}
	w.params, w.site = yield.Params{}, yield.Site{} // Ignore has told of those that are part of the basis
	var err [5]error
	r.b, err[0] = w.site.SetState(r.b)
	r.b, err[1] = w.params.SetState(r.b)
	r.b, err[2] = w.copies.SetState(r.b)
	r.b, err[3] = k.names.SetState(r.b)
	r.b, err[4] = k.segments.SetState(r.b)
	for range r.count(4) {
		if k.kinds == nil {
			k.kinds = map[string]*kind{}
		}
		template := r.text()
		kind := &kind{empty: int(r.uvarint()), alone: int(r.uvarint()), seen: map[uint64]bool{}}
		for _, h := range r.hashes() {
			kind.seen[h] = true
		}
		k.kinds[template] = kind
	}
	k.seen, k.most = int(r.uvarint()), int(r.uvarint())
	if n := r.count(9); n > 0 {
		k.near = make(map[uint64]int, n)
		for range n {
			if h := r.take(8); len(h) == 8 {
				k.near[binary.LittleEndian.Uint64(h)] = int(r.uvarint())
			}
		}
	}
	if errors.Join(err[:]...) != nil || r.bad || len(r.b) > 0 {
		return errSummary
	}
	return nil
}

func appendAscending(b []byte, list []graph.Node) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	last := graph.Node(0)
	for _, id := range list {
		b = binary.AppendUvarint(b, uint64(id-last))
		last = id
	}
	return b
}

func appendHashes(b []byte, all []uint64) []byte {
	b = binary.AppendUvarint(b, uint64(len(all)))
	for _, h := range all {
		b = binary.LittleEndian.AppendUint64(b, h)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func setOf(list []graph.Node) map[graph.Node]bool {
	if len(list) == 0 {
		return nil
	}
	m := make(map[graph.Node]bool, len(list))
	for _, id := range list {
		m[id] = true
	}
	return m
}

// A summaryReader takes values off the front of a summary. Once bad, it gives zeros.
type summaryReader struct {
	b   []byte
	bad bool
}

func (r *summaryReader) uvarint() uint64 {
	x, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[n:]
	return x
}

// count reads a number of things of at least size bytes each.
func (r *summaryReader) count(size int) int {
	n := r.uvarint()
	if n > uint64(len(r.b)/size) {
		r.b, r.bad = nil, true
		return 0
	}
	return int(n)
}

func (r *summaryReader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.b, r.bad = nil, true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *summaryReader) text() string { return string(r.take(r.uvarint())) }

func (r *summaryReader) ascending() []graph.Node {
	n := r.count(1)
	list, last := make([]graph.Node, 0, n), graph.Node(0)
	for range n {
		last += graph.Node(r.uvarint())
		list = append(list, last)
	}
	return list
}

func (r *summaryReader) hashes() []uint64 {
	n := r.count(8)
	list := make([]uint64, 0, n)
	for b := r.take(uint64(8 * n)); len(b) >= 8; b = b[8:] {
		list = append(list, binary.LittleEndian.Uint64(b))
	}
	return list
}

// each calls look for the documents that each cycle looks at, and for those that wait as long as more
// says so, in ascending order. O(1) a document.
func (s *summary) each(doc func(graph.Node) (*store.Doc, error), more func() bool, look func(d *store.Doc)) error {
	watched, waiting := s.watched, s.waiting
	for len(watched)+len(waiting) > 0 {
		from := &watched
		if len(watched) == 0 || len(waiting) > 0 && waiting[0] < watched[0] {
			if from = &waiting; !more() {
				waiting = nil
				continue
			}
		}
		d, err := doc((*from)[0])
		if err != nil {
			return err
		}
		*from = (*from)[1:]
		look(d)
	}
	return nil
}
