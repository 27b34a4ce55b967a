package level

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"forage/cover"
	"forage/distributed/beam/files"
	"forage/distributed/beam/shard"
)

// levelPrefix begins the names of what levels write.
const levelPrefix = "level-"

// A Place is where a level runs: the two folders, and the attempt, whose name no other has.
type Place struct {
	Shards  string // folder of the shards
	Dir     string // of the state
	Level   int    // number of the level, from 1
	Attempt string
}

// name returns the name of a file of this attempt.
func (p *Place) name(what string) string {
	return fmt.Sprintf("%s%05d-%s-%s", levelPrefix, p.Level, what, p.Attempt)
}

// Begun begins the names of the files by which workers tell that they have begun on a level.
func Begun(number int, run string) string {
	p := Place{Level: number, Attempt: run}
	return p.name("begun")
}

// locate tells in which folder a file of sets lies.
func (p *Place) locate(f shard.File) shard.Located {
	if strings.ContainsRune(f.Name, '/') {
		return shard.Located{Dir: p.Shards, File: f}
	}
	return shard.Located{Dir: p.Dir, File: f}
}

// writeFile writes b to a new file of this attempt.
func (p *Place) writeFile(ctx context.Context, name string, b []byte) (shard.File, error) {
	err := files.Write(ctx, files.Join(p.Dir, name), b)
	return shard.File{Name: name, Bytes: uint64(len(b)), Sum: shard.Sum(b)}, err
}

// writeRecord writes a record as a new file of this attempt and returns its name.
func (p *Place) writeRecord(ctx context.Context, what string, v any) (name string, err error) {
	b, err := shard.Encode(v)
	if err != nil {
		return "", err
	}
	name = p.name(what) + ".json"
	_, err = p.writeFile(ctx, name, b)
	return name, err
}

// readFile reads a file that writeFile wrote.
func readFile(ctx context.Context, dir string, f shard.File) ([]byte, error) {
	path := files.Join(dir, f.Name)
	b, err := files.Read(ctx, path)
	if err == nil && (uint64(len(b)) != f.Bytes || shard.Sum(b) != f.Sum) {
		err = &shard.Error{File: path, What: fmt.Sprintf("the file was cut short or changed: %d bytes with checksum %08x, want %d with %08x", len(b), shard.Sum(b), f.Bytes, f.Sum)}
	}
	return b, err
}

// Bits are what is covered: a bit an element.
type Bits []uint64

// ReadBits returns what is covered of n elements in a state.
func (s *State) ReadBits(ctx context.Context, dir string, n uint64) (Bits, error) {
	if s.Cover == nil {
		return NewBits(n), nil
	}
	return readBits(ctx, dir, *s.Cover, n)
}

// readBits returns the n bits of a file.
func readBits(ctx context.Context, dir string, f shard.File, n uint64) (Bits, error) {
	bits := NewBits(n)
	b, err := readFile(ctx, dir, f)
	if err != nil {
		return nil, err
	}
	if len(b) != 8*len(bits) {
		return nil, &shard.Error{File: files.Join(dir, f.Name), What: fmt.Sprintf("%d bytes, want %d for %d elements", len(b), 8*len(bits), n)}
	}
	for i := range bits {
		bits[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return bits, nil
}

func (b Bits) encode() []byte {
	out := make([]byte, 0, 8*len(b))
	for _, w := range b {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out
}

// rest appends the elements that are not covered to to.
func (b Bits) rest(to, elements []uint64) []uint64 {
	for _, e := range elements {
		if b[e/64]>>(e%64)&1 == 0 {
			to = append(to, e)
		}
	}
	return to
}

// cover marks elements.
func (b Bits) cover(elements []uint64) {
	for _, e := range elements {
		b[e/64] |= 1 << (e % 64)
	}
}

// EachPick calls visit for the sets that were taken, in order, with their gains.
func (s *State) EachPick(ctx context.Context, dir string, visit func(set, gain uint64) error) error {
	for _, f := range s.Picks {
		if err := eachPick(ctx, dir, f, visit); err != nil {
			return err
		}
	}
	return nil
}

// Result returns the cover as the engine for one machine does. Memory: 16 bytes a set that was taken.
func (s *State) Result(ctx context.Context, dir string) (*cover.Result, error) {
	r := &cover.Result{Coverable: s.Covered, Covered: s.Covered, Met: s.Covered}
	err := s.EachPick(ctx, dir, func(set, gain uint64) error {
		r.Sets, r.Gains = append(r.Sets, set), append(r.Gains, gain)
		return nil
	})
	return r, err
}

func eachPick(ctx context.Context, dir string, f shard.File, visit func(set, gain uint64) error) error {
	b, err := readFile(ctx, dir, f)
	if err != nil {
		return err
	}
	for len(b) > 0 {
		set, n := binary.Uvarint(b)
		gain, m := binary.Uvarint(b[max(n, 0):])
		if n <= 0 || m <= 0 {
			return &shard.Error{File: files.Join(dir, f.Name), What: "a number is cut short"}
		}
		b = b[n+m:]
		if err := visit(set, gain); err != nil {
			return err
		}
	}
	return nil
}

// Kinds of files of sets; those from 0 on are residuals, by the number of their bucket, and after
// all buckets those of sets that a mapper expects to fall, again by their buckets.
const (
	rest       = -3 // of candidates, what others of the shard are expected to cover
	taken      = -2 // by a mapper
	candidates = -1
	least      = rest
)

// outputs are what an attempt writes of a shard, by kinds, one after another in one file. They are kept
// in memory until the shard is done: with a file for each kind, to make files took most of the time of
// small levels.
type outputs struct {
	place   *Place
	buckets []uint64  // the least gains of the levels
	open    []*output // by kind, from least on; nil: there is nothing
}

type output struct {
	*shard.Writer
	written bytes.Buffer
}

func newOutputs(p *Place, buckets []uint64) outputs {
	return outputs{p, buckets, make([]*output, 2*len(buckets)-least)}
}

// put adds a set to those of a kind.
func (o *outputs) put(kind int, set uint64, elements []uint64) error {
	w := o.open[kind-least]
	if w == nil {
		w = &output{}
		w.Writer = shard.NewWriter(&w.written)
		o.open[kind-least] = w
	}
	return w.Put(set, elements)
}

// residual adds what is left of a set, which is something, to the bucket that it falls to.
func (o *outputs) residual(set uint64, left []uint64) error {
	return o.put(bucket(o.buckets, uint64(len(left))), set, left)
}

// fell adds what a mapper expects to be left of a set to the bucket that it falls to then.
func (o *outputs) fell(set uint64, left []uint64) error {
	return o.put(len(o.buckets)+bucket(o.buckets, uint64(len(left))), set, left)
}

// write writes a file of what there is, calls done for each kind, and begins anew.
func (o *outputs) write(ctx context.Context, what string, done func(kind int, f shard.File)) error {
	name := o.place.name(what) + ".sets"
	var parts [][]byte
	at := uint64(0)
	for i, w := range o.open {
		if w == nil {
			continue
		}
		o.open[i] = nil
		f, err := w.End()
		if err != nil {
			return err
		}
		parts = append(parts, w.written.Bytes())
		f.Name, f.At = name, at
		at += f.Bytes
		done(i+least, f)
	}
	if parts == nil {
		return nil
	}
	return files.Write(ctx, files.Join(o.place.Dir, name), parts...)
}
