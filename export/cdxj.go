package export

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"forage/internal/linesort"
	"forage/warc"
)

// CDXJ writes the index of an archive, a line a capture, in the order that pywb and others want: all WARC files in the folder, and in
// those below it. Beside one its own index may lie, as NAME.cdxj for NAME.warc.gz: it is taken as it is, unless the file was written
// later; else the file is read. What of a file cannot be indexed is told to note, and left out. Errors: of the files; where there is no
// WARC file at all. Memory: 32 MiB, and 64 KiB for each 32 MiB of lines.
func CDXJ(folder string, to Target, note func(text string)) (w Written, err error) {
	l := linesort.New(to.beside(), held)
	defer l.Close()
	if err := archived(folder, l, &w, note); err != nil {
		return w, err
	}
	return w, to.create(&w, false, l.Write)
}

// archived adds the lines of an archive.
func archived(folder string, l *linesort.Lines, w *Written, note func(string)) error {
	files, err := warcFiles(folder)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := captures(file, l, w, note); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// errNoWARC says that an archive has no file that is whole.
var errNoWARC = errors.New("there is no WARC file")

// warcFiles returns the WARC files in a folder and below it, by path.
func warcFiles(folder string) (files []string, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (strings.HasSuffix(path, ".warc") || strings.HasSuffix(path, ".warc.gz")) {
			files = append(files, path)
		}
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%w in %s", errNoWARC, folder)
	}
	return files, err
}

// captures adds the lines of one file.
func captures(path string, l *linesort.Lines, w *Written, note func(string)) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	index := strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".warc") + ".cdxj"
	if has, err := os.Stat(index); err == nil && !has.ModTime().Before(info.ModTime()) {
		return indexed(index, l, w)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var line []byte
	return warc.Index(f, filepath.Base(path), func(e *warc.Entry) error {
		w.Records++
		line = e.Append(line[:0])
		return l.Add(line)
	}, func(err error) error {
		note(fmt.Sprintf("%s: %v", path, err))
		return nil
	})
}

// indexed adds the lines of an index.
func indexed(path string, l *linesort.Lines, w *Written) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return linesort.Split(f, func(line []byte) error {
		w.Records++
		return l.Add(line)
	})
}
