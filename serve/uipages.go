package serve

import (
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"forage/internal/printable"
	"forage/report"
	"forage/store"
)

const (
	pagesShown  = 50
	maxSearch   = 200    // bytes of what is searched for
	lookedAt    = 10_000 // events that one page of the list is made of
	exportPiece = 2000   // events that are read at a time for a file
)

// An eventFilter says which events are listed. The zero value takes all.
type eventFilter struct {
	types map[store.EventType]bool
	site  string
	kind  string
	text  string // in lower case: it is in the title or the URL
}

func (c *eventFilter) has(e *store.Event) bool {
	return (c.types == nil || c.types[e.Type]) && (c.site == "" || e.Site == c.site) && (c.kind == "" || e.Kind == c.kind) && hasText(e, c.text)
}

// searched is text that was given to be searched for, as hasText takes it.
func searched(text string) string { return strings.ToLower(strings.TrimSpace(text)) }

// hasText reports whether text, in lower case, is in the title or the URL of a page.
func hasText(e *store.Event, text string) bool {
	return text == "" || strings.Contains(strings.ToLower(e.URL), text) || strings.Contains(strings.ToLower(e.Title), text)
}

// back returns up to n events before a number (0: of all), the latest first, and where to go on: 0 where there are no
// more. It looks at no more than lookedAt events, so that there may be fewer though there are more.
func (c *eventFilter) back(v *store.View, before uint64, n int) (events []*store.Event, next uint64, err error) {
	first, last, err := v.EventsKept()
	if err != nil {
		return nil, 0, err
	}
	if before == 0 || before > last+1 {
		before = last + 1
	}
	for piece, looked := uint64(2*n), 0; before > first && looked < lookedAt; piece = min(2*piece, exportPiece) {
		from := max(first, before-min(before, piece))
		var some []*store.Event
		if err := v.Events(from-1, func(e *store.Event) bool {
			if e.Seq >= before {
				return false
			}
			looked++
			if c.has(e) {
				some = append(some, e)
			}
			return true
		}); err != nil {
			return nil, 0, err
		}
		slices.Reverse(some)
		if room := n - len(events); len(some) > room {
			events = append(events, some[:room]...)
			return events, events[n-1].Seq, nil
		}
		events = append(events, some...)
		before = from
	}
	if before <= first {
		return events, 0, nil
	}
	return events, before, nil
}

// pageTypes are the events of pages, by what a form calls them.
var pageTypes = map[string]store.EventType{"": store.PageNew, "changed": store.PageChanged, "gone": store.PageGone, "moved": store.PageMoved}

// pageKinds are the kinds of pages that one may choose.
var pageKinds = []string{"content", "list", "form", "redirect"}

// readFilter reads what a form asked for.
func readFilter(q url.Values) (c eventFilter, err error) {
	t, ok := pageTypes[q.Get("type")]
	if !ok {
		return c, huma.Error400BadRequest("type: want changed, gone or moved, or nothing for new pages")
	}
	if len(q.Get("q")) > maxSearch {
		return c, huma.Error400BadRequest(fmt.Sprintf("q: %d bytes, at most %d", len(q.Get("q")), maxSearch))
	}
	return eventFilter{map[store.EventType]bool{t: true}, q.Get("site"), q.Get("kind"), searched(q.Get("q"))}, nil
}

// uiNewPages is the list of new pages, or of pages that have changed, gone or moved.
func (s *server) uiNewPages(r *http.Request, f *uiFrame) (string, error) {
	f.Title, f.Here = "New pages", "pages"
	q := r.URL.Query()
	page := struct {
		Q, Site, Kind, Type string
		Kinds               []string
		Rows                []*eventRow
		Next                uint64
		Older               string // where the next part of the list is
		Cut                 bool   // there may be more before, but it was looked at enough
		Feed, Table, Lines  string
		First               bool // the latest ones
	}{Q: q.Get("q"), Site: q.Get("site"), Kind: q.Get("kind"), Type: q.Get("type"), Kinds: pageKinds, First: q.Get("before") == ""}
	f.Page = &page
	c, err := readFilter(q)
	if err != nil {
		return "", err
	}
	before := uint64(0)
	if !page.First {
		if before, err = strconv.ParseUint(q.Get("before"), 10, 64); err != nil || before == 0 {
			return "", huma.Error400BadRequest("before: want the number of an event")
		}
	}
	chosen := url.Values{}
	for _, key := range []string{"q", "site", "kind", "type"} {
		if q.Get(key) != "" {
			chosen.Set(key, q.Get(key))
		}
	}
	with := func(path string, v url.Values) string {
		path = s.At + path
		if len(v) == 0 {
			return path
		}
		return path + "?" + v.Encode()
	}
	page.Table, page.Lines = with("/pages.csv", chosen), with("/pages.jsonl", chosen)
	if page.Type == "" {
		feed := url.Values{}
		for _, key := range []string{"q", "kind"} {
			if chosen.Has(key) {
				feed.Set(key, chosen.Get(key))
			}
		}
		page.Feed = with("/feed.atom", feed)
		if page.Site != "" {
			page.Feed = with(sitePath(page.Site)+"/feed.atom", feed)
		}
		f.Live = page.First && page.Q == "" && page.Site == "" && page.Kind == ""
	}
	return "pages", s.read(func(v *store.View) error {
		events, next, err := c.back(v, before, pagesShown)
		page.Rows, page.Next = eventRows(events), next
		page.Cut = next > 0 && len(events) < pagesShown
		if next > 0 {
			chosen.Set("before", strconv.FormatUint(next, 10))
			page.Older = with("/pages", chosen)
		}
		return err
	})
}

// uiExport answers with all pages of a filter as a file, the latest first. It is read a piece at a time, so that a
// slow reader holds nothing of the store.
func (s *server) uiExport(w http.ResponseWriter, r *http.Request) {
	c, err := readFilter(r.URL.Query())
	if err != nil {
		s.page(w, r, func(*http.Request, *uiFrame) (string, error) { return "", err })
		return
	}
	events, before, err := s.exportPiece(&c, 0)
	if err != nil { // while it can still be answered
		s.page(w, r, func(*http.Request, *uiFrame) (string, error) { return "", err })
		return
	}
	h, asTable := w.Header(), strings.HasSuffix(r.URL.Path, ".csv")
	h.Set("Content-Type", "application/x-ndjson")
	h.Set("Content-Disposition", `attachment; filename="pages.jsonl"`)
	if asTable {
		h.Set("Content-Type", "text/csv; charset=utf-8")
		h.Set("Content-Disposition", `attachment; filename="pages.csv"`)
	}
	if err := s.export(r, w, &c, events, before, asTable); err != nil {
		s.Log.Debug("a file of pages was cut off", "error", err)
		panic(http.ErrAbortHandler) // it is not to be taken for whole
	}
}

// exportPiece reads the next events of a filter, and the number to go on before; 0: these are the last.
func (s *server) exportPiece(c *eventFilter, before uint64) (events []*store.Event, next uint64, err error) {
	err = s.read(func(v *store.View) (err error) {
		events, next, err = c.back(v, before, exportPiece)
		return err
	})
	return events, next, err
}

// export writes the events of a filter, of which the first piece has been read.
func (s *server) export(r *http.Request, w http.ResponseWriter, c *eventFilter, events []*store.Event, before uint64, asTable bool) error {
	out := http.NewResponseController(w)
	table := csv.NewWriter(w)
	if asTable {
		if err := table.Write(exportHead); err != nil {
			return err
		}
	}
	for {
		for _, e := range events {
			if err := writeEvent(w, table, e, asTable); err != nil {
				return err
			}
		}
		table.Flush()
		if err := table.Error(); err != nil || before == 0 {
			return err
		}
		out.SetWriteDeadline(time.Now().Add(writeTimeout)) // no error: there is none in tests without a connection
		err := r.Context().Err()
		if err == nil {
			events, before, err = s.exportPiece(c, before)
		}
		if err != nil {
			return err
		}
	}
}

// exportHead names the columns of a table.
var exportHead = []string{"seq", "type", "at", "site", "url", "title", "kind", "found_on", "via", "previous_look", "published", "lastmod"}

func writeEvent(w io.Writer, table *csv.Writer, e *store.Event, asTable bool) error {
	rec := report.NewEvent(e)
	if !asTable {
		return report.WriteJSON(w, rec)
	}
	row := []string{strconv.FormatUint(rec.Seq, 10), rec.Type}
	for _, text := range []*string{rec.At, rec.Site, rec.URL, rec.Title, rec.Kind, rec.FoundOn, rec.Via, rec.PreviousLook, rec.Published, rec.LastMod} {
		if text == nil {
			row = append(row, "")
		} else {
			row = append(row, printable.Cell(*text))
		}
	}
	return table.Write(row)
}
