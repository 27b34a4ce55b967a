package export

import (
	"errors"
	"fmt"
	"io"

	"forage/archive"
	"forage/internal/linesort"
	"forage/warc"
)

// CDXJ writes the index of an archive, a line a capture, in the order that pywb and others want: all WARC files in the folder, and in
// those below it. Beside one its own index may lie, as NAME.cdxj for NAME.warc.gz: it is taken as it is, unless the file was written
// later; else the file is read. What of a file cannot be indexed is told to note, and left out; so is a file that the store has written and
// that is not there. Errors: of the files; where there is no WARC file at all. Memory: 32 MiB, and 64 KiB for each 32 MiB of lines.
func CDXJ(from *archive.Reader, to Target, note func(text string)) (w Written, err error) {
	l := linesort.New(to.beside(), held)
	defer l.Close()
	if err := archived(from, l, &w, note); err != nil {
		return w, err
	}
	return w, to.create(&w, false, l.Write)
}

// archived adds the lines of an archive.
func archived(from *archive.Reader, l *linesort.Lines, w *Written, note func(string)) error {
	files, err := warcFiles(from, note)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := captures(&file, l, w, note); err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
	}
	return nil
}

// errNoWARC says that an archive has no file that is whole.
var errNoWARC = errors.New("there is no WARC file")

// warcFiles returns the files of an archive, and tells which are missing.
func warcFiles(from *archive.Reader, note func(string)) ([]archive.WARC, error) {
	files, err := from.Files()
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%w in %s", errNoWARC, from.Folder)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range from.Missing(files) {
		note(fmt.Sprintf("%s is not in %s, where the store has written it: what it holds is left out", name, from.Folder))
	}
	return files, nil
}

// captures adds the lines of one file.
func captures(file *archive.WARC, l *linesort.Lines, w *Written, note func(string)) error {
	add := func(line []byte) error {
		w.Records++
		return l.Add(line)
	}
	lines, size, err := file.Lines()
	if err != nil {
		return err
	}
	if lines != nil {
		defer lines.Close()
		return linesort.Split(io.NewSectionReader(lines, 0, size), add)
	}
	f, err := file.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	var line []byte
	return warc.Index(io.NewSectionReader(f, 0, file.Size), file.Name, func(e *warc.Entry) error {
		line = e.Append(line[:0])
		return add(line)
	}, func(err error) error {
		note(fmt.Sprintf("%s: %v", f.Name(), err))
		return nil
	})
}
