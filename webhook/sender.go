package webhook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"forage/report"
	"forage/store"
	"forage/text"
)

// Options are what a Sender works with.
type Options struct {
	DB        *store.DB                               // is read
	Write     func(write func(*store.DB) error) error // has the one who writes to DB call write, and returns when that is on the disk
	Text      Text                                    // nil: there is none
	UserAgent string
	Full      func() error                                                         // tells that there is no room on the disk; nil: there always is
	Dial      func(ctx context.Context, network, address string) (net.Conn, error) // in place of one that judges addresses; nil: none
	Log       *slog.Logger                                                         // nil: none
}

// Text fills in the text of an event, if it is of a page whose text is kept. It is read for each attempt, so that no more is written of what waits than
// how far the target is. It may be called by several goroutines.
type Text func(of *store.Event, as text.Format, to *report.Event) error

// The errors of a Sender, which what it returns wraps.
var (
	ErrNotFound = errors.New("there is no such webhook")
	ErrInvalid  = errors.New("that cannot be sent")
)

const (
	maxRead    = 100                    // events held of a target
	maxLooked  = 20_000                 // events that are looked at at once, for those of a target
	keepEvery  = 100 * time.Millisecond // between two writes of how far targets are, while none waits for that: each is a sync of the store
	keepFull   = time.Minute            // the same while the disk is full, also where one waits: they go into what the store has in reserve
	roomEvery  = time.Second            // then it is looked whether there is room again
	maxAhead   = 16                     // events accepted by a target since a write began: with those that it writes they come again after a kill
	skipAtOne  = 1000                   // so many events that are not for a target are looked at again after a kill
	grace      = 2 * time.Second        // that what is under way has when the Sender ends
	maxLetters = 10_000                 // kept of a target
)

// A Sender sends events to targets. Its methods may be called by several goroutines.
type Sender struct {
	Options
	dirty chan struct{} // holds a token while something is to be written
	soon  chan struct{} // holds a token while a target waits for that

	writing sync.Mutex // held while records are written: they are in their order
	mu      sync.Mutex
	targets map[string]*sending
	dropped map[string][]uint64 // records of targets that are no more
	begin   func(*sending)      // has a target that comes while Run runs sent to; nil: it does not
}

// A sending is a target with all that is known of it.
type sending struct {
	*Sender
	wake chan struct{} // holds a token while something has changed

	mu      sync.Mutex
	target  Target
	poster  *poster
	writer  *writer
	state   state
	letters map[uint64]letter
	again   []uint64 // of these, what is to be sent again, ascending
	read    []*store.Event
	turned  int    // how often Seq was set back
	skipped uint64 // Seq as it was when that was last to be written
	changed map[uint64]bool
	ahead   int  // events accepted since that was written last
	busy    bool // an attempt is under way
	counts  Counts
	end     func() // ends its goroutine; nil: it has none
}

// Counts are how many attempts came to what, since the start of the process.
type Counts struct{ Delivered, Failed, Dead int64 }

// New makes a Sender. A target that the store does not know gets the events that come from now on; what the store has of
// others than these is forgotten.
func New(o Options, targets []Target) (*Sender, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Sender{Options: o, dirty: make(chan struct{}, 1), soon: make(chan struct{}, 1), targets: map[string]*sending{}, dropped: map[string][]uint64{}}
	var failed error
	known := map[string]*sending{}
	err := s.DB.View.Deliveries(func(name string, seq uint64, b []byte) bool {
		t := known[name]
		if t == nil {
			t = s.sending()
			known[name] = t
		}
		if seq == 0 {
			failed = json.Unmarshal(b, &t.state)
		} else {
			var l letter
			failed = json.Unmarshal(b, &l)
			if t.letters[seq] = l; l.Again {
				t.again = append(t.again, seq)
			}
		}
		if failed != nil {
			failed = fmt.Errorf("what the store has of webhook %s, event %d: %w", name, seq, failed)
		}
		return failed == nil
	})
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	s.targets = known
	return s, s.Reload(targets)
}

func (s *Sender) sending() *sending {
	return &sending{Sender: s, wake: make(chan struct{}, 1), letters: map[uint64]letter{}, changed: map[uint64]bool{}}
}

// Reload has other targets in place of those that there are. One that keeps its name goes on where it is. Errors: that of a
// target which does not work, then all is as it was; that of the store.
func (s *Sender) Reload(targets []Target) error {
	type made struct {
		*poster
		*writer
	}
	ready := map[string]made{}
	for i := range targets {
		t := &targets[i]
		p, err := newPoster(t, s.UserAgent, s.Dial)
		if err == nil {
			var w *writer
			w, err = newWriter(t.Template)
			ready[t.Name] = made{p, w}
		}
		if err != nil {
			return fmt.Errorf("webhook %s: %w", t.Name, err)
		}
	}
	s.mu.Lock()
	for _, name := range slices.Collect(maps.Keys(s.targets)) {
		if _, ok := ready[name]; ok {
			continue
		}
		t := s.targets[name]
		t.mu.Lock()
		s.dropped[name] = append(slices.Collect(maps.Keys(t.letters)), 0)
		if t.end != nil {
			t.end()
		}
		t.mu.Unlock()
		delete(s.targets, name)
	}
	last := s.DB.LastEvent()
	for i := range targets {
		conf := targets[i]
		t := s.targets[conf.Name]
		if t == nil {
			t = s.sending()
			t.state.Seq = last
			t.changed[0] = true
			s.targets[conf.Name] = t
		}
		t.mu.Lock()
		old := t.poster
		t.target, t.poster, t.writer = conf, ready[conf.Name].poster, ready[conf.Name].writer
		if sum := hashOf(conf.URL); t.state.URL != sum { // who said 410 is another one
			t.state.URL, t.state.Disabled = sum, ""
			t.changed[0] = true
		}
		t.read, t.skipped = nil, t.state.Seq
		if t.state.Tries > 0 { // it may work now
			t.state.Next = 0
		}
		if t.end == nil && s.begin != nil {
			s.begin(t)
		}
		t.mu.Unlock()
		if old != nil {
			old.client.CloseIdleConnections()
		}
		t.stir()
	}
	s.mu.Unlock()
	return s.keep()
}

func hashOf(url string) string {
	sum := sha256.Sum256([]byte(url))
	return hex.EncodeToString(sum[:8])
}

// Run sends until ctx ends, and returns when what is under way has ended and is written down. The error is that of a store
// that cannot be written.
func (s *Sender) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	s.mu.Lock()
	s.begin = func(t *sending) {
		of, end := context.WithCancel(ctx)
		t.end = end
		all.Go(func() { t.run(of) })
	}
	for _, t := range s.targets {
		t.mu.Lock()
		s.begin(t)
		t.mu.Unlock()
	}
	s.mu.Unlock()
	var err error
	for err == nil && ctx.Err() == nil {
		select {
		case <-s.dirty:
			err = s.keep()
			s.rest(ctx)
		case <-ctx.Done():
		}
	}
	s.mu.Lock()
	s.begin = nil
	s.mu.Unlock()
	stop()
	all.Wait()
	return errors.Join(err, s.keep())
}

// rest waits until what has changed may be written again.
func (s *Sender) rest(ctx context.Context) {
	if s.Full == nil || s.Full() == nil {
		sleep(ctx, keepEvery, s.soon)
		return
	}
	for waited := time.Duration(0); waited < keepFull && s.Full() != nil && ctx.Err() == nil; waited += roomEvery {
		sleep(ctx, roomEvery, nil)
	}
}

// sleep waits for a time, ctx, or a token.
func sleep(ctx context.Context, d time.Duration, token <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-token:
	case <-ctx.Done():
	}
}

// keep brings to the disk what has changed.
func (s *Sender) keep() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	type row struct {
		target string
		seq    uint64
		value  []byte // nil: none
	}
	var rows []row
	var written []*sending // that may wait for it
	s.mu.Lock()
	for name, seqs := range s.dropped {
		for _, seq := range seqs {
			rows = append(rows, row{name, seq, nil})
		}
	}
	clear(s.dropped)
	var failed error
	put := func(name string, seq uint64, v any) {
		b, err := json.Marshal(v)
		rows = append(rows, row{name, seq, b})
		failed = errors.Join(failed, err)
	}
	for name, t := range s.targets {
		t.mu.Lock()
		for seq := range t.changed {
			l, there := t.letters[seq]
			switch {
			case seq == 0:
				put(name, 0, &t.state)
				t.skipped = t.state.Seq
			case there:
				put(name, seq, &l)
			default:
				rows = append(rows, row{name, seq, nil})
			}
		}
		clear(t.changed)
		if t.ahead > 0 {
			written = append(written, t)
			t.ahead = 0
		}
		t.mu.Unlock()
	}
	s.mu.Unlock()
	if len(rows) == 0 || failed != nil {
		return failed
	}
	defer func() {
		for _, t := range written {
			t.stir()
		}
	}()
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(a.target, b.target), cmp.Compare(a.seq, b.seq)) })
	return s.Write(func(db *store.DB) error {
		for _, r := range rows {
			var err error
			if r.value == nil {
				err = db.DropDelivery(r.target, r.seq)
			} else {
				err = db.PutDelivery(r.target, r.seq, r.value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// note has records of a target written soon. mu is held.
func (t *sending) note(seqs ...uint64) {
	for _, seq := range seqs {
		t.changed[seq] = true
	}
	select {
	case t.dirty <- struct{}{}:
	default:
	}
}

// stir has the target's goroutine look at what has changed.
func (t *sending) stir() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// run sends to one target until ctx ends.
func (t *sending) run(ctx context.Context) {
	attempts, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(grace, func() { cancel(errors.New("the service ended")) })
	})()
	for ctx.Err() == nil {
		more := t.DB.MoreEvents()
		w, err := t.next()
		switch {
		case errors.Is(err, store.ErrClosed):
			return
		case err != nil:
			t.Log.Warn("events for a webhook cannot be read", "webhook", t.name(), "error", err)
			sleep(ctx, time.Minute, nil)
		case w.event == nil && w.more: // there are others to look at
		case w.event == nil:
			select {
			case <-more:
			case <-t.wake:
			case <-ctx.Done():
			}
		case w.ahead:
			select {
			case t.soon <- struct{}{}:
			default:
			}
			select {
			case <-t.wake:
			case <-ctx.Done():
			}
		case w.wait > 0:
			sleep(ctx, w.wait, t.wake)
		default:
			var res Attempt
			body, err := t.body(&w)
			if err == nil {
				res = w.poster.post(attempts, w.event.ID(), body)
			} else {
				res = Attempt{At: time.Now().UTC(), Event: w.event.ID(), Error: err.Error()}
			}
			t.answered(w, &res, attempts.Err() != nil)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.poster.client.CloseIdleConnections()
}

// body returns what is sent of the event. A text that cannot be read is no reason not to tell of its page.
func (t *sending) body(w *work) ([]byte, error) {
	e := report.NewEvent(w.event)
	if as := w.poster.target.Text; as != "" && t.Text != nil {
		if err := t.Text(w.event, as, e); err != nil {
			t.Log.Warn("the text of a page cannot be read", "webhook", w.poster.target.Name, "event", e.Seq, "error", err)
		}
	}
	return w.writer.body(e)
}

// A work is what is to be done next for a target.
type work struct {
	event  *store.Event // nil: nothing
	again  bool
	since  store.Time    // when it was to be sent at first
	wait   time.Duration // before it is
	ahead  bool          // how far the target is must be written first
	more   bool          // there are events that were not looked at
	turned int
	writer *writer
	poster *poster
}

// next returns what is to be done next.
func (t *sending) next() (w work, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy = false
	w = work{turned: t.turned, writer: t.writer, poster: t.poster}
	if t.state.Disabled != "" {
		return w, nil
	}
	v := t.DB.Snapshot()
	defer func() { err = errors.Join(err, v.Close()) }()
	for len(t.again) > 0 && w.event == nil {
		seq := t.again[0]
		err := v.Events(seq-1, func(e *store.Event) bool {
			if e.Seq == seq {
				w.event, w.again, w.since = e, true, t.letters[seq].At
			}
			return false
		})
		if err != nil {
			return w, err
		}
		if w.event == nil { // it is not kept any more
			t.again = t.again[1:]
			delete(t.letters, seq)
			t.state.Lost++
			t.note(0, seq)
		}
	}
	if w.event == nil && len(t.read) == 0 {
		if w.more, err = t.readOn(v); err != nil {
			return w, err
		}
	}
	if w.event == nil && len(t.read) > 0 {
		w.event, w.since = t.read[0], t.read[0].At
	}
	w.wait, w.ahead = t.state.wait(time.Now()), t.ahead >= maxAhead
	t.busy = w.event != nil && w.wait == 0
	return w, nil
}

// readOn reads events that the target is to get, and moves on over those that it is not. more: there are others. mu is held.
func (t *sending) readOn(v *store.View) (more bool, err error) {
	first, last, err := v.EventsKept()
	if err != nil {
		return false, err
	}
	seq := &t.state.Seq
	*seq = min(*seq, last) // a store that was repaired may have fewer
	if *seq+1 < first {
		t.state.Lost += int64(first - *seq - 1)
		*seq = first - 1
		t.note(0)
	}
	looked := 0
	err = v.Events(*seq, func(e *store.Event) bool {
		looked++
		switch {
		case t.target.has(e):
			t.read = append(t.read, e)
		case len(t.read) == 0:
			*seq = e.Seq
		}
		return len(t.read) < maxRead && looked < maxLooked
	})
	if *seq >= t.skipped+skipAtOne {
		t.note(0)
	}
	return looked == maxLooked, err
}

// answered takes in what came of an attempt. cut: it was given up because the process ends, and is as if it had not been.
func (t *sending) answered(w work, r *Attempt, cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy = false
	if !r.ok() && cut {
		return
	}
	st, seq := &t.state, w.event.Seq
	here := w.turned == t.turned // else what is next is another matter now
	st.Last = r
	done, dead := r.ok(), false
	switch {
	case r.ok():
		st.accepted()
		t.counts.Delivered++
		t.ahead++
	case here || w.again:
		t.counts.Failed++
		dead = st.failed(time.Now(), w.since, r, rand.Float64())
		done = dead
		if dead {
			t.counts.Dead++
			t.letters[seq] = letter{At: time.Now().Unix(), Status: r.Status, Error: r.Error}
			t.Log.Warn("a webhook did not accept an event, which is given up", "webhook", t.target.Name, "event", seq, "reason", r.Error)
		} else if st.Disabled != "" {
			t.Log.Warn("a webhook is disabled", "webhook", t.target.Name, "reason", st.Disabled)
		}
	}
	t.note(0)
	if !done {
		return
	}
	if w.again {
		t.again = slices.DeleteFunc(t.again, func(n uint64) bool { return n == seq })
	}
	if l, there := t.letters[seq]; there {
		if !dead && (w.again || !l.Again) {
			delete(t.letters, seq)
		}
		t.note(seq)
	}
	if !w.again && here {
		st.Seq = seq
		if len(t.read) > 0 { // none where the target has changed meanwhile
			t.read = t.read[1:]
		}
	}
	if len(t.letters) > maxLetters { // the oldest one goes; as an event it is still there
		oldest := slices.Min(slices.Collect(maps.Keys(t.letters)))
		if !t.letters[oldest].Again {
			delete(t.letters, oldest)
			t.note(oldest)
		}
	}
}

func (t *sending) name() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.target.Name
}
