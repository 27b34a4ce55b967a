package arcs

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"forage/graph"
	"forage/internal/atomicfile"
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

// Create makes a file with what write writes, compressed if its name ends in .gz or .zst, as
// atomicfile.Create does: the file appears under its name when it is complete and on the disk.
func Create(path string, write func(w io.Writer) error) error {
	return atomicfile.Create(path, func(w io.Writer) error {
		var z io.WriteCloser
		switch {
		case strings.HasSuffix(path, ".gz"):
			z = gzip.NewWriter(w)
		case strings.HasSuffix(path, ".zst"):
			var err error
			if z, err = zstd.NewWriter(w); err != nil {
				return err
			}
		default:
			return write(w)
		}
		if err := write(z); err != nil {
			z.Close()
			return err
		}
		return z.Close()
	})
}
