package shard

import (
	"context"
	"errors"

	"forage/internal/heap"
)

// A Located file is one whose folder is known.
type Located struct {
	Dir string
	File
}

// In returns the files of a folder.
func In(dir string, files []File) []Located {
	var located []Located
	for _, f := range files {
		located = append(located, Located{dir, f})
	}
	return located
}

// Merge calls visit for the sets of several files in ascending order, and returns its first error.
// A set of which several files hold a part is visited once a part. Memory: a block of each file.
func Merge(ctx context.Context, files []Located, visit func(set uint64, elements []uint64) error) (err error) {
	type head struct {
		r        *Reader
		set      uint64
		elements []uint64
	}
	h := heap.Heap[*head]{Before: func(a, b *head) bool { return a.set < b.set }}
	defer func() {
		for _, x := range h.Items {
			err = errors.Join(err, x.r.Close())
		}
	}()
	next := func(x *head) (ok bool, err error) {
		x.set, x.elements, ok, err = x.r.Next()
		return ok, err
	}
	for _, f := range files {
		r, err := OpenFile(ctx, f.Dir, f.File)
		if err != nil {
			return err
		}
		x := &head{r: r}
		ok, err := next(x)
		if !ok || err != nil {
			if err := errors.Join(err, r.Close()); err != nil {
				return err
			}
			continue
		}
		h.Push(x)
	}
	for h.Len() > 0 {
		x := h.Items[0]
		if err := visit(x.set, x.elements); err != nil {
			return err
		}
		ok, err := next(x)
		if err != nil {
			return err
		}
		if ok {
			h.Lower(0)
			continue
		}
		if err := h.Pop().r.Close(); err != nil {
			return err
		}
	}
	return nil
}
