package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"forage/store"
)

// A TargetStatus is how a target is.
type TargetStatus struct {
	Name      string     `json:"name"`
	URL       *string    `json:"url" doc:"without path and query, which may be secret; null: no service runs that knows it"`
	Sites     []string   `json:"sites" nullable:"false" doc:"of which it gets events; none: of all"`
	Types     []string   `json:"types" nullable:"false" doc:"of which it gets events; none: all"`
	State     string     `json:"state" enum:"idle,sending,failing,disabled,stopped" doc:"failing: the latest attempt failed, and there will be others; disabled: nothing is sent until it is enabled; stopped: no service runs"`
	Reason    *string    `json:"reason" doc:"why it is disabled"`
	Backlog   *int       `json:"backlog" doc:"events that wait to be sent, as far as the next 20,000 tell; null: it is not known"`
	Behind    uint64     `json:"behind" doc:"events from the first one that waits, or was not looked at, to the last that there is"`
	Position  uint64     `json:"position" doc:"number of the event up to which all have been sent, or given up"`
	Delivered int64      `json:"delivered" doc:"events accepted, in all"`
	Dead      int        `json:"dead" doc:"dead letters that are kept: events given up"`
	GivenUp   int64      `json:"given_up" doc:"events given up, in all"`
	Lost      int64      `json:"lost" doc:"events that were dropped before they were looked at"`
	Since     *time.Time `json:"failing_since" doc:"since when nothing was accepted"`
	Next      *time.Time `json:"next" doc:"when the next attempt is; null: when there is something to send"`
	Last      *Attempt   `json:"last" doc:"the latest attempt"`
}

// newStatus tells how a target is by what the store has of it.
func newStatus(name string, st *state, letters map[uint64]letter, last uint64) *TargetStatus {
	s := &TargetStatus{
		Name: name, Sites: []string{}, Types: []string{}, State: "stopped", Position: st.Seq, Behind: last - min(st.Seq, last),
		Delivered: st.Delivered, GivenUp: st.Dead, Lost: st.Lost, Last: st.Last,
	}
	for _, l := range letters {
		if !l.Again {
			s.Dead++
		}
	}
	if st.Disabled != "" {
		why := st.Disabled
		s.State, s.Reason = "disabled", &why
	}
	at := func(sec int64) *time.Time {
		if sec == 0 {
			return nil
		}
		t := time.Unix(sec, 0).UTC()
		return &t
	}
	s.Since, s.Next = at(st.Failing), at(st.Next)
	return s
}

// status tells how the target is. v is not read for the backlog where it is nil.
func (t *sending) status(v *store.View) (*TargetStatus, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := newStatus(t.target.Name, &t.state, t.letters, t.DB.LastEvent())
	url := shownURL(t.target.URL)
	s.URL = &url
	s.Sites = append(s.Sites, t.target.Sites...)
	for _, of := range t.target.Types {
		s.Types = append(s.Types, string(of))
	}
	if s.State != "disabled" {
		switch {
		case t.busy:
			s.State = "sending"
		case t.state.Failing != 0:
			s.State = "failing"
		default:
			s.State = "idle"
		}
	}
	if v == nil {
		return s, nil
	}
	n, looked := len(t.again), 0
	s.Backlog = &n
	return s, v.Events(t.state.Seq, func(e *store.Event) bool {
		if t.target.has(e) {
			n++
		}
		looked++
		return looked < maxLooked
	})
}

// List tells how all targets are, by name.
func (s *Sender) List() ([]*TargetStatus, error) {
	v := s.DB.Snapshot()
	all := []*TargetStatus{}
	var failed error
	for _, t := range s.all() {
		one, err := t.status(v)
		all, failed = append(all, one), errors.Join(failed, err)
	}
	return all, errors.Join(failed, v.Close())
}

// Status tells how a target is. Error: ErrNotFound.
func (s *Sender) Status(name string) (*TargetStatus, error) {
	t, err := s.named(name)
	if err != nil {
		return nil, err
	}
	v := s.DB.Snapshot()
	one, err := t.status(v)
	return one, errors.Join(err, v.Close())
}

// Counts tells what came of the attempts for each target, and how many events each is behind. It reads nothing of the store.
func (s *Sender) Counts(yield func(name string, c Counts, behind uint64)) {
	last := s.DB.LastEvent()
	for _, t := range s.all() {
		t.mu.Lock()
		name, c, behind := t.target.Name, t.counts, last-min(t.state.Seq, last)
		t.mu.Unlock()
		yield(name, c, behind)
	}
}

// all returns the targets by name.
func (s *Sender) all() []*sending {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.targets), func(a, b *sending) int { return cmp.Compare(a.target.Name, b.target.Name) })
}

func (s *Sender) named(name string) (*sending, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.targets[name]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("%s: %w", name, ErrNotFound)
}

// Stored tells how the targets are that a store knows, while no Sender runs.
func Stored(v *store.View) ([]*TargetStatus, error) {
	_, last, err := v.EventsKept()
	if err != nil {
		return nil, err
	}
	states, letters := map[string]*state{}, map[string]map[uint64]letter{}
	var failed error
	err = v.Deliveries(func(name string, seq uint64, b []byte) bool {
		if states[name] == nil {
			states[name], letters[name] = new(state), map[uint64]letter{}
		}
		if seq == 0 {
			failed = json.Unmarshal(b, states[name])
		} else {
			var l letter
			failed = json.Unmarshal(b, &l)
			letters[name][seq] = l
		}
		return failed == nil
	})
	all := []*TargetStatus{}
	for _, name := range slices.Sorted(maps.Keys(states)) {
		all = append(all, newStatus(name, states[name], letters[name], last))
	}
	return all, errors.Join(err, failed)
}

// Test sends one event that is none to a target, whatever waits, and returns what came of it. Where it is accepted,
// what waits for another attempt is sent at once. Error: ErrNotFound.
func (s *Sender) Test(ctx context.Context, name string) (*Attempt, error) {
	t, err := s.named(name)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	w, p := t.writer, t.poster
	t.mu.Unlock()
	id := fmt.Sprintf("test-%016x", rand.Uint64())
	body, err := w.body(testEvent(id))
	if err != nil {
		return nil, err
	}
	r := p.post(ctx, id, body)
	if r.ok() {
		t.mu.Lock()
		t.state.Next = 0
		t.mu.Unlock()
		t.stir()
	}
	return &r, nil
}

// Enable has events sent to a target that answered 410, from the one on that did so, and what waits be sent
// at once. Error: ErrNotFound.
func (s *Sender) Enable(name string) error {
	return s.change(name, func(t *sending) error {
		t.state.Disabled, t.state.Failing, t.state.Tries, t.state.Next = "", 0, 0, 0
		return nil
	})
}

// A Redelivery is of events that are to be sent again: those that are named, or else.
type Redelivery struct {
	Events []uint64 `json:"events,omitempty" nullable:"true" maxItems:"1000" doc:"numbers of events, whether they are for the target or not"`
	Dead   bool     `json:"dead,omitempty" nullable:"true" doc:"all dead letters"`
	After  *uint64  `json:"after,omitempty" nullable:"true" doc:"all for the target after this number, though they have been sent"`
}

// Redeliver has events sent to a target again, with the ids that they have, before others. It returns when that
// cannot be lost any more, and how many dead letters or named events there are. Errors: ErrNotFound, ErrInvalid.
func (s *Sender) Redeliver(name string, c Redelivery) (n int, err error) {
	if len(c.Events) == 0 && !c.Dead && c.After == nil {
		return 0, fmt.Errorf("%w: name events, or dead letters, or after which event to begin again", ErrInvalid)
	}
	err = s.change(name, func(t *sending) error {
		v := t.DB.Snapshot()
		defer v.Close() // it was read only
		first, last, err := v.EventsKept()
		if err != nil {
			return err
		}
		if c.After != nil && (*c.After+1 < first || *c.After > last) {
			return fmt.Errorf("%w: after %d: the events from %d to %d are kept", ErrInvalid, *c.After, first, last)
		}
		for _, seq := range c.Events {
			if seq < first || seq > last || seq == 0 {
				return fmt.Errorf("%w: event %d: those from %d to %d are kept", ErrInvalid, seq, first, last)
			}
		}
		want := slices.Clone(c.Events)
		if c.Dead {
			want = slices.AppendSeq(want, maps.Keys(t.letters))
		}
		slices.Sort(want)
		want = slices.Compact(want)
		now := time.Now().Unix()
		for _, seq := range want {
			t.letters[seq] = letter{At: now, Again: true}
			t.note(seq)
		}
		t.again = append(t.again, want...)
		slices.Sort(t.again)
		t.again = slices.Compact(t.again)
		n = len(want)
		if c.After != nil {
			t.state.Seq, t.read, t.skipped = *c.After, nil, *c.After
			t.turned++
		}
		t.state.Tries, t.state.Next = 0, 0
		return nil
	})
	return n, err
}

// change changes a target, and returns when that is on the disk.
func (s *Sender) change(name string, f func(*sending) error) error {
	t, err := s.named(name)
	if err != nil {
		return err
	}
	t.mu.Lock()
	if err = f(t); err == nil {
		t.note(0)
	}
	t.mu.Unlock()
	if err != nil {
		return err
	}
	t.stir()
	return s.keep()
}
