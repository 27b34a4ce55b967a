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
	last time.Time
	bar  bool
	told bool
}

func newCoverProgress(w io.Writer, now time.Time) *coverProgress {
	p := &coverProgress{w: w, last: now}
	if file, ok := w.(*os.File); ok {
		p.bar = term.IsTerminal(int(file.Fd()))
	}
	return p
}

func (p *coverProgress) tell(v cover.Progress) {
	every := 5 * time.Second
	if p.bar {
		every = 200 * time.Millisecond
	}
	now := time.Now()
	if now.Sub(p.last) < every {
		return
	}
	p.last, p.told = now, true
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
