package listing

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"forage/internal/printable"
	"forage/report"
)

// A writer writes a page; nil ends the list.
type writer func(*report.Page) error

// A format is how pages are written.
type format struct {
	brief  bool // of a page it writes the URL alone
	writer func(io.Writer) writer
}

var formats = map[string]format{
	"txt": {true, func(w io.Writer) writer {
		return func(p *report.Page) error {
			if p == nil {
				return nil
			}
			_, err := fmt.Fprintln(w, printable.Text(p.URL))
			return err
		}
	}},
	"jsonl": {false, func(w io.Writer) writer {
		var line []byte
		return func(p *report.Page) error {
			if p == nil {
				return nil
			}
			line = append(p.AppendJSON(line[:0]), '\n')
			_, err := w.Write(line)
			return err
		}
	}},
	"csv": {false, func(w io.Writer) writer {
		c := csv.NewWriter(w)
		var row []string
		text := func(all ...string) {
			for _, s := range all {
				row = append(row, printable.Cell(s))
			}
		}
		known := func(all ...*string) {
			for _, s := range all {
				if s == nil {
					row = append(row, "")
				} else {
					text(*s)
				}
			}
		}
		number := func(all ...int64) {
			for _, n := range all {
				row = append(row, strconv.FormatInt(n, 10))
			}
		}
		c.Write(strings.Fields("url site new first_seen cycle found_on status title canonical content_type digest bytes published lastmod depth last_fetched changed gone duplicate_of kind visits changes left_out moved moved_from fetched_as duplicate_near"))
		return func(p *report.Page) error {
			if p == nil {
				c.Flush()
				return c.Error()
			}
			row = row[:0]
			text(p.URL, p.Site, p.New)
			known(p.FirstSeen)
			number(int64(p.Cycle))
			known(p.FoundOn)
			if p.Status == nil {
				text("")
			} else {
				number(int64(*p.Status))
			}
			known(p.Title, p.Canonical, p.ContentType, p.Digest)
			number(p.Bytes)
			known(p.Published, p.LastMod)
			number(int64(p.Depth))
			known(p.LastFetched, p.Changed, p.Gone, p.DuplicateOf)
			text(p.Kind)
			number(int64(p.Visits), int64(p.Changes))
			known(p.LeftOut, p.Moved, p.MovedFrom, p.FetchedAs, p.Near)
			return c.Write(row)
		}
	}},
}
