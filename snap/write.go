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
	z, err := gzip.NewWriterLevel(w, gzip.DefaultCompression)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(z)
	format := "SNAP2"
	if h.Dated {
		format = "SNAP3"
	}
	fmt.Fprintf(b, "%s\t%s\t%s\t%s\t%s\t%s\nU\t%d\n", format, h.Site, h.Repo, h.Ref, h.Root, h.Base, len(h.URLs))
	for _, u := range h.URLs {
		b.WriteString(u)
		b.WriteByte('\n')
	}
	for k := range h.Snapshots {
		writeSnapshot(b, k, &h.Snapshots[k])
	}
	b.WriteString("E\n")
	if err := b.Flush(); err != nil {
		return err
	}
	return z.Close()
}

func writeSnapshot(b *bufio.Writer, k int, s *Snapshot) {
	fmt.Fprintf(b, "S\t%d\t%d\t%s\t%d\t%d\n", k, s.Time, s.Commit, s.Pages, s.Docs)
	if s.WellKnown != nil {
		b.WriteByte('W')
		for _, id := range s.WellKnown {
			number(b, " ", id)
		}
		b.WriteByte('\n')
	}
	for i := range s.Changes {
		c := &s.Changes[i]
		number(b, string(rune(c.Op)), c.ID)
		if c.Flag != Page && (c.Op == Added || c.Op == Links) {
			b.WriteByte(' ')
			b.WriteByte(byte(c.Flag))
		}
		drop, gain := c.Drop, c.Gain
		for len(drop) > 0 || len(gain) > 0 {
			if len(gain) == 0 || len(drop) > 0 && drop[0] < gain[0] {
				number(b, " -", drop[0])
				drop = drop[1:]
			} else {
				number(b, " ", gain[0])
				gain = gain[1:]
			}
		}
		b.WriteByte('\n')
		writeDates(b, c)
	}
}

// writeDates writes the P or L line of a change, if it has any.
func writeDates(b *bufio.Writer, c *Change) {
	if c.Published != 0 {
		fmt.Fprintf(b, "P %d %d\n", c.ID, c.Published)
	}
	if len(c.Dates) == 0 {
		return
	}
	number(b, "L ", c.ID)
	for _, d := range c.Dates {
		number(b, " ", d.Target)
		b.WriteByte(':')
		if d.Time == 0 {
			b.WriteByte('-')
		} else {
			b.Write(strconv.AppendInt(b.AvailableBuffer(), d.Time, 10))
		}
	}
	b.WriteByte('\n')
}

func number(b *bufio.Writer, before string, id ID) {
	b.WriteString(before)
	b.Write(strconv.AppendUint(b.AvailableBuffer(), uint64(id), 10))
}
