package export

import (
	"io"
	"os"
	"path/filepath"

	"forage/graph/arcs"
	"forage/internal/atomicfile"
)

// A Target is where a stream goes.
type Target struct {
	Path string    // the file, in which it is compressed where the name ends in .gz or .zst
	To   io.Writer // in place of a file, as it is; nil: Path
}

// File is the target of a file.
func File(path string) Target { return Target{Path: path} }

// create writes a stream, and adds to w how long it is. raw: no name has it compressed.
func (t Target) create(w *Written, raw bool, write func(io.Writer) error) error {
	switch {
	case t.To != nil:
		c := counted{w: t.To}
		err := write(&c)
		w.Bytes += c.n
		return err
	case raw:
		if err := atomicfile.Create(t.Path, write); err != nil {
			return err
		}
	default:
		if err := arcs.Create(t.Path, write); err != nil {
			return err
		}
	}
	return w.add(t.Path)
}

// beside is the path beside which temporary files are made.
func (t Target) beside() string {
	if t.To != nil {
		return filepath.Join(os.TempDir(), "forage-export")
	}
	return t.Path
}

type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
