package sets

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"forage/cover"
)

// Scratch makes temporary files in a folder for cover.External. A file loses its name as soon
// as it is made, so that its space comes back however the process ends.
type Scratch struct{ dir string }

const scratchPattern = "forage-cover-*.tmp"

// NewScratch returns a maker of temporary files in dir ("": the system's folder for them), and
// removes what a process left there that was killed between making a file and unlinking it.
func NewScratch(dir string) (*Scratch, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("folder for temporary files: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("folder for temporary files: %s is a file", dir)
	}
	left, err := filepath.Glob(filepath.Join(dir, scratchPattern))
	if err != nil {
		return nil, err
	}
	for _, path := range left {
		// A living process has unlinked its files or is about to: either may come first.
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return &Scratch{dir}, nil
}

// Create implements cover.Scratch.
func (s *Scratch) Create() (cover.ScratchFile, error) {
	f, err := os.CreateTemp(s.dir, scratchPattern)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
		f.Close()
		return nil, err
	}
	return &scratchFile{f, s.dir}, nil
}

type scratchFile struct {
	*os.File
	dir string
}

func (f *scratchFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	if errors.Is(err, syscall.ENOSPC) {
		err = fmt.Errorf("%w: the level files do not fit in %s; nothing was written but them: name a folder with more room", err, f.dir)
	}
	return n, err
}
