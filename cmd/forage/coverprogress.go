package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"forage/cover"
)

// coverProgress tells on stderr how far a run is, not more often than every five seconds.
type coverProgress struct {
	w    io.Writer
	due  func() bool
	bar  bool
	told bool
}

func newCoverProgress(w io.Writer) *coverProgress {
	p := &coverProgress{w: w, due: every(5 * time.Second)}
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		p.bar, p.due = true, every(200*time.Millisecond)
	}
	return p
}

func (p *coverProgress) tell(v cover.Progress) {
	if !p.due() {
		return
	}
	p.told = true
	line := fmt.Sprintf("%d sets cover %d elements, %d read", v.Taken, v.Covered, v.Reads)
	if v.Threshold > 0 {
		line = fmt.Sprintf("gains from %.4g: %s", v.Threshold, line)
	}
	if p.bar {
		fmt.Fprintf(p.w, "\rforage: %s   ", line)
	} else {
		fmt.Fprintf(p.w, "forage: %s\n", line)
	}
}

func (p *coverProgress) end() {
	if p.bar && p.told {
		fmt.Fprintln(p.w)
	}
}
