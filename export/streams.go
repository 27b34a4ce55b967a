package export

import (
	"io"
	"os"

	"forage/internal/atomicfile"
)

// held is how many bytes streams hold in memory.
const held = 32 << 20

// streams are numbered streams of bytes, which are written in turn and read one by one. What does
// not fit in memory goes to a temporary file, of which a process that is killed leaves nothing where the
// system lets a file be removed that is open.
type streams struct {
	path string // the file that they are for
	held int    // bytes in memory at most

	text  [][]byte // by stream: what is in memory
	bytes int      // all of text
	parts [][]part // by stream: what is in the file, in order
	file  *atomicfile.File
	end   int64 // of the file
}

type part struct{ at, length int64 }

// newStreams makes n empty streams for the file that path will be. The caller closes them.
func newStreams(n int, path string) *streams {
	return &streams{path: path, held: held, text: make([][]byte, n), parts: make([][]part, n)}
}

// add appends to a stream. Errors are those of the temporary file.
func (s *streams) add(stream int, b []byte) error {
	s.text[stream] = append(s.text[stream], b...)
	if s.bytes += len(b); s.bytes <= s.held {
		return nil
	}
	if s.file == nil {
		var err error
		if s.file, err = atomicfile.New(atomicfile.Beside(s.path)); err != nil {
			return err
		}
		os.Remove(s.file.Name()) // it stays until it is closed, where the system permits that, and not for longer
	}
	for i, b := range s.text {
		if len(b) == 0 {
			continue
		}
		if _, err := s.file.WriteAt(b, s.end); err != nil {
			return err
		}
		s.parts[i] = append(s.parts[i], part{s.end, int64(len(b))})
		s.end += int64(len(b))
		s.text[i] = nil // a stream that was long need not be the one that will be
	}
	s.bytes = 0
	return nil
}

// writeTo writes whole streams, one after another.
func (s *streams) writeTo(w io.Writer, numbers ...int) error {
	for _, i := range numbers {
		for _, p := range s.parts[i] {
			if _, err := io.Copy(w, io.NewSectionReader(s.file, p.at, p.length)); err != nil {
				return err
			}
		}
		if _, err := w.Write(s.text[i]); err != nil {
			return err
		}
	}
	return nil
}

// close removes the temporary file.
func (s *streams) close() {
	if s.file != nil {
		s.file.Discard()
	}
}
