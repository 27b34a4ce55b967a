package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"forage/internal/atomicfile"
)

// CreateFolder makes the folder dir of what fill writes to the folder that it is called with, and of a
// manifest, which is what fill returns: there is no such folder until the manifest is there. On this
// machine's file systems the folder itself appears whole or not at all. Elsewhere fill writes to dir,
// under names that begin with prefix and hold attempt, which is then not empty; what other attempts left
// is removed when the manifest is there.
//
// Errors: one that wraps fs.ErrExist where something is in the way; of fill, after which nothing is
// left; of the system.
func CreateFolder(ctx context.Context, dir, manifest, prefix string, fill func(dir, attempt string) (record []byte, err error)) (err error) {
	if Local(dir) {
		return atomicfile.CreateFolder(dir, func(part string) error {
			record, err := fill(part, "")
			if err != nil {
				return err
			}
			if err := syncFolders(part); err != nil {
				return err
			}
			return atomicfile.Write(Join(part, manifest), record)
		})
	}
	there, err := List(ctx, dir, "")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, f := range there {
		if !strings.HasPrefix(f.Name, prefix) {
			return fmt.Errorf("%s: %w, and holds %s; want a new or empty folder", dir, fs.ErrExist, f.Name)
		}
	}
	if err := Mkdir(ctx, dir); err != nil {
		return err
	}
	attempt := "-" + Unique()
	sweep := func(ctx context.Context, own bool) error {
		left, err := List(ctx, dir, prefix)
		for _, f := range left {
			if strings.Contains(f.Name, attempt) == own {
				err = errors.Join(err, Remove(ctx, Join(dir, f.Name)))
			}
		}
		return err
	}
	record, err := fill(dir, attempt)
	if err == nil {
		err = Commit(ctx, Join(dir, manifest), record)
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTime)
		defer cancel()
		sweep(ctx, true) // what cannot be removed does not count, and goes with the next attempt
		return err
	}
	return sweep(ctx, false)
}
