package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	missing := from.Missing(files)
	left, err := leftIndexes(from.Folder, files)
	if err != nil {
		return nil, err
	}
	for _, name := range left {
		if !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	if n := len(missing); n > 0 {
		const most = 5
		some := strings.Join(missing[:min(n, most)], ", ")
		if n > most {
			some += fmt.Sprintf(" and %d more", n-most)
		}
		note(fmt.Sprintf("%s lacks %s: deleted, or moved elsewhere; the captures in it are left out", from.Folder, some))
	}
	return files, nil
}

// leftIndexes returns the names of the WARC files that are not among files, though the index of each of them lies in the folder or below it.
func leftIndexes(folder string, files []archive.WARC) (names []string, err error) {
	there := map[string]bool{}
	for _, f := range files {
		there[f.Name] = true
	}
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, indexSuffix) {
			return err
		}
		if name := indexes(path); name != "" && !there[name] {
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

const indexSuffix = ".cdxj"

// indexes returns the name of the WARC file of which a file is the index; "": of none, or of several, as that of a whole archive is.
func indexes(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, err := bufio.NewReaderSize(f, 64<<10).ReadSlice('\n')
	if err != nil {
		return ""
	}
	r, err := parseCapture(string(line))
	if err != nil || strings.TrimSuffix(strings.TrimSuffix(r.Filename, ".gz"), ".warc")+indexSuffix != filepath.Base(path) {
		return ""
	}
	return r.Filename
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
