package arcs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"forage/graph"
)

// Write writes g to w in a text format; Auto means an arc list. Nodes without arcs at the end
// of the numbering leave no trace in an arc list.
func Write(w io.Writer, g graph.Scanner, f Format) error {
	out := bufio.NewWriterSize(w, 1<<18)
	n := graph.Node(g.NumNodes())
	buf := make([]byte, 0, 64)
	if f == MatrixMarket {
		fmt.Fprintf(out, "%%%%MatrixMarket matrix coordinate pattern general\n%d %d %d\n", n, n, g.NumArcs())
	}
	err := g.Scan(0, n, func(v graph.Node, succ []graph.Node) error {
		if f == Adjacency {
			buf = buf[:0]
			for i, u := range succ {
				if i > 0 {
					buf = append(buf, ' ')
				}
				buf = strconv.AppendUint(buf, uint64(u), 10)
			}
			_, err := out.Write(append(buf, '\n'))
			return err
		}
		plus, sep := uint64(0), byte('\t')
		if f == MatrixMarket {
			plus, sep = 1, ' '
		}
		buf = append(strconv.AppendUint(buf[:0], uint64(v)+plus, 10), sep)
		k := len(buf)
		for _, u := range succ {
			buf = append(strconv.AppendUint(buf[:k], uint64(u)+plus, 10), '\n')
			if _, err := out.Write(buf); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// WriteFile writes g to a file, compressed if its name ends in .gz or .zst. The file appears
// under its name when it is complete; after an error there is none.
func WriteFile(path string, g graph.Scanner, f Format) error {
	return Create(path, func(w io.Writer) error { return Write(w, g, f) })
}

// Create makes a file with what write writes, compressed if its name ends in .gz or .zst. The
// file appears under its name when it is complete; after an error there is none, and what a
// run that was killed left of it is removed. What is no file, as a device or a pipe, is written
// to as it is.
func Create(path string, write func(w io.Writer) error) (err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	if err := RemoveLeft(path); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	switch {
	case strings.HasSuffix(path, ".gz"):
		z := gzip.NewWriter(f)
		if err := write(z); err != nil {
			return err
		}
		err = z.Close()
	case strings.HasSuffix(path, ".zst"):
		z, zerr := zstd.NewWriter(f)
		if zerr != nil {
			return zerr
		}
		if err := write(z); err != nil {
			z.Close()
			return err
		}
		err = z.Close()
	default:
		err = write(f)
	}
	if err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// RemoveLeft removes the unfinished files of path, .NAME.NUMBER.tmp beside it, of runs that were
// killed. A run that still writes path loses to the one that calls this.
func RemoveLeft(path string) error {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrPermission) { // a folder may be writable and not readable
		return err
	}
	for _, e := range entries {
		number, begins := strings.CutPrefix(e.Name(), "."+name+".")
		number, ends := strings.CutSuffix(number, ".tmp")
		if !begins || !ends || number == "" || strings.Trim(number, "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
