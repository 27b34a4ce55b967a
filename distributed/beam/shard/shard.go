// Package shard keeps a family of sets in a folder of shards that many machines see.
//
// Write makes the folder, Open reads what it says of itself. A shard is the sets of a range of
// numbers, in files by size: a class of size is from ⌈p^j⌉ to ⌈p^(j+1)⌉ elements, so that a level
// of the cover reads those files alone whose sets may reach it. The manifest tells of each file
// how many sets and elements it holds, the largest of them, its bytes and its checksum; it is
// written last. Merge reads files in the order of set numbers.
//
// Files and records are checked whenever they are read; what is wrong with them is an *Error.
package shard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"slices"

	"forage/cover"
	"forage/distributed/beam/files"
)

// ManifestName is the name of the manifest in the folder.
const ManifestName = "shards.json"

// prefix begins the names of shards.
const prefix = "shard-"

// format names the form of the manifest and its version.
const format = "forage shards 1"

// A Manifest tells what lies in a folder of shards.
type Manifest struct {
	Format   string  `json:"format"`
	Sets     uint64  `json:"sets"`
	Elements uint64  `json:"elements"` // one more than the largest
	Size     uint64  `json:"size"`     // M, the elements of all sets
	Largest  uint64  `json:"largest"`  // Δ
	P        float64 `json:"p"`        // classes of size are powers of it
	Shards   []Shard `json:"shards"`

	Sum uint32 `json:"-"` // checksum of the manifest, which tells one family from another
}

// A Shard is the sets from First to End−1.
type Shard struct {
	Name     string `json:"name"` // of its folder, below that of the manifest
	First    uint64 `json:"first"`
	End      uint64 `json:"end"`
	Elements uint64 `json:"elements"`
	Largest  uint64 `json:"largest"`
	Bytes    uint64 `json:"bytes"`
	Files    []File `json:"files"` // largest sets first
}

// Own returns the elements, from first to end−1, that belong to the part of the family that a
// shard is: as many as its share of the sets. Of a graph they are its own nodes.
func (m *Manifest) Own(shard int) (first, end uint64) {
	at := func(set uint64) uint64 {
		hi, lo := bits.Mul64(m.Elements, set)
		q, _ := bits.Div64(hi, lo, m.Sets)
		return q
	}
	s := m.Shards[shard]
	return at(s.First), at(s.End)
}

// Write makes the folder dir of at most n shards of f, of about as many elements each, with
// classes of size by powers of p. There is no folder of shards until all of it is there. It reads f once,
// and once more where f does not know its size. Memory: a block a class of size, and what files.Create
// wants for each.
func Write(ctx context.Context, dir string, f cover.Family, n int, p float64) (*Manifest, error) {
	m := &Manifest{Format: format, Sets: f.NumSets(), Elements: f.NumElements(), P: p}
	size := uint64(0)
	if s, ok := f.(cover.Sized); ok {
		size = s.Size()
	} else if err := f.Scan(func(_ uint64, elements []uint64) error {
		size += uint64(len(elements))
		return nil
	}); err != nil {
		return nil, err
	}
	err := files.CreateFolder(ctx, dir, ManifestName, prefix, func(part, attempt string) (record []byte, err error) {
		w := &writer{ctx: ctx, dir: part, attempt: attempt, m: m, classes: map[int]*class{}}
		defer w.discard()
		err = f.Scan(func(set uint64, elements []uint64) error {
			if set%1024 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if w.open == nil || w.open.Elements > 0 && len(m.Shards) < n && m.Size >= share(size, len(m.Shards), n) {
				if err := w.begin(set); err != nil {
					return err
				}
			}
			return w.put(set, elements)
		})
		if err == nil {
			err = w.end(m.Sets)
		}
		if err != nil {
			return nil, err
		}
		return Encode(m)
	})
	return m, err
}

// share returns ⌈size·i/n⌉.
func share(size uint64, i, n int) uint64 {
	hi, lo := bits.Mul64(size, uint64(i))
	q, r := bits.Div64(hi, lo, uint64(n))
	if r > 0 {
		q++
	}
	return q
}

// writer writes the shards of a manifest, one after another.
type writer struct {
	ctx     context.Context // of Write, which makes it
	dir     string
	attempt string // ends the names of shards, where others may write to the folder
	m       *Manifest
	open    *Shard // the last of m
	classes map[int]*class
	bounds  []uint64 // the least sizes of classes, ascending
}

// A class is the sets of a shard that are about as large.
type class struct {
	*Writer
	file files.Writer
	name string
}

// begin ends the open shard and begins the next, whose first set is given.
func (w *writer) begin(set uint64) error {
	if err := w.end(set); err != nil {
		return err
	}
	name := fmt.Sprintf("%s%05d%s", prefix, len(w.m.Shards), w.attempt)
	w.m.Shards = append(w.m.Shards, Shard{Name: name, First: set})
	w.open = &w.m.Shards[len(w.m.Shards)-1]
	return files.Mkdir(w.ctx, files.Join(w.dir, name))
}

// classOf returns the number of the class of a size above 0.
func (w *writer) classOf(size uint64) int {
	if n := len(w.bounds); n == 0 || w.bounds[n-1] < size {
		w.bounds = cover.Thresholds(w.m.P, max(uint64(2*w.m.P*float64(size)), 1024))
		slices.Reverse(w.bounds)
	}
	at, found := slices.BinarySearch(w.bounds, size)
	if !found {
		at--
	}
	return at
}

func (w *writer) put(set uint64, elements []uint64) error {
	if len(elements) == 0 {
		return nil
	}
	if last := elements[len(elements)-1]; last >= w.m.Elements {
		return fmt.Errorf("set %d holds element %d of a family of %d elements", set, last, w.m.Elements)
	}
	size := uint64(len(elements))
	c := w.classOf(size)
	out := w.classes[c]
	if out == nil {
		name := fmt.Sprintf("%s/size-%d.sets", w.open.Name, w.bounds[c])
		f, err := files.Create(w.ctx, files.Join(w.dir, name))
		if err != nil {
			return err
		}
		out = &class{NewWriter(f), f, name}
		w.classes[c] = out
	}
	w.open.Elements += size
	w.open.Largest = max(w.open.Largest, size)
	w.m.Size += size
	w.m.Largest = max(w.m.Largest, size)
	return out.Put(set, elements)
}

// end closes the open shard; next is the set that follows it.
func (w *writer) end(next uint64) error {
	if w.open == nil {
		return nil
	}
	w.open.End = next
	for c, out := range w.classes {
		f, err := out.End()
		if err == nil {
			err = out.file.Sync()
		}
		if err == nil {
			err = out.file.Close()
		}
		if err != nil {
			return err
		}
		delete(w.classes, c)
		f.Name = out.name
		w.open.Bytes += f.Bytes
		w.open.Files = append(w.open.Files, f)
	}
	slices.SortFunc(w.open.Files, func(a, b File) int { return cmp.Compare(b.Largest, a.Largest) })
	return nil
}

func (w *writer) discard() {
	for _, out := range w.classes {
		out.file.Discard()
	}
}

// Open reads the manifest of a folder and compares the lengths of all files with it.
func Open(ctx context.Context, dir string) (*Manifest, error) {
	m := &Manifest{}
	path := files.Join(dir, ManifestName)
	sum, err := ReadRecord(ctx, path, m)
	if errors.Is(err, fs.ErrNotExist) {
		if there, derr := files.List(ctx, dir, ""); derr == nil && (len(there) > 0 || files.Local(dir)) {
			return nil, &Error{dir, "no folder of shards: it has no " + ManifestName}
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	if m.Format != format {
		return nil, &Error{path, fmt.Sprintf("want %q, got %q", format, m.Format)}
	}
	m.Sum = sum
	there, err := files.List(ctx, dir, prefix)
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for _, f := range there {
		sizes[f.Name] = f.Size
	}
	for _, s := range m.Shards {
		for _, f := range s.Files {
			size, ok := sizes[f.Name]
			if !ok {
				return nil, &Error{files.Join(dir, f.Name), "the file is missing"}
			}
			if err := check(files.Join(dir, f.Name), size, f); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// check compares the length of a file with what is known of it.
func check(path string, size int64, known File) error {
	if uint64(size) > known.Bytes {
		return &Error{path, fmt.Sprintf("the file is longer than it was written: %d bytes, want %d", size, known.Bytes)}
	}
	return checkLength(path, size, known)
}

// Family returns the family of a folder of shards, read anew at each scan.
func Family(ctx context.Context, dir string, m *Manifest) cover.Family { return family{ctx, dir, m} }

type family struct {
	ctx context.Context // of who scans it: a cover.Family is asked without one
	dir string
	m   *Manifest
}

func (f family) NumSets() uint64     { return f.m.Sets }
func (f family) NumElements() uint64 { return f.m.Elements }
func (f family) Size() uint64        { return f.m.Size }

func (f family) Scan(visit func(set uint64, elements []uint64) error) error {
	next := uint64(0)
	empties := func(end uint64) error {
		for ; next < end; next++ {
			if err := visit(next, nil); err != nil {
				return err
			}
		}
		return nil
	}
	for _, s := range f.m.Shards {
		err := Merge(f.ctx, In(f.dir, s.Files), func(set uint64, elements []uint64) error {
			if set < next || set >= s.End {
				return &Error{files.Join(f.dir, s.Name), fmt.Sprintf("it holds set %d, want sets from %d to %d, each once", set, s.First, s.End-1)}
			}
			if err := empties(set); err != nil {
				return err
			}
			next++
			return visit(set, elements)
		})
		if err != nil {
			return err
		}
	}
	return empties(f.m.Sets)
}
