package arcs

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// Lines calls visit for each line of a file, compressed or not, that is neither empty nor a
// comment (# at its beginning), without the blanks around it; lines are counted from 1. It ends
// at the first error of visit and returns it as it is. Its other errors name the file.
func Lines(path string, visit func(line int, text string) error) (err error) {
	r, err := Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	b := bufio.NewReaderSize(r, 1<<16)
	for line := 1; ; line++ {
		text, err := b.ReadString('\n')
		if t := strings.TrimSpace(text); t != "" && t[0] != '#' {
			if err := visit(line, t); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
