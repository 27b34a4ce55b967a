// Package ingest reads what is to enter a store: web archives, their indexes, lists of URLs, and the recorded history of a site.
//
// Each kind of file has a function that checks that the files are of that kind, before anything is made of them, and a type that gives what
// is in them in an order in which package crawl takes it in: site by site. What is more than fits in memory is sorted on disk. The package
// fetches nothing, and writes nothing but files beside the one that Options names, which are gone when it is closed.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"time"
)

// Options are those of all kinds.
type Options struct {
	Scratch  string                  // the path of a file beside which what does not fit in memory is put
	Note     func(text string)       // is told of what cannot be taken in: where it is, and why; nil: nobody is
	Progress func(done, total int64) // is told now and then how many bytes were read; nil: nobody is
}

// held is how many bytes of lines are sorted at once.
const held = 16 << 20

// A FileError says that a file is not what it should be: it is the fault of whoever names it.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }
func (e *FileError) Unwrap() error { return e.Err }

// mostNoted is of how many broken lines or records each is told.
const mostNoted = 20

// A tally counts what is read of all files, by several goroutines at once.
type tally struct {
	opt   Options
	total int64 // bytes

	mu      sync.Mutex
	records int64
	bytes   int64
	left    map[string]int64 // records that are left out, by why
	bad     int64            // that cannot be read
}

func newTally(files []string, opt Options) (*tally, error) {
	t := &tally{opt: opt, left: map[string]int64{}}
	for _, path := range files {
		if path == Stdin {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		t.total += info.Size()
	}
	return t, nil
}

// read counts a record, or a line.
func (t *tally) read() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records++
}

// leave counts a record that is left out.
func (t *tally) leave(why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left[why]++
}

// broken tells of what cannot be read, if it is among the first.
func (t *tally) broken(where string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bad++; t.bad <= mostNoted && t.opt.Note != nil {
		t.opt.Note(fmt.Sprintf("%s: %v", where, err))
	}
}

// Records is how many records, or lines, were read.
func (t *tally) Records() int64 { return t.records }

// Bytes is how many bytes were read of the files.
func (t *tally) Bytes() int64 { return t.bytes }

// Left tells what was left out, by why, and Bad how much could not be read.
func (t *tally) Left() map[string]int64 { return maps.Clone(t.left) }

// Bad is how many records or lines could not be read.
func (t *tally) Bad() int64 { return t.bad }

// end tells how many broken ones were not told of by themselves.
func (t *tally) end() {
	if more := t.bad - mostNoted; more > 0 && t.opt.Note != nil {
		t.opt.Note(fmt.Sprintf("%d more cannot be read", more))
	}
}

func millis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// A counted reader counts the bytes of a file for a tally, and ends when ctx does.
type counted struct {
	ctx context.Context
	r   io.Reader
	t   *tally
}

func (c *counted) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	if c.t.bytes += int64(n); c.t.opt.Progress != nil {
		c.t.opt.Progress(c.t.bytes, c.t.total)
	}
	return n, err
}

// Seek is as io.Seeker has it, if what is read is one, and whence io.SeekCurrent.
func (c *counted) Seek(offset int64, whence int) (int64, error) {
	s, ok := c.r.(io.Seeker)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	at, err := s.Seek(offset, whence)
	if err == nil {
		c.t.mu.Lock()
		defer c.t.mu.Unlock()
		c.t.bytes += offset
	}
	return at, err
}

// each calls do for each of n things, several at once, and returns the first error in their order. It ends soon after one.
func each(ctx context.Context, n, workers int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, n)
	next := make(chan int)
	var working sync.WaitGroup
	for range min(n, workers) {
		working.Go(func() {
			for i := range next {
				if errs[i] = do(ctx, i); errs[i] != nil {
					cancel()
				}
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	working.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil && !errors.Is(err, context.Canceled) }); i >= 0 {
		return errs[i]
	}
	return errors.Join(errs...)
}
