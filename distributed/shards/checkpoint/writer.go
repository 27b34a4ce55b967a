package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"forage/store"
)

// A Writer writes the checkpoints of an epoch. It is safe for use by several goroutines, which wait for each other. No two Writers are of one epoch.
type Writer struct {
	bucket Bucket
	epoch  uint64
	base   *Manifest // from which the store came

	mu     sync.Mutex
	number int             // of the latest checkpoint that was tried; -1: not known yet
	have   map[string]File // tables that need not be copied again, by name
}

// NewWriter returns the Writer of an epoch that the caller has claimed. The store that it writes came from base, and has nothing that is not in base or was
// written since; nil: it is new, or all of it is to be copied.
func NewWriter(b Bucket, epoch uint64, base *Manifest) *Writer {
	w := &Writer{bucket: b, epoch: epoch, base: base, number: -1}
	w.keep(base)
	return w
}

// keep has the tables of a checkpoint not be copied again.
func (w *Writer) keep(m *Manifest) {
	w.have = map[string]File{}
	if m == nil {
		return
	}
	for _, f := range m.Files {
		if f.Tail != 0 {
			w.have[f.Name] = f
		}
	}
}

// forget has those tables be copied again that are not in the bucket any more.
func (w *Writer) forget(there map[string]bool) {
	maps.DeleteFunc(w.have, func(_ string, f File) bool { return !there[f.At] })
}

// Written tells what a checkpoint took.
type Written struct {
	Files  int   // copied
	Copied int64 // bytes of these
	Shared int64 // bytes of tables that earlier checkpoints had
}

// Write writes a checkpoint of a store as it is committed now, with what the caller says of it, beside whoever writes to the store. state is marshalled before the
// store is frozen: of two numbers that both rise, that of the store is not behind. A *ClaimedError tells that a higher epoch is claimed: nothing was written that
// anybody looks at. What is not whole nobody sees, and its tables are not copied again by the next one. Tables that are gone
// when the epoch begins, or at a Prune, are copied again. O(bytes of what is not shared + files).
func (w *Writer) Write(ctx context.Context, db *store.DB, state any) (m *Manifest, did Written, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() {
		if err != nil {
			m, err = nil, fmt.Errorf("checkpoint of epoch %d: %w", w.epoch, err)
		}
	}()
	if err := w.begin(ctx); err != nil {
		return nil, did, err
	}
	m = &Manifest{Epoch: w.epoch, Number: w.number}
	if m.State, err = json.Marshal(state); err != nil {
		return nil, did, err
	}
	if db.Unflushed() > mostLog {
		if err := db.Flush(); err != nil {
			return nil, did, err
		}
	}
	frozen, err := db.Freeze(ctx)
	if err != nil {
		return nil, did, err
	}
	err = w.copy(ctx, frozen, m, &did)
	if err = errors.Join(err, frozen.Close()); err != nil {
		return nil, did, err
	}
	if err := supersededBy(ctx, w.bucket, w.epoch); err != nil { // it took some time
		return nil, did, err
	}
	text, err := m.encode()
	if err != nil {
		return nil, did, err
	}
	name := manifestName(m.Epoch, m.Number)
	if err := w.bucket.Create(ctx, name, text); err != nil {
		// It may be there all the same.
		if there, e := Load(ctx, w.bucket, name); e != nil || !bytes.Equal(there, text) {
			if errors.Is(err, fs.ErrExist) {
				return nil, did, fmt.Errorf("%s was written by somebody else who says that the epoch is his: %w", name, err)
			}
			return nil, did, err
		}
	}
	w.keep(m)
	return m, did, nil
}

// mostLog is how much of the log may go into a checkpoint as it is. The next one has it once more, and a table is copied once, and takes half of the bytes;
// but many small ones are merged into one, which is copied, too. Without it a checkpoint of a store that has changed by 100 documents had up to 16 MiB of log.
const mostLog = 256 << 10

// begin takes the next number.
func (w *Writer) begin(ctx context.Context) error {
	if err := supersededBy(ctx, w.bucket, w.epoch); err != nil {
		return err
	}
	if w.number < 0 {
		there := map[string]bool{}
		number := 0
		if err := w.bucket.List(ctx, "epoch-", func(name string) bool {
			there[name] = true
			if n, ok := parseManifest(name); ok && n.epoch == w.epoch {
				number = max(number, n.number)
			}
			return true
		}); err != nil {
			return fmt.Errorf("list checkpoints: %w", err)
		}
		w.number = number
		w.forget(there)
	}
	w.number++ // also where the one before failed: what is there of it may be half of it
	return nil
}

// copy copies what the bucket does not have, and notes where all of it is.
func (w *Writer) copy(ctx context.Context, frozen *store.Frozen, m *Manifest, did *Written) error {
	for _, f := range frozen.Files {
		file, err := w.file(ctx, filepath.Join(frozen.Folder, f.Name), f, m.Number, did)
		if err != nil {
			return err
		}
		m.Files = append(m.Files, file)
	}
	return nil
}

func (w *Writer) file(ctx context.Context, path string, f store.FrozenFile, number int, did *Written) (file File, err error) {
	in, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer in.Close()
	file = File{Name: f.Name, Size: f.Size, At: fmt.Sprintf("epoch-%06d/checkpoint-%06d/%s", w.epoch, number, f.Name)}
	if f.Immutable {
		file.At = fmt.Sprintf("epoch-%06d/tables/%s", w.epoch, f.Name)
		if file.Tail, err = tail(in, f.Size); err != nil {
			return File{}, err
		}
		if had, ok := w.have[f.Name]; ok && had.Size == f.Size && had.Tail == file.Tail {
			did.Shared += f.Size
			return had, nil
		}
	}
	sum := crc32.New(castagnoli)
	if err := w.bucket.Put(ctx, file.At, f.Size, io.TeeReader(in, sum)); err != nil {
		return File{}, err
	}
	file.Sum = sum.Sum32()
	if f.Immutable {
		w.have[f.Name] = file
	}
	did.Files++
	did.Copied += f.Size
	return file, nil
}

// tailSize is how much of the end of a table is looked at, where it has its index and its properties: of two tables with one name that differ these do.
const tailSize = 64 << 10

// tail returns the CRC-32C of the last bytes of a table, and never 0.
func tail(in io.ReaderAt, size int64) (uint32, error) {
	b := make([]byte, min(size, tailSize))
	if _, err := in.ReadAt(b, size-int64(len(b))); err != nil && err != io.EOF {
		return 0, err
	}
	return max(crc32.Checksum(b, castagnoli), 1), nil
}

// Prune removes all but the latest keep checkpoints, those that were damaged when the epoch began, and all files that no checkpoint names. It does nothing before the epoch has a checkpoint: of one that is
// taken over from somebody may still be writing the next. Errors: a *ClaimedError where a higher epoch is claimed, then nothing is removed; of the bucket. O(files).
func (w *Writer) Prune(ctx context.Context, keep int) (removed int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() {
		if err != nil {
			err = fmt.Errorf("prune checkpoints: %w", err)
		}
	}()
	// In this order: what is named by a checkpoint that anybody may begin to restore after the claim was looked for is in the list of manifests.
	all, err := listManifests(ctx, w.bucket)
	if err != nil {
		return 0, err
	}
	var kept []*Manifest
	var old []string
	for i := len(all) - 1; i >= 0; i-- {
		if len(kept) >= max(keep, 1) || w.abandoned(all[i]) {
			old = append(old, all[i].name)
			continue
		}
		m, err := all[i].read(ctx, w.bucket)
		var d *DamagedError
		switch {
		case err == nil:
			kept = append(kept, m)
		case !errors.As(err, &d):
			return 0, err
		}
	}
	if len(kept) == 0 || kept[0].Epoch != w.epoch {
		return 0, supersededBy(ctx, w.bucket, w.epoch)
	}
	named := map[string]bool{}
	for _, m := range kept {
		named[manifestName(m.Epoch, m.Number)] = true
		for _, f := range m.Files {
			named[f.At] = true
		}
	}
	var files []string
	there := map[string]bool{}
	if err := w.bucket.List(ctx, "epoch-", func(name string) bool {
		there[name] = true
		if !named[name] && w.mine(name) {
			files = append(files, name)
		}
		return true
	}); err != nil {
		return 0, err
	}
	if err := supersededBy(ctx, w.bucket, w.epoch); err != nil {
		return 0, err
	}
	w.keep(kept[0])
	w.forget(there)
	// Manifests go first, the earliest of them first, so that one that is there has its files, whatever ends this.
	for i := len(old) - 1; i >= 0; i-- {
		if err := w.bucket.Delete(ctx, old[i]); err != nil {
			return removed, err
		}
		removed++
	}
	for _, name := range files {
		if err := w.bucket.Delete(ctx, name); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// abandoned reports whether a checkpoint is one of an earlier epoch from which the store did not come, but from one before it: it was damaged.
func (w *Writer) abandoned(n numbered) bool {
	return w.base != nil && n.epoch < w.epoch && w.base.before(&Manifest{Epoch: n.epoch, Number: n.number})
}

// mine reports whether a name is that of a file of this epoch or an earlier one which goes where no checkpoint needs it. Manifests are not among them, and
// the claim of this epoch, and what else its owner says of it, stay.
func (w *Writer) mine(name string) bool {
	m := places.FindStringSubmatch(name)
	if _, manifest := parseManifest(name); m == nil || manifest {
		return false
	}
	epoch, err := strconv.ParseUint(m[1], 10, 64)
	return err == nil && (epoch < w.epoch || epoch == w.epoch && m[2] != "")
}
