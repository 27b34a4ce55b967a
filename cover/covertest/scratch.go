package covertest

import (
	"bytes"
	"errors"
	"sync"

	"forage/cover"
)

// ErrFull is what a Scratch returns when it holds Limit bytes.
var ErrFull = errors.New("no space left")

// Scratch keeps its files in memory and counts what is open.
type Scratch struct {
	Limit int // bytes in all files together; 0 means no limit
	Flip  int // 1 + the number of the written byte whose lowest bit is turned; 0: none

	mu            sync.Mutex
	Open, Written int
}

type scratchFile struct {
	s    *Scratch
	data []byte
}

// Create implements cover.Scratch.
func (s *Scratch) Create() (cover.ScratchFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Open++
	return &scratchFile{s: s}, nil
}

func (f *scratchFile) Write(p []byte) (int, error) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if f.s.Limit > 0 && f.s.Written+len(p) > f.s.Limit {
		return 0, ErrFull
	}
	at := f.s.Flip - 1 - f.s.Written
	f.s.Written += len(p)
	f.data = append(f.data, p...)
	if at >= 0 && at < len(p) {
		f.data[len(f.data)-len(p)+at] ^= 1
	}
	return len(p), nil
}

func (f *scratchFile) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(f.data).ReadAt(p, off)
}

func (f *scratchFile) Close() error {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.s.Open--
	f.data = nil
	return nil
}
