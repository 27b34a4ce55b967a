package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"forage/crawl"
	"forage/internal/atomicfile"
	"forage/internal/printable"
)

// progress returns a function that shows how far a crawl is, and one that ends the show: a line that
// is written over where w is a terminal, elsewhere a line every ten seconds.
func progress(w io.Writer) (show func(crawl.Progress), stop func()) {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return overwrite(w, func() int {
			width, _, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 80
			}
			return width
		})
	}
	var last time.Duration
	return func(p crawl.Progress) {
		if p.Elapsed-last >= 10*time.Second {
			last = p.Elapsed
			fmt.Fprintf(w, "forage: %s\n", progressText(p))
		}
	}, func() {}
}

// overwrite shows how far a crawl is in a line that is written over, at most ten times a second, cut to the width of the terminal. It is
// gone at the end.
func overwrite(w io.Writer, width func() int) (show func(crawl.Progress), stop func()) {
	var last time.Duration
	shown := 0 // bytes, which are ASCII
	write := func(text string) {
		fmt.Fprintf(w, "\r%-*s", shown, text)
		shown = len(text)
	}
	return func(p crawl.Progress) {
			if shown == 0 || p.Elapsed-last >= time.Second/10 {
				last = p.Elapsed
				text := progressText(p)
				write(text[:max(0, min(len(text), width()-1))])
			}
		}, func() {
			if shown > 0 {
				write("")
				fmt.Fprint(w, "\r")
			}
		}
}

func progressText(p crawl.Progress) string {
	text := fmt.Sprintf("%d pages, %d fetched (%.1f/s), %d queued, %d hosts waiting, %s",
		p.Pages, p.Fetched, float64(p.Fetched)/max(p.Elapsed.Seconds(), 1e-3), p.Queued, p.Hosts, p.Elapsed.Round(time.Second))
	if p.Sites > 0 {
		text += fmt.Sprintf(", %d sites to begin", p.Sites)
	}
	if p.Out == 0 && p.Wait > time.Second {
		text += fmt.Sprintf(", next request in %s", p.Wait.Round(time.Second))
	}
	return text
}

// plainLog writes warnings as the lines that all commands write.
type plainLog struct{ w io.Writer }

func (l plainLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (l plainLog) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l plainLog) WithGroup(string) slog.Handler                    { return l }

func (l plainLog) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString("forage: " + r.Message)
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&b, ", %s %s", a.Key, printable.Text(a.Value.String()))
		return true
	})
	_, err := fmt.Fprintln(l.w, b.String())
	return err
}

// A flusher is a buffered file.
type flusher struct {
	mu sync.Mutex
	f  *os.File
	b  *bufio.Writer
}

func newFlusher(f *os.File) *flusher { return &flusher{f: f, b: bufio.NewWriter(f)} }

func (w *flusher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *flusher) close() error {
	if err := w.b.Flush(); err != nil {
		w.f.Close()
		return err
	}
	return atomicfile.Close(w.f)
}
