// Package level runs the levels of a set cover over shards: SPGreedy [ST15, §3.6], a level a job
// of one map phase and one reducer, with all that passes between jobs in files.
//
// A State tells which files of a folder count; Plan finds the next threshold; Map is what a
// mapper does with a shard, Commit what the reducer does with what the mappers left; After is the
// state that follows. Map and Commit write under names that no other attempt has and end with a
// record of what they wrote, so an attempt that was killed, or ran twice, leaves files that no
// state names. The package knows nothing of who runs it.
//
// A set that no longer reaches the threshold leaves its residual, the elements that are not
// covered, in a file of the bucket that the residual falls to; a level reads those files alone
// whose sets may reach its threshold. So a set is read once a level that it falls to, not once a
// level.
package level

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"forage/cover"
	"forage/distributed/beam/files"
	"forage/distributed/beam/shard"
)

// A Form is how sets are committed.
type Form string

// The forms.
const (
	// Reducer: one reducer takes all sets, in ascending order. The cover is that of
	// cover.SPGreedy, in its order.
	Reducer Form = "reducer"
	// Local: a mapper takes a set at once if as many of its uncovered elements as the threshold
	// asks for belong to the mapper's own part of the elements. Each pick pays with elements that no other
	// partition charges, so p·ln Δ + 1 holds as it does for SPGreedy. The reducer takes what is left.
	Local Form = "local"
)

// format names the form of states and its version.
const format = "forage beam state 1"

// A State is how far a cover has come, and which files count.
type State struct {
	Format  string         `json:"format"`
	Shards  uint32         `json:"shards"` // checksum of the manifest of the shards
	P       float64        `json:"p"`
	Form    Form           `json:"form"`
	Levels  int            `json:"levels"`         // done
	Taken   uint64         `json:"taken"`          // sets
	Covered uint64         `json:"covered"`        // elements
	Cover   *shard.File    `json:"bits,omitempty"` // the bits of what is covered; nil: nothing is
	Picks   []shard.File   `json:"picks"`          // of each level that took sets
	Live    [][]shard.File `json:"live"`           // by shard: what its uncovered elements lie in; names that hold a slash are below the folder of the shards
	Counts  Counts         `json:"counts"`
}

// Counts are what the levels so far took.
type Counts struct {
	Reads   uint64 `json:"reads"`   // elements looked at, by mappers and reducer
	Reduced uint64 `json:"reduced"` // of these, those that the reducer looked at
	Read    uint64 `json:"read"`    // bytes of sets
	Written uint64 `json:"written"` // bytes of sets
	Local   uint64 `json:"local"`   // sets that mappers took
}

func (c *Counts) add(d Counts) {
	c.Reads += d.Reads
	c.Reduced += d.Reduced
	c.Read += d.Read
	c.Written += d.Written
	c.Local += d.Local
}

// Plus returns the counts of both.
func (c Counts) Plus(d Counts) Counts {
	c.add(d)
	return c
}

// Begin returns the state before the first level.
func Begin(m *shard.Manifest, p float64, form Form) *State {
	s := &State{Format: format, Shards: m.Sum, P: p, Form: form}
	for _, sh := range m.Shards {
		s.Live = append(s.Live, sh.Files)
	}
	return s
}

// A Plan is the next level.
type Plan struct {
	Threshold uint64   // gain from which sets are taken
	Buckets   []uint64 // the least gains of the levels, descending
	Shards    []int    // those that have files to read
}

// Plan returns the next level; ok=false: all is covered. largest is Δ of the family.
func (s *State) Plan(largest uint64) (p Plan, ok bool) {
	top := uint64(0)
	for _, files := range s.Live {
		for _, f := range files {
			top = max(top, f.Largest)
		}
	}
	p.Buckets = cover.Thresholds(s.P, largest)
	for _, t := range p.Buckets {
		if t <= top {
			p.Threshold = t
			break
		}
	}
	for i := range s.Live {
		if len(s.inputs(i, p.Threshold)) > 0 {
			p.Shards = append(p.Shards, i)
		}
	}
	return p, top > 0
}

// inputs returns the files of a shard in which a set may reach the threshold.
func (s *State) inputs(i int, threshold uint64) []shard.File {
	var in []shard.File
	for _, f := range s.Live[i] {
		if f.Largest >= threshold {
			in = append(in, f)
		}
	}
	return in
}

// bucket returns the number of the level that a gain above 0 falls to.
func bucket(buckets []uint64, gain uint64) int {
	at, _ := slices.BinarySearchFunc(buckets, gain, func(t, gain uint64) int { return cmp.Compare(gain, t) })
	return at
}

// After returns the state that follows when c has been committed.
func (s *State) After(c *Committed) *State {
	next := *s
	next.Levels++
	next.Taken += c.Taken
	next.Covered += c.Gained
	next.Cover = c.Cover
	next.Picks = slices.Clone(s.Picks)
	if c.Picks != nil {
		next.Picks = append(next.Picks, *c.Picks)
	}
	next.Counts.add(c.Counts)
	next.Live = make([][]shard.File, len(s.Live))
	for i, files := range s.Live {
		for _, f := range files {
			if f.Largest < c.Threshold {
				next.Live[i] = append(next.Live[i], f)
			}
		}
		next.Live[i] = append(next.Live[i], c.Residuals[i]...)
	}
	return &next
}

// statePrefix begins the names of states.
const statePrefix = "state-"

func stateName(levels int) string { return fmt.Sprintf("%s%05d.json", statePrefix, levels) }

// StatePath returns where the state after so many levels lies in a folder.
func StatePath(dir string, levels int) string { return files.Join(dir, stateName(levels)) }

// ErrOther says that another driver works on the folder of a state.
var ErrOther = errors.New("another run works on it")

// Save writes the state, after which it counts, and removes the files of levels that are done and
// that it does not name. States before it stay, small as they are: so a driver that was left behind by
// another finds that its level was saved, and gets ErrOther, where files cannot be locked.
func (s *State) Save(ctx context.Context, dir string) error {
	b, err := shard.Encode(s)
	if err != nil {
		return err
	}
	path := StatePath(dir, s.Levels)
	err = files.Commit(ctx, path, b)
	if errors.Is(err, fs.ErrExist) {
		var damaged *shard.Error
		if _, rerr := shard.ReadRecord(ctx, path, &State{}); !errors.As(rerr, &damaged) {
			return fmt.Errorf("%s: %w", dir, ErrOther)
		}
		if err = files.Remove(ctx, path); err == nil { // a power cut may have left it damaged
			err = files.Commit(ctx, path, b)
		}
	}
	if err != nil {
		return err
	}
	return s.clean(ctx, dir)
}

// clean removes what no later level reads.
func (s *State) clean(ctx context.Context, dir string) error {
	keep := map[string]bool{}
	if s.Cover != nil {
		keep[s.Cover.Name] = true
	}
	for _, f := range s.Picks {
		keep[f.Name] = true
	}
	for _, live := range s.Live {
		for _, f := range live {
			keep[f.Name] = true
		}
	}
	there, err := files.List(ctx, dir, levelPrefix)
	if err != nil {
		return err
	}
	for _, f := range there {
		if keep[f.Name] {
			continue
		}
		if err := files.Remove(ctx, files.Join(dir, f.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err // another's attempt may have removed it
		}
	}
	return nil
}

// Latest returns the state of the last level that is complete in a folder; nil: there is none. A
// record that was cut short is passed over.
func Latest(ctx context.Context, dir string) (*State, error) {
	names, err := begun(ctx, dir, statePrefix)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Backward(names) {
		s := &State{}
		_, err := shard.ReadRecord(ctx, name, s)
		var damaged *shard.Error
		switch {
		case errors.As(err, &damaged):
			continue
		case err != nil:
			return nil, err
		case s.Format != format:
			return nil, &shard.Error{File: name, What: fmt.Sprintf("want %q, got %q", format, s.Format)}
		}
		return s, nil
	}
	return nil, nil
}

// begun returns the paths of the records in a folder whose names begin so, ascending.
func begun(ctx context.Context, dir, prefix string) ([]string, error) {
	there, err := files.List(ctx, dir, prefix)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range there {
		if strings.HasSuffix(f.Name, ".json") {
			names = append(names, files.Join(dir, f.Name))
		}
	}
	return names, nil
}
