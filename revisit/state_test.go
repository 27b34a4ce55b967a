package revisit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"forage/graph"
)

// A saver is a scribe that keeps how often it was told something.
type saver struct {
	linkScribe
	restored string // what SetState was given
}

func (p *saver) AppendState(b []byte) []byte {
	return binary.AppendUvarint(b, uint64(len(p.told)))
}

func (p *saver) SetState(r *StateReader, docs *Profiles, cycle int) {
	p.told = make([]string, r.Uint(1<<12))
	p.restored = fmt.Sprintf("%+v after cycle %d", docs.All(), cycle)
}

// TestRestore brings a second policy to the point of the first, from the state at each cut and the
// records after it: it is told the same from there on.
func TestRestore(t *testing.T) {
	for seed := range uint64(100) {
		first := &saver{}
		records := randomSite(rand.New(rand.NewPCG(seed, 0)), first)
		whole := NewSite(&saver{})
		whole.Believe = true
		for cut, b := range records {
			if err := whole.Replay(b); err != nil {
				t.Fatal(err)
			}
			state, ok := whole.AppendState([]byte("head"), "owner")
			if !ok || string(state[:4]) != "head" {
				t.Fatal("no state")
			}
			state = state[4:]
			p := &saver{}
			s := NewSite(p)
			s.Believe = true
			r := rand.New(rand.NewPCG(seed, uint64(cut)))
			size, err := s.RestorePieces(func(yield func([]byte) bool) {
				piece := make([]byte, 50)
				for b, more := state, true; more && len(b) > 0; {
					n := copy(piece[:1+r.IntN(50)], b)
					more, b = yield(piece[:n]), b[n:]
				}
			}, "owner")
			if err != nil || size != len(state) {
				t.Fatalf("seed %d, cut %d: %d bytes of %d: %v", seed, cut, size, len(state), err)
			}
			if again, _ := s.AppendState(nil, "owner"); !bytes.Equal(again, state) {
				t.Fatalf("seed %d, cut %d: the state of what was restored is another one", seed, cut)
			}
			at := len(p.told)
			if want := fmt.Sprintf("%+v after cycle %d", whole.docs.All(), whole.cycle); p.restored != want {
				t.Fatalf("seed %d, cut %d: %s, want %s", seed, cut, p.restored, want)
			}
			for _, b := range records[cut+1:] {
				if err := s.Replay(b); err != nil {
					t.Fatalf("seed %d, cut %d: %v", seed, cut, err)
				}
			}
			if !slices.Equal(p.told[at:], first.told[at:]) {
				t.Fatalf("seed %d, cut %d: told %q, want %q", seed, cut, p.told[at:], first.told[at:])
			}
		}
	}
}

// TestBadStates: what is no whole state of this owner and version is none.
func TestBadStates(t *testing.T) {
	s := NewSite(NewIndex())
	for _, b := range randomSite(rand.New(rand.NewPCG(1, 2)), &scribe{}) {
		if err := s.Replay(b); err != nil {
			t.Fatal(err)
		}
	}
	state, _ := s.AppendState(nil, Owner("index", Config{}))
	try := func(state []byte, owner string) error { return NewSite(NewIndex()).Restore(state, owner) }
	if err := try(state, Owner("index", Config{})); err != nil {
		t.Fatal(err)
	}
	for _, owner := range []string{Owner("indexes", Config{}), Owner("index", Config{Seed: 1}), Owner("index", Config{Alpha: .5}), Owner("index", Config{Prior: &Prior{}}), ""} {
		if err := try(state, owner); !errors.Is(err, ErrState) {
			t.Errorf("for %s: %v", owner, err)
		}
	}
	if err := NewSite(&scribe{}).Restore(state, Owner("index", Config{})); !errors.Is(err, ErrState) {
		t.Errorf("of a policy that is no Saver: %v", err)
	}
	if err := s.Restore(state, Owner("index", Config{})); !errors.Is(err, ErrState) {
		t.Errorf("of a site that knows documents: %v", err)
	}
	for i := range state {
		if err := try(state[:i], Owner("index", Config{})); !errors.Is(err, ErrState) {
			t.Fatalf("cut to %d of %d bytes: %v", i, len(state), err)
		}
		for bit := range 8 {
			state[i] ^= 1 << bit
			if err := try(state, Owner("index", Config{})); !errors.Is(err, ErrState) {
				t.Fatalf("with bit %d of byte %d the other way round: %v", bit, i, err)
			}
			state[i] ^= 1 << bit
		}
	}
	if err := try(append(state, 0), Owner("index", Config{})); !errors.Is(err, ErrState) {
		t.Errorf("with a byte too many: %v", err)
	}
}

// FuzzRestore: whatever has the right checksum is refused or leads to a cycle.
func FuzzRestore(f *testing.F) {
	policies := []func() Policy{func() Policy { return NewIndex() }, func() Policy { return &RoundRobin{} }, func() Policy { return &saver{} }, func() Policy { return NewBest(0) }}
	for seed := range uint64(3) {
		for i, policy := range policies {
			s := NewSite(policy())
			for _, b := range randomSite(rand.New(rand.NewPCG(seed, 1)), &linkScribe{}) {
				if err := s.Replay(b); err != nil {
					f.Fatal(err)
				}
			}
			state, _ := s.AppendState(nil, "")
			f.Add(state[9:], i)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, i int) {
		if i < 0 || i >= len(policies) {
			return
		}
		state := append(binary.LittleEndian.AppendUint64([]byte{stateVersion}, stateSum("", body)), body...)
		s := NewSite(policies[i]())
		if err := s.Restore(state, ""); err != nil {
			if !errors.Is(err, ErrState) {
				t.Fatal(err)
			}
			return
		}
		s.Begin(5, 3)
		for range 3 {
			v, ok := s.Next()
			if !ok {
				break
			}
			s.Observe(v, Answer{Changed: true, Links: 2, Gained: []Key{s.key[0], 1 << 31}, Found: []Document{{Key: 1 << 31, Path: "/fuzz"}}})
		}
		s.End()
		s.BeginFull(9)
		for v := range s.NumDocuments() {
			s.Observe(graph.Node(v), Answer{Gone: v%2 == 0})
		}
		s.End()
	})
}
