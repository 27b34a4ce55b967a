package snap

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/klauspost/compress/gzip"
)

// Write writes h gzip'd to w. The same history gives the same bytes.
func Write(w io.Writer, h *History) error {
	to := NewWriter(w, h, len(h.URLs))
	for _, u := range h.URLs {
		to.URL(u)
	}
	var line []byte
	for k := range h.Snapshots {
		s := &h.Snapshots[k]
		to.Snapshot(s)
		for i := range s.Changes {
			line = s.Changes[i].Append(line[:0])
			to.Write(line)
		}
	}
	return to.Close()
}

// A Writer writes a history piece by piece, for those that do not fit in memory: all URLs, then
// each snapshot and behind it its changes. It checks nothing of what Read does. An error stays
// until Close tells it.
type Writer struct {
	z *gzip.Writer
	b *bufio.Writer
	k int
}

// NewWriter begins a history gzip'd to w: of h what is neither URLs nor snapshots, and as many URLs
// as are to come.
func NewWriter(w io.Writer, h *History, urls int) *Writer {
	z := gzip.NewWriter(w)
	to := &Writer{z: z, b: bufio.NewWriter(z)}
	format := "SNAP2"
	if h.Dated {
		format = "SNAP3"
	}
	fmt.Fprintf(to.b, "%s\t%s\t%s\t%s\t%s\t%s\nU\t%d\n", format, h.Site, h.Repo, h.Ref, h.Root, h.Base, urls)
	return to
}

// URL writes the next URL.
func (w *Writer) URL(u string) {
	w.b.WriteString(u)
	w.b.WriteByte('\n')
}

// Snapshot begins the next snapshot: all of s but its changes.
func (w *Writer) Snapshot(s *Snapshot) {
	fmt.Fprintf(w.b, "S\t%d\t%d\t%s\t%d\t%d\n", w.k, s.Time, s.Commit, s.Pages, s.Docs)
	w.k++
	if s.WellKnown != nil {
		w.b.WriteByte('W')
		for _, id := range s.WellKnown {
			w.b.Write(number(w.b.AvailableBuffer(), " ", id))
		}
		w.b.WriteByte('\n')
	}
}

// Write writes changes of the snapshot that was begun last, as Change.Append made them.
func (w *Writer) Write(changes []byte) (int, error) { return w.b.Write(changes) }

// Close ends the history.
func (w *Writer) Close() error {
	w.b.WriteString("E\n")
	if err := w.b.Flush(); err != nil {
		return err
	}
	return w.z.Close()
}

// Append appends the lines of the format that tell c.
func (c *Change) Append(b []byte) []byte {
	b = append(b, byte(c.Op))
	b = number(b, "", c.ID)
	if c.Flag != Page && (c.Op == Added || c.Op == Links) {
		b = append(b, ' ', byte(c.Flag))
	}
	drop, gain := c.Drop, c.Gain
	for len(drop) > 0 || len(gain) > 0 {
		if len(gain) == 0 || len(drop) > 0 && drop[0] < gain[0] {
			b = number(b, " -", drop[0])
			drop = drop[1:]
		} else {
			b = number(b, " ", gain[0])
			gain = gain[1:]
		}
	}
	return c.appendDates(append(b, '\n'))
}

// appendDates appends the P or L line of a change, if it has any.
func (c *Change) appendDates(b []byte) []byte {
	if c.Published != 0 {
		b = fmt.Appendf(b, "P %d %d\n", c.ID, c.Published)
	}
	if len(c.Dates) == 0 {
		return b
	}
	b = number(b, "L ", c.ID)
	for _, d := range c.Dates {
		b = append(number(b, " ", d.Target), ':')
		if d.Time == 0 {
			b = append(b, '-')
		} else {
			b = strconv.AppendInt(b, d.Time, 10)
		}
	}
	return append(b, '\n')
}

func number(b []byte, before string, id ID) []byte {
	return strconv.AppendUint(append(b, before...), uint64(id), 10)
}
