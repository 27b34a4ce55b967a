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

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"forage/crawl"
	"forage/internal/atomicfile"
	"forage/internal/printable"
)

// progress returns a function that shows how far a crawl is, and one that ends the show: a bar
// where w is a terminal, elsewhere a line every ten seconds.
func progress(w io.Writer) (show func(crawl.Progress), stop func()) {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		bar := progressbar.NewOptions64(-1, progressbar.OptionSetWriter(w), progressbar.OptionSpinnerType(14),
			progressbar.OptionClearOnFinish(), progressbar.OptionSetElapsedTime(false), progressbar.OptionSetPredictTime(false), progressbar.OptionSetWidth(10), progressbar.OptionFullWidth())
		return func(p crawl.Progress) {
			bar.Describe(progressText(p))
			bar.Set64(p.Fetched)
		}, func() { bar.Finish() }
	}
	var last time.Duration
	return func(p crawl.Progress) {
		if p.Elapsed-last >= 10*time.Second {
			last = p.Elapsed
			fmt.Fprintf(w, "forage: %s\n", progressText(p))
		}
	}, func() {}
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
