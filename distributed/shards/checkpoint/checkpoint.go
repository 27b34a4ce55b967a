// Package checkpoint keeps copies of a store where other processes find them, so that one of them can go on with it.
//
// Who owns a store claims an epoch, a number that rises with each owner (Claim), takes the latest checkpoint (RestoreLatest), and writes
// others from time to time (Writer). Where a file of the latest is missing or damaged, the one before does (RestoreLatest). A checkpoint costs what has changed: tables are copied once, and shared by all later checkpoints, also
// those of later owners, who go on from one of them. Writer.Prune removes what no checkpoint needs.
//
// An owner that does not know yet that it is none any more does no harm. It writes under its own epoch alone, and of two checkpoints that with the
// higher epoch is later. Its files are removed by the one who has taken over, as soon as that has a checkpoint itself.
//
// # Layout
//
//	epoch-000002/claim.json                   who has the epoch: made once, never changed
//	epoch-000002/*                            what else owners say of it: it goes with the claim
//	epoch-000002/tables/000123.sst            tables that the owner of that epoch has copied
//	epoch-000002/checkpoint-000007/…          what else belongs to a checkpoint: the list of tables, the log
//	epoch-000002/checkpoint-000007.json       its manifest, written last, made once, never changed
//
// A manifest is {"checkpoint": …, "crc32c": …}, the sum of the bytes of the former in hexadecimal. It names each file of the database with where it
// lies, its size and CRC-32C, and has what the owner has to say of the store (State). Each owner's database goes on with the numbers that
// the checkpoint had which it came from: so the same name may be another table under another epoch, and the place in the manifest tells which.
package checkpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"forage/internal/atomicfile"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Manifest is a checkpoint.
type Manifest struct {
	Epoch  uint64          `json:"epoch"`  // of the owner who wrote it, from 1
	Number int             `json:"number"` // of the checkpoint in the epoch, from 1
	State  json.RawMessage `json:"state"`  // what the owner has to say of it
	Files  []File          `json:"files"`  // by name
}

// A File is one of a checkpoint.
type File struct {
	Name string `json:"name"` // in the folder of the database
	At   string `json:"at"`   // in the bucket
	Size int64  `json:"size"` // bytes
	Sum  uint32 `json:"crc32c"`
	Tail uint32 `json:"tail,omitempty"` // of a table: that of its last bytes, by which it is known again
}

// Bytes is how large the store is.
func (m *Manifest) Bytes() (n int64) {
	for i := range m.Files {
		n += m.Files[i].Size
	}
	return n
}

// before reports whether m is an earlier checkpoint than o.
func (m *Manifest) before(o *Manifest) bool {
	return cmp.Or(cmp.Compare(m.Epoch, o.Epoch), cmp.Compare(m.Number, o.Number)) < 0
}

// A ClaimedError tells that somebody has the epoch, or a higher one: who gets it does not own the store, or not any more.
type ClaimedError struct {
	Epoch uint64 // that is claimed
	By    []byte // what the other one said of itself; nil: not known
}

func (e *ClaimedError) Error() string {
	by := ""
	if len(e.By) > 0 {
		by = fmt.Sprintf(", by %.200q", e.By)
	}
	return fmt.Sprintf("epoch %d of the checkpoints is claimed%s", e.Epoch, by)
}

// A DamagedError tells that a file of a bucket is missing, or not what was written.
type DamagedError struct {
	File string // its name
	What string
	Of   string // the manifest that names it; "": File is a manifest
}

func (e *DamagedError) Error() string {
	if e.Of != "" {
		return fmt.Sprintf("%s, of %s: %s", e.File, e.Of, e.What)
	}
	return fmt.Sprintf("%s: %s", e.File, e.What)
}

// A LostError tells that there are checkpoints, and that none of them can be restored.
type LostError struct {
	Damaged []*DamagedError // one of each, the latest first
}

func (e *LostError) Error() string {
	return fmt.Sprintf("none of the checkpoints can be restored, of which there are %d; the latest: %v", len(e.Damaged), e.Damaged[0])
}

// ErrNone says that there is no checkpoint.
var ErrNone = errors.New("there is no checkpoint")

func claimName(epoch uint64) string { return fmt.Sprintf("epoch-%06d/claim.json", epoch) }

func manifestName(epoch uint64, number int) string {
	return fmt.Sprintf("epoch-%06d/checkpoint-%06d.json", epoch, number)
}

var (
	claims    = regexp.MustCompile(`^epoch-(\d{6,18})/claim\.json$`)
	manifests = regexp.MustCompile(`^epoch-(\d{6,18})/checkpoint-(\d{6,9})\.json$`)
	places    = regexp.MustCompile(`^epoch-(\d{6,18})/(tables/|checkpoint-\d{6,9}/|\.)?[^/]+$`) // a dot begins what is half written
)

// Claim claims an epoch, from 1, for an owner, who says who it is in who, which has to differ from what anybody else says (a bucket may know by it whose
// file it is that a lost answer has left). It fails with a *ClaimedError where that one or a higher one is claimed.
func Claim(ctx context.Context, b Bucket, epoch uint64, who []byte) error {
	if epoch == 0 {
		return errors.New("epochs are numbered from 1")
	}
	if err := supersededBy(ctx, b, epoch); err != nil {
		return err
	}
	if err := b.Create(ctx, claimName(epoch), who); errors.Is(err, fs.ErrExist) {
		return claimed(ctx, b, epoch)
	} else if err != nil {
		return fmt.Errorf("claim epoch %d: %w", epoch, err)
	}
	return supersededBy(ctx, b, epoch) // by one who came meanwhile
}

// supersededBy returns a *ClaimedError if an epoch higher than that is claimed.
func supersededBy(ctx context.Context, b Bucket, epoch uint64) error {
	highest, err := Claimed(ctx, b)
	if err != nil {
		return err
	}
	if highest > epoch {
		return claimed(ctx, b, highest)
	}
	return nil
}

// claimed returns the error for an epoch that is.
func claimed(ctx context.Context, b Bucket, epoch uint64) error {
	by, err := Load(ctx, b, claimName(epoch))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(&ClaimedError{Epoch: epoch}, err)
	}
	return &ClaimedError{Epoch: epoch, By: by}
}

// Claimed returns the highest epoch that is claimed, 0 where none is. O(files).
func Claimed(ctx context.Context, b Bucket) (highest uint64, err error) {
	err = b.List(ctx, "epoch-", func(name string) bool {
		if m := claims.FindStringSubmatch(name); m != nil {
			n, _ := strconv.ParseUint(m[1], 10, 64)
			highest = max(highest, n)
		}
		return true
	})
	if err != nil {
		return 0, fmt.Errorf("list checkpoints: %w", err)
	}
	return highest, nil
}

// Latest returns the latest checkpoint of which the manifest is whole, or ErrNone. broken are the later ones of which it is not, the latest first.
// O(files).
func Latest(ctx context.Context, b Bucket) (m *Manifest, broken []*DamagedError, err error) {
	return latest(ctx, b, func(*Manifest) error { return nil })
}

// RestoreLatest restores the latest checkpoint that is whole, as Restore does, and returns it. damaged tells for each later one what of it is missing or
// damaged, the latest first. Errors: ErrNone where there is no checkpoint, a *LostError where there are some and none is whole, those of Restore.
func RestoreLatest(ctx context.Context, b Bucket, dir string) (m *Manifest, damaged []*DamagedError, err error) {
	m, damaged, err = latest(ctx, b, func(m *Manifest) error { return Restore(ctx, b, m, dir) })
	if err == ErrNone && len(damaged) > 0 {
		err = &LostError{damaged}
	}
	return m, damaged, err
}

// latest returns the latest checkpoint that can be read and tried without a *DamagedError, which else is among damaged.
func latest(ctx context.Context, b Bucket, try func(*Manifest) error) (m *Manifest, damaged []*DamagedError, err error) {
	names, err := listManifests(ctx, b)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range slices.Backward(names) {
		m, err := n.read(ctx, b)
		if err == nil {
			err = try(m)
		}
		var d *DamagedError
		switch {
		case err == nil:
			return m, damaged, nil
		case errors.As(err, &d):
			damaged = append(damaged, d)
		default:
			return nil, damaged, err
		}
	}
	return nil, damaged, ErrNone
}

// A numbered is what the name of a manifest tells.
type numbered struct {
	name   string
	epoch  uint64
	number int
}

// parseManifest returns what a name tells, if it is that of a manifest.
func parseManifest(name string) (n numbered, ok bool) {
	m := manifests.FindStringSubmatch(name)
	if m == nil {
		return n, false
	}
	n.name = name
	n.epoch, _ = strconv.ParseUint(m[1], 10, 64)
	n.number, _ = strconv.Atoi(m[2])
	return n, true
}

// listManifests returns all manifests, the earliest first.
func listManifests(ctx context.Context, b Bucket) (all []numbered, err error) {
	err = b.List(ctx, "epoch-", func(name string) bool {
		if n, ok := parseManifest(name); ok {
			all = append(all, n)
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	slices.SortFunc(all, func(a, b numbered) int {
		return cmp.Or(cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.number, b.number))
	})
	return all, nil
}

// An envelope is a manifest as it is written.
type envelope struct {
	Checkpoint json.RawMessage `json:"checkpoint"`
	Sum        string          `json:"crc32c"`
}

func (m *Manifest) encode() ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return json.Marshal(envelope{b, fmt.Sprintf("%08x", crc32.Checksum(b, castagnoli))})
}

// read reads a manifest. A *DamagedError tells that it is not whole.
func (n *numbered) read(ctx context.Context, b Bucket) (*Manifest, error) {
	damaged := func(what string) (*Manifest, error) { return nil, &DamagedError{File: n.name, What: what} }
	text, err := Load(ctx, b, n.name)
	if errors.Is(err, fs.ErrNotExist) { // it was removed meanwhile
		return damaged("it is missing")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.name, err)
	}
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return damaged("it is not whole: " + err.Error())
	}
	if sum := fmt.Sprintf("%08x", crc32.Checksum(e.Checkpoint, castagnoli)); sum != e.Sum {
		return damaged("its checksum differs")
	}
	m := new(Manifest)
	if err := json.Unmarshal(e.Checkpoint, m); err != nil {
		return damaged(err.Error())
	}
	if m.Epoch != n.epoch || m.Number != n.number {
		return damaged(fmt.Sprintf("it says that it is checkpoint %d of epoch %d", m.Number, m.Epoch))
	}
	for i := range m.Files {
		if f := &m.Files[i]; f.Name != filepath.Base(f.Name) || !filepath.IsLocal(f.Name) || f.Size < 0 {
			return damaged(fmt.Sprintf("it names a file %q of %d bytes", f.Name, f.Size))
		}
	}
	return m, nil
}

// Restore makes a store of a checkpoint, in a new folder, which appears whole or not at all. A *DamagedError tells which file of it is missing or not what
// was written; else errors are those of the bucket, of the folder's file system, of ctx. O(bytes).
func Restore(ctx context.Context, b Bucket, m *Manifest, dir string) error {
	return atomicfile.CreateFolder(dir, func(part string) error {
		folder := filepath.Join(part, "documents")
		if err := os.Mkdir(folder, 0o755); err != nil {
			return err
		}
		for i := range m.Files {
			err := m.Files[i].restore(ctx, b, folder)
			var d *DamagedError
			if errors.As(err, &d) {
				d.Of = manifestName(m.Epoch, m.Number)
			}
			if err != nil {
				return err
			}
		}
		return atomicfile.SyncFolder(folder)
	})
}

func (f *File) restore(ctx context.Context, b Bucket, folder string) (err error) {
	r, err := b.Get(ctx, f.At)
	if errors.Is(err, fs.ErrNotExist) {
		return &DamagedError{File: f.At, What: "it is missing"}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.At, err)
	}
	defer r.Close()
	out, err := os.Create(filepath.Join(folder, f.Name))
	if err != nil {
		return err
	}
	sum := crc32.New(castagnoli)
	n, err := io.Copy(io.MultiWriter(out, sum), &reader{ctx, r})
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return fmt.Errorf("%s: %w", f.At, err)
	}
	switch {
	case n != f.Size:
		return &DamagedError{File: f.At, What: fmt.Sprintf("it has %d bytes, want %d", n, f.Size)}
	case sum.Sum32() != f.Sum:
		return &DamagedError{File: f.At, What: "its checksum differs"}
	}
	return nil
}
